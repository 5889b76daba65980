"""``reticent report``: one page about a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import PeopleOptions, ReleaseArgument


def report(
    release: ReleaseArgument,
    listed: PeopleOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where the page goes; by default private/report.html of the release."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Only what follows from the published files; may be shown to everybody.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="The policy of the original table: also shows the risk before publication."),
    ] = None,
    regression: Annotated[
        str | None,
        typer.Option(
            "--regression", help="Run this regression before and after, such as 'wage ~ age + sex'; needs --policy."
        ),
    ] = None,
    coordinates: Annotated[
        Path | None,
        typer.Option(
            "--coordinates",
            help="Where places lie (first column: place; latitude, longitude): a synthetic release is compared by distances, on a map; needs --policy.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write the report on a release: verdict, promise, pictures, cost and what remains, one HTML file.

    Example: reticent report release -o report.html
    """
    from reticent.errors import PolicyError
    from reticent.io import Source
    from reticent.policy import Policy
    from reticent.reports import write_report, write_stewards_report

    if public and (policy or listed.people):
        raise PolicyError("A public report tells nothing about the table: leave out --policy and --people.")
    if listed.people and not policy:
        raise PolicyError("--people is looked up before and after, which needs the table: add --policy.")
    if regression and not policy:
        raise PolicyError("--regression is run before and after, which needs the table: add --policy.")
    if coordinates and not policy:
        raise PolicyError("--coordinates are for comparing with the table, which needs the table: add --policy.")
    default = Path("report.html") if public else release / "private" / "report.html"
    target = output if output is not None else default
    with working("Drawing ...", as_json) as context:
        if policy:
            told = Policy.read(policy)
            table = told.table()
            write_stewards_report(
                release,
                target,
                table,
                people=listed.read(),
                who=listed.who,
                regression=regression,
                models=told.sections.analysis.models,
                coordinates=None if coordinates is None else Source(str(coordinates)).read(),
                context=context,
            )
        else:
            write_report(release, target, public=public, context=context)
    whose = "for everybody" if public else "for the steward: do not publish it"
    answer(PlainResult.saying(f"The report is {target} ({whose}).", {"report": target, "public": public}), as_json)
