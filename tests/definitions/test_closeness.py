"""t-closeness against the transport problem that defines it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Groups, SensitiveDomain
from reticent.definitions import TCloseness
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.table import Hierarchy, SensitiveColumn, Table
from reticent.table.sensitive import bind_sensitive
from tests.definitions.making import column_of, groups_of, matrices
from tests.oracles.definitions_transport import earth_movers_distance, equal_ground, hierarchical_ground, ordered_ground
from tests.sampling import examples

PATHS = [
    ("a", "ab", "left", "*"),
    ("b", "ab", "left", "*"),
    ("c", "c", "left", "*"),
    ("d", "de", "right", "*"),
    ("e", "de", "right", "*"),
]


def tree_column(paths: list[tuple[str, ...]]) -> SensitiveColumn:
    return bind_sensitive("value", Hierarchy.listed(paths), pl.Series("value", [path[0] for path in paths]))


GROUNDS = {
    "equal": (equal_ground(5), column_of(5)),
    "ordered": (ordered_ground(5), column_of(5, ordered=True)),
    "hierarchical": (hierarchical_ground(PATHS), tree_column(PATHS)),
}


@pytest.mark.parametrize("distance", GROUNDS)
@examples(40)
@given(matrix=matrices())
def test_the_distance_is_the_optimum_of_the_transport_problem(distance: str, matrix: list[list[int]]) -> None:
    ground, column = GROUNDS[distance]
    groups = groups_of(matrix, column)
    whole = np.sum(matrix, axis=0).tolist()
    expected = [earth_movers_distance(row, whole, ground) for row in matrix]
    worst = TCloseness(1, distance).assess(groups).value
    assert isinstance(worst, Fraction)
    assert float(worst) == pytest.approx(max(expected), abs=1e-9)
    for group, found in enumerate(expected):
        alone = groups.select(np.arange(len(groups)) == group)
        assert float(TCloseness(1, distance).assess(alone).value) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("distance", GROUNDS)
@examples(60)
@given(matrix=matrices())
def test_the_bound_itself_passes_and_nothing_below_it(distance: str, matrix: list[list[int]]) -> None:
    groups = groups_of(matrix, GROUNDS[distance][1])
    worst = TCloseness(1, distance).assess(groups).value
    assert TCloseness(worst, distance).holds(groups)
    assert worst == 0 or not TCloseness(worst * (1 - Fraction(1, 10**25)), distance).holds(groups)


@examples(50)
@given(st.lists(st.integers(0, 30), min_size=9, max_size=9).filter(any), st.permutations(range(9)))
def test_numbers_keep_their_natural_order_in_a_hierarchy_that_lists_them_in_any(
    counts: list[int], order: list[int]
) -> None:
    reference = [3, 1, 4, 1, 5, 9, 2, 6, 5]
    plain = SensitiveColumn("value", pl.Series("value", range(9)), ordered=True)
    listed = bind_sensitive("value", Hierarchy.listed([(str(n), "*") for n in order]), pl.Series("value", range(9)))
    there = listed.codes(pl.Series("value", range(9)))
    shuffled, shuffled_reference = np.zeros(9, dtype=np.int64), np.zeros(9, dtype=np.int64)
    shuffled[there], shuffled_reference[there] = counts, reference
    one = groups_of([counts, reference], plain)
    other = groups_of([shuffled, shuffled_reference], listed)
    definition = TCloseness("0.1", "ordered")
    assert definition.assess(one).value == definition.assess(other).value
    assert definition.failing(one).tolist() == definition.failing(other).tolist()


def test_worked_distances() -> None:
    """Half the table is one half away from the whole when values are equal; a third of the way along an order."""
    matrix = [[1, 1, 0, 0], [0, 0, 1, 1]]
    assert TCloseness("0.5").assess(groups_of(matrix)).value == Fraction(1, 2)
    assert TCloseness("0.5", "ordered").assess(groups_of(matrix, column_of(4, ordered=True))).value == Fraction(1, 3)


def test_the_reference_includes_rows_that_were_suppressed() -> None:
    groups = groups_of([[1, 1, 0, 0], [0, 0, 1, 1]]).select(np.array([True, False]))
    assert TCloseness("0.4").assess(groups).value == Fraction(1, 2)


def test_the_whole_table_has_distance_zero() -> None:
    groups = groups_of([[5, 1, 2], [0, 3, 3]])
    assert TCloseness(0).assess(groups.whole()).value == 0
    assert TCloseness(0).holds(groups.whole())


@pytest.mark.parametrize("distance", GROUNDS)
def test_numbers_beyond_64_bits_are_carried_in_full(distance: str) -> None:
    small = np.array([[5, 1, 0, 2, 7], [0, 3, 9, 1, 1]])
    column = GROUNDS[distance][1]
    large = groups_of(small * 10**13, column)
    definition = TCloseness("0.3", distance)
    assert definition.assess(large).value == definition.assess(groups_of(small, column)).value
    assert definition.failing(large).tolist() == definition.failing(groups_of(small, column)).tolist()


def test_a_hierarchy_without_a_root_is_given_one() -> None:
    paths = [("a", "ab"), ("b", "ab"), ("c", "c")]
    rooted = [(*path, "*") for path in paths]
    matrix = [[4, 1, 0], [1, 2, 3]]
    without = TCloseness(1, "hierarchical").assess(groups_of(matrix, tree_column(paths))).value
    assert without == TCloseness(1, "hierarchical").assess(groups_of(matrix, tree_column(rooted))).value


def test_one_level_of_suppression_is_the_equal_distance() -> None:
    matrix = [[4, 1, 0], [1, 2, 3]]
    tree = tree_column([("a", "*"), ("b", "*"), ("c", "*")])
    assert TCloseness(1, "hierarchical").assess(groups_of(matrix, tree)).value == (
        TCloseness(1).assess(groups_of(matrix)).value
    )


def test_a_column_of_one_value_is_close_whatever_the_distance() -> None:
    for distance, column in [("equal", column_of(1)), ("ordered", column_of(1, ordered=True))]:
        assert TCloseness(0, distance).assess(groups_of([[3], [4]], column)).value == 0
    assert TCloseness(0, "hierarchical").holds(groups_of([[3], [4]], tree_column([("a", "*")])))


def test_text_without_an_order_has_no_ordered_distance() -> None:
    with pytest.raises(PolicyError, match=r"distance='ordered' needs an order of the sensitive column 'value'"):
        TCloseness("0.2", "ordered").failing(groups_of([[1, 2]]))


def test_missing_values_have_no_place_in_an_order() -> None:
    table = Table({"zip": [1, 1, 2], "pay": [10, None, 30]}, quasi=["zip"], sensitive="pay", nulls="category")
    groups = count_table(table).groups()
    with pytest.raises(PolicyError, match="missing values of column 'pay' have no rank in its order"):
        TCloseness("0.2", "ordered").failing(groups)
    assert TCloseness(1).holds(groups)


def test_the_hierarchical_distance_needs_a_hierarchy() -> None:
    with pytest.raises(PolicyError, match=r"needs a hierarchy of the sensitive column 'value'"):
        TCloseness("0.2", "hierarchical").failing(groups_of([[1, 2]]))


def test_several_sensitive_columns_are_each_compared_with_the_whole_table() -> None:
    frame = pl.DataFrame({"zip": [1, 1, 2, 2], "a": ["x", "y", "x", "y"], "b": ["u", "u", "u", "u"]})
    groups = count_table(Table(frame, quasi=["zip"], sensitive=["a", "b"])).groups()
    found = TCloseness("0.1").assess(groups)
    assert found.holds
    assert found.value == {"a": 0, "b": 0}


def test_groups_keep_the_reference_they_are_given() -> None:
    """verify judges public groups against a declared histogram."""
    own = groups_of([[2, 2]])
    declared = Groups(own.sizes, own.histograms, np.array([1, 3]), SensitiveDomain.single(own.domain.columns[0]))
    assert TCloseness(1).assess(declared).value == Fraction(1, 4)
