"""A disk that fills up while a series is published: the history is before or after the release, and says in words what to do."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import reticent as rt
from reticent.errors import DataError, LedgerError, ReticentError
from tests.methods.series.test_history import FRAMES, begin

FULL = r"No space left|disk is full|disk I/O error|File too large"


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A history of one release, to be copied."""
    history = begin(tmp_path_factory.mktemp("first") / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    return history.path


@pytest.fixture
def small(tmp_path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    try:
        command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)]
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@contextmanager
def only(free: int, folder: Path) -> Iterator[None]:
    """While the block runs, the disk has so many bytes left."""
    ballast, room = folder / "ballast", os.statvfs(folder)
    ballast.write_bytes(bytes(max(room.f_bavail * room.f_frsize - free, 0)))
    try:
        yield
    finally:
        ballast.unlink()


@contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """While the block runs, writing beyond so many bytes of a file fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def check_before_or_after(path: Path, failed: ReticentError | None) -> int:
    """How many releases the history has; it must be whole, and go on."""
    history = rt.republish.History.open(path)
    found = len(history)
    assert found == len(history.folders)
    assert history.check().holds
    assert rt.verify(history.folders).holds
    if failed is None:
        assert found == 2
    else:
        assert ("Nothing was published" in str(failed)) == (found == 1)
    made = history.publish(FRAMES[1], insecure_seed=3)
    assert (made.number, made.new) == (2, found == 1)
    assert len(list((path / "states").iterdir())) == 2
    assert rt.verify(history.folders).holds
    return found


def publish(path: Path) -> ReticentError | None:
    """Publish the second release; the error if there was one."""
    try:
        rt.republish.History.open(path).publish(FRAMES[1], insecure_seed=2)
    except (DataError, LedgerError) as error:
        return error
    return None


def fill_up(first: Path, folder: Path, left: range) -> set[int]:
    """Publish with less and less room; how many releases there were afterwards."""
    found = set()
    for free in left:
        shutil.copytree(first, folder / "history")
        with only(free, folder):
            failed = publish(folder / "history")
        assert failed is None or any(words in str(failed) for words in FULL.split("|"))
        found.add(check_before_or_after(folder / "history", failed))
        shutil.rmtree(folder / "history")
    return found


def test_a_full_disk_leaves_the_history_before_or_after(first, small):
    assert fill_up(first, small, range(0, 160_000, 45_000)) == {1, 2}


@pytest.mark.slow
def test_a_disk_that_is_full_at_any_byte_leaves_the_history_before_or_after(first, small):
    assert fill_up(first, small, range(0, 220_000, 2_048)) == {1, 2}


@pytest.mark.parametrize("size", [0, 20_000, 40_000])
def test_files_that_cannot_grow_leave_the_history_before_or_after(first, tmp_path, size):
    shutil.copytree(first, tmp_path / "history")
    with no_file_larger_than(size):
        failed = publish(tmp_path / "history")
    assert failed is not None
    check_before_or_after(tmp_path / "history", failed)


def test_a_history_that_cannot_begin_says_so(tmp_path):
    with no_file_larger_than(0), pytest.raises(ReticentError, match=FULL):
        begin(tmp_path / "history").publish(FRAMES[0])
    begin(tmp_path / "other")
    with no_file_larger_than(0), pytest.raises(ReticentError, match=FULL):
        rt.republish.History.open(tmp_path / "other").publish(FRAMES[0])
    assert len(rt.republish.History.open(tmp_path / "other")) == 0
    assert begin(tmp_path / "history").publish(FRAMES[0]).number == 1
