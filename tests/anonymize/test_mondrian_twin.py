"""Mondrian makes the groups of its slow twin, whatever definition it is asked for."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from reticent.anonymize import Mondrian
from reticent.anonymize.mondrian import stage as stages
from reticent.anonymize.mondrian.stage import Stage, order_of
from reticent.data import Hierarchy, Table
from reticent.definitions import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    CategoryDiversity,
    ConfidenceBounding,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    EpsilonMAnonymity,
    KAnonymity,
    KEAnonymity,
    KMap,
    LAlphaDiversity,
    MEligible,
    MUnique,
    NegatedKnowledge,
    NegativePositiveDiversity,
    PersonalPrivacy,
    ProbabilisticLDiversity,
    PSensitive,
    RangeDiversity,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
    XYPrivacy,
)
from reticent.engine import LocalEngine
from reticent.errors import Infeasible
from tests.anonymize.worlds import COLUMNS, random_world
from tests.oracles import catalogue_models as models
from tests.oracles import knowledge_recursion, lattice
from tests.oracles import mondrian as oracle
from tests.oracles.mondrian import Demand, Part

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
NUMBERS = {"s0": 0, "s1": 1, "s2": 3, "s3": 10}
TREE = {"low": ["s0", "s1"], "high": ["s2", "s3"]}
LEAVES = {"low": {"s0", "s1"}, "high": {"s2", "s3"}, **{leaf: {leaf} for leaf in NUMBERS}}


@dataclass
class World:
    """Rows with their wishes, and a population that contains them."""

    rows: list[tuple]
    people: list[tuple]
    columns: int
    table: Table
    numbers: Table
    population: pl.DataFrame

    @classmethod
    def draw(cls, rng: random.Random) -> World:
        rows, hierarchies, table = random_world(rng)
        wishes = [None, None, None, "low", "high", "s0", "s1"]
        rows = [(*row, rng.choice(wishes), rng.choice([None, "1/2", "0.5", "0.8", "1"])) for row in rows]
        names, columns = COLUMNS[: len(hierarchies)], len(hierarchies)
        frame = pl.DataFrame(rows, schema=[*names, "s", "wish", "limit"], orient="row")
        outside = [tuple(rng.choice(column)[0] for column in hierarchies) for _ in range(rng.randint(0, 40))]
        people = [row[:columns] for row in rows] + outside
        tree = Hierarchy.taxonomy(TREE)
        return cls(
            rows,
            people,
            columns,
            Table(frame, quasi=table.quasi, sensitive={"s": tree}, private=["wish", "limit"]),
            Table(frame.with_columns(pl.col("s").replace_strict(NUMBERS)), quasi=table.quasi, sensitive="s"),
            pl.DataFrame(people, schema=list(names), orient="row"),
        )


def values(part: Part) -> list[str]:
    return [row[-3] for row in part.rows]


def on_values(world: World, judge, numbers: bool = False):
    """A judge of lists of values as one of parts."""
    read = NUMBERS.__getitem__ if numbers else str
    whole = [read(row[-3]) for row in world.rows]
    return lambda part: judge([read(value) for value in values(part)], whole)


def on_counts(world: World, judge):
    whole = Counter(row[-3] for row in world.rows)
    return lambda part: judge(Counter(values(part)), whole)


def wishes_met(default: Fraction):
    def judge(part: Part) -> bool:
        for *_, wish, limit in part.rows:
            if wish is not None:
                below = sum(value in LEAVES[wish] for value in values(part))
                if Fraction(below, len(part.rows)) > (default if limit is None else Fraction(limit)):
                    return False
        return True

    return judge


def known(world: World, c: Fraction, k: int):
    def judge(parts: list[Part]) -> bool:
        histograms = [tuple(Counter(values(part)).values()) for part in parts]
        return min(map(len, histograms)) >= k + 2 and knowledge_recursion.disclosure(histograms, k) < c

    return judge


def at_risk(limit: Fraction):
    return lambda parts: len(parts) <= limit * sum(len(part.rows) for part in parts)


def has(k: int):
    return lambda part: len(part.rows) >= k


CASES = {
    "k": lambda w: (KAnonymity(2), Demand([has(2)])),
    "distinct": lambda w: (KAnonymity(3) & DistinctLDiversity(2), Demand([has(3), on_counts(w, lattice.distinct(2))])),
    "entropy": lambda w: (KAnonymity(2) & EntropyLDiversity(2), Demand([has(2), on_counts(w, lattice.entropy(2))])),
    "probabilistic": lambda w: (ProbabilisticLDiversity("1.6"), Demand([on_values(w, models.x_y(1, Fraction(5, 8)))])),
    "recursive": lambda w: (RecursiveLDiversity(2, 2), Demand([on_counts(w, lattice.recursive(Fraction(2), 2))])),
    "negative": lambda w: (
        NegativePositiveDiversity(3, 5, 2, [], ["s0"]),
        Demand(
            [
                on_counts(w, lattice.recursive(Fraction(3), 2)),
                lambda part: 100 * values(part).count("s0") >= 5 * len(part.rows),
            ]
        ),
    ),
    "t": lambda w: (KAnonymity(2) & TCloseness("0.4"), Demand([has(2), on_counts(w, lattice.close(Fraction(2, 5)))])),
    "alpha": lambda w: (AlphaKAnonymity("0.6", 3), Demand([on_values(w, models.alpha_k(Fraction(3, 5), 3))])),
    "p": lambda w: (PSensitive(2, 3), Demand([on_values(w, models.p_sensitive(2, 3))])),
    "l alpha": lambda w: (
        LAlphaDiversity(1, 1, {"s0": "0.5", "s1": 1}),
        Demand([on_values(w, models.l_alpha(1, Fraction(1), {"s0": HALF, "s1": 1}))]),
    ),
    "x y": lambda w: (XYPrivacy(2, "0.7"), Demand([on_values(w, models.x_y(2, Fraction(7, 10)))])),
    "confidence": lambda w: (
        ConfidenceBounding("0.5", ["s0"]),
        Demand([on_values(w, models.confidence(HALF, ["s0"]))]),
    ),
    "category": lambda w: (
        CategoryDiversity("0.9", [["s0", "s1"], ["s2"]]),
        Demand([on_values(w, models.categories(Fraction(9, 10), [{"s0", "s1"}, {"s2"}]))]),
    ),
    "k e": lambda w: (KEAnonymity(2, 2), Demand([on_values(w, models.k_e(2, Fraction(2)), True)])),
    "range": lambda w: (
        RangeDiversity("0.8", 1, 1),
        Demand([on_values(w, models.ranges(Fraction(4, 5), Fraction(1), Fraction(1)), True)]),
    ),
    "beta": lambda w: (BetaLikeness("0.8"), Demand([on_values(w, models.beta_like(Fraction(4, 5), False))])),
    "eligible": lambda w: (MEligible(2), Demand([on_values(w, models.m_eligible(2))])),
    "negations": lambda w: (
        NegatedKnowledge("0.8", 1),
        Demand(
            [lambda part: knowledge_recursion.negation([tuple(Counter(values(part)).values())], 1) < Fraction(4, 5)]
        ),
    ),
    "k map": lambda w: (KMap(4, w.population), Demand([lambda part: len(part.people) >= 4])),
    "presence": lambda w: (
        DeltaPresence(0, "0.7", w.population) & KAnonymity(2),
        Demand([has(2), lambda part: 10 * len(part.rows) <= 7 * len(part.people)]),
    ),
    "presence from below": lambda w: (
        DeltaPresence("1/3", "0.9", w.population),
        Demand(
            wavering=[
                lambda part: 3 * len(part.rows) >= len(part.people) and 10 * len(part.rows) <= 9 * len(part.people)
            ]
        ),
    ),
    "delta": lambda w: (DeltaDisclosure(1), Demand(wavering=[on_values(w, models.delta_disclosing(Fraction(1)))])),
    "delta and k": lambda w: (
        DeltaDisclosure("1.5") & KAnonymity(3),
        Demand([has(3)], [on_values(w, models.delta_disclosing(Fraction(3, 2)))], has(3)),
    ),
    "unique": lambda w: (
        MUnique(2),
        Demand(wavering=[on_values(w, models.m_unique(2))], hope=lambda part: len(set(values(part))) >= 2),
    ),
    "epsilon": lambda w: (
        EpsilonMAnonymity(1, 2),
        Demand(wavering=[on_values(w, models.epsilon_m(Fraction(1), Fraction(2)), True)]),
    ),
    "wishes": lambda w: (PersonalPrivacy("0.6", "wish"), Demand(wavering=[wishes_met_by_all(Fraction(3, 5))])),
    "wishes and thresholds": lambda w: (
        PersonalPrivacy("0.6", "wish", thresholds="limit") & KAnonymity(2),
        Demand([has(2)], [wishes_met(Fraction(3, 5))], has(2)),
    ),
    "knowledge": lambda w: (WorstCaseKnowledge("0.9", 1), Demand(together=[known(w, Fraction(9, 10), 1)])),
    "knowledge of nothing": lambda w: (
        WorstCaseKnowledge("0.7", 0) & KAnonymity(2),
        Demand([has(2)], together=[known(w, Fraction(7, 10), 0)]),
    ),
    "risk": lambda w: (AverageRisk("0.3"), Demand(together=[at_risk(Fraction(3, 10))])),
    "knowledge and risk": lambda w: (
        WorstCaseKnowledge("0.8", 0) & AverageRisk("0.35") & KAnonymity(2),
        Demand([has(2)], together=[known(w, Fraction(4, 5), 0), at_risk(Fraction(7, 20))]),
    ),
    "everything": lambda w: (
        MUnique(2) & KMap(2, w.population) & AverageRisk("0.5"),
        Demand(
            [lambda part: len(part.people) >= 2],
            [on_values(w, models.m_unique(2))],
            lambda part: len(set(values(part))) >= 2,
            [at_risk(HALF)],
        ),
    ),
}
NUMERIC = {"k e", "range", "epsilon"}


def wishes_met_by_all(limit: Fraction):
    return lambda part: wishes_met(limit)(Part([(*row[:-1], None) for row in part.rows]))


@pytest.mark.parametrize("case", CASES)
def test_it_makes_the_groups_of_the_slow_twin(case):
    rng = random.Random(case)
    seen: Counter = Counter()
    while seen["made"] < 25 and seen.total() < 400:
        world = World.draw(rng)
        definition, demand = CASES[case](world)
        table = world.numbers if case in NUMERIC else world.table
        limit = rng.choice([0, 1])
        order = [
            [h.leaves[int(leaf)] for leaf in np.argsort(order_of(h))] for h in definition.prepare(table).hierarchies
        ]
        people = world.people if definition.needs_population else ()
        parts = oracle.partition(world.rows, order, demand, definition.least_rows(), people)
        kept = [part for part in parts or () if demand.wavering_pass(part)]
        lost = len(world.rows) - sum(len(part.rows) for part in kept)
        possible = bool(kept) and lost <= limit * len(world.rows) and all(judge(kept) for judge in demand.together)
        try:
            draft = Mondrian(suppression=limit).draft(table, definition)
        except Infeasible:
            assert not possible, (world, definition)
            seen["infeasible"] += 1
            continue
        assert possible, (world, definition)
        assert groups_of_rows(draft, definition.prepare(table), world.rows) == oracle.contents(kept), (
            world,
            definition,
        )
        assert definition.holds(draft.groups)
        assert draft.suppressed == lost
        seen["made"] += 1
        seen["cut"] += len(kept) > 1
    assert seen["made"] >= 15
    assert seen["cut"] >= 5


def groups_of_rows(draft, table, rows) -> Counter:
    engine = LocalEngine()
    numbers = draft.recoding.group_of_point[engine.points(table, engine.frequencies(table))]
    found: dict[int, list] = {}
    for row, group in zip(rows, numbers.tolist(), strict=True):
        if group >= 0:
            found.setdefault(group, []).append(row)
    return Counter(frozenset(Counter(part).items()) for part in found.values())


@pytest.mark.parametrize("seed", range(3))
def test_compiled_loops_do_what_their_twins_do(seed, monkeypatch):
    draw = np.random.default_rng(seed)
    for _ in range(30):
        groups, columns = draw.integers(1, 6), draw.integers(1, 4)
        lengths = draw.integers(1, 12, groups)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        leaves = draw.integers(1, 7, columns)
        ranks = np.stack([draw.integers(0, size, starts[-1]) for size in leaves]).astype(np.uint8)
        stage = Stage(np.arange(starts[-1]), draw.integers(0, 4, starts[-1]), ranks, leaves, starts)
        column, least = draw.integers(0, columns, groups), int(draw.integers(1, 4))
        fresh = np.ones(groups, dtype=bool)
        outcomes = []
        for limit in (10**9, 0):
            monkeypatch.setattr(stages, "COMPILED_FROM", limit)
            cut = stage.cut(column, stage.rows(), least)
            halved = stage.halved(cut.right, cut.possible)
            widths = stage.widths(np.zeros((groups, columns), dtype=np.int64), fresh)
            outcomes.append((cut.left, cut.right, halved.members, halved.starts, halved.ranks, widths))
        for plain, compiled in zip(*outcomes, strict=True):
            assert np.array_equal(plain, compiled)
