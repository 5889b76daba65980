"""Regions one inside the other, asked of a release alone: the figure of the specification, every cell of small grids, and plain SQL."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.methods.bang.nested_regions import NestedRegions, SteppedColumn
from reticent.release import open_public

FIGURE = {"A": "", "B": "01", "C": "0111", "D": "00", "E": "0010", "F": "0001", "G": "1000"}


def figure() -> NestedRegions:
    """The regions of Figure 3.6 over two columns of quarters, numbered in the order of the alphabet."""
    columns = []
    for axis, name in enumerate("xy"):
        bits = [text[axis::2] for text in FIGURE.values()]
        low = [int(own.ljust(2, "0") or "0", 2) / 4 for own in bits]
        high = [one + 0.5 ** len(own) for one, own in zip(low, bits, strict=True)]
        bounds = pl.DataFrame({"low": low, "high": high}).select(
            pl.when(pl.col("low") > 0).then("low"), pl.when(pl.col("high") < 1).then("high")
        )
        columns.append(SteppedColumn.of(name, rt.table.ValueType.REAL, bounds, ()))
    level = np.array([len(text) for text in FIGURE.values()])
    return NestedRegions(tuple(columns), level, pl.Series(range(7)), {})


def named(groups: list[int]) -> str:
    return "".join(list(FIGURE)[group] for group in groups)


def test_a_point_belongs_to_the_innermost_region():
    found = figure().at(x=0.3, y=0.1)
    assert named([found]) == "E"


def test_a_range_meets_the_blocks_of_the_figure_and_no_others():
    """A filter alone would give A too, and the greatest level alone would lose D."""
    assert named(figure().within("x >= 0 and x < 0.75 and y >= 0 and y < 0.25")) == "DEG"


def test_the_region_around_is_the_innermost_that_holds_it():
    around = figure().encloser
    assert [None if at < 0 else list(FIGURE)[at] for at in around.tolist()] == [None, "A", "B", "A", "D", "D", "A"]


def people(n: int = 120, seed: int = 4) -> pl.DataFrame:
    draw = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": np.where(draw.random(n) < 0.6, draw.integers(20, 40, n), draw.integers(20, 90, n)),
            "town": draw.choice(["Aix", "Apt", "Arles", "Nice"], n),
            "pay": np.round(draw.lognormal(10, 1, n), 2),
            "illness": draw.choice(["flu", "cold", "asthma"], n),
        }
    ).with_columns(pl.when(pl.col("age") % 7 > 0).then("pay"))


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, Path]:
    """Classes of several regions, with missing pay; the rows, and the folder of the release."""
    frame = people()
    table = rt.Table(frame, quasi=["age", "town", "pay"], sensitive="illness", nulls="category")
    release = rt.publish(
        table, rt.KAnonymity(12), method=rt.Bang(minimum=3), ledger=tmp_path_factory.mktemp("l") / "x.sqlite"
    )
    folder = release.save(tmp_path_factory.mktemp("bang") / "release")
    assert release.tables["regions"]["group"].n_unique() < release.tables["regions"].height
    assert rt.verify(folder).holds
    return frame, folder


def test_everybody_is_in_the_class_that_their_values_point_to(published):
    frame, folder = published
    side = open_public(folder)
    placed = rt.apply(folder, frame)
    for row, group in zip(frame.iter_rows(named=True), placed["group"], strict=True):
        assert side.reader.at(age=row["age"], town=row["town"], pay=row["pay"]) == group
    counted = placed.group_by("group").len().sort("group")["len"].to_list()
    assert counted == side.frame.group_by("group").len().sort("group")["len"].to_list()


CONDITIONS = [
    "age between 30 and 40",
    "town = 'Aix'",
    "town in ('Apt', 'Nice') and age < 33",
    "pay is null",
    "pay > 20000 and age >= 50",
    "age < 25 and town <> 'Aix' and pay <= 9000",
    "illness = 'flu' and age < 40",
    "age between 30 and 40 or town = 'Apt'",
    "age * 1000 < pay",
]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_bounds_hold_and_count_no_class_that_cannot_be_met(published, condition):
    frame, folder = published
    side = open_public(folder)
    truth = frame.sql(f"select count(*) from self where {condition}").item()
    low, high = side.count(condition).bounds
    assert low <= truth <= high
    assert side.count(condition, "intersect").value == high
    assert low - 1e-9 <= side.count(condition).value <= high + 1e-9


def steps_of(regions: NestedRegions) -> list[list[object]]:
    """Some value of each step of every column."""
    found = []
    for column in regions.columns:
        values: list[object] = []
        for meaning in column.steps:
            plain = meaning.as_json()
            if "interval" in plain:
                low, high = plain["interval"]
                values.append(low if low is not None else high - 1 if high is not None else 0)
            else:
                values.append(plain.get("value"))
        found.append(values)
    return found


@pytest.mark.parametrize("condition", CONDITIONS[:3] + CONDITIONS[5:6])
def test_a_range_answers_as_all_its_cells_do(published, condition):
    """Cells twice: by what regions leave of the range, and cell by cell as points. The steps are cut at the ends of the condition as well."""
    _, folder = published
    regions = open_public(folder).reader
    found = set()
    for values in product(*steps_of(regions)):
        cell = dict(zip([column.name for column in regions.columns], values, strict=True))
        may = all(
            column.met(part, None)[0][mine.index(cell[column.name])]
            for part in rt.conditions.Condition.parse(condition).conjuncts
            for column, mine in zip(regions.columns, steps_of(regions), strict=True)
            if column.name in part.scope
        )
        if may:
            found.add(regions.at(**cell))
    assert regions.within(condition) == sorted(found)


POINT = """
SELECT r."group" FROM regions r
LEFT JOIN places t ON t."quasi column" = 'town' AND t."quasi value" = ?
WHERE (r."age from" IS NULL OR r."age from" <= ?) AND (r."age below" IS NULL OR ? < r."age below")
  AND r."town from" <= t.place AND t.place < r."town below"
ORDER BY r.level DESC LIMIT 1
"""


def test_plain_sql_finds_the_class_of_a_point(tmp_path):
    frame = people().drop("pay")
    table = rt.Table(frame, quasi=["age", "town"], sensitive="illness")
    folder = rt.publish(table, rt.KAnonymity(8), method=rt.Bang(minimum=4), ledger=tmp_path / "l.sqlite").save(
        tmp_path / "r"
    )
    base = duckdb.connect()
    for name in ("regions", "places", "data"):
        base.execute(f"CREATE TABLE {name} AS SELECT * FROM read_csv('{folder / 'public' / name}.csv')")
    for row, group in zip(frame.rows(), rt.apply(folder, frame)["group"], strict=True):
        assert base.execute(POINT, [row[1], row[0], row[0]]).fetchone() == (group,)


def test_a_question_that_is_not_a_range_says_what_to_ask(published):
    _, folder = published
    regions = open_public(folder).reader
    with pytest.raises(PolicyError, match="joined by 'and'"):
        regions.within("age < 30 or town = 'Aix'")
    with pytest.raises(PolicyError, match="'town' is missing"):
        regions.at(age=3)
    with pytest.raises(DataError, match="no quasi column 'ages'"):
        regions.within("ages < 3")
    assert regions.at(age=3, town="Paris", pay=1.0) is None


@given(
    n=st.integers(6, 60),
    k=st.integers(2, 9),
    seed=st.integers(0, 99),
    low=st.integers(15, 95),
    width=st.integers(0, 40),
)
@settings(max_examples=15)
def test_counts_lie_within_their_bounds(n, k, seed, low, width, tmp_path_factory):
    frame = people(n, seed).drop("pay")
    table = rt.Table(frame, quasi=["age", "town"], sensitive="illness")
    draft = rt.publish(
        table, rt.KAnonymity(min(k, n)), method=rt.Bang(minimum=2), ledger=tmp_path_factory.mktemp("l") / "x.sqlite"
    )
    condition = f"age between {low} and {low + width} and illness = 'flu'"
    truth = frame.sql(f"select count(*) from self where {condition}").item()
    found = draft.count(condition)
    assert found.bounds[0] <= truth <= found.bounds[1]
