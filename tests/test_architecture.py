"""The map in docs/architecture.md, held: arrows point one way, and importing Reticent is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.sources import SOURCE, nodes

pytestmark = pytest.mark.xdist_group("house")

# Modules beside the rooms; every room may import them.
BASE = {
    "_names": {"errors"},
    "errors": set(),
    "exact": {"errors"},
    "extras": {"errors"},
    "randomness": {"errors"},
    "files": {"errors"},
    "cards": set(),
    "compiled": set(),
    "runs": set(),
    "charts": {"errors"},
    "giving": {"errors", "exact"},
    "documents": {"errors"},
    "parameters": {"_names", "errors"},
}
# What each room may import: arrows point one way (docs/architecture.md).
BELOW_RELEASE = {"data", "engine", "worst_case", "definitions", "utility", "ledger"}
METHODS = {"anonymize", "randomize", "synthesize", "republish"}
ABOVE_METHODS = {"attack", "belief", "knowledge"}
ROOMS = {
    "data": set(),
    "engine": {"data"},
    "worst_case": {"data"},
    "definitions": {"data", "worst_case"},
    "utility": {"data"},
    "ledger": {"data"},
    "release": BELOW_RELEASE,
    "anonymize": BELOW_RELEASE - {"ledger"},
    "randomize": BELOW_RELEASE | {"release"},
    "synthesize": BELOW_RELEASE | {"release"},
    "republish": BELOW_RELEASE | {"release"},
    "attack": BELOW_RELEASE | METHODS | {"release"},
    "belief": BELOW_RELEASE | METHODS | {"release"},
    "knowledge": BELOW_RELEASE | METHODS | {"release"},
    "views": {"data", "ledger"},
    "audit": {"data", "ledger", "noise"},
    "noise": BELOW_RELEASE | {"randomize", "release"},
    "grid": BELOW_RELEASE | {"noise", "release"},
    "propose": {"data", "definitions", "engine", "release"},
    "report": BELOW_RELEASE | METHODS | ABOVE_METHODS | {"release", "propose"},
    "policy": BELOW_RELEASE | METHODS | ABOVE_METHODS | {"audit", "propose", "release", "report"},
    "web": {"audit", "policy"},
}
# The faces, which may import every room.
FACES = {"__init__", "__main__", "cli", "demo"}
# Arrows that still point the wrong way, each to go: (module, room).
EXCEPTIONS: set[tuple[str, str]] = set()
# How many imports across rooms go past a room's (or sub-room's) __init__. It only falls; below 100 is the aim.
PAST_THE_DOOR = 70
# Class names that are used more than once; the list only gets shorter.
MODULES = sorted(path.relative_to(SOURCE) for path in SOURCE.rglob("*.py"))


@cache
def imports(module: Path) -> list[str]:
    """Every import of a module, also inside functions and for type checking."""
    found = []
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [name for name in found if name.startswith("reticent.")]


def imported_rooms(module: Path) -> set[str]:
    return {name.split(".")[1] for name in imports(module)}


def room_of(module: Path) -> str:
    return module.parts[0].removesuffix(".py")


def allowed(module: Path) -> set[str]:
    room = room_of(module)
    if room in BASE:
        return BASE[room]
    # A method returns a draft and knows nothing of releases, also in a room whose face publishes.
    without = {"release"} if module.name in ("method.py", "methods.py") else set()
    return ROOMS[room] - without | set(BASE) | {room}


def test_every_room_is_on_the_map():
    assert {room_of(module) for module in MODULES} == set(BASE) | set(ROOMS) | FACES


def test_nothing_but_reticent_is_below_every_room():
    assert all(needs <= set(BASE) | set(ROOMS) for needs in (*BASE.values(), *ROOMS.values()))


@pytest.mark.parametrize("module", [each for each in MODULES if room_of(each) not in FACES], ids=str)
def test_a_room_imports_only_what_the_map_allows(module):
    wrong = {room for room in imported_rooms(module) - allowed(module) if (str(module), room) not in EXCEPTIONS}
    assert not wrong


def test_the_exceptions_are_still_needed():
    stale = {
        (module, room)
        for module, room in EXCEPTIONS
        if room not in imported_rooms(Path(module)) - allowed(Path(module))
    }
    assert not stale, "delete these lines from EXCEPTIONS"


def test_rooms_are_entered_through_their_door():
    """Imports across rooms name a room or a sub-room, not a module in it; the count of those that do not may only fall."""
    past = [
        (str(module), name)
        for module in MODULES
        for name in imports(module)
        if name.split(".")[1] != room_of(module)
        and name.count(".") > 1
        and not SOURCE.joinpath(*name.split(".")[1:]).is_dir()
    ]
    assert len(past) <= PAST_THE_DOOR, "import from the room's __init__ instead"


def test_class_names_are_unique():
    """A reader who searches for a class finds one."""
    found = Counter(node.name for module in MODULES for node in nodes(module) if isinstance(node, ast.ClassDef))
    assert [name for name, times in found.items() if times > 1] == []


# Defined by a base class of another package, which calls them.
CALLED_FROM_OUTSIDE = {
    "_repr_html_",
    "connection_lost",
    "connection_made",
    "data_received",
    "guard",
    "readable",
    "tell",
    "writable",
    "_xml_number_element",
}


def test_nothing_in_src_is_called_by_tests_alone():
    """Every function, class and method is named again in src, or in the documentation, the examples or the benchmarks; doors do not count."""
    words = Counter()
    for module in MODULES:
        text = (SOURCE / module).read_text(encoding="utf-8")
        if module.name == "__init__.py":
            text = " ".join(node.attr for node in nodes(module) if isinstance(node, ast.Attribute))
        words.update(re.findall(r"\w+", text))
    top = SOURCE.parents[1]
    pages = [*top.glob("*.md"), *(top / "docs").glob("*.md"), *(top / "examples").rglob("*.py")]
    for page in [*pages, *(top / "benchmarks").glob("*.py")]:
        words.update(re.findall(r"\w+", page.read_text(encoding="utf-8")))
    alone = {
        f"{module}: {node.name}"
        for module in MODULES
        for node in nodes(module)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and words[node.name] == 1
        and not node.name.startswith("__")
        and not any("command" in ast.unparse(each) for each in node.decorator_list)
        and node.name not in CALLED_FROM_OUTSIDE
    }
    assert alone == set(), "delete it, move it to the tests, or document it"


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


def test_importing_reticent_loads_nothing_heavy():
    assert not loaded_by("import reticent") & {
        "polars",
        "numpy",
        "numba",
        "duckdb",
        "altair",
        "psycopg",
        "pandas",
        "pyspark",
    }


def test_publishing_needs_no_optional_package_and_no_compiler():
    statement = (
        "import polars as pl, reticent as rt; "
        "rt.publish(rt.Table(pl.DataFrame({'a': [1, 1, 2, 2], 's': ['x', 'y', 'x', 'y']}), quasi=['a'], sensitive='s'), rt.KAnonymity(2))"
    )
    assert not loaded_by(statement) & {
        "numba",
        "pandas",
        "psycopg",
        "altair",
        "vl_convert",
        "pyspark",
        "fastapi",
        "opendp",
    }


def test_every_public_name_can_be_reached():
    import reticent

    for name in reticent.__all__:
        assert getattr(reticent, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = reticent.nothing
