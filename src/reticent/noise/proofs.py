"""What a dealer proves about the values that it shares: that they are bits, or products of each other.

*Guarantee*: a false statement is exposed, since a polynomial of degree 2t that is not zero vanishes at no more than 2t of the n - t > 2t honest holders; the
proof of a true one shows t holders nothing. A complaint is settled by opening the complaining holder's own shares, which the dealer and the
complainer know anyway, so a false complaint exposes the complainer and nobody else.
*Adversary*: at most t of n >= 3t + 1 holders, and any dealer.
*Cost*: t further sharings for each statement, and no message unless somebody complains.
*Source*: degree reduction in shares (Ben-Or, Goldwasser and Wigderson). Opening f^2 - f itself would show f, and has too high a degree to be corrected.

With share polynomials a, b, c the statement ab = c holds iff h = ab - c = sum of x^k D_k(x), k = 1..t, for polynomials D_k of degree t, which the dealer
shares too. For a bit a = b = c. Holder i checks at x = i.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from reticent.noise import field as gf
from reticent.noise.field import Elements
from reticent.noise.network import Network
from reticent.noise.secret_sharing import DealerSide, HeldShares, HolderShares, open_points, share_polynomials

Kind = Literal["plain", "bits", "products"]
_FACTORS: dict[Kind, tuple[int, int, int]] = {"bits": (0, 0, 0), "products": (0, 1, 2)}


@dataclass(frozen=True)
class BatchSection:
    """``count`` statements of one kind in a dealer's batch: values without a statement, bits, or triples (a, b, ab)."""

    kind: Kind
    count: int

    def width(self, faults: int) -> int:
        """How many sharings a statement takes."""
        if self.kind == "plain":
            return 1
        return (1 if self.kind == "bits" else 3) + faults

    def size(self, faults: int) -> int:
        """How many sharings the section takes."""
        return self.count * self.width(faults)


def product(one: Elements, other: Elements) -> Elements:
    """Products of polynomials, column by column."""
    result = np.zeros((len(one) + len(other) - 1, *one.shape[1:]), dtype=np.int64)
    for power, coefficients in enumerate(one):
        result[power : power + len(other)] = (result[power : power + len(other)] + coefficients * other) % gf.PRIME
    return result


def reduction(high: Elements, lowest: int) -> Elements:
    """Polynomials D_k, k = ``lowest``..t, with random low coefficients, such that the sum of x^k D_k has the same coefficients as ``high`` (of degree 2t)
    above degree t + lowest - 1. Those below ``lowest`` are zero."""
    faults = len(high) // 2
    found = np.zeros((faults + 1, faults + 1, *high.shape[1:]), dtype=np.int64)
    for k in range(faults, lowest - 1, -1):
        found[k, :faults] = gf.drawn(faults, *high.shape[1:])
        above = sum(
            (found[q, k + faults - q] for q in range(k + 1, faults + 1)), np.zeros(high.shape[1:], dtype=np.int64)
        )
        found[k, faults] = (high[k + faults] - above) % gf.PRIME
    return found


def proved_bits(bits: Elements, faults: int) -> Elements:
    """Share polynomials of bits and of D_1..D_t, in that order.

    The coefficients of D_2..D_t are random as far as f^2 - f allows; D_1 is what remains.
    """
    own = share_polynomials(bits, faults)
    high = product(own, own)
    high[: faults + 1] = (high[: faults + 1] - own) % gf.PRIME
    parts = reduction(high, 2)
    for power in range(1, faults + 2):
        rest = high[power]
        for k in range(2, min(power, faults) + 1):
            rest = rest - parts[k, power - k]
        parts[1, power - 1] = rest % gf.PRIME
    return np.concatenate([own, *parts[1:]], axis=-1)


def proved_triples(count: int, faults: int) -> Elements:
    """Share polynomials of random a and b, of their products c, and of D_1..D_t (dealt on values of the dealer's own)."""
    one, other = share_polynomials(gf.drawn(count), faults), share_polynomials(gf.drawn(count), faults)
    rest = product(one, other)
    parts = reduction(rest, 1)
    for k in range(1, faults + 1):
        rest[k : k + faults + 1] = (rest[k : k + faults + 1] - parts[k]) % gf.PRIME
    return np.concatenate([one, other, rest[: faults + 1], *parts[1:]], axis=-1)


@dataclass(frozen=True)
class BatchLayout:
    """The public order of a dealer's batch, section after section."""

    sections: tuple[BatchSection, ...]
    faults: int

    @property
    def size(self) -> int:
        """How many sharings the batch has."""
        return sum(section.size(self.faults) for section in self.sections)

    def values(self, part: HeldShares, place: int) -> Elements:
        """A holder's shares of the values of one section, without the proofs: one row for each value of a statement."""
        begin = self._begin(place)
        section = self.sections[place]
        width = 3 if section.kind == "products" else 1
        return part.values[begin : begin + width * section.count].reshape(width, section.count)

    def first_unproved(self, point: int, part: HeldShares) -> int | None:
        """The first sharing whose statement does not hold at this holder's point, if there is one."""
        for place, section in enumerate(self.sections):
            if section.kind == "plain" or not section.count:
                continue
            begin = self._begin(place)
            shares = part.values[begin : begin + section.size(self.faults)].reshape(-1, section.count)
            off = _residue(section.kind, point, shares) != 0
            if off.any():
                return begin + int(np.argmax(off))
        return None

    def statement(self, which: int) -> tuple[Kind, list[int]] | None:
        """The kind and all sharings of the statement whose first sharing is ``which``; None if no statement begins there."""
        for place, section in enumerate(self.sections):
            begin = self._begin(place)
            if section.kind != "plain" and begin <= which < begin + section.count:
                return section.kind, [which + k * section.count for k in range(section.width(self.faults))]
        return None

    def _begin(self, place: int) -> int:
        return sum(section.size(self.faults) for section in self.sections[:place])


def _residue(kind: Kind, point: int, shares: Elements) -> Elements:
    """ab - c - sum of x^k D_k at one point: zero where the statement holds."""
    a, b, c = (shares[place] for place in _FACTORS[kind])
    rest: Elements = (a * b - c) % gf.PRIME
    power = 1
    for part in shares[max(_FACTORS[kind]) + 1 :]:
        power = power * point % gf.PRIME
        rest = (rest - part * power) % gf.PRIME
    return rest


def dealing(polynomials: Sequence[Elements]) -> DealerSide:
    """A dealer's batch of sections, each given by its share polynomials."""
    return DealerSide.of(np.concatenate(list(polynomials), axis=-1))


async def settle_proofs(network: Network, item: str, dealt: HolderShares, layouts: Mapping[int, BatchLayout]) -> None:
    """Open the shares that complaints about proofs are about: a dealer whose statement fails is out, with everything it dealt; a false complaint blames
    its author."""
    cases = []
    for holder, complaints in sorted(dealt.complaints.items()):
        for dealer, which in complaints.unproved:
            found = layouts[dealer].statement(which)
            if dealer in dealt.accepted and found is not None:
                cases.append((holder, dealer, *found))
    if not cases:
        return
    known = [dealt.accepted[dealer][places].seen_by_other(holder) for holder, dealer, _, places in cases]
    opened = await open_points(network, f"{item}/proofs", np.concatenate(known))
    begin = 0
    for holder, dealer, kind, places in cases:
        shares = opened[begin : begin + len(places), None]
        begin += len(places)
        if _residue(kind, holder + 1, shares)[0]:
            dealt.accepted.pop(dealer, None)
            dealt.out[dealer] = "shared a value that is not a bit" if kind == "bits" else "shared a wrong product"
        else:
            network.blame(holder, f"complained falsely of party {dealer + 1}")
