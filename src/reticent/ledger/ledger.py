"""The ledger as others use it: an open file with everything that was given out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

from reticent.errors import LedgerError, ReticentError
from reticent.exact import Number
from reticent.giving import Beside, Marks, SeriesState, Spending, alone
from reticent.ledger.answers import Answers
from reticent.ledger.audits import Audits
from reticent.ledger.budgets import Budget, Budgets
from reticent.ledger.entries import Certify, Entries, Entry
from reticent.ledger.place import LedgerPlace
from reticent.ledger.secret import Secret
from reticent.ledger.store import Store
from reticent.ledger.turns import Turns


@contextmanager
def given_out(entry: Entry | None) -> Iterator[None]:
    """Around the writing of what an entry reserved: a withdrawn one is refused before, and it counts as given out after."""
    if entry is None:
        yield
        return
    with Ledger(entry.place) as ledger:
        ledger.check(entry)
        yield
        ledger.give_out(entry)


@contextmanager
def withdrawn_if_unsaved(entry: Entry | None) -> Iterator[None]:
    """Around a command's own saving: what this command reserved and could not write is withdrawn, with the error as the reason."""
    try:
        yield
    except (ReticentError, OSError, KeyboardInterrupt) as error:
        if entry is not None and entry.new:
            with Ledger(entry.place) as ledger:
                ledger.withdraw(entry, f"It could not be saved: {error or type(error).__name__}")
        raise


class Ledger:
    """An open ledger. Every entry is on the disk when the call that wrote it returns.

    ``newest`` names a second place for the newest position, best on another disk: an older ledger is refused even if the whole folder was
    put back (also RETICENT_LEDGER_NEWEST). ``accept`` is the steward's reason to go on with an older one all the same: every data set gets an
    entry of kind ``restored``, since nobody knows what was given out after the backup.
    """

    def __init__(
        self,
        path: str | Path | LedgerPlace | None = None,
        *,
        newest: str | Path | None = None,
        timeout: float = 30.0,
        accept: str | None = None,
    ) -> None:
        self.place = path if isinstance(path, LedgerPlace) else LedgerPlace.of(path, newest)
        self._store = Store(self.place, timeout, accept=accept is not None)
        self.budgets = Budgets(self._store)
        self._entries = Entries(self._store, self.budgets)
        self.answers = Answers(self._store, self._entries)
        self.audits = Audits(self._store, self.budgets, self._entries)
        self.restored = self._accept(accept) if accept is not None and self._store.behind else ()

    def _accept(self, reason: str) -> tuple[Entry, ...]:
        if not reason.strip():
            raise LedgerError("Say why the older ledger is accepted: the reason stays on record.")
        with self._store.writing() as writing:
            details = {"behind": self._store.behind, "reason": reason.strip()}
            marked = tuple(self._entries.mark(writing, name, "restored", details) for name in writing.datasets)
        self._store.accept()
        return marked

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def secret(self) -> Secret:
        """The key beside the file."""
        return self._store.secret

    def record(
        self,
        dataset: str,
        content: str,
        certify: Certify,
        *,
        kind: str = "release",
        beside: Beside = alone,
        since: int | None = None,
        spend: Sequence[Spending] = (),
        state: SeriesState | None = None,
        details: Mapping[str, Any] | None = None,
        formerly: str | None = None,
        people: Sequence[Marks] = (),
    ) -> Entry:
        """Reserve an entry; see :meth:`reticent.ledger.entries.Entries.record`."""
        return self._entries.record(
            dataset,
            content,
            certify,
            kind=kind,
            beside=beside,
            since=since,
            spend=spend,
            state=state,
            details=details,
            formerly=formerly,
            people=people,
        )

    def check(self, entry: Entry) -> None:
        """Refuse an entry that is not there, or was withdrawn."""
        self._entries.check(entry)

    def give_out(self, entry: Entry) -> Entry:
        """Say that a reserved entry was written and is in the world."""
        return self._entries.give_out(entry)

    def withdraw(self, entry: Entry, reason: str) -> Entry:
        """Take back a reserved entry of which nothing was ever written, with the reason on record."""
        return self._entries.withdraw(entry, reason)

    def entries(self, dataset: str) -> list[Entry]:
        """All entries of a data set, first to last."""
        return self._entries.of(dataset)

    def datasets(self) -> list[str]:
        """The names of all data sets, first to last."""
        with self._store.reading() as reading:
            return reading.datasets

    def position(self, dataset: str, people: Sequence[Marks] = ()) -> int:
        """A number that rises with everything that is recorded or withdrawn about a data set."""
        return self._entries.position(dataset, people)

    def know(self, dataset: str, people: Sequence[Marks]) -> None:
        """Remember whom a data set is about, so that the same people are recognised under another name."""
        self._entries.know(dataset, people)

    def refusal(self, dataset: str, kind: str, beside: Beside = alone) -> str | None:
        """Why answers, grants or spendings (``kind``) may not go on beside what else was given out; None where they may."""
        return self._entries.refusal(dataset, kind, beside)

    @property
    def people_key(self) -> bytes:
        """The key of the marks of people."""
        return self.secret.derived("marks of people").key

    def state(self, dataset: str, series: str) -> SeriesState | None:
        """The true state of a series, None before the first."""
        return self._entries.state(dataset, series)

    def spend(
        self,
        dataset: str,
        budget: str,
        amount: Number,
        purpose: str = "",
        *,
        column: str | None = None,
        beside: Beside = alone,
    ) -> Budget:
        """Spend from a budget for something that is recorded nowhere else; an entry says that the data set has such spendings."""
        spending = Spending(budget, amount, purpose, column)
        with self._store.writing() as writing:
            self._entries.join(writing, dataset, "budget", beside)
            return self.budgets.spend_within(writing, dataset, spending)

    def turns(self, dataset: str) -> Turns:
        """The turns in which processes decide about a data set; close it after use."""
        return Turns(self._store.path, dataset, self._store.timeout)

    def close(self) -> None:
        """Let go of the file."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
