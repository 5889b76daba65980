"""Public coins that nobody can bias, and shared coins derived from them.

*Guarantee*: every public coin is uniform and independent of all others, for any inputs of at most t faulty dealers; the
sum of flipped bits of honest dealers is binomial. *Adversary*: at most t of n >= 3t + 1 parties. They know their own
coins, so privacy counts honest coins alone (the plan does). *Cost*: one opening; the random elements are dealt together
with everything else. *Source*: each party shares random elements, which are opened after all dealings are accepted and
multiplied by a Vandermonde matrix [Damgard2007]: the n - t outputs are a bijective function of any n - t honest inputs.
The bit-fixing extractor of [Dwork2006b] is asymptotic and not used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reticent.noise import field as gf
from reticent.noise.field import Elements

BITS_OF_AN_ELEMENT = 30


def elements_for(coins: int) -> int:
    """Return how many uniform elements yield ``coins`` bits except with probability below 1e-20: an element gives 30 bits,
    and half of all elements are rejected.
    """
    needed = -(-coins // BITS_OF_AN_ELEMENT)
    return 2 * needed + math.ceil(20 * math.sqrt(needed)) + 100 if coins else 0


def extracted(parts: Sequence[Elements], holders: int, faults: int) -> Elements:
    """Combine one element of each party (zero for excluded ones) into n - t uniform ones, also on shares; rows of outputs in order."""
    stacked = np.stack(parts)
    return np.concatenate([gf.combined(row, stacked) for row in gf.vandermonde(holders - faults, holders)])


def bits_of(elements: Elements, coins: int) -> Elements | None:
    """Return the first ``coins`` bits of uniform elements: 30 of each below 2^30, others are rejected; None if they do not suffice."""
    accepted = elements[elements < 1 << BITS_OF_AN_ELEMENT]
    bits = ((accepted[:, None] >> np.arange(BITS_OF_AN_ELEMENT)) & 1).reshape(-1)
    return bits[:coins] if len(bits) >= coins else None


def flipped(bits: Elements, coins: Elements) -> Elements:
    """Return shares of b xor c: the share itself if the public coin c is 0, one minus it if c is 1."""
    return np.where(coins == 0, bits, 1 - bits) % gf.PRIME
