"""Comparison of noise mechanisms at several epsilons: the expected error of their plans and, for the steward, the measured error of a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.exact import Number
from reticent.core import Draft
from reticent.definitions import BoundedDP, ExpectedError, Method, RandomMechanism, UnboundedDP
from reticent.errors import PolicyError
from reticent.table import Table

STEWARD_ONLY = (
    "Measured errors were computed from the records themselves, on samples that were not charged to a budget. They are for the steward alone: nothing was charged, recorded or published, and publishing one of them, "
    "or a choice that only they explain, discloses something about the records that no epsilon covers. Choose by the expected errors where the choice itself must be private."
)
_ERROR = "error of "


@dataclass(frozen=True)
class ComparedDraw:
    """One method at one epsilon: the expected error of its plan, and the measured error of one sample if requested."""

    method: str
    epsilon: Number
    expected: ExpectedError
    measured: Mapping[str, float] | None

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        measured = None if self.measured is None else dict(self.measured)
        return {
            "method": self.method,
            "epsilon": str(self.epsilon),
            "expected": dict(self.expected.figures),
            "measured": measured,
        }


@dataclass(frozen=True, repr=False)
class ErrorComparison(ShownAsCard):
    """Every method at every epsilon, in the order in which they were given."""

    draws: tuple[ComparedDraw, ...]

    ok = True

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {"draws": [draw.as_dict() for draw in self.draws]}

    def card(self) -> Card:
        """Summarise for display: a row for each method and epsilon, with the largest expected error of a marginal and the measured errors."""
        names = list(dict.fromkeys(name for comparison in self.draws for name in comparison.measured or {}))
        rows = []
        for comparison in self.draws:
            shares = [figure for name, figure in comparison.expected.figures.items() if name.startswith(_ERROR)]
            expected = f"{max(shares):.2%}" if shares else comparison.expected.words
            measured_figures = [
                f"{comparison.measured[name]:.2%}" if comparison.measured and name in comparison.measured else ""
                for name in names
            ]
            rows.append((comparison.method, str(comparison.epsilon), expected, *measured_figures))
        headings = ("method", "epsilon", "expected, worst column", *(name.replace("_", " ") for name in names))
        tables = [CardTable(headings, rows)]
        by_column = self._errors_by_column()
        if by_column:
            titles = ("column", *(f"{comparison.method}, {comparison.epsilon}" for comparison in self.draws))
            tables.append(CardTable(titles, by_column, "Share of the records that noise is expected to move"))
        return Card("Errors compared", tables=tables, notes=[STEWARD_ONLY] if names else [])

    def _errors_by_column(self) -> list[tuple[str, ...]]:
        """Return the rows of a table: a column of the data, and the expected error of its marginal by method and epsilon."""
        expected = [comparison.expected.figures for comparison in self.draws]
        names = dict.fromkeys(name for figures in expected for name in figures if name.startswith(_ERROR))
        return [
            (
                name.removeprefix(_ERROR),
                *(f"{figures[name]:.2%}" if name in figures else "" for figures in expected),
            )
            for name in names
        ]


def compare(
    table: Table,
    epsilons: Sequence[Number],
    methods: Mapping[str, Method],
    *,
    delta: Number = "1e-6",
    relation: str = "add/remove",
    measure: bool = False,
    context: Context | None = None,
) -> ErrorComparison:
    """Compare ``methods`` at several ``epsilons`` before any budget is spent.

    Expected errors follow from plans, declared cells and the number of records. With ``measure`` each method is sampled once for the steward: no release is made, nothing is charged, and the result
    states that it must not be published.
    """
    if not methods or not epsilons:
        raise PolicyError(
            "compare needs at least one epsilon and one method, such as {'mst': rt.Marginals('mst', domain)}."
        )
    definition = UnboundedDP if relation == "add/remove" else BoundedDP
    context = context or Context()
    draws: list[ComparedDraw] = []
    for epsilon in epsilons:
        for name, method in methods.items():
            requested = definition(epsilon, delta)
            refusal = method.refusal(table, requested)
            if refusal is not None or not isinstance(method, RandomMechanism):
                raise PolicyError(f"{name}: {refusal or 'it adds no noise by a plan, so that no error is expected.'}")
            context.step("comparing", len(draws), len(epsilons) * len(methods), name)
            draft: Draft | None = method.draft(table, requested, context) if measure else None
            measured = None if draft is None else draft.measured
            draws.append(ComparedDraw(name, epsilon, method.expected_error(table, requested), measured))
    return ErrorComparison(tuple(draws))
