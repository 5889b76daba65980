"""Mapping, regions and blocks: the values of the specification, and an index by hand on small grids."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reticent.methods.bang import _kernels
from reticent.methods.bang.cell_space import common_bits, halvings_of, order_of_keys
from reticent.methods.bang.dendrogram import ORDERS, Dendrogram
from reticent.methods.bang.directory import BangDirectory
from tests.methods.bang.grids import directory_of, space_of, tables, texts_of
from tests.oracles import bang as oracle
from tests.sampling import campaign


def test_bits_are_interleaved_as_in_the_worked_example():
    space = space_of(2, 4, 3)
    keys = space.keys(np.array([[0b10], [0b0110], [0b110]]))
    assert int(keys[0, 0]) >> (64 - 9) == 0b101011100 == 348
    assert [axis + 1 for axis, _ in space.halvings] == [1, 2, 3, 1, 2, 3, 2, 3, 2]


def test_keys_longer_than_a_word_keep_their_order():
    space = space_of(*[6] * 13)
    assert (space.depth, space.words) == (78, 2)
    cells = np.random.default_rng(3).integers(0, 64, (13, 300))
    keys = space.keys(cells)
    texts = [oracle.text_of(tuple(each), [6] * 13) for each in cells.T.tolist()]
    order = order_of_keys(keys)
    assert [texts[place] for place in order] == sorted(texts)
    shared = common_bits(keys[:, order])
    pairs = zip(sorted(texts), sorted(texts)[1:], strict=False)
    assert shared.tolist() == [next((at for at in range(78) if one[at] != other[at]), 128) for one, other in pairs]


@given(bits=st.lists(st.integers(0, 4), min_size=1, max_size=4))
def test_halvings_take_turns(bits):
    assert [axis for axis, _ in halvings_of(bits)] == oracle.axis_order(bits)


def fixture() -> BangDirectory:
    """The regions of the lost Figure 3.6: A is everything, B, D and G lie in it, C in B, E and F in D."""
    texts = {"A": "", "D": "00", "F": "0001", "E": "0010", "B": "01", "C": "0111", "G": "1000"}
    level = np.array([len(text) for text in texts.values()])
    lows = np.array([[_number(text[axis::2], 2) for text in texts.values()] for axis in (0, 1)])
    space = space_of(2, 2)
    return BangDirectory(space, *space.boxes(lows, level), level, np.array([-1, 0, 1, 1, 0, 4, 0]), np.ones(7))


def _number(bits: str, most: int) -> int:
    return int(bits.ljust(most, "0") or "0", 2)


def test_blocks_have_the_volumes_of_the_figure():
    assert fixture().volumes.tolist() == [0.4375, 0.125, 0.0625, 0.0625, 0.1875, 0.0625, 0.0625]
    assert fixture().volumes.sum() == 1


def test_a_cluster_is_a_region_of_its_own_where_no_straight_cut_would_do():
    points = [(0.55, 0.55), (0.55, 0.60), (0.60, 0.55), (0.1, 0.2), (0.2, 0.9), (0.9, 0.1)]
    rows = [(int(32 * x), int(32 * y)) for x, y in points]
    made, texts = directory_of(rows, (5, 5), 3)
    assert dict(zip(texts, made.rows.tolist(), strict=True)) == {"": 3, format(3, "02b"): 3}


@pytest.mark.parametrize(("more", "expected"), [([], {"": 11}), ([0.9], {"": 12}), ([0.9, 0.95], {"0": 8, "1": 5})])
def test_a_split_that_leaves_too_few_is_refused(more, expected):
    points = [0.02, 0.05, 0.1, 0.2, 0.27, 0.3, 0.4, 0.45, 0.6, 0.7, 0.8, *more]
    made, texts = directory_of([(int(256 * x),) for x in points], (8,), 5)
    assert dict(zip(texts, made.rows.tolist(), strict=True)) == expected


@given(table=tables)
@settings(max_examples=150)
def test_the_index_is_the_one_made_by_hand(table):
    bits, rows, minimum = table
    made, texts = directory_of(rows, bits, minimum)
    expected = oracle.build(rows, bits, minimum)
    assert dict(zip(texts, made.rows.tolist(), strict=True)) == {each: len(mine) for each, mine in expected.items()}
    assert texts == sorted(texts)
    # Blocks part all cells among themselves, and everybody is in the innermost region.
    assert made.volumes.tolist() == [float(oracle.volume(list(expected), each)) for each in texts]
    assert made.volumes.sum() == pytest.approx(1)
    assert all(oracle.innermost(texts, row) == each for each, mine in expected.items() for row in mine)
    around = [oracle.innermost([other for other in texts if other != each], each) for each in texts]
    assert [None if at < 0 else texts[at] for at in made.encloser.tolist()] == around


@given(table=tables, seed=st.integers(0, 9))
@settings(max_examples=40)
def test_the_order_of_rows_changes_nothing(table, seed):
    bits, rows, minimum = table
    one, texts = directory_of(rows, bits, minimum)
    shuffled = [rows[at] for at in np.random.default_rng(seed).permutation(len(rows))]
    other, again = directory_of(shuffled, bits, minimum)
    assert (texts, one.rows.tolist()) == (again, other.rows.tolist())


@given(
    rows=st.sets(st.tuples(st.integers(0, 31), st.integers(0, 31)), min_size=1, max_size=60), minimum=st.integers(1, 6)
)
@settings(max_examples=60)
def test_blocks_of_distinct_cells_have_fewer_than_three_times_the_smallest_number(rows, minimum):
    """Some half of those that are visited has more than a third of the rows and at most two thirds, so that a block of 3 M rows is always split."""
    made, _ = directory_of(sorted(rows), (5, 5), minimum)
    if len(made) > 1 or len(rows) >= minimum:
        assert made.rows.min() >= minimum
    assert made.rows.max() <= max(3 * minimum - 1, 1)


@given(table=tables)
@settings(max_examples=60)
def test_neighbours_share_a_face(table):
    bits, rows, minimum = table
    made, texts = directory_of(rows, bits, minimum)
    found = [frozenset({texts[one], texts[other]}) for one, other in made.neighbours.T.tolist()]
    expected = oracle.neighbours(texts, bits)
    assert len(found) == len(set(found))
    assert set(found) == expected


@pytest.mark.parametrize("how", ["balanced", *(pytest.param(each, marks=pytest.mark.slow) for each in ORDERS[1:])])
def test_compiled_loops_build_the_same_as_plain_ones(how, monkeypatch):
    count = 900 if campaign() else 500
    rows = np.random.default_rng(5).integers(0, 64, (3, count))
    found = []
    for first in (1, 10**9):
        monkeypatch.setattr(_kernels, "COMPILED_FROM", first)
        made, owner = BangDirectory.built(space_of(6, 6, 6), list(rows), np.ones(count, dtype=np.int64), 4)
        merged = Dendrogram.of(made, how).pairs.tolist()
        found.append((texts_of(made.lows, made.level, (6, 6, 6)), owner.tolist(), made.neighbours.tolist(), merged))
    assert found[0] == found[1]


def test_blocks_partition_the_cells_and_have_from_the_minimum_to_three_times_it():
    """O7 on distinct cells: every cell is in one block, volumes add up to one, and no block has fewer than M or more than 3 M - 1 rows."""
    draw = np.random.default_rng(11)
    for bits, minimum in (((4, 4), 3), ((3, 3, 3), 4), ((2, 3, 2, 2), 2), ((8,), 5)):
        every = np.array(list(oracle.cells(bits)))
        for share in (0.2, 0.6, 1.0):
            rows = [tuple(each) for each in every[draw.random(len(every)) < share].tolist()]
            if len(rows) < minimum:
                continue
            made, texts = directory_of(rows, bits, minimum)
            assert made.rows.sum() == len(rows)
            assert made.rows.min() >= minimum
            assert made.rows.max() <= 3 * minimum - 1
            assert made.volumes.sum() == pytest.approx(1)
            held = Counter(oracle.innermost(texts, oracle.text_of(tuple(cell), bits)) for cell in every.tolist())
            assert None not in held
            sizes = {text: many / len(every) for text, many in held.items()}
            assert [sizes[text] for text in texts] == pytest.approx(made.volumes.tolist())
            mine = Counter(oracle.innermost(texts, oracle.text_of(row, bits)) for row in rows)
            assert [mine[text] for text in texts] == made.rows.tolist()
