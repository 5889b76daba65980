"""Public coins that nobody can bias, and coins in shares made of them.

*Guarantee*: every public coin is uniform and independent of all others, whatever at most t dealers shared; the sum of flipped bits of honest dealers is binomial.
*Adversary*: at most t of n >= 3t + 1 parties. They know their own coins, so privacy counts honest coins alone (the plan does).
*Cost*: one opening; random elements that each party shared together with everything else.
*Source*: each party shares random elements, which are opened after everything was accepted and multiplied by a Vandermonde matrix: the n - t outputs are a bijective
function of any n - t honest inputs. The bit-fixing extractor of the source is asymptotic and not claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reticent.noise import field as gf
from reticent.noise.field import Elements

BITS_OF_AN_ELEMENT = 30


def elements_for(coins: int) -> int:
    """How many uniform elements give ``coins`` bits but with a chance below 1e-20: an element gives 30 bits, half of all elements are passed over."""
    needed = -(-coins // BITS_OF_AN_ELEMENT)
    return 2 * needed + math.ceil(20 * math.sqrt(needed)) + 100 if coins else 0


def extracted(parts: Sequence[Elements], holders: int, faults: int) -> Elements:
    """Combine one element of each party (zero for those who are out) into n - t that are uniform, also in shares: rows of outputs, one after the other."""
    stacked = np.stack(parts)
    return np.concatenate([gf.combined(row, stacked) for row in gf.vandermonde(holders - faults, holders)])


def bits_of(elements: Elements, coins: int) -> Elements | None:
    """The first ``coins`` bits of uniform elements: 30 of each that lies below 2^30, others are passed over; None if they do not suffice."""
    kept = elements[elements < 1 << BITS_OF_AN_ELEMENT]
    bits = ((kept[:, None] >> np.arange(BITS_OF_AN_ELEMENT)) & 1).reshape(-1)
    return bits[:coins] if len(bits) >= coins else None


def flipped(bits: Elements, coins: Elements) -> Elements:
    """Shares of b xor c: the share itself where the public coin c is 0, one minus it where c is 1."""
    return np.where(coins == 0, bits, 1 - bits) % gf.PRIME
