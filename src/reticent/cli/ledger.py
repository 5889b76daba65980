"""``reticent ledger``: the record of disclosures; withdraw entries that were never written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer
from reticent.cli.options import LedgerOption, add_group
from reticent.errors import LedgerError, PolicyError, did_you_mean

if TYPE_CHECKING:
    from reticent.ledger import Entry, Ledger

Newest = Annotated[
    Path | None,
    typer.Option(
        "--newest", help="The rollback guard: a second file with the newest position (RETICENT_LEDGER_NEWEST)."
    ),
]
Dataset = Annotated[str, typer.Argument(help="The name of the data set.")]
Reason = Annotated[str, typer.Option("--reason", help="The reason; it stays on record.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "ledger",
        "The record of disclosures of each data set; withdraw entries that were never written.",
        {"list": list_entries, "show": show, "budget": budget, "withdraw": withdraw, "accept": accept},
    )


def list_entries(ledger: LedgerOption = None, newest: Newest = None, as_json: Json = False) -> None:
    """List everything that was released or is reserved, by data set.

    Example: reticent ledger list
    """
    with _opened(ledger, newest) as book:
        entries = [entry for name in book.datasets() for entry in book.entries(name)]
        path = book.path
    rows = [
        (entry.dataset, entry.number, entry.kind, entry.status, entry.changed, entry.content[:12]) for entry in entries
    ]
    listed = CardTable(("data set", "number", "kind", "status", "since", "content"), rows)
    figures = {"ledger": path, "entries": [entry.as_dict() for entry in entries]}
    answer(PlainResult(figures, Card(f"Ledger {path}", tables=[listed])), as_json)


def show(dataset: Dataset, ledger: LedgerOption = None, newest: Newest = None, as_json: Json = False) -> None:
    """Show every entry of a data set: the earlier entries it was judged with, its hashes, and why it was withdrawn.

    Example: reticent ledger show patients
    """
    with _opened(ledger, newest) as book:
        ledger_entries = _entries(book, dataset)
    entries = [entry.as_dict() for entry in ledger_entries]
    drawn = [
        CardTable(
            ("", ""),
            [(name, value) for name, value in entry.items() if value not in ("", {})],
            f"{entry['kind']} {entry['number']} of {entry['dataset']}",
        )
        for entry in entries
    ]
    answer(PlainResult({"dataset": dataset, "entries": entries}, Card(f"Data set {dataset}", tables=drawn)), as_json)


def budget(
    dataset: Annotated[
        str | None, typer.Argument(help="The name of the data set; without it, all budgets are shown.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Set the total epsilon of the budget.")] = None,
    delta: Annotated[str, typer.Option("--delta", help="The total delta of the budget.")] = "0",
    unit: Annotated[str | None, typer.Option("--unit", help="The protected unit: row, person or household.")] = None,
    relation: Annotated[
        str | None,
        typer.Option("--relation", help="How neighbouring tables differ in one unit: replace, or add/remove."),
    ] = None,
    reason: Annotated[str, typer.Option("--reason", help="Why an existing budget is changed; it is recorded.")] = "",
    ledger: LedgerOption = None,
    newest: Newest = None,
    as_json: Json = False,
) -> None:
    """Show the privacy budget of a data set and what was spent of it; or set the budget.

    Example: reticent ledger budget patients --epsilon 3 --delta 1e-6 --unit person --relation replace
    """
    from reticent.base.privacy_cost import DeclaredBudget

    if epsilon is None:
        if delta != "0" or unit or relation or reason:
            raise PolicyError("Pass --epsilon, the total, to set a budget. Without options the budget is shown.")
        with _opened(ledger, newest) as book:
            found_accounts = book.accounts.all() if dataset is None else [book.accounts.of(dataset)]
    else:
        if dataset is None:
            raise PolicyError("Name the data set whose budget is to be set.")
        options = {"epsilon": epsilon, "delta": delta, "unit": unit, "relation": relation}
        declared = DeclaredBudget.of(
            {name: value for name, value in options.items() if value is not None}, "reticent ledger budget"
        )
        assert declared is not None
        with _opened(ledger, newest, make=True) as book:
            found_accounts = [book.accounts.declare(dataset, declared, reason)]
    accounts = {"accounts": [account.as_dict() for account in found_accounts]}
    if dataset is not None:
        answer(PlainResult.beside(found_accounts[0], accounts), as_json)
        return
    cards = [account.card() for account in found_accounts]
    title = f"{len(cards)} accounts" if cards else "No data set has a budget. The first noisy release sets one."
    tables = [
        part for card in cards for part in (CardTable(("", ""), list(card.facts.items()), card.title), *card.tables)
    ]
    answer(PlainResult(accounts, Card(title, tables=tables)), as_json)


def withdraw(
    dataset: Dataset,
    number: Annotated[int, typer.Argument(help="The entry's number, as listed.")],
    reason: Reason,
    ledger: LedgerOption = None,
    newest: Newest = None,
    as_json: Json = False,
) -> None:
    """Withdraw an entry that was reserved but never written. Only you can know that nothing of it was disclosed.

    Example: reticent ledger withdraw patients 2 --reason "the disk was full"
    """
    with _opened(ledger, newest) as book:
        entries = {entry.number: entry for entry in _entries(book, dataset)}
        if number not in entries:
            listed = ", ".join(map(str, entries))
            raise PolicyError(f"The data set {dataset!r} has no entry {number}. Its entries are {listed}.")
        withdrawn = book.withdraw(entries[number], reason)
    sentence = f"{withdrawn.kind} {withdrawn.number} of {withdrawn.dataset!r} is withdrawn: {withdrawn.reason}"
    answer(PlainResult.saying(sentence, withdrawn.as_dict()), as_json)


def accept(reason: Reason, ledger: LedgerOption = None, newest: Newest = None, as_json: Json = False) -> None:
    """Accept a ledger that was restored from a backup and is older than its last known state.

    Disclosures since the backup are unknown, so every data set gets an entry to that effect: further releases are
    refused unless allowed explicitly.

    Example: reticent ledger accept --reason "restored the backup of Monday"
    """
    with _opened(ledger, newest, accept=reason) as book:
        marked = book.restored
    sentence = (
        f"{len(marked)} data sets are marked: their disclosures since the backup are unknown."
        if marked
        else "The ledger is up to date; nothing was changed."
    )
    answer(PlainResult.saying(sentence, {"entries": [entry.as_dict() for entry in marked]}), as_json)


@contextmanager
def _opened(path: Path | None, newest: Path | None, accept: str | None = None, make: bool = False) -> Iterator[Ledger]:
    """Open an existing ledger. A missing one is created only if something is to be written (``make``)."""
    from reticent.ledger import Ledger, LedgerLocation

    location = LedgerLocation.of(path, newest)
    if not make and not location.path.exists():
        raise LedgerError(
            f"There is no ledger at {str(location.path)!r}. Name it with --ledger or RETICENT_LEDGER. The first publication creates it."
        )
    with Ledger(location, accept=accept) as book:
        yield book


def _entries(book: Ledger, dataset: str) -> Sequence[Entry]:
    """Return the entries of a data set. Raises if it has none."""
    entries = book.entries(dataset)
    if not entries:
        raise PolicyError(
            f"The ledger {str(book.path)!r} has no entry of a data set {dataset!r}.{did_you_mean(dataset, book.datasets())}"
        )
    return entries
