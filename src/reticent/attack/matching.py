"""Placing people among published cells: for each person, which rows could be theirs and what these would say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attack.published import Published
from reticent.data.covers import Cover
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
class Places:
    """Distinct label combinations with their candidates and rows, and the expected number of rows for each sensitive value."""

    codes: tuple[NDArray[np.int64], ...]
    candidates: NDArray[np.int64]
    rows: NDArray[np.int64]
    owners: NDArray[np.int64]
    values: NDArray[np.int64]
    weights: NDArray[np.float64]
    domain: int

    def best(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """For every place: how many values are possible, the likeliest one (ties: the first; -1: none) and its share."""
        count = len(self.rows)
        values = np.bincount(self.owners, minlength=count)
        order = np.lexsort((self.values, -self.weights, self.owners))
        first = order[np.searchsorted(self.owners[order], np.arange(count))[values > 0]]
        guess = np.full(count, -1, dtype=np.int64)
        chance = np.zeros(count)
        guess[values > 0] = self.values[first]
        chance[values > 0] = self.weights[first] / self.rows[values > 0]
        return values, guess, chance

    def dense(self) -> NDArray[np.float64]:
        """Weights with one row per place and one column per value."""
        table = np.zeros((len(self.rows), self.domain))
        table[self.owners, self.values] = self.weights
        return table


@dataclass(frozen=True)
class Asked:
    """People to look up: the distinct ones, for each column which label covers which value, and everybody's place among the distinct.

    ``values[j][i]`` is the value of distinct person ``i`` in column ``j``, by its number in ``covers[j]`` and ``known[j]``; ``times`` says how
    many people are alike.
    """

    known: tuple[pl.Series, ...]
    covers: tuple[Cover, ...]
    values: tuple[NDArray[np.int64], ...]
    times: NDArray[np.int64]
    owners: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.times)

    @property
    def is_single(self) -> NDArray[np.bool_]:
        """Who fits at most one label in every column."""
        fits = [each.is_single[values] for each, values in zip(self.covers, self.values, strict=True)]
        single: NDArray[np.bool_] = np.all(fits, axis=0)
        return single


def ask(published: Published, people: pl.DataFrame, quasi: Sequence[str]) -> Asked:
    """Compare people with the labels of every column; those with the same values are asked about once."""
    points = people.select(quasi).with_row_index(_PERSON).group_by(quasi, maintain_order=True).agg(_PERSON)
    known, covers, asked = [], [], []
    for name in quasi:
        values = points[name].unique(maintain_order=True)
        numbered = pl.DataFrame({name: values, _PLACE: np.arange(len(values))})
        joined = points.select(name).join(numbered, on=name, how="left", nulls_equal=True, maintain_order="left")
        known.append(values)
        covers.append(published.column(name).cover(values))
        asked.append(joined[_PLACE].to_numpy())
    times = points[_PERSON].list.len().to_numpy().astype(np.int64)
    owners = np.empty(people.height, dtype=np.int64)
    owners[points[_PERSON].explode().to_numpy()] = np.repeat(np.arange(points.height), times)
    return Asked(tuple(known), tuple(covers), tuple(asked), times, owners)


def match(published: Published, people: pl.DataFrame, quasi: Sequence[str], sensitive: str | None) -> Matches:
    """Match people to what was published, over the ``quasi`` columns that the adversary has.

    People with the same values are matched once. Whoever fits at most one label in every column has one place, and a join
    finds it; where labels overlap (local recoding, unknown values) places are compared as bit sets.
    """
    asked, places = ask(published, people, quasi), places_of(published, quasi, sensitive)
    found = Matches.nowhere(len(asked))
    for chosen, method in _ways(asked, _match_single, _match_overlapping):
        found.put(chosen, method(places, asked.covers, [values[chosen] for values in asked.values]))
    return found.of(asked.owners)


def expect(asked: Asked, places: Places) -> NDArray[np.float64]:
    """For each distinct person and sensitive value the number of rows that fit and (on average) have the value."""
    expected = np.zeros((len(asked), places.domain))
    table = places.dense()
    for chosen, method in _ways(asked, _expect_single, _expect_overlapping):
        expected[chosen] = method(places, table, asked.covers, [values[chosen] for values in asked.values])
    return expected


_Way = TypeVar("_Way")


def _ways(asked: Asked, single: _Way, overlapping: _Way) -> list[tuple[NDArray[np.int64], _Way]]:
    """Who is looked up how: people with one place by a join, the others by comparing places."""
    chosen = asked.is_single
    ways = [(np.flatnonzero(chosen), single), (np.flatnonzero(~chosen), overlapping)]
    return [(people, way) for people, way in ways if len(people)]


def places_of(published: Published, quasi: Sequence[str], sensitive: str | None) -> Places:
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
        return Places(codes, candidates, rows, nothing, nothing, np.zeros(0), 0)
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
    return Places(codes, candidates, rows, distinct // domain, distinct % domain, expected.astype(np.float64), domain)


def _match_single(places: Places, covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]) -> Matches:
    labels = [each.lookup()[values] for each, values in zip(covers, asked, strict=True)]
    found = find_place(places, range(len(covers)), labels, [each.label_count for each in covers])
    values, guess, chance = places.best()
    hit = found >= 0
    return Matches(
        np.where(hit, places.candidates[found], 0),
        np.where(hit, values[found], 0),
        np.where(hit, guess[found], -1),
        np.where(hit, chance[found], 0.0),
    )


def find_place(
    places: Places, columns: Sequence[int], labels: Sequence[NDArray[np.int64]], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """The last place that has a person's labels in some columns (all of them, if they are all); -1 where none has.

    ``labels[j]`` and ``sizes[j]`` are those of column ``columns[j]``; label -1 is one that nobody has.
    """
    count, people = len(places.rows), len(labels[0])
    together = [np.concatenate([places.codes[j], mine]) + 1 for j, mine in zip(columns, labels, strict=True)]
    ids, distinct = number(*pack(together, [size + 1 for size in sizes], count + people))
    place_of = np.full(distinct, -1, dtype=np.int64)
    place_of[ids[:count]] = np.arange(count)
    found: NDArray[np.int64] = place_of[ids[count:]]
    return found


def _expect_single(
    places: Places, table: NDArray[np.float64], covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    labels = [each.lookup()[values] for each, values in zip(covers, asked, strict=True)]
    found = find_place(places, range(len(covers)), labels, [each.label_count for each in covers])
    return np.where((found >= 0)[:, None], table[found], 0.0)


def _match_overlapping(places: Places, covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]) -> Matches:
    found = Matches.nowhere(len(asked[0]))
    for chunk, together in _fitting(places, covers, asked):
        candidates, rows, expected = _add_up(places, together)
        found.candidates[chunk] = candidates
        if places.domain:
            found.values[chunk] = np.count_nonzero(expected, axis=1)
            found.guess[chunk] = np.where(rows > 0, expected.argmax(axis=1), -1)
            found.chance[chunk] = expected.max(axis=1) / np.maximum(rows, 1)
    return found


def _expect_overlapping(
    places: Places, table: NDArray[np.float64], covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]
) -> NDArray[np.float64]:
    expected = np.zeros((len(asked[0]), places.domain))
    for chunk, together in _fitting(places, covers, asked):
        expected[chunk] = _add_up(places, together)[2]
    return expected


def _fitting(
    places: Places, covers: Sequence[Cover], asked: Sequence[NDArray[np.int64]]
) -> Iterator[tuple[slice, NDArray[np.uint8]]]:
    """Which places fit whom, as bits, some people at a time."""
    bits = [np.packbits(each.matrix()[:, codes], axis=1) for each, codes in zip(covers, places.codes, strict=True)]
    step = max(1, _CHUNK_CELLS // max(len(places.rows), 1))
    for start in range(0, len(asked[0]), step):
        chunk = slice(start, start + step)
        together = bits[0][asked[0][chunk]]
        for column, mine in zip(bits[1:], asked[1:], strict=True):
            together &= column[mine[chunk]]
        yield chunk, together


_Sums = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]


def _add_up(places: Places, together: NDArray[np.uint8]) -> _Sums:
    """Candidates, rows and expected rows by value for each person, in the way that is cheaper."""
    sparse = int(np.bitwise_count(together).sum()) * _SPARSE < together.size
    return (_add_up_few if sparse else _add_up_many)(places, together)


def _add_up_many(places: Places, together: NDArray[np.uint8]) -> _Sums:
    """By a matrix product over all places."""
    dtype: Any = np.float32 if places.rows.sum() < _EXACT_IN_SINGLE else np.float64
    fits: NDArray[Any] = np.unpackbits(together, axis=1, count=len(places.rows)).astype(dtype)
    counted: NDArray[Any] = np.stack([places.candidates, places.rows], axis=1).astype(dtype)
    candidates, rows = np.rint(fits @ counted).astype(np.int64).T
    return candidates, rows, fits @ places.dense().astype(dtype)


def _add_up_few(places: Places, together: NDArray[np.uint8]) -> _Sums:
    """Where few places fit: list the pairs of person and place, and add along the list."""
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
