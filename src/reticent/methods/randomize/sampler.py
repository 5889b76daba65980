"""The sampler of uniform views: listed tuples with their own probabilities, every other tuple of the domain with one probability.

The domain is split into slabs of consecutive keys. Inclusions are independent, so each slab is sampled separately and
written before the next: the law is exactly that of one coin per tuple, time is proportional to the output, and memory
is that of a slab.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.tuple_sets import distinct, in_order, without
from reticent.methods.randomize.view_domain import Keys, ViewDomain

ROWS_AT_ONCE = 1_000_000
_WALKED_CELLS = 1_000_000
_WALKED_ABOVE = Fraction(1, 5)


@dataclass(frozen=True)
class ListedKeys:
    """Sorted keys of tuples that are included with the same probability."""

    keys: Keys
    probability: Fraction


def sample(
    domain: ViewDomain, listed: Sequence[ListedKeys], other: Fraction, draws: Draws, rows_at_once: int = ROWS_AT_ONCE
) -> Iterator[Keys]:
    """Yield the view's keys, slab by slab, sorted: ``listed`` sets (disjoint), and every other tuple with probability ``other``.

    Cost: proportional to the output. As in [Rastogi2007], the number of new tuples is sampled first and tuples are
    inserted until it is reached; small or dense slabs are sampled coin by coin.
    """
    expected = sum(len(listed_keys.keys) * listed_keys.probability for listed_keys in listed) + other * domain.size
    first = domain.radices[0]
    slabs = min(first, max(1, math.ceil(expected / rows_at_once)))
    edges = [first * slab // slabs for slab in range(slabs + 1)]
    for low, high in pairwise(edges):
        yield _slab(
            domain, low, high, [_inside(domain, listed_keys, low, high) for listed_keys in listed], other, draws
        )


def _inside(domain: ViewDomain, listed: ListedKeys, low: int, high: int) -> ListedKeys:
    words = domain.first_word(listed.keys)
    start, stop = np.searchsorted(words, [low, high])
    return ListedKeys(listed.keys[start:stop], listed.probability)


def _slab(domain: ViewDomain, low: int, high: int, listed: Sequence[ListedKeys], other: Fraction, draws: Draws) -> Keys:
    """Return the sampled keys of a slab, sorted: of the ``listed`` sets, and of all other tuples with probability ``other``."""
    included = [group.keys[draws.coins(group.probability, len(group.keys))] for group in listed]
    listed_keys = in_order(np.concatenate([group.keys for group in listed])) if listed else np.empty(0, domain.key_type)
    other_keys = _sampled_unlisted(domain, low, high, listed_keys, other, draws)
    return in_order(np.concatenate([*included, other_keys])) if any(map(len, included)) else other_keys


def _sampled_unlisted(
    domain: ViewDomain, low: int, high: int, listed_keys: Keys, chance: Fraction, draws: Draws
) -> Keys:
    """Return the sampled tuples of a slab (first words ``low`` to ``high``): every tuple that is not in ``listed_keys`` with
    the probability ``chance``.
    """
    cells = (high - low) * math.prod(domain.radices[1:])
    single = len(domain.radices) == 1
    if single and (cells <= _WALKED_CELLS or chance > _WALKED_ABOVE):
        return without(np.flatnonzero(draws.coins(chance, cells)) + low, listed_keys)
    count = draws.binomial(cells - len(listed_keys), chance)
    included = np.empty(0, domain.key_type)
    while len(included) < count:
        missing = count - len(included)
        words = [draws.below(high - low, missing) + low, *(draws.below(radix, missing) for radix in domain.radices[1:])]
        new_keys = without(distinct(domain.from_words(words)), listed_keys)
        included = new_keys if len(included) == 0 else in_order(np.concatenate([included, without(new_keys, included)]))
    return included
