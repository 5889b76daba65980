"""Regressions before and after: estimates against scikit-learn and the normal equations, and which conclusions change."""

from __future__ import annotations

from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.errors import PolicyError
from reticent.utility import DesignColumn, RegressionModel, changed_conclusions, fit_model


def design(**columns: NDArray[np.float64]) -> dict[str, DesignColumn]:
    return {
        name: DesignColumn((name,), np.asarray(values, dtype=np.float64)[:, None]) for name, values in columns.items()
    }


def sample(seed: int, rows: int = 400) -> dict[str, NDArray[np.float64]]:
    draw = np.random.default_rng(seed)
    x, z = draw.normal(50, 10, rows), draw.integers(0, 2, rows).astype(float)
    chance = 1 / (1 + np.exp(-(-3 + 0.05 * x + 0.7 * z)))
    return {"x": x, "z": z, "y": 2 + 0.3 * x - z + draw.normal(0, 3, rows), "b": (draw.random(rows) < chance) * 1.0}


@given(st.integers(0, 10_000))
def test_least_squares_are_those_of_the_normal_equations(seed: int) -> None:
    data = sample(seed, 60)
    fit = fit_model(RegressionModel("y", ("x", "z")), design(**data))
    matrix = np.column_stack([np.ones(60), data["x"], data["z"]])
    inverse = np.linalg.inv(matrix.T @ matrix)
    beta = inverse @ matrix.T @ data["y"]
    left = data["y"] - matrix @ beta
    assert np.allclose(fit.estimates, beta)
    assert np.allclose(fit.errors, np.sqrt(np.diag(inverse) * (left @ left) / 57))


@pytest.mark.parametrize("seed", range(3))
def test_logistic_estimates_are_those_of_another_library(seed: int) -> None:
    models = pytest.importorskip("sklearn.linear_model")
    data = sample(seed)
    fit = fit_model(RegressionModel("b", ("x", "z")), design(**data))
    other = models.LogisticRegression(C=1e12, tol=1e-10, max_iter=10_000)
    other.fit(np.column_stack([data["x"], data["z"]]), data["b"])
    assert not fit.separated
    assert np.allclose(fit.estimates, [*other.intercept_, *other.coef_[0]], rtol=1e-3, atol=1e-3)
    matrix = np.column_stack([np.ones(400), data["x"], data["z"]])
    chance = 1 / (1 + np.exp(-matrix @ fit.estimates))
    information = (matrix * (chance * (1 - chance))[:, None]).T @ matrix
    assert np.allclose(fit.errors, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-4)


def test_an_outcome_that_a_column_splits_is_called_separated() -> None:
    split = design(x=np.arange(40.0), b=(np.arange(40) >= 20) * 1.0)
    assert fit_model(RegressionModel("b", ("x",)), split).separated


def test_an_unchanged_release_changes_no_conclusion() -> None:
    data = design(**sample(1))
    models = [RegressionModel("y", ("x", "z")), RegressionModel("b", ("x", "z"))]
    assert changed_conclusions(models, data, data) == ()


def test_changes_are_named_with_sign_and_interval() -> None:
    data = sample(2)
    model = RegressionModel("y", ("x", "z"))
    turned = changed_conclusions([model], design(**data), design(**{**data, "x": -data["x"]}))
    assert [(each.term, each.change) for each in turned] == [("x", "sign")]
    assert "the sign is reversed" in turned[0].words
    assert turned[0].after.value == pytest.approx(-turned[0].before.value)
    blurred = {**data, "x": np.random.default_rng(0).permutation(data["x"])}
    assert ("x", "lost") in [
        (each.term, each.change) for each in changed_conclusions([model], design(**data), design(**blurred))
    ]
    gone = changed_conclusions([model], design(**data), design(**{**data, "x": np.full(400, 7.0)}))
    assert {each.change for each in gone} == {"undetermined"}
    assert isnan(gone[0].after.value)
    scaled = changed_conclusions([model], design(**data), design(**{**data, "x": data["x"] / 5}))
    assert ("x", "moved") in [(each.term, each.change) for each in scaled]


def test_separation_in_the_release_is_a_change() -> None:
    data = sample(3)
    split = {**data, "x": np.where(data["b"] > 0, 80.0, 20.0)}
    found = changed_conclusions([RegressionModel("b", ("x", "z"))], design(**data), design(**split))
    assert ("x", "separated") in [(each.term, each.change) for each in found]
    assert "no finite estimate" in found[0].words


@pytest.mark.parametrize("formula", ["y", "y ~", "~ x", "y ~ x + ", "y ~ y", "y ~ age"])
def test_a_formula_that_makes_no_sense_is_refused(formula: str) -> None:
    with pytest.raises(PolicyError, match="regression"):
        RegressionModel.parse(formula, ["y", "x"])
