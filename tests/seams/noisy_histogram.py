"""A mechanism with its definition and its format: counts of one column with truncated geometric noise.

A count c of at most ``most`` is published as z with probability proportional to ratio^-|z - c|, where what falls below 0 or above ``most`` is
put on the end. Neighbouring tables then differ in the chance of any output by a factor of at most ``ratio``.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from reticent.base.cards import SaidInLines
from reticent.base.context import Context
from reticent.base.disclosures import Spending
from reticent.base.exact import exact, whole
from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence, Kind, MechanismPlan
from reticent.definitions import GENERAL, Assessment, ClaimScope, Definition, ExpectedError, PlanDefinition, Witness
from reticent.engine import count_table
from reticent.errors import DataError
from reticent.release import ManifestColumn, PublicSide
from reticent.release.format import MechanismFormat, Words
from reticent.table import Rows, Table, ValueType

NOISY = "noisy_count"


@dataclass(frozen=True)
class HistogramPlan:
    """How the counts of ``column`` are published: by how much one person can change the chance of an output, and the largest count."""

    column: str
    values: tuple[str, ...]
    ratio: Fraction
    most: int

    def law(self, count: int) -> list[Fraction]:
        """The exact chance of every output for a true count."""
        share = 1 / self.ratio
        inside = (1 - share) / (1 + share)
        chances = [inside * share ** abs(z - count) for z in range(self.most + 1)]
        chances[0], chances[-1] = share**count / (1 + share), share ** (self.most - count) / (1 + share)
        return chances

    @property
    def variance(self) -> float:
        """Of the noise where no end is near."""
        share = float(1 / self.ratio)
        return 2 * share / (1 - share) ** 2


@dataclass(frozen=True)
class OnePersonRatio(PlanDefinition):
    """No output is more than ``ratio`` times as likely with a person's row as without it."""

    ratio: str | int | float | Fraction

    kept_by: ClassVar[str] = "method=NoisyHistogram(...)"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", exact(self.ratio, "OnePersonRatio: ratio", low=1))

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return f"Whether a person's row is there changes the chance of what is published by a factor of at most {self.ratio}."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "What many people have in common is shown."

    def fits(self, plan: MechanismPlan) -> str | None:
        return (
            None
            if isinstance(plan, HistogramPlan)
            else f"OnePersonRatio judges histograms, not a {type(plan).__name__}."
        )

    def assess(self, plan: MechanismPlan) -> Assessment:
        assert isinstance(plan, HistogramPlan)
        holds = plan.ratio <= self.ratio
        witness = None if holds else Witness(0, f"A row can change a chance by the factor {plan.ratio}.")
        return Assessment(self, holds, plan.ratio, witness)

    def parameters(self) -> dict[str, Any]:
        return {"ratio": str(self.ratio)}


@dataclass(frozen=True, eq=False)
class OnePass:
    """Rows that can be read once: noise is drawn while they are."""

    schema: pl.Schema
    height: int
    make: Callable[[], pl.DataFrame] = field(repr=False)
    engine: ClassVar[str] = "local"
    again: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", [])

    def frame(self) -> pl.DataFrame:
        reads: list[int] = self.reads  # type: ignore[attr-defined]
        assert not reads, "rows that can be read once were read twice"
        reads.append(1)
        return self.make()

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        frame = self.frame()
        yield frame if columns is None else frame.select(columns)

    def values(self, column: str) -> pl.Series:
        raise AssertionError("rows that can be read once have no values to look at")

    def counted(self, columns: Sequence[str]) -> tuple[pl.DataFrame, Any]:
        raise AssertionError("rows that can be read once cannot be counted")

    def mapped(
        self, schema: pl.Schema, change: Callable[[pl.DataFrame], pl.DataFrame], needs: Sequence[str] = ()
    ) -> Rows:
        return OnePass(schema, self.height, lambda: change(self.frame()))


@dataclass(frozen=True)
class NoisyHistogram:
    """Publish how often each of the declared values of a column occurs, with noise."""

    column: str
    values: tuple[str, ...]
    ratio: str = "2"
    most: int = 1000
    budget: str | None = None

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))
        exact(self.ratio, "NoisyHistogram: ratio", low=1)
        whole(self.most, "NoisyHistogram: most", low=1)

    @property
    def plan(self) -> HistogramPlan:
        return HistogramPlan(self.column, self.values, exact(self.ratio, "ratio"), self.most)

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return (
            None if self.column in table.sensitive else f"NoisyHistogram needs a sensitive column, not {self.column!r}."
        )

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        context = context or Context()
        groups = count_table(table, context).groups().marginal(self.column)
        found = dict(zip(groups.domain.columns[0].texts, groups.reference.tolist(), strict=True))
        plan, counts = self.plan, [found.get(value, 0) for value in self.values]
        chance = secrets.randbelow if context.randomness.is_secure else _seeded(context.randomness.insecure_seed)

        def drawn() -> pl.DataFrame:
            return pl.DataFrame({self.column: self.values, NOISY: [_draw(plan.law(count), chance) for count in counts]})

        cost = Spending("histogram", math.ceil(100 * math.log(plan.ratio)), "a noisy histogram", total=self.budget)
        return Draft(
            format="noisy histogram",
            tables={"histogram": OnePass(pl.Schema({self.column: pl.String(), NOISY: pl.Int64()}), len(counts), drawn)},
            evidence=Evidence(plan=plan),
            method=self.describe(),
            details={"column": plan.column, "values": list(plan.values), "ratio": str(plan.ratio), "most": plan.most},
            spend=() if self.budget is None else (cost,),
        )

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        law = self.plan.law(self.most // 2)
        spread = math.sqrt(sum(float(share) * (output - self.most // 2) ** 2 for output, share in enumerate(law)))
        return ExpectedError({"standard_error": spread}, f"Counts in the middle are off by about {spread:.1f}.")

    def describe(self) -> dict[str, Any]:
        return {
            "name": "NoisyHistogram",
            "column": self.column,
            "values": list(self.values),
            "ratio": self.ratio,
            "most": self.most,
        }


def _seeded(seed: int | None) -> Callable[[int], int]:
    source = np.random.default_rng(seed)
    return lambda below: int.from_bytes(source.bytes(below.bit_length() // 8 + 8), "big") % below


def _draw(law: Sequence[Fraction], chance: Callable[[int], int]) -> int:
    """An output drawn exactly by its law: one whole number below the common denominator."""
    whole_part = math.lcm(*(share.denominator for share in law))
    place = chance(whole_part)
    for output, share in enumerate(law):
        place -= share.numerator * (whole_part // share.denominator)
        if place < 0:
            return output
    raise AssertionError("the chances do not add up to 1")


@dataclass(frozen=True)
class NoisyAnswer(SaidInLines):
    """A count from noisy counts."""

    value: int
    standard_error: float

    @property
    def bounds(self) -> tuple[float, float]:
        return self.value - 5 * self.standard_error, self.value + 5 * self.standard_error

    def as_dict(self) -> dict[str, Any]:
        return {"value": self.value, "standard_error": self.standard_error, "bounds": list(self.bounds)}

    def lines(self) -> list[str]:
        return [f"about {self.value:,}, give or take {self.standard_error:.1f}"]


class NoisyHistogramFormat(MechanismFormat):
    """One table: a row for each declared value, and its noisy count."""

    name: ClassVar[str] = "noisy histogram"
    tables: ClassVar[tuple[str, ...]] = ("histogram",)
    roles: ClassVar[tuple[str, ...]] = ("count",)

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        own = draft.details["column"]
        return (
            ManifestColumn(own, "sensitive", ValueType.published(pl.String())),
            ManifestColumn(NOISY, "count", ValueType.published(pl.Int64())),
        )

    def plan(self, public: PublicSide) -> HistogramPlan:
        said = public.manifest.details
        return HistogramPlan(
            said["column"], tuple(said["values"]), exact(said["ratio"], "ratio"), whole(said["most"], "most", low=1)
        )

    def check(self, public: PublicSide) -> None:
        plan, frame = self.plan(public), public.rows["histogram"].frame()
        if frame[plan.column].to_list() != list(plan.values):
            raise DataError("The histogram does not have a row for each declared value, in their order.")
        if not frame[NOISY].is_between(0, plan.most).all():
            raise DataError(f"A noisy count lies outside 0 to {plan.most}.")

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        return AdversaryView.in_noise(rows["histogram"].frame())

    def words(self, public: PublicSide) -> Words:
        return Words("Every count was changed at random before it was published.", ("Large counts are nearly right.",))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> NoisyAnswer:
        plan, frame = self.plan(public), public.rows["histogram"].frame()
        asked = condition if isinstance(condition, Condition) else Condition.parse(condition)
        kept = frame.filter(pl.Series(asked.mask(frame)))
        return NoisyAnswer(int(kept[NOISY].sum()), math.sqrt(plan.variance * kept.height))


NOISY_HISTOGRAM = NoisyHistogramFormat()
