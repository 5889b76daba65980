"""Whole runs without clocks: golden answers, every fault by name, budgets, transcripts."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from reticent.errors import DataError, PolicyError
from reticent.noise import BEHAVIOURS, NoiseAborted, plan
from reticent.noise.faults import behaviour
from reticent.noise.protocol import take_part, take_part_as_client
from reticent.noise.tasks import JointTask
from tests.noise.lockstep import play
from tests.noise.worlds import counted, joint, small_task


def honest_of(found, liars):
    return [each for party, each in enumerate(found) if party not in liars]


def test_four_parties_without_noise_count_three():
    """DN-G10: inputs 1, 0, 1, 1."""
    for each in joint(small_task(4, 1), [[1], [0], [1], [1]]):
        assert each.numbers == (3,)
        assert each.blamed == {}
        assert each.included == (0, 1, 2, 3)


def test_wrong_shares_at_opening_change_nothing():
    """DN-G10, with one party that opens wrong shares."""
    for each in honest_of(joint(small_task(4, 1), [[1], [0], [1], [1]], {1: "lie in openings"}), {1}):
        assert each.numbers == (3,)
        assert 1 in each.blamed


def test_a_seven_shared_as_a_bit_puts_its_dealer_out():
    """DN-G10: the dealer is out with its row and its coins, and named."""
    for each in honest_of(joint(small_task(4, 1, quota=2), [[1], [0], [1], [1]], {2: "lie in proofs"}), {2}):
        assert each.included == (0, 1, 3)
        assert each.coins == 6
        assert each.blamed == {2: "shared a value that is not a bit"}


def test_an_equivocating_dealer_leaves_all_honest_parties_with_one_value():
    """DN-G10."""
    found = honest_of(joint(small_task(4, 1), [[1], [0], [1], [1]], {0: "lie in shares"}), {0})
    assert {each.numbers for each in found} == {(2,)}
    assert all(each.blamed == {0: "dealt inconsistent shares"} for each in found)


@pytest.mark.parametrize("law", ["binomial", "exponential"])
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_whatever_a_party_does_the_others_end_with_the_right_answer(name, law):
    """n = 4, every fault: all honest parties end with the same answer, over the same parties' rows, and never blame each other."""
    task = small_task(4, 1, "histogram", 3)
    if law == "exponential":
        # Coins of bias zero cannot be had; a geometric number of bias one in every bit is 3, and 3 - 3 = 0.
        task = replace(task, law=law, thresholds=(1, 1), precision=1)
    rows = [[0, 1], [2, 2], [1, 1], [0, 2]]
    found = honest_of(joint(task, rows, {1: name}), {1})
    assert {each.numbers for each in found} == {found[0].numbers}
    assert {each.included for each in found} == {found[0].included}
    assert set(found[0].included) >= {0, 2, 3}
    exact = counted(task, rows, found[0].included)
    others = counted(task, rows, [0, 2, 3])
    if 1 in found[0].included:
        # What a liar shares as its rows is its own choice, but it is as many rows as it declared, and none below zero.
        assert sum(found[0].numbers) == sum(exact)
        assert all(number >= other for number, other in zip(found[0].numbers, others, strict=True))
        assert list(found[0].numbers) == exact
    else:
        assert list(found[0].numbers) == others
    assert all(set(each.blamed) <= {1} for each in found)
    assert {json.dumps(each.transcript, sort_keys=True) for each in found} == {
        json.dumps(found[0].transcript, sort_keys=True)
    }


@pytest.mark.parametrize(("one", "other"), [("lie in shares", "accuse"), ("crash", "lie in openings"), ("deal one wrong", "vote no"), ("anything", "anything"),
                                            ("refuse to reveal", "lie as king"), ("stall some", "equivocate"), ("lie in proofs", "accuse proofs")])  # fmt: skip
def test_two_of_seven_who_collude_change_nothing(one, other):
    task = small_task(7, 2, "count", quota=0)
    rows = [[1], [1, 0], [0], [1], [1], [0, 0], [1]]
    found = honest_of(joint(task, rows, {1: one, 4: other}), {1, 4})
    assert {each.numbers for each in found} == {found[0].numbers}
    assert list(found[0].numbers) == counted(task, rows, found[0].included)
    assert set(found[0].included) >= {0, 2, 3, 5, 6}
    assert all(set(each.blamed) <= {1, 4} for each in found)


def test_rows_of_many_people_are_counted_by_cells_that_add_up():
    """7.1: N rows take bits enough for N in every cell; who declares a row too many is out and named."""
    task = small_task(4, 1, "histogram", 4)
    rows = [[0] * 5 + [3], [1] * 9, [2, 2], []]
    assert {each.numbers for each in joint(task, rows)} == {(5, 9, 2, 1)}
    found = honest_of(joint(task, rows, {2: "miscount"}), {2})
    assert {each.numbers for each in found} == {(5, 9, 0, 1)}
    assert all(each.blamed[2] == "shared cells that do not add up to its rows" for each in found)


def test_values_of_many_bits_are_added():
    task = small_task(4, 1, "sum", bits=8)
    assert {each.numbers for each in joint(task, [[255, 1], [0], [17, 200], [3]])} == {(476,)}


def test_a_run_without_rows_gives_noise_around_zero():
    assert {each.numbers for each in joint(small_task(4, 1), [[], [], [], []])} == {(0,)}


@pytest.mark.parametrize("level", ["byzantine", "semi-honest"])
def test_binomial_noise_has_its_law(level):
    """Chi-square of 2,000 cells of noise from four coins a party: 16 coins together, 4 of them a party's own."""
    task = small_task(4, 1, "histogram", 2_000, quota=4, level=level)
    (numbers,) = {each.numbers for each in joint(task, [[], [], [], []])}
    counts = np.bincount(np.array(numbers) + 8, minlength=17)
    from math import comb

    expected = np.array([comb(16, k) / 2**16 for k in range(17)]) * 2_000
    grouped = [slice(0, 5), *(slice(k, k + 1) for k in range(5, 12)), slice(12, 17)]
    statistic = sum((counts[each].sum() - expected[each].sum()) ** 2 / expected[each].sum() for each in grouped)
    assert statistic < 8 + 5 * np.sqrt(16)


@pytest.mark.parametrize("level", ["byzantine", "semi-honest"])
def test_exponential_noise_has_its_law(level):
    """Chi-square of 600 cells against the exact law of the plan's circuit."""
    from fractions import Fraction

    from reticent.noise.laws import ExponentialLaw

    law = ExponentialLaw(Fraction(1), 2, 3)
    task = small_task(
        4,
        1,
        "histogram",
        600,
        law="exponential",
        thresholds=tuple(one - 1 for one in law.ones),
        precision=3,
        level=level,
    )
    (numbers,) = {each.numbers for each in joint(task, [[], [], [], []])}
    weights = np.array([float(each) for each in law.weights()])
    expected = weights / weights.sum() * 600
    counts = np.bincount(np.array(numbers) + 3, minlength=7)
    assert ((counts - expected) ** 2 / expected).sum() < 6 + 5 * np.sqrt(12)


def test_coins_of_those_who_are_out_do_not_count():
    """The number of coins is that of the survivors, even whoever is out."""
    task = small_task(7, 2, quota=2)
    found = honest_of(joint(task, [[1]] * 7, {0: "lie in proofs", 5: "lie in shares"}), {0, 5})
    assert {each.coins for each in found} == {10}
    assert {each.numbers for each in found} == {found[0].numbers}
    assert 0 <= found[0].numbers[0] + 5 <= 15


def test_every_party_charges_after_the_digest_and_before_the_answer_is_opened():
    charged: list[tuple[int, str]] = []

    def one(party):
        async def run(network):
            return await take_part(network, small_task(4, 1), [1], lambda: charged.append((party, network.items[-1])))

        return run

    play([one(party) for party in range(4)], 4, 1)
    assert sorted(party for party, _ in charged) == [0, 1, 2, 3]
    assert all(item.startswith("digest/") for _, item in charged)


def test_an_abort_before_the_opening_is_free_and_one_after_it_is_not():
    charged = []

    async def run(network):
        return await take_part(network, small_task(4, 1), [1], lambda: charged.append(network.me))

    early = play([run] * 4, 4, 1, {1: "other task", 2: "other task"})
    assert all(isinstance(each, NoiseAborted) and not each.opened for each in (early[0], early[3]))
    assert charged == []
    late = play([run] * 4, 4, 1, {1: "absent@answer", 2: "absent@answer"})
    assert all(isinstance(each, NoiseAborted) and each.opened for each in (late[0], late[3]))
    assert {0, 3} <= set(charged)


def test_a_party_whose_budget_is_spent_opens_nothing_and_the_others_go_on():
    class NothingLeft(Exception):
        pass

    def refuse():
        raise NothingLeft

    def one(party):
        async def run(network):
            try:
                return await take_part(network, small_task(4, 1), [1], refuse if party == 2 else lambda: None)
            except NothingLeft as error:
                return error

        return run

    found = play([one(party) for party in range(4)], 4, 1)
    assert isinstance(found[2], NothingLeft)
    assert {each.numbers for party, each in enumerate(found) if party != 2} == {(4,)}


def test_the_transcript_holds_broadcasts_and_opened_values_alone():
    """No share, no key, no row: what is in it can be recomputed from what everybody heard."""
    task = small_task(4, 1, "histogram", 2, quota=2)
    found = joint(task, [[0], [1], [1], [0]])
    steps = [entry["step"] for entry in found[0].transcript]
    assert steps == ["declare", "rows/complain", "counts", "coins", "digest", "answer"]
    assert found[0].transcript[1]["said"] == dict.fromkeys("1234", "[[], [], []]")
    assert found[0].transcript[2]["said"] == [1, 1, 1, 1]
    assert len({json.dumps(each.transcript) for each in found}) == 1


def test_noise_is_never_reused():
    task = small_task(4, 1, "histogram", 200, quota=10)
    runs = {joint(task, [[], [], [], []])[0].numbers for _ in range(3)}
    assert len(runs) == 3


def test_parties_that_were_set_up_differently_abort_and_say_so():
    other = replace(small_task(4, 1), epsilon="2")
    protocols = [
        lambda network, task=task: take_part(network, task, [1])
        for task in (small_task(4, 1), other, other, small_task(4, 1))
    ]
    for each in play(protocols, 4, 1):
        assert isinstance(each, NoiseAborted)
        assert set(each.blamed.values()) == {"was set up for another task"}


def clients_with(rows, behaviours=None, servers=4):
    task = replace(small_task(servers, 1, "histogram", 3), clients=len(rows))
    protocols = [lambda network: take_part(network, task, []) for _ in range(servers)]
    protocols += [lambda network, own=own: take_part_as_client(network, task, own) for own in rows]
    return play(protocols, servers, 1, behaviours)


def test_clients_share_their_rows_with_servers_and_leave():
    """Clients hold nothing and deal no coins."""
    found = clients_with([[0], [1], [1], [2], [1]])
    assert found[4:] == [None] * 5
    assert {each.numbers for each in found[:4]} == {(1, 3, 1)}
    assert found[0].included == tuple(range(9))


@pytest.mark.parametrize("lie", ["accuse", "lie in checks", "crash", "lie in openings", "vote no", "anything"])
def test_a_server_that_lies_cannot_push_clients_out(lie):
    found = clients_with([[0], [1], [2]], {1: lie})
    assert {each.numbers for party, each in enumerate(found[:4]) if party != 1} == {(1, 1, 1)}


@pytest.mark.parametrize(("lie", "stays"), [("lie in shares", False), ("deal one wrong", True), ("lie in proofs", False), ("withhold", False), ("garbage", False),
                                            ("absent", False), ("refuse to reveal", False), ("miscount", False)])  # fmt: skip
def test_a_client_that_lies_harms_nobody_but_itself(lie, stays):
    found = clients_with([[0], [1, 1], [2]], {5: lie})
    assert {each.numbers for each in found[:4]} == {(1, 2 if stays else 0, 1)}


@pytest.mark.parametrize(
    ("query", "rows", "message"),
    [
        ("count", [2], "row 1: 2 is not 0 or 1"),
        ("count", [True], "row 1: True is not 0 or 1"),
        ("count", [0, 1.0], "row 2: 1.0 is not 0 or 1"),
        ("count", [None], "row 1: None is not 0 or 1"),
        ("histogram", [0, 3], "row 2: 3 is not a cell from 0 to 2"),
        ("histogram", [-1], "row 1: -1 is not a cell"),
        ("histogram", ["a"], "row 1: 'a' is not a cell"),
        ("sum", [256], "row 1: 256 is not a whole number from 0 to 255"),
        ("sum", [10**30], "is not a whole number"),
    ],
)
def test_rows_that_cannot_be_counted_are_refused_by_name(query, rows, message):
    task = small_task(4, 1, query, 3 if query == "histogram" else None, bits=8 if query == "sum" else 1)
    with pytest.raises(DataError, match=message):
        task.check_rows(rows, "Party 1")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cells": None, "query": "histogram"}, "A histogram needs cells"),
        ({"cells": 3, "query": "count"}, "A count has no cells"),
        ({"cells": 0, "query": "histogram"}, "cells must be a whole number from 1"),
        ({"cells": True, "query": "histogram"}, "cells must be a whole number from 1"),
        ({"cells": 99_999, "query": "histogram", "law": "exponential"}, "Use fewer cells"),
    ],
)
def test_tasks_that_cannot_be_computed_are_refused(given, message):
    planned = plan(1, "1e-6", 4, 1, given["query"], given.get("law", "binomial"))
    with pytest.raises(PolicyError, match=message):
        JointTask.of(planned, "a test", given["cells"])


def test_more_rows_than_fit_the_field_are_refused_before_anything_is_sent():
    task = replace(small_task(4, 1, "sum", bits=8), bits=26)
    assert task.row_limit == 4
    task.check_rows([1] * 4, "Party 1")
    with pytest.raises(DataError, match="at most 4 of each party fit in the field"):
        task.check_rows([1] * 5, "Party 1")
    # All parties with as many rows as they may have, all of the largest value: no number wraps around.
    most = [[2**26 - 1] * 4] * 4
    for each in joint(task, most):
        assert each.numbers == (16 * (2**26 - 1),)


def test_rows_that_do_not_fit_the_field_are_refused_and_who_declares_them_is_left_out():
    """Nobody can make the sum wrap around, or end the run, by declaring more than fits."""
    task = replace(small_task(4, 1, "sum", bits=8), bits=16)
    assert task.row_limit == 4096
    with pytest.raises(DataError, match="at most 4,096 of each party"):
        task.check_rows([0] * 4097, "Party 1")
    assert small_task(4, 1, "histogram", 3).room > 10**8
    found = honest_of(joint(small_task(4, 1), [[1], [0], [1], [1]], {2: "boast"}), {2})
    assert {each.numbers for each in found} == {(2,)}
    assert all(each.blamed == {2: "declared an impossible number of rows"} for each in found)


@pytest.mark.parametrize(("query", "bits"), [("histogram", 1), ("sum", 2)])
def test_nobody_may_declare_more_rows_than_were_agreed_on(query, bits):
    """A liar who declares eight million rows would cost the others minutes; who declares one too many is out before anything is shared."""
    task = replace(small_task(4, 1, query, 3 if query == "histogram" else None, bits=bits), most_rows=2)
    rows = [[1, 0], [2], [1, 1, 2], [0]]
    with pytest.raises(DataError, match="has 3 rows, but the parties agreed on at most 2 each"):
        task.check_rows(rows[2], "Party 3")
    honest = honest_of(joint(task, rows), {2})
    assert all(each.blamed == {2: "declared an impossible number of rows"} for each in honest)
    assert {each.included for each in honest} == {(0, 1, 3)}
    assert list(honest[0].numbers) == counted(task, rows, (0, 1, 3))


def test_parties_that_agreed_on_different_numbers_of_rows_notice():
    task = small_task(4, 1)
    assert replace(task, most_rows=5).digest != task.digest


def test_a_broadcast_that_is_too_long_to_be_echoed_counts_as_none():
    found = honest_of(joint(small_task(4, 1), [[1], [0], [1], [1]], {2: "flood@declare"}), {2})
    assert {each.numbers for each in found} == {(2,)}


def test_no_honest_message_is_longer_than_the_others_expect():
    """Whatever a liar does: the bound follows from what everybody declared."""
    for lie in ("accuse", "lie in shares", "deal one wrong", "anything"):
        task = small_task(4, 1, "histogram", 3, quota=2)
        longest = {}

        def watched(rows, task=task, longest=longest):
            async def run(network):
                inner = network.exchange

                async def exchange(item, outgoing, senders=None, *rest):
                    if hasattr(network, "longest") and network.me != 1:
                        size = max(map(len, outgoing.values()), default=0)
                        longest[item] = max(longest.get(item, 0), size / network.longest)
                    return await inner(item, outgoing, senders, *rest)

                network.exchange = exchange
                return await take_part(network, task, rows)

            return run

        play([watched([0, 1, 2]) for _ in range(4)], 4, 1, {1: lie})
        assert 0 < max(longest.values()) <= 1


def test_an_unknown_behaviour_is_refused_with_a_hint():
    with pytest.raises(PolicyError, match="Did you mean 'crash'"):
        behaviour("crsh")


def test_a_task_survives_the_way_to_another_process():
    task = small_task(4, 1, "histogram", 5, law="exponential", thresholds=(3, 1), precision=4)
    assert JointTask.from_json(json.loads(json.dumps(task.to_json()))) == task
    assert task.digest != replace(task, cells=6).digest
