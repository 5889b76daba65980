"""Regions, products of one label a column, and what is found out about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.packing import number, pack
from reticent.conditions.pieces import Pieces


class RegionMatch(StrEnum):
    """Whether a region has rows that meet a condition: certainly none, maybe some, or certainly all."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True)
class Coverage:
    """What a condition covers of one region. ``measured`` is False where the share is not known and 1/2 stands for it."""

    verdict: RegionMatch
    share: float
    measured: bool


@dataclass(frozen=True)
class Covers:
    """What a condition covers of many regions, one entry each.

    ``possible``: a value in the region may meet the condition; ``certain``: all do. ``share`` is the fraction of the
    region's cells that do; where nothing public says how values spread (``measured`` is False) it is 1/2.
    """

    share: NDArray[np.float64]
    possible: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    measured: NDArray[np.bool_]

    def at(self, regions: NDArray[Any]) -> Covers:
        """The same of some regions, by number or by a mask."""
        return Covers(self.share[regions], self.possible[regions], self.certain[regions], self.measured[regions])

    def among(self, mine: NDArray[np.bool_]) -> Covers:
        """The same among more regions, of which these are ``mine``; of the others the condition covers nothing."""
        share, measured = np.zeros(len(mine)), np.ones(len(mine), dtype=bool)
        possible, certain = np.zeros((2, len(mine)), dtype=bool)
        share[mine], possible[mine], certain[mine] = self.share, self.possible, self.certain
        measured[mine] = self.measured
        return Covers(share, possible, certain, measured)

    def __getitem__(self, region: int) -> Coverage:
        verdict = (
            RegionMatch.ALL if self.certain[region] else RegionMatch.SOME if self.possible[region] else RegionMatch.NONE
        )
        return Coverage(verdict, float(self.share[region]), bool(self.measured[region]))


@dataclass(frozen=True)
class LabelProducts:
    """Regions to be covered: for every column its labels' pieces, and for every region the number of its label."""

    pieces: Mapping[str, Pieces]
    codes: Mapping[str, NDArray[np.int64]]
    count: int

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Regions numbered by their labels in some columns, and for each number one region."""
        sizes = [len(self.pieces[name].measured) for name in names]
        ids, count = number(*pack([self.codes[name] for name in names], sizes, self.count))
        firsts = np.zeros(count, dtype=np.int64)
        firsts[ids] = np.arange(self.count)
        return ids.astype(np.int64), firsts
