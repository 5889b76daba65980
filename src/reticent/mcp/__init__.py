"""The interface for AI assistants: a Model Context Protocol server whose replies contain no row and no value of the
data.

``server``        the tools and resources
``tool_replies``  the replies of the tools: names, counts and shares
``publications``  requests to publish, which a person confirms on a terminal
"""

from reticent.mcp.publications import PublicationRequest, RequestFolder
from reticent.mcp.server import create_server

__all__ = ["PublicationRequest", "RequestFolder", "create_server"]
