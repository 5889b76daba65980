"""The thesis' comparisons of spatial k-anonymity: Bang, an R+-tree, Mondrian and the full-domain search.

For every table and k: seconds of the processor, groups, CP (mean share of the columns that labels cover), DCP over k N, KL in nats and the mean error
of seeded counting queries. Bang's classes are regions with holes: CP looks at the labels around them, as every reader does first; KL and queries at the
cells that are truly theirs, beside which ``labels`` gives the figure that the labels alone would have.

Run: python -m benchmarks.reproduce_banga [adult|cps|voters|adults|customers|ihis|time|minimum ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import reticent as rt
from benchmarks import adult
from benchmarks.search import ihis
from reticent.base.charts import ChartAxis, ChartLine, line_chart
from reticent.engine import count_table
from reticent.methods.bang import BangCut
from reticent.table import Hierarchy
from reticent.utility import Workload, WorkloadError, kl, utility_of, workload_error
from reticent.utility.workload import actual_counts

SEED = 1
SMALL_K, LARGE_K = (5, 10, 20, 50, 100, 1000, 10_000), (5, 100, 1000, 10_000)
QUERIES = 300
# A query with fewer rows than this share of the table is judged as if it had that many.
FLOOR = 1 / 1000
PICTURED = ("adult",)
IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"


# Seeded tables with the columns and sizes of the thesis; the files themselves are lost, and the named ones cannot be what they are called (section 7).


def voters(rows: int = 54_803) -> rt.Table:
    """Voter list: age, postcode and salary, where towns are of very different sizes and salaries rise with age and differ by town."""
    draw = np.random.default_rng(SEED)
    town = np.minimum(draw.pareto(1.1, rows) * 20, 999).astype(np.int64)
    age = np.clip(draw.normal(48, 18, rows), 18, 99).astype(np.int64)
    salary = np.clip(np.exp(draw.normal(3.2 + age / 160 + (town % 7) / 20, 0.5)), 5, 400).astype(np.int64)
    return _table({"age": age, "zip": 10_000 + town, "salary": salary}, draw)


def adults(rows: int = 1_000_000) -> rt.Table:
    """A million adults: age, postcode and education."""
    draw = np.random.default_rng(SEED + 1)
    town = np.minimum(draw.pareto(0.9, rows) * 30, 1999).astype(np.int64)
    education = draw.binomial(15, 0.35 + (town % 5) / 20)
    age = np.clip(draw.normal(42 + education / 2, 15, rows), 17, 90).astype(np.int64)
    return _table({"age": age, "zip": 10_000 + town, "education": education}, draw)


def customers(columns: int = 7, rows: int = 1_000_000) -> rt.Table:
    """Customers of a synthetic generator: 40 kinds of people around centres, a tenth of them anywhere, 100 values a column."""
    draw = np.random.default_rng(SEED + 2)
    centres = draw.integers(10, 90, (40, columns))
    kind = np.minimum(draw.geometric(0.1, rows) - 1, 39)
    values = np.clip(np.rint(draw.normal(centres[kind], 6)), 0, 99).astype(np.int64)
    anywhere = draw.random(rows) < 0.1
    values[anywhere] = draw.integers(0, 100, (int(anywhere.sum()), columns))
    return _table({f"c{place + 1}": values[:, place] for place in range(columns)}, draw)


def _table(columns: dict[str, NDArray[np.int64]], draw: np.random.Generator) -> rt.Table:
    rows = len(next(iter(columns.values())))
    frame = pl.DataFrame({**columns, "occupation": draw.integers(0, 50, rows)})
    quasi = {
        name: Hierarchy.intervals([5, 10, 20, 40, 80, 160, 320, 640], domain=(int(values.min()), int(values.max())))
        for name, values in columns.items()
    }
    return rt.Table(frame, quasi=quasi, sensitive="occupation")


def real_adult() -> rt.Table:
    """The complete rows of Adult, with the hierarchies of the published experiments."""
    return rt.Table(adult.complete_rows(), quasi=adult.quasi(7), sensitive="occupation")


def cps() -> rt.Table:
    """Tax units of the Current Population Survey."""
    folder = adult.SHARED / "cps"
    names = ("age_head", "age_spouse", "fips", "MARS", "XTOT")
    quasi = {name: Hierarchy.from_csv(folder / f"cps_hierarchy_{name}.csv") for name in names}
    return rt.Table(pl.read_parquet(folder / "cps.parquet"), quasi=quasi, sensitive="agi_bin")


TABLES: dict[str, tuple[Callable[[], rt.Table], tuple[int, ...]]] = {
    "adult": (real_adult, SMALL_K),
    "voters": (voters, SMALL_K),
    "cps": (cps, LARGE_K),
    "adults": (adults, LARGE_K),
    "customers": (customers, LARGE_K),
    "ihis": (lambda: ihis().table(), LARGE_K),
}


# What a release tells.


@dataclass(frozen=True)
class Measured:
    """One release: seconds of the processor, groups, and what it costs; ``errors`` are mean errors of queries by number of columns, ``labels`` those by labels alone."""

    method: str
    k: int
    seconds: float
    groups: int
    cp: float
    dcp: float
    kl: float
    errors: dict[str, float]
    labels: str = ""

    def line(self, table: str) -> str:
        errors = " / ".join(f"{value:.3g}" for value in self.errors.values())
        return f"| {table} | {self.k:,} | {self.method} | {self.seconds:.2f} | {self.groups:,} | {self.cp:.4f} | {self.dcp:.3f} | {self.kl:.3f} | {errors} | {self.labels} |"


HEAD = (
    "| table | k | method | seconds | groups | CP | DCP/(kN) | KL | query error (intersect 1, 2, all columns; uniform 2) | Bang by labels alone: KL, errors |\n"
    "|---|---|---|---|---|---|---|---|---|---|"
)


def measured(method: str, table: rt.Table, k: int, seconds: float, draft: Any, cut: BangCut | None = None) -> Measured:
    """All figures of a draft; those of Bang by the cells that classes truly have."""
    picture = utility_of(draft).summary
    workloads = _workloads(table)
    known = {name: workload_error(picture.original, picture, each, estimator, FLOOR * table.rows) for name, (each, estimator) in workloads.items()}  # fmt: skip
    told = ""
    if cut is not None:
        told = f"{kl(replace(picture, volumes=None), sensitive=False):.3f}, {' / '.join(f'{each.mean:.3g}' for each in known.values())}"
        known = {name: by_regions(cut, each, estimator) for name, (each, estimator) in workloads.items()}
    return Measured(
        method,
        k,
        seconds,
        len(draft.evidence.published),
        utility_of(draft)["ncp"],
        utility_of(draft)["discernibility"] / (k * picture.rows),
        utility_of(draft)["kl_quasi"],
        {name: each.mean for name, each in known.items()},
        told,
    )


_WORKLOADS: dict[int, dict[str, tuple[Workload, Any]]] = {}


def _workloads(table: rt.Table) -> dict[str, tuple[Workload, Any]]:
    """The seeded workloads of a table, drawn once: one column, two, and all of them; queries about one row in twenty."""
    if id(table) not in _WORKLOADS:
        columns = len(table.quasi)
        asked = {"intersect 1": (1, "intersect"), "intersect 2": (2, "intersect"), "intersect all": (columns, "intersect"), "uniform 2": (2, "uniform")}  # fmt: skip
        _WORKLOADS[id(table)] = {
            name: (Workload.drawn(table.hierarchies, QUERIES, dimensions, "0.05", SEED), estimator)
            for name, (dimensions, estimator) in asked.items()
        }
    return _WORKLOADS[id(table)]


def by_regions(cut: BangCut, workload: Workload, estimator: str) -> WorkloadError:
    """What a workload finds when it goes by the cells that Bang's classes truly hold, and not by their labels."""
    units, sizes, cells = cut.index.units, cut.groups.sizes, cut.combinations()
    estimates = np.empty(len(workload))
    for query in range(len(workload)):
        asked = []
        for column, axis in enumerate(cut.index.space.axes):
            wanted = np.zeros(axis.hierarchy.size, dtype=bool)
            wanted[workload.lows[query, column] : workload.highs[query, column] + 1] = True
            asked.append(wanted)
        inside = cut.combinations(asked)
        estimates[query] = float(sizes @ ((inside > 0.5) if estimator == "intersect" else inside / cells))
    return WorkloadError(estimator, FLOOR * units.rows, units.rows, actual_counts(units, workload), estimates)  # type: ignore[arg-type]


# The comparisons.


def compared(table: rt.Table, ks: tuple[int, ...], lattice: bool = True) -> Iterator[Measured]:
    """Every method at every k; one index of Bang, whose first release pays for it."""
    _ = table.hierarchies
    for build in (_tree, _bang):
        build(voters(60_000))
    began = time.process_time()
    index = rt.Bang(minimum=5).build(table)
    _ = index.dendrogram
    built = time.process_time() - began
    for number, k in enumerate(each for each in ks if each <= table.rows // 2):
        began = time.process_time()
        cut = index.draft(k=k)
        draft = cut.release(table, rt.KAnonymity(k), rt.Context())
        took = time.process_time() - began
        name = "Bang (with its index)" if number == 0 else "Bang (a further cut)"
        yield measured(name, table, k, took + (built if number == 0 else 0), draft, cut)
        others: dict[str, Any] = {"R+-tree": rt.RPlusTree(5), "Mondrian": rt.Mondrian(values="ranges")}
        if lattice:
            others["Lattice"] = rt.Lattice()
        for name, method in others.items():
            began = time.process_time()
            draft = method.draft(table, rt.KAnonymity(k))
            yield measured(name, table, k, time.process_time() - began, draft)


def quality(name: str) -> None:
    """Time and quality on one table; those of the documentation's pictures are drawn as well."""
    table, ks = TABLES[name][0](), TABLES[name][1]
    print(HEAD, flush=True)
    found = []
    for each in compared(table, ks):
        print(each.line(f"{name} {table.rows:,} x {len(table.quasi)}"), flush=True)
        found.append(each)
    if name in PICTURED:
        draw(name, table, found)


def timed() -> None:
    """An index of Bang with its dendrogram, and the R+-tree, for blocks of at least 5."""
    print("| table | R+-tree | Bang (index and dendrogram) | Bang saves | thesis |\n|---|---|---|---|---|", flush=True)
    quoted = {"voters": "16.7 %", "adults": "28.2 %", "customers 7": "31.1 %", "customers 15": "R+-tree out of memory"}
    made: dict[str, Callable[[], rt.Table]] = {
        "voters": voters,
        "adults": adults,
        "customers 7": customers,
        "customers 15": lambda: customers(15),
    }
    for name, make in made.items():
        table = make()
        # Both compile their loops before: what is compared are the indexes.
        seconds = []
        for build in (_tree, _bang):
            build(voters(60_000))
            began = time.process_time()
            build(table)
            seconds.append(time.process_time() - began)
        tree, bang = seconds
        print(f"| {name} {table.rows:,} x {len(table.quasi)} | {tree:.2f} s | {bang:.2f} s | {1 - bang / tree:.0%} | {quoted[name]} |", flush=True)  # fmt: skip


def _tree(table: rt.Table) -> None:
    from reticent.baselines.rtree.method import tree_leaves

    tree_leaves(count_table(table), 5)


def _bang(table: rt.Table) -> None:
    _ = rt.Bang(minimum=5).build(table).dendrogram


def smallest() -> None:
    """The effect of the least number of rows a block on time and quality, at k = 100."""
    table = voters()
    print("| minimum | seconds | groups | CP | DCP/(kN) | KL |\n|---|---|---|---|---|---|", flush=True)
    for minimum in (5, 10, 25, 50, 100):
        began = time.process_time()
        cut = rt.Bang(minimum=minimum).build(table).draft(k=100)
        took = time.process_time() - began
        draft = cut.release(table, rt.KAnonymity(100), rt.Context())
        print(f"| {minimum} | {took:.2f} | {cut.count:,} | {utility_of(draft)['ncp']:.4f} | {utility_of(draft)['discernibility'] / (100 * table.rows):.3f} | {utility_of(draft)['kl_quasi']:.3f} |", flush=True)  # fmt: skip


def draw(name: str, table: rt.Table, found: list[Measured]) -> None:
    """Utility against k: CP and KL of all four methods, as SVG for the documentation."""
    ks = [each.k for each in found]
    for what, title in (
        ("cp", "share of a column that labels cover (CP)"),
        ("kl", "divergence from the table in nats (KL)"),
    ):
        lines = []
        for method in ("Bang", "Mondrian", "R+-tree", "Lattice"):
            mine = [(each.k, getattr(each, what)) for each in found if each.method.startswith(method)]
            lines.append(ChartLine(method, mine, [f"{method}, k = {k:,}: {value:.3g}" for k, value in mine]))
        chart = line_chart(
            lines,
            ChartAxis("k, people in the smallest group", min(ks), max(ks), log=True),
            ChartAxis(title, 0, 1.05 * max(getattr(each, what) for each in found)),
            title=f"What k costs: {table.rows:,} people, {len(table.quasi)} columns",
        )
        (IMAGES / f"utility-{name}-{what}.svg").write_text(chart, "utf-8")


def main(*chosen: str) -> None:
    """Run the chosen parts; all of them without any."""
    parts: dict[str, Callable[[], None]] = {
        **{name: (lambda name=name: quality(name)) for name in TABLES},
        "time": timed,
        "minimum": smallest,
    }
    for name in chosen or parts:
        parts[name]()


if __name__ == "__main__":
    main(*sys.argv[1:])
