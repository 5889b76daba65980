"""The face for assistants: a server of the Model Context Protocol whose replies hold no row and no cell of the data.

``server``        the tools and resources
``tool_replies``  what tools answer: names, counts and shares
``publications``  requests to publish, which a person confirms on a terminal
"""

from reticent.mcp.publications import PublicationRequest, RequestFolder
from reticent.mcp.server import create_server

__all__ = ["PublicationRequest", "RequestFolder", "create_server"]
