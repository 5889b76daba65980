"""The Spark engine counts what the local one counts, on every kind of column, with people, weights and populations, and within what the driver may hold."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.engine import count_table, finest_floor
from reticent.errors import DataError, PolicyError
from reticent.table import Table
from tests.engine.making import QUASI, frame_of
from tests.engine.test_streaming import people_frame, same_counts
from tests.sampling import first

pytestmark = pytest.mark.xdist_group("spark")

ROLES = {
    "one column": {"quasi": ["age"], "sensitive": []},
    "all kinds": {"quasi": list(QUASI), "sensitive": ["illness"]},
    "two secrets": {"quasi": ["zip", "day"], "sensitive": ["illness", "stay"]},
    "numbers": {"quasi": ["weight", "city"], "sensitive": ["cost"]},
    "three secrets": {"quasi": ["city"], "sensitive": ["stay", "member", "cost"]},
}


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """Whole numbers as Spark has them."""
    return frame.with_columns(pl.col("stay").cast(pl.Int64))


def both(frame: pl.DataFrame, to_spark, **roles) -> tuple[Table, Table]:
    return Table(plain(frame), **roles), Table(to_spark(plain(frame)), **roles)


def role_set(chosen: str, nulls: str) -> dict:
    named = ROLES[chosen]
    return {
        "quasi": {name: QUASI[name] for name in named["quasi"]},
        "sensitive": named["sensitive"],
        "nulls": nulls,
    }


@pytest.mark.parametrize(
    ("chosen", "nulls"),
    first(
        [
            ("all kinds", "category"),
            ("two secrets", "refuse"),
            ("numbers", "drop"),
            ("one column", "refuse"),
            ("three secrets", "category"),
        ],
        3,
    ),
)
def test_both_engines_count_alike(chosen, nulls, to_spark):
    frame = frame_of(300, len(chosen), missing=0.0 if nulls == "refuse" else 0.1)
    local, there = both(frame, to_spark, **role_set(chosen, nulls))
    assert there.rows == local.rows
    floor = tuple(min(1, each.height) for each in local.hierarchies)
    for levels in (None, floor):
        same_counts(count_table(local, floor=levels), count_table(there, floor=levels))
        same_counts(
            count_table(local, floor=levels, sensitive=False), count_table(there, floor=levels, sensitive=False)
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_both_engines_count_alike_on_many_tables(seed, to_spark):
    chance = np.random.default_rng(seed)
    nulls = str(chance.choice(["refuse", "drop", "category"]))
    quasi = [name for name in QUASI if chance.random() < 0.5] or ["zip"]
    sensitive = [name for name in ("illness", "stay", "cost", "member") if chance.random() < 0.5 and name not in quasi]
    frame = frame_of(int(chance.integers(1, 400)), seed, missing=0.0 if nulls == "refuse" else 0.1)
    if nulls == "drop" and frame.fill_nan(None).drop_nulls().height == 0:
        return
    local, there = both(frame, to_spark, quasi={name: QUASI[name] for name in quasi}, sensitive=sensitive, nulls=nulls)
    floor = tuple(seed % (each.height + 1) for each in local.hierarchies)
    for levels in (None, floor):
        same_counts(count_table(local, floor=levels), count_table(there, floor=levels))


def test_people_weights_and_populations_are_counted_beside_the_rows(to_spark):
    frame = people_frame(600, 7).with_columns(share=pl.Series(np.tile([0.25, 1.5, 3.0], 200)))
    roles = {
        "quasi": {"age": QUASI["age"], "zip": QUASI["zip"]},
        "sensitive": "illness",
        "key": "person",
        "unit": "person",
        "weight": "share",
    }
    local, there = both(frame, to_spark, **roles)
    definition = rt.KMap(3, population=frame_of(900, 7))
    for one, other in ((local, there), (definition.prepare(local), definition.prepare(there))):
        for sensitive in (True, False):
            same_counts(count_table(one, sensitive=sensitive), count_table(other, sensitive=sensitive))
    assert rt.assess(local, rt.KAnonymity(2)).value == rt.assess(there, rt.KAnonymity(2)).value


def test_more_points_than_the_driver_may_hold_raise_the_floor(to_spark, monkeypatch):
    frame = frame_of(2000, 3, missing=0.03)
    roles = {
        "quasi": {name: QUASI[name] for name in ("age", "day", "weight")},
        "sensitive": "illness",
        "nulls": "category",
    }
    local = Table(plain(frame), **roles)
    monkeypatch.setenv("RETICENT_MEMORY", "400KB")
    there = Table(to_spark(plain(frame)), **roles)
    assert there.held.known.distinct is None
    with pytest.raises(PolicyError, match=r"about [\d,]+ distinct rows .* Lattice or Datafly, which start at coarser"):
        count_table(there)
    lowest = (0,) * 3
    floor = finest_floor(there, lowest)
    assert floor != lowest
    same_counts(count_table(local, floor=floor), count_table(there, floor=floor))
    with pytest.raises(PolicyError, match=r"about .* distinct rows"):
        rt.publish(there, rt.KAnonymity(2), rt.Mondrian(values="sets"))
    named = dict(zip(roles["quasi"], floor, strict=True))
    release = rt.publish(there, rt.KAnonymity(5), rt.Lattice(suppression="0.1"))
    assert release.private.search["floor"] == named
    same = rt.publish(local, rt.KAnonymity(5), rt.Lattice(suppression="0.1", floor=named))
    assert release.frame.equals(same.frame)


def test_what_is_wrong_with_the_rows_is_told_without_numbers_of_rows(to_spark):
    frame = frame_of(60, 4, missing=0.2)
    with pytest.raises(DataError, match=r"Column 'age' has \d+ missing values\. Use nulls='drop'"):
        Table(to_spark(frame), quasi=["age"])
    odd = frame_of(60, 4).with_columns(city=pl.lit("Atlantis"))
    with pytest.raises(DataError, match="Column 'city' has the value 'Atlantis', which its declared domain"):
        count_table(Table(to_spark(odd), quasi={"city": QUASI["city"]}))
    with pytest.raises(DataError, match="The table has no rows"):
        Table(to_spark(frame.clear()), quasi=["age"])
    with pytest.raises(DataError, match=r"There is no column 'agee'\. Did you mean 'age'"):
        Table(to_spark(frame), quasi=["agee"])


def test_people_who_break_the_rules_are_found_on_the_cluster(to_spark):
    frame = people_frame(300, 8)
    quasi = {"age": QUASI["age"]}
    with pytest.raises(DataError, match=r"The key 'person' has duplicates: 'p\d+' has several rows"):
        Table(to_spark(frame), quasi=quasi, key="person", unit="row")
    older = frame.with_columns(pl.when(pl.arange(pl.len()) == 17).then(99).otherwise(pl.col("age")).alias("age"))
    with pytest.raises(DataError, match=r"The rows of person 'p\d+' differ in their quasi columns"):
        Table(to_spark(older), quasi=quasi, key="person", unit="person")
    nobody = frame.with_columns(pl.when(pl.arange(pl.len()) != 299).then(pl.col("person")).alias("person"))
    with pytest.raises(DataError, match="The key column 'person' has missing values"):
        Table(to_spark(nobody), quasi=quasi, key="person", unit="person")


TYPES = """
select cast(id % 5 as tinyint) as small, cast(id % 7 as smallint) as short, id % 3 as whole, cast(id % 4 as float) / 10 as thin,
  if(id % 11 = 0, double('NaN'), if(id % 2 = 0, -0.0D, 0.5D)) as wide, cast(id % 3 as decimal(10, 2)) / 4 as exact,
  date_add(date'2024-02-27', cast(id % 4 as int)) as day, timestamp_ntz'2024-03-10 02:30:00' + make_dt_interval(0, id % 3) as local_moment,
  timestamp'2024-03-10 12:00:00' + make_dt_interval(0, id % 2) as moment, id % 2 = 0 as truth, concat('é.', id % 3) as `dotted.name`, concat('E.', id % 2) as `Dotted.Name`
from range(120)
"""


def test_every_type_of_spark_is_counted_and_published_as_arrow_has_it(session, tmp_path):
    frame = session.sql(TYPES)
    # Whole numbers are as wide as they are published.
    narrow = pl.DataFrame(pl.from_arrow(frame.toArrow()))
    there = narrow.with_columns(pl.col(pl.Int8, pl.Int16, pl.Int32).cast(pl.Int64))
    quasi = dict.fromkeys(["small", "thin", "wide", "exact", "day", "local_moment", "moment", "Dotted.Name"])
    roles = {
        "quasi": quasi,
        "sensitive": ["short", "dotted.name"],
        "declared": {"whole": "internal", "truth": "internal"},
        "nulls": "category",
    }
    local, spark = Table(there, **roles), Table(frame, **roles)
    same_counts(count_table(local), count_table(spark))
    one, two = (rt.publish(each, rt.KAnonymity(2), rt.Lattice(suppression="0.5")) for each in (local, spark))
    assert one.frame.equals(two.frame)
    with pytest.raises(DataError, match="cannot be compared or generalized"):
        Table(session.sql("select array(id) as nested, id from range(3)"), quasi=["nested"])


def test_a_table_on_spark_is_not_loaded_behind_anybodys_back(to_spark):
    table = Table(to_spark(frame_of(50, 6)), quasi={"age": QUASI["age"]}, sensitive="illness")
    with pytest.raises(PolicyError, match="the table is read by the engine 'spark'"):
        _ = table.frame
    with pytest.raises(PolicyError, match="have no order and no row numbers"):
        rt.assess(table, rt.KAnonymity(50)).failing_rows()
    with pytest.raises(PolicyError, match="A frame of pyspark is read by engine='spark', not by 'local'"):
        Table(to_spark(frame_of(50, 6)), quasi=["age"], engine="local")


def profiled(frame):
    """What the engine finds out about a frame of people and secrets."""
    from reticent.engine.spark.spark_counts import profile
    from reticent.engine.spark.spark_rows import SparkRows

    return profile(SparkRows.of(frame, frame.columns), frame.columns)


@pytest.mark.parametrize(("people", "sketches"), [(1, 0), (150_000, 1)], ids=["rows that repeat", "rows that do not"])
def test_rows_that_repeat_are_counted_without_a_sketch(people, sketches, session, monkeypatch):
    from reticent.engine.spark import spark_counts as counting

    asked, sketch = [], counting._sketch
    monkeypatch.setattr(counting, "_sketch", lambda *given: asked.append(given) or sketch(*given))
    frame = session.range(150_000).selectExpr(f"id % {people} as person", "'x' as secret")
    monkeypatch.setattr(counting, "most_rows", lambda _: 100_000)
    found = profiled(frame)
    assert (found.rows, len(found.values["person"])) == (150_000, people)
    assert len(asked) == sketches
    assert (found.distinct is None) == (people > 100_000)


def test_no_more_distinct_rows_come_to_the_driver_than_it_may_hold(session, monkeypatch):
    monkeypatch.setattr("reticent.engine.spark.spark_counts.most_rows", lambda _: 10)
    found = profiled(session.range(1_000).selectExpr("id % 20 as person", "'x' as secret"))
    assert (found.rows, sorted(found.values["person"])) == (1_000, list(range(20)))
    assert found.distinct is None
