"""Refusals that leak: the attacks against the leaky auditors, and against ours (QA-G1..G4)."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import reticent as rt
from reticent.baselines.leaky_auditors import (
    AuditedGate,
    ChinGate,
    MixedGate,
    OppositeGate,
    drop_attack,
    equality_attack,
    parity_attack,
    stories,
)
from tests.oracles import audit_distinct as synopses
from tests.sources import SOURCE, nodes


def members(*people):
    return [person - 1 for person in people]


def test_sum_and_maximum_of_three_equal_people_are_given_away_by_the_refusal():
    """QA-G1: x1+x2+x3 = 15, then the maximum: refused iff all are 5."""
    for values in ([5, 5, 5], [4, 5, 6], [0, 5, 10], [5, 0, 10]):
        gate = MixedGate(values)
        assert gate.answer(range(3), "sum") == 15
        assert (gate.answer(range(3), "max") is None) == (values == [5, 5, 5])
        claims = equality_attack(MixedGate(values), [range(3)])
        assert claims.values == ({0: 5, 1: 5, 2: 5} if values == [5, 5, 5] else {})
        ours = equality_attack(AuditedGate(values), [range(3)])
        assert ours.values == {}
        assert ours.refused == 1


def test_the_one_left_out_has_the_maximum():
    """QA-G2."""
    values = (3, 9, 5, 7)
    chin = ChinGate(values)
    assert chin.answer(range(4), "max") == 9
    assert chin.answer(members(1, 3, 4), "max") is None
    assert ChinGate((9, 3, 5, 7)).answer(members(1, 3, 4), "max") == 9
    for duplicates in (True, False):
        for data in (values, (9, 3, 5, 7), (1, 2, 3, 4)):
            ours = AuditedGate(data, duplicates=duplicates)
            assert ours.answer(range(4), "max") == max(data)
            assert ours.foreseen(members(1, 3, 4), "max") is False
            assert ours.answer(members(1, 3, 4), "max") is None


def test_an_eighth_of_all_people_is_exposed_by_leaving_people_out():
    """QA-G3: two random drops from each four; no wrong guess. Our auditor: nobody."""
    n, shares = 4000, []
    tuples = [range(start, start + 4) for start in range(0, n, 4)]
    for seed in range(20):
        values = np.random.default_rng(seed).permutation(n).tolist()
        claims = drop_attack(ChinGate(values), tuples, seed)
        assert all(values[person] == value for person, value in claims.values.items())
        shares.append(len(claims.values) / n)
    # One person in four of every second tuple: five sigmas of the mean of 20 runs of 1000 tuples.
    assert abs(np.mean(shares) - 0.125) < 5 * 0.25 * 0.5 / np.sqrt(20_000)
    for duplicates in (True, False):
        ours = drop_attack(AuditedGate(values[:400], duplicates=duplicates), tuples[:100])
        assert ours.values == {}
        assert ours.refused == 200


def test_the_boolean_attack_reads_eight_values():
    """QA-G4, step by step, and then by the attack itself."""
    gate = OppositeGate([0, 0, 0, 0, 1, 1, 1, 1])
    for pair in ((1, 2), (3, 4), (5, 6), (7, 8), (2, 3)):
        assert gate.answer(members(*pair), "sum") is None
    assert gate.answer(members(4, 5), "sum") == 1
    assert gate.answer(members(6, 7), "sum") is None
    assert gate.answer(members(1, 6, 8), "sum") == 2
    claims = parity_attack(OppositeGate([0, 0, 0, 0, 1, 1, 1, 1]), 8)
    assert claims.values == dict(enumerate([0, 0, 0, 0, 1, 1, 1, 1]))
    assert (claims.asked, claims.refused) == (8, 6)


def test_the_last_query_needs_people_whom_no_answer_holds():
    """E22: person 5 is unlike person 1 and in a denied pair, but its trace is not empty, so {1, 5, 8} is denied."""
    gate = OppositeGate([0, 0, 0, 0, 1, 1, 1, 1])
    assert gate.answer(members(4, 5), "sum") == 1
    assert gate.answer(members(1, 5, 8), "sum") is None
    assert gate.answer(members(1, 6, 8), "sum") == 2


@pytest.mark.parametrize(
    ("n", "zeros", "runs", "expected"), [(200, 0.5, 60, 0.5), (200, 0.3, 60, 0.58), (1000, 0.1, 12, 0.82)]
)
def test_the_boolean_attack_exposes_the_equal_pairs(n, zeros, runs, expected):
    """QA-G4: about 1 - 2p(1-p) of all people, always right; half of them for half zeros."""
    shares = []
    for seed in range(runs):
        values = np.random.default_rng(seed).permutation(np.arange(n) >= zeros * n).astype(int).tolist()
        claims = parity_attack(OppositeGate(values), n, skewed=zeros != 0.5)
        assert all(values[person] == value for person, value in claims.values.items())
        shares.append(len(claims.values) / n)
    # Each of the n/2 pairs is equal with this probability: five sigmas.
    assert abs(np.mean(shares) - expected) < 5 * np.sqrt(expected * (1 - expected) / (runs * n / 2))


def test_our_auditor_refuses_exact_sums_of_zeros_and_ones():
    claims = parity_attack(AuditedGate([0, 1] * 20, lower=0, upper=1), 40)
    assert claims.values == {}
    assert claims.refused == claims.asked


def test_nobody_in_groups_of_equal_people_is_safe_from_sum_and_maximum():
    generator = np.random.default_rng(3)
    values = generator.integers(1, 3, 300).tolist()
    groups = [range(start, start + 3) for start in range(0, 300, 3)]
    claims = equality_attack(MixedGate(values), groups)
    equal = {person for people in groups if len({values[i] for i in people}) == 1 for person in people}
    assert set(claims.values) == equal
    assert len(equal) > 30
    assert all(values[person] == value for person, value in claims.values.items())
    assert equality_attack(AuditedGate(values), groups).values == {}


def test_the_leaky_synopsis_follows_the_update_of_the_spec():
    generator = np.random.default_rng(4)
    for _ in range(150):
        values = generator.permutation(7).tolist()
        gate, synopsis = ChinGate(values), []
        for _ in range(10):
            query = frozenset(generator.permutation(7)[: generator.integers(1, 8)].tolist())
            after = synopses.update(synopsis, query, max(values[person] for person in query))
            breach = any(sign == "=" and len(people) == 1 for people, sign, _ in after)
            assert (gate.answer(query, "max") is None) == breach
            synopsis = synopsis if breach else after


def test_the_stories_show_exposure_by_leaky_auditors_only():
    told = stories(people=120, seed=1)
    assert [story.name for story in told] == ["maxima", "booleans", "salaries"]
    for story in told:
        assert story.people == 120
        assert story.leaky.exposed > 0
        assert story.leaky.right == story.leaky.exposed
        assert (story.ours.exposed, story.ours.right) == (0, 0)
        assert story.ours.refused > 0
        assert story.title
        assert story.text.endswith(".")
    assert stories(people=120, seed=1) == told


def test_attacks_that_get_nothing_claim_nothing():
    assert drop_attack(AuditedGate([1, 2, 3, 4], lower=0), [range(4)]).values == {}
    for same in ([1] * 12, [0, 1] * 6, [0]):
        assert parity_attack(OppositeGate(same), len(same)).values == {}


def test_bad_demonstrations_are_refused():
    with pytest.raises(rt.PolicyError, match="people must be at least 12"):
        stories(people=3)
    with pytest.raises(rt.PolicyError, match="must be 0 and 1"):
        OppositeGate([0, 1, 2])
    with pytest.raises(rt.PolicyError, match="supports max, not sum"):
        ChinGate([1, 2]).answer({0, 1}, "sum")


@pytest.mark.xdist_group("house")
def test_nothing_that_serves_people_imports_the_leaky_room():
    for module in SOURCE.rglob("*.py"):
        inside = module.relative_to(SOURCE).parts
        if inside[0] == "baselines" or inside[0] in ("cli", "demo"):
            continue
        names = {node.module or "" for node in nodes(module) if isinstance(node, ast.ImportFrom)}
        assert not any(name.startswith("reticent.baselines.leaky_auditors") for name in names), module
