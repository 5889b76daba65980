"""Sums, averages, groups and public side tables: on uniform and on non-uniform views, without bias."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.randomize import View, ViewDomain, ViewManifest, count_domain, frapp_plan, perturb, plan, publish
from reticent.methods.randomize.reference_noise import NoiseSource
from tests.methods.randomize.examples import printed_view, scores_domain, scores_frame

WEIGHTS = {"nationality": [6, 3, 1], "score": {81: 1, 94: 5, 99: 3}}


def _means(values: list[float], truth: float) -> None:
    assert abs(np.mean(values) - truth) < 5 * np.std(values) / math.sqrt(len(values))


def test_sums_and_averages_of_non_uniform_views_use_their_own_noise():
    # Section 8, 14: the estimator of uniform noise would be off by the source's mean.
    made, frame = plan(n=6, domain=scores_domain(), k=1, gamma="1/3"), scores_frame()
    views = [publish(frame, made, source=WEIGHTS, insecure_seed=seed) for seed in range(150)]
    sums = [view.sum("score", "nationality = 'British'") for view in views]
    _means([float(each.value) for each in sums], 99 + 97)
    assert np.mean([each.standard_error for each in sums]) >= 0.9 * np.std([float(each.value) for each in sums])
    assert np.mean([each.interval[0] <= 196 <= each.interval[1] for each in sums]) >= 0.95
    _means([float(view.estimate("score > 90").value) for view in views], 4)
    view = views[0]
    assert view.average("score").value == view.sum("score").value / view.estimate("true").value


def test_intervals_of_non_uniform_views_hold_by_enumeration():
    # Eight tuples with chances of their own, all 256 views; the interval of every one.
    domain, error = {"a": range(4), "b": ["x", "y"]}, "1/5"
    source = NoiseSource.of(ViewDomain.of(domain), {"a": [6, 2, 1, 1]}, "1/5")
    manifest = ViewManifest(plan(n=3, domain=domain, d="1/20", gamma="1/2", source=source))
    rates, cells = manifest.plan.source_rates, np.arange(8)
    noise = float(rates.scale) * source.probabilities(cells)
    found = {}
    for shows in itertools.product([False, True], repeat=8):
        view = View(manifest, np.flatnonzero(shows))
        found[shows] = view.estimate("a < 3 and b = 'x'", error=error)
    for table in [(0, 1, 2), (0, 2, 4), (5, 6, 7)]:
        chances = noise + float(rates.alpha) * np.isin(cells, table)
        truth = len({0, 2, 4} & set(table))
        law = {shows: float(np.where(shows, chances, 1 - chances).prod()) for shows in found}
        held = sum(p for shows, p in law.items() if found[shows].interval[0] <= truth <= found[shows].interval[1])
        mean = sum(p * float(found[shows].value) for shows, p in law.items())
        assert sum(law.values()) == pytest.approx(1)
        assert mean == pytest.approx(truth)
        assert held >= 0.8


def test_a_public_side_table_restricts_a_count():
    view = printed_view()
    eligible = pl.DataFrame({"age": [25, 32, 33, 60], "nationality": ["British", "Indian", "American", "British"]})
    found = view.estimate(Condition.parse("score > 85").within(eligible))
    written = "score > 85 and (age, nationality) in ((25, 'British'), (32, 'Indian'), (33, 'American'))"
    assert found.domain_count == count_domain(written, scores_domain()) == 45
    assert found.value == view.estimate(written).value
    assert found.shown == 3


def test_groups_add_up_under_any_condition_and_name_what_is_too_wide():
    view = printed_view()
    frame = view.group_by(["nationality", "age"], "score < 3*age")
    assert frame.height == 60
    assert frame["value"].sum() == pytest.approx(float(view.estimate("score < 3*age").value))
    wide = {f"c{i}": range(1000) for i in range(4)}
    table = pl.DataFrame({name: [1, 2, 3] for name in wide})
    made = publish(table, plan(n=3, domain=wide, k=1, gamma="1/2"), insecure_seed=1)
    condition = "c0 + c1 + c2 + c3 < 2000"
    for ask in (lambda: made.group_by("c0", condition), lambda: made.sum("c0", condition)):
        with pytest.raises(PolicyError, match="too many combinations"):
            ask()
    sampled = made.estimate(condition)
    assert sampled.as_dict()["domain_count_is_exact"] is False
    records = perturb(table, frapp_plan(3, made.domain, 1, "1/3"), insecure_seed=1)
    with pytest.raises(PolicyError, match="too many combinations"):
        records.estimate(condition)


def test_an_average_without_any_count_is_refused():
    view = printed_view()
    with pytest.raises(PolicyError, match="no average"):
        view.average("score", "age = 20")
    with pytest.raises(PolicyError, match="not numeric"):
        view.sum("nationality")
    found = view.average("score", error="1/10")
    assert 81 <= found.interval[0] <= found.value <= found.interval[1] <= 100
    assert found.shown == 12
    assert found.value == Fraction(view.sum("score").value, view.estimate("true").value)
