"""Publishing clusters: what is shown, what is judged, who is left out, and what a forger cannot do."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from shutil import copytree

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.core import AdversaryView
from reticent.errors import DataError, Infeasible, PolicyError, ReticentError
from reticent.release import adversary_view_of, open_public
from tests.sampling import examples
from tests.seams.walk import command

ILLNESSES = ("flu", "cold", "ulcer", "asthma")


def crowd(many=60, seed=0, **more):
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "age": draw.integers(18, 90, many),
            "pay": draw.normal(3000, 900, many).round(2),
            "born": [
                datetime.date(1950, 1, 1) + datetime.timedelta(days=int(day)) for day in draw.integers(0, 9000, many)
            ],
            "zip": draw.choice(["13053", "13068", "14850", "14853"], many),
            "town": draw.choice(["Aix", "Apt"], many),
            "lat": draw.normal(45, 1, many).round(3),
            "lon": draw.normal(5, 1, many).round(3),
            "illness": draw.choice(ILLNESSES, many),
        }
    )
    return frame.with_columns(**more)


EVERY = {
    "age": None,
    "pay": None,
    "born": None,
    "zip": rt.Hierarchy.masking(digits=5),
    "town": None,
    "lat": None,
    "lon": None,
}


def mixed(frame=None, **more):
    said = {"quasi": EVERY, "sensitive": "illness", **more}
    return rt.Table(crowd() if frame is None else frame, **said)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A release of clusters for tests that damage a copy of it."""
    release = rt.publish(mixed(), rt.KAnonymity(4), rt.Gather(r=4))
    return release.save(tmp_path_factory.mktemp("clusters") / "release")


PLACES = {"places": [["lat", "lon"]]}


@pytest.mark.parametrize(
    "method",
    [
        rt.Gather(r=4, **PLACES),
        rt.Gather(r=4, norm="L1", centres="records", **PLACES),
        rt.Gather(r=4, epsilon="0.1", weights={"age": 3}, categories=["town", "age"]),
        rt.Gather(r=4, grouping="neighbours", numbers="median", **PLACES),
        rt.Gather(r=4, numbers="mode"),
        rt.Gather(r=4, k=3),
        rt.Cellular(r=4, setup=1, **PLACES),
    ],
    ids=lambda method: json.dumps(method.describe()),
)
def test_every_choice_is_published_saved_verified_and_covers_its_people(method, tmp_path):
    table = mixed()
    release = rt.publish(table, rt.KAnonymity(4), method)
    assert min(release.groups.sizes) >= 4
    folder = release.save(tmp_path / "release")
    assert rt.verify(folder).holds
    seen = adversary_view_of(folder)
    assert seen.shapes
    # Everybody who is published fits some cell, labels and ball together.
    point, cell = seen.covering(table.frame)
    assert len(set(point.tolist())) >= release.public.height
    assert (np.bincount(cell, minlength=len(seen.sizes)) >= seen.sizes).all()


def test_ranges_centres_and_radii_lie_on_the_grid():
    release = rt.publish(mixed(), rt.KAnonymity(4), rt.Gather(r=4, grid={"age": 10, "pay": 250, "born": 365}))
    groups = release.tables["groups"]
    assert (groups["age (centre)"] % 10 == 0).all()
    assert (groups["pay (centre)"] % 250 == 0).all()
    assert (groups["born (centre)"].to_physical() % 365 == 0).all()
    ends = release.frame["age"].str.extract_all(r"\d+").explode().cast(pl.Int64)
    assert (ends % 10 == 0).all()


def test_values_that_are_not_numbers_are_shown_as_sets_or_as_nodes():
    frame = pl.DataFrame({"zip": ["13053", "14850", "13068", "14853"] * 2, "job": ["a", "a", "b", "b"] * 2})
    table = rt.Table(frame, quasi={"zip": rt.Hierarchy.masking(digits=5), "job": None})
    shown = {
        values: rt.publish(table, rt.KAnonymity(4), rt.Gather(r=4, values=values, weights={"job": 9})).frame
        for values in ("sets", "hierarchy")
    }
    assert set(shown["sets"].rows()) == {("{13053, 14850}", "a"), ("{13068, 14853}", "b")}
    assert set(shown["hierarchy"].rows()) == {("1****", "a"), ("1****", "b")}


def test_a_limit_of_levels_is_not_passed_over():
    table = rt.Table(crowd(), quasi={"zip": rt.Hierarchy.masking(digits=5).limited(min_level=1), "age": None})
    with pytest.raises(PolicyError, match="limits the levels that may be published"):
        rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3))


def test_the_usual_grid_does_not_depend_on_the_extremes():
    one = rt.publish(rt.Table(pl.DataFrame({"x": [*range(0, 61)]}), quasi=["x"]), rt.KAnonymity(5), rt.Gather(r=5))
    other = rt.publish(rt.Table(pl.DataFrame({"x": [*range(3, 98)]}), quasi=["x"]), rt.KAnonymity(5), rt.Gather(r=5))
    assert one.manifest.details["grid"] == other.manifest.details["grid"] == {"x": "5"}
    assert one.manifest.details["scales"] == other.manifest.details["scales"] == {"x": 100.0}


@examples(60, few=5)
@given(st.integers(0, 10_000), st.sampled_from(["ranges", "mean", "median"]))
def test_counts_lie_within_their_bounds(seed, numbers):
    frame = crowd(40, seed)
    release = rt.publish(mixed(frame), rt.KAnonymity(3), rt.Gather(r=3, numbers=numbers))
    for condition, true in (
        ("age >= 40", (pl.col("age") >= 40)),
        ("age between 30 and 60 and town = 'Aix'", pl.col("age").is_between(30, 60) & (pl.col("town") == "Aix")),
        ("pay > 3000 and illness = 'flu'", (pl.col("pay") > 3000) & (pl.col("illness") == "flu")),
        ("zip like '13%'", pl.col("zip").str.starts_with("13")),
    ):
        low, high = release.count(condition).bounds
        assert low <= frame.filter(true).height <= high


@examples(100, few=6)
@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from(["0", "0.1"]))
def test_any_definition_holds_on_the_clusters(seed, k, epsilon):
    definition = rt.KAnonymity(k) & rt.DistinctLDiversity(2) & rt.TCloseness("0.6") & rt.AverageRisk("1/2")
    table = mixed(crowd(50, seed))
    release = rt.publish(table, definition, rt.Gather(r=2, epsilon=epsilon))
    assert min(release.groups.sizes) >= k
    assert rt.assess(release, definition).holds
    out = release.private.suppressed
    assert out == 0 or out >= k


def test_a_cluster_that_fails_is_merged_with_the_nearest_or_refused():
    frame = pl.DataFrame({"x": [0, 1, 10, 11, 100, 101], "s": ["a", "b", "c", "c", "a", "b"]})
    table = rt.Table(frame, quasi=["x"], sensitive="s")
    near = {"scales": {"x": 1}, "grid": {"x": 1}}
    merged = rt.publish(table, rt.DistinctLDiversity(2), rt.Gather(r=2, **near))
    assert sorted(merged.groups.sizes.tolist()) == [2, 4]
    assert "[0, 11]" in merged.frame["x"].to_list()
    with pytest.raises(Infeasible, match="1 of 3 clusters do not satisfy"):
        rt.publish(table, rt.DistinctLDiversity(2), rt.Gather(r=2, failing="refuse", **near))
    with pytest.raises(Infeasible, match="even all 6 rows"):
        rt.publish(table, rt.DistinctLDiversity(4), rt.Gather(r=2, **near))


def test_who_is_left_out_passes_as_a_group_or_is_taken_back_in():
    frame = pl.DataFrame({"x": [0, 1, 2, 10, 11, 12, 1000], "s": ["a", "b", "c", "a", "b", "c", "z"]})
    table = rt.Table(frame, quasi=["x"], sensitive="s")
    release = rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3, epsilon="1/7"))
    # One person alone would be found by who subtracts: she is in the nearest cluster.
    assert release.private.suppressed == 0
    wide = pl.concat([frame, pl.DataFrame({"x": [5000, 9000], "s": ["a", "b"]})])
    release = rt.publish(rt.Table(wide, quasi=["x"], sensitive="s"), rt.KAnonymity(3), rt.Gather(r=3, epsilon="1/3"))
    assert release.private.suppressed == 3


def test_nothing_public_tells_how_many_were_left_out():
    frame = crowd(60)
    release = rt.publish(mixed(frame), rt.KAnonymity(3) & rt.TCloseness("0.7"), rt.Gather(r=3, epsilon="0.1"))
    assert release.private.suppressed > 0
    assert release.private.evidence.compared_with == "published rows"
    public = json.dumps([release.manifest.as_json(), release.certificate])
    assert "60" not in [each for each in public.replace('"', " ").replace(",", " ").split() if each.isdigit()]


def test_records_as_centres_are_called_what_they_are():
    release = rt.publish(mixed(), rt.KAnonymity(4), rt.Gather(r=4, centres="records"))
    assert any(
        "is in the table" in risk and "record of a person" in risk for risk in release.certificate["residual_risks"]
    )
    shown = release.tables["groups"].select(f"{name} (centre)" for name in EVERY).rows()
    assert set(shown) <= set(crowd().select(list(EVERY)).rows())
    synthetic = rt.publish(mixed(), rt.KAnonymity(4), rt.Gather(r=4))
    assert not any("record of a person" in risk for risk in synthetic.certificate["residual_risks"])


def test_one_cluster_passes_with_a_warning():
    release = rt.publish(mixed(crowd(5)), rt.KAnonymity(4), rt.Gather(r=4))
    assert len(release.groups.sizes) == 1
    assert any("All rows are one cluster" in risk for risk in release.certificate["residual_risks"])


def test_missing_values_are_published_as_missing_or_as_anything(tmp_path):
    frame = pl.DataFrame({"age": [20, 21, 22, None, None, None, 80, 81, None], "town": ["Aix", None, "Aix"] * 3})
    table = rt.Table(frame, quasi=["age", "town"], nulls="category")
    release = rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3))
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert set(release.frame["age"].to_list()) & {"(missing)", "*"}
    means = rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3, numbers="mean"))
    assert rt.verify(means.save(tmp_path / "means")).holds


def test_sensitive_numbers_can_be_the_mean_of_their_cluster(tmp_path):
    frame = pl.DataFrame({"age": [20, 21, 50, 51], "pay": [100, 201, 1000, 1101]})
    table = rt.Table(frame, quasi=["age"], sensitive="pay")
    method = rt.Gather(r=2, numbers="mean", aggregate=["pay"], grid={"age": 1, "pay": 10})
    release = rt.publish(table, rt.KAnonymity(2), method)
    assert sorted(release.frame.rows()) == [(20, 150), (20, 150), (50, 1050), (50, 1050)]
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert "not a person's own" in (tmp_path / "release/public/STATEMENT.txt").read_text().replace("\n", " ")
    with pytest.raises((PolicyError, Infeasible)):
        rt.publish(table, rt.DistinctLDiversity(2), method)
    with pytest.raises(PolicyError, match="not a numeric sensitive column"):
        rt.publish(mixed(), rt.KAnonymity(2), rt.Gather(numbers="mean", aggregate=["illness"]))


def test_a_population_is_counted_by_labels_and_balls():
    frame = crowd(40).select("age", "town", "illness")
    population = pl.concat([frame, crowd(200, 7).select(frame.columns)]).select("age", "town")
    table = rt.Table(frame, quasi=["age", "town"], sensitive="illness")
    release = rt.publish(table, rt.KMap(12, population), rt.Gather(r=2))
    seen: AdversaryView = adversary_view_of(release)
    counted = seen.with_population(population).true_groups.extras["population"]
    assert counted.min() >= 12


@pytest.mark.parametrize("method", [rt.Gather(r=2), rt.Cellular(r=2), rt.Bang(), rt.Suppress(k=2)], ids=str)
def test_several_rows_of_a_person_are_refused_by_name(method):
    frame = pl.DataFrame({"who": [1, 1, 2, 3, 4, 5], "age": [20, 21, 21, 22, 60, 61]})
    table = rt.Table(frame, quasi=["age"], identifiers=["who"])
    with pytest.raises(PolicyError, match=f"{type(method).__name__} treats every row as a different person.*Mondrian"):
        rt.publish(table, rt.KAnonymity(2), method)


def test_huge_numbers_keep_every_digit():
    big = 2**60
    frame = pl.DataFrame({"x": [big, big + 1, big + 2, big + 1000, big + 1001, big + 1002]})
    table = rt.Table(frame, quasi=["x"])
    release = rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3, grid={"x": 1}, scales={"x": 1}))
    low, high = release.count(f"x <= {big + 5}").bounds
    assert low <= 3 <= high


@pytest.mark.parametrize(
    "definition",
    [
        rt.KAnonymity(3) & rt.TCloseness("0.6"),
        rt.KAnonymity(2) & rt.AverageRisk("1/4"),
        rt.KAnonymity(3) & rt.KAnonymity(9, quasi=["age", "town"]),
    ],
    ids=str,
)
def test_sets_of_columns_are_kept_since_all_columns_together_are(definition, tmp_path):
    table = mixed(quasi_sets=[["age", "town"], ["town", *(name for name in EVERY if name != "age")]])
    release = rt.publish(table, definition, rt.Gather(r=3, epsilon="0.1"))
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert rt.assess(release, definition).holds
    assert release.private.evidence.published.sizes.min() >= definition.least_rows()


def test_a_streamed_table_is_refused_with_a_way_out(tmp_path):
    crowd().write_csv(tmp_path / "people.csv")
    table = rt.read(tmp_path / "people.csv", quasi=["age", "town"], sensitive="illness", engine="streaming")
    for asked in (
        lambda: rt.publish(table, rt.KAnonymity(3), rt.Gather(r=3)),
        lambda: rt.Cellular(r=3).fit(table),
    ):
        with pytest.raises(PolicyError, match=r"needs all rows in memory.*streamed.*engine='local'"):
            asked()


def test_wrong_grids_and_tables_without_quasi_columns_are_refused():
    with pytest.raises(PolicyError, match="grid has 'agee'"):
        rt.publish(mixed(), rt.KAnonymity(2), rt.Gather(grid={"agee": 5}))
    with pytest.raises(PolicyError, match="must be whole"):
        rt.publish(mixed(), rt.KAnonymity(2), rt.Gather(grid={"age": "0.5"}))
    with pytest.raises(PolicyError, match="no quasi columns to cluster by"):
        rt.publish(rt.Table(crowd(), quasi=[], sensitive="illness"), rt.DistinctLDiversity(2), rt.Gather())
    with pytest.raises(Infeasible, match="fewer than"):
        rt.publish(mixed(crowd(3)), rt.KAnonymity(4), rt.Gather())


def test_equal_people_are_parted_at_random_and_nothing_else_is():
    frame = pl.DataFrame({"x": [0, 1, 1, 2], "s": ["a", "b", "c", "d"]})
    table = rt.Table(frame, quasi=["x"], sensitive="s")
    drafts = {
        tuple(
            sorted(
                map(
                    tuple,
                    _by_group(rt.Gather(r=2, grid={"x": 1}).draft(table, rt.KAnonymity(2), Context(Randomness(seed)))),
                )
            )
        )
        for seed in range(12)
    }
    assert drafts == {(("a", "b"), ("c", "d")), (("a", "c"), ("b", "d"))}


def _by_group(draft):
    rows = draft.tables["data"].frame()
    return [sorted(part["s"].to_list()) for part in rows.partition_by("x")]


@pytest.mark.parametrize(
    "forge",
    [
        lambda groups: groups.with_columns(rows=pl.col("rows") + 1),
        lambda groups: groups.head(1),
        lambda groups: pl.concat([groups, groups.head(1)]),
        lambda groups: groups.with_columns(radius=-pl.col("radius") - 1),
        lambda groups: groups.with_columns(radius=pl.lit(None, dtype=pl.Float64)),
    ],
)
def test_a_table_of_clusters_that_does_not_fit_the_rows_is_found(forge, tmp_path, published):
    folder = Path(copytree(published, tmp_path / "release"))
    path = folder / "public" / "groups.csv"
    forge(pl.read_csv(path)).write_csv(path)
    found = rt.verify(folder)
    assert not found.holds
    with pytest.raises(ReticentError):
        adversary_view_of(open_public(folder))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("norm", "L7"),
        ("scales", {"age": 0}),
        ("scales", {"nobody": 1}),
        ("numbers", "sum"),
        ("centres", "saints"),
        ("grid", []),
    ],
)
def test_details_that_make_no_sense_are_found(key, value, tmp_path, published):
    folder = Path(copytree(published, tmp_path / "release"))
    path = folder / "public" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["details"][key] = value
    path.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n")
    assert not rt.verify(folder).holds
    with pytest.raises((DataError, ReticentError)):
        open_public(folder)


def test_a_policy_publishes_clusters_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    crowd().write_csv("people.csv")
    (tmp_path / "policy.toml").write_text(
        'dataset = "people"\n[data]\nsource = "people.csv"\n[roles]\nquasi = ["age", "town"]\nsensitive = "illness"\n'
        '[[definition]]\nname = "KAnonymity"\nk = 3\n[method]\nname = "Cellular"\nr = 3\nepsilon = "0.05"\n[method.weights]\nage = 2\n'
    )
    assert command("preview", "policy.toml")["ok"]
    assert command("publish", "policy.toml", "-o", "release")["ok"]
    assert command("verify", "release")["ok"]
    assert command("attack", "release")["ok"]
    assert command("query", "release", "age >= 50")["ok"]


def test_compare_has_a_row_for_clusters():
    found = rt.compare(
        mixed(), [rt.KAnonymity(3)], methods=[rt.Gather(r=3), rt.Cellular(r=3), rt.Mondrian(values="sets")]
    )
    assert found.table["method"].n_unique() == 3
