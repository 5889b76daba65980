"""Adversaries as values (R-AB-1): what they believe before, checked to be bounded by d, and what they believe after a view, exactly.

Tuples are named by anything hashable. Every prior is at most ``d`` or exactly 1: what is known already needs no hiding.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from reticent.errors import PolicyError
from reticent.exact import Number, exact
from reticent.randomize.posteriors import block_posterior, tuple_posterior, worlds_posterior
from reticent.randomize.rates import Rates


@dataclass(frozen=True)
class IndependentAdversary:
    """Believes in every tuple by itself; correlation between the columns of one tuple is allowed."""

    d: Number
    priors: Mapping[Hashable, Number]

    def __post_init__(self) -> None:
        _check_bounded(
            self.d, {each: exact(prior, f"prior of {each!r}", low=0, high=1) for each, prior in self.priors.items()}
        )

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """The belief in every tuple after a view."""
        return {each: tuple_posterior(rates, prior, each in view) for each, prior in self.priors.items()}


@dataclass(frozen=True)
class ExclusiveAdversary:
    """Knows blocks of tuples of which exactly one each is in the table, independently (link attacks)."""

    d: Number
    blocks: Sequence[Mapping[Hashable, Number]]

    def __post_init__(self) -> None:
        named: dict[Hashable, Fraction] = {}
        for block in self.blocks:
            found = {each: exact(prior, f"prior of {each!r}", low=0, high=1) for each, prior in block.items()}
            if sum(found.values()) != 1:
                raise PolicyError(f"The priors of a block must add up to 1, but they add up to {sum(found.values())}.")
            if named.keys() & found.keys():
                raise PolicyError(f"The tuple {next(iter(named.keys() & found.keys()))!r} is in two blocks.")
            named |= found
        _check_bounded(self.d, named)

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """The belief in every tuple of every block after a view."""
        after: dict[Hashable, Fraction] = {}
        for block in self.blocks:
            found = block_posterior(rates, list(block.values()), [each in view for each in block])
            after |= dict(zip(block, found, strict=True))
        return after


@dataclass(frozen=True)
class ArbitraryAdversary:
    """Believes in whole tables; any correlation. No useful method resists all of these (3.8), so no plan claims it."""

    d: Number
    worlds: Sequence[tuple[Collection[Hashable], Number]]
    domain: Collection[Hashable] = field(default_factory=tuple)

    def __post_init__(self) -> None:
        chances = [exact(chance, "probability of a table", low=0, high=1) for _, chance in self.worlds]
        if sum(chances) != 1:
            raise PolicyError(f"The probabilities of the tables must add up to 1, but they add up to {sum(chances)}.")
        named = self.domain or {each for table, _ in self.worlds for each in table}
        object.__setattr__(self, "domain", tuple(named))
        _check_bounded(self.d, self.priors())

    def priors(self) -> dict[Hashable, Fraction]:
        """The belief in every tuple before a view."""
        return {
            each: sum((exact(chance, "probability") for table, chance in self.worlds if each in table), Fraction(0))
            for each in self.domain
        }

    def posterior(self, rates: Rates, view: Collection[Hashable]) -> dict[Hashable, Fraction]:
        """The belief in every tuple after a view; takes as long as there are tables times tuples."""
        return worlds_posterior(rates, self.worlds, self.domain, view)


def _check_bounded(d: Number, priors: Mapping[Hashable, Fraction]) -> None:
    bound = exact(d, "d", low=0, high=1)
    for each, prior in priors.items():
        if bound < prior < 1:
            raise PolicyError(
                f"The prior of {each!r} is {prior}, above d = {bound} and below 1: this adversary is not d-bounded, and no plan for d covers it."
            )
