"""What Spark reads: files, folders, tables of a catalogue, queries and databases; by Python, by a policy and by the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.policy import Policy
from tests.seams.walk import command

pytestmark = pytest.mark.xdist_group("spark")
ROLES = {"quasi": {"age": rt.Hierarchy.intervals([10, 20], domain=(0, 99)), "zip": None}, "sensitive": "illness"}


def rows(many: int = 40) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "age": [20 + (7 * i) % 40 for i in range(many)],
            "zip": [f"0{i % 3}" for i in range(many)],
            "illness": [("flu", "cold", "")[i % 3] for i in range(many)],
            "born": [("1990-01-31", "2001-12-01")[i % 2] for i in range(many)],
            "paid": [("1.5", "NA", "2")[i % 3] for i in range(many)],
            "odd.name `x`": ["true", "FALSE"] * (many // 2),
        }
    )


def parted(frame: pl.DataFrame, folder: Path, kind: str) -> Path:
    folder.mkdir()
    for number in range(2):
        part = frame[number::2]
        part.write_parquet(folder / f"{number}.parquet") if kind == "parquet" else part.write_csv(
            folder / f"{number}.csv"
        )
    return folder


def test_folders_and_patterns_are_read_as_files_are(session, tmp_path):
    frame = rows().drop("born", "paid", "odd.name `x`")
    folder = parted(frame, tmp_path / "rows", "parquet")
    expected = rt.assess(rt.Table(frame, **ROLES), rt.KAnonymity(2)).value
    for place in (folder, f"{folder}/*.parquet"):
        table = rt.read(place, engine="spark", spark=session, **ROLES)
        assert table.held.engine == "spark"
        assert rt.assess(table, rt.KAnonymity(2)).value == expected
    session.read.parquet(str(folder)).write.orc(str(tmp_path / "rows.orc"))
    assert rt.read(tmp_path / "rows.orc", engine="spark", **ROLES).rows == 40


def test_text_is_typed_as_the_other_engines_type_it(session, tmp_path):
    folder = parted(rows(), tmp_path / "text", "csv")
    rows().write_csv(tmp_path / "one.csv")
    names = rows().columns
    there = rt.read(folder, engine="spark", quasi=names, nulls="category")
    here = rt.read(tmp_path / "one.csv", quasi=names, nulls="category")
    assert dict(there.schema) == {
        **dict(here.schema),
        **{name: pl.String() for name in names if isinstance(here.schema[name], pl.Categorical)},
    }
    said = rt.read(folder, engine="spark", quasi=["age", "paid"], types={"age": "text"}, nulls="category")
    assert said.schema["age"] == pl.String
    assert said.schema["paid"] == pl.Float64
    assert (said.rows, there.values("illness").null_count(), "" in there.values("illness").to_list()) == (40, 0, True)
    gone = rt.read(folder, engine="spark", quasi=["zip"], null_values=["00"], nulls="drop")
    assert gone.rows == 26


def test_tables_queries_and_databases_are_read(session, tmp_path):
    session.createDataFrame(rows().to_arrow()).createOrReplaceTempView("wards")
    assert rt.read("wards", engine="spark", **ROLES).rows == 40
    young = rt.read("wards", engine="spark", query="select * from wards where age < 30", **ROLES)
    assert 0 < young.rows < 40
    address = f"jdbc:derby:{tmp_path / 'db'};create=true"
    session.createDataFrame(rows().select("age", "zip", "illness").to_arrow()).write.jdbc(address, "wards")
    roles = {"quasi": ["AGE", "ZIP"], "sensitive": "ILLNESS"}
    found = rt.read(
        address, engine="spark", table='(select "age" as AGE, "zip" as ZIP, "illness" as ILLNESS from wards) t', **roles
    )
    assert found.rows == 40


def test_what_cannot_be_read_is_told_in_a_sentence(session, tmp_path):
    with pytest.raises(DataError, match="There is no file and no table 'wardz'"):
        rt.read("wardz", engine="spark", **ROLES)
    with pytest.raises(DataError, match="there is no such file"):
        rt.read(tmp_path / "none.parquet", engine="spark", **ROLES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the folder has no files that Spark reads"):
        rt.read(tmp_path / "empty", engine="spark", **ROLES)
    (tmp_path / "bad.parquet").write_bytes(b"not a table")
    with pytest.raises(DataError, match=r"Spark could not .*: .*\.") as told:
        rt.read(tmp_path / "bad.parquet", engine="spark", **ROLES)
    assert "\n" not in str(told.value)
    assert "Traceback" not in str(told.value)
    with pytest.raises(PolicyError, match="spark must be a Spark session"):
        rt.read(tmp_path, engine="spark", spark="local", **ROLES)
    with pytest.raises(PolicyError, match="master and conf, but 'mester'"):
        rt.read(tmp_path, engine="spark", spark={"mester": "local"}, **ROLES)
    session.createDataFrame(rows().to_arrow()).createOrReplaceTempView("wards")
    with pytest.raises(DataError, match="has no column 'ages'"):
        rt.read("wards", engine="spark", quasi=["ages"])


def test_the_example_of_the_page_runs(session, tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "how-to" / "large-tables.md"
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile(block, str(page), "exec"), {})


POLICY = """
[data]
source = "rows"
engine = "spark"
[spark]
master = "local[2]"
conf = { "spark.sql.shuffle.partitions" = 2 }
[roles]
quasi = ["age", "zip"]
sensitive = ["illness"]
[hierarchies.age]
kind = "intervals"
widths = [10, 20]
domain = [0, 99]
[definition]
name = "KAnonymity"
k = 3
"""


def test_a_policy_and_the_command_line_use_spark(session, tmp_path, monkeypatch):
    parted(rows(), tmp_path / "rows", "parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    assert Policy.read("policy.toml").table().held.engine == "spark"
    told = command("publish", "policy.toml", "-o", "out")
    assert told["rows"] == 40
    (tmp_path / "other.toml").write_text(POLICY.replace('engine = "spark"\n', ""))
    assert command("publish", "other.toml", "-o", "out2", "--engine", "spark")["rows"] == 40
    one, two = (Path(name, "public", "data.csv").read_bytes() for name in ("out", "out2"))
    assert one == two
    assert command("verify", "out")["ok"]
    assert json.loads(Path("out/public/manifest.json").read_text())["tables"]["data"]["files"] == ["data.csv"]
    with pytest.raises(PolicyError, match="conf"):
        Policy.parse(POLICY.replace("conf =", "konf ="))
