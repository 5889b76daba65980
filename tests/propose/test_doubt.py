"""In doubt a column is sensitive; who people are, and what others know, is found where a table leaves hardly a choice."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.policy import publish_policy
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
    assert any(note.startswith("It is unclear whether others know 'zqv'; such columns") for note in found.notes)


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
        ({"outcome": ["Deli", "IA", "EP"], "hiv": ["yes", "no"], "gravida": ["1-2", "3-4", ">4"]}, ["gravida"]),
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


@pytest.mark.parametrize(
    ("name", "levels"),
    [
        ("educ", [1, 2, 3]), ("MARITAL.STATUS", ["a", "b"]), ("kidslt6", [0, 1, 2]), ("size", [1, 2, 3, 4, 5, 6, 7]), ("rooms", [1, 2, 3]), ("townsize", [1, 2]), ("reg", [1, 2]), ("rns80", [0, 1]),
        ("outwork", [0, 1]), ("uempla", [0, 1]), ("tethnicityk", ["a", "b"]), ("firstgen", [0, 1]), ("looks", [1, 2, 3]), ("e16sex", [1, 2]), ("c175empl", [0, 1]), ("area_code", [408, 415]),
        ("Zimmerzahl", [1, 2, 3]), ("Haushaltsgröße", [1, 2, 3]), ("taille_famille", [1, 2]), ("situacion_laboral", ["a", "b"]), ("numero_stanze", [2, 3]), ("gezinsgrootte", [1, 2]),
        ("zatrudnienie", ["a", "b"]), ("sysselsättning", ["a", "b"]), ("размер_семьи", [1, 2]), ("家庭规模", [1, 2]), ("世帯人数", [1, 2]), ("מספר_חדרים", [1, 2]), ("عدد_الغرف", [1, 2]),
    ],
)  # fmt: skip
def test_what_everybody_sees_is_not_sensitive_by_doubt(name: str, levels: list[object]) -> None:
    assert _roles(propose(_people(**{name: levels}, zqv=["a", "b"], income=[100, 200, 300]))) == {
        "age": "quasi",
        "sex": "quasi",
        name: "quasi",
        "zqv": "sensitive",
        "income": "sensitive",
    }


def test_whether_wife_and_husband_went_to_college_is_seen_and_one_of_the_two_says_nothing() -> None:
    both = _roles(propose(_people(wc=["no", "yes"], hc=["no", "yes"], k5=[0, 1, 2, 3], inc=[1.5, 2.5, 3.5])))
    assert (both["wc"], both["hc"]) == ("quasi", "quasi")
    one = _roles(propose(_people(hc=["no", "yes"], k5=[0, 1, 2, 3], inc=[1.5, 2.5, 3.5])))
    assert one["hc"] == "sensitive"


def test_what_completes_the_indicators_of_a_known_category_is_known() -> None:
    """Industries that do not stand beside each other; the last of them follows from the others. An indicator that overlaps with them is in doubt."""
    work = [n * 7 % 4 for n in range(ROWS)]
    marks = {
        name: pl.Series([int(each == n) for each in work]) for n, name in enumerate(("manuf", "zqb", "zqf", "trade"))
    }
    frame = _people(manuf=marks["manuf"], income=[100, 200, 300], zqb=marks["zqb"], region=["n", "s"], zqf=marks["zqf"], zqv=[0, 1], trade=marks["trade"])  # fmt: skip
    roles = _roles(propose(frame))
    assert roles["zqv"] == "sensitive"
    assert "sensitive" not in (roles["zqb"], roles["zqf"], roles["manuf"], roles["trade"])


@pytest.mark.parametrize("name", ["ptnum", "PTNO", "subj_no", "pat_nr", "patient_number"])
def test_numbered_patients_are_people_however_they_are_abbreviated(name: str) -> None:
    frame = _people(bilirubin=list(range(40))).with_columns(pl.Series(name, [100 + n // 15 for n in range(ROWS)]))
    found = propose(frame)
    assert (found.key, found.unit) == (name, "person")


def test_states_of_a_disease_are_no_part_of_a_country() -> None:
    roles = _roles(propose(_people(state=[1, 2, 3, 4], pdiag=["a", "b"], income=[100, 200, 300])))
    assert roles["state"] == "sensitive"
    assert _roles(propose(_people(state=["AL", "NY", "TX"], income=[100, 200, 300])))["state"] == "quasi"
    assert _roles(propose(_people(state=[4, 27, 51], income=[100, 200, 300])))["state"] == "quasi"


def test_the_size_of_a_tumour_is_no_size_of_a_household() -> None:
    medical = {"diagnosis": ["a", "b"], "treatment": ["x", "y"], "nodes": list(range(20))}
    assert _roles(propose(_people(size=[1, 2, 3, 4, 5, 6, 7], **medical)))["size"] == "sensitive"


def test_numbers_that_a_hospital_gave_to_patients_are_no_health_care() -> None:
    numbers = pl.Series([1000 + n // 2 * 3 for n in range(ROWS)])
    found = propose(_people(HospID=numbers, CK=list(range(30, 90)), illness=["a", "b", "c"]))
    assert _roles(found)["HospID"] == "identifier"
    assert found.unit == "person"


@pytest.mark.parametrize("levels", [["Female", "Male"], ["weiblich", "männlich"], ["女", "男"]])
def test_values_that_say_the_sex_are_seen_whatever_the_question_is_numbered(levels: list[object]) -> None:
    assert _roles(propose(_people(ST04Q01=levels, income=[100, 200, 300])))["ST04Q01"] == "quasi"
    assert _roles(propose(_people(ST04Q01=["Female", "zq"], income=[100, 200, 300])))["ST04Q01"] == "sensitive"


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        (["white", "black", "asian"], "race and origin"),
        (["married", "divorced", "widowed", "other"], "family"),
        (["high school", "college", "university"], "schooling"),
        (["not.work", "fulltime", "parttime"], "work"),
        (["urban", "rural"], "place of residence"),
    ],
)
def test_levels_that_everybody_sees_are_known_even_in_a_medical_file(levels: list[object], says: str) -> None:
    found = propose(_people(zq=levels, diagnosis=["a", "b"], stroke=[0, 1], angina=[0, 1]))
    assert (found.columns[2].role, found.columns[2].reason.split(";")[0]) == ("quasi", f"others may know it: {says}")


@pytest.mark.parametrize("levels", [["grade 1", "grade 2"], ["single", "multiple"], ["work", "pain", "sleep"]])
def test_one_word_of_the_levels_is_not_enough_to_be_seen(levels: list[object]) -> None:
    found = propose(_people(zq=levels, diagnosis=["a", "b"], stroke=[0, 1], angina=[0, 1]))
    assert _roles(found)["zq"] == "sensitive"


def test_a_column_between_two_of_one_kind_with_the_same_values_is_of_that_kind() -> None:
    origins = {name: ["Yes", "No"] for name in ("black", "nat.am", "asian")}
    parties = {"ldp": list(range(0, 101, 5)), "zqp": list(range(0, 101, 5)), "jcp": list(range(0, 101, 5))}
    found = propose(_people(**origins, diagnosis=["a", "b"], stroke=[0, 1], **parties, zqx=list(range(0, 101, 5))))
    roles = _roles(found)
    assert [roles[name] for name in origins] == ["quasi"] * 3
    assert found.columns[[*roles].index("zqp")].reason.startswith("politics: ")


def test_a_column_with_other_values_between_two_of_one_kind_is_not_of_that_kind() -> None:
    found = propose(_people(black=[0, 1], zq=["u", "v", "w"], asian=[0, 1], diagnosis=["a", "b"], stroke=[0, 1]))
    assert _roles(found)["zq"] == "sensitive"


def test_items_that_are_numbered_after_a_scale_are_answers() -> None:
    items: dict[str, object] = {
        f"{stem}_{n}": [1.0, 2.0, 3.0, 4.0, 5.0, 2.5] for stem in ("gq6", "sa") for n in (1, 2, 3)
    }
    found = propose(_people(**items))
    assert {column.reason for column in found.columns[2:]} == {"opinion: an answer to a questionnaire"}


def test_a_weight_beside_a_height_is_that_of_a_body() -> None:
    found = propose(_people(height=[150, 160, 170], wt=[0.9, 44.7, 52.0, 99.9], income=[1, 2, 3]))
    assert found.weight is None
    assert found.columns[3].reason.startswith("health: body weight")


@pytest.mark.parametrize(
    ("name", "levels", "role"),
    [
        ("birth.outcome", ["live", "still"], "sensitive"),
        ("class", ["normal", "carrier"], "sensitive"),
        ("resp.cat", ["normal", "high", "low"], "sensitive"),
        ("participation", ["yes", "no"], "quasi"),
    ],
)
def test_the_last_word_of_a_name_and_normal_findings_tell_an_outcome(
    name: str, levels: list[object], role: str
) -> None:
    assert _roles(propose(_people(**{name: levels, "income": [1, 2, 3]})))[name] == role


def test_taking_part_in_a_programme_for_the_poor_is_not_seen() -> None:
    found = propose(_people(participation=["yes", "no"], welfare=[0, 1], loan=[0, 1], debt=[0, 1], mortgage=[0, 1]))
    assert _roles(found)["participation"] == "sensitive"


def test_letters_that_are_written_apart_make_no_word_and_an_indicator_no_industry() -> None:
    found = propose(
        _people(**{"B.a1": list(range(30)), "drive_thru_ind": [0, 1], "diagnosis": ["a", "b"], "stroke": [0, 1]})
    )
    assert (_roles(found)["B.a1"], _roles(found)["drive_thru_ind"]) == ("sensitive", "sensitive")


def test_rows_without_the_number_of_a_person_are_suppressed_and_counted(tmp_path: Path) -> None:
    numbers = [None if n % 12 == 0 else n // 2 for n in range(ROWS)]
    frame = _people(id=pl.Series(numbers), illness=["a", "b", "c"])
    found = propose(frame)
    assert (found.key, found.unit, found.nulls) == ("id", "person", "category")
    assert found.headline[0] == (
        "'id' identifies people, repeats, and is missing in 20 of 240 rows. It is unknown whose rows these are, so they are not published; fill it in to publish them."
    )
    frame.write_csv(tmp_path / "people.csv")
    policy = rt.inspect(tmp_path / "people.csv", output=tmp_path / "policy.toml", prices=False).parsed()
    publish_policy(policy, tmp_path / "release", ledger=str(tmp_path / "ledger.sqlite"))
    assert pl.read_csv(tmp_path / "release" / "public" / "data.csv").height == ROWS - 20
    assert rt.verify(tmp_path / "release").ok


def test_a_false_friend_must_be_most_of_a_name() -> None:
    found = propose(_people(fac_learn_set=[0, 1], learned=[0, 1], diagnosis=["a", "b"], stroke=[0, 1], angina=[0, 1]))
    assert (_roles(found)["fac_learn_set"], _roles(found)["learned"]) == ("sensitive", "quasi")


def test_the_time_until_something_beside_smoking_is_that_of_patients() -> None:
    seen = {f"hours_{day}": list(range(30)) for day in "abcdefghijkl"}
    columns = {"time": list(range(90)), "event": [0, 1], "zqset": list(range(30)), **seen}
    assert _roles(propose(_people(**columns, smoke=["ever", "never"])))["zqset"] == "sensitive"
    assert _roles(propose(_people(**columns)))["zqset"] == "quasi"


@pytest.mark.parametrize(
    ("name", "levels", "role"),
    [
        ("grade", ["1", "2", "3", " anaplastic; Grade IV"], "sensitive"),
        ("grade", ["9", "10", "11", "12"], "quasi"),
        ("gen", [0, 1], "quasi"),
        ("gen", ["G1", "G2", "G3", "G4", "G5"], "sensitive"),
        ("agein", [30.5 + n for n in range(40)], "quasi"),
        ("bl.aa", [1000 * n for n in range(200)], "sensitive"),
        ("bl.aa", [n / 7 for n in range(200)], "sensitive"),
        ("aa", [0, 1], "quasi"),
        ("zqhist", ["Normal", "A", "B", "C", "D", "E", "F"], "sensitive"),
    ],
)
def test_values_say_which_meaning_of_a_word_is_meant(name: str, levels: list[object], role: str) -> None:
    found = propose(_people(**{name: levels, "diagnosis": ["a", "b"], "stroke": [0, 1], "angina": [0, 1]}))
    assert _roles(found)[name] == role


def test_numbers_of_people_within_households_are_not_those_of_people() -> None:
    threes = range(ROWS // 2)
    numbers = [n % 3 + 1 if n % 3 < 2 else 3 + n // 3 for n in threes] + [n % 2 + 1 for n in threes]
    frame = _people(illness=["a", "b", "c"]).with_columns(persnum=pl.Series(numbers))
    households = frame.with_columns(
        intnum=pl.Series([4000 + n // 3 * 7 for n in threes] + [7000 + n // 2 * 7 for n in threes])
    )
    found = propose(households)
    assert (_roles(found)["persnum"], found.key, found.unit) == (None, None, None)
    assert propose(frame).key == "persnum"


def test_a_number_of_people_is_found_in_a_medical_file_too() -> None:
    numbers = [n // 3 for n in range(ROWS)]
    frame = pl.DataFrame(
        {
            "zper": [125000 + 7 * n for n in numbers],
            "female": [n % 2 for n in numbers],
            "black": [n % 3 // 2 for n in numbers],
            "age": [30 + n % 40 for n in range(ROWS)],
            **{
                name: [n * step % 5 % 2 for n in range(ROWS)]
                for step, name in enumerate(("stroke", "angina", "asthma"), 2)
            },
        }
    ).head(ROWS - 1)
    found = propose(frame)
    assert (found.key, found.unit) == ("zper", "person")


def test_the_steward_is_told_what_only_its_neighbours_call_sensitive() -> None:
    ill: dict[str, object] = {"diagnosis": ["a", "b"], "stroke": [0, 1], "angina": [0, 1]}
    one = propose(_people(**ill, zqa=list(range(30))))
    assert (
        one.notes.count(
            "Only neighbouring columns suggest that 'zqa' is sensitive, so it is assumed that others do not know it. Move it to quasi if others may know it."
        )
        == 1
    )
    many = propose(_people(**ill, **{f"zq{letter}": list(range(30)) for letter in "abcdefgh"}))
    assert any(
        note.startswith(
            "Only neighbouring columns suggest that 'zqa', 'zqb', 'zqc', 'zqd', 'zqe', 'zqf' and 2 more are sensitive"
        )
        for note in many.notes
    )
    assert not any(note.startswith("Only neighbouring columns") for note in propose(_people(**ill)).notes)


def test_rows_that_a_column_named_after_people_numbers_are_people_although_a_serial_repeats() -> None:
    serial = pl.Series("finalSerialId", [100 + n // 15 for n in range(ROWS)])
    numbered = _people(income=[100, 200, 300]).with_columns(serial, person_id=pl.int_range(5000, 5000 + ROWS))
    found = propose(numbered)
    assert (found.key, found.unit) == ("person_id", None)
    without = propose(numbered.drop("person_id"))
    assert (without.key, without.unit) == ("finalSerialId", "person")
