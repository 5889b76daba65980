"""The golden logs of spec 002, section 2.4, read offline; people are numbered from 0 here."""

from __future__ import annotations

import pytest

import reticent as rt

check_log = rt.audit.check_log


def test_g1_sum_and_maximum_of_the_same_people_expose_them_only_if_all_are_equal():
    equal = check_log([({0, 1, 2}, "sum", 15), ({0, 1, 2}, "max", 5)], n=3)
    assert equal.exposed == {0: 5, 1: 5, 2: 5}
    assert all(equal.certificate[person].holds(equal.log) for person in range(3))
    for maximum in ("5.001", 6, 7, 15, 100):
        assert check_log([({0, 1, 2}, "sum", 15), ({0, 1, 2}, "max", maximum)], n=3).ok
    assert check_log([({0, 1, 2}, "sum", 15), ({0, 1, 2}, "max", "4.999")], n=3).consistent is False


def test_g2_what_the_leaky_denial_gives_away():
    assert check_log([({0, 1, 2, 3}, "max", 9)], n=4).ok
    report = check_log([({0, 1, 2, 3}, "max", 9), ({0, 2, 3}, "max", 7)], n=4)
    assert report.exposed == {1: 9}


@pytest.mark.parametrize("third", [9, "9.5", 3, -100])
def test_g5_any_smaller_third_maximum_leaves_the_last_person_alone(third):
    report = check_log([(range(5), "max", 10), ({0, 1, 2}, "max", 8), ({2, 3}, "max", third)], n=5)
    assert report.exposed.get(4) == 10


def test_g5_after_the_larger_second_maximum_no_third_one_exposes_anybody():
    past = [(range(5), "max", 10), ({0, 1, 2}, "max", 10)]
    for third in (10, "9.5", 3):
        assert check_log([*past, ({2, 3}, "max", third)], n=5).ok
    distinct = check_log([*past, ({2, 3}, "max", 10)], n=5, duplicates=False)
    assert distinct.exposed == {2: 10}


def test_g6_the_query_that_the_literal_condition_would_answer():
    past = [({0, 1, 5}, "max", 5), ({2, 3, 4}, "max", 10)]
    exposing = {answer: check_log([*past, ({0, 2}, "max", answer)], n=6).exposed for answer in (4, 5, "7.5", 10)}
    assert exposing == {4: {}, 5: {}, "7.5": {2: exposing["7.5"][2]}, 10: {2: 10}}
    assert check_log([*past, ({0, 2}, "max", 11)], n=6).consistent is False


@pytest.mark.parametrize(
    ("sets", "answered"),
    [
        ([{0, 1}, {1, 2}, {0, 2}], "AAD"),
        ([{0, 1}, {1, 2}, {2, 3}, {0, 3}], "AAAA"),
        ([{0, 1, 2, 3, 4}, {0, 1, 2, 3}, {0, 1}, {2, 3, 4}], "ADAA"),
        ([set(range(6)) - {i} for i in range(6)], "AAAAAD"),
    ],
)
def test_g7_and_g8_answered_sums_expose_nobody_and_each_denied_one_would(sets, answered):
    data = [3, 1, 4, 1, 5, 9]
    log = []
    for members, verdict in zip(sets, answered, strict=True):
        asked = (members, "sum", sum(data[j] for j in members))
        report = check_log([*log, asked], n=6)
        assert report.ok == (verdict == "A")
        assert all(data[person] == value for person, value in report.exposed.items())
        log += [asked] if verdict == "A" else []


def test_g8_the_sixth_of_all_but_one_exposes_everybody_with_fifths():
    data = [3, 1, 4, 1, 5, 9]
    report = check_log([(set(range(6)) - {i}, "sum", sum(data) - data[i]) for i in range(6)], n=6)
    assert dict(report.exposed) == dict(enumerate(data))
    weights = dict(report.certificate[0].weights)
    assert [str(weights[number]) for number in range(1, 7)] == ["-4/5", "1/5", "1/5", "1/5", "1/5", "1/5"]


def test_g9_a_rank_that_floats_get_wrong_is_right_in_fractions():
    import numpy as np

    sets = [{j for j in (i, i + 1, i + 3) if j < 150} for i in range(149)]
    data = list(range(150))
    log = [(members, "sum", sum(data[j] for j in members)) for members in sets]
    assert check_log(log, n=150).ok
    last = ({147, 149}, "sum", 147 + 149)
    matrix = np.array([[float(j in members) for j in range(150)] for members in [*sets, {147, 149}]])
    assert np.linalg.matrix_rank(matrix) == 149, "a float auditor calls the last query redundant"
    report = check_log([*log, last], n=150)
    assert dict(report.exposed) == dict(enumerate(data))
    assert report.certificate[149].holds(report.log)


def test_g16_in_a_bounded_column_even_the_sum_over_everybody_can_expose_all():
    everybody = range(5)
    assert check_log([(everybody, "sum", 0)], n=5).ok
    report = check_log([(everybody, "sum", 0)], n=5, lower=0, upper=100)
    assert dict(report.exposed) == dict.fromkeys(range(5), 0)
    assert check_log([(everybody, "sum", 500)], n=5, lower=0, upper=100).exposed == dict.fromkeys(range(5), 100)
    inside = check_log([(everybody, "sum", 250)], n=5, lower=0, upper=100)
    assert inside.ok
    assert set(inside.widths.values()) == {100}
