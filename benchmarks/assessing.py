"""Every definition on the raw Adult file at once (TARGETS "Assessing"): k, diversity, alpha, delta, beta, t and the rest together.

Run ``python benchmarks/assessing.py``; the rows are appended to RESULTS.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measuring import Row, best_of, group_by_floor, report
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
    KAnonymity,
    KMap,
    LAlphaDiversity,
    MEligible,
    MUnique,
    NegatedKnowledge,
    NegativePositiveDiversity,
    NTCloseness,
    ProbabilisticLDiversity,
    PSensitive,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
    XYPrivacy,
)
from reticent.definitions.base import All, Definition
from reticent.engine import LocalEngine

ADULT = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class")
SENSITIVE = "occupation"

PYCANON: tuple[Definition, ...] = (
    KAnonymity(5),
    DistinctLDiversity(3),
    EntropyLDiversity(3),
    RecursiveLDiversity(3, 3),
    AlphaKAnonymity("0.5", 5),
    DeltaDisclosure(1),
    BetaLikeness(1),
    BetaLikeness(1, enhanced=True),
    TCloseness("0.2"),
)
REST: tuple[Definition, ...] = (
    ProbabilisticLDiversity(3),
    PSensitive(3, 5),
    XYPrivacy(3, "0.5"),
    NTCloseness(100, "0.2"),
    NegativePositiveDiversity(3, 1, 3, [], ["Sales"]),
    LAlphaDiversity(3, 2, {"Sales": 1, "Craft-repair": 1, "Adm-clerical": 1}),
    ConfidenceBounding("0.3", ["Sales", "Armed-Forces"]),
    CategoryDiversity("0.5", [["Sales", "Adm-clerical"], ["Craft-repair", "Machine-op-inspct"]]),
    MUnique(2),
    MEligible(2),
    AverageRisk("0.2"),
    WorstCaseKnowledge("0.9", 3),
    NegatedKnowledge("0.9", 3),
)


def adult() -> pl.DataFrame:
    """The 30,162 complete rows."""
    return pl.read_csv(ADULT / "adult.csv.gz", separator=";")


def beside_population(frame: pl.DataFrame, hierarchies: dict[str, Hierarchy], floor: float) -> Row:
    """The two definitions that compare with a population, here the table itself, which is counted as well."""
    together = KMap(5, frame) & DeltaPresence("0.1", 1, frame)

    def work() -> object:
        table = together.prepare(Table(frame, quasi=hierarchies, sensitive=SENSITIVE))
        return together.assess(LocalEngine().frequencies(table).groups())

    ours, _ = best_of(5, work)
    return Row("KMap and DeltaPresence, a population of 30,162 counted beside the table", floor, ours, None)


def main() -> int:
    if not ADULT.is_dir():
        print(f"The Adult data are not there: {ADULT}")
        return 0
    frame = adult()
    hierarchies = {name: Hierarchy.from_csv(ADULT / f"adult_hierarchy_{name}.csv", separator=";") for name in QUASI}
    floor = group_by_floor(frame, QUASI)
    rows = []
    for job, definitions in (
        ("the definitions of pycanon", PYCANON),
        ("every definition on a column of text", PYCANON + REST),
    ):
        together = All(definitions)

        def work(together: Definition = together) -> object:
            table = Table(frame, quasi=hierarchies, sensitive=SENSITIVE)
            return together.assess(LocalEngine().frequencies(table).groups())

        ours, _ = best_of(5, work)
        rows.append(Row(f"{job}, raw Adult x 8, all together", floor, ours, 10, f"{len(definitions)} definitions"))
    rows.append(beside_population(frame, hierarchies, floor))
    for definition in PYCANON + REST:
        table = Table(frame, quasi=hierarchies, sensitive=SENSITIVE)
        groups = LocalEngine().frequencies(table).groups()
        alone, _ = best_of(3, lambda definition=definition, groups=groups: definition.assess(groups))
        rows.append(Row(f"{definition} alone, groups given", floor, alone, None))
    report("Assessing", "python benchmarks/assessing.py", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
