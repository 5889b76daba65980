"""Interpreted or compiled loops of an index, depending on the number of keys. Machine code is cached on disk; small tables
never wait for compilation.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from inspect import isfunction
from types import ModuleType
from typing import Any

from reticent.methods.bang import loops

COMPILED_FROM = 300_000
"""Number of steps above which interpreted loops take longer than loading compiled ones."""


def loops_for(steps: int) -> Any:
    """Return the loops for a number of steps: keys times columns for finding regions, neighbours times columns for merging blocks."""
    return _compiled() if steps >= COMPILED_FROM else loops


@cache
def _compiled() -> ModuleType:
    """Return a second copy of the module with every function compiled, so that they call each other's compiled form."""
    import numba as nb

    spec = importlib.util.spec_from_file_location(f"{loops.__name__}_compiled", loops.__file__)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    # Cached machine code imports the module by its name.
    sys.modules[spec.name] = copy
    spec.loader.exec_module(copy)
    for name, member in list(vars(copy).items()):
        if isfunction(member) and member.__module__ == copy.__name__:
            setattr(copy, name, nb.njit(cache=True, nogil=True)(member))
    return copy
