"""What judging an adversary's knowledge costs: any few columns, people with several rows, declared columns, columns in turn, relations between columns.

Targets: any three of 40 columns on 5,000 records within 5 s; counts of people, of declared columns and of columns in turn on a million rows and 20 columns
within 10 s; relations between 60 columns within 3 s. Seconds of processor.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from reticent.attacks import ColumnInTurn
from reticent.definitions import (
    AnyColumns,
    DistinctLDiversity,
    EntropyLDiversity,
    InTurn,
    KAnonymity,
    ProbabilisticLDiversity,
)
from reticent.engine import count_table
from reticent.release import DeclaredColumns, adversary_view_of
from reticent.table import find_relations


def main() -> None:
    """Print a row for each figure."""
    rng = np.random.default_rng(0)
    for labels in (4, 10, 30):
        groups = count_table(_coded(rng, 5_000, 40, labels)).groups()
        for inner in (KAnonymity(2), DistinctLDiversity(2), ProbabilisticLDiversity("1.2"), EntropyLDiversity("1.1")):
            _clock(
                f"any 3 of 40 columns of {labels} labels, 5,000 records, {inner}",
                5,
                AnyColumns(3, inner).assess,
                groups,
            )
    _large(rng)
    frame = _numbers(rng)
    _clock("relations between 60 columns, 2,000 rows", 3, find_relations, frame)


def _large(rng: np.random.Generator) -> None:
    visits = _coded(rng, 1_000_000, 20, 4, key="person")
    _clock("people and their rows, 10^6 x 20", 10, rt.assess, visits, KAnonymity(2))
    table = _coded(rng, 1_000_000, 20, 4, declared={"person": "a number that nobody knows"})
    release = rt.publish(table, KAnonymity(1), method=rt.Lattice(node={}))
    _clock("a declared column, 10^6 x 20", 10, DeclaredColumns.of, release.public, [KAnonymity(5)])
    _clock("attack on columns in turn, 10^6 x 20", 10, ColumnInTurn().attack, adversary_view_of(release))
    _clock(
        "InTurn of all columns, 10^6 x 20",
        10,
        rt.assess,
        table,
        InTurn(tuple(table.quasi), ProbabilisticLDiversity("1.1")),
    )


def _coded(rng: np.random.Generator, rows: int, columns: int, labels: int, **roles: Any) -> rt.Table:
    """A table of random codes with a sensitive column of twenty values, of which three rows are one person's."""
    quasi = {f"q{place}": rng.integers(0, labels, rows).astype(np.int16) for place in range(columns)}
    frame = pl.DataFrame({**quasi, "ill": rng.integers(0, 20, rows), "person": np.arange(rows) // 3})
    return rt.Table(frame, quasi=list(quasi), sensitive="ill", **roles)


def _numbers(rng: np.random.Generator) -> pl.DataFrame:
    """58 columns of random numbers, a sum of four of them and a ratio of two."""
    measured = {f"n{place}": rng.normal(50, 10, 2_000).round(2) for place in range(30)}
    counted = {f"i{place}": rng.integers(0, 60, 2_000) for place in range(28)}
    total = pl.col("n0") + pl.col("n1") - pl.col("n2") + 2 * pl.col("i3")
    return pl.DataFrame({**measured, **counted}).with_columns(total=total, ratio=pl.col("n4") / pl.col("n5"))


def _clock(name: str, target: float, work: Callable[..., Any], *arguments: Any) -> None:
    begun = time.process_time()
    work(*arguments)
    print(f"{name}: {time.process_time() - begun:.2f} s (target {target:g})", flush=True)


if __name__ == "__main__":
    main()
