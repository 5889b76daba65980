"""A dealer's proofs about shared values: that they are bits, or products of each other.

*Guarantee*: soundness, since a non-zero polynomial of degree 2t vanishes at no more than 2t of the n - t > 2t honest
holders; the proof of a true statement reveals nothing to t holders. A complaint is settled by opening the complaining
holder's own shares, which the dealer and the complainer know anyway, so a false complaint exposes only the complainer.
*Adversary*: at most t of n >= 3t + 1 holders, and any dealer. *Cost*: t further sharings for each statement, and no
message unless there is a complaint. *Source*: degree reduction on shares [BenOr1988]. Opening f^2 - f itself would
reveal f, and its degree is too high for error correction.

With share polynomials a, b, c the statement ab = c holds iff h = ab - c = sum of x^k D_k(x), k = 1..t, for polynomials
D_k of degree t, which the dealer shares too. For a bit a = b = c. Holder i checks at x = i.
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
        """Return the number of sharings of a statement."""
        if self.kind == "plain":
            return 1
        return (1 if self.kind == "bits" else 3) + faults

    def size(self, faults: int) -> int:
        """Return the number of sharings of the section."""
        return self.count * self.width(faults)


def product(first: Elements, second: Elements) -> Elements:
    """Multiply polynomials, column by column."""
    result = np.zeros((len(first) + len(second) - 1, *first.shape[1:]), dtype=np.int64)
    for power, coefficients in enumerate(first):
        result[power : power + len(second)] = (result[power : power + len(second)] + coefficients * second) % gf.PRIME
    return result


def reduction(high: Elements, lowest: int) -> Elements:
    """Return polynomials D_k, k = ``lowest``..t, with random low coefficients, such that the sum of x^k D_k has the
    same coefficients as ``high`` (of degree 2t) above degree t + lowest - 1. Those below ``lowest`` are zero."""
    faults = len(high) // 2
    polynomials = np.zeros((faults + 1, faults + 1, *high.shape[1:]), dtype=np.int64)
    for k in range(faults, lowest - 1, -1):
        polynomials[k, :faults] = gf.drawn(faults, *high.shape[1:])
        higher_terms = sum(
            (polynomials[q, k + faults - q] for q in range(k + 1, faults + 1)), np.zeros(high.shape[1:], dtype=np.int64)
        )
        polynomials[k, faults] = (high[k + faults] - higher_terms) % gf.PRIME
    return polynomials


def proved_bits(bits: Elements, faults: int) -> Elements:
    """Return share polynomials f of bits, and D_1..D_t that prove f^2 - f to vanish at 0, in that order.

    The coefficients of D_2..D_t are random as far as f^2 - f allows; D_1 is the remainder.
    """
    own = share_polynomials(bits, faults)
    high = product(own, own)
    high[: faults + 1] = (high[: faults + 1] - own) % gf.PRIME
    reduced = reduction(high, 2)
    for power in range(1, faults + 2):
        coefficient = high[power]
        for k in range(2, min(power, faults) + 1):
            coefficient = coefficient - reduced[k, power - k]
        reduced[1, power - 1] = coefficient % gf.PRIME
    return np.concatenate([own, *reduced[1:]], axis=-1)


def proved_triples(count: int, faults: int) -> Elements:
    """Return share polynomials of random a and b, of their products c, and of D_1..D_t."""
    first_factor, second_factor = share_polynomials(gf.drawn(count), faults), share_polynomials(gf.drawn(count), faults)
    product_left = product(first_factor, second_factor)
    parts = reduction(product_left, 1)
    for k in range(1, faults + 1):
        product_left[k : k + faults + 1] = (product_left[k : k + faults + 1] - parts[k]) % gf.PRIME
    return np.concatenate([first_factor, second_factor, product_left[: faults + 1], *parts[1:]], axis=-1)


@dataclass(frozen=True)
class BatchLayout:
    """The public layout of a dealer's batch, section after section."""

    sections: tuple[BatchSection, ...]
    faults: int

    @property
    def size(self) -> int:
        """Number of sharings in the batch."""
        return sum(section.size(self.faults) for section in self.sections)

    def values(self, part: HeldShares, section_index: int) -> Elements:
        """Return a holder's shares of the values of one section, without the proofs: one row for each value of a statement."""
        begin = self._begin(section_index)
        section = self.sections[section_index]
        width = 3 if section.kind == "products" else 1
        return part.values[begin : begin + width * section.count].reshape(width, section.count)

    def first_unproved(self, point: int, part: HeldShares) -> int | None:
        """Return the first sharing whose statement does not hold at this holder's point, or None."""
        for section_index, section in enumerate(self.sections):
            if section.kind == "plain" or not section.count:
                continue
            begin = self._begin(section_index)
            shares = part.values[begin : begin + section.size(self.faults)].reshape(-1, section.count)
            fails = _residue(section.kind, point, shares) != 0
            if fails.any():
                return begin + int(np.argmax(fails))
        return None

    def statement(self, first_sharing: int) -> tuple[Kind, list[int]] | None:
        """Return the kind and all sharings of the statement whose first sharing is ``first_sharing``; None if no statement begins there."""
        for section_index, section in enumerate(self.sections):
            begin = self._begin(section_index)
            if section.kind != "plain" and begin <= first_sharing < begin + section.count:
                return section.kind, [first_sharing + k * section.count for k in range(section.width(self.faults))]
        return None

    def _begin(self, section_index: int) -> int:
        return sum(section.size(self.faults) for section in self.sections[:section_index])


def _residue(kind: Kind, point: int, shares: Elements) -> Elements:
    """Return ab - c - sum of x^k D_k at one point: zero if the statement holds."""
    a, b, c = (shares[index] for index in _FACTORS[kind])
    residue: Elements = (a * b - c) % gf.PRIME
    power = 1
    for part in shares[max(_FACTORS[kind]) + 1 :]:
        power = power * point % gf.PRIME
        residue = (residue - part * power) % gf.PRIME
    return residue


def dealing(polynomials: Sequence[Elements]) -> DealerSide:
    """Return a dealer's batch of sections, each given by its share polynomials."""
    return DealerSide.of(np.concatenate(list(polynomials), axis=-1))


async def settle_proofs(network: Network, item: str, dealt: HolderShares, layouts: Mapping[int, BatchLayout]) -> None:
    """Open the shares disputed by complaints about proofs: a dealer whose statement fails is excluded with everything
    it dealt; a false complaint blames its author."""
    cases = []
    for holder, complaints in sorted(dealt.complaints.items()):
        for dealer, sharing in complaints.unproved:
            statement = layouts[dealer].statement(sharing)
            if dealer in dealt.accepted and statement is not None:
                cases.append((holder, dealer, *statement))
    if not cases:
        return
    known_shares = [dealt.accepted[dealer][sharings].seen_by_other(holder) for holder, dealer, _, sharings in cases]
    opened = await open_points(network, f"{item}/proofs", np.concatenate(known_shares))
    begin = 0
    for holder, dealer, kind, sharings in cases:
        shares = opened[begin : begin + len(sharings), None]
        begin += len(sharings)
        if _residue(kind, holder + 1, shares)[0]:
            dealt.accepted.pop(dealer, None)
            dealt.out[dealer] = "shared a value that is not a bit" if kind == "bits" else "shared a wrong product"
        else:
            network.blame(holder, f"complained falsely of party {dealer + 1}")
