"""Files appear whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reticent.base import files
from reticent.base.files import folder_aside, write_new, write_whole
from reticent.errors import DataError


def fail_halfway():
    yield b"first half"
    raise RuntimeError("the power is gone")


def test_a_file_that_fails_halfway_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    write_whole(target, b"old")
    with pytest.raises(RuntimeError):
        write_whole(target, fail_halfway())
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]
    write_whole(target, [b"new ", b"text"], mode=0o600)
    assert target.read_bytes() == b"new text"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_folder_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "release"
    with folder_aside(target) as aside:
        write_new(aside / "a", b"1")
        assert not target.exists()
    assert (target / "a").read_bytes() == b"1"
    assert [each.name for each in target.parent.iterdir()] == ["release"]


def test_a_folder_that_fails_halfway_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), folder_aside(tmp_path / "release") as aside:
        write_new(aside / "a", fail_halfway())
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_refused_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    target = tmp_path / "release"
    target.mkdir()
    (target / "old").write_text("old")
    with pytest.raises(DataError, match="exists already"), folder_aside(target) as aside:
        write_new(aside / "new", b"new")
    assert [each.name for each in target.iterdir()] == ["old"]
    with folder_aside(target, replace=True) as aside:
        write_new(aside / "new", b"new")
    assert [each.name for each in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_is_replaced_where_the_system_cannot_exchange_in_one_step(tmp_path: Path, monkeypatch) -> None:
    target = tmp_path / "release"
    target.mkdir()
    (target / "old").write_text("old")
    monkeypatch.setattr(files.sys, "platform", "other")
    with folder_aside(target, replace=True) as aside:
        write_new(aside / "new", b"new")
    assert [each.name for each in target.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [target]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    with folder_aside(tmp_path / "release") as aside:
        write_new(aside / "a", b"1")
    assert os.listdir(tmp_path / "release") == ["a"]


FILL = """
import sys, time
from pathlib import Path
from reticent.base.files import folder_aside, write_new
with folder_aside(Path(sys.argv[1])) as aside:
    write_new(aside / "a", b"1")
    print("filling", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_swept_away_and_what_a_living_one_fills_is_not(tmp_path: Path) -> None:
    target = tmp_path / "re[le]*ase"
    dead, living = (
        subprocess.Popen([sys.executable, "-c", FILL, str(target)], stdout=subprocess.PIPE, text=True) for _ in range(2)
    )
    try:
        for process in (dead, living):
            assert process.stdout.readline() == "filling\n"
        assert not target.exists()
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        assert len(list(tmp_path.iterdir())) == 2
        with folder_aside(target) as aside:
            write_new(aside / "b", b"2")
        time.sleep(0.01)
        assert len(list(tmp_path.iterdir())) == 2
        assert os.listdir(target) == ["b"]
    finally:
        living.kill()
        living.wait()


@pytest.mark.parametrize("inside", ["whole", "partly", "never"])
def test_a_file_is_copied_and_shares_nothing_with_the_copy(tmp_path: Path, monkeypatch, inside: str) -> None:
    source, content = tmp_path / "source", os.urandom(5 << 20)
    source.write_bytes(content)
    if inside != "whole":
        # Some systems copy nothing themselves, or stop in the middle.
        real, calls = os.copy_file_range, []

        def copy(first: int, second: int, count: int) -> int:
            calls.append(count)
            if inside == "never" or len(calls) > 1:
                raise OSError(errno.EXDEV, "not here")
            return real(first, second, 1 << 20)

        monkeypatch.setattr(os, "copy_file_range", copy)
    write_new(tmp_path / "copy", source)
    assert (tmp_path / "copy").read_bytes() == content
    (tmp_path / "copy").write_bytes(b"changed")
    assert source.read_bytes() == content
