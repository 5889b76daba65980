"""Columns as lines of cells: numbers, dates, categories and missing values, and what is said about settings that do not fit."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.engine import count_table
from reticent.errors import Infeasible, PolicyError
from reticent.methods.bang.cell_space import GridSpace, RankAxis
from reticent.methods.grouping import CutOrder, column_cells
from reticent.release import open_public
from tests.sampling import examples

numbers = st.one_of(st.integers(-(10**15), 10**15), st.floats(-1e12, 1e12, allow_nan=False))


@given(
    values=st.lists(st.one_of(st.none(), numbers.map(float)), min_size=1, max_size=30),
    scale=st.sampled_from(["equal", "quantile"]),
)
@settings(max_examples=60)
def test_every_value_lies_in_the_range_of_its_cell(values, scale):
    table = rt.Table(pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}), quasi=["x"], nulls="category")
    units = count_table(table)
    axis = GridSpace.of(units.hierarchies, {"x": scale}, units.column_sizes).axes[0]
    assert axis.cell_of.min() >= 0
    assert axis.cell_of.max() < axis.cells
    ranges = sorted({(int(cell), int(cell) + 1) for cell in axis.cell_of})
    _, meanings, shown = axis.described(np.array(ranges))
    low, high = (each.to_list() for each in axis.bounds(np.array(ranges)))
    for value, cell in zip(axis.hierarchy.leaves.to_list(), axis.cell_of.tolist(), strict=True):
        place = ranges.index((cell, cell + 1))
        if value is None:
            assert cell == 0
            continue
        assert low[place] is None or low[place] <= value
        assert high[place] is None or value < high[place]
        assert rt.table.LeafIndex.of(pl.Series([value]), "x").under(meanings[shown[place]]).tolist() == [0]


texts = st.one_of(
    st.sampled_from(["*", "NULL", "{a, b}", "a", "b", "{a, b, c and 2 more}", "any of them #2", "x" * 50]),
    st.text("abc ,{}", max_size=20),
)


@given(
    values=st.lists(st.one_of(st.none(), texts), min_size=1, max_size=14, unique=True),
    inner=st.lists(st.integers(0, 3), min_size=14, max_size=14),
    names=st.permutations(["any of them", "a", "{a, b}", "others"]),
    ends=st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=12),
)
@examples(200)
def test_runs_of_categories_are_described_as_sets_of_their_values(values, inner, names, ends):
    parts = {
        name: [each for at, each in enumerate(values) if each is not None and inner[at] == number]
        for number, name in enumerate(names)
    }
    tree = {name: held for name, held in parts.items() if held}
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.String)})
    hierarchy = rt.Hierarchy.taxonomy({"everything": tree}) if tree else rt.Hierarchy.suppression()
    bound = rt.Table(frame, quasi={"x": hierarchy}, nulls="category").hierarchies[0]
    order = CutOrder.of(bound)
    runs = np.array([sorted((one % (bound.size + 1), other % (bound.size + 1))) for one, other in ends])
    runs = runs[runs[:, 0] < runs[:, 1]]
    labels, meanings, of_run = order.runs(runs[:, 0], runs[:, 1])
    leaves = [order.leaf_at[low:high] for low, high in runs.tolist()]
    owner = np.repeat(np.arange(len(runs)), np.diff(runs, axis=1).ravel())
    cells = column_cells(bound, np.concatenate([*leaves, np.zeros(0, dtype=np.int64)]), owner, len(runs), "ranges")
    assert (labels, meanings) == (list(cells.labels), list(cells.meanings))
    assert of_run.tolist() == cells.of_group.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "values",
    [
        pl.Series([-(2**63), 2**63 - 1, 0, 5] * 3),
        pl.Series([-1.7e308, 1.7e308, 0.0, 5e-324] * 3),
        pl.Series([datetime.date(1, 1, 1), datetime.date(9999, 12, 31), datetime.date(2000, 2, 29)] * 4),
    ],
)
def test_the_ends_of_a_type_are_values_like_others(values):
    table = rt.Table(values.to_frame("x"), quasi=["x"])
    release = rt.publish(table, rt.KAnonymity(3), method=rt.Bang(minimum=3))
    assert [release.reader.at(x=value) for value in values] == rt.apply(release, values.to_frame("x"))[
        "group"
    ].to_list()


def test_values_that_are_told_apart_in_no_cell_stay_together():
    table = rt.Table(pl.DataFrame({"x": [1, 1, 1, 1, 50, 50, 50, 50]}), quasi=["x"])
    assert rt.Bang(minimum=2).build(table).draft(2).groups.sizes.tolist() == [4, 4]


def test_categories_lie_in_the_order_of_their_hierarchy():
    tree = rt.Hierarchy.taxonomy({"*": {"Engineer": ["Civil", "Computer"], "Doctor": ["GP", "Specialist"]}})
    frame = pl.DataFrame({"job": ["GP", "Civil", "Specialist", "Computer"] * 3})
    axis = RankAxis.of(rt.Table(frame, quasi={"job": tree}).hierarchies[0])
    labels, _, shown = axis.described(np.array([(0, 2), (2, 4), (0, 4), (3, 4)]))
    assert shown.tolist() == [0, 1, 2, 3]
    assert [set(label.strip("{}").split(", ")) for label in labels[:2]] == [{"Civil", "Computer"}, {"GP", "Specialist"}]
    assert labels[2] == "*"


def test_dates_and_missing_values_go_the_whole_way(tmp_path):
    day = datetime.date(2020, 1, 1)
    born = [None if i % 5 == 0 else day + datetime.timedelta(days=37 * i % 900) for i in range(40)]
    frame = pl.DataFrame({"born": born, "ok": [i % 3 == 0 for i in range(40)], "s": ["a", "b"] * 20})
    table = rt.Table(frame, quasi=["born", "ok"], sensitive="s", nulls="category")
    release = rt.publish(table, rt.KAnonymity(4), method=rt.Bang(minimum=2), ledger=tmp_path / "l.sqlite")
    folder = release.save(tmp_path / "r")
    assert rt.verify(folder).holds
    regions = open_public(folder).reader
    for row, group in zip(frame.iter_rows(named=True), rt.apply(folder, frame)["group"], strict=True):
        assert regions.at(born=row["born"], ok=row["ok"]) == group


def test_breakpoints_are_the_ends_of_regions():
    frame = pl.DataFrame({"age": list(range(20, 60))})
    release = rt.publish(
        rt.Table(frame, quasi=["age"]), rt.KAnonymity(10), method=rt.Bang(scales={"age": [30, 40, 50]})
    )
    assert sorted(release.frame["age"].unique()) == ["< 30", ">= 50", "[30, 40)", "[40, 50)"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"minimum": 0}, "minimum"),
        ({"order": "best"}, "order must be one of balanced, gridclus, closest"),
        ({"guard": "none"}, "guard must be one of quasi, sensitive"),
        ({"scales": {"age": "log"}}, "'equal', 'quantile' or a list"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings, said):
    with pytest.raises(PolicyError, match=said):
        rt.Bang(**settings)


@pytest.mark.parametrize(
    ("scales", "said"),
    [
        ({"ages": "equal"}, "not a quasi column"),
        ({"age": [40, 30]}, "a rising list"),
        ({"age": []}, "a rising list"),
        ({"town": [1]}, "does not hold numbers or dates"),
    ],
)
def test_a_scale_that_does_not_fit_its_column_is_named(scales, said):
    table = rt.Table(pl.DataFrame({"age": [1, 2, 3], "town": ["a", "b", "c"]}), quasi=["age", "town"])
    with pytest.raises(PolicyError, match=said):
        rt.Bang(scales=scales).build(table)


def test_tables_that_cannot_be_indexed_are_refused():
    with pytest.raises(PolicyError, match="no quasi columns"):
        rt.Bang().build(rt.Table(pl.DataFrame({"s": ["a"]}), quasi=[], sensitive="s"))
    frame = pl.DataFrame({"age": [20, 30, 40], "s": ["a", "b", "a"]})
    with pytest.raises(Infeasible):
        rt.publish(rt.Table(frame, quasi=["age"], sensitive="s"), rt.KAnonymity(5), method=rt.Bang())
    with pytest.raises(PolicyError, match="fail for their union"):
        rt.publish(rt.Table(frame, quasi=["age"], sensitive="s"), rt.MUnique(2), method=rt.Bang())
    wide = pl.DataFrame({"age": pl.Series([2**64 - 1, 3], dtype=pl.UInt64)})
    with pytest.raises(PolicyError, match="64 bits"):
        rt.publish(rt.Table(wide, quasi=["age"]), rt.KAnonymity(2), method=rt.Bang())
    limited = rt.Hierarchy.intervals([10], domain=(0, 99)).limited(min_level=1)
    with pytest.raises(PolicyError, match="limits the levels"):
        rt.publish(rt.Table(frame, quasi={"age": limited}), rt.KAnonymity(2), method=rt.Bang())


def test_a_guard_on_sensitive_values_cuts_finer_and_says_what_it_does_not_promise():
    draw = np.random.default_rng(3)
    frame = pl.DataFrame(
        {
            "x": draw.integers(0, 99, 400),
            "y": draw.integers(0, 99, 400),
            "s": draw.choice(["a", "b", "c"], 400, p=[0.8, 0.1, 0.1]),
        }
    )
    table, wanted = rt.Table(frame, quasi=["x", "y"], sensitive="s"), rt.KAnonymity(5) & rt.DistinctLDiversity(2)
    plain, guarded = (rt.publish(table, wanted, method=rt.Bang(guard=guard)) for guard in ("quasi", "sensitive"))
    assert len(guarded.groups) > len(plain.groups)
    told = [" ".join(each.certificate["residual_risks"]) for each in (plain, guarded)]
    assert ["do not hold against an attacker who knows the algorithm" in text for text in told] == [False, True]
    # Without a guard, classes are those of one k for all, however the values lie.
    index = rt.Bang().build(table)
    k = plain.manifest.details["k"]
    assert sorted(plain.groups.sizes.tolist()) == sorted(index.draft(k).groups.sizes.tolist())
    assert not wanted.holds(index.draft(k - 1).groups)


def test_missing_values_may_be_a_class_of_their_own_and_move_no_end():
    frame = pl.DataFrame({"age": [None] * 60 + [17] * 11 + list(range(17, 90)), "s": ["a", "b"] * 72})
    table = rt.Table(frame, quasi=["age"], sensitive="s", nulls="category")
    regions = rt.publish(table, rt.KAnonymity(10), method=rt.Bang()).tables["regions"]
    alone = regions.filter(pl.col("age") == "(missing)")
    assert alone.select("age from", "age below", "age missing").rows() == [(None, None, "only")]
    ends = {*regions["age from"].drop_nulls(), *regions["age below"].drop_nulls()}
    assert 80 in ends
