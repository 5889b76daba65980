"""The streaming engine: the same answers as the local one on every kind of table, in bounded memory, whole or not at all."""

import hashlib
import io
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.baselines.datafly import Datafly
from reticent.definitions import DistinctLDiversity, KAnonymity, KMap, TCloseness
from reticent.engine import count_table
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import Release, open_public, publish, verify
from reticent.release.assessment import assess
from reticent.table import StoredRows, Table
from tests.engine.making import QUASI, frame_of
from tests.sampling import examples

# So little that every table is streamed, in chunks of a thousand rows.
LITTLE = "1MB"


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def both(frame: pl.DataFrame, **roles) -> tuple[Table, Table]:
    """The same table in memory and streamed, a few rows at a time."""
    return Table(frame, **roles), Table(frame.lazy(), **roles, engine="streaming")


def same_counts(first, second) -> None:
    assert first.levels == second.levels
    for mine, theirs in zip(first.codes, second.codes, strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(first.sizes, second.sizes)
    for part in ("offsets", "values", "counts"):
        assert np.array_equal(getattr(first.histograms, part), getattr(second.histograms, part))
    assert np.array_equal(first.domain.joint, second.domain.joint)
    assert first.domain == second.domain
    assert set(first.extras) == set(second.extras)
    for name in first.extras:
        assert np.array_equal(first.extras[name], second.extras[name])


def same_release(first: Release, second: Release, folder: Path) -> None:
    """Every public byte that depends on the data is the same, and so is what the steward keeps."""
    one, two = first.save(folder / "one"), second.save(folder / "two")
    names = sorted(path.name for path in (one / "public").iterdir())
    assert names == sorted(path.name for path in (two / "public").iterdir())
    for name in names:
        if name.endswith(".parquet"):
            assert pl.read_parquet(one / "public" / name).equals(pl.read_parquet(two / "public" / name))
        elif name != "certificate.json":
            assert (one / "public" / name).read_bytes() == (two / "public" / name).read_bytes()
    for name in ("recoding.json", "utility.json"):
        assert (one / "private" / name).read_bytes() == (two / "private" / name).read_bytes()
    figures = [json.loads((each / "private" / "search.json").read_text("utf-8")) for each in (one, two)]
    for each in figures:
        # Which values people ever had is counted in memory only.
        each.get("people", {}).pop("largest_share_ever", None)
    assert figures[0] == figures[1]
    points = [pl.read_parquet(each / "private" / "recoding.parquet") for each in (one, two)]
    assert points[0].equals(points[1])
    assert (one / "private" / "people.parquet").exists() == (two / "private" / "people.parquet").exists()
    if (one / "private" / "people.parquet").exists():
        kept = [pl.read_parquet(each / "private" / "people.parquet") for each in (one, two)]
        assert kept[0].cast(pl.String).equals(kept[1].cast(pl.String))
    assert verify(one).holds
    assert verify(two).holds


@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(1, 400),
    nulls=st.sampled_from(["refuse", "drop", "category"]),
    quasi=st.sets(st.sampled_from(list(QUASI)), min_size=1, max_size=4),
    sensitive=st.sampled_from([[], ["illness"], ["illness", "stay"], ["cost"], ["stay", "member", "cost"]]),
    chunk=st.integers(1, 90),
)
@examples(60, few=10)
def test_both_engines_count_alike(seed, rows, nulls, quasi, sensitive, chunk):
    frame = frame_of(rows, seed, missing=0.0 if nulls == "refuse" else 0.1)
    if nulls == "drop" and frame.fill_nan(None).drop_nulls().height == 0:
        return
    roles = {"quasi": {name: QUASI[name] for name in sorted(quasi)}, "nulls": nulls}
    roles["sensitive"] = [name for name in sensitive if name not in quasi]
    local, streamed = both(frame, **roles)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.table.rows.rows_at_once", lambda columns: chunk)
        floor = tuple(seed % (each.height + 1) for each in local.hierarchies)
        for levels in (None, floor):
            same_counts(count_table(local, floor=levels), count_table(streamed, floor=levels))
            same_counts(
                count_table(local, floor=levels, sensitive=False),
                count_table(streamed, floor=levels, sensitive=False),
            )


@given(
    seed=st.integers(0, 10**6),
    files=st.sampled_from(["csv", "parquet"]),
    nulls=st.sampled_from(["drop", "category"]),
    sensitive=st.sampled_from([["illness"], ["illness", "stay"]]),
    declared=st.sampled_from([{}, {"cost": "internal", "note": "internal"}]),
    several=st.booleans(),
    method=st.sampled_from(
        [
            Lattice(suppression="0.2"),
            Mondrian(values="sets"),
            Mondrian(split="loss", values="hierarchy"),
            Datafly(suppression="0.3"),
        ]
    ),
)
@examples(16, few=6)
def test_both_engines_publish_the_same(seed, files, nulls, sensitive, declared, several, method, tmp_path_factory):
    frame = frame_of(1500, seed, missing=0.02).with_row_index("id")
    names = ["age", "city", "weight", "day"]
    roles = {"quasi": {name: QUASI[name] for name in names}, "sensitive": sensitive, "declared": declared, "key": "id"}
    roles["nulls"] = nulls
    if several:
        roles["quasi_sets"] = [["age", "city"], ["city", "weight", "day"]]
    definition = KAnonymity(3) & (
        DistinctLDiversity(2, column="illness") if seed % 2 else TCloseness("0.4", column="illness")
    )
    if isinstance(method, Lattice) and several:
        method = replace(method, objective="discernibility")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.table.rows.rows_at_once", lambda columns: 100 + seed % 500)
        local, streamed = both(frame, **roles)
        first = publish(local, definition, method, files=files)
        second = publish(streamed, definition, method, files=files)
    assert isinstance(second.public.rows["data"], StoredRows)
    assert second.frame.equals(first.frame)
    assert second.private.suppressed == first.private.suppressed
    assert {n: dict(m) for n, m in second.meanings.items()} == {n: dict(m) for n, m in first.meanings.items()}
    same_release(first, second, tmp_path_factory.mktemp("releases"))


def people_frame(rows: int, seed: int) -> pl.DataFrame:
    """Several rows a person, whose quasi values are theirs alone."""
    chance = np.random.default_rng(seed)
    persons = frame_of(rows // 3, seed).with_columns(pl.Series("person", [f"p{n}" for n in range(rows // 3)]))
    chosen = persons[chance.integers(0, persons.height, rows)]
    return chosen.with_columns(illness=pl.Series(chance.choice(["flu", "cold", "ulcer"], rows)))


@pytest.mark.parametrize("memory", ["100KB", "1GB"])
def test_people_with_several_rows_are_counted_alike(memory, monkeypatch, tmp_path):
    monkeypatch.setenv("RETICENT_MEMORY", memory)
    frame = people_frame(3000, 7)
    roles = {
        "quasi": {"age": QUASI["age"], "zip": QUASI["zip"]},
        "sensitive": "illness",
        "key": "person",
        "unit": "person",
    }
    local, streamed = both(frame, **roles)
    for sensitive in (True, False):
        same_counts(
            count_table(local, sensitive=sensitive),
            count_table(streamed, sensitive=sensitive),
        )
    same_release(publish(local, KAnonymity(4)), publish(streamed, KAnonymity(4)), tmp_path)


@pytest.mark.parametrize("memory", ["100KB", "1GB"])
def test_people_who_break_the_rules_are_found_in_a_stream_too(memory, monkeypatch):
    monkeypatch.setenv("RETICENT_MEMORY", memory)
    frame = people_frame(3000, 8)
    quasi = {"age": QUASI["age"]}
    with pytest.raises(DataError, match=r"The key 'person' has duplicates: 'p\d+' has several rows"):
        Table(frame.lazy(), quasi=quasi, key="person", unit="row", engine="streaming")
    older = frame.with_columns(pl.when(pl.arange(pl.len()) == 17).then(99).otherwise(pl.col("age")).alias("age"))
    with pytest.raises(DataError, match=r"The rows of person 'p\d+' differ in their quasi columns"):
        Table(older.lazy(), quasi=quasi, key="person", unit="person", engine="streaming")
    nobody = frame.with_columns(pl.when(pl.arange(pl.len()) != 2999).then(pl.col("person")).alias("person"))
    with pytest.raises(DataError, match="The key column 'person' has missing values"):
        Table(nobody.lazy(), quasi=quasi, key="person", unit="person", engine="streaming")


def test_a_population_is_counted_beside_a_stream():
    frame, people = frame_of(500, 3), frame_of(5000, 3)
    local, streamed = both(frame, quasi={"age": QUASI["age"], "zip": None}, sensitive="illness")
    definition = KMap(5, population=people)
    for sensitive in (True, False):
        same_counts(
            count_table(definition.prepare(local), sensitive=sensitive),
            count_table(definition.prepare(streamed), sensitive=sensitive),
        )
    assert assess(local, definition).value == assess(streamed, definition).value


def test_messages_name_the_row_of_the_whole_table():
    frame = frame_of(5000, 4).with_columns(
        pl.when(pl.arange(pl.len()) == 4321).then(pl.lit("Atlantis")).otherwise(pl.col("city")).alias("city")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reticent.table.rows.rows_at_once", lambda columns: 1000)
        streamed = Table(frame.lazy(), quasi={"city": QUASI["city"]}, engine="streaming")
        with pytest.raises(DataError, match=r"'Atlantis' \(row 4322\)"):
            count_table(streamed)
        holes = frame.with_columns(pl.when(pl.arange(pl.len()) % 2000 != 1999).then(pl.col("age")).alias("age"))
        with pytest.raises(DataError, match=r"Column 'age' has 2 missing values, the first in row 2000\."):
            Table(holes.lazy(), quasi=["age"], engine="streaming")
    with pytest.raises(DataError, match="has no rows left after"):
        Table(frame.with_columns(age=None).lazy(), quasi=["age"], nulls="drop", engine="streaming")
    with pytest.raises(DataError, match="The table has no rows"):
        Table(frame.clear().lazy(), quasi=["age"], engine="streaming")


def test_the_engine_is_chosen_by_size_unless_it_is_said(monkeypatch):
    frame = frame_of(5000, 5)
    assert not Table(frame.lazy(), quasi=["age"]).streamed
    monkeypatch.setenv("RETICENT_MEMORY", LITTLE)
    assert Table(frame.lazy(), quasi=["age", "zip", "city"]).streamed
    assert not Table(frame.lazy(), quasi=["age", "zip", "city"], engine="local").streamed
    assert not Table(frame, quasi=["age", "zip", "city"]).streamed
    with pytest.raises(PolicyError, match="engine must be 'local', 'streaming' or 'spark', but it is 'sparc'"):
        Table(frame, quasi=["age"], engine="sparc")
    monkeypatch.setenv("RETICENT_MEMORY", "lots")
    with pytest.raises(PolicyError, match="RETICENT_MEMORY must be a size such as 500MB or 2GB, but it is 'lots'"):
        Table(frame.lazy(), quasi=["age"])


def test_what_needs_rows_in_memory_says_so_by_name():
    table = Table(frame_of(200, 6).lazy(), quasi=["age"], sensitive="illness", identifiers=["note"], engine="streaming")
    with pytest.raises(
        PolicyError, match="Mondrian: ties='divide' needs all rows in memory, and this table is streamed"
    ):
        publish(table, KAnonymity(2), Mondrian(ties="divide", values="sets"))
    with pytest.raises(PolicyError, match="This needs all rows of the table in memory"):
        _ = table.frame
    named = Table(frame_of(200, 6).lazy(), quasi=["age"], identifiers=["note"], pseudonyms=["note"], engine="streaming")
    for method in (Lattice(), Mondrian(values="sets"), Datafly()):
        with pytest.raises(PolicyError, match="pseudonyms= needs all rows in memory"):
            publish(named, KAnonymity(2), method)
    with pytest.raises(Infeasible, match="would suppress every row"):
        publish(table, KAnonymity(201), Lattice(suppression=1))


def test_a_saved_release_is_judged_where_it_lies(tmp_path, monkeypatch):
    frame = frame_of(20_000, 9)
    roles = {
        "quasi": {"age": QUASI["age"], "zip": QUASI["zip"]},
        "sensitive": "illness",
        "declared": {"stay": "internal"},
    }
    definition = KAnonymity(3) & TCloseness("0.5")
    folder = publish(Table(frame, **roles), definition, Lattice(suppression="0.1")).save(tmp_path / "release")
    small = open_public(folder)
    conditions = [
        "age between 20 and 29",
        "illness = 'flu' and zip = '0003'",
        "stay > 2",
        "stay > 2 and age < 30",
        "1 = 1",
    ]
    expected = [small.count(each).as_dict() for each in conditions]
    monkeypatch.setenv("RETICENT_MEMORY", LITTLE)
    large = open_public(folder)
    assert isinstance(large.rows["data"], StoredRows)
    assert [large.count(each).as_dict() for each in conditions] == expected
    assert assess(folder, KAnonymity(3)).value == definition.parts()[0].assess(small.groups).value
    same = verify(folder)
    assert same.holds
    monkeypatch.delenv("RETICENT_MEMORY")
    assert verify(folder).checks == same.checks
    assert large.frame.equals(small.frame)


@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_tampering_is_found_where_it_lies(files, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_MEMORY", "10KB")
    table = Table(frame_of(9000, 10), quasi={"age": QUASI["age"]}, sensitive="illness")
    folder = publish(table, KAnonymity(3), files=files).save(tmp_path / "release")
    data = folder / "public" / f"data.{files}"
    whole = data.read_bytes()
    data.write_bytes(whole[:-3] + b"xyz")
    assert "not the file that the certificate was made for" in str(verify(folder).failures)
    certificate = folder / "public" / "certificate.json"
    for changed in (
        open_public_rows(whole, files, reverse=True),
        whole[: len(whole) // 2],
        b"age,illness\n1,2,3\n" * 999,
    ):
        data.write_bytes(changed)
        said = json.loads(certificate.read_text())
        said["files"][data.name] = {"sha256": hashlib.sha256(changed).hexdigest(), "bytes": len(changed)}
        certificate.write_text(json.dumps(said, ensure_ascii=False, sort_keys=True, indent=2) + "\n")
        assert verify(folder).failures


def open_public_rows(content: bytes, files: str, reverse: bool) -> bytes:
    frame = pl.read_csv(content) if files == "csv" else pl.read_parquet(io.BytesIO(content))
    turned, out = frame.reverse() if reverse else frame, io.BytesIO()
    turned.write_csv(out) if files == "csv" else turned.write_parquet(out)
    return out.getvalue()
