"""Methods by name, as a policy writes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from reticent.errors import PolicyError, did_you_mean

if TYPE_CHECKING:
    from reticent.anonymize.base import Method

_HOMES = dict.fromkeys(("Lattice", "Mondrian", "Datafly"), "reticent.anonymize") | dict.fromkeys(
    ("AlphaBeta", "Frapp"), "reticent.randomize"
)


def method_from(name: str, parameters: Mapping[str, Any]) -> Method:
    """The method ``name`` with its parameters; an unknown name or parameter is a :class:`PolicyError` with a hint."""
    if name not in _HOMES:
        raise PolicyError(
            f"There is no method {name!r}.{did_you_mean(name, _HOMES)} The methods are: {', '.join(_HOMES)}."
        )
    make: Callable[..., Method] = getattr(import_module(_HOMES[name]), name)
    known = [parameter for parameter in inspect.signature(make).parameters if not parameter.startswith("_")]
    for parameter in parameters:
        if parameter not in known:
            raise PolicyError(
                f"{name} has no parameter {parameter!r}.{did_you_mean(parameter, known)} It has: {', '.join(known)}."
            )
    return make(**parameters)
