"""The feasibility precheck and the homogeneity audit."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.core import Groups
from reticent.definitions import (
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    feasibility,
    homogeneity_audit,
    require_feasible,
)
from reticent.engine import count_table
from reticent.errors import Infeasible, PolicyError
from reticent.table import Table
from tests.definitions.making import groups_of, matrices
from tests.sampling import examples

SKEWED = Groups.from_histograms([{"yes": 60, "no": 5}, {"yes": 30, "no": 5}])


def test_a_table_of_ninety_percent_one_value_is_found_infeasible_with_its_figures() -> None:
    """Recursive needs c > 9 at any l, and entropy stays below that of the marginal."""
    with pytest.raises(Infeasible) as raised:
        require_feasible(SKEWED, RecursiveLDiversity(9, 2))
    message = str(raised.value)
    assert "RecursiveLDiversity(c=9, l=2)" in message
    assert "even all 100 rows in one group do not" in message
    assert "c would have to exceed 9" in message
    assert "an effective l (exp of the entropy) of 1.38415" in message
    require_feasible(SKEWED, RecursiveLDiversity("9.01", 2))


def test_the_failing_part_of_several_is_the_one_explained() -> None:
    with pytest.raises(Infeasible) as raised:
        require_feasible(SKEWED, KAnonymity(5) & DistinctLDiversity(3) & TCloseness("0.1"))
    assert "fewer than 3 different values; the worst has 2" in str(raised.value)
    assert "would need more different values for recursive diversity with l = 3" in str(raised.value)
    assert "people" not in str(raised.value)


def test_too_few_rows_for_k_are_infeasible() -> None:
    with pytest.raises(Infeasible, match="the smallest has 100"):
        require_feasible(SKEWED, KAnonymity(101))


def test_several_sensitive_columns_are_prechecked_each() -> None:
    table = Table({"zip": [1, 2, 3], "a": ["x", "y", "z"], "b": ["u", "u", "u"]}, quasi=["zip"], sensitive=["a", "b"])
    groups = count_table(table).groups()
    with pytest.raises(Infeasible, match="In column 'b'"):
        require_feasible(groups, DistinctLDiversity(2))


@examples(80)
@given(matrices(), st.fractions(min_value=1, max_value=5, max_denominator=6))
def test_whatever_passes_is_feasible(matrix: list[list[int]], wanted: Fraction) -> None:
    groups = groups_of(matrix)
    for definition in (
        EntropyLDiversity(wanted),
        RecursiveLDiversity(wanted, 2),
        RecursiveLDiversity(wanted, 3, ["a"]),
    ):
        whole = feasibility(groups, definition)
        assert whole is not None
        if definition.holds(groups):
            assert whole.holds


def test_a_definition_that_is_not_monotone_is_not_prechecked() -> None:
    definition = DistinctLDiversity(5)
    object.__setattr__(definition, "monotone", False)
    assert feasibility(SKEWED, definition) is None
    require_feasible(SKEWED, definition)


def test_the_audit_counts_everybody_in_an_affected_group() -> None:
    groups = Groups.from_histograms([{"a": 19, "b": 1}, {"a": 94, "b": 6}, {"a": 5}, {"a": 1, "b": 1}])
    strict, loose = homogeneity_audit(groups), homogeneity_audit(groups, "0.95")
    assert (strict.affected.tolist(), strict.groups, strict.rows) == ([2], 1, 5)
    assert (loose.affected.tolist(), loose.groups, loose.rows) == ([0, 2], 2, 25)
    assert homogeneity_audit(groups, 0.5).groups == 4


def test_the_audit_looks_at_each_sensitive_column_by_itself() -> None:
    frame = pl.DataFrame({"zip": [1, 1, 2, 2], "a": ["x", "x", "x", "y"], "b": ["u", "v", "u", "v"]})
    groups = count_table(Table(frame, quasi=["zip"], sensitive=["a", "b"])).groups()
    assert homogeneity_audit(groups).affected.tolist() == [0]
    assert homogeneity_audit(groups, column="b").groups == 0


@pytest.mark.parametrize(("tau", "message"), [(0, "above 0"), ("1.1", "at most 1"), ("half", "must be a number")])
def test_a_bad_tau_is_refused(tau: object, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        homogeneity_audit(SKEWED, tau)


def test_the_audit_needs_a_sensitive_column() -> None:
    groups = count_table(Table({"zip": [1, 2]}, quasi=["zip"])).groups()
    with pytest.raises(PolicyError, match="the table has none"):
        homogeneity_audit(groups)
