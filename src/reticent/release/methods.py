"""Methods by name, and the method where none is named: the same in Python, in a policy and on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reticent.data import Context, Table
from reticent.definitions import Definition, Method
from reticent.errors import Infeasible, PolicyError
from reticent.parameters import made_from, parameters_of
from reticent.release.choosing import Cheapest

_CANDIDATES: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("Lattice", {}),
    ("Mondrian", {"values": "ranges"}),
    ("Mondrian", {"values": "ranges", "split": "loss"}),
)
_SMALL = 1_000_000
"""Cuts are chosen by their loss, which takes time by the square of the columns, where rows times columns times columns are at most this many."""


def default_method(table: Table, definition: Definition, parameters: Mapping[str, Any] | None = None) -> Method:
    """The method for a table and a definition where none is named: full-domain or local recoding, whichever costs less (:class:`Cheapest`).

    ``parameters`` are those that were given without a name, such as ``suppression`` or ``values`` in a policy or on the command line; methods that do
    not have them, or not these values of them, are not tried.
    """
    given = parameters or {}
    small = table.rows * len(table.quasi) ** 2 <= _SMALL
    ways: list[Method] = []
    refusals: list[PolicyError] = []
    for name, own in _CANDIDATES:
        if not set(given) <= set(parameters_of("method", name)) or ("split" in own and not small):
            continue
        try:
            way = method_from(name, {**own, **given})
        except PolicyError as refusal:
            refusals.append(refusal)
            continue
        if way not in ways:
            ways.append(way)
    if not ways and refusals:
        raise refusals[-1]
    return Cheapest(tuple(ways)) if len(ways) > 1 else ways[0] if ways else method_from(_CANDIDATES[0][0], given)


def methods_compared(table: Table, definition: Definition, context: Context) -> dict[str, Any] | None:
    """What the default's candidates would cost, as plain data; None where none of them keeps the definition."""
    found = default_method(table, definition)
    try:
        ways = found if isinstance(found, Cheapest) else Cheapest((found,))
        return ways.compared(table, definition, replace(context, memo={})).as_dict()
    except (Infeasible, PolicyError):
        return None


def method_from(name: str, parameters: Mapping[str, Any]) -> Method:
    """The method ``name`` with its parameters; an unknown name or parameter is a :class:`PolicyError` with a hint."""
    made: Method = made_from("method", name, parameters)
    return made
