"""Histograms and groups: what is merged, refined, selected and ranked, against plain dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.table import Table
from tests.sampling import examples

CELLS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6), st.integers(1, 9)), max_size=40)


def histograms_of(cells: list[tuple[int, int, int]], groups: int = 5, size: int = 7) -> Histograms:
    columns = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    return Histograms.from_cells(columns[0], columns[1], columns[2], groups, size)


def plain(histograms: Histograms) -> list[dict[int, int]]:
    return [
        dict(zip(histograms.values[low:high].tolist(), histograms.counts[low:high].tolist(), strict=True))
        for low, high in zip(histograms.offsets[:-1], histograms.offsets[1:], strict=True)
    ]


def added(cells: list[tuple[int, int, int]], groups: int = 5) -> list[Counter[int]]:
    sums: list[Counter[int]] = [Counter() for _ in range(groups)]
    for group, value, count in cells:
        sums[group][value] += count
    return sums


@examples(100)
@given(CELLS)
def test_cells_add_up_and_rise_by_value(cells: list[tuple[int, int, int]]) -> None:
    histograms = histograms_of(cells)
    assert plain(histograms) == added(cells)
    assert all(list(row) == sorted(row) for row in plain(histograms))
    assert histograms.total(7).tolist() == [sum(c for _, v, c in cells if v == value) for value in range(7)]


@examples(50)
@given(CELLS)
def test_a_key_space_too_large_for_a_table_is_sorted_instead(cells: list[tuple[int, int, int]]) -> None:
    spread = [(group, value * 10**8, count) for group, value, count in cells]
    wide = histograms_of(spread, size=6 * 10**8 + 1)
    assert plain(wide) == [{value * 10**8: count for value, count in row.items()} for row in added(cells)]


def test_rows_are_counted_without_weights() -> None:
    histograms = Histograms.from_cells(np.array([1, 1, 0]), np.array([2, 2, 0]), None, 2, 3)
    assert plain(histograms) == [{0: 1}, {2: 2}]


@examples(100)
@given(CELLS)
def test_summaries_of_groups_are_those_of_their_counts(cells: list[tuple[int, int, int]]) -> None:
    histograms, sums = histograms_of(cells), added(cells)
    falling = [sorted(row.values(), reverse=True) for row in sums]
    assert histograms.distinct.tolist() == [len(row) for row in sums]
    assert histograms.top.tolist() == [max(row.values(), default=0) for row in sums]
    assert histograms.ranked.tolist() == [count for row in falling for count in row]
    assert histograms.counts[histograms.falling].tolist() == histograms.ranked.tolist()
    assert histograms.add_cells(histograms.counts).tolist() == [sum(row.values()) for row in sums]
    assert histograms.sum_cells(histograms.counts).tolist() == [sum(row.values()) for row in sums]


def test_falling_positions_break_ties_by_value() -> None:
    histograms = histograms_of([(0, 5, 2), (0, 1, 2), (0, 3, 4)], groups=1)
    assert histograms.values[histograms.falling].tolist() == [3, 1, 5]


def test_counts_too_large_to_share_a_key_with_their_group_are_ranked_all_the_same() -> None:
    counts = np.array([2**61, 2**62 + 1, 3, 2**62])
    histograms = Histograms(np.array([0, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32), counts)
    assert histograms.ranked.tolist() == [2**62 + 1, 2**61, 2**62, 3]


def test_sums_beyond_64_bits_are_carried_by_objects() -> None:
    histograms = histograms_of([(0, 0, 1), (0, 1, 1), (2, 0, 1)], groups=3)
    huge = np.array([2**70, 1, 5], dtype=object)
    assert histograms.add_cells(huge).tolist() == [2**70 + 1, 0, 5]


@examples(80)
@given(CELLS, st.lists(st.integers(0, 2), min_size=5, max_size=5))
def test_merged_groups_have_the_rows_of_their_parts(cells: list[tuple[int, int, int]], into: list[int]) -> None:
    merged = histograms_of(cells).merge(np.array(into), 3)
    assert plain(merged) == added([(into[group], value, count) for group, value, count in cells], 3)


@examples(80)
@given(CELLS, st.lists(st.booleans(), min_size=5, max_size=5))
def test_selected_groups_stay_as_they_are(cells: list[tuple[int, int, int]], mask: list[bool]) -> None:
    selected = histograms_of(cells).select(np.array(mask))
    assert plain(selected) == [row for row, kept in zip(added(cells), mask, strict=True) if kept]


def test_sizes_and_histograms_must_go_together() -> None:
    with pytest.raises(DataError, match="2 group sizes do not match 5 histograms"):
        Groups(np.array([1, 2]), histograms_of([]), np.zeros(7, dtype=np.int64), SensitiveDomain.none())


def test_groups_can_be_written_down_by_hand() -> None:
    groups = Groups.from_histograms([{"flu": 2, "hiv": 1}, {"flu": 4}], name="illness")
    assert groups.sizes.tolist() == [3, 4]
    assert groups.reference.tolist() == [6, 1]
    assert groups.histogram(0) == {"flu": 2, "hiv": 1}
    assert Groups.from_histograms([(1, 5, 5)]).histogram(0) == {"1": 5, "2": 5, "0": 1}
    with pytest.raises(DataError, match="negative count"):
        Groups.from_histograms([{"flu": -1}])


def two_columns() -> Groups:
    frame = pl.DataFrame(
        {
            "zip": [1, 1, 1, 2, 2],
            "illness": ["flu", "flu", "hiv", "flu", "hiv"],
            "job": ["cook", "nurse", "cook", "cook", "cook"],
        }
    )
    return count_table(Table(frame, quasi=["zip"], sensitive=["illness", "job"])).groups()


def test_a_column_is_refined_by_the_raw_values_of_the_others() -> None:
    refined = two_columns().of("illness")
    found = [
        (int(parent), refined.histogram(group), int(refined.sizes[group]))
        for group, parent in enumerate(refined.parents())
    ]
    assert sorted(found, key=str) == [
        (0, {"flu": 1, "hiv": 1}, 2),
        (0, {"flu": 1}, 1),
        (1, {"flu": 1, "hiv": 1}, 2),
    ]
    assert refined.reference.tolist() == [3, 2]
    assert refined.domain.columns[0].name == "illness"


def test_a_marginal_ignores_the_other_columns() -> None:
    marginal = two_columns().marginal("job")
    assert [marginal.histogram(group) for group in range(2)] == [{"cook": 2, "nurse": 1}, {"cook": 2}]
    assert marginal.reference.tolist() == [4, 1]


def test_with_one_column_nothing_is_refined() -> None:
    groups = Groups.from_histograms([{"flu": 2}])
    assert groups.of(None) is groups
    assert groups.of("value") is groups
    assert groups.marginal("value") is groups


def test_which_of_several_columns_is_meant_must_be_said() -> None:
    with pytest.raises(PolicyError, match="several sensitive columns; choose one"):
        two_columns().of(None)
    with pytest.raises(PolicyError, match=r"no sensitive column 'jop'. Did you mean 'job'"):
        two_columns().of("jop")


def test_joint_values_are_spelled_out() -> None:
    assert two_columns().histogram(1) == {"flu / cook": 1, "hiv / cook": 1}


def test_the_whole_is_one_group_and_selection_keeps_the_reference() -> None:
    groups = two_columns()
    whole = groups.whole()
    assert whole.sizes.tolist() == [5]
    assert whole.marginal("illness").histogram(0) == {"flu": 3, "hiv": 2}
    chosen = groups.select(np.array([False, True]))
    assert chosen.sizes.tolist() == [2]
    assert chosen.reference.tolist() == groups.reference.tolist()


def test_people_are_counted_where_several_rows_are_one_person() -> None:
    frame = {"zip": [1, 1, 1, 2], "id": [7, 7, 8, 9], "illness": ["a", "b", "a", "b"]}
    table = Table(frame, quasi=["zip"], sensitive="illness", key="id", unit="person")
    groups = count_table(table).groups()
    assert groups.sizes.tolist() == [3, 1]
    assert groups.distinct_people.tolist() == [2, 1]
    assert groups.people.tolist() == [1, 1]
    assert groups.whole().distinct_people.tolist() == [3]
    assert groups.whole().people.tolist() == [2]


def test_what_was_measured_on_groups_is_measured_once_for_each_key() -> None:
    groups, asked = Groups.from_histograms([(2, 1), (0, 0), (3,)]), []
    assert [groups.found(key, lambda key=key: asked.append(key) or len(asked)) for key in ("a", "b", "a")] == [1, 2, 1]
    assert asked == ["a", "b"]
    assert groups.select(np.array([True, True, False])).found("a", lambda: "anew") == "anew"
    assert groups.filled.tolist() == [0, 2]


def test_sums_of_ranked_counts_run_over_all_groups() -> None:
    cells = Groups.from_histograms([(1, 4, 2), (5,)]).histograms
    assert cells.ranked.tolist() == [4, 2, 1, 5]
    assert cells.ranked_sums.tolist() == [0, 4, 6, 7, 12]


def test_marks_of_cells_are_reduced_to_marks_of_groups() -> None:
    cells = Groups.from_histograms([(1, 4), (0, 0), (5,)]).histograms
    assert cells.reduce_max(np.array([False, True, False])).tolist() == [True, False, False]
    assert cells.reduce_max(np.array([3, 9, 7])).tolist() == [9, 0, 7]
