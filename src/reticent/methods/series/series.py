"""A series: the releases of a changing table, as columns. The steward's view; each field states whether it is public.

A release holds arrays over its people and over its groups, never one object per row: a million people over 24 releases
fit in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Protocol, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.errors import DataError, PolicyError
from reticent.methods.series.person_keys import places_among

Codes = NDArray[np.int64]
_NEW, _IN, _OUT, _ANY = range(4)


class EventKind(IntEnum):
    """Event of a person since the previous release, with the kind of each update."""

    INSERTED = 0
    UNCHANGED = 1
    QUASI_UPDATED = 2
    SENSITIVE_UPDATED = 3
    RETURNED = 4

    @property
    def symbol(self) -> str:
        """Return the letter in an event list; both kinds of update are ``u``."""
        return "i_uur"[self]

    @property
    def needs(self) -> int:
        """Return the required earlier status: never in, in the previous release, or out."""
        return (_NEW, _IN, _IN, _IN, _OUT)[self]

    @property
    def words(self) -> str:
        """Describe the event in words."""
        return ("new", "unchanged", "moved", "changed", "back")[self]


@dataclass(frozen=True, repr=False)
class SeriesRelease:
    """One release of a series.

    Arrays over its people, in one order, all private: ``people`` (distinct keys), ``group_of``, ``value_of`` (the true
    sensitive value, as a code of the domain), ``quasi`` (quasi values as given), ``events`` (:class:`EventKind`).
    ``left`` are the keys of people in the previous release but not in this one (event ``d``).

    Arrays over its groups, all public: the sensitive values of group ``g``, counterfeits included, are
    ``values[offsets[g]:offsets[g + 1]]``, increasing codes of the domain; ``counterfeits[g]`` of them are counterfeits,
    and it is not public which. The box of the group is ``low[g, c] <= position <= high[g, c]`` for every quasi column
    ``c``, on the scale of the column (:meth:`PublishedSeries.positions`).

    If quasi values are published by buckets independent of groups, ``buckets`` is the bucket of each person, and
    ``low`` and ``high`` are indexed by bucket. The number of people of each group in each bucket is then public.
    """

    number: int
    people: pl.Series
    group_of: Codes
    value_of: Codes
    quasi: pl.DataFrame
    events: NDArray[np.uint8]
    left: pl.Series
    offsets: Codes
    values: Codes
    counterfeits: Codes
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    buckets: Codes | None = None

    def __post_init__(self) -> None:
        over_people = {
            *(len(column) for column in (self.people, self.group_of, self.value_of, self.events, self.box_of)),
            self.quasi.height,
        }
        if len(over_people) > 1:
            raise DataError(f"Release {self.number}: its columns about people have different lengths.")
        boxes = len(self.low) if self.buckets is not None else len(self.offsets) - 1
        if len(self.counterfeits) != len(self.offsets) - 1 or {len(self.low), len(self.high)} != {boxes}:
            raise DataError(f"Release {self.number}: its columns about groups have different lengths.")
        if (self.box_people == 0).any() or len(self.box_people) != boxes:
            raise DataError(f"Release {self.number}: people and boxes do not match.")
        if self.offsets[0] != 0 or self.offsets[-1] != len(self.values) or (np.diff(self.offsets) < 0).any():
            raise DataError(f"Release {self.number}: the offsets of its groups do not match the listed values.")
        if not np.array_equal(np.bincount(self.group_of, minlength=len(self)) + self.counterfeits, self.sizes):
            raise DataError(f"Release {self.number}: people and counterfeits do not fill its groups.")

    def __repr__(self) -> str:
        return (
            f"<release {self.number}: {len(self.people):,} people in {len(self):,} groups, "
            f"{int(self.counterfeits.sum()):,} counterfeits>"
        )

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.counterfeits)

    @property
    def sizes(self) -> Codes:
        """Return the published rows of each group: people and counterfeits."""
        sizes: Codes = np.diff(self.offsets)
        return sizes

    @property
    def box_of(self) -> Codes:
        """Return the box of each person: that of the group, or of the bucket."""
        return self.group_of if self.buckets is None else self.buckets

    @property
    def box_people(self) -> Codes:
        """Return the number of people in each box."""
        people: Codes = np.bincount(self.box_of, minlength=len(self.low))
        return people

    def box_groups(self) -> tuple[Codes, Codes, Codes]:
        """Return the occurring pairs of box and group, with the number of people in each; public."""
        pairs, counts = np.unique(self.box_of * len(self) + self.group_of, return_counts=True)
        return pairs // max(len(self), 1), pairs % max(len(self), 1), counts

    def signature(self, group: int) -> frozenset[int]:
        """Return the distinct published sensitive values of a group, as codes."""
        return frozenset(self.values[self.offsets[group] : self.offsets[group + 1]].tolist())


class HasSeries(Protocol):
    """A history: ``series`` are its published releases."""

    @property
    def series(self) -> PublishedSeries: ...


@dataclass(frozen=True, repr=False)
class PublishedSeries(Sequence[SeriesRelease]):
    """All releases of one table, in order: a sequence of :class:`SeriesRelease`.

    ``domain`` are the declared sensitive values: code ``c`` is ``domain[c]``. ``orders`` maps the quasi columns, in the
    order of the boxes, to their values in the order of the scale, or None for numbers. A person away for more than
    ``retention`` releases (the smallest ever in force) may count as new; 0: never. See :meth:`event_lists` for events,
    and :meth:`SeriesRelease.signature` for the values of a group.
    """

    domain: tuple[Any, ...]
    m: int
    sensitive: str
    orders: Mapping[str, Sequence[Any] | None]
    releases: Sequence[SeriesRelease]
    retention: int = 0

    @classmethod
    def of(cls, history: HasSeries | PublishedSeries) -> PublishedSeries:
        """Return the releases of a history, or the given ones."""
        return history if isinstance(history, PublishedSeries) else history.series

    def __repr__(self) -> str:
        return (
            f"<series of {len(self)} releases, m={self.m}, quasi {', '.join(self.orders)}, sensitive {self.sensitive}>"
        )

    def __len__(self) -> int:
        return len(self.releases)

    @overload
    def __getitem__(self, index: int) -> SeriesRelease: ...
    @overload
    def __getitem__(self, index: slice) -> PublishedSeries: ...
    def __getitem__(self, index: int | slice) -> SeriesRelease | PublishedSeries:
        """Return a release, or a series of some of them."""
        if isinstance(index, slice):
            return replace(self, releases=self.releases[index])
        return self.releases[index]

    def __iter__(self) -> Iterator[SeriesRelease]:
        return iter(self.releases)

    def positions(self, quasi: pl.DataFrame) -> NDArray[np.float64]:
        """Return positions of quasi values on the scales of their columns, people by columns: numbers unchanged, other
        values by index in the order.

        A value on no scale is NaN, which is in no box.
        """
        positions = np.empty((quasi.height, len(self.orders)))
        for column_index, (name, order) in enumerate(self.orders.items()):
            column = quasi[name]
            if order is not None:
                column = column.replace_strict(
                    list(order), list(range(len(order))), default=None, return_dtype=pl.Float64
                )
            positions[:, column_index] = column.to_physical().cast(pl.Float64).to_numpy()
        return positions

    def check_complete(self, what: str) -> None:
        """Refuse an operation that needs everyone's values if people were forgotten."""
        forgotten = len(
            {person for release in self for person in release.people.filter(pl.Series(release.value_of < 0))}
        )
        if forgotten:
            raise PolicyError(
                f"{what} needs everybody's values, but those of {forgotten} people of this series were forgotten."
            )

    def event_lists(self) -> dict[Any, str]:
        """Return every person's event list, one symbol per release."""
        lists: dict[Any, list[str]] = {}
        for index, release in enumerate(self.releases):
            symbols = [kind.symbol for kind in EventKind]
            events = [*zip(release.people, (symbols[code] for code in release.events), strict=True)]
            for person, symbol in (*events, *((person, "d") for person in release.left)):
                lists.setdefault(person, ["_"] * len(self))[index] = symbol
        return {person: "".join(symbols) for person, symbols in lists.items()}

    def coded_people(self) -> tuple[pl.Series, list[NDArray[np.int32]]]:
        """Return everyone in any release, and the index among them of the people of each release."""
        people = pl.concat([release.people.rename("person") for release in self]).unique(maintain_order=True)
        return people, [places_among(release.people, people).astype(np.int32) for release in self]

    def check_events(self, people: pl.Series, codes: Iterable[NDArray[np.int32]]) -> None:
        """Refuse impossible sequences of events; ``people`` and ``codes`` are those of :meth:`coded_people`.

        Event lists are ``_* ( i [_u]* ( d _* r [_u]* )* ( d _* )? )?``: no event precedes the insertion, only present
        people leave, and only people who left return. If a series begins with a later release, anyone may have been
        inserted before.
        """
        state = np.full(len(people), _NEW if self[0].number == 1 else _ANY)
        left_with = np.zeros(len(people), dtype=np.int64)
        needs = np.array([kind.needs for kind in EventKind])
        for release, code in zip(self, codes, strict=True):
            fits = (state[code] == needs[release.events]) | (state[code] == _ANY)
            if self.retention:
                forgotten = (state[code] == _OUT) & (release.number - left_with[code] > self.retention)
                fits |= forgotten & (release.events == EventKind.INSERTED)
            if not fits.all():
                row = int(np.argmin(fits))
                event, earlier_states = (
                    EventKind(release.events[row]).words,
                    ("never in a release", "in the one before", "away"),
                )
                raise self._contradicted(
                    release, release.people[row], f"is said to be {event}, and was {earlier_states[state[code[row]]]}"
                )
            left_indices = places_among(release.left, people)
            is_wrong = (left_indices < 0) & (self[0].number == 1)
            is_wrong[left_indices >= 0] = np.isin(state[left_indices[left_indices >= 0]], (_NEW, _OUT))
            if is_wrong.any():
                person = release.left[int(np.argmax(is_wrong))]
                raise self._contradicted(release, person, "is said to have left, and was not in the one before")
            left_indices = left_indices[left_indices >= 0]
            is_missing = state == _IN
            is_missing[code] = is_missing[left_indices] = False
            if is_missing.any() or np.isin(left_indices, code).any():
                person_index = (
                    int(np.argmax(is_missing))
                    if is_missing.any()
                    else int(left_indices[np.isin(left_indices, code)][0])
                )
                contradiction = (
                    "is neither there nor said to have left"
                    if is_missing.any()
                    else "is there and is said to have left"
                )
                raise self._contradicted(release, people[person_index], contradiction)
            state[code], state[left_indices], left_with[left_indices] = _IN, _OUT, release.number

    def _contradicted(self, release: SeriesRelease, person: Any, contradiction: str) -> DataError:
        """Return the error for a person whose events contradict each other."""
        return DataError(
            f"Release {release.number}: {person!r} {contradiction}. The event lists of this series are contradictory; restore the history from a backup, or import the "
            "releases with everybody who was in each.",
            value=person,
        )
