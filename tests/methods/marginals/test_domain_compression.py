"""Domain compression: what is merged follows from noisy counts alone, nothing more is paid, and records get the declared cells back in proportion to the noisy counts."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import DataError
from reticent.methods.marginals.details import MarginalsDetails
from reticent.methods.marginals.domain_compression import (
    RARE_DEVIATIONS,
    DomainCompression,
    MergedCells,
    rare_groups,
)
from reticent.methods.marginals.noisy_table import Measurement, NoisyTable
from reticent.methods.marginals.selection import MaximumSpanningTree, PublicInputs
from reticent.methods.noisy_columns import PublicColumn
from reticent.methods.noisy_columns.columns import ranges
from reticent.table import Missing, Value, ValueType

pytest.importorskip("opendp")
COUNTS = st.lists(st.integers(-20, 40), min_size=1, max_size=9)


def listed(size: int, name: str = "a") -> PublicColumn:
    return PublicColumn(name, ValueType.INTEGER, tuple(Value(code) for code in range(size)))


@given(COUNTS)
def test_all_rare_values_are_one_group_and_the_missing_value_is_in_none(counts: list[int]) -> None:
    column = listed(len(counts) - 1).with_missing() if len(counts) > 1 else listed(1)
    groups = rare_groups(column, np.array(counts), 4.0)
    rare = {
        code
        for code, count in enumerate(counts)
        if count < RARE_DEVIATIONS * 4.0 and not isinstance(column.cells[code], Missing)
    }
    assert [set(group) for group in groups] == ([rare] if len(rare) > 1 else [])


@given(COUNTS)
def test_rare_ranges_are_merged_with_their_rare_neighbours_only(counts: list[int]) -> None:
    column = PublicColumn("a", ValueType.INTEGER, ranges(range(0, 10 * len(counts) + 1, 10)))
    groups = rare_groups(column, np.array(counts), 4.0)
    for group in groups:
        assert all(after == before + 1 for before, after in pairwise(group))
        assert all(counts[code] < 12 for code in group)
        for beside in (group[0] - 1, group[-1] + 1):
            assert not 0 <= beside < len(counts) or counts[beside] >= 12
    merged = MergedCells(len(counts), groups)
    numbers = pl.Series("a", range(10 * len(counts)))
    assert merged.column(column).encode(numbers).tolist() == merged.codes[column.encode(numbers)].tolist()


@given(COUNTS)
def test_a_merged_column_encodes_values_as_the_merged_cells_of_its_own(counts: list[int]) -> None:
    column = listed(len(counts))
    merged = MergedCells(len(counts), rare_groups(column, np.array(counts), 4.0))
    values = pl.Series("a", range(len(counts)))
    assert merged.column(column).size == merged.merged_size
    assert merged.column(column).encode(values).tolist() == merged.codes.tolist()


def test_groups_that_overlap_or_have_one_cell_are_refused() -> None:
    for groups in (((0, 1), (1, 2)), ((0,),), ((0, 3),)):
        with pytest.raises(rt.ReticentError):
            MergedCells(3, groups)
    with pytest.raises(DataError, match="not declared"):
        MarginalsDetails((listed(3),), _table(3).plan, "mst", "row", merged={"b": ((0, 1),)})


def _table(size: int) -> NoisyTable:
    table = NoisyTable(
        {"a": np.arange(size)}, {"a": size}, "rho", Fraction(1), 1, "add/remove", Context(randomness=Randomness(1))
    )
    table.measured(("a",), Fraction(1))
    return table


def test_a_merged_count_is_a_sum_with_the_variance_of_a_sum() -> None:
    merged = Measurement(("a",), np.array([5, -2, 90, 1]), 2.0).merged(MergedCells(4, ((0, 1, 3),)))
    assert merged.counts.tolist() == [4, 90]
    assert merged.precision == pytest.approx([1 / 12, 1 / 4])


def test_expanded_records_follow_the_shares_and_stay_in_their_merged_cell() -> None:
    merged = MergedCells(6, ((1, 2, 4, 5),))
    source = np.random.default_rng(1)
    codes = {"a": source.integers(0, 3, 6000), "b": source.integers(0, 2, 6000)}
    shares = np.array([50.0, 30.0, 10.0, 50.0, 0.0, 60.0])
    expanded = DomainCompression({"a": merged}, {"a": shares}).expanded(codes, (3,))
    assert expanded["b"].tolist() == codes["b"].tolist()
    assert merged.codes[expanded["a"]].tolist() == codes["a"].tolist()
    rare = expanded["a"][codes["a"] == 1]
    counts = np.bincount(rare, minlength=6)
    assert counts[4] == 0
    assert counts[[1, 2, 5]] / len(rare) == pytest.approx([0.3, 0.1, 0.6], abs=0.01)
    within = np.array([np.bincount(rare[codes["b"][codes["a"] == 1] == value], minlength=6) for value in (0, 1)])
    assert within / within.sum(axis=1, keepdims=True) == pytest.approx(
        np.array([[0, 0.3, 0.1, 0, 0, 0.6]] * 2), abs=0.04
    )


def test_cells_without_any_noisy_count_share_their_records_evenly() -> None:
    compression = DomainCompression({"a": MergedCells(3, ((0, 1, 2),))}, {"a": np.zeros(3)})
    expanded = compression.expanded({"a": np.zeros(900, dtype=np.int64)}, (3,))
    assert np.bincount(expanded["a"]) == pytest.approx([300] * 3, abs=10)


@pytest.mark.parametrize("currency", ["rho", "epsilon"])
def test_a_compressed_table_pays_from_the_same_budget_for_the_same_queries(currency: str) -> None:
    """The steps and their scales are those of the plan, whatever was merged: they do not depend on the records."""
    source = np.random.default_rng(2)
    plans = []
    for rare in (False, True):
        values = source.integers(0, 4, 4000) if not rare else np.minimum(source.geometric(0.9, 4000) - 1, 39)
        codes = {"a": values, "b": values % 2, "c": source.integers(0, 3, 4000)}
        table = NoisyTable(codes, {"a": 40, "b": 2, "c": 3}, currency, Fraction(2), 1, "add/remove", Context(randomness=Randomness(3)))  # type: ignore[arg-type]  # fmt: skip
        columns = [listed(size, name) for name, size in table.sizes.items()]
        fit = MaximumSpanningTree().fit(table, PublicInputs(columns), Context())
        assert "a" in fit.compression.columns
        assert table.sizes["a"] == 40
        assert table.plan.cost("add/remove") == table.spent <= 2
        plans.append([(step.kind, step.scale, len(step.columns)) for step in table.steps])
    assert plans[0] == plans[1]
    thirds = [
        sum(step.cost(table.currency, 1, "add/remove") for step in table.steps if chosen(step))
        for chosen in (
            lambda step: len(step.columns) == 1,
            lambda step: step.kind == "choose",
            lambda step: len(step.columns) == 2,
        )
    ]
    assert [float(third) for third in thirds] == pytest.approx([2 / 3] * 3, rel=1e-3)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Of 400 values of a column five are common; what comes with them in the other columns differs."""
    source = np.random.default_rng(1)
    post = np.where(source.random(6000) < 0.9, source.integers(0, 5, 6000), source.integers(5, 400, 6000))
    return pl.DataFrame({"post": post, "job": (post + (source.random(6000) < 0.1)) % 300}).with_columns(
        ill=pl.Series(np.where((post % 2 == 1) | (source.random(6000) < 0.2), "yes", "no"))
    )


@pytest.fixture(scope="module")
def release(frame: pl.DataFrame) -> rt.Release:
    table = rt.Table(frame, quasi=["post", "job"], sensitive="ill")
    domain = {
        "post": {"from": 0, "to": 399, "step": 1},
        "job": {"from": 0, "to": 299, "step": 1},
        "ill": ["no", "yes"],
    }
    return rt.publish(table, rt.UnboundedDP(2, "1e-6"), rt.Marginals("mst", domain), insecure_seed=5)


def test_pairs_count_rare_values_as_one_and_single_columns_count_each(release: rt.Release) -> None:
    shown = release.tables["marginals"]
    sizes = dict(shown.group_by("columns").len().iter_rows())
    assert sizes["post"] == 400
    assert sizes["job"] == 300
    pairs = {name: size for name, size in sizes.items() if ", " in name}
    assert len(pairs) == 2
    assert all(size <= 100 for size in pairs.values())


def test_what_is_merged_follows_from_the_published_counts(release: rt.Release, tmp_path: Path) -> None:
    details = MarginalsDetails.from_json(release.manifest.details)
    noisy = release.tables["marginals"]["noisy_count"].to_numpy()
    ends = np.cumsum([details.cells(step.columns) for step in details.measured])
    assert details.merged == details.rare_groups(np.split(noisy, ends[:-1]))
    assert MarginalsDetails.from_json(details.as_json()) == details
    public = release.save(tmp_path / "release") / "public"
    assert rt.verify(public).holds
    manifest = json.loads((public / "manifest.json").read_text())
    # Two rare values change places with their names.
    (group,) = manifest["details"]["merged"]["post"]
    common = next(code for code in range(5) if code not in group)
    manifest["details"]["merged"]["post"] = [sorted([*group[1:], common])]
    (public / "manifest.json").write_text(json.dumps(manifest))
    assert not rt.verify(public).holds


def test_synthetic_records_have_rare_values_as_often_as_the_noisy_counts_say(release: rt.Release) -> None:
    shown = release.tables["marginals"].filter(pl.col("columns") == "post")
    deviation = shown["standard_error"][0]
    frequency = np.bincount(release.frame["post"].to_numpy(), minlength=400)
    rare = shown["noisy_count"].to_numpy() < RARE_DEVIATIONS * deviation
    noisy = shown["noisy_count"].to_numpy()[rare]
    assert frequency[rare].sum() == pytest.approx(noisy.sum(), abs=5 * deviation * np.sqrt(rare.sum()))
    # The least-squares fit of counts that cannot be negative lowers all of them by the same number, or to none.
    lowered = (noisy - frequency[rare])[frequency[rare] > 2]
    assert lowered.std() < 2
    assert frequency[rare][noisy < lowered.min() - 2].max() <= 2


def test_counts_of_merged_marginals_have_intervals_with_the_true_count(
    release: rt.Release, frame: pl.DataFrame
) -> None:
    """A condition that divides a merged cell has an interval that is wider by that cell."""
    pair = next(name for name in release.tables["marginals"]["columns"].unique() if "post, " in name)
    other = "ill = 'yes'" if pair == "post, ill" else "job = 3"
    met = pl.col("ill") == "yes" if pair == "post, ill" else pl.col("job") == 3
    widths = []
    for condition, values in (("post = 3", pl.col("post") == 3), ("post >= 100", pl.col("post") >= 100)):
        interval = release.count(f"{condition} and {other}").interval
        assert interval is not None
        assert interval[0] <= frame.filter(values & met).height <= interval[1]
        widths.append(interval[1] - interval[0])
    assert widths[0] < widths[1]


def test_columns_of_declared_impossible_cells_are_not_merged() -> None:
    source = np.random.default_rng(1)
    frame = pl.DataFrame({"a": source.integers(0, 3, 500), "b": source.integers(0, 3, 500), "c": source.integers(0, 2, 500)})  # fmt: skip
    domain = {name: {"from": 0, "to": 30, "step": 1} for name in "abc"}
    table = rt.Table(frame, quasi=["a", "b"], sensitive="c")
    method = rt.Marginals("mst", domain, impossible=["a > 9 and b > 9"])
    release = rt.publish(table, rt.UnboundedDP(2, "1e-6"), method, insecure_seed=5)
    assert set(release.manifest.details["merged"]) == {"c"}
    assert release.frame.filter((pl.col("a") > 9) & (pl.col("b") > 9)).height == 0
