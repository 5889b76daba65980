"""The loops of an index as they stand, or compiled for tables with many keys; the machine code is kept on disk, and small tables never wait for it."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from inspect import isfunction
from types import ModuleType
from typing import Any

from reticent.methods.bang import loops

COMPILED_FROM = 300_000
"""From this many steps on, plain loops take longer than loading compiled ones does."""


def loops_for(steps: int) -> Any:
    """The loops for so many steps: keys times columns where regions are found, neighbours times columns where blocks are merged."""
    return _compiled() if steps >= COMPILED_FROM else loops


@cache
def _compiled() -> ModuleType:
    """A second copy of the module, in which every function is compiled: they find each other there."""
    import numba as nb

    spec = importlib.util.spec_from_file_location(f"{loops.__name__}_compiled", loops.__file__)
    assert spec is not None
    assert spec.loader is not None
    copy = importlib.util.module_from_spec(spec)
    # Machine code that was kept on disk asks for the module by its name.
    sys.modules[spec.name] = copy
    spec.loader.exec_module(copy)
    for name, each in list(vars(copy).items()):
        if isfunction(each) and each.__module__ == copy.__name__:
            setattr(copy, name, nb.njit(cache=True, nogil=True)(each))
    return copy
