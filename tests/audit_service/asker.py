"""Processes that ask an audited table until they are killed, for test_durability."""

from __future__ import annotations

import os
import random
import signal
import sys
from pathlib import Path

PEOPLE = 40


def policy(folder: Path):
    from reticent.policy.audit_policy import AuditPolicy

    text = (folder / "audit.toml").read_text()
    return AuditPolicy.parse(text, "audit.toml", folder)


def question(chance: random.Random) -> tuple[str, str, list[int]]:
    """A random question, its function, and the people it is about (who are numbered by their ages)."""
    function = chance.choice(["SUM(salary)", "SUM(salary)", "MAX(bonus)"])
    people = sorted(chance.sample(range(PEOPLE), chance.randint(1, 12)))
    return f"SELECT {function} FROM staff WHERE age IN ({', '.join(map(str, people))})", function, people


def ask_for_ever(folder: Path, seed: int, said: Path) -> None:
    """Ask without end, and write down every reply as soon as it is there, as whole lines."""
    from reticent.audit.service import AuditService

    service = AuditService(policy(folder).settings)
    chance = random.Random(seed)
    handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, b"ready\n")
    while True:
        text, _, _ = question(chance)
        answer = service.ask(text).rows[0].answers[0]
        os.write(handle, f"{answer.decision}|{answer.answered}|{answer.value}|{text}\n".encode())


def ask_some(folder: Path, seed: int, count: int) -> None:
    """Ask so many questions and go."""
    from reticent.audit.service import AuditService

    with AuditService(policy(folder).settings) as service:
        chance = random.Random(seed)
        for _ in range(count):
            service.ask(question(chance)[0])


def die_at(folder: Path, text: str, point: str) -> None:
    """Ask once and be killed at a point between decision and reply."""
    from reticent.audit.service import AuditService
    from reticent.audit.service.embedded import EmbeddedDatabase
    from reticent.ledger import Audits

    def deadly(kind, name, *, before):
        real = getattr(kind, name)

        def wrapped(*arguments, **options):
            if before:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*arguments, **options)
            os.kill(os.getpid(), signal.SIGKILL)
            return result

        setattr(kind, name, wrapped)

    service = AuditService(policy(folder).settings)
    kind, name = {"decision": (Audits, "decide"), "answer": (Audits, "answer"), "total": (EmbeddedDatabase, "total")}[
        point.split()[1]
    ]
    deadly(kind, name, before=point.startswith("before"))
    service.ask(text)
    sys.exit("it should be dead by now")
