"""Counting queries on a release: how many rows meet a condition, as well as the public side can tell.

Only what everybody gets is used: the published tables, the meaning of their labels, and the declared domains. An answer
is two bounds that hold for certain, and an estimate that says what it assumes. How far the estimate is off depends on what the release hides, so no
margin is claimed for it: on real releases six of ten true counts lie outside of the 90 % interval that the model's own spread suggests
(``benchmarks/history``, "Counting queries").
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

    The true number of published rows that meet the condition lies within ``bounds`` for certain. ``value`` estimates it; the estimate holds as far
    as what it ``assumes`` does (nothing, where the bounds leave no doubt). ``standard_error`` is the spread *inside* the model of the ``uniform``
    estimator and says nothing about whether the model holds; it is absent for ``intersect``. ``rows`` is the number of published rows. Suppressed rows are in
    none of these.
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
        """What must hold for the estimate to be right on average; None where it assumes nothing."""
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
        """The answer for people."""
        low, high = self.bounds
        if low == high:
            return [f"Exactly {low:,} of {self.rows:,} published rows."]
        certain = f"For certain between {low:,} and {high:,} of {self.rows:,} published rows."
        value = f"{self.value:,.1f}".removesuffix(".0")
        if self.assumes is None:
            return [certain, f"{value} rows could meet it."]
        return [
            certain,
            f"Estimate: {value}, if {self.assumes}. The release does not show whether that is so, and the estimate may be far off; only the bounds are sure.",
        ]


@dataclass(frozen=True)
class CountQuery:
    """A condition on published columns, the estimator, and what is publicly known of labels (``meanings``) and of values (``domains``)."""

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
        """The query of a condition, given as text or parsed.

        ``kinds`` (types as manifests name them) and ``domains`` (declared values) of the quasi columns sharpen the answer; without a kind,
        numbers may be fractional. ``may_miss``: null is possible even if the declared domain does not list it.
        """
        parsed = Condition.parse(condition) if isinstance(condition, str) else condition
        return cls(parsed, _known_estimator(estimator), meanings, domains_of(meanings, kinds, domains, may_miss))

    def covers(self, groups: pl.DataFrame) -> Covers:
        """What the condition covers of each combination of labels and values."""
        codes: dict[str, NDArray[np.int64]] = {}
        labels: dict[str, list[Meaning]] = {}
        known = {name: domain for name, domain in self.domains.items() if name in self.condition.scope}
        for name in self.condition.scope:
            distinct = groups[name].unique(maintain_order=True)
            ranks = pl.Series(range(len(distinct)), dtype=pl.Int64)
            codes[name] = groups[name].replace_strict(distinct, ranks, return_dtype=pl.Int64).to_numpy()
            if name in self.meanings:
                labels[name] = [self.meaning(name, label) for label in distinct.to_list()]
            else:
                known[name] = Domain.of_series(distinct)
        return self.condition.covers(codes, labels, known)

    def meaning(self, column: str, label: str | None) -> Meaning:
        """What a label of a quasi column stands for."""
        text = NULL_LABEL if label is None else label
        if text not in self.meanings[column]:
            raise DataError(f"Column {column!r} shows the label {text!r}, which the manifest does not explain.")
        return self.meanings[column][text]

    def in_labels(self, published: Rows) -> Count:
        """How many rows of labels meet the condition."""
        self.condition.check_names(published.schema.names())
        if not self.condition.scope:
            return self.counted(np.array([published.height]), self.condition.covers({}, {}), published.height)
        groups, sizes = published.counted(self.condition.scope)
        return self.counted(sizes, self.covers(groups), published.height)

    def counted(self, sizes: NDArray[np.int64], covered: Covers, rows: int) -> Count:
        """The answer where ``sizes`` rows each are ``covered`` by the condition for certain, possibly, or by some share."""
        bounds = int(sizes[covered.certain].sum()), int(sizes[covered.possible].sum())
        if self.estimator == "intersect":
            return self.at_most(bounds[1], bounds, rows)
        value = math.fsum((sizes * covered.share).tolist())
        return self.estimated(value, _uniform_error(sizes, covered), bounds, rows, EVENLY_SPREAD)

    def at_most(self, value: int, bounds: tuple[int, int], rows: int) -> Count:
        """The answer of ``intersect``: the number of rows that could meet the condition."""
        return Count(self.condition.text, self.estimator, value, bounds, None, rows)

    def estimated(self, value: float, error: float, bounds: tuple[int, int], rows: int, model: str) -> Count:
        """The answer of ``uniform`` under the assumptions of ``model``."""
        return Count(self.condition.text, self.estimator, value, bounds, error, rows, model)

    def exactly(self, met: int, rows: int) -> Count:
        """The answer where the public side leaves no doubt."""
        error = 0.0 if self.estimator == "uniform" else None
        return Count(self.condition.text, self.estimator, met, (met, met), error, rows)


def count_labels(
    rows: Rows, meanings: Meanings, condition: str | Condition, estimator: str = "uniform", **known: Any
) -> Count:
    """How many ``rows`` meet a condition, where their labels stand for ``meanings``; ``known`` as in :meth:`CountQuery.of`.

    ``intersect`` counts every row whose region meets the condition and never under-counts. ``uniform`` counts every row by the share
    of its region that meets the condition.
    """
    return CountQuery.of(meanings, condition, estimator, **known).in_labels(rows)


def _known_estimator(estimator: str) -> Estimator:
    for known in ESTIMATORS:
        if estimator == known:
            return known
    raise PolicyError(
        f"There is no estimator {estimator!r}.{did_you_mean(estimator, ESTIMATORS)} Choose 'uniform' or 'intersect'."
    )


def domains_of(
    meanings: Meanings,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> dict[str, Domain]:
    """What is publicly known of the values of quasi columns."""
    known = {name: _domain(name, (kinds or {}).get(name), (domains or {}).get(name), may_miss) for name in meanings}
    return {name: domain for name, domain in known.items() if domain is not None}


def _domain(name: str, kind: str | None, declared: Sequence[Any] | None, may_miss: bool) -> Domain | None:
    if kind is None:
        return None if declared is None else Domain.of_series(pl.Series(name, list(declared)))
    if kind not in list(ValueType):
        raise DataError(f"Column {name!r} has the type {kind!r}; known are {', '.join(ValueType)}.")
    # A run of whole numbers that is too long to be listed is measured by its labels alone.
    listed = declared if declared is None or len(declared) <= _MOST_VALUES else None
    return Domain.of_values(ValueType(kind), listed, may_miss=may_miss)


def _uniform_error(sizes: NDArray[np.int64], covered: Covers) -> float:
    """The spread of the uniform model: every row meets the condition by itself with the share of its region (binomial).

    Where the share is not known, 1/2 stands for a share that may be anything between 0 and 1; being wrong there is being wrong for
    all such rows alike, so their errors add up.
    """
    variance = float(sizes @ (covered.share * (1 - covered.share)))
    doubt = np.minimum(covered.share, 1 - covered.share)[~covered.measured] / math.sqrt(3)
    return math.sqrt(variance + float(sizes[~covered.measured] @ doubt) ** 2)
