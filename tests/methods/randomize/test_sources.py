"""Noise from a public source (3.7): what was asked is kept, by enumeration, and a plan predicts size and error."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import Infeasible, PolicyError
from reticent.methods.randomize import NoiseSource, Plan, ViewDomain, plan, publish
from tests.methods.randomize.examples import scores_domain, scores_frame
from tests.sampling import runs

DOMAIN = {"a": [0, 1, 2], "b": ["x", "y"]}
TUPLES = list(itertools.product(*DOMAIN.values()))
WEIGHTS = {"a": [6, 3, 1], "b": [4, 1]}


def _chance(a: int, b: str, uniform: Fraction = Fraction(1, 20)) -> Fraction:
    """The probability of a tuple under the source, written down anew."""
    product = Fraction(WEIGHTS["a"][a], 10) * Fraction({"x": 4, "y": 1}[b], 5)
    return (1 - uniform) * product + uniform / 6


def _worst(priors: list[Fraction], alpha: Fraction, noise: list[Fraction]) -> list[Fraction]:
    """For every tuple the largest posterior over all 64 views, by Bayes over all 64 tables."""
    tables = list(itertools.product([False, True], repeat=len(priors)))
    weights = [math.prod(p if inside else 1 - p for p, inside in zip(priors, table, strict=True)) for table in tables]
    worst = [Fraction(0)] * len(priors)
    for view in tables:
        likely = []
        for table, weight in zip(tables, weights, strict=True):
            for inside, shown, beta in zip(table, view, noise, strict=True):
                chance = beta + alpha * inside
                weight *= chance if shown else 1 - chance
            likely.append(weight)
        total = sum(likely)
        for place in range(len(priors)):
            after = sum(w for w, table in zip(likely, tables, strict=True) if table[place]) / total
            worst[place] = max(worst[place], after)
    return worst


def test_a_view_with_a_source_keeps_the_belief_that_was_asked_for():
    # It once certified d = 1/240 without a word, and beliefs of 1/12 ended at up to 0.9.
    table = rt.Table(pl.DataFrame({"a": [0, 2], "b": ["x", "y"]}), quasi=["a", "b"])
    made = rt.publish(
        table, rt.BoundedBelief("1/12", "1/2"), method=rt.AlphaBeta(domain=DOMAIN, source=WEIGHTS), insecure_seed=1
    )
    assert made.certificate["claims"][0]["parameters"] == {"d": "1/12", "gamma": "1/2", "adversary": "independent"}
    chances = made.reader.plan.source_rates
    noise = [chances.scale * _chance(*each) for each in TUPLES]
    worst = _worst([Fraction(1, 12)] * 6, chances.alpha, noise)
    assert max(worst) == worst[TUPLES.index((2, "y"))] == Fraction(1, 2)
    assert chances.least == min(noise)
    assert chances.alpha + chances.largest == Fraction(1, 2)


def test_a_plan_by_density_covers_k_times_what_the_source_says_of_each_tuple():
    made = plan(n=1, domain=DOMAIN, k=1, gamma="3/4", source=WEIGHTS)
    chances = made.source_rates
    noise = [chances.scale * _chance(*each) for each in TUPLES]
    worst = _worst([_chance(*each) for each in TUPLES], chances.alpha, noise)
    assert max(worst) <= Fraction(3, 4)
    assert made.d == min(_chance(*each) for each in TUPLES)
    assert made.definition.d == made.d
    assert made.k == 1
    assert max(_worst([made.d] * 6, chances.alpha, noise)) <= Fraction(3, 4)


@pytest.mark.parametrize("asked", [{"k": 2}, {"d": "1/200"}])
def test_a_plan_with_a_source_predicts_size_and_error_of_its_views(asked):
    made = plan(n=6, domain=scores_domain(), gamma="1/3", source={"nationality": [6, 3, 1]}, **asked)
    times = runs(300)
    views = [publish(scores_frame(), made, insecure_seed=seed) for seed in range(times)]
    sizes = [len(view) for view in views]
    assert abs(np.mean(sizes) - float(made.expected_rows)) < 5 * np.std(sizes) / math.sqrt(times)
    everything, half = made.samples[:2]
    values = [float(view.estimate("true").value) for view in views]
    assert np.std(values) == pytest.approx(everything.standard_error, rel=0.25)
    assert half.name == "half of the source"
    assert half.standard_error < everything.standard_error
    assert f"about {round(made.expected_rows):,} rows" in made.words()
    bound = made.error_bound(made.domain.size)
    assert np.mean([abs(value - 6) > bound for value in values]) <= 0.05
    assert Plan.from_json(made.as_json()).as_json() == made.as_json()


def test_noise_that_is_not_asked_of_every_tuple_alike_is_less():
    options = {"n": 6, "domain": scores_domain(), "gamma": "1/3"}
    uniform = plan(k=2, **options)
    same_promise = plan(d=uniform.d, source={"nationality": [6, 3, 1]}, **options)
    by_density = plan(k=2, source={"nationality": [6, 3, 1]}, **options)
    assert same_promise.definition == uniform.definition
    assert same_promise.relative_error > 0
    assert same_promise.samples[0].standard_error > uniform.samples[0].standard_error
    assert by_density.samples[0].standard_error < same_promise.samples[0].standard_error
    assert by_density.d < uniform.d


def test_a_source_that_does_not_fit_its_plan_is_refused():
    domain = ViewDomain.of(DOMAIN)
    made = plan(n=1, domain=domain, d="1/12", gamma="1/2", source=WEIGHTS)
    frame = pl.DataFrame({"a": [0], "b": ["x"]})
    with pytest.raises(PolicyError, match="another source"):
        publish(frame, made, source={"a": [1, 1, 1]}, insecure_seed=1)
    assert publish(frame, made, source=WEIGHTS, insecure_seed=1).plan.as_json() == made.as_json()
    with pytest.raises(PolicyError, match="one view"):
        plan(n=1, domain=domain, d="1/100", gamma="1/2", source=WEIGHTS, views=2)
    with pytest.raises(PolicyError, match="independent"):
        plan(n=1, domain=domain, d="1/12", gamma="1/2", source=WEIGHTS, adversary="both")
    with pytest.raises(Infeasible, match="flatter source"):
        plan(n=1, domain=domain, k=1, gamma="1/3", source=NoiseSource.of(domain, {"a": [98, 1, 1], "b": [98, 1]}))
