"""The map in docs/explanations/architecture.md, held: arrows point one way, and importing Reticent is light."""

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
BASE = {"errors": set(), "registry": {"errors"}, "base": {"base", "errors", "registry"}}
# Packages whose sub-packages are rooms of their own, each with a door: a kind of release, a baseline.
SHELVES = {"methods", "baselines"}
# What each room may import: arrows point one way (docs/explanations/architecture.md).
SHAPES = {"table", "conditions", "io", "core"}
BELOW_RELEASE = SHAPES | {"engine", "worst_case", "definitions", "utility", "ledger"}
BELOW_REPORT = BELOW_RELEASE | {"release", "methods", "attacks", "belief", "knowledge", "propose"}
ROOMS = {
    "table": set(),
    "conditions": {"table"},
    "io": {"table"},
    "core": {"table", "conditions"},
    "engine": SHAPES,
    "worst_case": SHAPES,
    "definitions": SHAPES | {"worst_case"},
    "utility": SHAPES,
    "ledger": set(),
    "noise": {"ledger"},
    "release": BELOW_RELEASE,
    "methods": BELOW_RELEASE | {"release", "noise"},
    "attacks": BELOW_RELEASE | {"release", "methods"},
    "belief": BELOW_RELEASE | {"release", "methods"},
    "knowledge": BELOW_RELEASE | {"release", "methods"},
    "propose": BELOW_RELEASE | {"release"},
    "verifier": set(),
    "views": {"ledger"},
    "audit": {"table", "io", "conditions", "ledger", "noise"},
    "baselines": BELOW_RELEASE | {"release", "methods", "audit"},
    "reports": BELOW_REPORT,
    "policy": BELOW_REPORT | {"reports", "audit"},
    "checks": BELOW_RELEASE | {"release"},
    "postgres": BELOW_RELEASE | {"release"},
    "gates": BELOW_REPORT | {"reports", "policy"},
    "web": {"audit", "policy"},
}
# The faces, which may import every room.
FACES = {"__init__", "__main__", "cli", "demo", "mcp", "workbench"}
# Arrows that still point the wrong way, each to go: (module, room).
EXCEPTIONS: set[tuple[str, str]] = set()
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
    without = {"release"} if module.name == "method.py" else set()
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


def module_name(module: Path) -> str:
    return ".".join(["reticent", *module.with_suffix("").parts])


def door_of(name: str) -> str:
    """The package that others import from: ``reticent.core``, ``reticent.methods.lattice``."""
    parts = name.split(".")
    return ".".join(parts[: 3 if parts[1] in SHELVES else 2])


def is_past_the_door(name: str) -> bool:
    """Whether a name is that of a module inside a room; modules of ``base``, formats and figures are doors themselves."""
    inside = not SOURCE.joinpath(*name.split(".")[1:]).is_dir() and name != door_of(name)
    return inside and door_of(name) != "reticent.base" and not name.endswith(("format", "figure"))


def test_kinds_of_release_do_not_form_circles():
    """Kinds may use each other in one direction only."""
    needs = {door_of(module_name(module)): set() for module in MODULES if room_of(module) in SHELVES}
    for module in MODULES:
        if room_of(module) in SHELVES:
            here = door_of(module_name(module))
            needs[here] |= {door_of(name) for name in imports(module)} & set(needs) - {here}
    while free := [kind for kind, others in needs.items() if not others & set(needs)]:
        for kind in free:
            del needs[kind]
    assert not needs


def test_rooms_are_entered_through_their_door():
    """Imports across rooms name a room or a sub-room, not a module in it."""
    past = [
        (str(module), name)
        for module in MODULES
        for name in imports(module)
        if door_of(name) != door_of(module_name(module)) and is_past_the_door(name)
    ]
    assert past == [], "import from the room's __init__ instead"


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
    pages = [*top.glob("*.md"), *(top / "docs").glob("**/*.md"), *(top / "examples").rglob("*.py")]
    # Templates call what pages show.
    for page in [*pages, *(top / "benchmarks").glob("*.py"), *SOURCE.rglob("templates/**/*.html")]:
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
        "pyarrow",
    }


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None
import sqlite3, duckdb, pandas as pd, polars as pl, reticent as rt
rows = pl.DataFrame({"age": [31, 31, 42, 42], "sex": ["m", "m", "f", "f"], "ill": ["flu", "cold", "flu", "none"]})
rows.write_csv("rows.csv")
rows.write_parquet("rows.parquet")
with duckdb.connect("rows.duckdb") as there:
    there.execute("create table people as select * from read_csv('rows.csv')")
with sqlite3.connect("rows.sqlite") as there:
    there.execute("create table people (age int, sex text, ill text)")
    there.executemany("insert into people values (?, ?, ?)", rows.rows())
release = None
for source in ("rows.csv", "rows.parquet", "rows.duckdb", "rows.sqlite"):
    for engine in ("local", "streaming"):
        table = rt.read(source, engine=engine, quasi=["age", "sex"], sensitive="ill")
        for kind in ("csv", "parquet"):
            release = rt.publish(table, rt.KAnonymity(2), files=kind)
            folder = f"{source} {engine} {kind}"
            release.save(folder)
            assert rt.verify(folder + "/public").ok, folder
assert rt.Table(pd.DataFrame(rows.to_dict(as_series=False)), quasi=["age"]).frame.equals(rows)
assert rt.Table(duckdb.sql("select 1 as age"), quasi=["age"]).frame.height == 1
assert release.to_pandas().shape == (4, 3)
try:
    release.to_arrow()
except rt.ReticentError as error:
    assert "reticent[arrow]" in str(error)
"""


def test_the_core_reads_publishes_and_verifies_without_pyarrow(tmp_path: Path):
    subprocess.run([sys.executable, "-c", WITHOUT_ARROW], check=True, cwd=tmp_path)


def test_every_public_name_can_be_reached():
    import reticent

    for name in reticent.__all__:
        assert getattr(reticent, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = reticent.nothing


def test_a_name_that_is_loaded_on_first_use_has_a_module() -> None:
    missing = []
    for door in (path for path in MODULES if path.name == "__init__.py"):
        calls = [node for node in nodes(door) if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazy_names"]
        tables = {ast.unparse(call.args[1]) for call in calls}
        for node in nodes(door):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if any(ast.unparse(target) in tables for target in targets):
                homes = set(ast.literal_eval(node.value).values())
                folder = SOURCE / door.parent
                missing += [f"{door}: {home}" for home in homes if not list(folder.glob(f"{home.replace('.', '/')}*"))]
    assert missing == []


def test_type_checkers_see_the_names_that_are_loaded_on_first_use() -> None:
    """A package that lists a name at only one of the two places types it wrongly, or cannot load it."""
    wrong = []
    for door in (path for path in MODULES if path.name == "__init__.py"):
        text = (SOURCE / door).read_text(encoding="utf-8")
        if "lazy_names(__name__, _HOMES)" not in text:
            continue
        package = ".".join(("reticent", *door.parent.parts))
        body = ast.parse(text).body
        [homes] = [
            each.value for each in body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "_HOMES"
        ]
        typed = {
            name.asname or name.name: each.module.removeprefix(f"{package}.")
            for branch in body
            if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
            for each in branch.body
            if isinstance(each, ast.ImportFrom) and each.module is not None and each.module.startswith(f"{package}.")
            for name in each.names
        }
        wrong += [f"{door}: {name}" for name, _ in typed.items() ^ ast.literal_eval(homes).items()]
    assert wrong == []


# Files that every kind of release has, and the faces, whose files are called after commands, pages and servers.
SAME_EVERYWHERE = {
    "__init__",
    "method",
    "format",
    "figure",
    "details",
    "plan",
    "recoding",
    "shape",
    "counts",
    "_kernels",
}


def test_a_module_has_a_name_of_its_own() -> None:
    names = Counter(
        path.stem
        for path in MODULES
        if path.parts[0] not in FACES | {"web"} and path.stem not in SAME_EVERYWHERE and "workbench" not in path.parts
    )
    assert {name for name, times in names.items() if times > 1} == set()
