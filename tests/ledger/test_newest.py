"""The newest position outside of the ledger: torn, replaced, shortened, and written by several processes."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pytest

from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.ledger import rollback_guard as newest
from reticent.ledger.rollback_guard import Position, RollbackGuard


def at(count: int) -> Position:
    return Position(count, bytes([count % 256]) * 32)


@pytest.fixture(params=[True, False], ids=["mapped", "written"])
def file(request: pytest.FixtureRequest, tmp_path: Path):
    opened = RollbackGuard(tmp_path / "newest", mapped=request.param)
    yield opened
    opened.close()


def test_a_position_moves_forward_only_unless_the_steward_says_so(file: RollbackGuard) -> None:
    assert newest.read(file.path) is None
    for count, kept in ((0, 0), (1, 1), (3, 3), (2, 3), (3, 3), (300, 300)):
        file.write(at(count))
        assert newest.read(file.path) == at(kept)
    file.write(at(7), back=True)
    assert newest.read(file.path) == at(7)
    file.write(at(8))
    assert newest.read(file.path) == at(8)


def test_two_that_write_in_turn_never_move_it_back(file: RollbackGuard) -> None:
    other = RollbackGuard(file.path, mapped=not file._mapped)
    for count in range(1, 50):
        (file if count % 3 else other).write(at(count))
        (other if count % 3 else file).write(at(max(count - 2, 0)))
        assert newest.read(file.path) == at(count)
    other.close()


def test_every_torn_write_leaves_the_position_before_it(file: RollbackGuard) -> None:
    for count in range(1, 7):
        before = file.path.read_bytes() if count > 1 else bytes(256)
        file.write(at(count))
        after = file.path.read_bytes().ljust(256, b"\0")
        changed = [place for place in range(256) if before[place : place + 1] != after[place : place + 1]]
        for end in range(min(changed), max(changed) + 1):
            file.path.with_name("torn").write_bytes(after[:end] + before[end:])
            if count == 1:
                with pytest.raises(LedgerError, match="is damaged"):
                    newest.read(file.path.with_name("torn"))
            else:
                assert newest.read(file.path.with_name("torn")) in (at(count - 1), at(count))


def test_a_torn_slot_is_written_next(file: RollbackGuard) -> None:
    file.write(at(1))
    file.write(at(2))
    content = bytearray(file.path.read_bytes())
    content[128 + 3] ^= 1
    with file.path.open("r+b") as raw:
        raw.write(content)
    assert newest.read(file.path) == at(1)
    file.write(at(3))
    assert newest.read(file.path) == at(3)
    assert file.path.read_bytes()[:1] == b"1"


def test_a_file_that_was_put_in_its_place_is_used_from_then_on(file: RollbackGuard) -> None:
    file.write(at(5))
    content = file.path.read_bytes()
    file.path.rename(file.path.with_name("moved"))
    file.write(at(6))
    assert newest.read(file.path) == at(6)
    copy = file.path.with_name("copy")
    copy.write_bytes(content)
    copy.replace(file.path)
    file.write(at(7))
    assert newest.read(file.path) == at(7)
    assert newest.read(file.path.with_name("moved")) == at(5)


@pytest.mark.parametrize("length", [0, 100, 128, 200])
def test_a_file_that_was_cut_off_is_written_again(file: RollbackGuard, length: int) -> None:
    file.write(at(5))
    file.write(at(6))
    os.truncate(file.path, length)
    file.write(at(7))
    assert newest.read(file.path) == at(7)


def test_a_planted_link_is_not_followed(file: RollbackGuard) -> None:
    file.write(at(1))
    file.path.rename(file.path.with_name("elsewhere"))
    file.path.symlink_to(file.path.with_name("elsewhere"))
    with pytest.raises(OSError, match="symbolic links"):
        file.write(at(2))
    assert newest.read(file.path.with_name("elsewhere")) == at(1)


def push(path: Path, first: int, mapped: bool, barrier) -> None:
    file = RollbackGuard(path, mapped=mapped)
    barrier.wait()
    for count in range(first, 2_000, 4):
        file.write(at(count))
    os.kill(os.getpid(), 9)


def test_processes_that_write_at_once_leave_the_largest(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    barrier = spawn.Barrier(4)
    writers = [spawn.Process(target=push, args=(tmp_path / "newest", each, each < 3, barrier)) for each in range(1, 5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert newest.read(tmp_path / "newest") == at(2_000 - 1)


def test_second_places_are_still_named_beside_the_slots(tmp_path: Path) -> None:
    for second in ("one", "two"):
        with Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / second) as ledger:
            ledger.record(second, "content", lambda entry: "")
    (tmp_path / "one").unlink()
    with pytest.raises(LedgerError, match="is missing"):
        Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / "one")


def test_no_file_stays_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(5):
        with Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / "second") as ledger:
            ledger.record(str(number), "content", lambda entry: "")
    forgotten = RollbackGuard(tmp_path / "third", mapped=True)
    forgotten.write(at(1))
    del forgotten
    assert len(os.listdir("/proc/self/fd")) == before
