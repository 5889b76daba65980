"""An audited service on a damaged ledger: it refuses, or denies what it denied before; never another error (issue 14, 7)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from reticent.audit.service import AuditService
from reticent.errors import LedgerError
from reticent.policy.auditing import AuditPolicy
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


def test_a_damaged_ledger_answers_nothing_that_was_forbidden(tmp_path: Path) -> None:
    assert campaign(tmp_path, copies=12, seed=3) > 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_hundreds_of_damaged_ledgers_answer_nothing_that_was_forbidden(tmp_path: Path, seed: int) -> None:
    assert campaign(tmp_path, copies=250, seed=seed) > 50
