"""Methods by name, and the default method; shared by Python, policies and the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reticent.base.context import Context
from reticent.base.parameters import made_from, parameters_of
from reticent.definitions import Definition, Method
from reticent.errors import PolicyError
from reticent.registry import DEFAULTS, DEFAULTS_FOR_LINKED_ROWS, METHODS
from reticent.release.cheapest_method import Cheapest, MethodCost, compared_with
from reticent.table import Table

_SMALL = 1_000_000
"""Largest rows × columns² for which splits are chosen by loss, whose cost is quadratic in the number of columns."""


def default_method(table: Table, definition: Definition, parameters: Mapping[str, Any] | None = None) -> Method:
    """Return the default method for a table and a definition: global or local recoding, whichever costs less (:class:`Cheapest`).

    ``parameters`` were given without a method name, such as ``suppression`` or ``values`` in a policy or on the command
    line; methods that lack them, or do not accept their values, are not tried.
    """
    given_parameters = parameters or {}
    is_small = table.rows * len(table.quasi) ** 2 <= _SMALL
    methods: list[Method] = []
    refusals: list[PolicyError] = []
    candidates = DEFAULTS_FOR_LINKED_ROWS if table.linked else DEFAULTS
    for name, defaults in candidates:
        # Splitting into many small groups is slow, so it is tried on small tables only.
        if not set(given_parameters) <= set(parameters_of("method", name)) or ("split" in defaults and not is_small):
            continue
        try:
            method = method_from(name, {**defaults, **given_parameters})
        except PolicyError as refusal:
            refusals.append(refusal)
            continue
        if method not in methods:
            methods.append(method)
    if not methods and refusals:
        raise refusals[-1]
    return (
        Cheapest(tuple(methods))
        if len(methods) > 1
        else methods[0]
        if methods
        else method_from(candidates[0][0], given_parameters)
    )


def methods_compared(table: Table, definition: Definition, made: MethodCost, context: Context) -> dict[str, Any] | None:
    """Return the costs of other methods compared with the draft ``made``, as plain data; None if its method is not group-based.

    The others are the candidates of the default method, with the same kind of values.
    """
    if made.groups is None or made.name not in METHODS:
        return None
    method = method_from(made.name, {name: value for name, value in made.method.items() if name != "name"})
    values = made.method.get("values")
    parameters = {"values": values} if values in ("typical", "drawn") else None
    default = default_method(table, definition, parameters)
    others = default.candidates if isinstance(default, Cheapest) else (default,)
    compared = compared_with(made, method, others, table, definition, replace(context, memo={}))
    return None if compared is None else compared.as_dict()


def named_method(method: Method | str) -> Method:
    """Return the method itself, or the named method with default parameters."""
    return method_from(method, {}) if isinstance(method, str) else method


def method_from(name: str, parameters: Mapping[str, Any]) -> Method:
    """Return the method ``name`` with parameters; an unknown name or parameter raises a :class:`PolicyError` with a hint."""
    method: Method = made_from("method", name, parameters)
    return method
