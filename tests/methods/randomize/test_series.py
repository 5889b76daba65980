"""Series on the disk: views of one plan, in their order, and nothing else in their place."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.randomize import Plan, Rates, Series, marginals, plan, publish, read_views

_DOMAIN = {"a": range(10), "b": range(200)}
_FRAME = pl.DataFrame({"a": [index % 10 for index in range(30)], "b": list(range(30))})


def _series(**options):
    return Series(plan(n=30, domain=_DOMAIN, k=1, gamma="9/10", views=2, **options)).publish(_FRAME, insecure_seed=1)


@pytest.mark.parametrize("carry", ["0", "-1/4", "1/2", "1"])
def test_a_series_whose_old_tuples_prove_something_is_refused(carry):
    # Without a chance for old tuples that are not true, whatever shows twice is true: the ratio was once taken for 1.
    written = _series().plan.as_json() | {"carry": carry}
    with pytest.raises(Infeasible, match="must be above 0 and below"):
        Plan.from_json(written)
    assert Rates(_series().plan.alpha, _series().plan.beta).views == 1


def test_views_of_different_plans_are_no_series(tmp_path):
    _series().publish(_FRAME, insecure_seed=2).save(tmp_path / "one")
    wider = plan(n=30, domain=_DOMAIN | {"b": range(300)}, k=1, gamma="9/10", views=2)
    Series(wider).publish(_FRAME, insecure_seed=3).save(tmp_path / "other")
    with pytest.raises(DataError, match="not views of one series"):
        read_views([tmp_path / "other" / "view-1", tmp_path / "one" / "view-2"])


def test_a_series_is_never_saved_over_another_one(tmp_path):
    first = _series()
    first.save(tmp_path / "series")
    other = Series(first.plan).publish(_FRAME, insecure_seed=9)
    with pytest.raises(DataError, match="holds a view of another series"):
        other.save(tmp_path / "series")
    assert np.array_equal(Series.open(tmp_path / "series").views[0].keys, first.views[0].keys)
    first.publish(_FRAME, insecure_seed=2).save(tmp_path / "series")
    assert len(Series.open(tmp_path / "series").views) == 2


@pytest.mark.parametrize(
    "written", ["[]", "{}", "nonsense", '{"plan": 3, "views": 1, "digest": null}', '{"plan": {}, "views": 0}']
)
def test_a_record_of_a_series_that_was_damaged_says_so(tmp_path, written):
    (tmp_path / "series.json").write_text(written)
    with pytest.raises((DataError, PolicyError)):
        Series.open(tmp_path)


def test_a_series_whose_plan_was_exchanged_is_refused(tmp_path):
    _series().save(tmp_path)
    state = (tmp_path / "series.json").read_text()
    (tmp_path / "series.json").write_text(state.replace('"error": "1/20"', '"error": "1/10"'))
    with pytest.raises(DataError, match="made by another plan"):
        Series.open(tmp_path)


def test_a_series_of_an_earlier_version_is_continued_with_that_version(tmp_path):
    _series().save(tmp_path)
    for file in tmp_path.rglob("*.json"):
        file.write_text(file.read_text().replace('"layout": 4', '"layout": 2'))
    with pytest.raises(DataError, match=r"begun with an earlier version.*remaining views with that version"):
        Series.open(tmp_path)


def test_a_series_says_how_far_its_law_is_from_the_exact_one():
    domain, frame = (
        {f"c{place}": range(1000) for place in range(7)},
        pl.DataFrame({f"c{place}": range(10) for place in range(7)}),
    )
    made = Series(plan(n=10, domain=domain, k=1, gamma="1/2", views=2)).publish(frame, insecure_seed=1)
    assert made.views[0].manifest.approximation == made.plan.beta
    assert _series().views[0].manifest.approximation == 0


def test_all_counts_at_once_are_refused_where_noise_differs():
    # They were made with the noise of a first uniform view, and so were plainly wrong.
    later = _series().publish(_FRAME, insecure_seed=2).views[1]
    pushed = publish(_FRAME, plan(n=30, domain=_DOMAIN, k=1, gamma="1/2"), source={"a": [5] + [1] * 9}, insecure_seed=1)
    for view in (later, pushed):
        with pytest.raises(PolicyError, match="group_by"):
            next(marginals(view, 1))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"frozen": "no"}, "'frozen' must be true or false"),
        ({"domain": [1]}, "'domain' an object"),
        ({"error": "7"}, "error must be below 1"),
        ({"n": 5000}, "not below the size of the domain"),
    ],
)
def test_a_plan_that_was_damaged_is_refused_by_name(written, message):
    with pytest.raises((DataError, PolicyError), match=message):
        Plan.from_json(_series().plan.as_json() | written)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"a": {77: 3, 1: 2}}, "gives a weight to 77, which is not in the column's domain"),
        ({"a": 5}, "must be a list of weights or map values to weights"),
        ({"a": "abc"}, "must be a list of weights or map values to weights"),
        ({"a": [2**62] * 10}, "the limit of the sampler"),
        (
            {"a": ["0.12345678901234567891", *(f"1/{prime}" for prime in (7, 11, 13, 17, 19, 23, 29, 31, 37))]},
            "the limit of the sampler",
        ),
    ],
)
def test_a_source_that_cannot_be_drawn_from_is_refused_by_name(source, message):
    with pytest.raises(PolicyError, match=message):
        publish(_FRAME, plan(n=30, domain=_DOMAIN, k=1, gamma="1/2"), source=source, insecure_seed=1)
