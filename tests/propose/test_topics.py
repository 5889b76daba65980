"""A column is judged by its values and by the columns beside it where its name says nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.propose import Proposal, propose
from reticent.propose.profile import profile_column
from reticent.propose.sensitive_values import kind_of_values
from reticent.table import TableCodebook

ROWS = 120
UNCLEAR = "unclear: nothing says whether others know it"


def table(**columns: Any) -> pl.DataFrame:
    chance = random.Random(11)
    people: dict[str, Any] = {
        "age": [chance.randrange(18, 80) for _ in range(ROWS)],
        "sex": [chance.choice("fm") for _ in range(ROWS)],
    }
    drawn = {name: [chance.choice(list(values)) for _ in range(ROWS)] for name, values in columns.items()}
    return pl.DataFrame(people | drawn)


def roles(found: Proposal) -> dict[str, str | None]:
    return {column.name: column.role for column in found.columns}


def reasons(found: Proposal) -> dict[str, str]:
    return {column.name: column.reason for column in found.columns}


def test_unknown_columns_of_a_medical_file_are_sensitive_and_what_everybody_sees_is_not() -> None:
    medical = {
        "hba1c": range(40, 90),
        "diagnosis": "abcd",
        "medication": "xyz",
        "k_17": range(3),
        "married": (0, 1),
        "region": "nsw",
    }
    found = propose(table(**medical))
    assert roles(found)["k_17"] == "sensitive"
    assert reasons(found)["k_17"] == "health: it is part of a medical file"
    assert [roles(found)[name] for name in ("age", "sex", "married", "region")] == ["quasi"] * 4
    alone = propose(table(k_17=range(3), wage=range(900, 1000), region="nsw"))
    assert reasons(alone)["k_17"] == UNCLEAR


def test_the_name_of_the_file_says_what_it_is_about() -> None:
    frame = table(v1=range(4), v2=range(7, 19))
    assert reasons(propose(frame, Path("lung_cancer_2020.csv")))["v1"] == "health: it is part of a medical file"
    assert reasons(propose(frame, Path("members_2020.csv")))["v1"] == UNCLEAR


def test_an_outcome_beside_the_time_until_it_is_sensitive() -> None:
    found = propose(table(time=range(400), status=(0, 1), unit=range(20, 60)))
    assert {roles(found)[name] for name in ("time", "status")} == {"sensitive"}
    assert reasons(found)["status"] == "outcome: what happened, or the time until it"
    assert reasons(propose(table(status=(0, 1))))["status"] == UNCLEAR
    coded = propose(table(t1=range(400), d1=(0, 1), t2=range(300), d2=(0, 1)))
    assert {roles(coded)[name] for name in ("t1", "d1", "t2", "d2")} == {"sensitive"}


def test_a_treatment_is_learned_from_records_and_not_by_neighbours() -> None:
    assert roles(propose(table(trt=(0, 1))))["trt"] == "sensitive"
    assert roles(propose(table(group=("control", "drug A", "drug B"))))["group"] == "sensitive"


def test_answers_to_a_questionnaire_are_sensitive() -> None:
    scales = propose(table(**{name: range(1, 6) for name in ("ab", "cd", "ef", "gh", "ij")}))
    assert {role for name, role in roles(scales).items() if name not in ("age", "sex")} == {"sensitive"}
    numbered = propose(table(q1=(0, 1), q2=(0, 1), item_3=range(3)))
    assert {role for name, role in roles(numbered).items() if name not in ("age", "sex")} == {"sensitive"}
    assert roles(propose(table(v9=("agree", "strongly agree", "disagree"))))["v9"] == "sensitive"


def test_numbers_of_rows_in_a_medical_file_are_identifiers() -> None:
    frame = table(hba1c=range(40, 90), diagnosis="abcd", medication="xyz").with_columns(entry=pl.int_range(1, ROWS + 1))
    assert roles(propose(frame))["entry"] == "identifier"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["positive", "negative", "inconclusive"], "a test result"),
        (["POS", "NEG"], "a test result"),
        (["reactive", "non-reactive"], "a test result"),
        (["positiv", "negativ", "unklar"], "a test result"),
        (["阳性", "阴性"], "a test result"),
        (["E11.9", "I10.0", "J45.909", "F32.1"], "codes of diagnoses"),
        (["250.00", "V70.0", "401.9", "E885.9"], "codes of diagnoses"),
        (["A10BA02", "C09AA05", "N02BE01"], "codes of drugs"),
        (["2345-7", "718-7", "4548-4"], "codes of clinical findings"),
        (["alive", "dead"], "a patient's condition"),
        (["benign", "malignant"], "a patient's condition"),
        (["placebo", "active"], "a treatment"),
        (["$1,200.00", "$85", "$7,300.50"], "an amount of money"),
        (["1.200 €", "85 €"], "an amount of money"),
        (["A", "A-", "B+", "C"], "a score or grade"),
        (["very satisfied", "satisfied", "dissatisfied"], "an opinion or feeling"),
        ([73211009, 38341003, 195967001, 44054006, 22298006, 13645005], "codes of clinical findings"),
        ([22298005, 38341002, 59621001, 73211003, 84757004, 195967006], None),
        (["north", "south"], None),
        (["A", "B", "C"], None),
        (["yes", "no"], None),
        (["1-2", "3-4", "5-6"], None),
        (["J45", "B12", "Z3"], None),
        ([1, 2, 3], None),
        ([], None),
    ],
)
def test_values_say_what_they_are(values: Sequence[Any], said: str | None) -> None:
    kind = kind_of_values(pl.Series(values))
    assert (kind.says if kind else None) == said


def test_titles_and_labels_of_a_codebook_say_what_a_column_is() -> None:
    frame = table(v101=range(5), v102=range(5), v103=(1, 2))
    book = TableCodebook(
        titles={"v101": "Total household income last year", "v102": "Number of children in the family"},
        labels={"v103": {1: "Positive", 2: "Negative"}},
    )
    found = propose(frame, codebook=book)
    assert reasons(found)["v101"] == "money: income"
    assert reasons(found)["v102"].startswith("others may know it: family")
    assert reasons(found)["v103"] == "health: a test result"


def test_a_table_about_people_without_a_confidential_column_gets_a_question() -> None:
    asked = propose(table(region="nsw")).headline[0]
    assert asked.startswith(
        "Is there a column that nobody may learn about a person? None looks sensitive (health, money,"
    )
    assert "so the proposal only guarantees the size of groups. If" in asked
    unclear = propose(table(region="nsw", hobby="xyz")).headline[0]
    assert "and protects 'hobby', whose meaning is unknown. If" in unclear
    assert not any("nobody may learn" in line for line in propose(table(wage=range(900, 1000))).headline)


def test_the_day_of_a_death_is_known_and_that_somebody_died_is_not() -> None:
    days = pl.date_range(pl.date(2019, 1, 1), pl.date(2019, 1, 1) + pl.duration(days=ROWS - 1), eager=True)
    found = propose(table(died=(0, 1)).with_columns(date_of_death=days))
    assert roles(found)["date_of_death"] == "quasi"
    assert roles(found)["died"] == "sensitive"


def test_a_profile_alone_has_no_kind() -> None:
    assert profile_column(pl.Series("income", [1, 2, 3])).kind is None


def test_a_state_beside_its_time_is_an_outcome() -> None:
    times = {name: range(1, 400) for name in ("rel", "rec")}
    found = propose(table(**times, **{"rel.s": (0, 1), "rec.s": (0, 1)}))
    assert {roles(found)[name] for name in ("rel", "rel.s", "rec", "rec.s")} == {"sensitive"}


def test_how_often_somebody_was_in_hospital_is_sensitive_and_which_hospital_is_not() -> None:
    assert roles(propose(table(hospital=["0", "1", "2", "3"])))["hospital"] == "sensitive"
    assert roles(propose(table(hospital=["3", "17", "21", "40"])))["hospital"] == "quasi"


def test_marks_of_pupils_with_letters_for_those_who_withdrew_are_marks() -> None:
    marks = ["A", "A-", "B+", "B", "B-", "C+", "C", "C-", "D+", "D", "F", "W", "I"]
    assert roles(propose(table(Grade=marks)))["Grade"] == "sensitive"


def test_scales_that_sensitive_columns_share_are_answers() -> None:
    steps = range(3)
    found = propose(table(health=steps, rape=steps, fatal=steps, bd=steps, fin=steps))
    assert {roles(found)[name] for name in ("bd", "fin")} == {"sensitive"}


def test_a_column_that_follows_from_age_is_left_out_and_age_stays() -> None:
    frame = table(status=(0, 1), biopsy=("benign", "malignant"))
    frame = frame.with_columns(laser=pl.when(frame["age"] < 40).then(pl.lit("xenon")).otherwise(pl.lit("argon")))
    found = propose(frame)
    assert (roles(found)["age"], roles(found)["laser"]) == ("quasi", None)


def test_where_every_column_is_sensitive_an_opinion_counts_as_known() -> None:
    frame = table(anger=range(7), protest=range(3), liking=range(30)).drop("age", "sex")
    assert sorted(map(str, roles(propose(frame)).values())) == ["quasi", "sensitive", "sensitive"]


def test_a_number_of_people_that_some_rows_lack_is_told_first() -> None:
    frame = table(diagnosis=("flu", "gout")).with_columns(
        patient_id=pl.Series([None if number < 7 else number // 2 for number in range(ROWS)])
    )
    found = propose(frame)
    assert "'patient_id'" in found.headline[0]
    assert "missing in 7 of 120 rows" in found.headline[0]
