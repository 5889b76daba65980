"""Near records are found exactly, whatever blocks they lie in: compared with every pair of rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks.artificial import Linkability
from reticent.attacks.cohorts import Cohorts
from reticent.attacks.foreign import coded_columns
from reticent.attacks.numeric_records import COLUMN, NumericScale, RecordIndex, Records
from reticent.base.context import Context
from reticent.core import AdversaryView
from reticent.errors import DataError
from reticent.table import Hierarchy, Table
from tests.oracles import attack_records as oracle
from tests.sampling import examples

COLUMNS = ("a", "b", "x", "y")


def world(rows: int, seed: int, missing: float = 0.1) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "a": random.choice(["red", "blue", "green"], rows),
            "b": random.choice([f"place {number}" for number in range(30)], rows),
            "x": random.integers(0, 20, rows),
            "y": random.integers(0, 1000, rows),
        }
    )
    holes = {name: pl.Series(random.random(rows) < missing) for name in COLUMNS}
    return frame.with_columns(pl.when(~holes[name]).then(pl.col(name)).alias(name) for name in COLUMNS)


def lengths_of(ruler: NumericScale) -> dict[str, Fraction]:
    return {name: Fraction(scale.length) for name, scale in ruler.scales.items() if scale.is_number}


@examples(40)
@given(rows=st.integers(1, 200), seed=st.integers(0, 10_000), chosen=st.sets(st.sampled_from(COLUMNS), min_size=1))
def test_distances_are_those_of_all_pairs(rows: int, seed: int, chosen: set[str]) -> None:
    records, people = world(rows, seed), world(7, seed + 1)
    ruler = NumericScale.of(COLUMNS, records, people)
    index = RecordIndex.of(Records.of(records), ruler)
    columns = [name for name in COLUMNS if name in chosen]
    found = index.nearest(people, columns, Context(), "testing")
    shown = records.to_dicts()
    for place, person in enumerate(people.to_dicts()):
        expected = oracle.nearest(person, shown, columns, lengths_of(ruler)) * COLUMN
        assert abs(found[place] - expected) <= 2 * len(columns)  # two places are rounded in each column


@examples(40)
@given(rows=st.integers(1, 150), seed=st.integers(0, 10_000))
def test_a_guess_is_a_value_that_most_of_the_nearest_rows_have(rows: int, seed: int) -> None:
    frame = world(rows, seed).select("a", "b", "x").with_columns(pl.col("x").cast(pl.String))
    distinct = frame.group_by("a", "b", "x", maintain_order=True).len()
    records = Records(distinct.drop("len"), distinct["len"].to_numpy().astype(np.int64))
    people = world(5, seed + 1).select("a", "b", "x").with_columns(pl.col("x").cast(pl.String))
    index = RecordIndex.of(records, NumericScale.of(("a", "b", "x"), records.frame, records.frame))
    guesses = index.guesses(people, ["a", "x"], "b", Context(), "testing")
    for place, person in enumerate(people.to_dicts()):
        assert guesses[place] in oracle.votes(person, frame.to_dicts(), ["a", "x"], "b", {})


@given(rows=st.integers(1, 300), seed=st.integers(0, 10_000))
def test_rows_that_fit_a_description_are_counted_up_to_two(rows: int, seed: int) -> None:
    frame = world(rows, seed)
    index = RecordIndex.of(Records.of(frame), NumericScale.of(COLUMNS, frame))
    places, random = index.ruler.places(frame), np.random.default_rng(seed)
    ends = np.sort(places[random.integers(0, rows, (20, 2))], axis=1)
    least, most = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
    found, example = index.fitting(least, most)
    for place in range(20):
        fits = ((places >= least[place]) & (places <= most[place])).all(axis=1)
        assert found[place] == min(int(fits.sum()), 2)
        assert not found[place] or fits[example[place]]


def test_two_lists_are_linked_where_one_row_is_nearest_by_both() -> None:
    original = world(120, 3, missing=0).select("a", "b", "y").with_columns(pl.col("y").cast(pl.String))
    shown = world(60, 4, missing=0).select("a", "b", "y").with_columns(pl.col("y").cast(pl.String))
    shown = pl.concat([shown, original[:30]])
    cohorts = Cohorts.of(original, original[60:], sample=60)
    (found,) = (Linkability(cohorts, first=["b"]).attack(AdversaryView.in_noise(shown)),)
    rows = shown.to_dicts()
    expected = sum(oracle.linked(person, rows, ["b"], ["a", "y"], {}) for person in cohorts.targets.to_dicts())
    assert 0 < found.hits == expected < found.people


def test_rows_are_drawn_without_replacement() -> None:
    records = Records(pl.DataFrame({"a": ["x", "y"]}), np.array([3, 2]))
    drawn = records.drawn(4, np.random.default_rng(1))
    assert drawn.rows == 4
    assert (drawn.times <= records.times).all()
    assert records.drawn(9, np.random.default_rng(1)) is records


def test_columns_that_cannot_be_compared_are_named() -> None:
    years, ranges = (pl.DataFrame({"age": ages * 10}) for ages in (["34", "35"], ["30-39", "40-49"]))
    with pytest.raises(DataError, match=r"Column 'age' has no value in common with the original: '30-39'"):
        NumericScale.of(["age"], years, ranges)


def test_numbers_without_spread_and_columns_without_values_do_no_harm() -> None:
    frame = pl.DataFrame({"same": [4, 4, 4], "none": [None, None, None], "huge": [1e300, -1e300, 0.0]})
    index = RecordIndex.of(Records.of(frame), NumericScale.of(frame.columns, frame))
    assert index.nearest(frame, frame.columns, Context(), "testing").tolist() == [0, 0, 0]


def test_long_whole_numbers_of_one_length_and_masked_digits_are_codes() -> None:
    frame = pl.DataFrame({"block": [440010301001000, 440010301001001], "year": [1990, 1991], "zip": [2139, 2138]})
    ruler = NumericScale.of(frame.columns, frame, codes={"zip"})
    assert [scale.is_number for scale in ruler.scales.values()] == [False, True, False]
    table = Table(frame, quasi={"zip": Hierarchy.masking(5), "year": Hierarchy.intervals([5])}, sensitive="block")
    assert coded_columns(table) == ["zip"]
