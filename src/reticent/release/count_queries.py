"""Counting queries on a release: bounds and an estimate of how many rows meet a condition.

Only public information is used: the published tables, the meanings of their labels, and the declared domains. An answer
has two certain bounds, and an estimate with its assumptions. The error of the estimate depends on what the release
hides, so no confidence interval is claimed: on real releases six of ten true counts are outside the 90 % interval of
the model's own standard error (``benchmarks/history``, "Counting queries").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.cards import SaidInLines
from reticent.conditions import Condition, Covers, Domain
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import NULL_LABEL, Meaning, Rows, ValueType

Estimator = Literal["uniform", "intersect"]
Meanings = Mapping[str, Mapping[str, Meaning]]

_MOST_VALUES = 2_000_000
EVENLY_SPREAD = "people are spread evenly over the values that a label stands for"
ESTIMATORS: tuple[Estimator, ...] = ("uniform", "intersect")


@dataclass(frozen=True)
class Count(SaidInLines):
    """An answer to a counting query.

    The true number of published rows that meet the condition is certainly within ``bounds``. ``value`` estimates it
    under the model in ``assumes`` (None if the bounds coincide). ``standard_error`` is the standard error *within* the
    model of the ``uniform`` estimator, and does not account for the model being wrong; it is absent for ``intersect``.
    ``rows`` is the number of published rows. Suppressed rows are not counted anywhere.
    """

    condition: str
    estimator: Estimator
    value: float
    bounds: tuple[int, int]
    standard_error: float | None
    rows: int
    model: str = ""

    @property
    def assumes(self) -> str | None:
        """Return the assumption under which the estimate is unbiased; None if it assumes nothing."""
        return self.model if self.estimator == "uniform" and self.bounds[0] < self.bounds[1] else None

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "estimator": self.estimator,
            "value": self.value,
            "bounds": list(self.bounds),
            "assumes": self.assumes,
            "standard_error_of_model": self.standard_error,
            "rows": self.rows,
        }

    def lines(self) -> list[str]:
        """Human-readable lines."""
        low, high = self.bounds
        if low == high:
            return [f"Exactly {low:,} of {self.rows:,} published rows."]
        certain = f"For certain between {low:,} and {high:,} of {self.rows:,} published rows."
        value = f"{self.value:,.1f}".removesuffix(".0")
        if self.assumes is None:
            return [certain, f"At most {value} rows meet it."]
        return [
            certain,
            f"Estimate: {value}, if {self.assumes}. The release does not show whether that is so, and the estimate may be far off; only the bounds are sure.",
        ]


@dataclass(frozen=True)
class CountQuery:
    """A condition on published columns, an estimator, and public knowledge about labels (``meanings``) and values (``domains``)."""

    condition: Condition
    estimator: Estimator
    meanings: Meanings
    domains: Mapping[str, Domain]

    @classmethod
    def of(
        cls,
        meanings: Meanings,
        condition: str | Condition,
        estimator: str = "uniform",
        *,
        kinds: Mapping[str, str] | None = None,
        domains: Mapping[str, Sequence[Any]] | None = None,
        may_miss: bool = False,
    ) -> CountQuery:
        """Build the query for a condition, given as text or parsed.

        Types (``kinds``, by their manifest names) and declared values (``domains``) of the quasi columns sharpen the
        answer; without a type, numbers may be fractional. ``may_miss``: null is possible even if the declared domain
        does not list it.
        """
        parsed = Condition.parse(condition) if isinstance(condition, str) else condition
        return cls(parsed, _known_estimator(estimator), meanings, domains_of(meanings, kinds, domains, may_miss))

    def covers(self, groups: pl.DataFrame) -> Covers:
        """Return how much of each row of ``groups``, a combination of published labels and values, meets the condition
        of the query.
        """
        codes: dict[str, NDArray[np.int64]] = {}
        meanings_by_column: dict[str, list[Meaning]] = {}
        domains = {name: domain for name, domain in self.domains.items() if name in self.condition.scope}
        for name in self.condition.scope:
            distinct = groups[name].unique(maintain_order=True)
            ranks = pl.Series(range(len(distinct)), dtype=pl.Int64)
            codes[name] = groups[name].replace_strict(distinct, ranks, return_dtype=pl.Int64).to_numpy()
            if name in self.meanings:
                meanings_by_column[name] = [self.meaning(name, label) for label in distinct.to_list()]
            else:
                domains[name] = Domain.of_series(distinct)
        return self.condition.covers(codes, meanings_by_column, domains)

    def meaning(self, column: str, label: str | None) -> Meaning:
        """Return the meaning of a quasi column's label."""
        text = NULL_LABEL if label is None else label
        if text not in self.meanings[column]:
            raise DataError(f"Column {column!r} shows the label {text!r}, which the manifest does not explain.")
        return self.meanings[column][text]

    def in_labels(self, published: Rows) -> Count:
        """Count the rows of labels that meet the condition."""
        self.condition.check_names(published.schema.names())
        if not self.condition.scope:
            return self.counted(np.array([published.height]), self.condition.covers({}, {}), published.height)
        groups, sizes = published.counted(self.condition.scope)
        return self.counted(sizes, self.covers(groups), published.height)

    def counted(self, sizes: NDArray[np.int64], covered: Covers, rows: int) -> Count:
        """Return the answer for groups of ``sizes`` rows, each ``covered`` by the condition certainly, possibly, or by a share."""
        bounds = int(sizes[covered.certain].sum()), int(sizes[covered.possible].sum())
        if self.estimator == "intersect":
            return self.at_most(bounds[1], bounds, rows)
        value = math.fsum((sizes * covered.share).tolist())
        return self.estimated(value, _uniform_error(sizes, covered), bounds, rows, EVENLY_SPREAD)

    def at_most(self, value: int, bounds: tuple[int, int], rows: int) -> Count:
        """Return the answer of ``intersect``: the number of rows that could meet the condition."""
        return Count(self.condition.text, self.estimator, value, bounds, standard_error=None, rows=rows)

    def estimated(self, value: float, error: float, bounds: tuple[int, int], rows: int, model: str) -> Count:
        """Return the answer of ``uniform`` under the assumptions of ``model``."""
        return Count(self.condition.text, self.estimator, value, bounds, standard_error=error, rows=rows, model=model)

    def exactly(self, met: int, rows: int) -> Count:
        """Return the answer if the public side determines the count."""
        error = 0.0 if self.estimator == "uniform" else None
        return Count(self.condition.text, self.estimator, value=met, bounds=(met, met), standard_error=error, rows=rows)


def count_labels(
    rows: Rows, meanings: Meanings, condition: str | Condition, estimator: str = "uniform", **known: Any
) -> Count:
    """Count the ``rows`` that meet a condition, given the ``meanings`` of their labels; ``known`` as in :meth:`CountQuery.of`.

    ``intersect`` counts every row whose region meets the condition and never under-counts. ``uniform`` counts every row by the share
    of its region that meets the condition.
    """
    return CountQuery.of(meanings, condition, estimator, **known).in_labels(rows)


def _known_estimator(estimator: str) -> Estimator:
    """Return the estimator of this name; refused if there is none."""
    for name in ESTIMATORS:
        if estimator == name:
            return name
    raise PolicyError(
        f"There is no estimator {estimator!r}.{did_you_mean(estimator, ESTIMATORS)} Choose 'uniform' or 'intersect'."
    )


def domains_of(
    meanings: Meanings,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> dict[str, Domain]:
    """Return the public knowledge about the values of quasi columns."""
    known = {name: _domain(name, (kinds or {}).get(name), (domains or {}).get(name), may_miss) for name in meanings}
    return {name: domain for name, domain in known.items() if domain is not None}


def _domain(name: str, kind: str | None, declared: Sequence[Any] | None, may_miss: bool) -> Domain | None:
    """Return the domain of a column from its type and declared values; None if neither is known."""
    if kind is None:
        return None if declared is None else Domain.of_series(pl.Series(name, list(declared)))
    if kind not in list(ValueType):
        raise DataError(f"Column {name!r} has the type {kind!r}; known are {', '.join(ValueType)}.")
    # An integer range too long to enumerate is measured by its labels alone.
    listed = declared if declared is None or len(declared) <= _MOST_VALUES else None
    return Domain.of_values(ValueType(kind), listed, may_miss=may_miss)


def _uniform_error(sizes: NDArray[np.int64], covered: Covers) -> float:
    """Return the standard error of the uniform model: rows meet the condition independently with the share of their region (binomial).

    An unknown share counts as 1/2, with an error between 0 and 1 that is the same for all such rows, so these errors
    add up.
    """
    variance = float(sizes @ (covered.share * (1 - covered.share)))
    doubt = np.minimum(covered.share, 1 - covered.share)[~covered.measured] / math.sqrt(3)
    return math.sqrt(variance + float(sizes[~covered.measured] @ doubt) ** 2)
