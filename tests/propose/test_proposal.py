"""A proposed policy is publishable as it is, and errs on the side of privacy."""

from __future__ import annotations

import datetime
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from reticent.policy import Policy
from reticent.propose import propose, propose_policy
from reticent.propose.document import key, value

NO_OPTIONS: dict[str, Any] = {"table": None, "query": None, "delimiter": None, "encoding": None}


def roles(frame: pl.DataFrame) -> dict[str, str | None]:
    return {column.name: column.role for column in propose(frame).columns}


def publishes(path: Path, folder: Path) -> Policy:
    """Write the policy that is proposed for a file, read it back, and draft a release with it unchanged."""
    _, text = propose_policy(str(path), folder / "policy.toml", NO_OPTIONS)
    (folder / "policy.toml").write_text(text)
    policy = Policy.read(folder / "policy.toml")
    draft = policy.method().draft(policy.table(), policy.definition)
    assert policy.definition.holds(draft.evidence.published)
    return policy


def register(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "patient_id": [f"P{i:04d}" for i in range(rows)],
            "full name": [f"Person {i}" for i in range(rows)],
            "contact": [f"p{i}@example.org" for i in range(rows)],
            "age": [20 + i % 50 for i in range(rows)],
            "postcode": [f"{10000 + i % 7}" for i in range(rows)],
            "admitted": [datetime.date(2024, 1, 1) + datetime.timedelta(days=i) for i in range(rows)],
            "sex": ["f" if i % 2 else "m" for i in range(rows)],
            "diagnosis": [("flu", "cold", "ulcer", "asthma")[i % 4] for i in range(rows)],
            "income": [1000 + 13 * i for i in range(rows)],
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
        "income": None,
        "remarks": None,
        "weight": None,
        "empty": None,
    }
    assert (found.key, found.weight, found.nulls) == ("patient_id", "weight", "refuse")
    assert found.definition == (
        {"name": "KAnonymity", "k": 5},
        {"name": "RecursiveLDiversity", "c": "3", "l": 3},
    )


def test_every_quasi_column_gets_a_hierarchy_that_fits() -> None:
    found = {column.name: column.hierarchy for column in propose(register()).columns}
    assert found["age"] == {"kind": "intervals", "widths": [5, 10, 20, 40], "origin": 0, "domain": [0, 120]}
    assert found["postcode"] == {"kind": "masking", "digits": 5}
    assert found["admitted"] == {"kind": "dates", "levels": ["month", "quarter", "year"]}
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
    found = propose(pl.DataFrame({"measure": values * 3})).columns[0]
    assert found.hierarchy == {"kind": "intervals", "widths": widths, "origin": 0}


def test_a_hierarchy_file_beside_the_data_is_taken_if_it_covers_the_values(tmp_path: Path) -> None:
    pl.DataFrame({"job": ["a", "b", "a", "b", "c"] * 4, "sex": ["m", "f", "m", "f", "m"] * 4}).write_csv(
        tmp_path / "people.csv"
    )
    (tmp_path / "people_hierarchy_job.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    (tmp_path / "people_hierarchy_sex.csv").write_text("m;*\n")
    policy = publishes(tmp_path / "people.csv", tmp_path)
    assert policy.sections.hierarchies["job"] == {"kind": "csv", "file": "people_hierarchy_job.csv"}
    assert policy.sections.hierarchies["sex"] == {"kind": "suppression"}


def test_only_one_column_is_proposed_as_sensitive_and_the_most_delicate_one() -> None:
    frame = pl.DataFrame(
        {"income": [1, 2, 3, 4] * 5, "religion": ["a", "b", "c", "a"] * 5, "disease": ["x", "y", "z", "x", "y"] * 4}
    )
    assert roles(frame) == {"income": None, "religion": None, "disease": "sensitive"}


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
    assert propose(frame).definition[1] == definition


def test_so_many_columns_that_nothing_would_be_left_are_not_all_published() -> None:
    frame = pl.DataFrame({f"answer {i}": [j % 3 for j in range(40)] for i in range(40)} | {"age": list(range(40))})
    found = roles(frame)
    assert found["age"] == "quasi"
    assert sum(role == "quasi" for role in found.values()) == 10
    assert sum(role is None for role in found.values()) == 31


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
    found, text = propose_policy(address, tmp_path / "policy.toml", {**NO_OPTIONS, "table": "wards"})
    assert "geheim" not in text
    assert any("PGPASSWORD" in note for note in found.notes)
    assert Policy.parse(text, "policy.toml", tmp_path).table().dataset == "wards"


@pytest.mark.parametrize(("values", "is_weight"), [([1, 2, 3], True), ([1, -2, 3], False), ([0, 0, 0], False)])
def test_a_weight_says_how_many_people_a_row_stands_for(values: list[int], is_weight: bool) -> None:
    found = propose(pl.DataFrame({"weight": values * 4, "sex": ["f", "m", "f"] * 4}))
    assert (found.weight == "weight") == is_weight


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
        "adult/adult_subset.csv.gz",
        "fars/fars_subset.csv.gz",
        "gss/gss_wages.parquet",
        "sdcmicro/testdata.csv.gz",
        "sdcmicro/CASCrefmicrodata.csv.gz",
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=_tables)
def test_the_policy_for_any_table_publishes_unchanged(tmp_path: Path, columns: dict[str, list[Any]]) -> None:
    path = tmp_path / "any.parquet"
    pl.DataFrame(columns, strict=False).write_parquet(path)
    _, text = propose_policy(str(path), tmp_path / "policy.toml", NO_OPTIONS)
    policy = Policy.parse(text, "policy.toml", tmp_path)
    if policy.sections.roles.quasi:
        draft = policy.method().draft(policy.table(), policy.definition)
        assert policy.definition.holds(draft.evidence.published)


@settings(max_examples=100, deadline=None)
@given(
    name=st.text(st.characters(blacklist_categories=["Cs"])), text=st.text(st.characters(blacklist_categories=["Cs"]))
)
def test_any_text_can_be_written_down_in_toml(name: str, text: str) -> None:
    assert tomllib.loads(f"{key(name)} = {value(text)}") == {name: text}
