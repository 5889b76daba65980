"""Thousands of small tables through ``rt.assess``: verdict, achieved value and witness are those of measuring each group by hand.

Tables have one to three sensitive columns, skewed and single-valued ones, and sometimes weights, which must change nothing; parameters lie on
the boundary of what was achieved, and just beside it.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.table import Hierarchy, Table
from tests.oracles import definitions_figures as figures
from tests.sampling import seeds

TINY = Fraction(1, 10**9)
LETTERS = list("abcdefg")
PATHS = {value: (value, "xyz"[place // 3], "*") for place, value in enumerate(LETTERS)}


class World:
    """A random table, as rows and as the project reads it."""

    def __init__(self, rng: random.Random) -> None:
        self.quasi = ["q0", "q1"][: rng.randint(1, 2)]
        self.sensitive = ["s0", "s1", "s2"][: rng.choice([1, 1, 1, 2, 3])]
        numeric = rng.random() < 0.3
        skew, values, points = rng.choice([1, 1, 2, 4]), rng.choice([1, 2, 3, 5]), rng.choice([1, 2, 3, 5])

        def draw(size: int) -> int:
            return int(rng.random() ** skew * size)

        self.rows = [
            {name: f"v{draw(points)}" for name in self.quasi}
            | {
                name: draw(values) * 2 - 3 if numeric and name == "s0" else LETTERS[draw(values)]
                for name in self.sensitive
            }
            for _ in range(rng.randint(1, 26))
        ]
        self.numeric = numeric and len(self.sensitive) == 1
        self.column = rng.choice([None, *self.sensitive])
        self.columns = [self.column] if self.column else self.sensitive
        kind = rng.choice([None, LETTERS, Hierarchy.listed([list(path) for path in PATHS.values()])])
        self.kind = "ordered" if kind is LETTERS else "hierarchical" if kind is not None else None
        frame = pl.DataFrame(self.rows).with_columns(w=pl.Series([rng.choice([1.0, 2.5]) for _ in self.rows]))
        kinds = {name: None if numeric and name == "s0" else kind for name in self.sensitive}
        self.table = Table(frame, quasi=self.quasi, sensitive=kinds, weight=rng.choice([None, "w"]))
        self.people = figures.refined(self.rows, self.quasi, self.sensitive[0])
        self.present = sorted({row[name] for row in self.rows for name in self.columns}, key=str)

    def groups(self, column: str) -> list[list]:
        others = [name for name in self.sensitive if name != column]
        return figures.refined(self.rows, [*self.quasi, *others], column)

    def expected(self, figure: figures.Figure, column: str) -> object:
        whole = [row[column] for row in self.rows]
        return figure.pick(figure.measure(group, whole) for group in self.groups(column))

    def distance(self, name: str, column: str) -> figures.Distance:
        if name == "equal":
            return figures.equal
        if name == "hierarchical":
            return figures.hierarchical(PATHS)
        numbers = isinstance(self.rows[0][column], int)
        return figures.ordered(sorted({row[column] for row in self.rows}) if numbers else LETTERS)


def figures_of_one_parameter(rng: random.Random, world: World):
    """(definition of a parameter, its figure for a column, a parameter to begin with, whether parameters are whole numbers)."""
    column, order = world.column, rng.randint(1, 4)
    text = not any(isinstance(world.rows[0][name], int) for name in world.columns)
    apart = rng.choice(
        ["equal", *([world.kind] if text and world.kind else []), *(["ordered"] if world.numeric else [])]
    )
    half, spared = Fraction(1, 2), rng.sample(world.present, rng.randint(0, len(world.present)))
    yield lambda p: rt.DistinctLDiversity(p, column), lambda c: figures.DISTINCT, 2, True
    yield lambda p: rt.ProbabilisticLDiversity(p, column), lambda c: figures.PROBABILISTIC, 1 + half, False
    yield lambda p: rt.RecursiveLDiversity(p, order, column=column), lambda c: figures.recursive(order), 2 * half, False
    yield lambda p: rt.TCloseness(p, apart, column), lambda c: figures.closeness(world.distance(apart, c)), half, False
    large = rng.randint(2, 8)
    yield (
        lambda p: rt.NTCloseness(large, p, apart, column),
        lambda c: figures.closeness(world.distance(apart, c), large),
        half,
        False,
    )
    yield lambda p: rt.BetaLikeness(p, column=column), lambda c: figures.GROWTH, half, False
    yield lambda p: rt.MUnique(p, column), lambda c: figures.UNIQUE, 2, True
    yield lambda p: rt.MEligible(p, column), lambda c: figures.ELIGIBLE, 2, True
    if column is not None:
        some = rng.sample(world.present, rng.randint(1, len(world.present)))
        yield (
            lambda p: rt.RecursiveLDiversity(p, order, spared, column),
            lambda c: figures.recursive(order, spared),
            half,
            False,
        )
        yield lambda p: rt.ConfidenceBounding(p, some, column), lambda c: figures.listed(some), half, False
        sets = [some, world.present[:1]]
        yield lambda p: rt.CategoryDiversity(p, sets, column), lambda c: figures.categories(sets), half, False
    if world.numeric:
        length = Fraction(rng.randint(0, 8), 2)
        yield lambda p: rt.RangeDiversity(p, half, length, column), lambda c: figures.ranges(half + length), half, False
        yield lambda p: rt.EpsilonMAnonymity(length, p, column), lambda c: figures.near(length), 2 * half, False


def check(world: World, definition: rt.Definition, parameter: object, figure_of, said: Counter) -> list:
    """Hold an assessment to the figures; the achieved values."""
    found = rt.assess(world.table, definition)
    where = f"{definition} {world.rows}"
    told = found.parts if len(world.columns) > 1 else (found,)
    achieved = []
    for column, part in zip(world.columns, told, strict=True):
        figure = figure_of(column)
        expected = world.expected(figure, column)
        assert part.value == expected, where
        assert part.holds is figure.meets(expected, parameter), where
        assert (part.witness is None) is part.holds, where
        said[definition.name, part.holds] += 1
        achieved.append(expected)
        if part.witness is None:
            continue
        whole = [row[column] for row in world.rows]
        failing = [group for group in world.groups(column) if not figure.meets(figure.measure(group, whole), parameter)]
        worst = [group for group in failing if figure.measure(group, whole) == expected]
        assert part.witness.details["histogram"] in [Counter(map(str, group)) for group in worst], where
        assert part.diagnostics["failing_groups"] == len(failing), where
        assert part.diagnostics["failing_rows"] == sum(map(len, failing)), where
    if len(world.columns) > 1:
        assert found.holds is all(part.holds for part in told), where
        assert found.value == dict(zip(world.columns, achieved, strict=True)), where
    return achieved


def run(seed: int, tables: int) -> Counter:
    rng, said = random.Random(seed), Counter()
    for _ in range(tables):
        world = World(rng)
        for make, figure_of, start, whole in figures_of_one_parameter(rng, world):
            achieved = check(world, make(start), start, figure_of, said)
            for value in achieved:
                if not isinstance(value, int | Fraction):
                    continue
                for parameter in (value, value + 1) if whole else (value, value + TINY, value - TINY):
                    try:
                        definition = make(parameter)
                    except rt.PolicyError:
                        continue
                    check(world, definition, parameter, figure_of, said)
    return said


NAMES = {
    "DistinctLDiversity", "ProbabilisticLDiversity", "RecursiveLDiversity", "TCloseness", "NTCloseness", "BetaLikeness", "MUnique", "MEligible",
    "ConfidenceBounding", "CategoryDiversity", "RangeDiversity", "EpsilonMAnonymity",
}  # fmt: skip


def test_assessments_are_those_of_measuring_every_group_by_hand():
    said = run(seed=1, tables=30)
    assert {name for name, _ in said} == NAMES
    assert sum(said.values()) > 800


@pytest.mark.slow
def test_many_more_assessments_are_those_of_measuring_every_group_by_hand():
    said = sum((run(seed, 60) for seed in range(100, 112)), Counter())
    assert all(said[name, holds] for name in NAMES for holds in (True, False))


def pairs(rng: random.Random, world: World):
    """Definitions with two parameters: (definition, for each parameter its figure and what was asked, or the people that groups must have)."""
    column, k, order, share = world.column, rng.randint(1, 4), rng.randint(1, 3), Fraction(rng.randint(1, 12), 12)
    yield rt.AlphaKAnonymity(share, k, column), {"k": (None, k), "alpha": (figures.LARGEST_SHARE, share)}
    yield rt.PSensitive(order, k, column), {"p": (figures.DISTINCT, order), "k": (None, k)}
    yield rt.XYPrivacy(order, share, column), {"k": (figures.DISTINCT, order), "h": (figures.LARGEST_SHARE, share)}
    if column is not None:
        weights = {value: Fraction(rng.randint(0, 4), 2) for value in world.present}
        yield (
            rt.LAlphaDiversity(order, 3 * share, weights, column),
            {"l": (figures.DISTINCT, order), "alpha": (figures.weight(weights), 3 * share)},
        )
        kept, spared = world.present[:1], world.present[1:2]
        yield (
            rt.NegativePositiveDiversity(3 * share, 20 * share, order, spared, kept, column),
            {"c1": (figures.recursive(order, spared), 3 * share), "c2": (figures.kept(kept), 20 * share)},
        )
    if world.numeric:
        yield rt.KEAnonymity(order, 6 * share, column), {"k": (figures.DISTINCT, order), "e": (figures.SPAN, 6 * share)}


@pytest.mark.parametrize("seed", seeds(3))
def test_definitions_of_two_parameters_tell_both(seed):
    rng, said = random.Random(500 + seed), Counter()
    for _ in range(30):
        world = World(rng)
        for definition, asked in pairs(rng, world):
            values, met = {}, True
            for name, (figure, parameter) in asked.items():
                if figure is None:
                    values[name] = min(map(len, world.people))
                    met &= values[name] >= parameter
                    continue
                each = {column: world.expected(figure, column) for column in world.columns}
                met &= all(figure.meets(value, parameter) for value in each.values())
                values[name] = each if len(each) > 1 else next(iter(each.values()))
            found = rt.assess(world.table, definition)
            assert (found.holds, found.value) == (met, values), f"{definition} {world.rows}"
            joined = rt.assess(world.table, definition & rt.AverageRisk(1))
            assert joined.holds is met
            assert joined.value[str(definition)] == values
            said[definition.name, met] += 1
    assert len({name for name, _ in said}) == 6
    assert {met for _, met in said} == {True, False}


EVERY_EQUAL_DISTANCE = [
    rt.DistinctLDiversity(2), rt.ProbabilisticLDiversity(2), rt.EntropyLDiversity("1.5"), rt.RecursiveLDiversity(2, 2), rt.TCloseness("0.3"),
    rt.BetaLikeness(1), rt.BetaLikeness(1, enhanced=True), rt.DeltaDisclosure(1), rt.MUnique(2), rt.MEligible(2), rt.AlphaKAnonymity("0.5", 2),
    rt.WorstCaseKnowledge("0.9", 1), rt.NegatedKnowledge("0.9", 1),
]  # fmt: skip


@pytest.mark.parametrize("seed", seeds(3))
def test_neither_the_order_of_rows_nor_the_names_of_values_matter(seed):
    rng = random.Random(700 + seed)
    for _ in range(8):
        rows = [(rng.choice("12"), rng.choice("abc")) for _ in range(rng.randint(2, 20))]
        shuffled = rng.sample(rows, len(rows))
        renamed = [(f"z{3 - int(zip_code)}", {"a": "ü", "b": "", "c": "A"}[value]) for zip_code, value in shuffled]
        first, second = (
            Table(pl.DataFrame(each, schema=["zip", "s"], orient="row"), quasi=["zip"], sensitive="s")
            for each in (rows, renamed)
        )
        for definition in EVERY_EQUAL_DISTANCE:
            here, there = rt.assess(first, definition), rt.assess(second, definition)
            assert (here.holds, here.value) == (there.holds, there.value), f"{definition} {rows}"
            assert here.diagnostics.get("failing_rows") == there.diagnostics.get("failing_rows")
