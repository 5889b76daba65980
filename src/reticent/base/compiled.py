"""Loops that are compiled to machine code at their first call: code that uses none does not import numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")


class CompiledLoop(Generic[Given, Result]):
    """A function that numba compiles at its first call; the machine code is cached on disk, next to the module."""

    def __init__(self, function: Callable[Given, Result]) -> None:
        self._function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Given.args, **options: Given.kwargs) -> Result:
        return self._linked(*arguments, **options)

    @cached_property
    def _translated(self) -> Callable[Given, Result]:
        """Return the function compiled by numba; the machine code is cached on disk."""
        import numba

        translated: Callable[Given, Result] = numba.njit(cache=True, nogil=True)(self._function)
        return translated

    @cached_property
    def _linked(self) -> Callable[Given, Result]:
        """The compiled function. Loops call one another by name, so numba must find compiled ones there."""
        names: dict[str, Any] = self._function.__globals__
        for name, loop in list(names.items()):
            if isinstance(loop, CompiledLoop):
                names[name] = loop._translated
        return self._translated


def compiled(function: Callable[Given, Result]) -> CompiledLoop[Given, Result]:
    """Compile a loop to machine code on first use."""
    return CompiledLoop(function)
