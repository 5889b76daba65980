"""The publisher's state after a release: group membership, people who left, people who wait. Private; older states are not
needed for the next release.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.ragged import starts_of
from reticent.methods.series.person_keys import places_among
from reticent.methods.series.series import SeriesRelease
from reticent.methods.series.signatures import Ints, flat_rows, padded_rows


@dataclass(frozen=True)
class DeletedPeople:
    """Everyone who left, under a keyed hash, with the signature of their last group: the map ``Del`` of [Anjum2013].

    Personal data: it outlives the rows it is about. ``signatures`` are padded rows, ``since`` the numbers of the
    releases with which people left.
    """

    marks: pl.Series = field(default_factory=lambda: pl.Series("mark", [], dtype=pl.String))
    signatures: Ints = field(default_factory=lambda: np.empty((0, 1), dtype=np.int64))
    since: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.marks)

    def find(self, marks: pl.Series) -> Ints:
        """Return the index of each hash in the map; -1 if absent."""
        return places_among(marks, self.marks)

    def changed(self, returned: Ints, marks: pl.Series, signatures: Ints, number: int) -> DeletedPeople:
        """Return the map without those who ``returned`` (indexes) and with those who left with release ``number``."""
        is_staying = np.ones(len(self), dtype=bool)
        is_staying[returned] = False
        width = max(self.signatures.shape[1], signatures.shape[1])
        rows = [
            np.pad(signature_rows, ((0, 0), (0, width - signature_rows.shape[1])), constant_values=-1)
            for signature_rows in (self.signatures[is_staying], signatures)
        ]
        return DeletedPeople(
            pl.concat([self.marks.filter(pl.Series(is_staying)), marks.rename("mark")]),
            np.concatenate(rows),
            np.concatenate([self.since[is_staying], np.full(len(marks), number)]),
        )

    def remembered(self, first: int) -> DeletedPeople:
        """Return the map without those who left before release ``first``: they count as new if they return."""
        is_remembered = self.since >= first
        return DeletedPeople(
            self.marks.filter(pl.Series(is_remembered)), self.signatures[is_remembered], self.since[is_remembered]
        )

    def without(self, marks: pl.Series) -> DeletedPeople:
        """Return the map without some people."""
        is_other = ~self.marks.is_in(marks.implode())
        rows = is_other.to_numpy()
        return DeletedPeople(self.marks.filter(is_other), self.signatures[rows], self.since[rows])

    def frame(self) -> pl.DataFrame:
        """Return the map as a frame."""
        offsets, values = flat_rows(self.signatures)
        return pl.DataFrame({"mark": self.marks, "signature": as_lists(offsets, values), "since": self.since})

    @classmethod
    def read(cls, frame: pl.DataFrame, number: int) -> DeletedPeople:
        """Read the map from its frame, as of release ``number``; without ``since`` everyone left with that release."""
        since = frame["since"].to_numpy() if "since" in frame.columns else np.full(frame.height, number)
        return cls(frame["mark"], padded_rows(*from_lists(frame["signature"])), since.astype(np.int64))


_LOWEST_KEY, _DIGITS = -(2**62), 15


@dataclass(frozen=True)
class PersonMarks:
    """Keyed hashes of people's keys; they cannot be linked to people without the ``secret``."""

    secret: bytes

    @property
    def fingerprint(self) -> str:
        """A hash that identifies the secret."""
        return self.digest(b"secret of a history")

    def digest(self, content: bytes) -> str:
        """A keyed hash of any content."""
        return hashlib.blake2b(content, key=self.secret, digest_size=16).hexdigest()

    def of(self, keys: pl.Series) -> pl.Series:
        """Return the keyed hash of each key."""
        kind = "n" if keys.dtype.is_numeric() else "t"
        texts = keys.cast(pl.String).to_list()
        hashes = [self.digest(f"{kind}{text}".encode()) for text in texts]
        return pl.Series("mark", hashes, dtype=pl.String)

    def replaced(self, keys: pl.Series, forgotten: pl.Series) -> pl.Series:
        """Return the keys, with those in ``forgotten`` replaced by a keyed hash: text, or an integer far below all others."""
        marks = self.of(keys)
        is_forgotten = marks.is_in(forgotten.implode())
        if not is_forgotten.any():
            return keys
        if keys.dtype.is_integer():
            hashes = [_LOWEST_KEY - int(mark[:_DIGITS], 16) for mark in marks.to_list()]
            return keys.cast(pl.Int64).zip_with(~is_forgotten, pl.Series(keys.name, hashes, dtype=pl.Int64))
        return keys.zip_with(~is_forgotten, ("forgotten " + marks).rename(keys.name))


@dataclass(frozen=True)
class HistoryState:
    """The state after a release: the ``release`` itself, those who are ``gone``, and arrivals who are ``waiting`` (complete rows).

    ``domain`` are the declared sensitive values so far, ``ranges`` the fixed ranges of numeric columns, ``ends`` the
    boxes as values of the columns (of groups, or of buckets), ``orders`` the values of other columns in the order of
    their scales. ``forgotten`` are hashes of people who were forgotten or erased: nothing else is stored about them,
    and they are excluded from the series. ``snapshot`` is a hash of the published table, empty for an imported release;
    ``facts`` is the cost of the release.
    """

    release: SeriesRelease
    gone: DeletedPeople
    waiting: pl.DataFrame
    domain: tuple[Any, ...]
    ranges: Mapping[str, tuple[Any, Any, Any]]
    orders: Mapping[str, list[Any] | None]
    ends: pl.DataFrame
    snapshot: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    forgotten: pl.Series = field(default_factory=lambda: pl.Series("mark", [], dtype=pl.String))

    @property
    def signatures(self) -> Ints:
        """Return the signature of each group of the release, as padded rows."""
        return padded_rows(self.release.offsets, self.release.values)


def without_people(state: HistoryState, forgotten: pl.Series, marks: PersonMarks, key: str) -> HistoryState:
    """Return the state with some people reduced to keyed hashes: keys are replaced, quasi and sensitive values removed.
    Groups and events stay, so that the series can still be judged.

    ``key`` is the key column of those who wait.
    """
    release = state.release
    people = marks.replaced(release.people, forgotten)
    is_unchanged = people.eq(release.people.cast(people.dtype))
    has_value = is_unchanged.to_numpy() & (release.value_of >= 0)
    quasi = release.quasi.with_columns(pl.when(pl.Series(has_value)).then(pl.all()))
    waiting = state.waiting
    if waiting.height:
        waiting = waiting.filter(~marks.of(waiting[key]).is_in(forgotten.implode()))
    changed = replace(
        release,
        people=people,
        value_of=np.where(has_value, release.value_of, -1),
        quasi=quasi,
        left=marks.replaced(release.left, forgotten),
    )
    return replace(state, release=changed, waiting=waiting, gone=state.gone.without(forgotten))


def values_held(state: HistoryState, name: str) -> set[Any]:
    """Return the values of a quasi column among the people of a state, waiting ones included."""
    waiting = [state.waiting[name]] if name in state.waiting.columns else []
    return {value for column in (state.release.quasi[name], *waiting) for value in column.drop_nulls().unique()}


def with_orders(state: HistoryState, remaining_by_column: Mapping[str, set[Any]]) -> HistoryState:
    """Return the state without values of ordered columns that nobody has any more (``remaining_by_column`` are the others); boxes are
    shrunk to the remaining values.

    A box that contains none of the remaining values keeps its ends: it is already published.
    """
    ends, orders = state.ends, dict(state.orders)
    for name, remaining in remaining_by_column.items():
        order = orders[name]
        if order is None:
            continue
        rank_of = {value: number for number, value in enumerate(order)}
        remaining_ranks = [number for number, value in enumerate(order) if value in remaining]
        shrunk = {}
        for low, high in ends.select(f"{name} low", f"{name} high").unique().rows():
            first, last = bisect_left(remaining_ranks, rank_of[low]), bisect_right(remaining_ranks, rank_of[high])
            shrunk[low, high] = (
                (order[remaining_ranks[first]], order[remaining_ranks[last - 1]]) if first < last else (low, high)
            )
        new_ends = [shrunk[pair] for pair in ends.select(f"{name} low", f"{name} high").rows()]
        dtype = ends.schema[f"{name} low"]
        ends = ends.with_columns(
            pl.Series(f"{name} {end}", [pair[number] for pair in new_ends], dtype=dtype)
            for number, end in enumerate(("low", "high"))
        )
        still_needed = remaining | {value for pair in new_ends for value in pair}
        orders[name] = [value for value in order if value in still_needed]
    return replace(state, ends=ends, orders=orders)


def as_lists(offsets: Ints, values: NDArray[np.int64]) -> pl.Series:
    """Convert CSR arrays to a column of lists."""
    sizes = np.diff(offsets)
    owners = pl.Series("list", np.repeat(np.arange(len(sizes)), sizes)).set_sorted()
    filled = pl.DataFrame([owners, pl.Series("values", values.astype(np.int32))])
    lists = filled.group_by("list", maintain_order=True).agg("values")
    every = pl.DataFrame({"list": np.arange(len(sizes))}).join(lists, on="list", how="left", maintain_order="left")
    return every["values"].fill_null(pl.Series([[]], dtype=pl.List(pl.Int32)))


def from_lists(lists: pl.Series) -> tuple[Ints, Ints]:
    """Convert a column of lists to CSR arrays."""
    sizes = lists.list.len().to_numpy().astype(np.int64)
    values = lists.list.explode(keep_nulls=False, empty_as_null=False).to_numpy().astype(np.int64)
    return starts_of(sizes), values
