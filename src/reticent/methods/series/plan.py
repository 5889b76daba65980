"""Predicted cost of a series before anything is published: simulated counterfeits by release, and their upper bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import polars as pl

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.disclosures import alone
from reticent.base.exact import whole
from reticent.base.randomness import Randomness
from reticent.definitions import Definition
from reticent.errors import Infeasible, PolicyError
from reticent.methods.series.assignment import Balance, Choice, domain_blocks
from reticent.methods.series.definitions import TauSafety
from reticent.methods.series.method import PublishedChange, Republish, SeriesPosition, outcome_of
from reticent.methods.series.signatures import Ints
from reticent.methods.series.state import HistoryState, PersonMarks
from reticent.table import Table, unused

PROTECTIONS: tuple[tuple[Choice, Balance], ...] = (("near", "filled"), ("random", "blocks"), ("random", "blind"))
"""Settings that a plan compares: the default, and the two meant for an adversary who knows the algorithm."""

_REDRAWS = 16


@dataclass(frozen=True)
class UpdateRates:
    """Expected changes of a table between releases, as shares of its people: who ``leave``, who ``arrive``, whose
    sensitive value will ``change``, and who come ``back`` (of those who left before).

    Example:
        >>> import reticent as rt
        >>> rt.republish.UpdateRates(leave=0.05, arrive=0.08)
        UpdateRates(leave=0.05, arrive=0.08, change=0.05, back=0.0)
    """

    leave: float = 0.05
    arrive: float = 0.05
    change: float = 0.05
    back: float = 0.0

    def __post_init__(self) -> None:
        for rate in fields(self):
            share = getattr(self, rate.name)
            if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
                raise PolicyError(
                    f"UpdateRates: {rate.name} must be a share of people, from 0 to 1, but it is {share!r}.",
                    setting=(rate.name,),
                    value=share,
                )
        if self.leave + self.change > 1:
            raise PolicyError(
                f"UpdateRates: leave and change apply to different people, so they must add up to at most 1, but {self.leave} + {self.change} is more.",
                setting=("change",),
                value=self.change,
            )


@dataclass(frozen=True)
class PlannedPrice:
    """Cost of one setting by release: simulated counterfeits (``expected`` is the mean, ``least`` and ``most`` the
    extremes) and the ``worst`` case, an upper bound for every table.

    ``waiting`` is the mean number of people who wait for a later release. ``arithmetic`` explains the figures.
    ``refused`` is the reason if the setting cannot start with this table.
    """

    choice: Choice
    balance: Balance
    expected: tuple[float, ...] = ()
    least: tuple[int, ...] = ()
    most: tuple[int, ...] = ()
    worst: tuple[int, ...] = ()
    waiting: tuple[float, ...] = ()
    arithmetic: tuple[str, ...] = ()
    refused: str = ""

    @property
    def name(self) -> str:
        """The two settings as one name."""
        return f'choice="{self.choice}", balance="{self.balance}"'


@dataclass(frozen=True, repr=False)
class SeriesPlan(ShownAsCard):
    """Predicted cost of coming releases under each setting: ``prices``, with the number of ``people`` in each release.
    Private: it is computed from the true values.
    """

    m: int
    people: tuple[int, ...]
    rates: UpdateRates
    rehearsals: int
    prices: tuple[PlannedPrice, ...]

    def __getitem__(self, balance: Balance) -> PlannedPrice:
        return next(price for price in self.prices if price.balance == balance)

    def card(self) -> Card:
        """Summarise for display: counterfeits of each release under each setting, and how they arise."""
        tables, notes = [], []
        for price in self.prices:
            if price.refused:
                notes.append(f"{price.name}: not possible with this table. {price.refused}")
                continue
            rows = [
                (number, people, f"{mean:,.0f}", f"{mean / people:.0%}", f"{low:,} to {high:,}", worst)
                for number, (people, mean, low, high, worst) in enumerate(
                    zip(self.people, price.expected, price.least, price.most, price.worst, strict=True), start=1
                )
            ]
            heads = ("release", "people", "counterfeits", "of people", "rehearsed", "at most")
            tables.append(CardTable(heads, rows, price.name))
            notes += [f"{price.name}: {line}" for line in price.arithmetic]
            if max(price.waiting) > 0:
                wait = f"People wait: up to {max(price.waiting):,.0f} in a release, which discloses something about their values."
                notes.append(f"{price.name}: {wait}")
        notes.append(
            "Nothing was written. Newcomers and new values were assumed to resemble this table's, at the given rates. Do not publish these figures."
        )
        facts = {"m": self.m, "releases": len(self.people), "people": self.people[0], "rehearsals": self.rehearsals}
        return Card("Counterfeits planned", facts, tables=tables, notes=notes)

    @property
    def ok(self) -> bool:
        """Always True: a plan only reports costs."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        prices = [dict(price.__dict__) for price in self.prices]
        return {**self.__dict__, "rates": dict(self.rates.__dict__), "prices": prices}


def plan(
    table: Table,
    definition: Definition,
    method: Republish,
    rates: UpdateRates | None = None,
    releases: int = 12,
    rehearsals: int = 3,
    *,
    protections: Sequence[tuple[Choice, Balance]] = PROTECTIONS,
    context: Context | None = None,
) -> SeriesPlan:
    """Predict the counterfeits of the coming ``releases`` of a table before the first one is published; nothing is written.

    The publisher is simulated on this table, with people leaving, changing and arriving at the expected ``rates``:
    newcomers are copies of the table's people, and new sensitive values are sampled with the table's frequencies.
    Simulations are seeded, so that a plan is reproducible. The first release is exact under ``balance="blocks"``, and
    without counterfeits otherwise; later figures are as good as the rates.

    The worst case always holds. A group has at least one person, and its signature at most 2m - 1 values (a block of
    the declared domain, or a step of the assignment), so there are at most 2m - 2 counterfeits per person.

    Parameters:
        table: the first snapshot, with one sensitive column.
        definition: ``TauSafety(m)``.
        method: Republish, with the declared domain; its choice and balance are replaced by those that are compared.
        rates: shares of people who leave, arrive, change and return with each release.
        releases: number of releases to plan.
        rehearsals: number of simulations of each setting.
        protections: pairs of ``choice`` and ``balance`` to compare.

    Example:
        >>> import polars as pl
        >>> import reticent as rt
        >>> values = ["a", "b", "c", "d", "e"]
        >>> table = rt.Table(pl.DataFrame({"age": range(20), "value": values * 4}), quasi=["age"], sensitive="value")
        >>> planned = rt.republish.plan(table, rt.TauSafety(2), rt.Republish(values), releases=2)
        >>> planned["blocks"].expected[0]
        0.0
    """
    whole(releases, "releases", low=1)
    whole(rehearsals, "rehearsals", low=1)
    refused = method.refusal(table, definition)
    if refused is not None:
        raise PolicyError(refused, setting=("method", "name"))
    definition_part = next((part for part in definition.parts() if isinstance(part, TauSafety)), None)
    if definition_part is None or method.baseline is not None:
        raise PolicyError("A plan is for TauSafety(m) without a baseline.", setting=("definition",))
    rates = rates or UpdateRates()
    context = context or Context()
    heights = _heights(table.rows, rates, releases)
    prices = []
    for choice, balance in protections:
        variant = replace(method, choice=choice, balance=balance)
        try:
            simulations = [
                _rehearsed(table, definition_part, variant, rates, releases, seed, context)
                for seed in range(1, rehearsals + 1)
            ]
        except Infeasible as problem:
            prices.append(PlannedPrice(choice, balance, refused=str(problem)))
            continue
        counterfeits, waiting = (np.array([[getattr(change, name) for change in simulation] for simulation in simulations]) for name in ("counterfeits", "waiting"))  # fmt: skip
        width = _widest(variant, definition_part.m)
        worst = [people * (width - 1) for people in heights]
        prices.append(
            PlannedPrice(
                choice,
                balance,
                tuple(counterfeits.mean(axis=0).tolist()),
                tuple(counterfeits.min(axis=0).tolist()),
                tuple(counterfeits.max(axis=0).tolist()),
                tuple(worst if balance == "blocks" else [0, *worst[1:]]),
                tuple(waiting.mean(axis=0).tolist()),
                _arithmetic(table, variant, definition_part.m, rates, width, heights),
            )
        )
    return SeriesPlan(definition_part.m, tuple(heights), rates, rehearsals, tuple(prices))


def _heights(rows: int, rates: UpdateRates, releases: int) -> list[int]:
    """Return the expected number of people in each release; those who left may return later."""
    heights, away = [rows], 0
    for _ in range(releases - 1):
        leave, arrive, returning = (round(heights[-1] * share) for share in (rates.leave, rates.arrive, rates.back))
        returning = min(returning, away)
        away += leave - returning
        heights.append(heights[-1] - leave + arrive + returning)
    return heights


def _widest(method: Republish, m: int) -> int:
    """Return the largest number of values in a signature."""
    if method.balance == "blocks":
        return max(map(len, domain_blocks(len(method.domain or ()), m)))
    return 2 * m - 1


def block_price(counts: Ints, m: int) -> int:
    """Return the counterfeits of a release in blocks, from the counts of the domain's values: every block is filled up to its most frequent value."""
    return sum(len(block) * int(counts[block].max()) - int(counts[block].sum()) for block in domain_blocks(len(counts), m))  # fmt: skip


def _arithmetic(
    table: Table, method: Republish, m: int, rates: UpdateRates, width: int, heights: Sequence[int]
) -> tuple[str, ...]:
    """Return sentences that derive the expected and the largest number of counterfeits."""
    upper_bound = f"At most: {width - 1} counterfeits for each of {heights[-1]:,} people ({width - 1} x {heights[-1]:,} = {(width - 1) * heights[-1]:,} in release {len(heights)}), since a group has a person and at most {width} values."
    values, people = len(method.domain or ()), table.rows
    if method.balance == "blocks":
        counts = np.bincount(method.codes(table.values(next(iter(table.sensitive)))), minlength=values)
        full = people + block_price(counts, m)
        return (
            f"Release 1, exactly: every block has as many rows of each value as of its most frequent one, {full:,} rows in all, minus {people:,} people = {full - people:,}.",
            "Later releases: the same sum over their values; nothing accumulates over releases.",
            upper_bound,
        )
    if method.balance == "blind":
        outside_share = 1 - (m - 1) / (values - 1)
        moving = people * rates.change * outside_share
        return (
            f"Each release: about {people * rates.change:,.0f} changes x {outside_share:.2f} outside the own signature = {moving:,.0f} people with a new signature, and {m - 1} counterfeits for each, until they leave.",
            f"And for each of about {people * rates.leave:,.0f} people who leave, up to one counterfeit until their groupmates leave too.",
            upper_bound,
        )
    return (
        f"Each release: vacancies of about {people * rates.leave:,.0f} people who leave, minus those filled by {people * rates.arrive:,.0f} arrivals with the same values.",
        upper_bound,
    )


def _rehearsed(
    table: Table,
    definition: TauSafety,
    method: Republish,
    rates: UpdateRates,
    releases: int,
    seed: int,
    context: Context,
) -> list[PublishedChange]:
    """Publish a changing table in memory, release by release; return the cost of each."""
    rng = np.random.default_rng(seed)
    sensitive = next(iter(table.sensitive))
    rows = pl.DataFrame([table.values(name) for name in (*table.quasi, sensitive)])
    key = unused("key", rows.schema)
    rows = rows.with_columns(pl.Series(key, np.arange(rows.height)))
    first_rows, away, next_key = rows, rows.clear(), rows.height
    marks = PersonMarks(bytes(32))
    state: HistoryState | None = None
    changes: list[PublishedChange] = []
    for number in range(releases):
        if number:
            rows, away, next_key = _changed(rows, away, first_rows, next_key, rates, sensitive, rng)
        context.step(f"rehearsing {method.balance}, release {number + 1}")
        snapshot = Table(rows, quasi=dict(table.quasi), sensitive=sensitive, identifiers=[key], key=key)
        position = SeriesPosition(state, None, marks, alone)
        draft = replace(method, _place=position).draft(
            snapshot, definition, replace(context, randomness=Randomness(releases * seed + number), memo={})
        )
        outcome = outcome_of(draft)
        state = outcome.after
        changes.append(outcome.change)
    return changes


def _changed(
    rows: pl.DataFrame,
    away: pl.DataFrame,
    first_rows: pl.DataFrame,
    next_key: int,
    rates: UpdateRates,
    sensitive: str,
    rng: np.random.Generator,
) -> tuple[pl.DataFrame, pl.DataFrame, int]:
    """Simulate the changes between two releases: return the next table, everyone who is away, and the next free key.

    Newcomers are copies of ``first_rows``, the rows of the first table, and new values are sampled from it.
    """
    leave_count, arrive_count, change_count, return_count = (
        round(rows.height * share) for share in (rates.leave, rates.arrive, rates.change, rates.back)
    )
    order = rng.permutation(rows.height)
    leaving, changing = rows[order[:leave_count]], rows[order[leave_count : leave_count + change_count]]
    staying = rows[order[leave_count + change_count :]]
    returning_rows = rng.permutation(away.height)[:return_count]
    stays_away = np.ones(away.height, dtype=bool)
    stays_away[returning_rows] = False
    newcomers = first_rows[rng.integers(0, first_rows.height, arrive_count)].with_columns(
        pl.Series(rows.columns[-1], np.arange(next_key, next_key + arrive_count))
    )
    values = _other_values(changing[sensitive], first_rows[sensitive], rng)
    rows = pl.concat([staying, changing.with_columns(values), away[returning_rows], newcomers.select(rows.columns)])
    return rows, pl.concat([away.filter(pl.Series(stays_away)), leaving]), next_key + arrive_count


def _other_values(old_values: pl.Series, reference: pl.Series, rng: np.random.Generator) -> pl.Series:
    """Sample a value for each with the frequencies in ``reference``, different from ``old_values``; keep the old one if resampling finds no other."""
    new_values = old_values
    for _ in range(_REDRAWS):
        sampled = reference.gather(rng.integers(0, len(reference), len(old_values)))
        new_values = new_values.zip_with(new_values.eq_missing(old_values).not_(), sampled)
    return new_values.alias(old_values.name)
