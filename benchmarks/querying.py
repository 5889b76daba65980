"""How wrong counts on a release are (`python -m benchmarks querying [part of a name]`): random questions to releases of real files, beside the true counts.

Of questions that the labels do not decide: how often the truth lies between the certain bounds (it always must), how often within 1.645 standard errors of the
uniform model (a 90 % interval, if the model held), and how far the estimate is off.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from benchmarks.adult import SHARED
from reticent.definitions import KAnonymity
from reticent.errors import ReticentError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.policy import inspect
from reticent.release import Release, publish
from reticent.table import Table

FILES = (
    "adult/adult.csv.gz",
    "fars/fars_subset.csv.gz",
    "gss/gss_wages.parquet",
    "gss/cces_tv16.parquet",
    "cps/cps.parquet",
    "creditcard_int/creditcard_int.csv.gz",
    "sdcmicro/testdata.csv.gz",
    "sdcmicro/testdata2.csv.gz",
    "sdcmicro/free1.csv.gz",
)
HEAD = (
    "file",
    "method",
    "k",
    "questions",
    "within bounds",
    "within the 90 % of the model",
    "median error",
    "worst error",
)
QUESTIONS, MOST_ROWS = 60, 60_000


def releases(name: str) -> Iterator[tuple[Table, str, int, Release]]:
    """The file with its proposed roles and two promises, by full-domain and by local recoding, nobody left out."""
    proposed = inspect(str(SHARED / name)).table()
    rows = proposed.frame.head(MOST_ROWS)
    table = Table(rows, quasi=proposed.quasi, sensitive=list(proposed.sensitive), nulls="category")
    for method in (Lattice(), Mondrian(values="sets")):
        for k in (5, 50):
            try:
                yield table, type(method).__name__, k, publish(table, KAnonymity(k), method)
            except ReticentError as error:
                print(f"| {name} | {type(method).__name__} | {k} | {str(error).splitlines()[0][:100]} |", flush=True)


def questions(table: Table, seed: str) -> Iterator[str]:
    """Ranges and values of one or two quasi columns, some with a sensitive value: half of the values by how many people have them, half whatever there is."""
    source = random.Random(seed)
    values = {name: table.frame[name].drop_nulls() for name in (*table.quasi, *table.sensitive)}
    for _ in range(QUESTIONS):
        columns = [source.choice(list(table.quasi)) for _ in range(1 if source.random() < 0.6 else 2)]
        if table.sensitive and source.random() < 0.3:
            columns.append(source.choice(list(table.sensitive)))
        yield " and ".join(_asked(source, name, values[name]) for name in dict.fromkeys(columns) if len(values[name]))


def _asked(source: random.Random, name: str, values: pl.Series) -> str:
    distinct = values.unique().sort()
    column = '"' + name.replace('"', '""') + '"'
    if values.dtype.is_numeric() and source.random() < 0.6:
        low, high = sorted(distinct[source.randrange(len(distinct))] for _ in range(2))
        return f"{column} between {_written(low)} and {_written(high)}"
    among = values if source.random() < 0.5 else distinct
    return f"{column} = {_written(among[source.randrange(len(among))])}"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"


def measured(table: Table, release: Release, asked: Sequence[str]) -> list[tuple[bool, bool, float]]:
    """For each question that is open: whether the bounds and the model's interval hold the truth, and the error as a share of the truth."""
    from reticent.conditions import Condition

    found = []
    for text in asked:
        try:
            answer, truth = release.count(text), int(Condition.parse(text).mask(table.frame).sum())
        except ReticentError:
            continue
        low, high = answer.bounds
        if low < high:
            off = abs(answer.value - truth)
            found.append((low <= truth <= high, off <= 1.645 * (answer.standard_error or 0) + 0.5, off / max(truth, 1)))
    return found


def main(part: str = "") -> None:
    """Print the table; the last line sums it up."""
    everything: list[tuple[bool, bool, float]] = []
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for name in (each for each in FILES if part in each):
        for table, method, k, release in releases(name):
            found = measured(table, release, list(questions(table, f"{name} {method} {k}")))
            everything += found
            if found:
                print(f"| {name} | {method} | {k} | {_figures(found)} |", flush=True)
    print(f"| all | | | {_figures(everything)} |")


def _figures(found: Sequence[tuple[bool, bool, float]]) -> str:
    sure, modelled, errors = zip(*found, strict=True)
    shares = (f"{statistics.mean(sure):.0%}", f"{statistics.mean(modelled):.0%}")
    return " | ".join([str(len(found)), *shares, f"{statistics.median(errors):.0%}", f"{max(errors):,.1f} times"])


if __name__ == "__main__":
    main()
