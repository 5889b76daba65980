"""Releases of Spark tables: the same as those of other engines, in one file or many, which anybody verifies without Spark."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.errors import Cancelled, PolicyError
from reticent.registry import METHODS
from reticent.release import open_public
from reticent.table import StoredRows
from tests.engine.making import QUASI, frame_of
from tests.engine.spark.test_counting import plain
from tests.sampling import first
from tests.seams.jobs import JOBS, people, rows
from tests.seams.stripes import stripes_registered

pytestmark = pytest.mark.xdist_group("spark")
NAMES = ("age", "city", "weight", "day")
DEFINITION = rt.KAnonymity(3) & rt.DistinctLDiversity(2, column="illness")


def roles(**more):
    return {"quasi": {name: QUASI[name] for name in NAMES}, "sensitive": ["illness", "stay"], **more}


@pytest.fixture(params=["local", "streaming", "spark"])
def engine(request):
    """Every engine."""
    return request.param


def table_of(engine: str, frame: pl.DataFrame, request, **more) -> rt.Table:
    if engine == "spark":
        return rt.Table(request.getfixturevalue("to_spark")(frame), **roles(**more))
    return rt.Table(frame.lazy(), **roles(**more), engine=engine)


EXPECTED = {}


def test_every_engine_finds_the_same_and_publishes_the_same(engine, request):
    frame = plain(frame_of(400, 12, missing=0.02))
    table = table_of(engine, frame, request, nulls="category", quasi_sets=[["age", "city"], ["weight", "day"]])
    found = rt.search(table, DEFINITION, suppression="0.2")
    release = rt.publish(table, DEFINITION, rt.Lattice(suppression="0.2", objective="discernibility"))
    told = {
        "node": found.best,
        "rows": hashlib.sha256(release.frame.write_csv().encode()).hexdigest(),
        "groups": sorted(release.groups.sizes.tolist()),
        "utility": dict(release.utility),
    }
    assert EXPECTED.setdefault("told", told) == told


@pytest.mark.parametrize(
    ("method", "files", "more"),
    [
        (rt.Lattice(suppression="0.2"), "csv", {"declared": {"cost": "internal", "note": "internal"}, "key": "id"}),
        (rt.Mondrian(values="sets"), "parquet", {}),
        pytest.param(rt.Datafly(suppression="0.3"), "csv", {"identifiers": ["id"]}, marks=pytest.mark.slow),
    ],
    ids=["Lattice", "Mondrian", "Datafly"],
)
def test_a_release_is_the_same_from_memory_and_from_spark(method, files, more, to_spark, tmp_path):
    frame = plain(frame_of(400, 12, missing=0.02)).with_row_index("id").with_columns(pl.col("id").cast(pl.Int64))
    local = rt.publish(rt.Table(frame, **roles(nulls="drop", **more)), DEFINITION, method, files=files)
    there = rt.publish(rt.Table(to_spark(frame), **roles(nulls="drop", **more)), DEFINITION, method, files=files)
    assert there.frame.equals(local.frame)
    one, two = local.save(tmp_path / "one"), there.save(tmp_path / "two")
    for name in ("manifest.json", "STATEMENT.txt", *(["data.csv"] if files == "csv" else [])):
        assert (one / "public" / name).read_bytes() == (two / "public" / name).read_bytes()
    for name in ("utility.json", "search.json"):
        assert (one / "private" / name).read_bytes() == (two / "private" / name).read_bytes()
    assert rt.verify(two).holds
    if more:
        people = [pl.read_parquet(each / "private" / "people.parquet").sort("id") for each in (one, two)]
        assert people[0].cast(pl.String).equals(people[1].cast(pl.String))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_releases_are_the_same_on_many_tables(seed, to_spark, tmp_path):
    frame = plain(frame_of(600, seed, missing=0.03)).with_columns(city=pl.col("city").cast(pl.String))
    method = [rt.Lattice(suppression="0.2"), rt.Mondrian(values="sets"), rt.Suppress(), rt.Datafly(suppression="0.3")][
        seed % 4
    ]
    more = {"nulls": "category", "declared": dict.fromkeys([["note"], [], ["cost", "stay"]][seed % 3], "internal")}
    chosen = {**roles(**more), "sensitive": ["illness"]}
    definition = rt.KAnonymity(3) & (rt.TCloseness("0.5") if seed % 2 else rt.DistinctLDiversity(2))
    local = rt.publish(rt.Table(frame, **chosen), definition, method, files="csv")
    there = rt.publish(rt.Table(to_spark(frame), **chosen), definition, method, files="csv")
    same_rows = there.frame.equals(local.frame)
    assert same_rows
    assert there.private.suppressed == local.private.suppressed
    assert rt.verify(there.save(tmp_path / "r")).holds


@pytest.fixture(scope="module")
def parts(session, tmp_path_factory):
    """A release of many files in each kind, and the rows of the same in one."""
    made = {}
    frame = plain(frame_of(500, 21))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETICENT_LEDGER", str(tmp_path_factory.mktemp("ledger") / "ledger.sqlite"))
        patch.setattr("reticent.engine.spark.output_files._ROWS_IN_FILE", 90)
        spark_frame = session.createDataFrame(frame.to_arrow()).repartition(3)
        for kind in ("csv", "parquet"):
            table = rt.Table(spark_frame, **roles(declared={"cost": "nobody knows it"}, dataset=f"wards {kind}"))
            release = rt.publish(table, rt.KAnonymity(3), rt.Lattice(suppression="0.2"), files=kind)
            made[kind] = release, release.save(tmp_path_factory.mktemp(kind) / "release")
    local = rt.publish(
        rt.Table(frame, **roles(declared={"cost": "nobody knows it"})), rt.KAnonymity(3), rt.Lattice(suppression="0.2")
    )
    return made, local


@pytest.mark.parametrize("kind", first(["csv", "parquet"], 1))
def test_a_release_of_many_files_is_sorted_over_all_of_them(kind, parts, monkeypatch):
    made, local = parts
    release, folder = made[kind]
    files = release.manifest.tables["data"].files
    assert len(files) > 3
    assert files[0] == f"data-00001.{kind}"
    assert set(files) <= set(release.certificate["files"])
    assert release.frame.equals(local.frame)
    if kind == "csv":
        # What the ledger knows it by does not depend on how many files there are.
        whole = b"".join((folder / "public" / file).read_bytes().split(b"\n", 1)[1] for file in files)
        assert whole == local.frame.write_csv(include_header=False).encode()
    opened = open_public(folder)
    assert opened.frame.equals(local.frame)
    assert opened.count("age >= 30").as_dict() == local.count("age >= 30").as_dict()
    assert rt.verify(folder).holds
    assert rt.assess(folder, rt.KAnonymity(3)).holds
    monkeypatch.setenv("RETICENT_MEMORY", "10KB")
    assert isinstance(open_public(folder).rows["data"], StoredRows)
    assert rt.verify(folder).holds


def test_what_the_ledger_knows_does_not_depend_on_the_number_of_files(parts, tmp_path):
    made, _ = parts
    hashes = []
    for kind in ("csv", "parquet"):
        release, _ = made[kind]
        hashes.append(release._spool.row_hashes()["data"])
    frame = plain(frame_of(500, 21))
    one = rt.publish(
        rt.Table(frame, **roles(declared={"cost": "nobody knows it"})), rt.KAnonymity(3), rt.Lattice(suppression="0.2")
    )
    assert {*hashes} == {one._spool.row_hashes()["data"]}


def test_verify_needs_no_spark(parts):
    _, folder = parts[0]["parquet"]
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        f"import reticent as rt; found = rt.verify({str(folder)!r}); print(found.holds); sys.exit(not found.holds)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "True", ran.stderr


@pytest.mark.parametrize("kind", first(["csv", "parquet"], 1))
def test_tampering_with_parts_is_found(kind, parts, tmp_path):
    _, saved = parts[0][kind]
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    public = folder / "public"
    first, second, third = (public / f"data-0000{number}.{kind}" for number in (1, 2, 3))
    contents = first.read_bytes(), second.read_bytes()

    def certified() -> None:
        """What somebody does who changes the certificate too."""
        said = json.loads((public / "certificate.json").read_text())
        for file in (first, second):
            content = file.read_bytes()
            said["files"][file.name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        text = json.dumps(said, ensure_ascii=False, sort_keys=True, indent=2) + "\n"
        (public / "certificate.json").write_text(text)

    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    assert "not the file that the certificate was made for" in str(rt.verify(folder).failures)
    certified()
    assert "are not sorted" in str(rt.verify(folder).failures)
    first.write_bytes(contents[0][: len(contents[0]) // 2])
    second.write_bytes(contents[1])
    certified()
    assert rt.verify(folder).failures
    first.write_bytes(contents[0])
    certified()
    assert rt.verify(folder).holds
    shutil.copy(second, public / f"data-00099.{kind}")
    assert "is not part of the release" in str(rt.verify(folder).failures)
    (public / f"data-00099.{kind}").unlink()
    third.unlink()
    assert "is missing" in str(rt.verify(folder).failures)


def test_a_manifest_cannot_name_other_files(parts, tmp_path):
    _, saved = parts[0]["csv"]
    folder = tmp_path / "copy"
    shutil.copytree(saved, folder)
    manifest = folder / "public" / "manifest.json"
    for wrong in ("../private/search.json", "data-00002.csv", "data.csv"):
        said = json.loads(manifest.read_text())
        said["tables"]["data"]["files"][0] = wrong
        manifest.write_text(json.dumps(said, ensure_ascii=False, sort_keys=True, indent=2) + "\n")
        with pytest.raises(rt.DataError, match="has invalid file names:"):
            open_public(folder)


WORKING = (
    "Lattice typical",
    "Lattice",
    "Mondrian nodes",
    "Mondrian typical",
    "Suppress judged",
    "Synthetic",
    "RPlusTree",
    "Bang",
)


def test_every_method_works_on_spark_or_is_refused_by_name(to_spark):
    table = rt.Table(
        to_spark(rows()),
        quasi={"age": rt.Hierarchy.intervals([5, 10, 20, 40], domain=(0, 99)), "town": None},
        sensitive="illness",
    )
    refused = {}
    for name, job in JOBS.items():
        if type(job.method).__name__ in METHODS and not job.method.streams:
            with pytest.raises(PolicyError, match=f"{type(job.method).__name__} needs all rows in memory") as told:
                rt.publish(table, job.definition, job.method)
            refused[name] = str(told.value)
    assert {type(JOBS[name].method).__name__ for name in (*refused, *WORKING, "Datafly")} == set(METHODS)
    assert all("this table is read by the engine 'spark'" in text for text in refused.values())
    with pytest.raises(PolicyError, match="ties='divide' needs all rows in memory"):
        rt.publish(table, rt.DistinctLDiversity(2), rt.Mondrian(ties="divide", values="sets"))
    with pytest.raises(PolicyError, match="files = 'xlsx' needs all rows in memory"):
        rt.publish(table, rt.KAnonymity(3), files="xlsx")


def in_buckets(release) -> list:
    """What the buckets of a release hold, whatever they are called."""
    held = {}
    for name in ("quasi", "sensitive"):
        frame = release.tables[name]
        for part in frame.partition_by("bucket"):
            rows = sorted(map(str, part.drop("bucket").rows()))
            held.setdefault(part["bucket"][0], []).append(rows)
    return sorted(held.values())


BUCKETS = {}


@pytest.mark.parametrize("declared", first(["cost", None], 1), ids=["beside another column", "equal rows counted"])
def test_every_engine_fills_the_same_buckets(engine, declared, request, tmp_path):
    table = table_of(
        engine,
        plain(frame_of(300, 12, missing=0.02)),
        request,
        nulls="category",
        declared={declared: "internal"} if declared else {},
    )
    release = rt.publish(
        table, rt.DistinctLDiversity(2, column="illness"), rt.Lattice(format="bucketize", suppression="0.2")
    )
    assert BUCKETS.setdefault(declared, in_buckets(release)) == in_buckets(release)
    numbers = sorted(release.tables["sensitive"]["bucket"].unique())
    assert numbers == list(range(1, len(numbers) + 1))
    saved = release.save(tmp_path / "release")
    assert rt.verify(saved).holds
    condition = "age >= 30 and illness = 'flu'"
    assert BUCKETS.setdefault("count", release.count(condition)) == open_public(saved).count(condition)


@pytest.mark.parametrize("name", first(WORKING, 1))
def test_what_works_gives_what_the_local_engine_gives(name, to_spark, tmp_path):
    job = JOBS[name]
    quasi = (
        ["town"]
        if name == "Synthetic"
        else {"age": rt.Hierarchy.intervals([5, 10, 20, 40], domain=(0, 99)), "town": None}
    )
    there = rt.Table(to_spark(rows()), quasi=quasi, sensitive="illness", dataset="wards")
    release = rt.publish(there, job.definition, job.method, ledger=tmp_path / "a.sqlite")
    if name != "Synthetic":
        assert release.frame.equals(job.publish(ledger=tmp_path / "b.sqlite").frame)
    assert rt.verify(release.save(tmp_path / "release")).holds


def test_later_rows_are_recoded_by_the_executors(to_spark):
    frame = plain(frame_of(300, 12))
    release = rt.publish(
        rt.Table(frame, **roles(declared={"cost": "nobody knows it"})), rt.KAnonymity(3), rt.Mondrian(values="sets")
    )
    later = plain(frame_of(200, 13))
    ours = rt.apply(release, later, unseen="suppress")
    theirs = rt.apply(release, to_spark(later), unseen="suppress")
    order = ours.columns
    assert pl.DataFrame(pl.from_arrow(theirs.toArrow())).select(order).sort(order).equals(ours.sort(order))
    lattice = rt.publish(rt.Table(frame, **roles()), rt.KAnonymity(3), rt.Lattice(suppression="0.2"))
    with pytest.raises(Exception, match="Atlantis"):
        rt.apply(lattice, to_spark(later.with_columns(city=pl.lit("Atlantis")))).toArrow()


def test_adversaries_look_up_people_of_a_spark_table(to_spark):
    frame = plain(frame_of(300, 14))
    local, there = rt.Table(frame, **roles()), rt.Table(to_spark(frame), **roles())
    release = rt.publish(there, rt.KAnonymity(3), rt.Lattice(suppression="0.2"))
    known = rt.attacks.Linkage(frame.head(50), truth="illness")
    for one, other in ((local, there), (release, release)):
        assert str(rt.attacks.attack(one, known)) == str(rt.attacks.attack(other, known))
    assert rt.attacks.compare(there, release)


def test_a_run_that_is_stopped_leaves_nothing(to_spark, scratch, tmp_path):
    table = rt.Table(to_spark(plain(frame_of(300, 14))), **roles(dataset="wards"))
    stages = []
    with pytest.raises(Cancelled, match="Nothing was recorded and nothing was written"):
        rt.publish(
            table,
            rt.KAnonymity(3),
            context=Context(
                listen=lambda event: stages.append(event.stage), stop=lambda: "recoding, sorting" in str(stages)
            ),
        )
    assert stages[-1] == "recoding, sorting and writing rows"
    assert not list(scratch.iterdir())
    assert not Path(tmp_path / "ledger.sqlite").exists() or rt.publish(table, rt.KAnonymity(3)).entry.number == 1


def test_a_kind_of_ones_own_is_published_by_spark(to_spark):
    with stripes_registered():
        plain = rt.publish(people(rows(), dataset=None), rt.KAnonymity(5), "Stripes")
        found = rt.publish(people(to_spark(rows()), dataset=None), rt.KAnonymity(5), "Stripes")
        assert found.frame.equals(plain.frame)
        assert found.utility["loss"] == plain.utility["loss"]
