"""Releases of regions against forgers, and against every row: what verify finds in files that were changed, counts of random tables, and plain SQL for every point."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.methods.bang.nested_regions import NestedRegions, SteppedColumn
from reticent.release import open_public
from tests.release.test_verification import copy, forge, forged
from tests.sampling import seeds

TOWNS = ["Aix", "Apt", "Arles", "Nice"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fifteen classes of twenty regions."""
    draw, n = np.random.default_rng(1), 200
    frame = pl.DataFrame(
        {
            "age": np.where(draw.random(n) < 0.6, draw.integers(20, 40, n), draw.integers(20, 90, n)),
            "town": draw.choice(TOWNS, n),
            "s": draw.choice(["a", "b", "c"], n),
        }
    )
    folder = tmp_path_factory.mktemp("regions")
    release = rt.publish(
        rt.Table(frame, quasi=["age", "town"], sensitive="s"),
        rt.KAnonymity(8),
        method=rt.Bang(minimum=4),
        ledger=folder / "l.sqlite",
    )
    return release.save(folder / "release")


def changed(saved: Path, place: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> str:
    """What verify says of a release one table of which was changed, with everything else made to fit."""
    copy(saved, place)
    before = open_public(place).rows[table].frame()
    after = change(before)
    assert not after.equals(before)
    text = after.sort(after.columns).write_csv()
    assert text is not None
    found = rt.verify(forge(place, lambda certificate: None, {f"{table}.csv": text.encode()}))
    return "" if found.holds else found.failures[0].detail


def where(condition: pl.Expr, **values: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Other values in the rows that meet a condition."""
    return lambda frame: frame.with_columns(
        pl.when(condition).then(pl.lit(value)).otherwise(name).alias(name) for name, value in values.items()
    )


def reach(label: str, low: int | None, high: int | None) -> dict[str, Any]:
    return {"age": label, "age from": low, "age below": high}


def test_a_table_that_nobody_changed_holds(saved):
    assert rt.verify(saved).holds


@pytest.mark.parametrize(
    ("change", "said"),
    [
        # < 24 in Aix lies in < 48 in {Aix, Apt}, which has level 3.
        (where(pl.col("level") == 6, level=1), "overlap"),
        (where(pl.col("level") == 6, level=3), "overlap"),
        # [32, 48) in Aix becomes [28, 48), and takes [28, 32) in with it, which is of the same class.
        (
            where((pl.col("age") == "[32, 48)") & (pl.col("town") == "Aix"), **reach("[28, 48)", 28, 48)),
            "directly inside another one of its own class",
        ),
        # The region around everything above 80 becomes narrower, so that nobody has what is left.
        (where(pl.col("age") == ">= 80", **reach("[80, 112)", 80, 112)), "does not occur"),
        (where((pl.col("age") == "< 48") & (pl.col("level") == 3), level=2), "levels"),
        (where(pl.col("group") == 15, level=10**12), "which is impossible"),
        (where(pl.col("group") == 15, level=3), "levels"),
        (lambda frame: frame.filter(pl.col("group") != 15), "classes of the table 'regions' are not those"),
        (lambda frame: frame.filter((pl.col("group") != 1) | (pl.col("level") == 1)), "does not occur"),
        (where(pl.col("group") == 14, group=15), "classes of the table 'regions' are not those"),
        (
            lambda frame: frame.with_columns(pl.col("group").replace({9: 10, 10: 9})),
            "do not show in column 'age' between which labels its regions lie",
        ),
        (where(pl.col("age") == "22", **{"age from": 21}), "do not say what its labels say"),
    ],
)
def test_regions_that_do_not_fit_together_are_found(saved, tmp_path, change, said):
    assert said in changed(saved, tmp_path / "forged", "regions", change)


def chosen(regions: NestedRegions, kept: np.ndarray) -> NestedRegions:
    """Some of the regions of a release, which no file would show since its labels and classes give it away."""
    places = np.flatnonzero(kept)
    columns = tuple(
        SteppedColumn(each.name, each.steps, each.lows[places], each.highs[places]) for each in regions.columns
    )
    return NestedRegions(columns, regions.level[places], regions.group.gather(places), regions.rows)


def test_a_gap_between_regions_is_found(saved):
    regions = open_public(saved).reader
    outer = regions.encloser < 0
    assert outer.sum() == 2
    for place in range(len(outer)):
        fewer = chosen(regions, np.arange(len(outer)) != place)
        if outer[place]:
            with pytest.raises(rt.DataError, match="some points are in no region"):
                fewer.check()
        elif not (regions.group == regions.group[place]).sum() > 1:
            # What lies inside then belongs to the region around, which may be of any class but its own.
            inside = fewer.encloser
            own = fewer.group.to_numpy()
            if (own[inside] != own)[inside >= 0].all():
                fewer.check()


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("data", where(pl.col("group") == 10, age="[28, 32)"), "between which labels its regions lie"),
        ("data", where(pl.col("group") == 10, group=9), "show different labels"),
        ("places", lambda frame: frame.with_columns(place=3 - pl.col("place")), "do not say what its labels say"),
        ("places", lambda frame: frame.head(3), "do not follow each other"),
    ],
)
def test_rows_and_places_that_do_not_fit_the_regions_are_found(saved, tmp_path, table, change, said):
    assert said in changed(saved, tmp_path / "forged", table, change)


def test_details_that_promise_larger_classes_than_there_are_are_found(saved, tmp_path):
    folder = copy(saved, tmp_path / "forged")
    found = forged(folder, "manifest.json", lambda manifest: manifest["details"].update(k=10**9))
    assert "greater than the smallest class" in found.failures[0].detail


# Random tables with missing values, dates, moments and awkward texts.

KINDS: dict[str, tuple[Any, Callable[[np.random.Generator, int], list[Any]]]] = {
    "whole": (pl.Int64, lambda draw, n: draw.integers(-5, 60, n).tolist()),
    "real": (pl.Float64, lambda draw, n: draw.lognormal(3, 1.5, n).round(2).tolist()),
    "day": (pl.Date, lambda draw, n: [datetime.date(2000, 1, 1) + datetime.timedelta(int(i)) for i in draw.integers(0, 900, n)]),
    "moment": (pl.Datetime("us"), lambda draw, n: [datetime.datetime(2000, 1, 1) + datetime.timedelta(seconds=int(i)) for i in draw.integers(0, 10**6, n)]),
    "town": (pl.String, lambda draw, n: draw.choice(["Aix", "Apt", "Ärles, 'x'", "Nice", "*", "", "日本"], n).tolist()),
    "yes": (pl.Boolean, lambda draw, n: (draw.random(n) < 0.4).tolist()),
}  # fmt: skip


def rows(seed: int) -> tuple[pl.DataFrame, np.random.Generator]:
    """A random table of one to three quasi columns, most of them with missing values, and a sensitive one."""
    draw = np.random.default_rng(seed)
    n, columns = int(draw.integers(12, 90)), {}
    for kind in draw.choice(list(KINDS), int(draw.integers(1, 4)), replace=False).tolist():
        dtype, make = KINDS[kind]
        gone = draw.random(n) < draw.choice([0, 0.2, 0.6])
        values = [None if each else value for each, value in zip(gone, make(draw, n), strict=True)]
        columns[kind] = pl.Series(values, dtype=dtype)
    return pl.DataFrame({**columns, "s": draw.choice(["a", "b", "c"], n)}), draw


def released(frame: pl.DataFrame, draw: np.random.Generator, folder: Path) -> Path:
    k = int(draw.integers(2, 9))
    lines = [name for name in frame.columns if name in ("whole", "real", "day", "moment")]
    method = rt.Bang(
        minimum=int(draw.integers(1, k + 1)),
        order=str(draw.choice(["balanced", "gridclus", "closest"])),  # type: ignore[arg-type]
        scales={name: str(draw.choice(["equal", "quantile"])) for name in lines},
    )
    table = rt.Table(frame, quasi=[name for name in frame.columns if name != "s"], sensitive="s", nulls="category")
    return rt.publish(table, rt.KAnonymity(k), method=method, ledger=folder / "l.sqlite").save(folder / "r")


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def condition(draw: random.Random, frame: pl.DataFrame, depth: int) -> str:
    """A random condition, with values of the table."""
    if depth and draw.random() < 0.7:
        one = condition(draw, frame, depth - 1)
        if draw.random() < 0.25:
            return f"not ({one})"
        return f"({one} {draw.choice(['and', 'or'])} {condition(draw, frame, depth - 1)})"
    name = draw.choice(frame.columns)
    values = frame[name].drop_nulls().to_list()
    if not values or draw.random() < 0.12:
        return f"{name} is {draw.choice(['', 'not '])}null"
    one, other = draw.choice(values), draw.choice(values)
    asked = [f"{name} = {written(one)}", f"{name} <> {written(one)}"]
    if not isinstance(one, bool):
        asked += [f"{name} {sign} {written(one)}" for sign in ("<", ">=")]
        asked += [f"{name} {word} ({written(one)}, {written(other)})" for word in ("in", "not in")]
    if isinstance(one, str):
        asked.append(f"{name} like 'A%'")
    elif not isinstance(one, bool):
        low, high = sorted((one, other))
        asked += [f"{name} {word} {written(low)} and {written(high)}" for word in ("between", "not between")]
    return draw.choice(asked)


@pytest.mark.parametrize("seed", seeds(12))
def test_counts_of_any_condition_hold_the_truth_and_their_estimate(seed, tmp_path):
    frame, draw = rows(seed)
    side, asked = open_public(released(frame, draw, tmp_path)), random.Random(seed)
    base = duckdb.connect()
    base.register("people", frame.to_arrow())
    for _ in range(15):
        text = condition(asked, frame, asked.choice([0, 1, 2, 3]))
        (truth,) = base.execute(f"SELECT count(*) FROM people WHERE {text}").fetchone() or (0,)
        found = side.count(text)
        low, high = found.bounds
        assert low <= truth <= high, text
        assert low - 1e-9 <= found.value <= high + 1e-9, text
        assert side.count(text, "intersect").value >= truth, text


def held(name: str, dtype: Any, missing: bool) -> str:
    """The line of SQL of docs/how-to/bang.md that asks whether a region holds a value of a column."""
    if dtype in (pl.String, pl.Boolean):
        place = (
            f"""(SELECT place FROM places WHERE "quasi column" = '{name}' AND "quasi value" IS NOT DISTINCT FROM ?)"""
        )
        return f'r."{name} from" <= {place} AND {place} < r."{name} below"'
    kind = {pl.Int64: "BIGINT", pl.Float64: "DOUBLE", pl.Date: "DATE"}.get(dtype, "TIMESTAMP")
    low, high = (f'CAST(r."{name} {end}" AS {kind})' for end in ("from", "below"))
    inside = f"({low} IS NULL OR {low} <= ?) AND ({high} IS NULL OR ? < {high})"
    if not missing:
        return inside
    return f"""CASE WHEN ? IS NULL THEN r."{name} missing" <> 'no' ELSE r."{name} missing" <> 'only' AND {inside} END"""


@pytest.mark.parametrize("seed", seeds(12))
def test_plain_sql_and_the_reader_find_the_same_class_for_every_combination_of_values(seed, tmp_path):
    frame, draw = rows(seed)
    folder = released(frame, draw, tmp_path)
    quasi = [name for name in frame.columns if name != "s"]
    side, base = open_public(folder), duckdb.connect()
    for name in ("places", "regions"):
        # Texts in quotation marks are texts; an empty one is no missing value.
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / 'public' / name}.csv', allow_quoted_nulls = false)")  # fmt: skip
    told = {row[0] for row in base.execute("SELECT column_name FROM (DESCRIBE regions)").fetchall()}
    lines = [held(name, frame.schema[name], f"{name} missing" in told) for name in quasi]
    query = f'SELECT r."group" FROM regions r WHERE {" AND ".join(lines)} ORDER BY r.level DESC LIMIT 1'
    placed = dict(zip(frame.select(quasi).rows(), rt.apply(folder, frame)["group"], strict=True))
    every = list(product(*(frame[name].unique().to_list() for name in quasi)))
    for point in {*placed, *draw_some(every, draw)}:
        values = []
        for value, line in zip(point, lines, strict=True):
            values += [str(value).lower() if isinstance(value, bool) else value] * line.count("?")
        found = side.reader.at(**dict(zip(quasi, point, strict=True)))
        assert base.execute(query, values).fetchone() == (found,), point
        assert found == placed.get(point, found)


def draw_some(points: list[tuple[Any, ...]], draw: np.random.Generator) -> list[tuple[Any, ...]]:
    return [points[at] for at in draw.integers(0, len(points), 40)]
