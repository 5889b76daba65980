"""A project is a folder: versions, undo and redo, and changes of a policy."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.policy import Policy
from reticent.propose import document_text
from reticent.workbench import edits
from reticent.workbench.definition_words import guarantee_words
from reticent.workbench.desk import Desk, PagePart, ProjectView
from reticent.workbench.jobs import key_of
from reticent.workbench.pages.explore import poor_words
from reticent.workbench.pages.guarantee import is_stricter
from reticent.workbench.project import Project, Projects, safe_file_name

POLICY = """
dataset = "people"

[data]
source = "people.csv"

[roles]
identifiers = ["name"]
quasi = ["age", "town"]
sensitive = ["illness"]
quasi_sets = [["age"], ["town"]]

[hierarchies.age]
kind = "intervals"
widths = [5, 10]

[[definition]]
name = "KAnonymity"
k = 5

[[definition]]
name = "DistinctLDiversity"
l = 2

[method]
name = "Lattice"
weights = { age = 2.0 }
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Projects(tmp_path / "home").new("people")
    made.write(POLICY, "opened")
    return made


def test_undo_and_redo_move_between_versions_and_lose_none(project: Project) -> None:
    project.change(lambda content: edits.set_role(content, "town", None), "town left out")
    second = project.change(lambda content: edits.set_suppression(content, "0.1"), "more suppression")
    assert (project.head, second) == (3, 3)
    assert project.undo() == 2
    assert project.undo() == 1
    assert not project.can_undo
    assert project.undo() == 1
    assert project.redo() == 2
    branch = project.change(lambda content: edits.set_suppression(content, "0.2"), "other suppression")
    assert branch == 4
    assert project.undo() == 2
    assert project.redo() == 4
    assert project.restore(3) == 3
    assert [each.number for each in project.versions] == [1, 2, 3, 4]
    assert project.policy_path.read_text() == project.text(3)


def test_another_server_finds_the_same_state(project: Project) -> None:
    project.change(lambda content: edits.set_suppression(content, "0.1"), "more suppression")
    again = Projects(project.folder.parent).find(project.id)
    assert again.head == 2
    assert again.content() == project.content()
    assert again.can_undo


def test_the_same_text_is_no_change(project: Project) -> None:
    assert project.write(project.text(), "nothing") == 1


def test_a_change_that_a_policy_cannot_say_is_refused_and_leaves_no_version(project: Project) -> None:
    with pytest.raises(PolicyError):
        project.change(lambda content: content.update(nonsense={"a": 1}), "nonsense")
    assert project.head == 1
    assert len(project.versions) == 1


def test_folders_are_private_and_forgotten_whole(project: Project) -> None:
    home = Projects(project.folder.parent)
    assert project.folder.stat().st_mode & 0o077 == 0
    assert project.folder.parent.stat().st_mode & 0o077 == 0
    (project.folder / "uploads" / "raw.csv").write_text("secret")
    home.forget(project.id)
    assert not project.folder.exists()
    with pytest.raises(DataError, match="no such project"):
        home.find(project.id)


def test_a_role_takes_what_belonged_to_the_old_one_with_it(project: Project) -> None:
    project.change(lambda content: edits.set_role(content, "age", "sensitive"), "age")
    content = project.content()
    assert edits.role_of(content, "age") == "sensitive"
    assert "age" not in content.get("hierarchies", {})
    assert content["roles"]["quasi_sets"] == [["town"]]
    assert "weights" not in content["method"]
    columns = [each.get("column") for each in content["definition"]]
    assert columns == [None, "illness", "age"]
    project.change(lambda content: edits.set_role(content, "age", None), "age")
    assert [each.get("column") for each in project.content()["definition"]] == [None, "illness"]


def test_the_last_sensitive_column_takes_its_guarantees_with_it(project: Project) -> None:
    project.change(lambda content: edits.set_role(content, "illness", "quasi"), "illness")
    assert [each["name"] for each in project.content()["definition"]] == ["KAnonymity"]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["name", "age", "town", "illness", 'other [x] "y"']),
            st.sampled_from([None, "identifiers", "quasi", "sensitive", "private"]),
        ),
        max_size=12,
    )
)
def test_any_change_of_roles_leaves_a_policy_in_which_each_column_has_one_role(
    steps: list[tuple[str, str | None]],
) -> None:
    content: dict[str, Any] = tomllib.loads(POLICY)
    for column, role in steps:
        edits.set_role(content, column, role, {"hierarchy": {"kind": "suppression"}, "coarsen": None})
        assert edits.role_of(content, column) == role
    text = document_text(content)
    assert tomllib.loads(text) == content
    Policy.parse(text)
    listed = [name for role in edits.LISTED for name in edits.roles_of(content)[role]]
    assert len(listed) == len(set(listed))
    for name in content.get("hierarchies", {}):
        assert name in content["roles"]["quasi"]


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-(10**9), 10**9), st.text(max_size=12), st.dates()),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=6,
)
NAMES = st.text(min_size=1, max_size=8)


@given(
    st.fixed_dictionaries(
        {
            "dataset": st.text(max_size=10),
            "data": st.dictionaries(NAMES, VALUES, max_size=4),
            "roles": st.dictionaries(NAMES, st.lists(NAMES, max_size=3), max_size=3),
            "hierarchies": st.dictionaries(
                NAMES,
                st.fixed_dictionaries(
                    {
                        "kind": NAMES,
                        "tree": st.dictionaries(NAMES, st.lists(NAMES, min_size=1, max_size=3), min_size=1, max_size=3),
                    }
                ),
                min_size=1,
                max_size=3,
            ),
            "definition": st.lists(st.dictionaries(NAMES, VALUES, min_size=1, max_size=3), min_size=1, max_size=3),
            "method": st.dictionaries(NAMES, VALUES, max_size=3),
        }
    )
)
def test_a_written_policy_says_what_was_written(content: dict[str, Any]) -> None:
    assert tomllib.loads(document_text(content)) == content


def test_names_of_uploads_have_no_folder() -> None:
    assert safe_file_name("../../etc/passwd") == "passwd"
    assert safe_file_name("a\\b\\c.csv") == "c.csv"
    for wrong in ("", "..", "/", "x" * 201):
        with pytest.raises(PolicyError):
            safe_file_name(wrong)


def test_a_first_proposal_tries_nothing_and_parses(tmp_path: Path) -> None:
    rows = {"age": [20 + n % 50 for n in range(200)], "diagnosis": ["flu", "cold", "asthma", "gout"] * 50}
    found = rt.inspect(rows, prices=False)
    assert found.priced.compared is None
    assert found.priced.method == {"suppression": "0.05"}
    assert [each["name"] for each in found.priced.proposal.definition] == ["KAnonymity", "DistinctLDiversity"]
    assert found.roles == rt.inspect(rows).roles


def test_a_first_proposal_is_published_by_the_cheapest_of_the_quick_methods(tmp_path: Path) -> None:
    from reticent.demo import hospital

    hospital().write_csv(tmp_path / "hospital.csv")
    read = rt.inspect(tmp_path / "hospital.csv", output=tmp_path / "policy.toml", prices=False).parsed()
    table = read.table()
    losses = {
        type(way).__name__: rt.preview(table, read.definition, way).utility["loss"]
        for way in (rt.Lattice(suppression="0.05"), rt.Mondrian(suppression="0.05"))
    }
    made = rt.preview(table, read.definition, read.method(table, read.definition))
    assert made.method["name"] == "Mondrian"
    assert made.utility["loss"] <= losses["Mondrian"] < losses["Lattice"]


def test_work_begun_ahead_gives_way_to_that_of_the_next_version_but_never_what_a_page_shows(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reticent.workbench.jobs._Worker.start", lambda worker: None)
    desk = Desk(project.folder.parent)
    desk.add_part(PagePart("candidate", "candidate", ("definition",)))
    first = ProjectView(project, project.head, "data")
    begun = desk.ahead(first, "candidate")
    assert desk.ahead(first, "candidate") is begun
    second = ProjectView(
        project, project.change(lambda content: edits.set_definition(content, 1, None), "less"), "data"
    )
    shown = desk.ahead(second, "candidate")
    assert begun.state == "stopped"
    assert desk.peek(first, "candidate") is None
    assert desk.job(second, "candidate") is shown
    project.undo()
    assert desk.ahead(first, "candidate") is not begun
    assert shown.state == "waiting"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"loss": 0.6, "query_error": {"median": 9.0}}, "60% of the detail is lost"),
        (
            {"loss": 0.3, "query_error": {"median": 1.32}},
            "counts of at least 1 % of the records are typically wrong by 132%",
        ),
        ({"loss": 0.3, "query_error": {"median": 0.2}}, ""),
        ({"loss": 0.08, "query_error": {"median": 0.84}}, ""),
        ({"loss": 0.3, "query_error": {"median": None}}, ""),
        ({"loss": None}, ""),
    ],
)
def test_a_candidate_of_little_use_says_why(found: dict[str, Any], told: str) -> None:
    assert poor_words(found) == told


@pytest.mark.parametrize(
    ("definition", "told"),
    [
        ({"name": "KAnonymity", "k": 5}, "k-anonymity, k = 5"),
        ({"name": "DistinctLDiversity", "l": 2, "column": "ill", "alone": True}, "distinct l-diversity of ill, l = 2"),
        ({"name": "RecursiveLDiversity", "c": 3, "l": 2}, "recursive (c,l)-diversity, c = 3, l = 2"),
    ],
)
def test_guarantees_have_the_names_of_the_literature(definition: dict[str, Any], told: str) -> None:
    assert guarantee_words(definition).replace("\u00a0", " ") == told


@pytest.mark.parametrize(
    ("parameter", "before", "after", "stricter"), [("k", 5, 7, True), ("l", 3, 2, False), ("t", "0.3", "0.2", True)]
)
def test_counts_grow_and_limits_shrink_where_a_guarantee_becomes_stricter(
    parameter: str, before: Any, after: Any, stricter: bool
) -> None:
    assert is_stricter(parameter, before, after) is stricter


def test_results_of_another_version_are_not_taken_for_those_of_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"folder": "project", "policy": "", "start": 0}
    own = key_of("rows", settings)
    assert own == key_of("rows", dict(reversed(settings.items())))
    assert own != key_of("rows", {**settings, "start": 12})
    monkeypatch.setattr("reticent.workbench.jobs.__version__", "0.1")
    assert own != key_of("rows", settings)
