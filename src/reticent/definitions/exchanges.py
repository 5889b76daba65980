"""Replacing groups by finer ones, many at a time, under a definition that judges all groups together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from reticent.core import Groups

if TYPE_CHECKING:
    from reticent.definitions.definition import GroupDefinition


class Exchanges(ABC):
    """Groups, and for each a split into two that may replace it; decided block by block, in order.

    Exchange ``i`` replaces ``before[i]`` by ``after[2 i]`` and ``after[2 i + 1]``; the groups of ``rest`` stay. Blocks
    are aligned: block ``b`` of level ``v`` holds the exchanges from ``b 2^v`` up to ``(b + 1) 2^v``. Undecided
    exchanges count as not made. Mutable: it records what was decided.
    """

    def __init__(self, rest: Groups, before: Groups, after: Groups) -> None:
        self.rest, self.before, self.after = rest, before, after
        self.made = np.zeros(len(before), dtype=bool)

    @abstractmethod
    def fits(self, level: int, block: int) -> bool:
        """True if the definition holds with all exchanges of a block made as well."""

    def settle(self, level: int, block: int, made: bool) -> None:
        """Record the exchanges of a block as made or rejected."""
        self.made[self.places(level, block)] = made

    def places(self, level: int, block: int) -> slice:
        """The indices of a block's exchanges."""
        return slice(block << level, min((block + 1) << level, len(self.before)))

    def partition(self, level: int, block: int) -> Groups:
        """Return all groups after the decisions so far and with the exchanges of a block made; each replaces a group by
        the two parts of its split.
        """
        made_with_block = self.made.copy()
        made_with_block[self.places(level, block)] = True
        return joined(
            [self.rest, self.before.select(~made_with_block), self.after.select(np.repeat(made_with_block, 2))]
        )


class Rejudged(Exchanges):
    """The exchanges of any definition: judges the whole partition every time. Slow; the reference for faster implementations."""

    def __init__(self, definition: GroupDefinition, rest: Groups, before: Groups, after: Groups) -> None:
        super().__init__(rest, before, after)
        self._definition = definition

    def fits(self, level: int, block: int) -> bool:
        return self._definition.holds(self.partition(level, block))


def admitted(tallies: Sequence[Exchanges], count: int) -> NDArray[np.bool_]:
    """Mask of the ``count`` exchanges, taken in order, after which every definition still holds.

    A monotone definition that admits a block admits each of its exchanges in turn, and one that fails with a prefix
    fails with more. So blocks that fit are made at once, and only the others are searched.
    """
    is_admitted = np.zeros(count, dtype=bool)
    pending = [(max(count - 1, 0).bit_length(), 0)] if count else []
    while pending:
        level, block = pending.pop()
        fits = all(tally.fits(level, block) for tally in tallies)
        if fits or level == 0:
            for tally in tallies:
                tally.settle(level, block, fits)
            is_admitted[block << level : (block + 1) << level] = fits
            continue
        halves = [(level - 1, 2 * block + 1), (level - 1, 2 * block)]
        pending.extend(half for half in halves if half[1] << half[0] < count)
    return is_admitted


def joined(several: Sequence[Groups]) -> Groups:
    """Concatenate the groups of one table."""
    first, *others = several
    histograms = first.histograms
    for other in others:
        histograms = histograms.append(other.histograms, 1)
    extras = {name: np.concatenate([groups.extras[name] for groups in several]) for name in first.extras}
    sizes = np.concatenate([groups.sizes for groups in several])
    owners = first.owners
    for other in others:
        owners = tuple(first_owners.append(others) for first_owners, others in zip(owners, other.owners, strict=True))
    return Groups(sizes, histograms, reference=first.reference, domain=first.domain, extras=extras, owners=owners)
