"""What happens to verdicts when groups merge: the two facts that a search prunes by (R-LD-20)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from reticent.data import Groups, Hierarchy
from reticent.data.sensitive import bind_sensitive
from reticent.definitions import (
    Definition,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    NegativePositiveDiversity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from tests.definitions.making import groups_of

MERGES = 100_000
TREE = [("a", "ab", "*"), ("b", "ab", "*"), ("c", "cde", "*"), ("d", "cde", "*"), ("e", "cde", "*")]
DEFINITIONS = [
    KAnonymity(9),
    DistinctLDiversity(3),
    ProbabilisticLDiversity(2),
    EntropyLDiversity("2.5"),
    EntropyLDiversity(3, ["a"]),
    EntropyLDiversity("2.5", ["a", "b"]),
    RecursiveLDiversity(2, 3),
    RecursiveLDiversity("1/2", 2),
    RecursiveLDiversity(2, 4, ["a"]),
    RecursiveLDiversity("3/4", 3, ["a", "b", "c"]),
    NegativePositiveDiversity(2, 10, 3, ["a"], ["b"]),
    NegativePositiveDiversity(3, 5, 2, [], ["a", "e"]),
    TCloseness("0.4"),
    TCloseness("0.2", "ordered"),
    TCloseness("0.3", "hierarchical"),
]


@pytest.fixture(scope="module")
def pairs() -> Groups:
    """Groups of all sorts, flat and skewed, small and large; neighbours 2i and 2i+1 are the ones to merge."""
    draw = np.random.default_rng(20080501)
    skew = draw.dirichlet([0.8] * 5, size=2 * MERGES)
    sizes = draw.integers(1, 30, size=2 * MERGES)
    matrix = draw.multinomial(sizes, skew).astype(np.int64)
    column = bind_sensitive("value", Hierarchy.listed(TREE), pl.Series("value", list("abcde")))
    return groups_of(matrix, replace(column, ordered=True))


def merged(groups: Groups) -> Groups:
    ids = np.arange(len(groups)) // 2
    count = len(groups) // 2
    return Groups(
        np.bincount(ids, weights=groups.sizes).astype(np.int64),
        groups.histograms.merge(ids, count),
        groups.reference,
        groups.domain,
    )


def passing(definition: Definition, groups: Groups) -> NDArray[np.bool_]:
    return ~definition.failing(groups)


@pytest.mark.parametrize("definition", DEFINITIONS, ids=str)
def test_passing_groups_still_pass_when_they_merge(definition: Definition, pairs: Groups) -> None:
    assert definition.monotone
    before, after = passing(definition, pairs), passing(definition, merged(pairs))
    both = before[0::2] & before[1::2]
    assert both.sum() > 100
    assert (~after).sum() > 100
    assert not (both & ~after).any()


@pytest.mark.parametrize("definition", DEFINITIONS, ids=str)
def test_only_absorbing_definitions_keep_passing_whatever_joins(definition: Definition, pairs: Groups) -> None:
    before, after = passing(definition, pairs), passing(definition, merged(pairs))
    either = before[0::2] | before[1::2]
    assert definition.absorbing is not bool((either & ~after).any())


@pytest.mark.parametrize("definition", DEFINITIONS, ids=str)
def test_a_relaxation_is_absorbing_and_implied(definition: Definition, pairs: Groups) -> None:
    relaxed = definition.relaxation()
    if relaxed is None:
        return
    assert relaxed.absorbing
    assert not (passing(definition, pairs) & ~passing(relaxed, pairs)).any()


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (EntropyLDiversity("2.5"), DistinctLDiversity(3)),
        (EntropyLDiversity(3, column="job"), DistinctLDiversity(3, "job")),
        (RecursiveLDiversity(3, 3), DistinctLDiversity(3)),
        (RecursiveLDiversity(1, 3), DistinctLDiversity(4)),
        (RecursiveLDiversity("0.3", 2), DistinctLDiversity(5)),
        (ProbabilisticLDiversity("2.5"), DistinctLDiversity(3)),
        (NegativePositiveDiversity(3, 5, 2, [], ["a", "b", "c"]), DistinctLDiversity(3)),
        (NegativePositiveDiversity(3, 5, 4, [], ["a"]), DistinctLDiversity(4)),
        (RecursiveLDiversity(3, 1), None),
        (RecursiveLDiversity(3, 3, ["a"]), None),
        (EntropyLDiversity(3, ["a"]), None),
        (NegativePositiveDiversity(3, 5, 4, ["b"], ["a"]), None),
        (TCloseness("0.1"), None),
        (DistinctLDiversity(3), DistinctLDiversity(3)),
    ],
)
def test_relaxations_are_as_tight_as_they_can_be(definition: Definition, expected: Definition | None) -> None:
    assert definition.relaxation() == expected


@pytest.mark.parametrize("definition", [EntropyLDiversity(3), RecursiveLDiversity(1, 3), RecursiveLDiversity("0.3", 2)])
def test_a_group_of_one_row_a_value_passes_where_the_relaxation_begins_to(definition: Definition) -> None:
    relaxed = definition.relaxation()
    assert isinstance(relaxed, DistinctLDiversity)
    assert definition.holds(groups_of([[1] * relaxed.l]))
    assert not definition.holds(groups_of([[1] * (relaxed.l - 1)]))
