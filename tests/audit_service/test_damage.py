"""An audited service on a damaged ledger: it refuses, or denies what it denied before; never another error (issue 14, 7)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from reticent.audit.service import AuditService
from reticent.errors import LedgerError
from reticent.ledger import Ledger
from reticent.policy.audit_policy import AuditPolicy
from tests.ledger.test_damage import damaged

from .conftest import PEOPLE, POLICY

ASKED = [f"SELECT SUM(salary), MAX(bonus) FROM staff WHERE age >= {age}" for age in (0, 30, 40, 50)]
ATTEMPTS = [
    f"SELECT {what} FROM staff WHERE age <> {age}" for what in ("SUM(salary)", "MAX(bonus)") for age in PEOPLE["age"]
]


def opened(folder: Path) -> AuditService:
    return AuditService(AuditPolicy.read(folder / "audit.toml").settings)


def is_answered(service: AuditService, text: str) -> bool:
    return service.ask(text, user="alice").rows[0].answers[0].answered


def campaign(folder: Path, copies: int, seed: int) -> int:
    source = folder / "source"
    source.mkdir()
    PEOPLE.write_csv(source / "staff.csv")
    (source / "audit.toml").write_text(POLICY.replace("{source}", "staff.csv").replace("{table}", ""), encoding="utf-8")
    with opened(source) as service:
        for text in ASKED:
            service.ask(text, user="alice")
        forbidden = [text for text in ATTEMPTS if not is_answered(service, text)]
    assert len(forbidden) > 5
    chance, refused = random.Random(seed), 0
    files = [path.name for path in source.glob("ledger.sqlite*") if path.stat().st_size]
    for _ in range(copies):
        place = folder / "copy"
        shutil.copytree(source, place)
        path = place / chance.choice(["ledger.sqlite", "ledger.sqlite", "ledger.sqlite", *files])
        path.write_bytes(damaged(path.read_bytes(), chance))
        try:
            with opened(place) as service:
                assert [text for text in forbidden if is_answered(service, text)] == []
                service.history("alice")
        except LedgerError:
            refused += 1
        shutil.rmtree(place)
    return refused


def generations(folder: Path) -> tuple[Path, list[Path], list[str]]:
    """A service with a second place for the newest position, copies of everything after each answer, and what was forbidden at the end."""
    source, second = folder / "source", folder / "second"
    source.mkdir()
    PEOPLE.write_csv(source / "staff.csv")
    policy = POLICY.replace("{source}", "staff.csv").replace("{table}", "")
    (source / "audit.toml").write_text(f'newest = "{second}"\n{policy}', encoding="utf-8")
    copies = []
    for number, text in enumerate(ASKED):
        with opened(source) as service:
            service.ask(text, user="alice")
            forbidden = [each for each in ATTEMPTS if not service.would_answer(each).ok]
        copies.append(folder / f"copy {number}")
        shutil.copytree(source, copies[-1])
        shutil.copy2(second, copies[-1] / "second")
    return source, copies, forbidden


def older_copies(folder: Path, tries: int, seed: int) -> dict[str, int]:
    """Put back files of different ages, in any mixture: what is older than a newest position is refused, and the rest has forgotten nothing."""
    source, copies, forbidden = generations(folder)
    chance, last = random.Random(seed), len(copies) - 1
    outcomes = {"refused": 0, "whole": 0, "all older": 0}
    for _ in range(tries):
        ages = {
            name: chance.choice([*range(last + 1), last])
            for name in ("ledger.sqlite", "ledger.sqlite-newest", "second")
        }
        for name, age in ages.items():
            target = folder / "second" if name == "second" else source / name
            shutil.copy2(copies[age] / name, target)
        for beside in source.glob("ledger.sqlite-[ws][ah][lm]"):
            beside.unlink()
        ledger, known = ages["ledger.sqlite"], max(ages["ledger.sqlite-newest"], ages["second"])
        try:
            with opened(source) as service:
                assert ledger >= known, ages
                if ledger == last:
                    assert not [text for text in forbidden if service.would_answer(text).ok], ages
                outcomes["whole" if ledger == last else "all older"] += 1
        except LedgerError:
            assert ledger < known, ages
            outcomes["refused"] += 1
    return outcomes


def test_older_copies_in_any_mixture_are_refused_or_have_forgotten_nothing(tmp_path: Path) -> None:
    outcomes = older_copies(tmp_path, tries=16, seed=2)
    assert min(outcomes["refused"], outcomes["whole"]) > 2


@pytest.mark.slow
def test_hundreds_of_mixtures_of_older_copies_are_refused_or_have_forgotten_nothing(tmp_path: Path) -> None:
    assert older_copies(tmp_path, tries=400, seed=5)["refused"] > 100


def test_a_second_place_that_is_gone_is_refused_and_not_begun_anew(tmp_path: Path) -> None:
    """The disk of the second place is not mounted, and the folder was put back: nothing else would tell that the ledger is older."""
    source, copies, forbidden = generations(tmp_path)
    (tmp_path / "second").unlink()
    for name in ("ledger.sqlite", "ledger.sqlite-newest"):
        shutil.copy2(copies[0] / name, source / name)
    with pytest.raises(LedgerError, match=r"second.*is missing"):
        opened(source)
    assert not (tmp_path / "second").exists()
    with Ledger(source / "ledger.sqlite", newest=tmp_path / "second", accept="the disk broke") as ledger:
        assert [each.kind for each in ledger.restored] == ["restored"]
    with opened(source) as service:
        assert not [text for text in forbidden if service.ask(text).ok]


def test_a_second_place_may_be_added_to_a_ledger_later(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.record("people", "one", lambda entry: "")
    for _ in range(2):
        with Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / "second"):
            assert (tmp_path / "second").exists()
    (tmp_path / "second").unlink()
    with pytest.raises(LedgerError, match="is missing"):
        Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / "second")
    # Without a second place in the settings nothing is asked of it; at another place it begins anew.
    Ledger(tmp_path / "ledger.sqlite").close()
    Ledger(tmp_path / "ledger.sqlite", newest=tmp_path / "elsewhere").close()


def test_a_damaged_ledger_answers_nothing_that_was_forbidden(tmp_path: Path) -> None:
    assert campaign(tmp_path, copies=12, seed=3) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_damaged_ledgers_answer_nothing_that_was_forbidden(tmp_path: Path, seed: int) -> None:
    assert campaign(tmp_path, copies=250, seed=seed) > 50
