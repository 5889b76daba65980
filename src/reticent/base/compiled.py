"""Loops that become machine code when they are first called: code that calls none of them does not wait until numba is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class CompiledLoop(Generic[Given, Result]):
    """A function that numba translates at its first call; the machine code is kept on disk, beside the module."""

    def __init__(self, function: Callable[Given, Result]) -> None:
        self._function = function
        update_wrapper(self, function)

    def __call__(self, *given: Given.args, **options: Given.kwargs) -> Result:
        return self._linked(*given, **options)

    @cached_property
    def _translated(self) -> Callable[Given, Result]:
        import numba

        found: Callable[Given, Result] = numba.njit(cache=True, nogil=True)(self._function)
        return found

    @cached_property
    def _linked(self) -> Callable[Given, Result]:
        """The translated function. Loops call one another by name, and numba must find translated ones there."""
        names: dict[str, Any] = self._function.__globals__
        for name, loop in list(names.items()):
            if isinstance(loop, CompiledLoop):
                names[name] = loop._translated
        return self._translated


def compiled(function: Callable[Given, Result]) -> CompiledLoop[Given, Result]:
    """Have a loop translated to machine code, when it is needed."""
    return CompiledLoop(function)
