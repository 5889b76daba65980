"""Count the tuples of a domain that meet a condition: exactly, without enumerating the domain, or by sampling if that is infeasible.

The condition is put into negation normal form. It is then true exactly if the and/or over "this comparison is true" is,
nulls included, so that counting needs no three-valued logic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import And, Condition, Node, Or, positive, scope, truth
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize.elimination import CountedSpace, Factor, TooLarge, eliminate
from reticent.methods.randomize.view_domain import Keys, ViewDomain

SAMPLES = 1_000_000
_LARGEST_PREDICATE = 1 << 23
_MOST_DISJUNCTS = 15
_MOST_TERMS = 1 << 10

Part = Node | Factor


@dataclass(frozen=True)
class Sample:
    """A sampled domain count: ``hits`` of ``tries`` uniform tuples of a domain of ``size`` met the condition."""

    hits: int
    tries: int
    size: int

    @property
    def standard_error(self) -> float:
        """Return the standard error of the count; one hit and one miss are added, so that a share of 0 or 1 is not taken as certain."""
        share = (self.hits + 1) / (self.tries + 2)
        return float(Fraction(self.size) * Fraction(math.sqrt(share * (1 - share) / self.tries)))

    def deviation(self, error: Fraction) -> Fraction:
        """Return the deviation that is exceeded with probability at most ``error``: the farther end of the Clopper-Pearson interval."""
        from scipy.special import betaincinv

        tail, misses = float(error) / 2, self.tries - self.hits
        low = betaincinv(self.hits, misses + 1, tail) if self.hits else 0.0
        high = betaincinv(self.hits + 1, misses, 1 - tail) if misses else 1.0
        share = Fraction(self.hits, self.tries)
        return self.size * max(share - Fraction(float(low)), Fraction(float(high)) - share)


@dataclass(frozen=True)
class DomainCount:
    """The number of tuples of the domain that meet a condition: exact, or estimated from a ``sample``."""

    value: Fraction
    sample: Sample | None = None

    @property
    def is_exact(self) -> bool:
        """True if nothing was sampled."""
        return self.sample is None

    @property
    def standard_error(self) -> float:
        """Return the standard error; 0 for an exact count."""
        return 0.0 if self.sample is None else self.sample.standard_error


def count_domain(condition: str | Condition, domain: ViewDomain | Mapping[str, Any]) -> int:
    """Return the exact number of tuples of a domain that meet a condition: ``count_domain("score < 3*age", domain)``.

    :class:`Infeasible` if the condition couples too many large columns for an exact count.
    """
    space = ViewDomain.of(domain)
    try:
        return int(count_exactly(checked(condition, space), space))
    except TooLarge:
        raise Infeasible(
            f"The condition {str(condition)!r} couples columns with too many combinations for an exact count. Split it, or use an estimate, "
            "which counts the domain by sampling."
        ) from None


def count_or_sample(condition: Condition, domain: ViewDomain, *, samples: int = SAMPLES, seed: int = 0) -> DomainCount:
    """Return the exact count if feasible, otherwise an estimate from uniform tuples."""
    try:
        return DomainCount(Fraction(int(count_exactly(condition, domain))))
    except TooLarge:
        generator = np.random.default_rng(seed)
        frame = pl.DataFrame(
            [domain[name].decode(generator.integers(0, domain[name].size, samples)) for name in condition.scope]
        )
        sample = Sample(int(condition.mask(frame).sum()), samples, domain.size)
        return DomainCount(Fraction(sample.hits * domain.size, samples), sample)


def checked(condition: str | Condition, domain: ViewDomain) -> Condition:
    """Parse a condition and check it against the domain's columns and types."""
    parsed = Condition.of(condition)
    parsed.check_names(domain.names)
    parsed.check({name: domain[name].kind for name in parsed.scope}, domain.names)
    return parsed


def count_exactly(
    condition: Condition,
    domain: ViewDomain,
    *,
    weights: Mapping[str, Sequence[Any]] | None = None,
    keep: Sequence[str] = (),
) -> Any:
    """Return the weighted count of the domain, one for each combination of codes of the ``keep`` columns.

    ``weights`` gives the values of some columns a weight each (integers or fractions); a tuple counts with their
    product.
    """
    counter = _Counter(domain, CountedSpace(domain.sizes, weights or {}), tuple(keep))
    return counter.count([positive(condition.node)])


def count_or_refuse(condition: Condition, domain: ViewDomain, what: str, **options: Any) -> Any:
    """:func:`count_exactly`, raising a :class:`PolicyError` that names the condition if an exact count is infeasible."""
    try:
        return count_exactly(condition, domain, **options)
    except TooLarge:
        raise PolicyError(
            f"The condition {condition.text!r} couples columns with too many combinations for {what}. Use fewer columns, or split it."
        ) from None


def masker(condition: Condition, domain: ViewDomain) -> Callable[[Keys], NDArray[np.bool_]]:
    """Return a function that masks the tuples meeting a condition: by table lookup over codes, or by evaluation if the table would be too large."""
    try:
        factor = tabulate(condition.node, domain)
    except TooLarge:
        return lambda keys: condition.mask(domain.unpack(keys, condition.scope)).to_numpy()
    is_met = factor.table.astype(bool)
    if not factor.scope:
        return lambda keys: np.full(len(keys), bool(is_met))
    return lambda keys: is_met[tuple(domain.codes(keys, name) for name in factor.scope)]


def tabulate(node: Node, domain: ViewDomain) -> Factor:
    """Return a predicate as a table of zeros and ones over the combinations of its columns' codes. Raises :class:`TooLarge` if there are too many."""
    names = scope(node)
    shape = tuple(domain[name].size for name in names)
    cells = math.prod(shape)
    if cells > _LARGEST_PREDICATE:
        raise TooLarge
    if not names:
        one_row = pl.DataFrame({"": [0]})
        return Factor((), np.asarray(truth(node, one_row).fill_null(False).to_numpy()[0], dtype=np.int8))
    codes = np.unravel_index(np.arange(cells), shape)
    frame = pl.DataFrame([domain[name].decode(code) for name, code in zip(names, codes, strict=True)])
    is_met = truth(node, frame).fill_null(False).to_numpy()
    return Factor(names, is_met.reshape(shape).astype(np.int8))


@dataclass(frozen=True)
class _Counter:
    domain: ViewDomain
    space: CountedSpace
    keep: tuple[str, ...]

    def count(self, parts: Sequence[Part]) -> Any:
        """Count the tuples of the domain that meet all ``parts``. Raises :class:`TooLarge` if one of them spans too many columns."""
        flat = list(_conjuncts(parts))
        too_wide = [part for part in flat if not self.is_narrow(part)]
        if not too_wide:
            return eliminate([self.factor(part) for part in flat], self.space, self.keep)
        disjunction = too_wide[0]
        if not isinstance(disjunction, Or):
            raise TooLarge
        return self.count_any(list(disjunction.parts), [part for part in flat if part is not disjunction])

    def count_any(self, disjuncts: Sequence[Part], others: Sequence[Part]) -> Any:
        """Return the number of tuples that meet all of ``others`` and any of ``disjuncts``.

        Disjuncts that fit into tables are combined by one complement: all minus none of them. The others are counted by
        inclusion-exclusion over non-empty subsets, or as disjoint terms if there are many.
        """
        narrow = [self.factor(part).complement() for part in disjuncts if self.is_narrow(part)]
        total: Any = self.count(others) - self.count([*others, *narrow]) if narrow else 0
        outside: list[Part] = [*others, *narrow]
        disjunct_tables = [self._tables(part) for part in disjuncts if not self.is_narrow(part)]
        if len(disjunct_tables) <= _MOST_DISJUNCTS:
            return total + self._alternating(disjunct_tables, outside)
        return total + self._disjoint(disjunct_tables, outside, [_MOST_TERMS])

    def _tables(self, disjunct: Part) -> list[Part]:
        """Return the parts of a disjunct as tables, computed once, if they fit."""
        return [self.factor(part) if self.is_narrow(part) else part for part in _conjuncts([disjunct])]

    def _alternating(self, disjuncts: Sequence[Sequence[Part]], conditions: Sequence[Part]) -> Any:
        """Return the number of tuples that meet all ``conditions`` and any of ``disjuncts`` (each a list of parts), by
        inclusion-exclusion over non-empty subsets; contradictory subsets count zero and are skipped.
        """
        total: Any = 0
        for index, chosen in enumerate(disjuncts):
            restricted = [*conditions, *chosen]
            if not _is_empty(restricted):
                total = total + self.count(restricted) - self._alternating(disjuncts[index + 1 :], restricted)
        return total

    def _disjoint(self, disjuncts: Sequence[Sequence[Part]], conditions: Sequence[Part], budget: list[int]) -> Any:
        """Return the number of tuples that meet all ``conditions`` and any of ``disjuncts``, as a sum of disjoint terms: the
        first disjunct, then the others restricted to its complement, split by its first failing part.

        ``budget`` has the number of terms that are left, shared by all calls. Raises :class:`TooLarge` beyond it.
        """
        if not disjuncts:
            return 0
        budget[0] -= 1
        first, later = disjuncts[0], disjuncts[1:]
        if budget[0] < 0 or not all(isinstance(part, Factor) for part in first):
            raise TooLarge
        total = self.count([*conditions, *first])
        fulfilled: list[Part] = []
        for part in first:
            branch = [*conditions, *fulfilled, self.factor(part).complement()]
            if not _is_empty(branch):
                total = total + self._disjoint(later, branch, budget)
            fulfilled.append(part)
        return total

    def is_narrow(self, part: Part) -> bool:
        """True if a part fits into a table."""
        if isinstance(part, Factor):
            return True
        return math.prod(self.domain[name].size for name in scope(part)) <= _LARGEST_PREDICATE

    def factor(self, part: Part) -> Factor:
        """Return a part as a table."""
        return part if isinstance(part, Factor) else tabulate(part, self.domain)


def _is_empty(parts: Sequence[Part]) -> bool:
    """True if tables over a single column contradict each other."""
    table_of_column: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Factor) and len(part.scope) == 1:
            name = part.scope[0]
            table_of_column[name] = table_of_column[name] * part.table if name in table_of_column else part.table
    return any(not table.any() for table in table_of_column.values())


def _conjuncts(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts of nested conjunctions."""
    for part in parts:
        if isinstance(part, And):
            yield from _conjuncts(part.parts)
        else:
            yield part
