"""The claims of a release combined: what each leaves open given the others, and one sentence for claims that differ only in their column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from reticent.definitions import ClaimScope, Definition, Openness


class Promised(NamedTuple):
    """A definition, the scope of its wording, and the histograms it compares with."""

    definition: Definition
    scope: ClaimScope
    reference: Mapping[str, Any] | None = None


def beside_each_other(claims: Sequence[Definition], scope: ClaimScope) -> ClaimScope:
    """Return the scope of claims made together: one claim may rule out what another leaves open.

    ``several`` are the sensitive columns for which some claim leaves several values open, ``bounded`` those whose shares
    one bounds, ``crowd`` the largest group size that one requires.
    """

    def leaving(least: Openness) -> tuple[str, ...]:
        return tuple(name for name in scope.sensitive if any(claim.leaves_open(name) >= least for claim in claims))

    crowd = max((claim.crowd for claim in claims if claim.crowd is not None), default=1)
    several, bounded = leaving(Openness.SEVERAL_VALUES), leaving(Openness.BOUNDED_SHARES)
    return replace(scope, several=several, bounded=bounded, crowd=crowd)


def joined_promises(promised: Iterable[Promised]) -> list[Promised]:
    """Return the claims in order, with equal claims about several sensitive columns merged at the position of the first."""
    listed = list(promised)
    return [joined_promise([listed[position] for position in positions]) for positions in same_promises(listed)]


def same_promises(promised: Sequence[Promised]) -> list[list[int]]:
    """Return the indexes of claims that differ only in their column, grouped and in order of first occurrence."""
    indexes_by_promise: dict[object, list[int]] = {}
    for index, promise in enumerate(promised):
        definition: Any = promise.definition
        is_for_column = getattr(definition, "column", None) is not None
        indexes_by_promise.setdefault(
            (replace(definition, column=None), promise.scope) if is_for_column else index, []
        ).append(index)
    return list(indexes_by_promise.values())


def joined_promise(claims: Sequence[Promised]) -> Promised:
    """Merge claims that differ only in their column: one claim about these columns, or about all sensitive ones."""
    first = claims[0]
    definition: Any = first.definition
    columns = tuple(cast(Any, claim.definition).column for claim in claims) if len(claims) > 1 else ()
    if len(set(columns)) < 2:
        return first
    covers_all = set(columns) == set(first.scope.sensitive)
    joined_scope = replace(first.scope, about=None if covers_all else columns)
    return first._replace(definition=replace(definition, column=None), scope=joined_scope)
