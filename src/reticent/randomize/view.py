"""A randomized view: tuples, some true and most not, with everything that is needed to count on them (3.3).

Nothing here has seen the table: estimates use the view and its manifest only (R-AB-31).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.data.predicate import Condition
from reticent.errors import PolicyError
from reticent.exact import Number, exact
from reticent.randomize.averaging import average_interval
from reticent.randomize.bounds import level_of
from reticent.randomize.counting import DomainCount, checked, count_or_refuse, count_or_sample, masker
from reticent.randomize.domain import Keys
from reticent.randomize.estimate import Estimate
from reticent.randomize.estimating import Stratum, answer, many_estimates
from reticent.randomize.keys import among
from reticent.randomize.manifest import ViewManifest
from reticent.randomize.planning import COUNT, Plan
from reticent.randomize.published import Published, Signer
from reticent.randomize.rates import Rates
from reticent.randomize.sources import SourceRates

_ROWS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class View(Published):
    """A published view, or one that was opened again: its manifest and its tuples, as keys in rising order.

    ``earlier`` are the tuples that earlier views of the same series showed; a later view can only be read beside them (R-AB-18). ``signer`` signs
    the certificate when it is saved as ``files`` (csv or parquet).
    """

    called: ClassVar[str] = "A randomized view has"

    manifest: ViewManifest
    keys: Keys = field(repr=False)
    earlier: Keys | None = field(default=None, repr=False)
    certificate: Mapping[str, Any] = field(default_factory=dict, repr=False)
    files: str = "csv"
    signer: Signer | None = field(default=None, repr=False)

    @property
    def plan(self) -> Plan:
        """The plan by which it was made."""
        return self.manifest.plan

    @property
    def rates(self) -> Rates:
        """The chances of uniform noise."""
        return self.plan.rates

    @property
    def source_rates(self) -> SourceRates | None:
        """The chances of non-uniform noise, where it is that."""
        return self.manifest.source_rates

    def batches(self, names: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The tuples a million at a time, in some columns or all."""
        for start in range(0, max(len(self.keys), 1), _ROWS_AT_ONCE):
            yield self.domain.unpack(self.keys[start : start + _ROWS_AT_ONCE], names)

    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """How many tuples of the table meet a condition: unbiased, with standard error and interval.

        ``error`` is the probability with which the interval may miss (the plan's, if not said). With ``queries`` the intervals of that many
        answers hold together.
        """
        asked = checked(condition, self.domain)
        return answer(asked.text, self._strata(asked), self.plan.n, level_of(error, self.plan.error, queries))

    def sum(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """The sum of a numeric column over the tuples of the table that meet a condition (a linear query); nulls count nothing."""
        asked = checked(condition, self.domain)
        weights = self._numbers(column)
        strata = self._strata(asked, column, weights)
        largest = max(abs(weight) for weight in weights)
        made = answer(
            asked.text,
            strata,
            self.plan.n,
            level_of(error, self.plan.error),
            largest=max(largest, Fraction(1)),
            whole=False,
        )
        return replace(made, condition=f"sum of {column} where {asked.text}")

    def average(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """The average of a numeric column, nulls left out: the ratio of a sum and a count, its standard error by the delta method.

        The interval needs no large counts (:func:`average_interval`); ``bound`` is the distance to its farther end.
        """
        asked = self._without_nulls(checked(condition, self.domain), column)
        level, weights = level_of(error, self.plan.error), self._numbers(column)
        counts, sums = self._strata(asked), self._strata(asked, column, weights)
        count = sum((each.value for each in counts), Fraction(0))
        if count <= 0:
            raise PolicyError(
                f"The count of {asked.text!r} is estimated as {float(count):.4g}, so that there is no average. Ask for a larger part of the table."
            )
        value = sum((each.value for each in sums), Fraction(0)) / count
        possible = [exact(each, column) for each in self.domain[column].listed.drop_nulls().to_list()]
        least, most = min(possible), max(possible)
        interval = average_interval(sums, counts, self.plan.n, level, least, most)
        squares = self.plan.n * max(abs(least - value), abs(most - value)) ** 2
        centred = [each.centred(other, value) for each, other in zip(sums, counts, strict=True)]
        return Estimate(
            f"average of {column} where {asked.text}",
            value,
            math.sqrt(sum(each.variance(squares) for each in centred)) / float(count),
            max(least, min(value, most)),
            interval,
            max(abs(end - float(value)) for end in interval),
            level,
            sum((each.shown for each in counts), Fraction(0)),
            sum((each.total for each in counts), Fraction(0)),
        )

    def rows_estimate(self, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """How many rows of the original table meet a condition, where tuples carry a capped count (R-AB-8)."""
        if self.manifest.duplicates != "count":
            raise PolicyError(
                "This view has no count column: it counts distinct tuples. Plan with count= to count rows."
            )
        return self.sum(COUNT, condition, error=error)

    def group_by(self, columns: str | Sequence[str], condition: str | Condition = "true") -> pl.DataFrame:
        """One estimate for every combination of some columns' values, seen or not: ``shown``, ``value``, ``standard_error``, ``clipped``."""
        names = [columns] if isinstance(columns, str) else list(columns)
        asked = checked(condition, self.domain)
        self._only_first("group_by")
        shape = [self.domain[name].size for name in names]
        if math.prod(shape) > 1 << 24:
            raise PolicyError(f"{' x '.join(names)} has {math.prod(shape):,} combinations; group by fewer columns.")
        totals = np.asarray(count_or_refuse(asked, self.domain, "groups", keep=names)).ravel()
        shown = np.zeros(math.prod(shape), dtype=np.int64)
        masked = masker(asked, self.domain)
        for keys in self._chunks():
            met = keys[masked(keys)]
            places = np.ravel_multi_index([self.domain.codes(met, name) for name in names], shape)
            shown += np.bincount(places, minlength=len(shown))
        codes = np.unravel_index(np.arange(len(shown)), shape)
        labels = [self.domain[name].decode(code) for name, code in zip(names, codes, strict=True)]
        estimated = many_estimates(self.rates, shown, *_noise(self.rates, self.plan.n, totals))
        figures = {"shown": shown, **dict(zip(("value", "standard_error", "clipped"), estimated, strict=True))}
        return pl.DataFrame([*labels, *(pl.Series(name, column) for name, column in figures.items())])

    def _only_first(self, what: str) -> None:
        if self.manifest.index > 1 or self.manifest.source is not None:
            raise PolicyError(
                f"{what} is for the first view of a series with uniform noise; use estimate(...) on this one."
            )

    def _numbers(self, column: str) -> list[Fraction]:
        values = self.domain[column].listed
        if not values.dtype.is_numeric():
            raise PolicyError(f"Column {column!r} is not numeric; sums and averages need numbers.")
        return [Fraction(0) if value is None else exact(value, column) for value in values.to_list()]

    def _without_nulls(self, asked: Condition, column: str) -> Condition:
        from reticent.data.predicate.nodes import And, Column, Missing, Not

        if not self.domain[column].listed.null_count():
            return asked
        return Condition(asked.text, And((asked.node, Not(Missing(Column(column))))))

    def _strata(self, asked: Condition, column: str | None = None, weights: Sequence[Fraction] = ()) -> list[Stratum]:
        """The strata of a query: the whole domain, or for a later view the part that earlier views showed and the rest (R-AB-18)."""
        rates, index = self.rates, self.manifest.index
        totals = self._totals(asked, column, weights)
        inside = self._sums(asked, self.keys, column, weights)
        if self.source_rates is not None:
            return [self._source_stratum(self.source_rates, asked, column, weights, inside, totals)]
        if index == 1:
            return [
                Stratum.uniform(inside[0], totals[0].value, rates.s, rates.beta, inside[1], totals[1], totals[0].sample)
            ]
        if self.earlier is None:
            raise PolicyError(
                f"This is view {index} of a series. It can only be read beside the earlier ones: open it with them (rt.randomize.Series)."
            )
        old = self._sums(asked, self.earlier, column, weights)
        again = self._sums(asked, self.keys[among(self.keys, self.earlier)], column, weights)
        noise = rates.noise(index)
        return [
            Stratum.uniform(again[0], old[0], rates.s, rates.carry, again[1], old[1]),
            Stratum.uniform(
                inside[0] - again[0],
                totals[0].value - old[0],
                rates.s,
                noise,
                inside[1] - again[1],
                totals[1] - old[1],
                totals[0].sample,
            ),
        ]

    def _source_stratum(
        self,
        rates: SourceRates,
        asked: Condition,
        column: str | None,
        weights: Sequence[Fraction],
        inside: tuple[Fraction, Fraction],
        totals: tuple[DomainCount, Fraction],
    ) -> Stratum:
        """The stratum of non-uniform noise (R-AB-23): the sum of beta(t) over the query is c times its expectation under the source."""
        if not totals[0].is_exact:
            raise PolicyError(f"The condition {asked.text!r} is too wide to count its noise. Use fewer columns.")
        noise = rates.scale * rates.source.expectation(asked, column, weights)
        squares = noise
        if column is not None:
            squares = rates.scale * rates.source.expectation(asked, column, [weight**2 for weight in weights])
        return Stratum(inside[0], totals[0].value, noise, inside[1], totals[1], squares, rates.alpha, rates.kept)

    def _totals(
        self, asked: Condition, column: str | None, weights: Sequence[Fraction]
    ) -> tuple[DomainCount, Fraction]:
        """What the domain holds of a query: the sum of weights and of their squares."""
        if column is None:
            found = count_or_sample(asked, self.domain)
            return found, found.value
        plain, squares = (
            Fraction(count_or_refuse(asked, self.domain, "a sum", weights={column: [w**power for w in weights]}))
            for power in (1, 2)
        )
        return DomainCount(plain), squares

    def _sums(
        self, asked: Condition, keys: Keys, column: str | None, weights: Sequence[Fraction]
    ) -> tuple[Fraction, Fraction]:
        """What some tuples hold of a query: the sum of weights and of their squares."""
        masked = masker(asked, self.domain)
        if column is None:
            hits = Fraction(sum(int(masked(part).sum()) for part in self._chunks(keys)))
            return hits, hits
        counts = np.zeros(self.domain[column].size, dtype=np.int64)
        for part in self._chunks(keys):
            met = part[masked(part)]
            counts += np.bincount(self.domain.codes(met, column), minlength=len(counts))
        pairs = [(int(count), weight) for count, weight in zip(counts.tolist(), weights, strict=True) if count]
        return sum((c * w for c, w in pairs), Fraction(0)), sum((c * w * w for c, w in pairs), Fraction(0))

    def _chunks(self, keys: Keys | None = None) -> Iterator[Keys]:
        chosen = self.keys if keys is None else keys
        for start in range(0, len(chosen), _ROWS_AT_ONCE):
            yield chosen[start : start + _ROWS_AT_ONCE]


def _noise(rates: Rates, n: int, totals: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The expected noise of many queries, and the most tuples that each can have; domain counts may pass every float."""
    if totals.dtype != object:
        return float(rates.beta) * totals, np.minimum(float(n), totals)
    noise = [float(rates.beta * int(total)) for total in totals.tolist()]
    return np.array(noise), np.array([float(min(n, int(total))) for total in totals.tolist()])
