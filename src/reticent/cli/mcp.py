"""``reticent mcp``: the MCP server for AI assistants, and people's decisions on their publication requests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer, console, show_card, working
from reticent.cli.options import LedgerOption, add_commands
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.mcp import PublicationRequest

_Number = Annotated[str, typer.Argument(help="The number of the request, such as 1f3a9c02.")]


def register(app: typer.Typer) -> None:
    """Add the server and its companion commands."""
    group = typer.Typer(
        help="Serve statistics and column names, never data, to AI assistants (Model Context Protocol). A person confirms publications.",
        invoke_without_command=True,
    )
    group.callback()(serve)
    add_commands(group, {"requests": requests, "approve": approve, "decline": decline})
    app.add_typer(group, name="mcp")


def serve(
    invoked: typer.Context,
    root: Annotated[Path, typer.Option("--root", help="The folder whose files the tools may open.")] = Path("."),
) -> None:
    """Serve assistants on standard input and output (Model Context Protocol): statistics and column names, never data.
    Started by an MCP client.

    Example: reticent mcp --root studies
    """
    if invoked.invoked_subcommand is not None:
        return
    from reticent.mcp import RequestFolder, create_server

    if not root.is_dir():
        raise PolicyError(f"--root must be a folder, but {str(root)!r} is not one.")
    create_server(root, RequestFolder()).run("stdio")


def requests(as_json: Json = False) -> None:
    """List the publications requested by assistants, and how they were decided.

    Example: reticent mcp requests
    """
    from reticent.mcp import RequestFolder

    all_requests = RequestFolder().all()
    rows = [
        (request.number, request.state, request.created, request.policy, request.output) for request in all_requests
    ]
    listed = CardTable(("request", "state", "since", "policy", "output"), rows)
    figures = {"requests": [request.status() for request in all_requests]}
    answer(PlainResult(figures, Card(f"{len(all_requests)} requests to publish", tables=[listed])), as_json)


def approve(number: _Number, ledger: LedgerOption = None) -> None:
    """Review a publication requested by an assistant, and publish it after confirmation on this terminal.

    Example: reticent mcp approve 1f3a9c02
    """
    import secrets

    from reticent.mcp import RequestFolder
    from reticent.policy import Policy, publish_policy
    from reticent.release import certificate_hash

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise PolicyError("A person must confirm a publication: run this in a terminal, not through a pipe.")
    folder = RequestFolder()
    request = _pending(folder, number)
    request.check_unchanged()
    policy = Policy.read(request.policy)
    _show(request, policy)
    word = secrets.token_hex(2)
    typed = typer.prompt(f"Type {word} to publish this, anything else to stop")
    if typed.strip() != word:
        console().print(
            f"Nothing was published. The request is still pending; `reticent mcp decline {number}` declines it."
        )
        raise typer.Exit(1)
    request.check_unchanged()
    with working("Publishing ...", as_json=False) as context:
        published = publish_policy(policy, request.output, sign=request.sign, ledger=ledger, context=context)
    folder.decide(request, "published", certificate_hash(published.release.certificate))
    console().print(f"Published to {published.path}. The assistant is notified and receives the certificate's hash.")


def decline(number: _Number, as_json: Json = False) -> None:
    """Decline a publication requested by an assistant.

    Example: reticent mcp decline 1f3a9c02
    """
    from reticent.mcp import RequestFolder

    folder = RequestFolder()
    request = _pending(folder, number)
    folder.decide(request, "declined")
    answer(PlainResult.saying(f"Request {number} is declined.", {"request": number, "state": "declined"}), as_json)


def _pending(folder: Any, number: str) -> PublicationRequest:
    """Return a request that is not decided yet. Raises for any other."""
    request: PublicationRequest = folder.find(number)
    if request.state != "pending":
        raise PolicyError(f"Request {number} was already {request.state}.")
    return request


def _show(request: PublicationRequest, policy: Any) -> None:
    """Print what a request would publish: policy, source, roles, guarantee and keys."""
    roles = policy.sections.roles
    source = f"{request.source} (sha256 {request.source_hash[:16]}...)" if request.source_hash else request.source
    facts = {
        "policy": f"{request.policy} (sha256 {request.policy_hash[:16]}...)",
        "source": source,
        "data set": policy.sections.dataset or "none: the ledger does not track it",
        "guarantee": str(policy.definition),
        "quasi columns": ", ".join(roles.quasi),
        "sensitive columns": ", ".join(roles.sensitive),
        "declared unknown": ", ".join(policy.sections.declared) or "none",
        "method": policy.sections.method.get("name", "chosen by comparison"),
        "folder": request.output,
        "signed with": request.sign or policy.sections.release.sign or "nothing",
        "asked": request.created,
    }
    look = f"Look at it first, if you have not: reticent preview {request.policy}\n"
    show_card(Card(f"Request {request.number}: publish exactly this", facts, notes=[look]))
