"""Names are listed once, and a package of one's own can add to them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import reticent as rt
from reticent.errors import PolicyError
from reticent.registry import DEFINITIONS, ENGINES, FORMATS, METHODS, load
from reticent.release import method_from

EVERY_NAME = [
    (kind, name)
    for kind, names in (("definition", DEFINITIONS), ("method", METHODS), ("format", FORMATS), ("engine", ENGINES))
    for name in names
]


@pytest.fixture
def own(monkeypatch):
    """A module of somebody else's with a method in it; what is registered is forgotten afterwards."""
    module = ModuleType("somebody_elses")
    module.Shuffle = type("Shuffle", (), {})
    monkeypatch.setitem(sys.modules, module.__name__, module)
    yield module.__name__
    METHODS.pop("Shuffle", None)


@pytest.mark.parametrize(("kind", "name"), EVERY_NAME)
def test_every_name_can_be_loaded(kind, name):
    assert load(kind, name) is not None


@pytest.mark.parametrize("name", [*DEFINITIONS, *METHODS])
def test_every_definition_and_method_is_public(name):
    assert getattr(rt, name) is load("definition" if name in DEFINITIONS else "method", name)


def test_every_definition_says_what_it_is_for():
    assert all(home.help for home in DEFINITIONS.values())


def test_the_page_on_releases_lists_every_format_with_its_tables():
    page = (Path(__file__).resolve().parents[1] / "docs" / "how-to" / "releases.md").read_text("utf-8")
    listed = {
        name: re.findall(r"`([^`]+)`", tables)
        for name, tables in re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", page, re.M)
    }
    assert listed == {name: list(load("format", name).tables) for name in FORMATS}


def test_a_registered_method_is_found_by_its_name(own):
    rt.register("method", "Shuffle", own)
    rt.register("method", "Shuffle", own)
    assert type(method_from("Shuffle", {})).__name__ == "Shuffle"


def test_a_name_that_is_taken_is_refused():
    with pytest.raises(PolicyError, match=r"There is a method 'Lattice' already, in reticent.methods.lattice"):
        rt.register("method", "Lattice", "somewhere.else")


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(PolicyError, match=r"There is no method 'Latice'. Did you mean 'Lattice'"):
        load("method", "Latice")
