"""Exact tails of n_V = Bin(q, s) + Bin(N - q, beta) by convolution in floating point, and brute-force domain counts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def binomial_pmf(n: int, p: float) -> np.ndarray:
    logs = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in range(n + 1)]
    return np.array([math.exp(log + k * math.log(p) + (n - k) * math.log1p(-p)) for k, log in enumerate(logs)])


def shown_pmf(q: int, total: int, s: float, beta: float) -> np.ndarray:
    return np.convolve(binomial_pmf(q, s), binomial_pmf(total - q, beta))


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
