"""A process that kills itself at one boundary of recording, saving and giving out. Tests look at what is left."""

import os
import signal
import sys

from reticent.ledger import Ledger, entries, store
from reticent.ledger import rollback_guard as newest


def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)


def record(path: str, boundary: str) -> None:
    """Reserve and give out, without anything to save."""
    if boundary == "new file":
        store.upgrade = die
    if boundary == "new file after the key":
        store.rows_to_seal = die
    if boundary == "update of the layout":
        store.WriteTransaction.seal = die
    ledger = Ledger(path)
    if boundary == "reserve before the commit":
        ledger.record("people", "a", die)
    if boundary == "reserve after the commit":
        newest.RollbackGuard.write = die
    entry = ledger.record("people", "a", lambda entry: "c")
    if boundary == "reserved":
        die()
    if boundary == "give out before the commit":
        move = entries.Entries._move
        entries.Entries._move = lambda *arguments: (move(*arguments), die())
    if boundary == "give out after the commit":
        newest.RollbackGuard.write = die
    if boundary == "withdraw after the commit":
        newest.RollbackGuard.write = die
        ledger.withdraw(entry, "never written")
    ledger.give_out(entry)
    die()


def save(path: str, boundary: str) -> None:
    """Publish a table and save it beside the ledger."""
    from reticent.base import files
    from reticent.definitions import KAnonymity
    from reticent.release import publish
    from tests.release.conftest import table_of_patients

    release = publish(table_of_patients(), KAnonymity(4), ledger=path)
    if boundary == "save before the rename":
        files._move = die
    if boundary == "save after the rename":
        Ledger.give_out = die
    release.save(os.path.join(os.path.dirname(path), "release"))
    die()


if __name__ == "__main__":
    {"record": record, "save": save}[sys.argv[1]](*sys.argv[2:])
