"""Events since the last release, and the constraints they put on each row of the next snapshot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.methods.series.assignment import BoundRows, Placement, PublishingRules
from reticent.methods.series.person_keys import places_among
from reticent.methods.series.series import EventKind
from reticent.methods.series.signatures import Ints, SignatureBook
from reticent.methods.series.state import DeletedPeople, HistoryState, PersonMarks


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of the table: one row per person. ``keys`` identify people, ``value`` are codes of the sensitive values,
    ``points`` scaled quasi values.
    """

    keys: pl.Series
    quasi: pl.DataFrame
    value: Ints
    points: NDArray[np.float64]


@dataclass(frozen=True)
class SnapshotDiff:
    """The events of everyone in a snapshot, and the constraints on their rows.

    ``before`` is each person's row in the previous release, ``returned`` the index among deleted people; -1 if absent.
    ``left`` are the rows of the previous release that are not in the snapshot.
    """

    rows: BoundRows
    events: NDArray[np.uint8]
    before: Ints
    returned: Ints
    left: Ints

    def counts(self) -> dict[str, int]:
        """Return the number of people for each event."""
        names = {kind: kind.name.lower() for kind in EventKind}
        event_counts = {name: int((self.events == kind).sum()) for kind, name in names.items()}
        return {**event_counts, "deleted": len(self.left)}


def bind(snapshot: Snapshot, state: HistoryState | None, marks: PersonMarks, rules: PublishingRules) -> SnapshotDiff:
    """Return everyone's event since the previous state, and the constraints on the rows of a snapshot that follow from it.

    Hardened: across any change or return the signature stays if it contains the new value, otherwise the new one must
    be disjoint from it. A group continues unchanged if it has no counterfeits and nobody in it left or changed their
    sensitive value; this follows from events, which the adversary knows anyway.
    """
    count = len(snapshot.keys)
    absent = np.full(count, -1, dtype=np.int64)
    if state is None:
        book = SignatureBook(np.empty((0, 1), dtype=np.int64))
        rows = BoundRows(snapshot.value, snapshot.points, absent, absent, absent, book, np.empty(0, dtype=np.int64))
        inserted = np.full(count, EventKind.INSERTED, dtype=np.uint8)
        return SnapshotDiff(rows, inserted, absent, absent, np.empty(0, dtype=np.int64))
    last = state.release
    previous_index = places_among(snapshot.keys, last.people)
    is_known, new = previous_index >= 0, np.flatnonzero(previous_index < 0)
    returned = absent.copy()
    returned[new] = state.gone.find(marks.of(snapshot.keys.gather(new)))
    same_value = is_known.copy()
    same_value[is_known] = last.value_of[previous_index[is_known]] == snapshot.value[is_known]
    events = _events(snapshot, state, previous_index, same_value, returned)

    book, of_group = SignatureBook.of(state.signatures)
    book, of_gone = book.with_more(state.gone.signatures[returned[returned >= 0]])
    old_signature = absent.copy()
    old_signature[is_known] = of_group[last.group_of[previous_index[is_known]]]
    if rules.baseline != "m-invariance":
        old_signature[returned >= 0] = of_gone
    contains_value = old_signature >= 0
    contains_value[contains_value] = book.places(old_signature[contains_value], snapshot.value[contains_value]) >= 0
    bound = np.where(same_value, old_signature, -1)
    avoid = absent.copy()
    if rules.hardened:
        bound, avoid = (
            np.where(contains_value, old_signature, -1),
            np.where((old_signature >= 0) & ~contains_value, old_signature, -1),
        )
    elif rules.baseline == "tau":
        bound = np.where(same_value | (contains_value & (returned >= 0)), old_signature, -1)
    stays = absent.copy()
    if rules.hardened:
        present = np.bincount(last.group_of[previous_index[same_value]], minlength=len(last))
        is_complete = (present == np.bincount(last.group_of, minlength=len(last))) & (last.counterfeits == 0)
        stays[is_known] = np.where(
            is_complete[last.group_of[previous_index[is_known]]], last.group_of[previous_index[is_known]], -1
        )
        bound = np.where(stays >= 0, -1, bound)
    rows = BoundRows(snapshot.value, snapshot.points, stays, bound, avoid, book, of_group)
    stayed = np.zeros(len(last.people), dtype=bool)
    stayed[previous_index[is_known]] = True
    left_people = np.flatnonzero(~stayed)
    return SnapshotDiff(rows, events, previous_index, returned, left_people)


def gone_after(
    state: HistoryState | None, snapshot: Snapshot, diff: SnapshotDiff, placement: Placement, marks: PersonMarks
) -> tuple[DeletedPeople, pl.Series]:
    """Return the people who are gone after a release, and the keys of those who left with it: deleted, or changed and not assignable yet."""
    if state is None:
        return DeletedPeople(), snapshot.keys.clear()
    unplaced = np.flatnonzero((placement.group_of < 0) & (diff.before >= 0))
    rows = np.concatenate([diff.left, diff.before[unplaced]])
    left = state.release.people.gather(rows)
    # Of forgotten people only the keyed hash is kept.
    remembered = rows[state.release.value_of[rows] >= 0]
    signatures = state.signatures[state.release.group_of[remembered]]
    back = diff.returned[(diff.returned >= 0) & (placement.group_of >= 0)]
    named = marks.of(state.release.people.gather(remembered))
    return state.gone.changed(back, named, signatures, state.release.number + 1), left


def _events(
    snapshot: Snapshot, state: HistoryState, previous_index: Ints, same_value: NDArray[np.bool_], returned: Ints
) -> NDArray[np.uint8]:
    """Return the event of everyone in the snapshot since the previous release.

    ``previous_index`` is a person's index in that release, ``returned`` the index among those who left before (-1: not
    there), and ``same_value`` masks the people whose sensitive value has not changed.
    """
    events = np.full(len(previous_index), EventKind.INSERTED, dtype=np.uint8)
    events[returned >= 0] = EventKind.RETURNED
    is_known = previous_index >= 0
    events[is_known] = np.where(same_value[is_known], EventKind.UNCHANGED, EventKind.SENSITIVE_UPDATED)
    same_rows = np.flatnonzero(same_value)
    quasi_changed = np.zeros(len(same_rows), dtype=bool)
    for column in snapshot.quasi[same_rows]:
        earlier = state.release.quasi[column.name].gather(previous_index[same_rows])
        quasi_changed |= (column != earlier.cast(column.dtype)).to_numpy()
    events[same_rows[quasi_changed]] = EventKind.QUASI_UPDATED
    return events
