from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import reticent as rt
from reticent.core import Evidence, Groups, MechanismPlan, Patterns, ReleaseHistory
from reticent.definitions import (
    GENERAL,
    All,
    Assessment,
    AverageRisk,
    BetaLikeness,
    ClaimScope,
    Definition,
    DistinctLDiversity,
    GroupDefinition,
    HistoryDefinition,
    KAnonymity,
    PlanDefinition,
    Several,
    WorstCaseKnowledge,
    judge,
    of_groups,
    unkept,
    verdict,
)
from reticent.definitions.catalogue import definition_from, names
from reticent.definitions.mechanisms import BoundedBelief
from reticent.errors import PolicyError
from tests.cli.test_catalogue import EXAMPLES
from tests.definitions.making import groups_of


@dataclass(frozen=True)
class Honest(PlanDefinition):
    """A plan says of itself whether it is honest."""

    def fits(self, plan: MechanismPlan) -> str | None:
        return None if hasattr(plan, "honest") else "Honest wants a plan that says whether it is honest."

    def assess(self, plan: Any) -> Assessment:
        return Assessment(self, plan.honest, plan.honest)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return "The plan is honest."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "Whether it is carried out."


@dataclass(frozen=True)
class Growing(HistoryDefinition):
    """No release has fewer groups than the one before."""

    def assess(self, history: ReleaseHistory) -> Assessment:
        counts = [len(each) for each in history.releases]
        return Assessment(self, counts == sorted(counts), counts)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return "Releases grow."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "Everything else."


@dataclass(frozen=True)
class Told:
    honest: bool


@dataclass(frozen=True)
class Told3:
    releases: tuple[Groups, ...]


GROUPS = groups_of([[2, 2], [3, 0]])


def test_definitions_of_groups_compose_to_one_and_mixed_kinds_to_several():
    both = KAnonymity(2) & DistinctLDiversity(2)
    assert isinstance(both, All)
    assert isinstance(both, GroupDefinition)
    mixed = both & Honest()
    assert isinstance(mixed, Several)
    assert not isinstance(mixed, GroupDefinition)
    assert [part.kind for part in mixed.parts()] == ["groups", "groups", "plan"]
    assert isinstance(Honest() & KAnonymity(2), Several)
    assert not hasattr(mixed, "failing")
    assert not hasattr(BoundedBelief("1/10", "1/2"), "failing")
    assert mixed.parameters()["all"][0] == {"name": "KAnonymity", "k": 2}


def test_every_part_is_judged_on_every_piece_of_evidence_of_its_kind():
    evidence = Evidence(
        {("age",): GROUPS, ("zip",): GROUPS.whole()}, plan=Told(True), history=Told3((GROUPS.whole(), GROUPS))
    )
    found = judge(DistinctLDiversity(2) & Honest() & Growing(), evidence)
    assert [(type(each.definition).__name__, each.about, each.holds) for each in found] == [
        ("DistinctLDiversity", "age", False),
        ("DistinctLDiversity", "zip", True),
        ("Honest", "", True),
        ("Growing", "", True),
    ]
    told = verdict(DistinctLDiversity(2), found[:2])
    assert not told.holds
    assert told.value == {"age": 1, "zip": 2}
    assert told.witness is not None
    assert told.witness.text.startswith("For an adversary who knows age:")


def test_one_piece_of_evidence_gives_the_definition_s_own_answer():
    for definition in (KAnonymity(3), KAnonymity(3) & DistinctLDiversity(2)):
        found = verdict(definition, judge(definition, Evidence({("age",): GROUPS})))
        own = definition.assess(GROUPS)
        assert (found.holds, found.value, found.witness) == (own.holds, own.value, own.witness)


def test_those_left_out_are_judged_as_a_group():
    published, left_out = groups_of([[2, 2]]), {"value": groups_of([[1, 0]])}
    found = judge(DistinctLDiversity(2), Evidence({("age",): published}, remainder=left_out))
    assert [(each.about, each.holds) for each in found] == [("age", True), ("the suppressed records", False)]
    assert len(judge(DistinctLDiversity(2), Evidence({("age",): published}, remainder={}))) == 1
    for wrong in (WorstCaseKnowledge("0.9", 1), AverageRisk("0.5")):
        with pytest.raises(PolicyError, match="cannot be judged for the suppressed rows"):
            judge(wrong, Evidence({("age",): published}, remainder=left_out))
    told = verdict(DistinctLDiversity(2), found)
    assert told.witness is not None
    assert told.witness.text.startswith("About the suppressed records:")


@pytest.mark.parametrize(
    ("definition", "evidence", "message"),
    [
        (BoundedBelief("1/10", "1/2"), Evidence({("a",): GROUPS}), "judges how a release is made, not groups of rows"),
        (KAnonymity(2), Evidence(plan=Told(True)), "judges groups of rows, not how a release is made"),
        (Growing(), Evidence({("a",): GROUPS}), "judges a series of releases, not groups"),
        (KAnonymity(2) & Growing(), Evidence({("a",): GROUPS}), "judges a series of releases"),
        (
            BoundedBelief("1/10", "1/2"),
            Evidence(plan=Told(True)),
            "judges likelihood ratios, and a Told does not bound them",
        ),
        (Honest(), Evidence(plan=object()), "wants a plan that says"),
        (KAnonymity(2), Evidence(), "judges groups of rows"),
    ],
)
def test_what_there_is_no_evidence_for_is_refused_and_never_holds(definition, evidence, message):
    with pytest.raises(PolicyError, match=message):
        judge(definition, evidence)


@pytest.mark.parametrize("name", names())
def test_only_k_anonymity_is_judged_on_overlapping_groups(name):
    population = rt.Table({"zip": ["1"]}, quasi=["zip"]).frame
    plans = {
        "BoundedBelief": {"d": "1/10", "gamma": "1/2"},
        "ConcentratedDP": {"rho": 1},
        "CrowdBlending": {"k": 5, "epsilon": 1},
        "LocalDP": {"epsilon": 1},
        "MInvariance": {"m": 2},
        "TauSafety": {"m": 2},
    }
    parameters = {**EXAMPLES.get(name, plans.get(name, {"epsilon": 1, "delta": "1/100"}))}
    if name in ("KMap", "DeltaPresence"):
        parameters["population"] = population
    definition = definition_from(name, parameters)
    evidence = Evidence(patterns=Patterns(np.array([9, 9]), np.array([18, 18])))
    if name == "KAnonymity":
        assert all(each.holds for each in judge(definition, evidence))
        return
    with pytest.raises(PolicyError, match=name):
        judge(definition, evidence)


def test_compatible_rows_do_not_make_k_anonymity():
    # (a,*), (a,2), (a,2) with k = 2: each row is compatible with all three, but somebody with (a,1) fits only the first (002, 7.2).
    found = judge(KAnonymity(2), Evidence(patterns=Patterns(np.array([1, 2]), np.array([3, 3]))))
    assert not found[0].holds
    assert found[0].diagnostics["compatible"] == 3


def test_kinds_of_k_rows_leave_every_row_at_one_in_k_whatever_is_known_of_quasi_values():
    # Brute force: people with all quasi values known, rows with labels; every way to link them that fits is a world.
    rows = ["a*", "a*", "a2", "a2"]
    for people in (["a1", "a2", "a2", "a2"], ["a1", "a1", "a2", "a2"], ["a2"] * 4):
        worlds = [
            order
            for order in permutations(range(4))
            if all(row[1] in ("*", person[1]) for person, row in zip(people, (rows[i] for i in order), strict=True))
        ]
        assert worlds
        for person in range(4):
            for row in range(4):
                assert 2 * sum(world[person] == row for world in worlds) <= len(worlds)


class Never:
    """A method that must not be asked to do anything."""

    keeps, streams = frozenset({"groups"}), True

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason

    def refusal(self, table: Any, definition: Definition) -> str | None:
        return self.reason

    def draft(self, *given: Any) -> Any:
        raise AssertionError("asked although it cannot keep the definition")


def test_publish_refuses_other_kinds_and_what_a_method_refuses_before_any_work():
    table = rt.Table({"age": [1, 1], "ill": ["x", "y"]}, quasi=["age"], sensitive="ill")
    with pytest.raises(
        PolicyError, match=r"BoundedBelief judges how a release is made, not groups of rows.*Never cannot satisfy it"
    ):
        rt.publish(table, BoundedBelief("1/10", "1/2"), Never())
    with pytest.raises(PolicyError, match="not today"):
        rt.publish(table, KAnonymity(2), Never("not today"))
    with pytest.raises(PolicyError, match="AlphaBeta cannot satisfy it"):
        rt.publish(table, KAnonymity(2), rt.AlphaBeta())
    with pytest.raises(PolicyError, match="Lattice cannot satisfy it"):
        rt.Lattice().draft(table, BoundedBelief("1/10", "1/2"))
    assert unkept("Lattice", frozenset({"groups"}), KAnonymity(2)) is None


def test_whoever_can_only_judge_groups_gets_these():
    assert of_groups(BetaLikeness(1), "search") == BetaLikeness(1)
    with pytest.raises(PolicyError, match="search cannot satisfy it"):
        rt.search(rt.Table({"age": [1]}, quasi=["age"]), BoundedBelief("1/10", "1/2"))
