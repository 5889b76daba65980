"""Regions that also show between which values their people lie: sharper answers, and gaps that prove absence."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Shape
from reticent.errors import PolicyError
from reticent.reports import write_stewards_report
from tests.sampling import examples

TOWNS = ["Aix", "Apt", "Arles", "Nice"]


def table_of(seed: int, n: int, missing: bool = False) -> rt.Table:
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(0, 40, n),
            "pay": pl.Series(draw.integers(0, 64, n) / 2, dtype=pl.Float64),
            "town": draw.choice(TOWNS, n),
            "illness": draw.choice(["flu", "cold"], n),
        }
    )
    if missing:
        frame = frame.with_columns(
            pl.when(pl.Series(draw.random(n) < 0.2)).then(None).otherwise(pl.col(name)).alias(name)
            for name in ("pay", "town")
        )
    return rt.Table(frame, quasi=["age", "pay", "town"], sensitive="illness", nulls="category" if missing else "refuse")


def holds(row: dict, low: str, high: str, missing: str, value: object, places: dict) -> bool:
    """Whether plain bounds hold a value, as somebody with a spreadsheet looks."""
    told = row.get(missing)
    if value is None and told is not None:
        return told in ("too", "only")
    if told == "only":
        return False
    at = places.get(value, value)
    return (row[low] is None or row[low] <= at) and (row[high] is None or at < row[high])


def by_hand(release: rt.Release, point: dict) -> int | None:
    """The innermost region, and nobody where the point is outside its extents."""
    listed = release.tables["places"]
    places = {
        name: dict(listed.filter(pl.col("quasi column") == name).select("quasi value", "place").iter_rows())
        for name in point
    }
    best = None
    for row in release.tables["regions"].iter_rows(named=True):
        if all(
            holds(row, f"{name} from", f"{name} below", f"{name} missing", value, places[name])
            for name, value in point.items()
        ) and (best is None or row["level"] > best["level"]):
            best = row
    assert best is not None
    inside = all(
        holds(best, f"{name} extent from", f"{name} extent below", f"{name} extent missing", value, places[name])
        for name, value in point.items()
    )
    return best["group"] if inside else None


@given(seed=st.integers(0, 2**16), n=st.integers(12, 60), k=st.integers(2, 5), missing=st.booleans())
@examples(25, few=3)
def test_points_ranges_and_counts_go_by_extents(seed, n, k, missing):
    table = table_of(seed, n, missing)
    release = rt.publish(table, rt.KAnonymity(k), method=rt.Bang(compact=True, minimum=2))
    plain = rt.publish(table, rt.KAnonymity(k), method=rt.Bang(minimum=2))
    reader, classes = release.reader, plain.reader
    frame = table.held.frame()
    # Everybody is where she was, between the extents.
    for row in frame.select("age", "pay", "town").unique().iter_rows(named=True):
        assert reader.at(**row) == classes.at(**row) == by_hand(release, row)
    # Anybody else is in the same class or nowhere, never in one around.
    draw = np.random.default_rng(seed + 1)
    gaps = 0
    for _ in range(10):
        point = {
            "age": int(draw.integers(-3, 44)),
            "pay": float(draw.integers(-2, 66)) / 2,
            "town": str(draw.choice(sorted(set(frame["town"].drop_nulls())))),
        }
        found = reader.at(**point)
        assert found == by_hand(release, point)
        assert found in (None, classes.at(**point))
        gaps += found is None
    for low, high, town in [(0, 9, "Aix"), (10, 20, "Nice"), (5, 39, "Apt"), (21, 21, "Arles")]:
        condition = f"age between {low} and {high} and town = '{town}'"
        true = frame.filter(pl.col("age").is_between(low, high) & (pl.col("town") == town)).height
        sharp, wide = release.count(condition), plain.count(condition)
        assert wide.bounds[0] <= sharp.bounds[0] <= true <= sharp.bounds[1] <= wide.bounds[1]
        assert sharp.bounds[0] <= sharp.value <= sharp.bounds[1]
        assert set(reader.within(condition)) <= set(classes.within(condition))
        true = frame.filter((pl.col("pay") < low) | (pl.col("age") > high)).height
        sharp = release.count(f"pay < {low} or age > {high}")
        assert sharp.bounds[0] <= true <= sharp.bounds[1]


def test_a_compact_release_is_saved_verified_attacked_and_reported(tmp_path):
    table = table_of(3, 120)
    release = rt.publish(table, rt.KAnonymity(4) & rt.DistinctLDiversity(2), method=rt.Bang(compact=True))
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    assert any("proves that no one" in each for each in release.certificate["residual_risks"])
    usual = rt.publish(table, rt.KAnonymity(4) & rt.DistinctLDiversity(2), method=rt.Bang())
    assert not any("proves that no one" in each for each in usual.certificate["residual_risks"])
    assert release.frame.equals(usual.frame)
    # Adversaries look people up by the same regions: who is in a gap is nobody, and so is seen as such.
    seen = release.public.seen
    draw = np.random.default_rng(9)
    points = pl.DataFrame(
        {"age": draw.integers(0, 40, 80), "pay": draw.integers(0, 64, 80) / 2, "town": draw.choice(TOWNS, 80)}
    )
    who, cell = seen.covering(points)
    looked = {at: int(seen.called[int(place)]) for at, place in zip(who.tolist(), cell.tolist(), strict=True)}
    assert len(looked) == len(who)
    expected = {at: by_hand(release, row) for at, row in enumerate(points.iter_rows(named=True))}
    assert looked == {at: each for at, each in expected.items() if each is not None}
    assert len(looked) < 80
    found = rt.attacks.attack(release, *rt.attacks.adversaries_for(release, table.held.frame()))
    assert found
    write_stewards_report(release, tmp_path / "report.html", table)
    assert Shape.read(seen.shapes[0].as_json(), "here").as_json() == seen.shapes[0].as_json()


def test_extents_outside_their_regions_are_found(tmp_path):
    release = rt.publish(table_of(3, 120), rt.KAnonymity(4), method=rt.Bang(compact=True))
    from dataclasses import replace

    from reticent.errors import DataError
    from reticent.methods.bang.format import REGIONS
    from reticent.table import FrameRows

    regions = release.tables["regions"]
    moved = regions.with_columns(pl.lit(-100.0).alias("pay extent from"), pl.lit(-50.0).alias("pay extent below"))
    side = replace(release.public, rows={**release.public.rows, "regions": FrameRows(moved)})
    with pytest.raises(DataError, match="extents of column 'pay'"):
        REGIONS.check(side)


def test_what_is_about_presence_does_not_go_with_gaps():
    table = table_of(3, 60)
    population = pl.concat([table.held.frame()] * 3)
    with pytest.raises(PolicyError, match="compact reveals where nobody of the table is"):
        rt.publish(table, rt.DeltaPresence(0, "0.9", population=population), method=rt.Bang(compact=True))


def test_the_gain_is_that_of_the_specification():
    """Uniform points in two columns at k = 5, mean share of the sides: 0.046 falls to 0.029."""
    draw = np.random.default_rng(1)
    frame = pl.DataFrame({"x": draw.integers(0, 4096, 6000), "y": draw.integers(0, 4096, 6000)})
    table = rt.Table(frame, quasi=["x", "y"])
    cut = rt.Bang(minimum=5).build(table).draft(5)
    shown, (lows, highs) = cut.published, cut.extents
    rows = np.bincount(shown.of_block, weights=cut.index.directory.rows, minlength=len(shown))
    sides = np.array([axis.cells for axis in cut.index.space.axes])[:, None]
    around = float((((shown.highs - shown.lows) / sides).mean(axis=0) * rows).sum() / rows.sum())
    within = float((((highs - lows) / sides).mean(axis=0) * rows).sum() / rows.sum())
    # Regions are tightened here already, so that they are smaller than those of the specification.
    assert around < 0.046
    assert within == pytest.approx(0.029, abs=0.003)
    assert within < 0.8 * around


@pytest.mark.parametrize("seed", [366, 367])
def test_every_block_is_shown_in_a_region_of_its_class(seed):
    """Halves that are joined again and again lead to the region that is shown, however long the way."""
    cut = rt.Bang(minimum=2).build(table_of(seed, 44, missing=True)).draft(4)
    assert cut.published.group[cut.published.of_block].tolist() == cut.group.tolist()
