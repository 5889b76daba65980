"""Exact posteriors: the belief of an adversary with a stated prior after a view. For tuples, for blocks, for any small prior.

An adversary is a value object: a prior, checked to be bounded by d. Tuples are any hashable objects. Every prior is at
most ``d`` or exactly 1: what is already known needs no protection.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.base.exact import Number, exact
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize.rates import Rates
from reticent.methods.randomize.tuple_sets import among
from reticent.methods.randomize.view import View


def tuple_posterior(rates: Rates, prior: Number, seen: bool) -> Fraction:
    """Return an independent adversary's posterior of a tuple after a view that includes it, or does not."""
    return rates.posterior(exact(prior, "prior", low=0, high=1), seen)


def block_posterior(rates: Rates, priors: Sequence[Number], seen: Sequence[bool]) -> list[Fraction]:
    """Return the posteriors of an exclusive adversary: exactly one tuple of the block is in the table. Each tuple has a
    prior and a flag whether the view includes it.

    w_i = p_i times the product over the block of s (for t_i) or beta (for the others), complemented for tuples not in
    the view; then normalized.
    """
    beliefs = [exact(prior, f"priors[{index}]", low=0, high=1) for index, prior in enumerate(priors)]
    if len(beliefs) != len(seen) or not beliefs:
        raise PolicyError("priors and seen must have one entry for every tuple of the block.")
    if sum(beliefs) != 1:
        raise PolicyError(f"The priors of a block must add up to 1, but they add up to {sum(beliefs)}.")
    s, beta = rates.s, rates.beta
    weights = []
    for index, belief in enumerate(beliefs):
        weight = belief
        for other_index, is_shown in enumerate(seen):
            chance = s if other_index == index else beta
            weight *= chance if is_shown else 1 - chance
        weights.append(weight)
    return _normalized(weights)


def worlds_posterior(
    rates: Rates,
    worlds: Iterable[tuple[Collection[Hashable], Number]],
    domain: Collection[Hashable],
    view: Collection[Hashable],
) -> dict[Hashable, Fraction]:
    """Return the posteriors of an adversary with any prior, given as possible tables with their probabilities; for small domains only."""
    tables = [(frozenset(table), exact(chance, "probability of a table", low=0, high=1)) for table, chance in worlds]
    if sum(chance for _, chance in tables) != 1:
        raise PolicyError("The probabilities of the tables must add up to 1.")
    published = frozenset(view)
    weights = []
    for table, chance in tables:
        weight = chance
        for tuple_in_table in domain:
            rate = rates.s if tuple_in_table in table else rates.beta
            weight *= rate if tuple_in_table in published else 1 - rate
        weights.append(weight)
    after = _normalized(weights)
    return {
        tuple_asked: sum((w for (table, _), w in zip(tables, after, strict=True) if tuple_asked in table), Fraction(0))
        for tuple_asked in domain
    }


def audit_tuple(view: View, tuple_: Mapping[str, Any], prior: Number) -> dict[str, Any]:
    """Return whether a view includes a tuple, and its exact posterior."""
    _check_plain(view)
    is_shown = _seen(view, [tuple_])[0]
    before = exact(prior, "prior", low=0, high=1)
    after = tuple_posterior(view.rates, before, is_shown)
    covered = before <= view.plan.d or before == 1
    return {
        "seen": is_shown,
        "prior": before,
        "posterior": after,
        "ratio": after / before if before else None,
        "covered": covered,
        "holds": after <= view.plan.gamma if covered and before < 1 else None,
    }


def audit_block(view: View, block: Sequence[Mapping[str, Any]], priors: Sequence[Number]) -> dict[str, Any]:
    """Return which tuples of a block a view includes, and the exact posteriors (link attacks)."""
    _check_plain(view)
    for index, record in enumerate(block):
        if record in block[:index]:
            raise PolicyError(
                f"The block lists the record {dict(record)} twice; exactly one of its records is in the table."
            )
    shown_flags = _seen(view, block)
    after = block_posterior(view.rates, priors, shown_flags)
    return {"seen": shown_flags, "posterior": after, "highest": max(after)}


def _seen(view: View, tuples: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return for every record whether the view contains it."""
    for record in tuples:
        if not isinstance(record, Mapping):
            raise PolicyError(
                f"A record must give every column its value, such as {{'age': 25}}, but it is {record!r}."
            )
    frame = pl.DataFrame([dict(record) for record in tuples])
    keys = view.domain.pack(view.domain.frame_columns(frame))
    return [bool(is_shown) for is_shown in among(keys, view.keys)]


def _check_plain(view: View) -> None:
    if view.plan.source is not None or view.manifest.index > 1:
        raise PolicyError("The audit of single tuples is for the first view of a plan with uniform noise.")


def _normalized(weights: Sequence[Fraction]) -> list[Fraction]:
    """Return weights divided by their sum. Raises if all are 0."""
    total = sum(weights)
    if total == 0:
        raise DataError("The view has probability 0 under these beliefs, so no posterior exists.")
    return [weight / total for weight in weights]


@dataclass(frozen=True)
class IndependentAdversary:
    """Independent prior for every tuple; the columns of one tuple may be correlated."""

    d: Number
    priors: Mapping[Hashable, Number]

    def __post_init__(self) -> None:
        _check_bounded(
            self.d, {each: exact(prior, f"prior of {each!r}", low=0, high=1) for each, prior in self.priors.items()}
        )

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """Return the posterior of every tuple after a view."""
        return {
            tuple_asked: tuple_posterior(rates, prior, tuple_asked in view)
            for tuple_asked, prior in self.priors.items()
        }


@dataclass(frozen=True)
class ExclusiveAdversary:
    """Knows disjoint blocks of tuples, independent of each other, with exactly one tuple of each block in the table (link attacks)."""

    d: Number
    blocks: Sequence[Mapping[Hashable, Number]]

    def __post_init__(self) -> None:
        all_priors: dict[Hashable, Fraction] = {}
        for block in self.blocks:
            priors = {
                tuple_id: exact(prior, f"prior of {tuple_id!r}", low=0, high=1) for tuple_id, prior in block.items()
            }
            if sum(priors.values()) != 1:
                raise PolicyError(f"The priors of a block must add up to 1, but they add up to {sum(priors.values())}.")
            if all_priors.keys() & priors.keys():
                raise PolicyError(f"The tuple {next(iter(all_priors.keys() & priors.keys()))!r} is in two blocks.")
            all_priors |= priors
        _check_bounded(self.d, all_priors)

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """Return the posterior of every tuple of every block after a view."""
        after: dict[Hashable, Fraction] = {}
        for block in self.blocks:
            posteriors = block_posterior(rates, list(block.values()), [tuple_id in view for tuple_id in block])
            after |= dict(zip(block, posteriors, strict=True))
        return after


@dataclass(frozen=True)
class ArbitraryAdversary:
    """Any prior over whole tables, with any correlation. No useful method resists all of these, so no plan claims it."""

    d: Number
    worlds: Sequence[tuple[Collection[Hashable], Number]]
    domain: Collection[Hashable] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        chances = [exact(chance, "probability of a table", low=0, high=1) for _, chance in self.worlds]
        if sum(chances) != 1:
            raise PolicyError(f"The probabilities of the tables must add up to 1, but they add up to {sum(chances)}.")
        named = self.domain or {tuple_in_table for table, _ in self.worlds for tuple_in_table in table}
        object.__setattr__(self, "domain", tuple(named))
        _check_bounded(self.d, self.priors())

    def priors(self) -> dict[Hashable, Fraction]:
        """Return the prior of every tuple."""
        return {
            tuple_asked: sum(
                (exact(chance, "probability") for table, chance in self.worlds if tuple_asked in table), Fraction(0)
            )
            for tuple_asked in self.domain
        }

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """Return the posterior of every tuple after a view; takes time proportional to tables times tuples."""
        return worlds_posterior(rates, self.worlds, self.domain, view)


def _check_bounded(d: Number, priors: Mapping[Hashable, Fraction]) -> None:
    """Raise if a prior is above ``d`` and below 1: such an adversary is covered by no plan for ``d``."""
    bound = exact(d, "d", low=0, high=1)
    for tuple_asked, prior in priors.items():
        if bound < prior < 1:
            raise PolicyError(
                f"The prior of {tuple_asked!r} is {prior}, above d = {bound} and below 1: this adversary is not d-bounded, and no plan for d covers it."
            )
