"""Releases of marginals: published, saved, verified, counted and charged as every other kind; forged ones fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import LedgerError, PolicyError

pytest.importorskip("opendp")
DOMAIN: dict[str, Any] = {
    "sex": ["f", "m"],
    "age": {"low": 18, "high": 90, "bins": 6},
    "ill": ["no", "yes"],
}


def people(rows: int = 1500, seed: int = 1) -> pl.DataFrame:
    source = np.random.default_rng(seed)
    age = source.integers(18, 90, rows)
    return pl.DataFrame(
        {
            "sex": source.choice(["f", "m"], rows),
            "age": age,
            "ill": np.where(source.random(rows) < np.where(age > 50, 0.6, 0.1), "yes", "no"),
        }
    )


def table(frame: pl.DataFrame | None = None, **more: Any) -> rt.Table:
    return rt.Table(people() if frame is None else frame, quasi=["sex", "age"], sensitive="ill", **more)


@pytest.fixture(scope="module")
def release() -> rt.Release:
    method = rt.Marginals(select=[["age", "ill"], ["sex", "ill"]], domain=DOMAIN)
    return rt.publish(table(), rt.UnboundedDP(3, "1e-6"), method, insecure_seed=5)


def test_records_have_the_types_of_the_table_and_values_of_the_domain(release: rt.Release) -> None:
    assert release.frame.schema == people().schema
    assert release.frame["age"].is_between(18, 90).all()
    assert set(release.frame["ill"]) == {"no", "yes"}


def test_what_goes_together_in_the_table_goes_together_in_the_records(release: rt.Release) -> None:
    def share(frame: pl.DataFrame) -> float:
        old = frame.filter(pl.col("age") > 54)
        return float((old["ill"] == "yes").mean() or 0.0)  # type: ignore[arg-type]

    assert share(release.frame) == pytest.approx(share(people()), abs=0.08)
    assert release.utility["two_way_error"] < 0.1


def test_every_measured_cell_is_published_with_its_error(release: rt.Release) -> None:
    shown = release.tables["marginals"]
    assert shown.height == 2 + 6 + 2 + 12 + 4
    true = people().group_by("sex").len()
    for sex, count in true.iter_rows():
        (cell,) = shown.filter((pl.col("columns") == "sex") & (pl.col("cell") == f"sex = {sex}")).to_dicts()
        assert abs(cell["noisy_count"] - count) < 6 * cell["standard_error"]


def test_counts_of_measured_columns_have_intervals_and_others_say_so(release: rt.Release) -> None:
    frame = people()
    answer = release.count("ill = 'yes' and sex = 'f'")
    assert answer.bounds[0] <= frame.filter(ill="yes", sex="f").height <= answer.bounds[1]
    assert answer.bounds[1] - answer.bounds[0] < 200
    guessed = release.count("sex = 'f' and age >= 30")
    assert guessed.standard_error is None
    assert "no interval" in " ".join(guessed.lines())


def test_a_saved_release_is_verified_from_its_files(release: rt.Release, tmp_path: Path) -> None:
    checked = rt.verify(release.save(tmp_path / "release"))
    assert checked.holds
    assert any("How they were sampled is not re-checked" in each.detail for each in checked.checks)


@pytest.mark.parametrize("forged", ["scale", "count", "record", "cell"])
def test_a_changed_release_fails(release: rt.Release, tmp_path: Path, forged: str) -> None:
    public = release.save(tmp_path / "release") / "public"
    if forged == "scale":
        manifest = json.loads((public / "manifest.json").read_text())
        manifest["details"]["plan"]["steps"][0]["scale"] = "1/1024"
        (public / "manifest.json").write_text(json.dumps(manifest))
    else:
        name, old, new = {
            "count": ("marginals.csv", "1,sex,sex = f,", "1,sex,sex = f,9"),
            "cell": ("marginals.csv", "sex = f", "sex = g"),
            "record": ("records.csv", "f,", "x,"),
        }[forged]
        path = public / name
        path.write_text(path.read_text().replace(old, new, 1))
    assert not rt.verify(public).holds


def test_the_number_of_records_is_public_where_one_is_replaced() -> None:
    method = rt.Marginals(select=[["sex", "ill"]], domain={"sex": ["f", "m"], "ill": ["no", "yes"]})
    release = rt.publish(table(), rt.BoundedDP(2), method, insecure_seed=5)
    assert release.frame.height == release.manifest.details["total"] == 1500


@pytest.mark.parametrize("select", ["mst", pytest.param("aim", marks=pytest.mark.slow)])
def test_chosen_marginals_find_what_goes_together(select: str) -> None:
    method = rt.Marginals(select=select, domain=DOMAIN, degree=2)
    release = rt.publish(table(), rt.ConcentratedDP("1/2"), method, insecure_seed=5)
    assert "age, ill" in release.tables["marginals"]["columns"].unique().to_list()
    assert release.utility["two_way_error"] < 0.1


@pytest.mark.parametrize("merged", [True, False], ids=["rare values merged", "impossible cells declared"])
def test_columns_too_wide_to_be_counted_together_are_joined_only_where_rare_values_are_merged(merged: bool) -> None:
    """3,000 times 1,700 cells are more than can be measured: where all are kept, each column is joined to the narrow one."""
    source = np.random.default_rng(1)
    post = np.where(source.random(600) < 0.7, source.integers(0, 2, 600), source.integers(0, 3000, 600))
    frame = pl.DataFrame({"post": post, "job": post % 1700, "sex": source.choice(["f", "m"], 600)})
    domain = {
        "post": {"from": 0, "to": 2999, "step": 1},
        "job": {"from": 0, "to": 1699, "step": 1},
        "sex": ["f", "m"],
    }
    wide = rt.Table(frame, quasi=["post", "job"], sensitive="sex")
    impossible = [] if merged else ["post = 2999 and sex = 'f'", "job = 1699 and sex = 'f'"]
    method = rt.Marginals("mst", domain, impossible=impossible)
    release = rt.publish(wide, rt.UnboundedDP(3, "1e-6"), method, insecure_seed=5)
    pairs = {name for name in release.tables["marginals"]["columns"].unique() if ", " in name}
    assert len(pairs) == 2
    assert ("post, job" in pairs) == merged


def test_what_was_declared_impossible_does_not_occur() -> None:
    frame = people().with_columns(ill=pl.when(pl.col("age") < 30).then(pl.lit("no")).otherwise("ill"))
    method = rt.Marginals(
        select=[["age", "ill"]],
        domain={**DOMAIN, "age": {"cuts": [18, 30, 60, 90]}},
        impossible=["age < 30 and ill = 'yes'"],
    )
    release = rt.publish(table(frame), rt.UnboundedDP("1/2", "1e-6"), method, insecure_seed=5)
    assert release.frame.filter((pl.col("age") < 30) & (pl.col("ill") == "yes")).height == 0


def test_bins_cut_by_noise_are_paid_for() -> None:
    domain = {**DOMAIN, "age": {"low": 0, "high": 120, "bins": 5, "cuts": "noisy"}}
    release = rt.publish(table(), rt.UnboundedDP(3, "1e-6"), rt.Marginals([["age", "ill"]], domain), insecure_seed=5)
    steps = release.manifest.details["plan"]["steps"]
    assert release.frame["age"].is_between(0, 120).all()
    assert steps[0] == {**steps[0], "step": "cut", "columns": ["age"]}


class TestPeople:
    """Several records of one person."""

    frame = pl.concat([people(300, 2)] * 3).with_columns(person=pl.Series([i for _ in range(3) for i in range(300)]))

    def table(self, **more: Any) -> rt.Table:
        return rt.Table(self.frame, quasi=["sex", "age"], sensitive="ill", key="person", **more)

    def test_an_unbounded_number_of_records_is_refused(self) -> None:
        method = rt.Marginals([["sex", "ill"]], DOMAIN)
        with pytest.raises(PolicyError, match="rows_per_person"):
            rt.publish(self.table(), rt.UnboundedDP(1, "1e-6"), method)

    def test_noise_grows_with_the_records_of_a_person(self) -> None:
        method = rt.Marginals([["sex", "ill"]], DOMAIN)
        errors = []
        for most in (1, 2):
            made = rt.publish(self.table(rows_per_person=most), rt.UnboundedDP(1, "1e-6"), method, insecure_seed=5)
            errors.append(made.tables["marginals"]["standard_error"][0])
        assert errors[1] == pytest.approx(2 * errors[0], rel=1e-4)

    def test_noise_does_not_tell_whether_somebody_has_several_records(self) -> None:
        method, errors = rt.Marginals([["sex", "ill"]], DOMAIN), []
        for frame in (self.frame, self.frame.with_columns(person=pl.int_range(pl.len()))):
            bounded = rt.Table(frame, quasi=["sex", "age"], sensitive="ill", key="person", rows_per_person=2)
            made = rt.publish(bounded, rt.UnboundedDP(1, "1e-6"), method, insecure_seed=5)
            errors.append(made.tables["marginals"]["standard_error"][0])
        assert errors[0] == pytest.approx(errors[1], rel=1e-9)

    def test_the_number_of_records_is_no_public_fact(self) -> None:
        method = rt.Marginals([["sex", "ill"]], DOMAIN)
        made = rt.publish(self.table(rows_per_person=2), rt.BoundedDP(1, "1e-6"), method, insecure_seed=5)
        assert made.manifest.details["total"] is None


def test_releases_draw_on_one_account() -> None:
    book = rt.Table(people(), quasi=["sex", "age"], sensitive="ill", dataset="people")
    method = rt.Marginals([["sex", "ill"]], DOMAIN, budget={"epsilon": 2, "delta": "1e-5"})
    rt.publish(book, rt.UnboundedDP(1, "1e-6"), method, insecure_seed=5)
    assert rt.ledger.account("people").spent.epsilon <= 1
    with pytest.raises(LedgerError, match="account"):
        rt.publish(book, rt.UnboundedDP(2, "1e-5"), method, insecure_seed=6, again=True)


@pytest.mark.parametrize(
    ("method", "definition", "said"),
    [
        (rt.Marginals(domain=DOMAIN), rt.NoisyCounts(5), "keeps UnboundedDP"),
        (rt.Marginals([["sex", "nobody"]], DOMAIN), rt.UnboundedDP(1), "nobody"),
        (rt.Marginals(domain={"sex": ["f"]}), rt.UnboundedDP(1), "none of the"),
        (rt.Marginals(), rt.UnboundedDP(1), "from the data only"),
    ],
)
def test_what_cannot_be_published_is_refused_by_name(method: Any, definition: Any, said: str) -> None:
    with pytest.raises(rt.ReticentError, match=said):
        rt.publish(table(), definition, method)


@pytest.mark.parametrize(
    "wrong", [{"select": "best"}, {"select": ["sex"]}, {"rows": 0}, {"degree": 9}, {"impossible": "age < 3"}]
)
def test_wrong_settings_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        rt.Marginals(**wrong)


def test_the_steward_reads_the_errors_and_a_model_and_the_public_page_has_neither(
    release: rt.Release, tmp_path: Path
) -> None:
    own = rt.report(release, tmp_path / "own.html", raw=table(), regression="ill ~ age + sex").read_text()
    public = rt.report(release, tmp_path / "public.html", public=True).read_text()
    for title in ("Error of single columns", "Error of pairs of columns", "Regression ill ~ age + sex"):
        assert title in own
        assert title not in public
    for page in (own, public):
        assert "How precise the noisy figures are" in page
        assert "age x ill" in page
    assert "1,500" in own
    assert "1,500" not in public


def test_interval_widths_are_those_of_the_published_cells(release: rt.Release) -> None:
    shown = release.tables["marginals"]
    widths = {each.name: each for each in release.public.form.interval_widths(release.public)}
    assert set(widths) == {each.replace(", ", " x ") for each in shown["columns"].unique()}
    for name, of_name in widths.items():
        cells = shown.filter(pl.col("columns") == name.replace(" x ", ", "))
        half_width = 1.96 * cells["standard_error"][0]
        assert of_name.figures == cells.height
        assert of_name.half_width == pytest.approx(half_width, rel=1e-3)
        assert of_name.magnitude == cells["noisy_count"].abs().median()
        assert of_name.distinct == pytest.approx(float((cells["noisy_count"].abs() > half_width).mean()))  # type: ignore[arg-type]
