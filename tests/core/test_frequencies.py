"""The frequency set: counted once, merged upwards, added and subtracted, against a plain count of rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import FrequencySet
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.table import Hierarchy, Table
from tests.sampling import examples

AGES = Hierarchy.intervals([10, 20], domain=(0, 39))
CITIES = Hierarchy.taxonomy({"north": ["Oslo", "Bergen"], "south": ["Rome"]})
ILLNESSES = ["flu", "hiv", "cold"]
ROWS = st.lists(
    st.tuples(st.integers(0, 39), st.sampled_from(["Oslo", "Bergen", "Rome"]), st.sampled_from(ILLNESSES)),
    min_size=1,
    max_size=40,
)
Row = tuple[int, str, str]


def counted(rows: list[Row]) -> FrequencySet:
    frame = pl.DataFrame(rows, schema=["age", "city", "illness"], orient="row")
    return count_table(Table(frame, quasi={"age": AGES, "city": CITIES}, sensitive={"illness": ILLNESSES}))


def plain(frequencies: FrequencySet) -> Counter[tuple[str, str, str]]:
    """Counts by label of every quasi column and sensitive value."""
    found: Counter[tuple[str, str, str]] = Counter()
    groups = frequencies.groups()
    for point in range(len(frequencies)):
        labels = [
            hierarchy.levels[level].labels[codes[point]]
            for hierarchy, level, codes in zip(
                frequencies.hierarchies, frequencies.levels, frequencies.codes, strict=True
            )
        ]
        for illness, count in groups.histogram(point).items():
            found[(labels[0], labels[1], illness)] += count
    return found


def generalized(rows: list[Row], levels: tuple[int, int]) -> Counter[tuple[str, str, str]]:
    def age(value: int) -> str:
        if levels[0] in (1, 2):
            width = 10 * levels[0]
            return f"[{value // width * width}, {value // width * width + width})"
        return "*" if levels[0] == 3 else str(value)

    def city(value: str) -> str:
        return [value, "south" if value == "Rome" else "north", "*"][levels[1]]

    return Counter((age(a), city(c), illness) for a, c, illness in rows)


@examples(60)
@given(ROWS, st.integers(0, 3), st.integers(0, 2))
def test_generalizing_points_is_generalizing_rows(rows: list[Row], age: int, city: int) -> None:
    coarse = counted(rows).generalize((age, city))
    assert plain(coarse) == generalized(rows, (age, city))
    assert coarse.rows == len(rows)
    points = list(zip(*(codes.tolist() for codes in coarse.codes), strict=True))
    assert len(set(points)) == len(points)


@examples(40)
@given(ROWS, st.integers(0, 3), st.integers(0, 2))
def test_the_way_up_does_not_matter(rows: list[Row], age: int, city: int) -> None:
    direct = counted(rows).generalize((age, city))
    by_way = counted(rows).generalize((min(age, 1), 0)).generalize((age, city))
    assert plain(direct) == plain(by_way)
    assert direct.reference.tolist() == by_way.reference.tolist() == counted(rows).reference.tolist()


@examples(40)
@given(ROWS, st.integers(0, 3), st.integers(0, 2))
def test_merged_groups_are_those_of_the_generalized_set(rows: list[Row], age: int, city: int) -> None:
    frequencies = counted(rows)
    ids, count = frequencies.group_ids((age, city))
    groups, expected = frequencies.merged(ids, count), frequencies.generalize((age, city)).groups()
    assert groups.sizes.tolist() == expected.sizes.tolist()
    assert [groups.histogram(g) for g in range(count)] == [expected.histogram(g) for g in range(count)]


@examples(60)
@given(ROWS, ROWS)
def test_counts_of_parts_add_up_and_come_apart_again(first: list[Row], second: list[Row]) -> None:
    one, other = counted(first), counted(second)
    both = one + other
    assert plain(both) == generalized(first + second, (0, 0))
    assert plain(both - other) == generalized(first, (0, 0))
    assert len(both - other) == len(one)


def test_rows_that_are_not_there_cannot_be_subtracted() -> None:
    one, other = counted([(3, "Oslo", "flu")]), counted([(3, "Oslo", "hiv")])
    with pytest.raises(PolicyError, match="Rows were subtracted that are not in the frequency set"):
        one - other


def test_sets_of_different_levels_are_not_added() -> None:
    one = counted([(3, "Oslo", "flu")])
    with pytest.raises(PolicyError, match="different levels"):
        one + one.generalize((1, 0))


def test_sets_whose_leaves_came_from_different_data_are_not_added() -> None:
    one, other = (
        count_table(Table({"age": ages, "illness": ["flu"] * 2}, quasi=["age"], sensitive="illness"))
        for ages in ([1, 2], [2, 3])
    )
    with pytest.raises(PolicyError, match="hierarchies of column 'age' differ"):
        one + other


def test_joint_values_are_aligned_when_sets_are_added() -> None:
    kinds = {"illness": ["flu", "hiv"], "job": ["cook", "nurse"]}

    def count(illness: list[str], job: list[str]) -> FrequencySet:
        frame = {"zip": [1] * len(job), "illness": illness, "job": job}
        return count_table(Table(frame, quasi={"zip": Hierarchy.suppression([1])}, sensitive=kinds))

    one = count(["flu", "hiv"], ["nurse", "cook"])
    other = count(["flu", "flu"], ["cook", "nurse"])
    both = one + other
    assert both.groups().histogram(0) == {"flu / nurse": 2, "flu / cook": 1, "hiv / cook": 1}
    assert (both - other).groups().histogram(0) == one.groups().histogram(0)


def test_some_columns_alone_can_be_grouped_by() -> None:
    frequencies = counted([(3, "Oslo", "flu"), (3, "Rome", "flu"), (14, "Oslo", "flu")])
    ids, count = frequencies.group_ids((0, 0), columns=[0])
    assert count == 2
    assert frequencies.merged(ids, count).sizes.tolist() == [2, 1]
    assert frequencies.group_ids((0, 0), columns=[])[1] == 1


def test_a_level_below_or_beyond_is_refused_by_name() -> None:
    frequencies = counted([(3, "Oslo", "flu")]).generalize((1, 0))
    with pytest.raises(
        PolicyError, match=r"'age' cannot be generalized to level 0: it is at level 1 and its hierarchy ends at 3"
    ):
        frequencies.generalize((0, 0))
    with pytest.raises(PolicyError, match="'city' cannot be generalized to level 3"):
        frequencies.generalize((1, 3))


def test_selected_points_keep_their_counts() -> None:
    frequencies = counted([(3, "Oslo", "flu"), (14, "Rome", "hiv"), (14, "Rome", "flu")])
    chosen = frequencies.select(frequencies.sizes == 2)
    assert plain(chosen) == Counter({("14", "Rome", "hiv"): 1, ("14", "Rome", "flu"): 1})


def test_a_point_may_have_a_population_without_rows() -> None:
    base = counted([(3, "Oslo", "flu"), (14, "Rome", "hiv")])
    people = FrequencySet(
        base.hierarchies,
        base.levels,
        base.codes,
        base.sizes,
        base.histograms,
        base.domain,
        {"population": np.array([5, 7])},
    )
    rest = people - counted([(14, "Rome", "hiv")])
    assert rest.sizes.tolist() == [1, 0]
    assert rest.extras["population"].tolist() == [5, 7]
    assert rest.generalize((3, 2)).extras["population"].tolist() == [12]


def test_an_engine_may_start_above_the_leaves() -> None:
    rows: list[Row] = [(3, "Oslo", "flu"), (7, "Bergen", "hiv"), (14, "Rome", "flu")]
    frame = pl.DataFrame(rows, schema=["age", "city", "illness"], orient="row")
    table = Table(frame, quasi={"age": AGES, "city": CITIES}, sensitive={"illness": ILLNESSES})
    floored = count_table(table, floor=(1, 1))
    assert plain(floored) == generalized(rows, (1, 1))
    with pytest.raises(PolicyError, match="is at level 1"):
        floored.generalize((0, 1))
