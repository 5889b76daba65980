"""The HTTP interface: a thin layer without logic of its own.

``service_app``  the audited table over HTTP: versioned paths, bearer tokens, one shape of errors
``shapes``       the request and response models of OpenAPI
``connections``  limits for incomplete requests
``server``       running it

FastAPI and uvicorn come with ``pip install 'reticent[web]'`` and are imported when the service starts.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from reticent.web.client import ask
    from reticent.web.server import check_exposure, listen, serve

_HOMES = {
    "ask": "client",
    "check_exposure": "server",
    "listen": "server",
    "serve": "server",
}

__all__ = [
    "ask",
    "check_exposure",
    "listen",
    "serve",
]

__getattr__ = lazy_names(__name__, _HOMES)
