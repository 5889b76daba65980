"""A kind of release is one package: nobody outside names it, but for the places listed here, and the list only gets shorter."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import reticent as rt
from reticent.registry import FORMATS, RECODINGS
from reticent.reports import write_report
from tests.seams import jobs
from tests.seams.stripes import stripes_registered
from tests.seams.walk import full_walk
from tests.sources import SOURCE, nodes

SHARED = {"grouping", "noisy_columns", "typical"}
KINDS = sorted(path.name for path in (SOURCE / "methods").iterdir() if path.is_dir() and path.name not in SHARED)
BLIND = ("base", "table", "conditions", "io", "core", "engine", "definitions", "utility", "release", "ledger", "noise")
"""Rooms that know no kind at all."""
NAMED_OUTSIDE = {
    ("attacks", "lattice"),
    ("attacks", "series"),
    ("baselines", "lattice"),
    ("baselines", "series"),
    ("methods.anatomy", "lattice"),
    ("methods.anatomy", "mondrian"),
    ("methods.counts", "randomize"),
    ("methods.grid", "counts"),
    ("methods.panel", "mondrian"),
    ("methods.series", "anatomy"),
    ("reports", "lattice"),
    ("reports", "series"),
}


def packages() -> dict[Path, str]:
    """Every module with the package that it belongs to, but the faces, which may name everything."""
    modules = {path.relative_to(SOURCE): path.relative_to(SOURCE).parts for path in SOURCE.rglob("*.py")}
    faces = {"cli", "__init__.py", "__main__.py", "registry.py"}
    return {
        module: ".".join(parts[:2]) if parts[0] == "methods" else parts[0]
        for module, parts in modules.items()
        if parts[0] not in faces
    }


def imported_kinds(module: Path) -> set[str]:
    names = [node.module for node in nodes(module) if isinstance(node, ast.ImportFrom) and node.module]
    names += [alias.name for node in nodes(module) if isinstance(node, ast.Import) for alias in node.names]
    return {kind for kind in KINDS for name in names if f"{name}.".startswith(f"reticent.methods.{kind}.")}


def test_a_kind_is_imported_by_the_places_that_are_listed() -> None:
    found = {
        (package, kind)
        for module, package in packages().items()
        for kind in imported_kinds(module)
        if package != f"methods.{kind}"
    }
    assert found - NAMED_OUTSIDE == set(), "a kind of release is one package: go through the registry"
    assert NAMED_OUTSIDE - found == set(), "delete these lines from NAMED_OUTSIDE"


def test_what_is_below_kinds_names_no_format_and_no_recoding_of_a_kind() -> None:
    own = {name for name, home in {**FORMATS, **RECODINGS}.items() if home.module.startswith("reticent.methods.")}
    english = {"cells", "generalize", "records", "series", "typical", "view"}
    named = {
        (str(module), node.value)
        for module, package in packages().items()
        if package in BLIND
        for node in nodes(module)
        if isinstance(node, ast.Constant) and node.value in own - english
    }
    assert named == {("release/certificate.py", "bucketize")}  # which releases version 0.3 could hash


# A kind of one's own.


@pytest.fixture
def stripes() -> Iterator[None]:
    with stripes_registered():
        yield


@pytest.mark.usefixtures("stripes")
def test_a_kind_of_ones_own_goes_the_whole_way(tmp_path: Path) -> None:
    table, rows = jobs.people(), jobs.rows()
    truth = int((rows["age"] < 40).sum())
    walked = full_walk(
        table,
        rt.KAnonymity(5),
        "Stripes",
        tmp_path,
        condition="age < 40",
        truth=truth,
        other=jobs.people(jobs.rows(90)),
        people=rows,
    )
    assert walked.release.manifest.format == "stripes"
    assert 0 < walked.release.utility["loss"] < 1
    page = write_report(walked.folder, tmp_path / "report.html", table=table)
    assert "Stripes and how many people each has" in page.read_text("utf-8")
    later = rt.apply(
        walked.folder, pl.DataFrame({"age": [25, 90], "town": ["Aix", "Rom"], "illness": ["flu"] * 2}), "suppress"
    )
    assert later["age"].to_list() == [label for label in walked.release.frame["age"].unique() if _holds(label, 25)]
    assert later["town"].to_list() == ["*"]


@pytest.mark.usefixtures("stripes")
def test_a_kind_of_ones_own_is_the_same_from_rows_that_are_streamed() -> None:
    plain = rt.publish(jobs.people(dataset=None), rt.KAnonymity(5), "Stripes")
    table = jobs.people(jobs.rows().lazy(), engine="streaming", dataset=None)
    assert table.streamed
    found = rt.publish(table, rt.KAnonymity(5), "Stripes")
    assert found.frame.equals(plain.frame)
    assert dict(found.utility) == dict(plain.utility)


def _holds(label: str, value: int) -> bool:
    low, high = (int(each) for each in label.strip("[]").split(", "))
    return low <= value <= high


# What a commit that adds a kind touches.


@pytest.fixture(scope="module")
def kinds() -> ModuleType:
    """The script that looks at commits."""
    spec = importlib.util.spec_from_file_location("kinds", SOURCE.parents[1] / ".ci" / "kinds.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_commit_that_adds_a_format_touches_its_package(
    kinds: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*arguments: str) -> None:
        own = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *own, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(message: str, **files: str) -> None:
        for path, text in files.items():
            place = tmp_path / path.replace("__", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        git("add", "-A")
        git("commit", "-qm", message)

    def registry(*names: str) -> str:
        lines = "".join(f'    "{name}": Home("reticent.methods.{name}.format", "words"),\n' for name in names)
        return f"FORMATS: dict[str, Home] = {{\n{lines}}}\n"

    home = "src__reticent__registry.py"
    git("init", "-q", "-b", "main")
    commit("Begin", **{home: registry("one")})
    commit("Change what is there", **{home: registry("one"), "src__reticent__release__format.py": "1"})
    good = {"src__reticent__methods__two__format.py": "2", "tests__test_two.py": "2", "CHANGELOG.md": "2"}
    commit("Add two", **{home: registry("one", "two"), **good})
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert kinds.main("HEAD~2..HEAD") == 0
        commit("Add three", **{home: registry("one", "two", "three"), "src__reticent__release__format.py": "3"})
        assert kinds.main("HEAD~3..HEAD") == 1
        assert "adds a format and touches src/reticent/release/format.py" in capsys.readouterr().out
        reason = "Add four\n\nTouches: src/reticent/release/format.py, because words are shared"
        commit(reason, **{home: registry("one", "two", "three", "four"), "src__reticent__release__format.py": "4"})
        assert kinds.main("HEAD~1..HEAD") == 0


def test_the_formats_of_this_repository_are_read(kinds: ModuleType) -> None:
    read = kinds.formats_in((SOURCE / "registry.py").read_text(encoding="utf-8"))
    assert read == {name: home.module for name, home in FORMATS.items()}
