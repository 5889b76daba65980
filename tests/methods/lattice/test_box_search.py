"""The anytime search of large lattices: run to its end it finds the optimum, and its bound is never above it on the way."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from reticent.engine import count_table
from reticent.methods.lattice.anytime import BestFirstSearch
from reticent.methods.lattice.box_search import BoxSearch
from reticent.methods.lattice.node_evaluation import Evaluator
from tests.methods.grouping.worlds import random_world
from tests.methods.lattice.test_search import OBJECTIVES, random_definition
from tests.oracles import lattice as oracle
from tests.sampling import seeds

SUMS = ("loss", "ncp", "non_uniform_entropy")


def world(rng: random.Random, objectives=OBJECTIVES):
    """An evaluator of a random table, and what going through every node row by row finds."""
    rows, hierarchies, table = random_world(rng)
    definition, judges = random_definition(rng)
    limit, objective = Fraction(rng.choice([0, 1, 4, 10, 20, 20]), 20), rng.choice(objectives)
    _, best = oracle.Twin(rows, hierarchies, judges, limit, objective).search()
    frequencies = count_table(definition.prepare(table))
    return Evaluator(frequencies, definition, limit, objective), best


@pytest.mark.parametrize("seed", seeds(6))
def test_run_to_its_end_it_finds_the_optimum_and_proves_it(seed):
    rng = random.Random(seed)
    for _ in range(15):
        evaluator, best = world(rng)
        outcome = BestFirstSearch(evaluator).run(None)
        if best is None:
            assert outcome.best is None
        else:
            # Measures that are no sum over columns are searched among the neighbours of passing nodes alone.
            assert outcome.proven or evaluator.objective.name not in SUMS
            if outcome.proven:
                assert outcome.best.objective == pytest.approx(best[0], rel=1e-9, abs=1e-9)
            else:
                assert outcome.bound <= best[0] + 1e-9
        assert len({each.levels for each in evaluator.log}) == evaluator.evaluated


@pytest.mark.parametrize("seed", seeds(6))
def test_the_bound_rises_with_every_split_and_never_exceeds_the_optimum(seed):
    rng = random.Random(100 + seed)
    for _ in range(15):
        evaluator, best = world(rng, SUMS)
        if evaluator.evaluate(evaluator.space.top).hopeless:
            continue
        least, bound = float("inf"), float("-inf")

        def evaluate(levels, evaluator=evaluator):
            nonlocal least
            found = evaluator.evaluate(levels)
            least = min(least, float("inf") if found.objective is None else found.objective)
            return found

        boxes = BoxSearch(evaluator, evaluate)
        while not boxes.is_finished(least):
            boxes.split(least)
            assert boxes.bound(least) >= bound
            bound = boxes.bound(least)
            assert best is None or bound <= best[0] + 1e-9
        assert least == pytest.approx(float("inf") if best is None else best[0], rel=1e-9, abs=1e-9)


def test_columns_bound_every_specialization_of_a_node():
    rng = random.Random(7)
    for _ in range(15):
        evaluator, _ = world(rng, SUMS)
        evaluations = {levels: evaluator.evaluate(levels) for levels in evaluator.space.nodes()}
        for levels, found in evaluations.items():
            bounds = None if found.hopeless else evaluator.column_bounds(levels)
            for finer, below in evaluations.items():
                if bounds is not None and below.objective is not None and all(map(int.__le__, finer, levels)):
                    assert bounds.at(finer) <= below.objective + 1e-9
