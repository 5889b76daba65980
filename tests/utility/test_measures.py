"""Every measure beside its definition, row by row, and the published figures of the worked examples."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from reticent.core import FrequencySet, RegionColumn, Regions
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Anything, Interval
from reticent.utility import (
    ReleaseSummary,
    average_group_size,
    cp,
    discernibility,
    height,
    kl,
    kl_mixture,
    loss,
    loss_geometric,
    measure_all,
    ncp,
    non_uniform_entropy,
)
from tests.oracles import utility_rows as oracle
from tests.sampling import examples
from tests.utility.making import World, region_summary, summary_of, worlds


def picture_of(world: World) -> ReleaseSummary:
    return summary_of(world.frequencies, world.levels, world.suppressed)


@examples(80)
@given(worlds())
def test_every_measure_is_what_its_definition_gives_row_by_row(world: World) -> None:
    picture, rows = picture_of(world), world.as_rows()
    weights = world.column_weights()
    assert picture.suppressed == sum(row.cells is None for row in rows.rows)
    assert loss(picture, world.weights) == pytest.approx(oracle.loss(rows, weights))
    assert loss_geometric(picture, world.weights) == pytest.approx(oracle.loss_geometric(rows, weights))
    assert discernibility(picture) == oracle.discernibility(rows)
    assert average_group_size(picture) == pytest.approx(oracle.average_group_size(rows))
    assert non_uniform_entropy(picture, world.weights) == pytest.approx(
        oracle.non_uniform_entropy(rows, weights), abs=1e-9
    )
    assert ncp(picture, world.weights) == pytest.approx(oracle.ncp(rows, weights))
    assert cp(picture, world.weights) == pytest.approx(oracle.cp(rows, weights))
    assert kl(picture) == pytest.approx(oracle.kl(rows), abs=1e-9)
    assert kl(picture, sensitive=False) == pytest.approx(oracle.kl(rows, sensitive=False), abs=1e-9)
    for sensitive in (True, False):
        mixed = kl_mixture(picture, sensitive)
        assert mixed == pytest.approx(oracle.kl_mixture(rows, sensitive), abs=1e-9)
        assert -1e-9 <= mixed <= kl(picture, sensitive) + 1e-9


@examples(30)
@given(worlds(suppression=False))
def test_divergence_is_the_sum_over_the_whole_domain(world: World) -> None:
    expected = oracle.kl_over_domain(world.as_rows(), ["flu", "hiv", "asthma"])
    assert kl(picture_of(world)) == pytest.approx(expected, abs=1e-9)


@examples(40)
@given(worlds(suppression=False))
def test_divergence_is_nothing_for_the_table_itself_and_grows_along_hierarchies(world: World) -> None:
    bottom = (0,) * len(world.levels)
    assert kl(summary_of(world.frequencies, bottom)) == pytest.approx(0, abs=1e-12)
    here = kl(picture_of(world))
    assert here >= -1e-12
    for column, hierarchy in enumerate(world.table.hierarchies):
        if world.levels[column] < hierarchy.height:
            above = tuple(level + (place == column) for place, level in enumerate(world.levels))
            assert kl(summary_of(world.frequencies, above)) >= here - 1e-12


@examples(40)
@given(worlds())
def test_regions_that_spell_out_a_generalization_look_like_it(world: World) -> None:
    ids, count = world.frequencies.group_ids(world.levels)
    general = world.frequencies.generalize(world.levels)
    kept = ~world.suppressed
    labels, meanings = [], []
    for hierarchy, level, codes in zip(world.table.hierarchies, world.levels, general.codes, strict=True):
        labels.append(tuple(hierarchy.levels[level].labels[code] for code in codes[kept]))
        meanings.append(tuple(hierarchy.levels[level].meanings[code] for code in codes[kept]))
    numbers = np.where(kept, np.cumsum(kept) - 1, -1)
    assert len(numbers) == count
    local = region_summary(world.frequencies, regions_of(world.frequencies, numbers[ids], labels, meanings))
    expected = measure_all(picture_of(world), world.weights)
    del expected["height"]
    assert measure_all(local, world.weights) == pytest.approx(expected, abs=1e-9)


@examples(40)
@given(worlds(suppression=False))
def test_buckets_cost_only_the_link_to_the_sensitive_value(world: World) -> None:
    picture = summary_of(world.frequencies, world.levels, exact=True)
    assert loss(picture) == ncp(picture) == 0
    assert non_uniform_entropy(picture) == pytest.approx(0, abs=1e-9)
    assert kl(picture, sensitive=False) == pytest.approx(0, abs=1e-9)
    buckets: dict[object, list[tuple[object, object]]] = {}
    for row in world.as_rows().rows:
        buckets.setdefault(row.cells, []).append((row.values, row.sensitive))
    assert kl(picture) == pytest.approx(oracle.kl_of_buckets(list(buckets.values())), abs=1e-9)


def twelve_patients() -> Table:
    rows = [
        ("13053", 28, "Russian", "H"),
        ("13068", 29, "American", "H"),
        ("13068", 21, "Japanese", "V"),
        ("13053", 23, "American", "V"),
        ("14853", 50, "Indian", "C"),
        ("14853", 55, "Russian", "H"),
        ("14850", 47, "American", "V"),
        ("14850", 49, "American", "V"),
        ("13053", 31, "American", "C"),
        ("13053", 37, "Indian", "C"),
        ("13068", 36, "Japanese", "C"),
        ("13068", 35, "American", "C"),
    ]
    frame = pl.DataFrame(rows, schema=["zip", "age", "nationality", "condition"], orient="row")
    quasi = {
        "zip": Hierarchy.masking(5, keep=[5, 4, 3, 0]),
        "age": Hierarchy.cuts([[41]]),
        "nationality": Hierarchy.suppression(),
    }
    return Table(frame, quasi=quasi, sensitive="condition")


def test_the_three_diverse_version_has_the_published_figures() -> None:
    """Golden G3 of spec 000b: domains are zip 4, ages 12, nationalities 4."""
    table = twelve_patients()
    assert [hierarchy.size for hierarchy in table.hierarchies] == [4, 12, 4]
    frequencies = count_table(table)
    found = measure_all(summary_of(frequencies, (1, 1, 1)))
    assert (found["height"], found["average_group_size"], found["discernibility"]) == (3, 4, 48)
    assert found["kl"] == pytest.approx(4.5 * math.log(2), abs=1e-12)
    base = (5 * math.log(38.4) + 4 * math.log(48) + 3 * math.log(64)) / 12
    assert kl(summary_of(frequencies, (3, 2, 1))) == pytest.approx(base, abs=1e-12)
    assert base == pytest.approx(3.850145, abs=1e-6)


def regions_of(frequencies: FrequencySet, group: np.ndarray, labels: list, meanings: list) -> Regions:
    """Points sent to groups, each with a label and a meaning in every column."""
    columns = []
    for hierarchy, texts, meant in zip(frequencies.hierarchies, labels, meanings, strict=True):
        cells = dict(zip(texts, meant, strict=True))
        shown = pl.Series(hierarchy.column, list(cells), dtype=pl.String)
        of_group = np.array([list(cells).index(text) for text in texts], dtype=np.int64)
        given = Hierarchy.suppression()
        columns.append(RegionColumn(hierarchy.column, given, hierarchy.leaves, shown, tuple(cells.values()), of_group))
    return Regions(tuple(columns), frequencies.codes, group)


def static_fixture() -> tuple[Table, Regions]:
    """Spec 004, section 6.1: six people, two classes with their bounding boxes."""
    frame = pl.DataFrame(
        {
            "age": [62, 51, 48, 59, 77, 66],
            "zip": [44120, 44190, 44100, 44470, 44420, 44420],
            "gender": ["F", "M", "M", "F", "M", "M"],
            "disease": ["Flu", "Flu", "HIV", "Flu", "Gastritis", "HIV"],
        }
    )
    table = Table(frame, quasi=["age", "zip", "gender"], sensitive="disease")
    frequencies = count_table(table)
    ages = table.hierarchies[0].leaves.gather(frequencies.codes[0]).to_list()
    first = {62, 51, 48}
    group_of_point = np.array([0 if age in first else 1 for age in ages])
    boxes = (
        (Interval(48, 62, "both"), Interval(59, 77, "both")),
        (Interval(44100, 44190, "both"), Interval(44420, 44470, "both")),
        (Anything(), Anything()),
    )
    labels = (("[48-62]", "[59-77]"), ("441XX", "444XX"), ("*", "*"))
    return table, regions_of(frequencies, group_of_point, labels, boxes)


def test_the_static_fixture_has_the_published_penalties() -> None:
    table, regions = static_fixture()
    picture = region_summary(count_table(table), regions)
    assert discernibility(picture) == 18
    assert cp(picture) == pytest.approx(10.44548, abs=1e-5)
    assert ncp(picture) == pytest.approx(10.44548 / 18, abs=1e-5)


def test_overlapping_regions_explain_a_row_together() -> None:
    table = Table(pl.DataFrame({"age": [1, 2, 2, 3]}), quasi={"age": Hierarchy.intervals([2], domain=(1, 4))})
    frequencies = count_table(table)
    left, right = Interval(1, 2, "both"), Interval(2, 3, "both")
    picture = region_summary(
        frequencies, regions_of(frequencies, np.array([0, 0, 1]), [("1-2", "2-3")], [(left, right)])
    )
    # Points 1, 2, 3 have 1, 2, 1 rows; the groups have 3 rows over {1, 2} and 1 row over {2, 3}.
    expected = (math.log(1 / (3 / 2)) + 2 * math.log(2 / (3 / 2 + 1 / 2)) + math.log(1 / (1 / 2))) / 4
    assert kl_mixture(picture) == pytest.approx(expected)
    assert kl_mixture(picture) < kl(picture)


def test_one_class_for_all_costs_everything() -> None:
    frequencies = count_table(twelve_patients())
    top = summary_of(frequencies, (3, 2, 1))
    assert loss(top) == loss_geometric(top) == ncp(top) == 1
    assert cp(top) == 12 * 3
    assert discernibility(top) == 144


def test_measuring_does_not_wait_for_the_reader_of_conditions() -> None:
    script = "import sys, reticent.utility; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_local_recoding_has_no_height() -> None:
    table, regions = static_fixture()
    picture = region_summary(count_table(table), regions)
    assert "height" not in measure_all(picture)
    with pytest.raises(PolicyError, match="full-domain"):
        height(picture)


def test_above_a_floor_nothing_is_compared_with_the_original_values() -> None:
    frequencies = count_table(twelve_patients(), floor=(1, 0, 0))
    picture = summary_of(frequencies, (1, 1, 1))
    exact = summary_of(count_table(twelve_patients()), (1, 1, 1))
    assert loss(picture) == loss(exact)
    assert ncp(picture) == ncp(exact)
    assert "kl" not in measure_all(picture)
    with pytest.raises(PolicyError, match="coarser level"):
        kl(picture)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"zap": 1.0}, "'zap', which is not a quasi column. Did you mean 'zip'"),
        ({"zip": -1.0}, "must be at least 0"),
        ({"zip": 0.0, "age": 0.0, "nationality": 0.0}, "All attribute weights are zero"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weights: dict[str, float], message: str) -> None:
    picture = summary_of(count_table(twelve_patients()), (1, 1, 1))
    with pytest.raises(PolicyError, match=message):
        loss(picture, weights)
