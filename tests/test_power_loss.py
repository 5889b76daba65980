"""After a power cut at any moment nothing that was answered or published is lost, and nothing is published twice."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

import reticent as rt
from reticent.ledger import Ledger
from tests.methods.series.test_history import FRAMES, begin
from tests.power_loss import DiskTrace, recorded

# The newest position is mapped into memory otherwise, which no trace shows; written, it may be lost in the same way.
_UNMAPPED = """
import functools, sys
import polars as pl
import reticent as rt
from reticent.ledger import store
store.RollbackGuard = lambda path, mapped: _guard(path, mapped=False)
from reticent.ledger.rollback_guard import RollbackGuard as _guard
def said(words):
    print("SAID " + words, flush=True)
folder = sys.argv[1]
"""
_SERIES = """
history = rt.republish.History.open(folder)
made = history.publish(pl.read_parquet(sys.argv[2]), insecure_seed=2)
said(f"published {made.number}")
"""
_ENTRIES = """
from reticent.ledger import Ledger
with Ledger(folder + "/ledger.sqlite") as book:
    for number in range(3):
        entry = book.record("people", f"content {number}", lambda _: "c", beside=rt.base.disclosures.unjudged)
        said(f"recorded {entry.number} content {number}")
        book.give_out(entry)
        said(f"out {entry.number}")
"""
_RELEASE = """
frame = pl.read_parquet(sys.argv[2])
grow = None if sys.argv[3] == "no" else folder + "/series"
table = rt.Table(frame, quasi=["age"], sensitive="job", key="id", identifiers=["id"], dataset="wards")
release = rt.publish(table, rt.KAnonymity(3), method=rt.Bang(grow=grow), ledger=folder + "/ledger.sqlite")
said(f"reserved {release.entry.number} {release.entry.content}")
release.save(folder + "/release")
said(f"out {release.entry.number} {release.entry.content}")
"""


def states(trace: DiskTrace, folder: Path, moments: list[int], draws: int):
    """The folder as power cuts leave it, with what had been said by then."""
    for moment in moments:
        for keep in (True, False, *(random.Random(1000 * moment + draw) for draw in range(draws))):
            target = folder / "rebuilt"
            trace.rebuild(moment, target, keep)
            yield target, trace.told(moment)
            shutil.rmtree(target)


def some(trace: DiskTrace, count: int) -> list[int]:
    """A few moments: the last, and others spread over the run."""
    every = trace.moments()
    return sorted({every[-1], *(every[len(every) * place // count] for place in range(count))})


def check_series(trace: DiskTrace, folder: Path, moments: list[int], draws: int) -> set[int]:
    found = set()
    for path, told in states(trace, folder, moments, draws):
        visible = path / "releases" / "0002" / "public" / "certificate.json"
        held = visible.read_bytes() if visible.exists() else None
        history = rt.republish.History.open(path)
        found.add(len(history))
        assert len(history) == 2 or not told
        made = history.publish(FRAMES[1], insecure_seed=3)
        assert made.number == 2
        assert held is None or visible.read_bytes() == held
        assert rt.verify(history.folders).holds
        assert history.check().holds
        assert len(list((path / "releases").glob("0*"))) == 2
    return found


@pytest.fixture
def series(tmp_path) -> DiskTrace:
    (tmp_path / "scratch").mkdir()
    history = begin(tmp_path / "history")
    history.publish(FRAMES[0], insecure_seed=1)
    FRAMES[1].write_parquet(tmp_path / "month.parquet")
    return recorded(_UNMAPPED + _SERIES, history.path, tmp_path / "scratch", str(tmp_path / "month.parquet"))


def test_a_power_cut_leaves_a_series_before_or_after_a_release(series, tmp_path):
    assert check_series(series, tmp_path, some(series, 3), 0) == {1, 2}


@pytest.mark.slow
def test_a_power_cut_at_any_moment_leaves_a_series_before_or_after_a_release(series, tmp_path):
    print(len(series.operations), "operations")
    assert check_series(series, tmp_path, list(series.moments()), 1) == {1, 2}


def check_entries(trace: DiskTrace, folder: Path, moments: list[int], draws: int) -> None:
    for path, told in states(trace, folder, moments, draws):
        with Ledger(path / "ledger.sqlite") as book:
            entries = book.entries("people")
            again = [book.record("people", f"content {number}", lambda _: "c") for number in range(len(entries))]
        known = {each.number: each for each in entries}
        for words in told:
            kind, number, *content = words.split(" ", 2)
            assert int(number) in known, words
            assert kind != "recorded" or known[int(number)].content == content[0]
            assert kind != "out" or known[int(number)].status == "given out"
        assert [each.number for each in again] == [each.number for each in entries]
        assert not any(each.new for each in again)


@pytest.fixture
def entries(tmp_path) -> DiskTrace:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "book").mkdir()
    Ledger(tmp_path / "book" / "ledger.sqlite").close()
    return recorded(_UNMAPPED + _ENTRIES, tmp_path / "book", tmp_path / "scratch")


def test_a_power_cut_loses_no_entry_that_was_recorded(entries, tmp_path):
    check_entries(entries, tmp_path, list(entries.moments())[:: max(len(entries.operations) // 12, 1)], 1)


@pytest.mark.slow
def test_a_power_cut_at_any_moment_loses_no_entry_that_was_recorded(entries, tmp_path):
    print(len(entries.operations), "operations")
    check_entries(entries, tmp_path, list(entries.moments()), 8)


def check_release(trace: DiskTrace, folder: Path, moments: list[int], draws: int, grows: str) -> None:
    frame = FRAMES[0]
    table = rt.Table(frame, quasi=["age"], sensitive="job", key="id", identifiers=["id"], dataset="wards")
    for path, told in states(trace, folder, moments, draws):
        method = rt.Bang(grow=None if grows == "no" else str(path / "series"))
        release = rt.publish(table, rt.KAnonymity(3), method=method, ledger=path / "ledger.sqlite")
        assert (release.entry.number, release.entry.new) == (1, not told and release.entry.new)
        assert all(words.split()[2] == release.entry.content for words in told)
        saved = (path / "release" / "public").exists()
        assert saved or not any(words.startswith("out") for words in told)
        release.save(path / "release")
        assert rt.verify(path / "release").holds
        with Ledger(path / "ledger.sqlite") as book:
            assert [(each.number, each.status) for each in book.entries("wards")] == [(1, "given out")]


def released(folder: Path, grows: str) -> DiskTrace:
    (folder / "scratch").mkdir()
    (folder / "place").mkdir()
    Ledger(folder / "place" / "ledger.sqlite").close()
    FRAMES[0].write_parquet(folder / "frame.parquet")
    return recorded(_UNMAPPED + _RELEASE, folder / "place", folder / "scratch", str(folder / "frame.parquet"), grows)


@pytest.mark.slow
@pytest.mark.parametrize("grows", ["yes", "no"])
def test_a_power_cut_at_any_moment_publishes_nothing_twice(tmp_path, grows):
    trace = released(tmp_path, grows)
    print(len(trace.operations), "operations")
    check_release(trace, tmp_path, list(trace.moments()), 3, grows)


def test_without_syncs_a_power_cut_loses_what_was_recorded(entries, tmp_path):
    """The rebuilt disks can fail: of the same program without a single sync something that was said is lost."""
    entries.operations = [each for each in entries.operations if each.kind != "sync"]
    entries.said = dict.fromkeys([len(entries.operations)], "recorded 1 content 0")
    with pytest.raises((AssertionError, rt.ReticentError)):
        check_entries(entries, tmp_path, [len(entries.operations)], 0)


def traced(tmp_path: Path, program: str) -> DiskTrace:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "place").mkdir()
    (tmp_path / "place" / "old").write_bytes(b"old content")
    return recorded(program, tmp_path / "place", tmp_path / "scratch")


def test_a_file_that_is_opened_anew_is_empty_before_it_is_written(tmp_path):
    trace = traced(tmp_path, "import sys; open(sys.argv[1] + '/old', 'wb').write(b'new')")
    contents = set()
    for moment in trace.moments():
        for keep in (True, False):
            trace.rebuild(moment, tmp_path / "rebuilt", keep)
            contents.add((tmp_path / "rebuilt" / "old").read_bytes())
            shutil.rmtree(tmp_path / "rebuilt")
    assert contents == {b"old content", b"", b"new"}


def test_a_call_that_the_rebuilt_disks_do_not_know_is_no_silent_loss(tmp_path):
    with pytest.raises(AssertionError, match=r"link.* is not modelled"):
        traced(tmp_path, "import os, sys; os.link(sys.argv[1] + '/old', sys.argv[1] + '/new')")
