"""The public interface of the ledger: an open file with all disclosures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from reticent.base.disclosures import PriorCheck, Spending, alone
from reticent.base.exact import Number
from reticent.errors import LedgerError, ReticentError
from reticent.ledger.answers import Answers
from reticent.ledger.audits import Audits
from reticent.ledger.budgets import Budget
from reticent.ledger.entries import Entries, Entry
from reticent.ledger.location import LedgerLocation
from reticent.ledger.lock import DatasetLock
from reticent.ledger.secret import Secret
from reticent.ledger.store import Store


@contextmanager
def opened(location: LedgerLocation | None, book: Ledger | None = None) -> Iterator[Ledger]:
    """The ledger at a path (default: the user's own): ``book``, which stays open, or one that is opened and closed."""
    if book is not None:
        yield book
        return
    with Ledger(location) as opened_book:
        yield opened_book


@contextmanager
def given_out(entry: Entry | None, book: Ledger | None = None) -> Iterator[None]:
    """Wraps the writing of what an entry reserved: raises for a withdrawn entry before, and marks it as published after."""
    if entry is None:
        yield
        return
    with opened(entry.place, book) as ledger:
        ledger.check(entry)
        yield
        try:
            ledger.give_out(entry)
        except LedgerError as error:
            message = str(error).removesuffix(" Nothing was published.")
            raise LedgerError(
                f"The files were written, but the ledger could not record their publication; they stay reserved. {message}"
            ) from error


@contextmanager
def withdrawn_if_unsaved(entry: Entry | None, folder: Path, book: Ledger | None = None) -> Iterator[None]:
    """Wraps a command's own saving: what this command reserved and could not write is withdrawn, with the error as the
    reason.

    If ``folder`` already exists, the reservation stays, whatever failed after it was written: others may have read it.
    """
    try:
        yield
    except (ReticentError, OSError, KeyboardInterrupt) as error:
        if entry is not None and entry.new and not (folder / "public").exists():
            with opened(entry.place, book) as ledger:
                ledger.withdraw(entry, f"It could not be saved: {error or type(error).__name__}")
        raise


class Ledger(Entries):
    """An open ledger: its entries, budgets, answers and audits. Every entry is on disk when the call that wrote it
    returns.

    ``newest`` names a second path for the newest position, best on another disk: an older ledger is then rejected even
    if the whole folder was restored (also RETICENT_LEDGER_NEWEST). ``accept`` is the steward's reason to continue with
    an older one: every data set gets an entry of kind ``restored``, since disclosures after the backup are unknown.
    """

    def __init__(
        self,
        path: str | Path | LedgerLocation | None = None,
        *,
        newest: str | Path | None = None,
        timeout: float = 30.0,
        accept: str | None = None,
    ) -> None:
        """Open the ledger at ``path`` (default: the user's own), created if there is none.

        ``newest`` is a second file for the newest position, ``timeout`` how many seconds to wait for other processes;
        ``accept`` is the reason for accepting a restored ledger that is behind.
        """
        self.place = path if isinstance(path, LedgerLocation) else LedgerLocation.of(path, newest)
        super().__init__(Store(self.place, timeout, accept=accept is not None))
        self.answers = Answers(self._store, self)
        self.audits = Audits(self._store, self)
        self.restored = self._accept(accept) if accept is not None and self._store.behind else ()

    def _accept(self, reason: str) -> tuple[Entry, ...]:
        """Accept a restored ledger, and mark every data set: its disclosures since the backup are unknown."""
        if not reason.strip():
            raise LedgerError("Pass a reason for accepting the older ledger: it stays on record.")
        with self._store.writing() as writing:
            details = {"behind": self._store.behind, "reason": reason.strip()}
            marked = tuple(self.mark(writing, name, "restored", details) for name in writing.datasets)
        self._store.accept()
        return marked

    @property
    def path(self) -> Path:
        """The file."""
        return self.place.path

    @property
    def secret(self) -> Secret:
        """The key file next to the ledger."""
        return self._store.secret

    def datasets(self) -> list[str]:
        """The names of all data sets, first to last."""
        with self._store.reading() as reading:
            return reading.datasets

    @property
    def people_key(self) -> bytes:
        """The key of people's marks."""
        return self.secret.derived("marks of people").key

    def spend(
        self,
        dataset: str,
        budget: str,
        amount: Number,
        purpose: str = "",
        *,
        column: str | None = None,
        beside: PriorCheck = alone,
    ) -> Budget:
        """Spend from a budget for something that is recorded nowhere else; an entry records that the data set has such spendings."""
        return self.pay(dataset, [Spending(budget, amount, purpose, column)], beside=beside)[0]

    def pay(self, dataset: str, spend: Sequence[Spending], *, beside: PriorCheck = alone) -> list[Budget]:
        """Spend from several budgets, atomically."""
        with self._store.writing() as writing:
            self.join(writing, dataset, "budget", beside)
            return [self.budgets.spend_within(writing, dataset, each) for each in spend]

    def turns(self, dataset: str) -> DatasetLock:
        """The lock under which processes decide about a data set; close it after use."""
        return DatasetLock(self._store.path, dataset, self._store.timeout)

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
