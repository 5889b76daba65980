"""Models learn from what was published what holds for people in general."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import polars as pl
import pytest

from reticent.attacks import Inference, attack, compare
from reticent.attacks.guess_models import Encoder
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.errors import PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import adversary_view_of, publish
from reticent.table import Hierarchy, Table


def either_or(rows: int, seed: int) -> pl.DataFrame:
    """The illness follows from two columns together, and from neither alone: naive Bayes cannot learn it."""
    random = np.random.default_rng(seed)
    age, sex = random.integers(20, 60, rows), random.choice(["f", "m"], rows)
    ill = np.where((age < 40) == (sex == "f"), "flu", "gout")
    return pl.DataFrame({"age": age, "sex": sex, "ill": ill})


def table(frame: pl.DataFrame) -> Table:
    quasi = {
        "age": Hierarchy.intervals([5, 10, 20], origin=20, domain=(20, 59)),
        "sex": Hierarchy.suppression(["f", "m"]),
    }
    return Table(frame, quasi=quasi, sensitive="ill")


@pytest.mark.parametrize(
    ("method", "definition"),
    [
        (Lattice(), KAnonymity(30)),
        (Mondrian(values="sets"), KAnonymity(30)),
        (Lattice(format="bucketize"), DistinctLDiversity(1)),
    ],
    ids=["lattice", "mondrian", "bucketize"],
)
def test_a_forest_learns_what_columns_say_together(method: Any, definition: Any) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is an extra: pip install 'reticent[models]'")
    frame, others = either_or(900, 1), either_or(900, 2)
    release = publish(table(frame), definition, method)
    # What the rows that fit say is left out, so that the models are compared.
    guessed = {
        model: attack(release, Inference(frame, others, model=model, smoothing=10**9))[0]
        for model in ("naive bayes", "forest")
    }
    assert guessed["forest"].baseline is not None
    assert guessed["forest"].baseline > 0.9
    assert guessed["naive bayes"].baseline is not None
    assert guessed["naive bayes"].baseline < 0.7
    assert not guessed["forest"].succeeds
    assert guessed["forest"].details["model"] == "forest"


def test_a_forest_is_tried_on_people_who_were_held_out() -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is an extra: pip install 'reticent[models]'")
    rows = table(either_or(600, 3))
    pairs = compare(rows, publish(rows, KAnonymity(20)), model="forest")
    found = next(after for _, after in pairs if after.adversary == "inference")
    assert "how to train a model (forest)" in found.knows
    assert found.excess[0] <= 0 <= found.excess[1]


def test_without_its_library_a_forest_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    frame = either_or(50, 1)
    with pytest.raises(PolicyError, match=r"needs scikit-learn.*reticent\[models\]"):
        attack(adversary_view_of(table(frame)), Inference(frame, model="forest"))


def test_a_model_that_is_not_there_is_refused_with_a_hint() -> None:
    with pytest.raises(PolicyError, match=r"no model 'forrest'. Did you mean 'forest'"):
        Inference({"a": [1]}, model="forrest")  # type: ignore[arg-type]  # that is the point


def test_values_become_numbers_that_trees_can_split() -> None:
    ages = Encoder.of(pl.Series([30, None, 20]))
    assert ages.codes(pl.Series([21, None])).tolist()[0] == 21
    assert np.isnan(ages.codes(pl.Series([21, None]))[1])
    names = Encoder.of(pl.Series(["b", "a", None, "b"]))
    found = names.codes(pl.Series(["a", "b", "c"]))
    assert found[:2].tolist() == [0, 1]
    assert np.isnan(found[2])
    days = pl.Series(["2024-01-01", "2024-01-03"]).str.to_date()
    assert np.diff(Encoder.of(days).codes(days)).tolist() == [2]
