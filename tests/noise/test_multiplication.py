"""Products in shares and bits that nobody knows."""

from __future__ import annotations

import numpy as np
import pytest

from reticent.noise import field as gf
from reticent.noise.multiplication import (
    CheckedArithmetic,
    PassiveArithmetic,
    hidden_bits,
    triples_for,
    unknown_triples,
)
from reticent.noise.network import NoiseAborted
from reticent.noise.proofs import BatchLayout, BatchSection, proved_triples, settle_proofs
from reticent.noise.secret_sharing import DealerSide, deal, share_polynomials
from tests.noise.lockstep import play


def arithmetic(network, count, holders, faults):
    """Checked arithmetic with ``count`` products, from triples that everybody deals."""

    async def made():
        each = triples_for(count, holders, faults)
        layout = BatchLayout((BatchSection("products", each), BatchSection("plain", count)), faults)
        own = DealerSide.of(
            np.concatenate([proved_triples(each, faults), share_polynomials(gf.drawn(count), faults)], axis=-1)
        )
        layouts = dict.fromkeys(range(holders), layout)
        dealt = await deal(
            network,
            "rows",
            own,
            dict.fromkeys(range(holders), layout.size),
            lambda d, part: layout.first_unproved(network.me + 1, part),
        )
        await settle_proofs(network, "rows", dealt, layouts)
        held = dict(sorted(dealt.accepted.items()))
        known = faults - (holders - len(held))
        triples = await unknown_triples(network, "triples", [(d, layout.values(p, 0)) for d, p in held.items()], known)
        return CheckedArithmetic(network, triples), {d: layout.values(p, 1)[0] for d, p in held.items()}

    return made()


@pytest.mark.parametrize("holders", [4, 7, 10])
@pytest.mark.parametrize("lie", [None, "lie in openings", "lie in shares", "lie in proofs", "crash", "anything"])
def test_products_are_right_whoever_lies(holders, lie):
    faults = (holders - 1) // 3
    liars = {k + 1: lie for k in range(faults)} if lie else {}

    async def one(network):
        computing, dealt = await arithmetic(network, 6, holders, faults)
        a, b = dealt[0], dealt[holders - 1]
        product = await computing.multiply("product", a, b)
        return [(await computing.open(name, each)).tolist() for name, each in (("a", a), ("b", b), ("ab", product))]

    found = [each for party, each in enumerate(play([one] * holders, holders, faults, liars)) if party not in liars]
    assert all(each == found[0] for each in found)
    a, b, ab = found[0]
    assert ab == [x * y % gf.PRIME for x, y in zip(a, b, strict=True)]


def test_triples_are_right_and_belong_to_nobody():
    """What comes out is no dealer's triple, and c = ab."""

    async def one(network):
        computing, _ = await arithmetic(network, 9, 7, 2)
        triples = computing._triples
        return [(await computing.open(str(k), triples[k])).tolist() for k in range(3)]

    a, b, c = play([one] * 7, 7, 2)[0]
    assert len(a) == 10
    assert c == [x * y % gf.PRIME for x, y in zip(a, b, strict=True)]
    assert len({*a, *b}) == 20


@pytest.mark.parametrize("level", ["checked", "passive"])
def test_hidden_bits_are_bits_and_fair(level):
    """Each opened value is 0 or 1; the number of ones lies within five sigmas of a half."""
    count = 500

    async def one(network):
        if level == "checked":
            computing, dealt = await arithmetic(network, count + 4, 4, 1)
            randoms = sum(dealt.values()) % gf.PRIME
        else:
            computing = PassiveArithmetic(network)
            randoms = sum(await computing.share("randoms", gf.drawn(count + 4))) % gf.PRIME
        bits = await hidden_bits(computing, "bits", randoms, count)
        return (await computing.open("show", bits)).tolist()

    holders = 4 if level == "checked" else 3
    shown = play([one] * holders, holders, 1)
    assert all(each == shown[0] for each in shown)
    assert set(shown[0]) == {0, 1}
    assert abs(sum(shown[0]) - count / 2) < 5 * np.sqrt(count / 4)


def test_a_random_number_that_is_zero_is_passed_over():
    class Plain:
        async def open(self, item, shares):
            return shares

        async def multiply(self, item, one, other):
            return one * other % gf.PRIME

    import asyncio

    randoms = np.array([0, 3, 0, gf.PRIME - 3, 7])
    bits = asyncio.run(hidden_bits(Plain(), "bits", randoms, 3))
    assert set(bits.tolist()) <= {0, 1}
    assert bits[0] != bits[1]
    with pytest.raises(NoiseAborted):
        asyncio.run(hidden_bits(Plain(), "bits", randoms, 4))


@pytest.mark.parametrize("lie", ["lie in openings", "crash@answer", "short", "garbage"])
def test_the_passive_level_aborts_with_the_culprit_where_somebody_does_not_follow_it(lie):
    async def one(network):
        computing = PassiveArithmetic(network)
        shares = await computing.share("rows", np.arange(3))
        return await computing.open("answer", sum(shares) % gf.PRIME)

    found = play([one] * 3, 3, 1, {1: lie})
    assert isinstance(found[0], NoiseAborted)
    assert isinstance(found[2], NoiseAborted)


def test_passive_products_are_right():
    async def one(network):
        computing = PassiveArithmetic(network)
        a, b, _ = await computing.share("rows", np.array([network.me + 2, 5]))
        return (await computing.open("answer", await computing.multiply("ab", a, b))).tolist()

    assert play([one] * 3, 3, 1) == [[6, 25]] * 3
