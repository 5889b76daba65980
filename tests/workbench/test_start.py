"""What the first page opens: a file, a policy, a release, a database, or an earlier project; without a browser."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.io import source
from reticent.policy import Policy
from reticent.workbench.definition_words import guarantees_words
from reticent.workbench.pages import start
from reticent.workbench.pages.guarantee import FIRST_VALUES, first_meaning
from reticent.workbench.problem_words import policy_words, reading_words
from reticent.workbench.project import Project, Projects
from tests.workbench.conftest import HOST, Shop

POLICY = """
[data]
source = "people.csv"

[roles]
quasi = ["age"]

[hierarchies.age]
kind = "intervals"
widths = [5, 10]

[[definition]]
name = "KAnonymity"
k = 2
"""


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age\n" + "".join(f"{20 + n % 10}\n" for n in range(40)))
    return path


def posted(client: Any, address: str, **fields: str) -> Any:
    """The answer to a form that one of our own pages sends."""
    return client("POST", address, data=fields, headers={"origin": f"http://{HOST}"})


def opened(client: Any, home: Path, location: str) -> tuple[str, Project]:
    """The page that is shown for a location, and its project."""
    client.enter()
    answered = posted(client, "/open", path=location)
    address = answered.headers.get("hx-redirect") or answered.headers["location"]
    number, version, page = re.findall(r"/p/([0-9a-f]+)/v/(\d+)/(\w+)", address)[0]
    project = Projects(home).find(number)
    assert project.head == int(version)
    return page, project


def test_a_file_is_read_where_it_is_and_never_copied(client: Any, tmp_path: Path, people: Path) -> None:
    page, project = opened(client, tmp_path / "home", str(people))
    assert page == "data"
    assert (project.folder / project.fact("pending")["location"]).resolve() == people
    assert not [each for each in project.folder.rglob("*") if each.name == people.name]


def test_a_policy_restores_its_state(client: Any, tmp_path: Path, people: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    page, project = opened(client, tmp_path / "home", str(tmp_path / "policy.toml"))
    assert (page, project.head) == ("data", 1)
    content = project.content()
    assert (project.folder / content["data"].pop("source")).resolve() == people
    assert content["definition"] == [{"name": "KAnonymity", "k": 2}]
    assert content["hierarchies"]["age"]["widths"] == [5, 10]


def test_a_release_is_opened_to_be_verified(client: Any, tmp_path: Path, people: Path) -> None:
    table = rt.Table(pl.read_csv(people), quasi={"age": rt.Hierarchy.intervals([5, 10])})
    rt.publish(table, rt.KAnonymity(2)).save(tmp_path / "release")
    page, project = opened(client, tmp_path / "home", str(tmp_path / "release"))
    assert (page, project.fact("verify")) == ("publish", str(tmp_path / "release"))
    assert f'value="{tmp_path / "release"}"' in client("GET", f"/p/{project.id}/v/0/publish").text


def test_the_address_of_a_database_is_no_path(client: Any, tmp_path: Path) -> None:
    page, project = opened(client, tmp_path / "home", "env:PATIENTS")
    assert (page, project.fact("pending")["location"]) == ("data", "env:PATIENTS")


@pytest.mark.parametrize(("name", "told"), [("nothing.csv", "There is no file"), ("", "is a folder")])
def test_what_cannot_be_opened_says_why_and_leaves_no_project(
    client: Any, tmp_path: Path, name: str, told: str
) -> None:
    client.enter()
    assert told in posted(client, "/open", path=str(tmp_path / name)).text
    assert Projects(tmp_path / "home").all() == []


def test_every_format_that_can_be_read_is_listed() -> None:
    text = (*source._TEXT, *source._PARQUET, *source._ARROW)
    tables = (*source._DUCKDB, *source._SQLITE, *source._SHEETS, *source._STATISTICS)
    assert {*text, *tables, ".gz", ".toml"} == start._ENDINGS


def test_recent_projects_are_listed_by_name(client: Any, tmp_path: Path, people: Path) -> None:
    _, project = opened(client, tmp_path / "home", str(people))
    assert "people.csv" in client("GET", "/").text
    posted(client, f"/p/{project.id}/name", name="Patients <2026>")
    listed = client("GET", "/").text
    assert "Patients &lt;2026&gt;" in listed
    assert f"/p/{project.id}" in listed


def test_a_file_that_cannot_be_read_is_explained_by_the_fields_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("age,age\n" + "1,2\n" * 20)
    with pytest.raises(DataError) as told:
        rt.read(path)
    words = reading_words(str(told.value), tmp_path)
    assert "have the repeated names numbered below" in words
    assert "choose “a row” as “First line” below" in words
    assert "--no" not in words


def test_repeated_names_are_numbered_by_one_click_and_the_policy_says_so(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_bytes("age;sex;age;größe\n".encode("cp1252") + b"31;f;40;1\n32;m;41;2\n" * 60)
    answered = shop.client.post("/open", path=str(path))
    number = re.findall(r"/p/([0-9a-f]+)/", answered.headers["location"])[0]
    refused = shop.client("GET", f"/p/{number}/pending").text
    address = re.findall(r'hx-post="(/p/\w+/read/numbered)"', refused)[0]
    assert "sex" not in refused
    shop.client.post(address)
    shop.client("GET", f"/p/{number}/pending")
    project = shop.client.desk.projects.find(number)
    assert project.content(project.head)["data"]["number_names"] is True
    assert "numbered: date, date_2" in shop.page(project, "data")
    read = Policy.parse(project.text(project.head), "policy", project.folder).sourced(None).read()
    assert read.columns == ["age", "sex", "age_2", "größe"]
    assert read["age_2"].unique().sort().to_list() == [40, 41]


def test_a_file_without_repeated_names_offers_no_numbers(shop: Shop, tmp_path: Path) -> None:
    path = tmp_path / "ragged.csv"
    path.write_text("age,sex\n1\n2,m\n")
    answered = shop.client.post("/open", path=str(path))
    number = re.findall(r"/p/([0-9a-f]+)/", answered.headers["location"])[0]
    assert "1 fields where the header has 2" in (refused := shop.client("GET", f"/p/{number}/pending").text)
    assert "read/numbered" not in refused


def test_equal_guarantees_of_several_columns_share_a_line() -> None:
    alike = [{"name": "DistinctLDiversity", "l": 2, "column": name} for name in ("illness", "income")]
    lines = guarantees_words([{"name": "KAnonymity", "k": 5}, *alike, {**alike[0], "l": 3}])
    assert [each.replace("\u00a0", " ") for each in lines] == [
        "k-anonymity, k = 5",
        "distinct l-diversity of illness and income, l = 2",
        "distinct l-diversity of illness, l = 3",
    ]


@pytest.mark.parametrize("name", FIRST_VALUES)
def test_every_guarantee_that_can_be_added_says_what_it_promises_at_first(name: str) -> None:
    words = first_meaning(name)
    assert all(f"{parameter} = {value}" in words for parameter, value in FIRST_VALUES[name].items())
    assert ": an attacker " in words


def test_a_refused_policy_is_explained_without_its_lines(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as told:
        Policy.parse(POLICY.replace("k = 2", "k = 0"), "the policy", tmp_path)
    assert re.match(r"the policy:\d+:\d+: ", str(told.value))
    words = policy_words(str(told.value))
    assert not words.startswith("the policy")
    assert "|" not in words
    assert "k" in words
