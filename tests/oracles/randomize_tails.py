"""Exact tails of n_V = Bin(q, s) + Bin(N - q, beta) by convolution in floating point, and brute-force domain counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np


@cache
def binomial_pmf(n: int, p: float) -> np.ndarray:
    if p >= 1:
        return np.eye(n + 1)[n]
    logs = np.array([math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)])
    hits = np.arange(n + 1)
    return np.exp(logs + hits * math.log(p) + (n - hits) * math.log1p(-p))


@cache
def shown_pmf(q: int, total: int, s: float, beta: float) -> np.ndarray:
    return np.convolve(binomial_pmf(q, s), binomial_pmf(total - q, beta))


def coverage(q: int, total: int, s: float, beta: float, intervals: Sequence[tuple[float, float]]) -> float:
    """The probability that the interval of what is shown holds q: a finite sum over all that can be shown, no simulation."""
    inside = np.array([low <= q <= high for low, high in intervals])
    return float(shown_pmf(q, total, s, beta) @ inside)


def interval(shown: int, total: int, most: int, s: float, beta: float, error: float) -> tuple[int, int] | None:
    """Every q tried one by one."""
    kept = []
    for q in range(most + 1):
        pmf = shown_pmf(q, total, s, beta)
        if pmf[: shown + 1].sum() > error / 2 and pmf[shown:].sum() > error / 2:
            kept.append(q)
    return (kept[0], kept[-1]) if kept else None


def count(values: Sequence[Sequence[Any]], met: Callable[..., bool]) -> int:
    return sum(1 for row in itertools.product(*values) if met(*row))
