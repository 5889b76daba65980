"""PostgreSQL servers that are restored, copied, slow or gone: what was forbidden stays so, and what was decided is answered later (issue 14)."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from reticent.audit.service import AuditService
from reticent.audit.service.postgres import PostgresDatabase
from reticent.errors import DataError
from reticent.policy.audit_policy import AuditPolicy
from tests.oracles.audit_sessions import determined_by_sums

from .conftest import PEOPLE as STAFF

POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "{url}"
table = "staff"
key = "id"
public = ["id"]
[sensitive.salary]
bounds = "ignored"
"""
PEOPLE, TOTAL = 12, 14886
DIGEST = "hashtextextended"


def run(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def filled(server):
    made = f"CREATE TABLE staff AS SELECT i AS id, 1000 + 37 * i AS salary FROM generate_series(1, {PEOPLE}) AS i"
    run(server.start().url, made)
    return server


def opened(folder: Path, url: str) -> AuditService:
    return AuditService(AuditPolicy.parse(POLICY.replace("{url}", url), "audit.toml", folder).settings)


def total(service: AuditService, condition: str = "id > 0"):
    return service.ask(f"SELECT SUM(salary) FROM staff WHERE {condition}").rows[0].answers[0].value


def copied(server, folder: Path) -> Path:
    """A copy of all files of a server that stands still."""
    server.stop()
    shutil.copytree(server.data, folder)
    server.start()
    return folder


def put_back(server, backup: Path) -> None:
    """Put a copy of all files back under the same address."""
    server.stop()
    shutil.rmtree(server.data)
    shutil.copytree(backup, server.data)
    if server.run_as:
        for path in (server.data, *server.data.rglob("*")):
            shutil.chown(path, *server.run_as)
    server.start()


def end_others(url: str) -> None:
    run(url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")  # fmt: skip


def test_after_a_broken_connection_the_rows_are_compared_anew(make_place: Callable) -> None:
    """A restored server counts its transactions again, so that an old snapshot's number may stand for other rows."""
    place = make_place("postgres").fill()
    service = place.service()
    service.sync()
    before = len(service.statements)
    service.sync()
    assert not any(DIGEST in statement for statement in service.statements[before:])
    end_others(place.url)
    with pytest.raises(DataError, match="PostgreSQL"):
        service.sync()
    before = len(service.statements)
    service.sync()
    assert any(DIGEST in statement for statement in service.statements[before:])


class Fault:
    """Something that happens to the server between a decision and its answer, once."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, happens: Callable[[PostgresDatabase], None]) -> None:
        real = PostgresDatabase.total
        self.happened = False

        def faulty(database: PostgresDatabase, *arguments):
            if not self.happened:
                self.happened = True
                happens(database)
            return real(database, *arguments)

        monkeypatch.setattr(PostgresDatabase, "total", faulty)


def times_out(database: PostgresDatabase) -> None:
    database._open.execute("SET LOCAL statement_timeout = 20")
    database._open.execute("SELECT pg_sleep(5)")


@pytest.mark.parametrize("function", ["SUM", "MAX"])
@pytest.mark.parametrize("fault", ["cut", "timeout"])
def test_a_question_that_breaks_between_decision_and_answer_is_answered_later_and_counts(
    make_place: Callable, monkeypatch: pytest.MonkeyPatch, fault: str, function: str
) -> None:
    place = make_place("postgres").fill()
    service = place.service()
    service.sync()
    Fault(monkeypatch, times_out if fault == "timeout" else lambda database: end_others(place.url))
    everybody = f"SELECT {function}(salary) FROM staff"
    with pytest.raises(DataError, match="PostgreSQL"):
        service.ask(everybody)
    # It was decided, so it counts, whether its answer left or not.
    assert [entry.answered for entry in service.decisions()] == [True]
    assert not service.ask(f"{everybody} WHERE age <> 61").ok
    expected = sum(STAFF["salary"]) if function == "SUM" else max(STAFF["salary"])
    assert service.ask(everybody).rows[0].answers[0].value == expected
    assert [entry.answered for entry in place.service().decisions()] == [True, False]


def test_a_locked_table_is_told_within_the_servers_own_limit_and_answered_afterwards(make_place: Callable) -> None:
    place = make_place("postgres").fill()
    limited = place.policy().settings
    with psycopg.connect(place.url) as holder:
        holder.execute("ALTER ROLE steward SET statement_timeout = 200")
        holder.commit()
        try:
            with AuditService(limited) as service:
                holder.execute(f"LOCK TABLE {place.table} IN ACCESS EXCLUSIVE MODE")
                with pytest.raises(DataError, match=r"cancelled a statement: .*timeout.* Try again"):
                    service.ask("SELECT SUM(salary) FROM staff")
                holder.rollback()
                assert service.ask("SELECT SUM(salary) FROM staff").ok
        finally:
            holder.rollback()
            holder.execute("ALTER ROLE steward RESET statement_timeout")
            holder.commit()


@pytest.mark.slow
def test_a_server_whose_files_were_put_back_is_read_anew(make_server: Callable, tmp_path: Path) -> None:
    server = filled(make_server())
    backup = copied(server, tmp_path / "backup")
    run(server.url, "UPDATE staff SET salary = salary + 1000 WHERE id = 1")
    with opened(tmp_path, server.url) as service:
        assert total(service) == TOTAL + 1000
        for amount in (5000, 6000, 7000):
            put_back(server, backup)
            run(server.url, f"UPDATE staff SET salary = salary + {amount} WHERE id = 2")
            with pytest.raises(DataError, match="PostgreSQL"):
                total(service)
            assert total(service) == TOTAL + amount
            assert total(service, "id <> 2") is None


@pytest.mark.slow
def test_a_table_that_was_dumped_and_restored_elsewhere_keeps_its_history(
    make_server: Callable, tmp_path: Path
) -> None:
    first, second = filled(make_server()), make_server().start()
    with opened(tmp_path, first.url) as service:
        assert total(service) == TOTAL
    dump = subprocess.run([first.tools / "pg_dump", first.url], capture_output=True, check=True).stdout
    subprocess.run([second.tools / "psql", "-q", second.url], input=dump, capture_output=True, check=True)
    with opened(tmp_path, second.url) as service:
        assert service.new_values == {"salary": 0}
        assert total(service) == TOTAL
        assert [total(service, f"id <> {person}") for person in range(1, PEOPLE + 1)] == [None] * PEOPLE


@pytest.mark.slow
def test_a_standby_is_audited_like_its_primary_and_after_it_was_promoted(make_server: Callable, tmp_path: Path) -> None:
    primary, standby = filled(make_server()), make_server()
    standby.run("pg_basebackup", "-d", primary.url, "-D", standby.data, "-R", "-c", "fast", "--no-sync")
    standby.start()
    with opened(tmp_path, primary.url) as at_primary, opened(tmp_path, standby.url) as at_standby:
        assert total(at_standby) == TOTAL
        assert total(at_primary, "id <> 3") is None
        assert total(at_standby, "id <= 6") == total(at_primary, "id <= 6")
        run(primary.url, "UPDATE staff SET salary = salary + 10 WHERE id <= 2")
        assert total(at_primary, "id <= 5") is None
        assert total(at_primary) == TOTAL + 20
        end = time.monotonic() + 30
        while at_standby._people.state is None or total(at_standby) != TOTAL + 20:
            assert time.monotonic() < end
            time.sleep(0.05)
        assert [total(at_standby, f"id <> {person}") for person in range(1, PEOPLE + 1)] == [None] * PEOPLE
        primary.stop()
        standby.run("pg_ctl", "-D", standby.data, "-w", "promote")
        run(standby.url, "UPDATE staff SET salary = salary + 1 WHERE id > 6")
        assert total(at_standby) == TOTAL + 26
        assert total(at_standby, "id > 7") is None
        with pytest.raises(DataError, match="PostgreSQL"):
            total(at_primary)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_to_the_server_nobody_is_determined(make_server: Callable, tmp_path: Path, seed: int) -> None:
    """Questions, changes, broken connections, restarts and restored files in random order; answers are right and determine nobody."""
    chance = random.Random(seed)
    server = filled(make_server())
    salaries = {person: 1000 + 37 * person for person in range(1, PEOPLE + 1)}
    backups = [(copied(server, tmp_path / "backup 0"), dict(salaries))]
    answered: list[frozenset[int]] = []
    broken = 0
    service = opened(tmp_path, server.url)
    for step in range(150):
        event = chance.choices(["ask", "change", "cut", "back up", "put back", "reopen"], [30, 4, 2, 1, 1, 1])[0]
        if event == "ask":
            people = frozenset(chance.sample(range(1, PEOPLE + 1), chance.randint(1, PEOPLE)))
            try:
                told = total(service, f"id IN ({', '.join(map(str, people))})")
            except DataError:
                broken += 1
                continue
            if told is not None:
                assert told == sum(salaries[person] for person in people), step
                answered.append(people)
                assert determined_by_sums(answered) == set(), step
        elif event == "change":
            person, amount = chance.randint(1, PEOPLE), chance.randint(1, 500)
            run(server.url, f"UPDATE staff SET salary = salary + {amount} WHERE id = {person}")
            salaries[person] += amount
        elif event == "cut":
            end_others(server.url)
        elif event == "back up":
            backups.append((copied(server, tmp_path / f"backup {step}"), dict(salaries)))
        elif event == "put back":
            backup, kept = chance.choice(backups)
            put_back(server, backup)
            salaries = dict(kept)
        else:
            service.close()
            service = opened(tmp_path, server.url)
    service.close()
    assert len(answered) > 10
    assert broken > 0
