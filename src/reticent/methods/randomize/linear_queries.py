"""Linear queries on rows: the number of rows that meet a condition, or the sum of a column over them."""

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
    """Yield the keys in chunks of a million."""
    for start in range(0, len(keys), ROWS_AT_ONCE):
        yield keys[start : start + ROWS_AT_ONCE]


def numbers(domain: ViewDomain, column: str) -> list[Fraction]:
    """Return the weight of every value of a numeric column in a sum; nulls weigh 0."""
    values = domain[column].listed
    if not values.dtype.is_numeric():
        raise PolicyError(f"Column {column!r} is not numeric; sums and averages need numbers.")
    return [Fraction(0) if value is None else exact(value, column) for value in values.to_list()]


def possible_numbers(domain: ViewDomain, column: str) -> list[Fraction]:
    """Return the values of a numeric column without null."""
    return [exact(value, column) for value in domain[column].listed.drop_nulls().to_list()]


def without_nulls(condition: Condition, domain: ViewDomain, column: str) -> Condition:
    """Return the condition restricted to rows in which the column is not null, the base of averages."""
    if not domain[column].listed.null_count():
        return condition
    return Condition(condition.text, And((condition.node, Not(IsNull(Column(column))))))


def held(
    condition: Condition, domain: ViewDomain, keys: Keys, column: str | None = None, weights: Sequence[Fraction] = ()
) -> tuple[Fraction, Fraction]:
    """Return the sum of weights and of squared weights of rows in a query."""
    masked = masker(condition, domain)
    if column is None:
        hits = Fraction(sum(int(masked(part).sum()) for part in in_chunks(keys)))
        return hits, hits
    counts = np.zeros(domain[column].size, dtype=np.int64)
    for part in in_chunks(keys):
        counts += np.bincount(domain.codes(part[masked(part)], column), minlength=len(counts))
    return moment(counts.tolist(), weights, 1), moment(counts.tolist(), weights, 2)


def moment(counts: Sequence[int], weights: Sequence[Fraction], power: int) -> Fraction:
    """Return the sum of powers of weights with multiplicities."""
    pairs = zip(counts, weights, strict=True)
    return sum((count * weight**power for count, weight in pairs if count), Fraction(0))
