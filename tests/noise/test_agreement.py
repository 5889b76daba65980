"""Broadcast and agreement: termination, agreement and validity under faults."""

from __future__ import annotations

import pytest

from reticent.noise.agreement import agree, broadcast, rounds_of_broadcast
from reticent.noise.faults import BEHAVIOURS
from reticent.noise.network import packed, unpacked
from tests.noise.lockstep import play

LIES = ("equivocate", "lie in echoes", "lie as king", "garbage", "short", "absent", "anything")


@pytest.mark.parametrize("holders", [4, 7, 10])
@pytest.mark.parametrize("lie", LIES)
def test_all_honest_parties_hear_the_same_and_what_honest_parties_said(holders, lie):
    faults = (holders - 1) // 3
    liars = {3 * k: lie for k in range(faults)}

    async def say(network):
        return await broadcast(network, "news", f"from {network.me}".encode())

    heard = play([say] * holders, holders, faults, liars)
    honest = [each for party, each in enumerate(heard) if party not in liars]
    assert all(each == honest[0] for each in honest)
    assert all(honest[0][party] == f"from {party}".encode() for party in range(holders) if party not in liars)


@pytest.mark.parametrize("holders", [4, 7, 10])
@pytest.mark.parametrize("lie", ["lie as king", "garbage", "anything", "absent"])
def test_bits_that_all_honest_parties_hold_stay_and_others_are_agreed_on(holders, lie):
    faults = (holders - 1) // 3
    liars = dict.fromkeys(range(faults), lie)

    async def vote(network):
        return await agree(network, "vote", [0, 1, network.me % 2, int(network.me == faults)])

    results = play([vote] * holders, holders, faults, liars)
    honest = results[faults:]
    assert all(each == honest[0] for each in honest)
    assert honest[0][:2] == [0, 1]


def test_the_number_of_rounds_is_what_is_promised():
    counted = []

    async def say(network):
        await broadcast(network, "news", b"x")
        counted.append(len(network.items))

    play([say] * 7, 7, 2)
    assert set(counted) == {rounds_of_broadcast(2)}


@pytest.mark.parametrize("parts", [[], [b""], [None], [b"a", None, b"bc"]])
def test_packed_parts_are_unpacked(parts):
    assert unpacked(packed(parts), len(parts)) == parts


@pytest.mark.parametrize("raw", [b"\1", b"\5\0\0\0ab", packed([b"a", b"b"]), packed([b"a"]) + b"x"])
def test_damaged_parts_are_nothing(raw):
    assert unpacked(raw, 1) is None


def test_every_behaviour_says_what_it_does():
    assert all(each.help for each in BEHAVIOURS.values())
