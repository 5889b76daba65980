"""Budgets: amounts of a data set, or of one of its columns, that can be spent once, by any user."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.base.disclosures import Spending
from reticent.base.exact import Number, exact
from reticent.errors import BudgetExhausted, LedgerError
from reticent.ledger.store import ReadTransaction, Store, WriteTransaction, now


@dataclass(frozen=True)
class Budget:
    """The state of a budget. ``column`` is None for the data set as a whole."""

    dataset: str
    column: str | None
    name: str
    total: Fraction
    spent: Fraction

    @property
    def left(self) -> Fraction:
        """The amount that may still be spent."""
        return self.total - self.spent


class Budgets:
    """The budgets of every data set. Amounts are exact fractions, and the sum of spendings never exceeds the total."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, dataset: str, name: str, total: Number, *, column: str | None = None) -> Budget:
        """Create a budget. Idempotent for the same total; raises for another one."""
        with self._store.writing() as writing:
            return self._open(writing, dataset, name, total, column)

    def spend_within(self, writing: WriteTransaction, dataset: str, spending: Spending) -> Budget:
        """Spend atomically, in the transaction that records what the amount was spent on. Raises if more than is left is requested."""
        if spending.total is not None:
            self._open(writing, dataset, spending.budget, spending.total, spending.column)
        elif spending.first is not None and self._row(writing, dataset, spending.budget, spending.column) is None:
            self._open(writing, dataset, spending.budget, spending.first, spending.column)
        amount = exact(spending.amount, f"The amount spent from budget {spending.budget!r}", low=0)
        number, budget = self._find(writing, dataset, spending.budget, spending.column)
        if amount > budget.left:
            raise BudgetExhausted(
                f"{_called(budget)} has {budget.left} of {budget.total} left, but {amount} was requested. Nothing was spent and nothing published."
            )
        spent = budget.spent + amount
        writing.change("budgets", number, spent=str(spent))
        writing.add(
            "spendings",
            writing.dataset(dataset),
            budget=number,
            amount=str(amount),
            purpose=spending.purpose,
            made=now(),
        )
        return Budget(dataset, spending.column, name=spending.budget, total=budget.total, spent=spent)

    def of(self, dataset: str, name: str, *, column: str | None = None) -> Budget:
        """The current state of a budget."""
        with self._store.reading() as reading:
            return self._find(reading, dataset, name, column)[1]

    def _open(self, writing: WriteTransaction, dataset: str, name: str, total: Number, column: str | None) -> Budget:
        """Return a budget, which is created if it is new. Raises if it exists with another total."""
        amount = exact(total, f"The total of budget {name!r}", low=0)
        owner = writing.dataset(dataset)
        if self._row(writing, dataset, name, column) is None:
            writing.add("budgets", owner, scope=_scope(column), name=name, total=str(amount), spent="0", made=now())
        _, budget = self._find(writing, dataset, name, column)
        if budget.total != amount:
            raise LedgerError(
                f"{_called(budget)} was set to {budget.total} and cannot become {amount}: what was published relied on the first total. "
                f"Continue with {budget.total}, of which {budget.left} is left."
            )
        return budget

    def _row(self, reading: ReadTransaction, dataset: str, name: str, column: str | None) -> tuple[int, Budget] | None:
        """Return a budget with the number of its row; None if it does not exist."""
        number = reading.known(dataset)
        for row in reading.rows("budgets", number) if number is not None else ():
            if (row["scope"], row["name"]) == (_scope(column), name):
                return row["id"], Budget(
                    dataset, column, name, total=Fraction(row["total"]), spent=Fraction(row["spent"])
                )
        return None

    def _find(self, reading: ReadTransaction, dataset: str, name: str, column: str | None) -> tuple[int, Budget]:
        """Return a budget with the number of its row. Raises if it does not exist."""
        row = self._row(reading, dataset, name, column)
        if row is None:
            where = f"column {column!r} of data set {dataset!r}" if column is not None else f"data set {dataset!r}"
            raise LedgerError(f"There is no budget {name!r} for {where}. Open it before anything is spent.")
        return row


def _scope(column: str | None) -> str:
    """The stored key of a column's budget, distinct from the whole data set's: a column may have any name, even an empty one."""
    return "data set" if column is None else f"column {column}"


def _called(budget: Budget) -> str:
    where = f", column {budget.column!r}" if budget.column is not None else ""
    return f"Budget {budget.name!r} of data set {budget.dataset!r}{where}"
