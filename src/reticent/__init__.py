"""Reticent: share data about people without giving anybody away.

Everything a user needs is here, ``import reticent as rt``; names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from reticent.errors import did_you_mean
from reticent.registry import PUBLIC, ROOMS

__version__ = "0.6.0"

__all__ = ["__version__", *PUBLIC, *ROOMS]


def __getattr__(name: str) -> Any:
    if name in PUBLIC:
        return getattr(import_module(PUBLIC[name]), name)
    if name in ROOMS:
        return import_module(ROOMS[name])
    raise AttributeError(f"module 'reticent' has no attribute {name!r}.{did_you_mean(name, __all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
