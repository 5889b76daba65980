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
        zeros = np.zeros(people, dtype=np.int64)
        return cls(zeros, zeros.copy(), zeros - 1, np.zeros(people))

    def put(self, people: NDArray[np.int64], matches: Matches) -> None:
        """Fill in the matches of some people; only during construction."""
        for target, source in zip(self._arrays(), matches._arrays(), strict=True):
            target[people] = source

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
    """Return for every owner the number of possible values, the most likely one (ties: the first; -1: none) and its share of the owner's rows.

    Entry ``i`` says that ``weights[i]`` rows of ``owners[i]`` are expected to have ``values[i]``; ``rows`` are the rows of
    each owner.
    """
    owner_count = len(rows)
    possible = np.bincount(owners, minlength=owner_count)
    order = np.lexsort((values, -weights, owners))
    likeliest = order[np.searchsorted(owners[order], np.arange(owner_count))[possible > 0]]
    guess, chance = np.full(owner_count, -1, dtype=np.int64), np.zeros(owner_count)
    guess[possible > 0] = values[likeliest]
    chance[possible > 0] = weights[likeliest] / rows[possible > 0]
    return possible, guess, chance


def match(
    view: AdversaryView,
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
    queried = view.ask(people, quasi, null_is_unknown=null_is_unknown)
    labels = places_of(view, quasi, sensitive)
    matches = Matches.nowhere(len(queried))
    for pairs in queried.fits(labels.codes, labels.shapes):
        matches.put(pairs.people, _matches(labels, pairs))
    return matches.of(queried.owners)


def expect(queried: QueriedPeople, labels: LabelPlaces) -> NDArray[np.float64]:
    """Return for each distinct person and sensitive value the expected number of matching rows with that value."""
    expected = np.zeros((len(queried), labels.domain))
    for pairs in queried.fits(labels.codes, labels.shapes):
        expected[pairs.people] = (_matrix(pairs, labels) @ labels.matrix()).toarray()
    return expected


def _matrix(pairs: CandidatePairs, labels: LabelPlaces) -> Any:
    """Return the matrix of people by label combinations, 1 if they match."""
    from scipy.sparse import csr_array

    shape = (len(pairs.people), len(labels.rows))
    return csr_array((np.ones(len(pairs.person), dtype=np.int64), (pairs.person, pairs.place)), shape=shape)


def _matches(labels: LabelPlaces, pairs: CandidatePairs) -> Matches:
    """Return the joint evidence of the matching label combinations about each person: candidates, and the expected values."""
    matrix = _matrix(pairs, labels)
    candidates, rows = matrix @ labels.candidates, matrix @ labels.rows
    if not labels.domain:
        matches = Matches.nowhere(len(rows))
        return replace(matches, candidates=candidates)
    expected = (matrix @ labels.matrix()).tocoo()
    return Matches(candidates, *_best(expected.row, expected.col, expected.data, rows))


def places_of(view: AdversaryView, quasi: Sequence[str], sensitive: str | None) -> LabelPlaces:
    """Return the distinct combinations of published labels in the columns ``quasi``, with their rows and candidates.

    With a ``sensitive`` column each also has the expected number of rows per sensitive value. ``codes`` has an array
    per column; ``owners``, ``values`` and ``weights`` are the (combination, value) entries.
    """
    columns = [view.column(name) for name in quasi]
    combination_of, combination_count = view.combined(quasi)
    example_row = np.empty(combination_count, dtype=np.int64)
    example_row[combination_of] = np.arange(len(combination_of))
    codes = tuple(column.codes[example_row] for column in columns)
    candidates, rows = (sum_by(combination_of, sizes, combination_count) for sizes in (view.candidates, view.sizes))
    empty = np.zeros(0, dtype=np.int64)
    shapes = view.shapes_of(combination_of, combination_count, quasi)
    if sensitive is None:
        return LabelPlaces(
            codes, candidates, rows, owners=empty, values=empty, weights=np.zeros(0), domain=0, shapes=shapes
        )
    groups = view.true_groups.marginal(sensitive)
    histograms, domain = groups.histograms, groups.domain.size
    # Within a group, each row has each sensitive value in proportion: only the group links the two.
    lengths = histograms.distinct[view.group_of]
    label_of_entry = np.repeat(np.arange(len(combination_of)), lengths)
    entries = places_in(histograms.offsets[view.group_of], lengths)
    share_of_group = view.sizes[label_of_entry] / groups.sizes[view.group_of][label_of_entry]
    combination_and_value = combination_of[label_of_entry].astype(np.int64) * domain + histograms.values[entries]
    distinct, inverse = np.unique(combination_and_value, return_inverse=True)
    expected = np.bincount(inverse, weights=share_of_group * histograms.counts[entries], minlength=len(distinct))
    return LabelPlaces(
        codes,
        candidates,
        rows,
        owners=distinct // domain,
        values=distinct % domain,
        weights=expected.astype(np.float64),
        domain=domain,
        shapes=shapes,
    )
