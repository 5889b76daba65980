"""The lower bound on loss: never above the least loss of any partition, equal to it for few records, below the loss of every method."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.core import FrequencySet
from reticent.definitions import GroupDefinition
from reticent.engine import count_table
from reticent.errors import Cancelled
from reticent.release.group_demands import bound_under
from reticent.utility import (
    QUICK,
    REPORTED,
    THOROUGH,
    BoundEffort,
    DemandedValues,
    GroupDemand,
    LabelSpace,
    MeasuredUtility,
    bound_sentence,
    dual_certificate,
    listed_utility,
    loss_bound,
    lower_bound,
)
from reticent.utility._kernels import cheapest_boxes, nearest_records
from reticent.utility.lower_bound import SortedPoints
from tests.oracles.loss_optimum import group_loss, least_loss

SEXES = ["f", "m", "x"]


@st.composite
def small_tables(draw: st.DrawFn, most: int = 7) -> tuple[pl.DataFrame, list[str], GroupDefinition, int, int]:
    """A few records with one to four quasi columns and a sensitive one; a definition with its k and its l."""
    size, columns = draw(st.integers(2, most)), draw(st.integers(1, 4))
    frame: dict[str, Any] = {}
    for number in range(columns):
        numeric = draw(st.booleans())
        values = st.integers(0, 6) if numeric else st.sampled_from(SEXES)
        if numeric and draw(st.booleans()):
            values = st.one_of(values, st.none())
        column = draw(st.lists(values, min_size=size, max_size=size))
        frame[f"q{number}"] = pl.Series(column, dtype=pl.Int64 if numeric else pl.String)
    frame["s"] = draw(st.lists(st.sampled_from("abc"), min_size=size, max_size=size))
    k, diversity = draw(st.integers(2, 4)), draw(st.integers(1, 3))
    definition: GroupDefinition = rt.KAnonymity(k)
    if diversity > 1:
        definition = definition & rt.DistinctLDiversity(diversity)
    return pl.DataFrame(frame), list(frame)[:-1], definition, k, diversity


def optimum(frame: pl.DataFrame, quasi: list[str], k: int, diversity: int, ranges: bool) -> Fraction:
    """The least loss by going through all partitions."""
    rows, secrets = frame.select(quasi).rows(), frame["s"].to_list()
    leaves = [sorted(set(column), key=lambda value: (value is None, value)) for column in zip(*rows, strict=True)]
    numeric = [frame[name].dtype.is_numeric() for name in quasi]
    assert not ranges or all(numeric)

    def passes(group: list[int]) -> bool:
        return len(group) >= k and len({secrets[place] for place in group}) >= diversity

    found = least_loss(rows, leaves, passes, ranges)
    assert found is not None
    return found


def table_of(frame: pl.DataFrame, quasi: list[str]) -> rt.Table:
    return rt.Table(frame, quasi=quasi, sensitive="s", nulls="category")


@settings(max_examples=60, deadline=None)
@given(small_tables())
def test_few_records_are_solved_exactly(
    drawn: tuple[pl.DataFrame, list[str], GroupDefinition, int, int],
) -> None:
    frame, quasi, definition, k, diversity = drawn
    table = table_of(frame, quasi)
    counted = count_table(table)
    for ranges in (False, True):
        if ranges and not all(frame[name].dtype.is_numeric() for name in quasi):
            continue
        least, found = optimum(frame, quasi, k, diversity, ranges), bound_under(table, definition, counted, ranges)
        assert found.exact
        assert Fraction(found.value) <= least <= Fraction(found.value) + Fraction(1, 10**9)


@settings(max_examples=80, deadline=None)
@given(small_tables(), st.sampled_from([QUICK, REPORTED, THOROUGH]))
def test_the_general_bound_is_never_above_the_optimum(
    drawn: tuple[pl.DataFrame, list[str], GroupDefinition, int, int], effort: BoundEffort
) -> None:
    frame, quasi, _, k, diversity = drawn
    counted = count_table(table_of(frame, quasi))
    demand = GroupDemand(tuple(range(len(quasi))), max(k, diversity), {"s": diversity})
    for ranges in (False, True):
        if ranges and not all(frame[name].dtype.is_numeric() for name in quasi):
            continue
        found = loss_bound(counted, [demand], ranges=ranges, effort=effort)
        assert Fraction(found.value) <= optimum(frame, quasi, k, diversity, ranges)


def random_table(size: int = 60, seed: int = 1) -> rt.Table:
    chance = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": chance.integers(20, 60, size),
            "sex": chance.choice(SEXES, size),
            "town": chance.choice(list("ABCDEFG"), size),
            "s": chance.choice(list("abc"), size),
        }
    )
    return rt.Table(frame, quasi=["age", "sex", "town"], sensitive="s")


@pytest.mark.parametrize(
    "method",
    [
        rt.Mondrian(values="sets"),
        rt.Mondrian(values="ranges", effort="best"),
        rt.Mondrian(values="hierarchy"),
        rt.Mondrian(values="typical"),
        rt.Mondrian(ties="divide"),
        rt.Lattice(suppression="0.2"),
        rt.Datafly(),
        rt.Bang(),
        rt.Suppress(),
        rt.Cellular(),
        rt.Gather(),
    ],
    ids=lambda method: type(method).__name__ + getattr(method, "values", ""),
)
def test_no_method_loses_less_than_the_bound(method: Any) -> None:
    utility = rt.publish(random_table(), rt.KAnonymity(4), method=method).utility
    assert 0 < utility["loss_bound"] <= utility["loss"]
    if getattr(method, "values", "") in ("ranges", "typical"):
        assert utility["loss_bound"] < utility["loss_bound_ranges"] <= utility["loss"]


def test_values_published_as_they_are_lose_nothing() -> None:
    released = rt.publish(random_table(), rt.DistinctLDiversity(2), method=rt.Anatomy())
    assert released.utility["loss"] == released.utility["loss_bound"] == 0


def test_sets_of_known_columns_add_up() -> None:
    table = random_table()
    apart = rt.Table(table.frame, quasi=["age", "sex", "town"], sensitive="s", quasi_sets=[["age"], ["sex", "town"]])
    together, single = (rt.publish(each, rt.KAnonymity(8), method=rt.Mondrian()).utility for each in (table, apart))
    assert single["loss_bound"] <= single["loss"]
    assert single["loss_bound"] < together["loss_bound"]


def test_any_columns_bound_every_block_of_so_many() -> None:
    table = random_table(30)
    utility = rt.publish(table, rt.AnyColumns(2, rt.KAnonymity(10)), method=rt.Mondrian()).utility
    assert 0 < utility["loss_bound"] <= utility["loss"]


def test_more_is_demanded_more_is_lost() -> None:
    table, bounded = random_table(), []
    for definition in (rt.KAnonymity(2), rt.KAnonymity(5), rt.KAnonymity(5) & rt.DistinctLDiversity(3)):
        bounded.append(bound_under(table, definition, count_table(table)).value)
    assert bounded == sorted(bounded)
    assert bounded[0] < bounded[1]


def test_what_cannot_be_published_costs_everything() -> None:
    table = random_table(20)
    demand = GroupDemand((0, 1, 2), 21, {})
    assert loss_bound(count_table(table), [demand]).value == pytest.approx(1)
    assert loss_bound(count_table(table), [GroupDemand((0, 1, 2), 2, {"s": 4})]).value == pytest.approx(1)


def test_compiled_loops_and_arrays_agree() -> None:
    counted, demand = count_table(random_table(200)), GroupDemand((0, 1, 2), 5, {"s": 3})
    by_arrays, by_loops = (
        [loss_bound(counted, [demand], ranges=ranges, effort=effort).value for ranges in (False, True)]
        for effort in (QUICK, replace(QUICK, arrays=False))
    )
    assert by_loops == pytest.approx(by_arrays)


@settings(max_examples=40, deadline=None)
@given(small_tables(12), st.booleans(), st.integers(0, 2**32 - 1))
def test_points_that_are_skipped_together_are_not_among_the_nearest(
    drawn: tuple[pl.DataFrame, list[str], GroupDefinition, int, int], ranges: bool, seed: int
) -> None:
    """Shares and radii of the compiled loops are those of all pairs, whatever the prices."""
    frame, quasi, _, k, diversity = drawn
    if not demanded(frame, k, diversity) or (ranges and not all(frame[name].dtype.is_numeric() for name in quasi)):
        return
    counted = count_table(table_of(frame, quasi))
    space = LabelSpace.of(counted, tuple(range(len(quasi))), ranges)
    apart = space.all_distances
    secrets = [set(counted.histograms.values[counted.histograms.owners == point]) for point in range(len(counted))]
    chance = np.random.default_rng(seed)
    for prices in (np.ones(len(counted)), chance.uniform(0.01, 1, len(counted))):
        near = nearest_of(counted, space, k, diversity, prices)
        for point, price in enumerate(prices):
            shares = np.repeat(apart[point] * price / (price + prices), counted.sizes)
            own = int(np.flatnonzero(np.repeat(np.arange(len(counted)), counted.sizes) == point)[0])
            expected = np.sort(np.delete(shares, own))[: k - 1]
            assert near[0][point] == pytest.approx(expected.sum())
            assert near[1][point] == pytest.approx(expected[-1])
            reached = [
                distance
                for distance in sorted(set(apart[point]))
                if len(set().union(*(secrets[other] for other in np.flatnonzero(apart[point] <= distance))))
                >= diversity
            ]
            assert near[2][point] == pytest.approx(reached[0])


def nearest_of(counted: FrequencySet, space: LabelSpace, k: int, diversity: int, prices: Any) -> tuple[Any, Any, Any]:
    """For every point the sum and the largest of its ``k - 1`` smallest shares, and the distance to ``diversity`` sensitive values, by the compiled loops."""
    sorted_points = SortedPoints.of(space)
    starts, values = sorted_cells(counted, sorted_points.ranks)
    own, needed = values[None, :], np.array([diversity])
    ordered = prices[sorted_points.order]
    tops, sizes = sorted_points.tops(ordered), counted.sizes[sorted_points.order]
    points = (sorted_points.codes, sorted_points.weights, sorted_points.spanned, sorted_points.ends)
    sums, last, radii = (np.empty(len(counted)) for _ in range(3))
    nearest_records(*points, tops, sizes, ordered, sorted_points.ranks, k - 1, starts, own, needed, sums, last, radii)
    return sums, last, radii


def test_a_bound_tells_of_its_progress_and_stops_on_request() -> None:
    counted, demand = count_table(random_table(400)), GroupDemand((0, 1, 2), 5, {"s": 2})
    stages: list[str] = []
    context = rt.Context(listen=lambda event: stages.append(event.stage))
    found = loss_bound(counted, [demand], context=context)
    assert set(stages) == {"bounding the loss: nearest records", "bounding the loss: cheapest labels"}
    assert found == loss_bound(counted, [demand])
    stages.clear()
    stopping = replace(context, stop=lambda: len(set(stages)) == 2)
    with pytest.raises(Cancelled, match="cheapest labels"):
        loss_bound(counted, [demand], context=stopping)


def test_a_report_computes_less_than_reading_the_bound() -> None:
    counted, demand = count_table(random_table(800)), GroupDemand((0, 1, 2), 5, {"s": 2})
    least, reported, best = (
        loss_bound(counted, [demand], effort=effort).value
        for effort in (replace(REPORTED, comparisons=1), REPORTED, THOROUGH)
    )
    assert 0 <= least < reported <= best


def demanded(frame: pl.DataFrame, k: int, diversity: int) -> bool:
    """Whether the whole table satisfies what is demanded of groups."""
    return frame.height >= k and frame["s"].n_unique() >= diversity


def sorted_cells(counted: FrequencySet, ranks: Any) -> tuple[Any, Any]:
    """Where the cells of each point begin and the sensitive values of all cells, with the points in the order of their ``ranks``."""
    owners = ranks[counted.histograms.owners]
    order = np.argsort(owners, kind="stable")
    starts = np.searchsorted(owners[order], np.arange(len(counted) + 1))
    return starts, counted.histograms.values[order].astype(np.int64)


def boxes_of(counted: FrequencySet, space: LabelSpace, k: int, diversity: int, effort: int) -> Any:
    """The cheapest box of every point with ``k`` records and ``diversity`` sensitive values, by the compiled loops."""
    starts, values = sorted_cells(counted, np.arange(len(counted)))
    boxes, every = np.empty(len(counted)), np.arange(len(counted))
    given = (space.codes, space.weights, space.spanned, counted.sizes, every, k)
    cheapest_boxes(*given, starts, values, diversity, counted.domain.size, effort, boxes)
    return boxes


@settings(max_examples=60, deadline=None)
@given(small_tables(8), st.booleans(), st.sampled_from([0, 5, 1000]))
def test_boxes_are_the_cheapest_that_cover_a_record_and_k(
    drawn: tuple[pl.DataFrame, list[str], GroupDefinition, int, int], ranges: bool, effort: int
) -> None:
    frame, quasi, _, k, diversity = drawn
    if not demanded(frame, k, diversity) or (ranges and not all(frame[name].dtype.is_numeric() for name in quasi)):
        return
    counted = count_table(table_of(frame, quasi))
    space = LabelSpace.of(counted, tuple(range(len(quasi))), ranges)
    boxes = boxes_of(counted, space, k, diversity, effort)
    rows, secrets = frame.select(quasi).rows(), frame["s"].to_list()
    leaves = [sorted(set(column), key=lambda value: (value is None, value)) for column in zip(*rows, strict=True)]
    # Points are compared by their costs: the records of one have the same cheapest box.
    expected = sorted(
        min(
            group_loss([rows[place] for place in group], leaves, ranges)
            for size in range(k, len(rows) + 1)
            for group in combinations(range(len(rows)), size)
            if record in group and len({secrets[place] for place in group}) >= diversity
        )
        for record in range(len(rows))
    )
    found = sorted(np.repeat(boxes, counted.sizes).tolist())
    assert all(mine <= float(least) + 1e-12 for mine, least in zip(found, expected, strict=True))
    if effort == 1000:
        assert found == pytest.approx([float(least) for least in expected])


@settings(max_examples=40, deadline=None)
@given(small_tables(8), st.booleans())
def test_dual_prices_are_certified_by_fractions(
    drawn: tuple[pl.DataFrame, list[str], GroupDefinition, int, int], ranges: bool
) -> None:
    """Every group of any size that meets the demand is worth at most what it costs, in fractions, and without sensitive values the prices add up to more than the cheapest boxes give."""
    frame, quasi, _, k, diversity = drawn
    if not demanded(frame, k, diversity) or (ranges and not all(frame[name].dtype.is_numeric() for name in quasi)):
        return
    counted = count_table(table_of(frame, quasi))
    space = LabelSpace.of(counted, tuple(range(len(quasi))), ranges)
    cells = counted.histograms
    point_of = np.repeat(cells.owners, cells.counts)
    secrets = np.repeat(cells.values, cells.counts)
    values = [DemandedValues(diversity, secrets)] if diversity > 1 else []
    certificate = dual_certificate(space, point_of, k, values)
    labels = [hierarchy.leaves.to_list() for hierarchy in counted.hierarchies]
    rows = [tuple(values[codes[p]] for values, codes in zip(labels, counted.codes, strict=True)) for p in point_of]
    prices = [Fraction(price, certificate.scale) for price in certificate.prices]
    assert all(0 <= price <= 1 for price in prices)
    for size in range(k, len(rows) + 1):
        for group in combinations(range(len(rows)), size):
            if len({secrets[place] for place in group}) < diversity:
                continue
            worth = sum((prices[place] for place in group), Fraction(0))
            assert worth <= size * group_loss([rows[place] for place in group], labels, ranges)
    boxes = boxes_of(counted, space, k, 1, 1000)
    assert diversity > 1 or float(certificate.value) >= float(counted.sizes @ boxes) / counted.rows - 1e-6


def test_some_dozens_of_records_are_bounded_by_linear_programming(monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(18)
    priced = bound_under(table, rt.KAnonymity(4), count_table(table))
    monkeypatch.setattr(lower_bound, "is_affordable", lambda records, rows, values: False)
    assert bound_under(table, rt.KAnonymity(4), count_table(table)).value < priced.value < 1


def test_a_sampled_bound_states_its_confidence() -> None:
    counted, demand = count_table(random_table(3000)), GroupDemand((0, 1, 2), 10, {})
    whole = loss_bound(counted, [demand])
    sampled = loss_bound(counted, [demand], effort=replace(THOROUGH, comparisons=3 * len(counted) * 400))
    assert whole.confidence == 1
    assert whole.sampled is None
    assert sampled.confidence == lower_bound.CONFIDENCE
    assert 0 < sampled.value < whole.value


def test_bounds_are_computed_when_they_are_read(tmp_path: Path) -> None:
    release = rt.publish(random_table(), rt.KAnonymity(4), method=rt.Mondrian())
    saved = release.save(tmp_path / "before") / "private" / "utility.json"
    assert "loss_bound" not in json.loads(saved.read_text())
    assert "loss_bound" not in list(release.utility)
    assert "loss_bound" in release.utility
    quick = listed_utility(release.utility)["loss_bound"]
    assert 0 < quick <= release.utility["loss_bound"]
    saved = release.save(tmp_path / "after") / "private" / "utility.json"
    assert json.loads(saved.read_text())["loss_bound"] == release.utility["loss_bound"]


def test_screens_do_not_wait_for_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower_bound, "_QUICK", 0)
    utility = rt.publish(random_table(), rt.KAnonymity(4), method=rt.Mondrian()).utility
    assert bound_sentence(utility) is None
    assert utility["loss_bound"] > 0
    assert str(bound_sentence(utility)).startswith(f"Loss {utility['loss']:.4f}; no release by groups")


def test_figures_of_a_mechanism_have_no_bound() -> None:
    utility = MeasuredUtility({"standard_error": 1.0})
    assert "loss_bound" not in utility
    assert bound_sentence(utility) is None
    with pytest.raises(KeyError):
        utility["loss_bound"]


def test_a_report_says_that_more_can_be_proven_until_it_was() -> None:
    utility = rt.publish(random_table(), rt.KAnonymity(4), method=rt.Mondrian()).utility
    assert isinstance(utility, MeasuredUtility)
    reported = utility.reported()
    assert "read utility[" in str(bound_sentence(reported, final=utility.is_final))
    assert utility["loss_bound"] >= reported["loss_bound"] > 0
    assert "read utility[" not in str(bound_sentence(utility.reported(), final=utility.is_final))
    assert utility.reported()["loss_bound"] == utility["loss_bound"]


def test_the_sentence_names_a_sample() -> None:
    told = bound_sentence({"loss": 0.2, "loss_bound": 0.1, "loss_bound_ranges": 0.15, "loss_bound_confidence": 0.999})
    assert told == (
        "Loss 0.2000; no release by groups under this definition can be below 0.1000, and none that publishes numbers as ranges below 0.1500 "
        "(with confidence 99.9%, from a sample of the records)."
    )
