"""Bad input of every kind, through the command line: the message, the exit code, and nothing half written."""

from __future__ import annotations

import gzip
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from reticent.ledger import Ledger
from reticent.release import verify
from tests.cli.conftest import PATIENTS, POLICY, Command
from tests.sampling import first

CSV = PATIENTS.write_csv()


def refused(reticent: Command, place: Path, data: str | bytes, policy: str = POLICY) -> str:
    """Publish these data with this policy; it must be refused without a trace. Returns the message."""
    content = data.encode() if isinstance(data, str) else data
    (place / "patients.csv").write_bytes(content)
    (place / "policy.toml").write_text(policy)
    found = reticent("publish", "policy.toml", "-o", "release")
    assert found.code in (1, 2), found
    assert found.out == ""
    assert "Traceback" not in found.err
    assert not (place / "release").exists()
    assert sorted(path.name for path in place.iterdir() if path.name != "ledger") == ["patients.csv", "policy.toml"]
    return found.err.split("\n")[0]


CASES: dict[str, tuple[str | bytes, str, str]] = {
    "an empty file": (
        "",
        POLICY,
        "policy.toml:4:1: patients.csv is empty. A CSV file needs a line of column names and a line for each row.",
    ),
    "a table without rows": (
        "name,age,zip,disease\n",
        POLICY,
        "policy.toml:3:1: patients.csv has column names (line 1) but no rows. There is nothing to publish; check the source.",
    ),
    "a missing column": (
        CSV.replace("disease", "illness", 1),
        POLICY,
        "policy.toml:10:14: patients.csv has no column 'disease'. The columns are: 'name', 'age', 'zip', 'illness', 'note'.",
    ),
    "a value outside of the declared domain": (
        CSV.replace("Person 2,34,", "Person 2,134,"),
        POLICY,
        "policy.toml:15:1: Column 'age' has the value 134 (row 3), which its declared domain of 121 values does not contain. Did you mean "
        "'34'? Add it to the hierarchy, or correct the data.",
    ),
    "a missing value": (
        CSV.replace("Person 2,34,", "Person 2,,"),
        POLICY,
        "policy.toml:7:1: Column 'age' has 1 missing values, the first in row 3. Use nulls='drop' to drop such rows, or nulls='category' "
        "to treat 'missing' as a value of its own.",
    ),
    "not a number": (
        CSV.replace("Person 2,34,", "Person 2,NaN,"),
        POLICY,
        "policy.toml:7:1: Column 'age' has 1 missing values, the first in row 3. Use nulls='drop' to drop such rows, or nulls='category' "
        "to treat 'missing' as a value of its own.",
    ),
    "a column of the wrong type": (
        CSV.replace("Person 2,34,", "Person 2,old,"),
        POLICY,
        "policy.toml:12:1: Column 'age' has type String, but its hierarchy is made of numeric intervals. Read the column as numbers, or choose "
        "masking, a taxonomy or suppression.",
    ),
    "an integer beyond 64 bits": (
        CSV.replace("Person 2,34,", "Person 2,18446744073709551616,"),
        POLICY,
        "policy.toml:12:1: Column 'age' has type String, but its hierarchy is made of numeric intervals. Read the column as numbers, or choose "
        "masking, a taxonomy or suppression.",
    ),
    "a key that repeats": (
        CSV.replace("Person 2,", "Person 1,"),
        POLICY.replace('identifiers = ["name"]', 'key = "name"\nunit = "row"'),
        "policy.toml:8:1: The key 'name' has duplicates: 'Person 1' has several rows, but every row counts as a person. Use unit='person' so that k "
        "counts people, or keep one row per person.",
    ),
    "a row with too many fields": (
        CSV.replace("Person 2,34,", "Person 2,34,34,"),
        POLICY,
        "policy.toml:3:1: patients.csv, line 4: 6 fields where the header has 5. Put quotes around values that contain ',', or complete the row.",
    ),
    "two columns of one name": (
        CSV.replace("note", "age", 1),
        POLICY,
        "policy.toml:4:1: patients.csv, line 1: two columns are called 'age' (the 2nd and the 5th). Give every column its own name, or pass number_names=True",
    ),
    "a NUL byte": (
        CSV.replace("Person 2", "Person\0002"),
        POLICY,
        "policy.toml:4:1: patients.csv, line 4: a NUL byte. This is not a text file, or it was damaged; export it again.",
    ),
    "a hierarchy that does not nest": (
        CSV,
        POLICY.replace(
            'kind = "masking"\ndigits = 5',
            'kind = "listed"\nrows = [["13000", "a", "x"], ["13037", "a", "y"]]',
        ),
        "policy.toml:17:1: The hierarchy of column 'zip' does not nest: at level 2, value '13037' falls into 'y', but others that share 'a' with "
        "it at level 1 fall into 'x'. Put the whole of 'a' into one part of level 2.",
    ),
    "widths that do not nest": (
        CSV,
        POLICY.replace("[5, 10, 20, 40]", "[5, 12]"),
        "policy.toml:14:1: column 'age': intervals: width 12 is not a multiple of width 5, so its intervals would split the finer ones. "
        "Choose widths that divide each other, such as 5, 10, 20.",
    ),
    "a misspelt setting": (
        CSV,
        POLICY.replace("sensitive =", "sensitiv ="),
        "policy.toml:10:1: [roles] has no setting 'sensitiv'. Did you mean 'sensitive'? It has: household, identifiers, key, nulls, other, private, "
        "pseudonyms, quasi, quasi_sets, rows_per_person, sensitive, unit, weight.",
    ),
    "a promise that cannot be kept": (
        CSV,
        POLICY.replace("l = 2", "l = 5"),
        "No generalization of this table satisfies KAnonymity(k=4) & RecursiveLDiversity(c=3, l=5): even all 120 rows in one group do not.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_its_message(case: str, place: Path, reticent: Command) -> None:
    data, policy, message = CASES[case]
    assert refused(reticent, place, data, policy)[: len(message)] == message


def test_the_same_message_comes_as_json(place: Path, reticent: Command) -> None:
    (place / "patients.csv").write_text("")
    (place / "policy.toml").write_text(POLICY)
    found = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert (found.code, found.err) == (2, "")
    assert found.json["ok"] is False
    assert found.json["error"]["kind"] == "DataError"
    assert "patients.csv is empty" in found.json["error"]["message"]


def test_one_row_is_told_that_it_cannot_hide(place: Path, reticent: Command) -> None:
    told = refused(reticent, place, "".join(CSV.splitlines(keepends=True)[:2]))
    assert "even all 1 rows in one group do not" in told


def test_huge_integers_are_published_exactly(place: Path, reticent: Command) -> None:
    huge = [2**63 - 1, 2**53 + 1, -(2**63)]
    pl.DataFrame(
        {"age": [30] * 12, "zip": ["13000"] * 12, "disease": huge * 4, "name": list("abcdefghijkl")}
    ).write_csv(place / "patients.csv")
    (place / "policy.toml").write_text(POLICY)
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert set(pl.read_csv(place / "release" / "public" / "data.csv")["disease"].to_list()) == set(huge)
    assert reticent("verify", "release").code == 0
    exposed = reticent("assess", "patients.csv", "--quasi", "disease", "--json").json["exposed"]
    assert str(2**53 + 1) in {group["quasi"]["disease"] for group in exposed}


def test_any_script_is_published(place: Path, reticent: Command) -> None:
    values = ["שָׁלוֹם", "e\u0301", "👩‍👩‍👧", '"quoted", ; text']
    pl.DataFrame(
        {"name": list("abcdefghijkl"), "age": [30] * 12, "zip": ["مدينة"] * 12, "disease": values * 3}
    ).write_csv(place / "patients.csv")
    (place / "policy.toml").write_text(POLICY)
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert set(pl.read_csv(place / "release" / "public" / "data.csv")["disease"].to_list()) == set(values)
    assert reticent("verify", "release").code == 0
    assert reticent("query", "release", "disease = 'שָׁלוֹם'", "--json").json["value"] == 3


def test_duplicates_are_people_of_their_own_unless_an_identifier_repeats(place: Path, reticent: Command) -> None:
    (place / "patients.csv").write_text("name,age,zip,disease\n" + "A,30,13000,flu\nB,30,13000,cold\n" * 4)
    (place / "policy.toml").write_text(POLICY.replace("[roles]", '[roles]\nunit = "row"'))
    found = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert (found.code, found.json["rows"], found.json["groups"]["smallest"]) == (0, 8, 8)
    (place / "policy.toml").write_text(POLICY)
    assert "the smallest has 2" in reticent("publish", "policy.toml", "-o", "other").err


def test_a_usage_mistake_is_bad_input(place: Path, reticent: Command) -> None:
    for arguments in (["publish"], ["publsh"], ["verify", "x", "--nonsense"], ["assess", "x", "--groups", "many"]):
        found = reticent(*arguments)
        assert (found.code, found.out) == (2, ""), arguments
        assert found.err


def big_register(place: Path) -> None:
    """Enough rows that a run takes a while and its files do not fit into a small disk."""
    pl.concat([PATIENTS] * 400).write_csv(place / "patients.csv")
    (place / "policy.toml").write_text(POLICY)


def test_a_full_disk_leaves_nothing_and_the_next_run_succeeds(
    place: Path, reticent: Command, program: Callable[..., subprocess.Popen[str]]
) -> None:
    """A limit on the size of files breaks writing where a full disk would."""
    import resource

    big_register(place)
    limited = program(
        "publish", "policy.toml", "-o", "release",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000)),
    )  # fmt: skip
    _, told = limited.communicate(timeout=60)
    assert limited.returncode == 2
    assert "File too large" in told
    assert "Traceback" not in told
    assert sorted(path.name for path in place.iterdir()) == ["ledger", "patients.csv", "policy.toml"]
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert reticent("verify", "release").code == 0


@pytest.mark.parametrize("share", first([0.9, 0.5, 1.0, 0.3, 0.7, 0.8, 0.85, 0.95], 1))
def test_a_killed_run_leaves_a_whole_release_or_none(
    place: Path, reticent: Command, program: Callable[..., subprocess.Popen[str]], usual_seconds: float, share: float
) -> None:
    big_register(place)
    started = program("publish", "policy.toml", "-o", "release")
    time.sleep(share * usual_seconds)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    if (place / "release").exists():
        assert verify(place / "release").holds
        assert {path.name for path in (place / "release").iterdir()} == {"public", "private"}
        return
    assert reticent("publish", "policy.toml", "-o", "release").code == 0
    assert verify(place / "release").holds
    assert sorted(path.name for path in place.iterdir()) == ["ledger", "patients.csv", "policy.toml", "release"]
    with Ledger(place / "ledger" / "ledger.sqlite") as ledger:
        assert len(ledger.entries("patients")) == 1


_USUAL: list[float] = []


@pytest.fixture
def usual_seconds(
    place: Path, program: Callable[..., subprocess.Popen[str]], tmp_path_factory: pytest.TempPathFactory
) -> float:
    """How long an undisturbed run takes here and now, measured once."""
    if not _USUAL:
        big_register(place)
        start = time.perf_counter()
        own = {"RETICENT_LEDGER": str(tmp_path_factory.mktemp("usual") / "ledger.sqlite")}
        done = program("publish", "policy.toml", "-o", tmp_path_factory.mktemp("usual") / "release", environment=own)
        done.communicate()
        assert done.returncode == 0
        _USUAL.append(time.perf_counter() - start)
    return _USUAL[0]


def test_a_damaged_gzip_file_is_refused(place: Path, reticent: Command) -> None:
    told = refused(reticent, place, gzip.compress(CSV.encode())[:-9])
    assert "patients.csv is not a complete gzip file" in told


def test_an_argument_that_several_commands_share_is_asked_for(reticent: Command) -> None:
    for command in ("curve", "explain", "whatif", "breaking-point", "monitor"):
        found = reticent("knowledge", command)
        assert (found.code, found.err) == (2, "Missing argument 'source'.\n")
