"""Privacy accounts: one per data set, charged for every noisy release about its people, by any method.

An account has a *unit* (whose contribution is protected: a row, a person, a household), a *neighbour relation* (one
unit replaced, or one added or removed) and totals of epsilon and delta. Every release states its cost
(:class:`reticent.base.privacy_cost.PrivacyCost`), converted to the account's unit and relation; costs add up, and
nothing is published beyond the totals. A data set that is recognized as another one's people is charged to that one's
account.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.disclosures import PersonFingerprints
from reticent.base.privacy_cost import (
    Amounts,
    DeclaredBudget,
    LossBound,
    PrivacyCost,
    ProtectedUnit,
    Relation,
    concentrated_epsilon,
)
from reticent.errors import BudgetExhausted, LedgerError, PolicyError, did_you_mean
from reticent.ledger.store import ReadTransaction, Store, WriteTransaction, now

if TYPE_CHECKING:
    from reticent.ledger.ledger import Ledger
    from reticent.ledger.location import LedgerLocation

# A larger delta would buy a smaller epsilon with a weaker guarantee.
_CONVERTED = Fraction(1, 10**6)
_FIGURES = ("epsilon", "delta", "rho", "rho_delta")
# Budgets of ledgers without accounts, and purposes whose cost was for neighbours by add/remove.
_EARLIER = (("epsilon", "delta"), ("joint noise", "joint noise delta"))
_EARLIER_UNBOUNDED = ("a sample on a grid", "noisy counts of a grid")
# Noisy audited sums of earlier versions were charged to column budgets only; later ones are charged here, under another
# name.
_EARLIER_SUMS = re.compile("noisy sum of [0-9]+ people")


@dataclass(frozen=True)
class AccountCharge:
    """The cost of one release, in the account's unit and relation."""

    purpose: str
    loss: LossBound
    made: str
    once: str | None = None

    def figures(self) -> tuple[str, str, str]:
        """Epsilon, delta and rho for people."""
        return _short(self.loss.epsilon), _short(self.loss.delta), _short(self.loss.concentrated[0])

    def as_dict(self) -> dict[str, Any]:
        """The charge as plain data."""
        return {
            "purpose": self.purpose,
            "made": self.made,
            **{name: str(getattr(self.loss, name)) for name in _FIGURES},
        }


@dataclass(frozen=True, repr=False)
class Account(ShownAsCard):
    """The current state of a data set's account.

    *Guarantee*: all charged releases together are (``spent.epsilon``, ``spent.delta``)-indistinguishable for neighbours
    of one ``unit`` under ``relation``. Two figures hold, and ``spent`` is the smaller one. ``sum``: (sum of epsilon,
    sum of delta), by basic composition.
    ``concentrated``: the rhos add up, and so do their deltas ([Bun2016], section 8: composition of approximate
    zero-concentrated differential privacy); the rest of the total delta, at most 10^-6, converts the sum of rho into an
    epsilon.
    *Adversary*: knows everything but one unit. Releases whose parameters were chosen after seeing earlier noisy answers
    are covered too: a history ends within one of the two figures, so the total delta holds if all charges are pure
    (delta 0), and twice the total delta otherwise.
    """

    dataset: str
    unit: ProtectedUnit
    relation: Relation
    total: Amounts
    charges: tuple[AccountCharge, ...] = ()

    def card(self) -> Card:
        """Totals and charges."""
        facts: dict[str, object] = {"unit": self.unit, "neighbours": self.relation, **self.figures()}
        rows = [(charge.made, charge.purpose, *charge.figures()) for charge in self.charges]
        charges = CardTable(("since", "for", "epsilon", "delta", "rho"), rows, "Releases")
        return Card(f"Account of {self.dataset!r}", facts, tables=[charges])

    @property
    def ok(self) -> bool:
        """True: an account is never overdrawn."""
        return True

    def figures(self) -> dict[str, str]:
        """What was spent of the totals, and the two figures behind it, for people."""
        concentrated = self.concentrated
        return {
            "epsilon": _of(self.spent.epsilon, self.total.epsilon),
            "delta": _of(self.spent.delta, self.total.delta),
            "sum": _figure(self.sum),
            "concentrated": "no delta left for it" if concentrated is None else _figure(concentrated),
        }

    @cached_property
    def sum(self) -> Amounts:
        """The total by basic composition."""
        losses = [loss.loss for loss in self.charges]
        return Amounts(
            sum((loss.epsilon for loss in losses), Fraction(0)), sum((loss.delta for loss in losses), Fraction(0))
        )

    @cached_property
    def concentrated(self) -> Amounts | None:
        """The total by zero-concentrated composition, with a delta of at most 10^-6 for conversion; None if no delta is left for that."""
        figures = [charge.loss.concentrated for charge in self.charges]
        beside = sum((delta for _, delta in figures), Fraction(0))
        free = min(self.total.delta - beside, _CONVERTED)
        if free <= 0:
            return None
        return Amounts(concentrated_epsilon(sum((rho for rho, _ in figures), Fraction(0)), free), beside + free)

    @property
    def spent(self) -> Amounts:
        """The smaller proven figure; of two, the one within the totals."""
        figures = [self.sum] if self.concentrated is None else [self.sum, self.concentrated]
        fitting = [figure for figure in figures if figure.within(self.total)] or figures
        return min(fitting, key=lambda each: each.epsilon)

    @property
    def left(self) -> Amounts:
        """The totals minus ``spent``."""
        spent, none = self.spent, Fraction(0)
        return Amounts(max(self.total.epsilon - spent.epsilon, none), max(self.total.delta - spent.delta, none))

    def with_charge(self, charge: AccountCharge) -> Account:
        """The account after one more charge. Raises :class:`BudgetExhausted` if that exceeds its totals."""
        after = replace(self, charges=(*self.charges, charge))
        if after.spent.within(self.total):
            return after
        left, loss = self.left, charge.loss
        short = "epsilon" if after.sum.epsilon > self.total.epsilon else "delta"
        raise BudgetExhausted(
            f"The account of data set {self.dataset!r} cannot pay for {charge.purpose}: its {short} runs out. It has epsilon {_short(left.epsilon)} of {_short(self.total.epsilon)} and delta "
            f"{_short(left.delta)} of {_short(self.total.delta)} left, for one {self.unit} and neighbours by {self.relation}; this costs epsilon {_short(loss.epsilon)} and delta {_short(loss.delta)}. "
            "Nothing was charged and nothing published: more noisy answers about these people, under whatever name, would disclose more than was declared."
        )

    def as_dict(self) -> dict[str, Any]:
        """The account as plain data."""
        figures = {"total": self.total, "spent": self.spent, "left": self.left, "sum": self.sum}
        return {
            "dataset": self.dataset,
            "unit": self.unit,
            "relation": self.relation,
            **{name: _plain(figure) for name, figure in figures.items()},
            "concentrated": None if self.concentrated is None else _plain(self.concentrated),
            "charges": [charge.as_dict() for charge in self.charges],
        }


class Accounts:
    """The accounts of all data sets."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, dataset: str) -> Account:
        """The account of a data set. Raises :class:`LedgerError` if it has none."""
        with self._store.reading() as reading:
            for number in reading.namesakes(dataset):
                existing = self._account(reading, number)
                if existing is not None:
                    return existing
            names = [name for name in reading.datasets if self._account(reading, reading.known(name) or 0) is not None]
        raise LedgerError(
            f"The ledger {str(self._store.path)!r} has no account of a data set {dataset!r}.{did_you_mean(dataset, names)} The first noisy release opens it, or: reticent ledger budget "
            f"{dataset} --epsilon 3 --delta 1e-6"
        )

    def all(self) -> list[Account]:
        """Every account, in the order in which their data sets were first recorded."""
        with self._store.reading() as reading:
            accounts = [self._account(reading, number) for number in reading.numbers("datasets")]
        return [each for each in accounts if each is not None]

    def declare(self, dataset: str, budget: DeclaredBudget, reason: str = "") -> Account:
        """Open the account of a data set before its first noisy release; or change its totals, with a ``reason`` that stays on record."""
        with self._store.writing() as writing:
            owner = writing.dataset(dataset)
            existing = self._account(writing, owner)
            if existing is None:
                return self._open(writing, owner, budget, "row", "replace")
            self._check_same(existing, replace(budget, total=existing.total))
            if budget.total == existing.total:
                return existing
            if not reason.strip():
                raise LedgerError(
                    f"The account of data set {dataset!r} has the totals {_figure(existing.total)}, and releases were made within them. Other totals are the steward's decision: pass a reason, which stays on "
                    "record (--reason)."
                )
            self._write(writing, owner, replace(existing, total=budget.total), reason.strip())
            return replace(existing, total=budget.total)

    def charge_within(
        self,
        writing: WriteTransaction,
        owner: int,
        others: Sequence[int],
        cost: PrivacyCost,
        budget: DeclaredBudget | None,
        entry: int | None = None,
        opening: DeclaredBudget | None = None,
    ) -> list[Account]:
        """Charge a release atomically, in the transaction that records it: to the account of its data set and to those of
        ``others`` about the same people.

        A missing account is opened: with the declared ``budget``, with that of the ``opening`` if none was declared, or
        with totals that this release spends entirely. A charge for an ``entry`` that is withdrawn, because nothing of
        it was ever written, no longer counts.
        """
        owners = {number: self._account(writing, number) for number in (owner, *others)}
        existing = {number: account for number, account in owners.items() if account is not None}
        if not existing and not cost.losses:
            return []
        if not existing:
            loss = cost.losses[cost.relation]
            opened = budget or opening or DeclaredBudget(Amounts(loss.epsilon, loss.delta))
            if budget is not None:
                relation, unit = budget.relation or cost.relation, budget.unit or cost.unit
                cost.under(unit, relation)
            existing = {owner: self._open(writing, owner, opened, cost.unit, cost.relation)}
        charged = []
        for number, account in existing.items():
            if budget is not None:
                self._check_same(account, budget)
            charged.append(self._charge(writing, number, account, cost, entry))
        return charged

    def _charge(
        self, writing: WriteTransaction, number: int, account: Account, cost: PrivacyCost, entry: int | None
    ) -> Account:
        """Charge an account with a cost, and return it; a cost that counts once is not charged again unless it is larger."""
        loss = cost.under(account.unit, account.relation)
        losses = [
            charge_made.loss
            for charge_made in account.charges
            if cost.once is not None and charge_made.once == cost.once
        ]
        if any(known_loss.epsilon >= loss.epsilon and known_loss.delta >= loss.delta for known_loss in losses):
            return account
        charge = AccountCharge(cost.purpose, loss, now(), cost.once)
        after = account.with_charge(charge)
        if not writing.rows("accounts", number):
            # The spending of an earlier version becomes an account with the first charge.
            self._write(writing, number, account, "")
        figures = {name: str(getattr(loss, name)) for name in _FIGURES}
        writing.add(
            "charges", number, purpose=cost.purpose, once=cost.once or "", entry=entry, made=charge.made, **figures
        )
        return after

    def _open(
        self, writing: WriteTransaction, owner: int, budget: DeclaredBudget, unit: ProtectedUnit, relation: Relation
    ) -> Account:
        """Create an account with its budget."""
        opened = Account(writing.name(owner), budget.unit or unit, budget.relation or relation, budget.total)
        self._write(writing, owner, opened, "")
        return opened

    def _write(self, writing: WriteTransaction, owner: int, account: Account, reason: str) -> None:
        """Add a row with the total budget of a data set's account, and the ``reason``."""
        totals = {name: str(account.total[name]) for name in account.total}
        writing.add(
            "accounts", owner, unit=account.unit, relation=account.relation, reason=reason, made=now(), **totals
        )

    def _check_same(self, account: Account, budget: DeclaredBudget) -> None:
        """Raise if a declaration differs from the account."""
        declared = {"total": budget.total, "unit": budget.unit, "relation": budget.relation}
        for name, declared_value in declared.items():
            recorded = getattr(account, name)
            if declared_value is not None and declared_value != recorded:
                declared_text, recorded_text = (
                    _figure(value) if isinstance(value, Amounts) else repr(value)
                    for value in (declared_value, recorded)
                )
                raise LedgerError(
                    f"The account of data set {account.dataset!r} has the {name} {recorded_text}, which a release cannot change to {declared_text}: what was published relied on it. Declare {recorded_text}, or nothing"
                    + (
                        f"; other totals: reticent ledger budget {account.dataset!r} --epsilon ... --reason ..."
                        if name == "total"
                        else ""
                    )
                    + "."
                )

    def _account(self, reading: ReadTransaction, number: int) -> Account | None:
        """Return the account of a data set with all charges that were not withdrawn; None if it has none."""
        rows = reading.rows("accounts", number)
        charges = tuple(
            AccountCharge(
                row["purpose"], LossBound(*(Fraction(row[name]) for name in _FIGURES)), row["made"], row["once"] or None
            )
            for row in reading.rows("charges", number)
            if row["entry"] is None or reading.row("entries", row["entry"])["status"] != "withdrawn"
        )
        earlier = self._earlier(reading, number)
        if not rows:
            return earlier
        newest = rows[-1]
        earlier_charges = () if earlier is None else earlier.charges
        unit, relation = cast(ProtectedUnit, newest["unit"]), cast(Relation, newest["relation"])
        total = Amounts(Fraction(newest["epsilon"]), Fraction(newest["delta"]))
        return Account(reading.name(number), unit, relation, total, charges=(*earlier_charges, *charges))

    def _earlier(self, reading: ReadTransaction, number: int) -> Account | None:
        """The spending of an earlier version from budgets of epsilon and delta, as an account of replaced rows; None if
        there was none.

        Those budgets summed neighbours of both relations alike: here costs by add/remove count twice.
        """
        budgets = {row["name"]: row for row in reading.rows("budgets", number) if row["scope"] == "data set"}
        total, charges = [Fraction(0), Fraction(0)], []
        sums = [
            spending for spending in reading.rows("spendings", number) if _EARLIER_SUMS.fullmatch(spending["purpose"])
        ]
        if sums:
            columns = [row for row in reading.rows("budgets", number) if row["scope"] != "data set"]
            total[0] = sum((Fraction(row["total"]) for row in columns), Fraction(0))
            loss = LossBound(sum((Fraction(spending["amount"]) for spending in sums), Fraction(0)))
            charges.append(AccountCharge("noisy sums of earlier versions", loss, sums[0]["made"]))
        for names in _EARLIER:
            amounts = {purpose: [Fraction(0), Fraction(0)] for purpose in (True, False)}
            for index, name in enumerate(names):
                if name in budgets:
                    total[index] += Fraction(budgets[name]["total"])
                    for row in reading.rows("spendings", number):
                        if row["budget"] == budgets[name]["id"]:
                            amounts[row["purpose"] in _EARLIER_UNBOUNDED][index] += Fraction(row["amount"])
            for unbounded, (epsilon, delta) in amounts.items():
                if epsilon or delta:
                    loss = LossBound(epsilon, delta).times(2 if unbounded else 1)
                    charges.append(AccountCharge(f"{names[0]} of earlier versions", loss, budgets[names[0]]["made"]))
        if not charges:
            return None
        return Account(reading.name(number), "row", relation="replace", total=Amounts(*total), charges=tuple(charges))


def account(dataset: str, ledger: str | Path | LedgerLocation | Ledger | None = None) -> Account:
    """The account of a data set in a ledger (default: the user's own): its unit, relation, totals, what was spent and what is left.

    >>> rt.ledger.account("patients").left.epsilon  # doctest: +SKIP
    Fraction(2, 1)
    """
    from reticent.ledger.ledger import Ledger
    from reticent.ledger.location import LedgerLocation

    if isinstance(ledger, Ledger):
        return ledger.accounts.of(dataset)
    location = ledger if isinstance(ledger, LedgerLocation) else LedgerLocation.of(ledger)
    if not location.path.exists():
        raise LedgerError(f"There is no ledger at {str(location.path)!r}, so no data set has an account.")
    with Ledger(location) as book:
        return book.accounts.of(dataset)


def nameless(people: Sequence[PersonFingerprints]) -> str:
    """The account name of an unnamed table: a keyed hash of its people."""
    marks = sorted((person.kind, person.hashes) for person in people)
    return f"unnamed table {hashlib.sha256(repr(marks).encode()).hexdigest()[:12]}"


def require_recognisable(people: Sequence[PersonFingerprints]) -> None:
    """Raise for a noisy release of an unnamed table whose people leave no mark: its cost could not be tracked."""
    if not people:
        raise PolicyError(
            "A noisy release is charged to the account of its data set. This table has no name, and its rows are too few, or too many, to be recognized. Pass dataset= to the table; nothing was published."
        )


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _of(spent: Fraction, total: Fraction) -> str:
    return f"{_short(spent)} of {_short(total)} spent"


def _figure(amounts: Amounts) -> str:
    return f"epsilon {_short(amounts.epsilon)}, delta {_short(amounts.delta)}"


def _plain(amounts: Amounts) -> dict[str, str]:
    return {name: str(amounts[name]) for name in amounts}
