"""Real tables, published from memory and from Spark: the same rows come out."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from tests.engine.spark.test_publishing import in_buckets

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
# The folder and the beginning of the hierarchies' names, the quasi columns (default: all) and the sensitive one.
TABLES = {
    "adult/adult.csv.gz": ("adult/adult", ADULT, "occupation"),
    "cps/cps.parquet": ("cps/cps", ["age_head", "age_spouse", "fips", "MARS", "XTOT", "nu18", "n21"], "agi_bin"),
    "ihis_synth/ihis_synth.parquet": ("ihis_atus_hierarchies/ihis", None, ()),
}
K, LATTICE = rt.KAnonymity(5), rt.Lattice(suppression="0.05")
JOBS = [
    ("adult/adult.csv.gz", K, LATTICE),
    ("adult/adult.csv.gz", K & rt.TCloseness("0.3"), LATTICE),
    ("adult/adult.csv.gz", K & rt.EntropyLDiversity(3), rt.Datafly(suppression="0.05")),
    ("adult/adult.csv.gz", K & rt.DistinctLDiversity(3), rt.Mondrian(values="sets")),
    ("adult/adult.csv.gz", rt.RecursiveLDiversity(3, 3), rt.Lattice(suppression="0.05", format="bucketize")),
    ("adult/adult.csv.gz", K, rt.Bang()),
    ("adult/adult.csv.gz", K, rt.RPlusTree()),
    ("cps/cps.parquet", K, LATTICE),
    ("cps/cps.parquet", K, rt.Mondrian(values="sets")),
    ("ihis_synth/ihis_synth.parquet", K, LATTICE),
    ("ihis_synth/ihis_synth.parquet", K, rt.Mondrian(values="sets")),
]


@pytest.mark.parametrize(
    ("name", "definition", "method"), JOBS, ids=[f"{Path(n).stem}-{d}-{type(m).__name__}" for n, d, m in JOBS]
)
def test_a_real_table_is_published_alike_from_memory_and_from_spark(
    name, definition, method, shared_data, to_spark, tmp_path
):
    beginning, quasi, sensitive = TABLES[name]
    path = shared_data / name
    frame = pl.read_csv(path, separator=";") if ".csv" in name else pl.read_parquet(path)
    roles = {
        "quasi": {
            each: rt.Hierarchy.from_csv(shared_data / f"{beginning}_hierarchy_{each}.csv")
            for each in quasi or frame.columns
        },
        "sensitive": sensitive,
    }
    local, there = (
        rt.publish(rt.Table(rows, **roles), definition, method, ledger=tmp_path / engine)
        for engine, rows in (("local", frame), ("spark", to_spark(frame)))
    )
    assert there.public.height == local.public.height
    if there.manifest.format == "bucketize":
        assert in_buckets(there) == in_buckets(local)
    else:
        for table, rows in local.tables.items():
            same = there.tables[table].equals(rows)
            assert same, table
    assert rt.verify(there.save(tmp_path / "release")).holds
