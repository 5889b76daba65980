"""Placing people among published cells: for each person, which rows could be theirs and what these would say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attack.labels import Cover
from reticent.attack.published import Published
from reticent.data.keys import number, pack, sum_by

_PERSON, _PLACE = "_person", "_place"
_CHUNK_CELLS = 1 << 24
_EXACT_IN_SINGLE = 1 << 24
_SPARSE = 4


@dataclass(frozen=True)
class Matches:
    """What a release says about each person: how many ``candidates`` fit, ``values`` that these leave possible, the best guess.

    ``guess`` is the number of the likeliest sensitive value (-1 without one) and ``chance`` how often rows that fit have it.
    Counts are exact; ``chance`` is for display.
    """

    candidates: NDArray[np.int64]
    values: NDArray[np.int64]
    guess: NDArray[np.int64]
    chance: NDArray[np.float64]

    @classmethod
    def nowhere(cls, people: int) -> Matches:
        """Nobody fits anything."""
        nothing = np.zeros(people, dtype=np.int64)
        return cls(nothing, nothing.copy(), nothing - 1, np.zeros(people))

    def put(self, people: NDArray[np.int64], found: Matches) -> None:
        """Fill in what was found about some people; only while matches are being made."""
        for mine, theirs in zip(self._arrays(), found._arrays(), strict=True):
            mine[people] = theirs

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.candidates, self.values, self.guess, self.chance

    def of(self, people: NDArray[np.int64]) -> Matches:
        """The matches of some people, by number."""
        return Matches(self.candidates[people], self.values[people], self.guess[people], self.chance[people])


@dataclass(frozen=True)
class _Places:
    """Distinct label combinations with their candidates and rows, and the expected number of rows for each sensitive value."""

    codes: tuple[NDArray[np.int64], ...]
    candidates: NDArray[np.int64]
    rows: NDArray[np.int64]
    owners: NDArray[np.int64]
    values: NDArray[np.int64]
    weights: NDArray[np.float64]
    domain: int

    def dense(self) -> NDArray[np.float64]:
        """Weights with one row per place and one column per value."""
        table = np.zeros((len(self.rows), self.domain))
        table[self.owners, self.values] = self.weights
        return table


def match(published: Published, people: pl.DataFrame, quasi: Sequence[str], sensitive: str | None) -> Matches:
    """Match people to what was published, over the ``quasi`` columns that the adversary has.

    People with the same values are matched once. Whoever fits at most one label in every column has one place, and a join
    finds it; where labels overlap (local recoding, unknown values) places are compared as bit sets.
    """
    points = people.select(quasi).with_row_index(_PERSON).group_by(quasi, maintain_order=True).agg(_PERSON)
    covers, asked = [], []
    for name in quasi:
        values = points[name].unique(maintain_order=True)
        numbered = pl.DataFrame({name: values, _PLACE: np.arange(len(values))})
        joined = points.select(name).join(numbered, on=name, how="left", nulls_equal=True, maintain_order="left")
        covers.append(published.column(name).cover(values))
        asked.append(joined[_PLACE].to_numpy())
    places = _places(published, quasi, sensitive)
    single = np.all([each.is_single[values] for each, values in zip(covers, asked, strict=True)], axis=0)
    found = Matches.nowhere(points.height)
    for chosen, method in ((np.flatnonzero(single), _match_single), (np.flatnonzero(~single), _match_overlapping)):
        if len(chosen):
            found.put(chosen, method(places, covers, [values[chosen] for values in asked]))
    owners = np.empty(people.height, dtype=np.int64)
    owners[points[_PERSON].explode().to_numpy()] = np.repeat(
        np.arange(points.height), points[_PERSON].list.len().to_numpy()
    )
    return found.of(owners)


def _places(published: Published, quasi: Sequence[str], sensitive: str | None) -> _Places:
    """Merge the published cells over the columns that the adversary can compare."""
    columns = [published.column(name) for name in quasi]
    sizes = [len(column.meanings) for column in columns]
    ids, count = number(*pack([column.codes for column in columns], sizes, len(published.sizes)))
    first = np.empty(count, dtype=np.int64)
    first[ids] = np.arange(len(ids))
    codes = tuple(column.codes[first] for column in columns)
    candidates, rows = (sum_by(ids, sizes, count) for sizes in (published.candidates, published.sizes))
    nothing = np.zeros(0, dtype=np.int64)
    if sensitive is None:
        return _Places(codes, candidates, rows, nothing, nothing, np.zeros(0), 0)
    groups = published.groups.marginal(sensitive)
    histograms, domain = groups.histograms, groups.domain.size
    # A row of a cell has each value of its group in proportion: the group is all that ties the two together.
    lengths = histograms.distinct[published.group_of]
    cells = np.repeat(np.arange(len(ids)), lengths)
    steps = np.arange(len(cells)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    entries = histograms.offsets[published.group_of][cells] + steps
    share = published.sizes[cells] / groups.sizes[published.group_of][cells]
    keys = ids[cells].astype(np.int64) * domain + histograms.values[entries]
    distinct, inverse = np.unique(keys, return_inverse=True)
    expected = np.bincount(inverse, weights=share * histograms.counts[entries], minlength=len(distinct))
    return _Places(codes, candidates, rows, distinct // domain, distinct % domain, expected.astype(np.float64), domain)


def _match_single(places: _Places, covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]) -> Matches:
    labels = [each.lookup()[values] for each, values in zip(covers, asked, strict=True)]
    people = len(labels[0]) if labels else 0
    # Label -1 (nobody fits) becomes a number that no published cell has.
    together = [np.concatenate([cells, mine]) + 1 for cells, mine in zip(places.codes, labels, strict=True)]
    sizes = [each.label_count + 1 for each in covers]
    ids, count = number(*pack(together, sizes, len(places.rows) + people))
    place_of = np.full(count, -1, dtype=np.int64)
    place_of[ids[: len(places.rows)]] = np.arange(len(places.rows))
    found = place_of[ids[len(places.rows) :]]
    values, guess, chance = _best_guesses(places)
    hit = found >= 0
    return Matches(
        np.where(hit, places.candidates[found], 0),
        np.where(hit, values[found], 0),
        np.where(hit, guess[found], -1),
        np.where(hit, chance[found], 0.0),
    )


def _best_guesses(places: _Places) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """For every place: how many values are possible, the likeliest one (ties: the first) and its share."""
    count = len(places.rows)
    values = np.bincount(places.owners, minlength=count)
    order = np.lexsort((places.values, -places.weights, places.owners))
    first = order[np.searchsorted(places.owners[order], np.arange(count))[values > 0]]
    guess = np.full(count, -1, dtype=np.int64)
    chance = np.zeros(count)
    guess[values > 0] = places.values[first]
    chance[values > 0] = places.weights[first] / places.rows[values > 0]
    return values, guess, chance


def _match_overlapping(places: _Places, covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]) -> Matches:
    count, people = len(places.rows), len(asked[0])
    bits = [np.packbits(each.matrix()[:, codes], axis=1) for each, codes in zip(covers, places.codes, strict=True)]
    found = Matches.nowhere(people)
    step = max(1, _CHUNK_CELLS // max(count, 1))
    for start in range(0, people, step):
        chunk = slice(start, start + step)
        together = bits[0][asked[0][chunk]]
        for column, mine in zip(bits[1:], asked[1:], strict=True):
            together &= column[mine[chunk]]
        sparse = int(np.bitwise_count(together).sum()) * _SPARSE < together.size
        candidates, rows, expected = (_add_up_few if sparse else _add_up_many)(places, together)
        found.candidates[chunk] = candidates
        if places.domain:
            found.values[chunk] = np.count_nonzero(expected, axis=1)
            found.guess[chunk] = np.where(rows > 0, expected.argmax(axis=1), -1)
            found.chance[chunk] = expected.max(axis=1) / np.maximum(rows, 1)
    return found


_Sums = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def _add_up_many(places: _Places, together: NDArray[np.uint8]) -> _Sums:
    """Candidates, rows and expected rows by value for each person, by a matrix product over all places."""
    dtype: Any = np.float32 if places.rows.sum() < _EXACT_IN_SINGLE else np.float64
    fits: NDArray[Any] = np.unpackbits(together, axis=1, count=len(places.rows)).astype(dtype)
    counted: NDArray[Any] = np.stack([places.candidates, places.rows], axis=1).astype(dtype)
    candidates, rows = np.rint(fits @ counted).astype(np.int64).T
    return candidates, rows, fits @ places.dense().astype(dtype)


def _add_up_few(places: _Places, together: NDArray[np.uint8]) -> _Sums:
    """The same where few places fit: list the pairs of person and place, and add along the list."""
    people, blocks = np.nonzero(together)
    pairs, offsets = np.nonzero(np.unpackbits(together[people, blocks][:, None], axis=1))
    person, place = people[pairs], blocks[pairs] * 8 + offsets
    candidates, rows = (sum_by(person, each[place], len(together)) for each in (places.candidates, places.rows))
    starts = np.searchsorted(places.owners, np.arange(len(places.rows) + 1))
    lengths = np.diff(starts)[place]
    steps = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    entries = np.repeat(starts[place], lengths) + steps
    keys = np.repeat(person, lengths) * places.domain + places.values[entries]
    expected = np.bincount(keys, weights=places.weights[entries], minlength=len(together) * places.domain)
    return candidates, rows, expected.reshape(len(together), places.domain)
