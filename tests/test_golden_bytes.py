"""Twelve releases of a generated sample keep their bytes: a change that means to leave releases alone does.

The data files are those of version 0.3.0 (commit f1dc096), the manifests of layout 4. The fixture holds the hash of every public data file and of the manifest, the utility
to ten digits and an answer; certificates name a version and a time, and private files may change their layout. To write it anew, on purpose: ``python -m tests.test_golden_bytes``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from tests.release.document_faults import document_faults

FIXTURE = Path(__file__).parent / "fixtures" / "golden_bytes.json"
SEX, RACE = ["Female", "Male"], ["A", "B", "C", "D"]
WORK = {"State": "Public", "City": "Public", "Firm": "Private", "Self": "Private", "Farm": "Private"}
DISEASE = ["flu", "cold", "ulcer", "asthma", "cancer", "hiv"]


def sample(rows: int = 900) -> pl.DataFrame:
    """Rows that look alike in part: a linear congruence, so that every version and platform makes the same ones."""
    state, columns = 12345, {name: [] for name in ("age", "sex", "race", "work", "zip", "disease")}  # type: ignore[var-annotated]

    def draw(many: int) -> int:
        nonlocal state
        state = (state * 1103515245 + 12345) % 2**31
        return (state >> 16) % many

    for _ in range(rows):
        columns["age"].append(20 + min(draw(60), draw(60)))
        columns["sex"].append(SEX[draw(2)])
        columns["race"].append(RACE[min(draw(4), draw(4))])
        columns["work"].append(list(WORK)[draw(5)])
        columns["zip"].append(f"{13000 + draw(5) * 100 + draw(7):05d}")
        columns["disease"].append(DISEASE[min(draw(6), draw(6))])
    return pl.DataFrame(columns)


def table(**more: Any) -> rt.Table:
    """The sample with roles and hierarchies."""
    quasi = {
        "age": rt.Hierarchy.intervals(widths=[5, 10, 20, 40], origin=0, domain=(20, 80)),
        "sex": rt.Hierarchy.suppression(),
        "race": rt.Hierarchy.suppression(),
        "work": rt.Hierarchy.taxonomy({"Public": ["State", "City"], "Private": ["Firm", "Self", "Farm"]}),
        "zip": rt.Hierarchy.masking(digits=5),
    }
    frame = more.pop("frame", None)
    return rt.Table(sample() if frame is None else frame, quasi=quasi, sensitive="disease", **more)


def gaps() -> pl.DataFrame:
    """The sample with every seventh race and every eleventh occupation missing."""
    return sample().with_columns(
        pl.when(pl.int_range(pl.len()) % 7 != 0).then(pl.col("race")).alias("race"),
        pl.when(pl.int_range(pl.len()) % 11 != 0).then(pl.col("work")).alias("work"),
    )


K, L = rt.KAnonymity(5), rt.DistinctLDiversity(3)
SEEDED = {"insecure_seed": 1}
DOMAIN = {"sex": [*SEX, "none of these"], "race": [*RACE, "none of these"], "work": [*sorted(WORK), "none of these"]}
JOBS: dict[str, tuple[Callable[[], rt.Table], Any, Any, dict[str, Any]]] = {
    "lattice": (table, K, rt.Lattice(), {}),
    "lattice with suppression": (table, K & L, rt.Lattice(suppression="0.05"), {}),
    "lattice in parquet": (table, K & rt.TCloseness("0.4"), rt.Lattice(suppression="0.05"), {"files": "parquet"}),
    "lattice with repair": (table, K & L, rt.Lattice(suppression="0.05", repair="rows"), SEEDED),
    "lattice of two sets": (
        lambda: table(quasi_sets=[["age", "sex", "race"], ["work", "zip"]]),
        K,
        rt.Lattice(suppression="0.02"),
        {},
    ),
    "lattice streamed": (lambda: table(engine="streaming"), K, rt.Lattice(suppression="0.05"), {}),
    "lattice with gaps": (lambda: table(frame=gaps(), nulls="category"), K, rt.Lattice(suppression="0.05"), {}),
    "buckets": (table, L, rt.Lattice(suppression="0.05", format="bucketize"), SEEDED),
    "datafly": (table, K, rt.Datafly(suppression="0.05"), {}),
    "mondrian": (table, K & L, rt.Mondrian(values="sets"), {}),
    "mondrian nodes": (table, K, rt.Mondrian(values="hierarchy"), {}),
    "mondrian divided": (table, K, rt.Mondrian(ties="divide", values="sets"), SEEDED),
    "alpha-beta": (
        lambda: rt.Table(sample().select(list(DOMAIN)).unique(maintain_order=True), quasi=list(DOMAIN)),
        rt.BoundedBelief("1/10", "1/2"),
        rt.AlphaBeta(domain=DOMAIN),
        SEEDED,
    ),
    "frapp": (
        lambda: rt.Table(sample().select(list(DOMAIN)), quasi=list(DOMAIN)),
        rt.BoundedBelief("1/20", "1/3", "record"),
        rt.Frapp(domain=DOMAIN),
        SEEDED,
    ),
}


def made(job: str, folder: Path) -> dict[str, Any]:
    """What a job gives: hashes of public data files, utility, and the answer to one question."""
    make, definition, method, options = JOBS[job]
    release = rt.publish(make(), definition, method, **options)
    saved = release.save(folder / "release")
    data = [path for path in sorted((saved / "public").iterdir()) if path.suffix in (".csv", ".parquet", ".json")]
    condition = "sex = 'Male' and race = 'A'"
    answer = release.estimate(condition) if hasattr(release, "estimate") else release.count(condition)
    utility = json.loads((saved / "private" / "utility.json").read_text()) if job not in ("alpha-beta", "frapp") else {}
    return {
        "files": {
            path.name: hashlib.sha256(_content(path)).hexdigest()[:16]
            for path in data
            if path.name != "certificate.json"
        },
        "utility": {name: float(f"{value:.10g}") for name, value in sorted(utility.items())},
        "count": float(f"{float(answer.value):.10g}"),
    }


def _content(path: Path) -> bytes:
    """The bytes of a file; those of a Parquet file depend on who wrote it, so its rows are taken."""
    return pl.read_parquet(path).write_csv().encode() if path.suffix == ".parquet" else path.read_bytes()


@pytest.mark.parametrize("job", JOBS)
def test_a_release_keeps_its_bytes(job, tmp_path, monkeypatch):
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    assert made(job, tmp_path) == json.loads(FIXTURE.read_text())[job]
    assert document_faults(tmp_path / "release" / "public") == []


if __name__ == "__main__":
    found = {}
    for name in JOBS:
        with tempfile.TemporaryDirectory() as place:
            found[name] = made(name, Path(place))
    FIXTURE.write_text(json.dumps(found, indent=1) + "\n")
