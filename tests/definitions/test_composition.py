"""Several definitions at once, several sensitive columns, and groups without rows."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.core import Groups
from reticent.definitions import (
    All,
    Definition,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    NegatedKnowledge,
    NegativePositiveDiversity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
)
from reticent.definitions.anonymity import PeopleAtLeast
from reticent.definitions.diversity import ValuesAtLeast
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.table import Table
from tests.definitions.making import groups_of

ON_A_COLUMN: list[Definition] = [
    DistinctLDiversity(2),
    ProbabilisticLDiversity(2),
    EntropyLDiversity("1.5"),
    EntropyLDiversity("1.5", ["a"]),
    RecursiveLDiversity(2, 2),
    NegativePositiveDiversity(2, 1, 2, (), ["a"]),
    TCloseness("0.2"),
]


def test_all_parts_must_hold() -> None:
    groups = groups_of([[3, 3, 0], [1, 1, 0], [9, 0, 0]])
    both = KAnonymity(3) & DistinctLDiversity(2)
    assert isinstance(both, All)
    assert both.failing(groups).tolist() == [False, True, True]
    found = both.assess(groups)
    assert not found.holds
    assert found.value == {"KAnonymity(k=3)": 2, "DistinctLDiversity(l=2)": 1}
    assert [part.holds for part in found.parts] == [False, False]
    assert found.witness == found.parts[0].witness


def test_what_one_definition_found_on_the_groups_does_not_change_what_the_next_says() -> None:
    groups = groups_of([[3, 3, 0, 1], [1, 1, 0, 2], [9, 0, 4, 4]])
    knowing = [WorstCaseKnowledge("0.9", 1), NegatedKnowledge("0.9", 1), NegatedKnowledge("0.9", 2)]
    deeper = [RecursiveLDiversity(2, 4), DistinctLDiversity(3), RecursiveLDiversity(2, 3, ["d"])]
    for definition in [*ON_A_COLUMN, *knowing, *deeper, *ON_A_COLUMN]:
        assert definition.assess(groups) == definition.assess(replace(groups)), definition


def test_composition_is_flat_and_inherits_what_all_parts_have() -> None:
    three = KAnonymity(3) & (DistinctLDiversity(2) & EntropyLDiversity(2))
    assert len(three.parts()) == 3
    assert three.monotone
    assert not three.absorbing
    assert three.relaxation() == PeopleAtLeast(3) & ValuesAtLeast(2) & ValuesAtLeast(2)
    assert (KAnonymity(3) & DistinctLDiversity(2)).absorbing
    assert (KAnonymity(3) & TCloseness(1)).needs_reference
    assert (KAnonymity(2) & TCloseness("0.1")).relaxation() == PeopleAtLeast(2)


@pytest.mark.parametrize("definition", ON_A_COLUMN, ids=str)
def test_a_group_without_rows_harms_nobody(definition: Definition) -> None:
    assert definition.failing(groups_of([[0, 0], [0, 9], [4, 4], [9, 9]])).tolist() == [False, True, False, False]


@pytest.mark.parametrize("definition", ON_A_COLUMN, ids=str)
def test_an_empty_release_cannot_be_assessed(definition: Definition) -> None:
    nothing = groups_of([[1, 1]]).select(np.array([False]))
    with pytest.raises(DataError, match="nothing would be published"):
        definition.assess(nothing)
    assert definition.failing(nothing).tolist() == []


@pytest.mark.parametrize("definition", ON_A_COLUMN, ids=str)
def test_assessment_and_mask_agree(definition: Definition) -> None:
    draw = np.random.default_rng(7)
    for _ in range(40):
        groups = groups_of(draw.integers(0, 9, size=(6, 3)) + np.eye(6, 3, dtype=np.int64))
        found, failing = definition.assess(groups), definition.failing(groups)
        assert found.holds is not failing.any()
        assert found.diagnostics["failing_groups"] == failing.sum()
        assert found.diagnostics["failing_rows"] == groups.sizes[failing].sum()
        if found.witness is not None:
            assert failing[found.witness.group]


def two_columns() -> Groups:
    frame = pl.DataFrame(
        {
            "zip": [1, 1, 1, 1, 2, 2, 2, 2],
            "illness": ["flu", "hiv", "flu", "hiv", "flu", "hiv", "flu", "flu"],
            "job": ["cook", "cook", "nurse", "nurse", "cook", "cook", "nurse", "nurse"],
        }
    )
    return count_table(Table(frame, quasi=["zip"], sensitive=["illness", "job"])).groups()


def test_each_sensitive_column_is_judged_among_people_alike_in_the_others() -> None:
    groups = two_columns()
    assert DistinctLDiversity(2, "illness").failing(groups).tolist() == [False, True]
    assert DistinctLDiversity(2, "job").failing(groups).tolist() == [False, True]
    found = DistinctLDiversity(2).assess(groups)
    assert found.value == {"illness": 1, "job": 1}
    assert found.witness is not None
    assert found.witness.group == 1
    assert "In column 'illness'" in found.witness.text


def test_columns_may_have_definitions_of_their_own() -> None:
    own = DistinctLDiversity(2, "illness") & EntropyLDiversity(2, column="job")
    assert own.failing(two_columns()).tolist() == [False, True]


def test_a_definition_on_a_column_that_is_not_there_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"There is no sensitive column 'ilness'. Did you mean 'illness'"):
        DistinctLDiversity(2, "ilness").failing(two_columns())


def test_a_table_without_a_sensitive_column_is_refused() -> None:
    groups = count_table(Table({"zip": [1, 2]}, quasi=["zip"])).groups()
    with pytest.raises(PolicyError, match="protects a sensitive column, but the table has none"):
        DistinctLDiversity(2).failing(groups)


def test_k_anonymity_counts_and_names_the_smallest_group() -> None:
    groups = groups_of([[3, 3], [1, 1], [1, 0]])
    found = KAnonymity(3).assess(groups)
    assert (found.holds, found.value) == (False, 1)
    assert found.witness is not None
    assert found.witness.group == 2
    assert found.diagnostics == {"groups": 3, "failing_groups": 2, "failing_rows": 3, "unique_rows": 1}
    with pytest.raises(DataError, match="no groups"):
        KAnonymity(3).assess(groups.select(np.zeros(3, dtype=bool)))


def test_probabilistic_diversity_bounds_the_largest_share_inclusively() -> None:
    groups = Groups.from_histograms([{"a": 2, "b": 1, "c": 2}, {"a": 1, "b": 2}])
    found = ProbabilisticLDiversity("1.5").assess(groups)
    assert found.holds
    assert found.value == Fraction(3, 2)
    assert ProbabilisticLDiversity("1.6").failing(groups).tolist() == [False, True]


def test_groups_that_other_sensitive_columns_cut_are_not_called_groups_of_the_release() -> None:
    frame = {"zip": [1, 1, 2], "illness": ["flu", "hiv", "flu"], "drug": ["a", "b", "a"]}
    groups = count_table(Table(frame, quasi=["zip"], sensitive=["illness", "drug"])).groups()
    witness = DistinctLDiversity(2, "illness").assess(groups).witness
    assert witness is not None
    assert witness.text.startswith(
        "In column 'illness', 3 of 3 groups, split by the other sensitive columns, have fewer than 2"
    )
    alone = DistinctLDiversity(2).assess(groups.marginal("illness")).witness
    assert alone is not None
    assert alone.text.startswith("In column 'illness', 1 of 2 groups has fewer than 2")


def test_what_is_missing_is_named_with_the_way_out() -> None:
    groups = count_table(Table({"zip": [1, 1]}, quasi=["zip"])).groups()
    with pytest.raises(
        PolicyError, match=r"TCloseness protects a sensitive column, but the table has none.* --sensitive"
    ):
        (KAnonymity(2) & TCloseness("0.1")).assess(groups)
    with pytest.raises(PolicyError, match=r"no sensitive column 'valeu'. Did you mean 'value'\? There are: value"):
        DistinctLDiversity(2, "valeu").assess(groups_of([[1, 1]]))
    with pytest.raises(DataError, match=r"has no value 'z'.* declare the column.s domain: sensitive=\{'value': "):
        EntropyLDiversity(2, ["z"]).assess(groups_of([[1, 1]]))
