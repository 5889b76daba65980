"""Change detection for source files, without reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def source_stamp(folder: str | Path, content: Mapping[str, Any]) -> str:
    """Return size and modification time of the policy's source file as text; ``missing`` without a file, empty for a database."""
    source = content.get("data", {}).get("source")
    if not isinstance(source, str) or "://" in source or source.startswith("env:"):
        return ""
    try:
        status = os.stat(Path(folder) / source)
    except OSError:
        return "missing"
    return f"{status.st_size}-{status.st_mtime_ns}"
