"""Regions (products of one label per column), and results about them."""

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
    """Whether rows of a region meet a condition: certainly none, maybe some, or certainly all."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


@dataclass(frozen=True)
class Coverage:
    """The part of one region that satisfies a condition. If the share is unknown, ``measured`` is False and the share is 1/2."""

    verdict: RegionMatch
    share: float
    measured: bool


@dataclass(frozen=True)
class Covers:
    """The parts of many regions that satisfy a condition, one entry each.

    ``possible``: a value in the region may meet the condition; ``certain``: all do. ``share`` is the fraction of the
    region's cells that do; 1/2 if nothing public determines the distribution of values (``measured`` is False).
    """

    share: NDArray[np.float64]
    possible: NDArray[np.bool_]
    certain: NDArray[np.bool_]
    measured: NDArray[np.bool_]

    def at(self, regions: NDArray[Any]) -> Covers:
        """The entries of some regions, by index or mask."""
        return Covers(self.share[regions], self.possible[regions], self.certain[regions], self.measured[regions])

    def among(self, is_entry: NDArray[np.bool_]) -> Covers:
        """Scatter the entries into a larger set of regions, of which these are ``is_entry``; the condition covers none
        of the others.
        """
        share, measured = np.zeros(len(is_entry)), np.ones(len(is_entry), dtype=bool)
        possible, certain = np.zeros((2, len(is_entry)), dtype=bool)
        share[is_entry], possible[is_entry], certain[is_entry] = self.share, self.possible, self.certain
        measured[is_entry] = self.measured
        return Covers(share, possible, certain, measured)

    def __getitem__(self, region: int) -> Coverage:
        """Return the part of one region that satisfies the condition."""
        possible = RegionMatch.SOME if self.possible[region] else RegionMatch.NONE
        verdict = RegionMatch.ALL if self.certain[region] else possible
        return Coverage(verdict, float(self.share[region]), bool(self.measured[region]))


@dataclass(frozen=True)
class LabelProducts:
    """Regions to decide: for every column the pieces of its labels, and for every region its label index."""

    pieces: Mapping[str, Pieces]
    codes: Mapping[str, NDArray[np.int64]]
    count: int

    def distinct(self, names: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return ids of regions, equal for equal labels in these columns, and one region per id."""
        sizes = [len(self.pieces[name].measured) for name in names]
        ids, count = number(*pack([self.codes[name] for name in names], sizes, self.count))
        firsts = np.zeros(count, dtype=np.int64)
        firsts[ids] = np.arange(self.count)
        return ids.astype(np.int64), firsts
