"""Budgets: amounts of a data set, or of one of its columns, that can be spent once, whoever spends them."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from fractions import Fraction

from reticent.errors import LedgerError
from reticent.exact import Number, exact
from reticent.ledger.store import Store, now


@dataclass(frozen=True)
class Budget:
    """A budget as it stands. ``column`` is None for the data set as a whole."""

    dataset: str
    column: str | None
    name: str
    total: Fraction
    spent: Fraction

    @property
    def left(self) -> Fraction:
        """What may still be spent."""
        return self.total - self.spent


class Budgets:
    """The budgets of every data set. Amounts are exact fractions, and the sum of what was spent never passes the total."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def open(self, dataset: str, name: str, total: Number, *, column: str | None = None) -> Budget:
        """Set a budget up. Setting the same one up again changes nothing; another total is refused."""
        amount = exact(total, f"The total of budget {name!r}", low=0)
        with self._store.writing() as connection:
            owner = self._store.dataset(connection, dataset)
            connection.execute(
                "INSERT OR IGNORE INTO budgets (dataset, scope, name, total, spent, made) VALUES (?, ?, ?, ?, '0', ?)",
                (owner, _scope(column), name, str(amount), now()),
            )
            _, budget = self._find(connection, dataset, name, column)
            if budget.total != amount:
                raise LedgerError(
                    f"{_called(budget)} was set to {budget.total} and cannot become {amount}: what was given out relied on the first total. "
                    f"Go on with {budget.total}, or use another name."
                )
            return budget

    def spend(self, dataset: str, name: str, amount: Number, purpose: str = "", *, column: str | None = None) -> Budget:
        """Spend from a budget, all or nothing; more than is left is refused."""
        with self._store.writing() as connection:
            return self.spend_within(connection, dataset, name, amount, purpose, column=column)

    def spend_within(
        self,
        connection: sqlite3.Connection,
        dataset: str,
        name: str,
        amount: Number,
        purpose: str = "",
        *,
        column: str | None = None,
    ) -> Budget:
        """Spend as part of a transaction that writes down, in the same step, what the amount was spent on."""
        asked = exact(amount, f"The amount spent from budget {name!r}", low=0)
        number, budget = self._find(connection, dataset, name, column)
        if asked > budget.left:
            raise LedgerError(
                f"{_called(budget)} has {budget.left} of {budget.total} left, and {asked} was asked for. Nothing was spent and nothing given out."
            )
        spent = budget.spent + asked
        connection.execute("UPDATE budgets SET spent = ? WHERE id = ?", (str(spent), number))
        connection.execute(
            "INSERT INTO spendings (budget, amount, purpose, made) VALUES (?, ?, ?, ?)",
            (number, str(asked), purpose, now()),
        )
        return Budget(dataset, column, name, budget.total, spent)

    def of(self, dataset: str, name: str, *, column: str | None = None) -> Budget:
        """The budget as it stands."""
        with self._store.reading() as connection:
            return self._find(connection, dataset, name, column)[1]

    def _find(self, connection: sqlite3.Connection, dataset: str, name: str, column: str | None) -> tuple[int, Budget]:
        row = connection.execute(
            "SELECT budgets.id, total, spent FROM budgets JOIN datasets ON datasets.id = budgets.dataset "
            "WHERE datasets.name = ? AND scope = ? AND budgets.name = ?",
            (dataset, _scope(column), name),
        ).fetchone()
        if row is None:
            where = f"column {column!r} of data set {dataset!r}" if column is not None else f"data set {dataset!r}"
            raise LedgerError(f"There is no budget {name!r} for {where}. Open it before anything is spent.")
        return row[0], Budget(dataset, column, name, Fraction(row[1]), Fraction(row[2]))


def _scope(column: str | None) -> str:
    """How the file tells a column's budget from the whole data set's: a column may have any name, even an empty one."""
    return "data set" if column is None else f"column {column}"


def _called(budget: Budget) -> str:
    where = f", column {budget.column!r}" if budget.column is not None else ""
    return f"Budget {budget.name!r} of data set {budget.dataset!r}{where}"
