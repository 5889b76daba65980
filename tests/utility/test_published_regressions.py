"""What ``preview`` says of conclusions, beside fits of the published file by the benchmark's own code."""

import numpy as np
import polars as pl
import pytest
from benchmarks.regressions import Estimate, Reading, conclusion, fitted, listed

import reticent as rt

MODELS = {"ill ~ age + town + sex": True, "pay ~ age + town + sex": False}


def people(seed: int) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    age, town = draw.integers(20, 80, 300), draw.choice(["a", "b", "c"], 300)
    sex = draw.choice(["f", "m"], 300)
    chance = 1 / (1 + np.exp(-(0.03 * (age - 50) + (town == "b"))))
    pay = (900 + 9 * age + 150 * (sex == "m") + draw.normal(0, 300, 300)).round()
    return pl.DataFrame({"age": age, "town": town, "sex": sex, "ill": (draw.random(300) < chance) * 1, "pay": pay})


@pytest.mark.parametrize("k", [3, 20, 100])
def test_preview_names_the_conclusions_that_own_fits_of_the_published_file_find(k, tmp_path):
    frame = people(1)
    table = rt.Table(frame, quasi=["age", "town", "sex"], sensitive=["ill", "pay"])
    found = rt.publish(table, rt.KAnonymity(k), method=rt.Mondrian(values="ranges"))
    shown = pl.read_csv(found.save(tmp_path / "out") / "public" / "data.csv", infer_schema=False)
    said = rt.preview(table, rt.KAnonymity(k), method=rt.Mondrian(values="ranges"), models=list(MODELS)).analysis
    assert bool(said.conclusions) == (k == 100)
    for model, logistic in MODELS.items():
        outcome, terms = model.split(" ~ ")[0], ["age", "town", "sex"]
        reading = Reading(frame, [outcome, *terms])
        before, after = (
            fitted(*reading.design(rows, terms), reading.numbers(rows, outcome)[1][:, 0], logistic=logistic)
            for rows in (frame, shown)
        )
        counted = {name: conclusion(each, after[name]) for name, each in before.items()}
        named = {each.term: each.change for each in said.conclusions if str(each.model) == model}
        assert {name: change for name, change in counted.items() if change != "same"} == named


def test_cells_are_read_as_the_values_that_they_list():
    assert [listed(cell) for cell in ("31", "[31, 33]", "{a, b}", "*", "", "[1, 2] or missing")] == [
        ["31"], ["31", "33"], ["a", "b"], [], [], ["1", "2"]
    ]  # fmt: skip


def test_conclusions_are_those_of_intervals():
    clear, weak = Estimate(2.0, 0.5), Estimate(0.5, 0.5)
    assert conclusion(clear, Estimate(-2.0, 0.5)) == "sign"
    assert conclusion(clear, Estimate(0.8, 0.5)) == "lost"
    assert conclusion(weak, clear) == "new"
    assert conclusion(clear, Estimate(5.0, 0.5)) == "moved"
    assert conclusion(clear, Estimate(np.nan, np.nan)) == "undetermined"
    assert conclusion(clear, Estimate(9.0, 9.0, runaway=True)) == "separated"
    assert conclusion(clear, Estimate(2.2, 0.5)) == "same"
