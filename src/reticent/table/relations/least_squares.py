"""Weighted sums of columns that equal another one, and their wording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from reticent.table.relations.relation import Numbers

_PRECISE = 1e-9


def weights_of(columns: Numbers, target: Numbers) -> Iterator[Numbers]:
    """Candidate weights of columns whose sum may be the target: least squares, with and without the tenth of the rows with
    the largest residuals. Empty if too few rows are known.
    """
    known_rows = np.flatnonzero(np.isfinite(columns).all(axis=1) & np.isfinite(target))
    if len(known_rows) < 3 * columns.shape[1]:
        return
    scale = np.maximum(np.abs(columns[known_rows]).max(axis=0), 1e-300)
    x, y = columns[known_rows] / scale, target[known_rows]
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    yield weights / scale
    residuals = np.abs(y - x @ weights)
    is_close = residuals <= np.quantile(residuals, 0.9)
    if residuals.max() > _PRECISE * np.abs(y).max() and int(is_close.sum()) >= 2 * columns.shape[1]:
        yield np.linalg.lstsq(x[is_close], y[is_close], rcond=None)[0] / scale


def sum_words(weighted: Sequence[tuple[float, str]], constant: float) -> str:
    """A weighted sum in words, positive terms first."""
    terms = [(weight, text if abs(weight) == 1 else f"{abs(weight):.4g} times {text}") for weight, text in weighted]
    terms += [(constant, f"{abs(constant):.6g}")] if constant else []
    formula = "".join(
        f" {'minus' if weight < 0 else 'plus'} {text}" for weight, text in sorted(terms, key=_is_negative)
    )
    return formula.removeprefix(" plus ").strip()


def _is_negative(term: tuple[float, str]) -> bool:
    return term[0] < 0


def product_words(powers: Sequence[tuple[float, str]], constant: float) -> str:
    """A product of powers in words, with exponents to two digits."""
    factors = [] if f"{constant:.2g}" == "1" else [f"{constant:.3g}"]
    for power, text in powers:
        short = f"{power:.2g}"
        factors.append(text if short == "1" else f"{text} to the power of {short}")
    return " times ".join(factors)
