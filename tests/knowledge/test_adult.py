"""Experiments E1-E4 on Adult to the printed digits, and the searches on its 72 nodes (O9)."""

from __future__ import annotations

import pytest
from benchmarks.adult import SHARED
from benchmarks.reproduce_knowledge import Comparison, adult, experiment_1, experiment_2, experiment_3, experiment_4

from reticent.knowledge.bucketization_search import Rollup

pytestmark = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared/data is not here")


@pytest.fixture(scope="module")
def nodes() -> Rollup:
    return Rollup(adult())


@pytest.mark.parametrize("experiment", [experiment_1, experiment_2, experiment_3, experiment_4])
def test_every_printed_value_is_reproduced(nodes, experiment, capsys):
    compare = Comparison()
    experiment(compare, nodes)
    assert compare.wrong == 0, capsys.readouterr().out
    assert compare.right


@pytest.mark.slow
def test_the_figures_are_drawn(nodes, tmp_path):
    experiment_1(Comparison(), nodes, tmp_path)
    experiment_2(Comparison(), nodes, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"figure5.svg", "figure5.png", "figure6.svg", "figure6.png"}
