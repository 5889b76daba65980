"""Random small tables with columns of every kind, in the shape of the project and of the oracle of local recoding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.table import Hierarchy, Table
from tests.methods.grouping.worlds import random_hierarchy
from tests.oracles.leaving import Row
from tests.oracles.mondrian import Column

NUMBERS = {"s0": 0, "s1": 1, "s2": 3, "s3": 10}
TREE = {"low": ["s0", "s1"], "high": ["s2", "s3"]}
TOP = ("everything",)

Kind = Callable[[random.Random], tuple[list, Hierarchy, Callable[[list], Column]]]


def listed_text(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    rows = random_hierarchy(rng, rng.randint(1, 6), always_top=False)
    return _listed([row[0] for row in rows], rows, numeric=False)


def listed_numbers(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    """Numbers whose parts are anything but ranges, listed in no order; too large for floats to tell apart."""
    rows = random_hierarchy(rng, rng.randint(1, 6))
    base = rng.choice([0, 2**60])
    values = rng.sample(range(base, base + 9), len(rows))
    return _listed(values, rows, numeric=True)


def _listed(values: list, rows: list[list[str]], numeric: bool) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    parts = {value: tuple(enumerate([value, *row[1:]])) for value, row in zip(values, rows, strict=True)}
    hierarchy = Hierarchy.listed([[str(value), *row[1:]] for value, row in zip(values, rows, strict=True)])
    return values, hierarchy, lambda held: Column(tuple(values), parts, numeric)


def intervals(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    """Ranges of whole numbers of a declared domain, or of those that occur."""
    low, high = -2, rng.randint(0, 7)
    declared = rng.random() < 0.5
    values = sorted(rng.sample(range(low, high + 1), rng.randint(1, high - low + 1)))

    def column(held: list) -> Column:
        leaves = range(low, high + 1) if declared else sorted({value for value in held if value is not None})
        parts = {leaf: (leaf, ("by 2", leaf // 2), ("by 4", leaf // 4), TOP) for leaf in leaves}
        return Column(tuple(leaves), parts, numeric=True)

    return values, Hierarchy.intervals([2, 4], domain=(low, high) if declared else None), column


def cuts(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    values = rng.sample([0.25, 1.0, 1.5, 2.75, 3.0, 4.5], rng.randint(1, 6))

    def column(held: list) -> Column:
        leaves = sorted({value for value in held if value is not None})
        parts = {leaf: (leaf, ("fine", leaf >= 1, leaf >= 3), ("coarse", leaf >= 3), TOP) for leaf in leaves}
        return Column(tuple(leaves), parts, numeric=True)

    return values, Hierarchy.cuts([[1, 3], [3]]), column


def days(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    values = [date(2023, 12, 20) + timedelta(days=number) for number in rng.sample(range(0, 60), rng.randint(1, 6))]

    def column(held: list) -> Column:
        leaves = sorted({value for value in held if value is not None})
        return Column(tuple(leaves), {leaf: (leaf, (leaf.year, leaf.month), leaf.year, TOP) for leaf in leaves}, True)

    return values, Hierarchy.dates(["month", "year"]), column


def masked(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    values = rng.sample(["07", "08", "17", "18", "19", "20"], rng.randint(1, 6))

    def column(held: list) -> Column:
        leaves = sorted({value for value in held if value is not None})
        return Column(tuple(leaves), {leaf: (leaf, ("ten", leaf[0]), TOP) for leaf in leaves}, False)

    return values, Hierarchy.masking(2), column


def branches(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    """A tree in which some leaves hang higher than others."""
    ways = {"a": ("x",), "b": ("x",), "c": ("z", "y"), "d": ("w", "y"), "e": ("w", "y"), "f": ("v",)}
    parts = {leaf: (leaf, (way[0] if len(way) > 1 else leaf,), ("up", way[-1]), TOP) for leaf, way in ways.items()}
    tree = {"x": ["a", "b"], "y": {"z": ["c"], "w": ["d", "e"]}, "v": ["f"]}
    values = rng.sample(list(ways), rng.randint(1, 6))
    return values, Hierarchy.taxonomy(tree), lambda held: Column(tuple(ways), parts, False)


def plain(rng: random.Random) -> tuple[list, Hierarchy, Callable[[list], Column]]:
    """Values of any type that are kept or suppressed."""
    values = rng.choice([["Aix", "Brest", "Caen"], [True, False], [3, 11, 2]])

    def column(held: list) -> Column:
        leaves = sorted({value for value in held if value is not None})
        parts = {leaf: (("is", leaf), TOP) for leaf in leaves}
        return Column(tuple(leaves), parts, numeric=type(values[0]) is int)

    return values, Hierarchy.suppression(), column


KINDS: tuple[Kind, ...] = (listed_text, listed_numbers, intervals, cuts, days, masked, branches, plain)


def with_missing(column: Column) -> Column:
    """The column with a leaf for missing values: by itself at every level but a top of one part."""
    top = {parts[-1] for parts in column.parts.values()}
    levels = len(next(iter(column.parts.values())))
    joins = len(top) == 1 and levels > 1
    alone = [("missing", level) for level in range(levels)]
    mine = (*alone[:-1], next(iter(top)) if joins else alone[-1])
    return Column((*column.leaves, None), {**column.parts, None: mine}, column.numeric)


@dataclass
class LocalWorld:
    """Rows with their people and wishes, a population that contains them, and the table made of them."""

    rows: list[Row]
    people: list[tuple]
    frame: pl.DataFrame
    quasi: dict[str, Hierarchy]
    makers: list[Callable[[list], Column]]
    sensitive: dict[str, Any]
    unit: str
    sets: list[tuple[int, ...]] | None
    weighted: bool

    @classmethod
    def draw(
        cls,
        rng: random.Random,
        *,
        numbers: bool = False,
        columns: int = 1,
        missing: bool = False,
        persons: bool = False,
        varied: bool = False,
        changing: bool = False,
    ) -> LocalWorld:
        """A random world; a ``varied`` one has few rows with many values, in a ``changing`` one quasi values may differ between the rows of a person."""
        kinds = [rng.choice(KINDS)(rng) for _ in range(rng.randint(1, 3))]
        skew, size = (1, 4) if varied else (rng.choice([1, 2, 4]), rng.randint(1, 4))
        missing = missing and rng.random() < 0.3
        persons = persons and rng.random() < 0.25
        moving = persons and changing and rng.random() < 0.5
        wishes, limits = [None, None, None, "low", "high", "s0", "s1"], [None, "1/2", "0.5", "0.8", "1"]

        def point() -> tuple:
            drawn = [values[int(rng.random() ** skew * len(values))] for values, _, _ in kinds]
            # The first person misses nothing, so that every column has a value.
            return tuple(None if missing and rows and rng.random() < 0.15 else value for value in drawn)

        rows: list[Row] = []
        for person in range(rng.randint(1, 12 if varied else 40)):
            quasi = point()
            for _ in range(rng.randint(1, 3) if persons else 1):
                quasi = point() if moving else quasi
                values = tuple(f"s{int(rng.random() ** skew * size)}" for _ in range(columns))
                rows.append(Row(len(rows), quasi, values, person, rng.choice(wishes), rng.choice(limits)))
        rng.shuffle(rows)
        rows = [row._replace(number=number) for number, row in enumerate(rows)]
        outside = [point() for _ in range(rng.randint(0, 40))]
        if missing:
            outside = [person for person in outside if None not in person]
        names = [f"q{j}" for j in range(len(kinds))]
        read = NUMBERS.__getitem__ if numbers else str
        frame = pl.DataFrame(
            {
                **{name: pl.Series([row.quasi[j] for row in rows], strict=False) for j, name in enumerate(names)},
                **{f"t{c}": [read(row.values[c]) for row in rows] for c in range(columns)},
                "wish": pl.Series([row.wish for row in rows], dtype=pl.String),
                "limit": pl.Series([row.limit for row in rows], dtype=pl.String),
                "person": [row.person for row in rows],
                "row": [row.number for row in rows],
                "weight": [rng.choice([0.5, 1.0, 3.0]) for _ in rows],
            }
        )
        for (values, _, _), name in zip(kinds, names, strict=True):
            frame = frame.with_columns(frame[name].cast(pl.Series(values).dtype))
        tree = None if numbers else Hierarchy.taxonomy(TREE)
        return cls(
            rows,
            [row.quasi for row in {row.person: row for row in rows}.values()] + outside,
            frame,
            {name: hierarchy for name, (_, hierarchy, _) in zip(names, kinds, strict=True)},
            [maker for _, _, maker in kinds],
            {f"t{c}": tree for c in range(columns)},
            "person" if persons else "row",
            _sets(rng, len(kinds)) if rng.random() < 0.4 else None,
            rng.random() < 0.2,
        )

    @property
    def population(self) -> pl.DataFrame:
        return pl.DataFrame(self.people, schema={name: self.frame.schema[name] for name in self.quasi}, orient="row")

    def columns(self, beside: Sequence[tuple]) -> list[Column]:
        """The columns as the oracle knows them, with domains taken from the rows and from the people ``beside`` them."""
        found = []
        for j, maker in enumerate(self.makers):
            held = [row.quasi[j] for row in self.rows]
            column = maker(held + [person[j] for person in beside])
            found.append(with_missing(column) if None in held else column)
        return found

    def table(self, private: bool = False, **settings: Any) -> Table:
        names = list(self.quasi)
        return Table(
            self.frame,
            quasi=self.quasi,
            sensitive=self.sensitive,
            declared={"row": "nobody knows it"},
            private=["wish", "limit"] if private else [],
            key="person",
            unit=self.unit,
            weight="weight" if self.weighted else None,
            nulls="category",
            quasi_sets=None if self.sets is None else [[names[j] for j in chosen] for chosen in self.sets],
            **settings,
        )

    def loss(self, cells: dict[int, tuple[frozenset, ...]], columns: Sequence[Column]) -> Fraction:
        """The share of the domain that cells cover, averaged over rows and columns; a row without cells is left out and covers everything."""
        total = Fraction(0)
        for row in self.rows:
            shown = cells.get(row.number)
            for j, column in enumerate(columns):
                covered = len(column.leaves) if shown is None else len(shown[j])
                most = len(column.leaves) - 1
                total += Fraction(covered - 1, most) if most else Fraction(shown is None)
        return total / (len(self.rows) * len(columns))


def _sets(rng: random.Random, count: int) -> list[tuple[int, ...]]:
    """Sets of columns that cover all of them, apart from each other or not."""
    while True:
        sets = [tuple(rng.sample(range(count), rng.randint(1, count))) for _ in range(rng.randint(1, 3))]
        if set().union(*sets) == set(range(count)):
            return sets
