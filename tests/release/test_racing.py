"""Several processes publish the same data set at once: one release goes out."""

import os
import subprocess
import sys
from pathlib import Path

from reticent.ledger import Ledger
from reticent.release import verify

HERE = Path(__file__).resolve()
RACE = """
import sys
from reticent.definitions import KAnonymity
from reticent.errors import LedgerError
from reticent.release import publish
from tests.release.conftest import table_of_patients
table = table_of_patients()
print("ready", flush=True)
sys.stdin.readline()
try:
    publish(table, KAnonymity(int(sys.argv[1]))).save(sys.argv[2])
    print("won")
except LedgerError as error:
    print(error)
"""


def test_of_several_processes_that_publish_at_once_exactly_one_wins(tmp_path: Path, ledger_file: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(k), str(tmp_path / f"release {k}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[2] / "src", HERE.parents[2])))},
        )
        for k in (2, 3, 4)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    said = [racer.communicate()[0].strip() for racer in racers]
    assert said.count("won") == 1
    assert sum("was released already: release 1" in text for text in said) == 2
    (saved,) = tmp_path.glob("release*")
    assert verify(saved).holds
    with Ledger(ledger_file) as ledger:
        assert len(ledger.entries("patients")) == 1
