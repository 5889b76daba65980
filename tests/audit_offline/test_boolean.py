"""Boolean columns: intervals by shortest paths, everything else by search; both against all of {0,1}^n."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.audit import check_log
from reticent.audit.offline.argument import Argument
from tests.oracles import audit_offline_brute as brute
from tests.sampling import examples

PEOPLE = 7
INTERVALS = st.lists(
    st.tuples(st.integers(0, PEOPLE - 1), st.integers(1, PEOPLE)).map(
        lambda pair: range(pair[0], min(PEOPLE, pair[0] + pair[1]))
    ),
    max_size=5,
)
SETS = st.lists(st.frozensets(st.integers(0, PEOPLE - 1), min_size=1), max_size=5)
BITS = st.lists(st.integers(0, 1), min_size=PEOPLE, max_size=PEOPLE)


def agrees(log) -> None:
    report = check_log(log, n=PEOPLE, values="boolean")
    expected = brute.exposed_over(log, PEOPLE, (0, 1))
    assert report.consistent == (expected is not None)
    assert not report.undecided
    if expected is None:
        assert report.contradiction.holds(report.log)
    else:
        assert dict(report.exposed) == expected
        assert all(report.certificate[person].holds(report.log) for person in report.exposed)


@examples(100)
@given(INTERVALS, BITS)
def test_intervals_expose_whom_enumeration_exposes(intervals, bits):
    agrees([(members, "sum", sum(bits[j] for j in members)) for members in intervals])


@examples(60)
@given(INTERVALS, st.lists(st.integers(-1, 8), min_size=5, max_size=5))
def test_intervals_with_any_answers_are_consistent_iff_enumeration_finds_data(intervals, answers):
    agrees([(members, "sum", answer) for members, answer in zip(intervals, answers, strict=False)])


@examples(40)
@given(SETS, BITS)
def test_other_sets_expose_whom_enumeration_exposes(sets, bits):
    agrees([(members, "sum", sum(bits[j] for j in members)) for members in sets])


@examples(25)
@given(SETS, st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_other_sets_with_any_answers_are_consistent_iff_enumeration_finds_data(sets, answers):
    agrees([(members, "sum", answer) for members, answer in zip(sets, answers, strict=False)])


@examples(25)
@given(SETS, st.lists(st.sampled_from(["sum", "max", "min"]), min_size=5, max_size=5), BITS)
def test_sums_maxima_and_minima_of_bits_expose_whom_enumeration_exposes(sets, functions, bits):
    log = [
        (members, function, brute.FUNCTIONS[function](bits[j] for j in members))
        for members, function in zip(sets, functions, strict=False)
    ]
    agrees(log)


def test_a_path_is_told_as_questions_added_and_subtracted():
    report = check_log([({0, 1, 2}, "sum", 1), ({1, 2, 3}, "sum", 2)], n=5, values="boolean")
    assert dict(report.exposed) == {0: 0, 3: 1}
    assert report.certificate[0].lines(report.log) == [
        "At most 0:",
        "  query 1 - query 2 adds up to -1; with the bounds of all other people in it, person 0 is at most 0.",
        "At least 0:",
        "  By the bounds, person 0 is at least 0.",
    ]


def test_whole_numbers_expose_where_fractions_would_not():
    """Three pairs of an odd cycle with answer 1 each would need halves; with a fourth person the sum is forced."""
    log = [({0, 1, 3}, "sum", 1), ({1, 2, 3}, "sum", 1), ({0, 2, 3}, "sum", 1)]
    assert check_log(log, n=4, lower=0, upper=1).ok
    report = check_log(log, n=4, values="boolean")
    assert dict(report.exposed) == {0: 0, 1: 0, 2: 0, 3: 1}
    assert isinstance(report.certificate[3], Argument)
    assert any(line.strip().startswith("If person") for line in report.certificate[3].lines(report.log))
    assert report.certificate[3].holds(report.log)


def test_a_log_of_bits_with_a_fraction_as_answer_contradicts_itself():
    for members in ({0, 1}, {0, 2}):
        report = check_log([(members, "sum", "0.5")], n=3, values="boolean")
        assert report.consistent is False
        assert report.contradiction.holds(report.log)
        assert report.contradiction.lines(report.log) == ["Query 1 was answered with 1/2, but every value is 0 or 1."]


def test_thousands_of_people_in_intervals_are_decided_between_the_ends_of_questions():
    report = check_log([(range(5000), "sum", 1000), (range(4000), "sum", 0)], n=6000, values="boolean")
    assert dict(report.exposed) == {person: int(person >= 4000) for person in range(5000)}
    assert report.certificate[4321].holds(report.log)


def test_a_search_that_reaches_its_limit_says_undecided():
    rng_sets = [frozenset({j for j in range(24) if (j * k + j // k) % 3 == 0}) for k in range(2, 9)]
    bits = [j % 2 for j in range(24)]
    log = [(members, "sum", sum(bits[j] for j in members)) for members in rng_sets if members]
    report = check_log(log, n=24, values="boolean", limit=1)
    assert report.undecided
    assert not report.ok
    assert "Undecided" in "\n".join(report.lines())


@pytest.mark.slow
def test_forty_people_in_random_sets_are_decided_and_every_proof_holds():
    import numpy as np

    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, 40)
    sets = [np.flatnonzero(rng.random(40) < 0.5) for _ in range(22)]
    report = check_log([(members, "sum", int(bits[members].sum())) for members in sets], n=40, values="boolean")
    assert all(bits[person] == value for person, value in report.exposed.items())
    assert all(proof.holds(report.log) for proof in report.certificate.values())
