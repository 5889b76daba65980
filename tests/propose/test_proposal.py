"""A proposed policy is publishable as it is, and errs on the side of privacy."""

from __future__ import annotations

import datetime
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError
from reticent.policy import Policy
from reticent.propose import afford, propose, propose_policy
from reticent.propose.document import key, value
from reticent.table import Table
from tests.sampling import examples

NO_OPTIONS: dict[str, Any] = {"table": None, "query": None, "delimiter": None, "encoding": None}


def roles(frame: pl.DataFrame) -> dict[str, str | None]:
    return {column.name: column.role for column in propose(frame).columns}


def publishes(path: Path, folder: Path) -> Policy:
    """Write the policy that is proposed for a file, read it back, and draft a release with it unchanged."""
    _, text = propose_policy(str(path), folder / "policy.toml", NO_OPTIONS)
    (folder / "policy.toml").write_text(text)
    policy = Policy.read(folder / "policy.toml")
    table = policy.table()
    draft = policy.method(table, policy.definition).draft(table, policy.definition)
    assert policy.definition.holds(draft.evidence.published)
    return policy


def register(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient_id": [f"P{i:04d}" for i in range(rows)],
            "full name": [f"Person {i}" for i in range(rows)],
            "contact": [f"p{i}@example.org" for i in range(rows)],
            "age": [20 + i % 50 for i in range(rows)],
            "postcode": [f"{10000 + i * i % 11}" for i in range(rows)],
            "admitted": [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "diagnosis": [("flu", "cold", "ulcer", "asthma")[i % 4] for i in range(rows)],
            "income": [1000 + 13 * (i * 17 % rows) for i in range(rows)],
            "remarks": ["a long remark about what happened, written down by somebody in the ward " * 2] * rows,
            "weight": [1.5] * rows,
            "empty": pl.Series([None] * rows, dtype=pl.String),
        }
    )


def test_every_column_gets_the_role_that_its_name_and_values_suggest() -> None:
    found = propose(register())
    assert {column.name: column.role for column in found.columns} == {
        "patient_id": "identifier",
        "full name": "identifier",
        "contact": "identifier",
        "age": "quasi",
        "postcode": "quasi",
        "admitted": "quasi",
        "sex": "quasi",
        "diagnosis": "sensitive",
        "income": "sensitive",
        "remarks": None,
        "weight": None,
        "empty": None,
    }
    assert (found.key, found.weight, found.nulls) == ("patient_id", "weight", "refuse")
    assert found.definition == (
        {"name": "KAnonymity", "k": 5},
        {"name": "RecursiveLDiversity", "c": "3", "l": 3, "column": "diagnosis", "alone": True},
        {"name": "RecursiveLDiversity", "c": "3", "l": 3, "column": "income", "alone": True},
    )
    alone = propose(register().drop("income"))
    assert alone.definition == (
        {"name": "KAnonymity", "k": 5},
        {"name": "RecursiveLDiversity", "c": "3", "l": 3, "column": "diagnosis"},
    )


def test_every_quasi_column_gets_a_hierarchy_that_fits() -> None:
    found = {column.name: column.hierarchy for column in propose(register()).columns}
    assert found["age"] == {"kind": "intervals", "widths": [5, 10, 20, 40], "origin": 0, "domain": [0, 120]}
    assert found["postcode"] == {"kind": "masking", "digits": 5}
    assert found["admitted"] == {"kind": "dates", "levels": ["week"]}
    assert found["sex"] == {"kind": "suppression"}


@pytest.mark.parametrize(
    ("values", "widths"),
    [
        (list(range(0, 1000, 7)), [5, 10, 50, 100, 500]),
        ([x / 100 for x in range(0, 300, 7)], [0.05, 0.1, 0.5, 1]),
        ([10**12 + 10**9 * x for x in range(40)], [500_000_000, 10**9, 5 * 10**9, 10**10]),
        ([-50 + 4 * x for x in range(25)], [5, 10, 50]),
    ],
)
def test_numbers_get_round_intervals(values: list[float], widths: list[float]) -> None:
    found = propose(pl.DataFrame({"measure": [*values * 3, values[0]]})).columns[0]
    assert found.hierarchy == {"kind": "intervals", "widths": widths, "origin": 0}


def test_a_hierarchy_file_beside_the_data_is_taken_if_it_covers_the_values(tmp_path: Path) -> None:
    pl.DataFrame({"job": ["a", "b", "a", "b", "c"] * 4, "sex": ["m", "f"] * 10}).write_csv(tmp_path / "people.csv")
    (tmp_path / "people_hierarchy_job.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    (tmp_path / "people_hierarchy_sex.csv").write_text("m;*\n")
    policy = publishes(tmp_path / "people.csv", tmp_path)
    assert policy.sections.hierarchies["job"] == {"kind": "csv", "file": "people_hierarchy_job.csv"}
    assert policy.sections.hierarchies["sex"] == {"kind": "suppression"}


def test_several_columns_may_be_sensitive_and_the_most_delicate_one_is_named() -> None:
    frame = pl.DataFrame(
        {"income": [1, 2, 3, 4] * 5, "religion": ["a", "b", "c", "a"] * 5, "disease": ["x", "y", "z", "x", "y"] * 4}
    )
    assert set(roles(frame).values()) == {"sensitive"}
    assert any("'disease' is the most delicate" in note for note in propose(frame).notes)


@pytest.mark.parametrize(
    ("values", "definition"),
    [
        (["a"] * 5 + ["b"] * 4 + ["c"] * 3, {"name": "RecursiveLDiversity", "c": "3", "l": 3}),
        (["a"] * 6 + ["b"] * 5, {"name": "RecursiveLDiversity", "c": "3", "l": 2}),
        (["a"] * 50 + ["b"] * 10, {"name": "RecursiveLDiversity", "c": "6", "l": 2}),
        (["a"] * 500 + ["b"], {"name": "DistinctLDiversity", "l": 2}),
    ],
)
def test_the_definition_is_the_strongest_that_the_values_allow(values: list[str], definition: dict[str, Any]) -> None:
    frame = pl.DataFrame({"disease": values, "sex": ["m"] * len(values)})
    assert propose(frame).definition[1] == definition | {"column": "disease"}


def test_so_many_columns_that_nothing_would_be_left_are_not_all_protected() -> None:
    chance = random.Random(1)
    frame = pl.DataFrame(
        {f"gadget {i}": [2 + chance.randrange(3) for _ in range(40)] for i in range(40)} | {"age": list(range(40))}
    )
    priced = afford(propose(frame), frame)
    found = {column.name: column.role for column in priced.proposal.columns}
    assert found["age"] == "quasi"
    assert 2 <= sum(role == "quasi" for role in found.values()) <= 10
    assert sum(role is None for role in found.values()) >= 31
    assert any("of little use" in line for line in priced.proposal.headline)


def test_spellings_of_nothing_become_missing_values(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("job,age\n" + "clerk,30\n?,31\nclerk,32\nsmith,33\n" * 5)
    policy = publishes(tmp_path / "a.csv", tmp_path)
    assert policy.sections.data.null_values == ["?"]
    assert policy.sections.roles.nulls == "category"


@pytest.mark.xdist_group("postgres")
def test_a_password_is_not_written_down(postgres_url: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres_url) as connection:
        connection.execute("create table if not exists wards (age integer, ward text)")
        connection.execute("insert into wards select n % 2, chr(97 + n % 2) from generate_series(1, 12) n")
    address = re.sub(r"//([^:@]+):?@", r"//\1:geheim@", postgres_url)
    assert "geheim" in address
    priced, text = propose_policy(address, tmp_path / "policy.toml", {**NO_OPTIONS, "table": "wards"})
    assert "geheim" not in text
    assert any("PGPASSWORD" in note for note in priced.proposal.notes)
    assert Policy.parse(text, "policy.toml", tmp_path).table().dataset == "wards"


@pytest.mark.parametrize(("values", "is_weight"), [([1, 2, 3], True), ([1, -2, 3], False), ([0, 0, 0], False)])
def test_a_weight_says_how_many_people_a_row_stands_for(values: list[int], is_weight: bool) -> None:
    found = propose(pl.DataFrame({"weight": values * 4, "sex": ["f", "m", "f"] * 4}))
    assert (found.weight == "weight") == is_weight


def people(**columns: Any) -> pl.DataFrame:
    """A hundred people with some columns beside an age and a job that tell nothing about these."""
    chance = random.Random(7)
    return pl.DataFrame(
        {
            "age": [chance.randrange(20, 60) for _ in range(100)],
            "job": [chance.choice("abc") for _ in range(100)],
            **{name: values(chance) if callable(values) else values for name, values in columns.items()},
        }
    )


def test_longitude_is_not_pay_and_is_not_published() -> None:
    found = people(
        lat=lambda c: [48 + c.random() for _ in range(100)], lon=lambda c: [11 + c.random() for _ in range(100)]
    )
    assert roles(found)["lon"] is None
    assert roles(found)["lat"] is None
    assert roles(people(lon=lambda c: [1000 * c.randrange(20, 30) for _ in range(100)]))["lon"] == "sensitive"


def test_the_weight_of_a_body_is_not_that_of_a_survey() -> None:
    bodies = propose(people(weight=lambda c: [c.randrange(45, 120) for _ in range(100)]))
    assert bodies.weight is None
    weight = next(column for column in bodies.columns if column.name == "weight")
    assert weight.role == "sensitive"
    assert weight.reason.startswith("health: body weight; ")
    assert propose(people(weight=lambda c: [0.2 + 3 * c.random() for _ in range(100)])).weight == "weight"
    assert propose(people(WGTP=lambda c: [c.randrange(45, 120) for _ in range(100)])).weight == "WGTP"


def test_uniqueness_alone_makes_no_identifier() -> None:
    found = roles(people(mileage=lambda c: c.sample(range(90_000), 100), row=list(range(1, 101))))
    assert found["mileage"] == "quasi"
    assert found["row"] == "identifier"


@pytest.mark.parametrize(
    ("values", "role"),
    [
        ([f"Anna Smith{'abcdefghij'[i % 10]}{'klmnopqrst'[i // 10]}" for i in range(100)], "identifier"),
        ([f"{i} Main Street" for i in range(100)], "identifier"),
        (["call back"] * 99 + ["write to ann@example.org"], None),
        (["ok"] * 99 + ["moved to Lindenstraße 12"], None),
        (["ok"] * 99 + ["SSN 123-45-6789"], None),
        ([f"48.1{i:03d}, 11.5{i:03d}" for i in range(100)], "identifier"),
        ([f"DE44 5001 0517 5407 32{i:02d} 31" for i in range(100)], "identifier"),
    ],
)
def test_values_that_identify_are_never_published_whatever_their_column_is_called(
    values: list[str], role: str | None
) -> None:
    assert roles(people(colour=values))["colour"] == role


def test_numbers_with_right_check_digits_are_identifiers() -> None:
    made = []
    for number in random.Random(3).sample(range(10**8, 10**9), 400):
        digit = (11 - sum((10 - i) * int(d) for i, d in enumerate(str(number))) % 11) % 11
        made += [number * 10 + digit] if digit < 10 else []
    assert roles(people(reference=made[:100]))["reference"] == "identifier"
    found = next(column for column in propose(people(reference=made[:100])).columns if column.name == "reference")
    assert found.reason == "values look like national identity numbers"


def test_what_follows_from_another_column_is_left_out_and_said_to_be_recomputable() -> None:
    frame = people(exper=lambda c: [c.randrange(1, 40) for _ in range(100)]).with_columns(
        expersq=pl.col("exper") ** 2,
        logexp=pl.col("exper").log(),
        job_label=pl.col("job").replace_strict({"a": "zeta", "b": "eta", "c": "theta"}),
        day=pl.date(2000, 1, 1) + pl.duration(days=31 * pl.col("age")),
    )
    frame = frame.with_columns(yr=pl.col("day").dt.year())
    found = propose(frame)
    left = {column.name: column.reason for column in found.columns if column.role is None}
    assert left["expersq"] == "is the square of 'exper', and would undo its protection"
    assert left["logexp"] == "is the natural logarithm of 'exper', and would undo its protection"
    assert left["job_label"] == "has one value for each value of 'job', and would undo its protection"
    assert "yr" in left
    assert any("'expersq' is the square of 'exper'" in note for note in found.notes)


def test_what_tells_a_sensitive_value_is_left_out() -> None:
    frame = people(wage=lambda c: [100 * c.randrange(10, 30) for _ in range(100)])
    found = roles(frame.select("age", "job", pl.col("wage").log().alias("lw"), "wage"))
    assert found["wage"] == "sensitive"
    assert found["lw"] is None


def test_indicators_that_sum_to_one_are_one_column_less() -> None:
    group = [random.Random(5).randrange(4) for _ in range(1)] + [i * 7 % 11 % 4 for i in range(99)]
    frame = people(**{f"group_{n}": [int(each == n) for each in group] for n in range(4)})
    found = roles(frame)
    assert [found[f"group_{n}"] for n in range(4)] == ["quasi", "quasi", "quasi", None]


def test_sensitive_numbers_that_single_people_out_are_published_in_values_that_are_shared(tmp_path: Path) -> None:
    frame = people(income=lambda c: [c.random() * 1000 for _ in range(100)])
    frame.write_csv(tmp_path / "a.csv")
    income = next(column for column in propose(frame).columns if column.name == "income")
    assert income.role == "sensitive"
    assert "100% of the rows have a unique value, so it is rounded" in income.reason
    shown = publishes(tmp_path / "a.csv", tmp_path).table().frame["income"]
    assert shown.dtype == pl.Float64
    assert shown.is_unique().mean() <= 0.02


def test_sensitive_days_are_published_in_units_that_are_shared(tmp_path: Path) -> None:
    first = datetime.date(2010, 1, 1)
    frame = people(diagnosed=lambda c: [first + datetime.timedelta(days=c.randrange(3000)) for _ in range(100)])
    frame.write_csv(tmp_path / "a.csv")
    found = next(column for column in propose(frame).columns if column.name == "diagnosed")
    assert (found.role, found.coarsen) == ("sensitive", {"kind": "calendar", "unit": "year"})
    assert publishes(tmp_path / "a.csv", tmp_path).table().frame["diagnosed"].dtype == pl.Date


def test_codes_for_missing_values_are_read_as_such_where_they_are_certain(tmp_path: Path) -> None:
    frame = people(score_a=lambda c: [c.choice([1, 2, 3, 4, -9]) for _ in range(100)])
    frame.with_columns(pets=pl.when(pl.col("score_a") == 1).then(99).otherwise(pl.col("age") % 7)).write_csv(
        tmp_path / "a.csv"
    )
    priced, text = propose_policy(str(tmp_path / "a.csv"), tmp_path / "policy.toml", NO_OPTIONS)
    assert tomllib.loads(text)["data"]["null_values"] == ["-9"]
    assert any("'pets': 99" in note for note in priced.proposal.notes)
    publishes(tmp_path / "a.csv", tmp_path)


@pytest.mark.parametrize("rows", range(10))
def test_nothing_is_proposed_for_too_few_people(rows: int) -> None:
    found = propose(register(60).head(rows))
    assert found.refusal is not None
    assert ("The table has no rows" if rows == 0 else "too few people for any protection") in found.refusal
    assert found.notes == (found.refusal,)
    assert found.definition == ()
    assert {column.role for column in found.columns} == {None}


@pytest.mark.parametrize("rows", [10, 11, 30])
def test_a_proposal_asks_for_groups_of_five(rows: int) -> None:
    found = propose(register(60).head(rows))
    assert found.refusal is None
    assert found.definition[0] == {"name": "KAnonymity", "k": 5}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            "adult/adult_subset.csv.gz", marks=pytest.mark.slow
        ),  # tests/cli/test_inspect.py has it in every run
        pytest.param("fars/fars_subset.csv.gz", marks=pytest.mark.slow),
        pytest.param("gss/gss_wages.parquet", marks=pytest.mark.slow),
        pytest.param("sdcmicro/testdata.csv.gz", marks=pytest.mark.slow),
        pytest.param("sdcmicro/CASCrefmicrodata.csv.gz", marks=pytest.mark.slow),
        pytest.param("adult/adult.csv.gz", marks=pytest.mark.slow),
        pytest.param("adult_full/adult_48842.csv.gz", marks=pytest.mark.slow),
        pytest.param("cps/cps.parquet", marks=pytest.mark.slow),
        pytest.param("gss/cces_tv16.parquet", marks=pytest.mark.slow),
        pytest.param("sdcmicro/free1.csv.gz", marks=pytest.mark.slow),
    ],
)
def test_the_policy_for_a_real_table_publishes_unchanged(shared_data: Path, tmp_path: Path, name: str) -> None:
    publishes(shared_data / name, tmp_path)


_names = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\0\ufeff"), min_size=1, max_size=6
)
_columns = st.one_of(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=12, max_size=12),
    st.lists(st.integers(0, 3), min_size=12, max_size=12),
    st.lists(st.floats(-1e6, 1e6), min_size=12, max_size=12),
    st.lists(st.sampled_from(["a", "b", "c", None]), min_size=12, max_size=12),
    st.lists(st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1)), min_size=12, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
    st.lists(_names, min_size=12, max_size=12),
)
_tables = st.dictionaries(
    st.one_of(_names, st.sampled_from(["age", "zip", "disease", "sex", "id", "weight"])).map(str.strip).filter(bool),
    _columns,
    min_size=1,
    max_size=5,
)


@examples(40, few=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=_tables)
def test_the_policy_for_any_table_publishes_unchanged(tmp_path: Path, columns: dict[str, list[Any]]) -> None:
    path = tmp_path / "any.parquet"
    pl.DataFrame(columns, strict=False).write_parquet(path)
    _, text = propose_policy(str(path), tmp_path / "policy.toml", NO_OPTIONS)
    policy = Policy.parse(text, "policy.toml", tmp_path)
    if policy.sections.roles.quasi:
        table = policy.table()
        draft = policy.method(table, policy.definition).draft(table, policy.definition)
        assert policy.definition.holds(draft.evidence.published)


@examples(100)
@given(
    name=st.text(st.characters(blacklist_categories=["Cs"])), text=st.text(st.characters(blacklist_categories=["Cs"]))
)
def test_any_text_can_be_written_down_in_toml(name: str, text: str) -> None:
    assert tomllib.loads(f"{key(name)} = {value(text)}") == {name: text}


@pytest.mark.parametrize("name", ["*", "^a.*$"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_column_whose_name_is_a_pattern_is_left_out_and_its_file_publishes(
    tmp_path: Path, name: str, ending: str
) -> None:
    frame = pl.DataFrame({name: ["x", "y", "?"] * 8, "a": [1, 1, 2] * 8})
    path = tmp_path / f"any.{ending}"
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    priced, text = propose_policy(str(path), tmp_path / "policy.toml", NO_OPTIONS)
    assert [column.name for column in priced.proposal.columns if column.role == "quasi"] == ["a"]
    assert Policy.parse(text, "policy.toml", tmp_path).table().frame.columns == ["a"]
    with pytest.raises(DataError, match="Rename the column"):
        Table(frame, quasi=[name])


def test_longitudes_under_any_name_bodies_and_cards_are_what_their_values_say() -> None:
    chance = random.Random(9)
    frame = pl.DataFrame(
        {
            "lat": [44.9 + chance.random() / 10 for _ in range(200)],
            "long": [-93.3 + chance.random() / 10 for _ in range(200)],
            "Wgt": [float(round(chance.gauss(160, 25))) for _ in range(200)],
            "card": [chance.choice(["yes", "no"]) for _ in range(200)],
            "childid": [1000 + i // 2 for i in range(200)],
            "sex": [chance.choice("fm") for _ in range(200)],
        }
    )
    assert roles(frame) == {
        "lat": None,
        "long": None,
        "Wgt": "sensitive",
        "card": "sensitive",
        "childid": "identifier",
        "sex": "quasi",
    }


@pytest.mark.parametrize("code", ["P{:03}", "N{:03}", "case-{:04}", None], ids=str)
def test_codes_in_a_column_called_patient_are_people(code):
    """Visits of 150 patients: codes that are codes of ICD-10 as well, codes of no kind, and numbers."""
    chance, rows = random.Random(5), []
    for number in range(150):
        age, town = chance.randint(20, 80), chance.choice("abcdef")
        patient = 7 * number if code is None else code.format(number)
        rows += [
            (patient, age, town, chance.choice(["flu", "burn", "cold"])) for _ in range(chance.choice([1, 2, 3, 5]))
        ]
    found = propose(pl.DataFrame(rows, schema=["patient", "age", "town", "diagnosis"], orient="row"))
    assert {column.name: column.role for column in found.columns}["patient"] == "identifier"
    assert (found.key, found.unit) == ("patient", "person")


def test_members_of_a_household_are_people_of_their_own() -> None:
    """Household numbers repeat, and each row is a member: people are rows, and the steward is told how households would be counted."""
    draw = random.Random(8)
    homes = pl.DataFrame(
        [(home, draw.randint(1, 90), draw.choice("mf"), draw.randint(1, 99) * 100) for home in range(90) for _ in range(3)],
        schema=["ori_hid", "age", "sex", "income"],
        orient="row",
    )  # fmt: skip
    found = rt.inspect(homes, prices=False)
    assert "key =" not in found.text
    assert any("'ori_hid'" in note and "if a household, as household" in note for note in found.notes)
