"""Skewness, Similarity and Minimality counted by code that shares nothing with ours: SQL over the published CSV files, and worlds tried one by one.

The judges read ``public/`` only (and the list of people for Minimality). They know the words of the attacks, not their code.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Minimality, Similarity, Skewness, attack
from tests.sampling import seeds, spread

CASES = 12
KINDS = {"stomach": ["ulcer", "gastritis"], "lung": ["flu", "asthma"]}
ILLS = ["ulcer", "gastritis", "flu", "asthma", "HIV"]


def saved(seed: int, column: str, folder: Path) -> Path:
    """A random table with one secret, released in a random way."""
    random = np.random.default_rng(seed)
    rows = int(random.integers(30, 120))
    zips = [f"{int(first)}{int(second)}" for first, second in random.integers(0, 3, (rows, 2))]
    # Values lean on the place, so that some groups are unlike the whole and others are all of a kind.
    ills = [ILLS[int(place[0]) * 2 % 5] if random.random() < 0.8 else str(random.choice(ILLS)) for place in zips]
    frame = pl.DataFrame(
        {
            "zip": zips,
            "sex": random.choice(["f", "m"], rows),
            "ill": ills,
            "pay": [100 * int(place[0]) + int(random.integers(0, 60)) for place in zips],
        }
    )
    quasi = {"zip": rt.Hierarchy.masking(2), "sex": rt.Hierarchy.suppression(["f", "m"])}
    table = rt.Table(frame, quasi=quasi, sensitive=column)
    methods = [
        rt.Lattice(suppression="0.1"),
        rt.Mondrian(values="sets"),
        rt.Lattice(format="bucketize", suppression="0.1"),
    ]
    choice = int(random.integers(0, 3))
    definition: Any = rt.DistinctLDiversity(2) if choice == 2 else rt.KAnonymity(3)
    if choice == 0 and random.random() < 0.5:
        definition = definition & rt.TCloseness("0.9")
    return rt.publish(table, definition, methods[choice], insecure_seed=seed).save(folder / f"release of {column}")


def rows_of(folder: Path, column: str) -> duckdb.DuckDBPyConnection:
    """A connection with a view ``shown``: the group and the value of every published row."""
    database = duckdb.connect()
    manifest = json.loads((folder / "public" / "manifest.json").read_text())
    single = (folder / "public" / "data.csv").exists()
    file = folder / "public" / ("data.csv" if single else "sensitive.csv")
    by = [each["name"] for each in manifest["columns"] if each["role"] == ("quasi" if single else "bucket")]
    key = " || '|' || ".join(f"coalesce(\"{name}\", '?')" for name in by)
    # A sensitive table may count its rows in a column of its own.
    counted = [each["name"] for each in manifest["columns"] if each["role"] == "count"]
    times = f'"{counted[0]}"::BIGINT' if counted else "1"
    database.execute(
        f"""CREATE VIEW shown AS SELECT {key} AS grp, "{column}" AS value, {times} AS times
            FROM read_csv('{file}', all_varchar=true, header=true)"""
    )
    return database


def whole_of(database: duckdb.DuckDBPyConnection, folder: Path, column: str) -> None:
    """A view ``everything``: how many rows of all that the public knows have each value."""
    said = json.loads((folder / "public" / "certificate.json").read_text()).get("reference") or {}
    declared = said.get(column)
    if declared is None or declared.get("of", "whole table") != "whole table":
        database.execute("CREATE VIEW everything AS SELECT value, sum(times) AS m FROM shown GROUP BY value")
        return
    database.execute("CREATE TABLE everything (value VARCHAR, m BIGINT)")
    pairs = list(zip(map(str, declared["values"]), declared["counts"], strict=True))
    database.executemany("INSERT INTO everything VALUES (?, ?)", pairs)


SKEWED = """
WITH cells AS (SELECT grp, value, sum(times) AS n FROM shown GROUP BY grp, value),
     sizes AS (SELECT grp, sum(times) AS size FROM shown GROUP BY grp),
     total AS (SELECT sum(m) AS rows FROM everything)
SELECT coalesce(sum(size), 0) FROM sizes WHERE grp IN (
    SELECT cells.grp FROM cells JOIN sizes USING (grp) JOIN everything USING (value) CROSS JOIN total WHERE {beyond})
"""


@pytest.mark.parametrize("seed", seeds(CASES))
def test_skewness_counts_what_sql_counts(seed: int, tmp_path: Path) -> None:
    for column in ("ill", "pay"):
        folder = saved(seed, column, tmp_path)
        database = rows_of(folder, column)
        whole_of(database, folder, column)
        for gain in ("1/4", "1/10", "3/5"):
            limit = Fraction(gain)
            beyond = f"(n * rows - m * size) * {limit.denominator} > {limit.numerator} * size * rows"
            (expected,) = database.execute(SKEWED.format(beyond=beyond)).fetchone() or (0,)
            assert attack(folder, Skewness(gain=gain, column=column))[0].hits == expected
        for times in (2, "7/2"):
            limit = Fraction(times)
            beyond = f"n * rows * {limit.denominator} > {limit.numerator} * m * size"
            (expected,) = database.execute(SKEWED.format(beyond=beyond)).fetchone() or (0,)
            assert attack(folder, Skewness(times=times, column=column))[0].hits == expected


@pytest.mark.parametrize("seed", seeds(CASES))
def test_similarity_of_categories_counts_what_sql_counts(seed: int, tmp_path: Path) -> None:
    folder = saved(seed, "ill", tmp_path)
    database = rows_of(folder, "ill")
    database.execute("CREATE TABLE kinds (value VARCHAR, kind VARCHAR)")
    database.executemany(
        "INSERT INTO kinds VALUES (?, ?)", [(ill, kind) for kind, ills in KINDS.items() for ill in ills]
    )
    for threshold in ("9/10", "3/5", "1"):
        limit = Fraction(threshold)
        (expected,) = database.execute(
            f"""
            WITH named AS (SELECT grp, coalesce(kind, value) AS kind, times FROM shown LEFT JOIN kinds USING (value)),
                 cells AS (SELECT grp, kind, sum(times) AS n FROM named GROUP BY grp, kind),
                 sizes AS (SELECT grp, sum(times) AS size FROM named GROUP BY grp),
                 whole AS (SELECT kind, sum(times) AS m FROM named GROUP BY kind),
                 total AS (SELECT sum(times) AS rows FROM named)
            SELECT coalesce(sum(size), 0) FROM sizes WHERE grp IN (
                SELECT grp FROM cells JOIN sizes USING (grp) JOIN whole USING (kind) CROSS JOIN total
                WHERE n * {limit.denominator} >= {limit.numerator} * size
                  AND NOT m * {limit.denominator} >= {limit.numerator} * rows)
            """
        ).fetchone() or (0,)
        found = attack(folder, Similarity(categories=KINDS, column="ill", threshold=threshold))[0]
        assert found.hits == expected


@pytest.mark.parametrize("seed", seeds(CASES))
def test_similarity_of_numbers_counts_what_sql_counts(seed: int, tmp_path: Path) -> None:
    """A group is affected when some range of the width holds the share of it, and not of all that was published."""
    folder = saved(seed, "pay", tmp_path)
    database = rows_of(folder, "pay")
    for width, threshold in spread([*product((0, 5, 25, 60, 200), ("9/10", "3/5", "1", "1/3"))], 7):
        limit = Fraction(threshold)
        (expected,) = database.execute(
            f"""
            WITH pays AS (SELECT grp, value::BIGINT AS pay, times FROM shown),
                 starts AS (SELECT DISTINCT grp, pay AS low FROM pays),
                 inside AS (SELECT starts.grp, low, sum(times) AS n FROM starts JOIN pays
                            ON pays.grp = starts.grp AND pay BETWEEN low AND low + {width} GROUP BY starts.grp, low),
                 sizes AS (SELECT grp, sum(times) AS size FROM pays GROUP BY grp),
                 whole AS (SELECT low, sum(times) AS m FROM (SELECT DISTINCT low FROM starts)
                           JOIN pays ON pay BETWEEN low AND low + {width} GROUP BY low),
                 total AS (SELECT sum(times) AS rows FROM pays)
            SELECT coalesce(sum(size), 0) FROM sizes WHERE grp IN (
                SELECT grp FROM inside JOIN sizes USING (grp) JOIN whole USING (low) CROSS JOIN total
                WHERE n * {limit.denominator} >= {limit.numerator} * size
                  AND NOT m * {limit.denominator} >= {limit.numerator} * rows)
            """
        ).fetchone() or (0,)
        found = attack(folder, Similarity(width=width, column="pay", threshold=threshold))[0]
        assert found.hits == expected, (width, threshold)


AREAS = {"0": "01", "1": "01", "2": "23", "3": "23"}
LADDERS = {"at": [lambda at: at, AREAS.get, lambda at: "*"], "sex": [lambda sex: sex, lambda sex: "*"]}


def chosen(people: list[tuple[str, str]], values: tuple[str, ...], most: Fraction) -> Any:
    """What the steward publishes of a world: at the cheapest levels, by the squares of group sizes, where no group has more HIV than allowed."""
    best: Any = None
    for levels in product(range(3), range(2)):
        labels = [(LADDERS["at"][levels[0]](at), LADDERS["sex"][levels[1]](sex)) for at, sex in people]
        sizes = Counter(labels)
        ill = Counter(label for label, value in zip(labels, values, strict=True) if value == "HIV")
        if all(Fraction(ill[label], size) <= most for label, size in sizes.items()):
            cost = (sum(size * size for size in sizes.values()), levels)
            if best is None or cost < best[0]:
                best = (cost, sorted(zip(labels, values, strict=True)))
    return None if best is None else best[1]


@pytest.mark.parametrize("seed", seeds(CASES))
def test_minimality_believes_what_trying_every_world_believes(seed: int, tmp_path: Path) -> None:
    random = np.random.default_rng(100 + seed)
    people = [
        (str(at), str(sex)) for at, sex in zip(random.integers(0, 4, 7), random.choice(["f", "m"], 7), strict=True)
    ]
    values = tuple("HIV" if random.random() < 0.35 else "flu" for _ in people)
    frame = pl.DataFrame({"at": [at for at, _ in people], "sex": [sex for _, sex in people], "ill": list(values)})
    quasi = {
        "at": rt.Hierarchy.taxonomy({"01": ["0", "1"], "23": ["2", "3"]}),
        "sex": rt.Hierarchy.suppression(["f", "m"]),
    }
    table = rt.Table(frame, quasi=quasi, sensitive={"ill": ["HIV", "flu"]})
    shown = chosen(people, values, Fraction(1, 2))
    if shown is None:
        pytest.skip("nothing can be published of these people")
    folder = rt.publish(table, rt.ConfidenceBounding("1/2", ["HIV"]), rt.Lattice(objective="discernibility")).save(
        tmp_path / "release"
    )
    data = pl.read_csv(folder / "public" / "data.csv", infer_schema=False)
    assert sorted(((at, sex), ill) for at, sex, ill in data.select("at", "sex", "ill").rows()) == shown
    worlds = [
        world for world in product(["HIV", "flu"], repeat=len(people)) if chosen(people, world, Fraction(1, 2)) == shown
    ]
    groups: dict[Any, Counter[str]] = {}
    for label, value in shown:
        groups.setdefault(label, Counter())[value] += 1
    hits, surest = 0, Fraction(0)
    for place, (at, sex) in enumerate(people):
        likely = max(Fraction(sum(world[place] == value for world in worlds), len(worlds)) for value in ("HIV", "flu"))
        (mine,) = [
            seen
            for label, seen in groups.items()
            if at in label[0] + ("0123" if label[0] == "*" else "") and label[1] in (sex, "*")
        ]
        hits += likely > Fraction(max(mine.values()), mine.total())
        surest = max(surest, likely)
    found = attack(folder, Minimality(table))[0]
    assert (found.hits, found.details["surest"], found.details["possible"]) == (hits, str(surest), len(worlds))
