"""A saved index is the index that was built: the same cuts, the same releases, the same series; and damage is found (O9)."""

from __future__ import annotations

import json
import os
import stat
from datetime import date, datetime, time, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.methods.bang import BangIndex, open_index, storage
from tests.sampling import spread


def mixed(n: int = 400, seed: int = 3) -> rt.Table:
    """Every kind of column: numbers, dates, moments, trees, text, missing values, several sensitive columns, several rows of a person."""
    draw = np.random.default_rng(seed)
    moments = [datetime(2020, 1, 1) + timedelta(minutes=int(each)) for each in draw.integers(0, 10**6, n)]
    people = draw.integers(0, n // 2, n)
    frame = pl.DataFrame(
        {
            "who": people,
            "age": pl.Series(draw.integers(18, 90, n // 2), dtype=pl.Int16).gather(people),
            "pay": pl.Series(np.where(draw.random(n // 2) < 0.1, np.nan, draw.normal(0, 1e3, n // 2)))
            .fill_nan(None)
            .gather(people),
            "born": pl.Series(
                [date(1950, 1, 1) + timedelta(days=int(each)) for each in draw.integers(0, 9999, n // 2)]
            ).gather(people),
            "town": pl.Series(draw.choice(["Aix", "Apt", 'Ä|"x"', "  "], n // 2)).gather(people),
            "job": pl.Series(draw.choice(["cook", "smith", "judge"], n // 2), dtype=pl.Categorical).gather(people),
            "illness": pl.Series(["flu", "cold", None]).gather(draw.integers(0, 3, n)),
            "seen": pl.Series(moments).dt.truncate("30d"),
            "at": [time(int(each)) for each in draw.integers(0, 3, n)],
        }
    )
    trees = {"work": ["cook", "smith"], "law": ["judge"]}
    quasi = {
        "age": rt.Hierarchy.intervals([5, 10, 20], domain=(0, 120)),
        "pay": None,
        "born": rt.Hierarchy.dates(["month", "year"]),
        "town": None,
        "job": rt.Hierarchy.taxonomy(trees),
    }
    tree = rt.Hierarchy.taxonomy({"lungs": ["flu", "cold"]})
    return rt.Table(
        frame,
        quasi=quasi,
        sensitive={"illness": tree, "seen": None, "at": None},
        key="who",
        unit="person",
        nulls="category",
    )


def people(n: int = 300, seed: int = 1, dataset: str | None = None) -> rt.Table:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(18, 90, n),
            "height": draw.integers(150, 200, n),
            "illness": draw.choice(["flu", "cold", "gout", "ulcer"], n),
        }
    )
    return rt.Table(frame, quasi=["age", "height"], sensitive="illness", dataset=dataset)


def assert_same(one: BangIndex, other: BangIndex) -> None:
    assert one.fingerprint == other.fingerprint
    assert one.method == other.method
    rows = int(one.dendrogram.rows[-1])
    for k in spread(range(one.minimum, rows + 1), 12):
        mine, theirs = one.draft(k), other.draft(k)
        assert mine.labels.tolist() == theirs.labels.tolist()
        assert mine.groups.sizes.tolist() == theirs.groups.sizes.tolist()
        assert mine.groups.extras.keys() == theirs.groups.extras.keys()
        for part in ("offsets", "values", "counts"):
            assert getattr(mine.groups.histograms, part).tolist() == getattr(theirs.groups.histograms, part).tolist()
        assert mine.regions().equals(theirs.regions())
        assert mine.places().equals(theirs.places())
        assert mine.meanings == theirs.meanings
        assert mine.shapes == theirs.shapes


@pytest.mark.parametrize("method", [rt.Bang(minimum=3), rt.Bang(minimum=2, order="closest", guard="sensitive")])
def test_an_opened_index_gives_the_same_cuts_for_every_k(method, tmp_path, monkeypatch):
    built = method.build(mixed())
    place = built.save(tmp_path / "index")
    monkeypatch.setattr("reticent.methods.bang.dendrogram.Dendrogram.of", None)
    opened = rt.Bang.open(place)
    assert_same(built, opened)
    assert opened.units.domain == built.units.domain
    for mine, theirs in zip(built.units.hierarchies, opened.units.hierarchies, strict=True):
        assert mine.leaves.dtype == theirs.leaves.dtype
        assert [each.labels for each in mine.levels] == [each.labels for each in theirs.levels]
        assert [each.meanings for each in mine.levels] == [each.meanings for each in theirs.levels]
        assert (mine.null_leaf, mine.data_dependent) == (theirs.null_leaf, theirs.data_dependent)


def test_cuts_of_an_opened_index_are_large_enough_and_nest(tmp_path):
    """O9: every class has k people, classes partition the rows, and a larger k only joins classes."""
    table = people(700)
    opened = rt.Bang.open(rt.Bang(minimum=3).build(table).save(tmp_path / "index"))
    before = None
    for k in (3, 4, 7, 20, 21, 100, 700):
        cut = opened.draft(k)
        sizes = np.bincount(cut.labels, weights=opened.units.sizes, minlength=cut.count)
        assert sizes.min() >= k
        assert sizes.sum() == 700
        assert sizes.tolist() == cut.groups.sizes.tolist()
        if before is not None:
            pairs = set(zip(before.tolist(), cut.labels.tolist(), strict=True))
            assert len(pairs) == len(set(before.tolist()))
        before = cut.labels


def test_scales_of_every_kind_are_saved(tmp_path):
    table = mixed(200)
    scales = {"age": [20, 30, 65], "pay": "quantile", "born": [date(1955, 1, 1), date(1970, 6, 1)]}
    built = rt.Bang(minimum=3, scales=scales).build(table)
    opened = open_index(built.save(tmp_path / "index"))
    assert opened.fingerprint == built.fingerprint
    assert opened.draft(9).regions().equals(built.draft(9).regions())


@pytest.mark.parametrize("n", [1, 2, 6])
def test_a_few_rows_are_an_index_too(n, tmp_path):
    built = rt.Bang(minimum=1).build(people(n))
    assert_same(built, open_index(built.save(tmp_path / "index")))


def test_a_release_from_a_saved_index_is_the_release_without_one(tmp_path):
    table = people()
    place = rt.Bang(minimum=5).build(table).save(tmp_path / "index")
    promise = rt.KAnonymity(7) & rt.DistinctLDiversity(2)
    for guard in ("quasi", "sensitive"):
        plain = rt.publish(table, promise, method=rt.Bang(minimum=5, guard=guard))
        saved = rt.publish(table, promise, method=rt.Bang(index=place, guard=guard))
        for name in ("data", "regions", "places"):
            assert plain.tables[name].equals(saved.tables[name])
        assert plain.manifest.as_json() == saved.manifest.as_json()
        assert str(tmp_path) not in json.dumps(saved.manifest.as_json()) + json.dumps(saved.certificate)


def test_cuts_of_a_saved_index_are_one_series_in_the_ledger(tmp_path):
    table, book = people(dataset="wards"), tmp_path / "ledger.sqlite"
    place = rt.Bang(minimum=5).build(table).save(tmp_path / "index")
    rt.publish(table, rt.KAnonymity(5), method=rt.Bang(minimum=5), ledger=book)
    again = rt.publish(table, rt.KAnonymity(40), method=rt.Bang(index=place), ledger=book)
    assert again.entry is not None
    assert "judged together" in again.entry.note
    other = rt.Bang(minimum=6).build(table).save(tmp_path / "other")
    with pytest.raises(LedgerError, match="was released already"):
        rt.publish(table, rt.KAnonymity(40), method=rt.Bang(index=other), ledger=book)


def changed(frame: pl.DataFrame) -> dict[str, rt.Table]:
    """Tables that are nearly the same: each tells what the message must name."""
    roles = {"quasi": ["age", "height"], "sensitive": "illness"}
    swapped = frame.with_columns(pl.Series("illness", [*frame["illness"][1:], frame["illness"][0]]))
    return {
        "the rows differ": rt.Table(swapped, **roles),
        "column 'age'": rt.Table(
            frame.with_columns(pl.when(pl.col("age") == 40).then(140).otherwise("age").alias("age")), **roles
        ),
        "its quasi columns are age, height": rt.Table(frame, quasi=["age"], sensitive="illness"),
        "its sensitive columns are illness": rt.Table(frame, quasi=["age", "height"]),
        "weight": rt.Table(frame.with_columns(w=pl.lit(2)), **roles, weight="w"),
    }


@pytest.mark.parametrize("reason", list(changed(people().held.frame())))
def test_another_table_is_refused_by_name(reason, tmp_path):
    table = people()
    place = rt.Bang(minimum=5).build(table).save(tmp_path / "index")
    with pytest.raises(PolicyError, match=reason):
        rt.publish(changed(table.held.frame())[reason], rt.KAnonymity(5), method=rt.Bang(index=place))


def test_the_same_rows_in_another_order_are_the_same_table(tmp_path):
    table = people()
    place = rt.Bang(minimum=5).build(table).save(tmp_path / "index")
    frame = table.held.frame().sample(fraction=1, shuffle=True, seed=1)
    shuffled = rt.Table(frame, quasi=["age", "height"], sensitive="illness")
    streamed = rt.Table(frame, quasi=["age", "height"], sensitive="illness", engine="streaming")
    for other in (shuffled, streamed):
        assert rt.publish(other, rt.KAnonymity(5), method=rt.Bang(index=place)).groups.sizes.min() >= 5


def test_a_saved_index_has_its_own_settings(tmp_path):
    for settings, name in (
        ({"minimum": 3}, "minimum"),
        ({"order": "closest"}, "order"),
        ({"scales": {"age": "quantile"}}, "scales"),
    ):
        with pytest.raises(PolicyError, match=f"own {name}") as caught:
            rt.Bang(index=tmp_path, **settings)
        assert caught.value.setting == (name,)


def test_the_folder_is_for_its_owner_alone(tmp_path):
    place = rt.Bang().build(people()).save(tmp_path / "index")
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in place.iterdir()} == {0o600}


def test_damage_to_any_file_is_found(tmp_path):
    place = rt.Bang().build(people()).save(tmp_path / "index")
    for file in sorted(place.iterdir()):
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[len(content) // 2] ^= 1
        for broken in (bytes(flipped), content[:-1], b""):
            file.write_bytes(broken)
            with pytest.raises(DataError, match=r"damaged|not a saved index"):
                open_index(place)
        file.unlink()
        with pytest.raises(DataError, match=r"is missing|not a saved index"):
            open_index(place)
        file.write_bytes(content)
    open_index(place)


def test_another_version_and_another_folder_say_what_they_are(tmp_path):
    place = rt.Bang().build(people()).save(tmp_path / "index")
    told = json.loads((place / "index.json").read_text())
    (place / "index.json").write_text(json.dumps({**told, "version": storage.VERSION + 1}))
    with pytest.raises(DataError, match=r"has version 2, and this program reads version 1"):
        open_index(place)
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(DataError, match="not a saved index of Bang"):
            open_index(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.json").write_text("[1]")
    with pytest.raises(DataError, match="not a saved index of Bang"):
        open_index(tmp_path / "other")


def test_nothing_is_overwritten_but_an_older_index_on_request(tmp_path):
    index = rt.Bang().build(people())
    place = index.save(tmp_path / "index")
    with pytest.raises(DataError, match="exists already"):
        index.save(place)
    newer = rt.Bang(minimum=9).build(people())
    assert open_index(newer.save(place, overwrite=True)).minimum == 9
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(DataError, match="will not be overwritten"):
        index.save(tmp_path / "mine", overwrite=True)


def test_a_full_disk_leaves_nothing_behind(tmp_path, monkeypatch):
    index, write = rt.Bang().build(people()), storage.write_new
    written: list[Path] = []

    def failing(path: Path, *given: object, **options: object) -> None:
        if len(written) == 5:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, *given, **options)

    monkeypatch.setattr(storage, "write_new", failing)
    with pytest.raises(DataError, match="No space left on device"):
        index.save(tmp_path / "index")
    assert os.listdir(tmp_path) == []
