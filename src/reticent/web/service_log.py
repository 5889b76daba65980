"""The server's own log as JSON lines: time, level, logger, kind of error. Error messages, which may contain values, are omitted."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

# Loggers whose messages are templates with separate arguments.
_TEMPLATES = ("uvicorn", "reticent")


class JsonLines(logging.Formatter):
    """One JSON object per line. The message is its template, without the arguments."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] is not None else None
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "level": record.levelname.lower(),
            "part": record.name,
            "event": str(record.msg) if record.name.startswith(_TEMPLATES) else None,
            "kind": getattr(record, "kind", kind),
        }
        return json.dumps({name: value for name, value in line.items() if value is not None}, default=str)


def log_as_json() -> None:
    """Make every logger write JSON lines to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
