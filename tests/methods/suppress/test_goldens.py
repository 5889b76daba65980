"""The examples of the specification, with their exact values (KS-G1..8)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.methods.suppress.factors import by_factor, cycles, factor
from reticent.methods.suppress.forest import split
from tests.methods.suppress.instances import table_of, units_of
from tests.oracles.suppression import cost_of, optimum, printed_decompose

MEDICAL = pl.DataFrame(
    {
        "age": [47, 35, 27, 27],
        "race": ["White", "White", "Hispanic", "White"],
        "sex": ["Male", "Female", "Female", "Female"],
        "zip": ["21004", "21004", "92010", "92010"],
        "illness": ["Common Cold", "Flu", "Flu", "Hypertension"],
    }
)


@pytest.mark.parametrize("method", [rt.Suppress(k=2, algorithm=each) for each in ("auto", "forest", "factor")])
def test_the_medical_table_is_starred_as_printed(method):
    table = rt.Table(MEDICAL, quasi=["age", "race", "sex", "zip"], sensitive="illness")
    assert method.fit(table).cost == 6
    shown = rt.publish(table, rt.KAnonymity(2), method=method).frame
    assert shown.rows() == [
        ("*", "White", "*", "21004", "Common Cold"),
        ("*", "White", "*", "21004", "Flu"),
        ("27", "*", "Female", "92010", "Flu"),
        ("27", "*", "Female", "92010", "Hypertension"),
    ]


def test_two_columns_of_numbers_are_starred_as_printed():
    rows = [(20, 100), (22, 100), (60, 203), (60, 200), (60, 197)]
    found = rt.Suppress(k=2).fit(table_of(rows))
    assert found.cost == 5 == optimum(rows, 2)
    assert found.cells == {"q0": 2, "q1": 3}


def test_rows_that_all_differ_in_one_bit_are_hidden_altogether():
    rows = [tuple(map(int, each)) for each in ("1111", "0111", "1011", "1101", "1110")]
    found = rt.Suppress(k=5).fit(table_of(rows))
    assert found.cost == 20
    assert found.warnings == ("All rows are in one class and cannot be distinguished.",)


def test_a_hierarchy_of_qualities_costs_half_a_step():
    tree = {"A": ["A+", "A0", "A-"], "B": ["B+", "B0", "B-"]}
    grades = rt.Hierarchy.taxonomy({"all": tree})
    table = table_of([("A+",), ("A0",), ("B0",), ("B-",)], quasi={"q0": grades})
    found = rt.Suppress(k=2, hiding="hierarchy").fit(table)
    assert found.cost == 2
    assert rt.Suppress(k=2, exact=True, hiding="hierarchy").fit(table).cost == 2
    assert rt.Suppress(k=2).fit(table).cost == 4


def gadget(edges: list[tuple[int, int]], vertices: int) -> list[tuple[int, ...]]:
    bits = len(edges).bit_length()
    rows = []
    for rank, (a, b) in enumerate(edges, 1):
        row = []
        for place in reversed(range(bits)):
            block = [0] * vertices
            block[a - 1], block[b - 1] = (2, 1) if rank >> place & 1 else (1, 2)
            row += block
        rows.append(tuple(row))
    return rows


def test_the_hardness_gadget_has_the_printed_rows():
    rows = gadget([(3, 4), (1, 4), (1, 2), (1, 3), (2, 3)], 4)
    printed = ["001200120021", "100220011002", "120021002100", "201010201020", "021001200210"]
    assert ["".join(map(str, row)) for row in rows] == printed
    assert rt.Suppress(k=3, exact=True).fit(table_of(rows)).cost == 60


@pytest.mark.parametrize(
    ("edges", "vertices", "least"),
    [
        ([(1, 2), (1, 3), (2, 3)], 3, 18),
        ([(1, 2), (1, 3), (1, 4)], 4, 24),
        ([(1, 2), (1, 3), (2, 3), (4, 5), (4, 6), (5, 6)], 6, 54),
        ([(1, 2), (1, 3), (2, 3), (3, 4), (3, 5), (4, 5)], 5, 54),
        ([(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)], 4, 60),
    ],
)
def test_gadgets_of_graphs_have_their_optima(edges, vertices, least):
    rows = gadget(edges, vertices)
    assert optimum(rows, 3) == least
    if len(rows[0]) <= 12:
        assert rt.Suppress(k=3, exact=True).fit(table_of(rows)).cost == least


def test_a_plain_incidence_table_does_not_tell_triangle_from_star():
    triangle, star = [(1, 1, 0), (1, 0, 1), (0, 1, 1)], [(1, 1, 0, 0), (1, 0, 1, 0), (1, 0, 0, 1)]
    assert rt.Suppress(k=3).fit(table_of(triangle)).cost == 9
    assert rt.Suppress(k=3).fit(table_of(star)).cost == 9


@pytest.mark.parametrize(("k", "block", "truth"), [(3, 18, 18), (4, 64, 56), (5, 200, 150)])
def test_distances_alone_do_not_tell_the_cost(k, block, truth):
    """Two instances with the same distances between all rows, and other costs (KS-G6, E15)."""
    length = 2 ** (k - 2)
    blocks = [tuple(int(place // length == row) for place in range(k * length)) for row in range(k)]
    truths = [tuple(column >> row & 1 for column in range(2**k)) for row in range(k)]
    for rows, cost in ((blocks, block), (truths, truth)):
        units = units_of(rows, k)
        apart = units.distances(np.arange(k), np.arange(k))
        assert set(apart[~np.eye(k, dtype=bool)].tolist()) == {2 * length}
        assert units.cost(np.zeros(k, dtype=np.int64)) == cost


def test_a_spider_is_split_into_parts_that_are_large_enough():
    """Centre 0 with four arms of four; the printed algorithm emits a part of four rows for k = 5 (KS-G7, E17)."""
    parent = [-1] * 17
    for arm in range(4):
        for step in range(4):
            vertex = 1 + 4 * arm + step
            parent[vertex] = 0 if step == 0 else vertex - 1
    assert sorted(map(len, printed_decompose(parent, 4, 5, most=16))) == [5, 12]
    assert sorted(map(len, printed_decompose(parent, 4, 5))) == [4, 5, 8]
    for root in (0, 4):
        turned = _rooted(parent, root)
        sizes = sorted(map(len, split(np.array(turned), 5)))
        assert sum(sizes) == 17
        assert sizes[0] >= 5
        assert sizes[-1] <= 10
    assert sorted(map(len, split(np.array(parent), 5))) == [8, 9]


def test_the_printed_split_is_right_as_long_as_there_are_no_copies():
    """The first cut leaves enough rows on both sides; a cut of what has a copy may not (E17)."""
    draw = np.random.default_rng(17)
    for _ in range(100):
        parent = [-1, *(int(draw.integers(max(v - 5, 0), v)) for v in range(1, 24))]
        first = printed_decompose(parent, 0, 5, most=23)
        assert [len(first), sum(map(len, first))] == [2, 24]
        assert min(map(len, first)) >= 5


def _rooted(parent: list[int], root: int) -> list[int]:
    """The same tree with another root."""
    turned, vertex, before = list(parent), root, -1
    while vertex >= 0:
        above = turned[vertex]
        turned[vertex] = before
        vertex, before = above, vertex
    return turned


def test_a_cycle_of_eight_is_cut_into_two_runs_of_four():
    rows = [tuple(map(int, each)) for each in ("0000", "0001", "0011", "0111", "1111", "1110", "1100", "1000")]
    units = units_of(rows, 3)
    everybody = np.arange(8)
    apart = units.distances(everybody, everybody)
    chosen = factor(apart, 2, Context())
    assert int(apart[chosen[:, 0], chosen[:, 1]].sum()) == 8
    group = by_factor(units, Context())
    assert cost_of(rows, group.tolist()) == 24 == optimum(rows, 3)
    if len(list(cycles(chosen, 8))) == 1:
        assert sorted(np.bincount(group).tolist()) == [4, 4]
    fitted = rt.Suppress(k=3, algorithm="factor").fit(table_of(rows))
    assert (fitted.cost, fitted.factor) == (24, Fraction(2))


def test_the_wildcard_reading_is_not_k_anonymity():
    """(a,1), (a,2), (a,2): one star satisfies the wildcard reading, and the person (a,1) fits one row only (002, 7.2)."""
    table = table_of([("a", 1), ("a", 2), ("a", 2)])
    found = rt.Suppress(k=2).fit(table)
    assert found.sdcmicro_count == 1
    assert found.cost == 3
    with pytest.raises(rt.PolicyError, match=r"wildcard.*never certified"):
        rt.Suppress(k=2, reading="wildcard")
