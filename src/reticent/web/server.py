"""Running the HTTP service."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from reticent.errors import DataError

if TYPE_CHECKING:
    from reticent.audit.service import AuditService


def serve(open_service: Callable[[], AuditService], host: str, port: int) -> None:
    """Serve until interrupted."""
    try:
        import uvicorn

        from reticent.web.app import create_app
    except ModuleNotFoundError as error:
        raise DataError(
            f"The HTTP service needs the package {error.name}, which is not installed. Install it with: pip install 'reticent[web]'"
        ) from None
    uvicorn.run(create_app(open_service), host=host, port=port, log_level="warning", server_header=False)
