"""What the ledger remembers, what it refuses, and what it says when its file is no good."""

import os
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from reticent.base.disclosures import unjudged
from reticent.errors import LedgerError, PolicyError
from reticent.ledger import Entry, Ledger, ledger_path


@pytest.fixture
def ledger(tmp_path: Path):
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def certify(entry: Entry) -> str:
    return f"certificate {entry.number} {entry.made}"


def test_the_file_is_the_one_named_then_the_environments_then_the_users(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("RETICENT_LEDGER", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert ledger_path() == tmp_path / "reticent" / "ledger.sqlite"
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "other.sqlite"))
    assert ledger_path() == tmp_path / "other.sqlite"
    assert ledger_path(tmp_path / "mine.sqlite") == tmp_path / "mine.sqlite"


def test_only_the_owner_can_read_the_ledger(ledger: Ledger) -> None:
    ledger.record("people", "a", certify)
    for file in ledger.path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_a_release_is_remembered_with_its_hashes_and_its_time(ledger: Ledger) -> None:
    entry = ledger.record("people", "a", certify)
    assert ledger.entries("people") == [entry]
    assert (entry.number, entry.content) == (1, "a")
    assert entry.certificate == f"certificate 1 {entry.made}"
    assert ledger.entries("others") == []


def test_a_second_release_is_refused_and_the_message_says_which_when_and_the_way_out(ledger: Ledger) -> None:
    first = ledger.record("people", "a", certify)
    with pytest.raises(LedgerError) as caught:
        ledger.record("people", "b", certify)
    message = str(caught.value)
    for part in ("'people'", "release 1", first.made, "again=True", "nothing was published", str(ledger.path)):
        assert part in message
    assert ledger.entries("people") == [first]


def test_another_data_set_is_not_refused(ledger: Ledger) -> None:
    ledger.record("people", "a", certify)
    assert ledger.record("other people", "a", certify).number == 1


def test_a_second_release_that_is_allowed_is_number_two(ledger: Ledger) -> None:
    ledger.record("people", "a", certify)
    assert ledger.record("people", "b", certify, beside=unjudged).number == 2


def test_the_same_content_again_is_the_same_release(ledger: Ledger) -> None:
    first = ledger.record("people", "a", certify)
    ledger.record("people", "b", certify, beside=unjudged)
    assert ledger.record("people", "a", certify) == first
    assert len(ledger.entries("people")) == 2


def test_nothing_is_recorded_when_the_certificate_cannot_be_made(ledger: Ledger) -> None:
    def fail(entry: Entry) -> str:
        raise ValueError("no key")

    with pytest.raises(ValueError, match="no key"):
        ledger.record("people", "a", fail)
    assert ledger.entries("people") == []
    assert ledger.record("people", "b", certify).number == 1


@pytest.mark.parametrize("name", ["", "  ", 7])
def test_a_data_set_needs_a_name_that_says_something(ledger: Ledger, name) -> None:
    with pytest.raises(PolicyError, match="name must be a non-empty text"):
        ledger.record(name, "a", certify)


def test_answers_are_kept_in_order_with_what_was_decided(ledger: Ledger) -> None:
    ledger.answers.record("people", "sum", "{1, 2}", "answer", "7")
    ledger.answers.record("people", "sum", "{1}", "deny")
    answers = ledger.answers.of("people", "sum")
    assert [(each.question, each.decision, each.answer) for each in answers] == [
        ("{1, 2}", "answer", "7"),
        ("{1}", "deny", None),
    ]
    assert ledger.answers.of("people", "max") == []


def test_a_budget_is_exact_and_is_never_overrun(ledger: Ledger) -> None:
    ledger.budgets.open("people", "epsilon", 0.3, column="age")
    for _ in range(3):
        budget = ledger.spend("people", "epsilon", 0.1, column="age")
    assert budget.left == 0
    with pytest.raises(LedgerError, match=r"column 'age' has 0 of 3/10 left, but 1/1000 was requested"):
        ledger.spend("people", "epsilon", "0.001", column="age")
    assert ledger.budgets.of("people", "epsilon", column="age").spent == Fraction(3, 10)


def test_budgets_of_columns_and_of_the_data_set_are_apart(ledger: Ledger) -> None:
    ledger.budgets.open("people", "epsilon", 1)
    ledger.budgets.open("people", "epsilon", 2, column="age")
    ledger.budgets.open("people", "epsilon", 3, column="data set")
    ledger.spend("people", "epsilon", 1, column="age")
    assert ledger.budgets.of("people", "epsilon").left == 1
    assert ledger.budgets.of("people", "epsilon", column="data set").left == 3


def test_a_budget_is_set_up_once(ledger: Ledger) -> None:
    ledger.budgets.open("people", "epsilon", "1/2")
    assert ledger.budgets.open("people", "epsilon", 0.5).total == Fraction(1, 2)
    with pytest.raises(LedgerError, match="was set to 1/2 and cannot become 1"):
        ledger.budgets.open("people", "epsilon", 1)
    with pytest.raises(LedgerError, match="There is no budget 'delta' for data set 'people'"):
        ledger.spend("people", "delta", 1)
    with pytest.raises(PolicyError, match="must be at least 0"):
        ledger.spend("people", "epsilon", -1)


def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"these are my diaries, not a ledger, and they are long enough" * 20)
    path.chmod(0o600)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match=r"is not a ledger.*Nothing was published"):
        Ledger(path)
    assert path.read_bytes() == before


def test_a_database_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE diaries (page TEXT)")
    path.chmod(0o600)
    with pytest.raises(LedgerError, match="another kind of database"):
        Ledger(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("diaries",)]


def test_a_ledger_of_another_layout_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="another version of Reticent"):
        Ledger(path)


def test_a_damaged_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        for number in range(200):
            ledger.record("people", f"content {number}", certify, beside=unjudged)
    content = bytearray(path.read_bytes())
    content[8192:] = os.urandom(len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"is damaged.*Nothing was published"), Ledger(path) as ledger:
        ledger.record("people", "more", certify, beside=unjudged)


@pytest.mark.parametrize("remembered", [b"people", b"content of the release"])
def test_a_name_that_changed_on_the_disk_is_not_taken_for_a_data_set_without_releases(
    tmp_path: Path, remembered: bytes
) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.record("people", "content of the release", certify)
    content = path.read_bytes()
    place = content.index(remembered)
    path.write_bytes(content[:place] + b"X" + content[place + 1 :])
    with pytest.raises(LedgerError, match=r"is damaged.*Nothing was published"), Ledger(path) as ledger:
        ledger.record("people", "more", certify)


def test_a_truncated_ledger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.record("people", "content", certify)
    path.write_bytes(path.read_bytes()[:6000])
    with pytest.raises(LedgerError, match="Nothing was published"), Ledger(path) as ledger:
        ledger.record("people", "more", certify)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"cannot be opened: Is a directory.*ledger="):
        Ledger(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "file" / "ledger.sqlite")


def test_a_ledger_that_stays_in_use_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with Ledger(path):
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")
        with Ledger(path, timeout=0.1) as waiting, pytest.raises(LedgerError, match="in use by another process"):
            waiting.record("people", "a", certify)
        raw.execute("ROLLBACK")
        raw.close()


FULL_DISK = """
import resource, signal, sys
from reticent.errors import LedgerError
from reticent.base.disclosures import unjudged
from reticent.ledger import Ledger
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with Ledger(sys.argv[1]) as ledger:
    ledger.record("people", "first", lambda entry: "c")
    resource.setrlimit(resource.RLIMIT_FSIZE, (70_000, 70_000))
    try:
        for number in range(1000):
            ledger.record("people", f"{number} " + "x" * 900, lambda entry: "c", beside=unjudged)
            print(number, flush=True)
    except LedgerError as error:
        print("LedgerError:", error)
"""


def test_a_full_disk_is_an_error_and_what_was_recorded_before_stays(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    *recorded, last = done.stdout.splitlines()
    assert last.startswith("LedgerError:")
    assert "Nothing was published" in last
    with Ledger(path) as ledger:
        assert len(ledger.entries("people")) == 1 + len(recorded)


def test_the_ledger_is_light_to_import() -> None:
    code = "import sys, reticent.ledger; print([m for m in ('polars', 'numpy', 'cryptography') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
