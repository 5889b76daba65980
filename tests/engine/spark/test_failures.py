"""What goes wrong on a cluster: whatever it is, nothing half published is left, and it is told in a sentence."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError
from reticent.ledger import Ledger
from tests.engine.making import QUASI, frame_of
from tests.engine.spark.test_counting import plain
from tests.sampling import first

pytestmark = pytest.mark.xdist_group("spark")
ROLES = {"quasi": {"age": QUASI["age"], "zip": QUASI["zip"]}, "sensitive": "illness", "dataset": "wards"}


def nothing_left(scratch: Path, tmp_path: Path) -> bool:
    """No file of a release is anywhere, and the ledger knows of none."""
    with Ledger(tmp_path / "ledger.sqlite") as book:
        recorded = book.entries("wards") if hasattr(book, "entries") else []
    return not list(scratch.iterdir()) and not list(recorded)


def test_a_killed_worker_leaves_nothing(session, scratch, tmp_path):
    armed = tmp_path / "armed"

    def deadly(batches):
        for batch in batches:
            if armed.exists():
                os._exit(9)
            yield batch

    source = session.createDataFrame(plain(frame_of(200, 1)).to_arrow())
    table = rt.Table(source.mapInArrow(deadly, source.schema), **ROLES)
    armed.touch()
    with pytest.raises(DataError, match=r"^Spark could not read the rows: .*\.$") as told:
        rt.publish(table, rt.KAnonymity(3))
    assert "\n" not in str(told.value)
    assert told.value.__cause__ is not None
    assert nothing_left(scratch, tmp_path)
    armed.unlink()
    assert rt.verify(rt.publish(table, rt.KAnonymity(3)).save(tmp_path / "release")).holds


def test_a_full_disk_leaves_nothing(session, scratch, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a small file system cannot be mounted here")
    try:
        table = rt.Table(
            session.createDataFrame(plain(frame_of(3000, 2)).to_arrow()),
            **ROLES,
            declared={"note": "nobody knows it", "cost": "nobody knows it"},
        )
        with pytest.raises(DataError, match=r"could not be written to the scratch folder .* No space left on device"):
            rt.publish(table, rt.KAnonymity(3), scratch=small)
        assert not list(small.iterdir())
        assert nothing_left(scratch, tmp_path)
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("change", first(["other people", "more rows", "gone"], 1))
def test_a_source_that_changes_between_passes_is_found(change, session, scratch, tmp_path):
    frame, folder = plain(frame_of(300, 3)), tmp_path / "rows"
    folder.mkdir()
    frame.write_parquet(folder / "0.parquet")
    table = rt.read(folder, engine="spark", spark=session, **ROLES)
    if change == "gone":
        shutil.rmtree(folder)
    else:
        other = pl.concat([frame, frame]) if change == "more rows" else frame.with_columns(age=pl.lit(97))
        other.write_parquet(folder / "0.parquet")
    with pytest.raises(DataError, match=r"The source changed while it was read|must not change") as told:
        rt.publish(table, rt.KAnonymity(3))
    assert "\n" not in str(told.value)
    assert nothing_left(scratch, tmp_path)


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_without_java_the_message_says_what_to_install(tmp_path):
    pytest.importorskip("pyspark")
    code = "import polars as pl, reticent as rt; rt.Table(pl.DataFrame({'a': [1]}), quasi=['a'], engine='spark')"
    ran = run_python(code, PATH=str(tmp_path), JAVA_HOME="")
    assert "Spark needs Java 17 or newer, and none was found. Install Java 17 or newer" in ran.stderr
    ran = run_python(code, JAVA_HOME=str(tmp_path))
    assert "where there is none" in ran.stderr
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_302\"' >&2\n")
    old.chmod(0o755)
    ran = run_python(code, JAVA_HOME=str(tmp_path))
    assert re.search(r"Spark needs Java 17 or newer, and .* is Java 8\.", ran.stderr)


def test_without_pyspark_the_message_says_what_to_install():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "import polars as pl, reticent as rt; rt.Table(pl.DataFrame({'a': [1]}), quasi=['a'], engine='spark')"
    )
    assert "pip install 'reticent[spark]'" in run_python(code).stderr


@pytest.mark.slow
def test_a_killed_executor_costs_time_and_nothing_else(tmp_path):
    """A cluster of two executors of its own, one of which is killed for good while files are written."""
    pytest.importorskip("pyspark")
    ran = run_python(_CLUSTER.format(folder=str(tmp_path), repository=str(Path(__file__).parents[3])))
    assert "killed True" in ran.stdout, ran.stderr[-2000:]
    assert "same True" in ran.stdout, ran.stderr[-2000:]
    assert "verified True" in ran.stdout


_CLUSTER = """
import os, signal, subprocess, sys, threading, time
from pathlib import Path
sys.path.insert(0, {repository!r})
folder = Path({folder!r})
os.environ["RETICENT_LEDGER"] = str(folder / "ledger.sqlite")
import polars as pl, reticent as rt
from reticent.engine.spark.session import session_from
from tests.engine.making import QUASI, frame_of
from tests.engine.spark.test_counting import plain
session = session_from({{"master": "local-cluster[2,1,1024]", "conf": {{
    "spark.sql.shuffle.partitions": 4, "spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": ":".join(sys.path)}}}})
frame = plain(frame_of(4000, 5))
(folder / "rows").mkdir()
for number in range(8):
    frame[number::8].write_parquet(folder / "rows" / f"{{number}}.parquet")
roles = dict(quasi={{"age": QUASI["age"], "zip": QUASI["zip"]}}, sensitive="illness", declared={"note": "nobody knows it"})
marker = folder / "writing"

def slow(batches):
    for batch in batches:
        marker.touch()
        time.sleep(1)
        yield batch

source = session.read.parquet(str(folder / "rows"))
killed = []

def kill():
    while not marker.exists():
        time.sleep(0.05)
    found = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True).stdout.split()
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()
    mine = {{os.getpid()}}
    for _ in range(4):
        mine |= {{int(line.split()[0]) for line in listed[1:] if int(line.split()[1]) in mine}}
    executors = [int(line.split()[0]) for line in listed[1:] if int(line.split()[0]) in mine and "CoarseGrainedExecutorBackend" in line and line.split()[2].endswith("java")]
    os.kill(executors[0], signal.SIGKILL)
    killed.append(executors[0])

table = rt.Table(source, **roles)
object.__setattr__(table.held, "source", table.held.source.mapInArrow(slow, table.held.source.schema))
threading.Thread(target=kill, daemon=True).start()
release = rt.publish(table, rt.KAnonymity(3), rt.Lattice(suppression="0.1"))
print("killed", bool(killed))
same = rt.publish(rt.Table(frame, **roles), rt.KAnonymity(3), rt.Lattice(suppression="0.1"))
print("same", release.frame.equals(same.frame))
print("verified", rt.verify(release.save(folder / "release")).holds)
"""
