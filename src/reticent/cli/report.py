"""``reticent report``: one page about a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from reticent.cli.console import Json, answer, working


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report)


def report(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the page goes; by default private/report.html of the release."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Only what follows from the published files; may be shown to everybody.")
    ] = False,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="The policy with the table: also tells how it was before.")
    ] = None,
    people: Annotated[
        Path | None, typer.Option("--people", help="A list of people to look up, before and after (needs --policy).")
    ] = None,
    who: Annotated[
        str | None, typer.Option("--who", help="The column of --people to call people by in examples.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report on a release: verdict, promise, pictures, cost and what remains, one HTML file.

    Example: reticent report release -o report.html
    """
    from reticent.data import Source
    from reticent.errors import PolicyError
    from reticent.policy import Policy
    from reticent.report import write_report, write_stewards_report

    if public and (policy or people):
        raise PolicyError("A public report tells nothing about the table: leave out --policy and --people.")
    if people and not policy:
        raise PolicyError("--people is looked up before and after, which needs the table: add --policy.")
    if who is not None and people is None:
        raise PolicyError("--who names a column of a list of people: add --people.")
    default = Path("report.html") if public else release / "private" / "report.html"
    target = output if output is not None else default
    with working("Drawing ...", as_json):
        if policy:
            listed = Source(str(people)).read() if people is not None else None
            write_stewards_report(release, target, Policy.read(policy).table(), people=listed, who=who)
        else:
            write_report(release, target, public=public)
    payload: dict[str, Any] = {"ok": True, "report": target, "public": public}
    whose = "for everybody" if public else "for the steward: do not publish it"
    answer(payload, as_json, lambda screen: screen.print(f"The report is {target} ({whose}).", markup=False))
