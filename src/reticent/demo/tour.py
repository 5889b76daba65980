"""The whole workflow on the demo register, step by step: inspect, assess, attack, publish, attack again, verify, count,
report.

Each step is executed lazily and reports its result: in words for the audience, in numbers for programs, with a small
table where rows are more telling.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from reticent.attacks import Homogeneity, Linkage, attack
from reticent.conditions import Condition
from reticent.demo.hospital import hospital, hospital_policy_text
from reticent.demo.voters import voter_roll
from reticent.errors import DataError, LedgerError
from reticent.policy import Policy
from reticent.propose import exposures, propose
from reticent.release import Release, covers, promised_by, publish, verify
from reticent.reports import write_stewards_report
from reticent.table import Table, write_frame

FILES = {
    "hospital.csv": "the register: confidential",
    "voters.csv": "the public roll of voters",
    "policy.toml": "what must stay private, and how to publish",
    "ledger.sqlite": "record of disclosures",
    "ledger.sqlite-key": "its key",
    "ledger.sqlite-newest": "rollback guard: length of the ledger at the last write",
    "release": "the release: public/ to share, private/ for the steward",
    "report.html": "the steward's report",
}
_LEFT_BEHIND = ("ledger.sqlite-wal", "ledger.sqlite-shm", "release-tampered")
_FIRST_FILES = {"hospital.csv", "voters.csv"}
_QUESTIONS = (
    "diagnosis = 'stroke'",
    "sex = 'female' and diagnosis = 'depression'",
    "age >= 65 and diagnosis = 'hip fracture'",
    "admitted < '2025-03-01' and diagnosis = 'influenza'",
)
_INTRODUCED = ("name", "age", "sex", "postcode", "nationality", "admitted", "diagnosis")
_SHOWN_ROWS = 4


@dataclass(frozen=True)
class Step:
    """One step of the tour: its purpose, its result (``mood``: good or bad news), and details."""

    title: str
    why: str
    found: str
    mood: Literal["plain", "good", "bad"] = "plain"
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


class Tour:
    """Walks the steps in its own folder. Mutable: later steps use the results of earlier ones."""

    def __init__(self, folder: str | Path, patients: int = 4000) -> None:
        self.folder = Path(folder)
        self.patients = patients
        self._prepare()

    def walk(self) -> Iterator[Step]:
        """Execute one step after the other."""
        steps: Sequence[Callable[[], Step]] = (
            self._data,
            self._inspect,
            self._assess,
            self._attack,
            self._publish,
            self._attack_again,
            self._verify,
            self._count,
            self._again,
            self._report,
        )
        for step in steps:
            yield step()

    def path(self, name: str) -> Path:
        """Return a file of the tour."""
        return self.folder / name

    def _prepare(self) -> None:
        """Prepare the folder: files of an earlier tour are removed, other files are not touched."""
        self.folder.mkdir(parents=True, exist_ok=True)
        present = {entry.name for entry in self.folder.iterdir()}
        foreign_files = sorted(present - {*FILES, *_LEFT_BEHIND})
        if foreign_files or (present and not present >= _FIRST_FILES):
            raise DataError(
                f"{str(self.folder)!r} holds {(foreign_files or sorted(present))[0]!r}, which is not from an earlier demo. Choose a new folder "
                "with --output."
            )
        for name in present:
            path = self.path(name)
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _data(self) -> Step:
        """Make the register, the roll of voters and the policy, and write them to the folder."""
        self.register = hospital(self.patients)
        roll = voter_roll(self.register, others=self.patients // 2, truth=True)
        self.roll = roll.join(self.register.select("patient", "diagnosis"), on="patient", how="left").drop("patient")
        write_frame(self.register, self.path("hospital.csv"))
        write_frame(self.roll.drop("diagnosis"), self.path("voters.csv"))
        self.path("policy.toml").write_text(hospital_policy_text(), "utf-8")
        columns, rows = _excerpt(self.register.select(_INTRODUCED))
        return Step(
            "A register of patients",
            "A hospital wants to share its register with researchers. The people in this one are fictional, but it is built like a real one.",
            f"{self.register.height:,} patients of one year, with {self.register['diagnosis'].n_unique()} diagnoses.",
            columns=columns,
            rows=rows,
            facts={"patients": self.register.height, "diagnoses": self.register["diagnosis"].n_unique()},
        )

    def _inspect(self) -> Step:
        """Propose roles for the columns of the register."""
        proposal = propose(self.register, self.path("hospital.csv"))
        return Step(
            "Inspect: what could identify people?",
            "Which columns name a person, which could help to recognise one, which must stay secret? Reticent proposes, a steward decides.",
            "Names and numbers are dropped. But other people may know age, sex, postcode, nationality and admission day: together these can identify a person.",
            columns=("column", "role", "why"),
            rows=tuple(
                (column.name, column.role or "not published", column.reason.split(";")[0])
                for column in proposal.columns
            ),
            facts={"roles": {column.name: column.role for column in proposal.columns}},
        )

    def _assess(self) -> Step:
        """Assess the table without names: how many people are unique in what others may know."""
        self.policy = Policy.read(self.path("policy.toml"))
        self.table: Table = self.policy.table()
        exposure = exposures(self.table, self.policy.definitions)[0]
        return Step(
            "Assess: is dropping the names enough?",
            "Without names: how many people are still unique in what others may know about them?",
            f"No. {exposure.unique_rows:,} of {exposure.rows:,} people are unique.",
            "good" if exposure.holds else "bad",
            ("definition", "holds", "why not"),
            tuple(
                (
                    str(assessment.definition),
                    "yes" if assessment.holds else "no",
                    assessment.witness.text if assessment.witness else "",
                )
                for assessment in exposure.assessments
            ),
            facts={"unique_rows": exposure.unique_rows, "holds_before": exposure.holds},
        )

    def _linkage(self, about: int | None = None) -> Linkage:
        columns = [name for name in self.table.quasi if name in self.roll.columns]
        return Linkage(self.roll, columns=columns, who="name", truth="diagnosis", about=about)

    def _attack(self) -> Step:
        """Link the roll of voters with the table without names."""
        self.before = attack(self.table, self._linkage(), Homogeneity())
        linked = self.before[0]
        return Step(
            "Attack the table without names",
            f"Anyone can get the roll of voters: {self.roll.height:,} names with age, sex, postcode and nationality. Look them up.",
            f"{linked.hits:,} voters match exactly one row, and {linked.details['right']:,} correct diagnoses are learned.",
            "bad",
            notes=(linked.example, self.before[1].example),
            facts={"attacks_before": [outcome.as_dict() for outcome in self.before]},
        )

    def _publish(self) -> Step:
        """Publish the least distorted release that satisfies the policy, and save it."""
        self.release: Release = publish(
            self.table,
            self.policy.definition,
            self.policy.method(self.table, self.policy.definition),
            ledger=self.path("ledger.sqlite"),
        )
        self.release.save(self.path("release"))
        private = self.release.private
        columns, rows = _excerpt(self.release.frame)
        return Step(
            "Publish: the least distorted release that is safe",
            f"There are {private.search['lattice_nodes']:,} possible generalizations. Reticent finds the safe one that loses the least detail, and proves that it is the best.",
            f"{self.release.frame.height:,} rows in {len(self.release.groups):,} groups of people with the same published values; {private.suppressed:,} rows are suppressed.",
            columns=columns,
            rows=rows,
            notes=tuple(
                f"Promised: {covers(*entry)}"
                for entry in promised_by(self.release.certificate, self.release.public.manifest)
            ),
            facts={
                "levels": dict(zip(private.search["columns"], private.search["chosen"], strict=True)),
                "rows": self.release.frame.height,
                "groups": len(self.release.groups),
                "suppressed": private.suppressed,
                "loss": private.utility["loss"],
                "nodes": private.search["lattice_nodes"],
                "proven": private.search["proven"],
            },
        )

    def _attack_again(self) -> Step:
        """Run the attacks that were run on the table on the published files."""
        self.after = attack(self.path("release"), self._linkage(self.before[0].details["person"]), Homogeneity())
        linked, shared = self.after
        return Step(
            "Attack again",
            "The same adversary with the same list, now against the published files.",
            f"{linked.hits:,} voters match exactly one row, and {linked.details['learned']:,} diagnoses are learned.",
            "good" if linked.hits == linked.details["learned"] == shared.hits == 0 else "bad",
            notes=(linked.example, shared.example),
            facts={"attacks_after": [outcome.as_dict() for outcome in self.after]},
        )

    def _verify(self) -> Step:
        """Verify the release, and a copy in which one value was changed."""
        result = verify(self.path("release"))
        tampered = verify(self._tampered())
        shutil.rmtree(self.path("release-tampered"))
        claims = [check for check in result.checks if check.claim]
        return Step(
            "Verify: do not trust, check",
            "Every recipient can recompute each claim from the public files alone, without the hospital's data.",
            " ".join(result.headline.lines()),
            "good" if result.holds else "bad",
            ("check", "result", "why"),
            tuple((check.name, check.status, check.detail) for check in claims),
            (f"In a copy, one diagnosis was changed. The verification reports: {tampered.failures[0].detail}",),
            {"holds": result.holds, "tampered_holds": tampered.holds},
        )

    def _tampered(self) -> Path:
        """Return a copy of the release with one changed diagnosis."""
        copy = self.path("release-tampered")
        shutil.copytree(self.path("release") / "public", copy / "public")
        file = copy / "public" / "data.csv"
        lines = file.read_text("utf-8").splitlines(keepends=True)
        lines[-1] = lines[-1].rsplit(",", 1)[0] + ",HIV\n"
        file.write_text("".join(lines), "utf-8")
        return copy

    def _count(self) -> Step:
        """Answer the same counting queries on the register and on the release."""
        rows, facts = [], []
        for question in _QUESTIONS:
            truth = int(Condition.parse(question).mask(self.register).sum())
            answer = self.release.count(question)
            low, high = answer.bounds
            certain = f"{low:,}" if low == high else f"{low:,} to {high:,}"
            rows.append((question, f"{truth:,}", f"{answer.value:,.0f}", certain))
            facts.append({"condition": question, "truth": truth, "value": answer.value, "bounds": [low, high]})
        return Step(
            "Is it still useful?",
            "Researchers ask how many, not who. The same queries on the register and on the release:",
            "Counts stay close to the truth, while individuals stay hidden. (Suppressed rows are not in the release.)",
            columns=("how many with", "register", "release", "for certain"),
            rows=tuple(rows),
            facts={"counts": facts},
        )

    def _again(self) -> Step:
        """Try to publish another release of the same data set, which the ledger refuses."""
        finer = self.policy.method(self.table, self.policy.definition, suppression="0.01")
        try:
            publish(self.table, self.policy.definition, finer, ledger=self.path("ledger.sqlite"))
            refusal = None
        except LedgerError as error:
            refusal = str(error)
        return Step(
            "Publish it once more, a little differently?",
            "Two safe releases of the same people can disclose them when combined. So the ledger records every release.",
            "It was allowed." if refusal is None else "Refused: this data set was already released.",
            facts={"refused": refusal is not None, "refusal": refusal},
        )

    def _report(self) -> Step:
        """Write the report for the steward."""
        write_stewards_report(self.release, self.path("report.html"), self.table, people=self.roll, who="name")
        return Step(
            "The report",
            "Everything on one page for the steward: verdict, guarantee, attacks, charts, information loss, and remaining risks.",
            f"Open {self.path('report.html')} in a browser.",
            columns=("file", "what it is"),
            rows=tuple((str(self.path(name)), words) for name, words in FILES.items()),
            facts={"files": [self.path(name) for name in FILES]},
        )


def _excerpt(frame: pl.DataFrame) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Return a few rows spread over a table, as text."""
    places = [frame.height * number // _SHOWN_ROWS for number in range(_SHOWN_ROWS)]
    shown = frame[places].select(pl.all().cast(pl.String))
    return tuple(shown.columns), tuple(shown.iter_rows())
