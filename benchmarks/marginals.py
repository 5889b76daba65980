"""Synthetic records from noisy marginals beside the reference implementations, on four real files: total variation of marginals, and how well a model learned from the records predicts.

Every mechanism gets the same coded training records, the same sizes of domains and the same rho, and writes synthetic records; one program judges them all, by the training records (one- and two-way
total variation) and by records that were held out (AUC). The domains are read off the files, which a release must not do; the figures are about the noise.

Run: python -m benchmarks marginals prepare FOLDER
     python -m benchmarks marginals ours FOLDER FILE EPSILON aim|mst SEED
     ENVIRONMENT/bin/python benchmarks/reference_marginals.py FOLDER FILE EPSILON aim|mst SEED    (an environment of its own, with opendp[mbi])
     ENVIRONMENT/bin/python benchmarks/reference_private_pgm.py FOLDER FILE EPSILON aim|mst SEED  (likewise, with dpmm)
     python -m benchmarks marginals judge FOLDER
     python -m benchmarks marginals tracts EPSILON [RUNS]    (homes x work by tract of Rhode Island)
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from benchmarks.adult import SHARED
from reticent.base.privacy_cost import concentrated_rho

DELTA, HELD_OUT, EPSILONS = "1e-6", 0.2, ("0.5", "1", "3")


def adult() -> tuple[pl.DataFrame, str]:
    """30,162 x 9: who earns more than 50,000."""
    return pl.read_csv(SHARED / "adult" / "adult.csv.gz", separator=";"), "salary-class"


def accidents() -> tuple[pl.DataFrame, str]:
    """10,093 x 8: who is a man."""
    frame = pl.read_csv(SHARED / "fars" / "fars_subset.csv.gz", separator=";")
    return frame.with_columns(pl.col("isex") == "Male"), "isex"


def voters() -> tuple[pl.DataFrame, str]:
    """44,932 x 11: who voted for one candidate; missing answers are a value."""
    frame = pl.read_parquet(SHARED / "gss" / "cces_tv16.parquet").filter(pl.col("votetrump").is_not_null())
    names = [
        "state",
        "age",
        "female",
        "collegeed",
        "racef",
        "famincr",
        "ideo",
        "pid7na",
        "bornagain",
        "religimp",
        "votetrump",
    ]
    return frame.select(names), "votetrump"


def wages() -> tuple[pl.DataFrame, str]:
    """37,887 x 10: who earns more than 20,000; missing answers are a value."""
    frame = pl.read_parquet(SHARED / "gss" / "gss_wages.parquet").filter(pl.col("realrinc").is_not_null())
    return frame.drop("occ10").with_columns(pl.col("realrinc") > 20_000), "realrinc"


FILES: dict[str, Callable[[], tuple[pl.DataFrame, str]]] = {
    "adult": adult,
    "accidents": accidents,
    "voters": voters,
    "wages": wages,
}


def prepare(folder: str) -> None:
    """Write the coded records of every file: those to learn from and those held out, and what is public."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for name, opened in FILES.items():
        frame, outcome = opened()
        coded = frame.select(pl.all().rank("dense").sub(1).fill_null(pl.all().n_unique() - 1).cast(pl.Int64))
        coded = coded.sample(fraction=1.0, shuffle=True, seed=1)
        held = round(HELD_OUT * coded.height)
        coded.head(held).write_parquet(root / f"{name}.held-out.parquet")
        coded.slice(held).write_parquet(root / f"{name}.parquet")
        rho = {epsilon: float(concentrated_rho(Fraction(epsilon), Fraction(DELTA))) for epsilon in EPSILONS}
        public = {"outcome": outcome, "sizes": {each: int(coded[each].max()) + 1 for each in coded.columns}, "rho": rho}  # type: ignore[arg-type]
        (root / f"{name}.json").write_text(json.dumps(public))


def ours(folder: str, name: str, epsilon: str, select: str, seed: str) -> None:
    """One release; ``seed`` numbers it only, since noise comes from the operating system."""
    root = Path(folder)
    sizes = json.loads((root / f"{name}.json").read_text())["sizes"]
    frame = pl.read_parquet(root / f"{name}.parquet")
    table = rt.Table(frame, quasi=frame.columns[:-1], sensitive=frame.columns[-1])
    domain = {each: {"from": 0, "to": size - 1, "step": 1} for each, size in sizes.items()}
    began, wall = time.process_time(), time.perf_counter()
    draft = rt.Marginals(select=select, domain=domain).draft(table, rt.UnboundedDP(epsilon, DELTA))
    seconds = {"processor": time.process_time() - began, "clock": time.perf_counter() - wall}
    to = root / "records" / f"{name}-{epsilon}-ours-{select}-{seed}.parquet"
    to.parent.mkdir(exist_ok=True)
    draft.tables["records"].frame().write_parquet(to)
    to.with_suffix(".json").write_text(json.dumps(seconds))
    print(to.stem, seconds, flush=True)


def variation(one: pl.DataFrame, other: pl.DataFrame, columns: tuple[str, ...], sizes: dict[str, int]) -> float:
    """The total variation distance between two tables in some columns."""
    shares = []
    for frame in (one, other):
        keys = np.zeros(frame.height, dtype=np.int64)
        for name in columns:
            keys = keys * sizes[name] + frame[name].to_numpy()
        shares.append(np.bincount(keys, minlength=int(np.prod([sizes[name] for name in columns]))) / frame.height)
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def area_under_curve(learned: pl.DataFrame, tested: pl.DataFrame, outcome: str) -> float:
    """The area under the ROC curve of a gradient boosted model that was learned from one table, on records of another."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    names = [name for name in tested.columns if name != outcome]
    if learned[outcome].n_unique() < 2:
        return 0.5
    model = HistGradientBoostingClassifier(random_state=0).fit(learned.select(names).to_numpy(), learned[outcome])
    return float(roc_auc_score(tested[outcome], model.predict_proba(tested.select(names).to_numpy())[:, 1]))


def judged(root: Path, name: str, records: pl.DataFrame) -> dict[str, float]:
    """The figures of synthetic records."""
    public = json.loads((root / f"{name}.json").read_text())
    real, held_out = pl.read_parquet(root / f"{name}.parquet"), pl.read_parquet(root / f"{name}.held-out.parquet")
    return {
        "one-way": float(np.mean([variation(real, records, (each,), public["sizes"]) for each in real.columns])),
        "two-way": float(
            np.mean([variation(real, records, pair, public["sizes"]) for pair in combinations(real.columns, 2)])
        ),
        "AUC": area_under_curve(records, held_out, public["outcome"]),
    }


def judge(folder: str) -> None:
    """A line for each file, epsilon and mechanism: means over the releases that are there."""
    root = Path(folder)
    for name in FILES:
        if (root / f"{name}.json").exists():
            print(f"{name}: real records {judged(root, name, pl.read_parquet(root / f'{name}.parquet'))}")
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for path in sorted((root / "records").glob("*.parquet")):
        name, epsilon, *mechanism, _ = path.stem.split("-")
        kept = path.with_suffix(".figures.json")
        if not kept.exists():
            took = path.with_suffix(".json")
            seconds = json.loads(took.read_text()) if took.exists() else {}
            kept.write_text(json.dumps({**judged(root, name, pl.read_parquet(path)), **seconds}))
        found.setdefault((name, epsilon, " ".join(mechanism)), []).append(json.loads(kept.read_text()))
    for (name, epsilon, mechanism), runs in found.items():
        means = {each: float(np.mean([run[each] for run in runs])) for each in runs[0]}
        print(
            f"{name}, epsilon {epsilon}, {mechanism} ({len(runs)}): {', '.join(f'{k} {v:.4g}' for k, v in means.items())}"
        )


def tracts(epsilon: str = "1", runs: str = "3") -> None:
    """Total variation of home x work between the jobs of Rhode Island and synthetic ones, by the one marginal of both; delta 1e-5 as in `reproduce_onthemap`."""
    from benchmarks.reproduce_onthemap import Commuters

    jobs = Commuters.read()
    flows = jobs.in_tracts(jobs.flows)
    frame = pl.DataFrame({"work": np.repeat(flows.group, flows.times), "home": np.repeat(flows.value, flows.times)})
    sizes = {"work": flows.groups, "home": flows.values}
    domain = {name: {"from": 0, "to": size - 1, "step": 1} for name, size in sizes.items()}
    method = rt.Marginals(select=[["work", "home"]], domain=domain, rows=frame.height)
    table = rt.Table(frame, quasi=["work"], sensitive="home")
    found = []
    began = time.process_time()
    for _ in range(int(runs)):
        draft = method.draft(table, rt.UnboundedDP(epsilon, "1e-5"))
        found.append(variation(frame, draft.tables["records"].frame(), ("work", "home"), sizes))
    seconds = (time.process_time() - began) / int(runs)
    print(f"tracts, epsilon {epsilon}: {', '.join(f'{each:.4f}' for each in found)}; {seconds:.1f} s of processor each")


def main(command: str = "judge", *arguments: str) -> None:
    """Run one of the commands."""
    {"prepare": prepare, "ours": ours, "judge": judge, "tracts": tracts}[command](*arguments)
