"""Cutting failing groups down (repair="rows"): whoever knows a group's size and the method undoes it, so it is refused."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import product
from math import factorial, prod

import pytest

import reticent as rt
from reticent.definitions import GroupDefinition
from reticent.errors import PolicyError
from tests.definitions.making import groups_of

ROWS, VALUES = 8, 3
TRIED: list[GroupDefinition] = [
    rt.KAnonymity(3),
    rt.DistinctLDiversity(2),
    rt.ProbabilisticLDiversity(2),
    rt.EntropyLDiversity("2.5"),
    rt.RecursiveLDiversity(2, 2),
    rt.AlphaKAnonymity("0.5", 2),
    rt.PSensitive(2, 3),
    rt.ConfidenceBounding("0.4", ["a"]),
    rt.MEligible(2),
    rt.MUnique(2),
    rt.CategoryDiversity("0.7", [["a"], ["b", "c"]]),
]


def histograms(rows: int) -> Iterator[tuple[int, ...]]:
    return (each for each in product(range(rows + 1), repeat=VALUES) if sum(each) == rows)


def cut_down(counts: tuple[int, ...], definition: GroupDefinition) -> tuple[int, ...]:
    """What the method published of a group: all of it, or as much of every value as the largest cap that passes lets through."""
    for cap in range(max(counts), 0, -1):
        capped = tuple(min(count, cap) for count in counts)
        if definition.holds(groups_of([capped])):
            return capped
    return ()


def undone(definition: GroupDefinition) -> tuple[bool, bool]:
    """Whether cutting ever saves part of a group, and whether somebody who reruns the method then believes what the definition forbids.

    Worlds are all tables of a group of known size; a histogram is as likely as the ways to give its values to the people.
    """
    worlds: dict[tuple[int, ...], Counter[tuple[int, ...]]] = defaultdict(Counter)
    for counts in histograms(ROWS):
        ways = factorial(ROWS) // prod(factorial(count) for count in counts)
        worlds[cut_down(counts, definition)][counts] += ways
    saved = {seen: each for seen, each in worlds.items() if seen and sum(seen) < ROWS}
    for each in saved.values():
        belief = [sum(ways * counts[value] for counts, ways in each.items()) for value in range(VALUES)]
        # A group with so many rows of each value as its members are believed to have.
        if not definition.holds(groups_of([belief])):
            return True, True
    return bool(saved), False


@pytest.mark.parametrize("definition", TRIED, ids=str)
def test_repair_is_refused_exactly_where_cutting_rows_changes_anything(definition):
    saves, broken = undone(definition)
    table = rt.Table({"zip": ["1"] * 4, "value": ["a", "a", "b", "c"]}, quasi=["zip"], sensitive="value")
    refused = rt.Lattice(repair="rows").refusal(table, definition)
    assert (refused is not None) is saves
    assert broken is saves
    assert refused is None or definition.name in refused


def test_eight_of_ten_with_one_value_are_not_hidden_by_showing_two_of_them():
    rows = ["HIV"] * 8 + ["flu", "cold"]
    table = rt.Table({"zip": ["1"] * 10, "ill": rows}, quasi=["zip"], sensitive="ill")
    for definition in (rt.ProbabilisticLDiversity(2), rt.KAnonymity(2) & rt.ProbabilisticLDiversity(2)):
        with pytest.raises(
            PolicyError, match=r"ProbabilisticLDiversity.*can reconstruct what was removed.*repair='groups'"
        ):
            rt.publish(table, definition, rt.Lattice(suppression="0.9", repair="rows"))


def test_several_sensitive_columns_make_leaving_rows_out_useful_again_and_refused():
    frame = {"zip": ["1"] * 4, "ill": ["a", "b", "a", "b"], "drug": ["x", "x", "y", "y"]}
    one = rt.Table(frame, quasi=["zip"], sensitive="ill")
    two = rt.Table(frame, quasi=["zip"], sensitive=["ill", "drug"])
    assert rt.Lattice(repair="rows").refusal(one, rt.DistinctLDiversity(2)) is None
    assert "DistinctLDiversity" in str(rt.Lattice(repair="rows").refusal(two, rt.DistinctLDiversity(2)))
    assert rt.Lattice(repair="rows").refusal(two, rt.KAnonymity(2)) is None


def test_where_nothing_can_be_saved_repair_changes_nothing():
    frame = {"zip": ["1"] * 6 + ["2"], "ill": ["a", "b"] * 3 + ["a"]}
    table = rt.Table(frame, quasi=["zip"], sensitive="ill")
    definition = rt.KAnonymity(3) & rt.DistinctLDiversity(2)
    releases = [
        rt.publish(table, definition, rt.Lattice(suppression="0.5", repair=each)) for each in ("rows", "groups")
    ]
    assert releases[0].frame.equals(releases[1].frame)
