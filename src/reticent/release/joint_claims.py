"""All promises of a release together: what each leaves open beside the others, and one sentence for those that differ in their column only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from reticent.definitions import ClaimScope, Definition, Openness


class Promised(NamedTuple):
    """A definition, what its words are about, and the histograms that it compares with."""

    definition: Definition
    scope: ClaimScope
    reference: Mapping[str, Any] | None = None


def beside_each_other(claims: Sequence[Definition], scope: ClaimScope) -> ClaimScope:
    """The scope of claims that are made together: what one leaves to an attacker, another may rule out."""

    def leaving(least: Openness) -> tuple[str, ...]:
        return tuple(name for name in scope.sensitive if any(claim.leaves_open(name) >= least for claim in claims))

    crowd = max((claim.crowd for claim in claims if claim.crowd is not None), default=1)
    several, bounded = leaving(Openness.SEVERAL_VALUES), leaving(Openness.BOUNDED_SHARES)
    return replace(scope, several=several, bounded=bounded, crowd=crowd)


def joined_promises(promised: Iterable[Promised]) -> list[Promised]:
    """The promises in their order, those that are the same of several confidential columns put together at the place of the first."""
    listed = list(promised)
    return [joined_promise([listed[place] for place in places]) for places in same_promises(listed)]


def same_promises(promised: Sequence[Promised]) -> list[list[int]]:
    """The places of promises that differ in their column only, in the order of the first of each."""
    found: dict[object, list[int]] = {}
    for place, each in enumerate(promised):
        every: Any = each.definition
        named = getattr(every, "column", None) is not None
        found.setdefault((replace(every, column=None), each.scope) if named else place, []).append(place)
    return list(found.values())


def joined_promise(same: Sequence[Promised]) -> Promised:
    """Promises that differ in their column only as one."""
    first = same[0]
    every: Any = first.definition
    named = tuple(cast(Any, each.definition).column for each in same) if len(same) > 1 else ()
    if len(set(named)) < 2:
        return first
    whole = set(named) == set(first.scope.sensitive)
    about = replace(first.scope, about=None if whole else named)
    return first._replace(definition=replace(every, column=None), scope=about)
