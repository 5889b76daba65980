"""Publishing: the joint law, set semantics, public inputs, the ledger, files. Statistical tests have fixed seeds and five-sigma bands."""

from __future__ import annotations

import datetime
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2

from reticent.errors import DataError, LedgerError, PolicyError
from reticent.methods.randomize import (
    NoiseSource,
    Series,
    SourceRates,
    ViewDomain,
    audit_tuple,
    frapp_plan,
    marginals,
    open_view,
    perturb,
    plan,
    publish,
    publish_to,
)
from reticent.methods.randomize import sampler as sampling
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.sampler import ListedKeys, sample
from reticent.release import verify
from reticent.table import StoredRows
from tests.methods.randomize.examples import SCORES, printed_view, scores_domain, scores_frame, scores_plan
from tests.sampling import runs


def _chi_square(counts: Counter, law: dict, runs: int) -> float:
    statistic = sum((counts[view] - runs * p) ** 2 / (runs * p) for view, p in law.items())
    return float(chi2.sf(statistic, len(law) - 1))


@pytest.mark.parametrize("walked", [True, False])
def test_the_joint_law_of_a_view_is_one_coin_for_every_tuple(monkeypatch, walked):
    # Not only marginals: all 32 views of five tuples, by the plain pass and by counting and inserting, over several slabs.
    if not walked:
        monkeypatch.setattr(sampling, "_WALKED_CELLS", 0)
        monkeypatch.setattr(sampling, "_WALKED_ABOVE", Fraction(1))
    domain, true = ViewDomain.of({"a": 5}), np.array([1, 3])
    s, beta, times = Fraction(1, 2), Fraction(3, 10), runs(6000)
    draws = Draws(7)
    seen = Counter(
        frozenset(np.concatenate(list(sample(domain, [ListedKeys(true, s)], beta, draws, rows_at_once=1))).tolist())
        for _ in range(times)
    )
    law = {}
    for bits in range(32):
        view = frozenset(t for t in range(5) if bits >> t & 1)
        law[view] = math.prod(
            (float(s if t in (1, 3) else beta) if t in view else 1 - float(s if t in (1, 3) else beta))
            for t in range(5)
        )
    assert _chi_square(seen, law, times) > 1e-6


def test_non_uniform_noise_is_independent_with_the_stated_chances():
    domain = ViewDomain.of({"a": 5})
    source = NoiseSource(domain, {"a": (60, 20, 10, 6, 4)}, Fraction(1, 10**9))
    rates = SourceRates(source, Fraction(1, 5), Fraction(1))
    draws, times = Draws(11), runs(6000)
    none = np.empty(0, dtype=np.int64)
    seen = Counter(frozenset(rates.fakes(none, draws).tolist()) for _ in range(times))
    chances = [0.6, 0.2, 0.1, 0.06, 0.04]
    law = {}
    for bits in range(32):
        view = frozenset(t for t in range(5) if bits >> t & 1)
        law[view] = math.prod(chances[t] if t in view else 1 - chances[t] for t in range(5))
    rare = {view for view, p in law.items() if times * p < 5}
    pooled = {view: p for view, p in law.items() if view not in rare} | {"rare": sum(law[view] for view in rare)}
    seen["rare"] = sum(seen[view] for view in rare)
    assert _chi_square(seen, pooled, times) > 1e-6


def test_estimates_are_unbiased_with_the_stated_spread():
    made, truth, times = scores_plan(), 3, runs(500)
    values = np.array(
        [
            float(publish(scores_frame(), made, insecure_seed=seed).estimate("score < 3*age").value)
            for seed in range(times)
        ]
    )
    assert abs(values.mean() - truth) < 5 * SCORES["standard_deviation"] / math.sqrt(times)
    assert abs(values.std() - SCORES["standard_deviation"]) < 5 * SCORES["standard_deviation"] / math.sqrt(2 * times)
    assert (values < 0).any()


def test_estimates_of_a_non_uniform_view_are_unbiased():
    made, times = plan(n=6, domain=scores_domain(), k=1, gamma="1/3"), runs(400)
    weights = {"nationality": [6, 3, 1], "score": {81: 1, 94: 5, 99: 3}}
    found = [
        publish(scores_frame(), made, source=weights, insecure_seed=seed).estimate("score > 90")
        for seed in range(times)
    ]
    values = np.array([float(each.value) for each in found])
    assert abs(values.mean() - 4) < 5 * values.std() / math.sqrt(times)
    assert np.mean([each.standard_error for each in found]) >= 0.9 * values.std()


def test_domains_beyond_every_integer_can_be_published():
    generator = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": generator.integers(0, 50, 300) for i in range(30)})
    made = plan(n=300, domain={name: range(50) for name in frame.columns}, k=4, gamma="1/2")
    assert made.domain.size > 2**63
    view = publish(frame, made, insecure_seed=1)
    assert abs(len(view) - float(made.expected_rows)) < 5 * math.sqrt(float(made.expected_rows))
    assert view.manifest.approximation == made.beta
    truth = int((frame["c0"] < frame["c1"]).sum())
    found = view.estimate("c0 < c1")
    assert abs(float(found.value) - truth) < 5 * found.standard_error
    assert view.frame.unique().height == len(view)


def test_repeated_rows_are_refused_or_deduplicated_or_counted():
    frame = pl.concat([scores_frame(), scores_frame().head(2), scores_frame().head(1)])
    made = plan(n=9, domain=scores_domain(), k=1, gamma="1/2")
    with pytest.raises(DataError, match="3 of 9 rows repeat"):
        publish(frame, made)
    view = publish(frame, made, duplicates="dedupe", insecure_seed=1)
    assert view.frame.unique().height == len(view)
    with pytest.raises(PolicyError, match="exclusive"):
        plan(n=9, domain=scores_domain(), k=1, gamma="1/2", count=3)
    counted = plan(n=9, domain=scores_domain(), k=1, gamma="1/2", adversary="both", count=2)
    totals = [
        float(publish(frame, counted, duplicates="count", insecure_seed=seed).rows_estimate().value)
        for seed in range(200)
    ]
    # Counts 3, 2, 1, 1, 1, 1, capped at 2.
    assert abs(np.mean(totals) - 8) < 5 * np.std(totals) / math.sqrt(200)
    with pytest.raises(PolicyError, match="count="):
        publish(frame, made, duplicates="count")


def test_a_value_outside_the_declared_domain_is_refused_with_its_row():
    frame = scores_frame().with_columns(pl.lit("French").alias("nationality"))
    with pytest.raises(DataError, match="'nationality', row 1: the value 'French'"):
        publish(frame, scores_plan())
    with pytest.raises(PolicyError, match="the number of values"):
        publish(scores_frame(), plan(n=6, domain={"age": 20, "nationality": 3, "score": 20}, k=1, gamma="1/2"))
    with pytest.raises(DataError, match="more than the 3"):
        publish(scores_frame(), plan(n=3, domain=scores_domain(), k=1, gamma="1/2"))


def test_nulls_are_values_of_the_domain():
    domain = {"a": [1, 2, None], "b": ["x", None]}
    frame = pl.DataFrame({"a": [1, None], "b": [None, "x"]})
    view = publish(frame, plan(n=2, domain=domain, d="1/4", gamma="1/2"), insecure_seed=0)
    assert set(view.frame.rows()) <= {(a, b) for a in domain["a"] for b in domain["b"]}
    assert view.estimate("a is null").domain_count == 2


def test_a_second_independent_view_of_a_named_data_set_is_blocked(tmp_path):
    book = tmp_path / "ledger.sqlite"
    publish(scores_frame(), scores_plan(), dataset="scores", ledger=book, insecure_seed=1)
    with pytest.raises(LedgerError, match="released already"):
        publish(scores_frame(), scores_plan(), dataset="scores", ledger=book, insecure_seed=2)
    with pytest.raises(LedgerError):
        publish_to(scores_frame(), scores_plan(), tmp_path / "view", dataset="scores", ledger=book, insecure_seed=3)
    assert not (tmp_path / "view").exists()


def test_rows_that_were_drawn_are_never_grouped(tmp_path, monkeypatch):
    """Each may be the only one of its kind: the distinct rows of fifty million take gigabytes."""
    asked = []
    grouped = StoredRows._grouped
    monkeypatch.setattr(
        StoredRows, "_grouped", lambda rows, columns: (asked.append(columns), grouped(rows, columns))[1]
    )
    rows = publish_to(
        scores_frame(), scores_plan(), tmp_path / "view", dataset="scores", ledger=tmp_path / "book", files="parquet"
    )
    assert rows > 0
    assert all(len(columns) <= 1 for columns in asked)


@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_a_view_comes_back_from_its_files_and_tells_no_seed(tmp_path, files):
    made = plan(n=6, domain=scores_domain(), k=1, gamma="1/3")
    rows = publish_to(scores_frame(), made, tmp_path / "view", files=files, insecure_seed=4)
    view = open_view(tmp_path / "view")
    assert len(view) == rows
    assert view.frame.equals(publish(scores_frame(), made, insecure_seed=4).frame)
    assert view.frame.equals(
        view.frame.sort("age", pl.col("nationality").cast(pl.Enum(SCORES["domain"]["nationality"])), "score")
    )
    manifest = (tmp_path / "view" / "public" / "manifest.json").read_text()
    assert "seed" not in manifest
    assert "NOT RELEASABLE" in (tmp_path / "view" / "public" / "certificate.json").read_text()
    assert verify(tmp_path / "view").holds
    file = tmp_path / "view" / "public" / f"view.{files}"
    if files == "csv":
        file.write_text("\n".join(file.read_text().splitlines()[:-1]) + "\n")
        assert not verify(tmp_path / "view").holds
    (tmp_path / "view" / "public" / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"manifest\.json is missing"):
        open_view(tmp_path / "view")


def test_a_manifest_of_another_version_or_with_too_little_noise_is_refused(tmp_path):
    publish(scores_frame(), scores_plan(), insecure_seed=4).save(tmp_path / "view")
    path = tmp_path / "view" / "public" / "manifest.json"
    written = json.loads(path.read_text())
    details = written["details"]
    noiseless = details | {"plan": details["plan"] | {"beta": "1/300"}}
    for change, said in (({"layout": 1}, "earlier version"), ({"details": noiseless}, "posterior")):
        path.write_text(json.dumps(written | change))
        with pytest.raises(DataError, match=said):
            open_view(tmp_path / "view")


def test_a_series_estimates_without_bias_and_ends_when_planned(tmp_path):
    made = plan(n=8, domain=scores_domain(), k=1, gamma="1/2", views=2)
    changed = pl.concat(
        [
            scores_frame().head(4),
            pl.DataFrame([[20, "Indian", 100], [30, "British", 85]], schema=SCORES["columns"], orient="row"),
        ]
    )
    values, times = [], runs(300)
    for seed in range(times):
        series = Series(made).publish(scores_frame(), insecure_seed=seed).publish(changed, insecure_seed=10_000 + seed)
        values.append(float(series.estimate("score >= 90").value))
    assert abs(np.mean(values) - 4) < 5 * np.std(values) / math.sqrt(times)
    series.save(tmp_path / "series")
    again = Series.open(tmp_path / "series")
    assert again.estimate("score >= 90") == series.estimate("score >= 90")
    with pytest.raises(LedgerError, match="2 views"):
        again.publish(changed)
    with pytest.raises(PolicyError, match="with the earlier"):
        open_view(tmp_path / "series" / "view-2").estimate("true")
    with pytest.raises(PolicyError, match="Series"):
        publish(scores_frame(), made)


def test_a_frozen_series_refuses_changes_and_combines_its_views():
    made = plan(n=8, domain=scores_domain(), k=1, gamma="1/2", views=2, frozen=True)
    series = Series(made).publish(scores_frame(), insecure_seed=1)
    with pytest.raises(DataError, match="frozen"):
        series.publish(scores_frame().head(3), insecure_seed=2)
    series = series.publish(scores_frame(), insecure_seed=2)
    assert series.combined("score > 90").standard_error <= series.views[0].estimate("score > 90").standard_error


def test_frapp_estimates_without_bias():
    made, times = frapp_plan(6, scores_domain(), 1, "1/3"), runs(500)
    found = [perturb(scores_frame(), made, insecure_seed=seed).estimate("score < 3*age") for seed in range(times)]
    values = np.array([float(each.value) for each in found])
    assert abs(values.mean() - 3) < 5 * values.std() / math.sqrt(times)
    assert all(len(perturb(scores_frame(), made, insecure_seed=seed).frame) == 6 for seed in range(3))


def test_estimates_add_up_over_disjoint_queries_and_to_the_whole():
    view = printed_view()
    rates = view.rates
    parts = [view.estimate(f"nationality = '{name}'").value for name in SCORES["domain"]["nationality"]]
    whole = view.estimate("true").value
    assert sum(parts) == whole == (len(view) - rates.beta * 1200) / rates.alpha
    assert view.group_by("nationality")["value"].to_list() == pytest.approx([float(part) for part in parts])
    both = view.estimate("score < 85").value + view.estimate("score >= 85 and age > 30").value
    assert both == view.estimate("score < 85 or age > 30").value
    assert view.sum("score").value == sum(
        (view.estimate(f"score = {s}").value * s for s in range(81, 101)), Fraction(0)
    )
    assert view.average("score").value == view.sum("score").value / whole


def test_all_marginals_are_the_single_estimates():
    view = printed_view()
    found = {each.columns: each for each in marginals(view)}
    assert len(found) == 7
    single = view.estimate("age = 25 and score = 99")
    assert found["age", "score"].values[5, 18] == pytest.approx(float(single.value))
    assert found["age", "score"].standard_errors[5, 18] == pytest.approx(single.standard_error)


def test_an_audit_tells_the_exact_belief():
    found = audit_tuple(printed_view(), {"age": 25, "nationality": "British", "score": 99}, "1/200")
    assert found["seen"]
    assert found["posterior"] == Fraction(101, 300)
    assert found["holds"]


def test_a_secure_view_draws_from_the_operating_system():
    made = plan(n=6, domain=scores_domain(), k=1, gamma="1/3")
    first, second = publish(scores_frame(), made), publish(scores_frame(), made)
    assert first.secure
    assert not np.array_equal(first.keys, second.keys)


def test_a_series_that_is_out_of_date_is_blocked_by_the_ledger(tmp_path):
    made = plan(n=8, domain=scores_domain(), k=1, gamma="1/2", views=3)
    book = tmp_path / "ledger.sqlite"
    first = Series(made).publish(scores_frame(), "scores", ledger=book, insecure_seed=1)
    first.publish(scores_frame(), "scores", ledger=book, insecure_seed=2)
    with pytest.raises(LedgerError, match="would be view 2"):
        first.publish(scores_frame(), "scores", ledger=book, insecure_seed=3)


@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_every_kind_of_value_comes_back_from_files(tmp_path, files):
    days = [datetime.date(2024, 1, day) for day in range(1, 8)]
    domain = {
        "day": days,
        "yes": [True, False],
        "share": [0.1, 0.25, None],
        "word": ["", "a,b", 'c"d', None],
        "code": [7, 3, -1],
    }
    rows = [(days[0], True, 0.1, "", 7), (days[1], False, None, None, 3), (days[2], True, 0.25, "a,b", -1)]
    frame = pl.DataFrame(rows, schema=list(domain), orient="row")
    made = plan(n=3, domain=domain, k=2, gamma="1/2")
    view = publish(frame, made, insecure_seed=5)
    view.save(tmp_path / "view", files=files)
    again = open_view(tmp_path / "view")
    assert again.frame.equals(view.frame)
    asked = "day >= '2024-01-03' and yes = true and (word is null or share > 0.1)"
    assert again.estimate(asked) == view.estimate(asked)


@pytest.mark.parametrize("columns", [30, 200])
@pytest.mark.parametrize("files", ["csv", "parquet"])
def test_views_of_domains_beyond_every_integer_come_back_and_are_verified(tmp_path, columns, files):
    # 50^30 passes 2^63, and 50^200 the largest floating-point number.
    generator = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": generator.integers(0, 50, 40) for i in range(columns)})
    made = plan(n=40, domain={name: range(50) for name in frame.columns}, k=4, gamma="1/2")
    publish_to(frame, made, tmp_path / "view", files=files, insecure_seed=1)
    assert verify(tmp_path / "view").holds
    view = open_view(tmp_path / "view")
    assert view.frame.equals(publish(frame, made, insecure_seed=1).frame)
    found = view.estimate("c0 < c1")
    truth = int((frame["c0"] < frame["c1"]).sum())
    assert found.domain_count == 1225 * 50 ** (columns - 2)
    assert abs(float(found.value) - truth) < 5 * found.standard_error
    assert found.interval[0] <= truth <= found.interval[1]
    groups = view.group_by("c0", "c1 > 40")
    assert groups["value"].sum() == pytest.approx(float(view.estimate("c1 > 40").value))
    shuffled = view.frame.sample(fraction=1.0, shuffle=True, seed=1)
    file = tmp_path / "view" / "public" / f"view.{files}"
    file.unlink()
    shuffled.write_csv(file) if files == "csv" else shuffled.write_parquet(file)
    refused = "not a set in the order" if files == "csv" else "a plain table does not have"
    with pytest.raises(DataError, match=refused):
        open_view(tmp_path / "view")


def test_a_series_over_a_domain_beyond_every_integer_is_read_beside_its_earlier_views(tmp_path):
    generator = np.random.default_rng(0)
    frame = pl.DataFrame({f"c{i}": generator.integers(0, 50, 40) for i in range(30)})
    made = plan(n=40, domain={name: range(50) for name in frame.columns}, k=2, gamma="1/2", views=2)
    series = Series(made).publish(frame, insecure_seed=1).publish(frame.head(30), insecure_seed=2)
    series.save(tmp_path / "series")
    assert Series.open(tmp_path / "series").estimate("c0 < c1") == series.estimate("c0 < c1")
