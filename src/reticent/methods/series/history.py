"""A history: a table that changes, and all that was published about it. The steward's; the releases in it are for others."""

from __future__ import annotations

import hashlib
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

from reticent.base.cards import Card, ShownAsCard
from reticent.base.context import Context
from reticent.base.disclosures import Judgement, PriorDisclosure, SeriesState, allow, refuse
from reticent.base.exact import whole
from reticent.base.frames import as_polars
from reticent.base.randomness import Randomness
from reticent.definitions import Definition, KAnonymity
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Entry, Ledger
from reticent.methods.series.assignment import Balance, Baseline, Choice, Placement, PublishingRules
from reticent.methods.series.box_scales import PeopleByGroup, merged_order, positions_of, scales_of, settled_ranges
from reticent.methods.series.definitions import MInvariance, TauSafety
from reticent.methods.series.diff import bind, gone_after
from reticent.methods.series.feed import CHANGE, with_changes
from reticent.methods.series.history_folder import HistoryFolder, with_snapshot
from reticent.methods.series.method import PublishedChange, Republish, SeriesPosition
from reticent.methods.series.series import PublishedSeries, SeriesRelease
from reticent.methods.series.series_check import SeriesVerdict, check_tau_safety
from reticent.methods.series.signatures import Ints
from reticent.methods.series.state import HistoryState
from reticent.release import certificate_hash, open_public, publish
from reticent.table import Hierarchy, Table, hierarchy_from, to_plain

_SERIES = "republished table"
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
_LATER = {"retention": 0, "k": 0}
"""Settings that histories of earlier versions do not have, with what held for them."""


@dataclass(frozen=True)
class HistorySettings:
    """What holds for all releases of a history. People who left are forgotten after ``retention`` releases (0: never); at least ``k`` people look alike (0: boxes are those of groups)."""

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
        """What the releases promise together."""
        if self.baseline == "m-invariance":
            return MInvariance(self.m)
        return TauSafety(self.m, hardened=self.baseline is None)

    @property
    def definition(self) -> Definition:
        """What the releases promise: together, and each by itself about who looks alike."""
        return self.about_series & KAnonymity(self.k) if self.k else self.about_series

    @property
    def rules(self) -> PublishingRules:
        """How releases are made."""
        return PublishingRules(self.m, self.choice, self.balance, self.baseline)

    @property
    def columns(self) -> list[str]:
        """The columns of a snapshot that are used."""
        return [self.key, *self.quasi, self.sensitive]

    def method(self, place: SeriesPosition | None = None) -> Republish:
        """The method of the next release."""
        return Republish(list(self.domain), self.choice, self.balance, self.ranges, self.baseline, place)

    def as_json(self) -> dict[str, Any]:
        """The settings as plain data."""
        quasi = {name: None if each is None else each.describe() for name, each in self.quasi.items()}
        ranges = None if self.ranges is None else {name: list(ends) for name, ends in self.ranges.items()}
        own = {name: getattr(self, name) for name in _SETTINGS}
        plain: dict[str, Any] = to_plain({**own, "quasi": quasi, "domain": list(self.domain), "ranges": ranges})
        return plain


@dataclass(frozen=True, repr=False)
class Republication(ShownAsCard):
    """A release that a history published: its ``folder``, and what the steward learns about it. ``new`` is False where the table was the one of the last release."""

    number: int
    folder: Path
    change: Mapping[str, Any]
    new: bool = True

    @property
    def counterfeits(self) -> int:
        """How many rows are made up."""
        return int(self.change["counterfeits"])

    @property
    def waiting(self) -> int:
        """How many people wait for a later release."""
        return int(self.change["waiting"])

    def card(self) -> Card:
        """The number of the release, what happened since the one before, and what it cost."""
        facts: dict[str, object] = {name: value for name, value in self.change.items() if name != "events"}
        return Card(f"Release {self.number}", facts, None, ("event", "people"), list(self.change["events"].items()))


class History:
    """A series of releases of one table. Open it with :meth:`open`; everything durable is in its folder and in the ledger.

    Guarantee, adversary and what is not covered: those of :class:`TauSafety`. Killed at any moment, a history is before or after a release.
    """

    def __init__(self, folder: HistoryFolder, settings: HistorySettings, ledger: str | Path | Ledger | None) -> None:
        self._folder, self.settings, self._ledger = folder, settings, ledger
        self._recover()

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
        ledger: str | Path | Ledger | None = None,
        retention: int | None = None,
        k: int | None = None,
    ) -> History:
        """Open the history in a folder, or begin one there.

        A new one needs ``m``, the ``key`` that tells people apart, the ``sensitive`` column, the ``quasi`` columns (with a hierarchy, or None) and the declared ``domain``
        of sensitive values: at least 3m - 1, none of them taken from the data. ``ranges``, ``choice``, ``balance`` and ``baseline`` are those of :class:`Republish`. All of them are
        fixed with the first release; only the domain may grow at its end. An existing history needs the path alone.

        People who left are remembered for good, under a keyed hash, so that they are safe when they return. ``retention`` forgets them after so many releases (0: never), with a warning:
        whoever returns later is treated as new and may be found out by comparing releases. It may be changed at any time; releases say so publicly.

        With ``k`` the groups are batches, and people show boxes that at least ``k`` of them share, made from quasi values alone; without it, people of a group share its box.

        The releases are recorded in the ledger of the folder, or in another ``ledger``, under the name ``dataset``.
        """
        folder = HistoryFolder(Path(path))
        quasi = dict.fromkeys(quasi) if quasi is not None and not isinstance(quasi, Mapping) else quasi
        given: dict[str, Any] = {
            "m": m, "key": key, "sensitive": sensitive, "quasi": quasi, "domain": None if domain is None else tuple(domain), "ranges": ranges,
            "choice": choice, "balance": balance, "baseline": baseline, "dataset": dataset, "retention": retention, "k": k,
        }  # fmt: skip
        known = folder.read_settings()
        settings = _new_settings(given, folder.path) if known is None else _known_settings(known, folder.path)
        changed = settings if known is None else _changed(settings, given)
        if retention and (known is None or changed.retention != settings.retention):
            warnings.warn(forgetting(retention), stacklevel=2)
        if known is not None and changed != settings:
            history = cls(folder, settings, ledger)
            _check_change(settings, changed, len(history))
        if known is None or changed != settings:
            folder.write_settings(changed.as_json())
        return cls(folder, changed, ledger)

    @property
    def path(self) -> Path:
        """The folder of the history."""
        return self._folder.path

    def __repr__(self) -> str:
        return f"<history {str(self.path)!r}: {len(self)} releases, {self.settings.definition}>"

    def __len__(self) -> int:
        """How many releases there are, imported ones included."""
        return len(self._chain())

    @property
    def series(self) -> PublishedSeries:
        """All releases, first to last."""
        chain = self._chain()
        if not chain:
            return PublishedSeries(
                self.settings.domain, self.settings.m, self.settings.sensitive, dict.fromkeys(self.settings.quasi), ()
            )
        last = self._folder.read_state(chain[-1])
        states = [*(self._folder.read_state(version, last.orders) for version in chain[:-1]), last]
        forgets = [each.facts["retention"] for each in states if each.facts.get("retention")]
        return PublishedSeries(
            last.domain,
            self.settings.m,
            self.settings.sensitive,
            last.orders,
            tuple(each.release for each in states),
            min(forgets, default=0),
        )

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the published releases, first to last; imported releases have none."""
        found = (self._folder.release(number) for number in range(1, len(self) + 1))
        return tuple(each for each in found if each.exists())

    def check(self) -> SeriesVerdict:
        """Judge the whole series against the rules that it was published by; events that cannot follow each other are a :class:`DataError`."""
        series = self.series
        if len(series):
            series.check_events(*series.coded_people())
        return check_tau_safety(series, hardened=self.settings.baseline is None)

    def facts(self) -> list[dict[str, Any]]:
        """What each release cost, first to last; never public."""
        return [
            {"number": number, **self._folder.read_state(version).facts}
            for number, version in enumerate(self._chain(), start=1)
        ]

    def current(self) -> pl.DataFrame:
        """The table as the history knows it: the people of the last release and those who wait."""
        state = self._state()
        if state is None:
            raise PolicyError(
                "The history has no release yet, so there is nothing that changes could apply to. Give the first table as a snapshot."
            )
        release, settings = state.release, self.settings
        values = pl.Series(settings.sensitive, list(state.domain)).gather(release.value_of)
        people = release.quasi.with_columns(release.people.alias(settings.key), values).select(settings.columns)
        return pl.concat([people, state.waiting.select(settings.columns).cast(people.schema)])

    def preview(self, frame: Any = None, *, changes: Any = None, context: Context | None = None) -> dict[str, Any]:
        """What publishing a snapshot would do: what happened to whom, predicted counterfeits, who would wait. Nothing is written."""
        state = self._state()
        table = self._table(_typed(self._snapshot(frame, changes), state, self.settings))
        found: list[PublishedChange] = []

        def keep(state: HistoryState, change: PublishedChange) -> SeriesState:
            found.append(change)
            return SeriesState(_SERIES, "preview")

        self.settings.method(self._place(state, keep)).draft(table, self.settings.definition, context or Context())
        return {"number": len(self) + 1, **found[0].as_json()}

    def publish(
        self,
        frame: Any = None,
        insecure_seed: int | None = None,
        *,
        changes: Any = None,
        signing_key: Any = None,
        context: Context | None = None,
    ) -> Republication:
        """Publish the next release: of a snapshot of the whole table, or of the last one with ``changes`` applied (a column ``change`` says insert, update or delete).

        New people may wait for a later release; a first release that is not m-eligible is :class:`Infeasible`. The release is saved below the history's folder, ready
        to be given out. A table that is exactly the one of the last release is not published again.
        """
        with self._alone():
            return self._published(frame, insecure_seed, changes, signing_key, context)

    def _published(
        self, frame: Any, insecure_seed: int | None, changes: Any, signing_key: Any, context: Context | None
    ) -> Republication:
        began = time.perf_counter()
        state, version = self._state(), self._version()
        snapshot = _typed(self._snapshot(frame, changes), state, self.settings)
        digest = _digest(snapshot, self.settings)
        if state is not None and state.snapshot == digest and self._folder.release(state.release.number).exists():
            return Republication(
                state.release.number, self._folder.release(state.release.number), state.facts, new=False
            )
        context = _context(context, insecure_seed)
        found: dict[str, Any] = {}

        def keep(after: HistoryState, change: PublishedChange) -> SeriesState:
            took = round(time.perf_counter() - began, 3)
            found.update(change.as_json(), seconds=took, retention=self.settings.retention)
            named = f"{after.release.number:04d}-{secrets.token_hex(8)}"
            self._folder.write_state(named, with_snapshot(after, digest, found), version)
            return SeriesState(_SERIES, named, {"number": after.release.number}, follows=version)

        method = self.settings.method(self._place(state, keep))
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
        folder = release.save(self._folder.release(number))
        return Republication(number, folder, found)

    def import_release(self, frame: Any, groups: Sequence[Any], people: Sequence[Any] | None = None) -> SeriesRelease:
        """Take in a release that was published by other means, as the next one of the series.

        ``frame`` has the quasi columns and the sensitive column, a row for each published one; ``groups`` names the group of each row, or lists the people of each group;
        ``people`` are the keys of the rows (by default the key column), None for a made-up row. Nothing is judged: what is out cannot be taken back. Later releases keep the signatures
        that people have in it, which needs m-unique groups.
        """
        with self._alone():
            return self._imported(as_polars(frame), groups, people)

    def _imported(self, rows: pl.DataFrame, groups: Sequence[Any], people: Sequence[Any] | None) -> SeriesRelease:
        keys = pl.Series(self.settings.key, list(people)) if people is not None else rows[self.settings.key]
        if len(keys) != rows.height:
            raise DataError(f"There are {rows.height} rows and {len(keys)} people. Give a key, or None, for each row.")
        rows = rows.with_columns(keys.alias(self.settings.key))
        group_of = _group_numbers(groups, keys)
        real = np.flatnonzero(keys.is_not_null().to_numpy())
        state = self._state()
        table = self._table(_typed(rows[real].select(self.settings.columns), state, self.settings))
        ranges = settled_ranges(table, self.settings.ranges) if state is None else dict(state.ranges)
        scales = scales_of(table, ranges)
        snapshot = self.settings.method().snapshot(table, scales)
        diff = bind(snapshot, state, self._folder.marks, replace(self.settings.rules, baseline="tau"))
        values = self.settings.method().codes(rows[self.settings.sensitive])
        order = np.lexsort((values, group_of))
        sizes, members = np.bincount(group_of), np.bincount(group_of[real], minlength=int(group_of.max()) + 1)
        if (members == 0).any():
            raise DataError("A group has made-up rows only. Leave it out: it is about nobody.")
        by_group = PeopleByGroup.of(group_of[real], len(sizes))
        boxes = [scale.boxes(snapshot.quasi[scale.column], by_group, exact=True) for scale in scales]
        orders = {
            scale.column: merged_order(None if state is None else state.orders.get(scale.column), scale.order())
            for scale in scales
        }
        placement = Placement(group_of[real], np.empty((0, 1), dtype=np.int64), sizes - members)
        gone, left = gone_after(state, snapshot, diff, placement, self._folder.marks)
        release = SeriesRelease(
            number=len(self) + 1, people=snapshot.keys, group_of=group_of[real], value_of=snapshot.value, quasi=snapshot.quasi, events=diff.events, left=left,
            offsets=np.concatenate([[0], np.cumsum(sizes)]), values=values[order], counterfeits=sizes - members, **positions_of(boxes, orders),
        )  # fmt: skip
        ends = pl.DataFrame(
            [
                each
                for box in boxes
                for each in (box.low.alias(f"{box.low.name} low"), box.high.alias(f"{box.high.name} high"))
            ]
        )
        after = HistoryState(
            release, gone, rows.clear(), self.settings.domain, ranges, orders, ends, facts={"imported": True}
        )
        self._record_import(after)
        return release

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While the block runs, no other process publishes or cleans up; what a killed one left is settled first."""
        with self._folder.turn(_PATIENCE) as mine:
            if not mine:
                raise LedgerError(
                    f"Another process is publishing from the history {str(self.path)!r}. Nothing was published. Wait for it to end, and try again."
                )
            self._settle_all()
            yield

    def _record_import(self, after: HistoryState) -> None:
        version = self._version()
        named = f"{after.release.number:04d}-{secrets.token_hex(8)}"
        self._folder.write_state(named, after, version)
        content = hashlib.sha256(named.encode()).hexdigest()
        state = SeriesState(_SERIES, named, {"number": after.release.number}, follows=version)
        with self._book() as book:
            entry = book.record(
                self.settings.dataset,
                content,
                lambda _: "",
                kind="imported release",
                beside=partial(_next, after.release.number),
                state=state,
            )
            book.give_out(entry)

    def _snapshot(self, frame: Any, changes: Any) -> pl.DataFrame:
        """The table to publish, with the columns that are used."""
        if (frame is None) == (changes is None):
            raise PolicyError(f"Give the whole table as a snapshot, or changes= with a column {CHANGE!r}: one of them.")
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
                place = int(rows[name].is_null().arg_max() or 0)
                raise DataError(
                    f"Column {name!r} has no value in row {place + 1}. A series needs every value: complete the row, or leave the person out.",
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
        settings = self.settings
        return Table(
            rows,
            quasi=dict(settings.quasi),
            sensitive=settings.sensitive,
            identifiers=[settings.key],
            key=settings.key,
            dataset=settings.dataset,
        )

    def _place(self, state: HistoryState | None, keep: Any) -> SeriesPosition:
        if state is not None and (np.diff(state.release.offsets) < self.settings.m).any():
            raise PolicyError(
                f"Release {state.release.number} was imported with groups of fewer than {self.settings.m} values, whose people cannot be protected by later releases of the same series. Attack "
                "the series to see who is exposed, and begin a new one."
            )
        number = 1 if state is None else state.release.number + 1
        return SeriesPosition(
            state, self._follows(), self._folder.marks, keep, partial(_next, number), self.settings.retention
        )

    def _follows(self) -> str | None:
        """The hash of the certificate of the last release; None before the first, and for an imported one."""
        with self._book() as book:
            out = [each for each in book.entries(self.settings.dataset) if each.status != "withdrawn"]
        return (out[-1].certificate or None) if out else None

    @contextmanager
    def _book(self) -> Iterator[Ledger]:
        if isinstance(self._ledger, Ledger):
            yield self._ledger
            return
        with Ledger(self._folder.ledger if self._ledger is None else self._ledger) as book:
            yield book

    def _version(self) -> str | None:
        with self._book() as book:
            state = book.state(self.settings.dataset, _SERIES)
        return None if state is None else state.version

    def _chain(self) -> list[str]:
        return self._folder.chain(self._version())

    def _state(self) -> HistoryState | None:
        version = self._version()
        return None if version is None else self._folder.read_state(version)

    def _recover(self) -> None:
        """Settle what a killed process left, unless somebody is publishing right now: then it is theirs."""
        with self._folder.turn(0) as mine:
            if mine:
                self._settle_all()

    def _settle_all(self) -> None:
        """Finish or take back what a killed process left: a release whose folder is there is out, one that was never written is withdrawn."""
        with self._book() as book:
            for entry in book.entries(self.settings.dataset):
                if entry.status == "reserved" and entry.kind in ("release", "imported release"):
                    self._settle(book, entry)
        self._folder.sweep(self._chain())

    def _settle(self, book: Ledger, entry: Entry) -> None:
        state = book.state(self.settings.dataset, _SERIES)
        number = None if state is None else int(state.details["number"])
        folder = None if number is None else self._folder.release(number)
        written = (
            folder is not None
            and folder.exists()
            and certificate_hash(open_public(folder).certificate) == entry.certificate
        )
        if written or entry.kind == "imported release":
            book.give_out(entry)
        else:
            book.withdraw(entry, "The process ended before the release was written.")


def forgetting(releases: int) -> str:
    """The warning that comes with forgetting people."""
    return (
        f"People who left are forgotten after {releases} release{'s' if releases > 1 else ''}. Whoever returns later than that is treated as new and may be found out by comparing releases, and so may "
        "those who share a group with them. Releases say so from now on."
    )


def _next(number: int, given: Sequence[PriorDisclosure]) -> Judgement:
    """A release of a history goes out beside the earlier ones of its series and nothing else; the series' state says that they are its own."""
    others = [each for each in given if each.kind not in ("release", "imported release")]
    if others or len(given) != number - 1:
        return refuse(
            f"This would be release {number} of its series, and the ledger knows {len(given)} entries about the same people. A series is judged together with its own releases only: keep "
            "what else is published about these people in mind, and publish it under a ledger of its own if you take responsibility for both."
        )
    return allow(f"It is release {number} of a series whose releases were judged together." if number > 1 else "")


def _typed(rows: pl.DataFrame, state: HistoryState | None, settings: HistorySettings) -> pl.DataFrame:
    """The rows with keys and quasi values in the types that the release before had: files of two months may be read differently."""
    if state is None:
        return rows
    known = {settings.key: state.release.people.dtype, **state.release.quasi.schema}
    for name, dtype in known.items():
        try:
            rows = rows.with_columns(pl.col(name).cast(dtype))
        except pl.exceptions.PolarsError:
            raise DataError(
                f"Column {name!r} has type {rows[name].dtype}, and {dtype} in the release before; a value cannot be read as that. Give the column the same type in all snapshots.",
                column=name,
            ) from None
    return rows


def _context(given: Context | None, insecure_seed: int | None) -> Context:
    if given is None:
        return Context(Randomness(insecure_seed))
    return given if insecure_seed is None else replace(given, randomness=Randomness(insecure_seed))


def _digest(rows: pl.DataFrame, settings: HistorySettings) -> str:
    """A hash of a snapshot that does not depend on the order of its rows, nor on anything but its values and the declared domain."""
    sums = [int(rows.hash_rows(seed).cast(pl.UInt64).to_numpy().sum(dtype=np.uint64)) for seed in (11, 23)]
    return hashlib.sha256(f"{rows.height} {sums} {settings.domain}".encode()).hexdigest()


def _group_numbers(groups: Sequence[Any], keys: pl.Series) -> Ints:
    """The group of each row, numbered from 0: from a name a row, or from lists of people."""
    listed = [*groups]
    if listed and all(isinstance(each, list | tuple | set | frozenset) for each in listed):
        of = {person: number for number, members in enumerate(listed) for person in members}
        missing = [person for person in keys.to_list() if person not in of]
        if missing:
            raise DataError(f"{missing[0]!r} is in no group. Name the group of each row where rows are made up.")
        return np.array([of[person] for person in keys.to_list()], dtype=np.int64)
    if len(listed) != len(keys):
        raise DataError(
            f"There are {len(keys)} rows and {len(listed)} groups. Name the group of each row, or list the people of each group."
        )
    known = {name: number for number, name in enumerate(dict.fromkeys(listed))}
    return np.array([known[name] for name in listed], dtype=np.int64)


def _new_settings(given: Mapping[str, Any], path: Path) -> HistorySettings:
    """The settings of a history that begins; all that have no default must be there."""
    for name in ("m", "key", "sensitive", "quasi", "domain"):
        if given[name] is None:
            raise PolicyError(
                f"{str(path)!r} holds no history yet. To begin one, pass m, key, sensitive, quasi and domain; {name} is missing.",
                setting=(name,),
            )
    chosen = {
        **given,
        "choice": given["choice"] or "near",
        "balance": given["balance"] or "filled",
        "dataset": given["dataset"] or path.name or "series",
        **{name: given[name] or usual for name, usual in _LATER.items()},
    }
    return _checked(HistorySettings(**chosen))


def _known_settings(known: Mapping[str, Any], path: Path) -> HistorySettings:
    try:
        quasi = {name: None if each is None else hierarchy_from(each, name) for name, each in known["quasi"].items()}
        return HistorySettings(
            **{
                **{name: known.get(name, _LATER[name]) if name in _LATER else known[name] for name in _SETTINGS},
                "quasi": quasi,
                "domain": tuple(known["domain"]),
            }
        )
    except (KeyError, TypeError, AttributeError):
        raise DataError(
            f"The settings of the history in {str(path)!r} cannot be understood. Restore them from a backup."
        ) from None


def _changed(settings: HistorySettings, given: Mapping[str, Any]) -> HistorySettings:
    return _checked(replace(settings, **{name: value for name, value in given.items() if value is not None}))


def _checked(settings: HistorySettings) -> HistorySettings:
    """Settings with which something can be published: names that differ, a large enough domain."""
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
    method = settings.method()
    reason = method.domain_refusal(settings.about_series)
    if reason is not None:
        raise PolicyError(reason, setting=("domain",), value=list(settings.domain))
    return settings


def _check_change(settings: HistorySettings, changed: HistorySettings, releases: int) -> None:
    """After the first release nothing changes but the domain, which may grow at its end, and for how long people are remembered."""
    if releases == 0:
        return
    grown = changed.domain[: len(settings.domain)] == settings.domain
    before, after = settings.as_json(), {**changed.as_json(), "domain": settings.as_json()["domain"] if grown else None}
    for name, value in before.items():
        if after[name] != value and name != "retention":
            told = (
                "declared values must stay, in their order, and new ones go to the end"
                if name == "domain"
                else f"it is {value!r}"
            )
            raise PolicyError(
                f"{name} was fixed with the first release: {told}. Begin a new history in another folder for anything else.",
                setting=(name,),
            )
