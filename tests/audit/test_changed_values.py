"""Maxima where values change: a person's values of different times differ, and everybody knows it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from reticent.audit import MaxAuditor
from reticent.errors import PolicyError
from tests.oracles.audit_sessions import determined_by_maxima


def play(rng: random.Random, people: int, times: int, steps: int) -> tuple[int, int]:
    """A random session; after every answer nobody may be determined. Returns how many were answered and how many denied.

    Each person has the top value at one time at most, so that equal maxima of several times are as frequent as they can be.
    """
    owners = [person for _ in range(times) for person in range(people)]
    tops = [time * people + person for time, person in enumerate(rng.sample(range(people), min(times, people)))]
    values = [99 if variable in tops else rng.choice([variable, 50]) for variable in range(len(owners))]
    for person in range(people):
        fifties = [variable for variable in range(person, len(owners), people) if values[variable] == 50]
        for variable in fifties[1:]:
            values[variable] = variable
    auditor, answered, denied = MaxAuditor(people), [], 0
    auditor.extend(len(owners), np.array(owners))
    for _ in range(steps):
        time = rng.randrange(times)
        asked = [time * people + person for person in rng.sample(range(people), rng.randint(2, people))]
        if auditor.ask(asked):
            answer = max(values[variable] for variable in asked)
            auditor.record(asked, answer)
            answered.append((frozenset(asked), answer))
            assert determined_by_maxima(answered, lambda one, other: owners[one] == owners[other]) == set()
        else:
            denied += 1
    return len(answered), denied


def test_random_sessions_with_changed_values_determine_nobody():
    rng = random.Random(5)
    played = [play(rng, rng.randint(2, 5), rng.randint(2, 3), 8) for _ in range(300)]
    assert min(sum(counts) for counts in zip(*played, strict=True)) > 300


def test_three_equal_maxima_of_two_people_whose_values_all_differ_need_somebody_else():
    owners = np.array([0, 1, 2, 0, 1, 0, 1])
    auditor = MaxAuditor(7)
    auditor.extend(7, owners)
    asked = [{0, 1}, {3, 4}, {2, 5, 6}]
    answered = []
    for members in asked:
        if auditor.ask(members):
            auditor.record(members, 5)
            answered.append(members)
    assert answered != asked


def test_without_a_word_on_owners_every_variable_is_a_person():
    auditor = MaxAuditor(4)
    auditor.extend(7)
    for members in ({0, 1}, {2, 3}, {4, 5, 6}):
        assert auditor.ask(members)
        auditor.record(members, 5)


def test_an_answer_other_than_theirs_makes_no_rivals():
    auditor = MaxAuditor(3)
    auditor.extend(6, np.array([0, 1, 2, 0, 1, 2]))
    auditor.record({0, 1, 2}, 5)
    assert auditor.ask({3, 4, 5})
    auditor.record({3, 4, 5}, 7)
    auditor.extend(9, np.array([0, 1, 2, 0, 1, 2, 0, 1, 2]))
    assert auditor.ask({6, 7, 8})
    auditor.record({6, 7, 8}, 7)
    # Two of three people explain the two 7s; a third 7 would leave nobody a choice.
    auditor.extend(12, np.array([0, 1, 2] * 4))
    assert not auditor.ask({9, 10, 11})


def test_owners_name_somebody_for_every_variable():
    with pytest.raises(PolicyError, match="owners must name a person for each of the 4 variables, but it has 3"):
        MaxAuditor(3).extend(4, np.array([0, 1, 2]))
