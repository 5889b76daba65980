"""The sum auditor in rational arithmetic, for small sessions and as the reference of the fast one. Source: [Chin1986]; [Kenthapadi2005]."""

from __future__ import annotations

from copy import deepcopy
from fractions import Fraction

from reticent.audit.decision import AggregateQuery, Decision
from reticent.audit.reasons import EXPOSES, IMPLIED, SAFE
from reticent.audit.trace import Refinement, Traces

Row = dict[int, Fraction]


class ExactSums:
    """Answered linear queries as a reduced row echelon form over trace classes, in fractions.

    *Guarantee*: a unit vector is in the row space iff it is a row of the reduced form, so the answers determine no
    value as long as no row is supported on one class of one person. Answers are never used.

    *Cost*: O(rank * classes) fractions per decision, for up to a few hundred answered queries.
    """

    def __init__(self, n: int) -> None:
        self.traces = Traces(n)
        self._rows: dict[int, Row] = {}

    @property
    def n(self) -> int:
        return self.traces.n

    @property
    def rank(self) -> int:
        """The number of independent answered queries."""
        return len(self._rows)

    def decide(self, query: AggregateQuery) -> Decision:
        """Decide whether no value would be determined; does not change the state."""
        refinement = self.traces.refine(query)
        trial = deepcopy(self)
        trial._add(refinement)
        if trial.rank == self.rank:
            return IMPLIED
        single_columns = (row for row in trial._rows.values() if len(row) == 1)
        return EXPOSES if any(trial.traces.sizes[next(iter(row))] == 1 for row in single_columns) else SAFE

    def remember(self, query: AggregateQuery) -> None:
        """Record that ``query`` was answered."""
        self._add(self.traces.refine(query))

    def extend(self, n: int) -> None:
        self.traces.extend(n)

    def _add(self, refinement: Refinement) -> None:
        """Add a query: split the classes that it splits, and reduce it by the earlier rows."""
        class_cut = self.traces.cut(refinement)
        for new, parent in zip(class_cut.new.tolist(), class_cut.parent.tolist(), strict=True):
            for row in self._rows.values():
                if parent in row:
                    row[new] = row[parent]
        # A pivot column that was split now appears twice; it is still zero in all other rows, so it remains a pivot.
        reduced = self._reduced(
            {column: Fraction(value) for column, value in enumerate(class_cut.coefficient.tolist()) if value}
        )
        if not reduced:
            return
        pivot = min(reduced)
        scaled = {column: value / reduced[pivot] for column, value in reduced.items()}
        self._rows = {
            other: self._without(row, pivot, scaled) if pivot in row else row for other, row in self._rows.items()
        }
        self._rows[pivot] = scaled

    def _reduced(self, row: Row) -> Row:
        """Return ``row`` with the pivot columns of all earlier rows cleared."""
        for pivot, other in self._rows.items():
            if pivot in row:
                row = self._without(row, pivot, other)
        return row

    @staticmethod
    def _without(row: Row, pivot: int, other: Row) -> Row:
        """Return ``row`` minus the multiple of ``other`` that clears the pivot column."""
        factor = row[pivot]
        result = dict(row)
        for column, value in other.items():
            difference = result.get(column, Fraction(0)) - factor * value
            if difference:
                result[column] = difference
            else:
                result.pop(column, None)
        return result
