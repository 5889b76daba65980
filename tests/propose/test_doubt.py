"""In doubt a column is sensitive; who people are, and what others know, is found where a table leaves hardly a choice."""

from __future__ import annotations

import random

import polars as pl
import pytest

from reticent.propose import Proposal, propose
from reticent.propose.proposal import column_guarantees

ROWS = 240


def _people(**columns: object) -> pl.DataFrame:
    """Made-up people with an age and a sex, and further columns: lists of levels, each drawn at random."""
    chance = random.Random(5)
    more = {
        name: [chance.choice(levels) for _ in range(ROWS)] if isinstance(levels, list) else levels
        for name, levels in columns.items()
    }
    return pl.DataFrame({"age": [20 + n * 7 % 60 for n in range(ROWS)], "sex": ["f", "m"] * (ROWS // 2)} | more)


def _roles(found: Proposal) -> dict[str, str | None]:
    return {column.name: column.role for column in found.columns}


def test_a_column_of_which_nothing_is_known_is_sensitive_and_has_a_guarantee() -> None:
    frame = _people(zqv=["a", "b", "c"], income=[100, 200, 300])
    found = propose(frame)
    assert _roles(found) == {"age": "quasi", "sex": "quasi", "zqv": "sensitive", "income": "sensitive"}
    assert found.columns[2].reason == "unclear: nothing says whether others know it"
    assert "zqv" in column_guarantees(found.columns, frame)
    assert any(note.startswith("Nothing says whether others know 'zqv'; in doubt") for note in found.notes)


def test_a_table_that_is_not_understood_says_nothing_of_one_column() -> None:
    found = propose(_people(**{f"zq{letter}": ["a", "b", "c"] for letter in "abcdef"}))
    assert set(_roles(found).values()) == {"quasi"}


def test_indicators_of_one_category_and_many_valued_columns_stay_known() -> None:
    kind = [n % 3 for n in range(ROWS)]
    marks = {f"zq{letter}": pl.Series([int(each == n) for each in kind]) for n, letter in enumerate("abc")}
    found = propose(_people(**marks, zqnum=list(range(40))))
    # The last indicator follows from the others.
    assert [role for name, role in _roles(found).items() if name.startswith("zq")] == ["quasi", "quasi", None, "quasi"]


def test_what_follows_from_a_known_column_does_not_drive_it_out() -> None:
    frame = _people(income=[100, 200, 300]).with_columns(zqold=pl.col("age") > 50)
    roles = _roles(propose(frame))
    assert roles["age"] == "quasi"
    assert roles["zqold"] is None


def test_numbers_of_schools_are_not_those_of_people() -> None:
    found = propose(_people(school_id=list(range(1000, 1030)), illness=["a", "b", "c"]))
    assert _roles(found)["school_id"] is None
    assert (found.key, found.unit) == (None, None)
    assert any("'school_id'" in note for note in found.notes)


def test_names_that_repeat_are_the_people_whom_a_release_counts() -> None:
    names = [f"Person {n % 100} Surname{n % 100}" for n in range(ROWS)]
    found = propose(_people(name=pl.Series(names), illness=["a", "b", "c"]))
    assert (found.key, found.unit) == ("name", "person")


def test_sixteen_people_with_fifteen_rows_each_are_people() -> None:
    frame = _people(score=list(range(40))).with_columns(id=pl.Series([1 + n // 15 for n in range(ROWS)]))
    found = propose(frame)
    assert (found.key, found.unit) == ("id", "person")


def test_four_kinds_of_cells_are_no_telephone() -> None:
    found = propose(_people(cell=[1, 2, 3, 4], diagnosis=["a", "b"], treatment=["x", "y"]))
    assert _roles(found)["cell"] == "sensitive"


@pytest.mark.parametrize(
    ("columns", "known"),
    [
        ({"trt": ["a", "b"], "stage": [1, 2, 3], "bilirubin": [1, 2, 3], "status": [0, 1]}, ["trt"]),
        ({"time": list(range(90)), "status": [0, 1], "ccr5": ["WW", "WM"]}, ["time"]),
        ({"relwt": [0.8, 0.9, 1.0, 1.1], "glucose": [90, 140, 200], "group": ["Normal", "Overt_Diabetic", "Chemical_Diabetic"]}, ["relwt"]),
    ],
)  # fmt: skip
def test_where_all_is_sensitive_the_treatment_a_time_or_a_weight_is_known(
    columns: dict[str, list[object]], known: list[str]
) -> None:
    chance = random.Random(3)
    frame = pl.DataFrame({name: [chance.choice(levels) for _ in range(ROWS)] for name, levels in columns.items()})
    found = propose(frame)
    assert [name for name, role in _roles(found).items() if role == "quasi"] == known
    assert found.headline[0].startswith(
        f"Every column looks sensitive. So that anything can be published, '{known[0]}'"
    )


@pytest.mark.parametrize(
    ("name", "levels", "meaning"),
    [
        ("status", ["fired", "ok", "promoted"], "achievement"),
        ("state", ["isolated", "released", "deceased"], "health"),
        ("zq", ["Normal", "Overt_Diabetic", "Chemical_Diabetic"], "health"),
        ("zq", ["felony", "misdemeanor", "other"], "crime"),
        ("zq", ["catholic", "protestant", "none"], "religion"),
        ("zq", ["republican", "democrat", "other"], "politics"),
    ],
)
def test_levels_say_what_a_column_is_about(name: str, levels: list[object], meaning: str) -> None:
    column = propose(_people(**{name: levels})).columns[2]
    assert column.role == "sensitive"
    assert column.reason.startswith(f"{meaning}: ")


def test_answers_of_the_same_person_and_five_traits_are_sensitive() -> None:
    repeated = {f"y{n}": [0, 1, 2] for n in (1, 2, 3)}
    traits = {letter: list(range(30)) for letter in "NEOAC"}
    roles = _roles(propose(_people(**repeated, **traits)))
    assert {roles[name] for name in (*repeated, *traits)} == {"sensitive"}


def test_an_illness_that_is_marked_or_missing_is_sensitive() -> None:
    roles = _roles(propose(_people(disease=["yes", None])))
    assert roles["disease"] == "sensitive"
