"""All counting queries on one to three columns: every equality on every combination of columns, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PolicyError
from reticent.methods.randomize.grouped_counts import LARGEST_CELLS, Layer
from reticent.methods.randomize.view import View


@dataclass(frozen=True)
class Marginal:
    """Estimates of all equality queries on some columns, indexed by value codes."""

    columns: tuple[str, ...]
    shown: NDArray[np.int64]
    values: NDArray[np.floating]
    standard_errors: NDArray[np.floating]


def marginals(view: View, width: int = 3) -> Iterator[Marginal]:
    """Yield every marginal of 1 to ``width`` columns. Only the widest are counted from the view; narrower ones are their sums.

    n_D is m divided by the sizes of the columns, the same for all cells of a marginal. That holds for the first view
    with uniform noise; use :meth:`View.group_by` for others.
    """
    if view.source_rates is not None or view.manifest.index > 1:
        raise PolicyError(
            "marginals() needs the first view of a plan with uniform noise. Use group_by(...) for this view."
        )
    domain, rates = view.domain, view.rates
    kept_variance = float(rates.s * (1 - rates.s))
    names = domain.names
    widest = min(width, len(names))
    codes = {name: domain.codes(view.keys, name).astype(np.int32) for name in names}
    counts_by_columns: dict[tuple[str, ...], NDArray[np.int64]] = {}
    for columns in combinations(names, widest):
        shape = tuple(domain[name].size for name in columns)
        if math.prod(shape) > LARGEST_CELLS:
            continue
        packed = codes[columns[0]]
        for name, size in zip(columns[1:], shape[1:], strict=True):
            packed = packed * np.int32(size) + codes[name]
        counts_by_columns[columns] = np.bincount(packed, minlength=math.prod(shape)).reshape(shape)
    for size in range(widest - 1, 0, -1):
        for columns in combinations(names, size):
            wider = next(
                (
                    columns_counted
                    for columns_counted in counts_by_columns
                    if len(columns_counted) == size + 1 and set(columns) <= set(columns_counted)
                ),
                None,
            )
            if wider is not None:
                dropped_axis = next(axis for axis, name in enumerate(wider) if name not in columns)
                counts_by_columns[columns] = counts_by_columns[wider].sum(axis=dropped_axis)
    for columns, shown in counts_by_columns.items():
        total = Fraction(domain.size, math.prod(shown.shape))
        limit = float(min(Fraction(view.plan.n), total))
        layer = Layer(shown, float(rates.beta * total), limit, float(rates.alpha), kept_variance, float(rates.beta))
        yield Marginal(columns, shown, layer.values, np.sqrt(layer.variances()))
