"""Packages whose names are imported on first use: using one does not import the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports a name's module on first use; ``homes`` maps every name of
    the package to its module.
    """

    def load(name: str) -> Any:
        """Import the module of a name, and return the object."""
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return load
