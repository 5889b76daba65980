"""Experiments E1, E3 and E4 of spec 000b on Adult: every cell that the spec marks reproducible is compared.

Run ``python benchmarks/reproduce_ldiversity.py``. Exit code 1 when a cell differs.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adult import SHARED, complete_rows, quasi
from reticent.definitions import EntropyLDiversity, KAnonymity, RecursiveLDiversity, homogeneity_audit
from reticent.methods.lattice import Search, search
from reticent.table import Table

# k: tables, then (affected tables, average groups, average rows) at 100 % and at 95 %.
E1_AS_PUBLISHED = {
    2: (8, (8, "7.38", "558.00"), (8, "20.50", "13574.50")),
    5: (12, (11, "3.58", "381.58"), (12, "12.67", "13328.33")),
    10: (12, (10, "1.75", "300.42"), (12, "7.83", "10796.50")),
    15: (8, (7, "2.12", "317.25"), (8, "8.88", "12009.38")),
    20: (10, (8, "1.20", "228.20"), (10, "7.10", "11041.00")),
    30: (10, (7, "0.90", "215.40"), (10, "5.50", "11177.00")),
    50: (5, (5, "1.00", "202.80"), (5, "5.80", "8002.00")),
}
E1_CORRECT_LABELS = {
    2: (8, (8, "5.75", "314.12"), (8, "14.62", "10425.88")),
    5: (12, (10, "2.50", "175.08"), (12, "8.25", "8964.42")),
    10: (12, (8, "1.17", "137.83"), (12, "5.42", "7679.17")),
    15: (8, (6, "1.50", "201.12"), (8, "6.38", "9371.88")),
    20: (10, (6, "0.80", "67.30"), (10, "5.10", "7591.90")),
    30: (10, (5, "0.60", "59.70"), (10, "3.90", "7644.20")),
    50: (5, (3, "0.60", "84.80"), (5, "3.80", "4906.00")),
}
# columns: (nodes, base divergence), then l: the cells of k-anonymity, entropy and recursive (3, l), each
# (passing, minimal, least height, least average group, least discernibility, least divergence).
_A3 = (9, 3, 3, "2512.33", 218407392, "0.5149")
_A4 = (17, 5, 5, "2261.10", 218407392, "1.5866")
_A5 = (37, 12, 7, "1130.55", 197825450, "2.9764")
_B3, _B4, _B5 = (
    (10, 2, 2, "1413.19", 124388484, "0.5149"),
    (22, 3, 3, "717.81", 78636506, "1.5866"),
    (53, 8, 6, "706.59", 64648728, "2.7977"),
)
E4 = {
    3: (
        (20, "1.7747"),
        {
            2: (_B3, _B3, _B3),
            4: (_B3, _A3, _A3),
            6: (_A3, *[(6, 2, 4, "4522.20", 429985160, "0.5149")] * 2),
            8: (_A3, *[(2, 1, 5, "9044.40", 1533331036, "0.6879")] * 2),
            10: (_A3, *[(1, 1, 6, "45222.00", 2045029284, "1.7747")] * 2),
        },
    ),
    4: (
        (60, "2.9543"),
        {
            2: (_B4, _B4, _B4),
            4: (
                (20, 5, 4, "1413.19", 124279254, "1.5866"),
                _A4,
                (19, 5, 4, "1413.19", 124279254, "1.5866"),
            ),
            6: (
                (19, 5, 4, "1413.19", 124279254, "1.5866"),
                (13, 3, 5, "2261.10", 240187690, "1.5866"),
                (14, 3, 5, "2261.10", 240187690, "1.5866"),
            ),
            8: (_A4, *[(5, 2, 6, "4522.20", 699994216, "1.8201")] * 2),
            10: (_A4, *[(2, 1, 7, "22611.00", 1022900084, "2.9107")] * 2),
        },
    ),
    5: (
        (240, "4.5149"),
        {
            2: (_B5, (47, 8, 6, "717.81", 78636506, "2.9764"), (46, 5, 6, "706.59", 64648728, "2.9956")),
            4: (
                (47, 13, 7, "1130.55", 112623254, "2.7977"),
                (28, 7, 7, "1130.55", 218407392, "2.9956"),
                (30, 7, 7, "1130.55", 124279254, "2.9956"),
            ),
            6: (
                (42, 12, 7, "1130.55", 124279254, "2.9236"),
                (21, 7, 8, "2261.10", 240187690, "3.1053"),
                (21, 6, 8, "2261.10", 240187690, "3.1053"),
            ),
            8: (_A5, *[(7, 3, 9, "4522.20", 516208932, "3.3808")] * 2),
            10: (_A5, *[(2, 1, 10, "22611.00", 1022900084, "4.4714")] * 2),
        },
    ),
}


class Tally:
    """Counts the cells that agree and prints those that do not."""

    def __init__(self) -> None:
        self.right = self.wrong = 0

    def compare(self, where: str, ours: object, printed: object) -> None:
        if ours == printed:
            self.right += 1
        else:
            self.wrong += 1
            print(f"  DIFFERS {where}: ours {ours}, printed {printed}")


def experiment_1(tally: Tally) -> None:
    """Homogeneity of all minimal k-anonymous tables, with the labels as published and as they should be."""
    frame = complete_rows()
    high = pl.col("salary-class").str.starts_with(">50K")
    labels = {
        "as published": (high & (pl.col("part") == "train"), E1_AS_PUBLISHED),
        "correct labels": (high, E1_CORRECT_LABELS),
    }
    for name, (condition, printed) in labels.items():
        print(f"E1 homogeneity, {name}: k, tables, (affected, groups, rows) at 100 % and at 95 %")
        rows = frame.with_columns(condition.cast(pl.String).alias("high"))
        table = Table(rows, quasi=quasi(5), sensitive="high")
        for k, expected in printed.items():
            found = search(table, KAnonymity(k))
            assert found.minimal is not None
            nodes = [tuple(node.values()) for node in found.minimal]
            cells: list[object] = [len(nodes)]
            for tau in ("1", "0.95"):
                audits = [homogeneity_audit(_groups(table, levels), tau) for levels in nodes]
                hit = sum(audit.groups > 0 for audit in audits)
                groups = sum(audit.groups for audit in audits) / len(nodes)
                people = sum(audit.rows for audit in audits) / len(nodes)
                cells.append((hit, f"{groups:.2f}", f"{people:.2f}"))
            print(f"  {k:3d} {cells}")
            for ours, theirs in zip(cells, expected, strict=True):
                tally.compare(f"E1 {name} k={k}", ours, theirs)


def experiment_3() -> None:
    """All 6-anonymous against all entropy-6-diverse tables, for growing sets of columns: time, best of 3."""
    print("E3 speed: columns, k-anonymity [ms], entropy [ms], ratio (expected within 0.3 to 3)")
    frame = complete_rows()
    for columns in range(3, 8):
        times = []
        for definition in (KAnonymity(6), EntropyLDiversity(6)):
            best = float("inf")
            for _ in range(3):
                table = Table(frame, quasi=quasi(columns), sensitive="occupation")
                start = time.perf_counter()
                _ = search(table, definition).passing
                best = min(best, time.perf_counter() - start)
            times.append(best)
        print(f"  {columns}  {1e3 * times[0]:8.1f} {1e3 * times[1]:8.1f}  {times[1] / times[0]:.2f}")


def experiment_4(tally: Tally) -> None:
    """Utility of the best tables of k-anonymity, entropy l-diversity and recursive (3, l)-diversity."""
    frame = complete_rows()
    for columns, ((nodes, base), printed) in E4.items():
        table = Table(frame, quasi=quasi(columns), sensitive="occupation")
        top = search(table, KAnonymity(frame.height), objective="kl")
        assert top.best is not None
        print(f"E4 utility, {columns} columns: {top.nodes} nodes, base divergence {top.best.objective:.4f}")
        tally.compare(f"E4 {columns} nodes", top.nodes, nodes)
        tally.compare(f"E4 {columns} base", f"{top.best.objective:.4f}", base)
        for level, expected in printed.items():
            definitions = (KAnonymity(level), EntropyLDiversity(level), RecursiveLDiversity(3, level))
            for definition, cell in zip(definitions, expected, strict=True):
                ours = _cell(table, definition)
                print(f"  {definition!s:32} {ours}")
                tally.compare(f"E4 {columns} {definition}", ours, cell)


def _cell(table: Table, definition: KAnonymity | EntropyLDiversity | RecursiveLDiversity) -> tuple[object, ...]:
    found: dict[str, Search] = {
        name: search(table, definition, objective=name)
        for name in ("height", "average_group_size", "discernibility", "kl")
    }
    best = {name: each.best.objective for name, each in found.items() if each.best is not None}
    height = found["height"]
    assert height.minimal is not None
    return (
        height.passing,
        len(height.minimal),
        int(best["height"]),
        f"{best['average_group_size']:.2f}",
        int(best["discernibility"]),
        f"{best['kl']:.4f}",
    )


def _groups(table: Table, levels: tuple[int, ...]):
    from reticent.engine import count_table

    return count_table(table).generalize(levels).groups()


def main() -> int:
    if not SHARED.is_dir():
        print(f"The Adult data are not at {SHARED}; there is nothing to reproduce.")
        return 0
    tally = Tally()
    experiment_1(tally)
    experiment_3()
    experiment_4(tally)
    print(f"{tally.right} cells agree, {tally.wrong} differ")
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
