"""Every definition on the raw Adult file at once (TARGETS "Assessing"): k, diversity, alpha, delta, beta, t and the rest together.

Run ``python -m benchmarks assessing``; the rows are appended to the history of runs. Definitions on text look at the occupation, those on numbers at the
age (the other seven columns are quasi then), the personal one at the wishes of every tenth person, who guards the category of the own
occupation (three categories, three thresholds), and those that compare with a population at the table itself, counted once more. Each scan counts.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from benchmarks.measuring import Row, best_of, group_by_floor, in_turn, report
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
    NTCloseness,
    PersonalPrivacy,
    ProbabilisticLDiversity,
    PSensitive,
    RangeDiversity,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
    XYPrivacy,
)
from reticent.definitions.catalogue import names
from reticent.definitions.definition import All, Assessment, Definition
from reticent.engine import count_table
from reticent.registry import load
from reticent.table import Hierarchy, Table

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


PERSONAL: tuple[Definition, ...] = (PersonalPrivacy("0.5", "wish", thresholds="limit"),)
NUMERIC: tuple[Definition, ...] = (KEAnonymity(3, 20), EpsilonMAnonymity(5, 3), RangeDiversity("0.5", 5, 5))
NUMBER = "age"


def adult() -> pl.DataFrame:
    """The 30,162 complete rows, and the wishes of some people."""
    frame = pl.read_csv(ADULT / "adult.csv.gz", separator=";")
    tree = pl.read_csv(ADULT / f"adult_hierarchy_{SENSITIVE}.csv", separator=";", has_header=False)
    category, number = pl.col(SENSITIVE).replace_strict(*tree[:, :2]), pl.int_range(pl.len())
    return frame.with_columns(
        wish=pl.when(number % 10 == 0).then(category),
        limit=pl.when(number % 20 == 0).then(pl.lit("1/3")).when(number % 30 == 0).then(pl.lit("2/3")),
    )


@dataclass(frozen=True)
class Job:
    """Some definitions, and the roles of the table that they judge."""

    definitions: tuple[Definition, ...]
    quasi: tuple[str, ...] = QUASI
    sensitive: str = SENSITIVE
    private: tuple[str, ...] = ()

    def run(self, frame: pl.DataFrame, hierarchies: Mapping[str, Hierarchy]) -> Assessment:
        """From the frame to all verdicts."""
        together, quasi = All(self.definitions), {name: hierarchies[name] for name in self.quasi}
        sensitive = {self.sensitive: hierarchies.get(self.sensitive)} if self.private else self.sensitive
        table = together.prepare(Table(frame, quasi=quasi, sensitive=sensitive, private=self.private))
        return together.assess(count_table(table).groups())


def main() -> int:
    if not ADULT.is_dir():
        print(f"The Adult data are not there: {ADULT}")
        return 0
    frame = adult()
    hierarchies = {
        name: Hierarchy.from_csv(ADULT / f"adult_hierarchy_{name}.csv", separator=";") for name in (*QUASI, SENSITIVE)
    }
    floor = group_by_floor(frame, QUASI)
    population = (KMap(5, frame), DeltaPresence("0.1", 1, frame))
    numeric = Job(NUMERIC, tuple(name for name in QUASI if name != NUMBER), NUMBER)
    everything = [Job((*PYCANON, *REST, *PERSONAL, *population), private=("wish", "limit")), numeric]
    named = {each.name for job in everything for each in job.definitions}
    # Those that judge others on several sets of columns are measured by benchmarks.known_columns.
    of_groups = {name for name in names() if load("definition", name).kind == "groups"} - {"AnyColumns", "InTurn"}
    assert named == of_groups, named ^ of_groups
    jobs = [
        ("the definitions of pycanon", [Job(PYCANON)], 10),
        ("every definition on a column of text", [Job(PYCANON + REST)], 10),
        ("every definition of the catalogue", everything, 10),
        ("those on numbers", [numeric], None),
        ("those that compare with a population", [Job(population)], None),
        ("the one on people's wishes", [Job(PERSONAL, private=("wish", "limit"))], None),
    ]
    rows = []
    for job, parts, target in jobs:
        ours, _ = best_of(7, lambda parts=parts: [part.run(frame, hierarchies) for part in parts])
        count = sum(len(part.definitions) for part in parts)
        rows.append(Row(f"{job}, raw Adult x 8, all together", floor, ours, target, f"{count} definitions"))
        print(rows[-1].line(), flush=True)
    typical = in_turn(
        40, lambda: group_by_floor(frame, QUASI), lambda: [part.run(frame, hierarchies) for part in everything]
    )
    rows.append(Row("the whole catalogue, single runs in turn with the floor, medians of 40", *typical, 10))
    print(rows[-1].line(), flush=True)
    groups = count_table(Table(frame, quasi={n: hierarchies[n] for n in QUASI}, sensitive=SENSITIVE)).groups()
    for definition in PYCANON + REST:
        # A copy each time: what a definition found on the groups in one run must not help it in the next.
        alone, _ = best_of(3, lambda definition=definition: definition.assess(replace(groups)))
        rows.append(Row(f"{definition} alone, groups given", floor, alone, None))
    report("Assessing", "python -m benchmarks assessing", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
