"""Methods by name, as a policy writes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from reticent._names import load
from reticent.errors import PolicyError, did_you_mean

if TYPE_CHECKING:
    from reticent.definitions import Method


def method_from(name: str, parameters: Mapping[str, Any]) -> Method:
    """The method ``name`` with its parameters; an unknown name or parameter is a :class:`PolicyError` with a hint."""
    make: Callable[..., Method] = load("method", name)
    known = [parameter for parameter in inspect.signature(make).parameters if not parameter.startswith("_")]
    for parameter in parameters:
        if parameter not in known:
            raise PolicyError(
                f"{name} has no parameter {parameter!r}.{did_you_mean(parameter, known)} It has: {', '.join(known)}.",
                setting=(parameter,),
            )
    return make(**parameters)
