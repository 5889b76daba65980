"""The walks of ``docs/explanations/architecture.md``: every function is there, and a real call reaches them in the order that is told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import reticent as rt
from reticent.audit.service import AuditService
from reticent.policy import Policy, publish_policy
from reticent.policy.audit_policy import AuditPolicy
from tests.audit_service.conftest import PEOPLE, POLICY
from tests.seams.jobs import rows
from tests.tracing import SOURCE, first_calls

PAGE = Path(__file__).parents[1] / "docs" / "explanations" / "architecture.md"
_TABLE = """
dataset = "wards"
[data]
source = "rows.csv"
[roles]
quasi = ["age", "town"]
sensitive = "illness"
[hierarchies.age]
kind = "intervals"
widths = [5, 10, 20, 40]
domain = [0, 99]
[[definition]]
name = "KAnonymity"
k = 3
[method]
name = "Lattice"
suppression = "0.1"
"""


def _walks() -> dict[str, list[tuple[str, str]]]:
    """The steps below each heading "The way of ...": file and function."""
    found: dict[str, list[tuple[str, str]]] = {}
    for part in PAGE.read_text("utf-8").split("\n### ")[1:]:
        title = part.split(":")[0]
        body = part.split("\n## ")[0]
        found[title] = [(file, name) for file, name in re.findall(r"^\d+\. `([\w/]+\.py)` `([^`]+)`: \S", body, re.M)]
    return found


def _table(place: Path) -> None:
    rows().write_csv(place / "rows.csv")
    (place / "policy.toml").write_text(_TABLE)
    publish_policy(Policy.read(place / "policy.toml"), place / "release", ledger=place / "ledger.sqlite")
    assert rt.verify(place / "release").holds


def _question(place: Path) -> None:
    httpx = pytest.importorskip("httpx")
    from reticent.web.service_app import create_app

    PEOPLE.write_parquet(place / "people.parquet")
    (place / "audit.toml").write_text(POLICY.format(source="people.parquet", table=""))
    settings = AuditPolicy.read(place / "audit.toml").settings
    with AuditService(settings) as service:
        token = service.tokens.make("alice")

    async def ask() -> None:
        app = create_app(lambda: AuditService(settings))
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            asked = {"sql": "SELECT sum(salary) FROM people WHERE department = 'sales'"}
            reply = await client.post("/v1/query", json=asked, headers={"Authorization": f"Bearer {token}"})
        assert reply.json()["rows"][0]["answers"][0]["value"] == 15100

    asyncio.run(ask())


def _pair(_: Path) -> None:
    schema = "CREATE TABLE employee (name text, dept text, phone text)"
    secret, view = "SELECT name, phone FROM employee", "SELECT name, dept FROM employee"
    assert rt.views.check(secret=secret, view=view, schema=schema).status == rt.views.DISCLOSES


RUNS: dict[str, Callable[[Path], None]] = {
    "The way of a table": _table,
    "The way of a question": _question,
    "The way of a pair of queries": _pair,
}


def test_every_walk_is_told_and_every_step_is_read():
    walks = _walks()
    assert set(walks) == set(RUNS)
    told = PAGE.read_text("utf-8")
    assert sum(map(len, walks.values())) == len(re.findall(r"^\d+\. ", told, re.M))
    for steps in walks.values():
        assert len(steps) >= 10
        assert all((SOURCE / file).is_file() for file, _ in steps)


@pytest.mark.parametrize("title", list(RUNS))
def test_a_real_call_goes_the_way_that_is_told(title, tmp_path):
    told = _walks()[title]
    reached = first_calls(lambda: RUNS[title](tmp_path))
    missing = [step for step in told if step not in reached]
    assert missing == []
    assert sorted(told, key=reached.index) == told
