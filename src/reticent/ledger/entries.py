"""Entries: all disclosures about a data set, of any kind, in one numbered sequence.

An entry is *reserved* before anything is written, *given out* when it is published, and *withdrawn* if it never was.
Others must treat a reservation as published. Numbers are never reused; withdrawn content may be recorded again, under a
new number.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from reticent.base.cards import sentence_case
from reticent.base.disclosures import (
    Judgement,
    PersonFingerprints,
    PriorCheck,
    PriorDisclosure,
    SeriesState,
    Spending,
    alone,
    unjudged,
)
from reticent.base.privacy_cost import DeclaredBudget, PrivacyCost
from reticent.errors import LedgerError
from reticent.ledger.accounts import Account, Accounts
from reticent.ledger.budgets import Budgets
from reticent.ledger.location import LedgerLocation
from reticent.ledger.store import ReadTransaction, Row, Store, WriteTransaction, key_of, now


@dataclass(frozen=True)
class Entry(PriorDisclosure):
    """A recorded entry. ``note`` is the judgement together with prior disclosures, ``reason`` why it was withdrawn.

    ``new``: the call that returned it reserved it; ``place`` is its ledger.
    """

    certificate: str = ""
    note: str = ""
    changed: str = ""
    reason: str = ""
    new: bool = field(default=False, compare=False)
    place: LedgerLocation | None = field(default=None, compare=False, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain data."""
        return {
            "dataset": self.dataset,
            "number": self.number,
            "kind": self.kind,
            "status": self.status,
            "made": self.made,
            "changed": self.changed,
            "content": self.content,
            "certificate": self.certificate,
            "beside": self.note,
            "reason": self.reason,
            "details": dict(self.details),
        }


Certify = Callable[[Entry], str]
"""Makes the certificate of an entry once number, time and note are known, and returns its hash."""


class _RolledBack(Exception):
    """Rolls back a trial transaction."""


class Entries:
    """The entries of every data set."""

    def __init__(self, store: Store) -> None:
        """Open the entries of a store, with caches of what was parsed."""
        self._store, self.budgets, self.accounts = store, Budgets(store), Accounts(store)
        self._compared: tuple[Any, list[int]] | None = None
        # Entries parsed from rows, each valid as long as the row is the one that the store remembers.
        self._made: dict[int, tuple[Row, Entry]] = {}
        # What counts for a continuing disclosure, with the last links of the relevant tables.
        self._beside: dict[tuple[str, str], tuple[tuple[bytes, ...], tuple[Entry, ...], bool]] = {}

    def record(
        self,
        dataset: str,
        content: str,
        certify: Certify,
        *,
        kind: str = "release",
        beside: PriorCheck = alone,
        since: int | None = None,
        spend: Sequence[Spending] = (),
        cost: PrivacyCost | None = None,
        budget: DeclaredBudget | None = None,
        state: SeriesState | None = None,
        details: Mapping[str, Any] | None = None,
        formerly: Callable[[], Sequence[str]] = tuple,
        people: Sequence[PersonFingerprints] = (),
    ) -> Entry:
        """Reserve an entry, spend its cost and store the state of its series, atomically.

        ``content`` is the hash of everything that it discloses. Content that is already recorded, also under one of
        ``formerly()``, the hashes of earlier versions, keeps its number and time, and nothing is judged or spent again:
        it discloses nothing new. Otherwise ``beside`` judges it together with prior disclosures. That may take long, so
        it happens before the transaction, and again if something else was recorded meanwhile. A caller who made the
        content from prior disclosures passes the :meth:`position` of that time as ``since``: if there is more now, the
        entry is refused. If ``certify`` fails, nothing is recorded. ``people`` identifies the data subjects:
        disclosures about the same people under another name count as well. A noisy release has a ``cost``, which is
        charged to the account of the data set, and to those of the same people under other names; ``budget`` are the
        totals that its steward declared.
        """
        while True:
            with self._store.reading() as reading:
                earlier, position = self._given(reading, dataset, people), self._position(reading, dataset, people)
                is_recorded = _same(earlier, content, formerly) is not None
            judgement = None if is_recorded else beside([prior for prior in earlier if prior.status != "withdrawn"])
            if judgement is not None and not judgement.allowed:
                raise LedgerError(self._refused(judgement, dataset, earlier))
            with self._store.writing() as writing:
                if self._position(writing, dataset, people) != position:
                    continue
                existing = _same(earlier, content, formerly)
                if existing is not None:
                    certificate = certify(existing)
                    if existing.content != content:
                        writing.change("entries", self._find(writing, existing)["id"], content=content)
                    return replace(existing, content=content, certificate=certificate)
                if since is not None and since != position:
                    raise LedgerError(
                        f"Something else was published about the data set {dataset!r} while this was being made, so they were not judged together. Nothing was published. "
                        "Start again from the current state."
                    )
                assert judgement is not None
                owner = writing.dataset(dataset)
                entry = self._reserve(writing, owner, kind, content, judgement.text, dict(details or {}), certify)
                self._know(writing, owner, people)
                for entry_given in spend:
                    self.budgets.spend_within(writing, dataset, entry_given)
                if cost is not None:
                    self.charge_within(writing, owner, people, cost, budget, self._find(writing, entry)["id"])
                if state is not None:
                    self._keep(writing, owner, entry, state)
                return replace(entry, new=True)

    def charge(
        self,
        dataset: str,
        cost: PrivacyCost,
        budget: DeclaredBudget | None = None,
        people: Sequence[PersonFingerprints] = (),
        kind: str | None = None,
    ) -> list[Account]:
        """Charge what is recorded nowhere else (a run of joint noise, a release of an unnamed table), before publication.
        Raises beyond the totals.

        With a ``kind``, an entry records that the data set has such charges.
        """
        with self._store.writing() as writing:
            owner = writing.dataset(dataset)
            if kind is not None:
                self.join(writing, dataset, kind, unjudged)
            self._know(writing, owner, people)
            return self.charge_within(writing, owner, people, cost, budget)

    def affordable(
        self,
        dataset: str,
        cost: PrivacyCost,
        budget: DeclaredBudget | None = None,
        *,
        opening: DeclaredBudget | None = None,
    ) -> None:
        """Raise if a cost could not be charged now; nothing is written."""
        with suppress(_RolledBack), self._store.writing() as writing:
            self.charge_within(writing, writing.dataset(dataset), (), cost, budget, opening=opening)
            raise _RolledBack

    def charge_within(
        self,
        writing: WriteTransaction,
        owner: int,
        people: Sequence[PersonFingerprints],
        cost: PrivacyCost,
        budget: DeclaredBudget | None = None,
        entry: int | None = None,
        opening: DeclaredBudget | None = None,
    ) -> list[Account]:
        """Charge the account of a data set, and those of the same people under other names, as part of a transaction;
        ``opening`` are the totals of an undeclared account.
        """
        namesakes = writing.namesakes(writing.name(owner))
        others = [number for number in (*namesakes, *self._same_people(writing, namesakes, people)) if number != owner]
        return self.accounts.charge_within(writing, owner, others, cost, budget, entry, opening)

    def join(self, writing: WriteTransaction, dataset: str, kind: str, beside: PriorCheck = alone) -> None:
        """Continue a disclosure that proceeds in small steps (answers, grants, spendings): one entry for all of it, made
        at the first step.

        It is judged again each time together with the disclosures of other kinds.
        """
        others, is_continuing = self._others(writing, dataset, kind)
        judgement = beside(others)
        if not judgement.allowed:
            raise LedgerError(self._refused(judgement, dataset, others))
        if not is_continuing:
            self.mark(writing, dataset, kind, {}, judgement.text)

    def mark(
        self, writing: WriteTransaction, dataset: str, kind: str, details: dict[str, Any], note: str = ""
    ) -> Entry:
        """Record that something of a kind was published, or may have been, as one entry without content of its own."""
        content = f"{kind} since position {self._store.position.length}"
        entry = self._reserve(writing, writing.dataset(dataset), kind, content, note, details, lambda _: "")
        return self._move(writing, entry, "given out", "")

    def give_out(self, entry: Entry) -> Entry:
        """Mark a reserved entry as published. Idempotent; raises for a withdrawn one."""
        with self._store.writing() as writing:
            current = self._not_withdrawn(writing, entry)
            return current if current.status == "given out" else self._move(writing, current, "given out", "")

    def check(self, entry: Entry) -> None:
        """Raise if an entry does not exist, or was withdrawn."""
        with self._store.reading() as reading:
            self._not_withdrawn(reading, entry)

    def withdraw(self, entry: Entry, reason: str) -> Entry:
        """Withdraw a reserved entry of which nothing was ever written, with the reason on record. Its number stays used."""
        if not reason.strip():
            raise LedgerError("Pass a reason for the withdrawal: it stays on record.")
        with self._store.writing() as writing:
            current = self._as_it_stands(writing, entry)
            if current.status != "reserved":
                raise LedgerError(
                    f"{sentence_case(_called(current))} was {current.status} {current.changed}, so it cannot be withdrawn. What was published cannot be taken "
                    "back; only an entry that was reserved and never written can be withdrawn."
                )
            return self._move(writing, current, "withdrawn", reason.strip())

    def entries(self, dataset: str) -> list[Entry]:
        """All entries of a data set, first to last, without those of the same people under another name."""
        with self._store.reading() as reading:
            return self.within(reading, dataset)

    def within(self, reading: ReadTransaction, dataset: str) -> list[Entry]:
        """The same, as part of a transaction."""
        return [row for number in reading.namesakes(dataset) for row in self._rows(reading, number)]

    def know(self, dataset: str, people: Sequence[PersonFingerprints]) -> None:
        """Record the people of a data set."""
        with self._store.reading() as reading:
            owner = reading.known(dataset)
            new = owner is None or self._news(reading, owner, people)
        if new:
            with self._store.writing() as writing:
                self._know(writing, writing.dataset(dataset), people)

    def about(self, people: Sequence[PersonFingerprints]) -> list[str]:
        """The names of all data sets about some ``people``, first to last.

            ``people`` are ``marks_of_people(table, ledger.people_key)``, or ``marks_of_columns`` where there is no table. They are recognized by the identifying columns
        that both have.
        """
        with self._store.reading() as reading:
            return [reading.name(number) for number in self._same_people(reading, (), people)]

    def refusal(self, dataset: str, kind: str, beside: PriorCheck = alone) -> str | None:
        """Why a disclosure that proceeds in small steps may not continue, given disclosures of other kinds; None if it may."""
        with self._store.reading() as reading:
            other_entries, _ = self._others(reading, dataset, kind)
        judgement = beside(other_entries)
        return None if judgement.allowed else judgement.text

    def position(self, dataset: str, people: Sequence[PersonFingerprints] = ()) -> int:
        """A number that rises with everything that is recorded or withdrawn about a data set."""
        with self._store.reading() as reading:
            return self._position(reading, dataset, people)

    def state(self, dataset: str, series: str) -> SeriesState | None:
        """The current state of a series: the last that was not withdrawn, None before the first."""
        with self._store.reading() as reading:
            number = reading.known(dataset)
            return None if number is None else self._state(reading, number, series)

    def states(self, dataset: str, series: str) -> list[tuple[SeriesState, Entry]]:
        """The states of a series whose entries were not withdrawn, first to last, each with its entry."""
        with self._store.reading() as reading:
            number = reading.known(dataset)
            return [] if number is None else self._states(reading, number, series)

    def amend_states(self, dataset: str, states: Sequence[SeriesState]) -> None:
        """Replace the details of recorded states, atomically; the set of states does not change."""
        with self._store.writing() as writing:
            owner = writing.dataset(dataset)
            rows = {(row["series"], row["version"]): row["id"] for row in writing.rows("states", owner)}
            for state in states:
                number = rows.get((state.series, state.version))
                if number is None:
                    raise LedgerError(
                        f"The ledger {str(self._store.path)!r} has no version {state.version!r} of the series {state.series!r}. Nothing was changed."
                    )
                writing.change("states", number, details=_kept_details(state))

    def _refused(self, judgement: Judgement, dataset: str, prior: Sequence[PriorDisclosure]) -> str:
        """Return why a release is refused, with the data sets that seem to be about the same people."""
        names = sorted({entry.dataset for entry in prior if key_of(entry.dataset) != key_of(dataset)})
        hint = (
            f" {dataset!r} seems to be about the same people as {', '.join(map(repr, names))}: their identifying values or their rows agree."
            if names
            else ""
        )
        return f"{judgement.text}{hint} (Ledger {str(self._store.path)!r}.)"

    def _given(self, reading: ReadTransaction, dataset: str, people: Sequence[PersonFingerprints] = ()) -> list[Entry]:
        """All disclosures that count for a new one: those of the data set, and of the same people under other names."""
        namesakes = reading.namesakes(dataset)
        same_people = self._same_people(reading, namesakes, people)
        return [entry for number in (*namesakes, *same_people) for entry in self._rows(reading, number)]

    def _others(self, reading: ReadTransaction, dataset: str, kind: str) -> tuple[tuple[Entry, ...], bool]:
        """Return the entries of the data set and of others about the same people, without those of this ``kind`` of
        continuing disclosure; and whether there are any of the kind.
        """
        last = reading.last("datasets", "entries", "people")
        cached = self._beside.get((dataset, kind))
        if cached is None or cached[0] != last:
            own_names = [reading.name(number) for number in reading.namesakes(dataset)]
            counted = [entry for entry in self._given(reading, dataset) if entry.status != "withdrawn"]
            others = tuple(entry for entry in counted if entry.kind != kind or entry.dataset not in own_names)
            cached = self._beside[dataset, kind] = last, others, len(others) < len(counted)
        return cached[1:]

    def _position(self, reading: ReadTransaction, dataset: str, people: Sequence[PersonFingerprints] = ()) -> int:
        return sum(1 + (each.status == "withdrawn") for each in self._given(reading, dataset, people))

    def _same_people(
        self, reading: ReadTransaction, own: Sequence[int], people: Sequence[PersonFingerprints]
    ) -> list[int]:
        """Return the numbers of other data sets that seem to be about the same people, by their fingerprints."""
        cache_key = (tuple(own), tuple(people), reading.count("people"))
        if self._compared is None or self._compared[0] != cache_key:
            marks = [*people, *(mark for number in own for mark in self._people(reading, number))]
            others = [number for number in reading.numbers("datasets") if marks and number not in own]
            overlapping = [
                number
                for number in others
                if any(mark.overlaps(fingerprints) for fingerprints in self._people(reading, number) for mark in marks)
            ]
            self._compared = (cache_key, overlapping)
        return self._compared[1]

    def _people(self, reading: ReadTransaction, number: int) -> list[PersonFingerprints]:
        """Return the fingerprints by which the people of a data set are recognized."""
        return [
            PersonFingerprints(row["kind"], row["level"], struct.unpack(f">{len(row['marks']) // 8}Q", row["marks"]))
            for row in reading.rows("people", number)
        ]

    def _news(
        self, reading: ReadTransaction, owner: int, people: Sequence[PersonFingerprints]
    ) -> list[PersonFingerprints]:
        """Return the fingerprints of people of which more than a tenth of the hashes is new: a slowly changing table is
        not recorded each time.
        """
        known_marks = {
            (fingerprints.kind, mark) for fingerprints in self._people(reading, owner) for mark in fingerprints.hashes
        }
        return [
            fingerprints
            for fingerprints in people
            if 10 * sum((fingerprints.kind, mark) not in known_marks for mark in fingerprints.hashes)
            > len(fingerprints.hashes)
        ]

    def _know(self, writing: WriteTransaction, owner: int, people: Sequence[PersonFingerprints]) -> None:
        for new in self._news(writing, owner, people):
            marks = struct.pack(f">{len(new.hashes)}Q", *new.hashes)
            writing.add("people", owner, kind=new.kind, level=new.level, marks=marks, made=now())

    def _rows(self, reading: ReadTransaction, number: int) -> list[Entry]:
        return [self._entry(reading, row) for row in reading.rows("entries", number)]

    def _entry(self, reading: ReadTransaction, row: Row) -> Entry:
        """Return the entry of a row; unchanged rows share one object."""
        cached_row, entry = self._made.get(row["id"], (None, None))
        if entry is None or cached_row is not row:
            fields = {name: value for name, value in row.items() if name not in ("id", "dataset", "details")}
            name, details = reading.name(row["dataset"]), json.loads(row["details"])
            entry = Entry(dataset=name, details=details, place=self._store.place, **fields)
            self._made[row["id"]] = row, entry
        return entry

    def _find(self, reading: ReadTransaction, entry: PriorDisclosure) -> Row:
        """Return the row of an entry. Raises if the ledger does not have it."""
        for number in reading.namesakes(entry.dataset):
            for row in reading.rows("entries", number):
                if row["number"] == entry.number and reading.name(number) == entry.dataset:
                    return row
        raise LedgerError(f"The ledger {str(self._store.path)!r} has no {_called(entry)}.")

    def _as_it_stands(self, reading: ReadTransaction, entry: Entry) -> Entry:
        """Return an entry as the ledger has it now. Raises if its content differs."""
        current = self._entry(reading, self._find(reading, entry))
        if current.content != entry.content:
            raise LedgerError(
                f"{sentence_case(_called(entry))} has other content in the ledger {str(self._store.path)!r}. Nothing was changed."
            )
        return current

    def _not_withdrawn(self, reading: ReadTransaction, entry: Entry) -> Entry:
        """Return an entry as the ledger has it now. Raises if it was withdrawn."""
        current = self._as_it_stands(reading, entry)
        if current.status == "withdrawn":
            raise LedgerError(
                f"{sentence_case(_called(current))} was withdrawn {current.changed} ({current.reason}), so it cannot be published. Publish it again."
            )
        return current

    def _reserve(
        self,
        writing: WriteTransaction,
        owner: int,
        kind: str,
        content: str,
        note: str,
        details: dict[str, Any],
        certify: Certify,
    ) -> Entry:
        """Add an entry with the next number and the status reserved, certified; return it."""
        number = max((row["number"] for row in writing.rows("entries", owner)), default=0) + 1
        made = now()
        entry = Entry(
            dataset=writing.name(owner), kind=kind, number=number, content=content, made=made, status="reserved",
            details=details, note=note, changed=made, place=self._store.place,
        )  # fmt: skip
        certified = replace(entry, certificate=certify(entry))
        writing.add(
            "entries", owner, kind=kind, number=number, status="reserved", content=content, certificate=certified.certificate,
            note=note, details=json.dumps(details, sort_keys=True), made=made, changed=made, reason="",
        )  # fmt: skip
        return certified

    def _move(self, writing: WriteTransaction, entry: Entry, status: str, reason: str) -> Entry:
        moved = now()
        writing.change("entries", self._find(writing, entry)["id"], status=status, changed=moved, reason=reason)
        return replace(entry, status=status, changed=moved, reason=reason)  # type: ignore[arg-type]  # one of three words

    def _keep(self, writing: WriteTransaction, owner: int, entry: Entry, state: SeriesState) -> None:
        """Store the state of a series; refused if it was made from another version than the current one."""
        current = self._state(writing, owner, state.series)
        current_version = current.version if current is not None else None
        if current_version != state.follows:
            raise LedgerError(
                f"The series {state.series!r} of the data set {entry.dataset!r} is at version {current_version!r}, but this was made from {state.follows!r}. Nothing was "
                "published. Open the series again and start from there."
            )
        if any(
            row["series"] == state.series and row["version"] == state.version for row in writing.rows("states", owner)
        ):
            raise LedgerError(
                f"The version {state.version!r} of the series {state.series!r} was used before. Choose another name."
            )
        writing.add(
            "states", owner, series=state.series, version=state.version, entry=self._find(writing, entry)["id"],
            details=_kept_details(state),
        )  # fmt: skip

    def _state(self, reading: ReadTransaction, number: int, series: str) -> SeriesState | None:
        states = self._states(reading, number, series)
        return states[-1][0] if states else None

    def _states(self, reading: ReadTransaction, number: int, series: str) -> list[tuple[SeriesState, Entry]]:
        """Return the states of a series that are not withdrawn, with their entries, in order."""
        states = []
        for row in reading.rows("states", number):
            entry = self._entry(reading, reading.row("entries", row["entry"]))
            if row["series"] == series and entry.status != "withdrawn":
                stored = json.loads(row["details"])
                states.append((SeriesState(series, row["version"], stored["details"], stored["follows"]), entry))
        return states


def _kept_details(state: SeriesState) -> str:
    return json.dumps({"details": dict(state.details), "follows": state.follows}, sort_keys=True)


def _same(entries: Sequence[Entry], content: str, formerly: Callable[[], Sequence[str]]) -> Entry | None:
    """Return the entry, not withdrawn, that has this content; None if there is none.

    The former hashes are computed only if there are other entries.
    """
    valid = [entry for entry in entries if entry.status != "withdrawn"]
    former_hashes = () if not valid or any(entry.content == content for entry in valid) else formerly()
    return next((entry for entry in valid if entry.content in (content, *former_hashes)), None)


def _called(entry: PriorDisclosure) -> str:
    return f"{entry.kind} {entry.number} of the data set {entry.dataset!r}"
