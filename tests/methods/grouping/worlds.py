"""Random small tables with random nesting hierarchies, in the shape of the project and of the oracle."""

from __future__ import annotations

import random

import polars as pl

from reticent.table import Hierarchy, Table

COLUMNS = ("a", "b", "c")


def random_hierarchy(rng: random.Random, leaves: int, always_top: bool = True) -> list[list[str]]:
    """Leaf rows with labels on each level, merged at random from level to level."""
    rows = [[f"v{i}"] for i in range(leaves)]
    parts = list(range(leaves))
    for level in range(1, rng.randint(1, 3)):
        count = max(1, len(set(parts)) - rng.randint(1, 2))
        merged = {part: rng.randrange(count) for part in sorted(set(parts))}
        parts = [merged[part] for part in parts]
        for row, part in zip(rows, parts, strict=True):
            row.append(f"p{level}.{part}")
    if always_top or rng.random() < 0.7:
        for row in rows:
            row.append("*")
    return rows


def random_world(rng: random.Random) -> tuple[list[tuple], list[list[list[str]]], Table]:
    """Rows, hierarchies and the table made of them."""
    hierarchies = [random_hierarchy(rng, rng.randint(1, 5)) for _ in range(rng.randint(1, len(COLUMNS)))]
    values = rng.randint(1, 4)
    skew = rng.choice([1, 2, 4])
    rows = [
        (*(f"v{int(rng.random() ** skew * len(h))}" for h in hierarchies), f"s{int(rng.random() ** skew * values)}")
        for _ in range(rng.randint(1, 40))
    ]
    names = COLUMNS[: len(hierarchies)]
    frame = pl.DataFrame(rows, schema=[*names, "s"], orient="row")
    quasi = {name: Hierarchy.listed(h) for name, h in zip(names, hierarchies, strict=True)}
    return rows, hierarchies, Table(frame, quasi=quasi, sensitive="s")
