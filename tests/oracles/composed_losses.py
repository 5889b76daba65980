"""What a published plan of noisy steps discloses about one unit, by numeric composition of privacy losses: an accountant that shares no code with ours.

It reads the plan as it is written in the manifest. Every step has a pair of outputs' distributions on two neighbours that differ as much as the step allows: a cell of a count moved by all records of the unit (where records
are replaced: a second cell moved back), and candidates of a choice whose scores all rise or all fall by the sensitivity. The losses of these pairs are convolved on a grid. An adversary meets exactly these losses, so
that an epsilon below the one found here is false; choices have a free parameter (how likely the candidates are that rise), which is searched.

Sources: privacy loss distributions and their composition by FFT: Koskela, Jälkö and Honkela 2020, Computing tight differential privacy guarantees using FFT; worst pairs of choices: Dong, Durfee and Rogers 2020, Optimal differential privacy composition for exponential mechanisms.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP = 2e-4
_POINTS = 2**17
Losses = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Values of the privacy loss, and their probabilities."""


def count_losses(currency: str, scale: float, moved: int) -> Losses:
    """Of one count with discrete noise: the loss of each output where the true count is 0, beside a neighbour with ``moved``."""
    reach = math.ceil(moved + (12 if currency == "rho" else 40) * scale)
    outputs = np.arange(-reach, reach + 1, dtype=np.float64)

    def logarithms(centre: int) -> NDArray[np.float64]:
        distances = np.abs(outputs - centre)
        return -((distances / scale) ** 2) / 2 if currency == "rho" else -distances / scale

    weights = np.exp(logarithms(0))
    return logarithms(0) - logarithms(moved), weights / weights.sum()


def choice_losses(scale: float, moved: int, likely: float) -> Losses:
    """Of a choice by exponential weights: candidates with probability ``likely`` fall by ``moved`` on the neighbour, the others rise by it."""
    falling, rising = likely * math.exp(-moved / scale), (1 - likely) * math.exp(moved / scale)
    after = falling / (falling + rising)
    return np.log([likely / after, (1 - likely) / (1 - after)]), np.array([likely, 1 - likely])


def steps_of(plan: Mapping[str, Any]) -> Counter[tuple[str, Fraction]]:
    """How often each kind of step occurs, as (kind, scale)."""
    return Counter((step["step"], Fraction(step["scale"])) for step in plan["steps"])


def composed(plan: Mapping[str, Any], relation: str, likely: float) -> Losses:
    """The losses of all steps together, on a grid."""
    spectrum = np.ones(_POINTS // 2 + 1, dtype=np.complex128)
    for (kind, scale), times in steps_of(plan).items():
        for losses, repeated in _pairs(plan, kind, float(scale), relation, likely):
            spectrum *= np.fft.rfft(_on_grid(*losses)) ** (times * repeated)
    probabilities = np.fft.irfft(spectrum, _POINTS)
    # Index 0 is a loss of 0; the upper half of the indices are negative losses.
    values = STEP * np.fft.fftfreq(_POINTS, 1 / _POINTS)
    return values, np.clip(probabilities, 0.0, None)


def _pairs(plan: Mapping[str, Any], kind: str, scale: float, relation: str, likely: float) -> list[tuple[Losses, int]]:
    rows, replaced = plan["rows"], relation == "replace"
    if kind == "choose":
        return [(choice_losses(scale, rows * (2 if replaced else 1), likely), 1)]
    return [(count_losses(plan["currency"], scale, rows), 2 if replaced else 1)]


def _on_grid(values: NDArray[np.float64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities by grid index, each loss divided between its two neighbours so that means are kept."""
    places = values / STEP
    below = np.floor(places).astype(np.int64)
    grid = np.zeros(_POINTS)
    np.add.at(grid, below % _POINTS, probabilities * (1 - (places - below)))
    np.add.at(grid, (below + 1) % _POINTS, probabilities * (places - below))
    return grid


def least_delta(losses: Losses, epsilon: float) -> float:
    """The smallest delta for an epsilon."""
    values, probabilities = losses
    above = values > epsilon
    return float(probabilities[above] @ -np.expm1(epsilon - values[above]))


def least_epsilon(plan: Mapping[str, Any], relation: str, delta: float) -> float:
    """The epsilon that no statement about the plan may be below; with ``delta`` 0 that of pure differential privacy, which is the largest loss."""
    if not delta:
        return sum(
            times * repeated * float(np.max(losses[0]))
            for (kind, scale), times in steps_of(plan).items()
            for losses, repeated in _pure_pairs(plan, kind, float(scale), relation)
        )
    found = 0.0
    for likely in (0.02, 0.25, 0.75):
        losses = composed(plan, relation, likely)
        low, high = 0.0, STEP * _POINTS / 2
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if least_delta(losses, middle) > delta else (low, middle)
        found = max(found, high)
    return found


def _pure_pairs(plan: Mapping[str, Any], kind: str, scale: float, relation: str) -> list[tuple[Losses, int]]:
    """As :func:`_pairs`, with the worst choice: candidates that rise are next to certain, so that those that fall lose most."""
    if kind == "choose":
        return _pairs(plan, kind, scale, relation, 1e-9)
    return _pairs(plan, kind, scale, relation, 0.5)


def largest_rho(plan: Mapping[str, Any], relation: str, orders: tuple[float, ...] = (1.01, 1.5, 2, 4, 16)) -> float:
    """The largest Rényi divergence of all steps over its order, which rho of zero-concentrated differential privacy bounds."""
    return max(
        sum(
            times * repeated * _renyi(losses, order)
            for (kind, scale), times in steps_of(plan).items()
            for losses, repeated in _pairs(plan, kind, float(scale), relation, likely)
        )
        / order
        for order in orders
        for likely in (0.1, 0.5, 0.9)
    )


def _renyi(losses: Losses, order: float) -> float:
    """The Rényi divergence of a pair, from its losses: the mean of e^((order - 1) loss)."""
    values, probabilities = losses
    exponents = (order - 1) * values
    largest = float(exponents.max())
    return (largest + math.log(float(probabilities @ np.exp(exponents - largest)))) / (order - 1)
