"""Saving: whole or not at all, whoever pulls the plug; quick enough to do without thinking."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.errors import DataError
from reticent.methods.lattice import Lattice
from reticent.release import publish, verify
from reticent.table import Hierarchy, Table
from tests.release.conftest import table_of_patients

HERE = Path(__file__).resolve()
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(HERE.parents[2])}


def test_an_existing_folder_is_refused_unless_it_is_a_release_to_be_overwritten(tmp_path: Path) -> None:
    release = publish(table_of_patients(), KAnonymity(4))
    folder = release.save(tmp_path / "release")
    with pytest.raises(DataError, match="exists already"):
        release.save(folder)
    other = publish(table_of_patients(), KAnonymity(2), again=True)
    other.save(folder, overwrite=True)
    assert verify(folder).holds
    assert "KAnonymity(k=2)" in str(verify(folder).checks)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "ledger") == ["release"]


def test_something_else_is_never_overwritten(tmp_path: Path) -> None:
    release = publish(table_of_patients(), KAnonymity(4))
    (tmp_path / "diaries").mkdir()
    (tmp_path / "diaries" / "monday.txt").write_text("dear diary")
    (tmp_path / "file").write_text("a file")
    folder = release.save(tmp_path / "release")
    (folder / "notes.txt").write_text("mine")
    for place in ("diaries", "file", "release"):
        with pytest.raises(DataError, match="is not a release folder"):
            release.save(tmp_path / place, overwrite=True)
    assert (tmp_path / "diaries" / "monday.txt").read_text() == "dear diary"
    assert (tmp_path / "file").read_text() == "a file"


@pytest.mark.parametrize("rounds", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_a_process_killed_while_saving_leaves_a_whole_release_or_none(rounds: int, tmp_path: Path) -> None:
    chance = random.Random(rounds)
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.release.saver", str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
            env=ENVIRONMENT,
            cwd=HERE.parents[2],
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (tmp_path / "release").exists():
            assert verify(tmp_path / "release").holds
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    release.save(tmp_path / "release", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]


FULL_DISK = """
import resource, signal, sys
from reticent.definitions import KAnonymity
from reticent.errors import DataError
from reticent.release import publish
from tests.release.conftest import table_of_patients
release = publish(table_of_patients(dataset=None), KAnonymity(4))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    release.save(sys.argv[1])
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [100, 1700])
def test_a_full_disk_leaves_nothing(limit: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path / "release"), str(limit)],
        capture_output=True,
        text=True,
        check=True,
        env=ENVIRONMENT,
    )
    assert "could not be saved" in done.stdout
    assert "No partial files were left" in done.stdout
    assert list(tmp_path.iterdir()) == []


def large_table(rows: int) -> Table:
    chance = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": chance.integers(17, 91, rows),
            "zip": chance.integers(10000, 10100, rows),
            "sex": chance.choice(["female", "male"], rows),
            "job": chance.choice([f"job {number}" for number in range(14)], rows),
            "city": chance.choice([f"city {number}" for number in range(40)], rows),
            "disease": chance.choice([f"disease {number}" for number in range(20)], rows),
        }
    )
    ages = Hierarchy.intervals([5, 10, 20, 40], domain=(17, 90))
    quasi = {"age": ages, "zip": Hierarchy.masking(5), "sex": None, "job": None, "city": None}
    return Table(frame, quasi=quasi, sensitive="disease")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["generalize", "bucketize"])
def test_saving_and_verifying_thirty_thousand_rows_takes_well_under_a_second(form: str, tmp_path: Path) -> None:
    definition = KAnonymity(5) if form == "generalize" else DistinctLDiversity(3)
    release = publish(large_table(30_000), definition, Lattice(format=form, suppression="0.05"))
    start = time.process_time()
    folder = release.save(tmp_path / "release")
    saved = time.process_time()
    assert verify(folder).holds
    verified = time.process_time()
    assert saved - start < 1
    assert verified - saved < 1


def test_release_is_light_to_import() -> None:
    code = (
        "import sys, reticent.release\n"
        "print([m for m in ('pandas', 'altair', 'cryptography', 'duckdb', 'numba', 'scipy', 'typer', 'reticent.methods') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
