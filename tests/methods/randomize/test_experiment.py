"""The published experiment and the worked example repeated, within the gates of the spec."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from benchmarks.randomize import streamed
from benchmarks.reproduce_alpha_beta import SPEC, main, repeat_example

from tests.methods.randomize.examples import SCORES
from tests.oracles.randomize_tails import shown_pmf


@pytest.mark.slow
def test_the_adult_experiment_is_reproduced(shared_data: Path):
    # main itself holds the number of queries, the gate of 4.2 to 4.8, and the bound that no query may pass, on records and on distinct tuples.
    found = main(seeds=2)
    for data, errors in SPEC.items():
        for name, error in errors.items():
            assert found[data][name].means[3] == pytest.approx(error, rel=0.15)
            # The spec averaged five seeds, and so is within 4 % of what any number of seeds must come to.
            assert found[data][name].expected[3] == pytest.approx(error, rel=0.04)


def test_the_worked_example_over_twenty_thousand_runs():
    # G1: the spec's runs gave 3.009, 3.105 and 14.4 % negative. The exact law of what is shown gives the bands, five standard errors wide.
    runs, alpha, beta = 20_000, 2 / 3, 1 / 150
    law = shown_pmf(3, 549, alpha + beta, beta)
    values = (np.arange(len(law)) - beta * 549) / alpha
    deviation, below = math.sqrt(law @ (values - 3) ** 2), law[values < 0].sum()
    assert deviation == pytest.approx(SCORES["standard_deviation"], abs=5e-5)
    fourth = law @ (values - 3) ** 4
    bands = (
        5 * deviation / math.sqrt(runs),
        5 * math.sqrt((fourth - deviation**4) / runs) / (2 * deviation),
        5 * math.sqrt(below * (1 - below) / runs),
    )
    for found in (repeat_example(runs), (3.009, 3.105, 0.144)):
        for value, exactly, band in zip(found, (3, deviation, below), bands, strict=True):
            assert abs(value - exactly) < band


@pytest.mark.slow
def test_fifty_million_rows_are_streamed_within_a_gigabyte():
    written, megabytes = streamed()
    assert written > 50_000_000
    assert megabytes <= 1024
