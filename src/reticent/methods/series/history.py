"""A history: a changing table, and all releases of it. The history is private to the steward; the releases in it are public."""

from __future__ import annotations

import hashlib
import json
import secrets
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.disclosures import Judgement, PriorDisclosure, SeriesState, allow, described, refuse, unjudged
from reticent.base.exact import whole
from reticent.base.frames import as_polars
from reticent.base.randomness import Randomness
from reticent.definitions import Definition, KAnonymity
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Entry, Ledger
from reticent.methods.series.assignment import (
    Balance,
    Baseline,
    Choice,
    Placement,
    PublishingRules,
    domain_blocks,
)
from reticent.methods.series.bound_ledger import LedgerChoice, located_ledger
from reticent.methods.series.box_scales import PeopleByGroup, merged_order, positions_of, scales_of, settled_ranges
from reticent.methods.series.definitions import MInvariance, TauSafety
from reticent.methods.series.diff import bind, gone_after
from reticent.methods.series.feed import CHANGE, with_changes
from reticent.methods.series.history_folder import HistoryFolder, hashes_of, state_files, with_snapshot
from reticent.methods.series.method import PublishedChange, Republish, SeriesPosition, StateStore
from reticent.methods.series.series import PublishedSeries, SeriesRelease
from reticent.methods.series.series_check import SeriesVerdict, check_tau_safety
from reticent.methods.series.signatures import Ints
from reticent.methods.series.state import HistoryState, PersonMarks, values_held, with_orders, without_people
from reticent.release import certificate_hash, open_public, publish
from reticent.table import Hierarchy, Table, hierarchy_from, marks_of_people, to_plain

_SERIES = "republished table"
_RELEASE, _IMPORTED, _ERASURE = "release", "imported release", "erasure"
_PATIENCE = 30.0
_SETTINGS = (
    "m",
    "key",
    "sensitive",
    "quasi",
    "domain",
    "ranges",
    "choice",
    "balance",
    "baseline",
    "dataset",
    "retention",
    "k",
)
_CHANGEABLE = ("domain", "retention")
_LATER = {"retention": 0, "k": 0}
"""Settings missing in histories of earlier versions, with their effective values."""


@dataclass(frozen=True)
class HistorySettings:
    """The settings of all releases of a history. People who left are forgotten after ``retention`` releases (0: never);
    boxes contain at least ``k`` people (0: the boxes of groups).
    """

    m: int
    key: str
    sensitive: str
    quasi: Mapping[str, Hierarchy | None]
    domain: tuple[Any, ...]
    ranges: Mapping[str, Sequence[Any]] | None
    choice: Choice
    balance: Balance
    baseline: Baseline | None
    dataset: str
    retention: int = 0
    k: int = 0

    @property
    def about_series(self) -> TauSafety | MInvariance:
        """Return the definition that the releases satisfy together."""
        if self.baseline == "m-invariance":
            return MInvariance(self.m)
        return TauSafety(self.m, hardened=self.baseline is None)

    @property
    def definition(self) -> Definition:
        """Return the full definition: of the series, and of each release's boxes."""
        return self.about_series & KAnonymity(self.k) if self.k else self.about_series

    @property
    def rules(self) -> PublishingRules:
        """Return the publishing rules."""
        return PublishingRules(self.m, self.choice, self.balance, self.baseline)

    @property
    def columns(self) -> list[str]:
        """Return the columns of a snapshot that are used."""
        return [self.key, *self.quasi, self.sensitive]

    def method(self, place: SeriesPosition | None = None) -> Republish:
        """Return the method for the next release."""
        return Republish(list(self.domain), self.choice, self.balance, self.ranges, self.baseline, place)

    @property
    def fixed_hash(self) -> str:
        """Return a hash of the settings that are fixed by the first release."""
        fixed = {name: value for name, value in self.as_json().items() if name not in _CHANGEABLE}
        return hashlib.sha256(json.dumps(fixed, sort_keys=True).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """The settings as plain data."""
        quasi = {name: None if hierarchy is None else hierarchy.describe() for name, hierarchy in self.quasi.items()}
        ranges = None if self.ranges is None else {name: list(ends) for name, ends in self.ranges.items()}
        settings = {name: getattr(self, name) for name in _SETTINGS}
        plain: dict[str, Any] = to_plain({**settings, "quasi": quasi, "domain": list(self.domain), "ranges": ranges})
        return plain


@dataclass(frozen=True, repr=False)
class Republication(ShownAsCard):
    """A release published by a history: its ``folder`` and private figures. ``new`` is False if the table equals that of the last release."""

    number: int
    folder: Path
    change: Mapping[str, Any]
    new: bool = True

    @property
    def counterfeits(self) -> int:
        """Number of counterfeit rows."""
        return int(self.change["counterfeits"])

    @property
    def waiting(self) -> int:
        """Number of people who wait for a later release."""
        return int(self.change["waiting"])

    def card(self) -> Card:
        """Summarise for display: the number of the release, the events since the previous one, and the cost."""
        facts: dict[str, object] = {name: value for name, value in self.change.items() if name != "events"}
        events = CardTable(("event", "people"), list(self.change["events"].items()))
        return Card(f"Release {self.number}", facts, tables=[events])


class History:
    """A series of releases of one table. Open it with :meth:`open`; all durable state is in its folder and in the ledger.

    Guarantee, adversary and limits: those of :class:`TauSafety`. A process killed at any time leaves the history before
    or after a release.
    """

    def __init__(self, folder: HistoryFolder, settings: HistorySettings, ledger: LedgerChoice) -> None:
        self._folder, self.settings = folder, settings
        self._ledger = located_ledger(folder, ledger)
        self._check_place()

    @classmethod
    def open(
        cls,
        path: str | Path,
        m: int | None = None,
        key: str | None = None,
        sensitive: str | None = None,
        quasi: Mapping[str, Hierarchy | None] | Sequence[str] | None = None,
        domain: Sequence[Any] | None = None,
        ranges: Mapping[str, Sequence[Any]] | None = None,
        choice: Choice | None = None,
        balance: Balance | None = None,
        baseline: Baseline | None = None,
        *,
        dataset: str | None = None,
        ledger: LedgerChoice = None,
        retention: int | None = None,
        k: int | None = None,
    ) -> History:
        """Open the history in a folder, or create one there.

        A new one needs ``m``, the ``key`` column that identifies people, the ``sensitive`` column, the ``quasi``
        columns (with a hierarchy, or None) and the declared ``domain`` of sensitive values: at least 3m - 1, not
        derived from the data. ``ranges``, ``choice``, ``balance`` and ``baseline`` are those of :class:`Republish`. All
        of them are fixed by the first release; only the domain may be extended at its end. An existing history needs
        only the path.

        People who left are remembered, so that they are protected when they return, and so that attacks on the whole
        series can be run. ``retention`` forgets them after that many releases (0: never), with a warning: only a keyed
        hash remains, and a person who returns later is excluded from the series. It may be changed at any time.
        :meth:`erase` forgets one person at once.

        With ``k`` the groups are batches, and quasi values are published as boxes of at least ``k`` people, formed from
        quasi values alone; without it, people of a group share its box.

        The releases are recorded under the name ``dataset`` in the common ``ledger`` (default: RETICENT_LEDGER, or the
        user's own), so that other releases about the same people are known. The history records its ledger, and refuses
        any other. Opening changes nothing.
        """
        folder = HistoryFolder(Path(path))
        quasi = dict.fromkeys(quasi) if quasi is not None and not isinstance(quasi, Mapping) else quasi
        arguments: dict[str, Any] = {
            "m": m, "key": key, "sensitive": sensitive, "quasi": quasi, "domain": None if domain is None else tuple(domain), "ranges": ranges,
            "choice": choice, "balance": balance, "baseline": baseline, "dataset": dataset, "retention": retention, "k": k,
        }  # fmt: skip
        stored = folder.read_settings()
        settings = _new_settings(arguments, folder.path) if stored is None else _known_settings(stored, folder.path)
        changed = settings if stored is None else _changed(settings, arguments)
        if retention and (stored is None or changed.retention != settings.retention):
            warnings.warn(forgetting(retention), stacklevel=2)
        history = cls(folder, settings, ledger)
        if changed != settings:
            _check_change(settings, changed, len(history))
            history = cls(folder, changed, ledger)
        if stored is None or changed != settings:
            history._write_settings()
        return history

    @property
    def path(self) -> Path:
        """The folder of the history."""
        return self._folder.path

    def __repr__(self) -> str:
        return f"<history {str(self.path)!r}: {len(self)} releases, {self.settings.definition}>"

    def __len__(self) -> int:
        """Return the number of releases, imported ones included."""
        return len(self._chain())

    @property
    def series(self) -> PublishedSeries:
        """Return all releases, in order."""
        chain = self._chain()
        if not chain:
            return PublishedSeries(
                self.settings.domain, self.settings.m, self.settings.sensitive, dict.fromkeys(self.settings.quasi), ()
            )
        last = self._read(chain[-1])
        states = [*(self._read(entry, last.orders) for entry in chain[:-1]), last]
        if any("formerly" in entry.details for entry in chain):
            # A killed process may have forgotten people in some states only: treat each person alike in all of them.
            forgotten, marks = self._to_forget(last), self._marks()
            states = [without_people(state, forgotten, marks, self.settings.key) for state in states]
        forgets = [state.facts["retention"] for state in states if state.facts.get("retention")]
        return PublishedSeries(
            last.domain,
            self.settings.m,
            self.settings.sensitive,
            last.orders,
            tuple(state.release for state in states),
            min(forgets, default=0),
        )

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders of the published releases, in order; imported releases have none."""
        releases = (self._folder.release(number) for number in range(1, len(self) + 1))
        return tuple(folder for folder in releases if folder.exists())

    def check(self) -> SeriesVerdict:
        """Judge the whole series against its publishing rules; an impossible sequence of events raises a :class:`DataError`."""
        series = self.series
        if len(series):
            series.check_events(*series.coded_people())
        return check_tau_safety(series, hardened=self.settings.baseline is None)

    def facts(self) -> list[dict[str, Any]]:
        """Return the cost of each release, in order; private."""
        return [{"number": number, **self._read(state).facts} for number, state in enumerate(self._chain(), start=1)]

    def waiting(self) -> tuple[pl.Series, ...]:
        """Return the keys of the people who waited in each release, in order; private."""
        key = self.settings.key
        states = (self._read(each) for each in self._chain())
        return tuple(state.waiting[key] if state.waiting.height else state.release.people.clear() for state in states)

    def current(self) -> pl.DataFrame:
        """Return the current table: the people of the last release and those who wait."""
        state = self._state()
        if state is None:
            raise PolicyError(
                "The history has no release yet that changes could apply to. Pass the first table as a snapshot."
            )
        release, settings = state.release, self.settings
        is_known = np.flatnonzero(release.value_of >= 0)
        values = pl.Series(settings.sensitive, list(state.domain)).gather(release.value_of[is_known])
        keys = release.people.gather(is_known).alias(settings.key)
        people = release.quasi[is_known].with_columns(keys, values).select(settings.columns)
        return pl.concat([people, state.waiting.select(settings.columns).cast(people.schema)])

    def preview(self, frame: Any = None, *, changes: Any = None, context: Context | None = None) -> dict[str, Any]:
        """Predict the effect of publishing a snapshot: events, counterfeits, people who would wait. Nothing is written."""
        state = self._state()
        rows, kept_out = self._admitted(_typed(self._snapshot(frame, changes), state, self.settings), state)
        table = self._table(rows)
        self._judge_imports(state)
        draft = self.settings.method(self._place(state)).draft(table, self.settings.definition, context or Context())
        return {"number": len(self) + 1, **draft.search, "kept_out": kept_out}

    def publish(
        self,
        frame: Any = None,
        insecure_seed: int | None = None,
        *,
        changes: Any = None,
        again: bool = False,
        signing_key: Any = None,
        context: Context | None = None,
    ) -> Republication:
        """Publish the next release: of a snapshot of the whole table, or of the last one with ``changes`` applied (the
        column ``change`` is insert, update or delete).

        New people may wait for a later release; a first release that is not m-eligible is :class:`Infeasible`. The
        release is saved below the history's folder, ready for distribution. A table equal to that of the last release
        is not published again; one equal to that of an earlier release is refused as stale, unless ``again``.
        """
        with self._alone():
            return self._published(frame, insecure_seed, changes, again, signing_key, context)

    def _published(
        self,
        frame: Any,
        insecure_seed: int | None,
        changes: Any,
        again: bool,
        signing_key: Any,
        context: Context | None,
    ) -> Republication:
        """Publish the next release while the lock is held: judge, draft, record, save, and forget those who are due."""
        start = time.perf_counter()
        chain = self._chain()
        state = self._read(chain[-1]) if chain else None
        version = chain[-1].version if chain else None
        snapshot = _typed(self._snapshot(frame, changes), state, self.settings)
        digest = self._marks().digest(_table_hash(snapshot, self.settings))
        if state is not None and state.snapshot == digest and self._folder.release(state.release.number).exists():
            return Republication(
                state.release.number, self._folder.release(state.release.number), state.facts, new=False
            )
        if not again:
            _refuse_stale(chain, digest)
        if not again and state is None:
            self._refuse_known_elsewhere(snapshot[self.settings.key])
        self._judge_imports(state)
        snapshot, kept_out = self._admitted(snapshot, state)
        context = _context(context, insecure_seed)
        facts = {"kept_out": kept_out, "shortest_retention": self._shortest_retention(state)}
        store = _SnapshotStore(self, digest, version, _forgotten(state), start, facts)
        method = self.settings.method(self._place(state, store))
        with self._book() as book:
            release = publish(
                self._table(snapshot),
                self.settings.definition,
                method,
                ledger=book,
                signing_key=signing_key,
                context=context,
            )
        number = 1 if state is None else state.release.number + 1
        folder = self._folder.release(number)
        try:
            release.save(folder)
        except DataError as error:
            if folder.exists():
                raise
            raise DataError(f"{error} Nothing was published.") from error
        self._sweep()
        self._forget()
        return Republication(number, folder, store.facts)

    def erase(self, key: Any, reason: str) -> None:
        """Erase a person from the history permanently: in all states only a keyed hash remains, and the ledger records the
        erasure with its ``reason``.

        The next release is published without the person, who is excluded from all later ones. Past releases cannot be
        recalled: their groups still show the values that the person may have.
        """
        if not reason.strip():
            raise PolicyError("Give a reason for the erasure: it is recorded in the ledger.", setting=("reason",))
        with self._alone():
            state = self._state()
            mark = None if state is None else self._mark_of(key, state)
            if state is None or mark is None:
                raise DataError(
                    f"The history {str(self.path)!r} has no data about a person with the key {key!r}. Nothing was changed.",
                    value=key,
                )
            details = {"mark": mark, "reason": reason.strip(), "release": state.release.number}
            content = hashlib.sha256(json.dumps(details).encode()).hexdigest()
            with self._book() as book:
                entry = book.record(
                    self.settings.dataset, content, lambda _: "", kind=_ERASURE, beside=unjudged, details=details
                )
                book.give_out(entry)
            # A state left by a killed process would be the only one that still contains the person.
            self._folder.sweep([stored_state.version for stored_state in self._chain()], len(self) + 1)
            self._forget()

    def _mark_of(self, key: Any, state: HistoryState) -> str | None:
        """Return the keyed hash of a person about whom the history stores more than that; None otherwise."""
        people = state.release.people
        requested = pl.Series(people.name, [str(key)]).cast(people.dtype, strict=False)
        marks = self._marks()
        mark = marks.of(requested)[0]
        waiting_keys = state.waiting[self.settings.key] if state.waiting.height else people.clear()
        is_stored = (requested[0] in waiting_keys) or (requested[0] in people) or bool((state.gone.marks == mark).any())
        return mark if requested[0] is not None and is_stored else None

    def _forget(self) -> None:
        """Remove stored data about people who were forgotten or erased.

        The ledger accepts both the old and the new hashes of the files while they are rewritten, so that a state is valid at any time, and a removal that a killed process began can be repeated.
        """
        chain = self._chain()
        if not chain:
            return
        last = self._read(chain[-1])
        due = self._to_forget(last)
        if all(entry_of_state.details["forgotten"] == len(due) for entry_of_state in chain):
            return
        states = [*(self._read(entry_of_state) for entry_of_state in chain[:-1]), last]
        reduced = _reduced(states, due, self._marks(), self.settings.key)
        before = [self._folder.file_hashes(entry_of_state.version) for entry_of_state in chain]
        files = [
            state_files(state, entry_of_state.follows) for state, entry_of_state in zip(reduced, chain, strict=True)
        ]
        after = [hashes_of(contents) for contents in files]
        details_kept = [
            {name: entry_of_state.details[name] for name in entry_of_state.details if name != "formerly"}
            for entry_of_state in chain
        ]
        details = [{**kept, "files": hashes} for kept, hashes in zip(details_kept, after, strict=True)]
        self._amend(chain, [{**detail, "formerly": old} for detail, old in zip(details, before, strict=True)])
        for entry, contents, old, new in zip(chain, files, before, after, strict=True):
            changed = {name: content for name, content in contents.items() if old.get(name) != new[name]}
            self._folder.rewrite_state(entry.version, changed)
        self._amend(chain, [{**detail, "forgotten": len(due)} for detail in details])

    def _to_forget(self, last: HistoryState) -> pl.Series:
        """Return the hashes of all forgotten people (from the ``last`` state) and erased people (from the ledger)."""
        with self._book() as book:
            erased = [entry for entry in book.entries(self.settings.dataset) if entry.kind == _ERASURE]
        marks = pl.Series("mark", [erasure.details["mark"] for erasure in erased], dtype=pl.String)
        return pl.concat([last.forgotten, marks]).unique(maintain_order=True)

    def _amend(self, chain: Sequence[SeriesState], details: Sequence[Mapping[str, Any]]) -> None:
        """Replace the recorded details of all states in the ledger."""
        with self._book() as book:
            book.amend_states(
                self.settings.dataset,
                [replace(state, details=entry_details) for state, entry_details in zip(chain, details, strict=True)],
            )

    def _admitted(self, rows: pl.DataFrame, state: HistoryState | None) -> tuple[pl.DataFrame, int]:
        """Return the rows without forgotten or erased people, and their number: the constraints on them are no longer known."""
        if state is None or not len(state.forgotten):
            return rows, 0
        is_excluded = self._marks().of(rows[self.settings.key]).is_in(state.forgotten.implode())
        return rows.filter(~is_excluded), int(is_excluded.sum())

    def _stored(self, after: HistoryState, follows: str | None, forgotten: int) -> SeriesState:
        """Write a state to disk, and return its ledger record: version, file hashes, location, and the number of
        ``forgotten`` people about whom it holds nothing.
        """
        number = after.release.number
        version = f"{number:04d}-{secrets.token_hex(8)}"
        details = {
            "number": number,
            "files": self._folder.write_state(version, after, follows),
            "folder": str(self.path.resolve()),
            "snapshot": after.snapshot,
            "secret": self._marks().fingerprint,
            "settings": self.settings.fixed_hash,
            "forgotten": forgotten,
        }
        return SeriesState(_SERIES, version, details, follows=follows)

    def _remove(self, state: SeriesState) -> None:
        """Remove a state, unless the ledger refers to it."""
        with self._book() as book:
            named = {stored_state.version for stored_state, _ in book.states(self.settings.dataset, _SERIES)}
        if state.version not in named:
            self._folder.remove_state(state.version)

    def _judge_imports(self, state: HistoryState | None) -> None:
        """Judge the whole series if the last release was imported: the next certificate covers all of them."""
        if state is None or not state.facts.get("imported"):
            return
        series = self.series
        series.check_events(*series.coded_people())
        violations = self.settings.about_series.series_violations(series)
        if violations:
            people = len({violation.person for violation in violations if violation.person is not None})
            raise PolicyError(
                f"The imported releases do not satisfy {self.settings.about_series} together: {len(violations)} violations, {people} people, such as: {violations[0].text()} No certificate could be true of "
                "all releases. Attack the series to see who is exposed (reticent attack --history). Published data cannot be recalled; to continue, start a new series, of other people or with a "
                "separate ledger, and take responsibility for both."
            )

    def import_release(self, frame: Any, groups: Sequence[Any], people: Sequence[Any] | None = None) -> SeriesRelease:
        """Import a release that was published by other means, as the next one of the series.

        ``frame`` has the quasi columns and the sensitive column of the published rows; ``groups`` gives the group of
        each row, or lists the people of each group; ``people`` are the keys of the rows (default: the key column), None
        for a counterfeit. Nothing is judged, since the release is already public. Later releases keep its signatures,
        which requires m-unique groups.
        """
        with self._alone():
            return self._imported(as_polars(frame), groups, people)

    def _imported(self, rows: pl.DataFrame, groups: Sequence[Any], people: Sequence[Any] | None) -> SeriesRelease:
        """Return the release that an import describes, and record it with the state after it."""
        keys = pl.Series(self.settings.key, list(people)) if people is not None else rows[self.settings.key]
        if len(keys) != rows.height:
            raise DataError(f"There are {rows.height} rows and {len(keys)} people. Pass a key, or None, for each row.")
        state = self._state()
        group_of = _group_numbers(groups, keys)
        real_rows = np.flatnonzero(keys.is_not_null().to_numpy())
        if _forgotten(state):
            assert state is not None
            keys = self._marks().replaced(keys.cast(state.release.people.dtype), state.forgotten)
        rows = rows.with_columns(keys.alias(self.settings.key))
        table = self._table(_typed(rows[real_rows].select(self.settings.columns), state, self.settings))
        ranges = settled_ranges(table, self.settings.ranges) if state is None else dict(state.ranges)
        scales = scales_of(table, ranges)
        snapshot = self.settings.method().snapshot(table, scales)
        diff = bind(snapshot, state, self._marks(), replace(self.settings.rules, baseline="tau"))
        values = self.settings.method().codes(rows[self.settings.sensitive])
        order = np.lexsort((values, group_of))
        sizes, members = np.bincount(group_of), np.bincount(group_of[real_rows], minlength=int(group_of.max()) + 1)
        if (members == 0).any():
            raise DataError("A group has counterfeit rows only. Remove it: it contains no person.")
        by_group = PeopleByGroup.of(group_of[real_rows], len(sizes))
        boxes = [scale.boxes(snapshot.quasi[scale.column], by_group, exact=True) for scale in scales]
        orders = {
            scale.column: merged_order(None if state is None else state.orders.get(scale.column), scale.order())
            for scale in scales
        }
        placement = Placement(group_of[real_rows], np.empty((0, 1), dtype=np.int64), sizes - members)
        departed, left = gone_after(state, snapshot, diff, placement, self._marks())
        release = SeriesRelease(
            number=len(self) + 1, people=snapshot.keys, group_of=group_of[real_rows], value_of=snapshot.value, quasi=snapshot.quasi, events=diff.events, left=left,
            offsets=np.concatenate([[0], np.cumsum(sizes)]), values=values[order], counterfeits=sizes - members, **positions_of(boxes, orders),
        )  # fmt: skip
        ends = pl.DataFrame(
            [
                bounds
                for box in boxes
                for bounds in (box.low.alias(f"{box.low.name} low"), box.high.alias(f"{box.high.name} high"))
            ]
        )
        after = HistoryState(
            release,
            departed,
            rows.clear(),
            self.settings.domain,
            ranges,
            orders,
            ends,
            facts={"imported": True},
        )
        after = after if state is None else replace(after, forgotten=state.forgotten)
        self._record_import(after, table, _forgotten(state))
        return release

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the history's lock: no other process publishes or cleans up; leftovers of a killed process are settled first."""
        with self._folder.turn(_PATIENCE) as is_locked:
            if not is_locked:
                raise LedgerError(
                    f"Another process is publishing from the history {str(self.path)!r}. Nothing was published. Wait for it to end, and try again."
                )
            self._settle()
            self._check_states()
            self._folder.make_secret()
            if self._folder.bound_ledger() is None:
                self._write_settings()
            yield

    def _check_states(self) -> None:
        """Refuse a history in which a file of any release is missing or changed: the next certificate covers all of them."""
        for state in self._chain():
            self._folder.check_files(state.version, state.details["files"], state.details.get("formerly") or {})

    def _record_import(self, after: HistoryState, table: Table, forgotten: int) -> None:
        """Record an imported release in the ledger, with the state after it."""
        state = self._stored(after, self._version(), forgotten)
        content = hashlib.sha256(state.version.encode()).hexdigest()
        with self._book() as book:
            entry = book.record(
                self.settings.dataset,
                content,
                lambda _: "",
                kind=_IMPORTED,
                beside=partial(_next, after.release.number),
                state=state,
                people=marks_of_people(table, book.people_key),
            )
            book.give_out(entry)
        self._sweep()

    def _snapshot(self, frame: Any, changes: Any) -> pl.DataFrame:
        """Return the table to publish, with the columns that are used."""
        if (frame is None) == (changes is None):
            raise PolicyError(f"Pass either the whole table as a snapshot, or changes= with a column {CHANGE!r}.")
        rows = (
            as_polars(frame)
            if frame is not None
            else with_changes(self.current(), as_polars(changes), self.settings.key)
        )
        missing = [name for name in self.settings.columns if name not in rows.columns]
        if missing:
            raise DataError(
                f"The table has no column {missing[0]!r}. It has: {', '.join(rows.columns)}.", column=missing[0]
            )
        rows = rows.select(self.settings.columns)
        for name in self.settings.columns:
            if rows[name].null_count():
                row = int(rows[name].is_null().arg_max() or 0)
                raise DataError(
                    f"Column {name!r} has no value in row {row + 1}. A series needs every value: complete the row, or drop the person.",
                    column=name,
                )
        keys = rows[self.settings.key]
        if keys.n_unique() < len(keys):
            value = keys.filter(keys.is_duplicated())[0]
            raise DataError(
                f"Column {self.settings.key!r} has {value!r} more than once. A series needs one row per person: aggregate the rows of a person first.",
                column=self.settings.key,
                value=value,
            )
        return rows

    def _table(self, rows: pl.DataFrame) -> Table:
        """Return rows as a table with the roles of the series."""
        settings = self.settings
        return Table(
            rows,
            quasi=dict(settings.quasi),
            sensitive=settings.sensitive,
            identifiers=[settings.key],
            key=settings.key,
            dataset=settings.dataset,
        )

    def _place(self, state: HistoryState | None, store: StateStore | None = None) -> SeriesPosition:
        """Return what the next release needs to know of the series before it; refused if imported signatures do not fit ``balance='blocks'``."""
        if state is not None and self.settings.balance == "blocks":
            blocks = {frozenset(block) for block in domain_blocks(len(state.domain), self.settings.m)}
            signatures_used = {frozenset(row[row >= 0].tolist()) for row in np.unique(state.signatures, axis=0)}
            if signatures_used - blocks:
                raise PolicyError(
                    f"Release {state.release.number} was imported with groups that do not fit balance='blocks', and their people must keep their signatures. Use balance='filled' or 'blind'.",
                    setting=("balance",),
                )
        number = 1 if state is None else state.release.number + 1
        return SeriesPosition(
            state,
            self._follows(),
            self._marks(),
            partial(_next, number),
            self.settings.retention,
            self._shortest_retention(state),
            store,
        )

    def _shortest_retention(self, state: HistoryState | None) -> int:
        """Return the smallest retention ever in force, now or under earlier settings; 0 if people were never forgotten."""
        before = {} if state is None else state.facts
        earlier = before.get("shortest_retention", before.get("retention", 0))
        return min((retention for retention in (self.settings.retention, earlier) if retention), default=0)

    def _follows(self) -> str | None:
        """Return the hash of the last release's certificate; None before the first, and after an imported one."""
        states = self._known()
        return states[-1][1].certificate or None if states else None

    def _marks(self) -> PersonMarks:
        """Return the keyed hashing of people under the history's secret, which must be that of the earlier releases."""
        chain = self._chain()
        if not chain:
            self._folder.make_secret()
        return self._folder.marks(chain[-1].details["secret"] if chain else None)

    @contextmanager
    def _book(self) -> Iterator[Ledger]:
        """Open the ledger of the series for a block; one that was passed is not closed."""
        if isinstance(self._ledger, Ledger):
            yield self._ledger
            return
        with Ledger(self._ledger) as book:
            yield book

    def _write_settings(self) -> None:
        """Write the settings, with the history's ledger."""
        with self._book() as book:
            self._folder.write_settings(self.settings.as_json(), book.path, book.secret.fingerprint)

    def _check_place(self) -> None:
        """Refuse a ledger that lacks releases of this folder, and a folder that lacks releases of the ledger."""
        last_known = self._folder.least_known()
        with self._book() as book:
            states, ledger = book.states(self.settings.dataset, _SERIES), str(book.path)
        elsewhere = next((state for state, _ in states if not self._folder.has_state(state.version)), None)
        if elsewhere is not None:
            raise LedgerError(
                f"The ledger {ledger!r} has {len(states)} releases of the data set {self.settings.dataset!r}, in the history {elsewhere.details.get('folder')!r}, and {str(self.path)!r} does not hold "
                "them. Nothing was changed. Open that folder (--history), or restore this one from a backup. For different people, pass another dataset=."
            )
        if last_known > len(states):
            raise LedgerError(
                f"The history {str(self.path)!r} holds release {last_known} of the data set {self.settings.dataset!r}, and the ledger {ledger!r} has {len(states) or 'none'}: it is an older copy, or a different ledger. "
                "Nothing was changed. Restore the ledger from a backup, or pass the one that the history belongs to (ledger=, --ledger)."
            )
        if any("files" not in state.details for state, _ in states):
            raise DataError(
                f"The history in {str(self.path)!r} was started by an earlier version of Reticent, which did not record hashes of its files. Continue with that version, or start a new history and import its releases."
            )
        if states and states[-1][0].details["settings"] != self.settings.fixed_hash:
            raise DataError(
                f"The settings of the history in {str(self.path)!r} are not those of its releases. Restore history.json from a backup."
            )

    def _refuse_known_elsewhere(self, people: pl.Series) -> None:
        """Refuse to start a second series about people of a neighbouring history: it has another ledger, so ours does not know its releases."""
        with self._book() as book:
            own_secret, ledger = book.secret.fingerprint, str(book.path)
        for other in self._folder.neighbours():
            settings, bound = other.read_settings() or {}, other.bound_ledger()
            if bound is None or bound[1] == own_secret or settings.get("key") != self.settings.key:
                continue
            shared = int(people.cast(pl.String).is_in(other.newest_people().cast(pl.String).implode()).sum())
            if 2 * shared > len(people):
                raise LedgerError(
                    f"{shared:,} of {len(people):,} people are also in the history {str(other.path)!r}, which belongs to the ledger {str(bound[0])!r}; {ledger!r} does not have its releases. Two series about the same "
                    "people together disclose more than either. Nothing was published. Continue with that history (--history), or pass its ledger (ledger=, --ledger). For other people with the same keys, pass again=True (--again)."
                )

    def _known(self) -> list[tuple[SeriesState, Entry]]:
        """Return the states of all completed releases with their ledger entries; not of one reserved but never written."""
        with self._book() as book:
            states = book.states(self.settings.dataset, _SERIES)
        return states[:-1] if states and self._is_pending(*states[-1]) else states

    def _is_pending(self, state: SeriesState, entry: Entry) -> bool:
        """True if a release was reserved and its folder was not written."""
        if entry.status != "reserved" or entry.kind == _IMPORTED:
            return False
        folder = self._folder.release(int(state.details["number"]))
        return not folder.exists() or certificate_hash(open_public(folder).certificate) != entry.certificate

    def _chain(self) -> list[SeriesState]:
        return [state for state, _ in self._known()]

    def _version(self) -> str | None:
        chain = self._chain()
        return chain[-1].version if chain else None

    def _read(self, state: SeriesState, orders: Mapping[str, list[Any] | None] | None = None) -> HistoryState:
        details = state.details
        return self._folder.read_state(state.version, details["files"], orders, details.get("formerly"))

    def _state(self) -> HistoryState | None:
        chain = self._chain()
        return self._read(chain[-1]) if chain else None

    def _settle(self) -> None:
        """Complete or undo what a killed process left: a release whose folder exists is recorded as released, one never
        written is withdrawn, and an erasure is resumed.
        """
        with self._book() as book:
            for entry in book.entries(self.settings.dataset):
                if entry.kind == _ERASURE and entry.status == "reserved":
                    book.give_out(entry)
            for state, entry in book.states(self.settings.dataset, _SERIES):
                if self._is_pending(state, entry):
                    book.withdraw(entry, "The process ended before the release was written.")
                elif entry.status == "reserved":
                    book.give_out(entry)
        self._sweep()
        self._forget()

    def _sweep(self) -> None:
        chain = self._chain()
        self._folder.sweep([state.version for state in chain], len(chain))


@dataclass(frozen=True)
class _SnapshotStore:
    """Stores the state after one release of a history, with private ``facts`` for the steward."""

    history: History
    digest: str
    follows: str | None
    forgotten: int
    began: float
    facts: dict[str, Any]

    def write(self, after: HistoryState, change: PublishedChange) -> SeriesState:
        took = round(time.perf_counter() - self.began, 3)
        self.facts.update(change.as_json(), seconds=took, retention=self.history.settings.retention)
        return self.history._stored(with_snapshot(after, self.digest, self.facts), self.follows, self.forgotten)

    def remove(self, state: SeriesState) -> None:
        self.history._remove(state)


def forgetting(releases: int) -> str:
    """Return the warning about forgetting people."""
    return (
        f"People who left are forgotten after {releases} release{'s' if releases > 1 else ''}: only a keyed hash of them remains. People who return later are excluded from the series for "
        "good, since the constraints on their new group are no longer known."
    )


def _forgotten(state: HistoryState | None) -> int:
    """Return the number of people of whom only a keyed hash is stored."""
    return 0 if state is None else len(state.forgotten)


def _reduced(states: Sequence[HistoryState], forgotten: pl.Series, marks: PersonMarks, key: str) -> list[HistoryState]:
    """Return the states without forgotten people, and without values of ordered columns that only they had."""
    reduced = [without_people(state, forgotten, marks, key) for state in states]
    ordered = [name for name, order in states[-1].orders.items() if order is not None]
    values_left = {name: set().union(*(values_held(state, name) for state in reduced)) for name in ordered}
    reduced = [with_orders(state, values_left) for state in reduced]
    # The last state's orders apply to all boxes.
    values_shown = {name: values_left[name].union(*(state.orders[name] or () for state in reduced)) for name in ordered}
    orders = {
        name: [value for value in order if value in values_shown[name]] if order else order
        for name, order in states[-1].orders.items()
    }
    return [*reduced[:-1], replace(reduced[-1], forgotten=forgotten, orders=orders)]


def _next(number: int, prior: Sequence[PriorDisclosure]) -> Judgement:
    """Judge a release of a history: it may follow the earlier ones of its own series and nothing else; the series' state proves which are its own."""
    prior = [entry for entry in prior if entry.kind != _ERASURE]
    foreign = [entry for entry in prior if entry.kind not in (_RELEASE, _IMPORTED)]
    if foreign or len(prior) != number - 1:
        return refuse(
            f"This would be release {number} of its series, but the ledger has {len(prior)} entries about the same people ({described(prior)}). A series is judged together with its own releases "
            "only, so this was refused and nothing was published. If these are releases of the series, open its own folder (--history)."
        )
    return allow(f"It is release {number} of a series whose releases were judged together." if number > 1 else "")


def _typed(rows: pl.DataFrame, state: HistoryState | None, settings: HistorySettings) -> pl.DataFrame:
    """Return rows with keys and quasi values cast to the types of the previous release: files of different months may be parsed differently.

    Keys are integers or text, and no cast may change a key or a number.
    """
    rows = rows.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    key_type = rows.schema[settings.key]
    if not (key_type == pl.String or (key_type.is_integer() and key_type not in (pl.UInt64, pl.Int128, pl.UInt128))):
        raise DataError(
            f"Column {settings.key!r} has type {key_type}, but people are identified by whole numbers or text: two keys could become equal. Read the column as text.",
            column=settings.key,
        )
    types = {} if state is None else {settings.key: state.release.people.dtype, **state.release.quasi.schema}
    for name, dtype in types.items():
        column = rows[name]
        try:
            converted = column.cast(dtype)
        except pl.exceptions.PolarsError:
            raise DataError(
                f"Column {name!r} has type {column.dtype}, and {dtype} in the release before; a value cannot be converted. Use the same type in all snapshots.",
                column=name,
            ) from None
        if column.dtype != dtype and (name == settings.key or column.dtype.is_numeric()):
            changed_values = column.filter(converted.cast(column.dtype) != column)
            if len(changed_values):
                raise DataError(
                    f"Column {name!r} has the value {changed_values[0]!r}, which would become {converted.filter(converted.cast(column.dtype) != column)[0]!r}: the release before has {dtype}. Give the column the same type in all snapshots.",
                    column=name,
                    value=changed_values[0],
                )
        rows = rows.with_columns(converted)
    if state is not None:
        _refuse_rewritten_keys(rows[settings.key], state.release.people)
    return rows


def _refuse_rewritten_keys(keys: pl.Series, before: pl.Series) -> None:
    """Refuse text keys that spell the numbers of the previous release differently ('17.0' or '017' for '17'): known people would count as new.

    A zero fraction is always such a mistake; leading zeros may belong to other people, unless most of those who left
    come back with them.
    """
    if keys.dtype != pl.String or before.dtype != pl.String:
        return
    new, departed = keys.filter(~keys.is_in(before.implode())), before.filter(~before.is_in(keys.implode()))
    pairs = (
        pl.DataFrame({"key": new, "number": _written_number(new)})
        .join(pl.DataFrame({"was": departed, "number": _written_number(departed)}).drop_nulls(), on="number")
        .sort("key")
    )
    certain = pairs.filter(
        pl.col("key").str.contains(".", literal=True) | pl.col("was").str.contains(".", literal=True)
    )
    suspicious = certain if certain.height else pairs
    if certain.height or 2 * pairs["was"].n_unique() > len(departed) > 0:
        key, _, was = suspicious.row(0)
        raise DataError(
            f"Column {keys.name!r} has the value {key!r}, and the release before has {was!r}, which is no longer in the table: the same number, spelled differently, would count as another "
            f"person. {suspicious.height} keys are affected. Spell keys alike in all snapshots; read the column as text.",
            column=keys.name,
            value=key,
        )


def _written_number(keys: pl.Series) -> pl.Series:
    """Return the integer that a text spells, ignoring leading zeros and a zero fraction; null for other texts."""
    return keys.str.extract(r"^0*(\d+?)(?:\.0*)?$", 1)


def _context(context: Context | None, insecure_seed: int | None) -> Context:
    if context is None:
        return Context(Randomness(insecure_seed))
    return context if insecure_seed is None else replace(context, randomness=Randomness(insecure_seed))


def _table_hash(rows: pl.DataFrame, settings: HistorySettings) -> bytes:
    """Hash a snapshot independently of row order: only its values and the declared domain count."""
    sums = [int(rows.hash_rows(seed).cast(pl.UInt64).to_numpy().sum(dtype=np.uint64)) for seed in (11, 23)]
    return hashlib.sha256(f"{rows.height} {sums} {settings.domain}".encode()).digest()


def _refuse_stale(chain: Sequence[SeriesState], digest: str) -> None:
    """Refuse the table of an earlier release: a delayed job would revert the series."""
    number = next((int(state.details["number"]) for state in chain if state.details["snapshot"] == digest), None)
    if number is not None:
        raise DataError(
            f"The table is exactly that of release {number}, and release {len(chain)} came after it: it is an old snapshot. Nothing was published. Pass the current table, or pass "
            "again=True (--again) if it has really returned to that state."
        )


def _group_numbers(groups: Sequence[Any], keys: pl.Series) -> Ints:
    """Return the group of each row, numbered from 0, from a name per row or from lists of people."""
    names = [*groups]
    if names and all(isinstance(name, list | tuple | set | frozenset) for name in names):
        group_of = {person: number for number, members in enumerate(names) for person in members}
        missing = [person for person in keys.to_list() if person not in group_of]
        if missing:
            raise DataError(f"{missing[0]!r} is in no group. If there are counterfeits, give the group of each row.")
        return np.array([group_of[person] for person in keys.to_list()], dtype=np.int64)
    if len(names) != len(keys):
        raise DataError(
            f"There are {len(keys)} rows and {len(names)} groups. Give the group of each row, or list the people of each group."
        )
    number_of = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([number_of[name] for name in names], dtype=np.int64)


def _new_settings(arguments: Mapping[str, Any], path: Path) -> HistorySettings:
    """Return the settings of a new history; those without a default are required."""
    for name in ("m", "key", "sensitive", "quasi", "domain"):
        if arguments[name] is None:
            raise PolicyError(
                f"{str(path)!r} does not hold a history yet. To start one, pass m, key, sensitive, quasi and domain; {name} is missing.",
                setting=(name,),
            )
    completed = {
        **arguments,
        "choice": arguments["choice"] or "near",
        "balance": arguments["balance"] or "filled",
        "dataset": arguments["dataset"] or path.name or "series",
        **{name: arguments[name] or default for name, default in _LATER.items()},
    }
    return _checked(HistorySettings(**completed))


def _known_settings(stored: Mapping[str, Any], path: Path) -> HistorySettings:
    """Return the settings of a stored history. Raises if they cannot be parsed."""
    try:
        quasi = {
            name: None if hierarchy is None else hierarchy_from(hierarchy, name)
            for name, hierarchy in stored["quasi"].items()
        }
        return HistorySettings(
            **{
                **{name: stored.get(name, _LATER[name]) if name in _LATER else stored[name] for name in _SETTINGS},
                "quasi": quasi,
                "domain": tuple(stored["domain"]),
            }
        )
    except (KeyError, TypeError, AttributeError):
        raise DataError(
            f"The settings of the history in {str(path)!r} cannot be parsed. Restore them from a backup."
        ) from None


def _changed(settings: HistorySettings, arguments: Mapping[str, Any]) -> HistorySettings:
    return _checked(replace(settings, **{name: value for name, value in arguments.items() if value is not None}))


def _checked(settings: HistorySettings) -> HistorySettings:
    """Return settings after checking them: distinct column names, valid numbers, a large enough domain."""
    whole(settings.m, "m", low=2)
    whole(settings.retention, "retention", low=0)
    names = settings.columns
    for name in names:
        if not isinstance(name, str) or names.count(name) > 1:
            raise PolicyError(
                f"key, sensitive and quasi must name different columns, but {name!r} has two roles.", column=str(name)
            )
    if not settings.quasi:
        raise PolicyError("A history needs at least one quasi column.", setting=("quasi",))
    if settings.k:
        whole(settings.k, "k", low=2)
        if settings.baseline is not None:
            raise PolicyError(
                "k is for series without a baseline: the printed algorithms publish the boxes of groups.",
                setting=("k",),
            )
    if settings.balance == "blocks" and settings.baseline is not None:
        raise PolicyError("balance='blocks' is for series without a baseline.", setting=("balance",))
    method = settings.method()
    reason = method.domain_refusal(settings.about_series)
    if reason is not None:
        raise PolicyError(reason, setting=("domain",), value=list(settings.domain))
    return settings


def _check_change(settings: HistorySettings, changed: HistorySettings, releases: int) -> None:
    """Refuse changes after the first release, except to extend the domain at its end and to change the retention."""
    if releases == 0:
        return
    is_extended = changed.domain[: len(settings.domain)] == settings.domain
    if settings.balance == "blocks" and changed.domain != settings.domain:
        raise PolicyError(
            "With balance='blocks' the domain was fixed by the first release: its blocks are the signatures of groups. Start a new history in another folder for another domain.",
            setting=("domain",),
        )
    before, after = (
        settings.as_json(),
        {**changed.as_json(), "domain": settings.as_json()["domain"] if is_extended else None},
    )
    for name, value in before.items():
        if after[name] != value and name != "retention":
            explanation = (
                "declared values must stay in order, and new ones must be appended"
                if name == "domain"
                else f"it is {value!r}"
            )
            raise PolicyError(
                f"{name} was fixed by the first release: {explanation}. To change it, start a new history in another folder.",
                setting=(name,),
            )
