"""The default path over real files: inspect, then publish with the proposed policy, unchanged (`python -m benchmarks first_hour [part of a name or a folder]`).

Useful: a loss of at most 0.25, at most a quarter of the quasi columns wholly suppressed, at least half of the columns published. Safe: groups of at least
five by the quasi columns, and no number or date published as it is that more than 5 % of the rows have to themselves.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.adult import SHARED
from reticent.errors import ReticentError
from reticent.policy import inspect, publish_policy

FILES = (
    "adult/adult_subset.csv.gz",
    "adult/adult.csv.gz",
    "adult_full/adult_48842.csv.gz",
    "fars/fars_subset.csv.gz",
    "gss/gss_wages.parquet",
    "gss/cces_tv16.parquet",
    "cps/cps.parquet",
    "creditcard_int/creditcard_int.csv.gz",
    "mach2019_int/mach2019_int.csv.gz",
    "sdcmicro/testdata.csv.gz",
    "sdcmicro/testdata2.csv.gz",
    "sdcmicro/CASCrefmicrodata.csv.gz",
    "sdcmicro/EIA.csv.gz",
    "sdcmicro/Tarragona.csv.gz",
    "sdcmicro/free1.csv.gz",
    "activitysim_arc/persons.parquet",
    "activitysim_arc/households.parquet",
    "od/ri_od_aux_JT00_2019.csv.gz",
)
HEAD = (
    "file",
    "columns",
    "published",
    "suppressed quasi",
    "smallest group",
    "most alone",
    "loss",
    "safe",
    "useful",
    "s",
)


@dataclass(frozen=True)
class Outcome:
    """What came of one file."""

    columns: int
    published: int
    quasi: int
    suppressed: int
    smallest: int
    alone: float
    loss: float

    @property
    def safe(self) -> bool:
        return self.smallest >= 5 and self.alone <= 0.05

    @property
    def useful(self) -> bool:
        return self.loss <= 0.25 and 4 * self.suppressed <= self.quasi and 2 * self.published >= self.columns


def outcome(path: Path, folder: Path) -> Outcome:
    """Inspect a file and publish it with the policy that is proposed."""
    found = inspect(str(path), output=folder / "policy.toml")
    found.save(folder / "policy.toml")
    policy, roles = found.parsed(), found.roles
    release = publish_policy(policy, folder / "release", ledger=str(folder / "ledger.sqlite")).release
    table = release.tables["data"]
    quasi = [name for name in table.columns if roles.get(name) == "quasi"]
    exact = [name for name in table.columns if name not in quasi]
    return Outcome(
        columns=len(roles),
        published=len(table.columns),
        quasi=len(quasi),
        suppressed=sum(table[name].n_unique() == 1 for name in quasi),
        smallest=int(release.groups.sizes.min()),
        alone=max((_alone(table[name]) for name in exact), default=0.0),
        loss=release.utility["loss"],
    )


def _alone(values: pl.Series) -> float:
    if not (values.dtype.is_numeric() or values.dtype.is_temporal()) or not len(values):
        return 0.0
    return float(values.is_unique().sum()) / len(values)


def main(part: str = "") -> None:
    """Print the table; the last lines sum it up."""
    losses, good, tried = [], 0, 0
    print(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    held_out = sorted(str(file) for file in Path(part).iterdir()) if part and Path(part).is_dir() else None
    for name in FILES if held_out is None else held_out:
        if held_out is None and part not in name:
            continue
        tried += 1
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RETICENT_LEDGER"] = str(Path(folder) / "ledger.sqlite")
            try:
                found = outcome(SHARED / name, Path(folder))
            except ReticentError as error:
                print(f"| {name} | {str(error).splitlines()[0][:120]} |", flush=True)
                continue
        seconds = time.perf_counter() - began
        losses.append(found.loss)
        good += found.safe and found.useful
        row = (
            Path(name).name.removesuffix(".gz").rsplit(".", 1)[0],
            found.columns,
            found.published,
            f"{found.suppressed} of {found.quasi}",
            found.smallest,
            f"{found.alone:.1%}",
            f"{found.loss:.3f}",
            "yes" if found.safe else "no",
            "yes" if found.useful else "no",
            f"{seconds:.1f}",
        )
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    if losses:
        print(f"\nSafe and useful: {good} of {tried}; median loss {statistics.median(losses):.3f}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
