"""Count the assignments that satisfy all factors by variable elimination, in exact integers.

Corrected: the tree procedure printed in [Rastogi2007] scales wrongly (a probability of 16/15 instead of 4/15 in one
example).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LARGEST_TABLE = 1 << 26
_LARGEST_WORD = 2**62


class TooLarge(Exception):
    """A table would exceed the cell limit."""


@dataclass(frozen=True)
class Factor:
    """A table over some columns: the weight of each combination of their codes (0 or 1 initially)."""

    scope: tuple[str, ...]
    table: NDArray[Any]

    def complement(self) -> Factor:
        """Return the complement of a 0/1 table."""
        return Factor(self.scope, 1 - self.table)


@dataclass(frozen=True)
class CountedSpace:
    """The columns counted over, each with its number of values and, if they are not all 1, their weights."""

    sizes: Mapping[str, int]
    weights: Mapping[str, Sequence[Any]]

    def total(self, name: str) -> Any:
        """Return the total weight of a column's values."""
        return sum(self.weights[name]) if name in self.weights else self.sizes[name]

    def dtype(self, names: Sequence[str]) -> Any:
        """Return 64-bit integers if no product of these columns can overflow, otherwise Python objects."""
        if any(name in self.weights for name in names):
            return object
        return np.int64 if math.prod(self.sizes[name] for name in names) < _LARGEST_WORD else object


def eliminate(factors: Sequence[Factor], space: CountedSpace, keep: Sequence[str] = ()) -> Any:
    """Return the weighted number of assignments that all factors allow; with ``keep``, one for each combination of these columns' codes.

    Columns are eliminated in min-degree order. Cost: the largest product of a column's and its neighbours' sizes;
    :class:`TooLarge` above :data:`LARGEST_TABLE`.
    """
    touched = tuple(dict.fromkeys(name for factor in factors for name in factor.scope))
    dtype = space.dtype(tuple(dict.fromkeys([*touched, *keep])))
    remaining = [Factor(factor.scope, factor.table.astype(dtype)) for factor in factors]
    open_columns = [name for name in touched if name not in keep]
    while open_columns:
        chosen = min(open_columns, key=lambda name: _joint_cells(name, remaining, space))
        open_columns.remove(chosen)
        factors_with_column = [factor for factor in remaining if chosen in factor.scope]
        remaining = [factor for factor in remaining if chosen not in factor.scope]
        remaining.append(_summed(factors_with_column, chosen, space, dtype))
    multiplier: Any = 1
    for name in space.sizes:
        if name not in touched and name not in keep:
            multiplier = multiplier * space.total(name)
    if not keep:
        return _scalar(remaining) * multiplier
    joined = _joined(remaining, keep, space, dtype)
    # Machine integers overflow silently: use them only if no count of the whole domain can overflow.
    return (joined if space.dtype(tuple(space.sizes)) is np.int64 else joined.astype(object)) * multiplier


def _neighbours(name: str, factors: Sequence[Factor]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(other for factor in factors if name in factor.scope for other in factor.scope))


def _joint_cells(name: str, factors: Sequence[Factor], space: CountedSpace) -> int:
    return math.prod(space.sizes[other] for other in _neighbours(name, factors))


def _summed(factors: Sequence[Factor], name: str, space: CountedSpace, dtype: Any) -> Factor:
    """Return the factor without column ``name``: the product of ``factors``, which all have it, summed over its values."""
    joint = (name, *(other for other in _neighbours(name, factors) if other != name))
    if math.prod(space.sizes[other] for other in joint) > LARGEST_TABLE:
        raise TooLarge
    product = _product(factors, joint)
    if name in space.weights:
        weights = np.array(list(space.weights[name]), dtype=object)
        product = product * weights.reshape((-1, *([1] * (len(joint) - 1))))
    return Factor(joint[1:], np.asarray(product.sum(axis=0), dtype=dtype))


def _product(factors: Sequence[Factor], joint: Sequence[str]) -> NDArray[Any]:
    """Return the product of factors as one table over the columns ``joint``, by broadcasting."""
    product: Any = None
    for factor in factors:
        order = [name for name in joint if name in factor.scope]
        table = factor.table.transpose([factor.scope.index(name) for name in order])
        table = table.reshape([table.shape[order.index(name)] if name in order else 1 for name in joint])
        product = table if product is None else product * table
    result: NDArray[Any] = product
    return result


def _joined(factors: Sequence[Factor], keep: Sequence[str], space: CountedSpace, dtype: Any) -> NDArray[Any]:
    """Return the product of the remaining factors as a table over the kept columns, weights included."""
    shape = [space.sizes[name] for name in keep]
    if math.prod(shape) > LARGEST_TABLE:
        raise TooLarge
    table = np.ones(shape, dtype=dtype)
    for factor in factors:
        table = table * _product([factor], keep)
    for name in keep:
        if name in space.weights:
            weights = np.array(list(space.weights[name]), dtype=object)
            table = table * weights.reshape([-1 if other == name else 1 for other in keep])
    return table


def _scalar(factors: Sequence[Factor]) -> Any:
    """Return the product of factors that have no variable left."""
    total: Any = 1
    for factor in factors:
        value = factor.table.item()
        total = total * value
    return total
