"""Match people to published rows: for each person, the candidate rows and the sensitive values they leave possible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.packing import sum_by
from reticent.base.ragged import places_in
from reticent.core import AdversaryView, CandidatePairs, QueriedPeople, Shape


@dataclass(frozen=True)
class Matches:
    """The matches of each person: the number of ``candidates``, the number of possible ``values``, and the best guess.

    ``guess`` is the index of the most likely sensitive value (-1 if none) and ``chance`` its share among the
    candidates. Counts are exact; ``chance`` is for display.
    """

    candidates: NDArray[np.int64]
    values: NDArray[np.int64]
    guess: NDArray[np.int64]
    chance: NDArray[np.float64]

    @classmethod
    def nowhere(cls, people: int) -> Matches:
        """Return matches in which no person has a candidate."""
        nothing = np.zeros(people, dtype=np.int64)
        return cls(nothing, nothing.copy(), nothing - 1, np.zeros(people))

    def put(self, people: NDArray[np.int64], found: Matches) -> None:
        """Fill in the matches of some people; only during construction."""
        for mine, theirs in zip(self._arrays(), found._arrays(), strict=True):
            mine[people] = theirs

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.candidates, self.values, self.guess, self.chance

    def of(self, people: NDArray[np.int64]) -> Matches:
        """Return the matches of some people, by index."""
        return Matches(self.candidates[people], self.values[people], self.guess[people], self.chance[people])


@dataclass(frozen=True)
class LabelPlaces:
    """Distinct label combinations with their candidates and rows, and the expected number of rows for each sensitive value."""

    codes: tuple[NDArray[np.int64], ...]
    candidates: NDArray[np.int64]
    rows: NDArray[np.int64]
    owners: NDArray[np.int64]
    values: NDArray[np.int64]
    weights: NDArray[np.float64]
    domain: int
    shapes: tuple[Shape, ...] = ()

    def best(self) -> Best:
        """For every label combination: the number of possible values, the most likely one (ties: the first; -1: none) and its share."""
        return _best(self.owners, self.values, self.weights, self.rows)

    def matrix(self) -> Any:
        """A sparse matrix, label combinations by values: the expected number of rows."""
        from scipy.sparse import csr_array

        return csr_array((self.weights, (self.owners, self.values)), shape=(len(self.rows), self.domain))


Best = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]


def _best(owners: NDArray[Any], values: NDArray[Any], weights: NDArray[np.float64], rows: NDArray[np.int64]) -> Best:
    """Return for every owner the number of possible values, the most likely one (ties: the first; -1: none) and its share of the owner's rows."""
    count = len(rows)
    possible = np.bincount(owners, minlength=count)
    order = np.lexsort((values, -weights, owners))
    first = order[np.searchsorted(owners[order], np.arange(count))[possible > 0]]
    guess, chance = np.full(count, -1, dtype=np.int64), np.zeros(count)
    guess[possible > 0] = values[first]
    chance[possible > 0] = weights[first] / rows[possible > 0]
    return possible, guess, chance


def match(
    seen: AdversaryView,
    people: pl.DataFrame,
    quasi: Sequence[str],
    sensitive: str | None,
    *,
    null_is_unknown: bool = True,
) -> Matches:
    """Match people to the published rows over the ``quasi`` columns that the adversary has; equal people are matched
    once.

    A null is an unknown value, or a value known to be missing: then only labels match that cover missing values.
    """
    asked = seen.ask(people, quasi, null_is_unknown=null_is_unknown)
    places = places_of(seen, quasi, sensitive)
    found = Matches.nowhere(len(asked))
    for fits in asked.fits(places.codes, places.shapes):
        found.put(fits.people, _matches(places, fits))
    return found.of(asked.owners)


def expect(asked: QueriedPeople, places: LabelPlaces) -> NDArray[np.float64]:
    """Return for each distinct person and sensitive value the expected number of matching rows with that value."""
    expected = np.zeros((len(asked), places.domain))
    for fits in asked.fits(places.codes, places.shapes):
        expected[fits.people] = (_matrix(fits, places) @ places.matrix()).toarray()
    return expected


def _matrix(fits: CandidatePairs, places: LabelPlaces) -> Any:
    """Return the matrix of people by label combinations, 1 if they match."""
    from scipy.sparse import csr_array

    shape = (len(fits.people), len(places.rows))
    return csr_array((np.ones(len(fits.person), dtype=np.int64), (fits.person, fits.place)), shape=shape)


def _matches(places: LabelPlaces, fits: CandidatePairs) -> Matches:
    """Return the joint evidence of the matching label combinations about each person."""
    together = _matrix(fits, places)
    candidates, rows = together @ places.candidates, together @ places.rows
    if not places.domain:
        found = Matches.nowhere(len(rows))
        return replace(found, candidates=candidates)
    expected = (together @ places.matrix()).tocoo()
    return Matches(candidates, *_best(expected.row, expected.col, expected.data, rows))


def places_of(seen: AdversaryView, quasi: Sequence[str], sensitive: str | None) -> LabelPlaces:
    """Merge the published rows over the columns that the adversary can compare."""
    columns = [seen.column(name) for name in quasi]
    ids, count = seen.combined(quasi)
    first = np.empty(count, dtype=np.int64)
    first[ids] = np.arange(len(ids))
    codes = tuple(column.codes[first] for column in columns)
    candidates, rows = (sum_by(ids, sizes, count) for sizes in (seen.candidates, seen.sizes))
    nothing = np.zeros(0, dtype=np.int64)
    shapes = seen.shapes_of(ids, count, quasi)
    if sensitive is None:
        return LabelPlaces(codes, candidates, rows, nothing, nothing, np.zeros(0), 0, shapes)
    groups = seen.true_groups.marginal(sensitive)
    histograms, domain = groups.histograms, groups.domain.size
    # Within a group, each row has each sensitive value in proportion: only the group links the two.
    lengths = histograms.distinct[seen.group_of]
    cells = np.repeat(np.arange(len(ids)), lengths)
    entries = places_in(histograms.offsets[seen.group_of], lengths)
    share = seen.sizes[cells] / groups.sizes[seen.group_of][cells]
    keys = ids[cells].astype(np.int64) * domain + histograms.values[entries]
    distinct, inverse = np.unique(keys, return_inverse=True)
    expected = np.bincount(inverse, weights=share * histograms.counts[entries], minlength=len(distinct))
    return LabelPlaces(
        codes, candidates, rows, distinct // domain, distinct % domain, expected.astype(np.float64), domain, shapes
    )
