"""Larger than memory, proved from outside: what a whole process takes at its peak, what a full disk and a killed process leave."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.base.files import Scratch
from reticent.definitions import KAnonymity
from reticent.errors import DataError
from reticent.release import publish, verify
from reticent.table import Table
from reticent.table.rows import StreamRows
from tests.engine.making import frame_of

ROOT = Path(__file__).resolve().parents[2]

POLICY = """
[data]
source = "{source}"
engine = "{engine}"
[roles]
quasi = ["age", "zip"]
sensitive = ["illness"]
[declared]
note = "nobody knows it"
[hierarchies.age]
kind = "intervals"
widths = [10, 20]
[definition]
name = "KAnonymity"
k = 5
"""

# A process inherits the peak of the one that forked it, so a slight one stands between.
PEAK = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def with_notes(rows: int, folder: Path) -> tuple[Path, int]:
    """A file of rows that share nothing but their quasi values, and how many bytes they take in memory."""
    chance = np.random.default_rng(1)
    path, size = folder / f"{rows}.csv", 0
    with path.open("wb") as file:
        for start in range(0, rows, 10_000):
            count = min(10_000, rows - start)
            notes = chance.integers(0, 2**63, (count, 40)).astype(str)
            frame = pl.DataFrame(
                {
                    "age": chance.integers(20, 60, count),
                    "zip": chance.integers(100, 140, count),
                    "illness": chance.choice(["flu", "cold", "ulcer"], count),
                    "note": ["-".join(row) for row in notes.tolist()],
                }
            )
            size += int(frame.estimated_size())
            frame.write_csv(file, include_header=start == 0)
    return path, size


def peak(source: Path, engine: str, folder: Path) -> int:
    """The most memory, in bytes, that publishing takes from start to exit."""
    (folder / "policy.toml").write_text(POLICY.format(source=source, engine=engine))
    command = [sys.executable, "-m", "reticent", "publish", "policy.toml", "-o", f"{source.stem} {engine}"]
    done = subprocess.run(
        [sys.executable, "-S", "-c", PEAK, *command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RETICENT_MEMORY": "64MB"},
    )
    return int(done.stdout) << 10


@pytest.mark.slow
def test_a_table_larger_than_the_memory_it_takes_is_published(tmp_path: Path) -> None:
    """1.2 GB of rows that differ from each other, by a process that never takes more than 0.8 GB from start to exit."""
    source, size = with_notes(1_500_000, tmp_path)
    limit = 800 << 20
    assert size > 1.4 * limit
    assert peak(source, "streaming", tmp_path) < limit
    assert verify(tmp_path / "1500000 streaming").holds


class Watched:
    """Rows in chunks, and the most chunks that were alive at the same time."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame, self.alive, self.most, self.passes = frame, 0, 0, 0

    def chunks(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        self.passes += 1
        for start in range(0, self.frame.height, 100):
            chunk = self.frame.select(columns).slice(start, 100)
            self.alive += 1
            self.most = max(self.most, self.alive)
            weakref.finalize(chunk, self._gone)
            yield chunk

    def _gone(self) -> None:
        self.alive -= 1


def test_only_a_few_chunks_of_rows_are_ever_alive_together(tmp_path: Path) -> None:
    frame = frame_of(10_000, 2)
    watched = Watched(frame)
    stream = StreamRows(frame.schema, watched.chunks)
    table = Table(
        stream,
        quasi=["age", "zip"],
        sensitive=["illness", "stay"],
        declared={"note": "nobody knows it"},
        identifiers=["city"],
        unit="row",
    )
    assert table.streamed
    release = publish(table, KAnonymity(3), scratch=tmp_path)
    release.save(tmp_path / "release")
    # Types and people, whether a name repeats although rows are the unit, relations between columns, counting, recoding, writing.
    assert watched.passes == 6
    assert watched.most <= 3
    assert watched.alive <= 1
    assert verify(tmp_path / "release").holds


KILLED = """
import sys
import polars as pl
from reticent.table import Table
from reticent.definitions import KAnonymity
from reticent.release import publish
table = Table(pl.scan_csv(sys.argv[1]), quasi=["age", "zip"], sensitive="illness", declared={"note": "nobody knows it"}, engine="streaming")
print("ready", flush=True)
while True:
    release = publish(table, KAnonymity(5), scratch=sys.argv[2])
    release.save(sys.argv[2] + "/release", overwrite=True)
"""


@pytest.mark.parametrize("rounds", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_a_killed_process_leaves_a_whole_release_or_none_and_its_scratch_is_swept(rounds: int, tmp_path: Path) -> None:
    source, _ = with_notes(3_000, tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    chance = np.random.default_rng(rounds)
    for _ in range(rounds):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(source), str(place)], stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.7))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if (place / "release").exists():
            assert verify(place / "release").holds
    table = Table(pl.scan_csv(source), quasi=["age"], sensitive="illness", engine="streaming")
    release = publish(table, KAnonymity(5), scratch=place)
    release.save(place / "release", overwrite=True)
    assert len(list(place.iterdir())) == 2
    del release
    assert [path.name for path in place.iterdir()] == ["release"]


FULL_DISK = """
import resource, signal, sys
import polars as pl
from reticent.table import Table
from reticent.definitions import KAnonymity
from reticent.errors import DataError
from reticent.ledger import Ledger
from reticent.release import publish
book = Ledger(sys.argv[2] + "/ledger")
table = Table(
    pl.scan_csv(sys.argv[1]), quasi=["age", "zip"], sensitive="illness", declared={"note": "nobody knows it"}, engine="streaming", dataset="notes"
)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    publish(table, KAnonymity(5), scratch=sys.argv[2], ledger=book).save(sys.argv[2] + "/release")
except DataError as error:
    print(error)
"""


@pytest.mark.parametrize("limit", [60_000, 1_500_000])
def test_a_full_disk_leaves_nothing_and_nothing_is_recorded(limit: int, tmp_path: Path) -> None:
    """Too little for a part of the rows, and enough for every part but not for the public file."""
    source, _ = with_notes(3_000, tmp_path)
    place = tmp_path / "place"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(source), str(place), str(limit)],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "RETICENT_MEMORY": "3MB"},
    )
    assert "could not be written" in done.stdout
    assert "Nothing was published" in done.stdout
    assert {path.name for path in place.iterdir()} - {"ledger-wal", "ledger-shm"} == {
        "ledger",
        "ledger-key",
        "ledger-newest",
    }
    table = Table(pl.scan_csv(source), quasi=["age"], dataset="notes")
    assert publish(table, KAnonymity(5), ledger=place / "ledger").certificate["ledger"]["release"] == 1


def test_a_source_that_changes_while_it_is_read_is_not_published(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    frame_of(3000, 1).write_csv(path)
    table = Table(pl.scan_csv(path), quasi=["age"], sensitive="illness", engine="streaming")
    frame_of(3000, 1).head(2000).write_csv(path)
    _ = table.hierarchies
    counted = publish(table, KAnonymity(2), scratch=tmp_path)
    assert counted.frame.height == 2000
    passes = iter([3000, 3000, 1500])

    def shrinking(columns):
        yield frame_of(3000, 1).head(next(passes, 1000)).select(columns)

    changing = Table(frame_of(3000, 1), quasi=["age"], sensitive="illness", engine="streaming")
    changing.held = StreamRows(changing.schema, shrinking, changing.held.known)
    with pytest.raises(
        DataError,
        match="The source changed while it was read: it had 3000 rows, then 1500",
    ):
        publish(changing, KAnonymity(2), scratch=tmp_path)
    del counted
    assert [each.name for each in tmp_path.iterdir()] == ["rows.csv"]


def test_a_scratch_folder_is_its_owners_alone_and_goes_with_them(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    assert scratch.folder.stat().st_mode & 0o777 == 0o700
    other = Scratch(tmp_path)
    assert scratch.folder.exists()
    scratch.close()
    assert list(tmp_path.iterdir()) == [other.folder]
    del other
    assert not list(tmp_path.iterdir())
