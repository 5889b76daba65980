"""Tables larger than memory: leaves in portions, spooled keys and counted blocks give the index that all points together give."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.errors import PolicyError
from reticent.methods.bang import BangIndex
from reticent.methods.bang import large_index as large
from reticent.methods.bang.cell_space import order_of_keys
from reticent.methods.bang.directory import BangDirectory, KeyLeaves
from reticent.methods.bang.large_index import KeySpool, index_of_stream
from tests.methods.bang.grids import space_of, tables
from tests.methods.bang.test_storage import mixed
from tests.sampling import examples


@given(table=tables, portion=st.integers(1, 7), shuffled=st.randoms(use_true_random=False))
@examples(150)
def test_leaves_in_portions_give_the_directory_of_all_points(table, portion, shuffled):
    bits, rows, minimum = table
    space, rows = space_of(*bits), list(rows)
    shuffled.shuffle(rows)
    codes = list(np.array(rows, dtype=np.int64).T.reshape(len(bits), -1))
    whole, of_point = BangDirectory.built(space, codes, np.ones(len(rows), dtype=np.int64), minimum)
    keys = space.keys(codes)
    order = order_of_keys(keys)
    leaves = KeyLeaves(space, minimum)
    for start in range(0, len(rows), portion):
        mine = order[start : start + portion]
        leaves.add(keys[:, mine], np.ones(len(mine), dtype=np.int64))
    found, owner = BangDirectory.of_leaves(leaves)
    for part in ("lows", "highs", "level", "encloser", "rows", "neighbours"):
        assert getattr(found, part).tolist() == getattr(whole, part).tolist()
    assert np.repeat(owner, np.diff(leaves.first, append=len(rows))).tolist() == of_point[order].tolist()
    # Two leaves side by side would be one if they had fewer rows together, and no leaf but a single cell has as many alone.
    cells = np.diff(leaves.first, append=len(rows))
    assert all(many < minimum or len(set(keys[0, order[at : at + size]].tolist())) == 1
               for many, at, size in zip(leaves.rows.tolist(), leaves.first.tolist(), cells.tolist(), strict=True))  # fmt: skip


def test_a_spool_gives_every_key_once_and_rising(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "_PORTION", 64)
    monkeypatch.setattr(large, "_SAMPLED", 8)
    draw = np.random.default_rng(1)
    for words in (1, 2):
        space = space_of(*(9,) * 7 * words)
        spool = KeySpool(space, tmp_path)
        runs = [draw.integers(0, 300, (words, size)).astype(np.uint64) << np.uint64(50) for size in (700, 1, 0, 300)]
        for run in runs:
            spool.add(run, np.arange(1, run.shape[1] + 1))
        found = list(spool.portions())
        assert len(found) > 3
        keys, rows = np.concatenate([each for each, _ in found], axis=1), np.concatenate([each for _, each in found])
        wanted: dict[tuple[int, ...], int] = {}
        for run in runs:
            for place, key in enumerate(run.T.tolist()):
                wanted[tuple(key)] = wanted.get(tuple(key), 0) + place + 1
        assert dict(zip(map(tuple, keys.T.tolist()), rows.tolist(), strict=True)) == wanted
        assert list(map(tuple, keys.T.tolist())) == sorted(wanted)
        for each in tmp_path.iterdir():
            each.unlink()


def assert_same_blocks(found: BangIndex, whole: BangIndex) -> None:
    assert found.fingerprint == whole.fingerprint
    for part in ("lows", "highs", "level", "encloser", "rows"):
        assert np.array_equal(getattr(found.directory, part), getattr(whole.directory, part))
    for mine, theirs in ((found.blocks, whole.blocks), (found.draft(40).groups, whole.draft(40).groups)):
        assert np.array_equal(mine.sizes, theirs.sizes)
        assert np.array_equal(mine.reference, theirs.reference)
        assert np.array_equal(mine.domain.joint, theirs.domain.joint)
        assert mine.extras.keys() == theirs.extras.keys()
        assert all(np.array_equal(mine.extras[name], theirs.extras[name]) for name in mine.extras)
        for part in ("offsets", "values", "counts"):
            assert np.array_equal(getattr(mine.histograms, part), getattr(theirs.histograms, part))
    assert found.draft(40).regions().equals(whole.draft(40).regions())


def streamed(table: rt.Table) -> rt.Table:
    return rt.Table(
        table.held.frame(), quasi=table.quasi, sensitive=table.sensitive, key=table.key, unit=table.unit, nulls=table.nulls,
        engine="streaming",
    )  # fmt: skip


@pytest.mark.parametrize(("scales", "room"), [({}, 0), ({"pay": "quantile", "age": [20, 40, 60]}, 1 << 20)])
def test_an_index_of_a_stream_is_that_of_the_table_in_memory(scales, room, tmp_path, monkeypatch):
    """Several sensitive columns, several rows of a person, missing values; chunks of a thousand rows."""
    monkeypatch.setenv("RETICENT_MEMORY", "1MB")
    monkeypatch.setattr(large, "_CELLS_AT_ONCE", 100)
    monkeypatch.setattr(large, "_MOST_COUNTS", room)
    table = mixed(2500)
    method = rt.Bang(minimum=4, scales=scales)
    whole = method.build(table)
    with_points = index_of_stream(method, 4, streamed(table), Context(), most_points=10**6)
    assert with_points.has_points
    found = index_of_stream(method, 4, streamed(table), Context(scratch=tmp_path), most_points=300)
    assert not found.has_points
    for each in (with_points, found):
        assert_same_blocks(each, whole)
    assert list(tmp_path.iterdir()) == []
    opened = rt.Bang.open(found.save(tmp_path / "index"))
    assert_same_blocks(opened, whole)


def test_an_index_without_points_says_what_it_cannot_do(tmp_path):
    several = mixed(600)
    table = rt.Table(several.frame, quasi=several.quasi, sensitive=several.sensitive, nulls="category")
    found = index_of_stream(rt.Bang(minimum=4), 4, streamed(table), Context(), most_points=1)
    with pytest.raises(PolicyError, match="more points than fit in memory"):
        _ = found.draft(9).labels
    place = found.save(tmp_path / "index")
    with pytest.raises(PolicyError, match="more points than fit in memory"):
        rt.publish(table, rt.KAnonymity(9), method=rt.Bang(index=place))


def test_rows_without_sensitive_columns_are_streamed_too():
    frame = pl.DataFrame({"x": np.random.default_rng(2).integers(0, 500, 900)})
    table = rt.Table(frame, quasi=["x"], engine="streaming")
    found = index_of_stream(rt.Bang(), 5, table, Context(), most_points=1)
    assert_same_blocks(found, rt.Bang().build(rt.Table(frame, quasi=["x"])))
