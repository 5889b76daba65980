"""Sensitive columns judged by themselves: what somebody concludes who knows quasi values only."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.definitions import definition_from
from reticent.engine import count_table
from reticent.table import Table

ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=25)


def groups_of(rows: list[tuple[int, int, int]]):
    frame = pl.DataFrame(rows, schema=["zip", "drug", "pay"], orient="row")
    return frame, count_table(Table(frame, quasi=["zip"], sensitive=["drug", "pay"])).groups()


def by_hand(frame: pl.DataFrame, column: str) -> list[list[int]]:
    """The counts of a column's values in each group, the largest first."""
    return [
        sorted((part[column].to_list().count(value) for value in set(part[column])), reverse=True)
        for part in frame.partition_by("zip")
    ]


@given(ROWS, st.integers(1, 4), st.sampled_from(["drug", "pay"]))
def test_different_values_are_counted_in_the_group_itself(rows, l: int, column: str) -> None:  # noqa: E741
    frame, groups = groups_of(rows)
    expected = all(len(counts) >= l for counts in by_hand(frame, column))
    assert rt.DistinctLDiversity(l, column=column, alone=True).holds(groups) == expected


@given(ROWS, st.sampled_from(["1/2", "1", "2", "3"]), st.integers(2, 3), st.sampled_from(["drug", "pay"]))
def test_recursive_diversity_compares_counts_of_the_group_itself(rows, c: str, l: int, column: str) -> None:  # noqa: E741
    frame, groups = groups_of(rows)
    expected = all(counts[0] < Fraction(c) * sum(counts[l - 1 :]) for counts in by_hand(frame, column))
    assert rt.RecursiveLDiversity(c, l, column=column, alone=True).holds(groups) == expected


@given(ROWS, st.fractions(0, 1))
def test_closeness_compares_the_group_itself_with_the_whole_table(rows, t: Fraction) -> None:
    frame, groups = groups_of(rows)
    whole = frame["pay"].to_list()
    values = sorted(set(whole))
    worst = Fraction(0)
    for part in frame.partition_by("zip"):
        mine = part["pay"].to_list()
        gaps = [
            Fraction(sum(each <= value for each in mine), len(mine))
            - Fraction(sum(each <= value for each in whole), len(whole))
            for value in values[:-1]
        ]
        worst = max(worst, sum(map(abs, gaps), Fraction(0)) / max(len(values) - 1, 1))
    assert rt.TCloseness(t, "ordered", column="pay", alone=True).holds(groups) == (worst <= t)


@given(ROWS, st.integers(1, 3))
def test_a_column_by_itself_is_never_harder_than_among_the_others(rows, l: int) -> None:  # noqa: E741
    _, groups = groups_of(rows)
    for column in ("drug", "pay"):
        if rt.DistinctLDiversity(l, column=column).holds(groups):
            assert rt.DistinctLDiversity(l, column=column, alone=True).holds(groups)


@pytest.mark.parametrize(
    "method",
    [
        rt.Lattice(),
        rt.Lattice(suppression="0.1"),
        rt.Datafly(),
        rt.Mondrian(values="sets"),
        rt.Mondrian(suppression="0.1", values="sets"),
    ],
    ids=str,
)
def test_a_release_promises_it_and_anybody_verifies_it(method, tmp_path: Path) -> None:
    rows = {
        "age": [20 + i % 30 for i in range(300)],
        "drug": [i * 7 % 5 for i in range(300)],
        "pay": [i * 11 % 13 for i in range(300)],
    }
    promise = (
        rt.KAnonymity(5)
        & rt.DistinctLDiversity(3, column="drug", alone=True)
        & rt.TCloseness("0.4", "ordered", column="pay", alone=True)
    )
    table = rt.Table(rows, quasi={"age": rt.Hierarchy.intervals([5, 10, 20])}, sensitive=["drug", "pay"])
    release = rt.publish(table, promise, method=method)
    release.save(tmp_path / "release")
    assert rt.verify(tmp_path / "release").holds
    frame = release.frame
    for part in frame.partition_by("age"):
        assert part["drug"].n_unique() >= 3
    assert "other confidential values may learn" in _words(tmp_path / "release" / "public" / "STATEMENT.txt")


def test_a_policy_spells_it() -> None:
    made = definition_from("DistinctLDiversity", {"l": 2, "column": "drug", "alone": True})
    assert made == rt.DistinctLDiversity(2, column="drug", alone=True)
    assert made.parameters() == {"l": 2, "column": "drug", "alone": True}
    assert rt.DistinctLDiversity(2).parameters() == {"l": 2}


def _words(path: Path) -> str:
    """A text without its line breaks."""
    return " ".join(path.read_text("utf-8").split())


@given(ROWS, st.integers(1, 4), st.sampled_from(["1/2", "1", "3"]))
def test_columns_judged_side_by_side_fail_where_one_of_them_does(rows, l: int, c: str) -> None:  # noqa: E741
    frame, groups = groups_of(rows)
    parts = [
        rt.DistinctLDiversity(l, column="drug", alone=True),
        rt.DistinctLDiversity(l, column="pay", alone=True),
        rt.RecursiveLDiversity(c, 2, column="pay", alone=True),
        rt.KAnonymity(2),
    ]
    both = parts[0] & parts[1] & parts[2] & parts[3]
    one_by_one = [
        len(drug) < l or len(pay) < l or pay[0] >= Fraction(c) * sum(pay[1:]) or sum(pay) < 2
        for drug, pay in zip(by_hand(frame, "drug"), by_hand(frame, "pay"), strict=True)
    ]
    assert sorted(both.failing(groups).tolist()) == sorted(one_by_one)
    assert both.holds(groups) == (not any(one_by_one))
