"""Rows that come and leave: an index stays a directory, and blocks keep their sizes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.methods.bang import BangIndex
from tests.methods.bang.grids import texts_of
from tests.oracles import bang as oracle
from tests.sampling import examples

BITS = (3, 3)
SCALES = {"x": list(range(1, 8)), "y": list(range(1, 8))}


def table_of(rows: list[tuple[int, ...]], secrets: list[str] | None = None) -> rt.Table:
    names = ("x", "y", "z")[: len(rows[0])]
    frame = pl.DataFrame({name: [row[at] for row in rows] for at, name in enumerate(names)})
    frame = frame.with_columns(pl.Series("secret", secrets or ["a"] * len(rows)))
    return rt.Table(frame, quasi=list(names), sensitive="secret")


def index_of(rows: list[tuple[int, ...]], minimum: int) -> BangIndex:
    return rt.Bang(minimum=minimum, scales=SCALES).build(table_of(rows))


def check_directory(index: BangIndex, rows: list[tuple[int, ...]], distinct: bool) -> None:
    """Axioms O7, by looking at every cell and every row."""
    made = index.directory
    texts = texts_of(made.lows, made.level, BITS)
    assert texts == sorted(set(texts))
    lows, highs = made.space.boxes(made.lows, made.level)
    assert (lows.tolist(), highs.tolist()) == (made.lows.tolist(), made.highs.tolist())
    # Every cell has an innermost region, so blocks part all cells among themselves; none is empty, and volumes add up.
    owners = {cell: oracle.innermost(texts, oracle.text_of(cell, BITS)) for cell in oracle.cells(BITS)}
    assert set(owners.values()) == set(texts)
    assert made.volumes.tolist() == [float(oracle.volume(texts, each)) for each in texts]
    assert made.volumes.sum() == pytest.approx(1)
    # The longest prefix is the smallest region around, and the tree of regions is right.
    cells = np.array(list(owners)).T
    assert [texts[at] for at in made.holding(made.space.keys_at(cells)).tolist()] == list(owners.values())
    around = [oracle.innermost([other for other in texts if other != each], each) for each in texts]
    assert [None if at < 0 else texts[at] for at in made.encloser.tolist()] == around
    # Nobody is lost, and everybody is counted where he is.
    held = Counter(owners[row] for row in rows)
    assert made.rows.tolist() == [held[each] for each in texts]
    units = index.units
    points = [
        tuple(int(axis.hierarchy.leaves[int(code)]) for axis, code in zip(index.space.axes, codes, strict=True))
        for codes in zip(*units.codes, strict=True)
    ]
    assert Counter(dict(zip(points, units.sizes.tolist(), strict=True))) == Counter(rows)
    assert len(points) == len(set(points))
    assert [texts[at] for at in index.region_of.tolist()] == [owners[point] for point in points]
    # Sizes: enough in every block, and no block that could be split again and again.
    if len(rows) >= index.minimum:
        assert made.rows.min() >= index.minimum
    else:
        assert len(made) == 1
    if distinct:
        assert made.rows.max() <= max(3 * index.minimum - 1, 1)
    # No half of a region is a region of its own: it would be the other half.
    assert not any(each + half in texts for each in texts for half in "01")


points = st.tuples(st.integers(0, 7), st.integers(0, 7))


@given(
    start=st.lists(points, min_size=1, max_size=30),
    steps=st.lists(
        st.tuples(st.booleans(), st.lists(points, min_size=1, max_size=14), st.integers(0, 2**16)), max_size=5
    ),
    minimum=st.integers(1, 5),
)
@examples(600, few=40)
def test_a_directory_stays_one_whatever_comes_and_leaves(start, steps, minimum):
    now, rows = index_of(start, minimum), list(start)
    for comes, batch, seed in steps:
        if not comes:
            draw = np.random.default_rng(seed)
            batch = [rows[at] for at in draw.permutation(len(rows))[: min(len(batch), len(rows) - 1)]]
            if not batch:
                continue
        shuffled = [batch[at] for at in np.random.default_rng(seed).permutation(len(batch))]
        change = BangIndex.insert if comes else BangIndex.delete
        now, other = change(now, table_of(batch)), change(now, table_of(shuffled))
        assert now.directory.rows.tolist() == other.directory.rows.tolist()
        assert now.directory.lows.tolist() == other.directory.lows.tolist()
        left = Counter(rows) + Counter(batch) if comes else Counter(rows) - Counter(batch)
        rows = list(left.elements())
        check_directory(now, rows, distinct=False)


@given(
    cells=st.permutations(list(product(range(8), range(8)))),
    cuts=st.lists(st.integers(1, 63), max_size=5),
    minimum=st.integers(1, 5),
)
@examples(200, few=12)
def test_blocks_of_distinct_cells_stay_below_three_times_the_smallest_number(cells, cuts, minimum):
    places = sorted({0, *cuts, 64})
    batches = [cells[one:other] for one, other in pairwise(places)]
    now, rows = index_of(batches[0], minimum), list(batches[0])
    for batch in batches[1:]:
        now, rows = now.insert(table_of(batch)), rows + batch
        check_directory(now, rows, distinct=True)
    for batch in batches[:-1]:
        now, rows = now.delete(table_of(batch)), [row for row in rows if row not in set(batch)]
        check_directory(now, rows, distinct=True)


@given(rows=st.lists(points, min_size=12, max_size=40), batch=st.lists(points, min_size=1, max_size=20))
@examples(60, few=6)
def test_cuts_neighbours_and_sensitive_values_follow(rows, batch):
    """A changed index is cut like one that was built: neighbours are found, and classes hold the values of everybody."""
    draw = np.random.default_rng(len(rows))
    secrets = draw.choice(["b", "d"], len(rows)).tolist()
    fresh = draw.choice(["a", "c", "d"], len(batch)).tolist()
    now = rt.Bang(minimum=2, scales=SCALES).build(table_of(rows, secrets)).insert(table_of(batch, fresh))
    texts = texts_of(now.directory.lows, now.directory.level, BITS)
    found = {frozenset({texts[one], texts[other]}) for one, other in now.directory.neighbours.T.tolist()}
    assert found == oracle.neighbours(texts, BITS)
    cut = now.draft(4)
    assert cut.groups.sizes.min() >= 4
    owner = dict(zip(texts, cut.group.tolist(), strict=True))
    expected: dict[int, Counter[str]] = {}
    for row, secret in zip([*rows, *batch], [*secrets, *fresh], strict=True):
        mine = oracle.innermost(texts, oracle.text_of(row, BITS))
        expected.setdefault(owner[mine], Counter())[secret] += 1
    labels = now.units.domain.columns[0].labels.to_list()
    cells = cut.groups.histograms
    assert {
        group: Counter(
            {
                labels[cells.values[at]]: int(cells.counts[at])
                for at in range(cells.offsets[group], cells.offsets[group + 1])
            }
        )
        for group in range(cut.count)
    } == expected


def test_numbers_beyond_the_first_ones_lie_in_the_outer_cells():
    index = index_of([(at % 8, at // 8) for at in range(40)], 3)
    far = index.insert(table_of([(-1000, 3), (99, 7), (99, -5)]))
    assert far.directory.rows.sum() == 43
    x = far.space.axes[0].hierarchy.leaves.to_list()
    assert (x[0], x[-1]) == (-1000, 99)
    again = far.delete(table_of([(-1000, 3), (99, 7), (99, -5)]))
    assert again.directory.rows.sum() == 40


def towns(names: list[str | None], ages: list[float | None]) -> rt.Table:
    return rt.Table(
        pl.DataFrame({"age": ages, "town": names}, schema={"age": pl.Float64, "town": pl.String}),
        quasi=["age", "town"],
        nulls="category",
    )


def test_values_without_a_cell_are_told_with_the_way_out():
    index = rt.Bang(minimum=1).build(towns(["Aix", "Apt", None], [1.0, 2.0, 3.0]))
    with pytest.raises(DataError, match=r"'Arles', which was not known .* Build a new index"):
        index.insert(towns(["Arles"], [1.5]))
    with pytest.raises(DataError, match=r"'age' has missing values, .* Build a new index"):
        index.insert(towns(["Aix"], [None]))
    assert index.insert(towns([None], [1.5])).directory.rows.sum() == 4
    with pytest.raises(DataError, match="not in the index"):
        index.delete(towns(["Aix"], [2.0]))
    with pytest.raises(DataError, match="cannot become empty"):
        index.delete(towns(["Aix", "Apt", None], [1.0, 2.0, 3.0]))
    with pytest.raises(PolicyError, match="the same, in the same order"):
        index.insert(rt.Table(pl.DataFrame({"age": [1.0]}), quasi=["age"]))
    with pytest.raises(DataError, match="Cast it"):
        index.insert(rt.Table(pl.DataFrame({"age": [1], "town": ["Aix"]}), quasi=["age", "town"]))


def test_a_refused_split_is_tried_again_only_after_as_many_rows_as_a_block_needs(monkeypatch):
    """Rows in one cell can never be split; looking again at each of them would cost the square of their number."""
    from reticent.methods.bang import index_updates as changing

    tried = []
    divided = changing.PartialTrie.divided
    monkeypatch.setattr(changing.PartialTrie, "divided", lambda *given: tried.append(1) or divided(*given))
    now = index_of([(3, 3)] * 10, 5)
    for _ in range(40):
        now = now.insert(table_of([(3, 3)]))
    assert now.directory.rows.tolist() == [50]
    # Once at 15 (three times the smallest block), and then every five rows.
    assert len(tried) == 8


@pytest.mark.slow
def test_keys_of_several_words_and_compiled_loops(monkeypatch):
    from reticent.methods.bang import _kernels

    draw = np.random.default_rng(7)
    frames = [pl.DataFrame({f"x{at}": draw.integers(0, 64, n) for at in range(13)}) for n in (900, 400)]
    scales = {f"x{at}": list(range(1, 64)) for at in range(13)}
    found = []
    for first in (1, 10**9):
        monkeypatch.setattr(_kernels, "COMPILED_FROM", first)
        one, other = (rt.Table(frame, quasi=frame.columns) for frame in frames)
        now = rt.Bang(minimum=4, scales=scales).build(one).insert(other)
        back = now.delete(one)
        assert (now.directory.rows.min() >= 4, back.directory.rows.min() >= 4) == (True, True)
        assert (int(now.directory.rows.sum()), int(back.directory.rows.sum())) == (1300, 400)
        found.append((now.directory.lows.tolist(), back.directory.lows.tolist(), back.directory.rows.tolist()))
    assert found[0] == found[1]


def test_a_changed_index_is_saved_and_published_like_any_other(tmp_path):
    draw = np.random.default_rng(5)
    frame = pl.DataFrame(
        {"x": draw.integers(0, 90, 300), "y": draw.integers(0, 90, 300), "secret": draw.choice(["a", "b"], 300)}
    )
    first, more = (rt.Table(part, quasi=["x", "y"], sensitive="secret") for part in (frame[:200], frame[200:]))
    everybody = rt.Table(frame, quasi=["x", "y"], sensitive="secret", dataset="grown")
    grown = rt.Bang(minimum=4).build(first).insert(more)
    opened = rt.Bang.open(grown.save(tmp_path / "index"))
    assert opened.draft(9).groups.sizes.tolist() == grown.draft(9).groups.sizes.tolist()
    assert opened.insert(more).delete(more).directory.rows.sum() == 300
    book = tmp_path / "ledger.sqlite"
    release = rt.publish(everybody, rt.KAnonymity(4), method=rt.Bang(index=tmp_path / "index"), ledger=book)
    assert release.groups.sizes.tolist() == grown.draft(4).groups.sizes.tolist()
    # An index that is built of the same rows has other regions, so that its cuts are not cuts of this one.
    assert rt.Bang(minimum=4).build(everybody).fingerprint != grown.fingerprint
    with pytest.raises(LedgerError, match="was released already"):
        rt.publish(everybody, rt.KAnonymity(9), method=rt.Bang(minimum=4), ledger=book)
