"""What happens to verdicts when groups merge: the two facts that a search prunes by."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from reticent.core import Groups, Histograms, SensitiveDomain
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
from reticent.definitions.diversity import ValuesAtLeast
from reticent.table import Hierarchy
from reticent.table.sensitive import bind_sensitive
from tests.definitions.making import column_of, groups_of

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
    assert relaxed.absorbing_on(pairs)
    assert not (passing(definition, pairs) & ~passing(relaxed, pairs)).any()


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        (EntropyLDiversity("2.5"), ValuesAtLeast(3)),
        (EntropyLDiversity(3, column="job"), ValuesAtLeast(3, "job")),
        (RecursiveLDiversity(3, 3), ValuesAtLeast(3)),
        (RecursiveLDiversity(1, 3), ValuesAtLeast(4)),
        (RecursiveLDiversity("0.3", 2), ValuesAtLeast(5)),
        (ProbabilisticLDiversity("2.5"), ValuesAtLeast(3)),
        (NegativePositiveDiversity(3, 5, 2, [], ["a", "b", "c"]), ValuesAtLeast(3)),
        (NegativePositiveDiversity(3, 5, 4, [], ["a"]), ValuesAtLeast(4)),
        (RecursiveLDiversity(3, 1), None),
        (RecursiveLDiversity(3, 3, ["a"]), None),
        (EntropyLDiversity(3, ["a"]), None),
        (NegativePositiveDiversity(3, 5, 4, ["b"], ["a"]), None),
        (TCloseness("0.1"), None),
        (DistinctLDiversity(3), ValuesAtLeast(3)),
    ],
)
def test_relaxations_are_as_tight_as_they_can_be(definition: Definition, expected: Definition | None) -> None:
    assert definition.relaxation() == expected
    assert definition.least_rows() == (1 if expected is None else expected.least_rows())


@pytest.mark.parametrize("definition", [EntropyLDiversity(3), RecursiveLDiversity(1, 3), RecursiveLDiversity("0.3", 2)])
def test_a_group_of_one_row_a_value_passes_where_the_relaxation_begins_to(definition: Definition) -> None:
    relaxed = definition.relaxation()
    assert isinstance(relaxed, ValuesAtLeast)
    assert definition.holds(groups_of([[1] * relaxed.l]))
    assert not definition.holds(groups_of([[1] * (relaxed.l - 1)]))


@pytest.fixture(scope="module")
def two_column_pairs() -> Groups:
    """The same with two sensitive columns of three values each."""
    draw = np.random.default_rng(20080502)
    sizes = draw.integers(1, 25, size=2 * MERGES)
    matrix = draw.multinomial(sizes, draw.dirichlet([0.5] * 9, size=2 * MERGES)).astype(np.int64)
    ids, values = np.nonzero(matrix)
    joint = np.array([(one, other) for one in range(3) for other in range(3)], dtype=np.int32)
    columns = tuple(replace(column_of(3, ordered=True), name=name) for name in ("first", "second"))
    cells = Histograms.from_cells(ids, values, matrix[ids, values], *matrix.shape)
    return Groups(sizes, cells, matrix.sum(axis=0), SensitiveDomain(columns, joint))


ON_TWO_COLUMNS = [
    DistinctLDiversity(2),
    DistinctLDiversity(2, "second"),
    EntropyLDiversity("1.5"),
    RecursiveLDiversity(4, 2),
    TCloseness("0.4"),
    TCloseness("0.3", "ordered", "first"),
    KAnonymity(9) & DistinctLDiversity(2, "first"),
]


@pytest.mark.parametrize("definition", ON_TWO_COLUMNS, ids=str)
def test_definitions_stay_monotone_on_several_columns(definition: Definition, two_column_pairs: Groups) -> None:
    before, after = passing(definition, two_column_pairs), passing(definition, merged(two_column_pairs))
    both = before[0::2] & before[1::2]
    assert both.sum() > 20
    assert not (both & ~after).any()


def test_distinct_diversity_absorbs_on_one_sensitive_column_only(pairs: Groups, two_column_pairs: Groups) -> None:
    definition = DistinctLDiversity(2, "first")
    assert DistinctLDiversity(2).absorbing_on(pairs)
    assert not definition.absorbing_on(two_column_pairs)
    assert not (KAnonymity(2) & definition).absorbing_on(two_column_pairs)
    assert KAnonymity(2).absorbing_on(two_column_pairs)
    before, after = passing(definition, two_column_pairs), passing(definition, merged(two_column_pairs))
    assert ((before[0::2] | before[1::2]) & ~after).any()
    relaxed = ValuesAtLeast(2, "first")
    before, after = passing(relaxed, two_column_pairs), passing(relaxed, merged(two_column_pairs))
    assert not ((before[0::2] | before[1::2]) & ~after).any()


@pytest.mark.parametrize("definition", [*DEFINITIONS, *ON_TWO_COLUMNS], ids=str)
def test_doomed_rows_fail_however_a_group_is_cut(
    definition: Definition, pairs: Groups, two_column_pairs: Groups
) -> None:
    fine = two_column_pairs if definition in ON_TWO_COLUMNS else pairs
    lost = np.where(definition.failing(fine), fine.sizes, 0)
    doomed = definition.doomed(merged(fine))
    assert (doomed <= lost[0::2] + lost[1::2]).all()
    assert (doomed <= merged(fine).sizes).all()


def fewest_to_remove(definition: Definition, row: list[int]) -> int:
    """By trying every way to remove rows: how few must leave before the rest passes, or nobody is left."""
    kept = np.array(list(product(*(range(count + 1) for count in row))), dtype=np.int64)
    return sum(row) - int(kept.sum(axis=1)[passing(definition, groups_of(kept))].max())


@pytest.mark.parametrize(
    "definition",
    [
        DistinctLDiversity(3),
        ProbabilisticLDiversity(2),
        EntropyLDiversity("2.5"),
        EntropyLDiversity(2),
        RecursiveLDiversity(2, 3),
        RecursiveLDiversity("1/2", 2),
        RecursiveLDiversity("3/2", 3, ["a"]),
        NegativePositiveDiversity(2, 10, 3, ["a"], ["b"]),
    ],
    ids=str,
)
def test_doomed_rows_are_never_more_than_those_that_must_leave(definition: Definition) -> None:
    draw = np.random.default_rng(11)
    for row in draw.integers(0, 8, size=(40, 4)).tolist():
        if any(row):
            assert definition.doomed(groups_of([row]))[0] <= fewest_to_remove(definition, row)


@pytest.mark.parametrize(("t", "share"), [("0", 0.3), ("0.1", 0.6), ("0.25", 0.9), ("0.5", 0.95), ("0.9", 0.95)])
def test_rows_doomed_by_closeness_are_never_more_than_must_leave_and_often_nearly_as_many(t: str, share: float) -> None:
    draw = np.random.default_rng(12)
    definition, sharp, tried = TCloseness(t), 0, 0
    for row, table in zip(draw.integers(0, 8, (40, 4)).tolist(), draw.integers(1, 200, (40, 4)), strict=True):
        if not any(row):
            continue
        kept = groups_of(np.array(list(product(*(range(count + 1) for count in row))), dtype=np.int64))
        passes = passing(definition, replace(kept, reference=table))
        fewest = sum(row) - int(kept.sizes[passes | (kept.sizes == 0)].max())
        doomed = definition.doomed(replace(groups_of([row]), reference=table))[0]
        assert doomed <= fewest
        sharp, tried = sharp + (doomed >= fewest - 2), tried + 1
    assert sharp >= share * tried


@pytest.mark.parametrize(
    ("definition", "row", "rows"),
    [
        (DistinctLDiversity(3), [7, 2, 0], 9),
        (ProbabilisticLDiversity(2), [9, 1], 8),
        (EntropyLDiversity(2), [9, 1], 8),
        (RecursiveLDiversity(3, 3), [10, 10, 1], 16),
        (RecursiveLDiversity(3, 3, ["a"]), [10, 10, 1], 8),
        (RecursiveLDiversity(3, 3), [2, 2, 1], 0),
    ],
)
def test_doomed_rows_are_counted(definition: Definition, row: list[int], rows: int) -> None:
    assert definition.doomed(groups_of([row])).tolist() == [rows]
