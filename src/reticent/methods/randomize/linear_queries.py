"""What rows hold of a linear query: how many meet a condition, or what a column of theirs adds up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from reticent.base.exact import exact
from reticent.conditions import And, Column, Condition, IsNull, Not
from reticent.errors import PolicyError
from reticent.methods.randomize.domain_counts import masker
from reticent.methods.randomize.view_domain import Keys, ViewDomain

ROWS_AT_ONCE = 1_000_000


def in_chunks(keys: Keys) -> Iterator[Keys]:
    """The keys a million at a time."""
    for start in range(0, len(keys), ROWS_AT_ONCE):
        yield keys[start : start + ROWS_AT_ONCE]


def numbers(domain: ViewDomain, column: str) -> list[Fraction]:
    """What every value of a numeric column adds to a sum; nulls add nothing."""
    values = domain[column].listed
    if not values.dtype.is_numeric():
        raise PolicyError(f"Column {column!r} is not numeric; sums and averages need numbers.")
    return [Fraction(0) if value is None else exact(value, column) for value in values.to_list()]


def possible_numbers(domain: ViewDomain, column: str) -> list[Fraction]:
    """The values of a numeric column, nulls left out."""
    return [exact(value, column) for value in domain[column].listed.drop_nulls().to_list()]


def without_nulls(asked: Condition, domain: ViewDomain, column: str) -> Condition:
    """A condition, and that a column has a value: what averages are taken over."""
    if not domain[column].listed.null_count():
        return asked
    return Condition(asked.text, And((asked.node, Not(IsNull(Column(column))))))


def held(
    asked: Condition, domain: ViewDomain, keys: Keys, column: str | None = None, weights: Sequence[Fraction] = ()
) -> tuple[Fraction, Fraction]:
    """What some rows hold of a query: the sum of weights and of their squares."""
    masked = masker(asked, domain)
    if column is None:
        hits = Fraction(sum(int(masked(part).sum()) for part in in_chunks(keys)))
        return hits, hits
    counts = np.zeros(domain[column].size, dtype=np.int64)
    for part in in_chunks(keys):
        counts += np.bincount(domain.codes(part[masked(part)], column), minlength=len(counts))
    return moment(counts.tolist(), weights, 1), moment(counts.tolist(), weights, 2)


def moment(counts: Sequence[int], weights: Sequence[Fraction], power: int) -> Fraction:
    """The sum of powers of weights, each as often as it is counted."""
    pairs = zip(counts, weights, strict=True)
    return sum((count * weight**power for count, weight in pairs if count), Fraction(0))
