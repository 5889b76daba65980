"""``reticent views decide``, ``collusion`` and ``log``: who may see which view, by an access policy and the ledger."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reticent.cli.console import Json, answer, table
from reticent.cli.options import LedgerOption

if TYPE_CHECKING:
    from rich.console import Console

PolicyFile = Annotated[Path, typer.Option("--policy", help="The access policy (TOML).")]


def decide(
    user: Annotated[str, typer.Option("--user", help="Who asks.")],
    policy: PolicyFile,
    view: Annotated[str, typer.Option("--view", help="The view: a file, or its text.")],
    role: Annotated[
        list[str] | None, typer.Option("--role", help="An active role; all of the user's by default.")
    ] = None,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """May this user see this view? Decided from texts, recorded in the ledger, never looking at data."""
    from reticent.views.policy_file import open_policy

    with open_policy(policy, ledger) as control:
        decision = control.decide(user, view, role)
    answer(decision.to_json(), as_json, f"{'ALLOWED' if decision.allowed else 'DENIED'}: {decision.reason}")


def collusion(
    users: Annotated[list[str], typer.Argument(help="Users who pool what they may see.")],
    policy: PolicyFile,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """What would these users learn together that one of them must not know?"""
    from reticent.views.policy_file import open_policy

    with open_policy(policy, ledger) as control:
        leaks = control.collusion(users)
    rows = [[leak.seer, leak.view, leak.victim, leak.secret, leak.verdict.status] for leak in leaks]
    names = ["seer", "view", "victim", "secret", "status"]
    payload = {"ok": not leaks, "leaks": [dict(zip(names, row, strict=True)) for row in rows]}

    def render(console: Console) -> None:
        console.print(table("Leaks", names, rows) if leaks else "Together they learn nothing that one must not know.")

    answer(payload, as_json, render)


def log(
    policy: PolicyFile,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Every authorization that was granted or revoked, and every decision that was told."""
    from reticent.views.policy_file import open_policy

    with open_policy(policy, ledger) as control:
        events, decisions = control.history(), control.decisions()
    changes = [[event.made, event.action, event.accessor, event.subject, event.by] for event in events]
    names = ["made", "action", "accessor", "subject", "by"]
    told = [
        [item["made"], item["user"], item["view"], "allowed" if item["allowed"] else "denied"] for item in decisions
    ]
    payload = {"ok": True, "events": [dict(zip(names, row, strict=True)) for row in changes], "decisions": decisions}

    def render(console: Console) -> None:
        console.print(table("Authorizations", names, changes))
        console.print(table("Decisions", ["made", "user", "view", "decision"], told))

    answer(payload, as_json, render)


ACCESS_COMMANDS: dict[str, Callable[..., None]] = {"decide": decide, "collusion": collusion, "log": log}
