"""Four hospitals publish one histogram of diagnoses. None of them shows its patients to anybody, and one of them lies.

Each hospital is a process of its own with a private key, a config file, rows and a ledger in a folder that the others never see. Three follow the protocol; the
fourth shares a number where a bit should be, to be counted more often than once. The others find out, name it, and go on without it. What
comes out is a release: everybody can verify it and count with it.

Usage: python examples/hospitals/story.py [FOLDER]
"""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

import reticent as rt
from reticent.noise.certificates import make_party_keys
from reticent.release import open_public

HERE = Path(__file__).resolve().parent
HOSPITALS = ("St. Anna", "St. Bruno", "Clara", "Doris")
LIAR, FAULT = "Clara", "lie in proofs"
DIAGNOSES = ("asthma", "diabetes", "influenza", "hypertension", "migraine", "rare fever")
# How frequent diagnoses are at each hospital: a region's picture that no hospital sees alone.
FREQUENT = ((4, 2, 1, 6, 2, 0), (1, 5, 6, 2, 1, 1), (3, 3, 3, 3, 3, 3), (2, 1, 8, 4, 1, 0))
CONFIG = """session = "diagnoses of the region, 2026-11"
me = "{me}"
key = "{me}/{me}.key"

[answer]
query = "histogram"
epsilon = 1
delta = "1e-6"
faults = 1

[answer.domain]
diagnosis = {diagnoses}

[data]
source = "{me}/patients.csv"

[budget]
ledger = "{me}/ledger.sqlite"
dataset = "patients of {me}"
epsilon = 2

[time]
patience = 60
"""
PARTY = """
[[party]]
name = "{name}"
address = "127.0.0.1:{port}"
certificate = "{name}/{name}.crt"
"""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on right now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def set_up(folder: Path) -> dict[str, int]:
    """Every hospital's key, certificate, patients and config; how many patients each has."""
    draw = random.Random(2026)
    patients = {}
    parties = "".join(
        PARTY.format(name=name, port=port) for name, port in zip(HOSPITALS, free_ports(len(HOSPITALS)), strict=True)
    )
    for name, frequent in zip(HOSPITALS, FREQUENT, strict=True):
        make_party_keys(folder / name, name)
        rows = draw.choices(DIAGNOSES, weights=frequent, k=draw.randint(150, 300))
        patients[name] = len(rows)
        pl.DataFrame({"patient": range(len(rows)), "diagnosis": rows}).write_csv(folder / name / "patients.csv")
        config = CONFIG.format(me=name, diagnoses=json.dumps(DIAGNOSES))
        (folder / f"{name}.toml").write_text(config + parties, "utf-8")
    return patients


def start(folder: Path, name: str) -> subprocess.Popen[str]:
    """One hospital's process."""
    config = str(folder / f"{name}.toml")
    honest = ["-m", "reticent", "noise", "party", "--config", config, "-o", str(folder / name / "release"), "--json"]
    command = [str(HERE / "lying_hospital.py"), config, FAULT] if name == LIAR else honest
    return subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )


def main(folder: Path) -> None:
    """The whole story, printed."""
    patients = set_up(folder)
    print("Patients:", ", ".join(f"{name} {count}" for name, count in patients.items()))
    running = {name: start(folder, name) for name in HOSPITALS}
    said = {name: process.communicate() for name, process in running.items()}
    answers = {}
    for name in HOSPITALS:
        if name != LIAR:
            if running[name].returncode:
                raise SystemExit(f"{name}: {said[name][1]}")
            answers[name] = json.loads(said[name][0])
    totals = {tuple(each["total"]) for each in answers.values()}
    print("All honest hospitals hold the same answer:", len(totals) == 1)
    for name, why in next(iter(answers.values()))["blamed"].items():
        print(f"Excluded: {name} {why}.")

    release = folder / "St. Anna" / "release"
    print("The claims of the release hold:", rt.verify(release).holds)
    public = open_public(release)
    counted = [pl.read_csv(folder / name / "patients.csv") for name in answers]
    true = dict(pl.concat(counted)["diagnosis"].value_counts().iter_rows())
    for diagnosis in DIAGNOSES:
        answer = public.count(f"diagnosis = '{diagnosis}'")
        low, high = answer.interval
        print(
            f"{diagnosis:13} {answer.value:5}  between {low} and {high}  (true, known to nobody: {true.get(diagnosis, 0)})"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
