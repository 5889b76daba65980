"""The privacy unit with its maximum number of records, and the total budget of all noisy steps under a definition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from reticent.base.privacy_cost import LossBound, PrivacyCost, ProtectedUnit, Relation, concentrated_rho
from reticent.definitions import BoundedDP, ConcentratedDP, Definition, UnboundedDP
from reticent.noise import ComposedPlan, Currency
from reticent.table import Table

KEPT = (UnboundedDP, BoundedDP, ConcentratedDP)
_CONVERTED = Fraction(1, 10**6)


@dataclass(frozen=True)
class DPTarget:
    """The budget of all steps together: at most ``total`` in a ``currency`` (epsilon or rho), for neighbours by a ``relation``; ``delta`` for the conversion, and ``failure`` for steps that have their own delta."""

    currency: Currency
    total: Fraction
    relation: Relation
    delta: Fraction
    failure: Fraction = Fraction(0)

    @classmethod
    def of(cls, definition: Definition, failing: bool = False) -> DPTarget:
        """The budget that satisfies a definition: in rho (Gaussian noise) where it allows a delta, otherwise in epsilon (Laplace noise).

        With ``failing``, for queries such as thresholds that may fail with a small probability, half of delta is set aside for them.
        """
        if isinstance(definition, ConcentratedDP):
            return cls("rho", definition.amount, definition.relation, _CONVERTED)
        assert isinstance(definition, UnboundedDP | BoundedDP)
        epsilon, delta = definition.amounts
        relation: Relation = "add/remove" if isinstance(definition, UnboundedDP) else "replace"
        if not delta:
            return cls("epsilon", epsilon, relation, delta)
        failure = delta / 2 if failing else Fraction(0)
        return cls("rho", concentrated_rho(epsilon, delta - failure), relation, delta - failure, failure)


@dataclass(frozen=True)
class ProtectedRecords:
    """The privacy ``unit`` and the maximum number of its records that are counted (``most``). Both are declared, never inferred from the records: noise that depends on the data would disclose them."""

    unit: ProtectedUnit
    most: int

    @classmethod
    def of(cls, table: Table, asked: ProtectedUnit | None) -> ProtectedRecords:
        """The requested unit (``asked``), or that of the table; a table that bounds the records per key protects people, whether or not anyone has several records."""
        unit: ProtectedUnit = asked or table.unit
        if asked is None and unit == "row" and table.key is not None and table.rows_per_person is not None:
            unit = "person"
        return cls(unit, 1 if unit == "row" else int(table.rows_per_person or 1))

    def refusal(self, table: Table, method: str) -> str | None:
        """Return why noise cannot protect a unit of the table, or None.

        Which records the table keeps of a person with too many depends on these alone, so one person more or less changes at most ``most`` kept records. For any other unit it would not hold: with one
        record less, others of the same person may be kept.
        """
        if table.rows_per_person is not None and (table.key_found or (table.key is None and table.household is None)):
            return (
                "rows_per_person= bounds the records of each person, and noise depends on it, so the column that identifies people must be declared, not found in the records: give the table key=, or "
                "household=."
            )
        if self.unit == "row" and table.rows_per_person is not None:
            return (
                f"The table keeps at most {table.rows_per_person} records of each person, and which ones depends on that person's other records, so noise for single records would not hide one. Omit "
                f"{method}(unit='row'), or give the table no rows_per_person=."
            )
        if self.unit == "row":
            return None
        if self.unit == "person" and table.key is None and table.household is not None and table.rows_per_person:
            return "rows_per_person= bounds the records of each household here. Protect households, or give the table key=, the column that identifies people."
        if self.unit == "household" and table.key is not None and (table.several_rows or table.rows_per_person):
            return "A household may have any number of records. Give the table its household column and rows_per_person= without key=, which then bounds the records of a household."
        if table.several_rows and table.rows_per_person is None:
            return (
                f"A {self.unit} of this table may have any number of records, and noise can hide a bounded number only. Give the table rows_per_person=, so that at most so many records of each are "
                f"counted, or protect single records with {method}(unit='row')."
            )
        return None

    def total(self, table: Table, relation: Relation) -> int | None:
        """The number of records if it is the same in neighbouring tables (one record per unit, replaced by another) and may be published; else None."""
        return table.frame.height if relation == "replace" and self.most == 1 else None

    def words(self) -> str:
        """A description of the protected unit."""
        if self.most > 1:
            return f"all records of one {self.unit}, of whom at most {self.most} are counted, evenly spread over the {self.unit}'s own records in the order of the table"
        return "one record" if self.unit == "row" else f"the record of one {self.unit}"


def unfit(table: Table, definition: Definition, records: ProtectedRecords, method: str) -> str | None:
    """Return why a method that counts records with noise cannot satisfy the definition for a unit of the table, or None."""
    if not isinstance(definition, KEPT):
        return f"{method} keeps UnboundedDP, BoundedDP or ConcentratedDP, not {definition}. Choose a grouping method for that."
    if table.weight is not None:
        return f"{method} counts records, and this table has weights. Publish it without weight=, or repeat records by their weights before."
    if table.nulls == "drop":
        return "The table drops records with missing values, which depends on the data. Set nulls='category'."
    return records.refusal(table, method)


def account_cost(
    plan: ComposedPlan, target: DPTarget, records: ProtectedRecords, purpose: str, total: int | None
) -> PrivacyCost:
    """The cost of a release to the privacy account; if the number of records is published, add/remove neighbours have no finite bound."""
    other: Relation = "replace" if target.relation == "add/remove" else "add/remove"
    relations = (target.relation,) if total is not None else (target.relation, other)
    losses: dict[Relation, LossBound] = {relation: plan.loss(relation, target.delta) for relation in relations}
    return PrivacyCost(purpose, losses, records.unit)
