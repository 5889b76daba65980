"""The HTTP face: thin, no logic of its own.

``app``     the audited table over HTTP: versioned paths, bearer tokens, one shape of errors
``shapes``  what goes in and out, as OpenAPI shows it
``connections``  half-sent requests do not keep others out
``server``  running it

FastAPI and uvicorn come with ``pip install 'reticent[web]'`` and are imported when the service starts.
"""
