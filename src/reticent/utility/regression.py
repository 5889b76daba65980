"""Regression models fitted before and after publication, and the conclusions of an analyst that change.

A model is written ``"wage ~ age + sex"``. A two-valued outcome is fitted by logistic regression, any other by least
squares. Figures are for the steward: they are computed from the original table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.errors import PolicyError, did_you_mean

Numbers = NDArray[np.float64]
Change = Literal["sign", "lost", "new", "moved", "separated", "undetermined"]

CONSTANT = "(constant)"
_NORMAL = 1.959963984540054
_STEPS, _NEAR = 50, 1e-9
_SEPARATED = 12.0
"""A logistic coefficient times the spread of its column above this means separation: no finite estimate exists."""


@dataclass(frozen=True)
class DesignColumn:
    """A column as regressors: one array of numbers, or for a category one per value but the first. Missing values are NaN."""

    names: tuple[str, ...]
    values: Numbers

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.shape[1] != len(self.names):
            raise PolicyError("A design column needs one array of numbers for each of its names.")


Design = Mapping[str, DesignColumn]


@dataclass(frozen=True)
class RegressionModel:
    """An outcome and the columns that it is regressed on."""

    outcome: str
    terms: tuple[str, ...]

    @classmethod
    def parse(cls, formula: str, known: Sequence[str]) -> RegressionModel:
        """Parse a formula such as ``"wage ~ age + sex"``. Raises :class:`PolicyError` for a name that is not ``known``."""
        outcome, sign, right = (part.strip() for part in formula.partition("~"))
        terms = tuple(term.strip() for term in right.split("+"))
        if not sign or not outcome or not all(terms) or outcome in terms:
            raise PolicyError(
                f"A regression is written 'wage ~ age + sex', but it is {formula!r}.", setting=("regression",)
            )
        for name in (outcome, *terms):
            if name not in known:
                raise PolicyError(
                    f"The regression {formula!r} names {name!r}, which is not a published column of numbers, dates or few categories."
                    f"{did_you_mean(name, known)} There are: {', '.join(known) or 'none'}.",
                    setting=("regression",),
                )
        return cls(outcome, tuple(dict.fromkeys(terms)))

    def __str__(self) -> str:
        return f"{self.outcome} ~ {' + '.join(self.terms)}"


@dataclass(frozen=True)
class ModelFit:
    """Estimates and standard errors by term, the constant first; NaN if the columns do not determine them."""

    names: tuple[str, ...]
    estimates: Numbers
    errors: Numbers
    separated: bool = False

    def estimate(self, name: str) -> Coefficient:
        """The estimate of a term with its interval; NaN for a term that the model does not have."""
        if name not in self.names:
            return Coefficient(nan, nan)
        index = self.names.index(name)
        return Coefficient(float(self.estimates[index]), float(self.errors[index]))


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its standard error."""

    value: float
    error: float

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval."""
        return self.value - _NORMAL * self.error, self.value + _NORMAL * self.error

    @property
    def known(self) -> bool:
        """True if the data determine it."""
        return isfinite(self.value) and isfinite(self.error)

    @property
    def significant(self) -> bool:
        """True if the interval excludes zero."""
        low, high = self.interval
        return self.known and (low > 0 or high < 0)

    def words(self) -> str:
        """The estimate and its interval, rounded."""
        if not self.known:
            return "undetermined"
        low, high = self.interval
        return f"{self.value:.3g} ({low:.3g} to {high:.3g})"


@dataclass(frozen=True)
class ConclusionChange:
    """A coefficient from which analysts of the release and of the table draw different conclusions.

    ``sign``: significant in the table, and of the opposite sign in the release; ``lost``: no longer significant;
    ``new``: significant in the release only; ``moved``: significant in both, with disjoint intervals; ``separated``:
    the release has no finite estimate, because its values separate the outcome; ``undetermined``: the release does not
    determine it.
    """

    model: RegressionModel
    term: str
    before: Coefficient
    after: Coefficient
    change: Change

    @property
    def words(self) -> str:
        """The change in one sentence."""
        start = f"{self.model.outcome} on {self.term}: {self.before.words()} in the table"
        if self.change == "separated":
            return f"{start}; no finite estimate in the release, because its values separate the outcome."
        if self.change == "undetermined":
            return f"{start}; the release does not determine it."
        return f"{start}, {self.after.words()} in the release: {_WORDS[self.change]}."

    def as_dict(self) -> dict[str, object]:
        """The change as plain data."""
        pairs = {"before": self.before, "after": self.after}
        return {
            "model": str(self.model),
            "term": self.term,
            "change": self.change,
            **{
                name: {"value": coefficient.value, "interval": list(coefficient.interval)}
                for name, coefficient in pairs.items()
            },
        }


_WORDS: Mapping[Change, str] = {
    "sign": "the sign is reversed",
    "lost": "no longer distinguishable from zero",
    "new": "an effect that the table does not show",
    "moved": "the intervals do not meet",
}


def fit_model(model: RegressionModel, design: Design, *, logistic: bool | None = None) -> ModelFit:
    """Fit a model to the complete rows. ``logistic`` is determined by the outcome if not given."""
    outcome = design[model.outcome].values[:, 0]
    names = (CONSTANT, *(name for term in model.terms for name in design[term].names))
    regressors = np.column_stack([np.ones(len(outcome)), *(design[term].values for term in model.terms)])
    rows = np.isfinite(regressors).all(axis=1) & np.isfinite(outcome)
    regressors, outcome = regressors[rows], outcome[rows]
    free = len(outcome) - len(names)
    if free <= 0 or np.linalg.matrix_rank(regressors) < len(names):
        undetermined = np.full(len(names), nan)
        return ModelFit(names, undetermined, undetermined)
    if is_binary(outcome) if logistic is None else logistic:
        return _logistic(names, regressors, outcome)
    return _least_squares(names, regressors, outcome)


def is_binary(values: Numbers) -> bool:
    """True if all known values are 0 or 1, and both occur."""
    known = np.unique(values[np.isfinite(values)])
    return len(known) == 2 and known[0] == 0 and known[1] == 1


def _least_squares(names: tuple[str, ...], regressors: Numbers, outcome: Numbers) -> ModelFit:
    """Fit a linear model by ordinary least squares, with the classical standard errors."""
    estimates: Numbers = np.linalg.lstsq(regressors, outcome, rcond=None)[0].astype(np.float64)
    variance = float(((outcome - regressors @ estimates) ** 2).sum()) / (len(outcome) - len(names))
    errors: Numbers = np.sqrt(np.diag(np.linalg.inv(regressors.T @ regressors)) * variance)
    return ModelFit(names, estimates, errors)


def _logistic(names: tuple[str, ...], regressors: Numbers, outcome: Numbers) -> ModelFit:
    """Fit a logistic model by maximum likelihood (Newton's method on standardized columns). Diverging coefficients mean separation: no finite estimate exists."""
    centre, spread = regressors.mean(axis=0), regressors.std(axis=0)
    centre[0], spread[0] = 0.0, 1.0
    scaled = (regressors - centre) / spread
    coefficients = np.zeros(len(names))
    for _ in range(_STEPS):
        probability = 1 / (1 + np.exp(-np.clip(scaled @ coefficients, -35, 35)))
        weights = np.maximum(probability * (1 - probability), 1e-12)
        information = (scaled * weights[:, None]).T @ scaled
        try:
            newton_step = np.linalg.solve(information, scaled.T @ (outcome - probability))
        except np.linalg.LinAlgError:
            break
        coefficients = coefficients + newton_step
        if np.abs(coefficients).max() > _SEPARATED or np.abs(newton_step).max() < _NEAR:
            break
    separated = bool(np.abs(coefficients[1:]).max(initial=0.0) > _SEPARATED) or not np.isfinite(coefficients).all()
    try:
        covariance = np.linalg.inv(information)
    except np.linalg.LinAlgError:
        separated, covariance = True, np.full((len(names), len(names)), nan)
    unscaling = np.diag(1 / spread)
    unscaling[0, 1:] = -centre[1:] / spread[1:]
    estimates = unscaling @ coefficients
    errors = np.sqrt(np.maximum(np.diag(unscaling @ covariance @ unscaling.T), 0.0))
    return ModelFit(names, estimates, errors, separated)


def changed_conclusions(
    models: Sequence[RegressionModel], before: Design, after: Design
) -> tuple[ConclusionChange, ...]:
    """The conclusions that the release changes, model by model; constants are not conclusions."""
    changes: list[ConclusionChange] = []
    for model in models:
        table_fit = fit_model(model, before)
        if table_fit.separated:
            continue
        logistic = is_binary(before[model.outcome].values[:, 0])
        release_fit = fit_model(model, after, logistic=logistic)
        for name in table_fit.names[1:]:
            true_estimate, released_estimate = table_fit.estimate(name), release_fit.estimate(name)
            change = _change(true_estimate, released_estimate, release_fit.separated)
            if change is not None:
                changes.append(ConclusionChange(model, name, true_estimate, released_estimate, change))
    return tuple(changes)


def _change(before: Coefficient, after: Coefficient, separated: bool) -> Change | None:
    """Return how an analyst's conclusion from a coefficient changes between table (``before``) and release (``after``); None if it does not."""
    if not before.known:
        return None
    if separated and (before.significant or not after.known or abs(after.value) > 2 * max(map(abs, before.interval))):
        return "separated"
    if not after.known:
        return "undetermined" if before.significant else None
    if before.significant and after.value * before.value < 0:
        return "sign"
    if before.significant and not after.significant:
        return "lost"
    if not before.significant:
        return "new" if after.significant else None
    (low, high), (released_low, released_high) = before.interval, after.interval
    return "moved" if released_high < low or released_low > high else None
