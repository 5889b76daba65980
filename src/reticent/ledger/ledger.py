"""The ledger as others use it: an open file with its releases, views, answers, budgets and audited decisions."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from reticent.ledger.audits import Audits
from reticent.ledger.budgets import Budgets
from reticent.ledger.place import ledger_path
from reticent.ledger.records import Answers, Views
from reticent.ledger.releases import Releases
from reticent.ledger.store import Store
from reticent.ledger.turns import Turns


class Ledger:
    """An open ledger. Every entry is on the disk when the call that wrote it returns."""

    def __init__(self, path: str | Path | None = None, *, timeout: float = 30.0) -> None:
        self._store = Store(ledger_path(path), timeout)
        self.releases = Releases(self._store)
        self.views = Views(self._store)
        self.answers = Answers(self._store)
        self.budgets = Budgets(self._store)
        self.audits = Audits(self._store, self.budgets)

    @property
    def path(self) -> Path:
        """The file."""
        return self._store.path

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
