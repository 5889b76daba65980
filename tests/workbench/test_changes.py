"""Every change that a page makes: a version of the policy that is undone and redone; and what a release offers to download makes it once more."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import sqlite3
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.policy import Policy
from reticent.release import generate_keys
from reticent.workbench.desk import ProjectView
from reticent.workbench.project import Project
from reticent.workbench.scripts import command_for, script_for
from tests.workbench.conftest import Shop
from tests.workbench.test_state import assert_same_files, published

CHANGES: Mapping[str, list[Mapping[str, str]]] = {
    "role": [
        {"column": "town", "role": ""},
        {"column": "town", "role": "sensitive"},
        {"column": "name", "role": "private"},
        {"column": "sex", "role": "declared", "reason": "nobody knows it"},
    ],
    "special": [{"setting": "key", "column": "name"}, {"setting": "weight", "column": "age"}],
    "types": [{"column": "town", "type": "text"}, {"missing": "flu, ?"}],
    "levels": [{"place": "1", "description": json.dumps({"kind": "cuts", "levels": [[30, 40], [40]]})}],
    "definition": [
        {"place": "0", "value-k": "7"},
        {"place": "0", "remove": "1"},
        {"name": "TCloseness"},
        {"name": "WorstCaseKnowledge"},
    ],
    "suppression": [{"limit": "10 %"}],
    "sets": [{"sets": "age, sex\ntown"}],
    "template": [{"template": "public-use"}],
    "read": [{"header": "no"}],
    "method": [{"way": "Mondrian"}, {"node": "1-0-1"}],
    "publish": [{"dataset": "people of the town", "files": "parquet"}],
    "afford": [{}],
}
"""What each route that changes a policy is sent."""
LEAVE_THE_POLICY = {
    *("again/{key}", "stop/{key}", "move/{way}", "forget", "name", "pin", "levels/try", "publishing/dismiss"),
    *("release/{place}/report", "v/{version}/more/{name}", "read/numbered"),
}
"""Routes of a project that write no version of the policy, or none until a file was read that could not be read."""


def test_every_route_that_changes_something_is_named_here(shop: Shop) -> None:
    posted = {
        route.path.removeprefix("/p/{number}/")
        for route in shop.client.app.routes
        if "POST" in getattr(route, "methods", ()) and route.path.startswith("/p/{number}/")
    }
    assert posted == {*CHANGES, *LEAVE_THE_POLICY}


@pytest.fixture
def project(shop: Shop, policy: Path) -> Project:
    return shop.opened(policy.parent / "people.csv")


@pytest.mark.parametrize("route", CHANGES)
def test_every_change_is_undone_and_redone(shop: Shop, project: Project, route: str) -> None:
    for fields in CHANGES[route]:
        before, text = project.head, project.text()
        if route == "afford":
            shop.part(project, "afford", "columns")
        answered = shop.client.post(f"/p/{project.id}/{route}", **fields)
        assert answered.status_code == 303, answered.text
        shop.client("GET", f"/p/{project.id}/pending")
        changed = project.text()
        assert project.head != before, fields
        assert changed != text
        shop.client.post(f"/p/{project.id}/move/undo", page="columns")
        assert (project.head, project.policy_path.read_text()) == (before, text)
        shop.client.post(f"/p/{project.id}/move/redo", page="columns")
        assert project.policy_path.read_text() == changed
        Policy.read(project.policy_path)
        shop.client.post(f"/p/{project.id}/move/undo", page="columns")


def test_downloads_of_a_release_make_it_once_more_though_the_policy_was_changed_since(
    shop: Shop, policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = shop.opened(policy)
    published(shop, project)
    version = project.head
    shop.client.post(f"/p/{project.id}/definition", place="0", **{"value-k": "40"})
    script, text = (
        shop.client("GET", f"/p/{project.id}/release/0/{name}").text for name in ("publish.py", "policy.toml")
    )
    assert text == project.text(version) != project.text()
    (tmp_path / "publish.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "other.sqlite"))
    runpy.run_path(str(tmp_path / "publish.py"))
    assert "failures 0" in capsys.readouterr().out
    ours = Path(project.releases[0]["path"]) / "public"
    assert_same_files(ours, tmp_path / "release" / "public")


def test_the_command_and_script_of_a_state_publish_that_state(shop: Shop, policy: Path, tmp_path: Path) -> None:
    project = shop.opened(policy)
    shop.client.post(f"/p/{project.id}/definition", place="0", **{"value-k": "9"})
    earlier, now = (ProjectView(project, version, "publish") for version in (1, 2))
    drawer = shop.client("GET", f"/p/{project.id}/policy?v=1").text
    assert "policy-1.toml" in drawer
    copied, _, publishes = command_for(earlier).partition(" && ")
    subprocess.run(copied, shell=True, check=True)
    path = re.findall(r"publish (\S+) -o release", publishes)[0]
    assert Policy.read(path).definition == Policy.parse(project.text(1), "policy", project.folder).definition
    assert Policy.read(path).table().rows == 300
    assert command_for(now) == f"reticent publish {project.policy_path} -o release"
    assert "versions" in script_for(earlier)
    assert "versions" not in script_for(now)


def test_paths_of_the_user_are_short_in_commands(shop: Shop, policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = shop.opened(policy)
    monkeypatch.setenv("HOME", str(shop.home.parent))
    view: Any = ProjectView(project, 1, "publish")
    assert command_for(view) == f"reticent publish ~/home/{project.id}/policy.toml -o release"
    shown = subprocess.run(f"ls {command_for(view).split()[2]}", shell=True, check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == str(project.policy_path)


def test_checks_name_guarantees_as_the_literature_does(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    published(shop, project)
    html = shop.page(project, "publish").replace("\u00a0", " ")
    assert "K-anonymity, k = 5</th>" in html
    assert "Distinct l-diversity, l = 2</th>" in html
    assert "KAnonymity(" not in html.partition("Every check")[2]
    assert rt.verify(project.releases[0]["path"]).holds


def test_a_release_is_signed_and_goes_to_a_database_and_everything_is_downloaded(
    shop: Shop, policy: Path, tmp_path: Path
) -> None:
    keys = generate_keys(tmp_path / "keys")
    target = tmp_path / "out.sqlite"
    project = shop.opened(policy)
    settings = {"sign": str(keys.private), "to": f"sqlite:///{target}", "to_table": "people", "report": "1"}
    published(shop, project, **settings)
    shop.client("GET", f"/p/{project.id}/release/0/writing?v={project.head}")
    folder = Path(project.releases[0]["path"])
    assert rt.verify(folder).signed
    written = pl.read_csv(folder / "public" / "data.csv", infer_schema=False)
    with contextlib.closing(sqlite3.connect(target)) as held:
        rows = held.execute("SELECT * FROM people").fetchall()
        names = [each[1] for each in held.execute("PRAGMA table_info(people)")]
    assert names == written.columns
    assert sorted(tuple(map(str, row)) for row in rows) == sorted(written.rows())
    downloads = {
        name: shop.client("GET", f"/p/{project.id}/release/0/{name}").content
        for name in ("release.zip", "report.html", "policy.toml", "publish.py")
    }
    with zipfile.ZipFile(io.BytesIO(downloads["release.zip"])) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {
        f"public/{each.relative_to(folder / 'public')}": each.read_bytes()
        for each in (folder / "public").rglob("*")
        if each.is_file()
    }
    assert downloads["report.html"] == (folder / "private" / "report.html").read_bytes()
    assert downloads["policy.toml"].decode() == project.text()
    assert str(project.policy_path) in downloads["publish.py"].decode()


def test_advice_on_beliefs_leads_to_the_pages_that_plan_randomized_releases(shop: Shop, policy: Path) -> None:
    """Models of what an attacker believes: those of groups are added by a click, the others are planned under More."""
    project = shop.opened(policy)
    answered = shop.client("GET", f"/p/{project.id}/v/{project.head}/guarantee?concern=belief")
    for name in ("TCloseness", "BetaLikeness", "DeltaDisclosure"):
        assert f'name="name" value="{name}"' in answered.text
    for name in ("randomized", "choose"):
        address = f"/p/{project.id}/v/{project.head}/more/{name}"
        assert f'href="{address}"' in answered.text
        assert shop.client("GET", address).status_code == 200
    shop.client.post(f"/p/{project.id}/definition", name="BetaLikeness")
    assert "BetaLikeness" in (project.folder / "policy.toml").read_text()
