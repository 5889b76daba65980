"""``reticent report``: one HTML page about a release, or about synthetic records of another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import ControlOption, GuessedOption, OriginalOption, PeopleOptions, QuasiOption, table_or_path


def report(
    release: Annotated[
        Path, typer.Argument(help="The folder of a release; or, with --original, a file of synthetic records.")
    ],
    listed: PeopleOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The file to write (default: private/report.html of the release, or report.html)."
        ),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Use the published files only, so that the report may be published too.")
    ] = False,
    policy: Annotated[
        Path | None,
        typer.Option("--policy", help="The policy of the original table: also shows the risk before publication."),
    ] = None,
    regression: Annotated[
        str | None,
        typer.Option(
            "--regression",
            help="Compare this regression before and after publication, such as 'wage ~ age + sex'; needs --policy.",
        ),
    ] = None,
    coordinates: Annotated[
        Path | None,
        typer.Option(
            "--coordinates",
            help="Coordinates of places (first column: place; then latitude, longitude), to compare a synthetic release by distances on a map; needs --policy.",
        ),
    ] = None,
    original: OriginalOption = None,
    control: ControlOption = None,
    quasi: QuasiOption = None,
    sensitive: GuessedOption = None,
    as_json: Json = False,
) -> None:
    """Write the report on a release as one HTML file: verdict, guarantee, charts, information loss and residual risks.

    Example: reticent report release -o report.html

    Example: reticent report synthetic.csv --original patients.csv --control others.csv
    """
    from reticent.errors import PolicyError
    from reticent.io import Source
    from reticent.policy import Policy
    from reticent.reports import write_report, write_stewards_report, write_synthetic_page

    if original and (public or policy or listed.people or regression or coordinates):
        raise PolicyError(
            "--original is for synthetic records: remove --public, --policy, --people, --regression and --coordinates."
        )
    if not original and (control or quasi or sensitive):
        raise PolicyError("--control, --quasi and --sensitive are for synthetic records: add --original.")
    if public and (policy or listed.people):
        raise PolicyError("A public report must not use the table: remove --policy and --people.")
    if listed.people and not policy:
        raise PolicyError("--people needs the original table: add --policy.")
    if regression and not policy:
        raise PolicyError("--regression needs the original table: add --policy.")
    if coordinates and not policy:
        raise PolicyError("--coordinates needs the original table: add --policy.")
    default = Path("report.html") if public or original else release / "private" / "report.html"
    target = output if output is not None else default
    with working("Drawing ...", as_json) as context:
        if original:
            table = table_or_path(original)
            write_synthetic_page(release, target, table, control, quasi=quasi, sensitive=sensitive, context=context)
        elif policy:
            original_policy = Policy.read(policy)
            write_stewards_report(
                release,
                target,
                original_policy.table(),
                people=listed.read(),
                who=listed.who,
                regression=regression,
                models=original_policy.sections.analysis.models,
                coordinates=None if coordinates is None else Source(str(coordinates)).read(),
                context=context,
            )
        else:
            write_report(release, target, public=public, context=context)
    whose = "for everybody" if public else "internal; do not publish"
    answer(
        PlainResult.saying(f"Wrote the report to {target} ({whose}).", {"report": target, "public": public}), as_json
    )
