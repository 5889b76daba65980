"""Several processes publish the same data set at once, or save into one folder, or move it meanwhile: one whole release goes out."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from reticent.definitions import KAnonymity
from reticent.errors import DataError
from reticent.ledger import Ledger
from reticent.release import publish, verify
from tests.release.conftest import table_of_patients

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


SAVING = """
import sys
from reticent.definitions import KAnonymity
from reticent.errors import DataError
from reticent.release import publish
from tests.release.conftest import table_of_patients
release = publish(table_of_patients(dataset=None), KAnonymity(int(sys.argv[1])))
print("ready", flush=True)
for line in sys.stdin:
    way, folder = line.strip().split("|")
    try:
        release.save(folder, overwrite=way == "overwrite")
        print("saved", flush=True)
    except DataError as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize("rounds", [5, pytest.param(300, marks=pytest.mark.slow)])
def test_two_processes_that_save_into_one_folder_leave_one_whole_release(rounds: int, tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", SAVING, str(k)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE.parents[2] / "src", HERE.parents[2])))},
        )
        for k in (2, 4)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for number, way in product(range(rounds), ("overwrite", "refuse")):
        folder = tmp_path / f"{way} {number}"
        for racer in racers:
            racer.stdin.write(f"{way}|{folder}\n")
            racer.stdin.flush()
        said = [racer.stdout.readline().strip() for racer in racers]
        assert "saved" in said
        assert way == "overwrite" or said.count("saved") == 1
        others = [text for text in said if text != "saved"]
        assert all("exists already" in text or "changed" in text or "not empty" in text for text in others), said
        assert sorted(each.name for each in folder.iterdir()) == ["private", "public"]
        assert number % 25 or verify(folder).holds
    for racer in racers:
        racer.communicate()
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def _aside(parent: Path) -> Path:
    return next(each for each in parent.iterdir() if ".partial-" in each.name)


def _swap_the_unfinished(place: Path, outside: Path) -> None:
    unfinished = _aside(place)
    unfinished.rename(place / "taken")
    unfinished.symlink_to(outside)


def _swap_the_parent(place: Path, outside: Path) -> None:
    name = _aside(place).name
    place.rename(place.with_name("moved"))
    place.symlink_to(outside)
    (outside / name / "public").mkdir(parents=True)
    (outside / name / "private").mkdir()


def _link_the_target(place: Path, outside: Path) -> None:
    (place / "release").symlink_to(outside)


def _plant_a_folder(place: Path, outside: Path) -> None:
    (place / "release").mkdir()
    (place / "release" / "diary").write_text("dear diary")


def _plant_a_file(place: Path, outside: Path) -> None:
    (place / "release").write_text("a file")


def _write_after(
    write: Callable[..., None],
    steps: Iterator[Callable[[Path, Path], None] | None],
    place: Path,
    outside: Path,
    *given: object,
    **more: object,
) -> None:
    attack = next(steps)
    if attack is not None:
        attack(place, outside)
    write(*given, **more)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere folders are found by their names")
@pytest.mark.parametrize(
    "attack", [_swap_the_unfinished, _swap_the_parent, _link_the_target, _plant_a_folder, _plant_a_file]
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_whoever_moves_folders_while_a_release_is_saved_gets_nothing(
    attack: Callable[[Path, Path], None], overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every single write: what is written stays where it was begun, nothing half written has the name, and the error says why."""
    module = importlib.import_module("reticent.release.release")
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    writes = len([each for each in release.save(tmp_path / "whole").rglob("*") if each.is_file()])
    write = module.write_new
    for moment in range(writes):
        place, outside = tmp_path / f"{moment}" / "place", tmp_path / f"{moment}" / "outside"
        place.mkdir(parents=True)
        outside.mkdir()
        steps = iter([*[None] * moment, attack, *[None] * writes])
        writing = partial(_write_after, write, steps, place, outside)
        monkeypatch.setattr(module, "write_new", writing)
        with pytest.raises(DataError, match=r"changed|exists already|could not be saved"):
            release.save(place / "release", overwrite=overwrite)
        monkeypatch.undo()
        left = {each.name for each in place.parent.rglob("*") if each.is_file()}
        assert left <= {"diary", "release"}
        if attack is _plant_a_folder:
            assert (place / "release" / "diary").read_text() == "dear diary"


def test_a_linked_folder_is_refused_and_a_linked_parent_is_the_folder_it_stands_for(tmp_path: Path) -> None:
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    real = release.save(tmp_path / "real")
    (tmp_path / "empty").mkdir()
    for number, to in enumerate((real, tmp_path / "empty", tmp_path / "nowhere")):
        link = tmp_path / f"link {number}"
        link.symlink_to(to)
        for overwrite in (False, True):
            with pytest.raises(DataError, match="is a symbolic link"):
                release.save(link, overwrite=overwrite)
    (tmp_path / "door").symlink_to(tmp_path / "empty")
    release.save(tmp_path / "door" / "release")
    assert verify(tmp_path / "empty" / "release").holds
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_a_release_with_a_linked_side_is_not_overwritten(tmp_path: Path) -> None:
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    folder = release.save(tmp_path / "release")
    (folder / "private").rename(tmp_path / "elsewhere")
    (folder / "private").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="is not a release folder"):
        release.save(folder, overwrite=True)
    assert list((tmp_path / "elsewhere").iterdir())


def test_what_was_planted_under_the_name_of_an_unfinished_folder_stays(tmp_path: Path) -> None:
    release = publish(table_of_patients(dataset=None), KAnonymity(4))
    (tmp_path / "diaries").mkdir()
    (tmp_path / "diaries" / "monday").write_text("dear diary")
    (tmp_path / ".release.partial-abcdefgh").symlink_to(tmp_path / "diaries")
    (tmp_path / ".release.partial-notes").mkdir()
    (tmp_path / ".release.partial-notes" / "mine").write_text("mine")
    release.save(tmp_path / "release")
    assert (tmp_path / "diaries" / "monday").read_text() == "dear diary"
    assert (tmp_path / ".release.partial-notes" / "mine").read_text() == "mine"
