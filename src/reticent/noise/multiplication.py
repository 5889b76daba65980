"""Multiplication of secret-shared values, and shared random bits that nobody knows.

*Guarantee*: shares of the product and nothing else: opened values are masked by a random triple that nobody knows.
*Adversary*: at most t of n >= 3t + 1 parties (:class:`CheckedArithmetic`); for :class:`PassiveArithmetic` t of n >= 2t
+ 1 semi-honest ones. *Cost*: one round for any number of products. Checked: n (t + 3) sharings for every floor((n -
1)/2) + 1 - t triples, dealt at the beginning. *Source*: multiplication by random triples (Beaver); triples of n
dealers, at most t of them faulty, become triples that nobody knows by interpolation (Choudhury and Patra). Each dealer
proves its triples. [Dwork2006b] multiplies with a separate dealing at every step instead: a complaint there
could be settled only by opening a polynomial of an honest dealer's share, and every step costs a broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from reticent.noise import field as gf
from reticent.noise.field import Elements
from reticent.noise.network import Network, NoiseAborted
from reticent.noise.secret_sharing import open_points, share_polynomials


class SharedArithmetic(Protocol):
    """Interface that circuits need; values are this party's shares."""

    async def open(self, item: str, shares: Elements) -> Elements:
        """Open the values to everyone."""

    async def multiply(self, item: str, one: Elements, other: Elements) -> Elements:
        """Shares of the products."""


def triples_for(products: int, dealers: int, faults: int) -> int:
    """Return how many triples each dealer deals for ``products`` multiplications."""
    return -(-products // ((dealers - 1) // 2 + 1 - faults))


async def unknown_triples(network: Network, item: str, dealt: Sequence[tuple[int, Elements]], faults: int) -> Elements:
    """Return multiplication triples (shares of a, b and ab) that no party knows, from a batch of triples of each
    dealer.

    ``dealt`` has each dealer's number and shares as three rows. The first d + 1 dealers' factors are points of
    polynomials X and Y of degree d; at d further points the product is computed with those dealers' triples, so that Z
    = XY of degree 2d is known everywhere. At most t points are known to faulty dealers, so d + 1 - t new points are
    unknown to all.
    """
    half = (len(dealt) - 1) // 2
    points = [dealer + 1 for dealer, _ in dealt[: 2 * half + 1]]
    triples = [triple for _, triple in dealt[: 2 * half + 1]]
    known_factors = np.stack([triple[:2] for triple in triples[: half + 1]])
    further_factors = [
        gf.combined(gf.lagrange(points[: half + 1], point), known_factors) for point in points[half + 1 :]
    ]
    masks = [
        np.stack([end[0] - triple[0], end[1] - triple[1]]) % gf.PRIME
        for end, triple in zip(further_factors, triples[half + 1 :], strict=True)
    ]
    count = triples[0].shape[-1]
    opened = await open_points(network, f"{item}/extract", np.stack(masks).reshape(-1))
    shifts = opened.reshape(half, 2, count)
    products = [triple[2] for triple in triples[: half + 1]]
    products += [_with_triple(triple, shift) for triple, shift in zip(triples[half + 1 :], shifts, strict=True)]
    new_points = range(network.holders + 1, network.holders + half + 2 - faults)
    return np.concatenate(
        [
            np.stack(
                [
                    *gf.combined(gf.lagrange(points[: half + 1], point), known_factors),
                    gf.combined(gf.lagrange(points, point), np.stack(products)),
                ]
            )
            for point in new_points
        ],
        axis=-1,
    )


def _with_triple(triple: Elements, shift: Elements) -> Elements:
    """Return shares of xy from shares of a multiplication triple (a, b, ab) and the opened differences x - a and y - b
    (Beaver).
    """
    opened_product = shift[0] * shift[1] % gf.PRIME
    crossed = shift[0] * triple[1] % gf.PRIME + shift[1] * triple[0] % gf.PRIME
    product: Elements = (opened_product + crossed + triple[2]) % gf.PRIME
    return product


class CheckedArithmetic:
    """Arithmetic with triples that nobody knows; each is used once. Mutable: it consumes triples."""

    def __init__(self, network: Network, triples: Elements) -> None:
        self._network, self._triples, self._used = network, triples, 0

    async def open(self, item: str, shares: Elements) -> Elements:
        """Open the values; wrong shares are corrected and their senders blamed."""
        return await open_points(self._network, item, shares)

    async def multiply(self, item: str, one: Elements, other: Elements) -> Elements:
        """Return shares of the products, element by element, each with an unused multiplication triple that masks the
        factors.
        """
        triple = self._triples[:, self._used : self._used + len(one)]
        self._used += len(one)
        masked = np.concatenate([one - triple[0], other - triple[1]]) % gf.PRIME
        opened = await open_points(self._network, item, masked)
        return _with_triple(triple, opened.reshape(2, -1))


class PassiveArithmetic:
    """Arithmetic of semi-honest parties: plain shares, no proofs. Anything missing or inconsistent aborts."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def share(self, item: str, values: Elements, counts: Sequence[int] | None = None) -> list[Elements]:
        """Share one's own values, and return this party's shares of everyone's, party by party; ``counts`` is the number of values of each."""
        network = self._network
        polynomials = share_polynomials(values, network.faults)
        outgoing = {holder: gf.to_bytes(gf.evaluate(polynomials, holder + 1)) for holder in range(network.holders)}
        return await self._collected(f"{item}/share", outgoing, counts or [len(values)] * network.holders)

    async def open(self, item: str, shares: Elements) -> Elements:
        """Open the values; all shares must be consistent."""
        network = self._network
        outgoing = dict.fromkeys(range(network.holders), gf.to_bytes(shares))
        arrived = await self._collected(f"{item}/open", outgoing, [len(shares)] * network.holders)
        points = range(1, network.holders + 1)
        decoded = gf.decode(points, np.stack(arrived), network.faults, 0, network.holders)
        if decoded is None:
            raise NoiseAborted(
                f"The parties' shares are inconsistent ({item}). A party does not follow the protocol, which level 'semi-honest' relies on: use level 'byzantine'.",
                network.blamed,
            )
        return decoded.at_zero

    async def multiply(self, item: str, one: Elements, other: Elements) -> Elements:
        """Return shares of the products: each party reshares the product of its shares, and interpolation reduces the degree."""
        dealt = await self.share(item, one * other % gf.PRIME)
        return gf.combined(gf.lagrange(range(1, self._network.holders + 1)), np.stack(dealt))

    async def _collected(self, item: str, outgoing: dict[int, bytes], counts: Sequence[int]) -> list[Elements]:
        """Exchange shares with all holders and return theirs; aborts if one is missing or unreadable."""
        arrived = await self._network.exchange(item, outgoing)
        shares = []
        for holder, count in enumerate(counts):
            values = gf.from_bytes(arrived[holder], count) if holder in arrived else None
            if values is None:
                self._network.blame(holder, f"sent unreadable shares ({item})")
                raise NoiseAborted(
                    f"Party {holder + 1} sent unreadable shares ({item}). Level 'semi-honest' needs every party: use level 'byzantine', or run again.",
                    self._network.blamed,
                )
            shares.append(values)
        return shares


async def hidden_bits(arithmetic: SharedArithmetic, item: str, randoms: Elements, count: int) -> Elements:
    """Return shares of ``count`` uniform bits that no party knows, from shares of at least as many uniform field
    elements r.

    Opens r^2 and takes its root z: r / z is 1 or -1 with equal probability. An r of zero, probability one in two
    billion, is rejected.
    """
    squares = await arithmetic.open(f"{item}/squares", await arithmetic.multiply(f"{item}/square", randoms, randoms))
    used = np.flatnonzero(squares)[:count]
    if len(used) < count:
        raise NoiseAborted("More random numbers were zero than can happen by chance.")
    roots = gf.powers(squares[used], (gf.PRIME + 1) // 4)
    signs = randoms[used] * gf.powers(roots, gf.PRIME - 2) % gf.PRIME
    return (signs + 1) * gf.inverse(2) % gf.PRIME
