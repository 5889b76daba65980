"""The local search of ``effort="best"``: what it finds passes every definition, costs no more than the cuts, and no less than the best partition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.engine import count_table
from reticent.errors import Infeasible, ParameterError, PolicyError
from reticent.methods.mondrian import Mondrian, _kernels, box_points, local_search
from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.box_points import BoxPoints
from reticent.table import Hierarchy, Table
from reticent.utility import utility_of
from tests.methods.grouping.local_worlds import LocalWorld
from tests.methods.mondrian.test_twin import CASES, HARD, ON_NUMBERS, ON_PEOPLE, ON_VALUES, judged_by_readers, published
from tests.oracles.mondrian import Column, Recoded
from tests.sampling import campaign, examples, first

BEST = Mondrian(values="ranges", effort="best")


def wide(rows: int = 240, columns: int = 12, seed: int = 1) -> pl.DataFrame:
    """People of a few kinds that agree in most columns: no single cut tells the kinds apart."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 10, (rows // 8, columns))
    values = np.repeat(kinds, 8, axis=0) + rng.integers(0, 2, (rows // 8 * 8, columns))
    frame = pl.DataFrame({f"c{j}": values[:, j] for j in range(columns)})
    return frame.with_columns(secret=pl.Series(rng.choice(["a", "b", "c"], frame.height, p=[0.8, 0.1, 0.1])))


def wide_table(**options: int) -> Table:
    frame = wide(**options)
    return Table(frame, quasi=[name for name in frame.columns if name != "secret"], sensitive="secret")


@pytest.mark.parametrize("case", first(CASES, 14))
def test_groups_found_by_search_pass_every_definition_for_readers(case):
    rng, found, drawn = random.Random(f"search {case}"), 0, 0
    while found < (20 if campaign() else 4):
        drawn += 1
        assert drawn < 1000, "Hardly any world can be cut."
        people, numbers = case in ON_PEOPLE, case in ON_NUMBERS
        world = LocalWorld.draw(
            rng,
            numbers=numbers,
            columns=rng.randint(1, 2) if case in ON_VALUES else 1,
            missing=not people,
            persons=False,
            varied=case in HARD,
        )
        definition, demand = CASES[case](world)
        table, beside = world.table(private=not numbers), world.people if people else []
        columns, seed = world.columns(beside), rng.randrange(10**6)
        ties = rng.choice(["keep", "keep", "divide"]) if world.unit == "row" and not people else "keep"
        method = Mondrian(
            split=rng.choice(["span", "loss"]),
            ties=ties,
            values=rng.choice(["sets", "ranges", "hierarchy"]),
            suppression=rng.choice([0, "0.5"]),
            effort="best",
        )
        try:
            plain = method._splits_only.draft(table, definition, Context(Randomness(seed)))
        except Infeasible:
            continue
        draft = method.draft(table, definition, Context(Randomness(seed)))
        made = Recoded(published(draft, columns), draft.evidence.compared_with)
        judged_by_readers(made, demand, world, columns, beside)
        assert utility_of(draft)["loss"] == pytest.approx(float(world.loss(made.cells, columns)))
        if not plain.suppressed:
            assert utility_of(draft)["loss"] <= utility_of(plain)["loss"] + 1e-9, (case, method, world)
        found += len(draft.evidence.published) > 1


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All ways to put items into groups."""
    if not items:
        yield []
        return
    head, *rest = items
    for smaller in partitions(rest):
        for place, group in enumerate(smaller):
            yield [*smaller[:place], [head, *group], *smaller[place + 1 :]]
        yield [[head], *smaller]


def share(column: Column, held: set, values: str) -> float:
    return (len(column.cell(held, values)) - 1) / max(len(column.leaves) - 1, 1)


@pytest.mark.parametrize("values", ["sets", "ranges", "hierarchy"])
def test_it_never_loses_less_than_the_best_partition_and_mostly_as_little(values):
    rng = random.Random(values)
    reached = []
    for _ in range(40 if campaign() else 14):
        size, least = rng.randint(4, 8), rng.choice([2, 3])
        world = LocalWorld.draw(rng, missing=True)
        world.rows, world.frame, world.sets = world.rows[:size], world.frame[:size], None
        columns = world.columns([])
        distinct = rng.choice([1, 2])
        definition = KAnonymity(least) & DistinctLDiversity(distinct)

        def loss(groups: list[list[int]], world: LocalWorld = world, columns: list[Column] = columns) -> float:
            shares = [
                len(group) * share(column, {world.rows[place].quasi[j] for place in group}, values)
                for group in groups
                for j, column in enumerate(columns)
            ]
            return sum(shares) / len(world.rows) / len(columns)

        def passes(group: list[int], world: LocalWorld = world, least: int = least, distinct: int = distinct) -> bool:
            return len(group) >= least and len({world.rows[place].values for place in group}) >= distinct

        every = [groups for groups in partitions(range(len(world.rows))) if all(map(passes, groups))]
        method = Mondrian(values=values, ties="divide", effort="best")
        try:
            draft = method.draft(world.table(private=True), definition, Context(Randomness(1)))
        except Infeasible:
            assert not every
            continue
        optimum, plain = min(map(loss, every)), method._splits_only.draft(world.table(private=True), definition)
        assert optimum - 1e-9 <= utility_of(draft)["loss"]
        reached.append(utility_of(draft)["loss"] <= optimum + 1e-9)
        assert len(plain.evidence.published)
    assert sum(reached) >= 0.9 * len(reached)
    assert len(reached) >= 8


@examples(60)
@given(st.integers(0, 10**9), st.sampled_from(["sets", "ranges", "hierarchy"]))
def test_the_cost_in_the_loops_is_the_loss_of_the_release(seed, values):
    rng = random.Random(seed)
    world = LocalWorld.draw(rng, missing=True)
    units, columns = count_table(world.table()), world.columns([])
    points = BoxPoints.of(units, values, KAnonymity(1), np.ones(len(columns)))
    group = np.array([rng.randrange(3) for _ in range(len(units))])
    _, group = np.unique(group, return_inverse=True)
    found = _kernels.partition_cost(points, np.arange(len(units)), group, int(group.max()) + 1) / units.rows
    held: dict[int, list[set]] = {}
    leaves = [hierarchy.leaves.to_list() for hierarchy in units.hierarchies]
    for unit, own in enumerate(group.tolist()):
        sets = held.setdefault(own, [set() for _ in columns])
        for j, codes in enumerate(units.codes):
            sets[j].add(leaves[j][codes[unit]])
    rows = Counter(np.repeat(group, units.sizes).tolist())
    lost = sum(
        rows[own] * share(column, sets[j], values) for own, sets in held.items() for j, column in enumerate(columns)
    )
    always = sum(1 / (len(column.leaves) - 1) for column in columns if len(column.leaves) > 1)
    assert found == pytest.approx(lost / units.rows / len(columns) + always / len(columns))


@examples(60)
@given(st.integers(0, 10**9), st.sampled_from(["sets", "ranges", "hierarchy"]), st.booleans())
def test_many_boxes_widened_at_once_cost_what_each_costs(seed, values, listed):
    rng = random.Random(seed)
    world = LocalWorld.draw(rng, missing=True)
    units = count_table(world.table())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(box_points, "_MOST_PAIRS", 1 << 20 if listed else 0)
        points = BoxPoints.of(units, values, KAnonymity(1), np.ones(len(units.codes)))
    assert (points.pairs >= 0).any() == (listed and values == "hierarchy" and len(points.pairs) > 0)
    groups = _kernels.empty_boxes(points, 3)
    for unit in range(len(units)):
        _kernels.join(points, groups, rng.randrange(3), unit)
    boxes, costs = _kernels.box_columns(groups.low, groups.high, groups.bits, np.arange(3)), np.empty(3)
    for unit in range(len(units)):
        _kernels.costs_with(points, boxes, points.low[unit], points.high[unit], points.bits[unit], costs)
        assert costs == pytest.approx([_kernels.cost_with(points, groups, own, unit, np.inf) for own in range(3)])


@examples(40)
@given(st.integers(0, 10**9), st.sampled_from(["sets", "ranges", "hierarchy"]))
def test_after_the_exchange_no_unit_gains_by_another_group(seed, values):
    """Pairs that are not examined again, and pairs that are ruled out by the costs of smaller boxes, would not have gained."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.integers(0, 7, 40) for name in ("a", "b", "c")})
    levels = Hierarchy.intervals(widths=[2, 4], origin=0, domain=(0, 7))
    units = count_table(Table(frame, quasi=dict.fromkeys(frame.columns, levels)))
    points = BoxPoints.of(units, values, KAnonymity(3), np.ones(3))
    pool = np.arange(len(units))
    label = np.zeros(len(pool), dtype=np.int64)
    count = _kernels.gather(points, pool, 0, label)
    reached = _kernels.exchange(points, pool, label, count)

    def cost(own: np.ndarray) -> float:
        enough = (np.bincount(own, units.sizes, count) >= 3).all()
        return _kernels.partition_cost(points, pool, own, count) if enough else np.inf

    assert reached == pytest.approx(cost(label))
    for unit in pool:
        for group in range(count):
            moved = label.copy()
            moved[unit] = group
            assert cost(moved) > reached - 1e-6
        for other in pool:
            swapped = label.copy()
            swapped[[unit, other]] = label[[other, unit]]
            assert cost(swapped) > reached - 1e-6


SHARES = {
    "confidence": KAnonymity(4) & rt.ConfidenceBounding("1/2", ["a"]),
    "categories": KAnonymity(4) & rt.CategoryDiversity("2/3", [["a", "b"], ["c"]]),
    "distinct": KAnonymity(4) & DistinctLDiversity(3),
    "both": rt.ConfidenceBounding("0.4", ["c", "b"]) & DistinctLDiversity(2) & KAnonymity(3),
}


@pytest.mark.parametrize("case", SHARES)
def test_the_loops_know_of_values_and_shares_what_the_definition_says(case):
    frame = wide().with_columns(secret=pl.Series(np.random.default_rng(5).choice(["a", "b", "c"], 240)))
    table = Table(frame, quasi=[f"c{j}" for j in range(12)], sensitive="secret")
    definition, units = SHARES[case], count_table(table)
    points, judge = BoxPoints.of(units, "ranges", definition, np.ones(12)), CutJudge(units, definition)
    rng = np.random.default_rng(7)
    seen = set()
    for size in [1, 2, 3, 4, 5, 6, 7, 8] * 20:
        chosen = rng.choice(len(units), size, replace=False)
        fails = bool(judge.failing(chosen, np.zeros(size, dtype=np.int64), 1)[0])
        groups = _kernels.empty_boxes(points, 1)
        for unit in chosen[:-1]:
            _kernels.join(points, groups, 0, unit)
        assert _kernels.is_enough(points, groups, 0, int(units.sizes[chosen].sum()), chosen[-1]) != fails
        seen.add(fails)
    assert seen == {True, False}


def test_gathered_groups_that_fail_are_merged_until_none_does():
    table, definition = wide_table(), KAnonymity(4) & rt.TCloseness("0.35")
    units = count_table(table)
    points, judge = BoxPoints.of(units, "ranges", definition, np.ones(12)), CutJudge(units, definition)
    members, label = np.arange(len(units)), np.zeros(len(units), dtype=np.int64)
    count = _kernels.gather(points, members, 0, label)
    assert judge.failing(members, label, count).any()
    mended = local_search._with_failing_merged(points, members, label, judge)
    left = int(mended.max()) + 1
    assert 1 < left < count
    assert not judge.failing(members, mended, left).any()
    assert len(set(zip(label.tolist(), mended.tolist(), strict=True))) == count, "Groups are merged, never divided."


def test_it_finds_kinds_that_no_cut_tells_apart():
    table = wide_table()
    quick, best = BEST._splits_only.draft(table, KAnonymity(4)), BEST.draft(table, KAnonymity(4))
    assert utility_of(best)["loss"] < 0.75 * utility_of(quick)["loss"]


def test_the_same_table_gives_the_same_release():
    frames = [BEST.draft(wide_table(), KAnonymity(4)).tables["data"].frame() for _ in range(2)]
    assert frames[0].equals(frames[1])


def test_large_tables_are_searched_in_blocks_that_keep_apart_what_a_hierarchy_does(monkeypatch):
    monkeypatch.setattr(local_search, "_BLOCK", 60)
    frame = wide().with_columns(part=pl.Series(["north", "south"] * 120))
    limited = Hierarchy.suppression().limited(max_level=0)
    table = Table(frame, quasi={**dict.fromkeys(f"c{j}" for j in range(12)), "part": limited}, sensitive="secret")
    definition = KAnonymity(4) & DistinctLDiversity(2)
    quick, best = BEST._splits_only.draft(table, definition), BEST.draft(table, definition)
    assert set(best.tables["data"].frame()["part"]) == {"north", "south"}
    assert definition.holds(best.evidence.published)
    assert utility_of(best)["loss"] < 0.9 * utility_of(quick)["loss"]


@pytest.mark.parametrize("why", ["person", "population", "together"])
def test_where_boxes_must_not_overlap_it_cuts(why):
    frame, quasi = wide(), [f"c{j}" for j in range(12)]
    table = Table(frame, quasi=quasi, sensitive="secret")
    if why == "person":
        frame = pl.concat([frame.with_row_index("person")] * 2)
        table = Table(frame, quasi=quasi, sensitive="secret", key="person", unit="person")
    definitions = {
        "person": KAnonymity(4),
        "population": rt.KMap(4, frame.select(quasi)),
        "together": KAnonymity(4) & rt.AverageRisk("0.2"),
    }
    quick, best = (method.draft(table, definitions[why]) for method in (BEST._splits_only, BEST))
    assert quick.tables["data"].frame().equals(best.tables["data"].frame())


def test_a_release_with_overlapping_boxes_is_counted_applied_verified_and_attacked(tmp_path):
    table = wide_table()
    release = rt.publish(table, KAnonymity(4) & DistinctLDiversity(2), method=BEST)
    assert rt.verify(release.save(tmp_path / "r")).holds
    sizes = release.frame.group_by(list(table.quasi)).agg(pl.len(), pl.col("secret").n_unique().alias("values"))
    assert sizes["len"].min() >= 4
    assert sizes["values"].min() >= 2
    for low in range(0, 9, 2):
        low_, high = release.count(f"c0 between {low} and {low + 2} and c1 >= 4").bounds
        true = table.frame.filter(pl.col("c0").is_between(low, low + 2) & (pl.col("c1") >= 4)).height
        assert low_ <= true <= high
    assert sorted(rt.apply(release, table.frame).rows()) == sorted(release.frame.rows())
    assert rt.attack(release, raw=table.frame).table.height


def test_a_short_limit_starts_from_the_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Greedy groups of a whole block cannot be interrupted, so they are not begun if they would take most of the time."""

    def refused(*_: object) -> int:
        raise AssertionError("greedy groups were begun")

    table, definition = Table(wide(), quasi=[f"c{j}" for j in range(12)], sensitive="secret"), KAnonymity(5)
    cut = utility_of(Mondrian(values="ranges").draft(table, definition))["loss"]
    monkeypatch.setattr(_kernels, "gather", refused)
    assert utility_of(replace(BEST, seconds=0).draft(table, definition))["loss"] <= cut
    with pytest.raises(AssertionError, match="greedy groups were begun"):
        replace(BEST, seconds=60).draft(table, definition)


def test_time_is_a_limit_and_what_was_found_until_then_holds():
    table, definition = wide_table(), KAnonymity(4) & DistinctLDiversity(2)
    hurried = Mondrian(values="ranges", effort="best", seconds=0).draft(table, definition)
    assert definition.holds(hurried.evidence.published)
    assert utility_of(hurried)["loss"] <= utility_of(BEST._splits_only.draft(table, definition))["loss"]
    good = Mondrian(values="ranges", effort="good").draft(table, definition)
    assert utility_of(BEST.draft(table, definition))["loss"] <= utility_of(good)["loss"] <= utility_of(hurried)["loss"]
    with pytest.raises(PolicyError, match="effort='best'"):
        Mondrian(seconds=3, values="sets")
    with pytest.raises(ParameterError, match="at least 0"):
        Mondrian(effort="best", seconds=-1, values="sets")


@pytest.mark.parametrize("effort", ["quick", "best"])
@pytest.mark.parametrize("split", ["span", "loss"])
def test_columns_with_a_weight_stay_sharper(split, effort):
    table = wide_table()

    def losses(**options: object) -> dict[str, float]:
        draft = Mondrian(values="ranges", split=split, effort=effort, **options).draft(table, KAnonymity(4))
        return dict(utility_of(draft).loss_by_column)

    plain, weighted = losses(), losses(weights={"c3": 20})
    assert weighted["c3"] < 0.7 * plain["c3"]
    with pytest.raises(PolicyError, match="'c33', which is not a quasi column"):
        losses(weights={"c33": 2})


def test_what_was_asked_is_described_and_read_back():
    method = Mondrian(values="ranges", effort="best", seconds=2.5, weights={"age": 3})
    told = method.describe()
    assert {name: told[name] for name in ("effort", "seconds", "weights")} == {
        "effort": "best",
        "seconds": 2.5,
        "weights": {"age": 3},
    }
    assert Mondrian(**{name: value for name, value in told.items() if name != "name"}) == method
    assert not {"effort", "seconds", "weights"} & Mondrian(values="sets").describe().keys()
