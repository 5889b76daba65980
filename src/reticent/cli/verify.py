"""``reticent verify``: every claim of a release, recomputed from its public side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.release import Verification


def verify(
    releases: Annotated[
        list[Path] | None,
        typer.Argument(help="The folder of a release, or its public folder alone; those of a series, first to last."),
    ] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="The publisher's public key: a .pub file, or its 64 digits.")
    ] = None,
    trust: Annotated[
        Path | None, typer.Option("--trust", help="A trust file: which keys count, and how many must have signed.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--log", help="A log of releases that must have this one.")] = None,
    remember: Annotated[
        Path | None,
        typer.Option(
            "--remember", help="A file for the last head of --log that was seen; compared with, then renewed."
        ),
    ] = None,
    population: Annotated[
        str | None, typer.Option("--population", help="A file of the population, for claims that compare with one.")
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", help="Claims that are not judged by then are not re-checked.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page", help="Write the recipient's verifier to this HTML file; without a release nothing else is done."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a release again, from what everybody can see. Exits with 1 when anything does not hold.

    Example: reticent verify release --trust trust.json --log releases.log.json

    Example: reticent verify --page reticent-verify.html
    """
    from reticent import release as rooms

    written: dict[str, Any] = {}
    if page is not None:
        from reticent.verifier import write_page

        written = {"page": write_page(page)}
    if not releases:
        if page is None:
            raise typer.BadParameter("Name the folder of a release, or --page FILE.html for the recipient's verifier.")
        answer(
            {"ok": True, **written},
            as_json,
            f"The recipient's verifier is {page}: open it in a browser and drop a public folder into it.",
        )
        return
    with working("Recomputing every claim ...", as_json) as context:
        chosen = releases[0] if len(releases) == 1 else releases
        found = rooms.verify(
            chosen,
            population=population,
            key=key,
            trust=trust,
            log=log,
            remember=remember,
            context=replace(context, deadline=context.until(seconds)),
        )
    payload: dict[str, Any] = {
        "ok": found.holds,
        "holds": found.holds,
        "headline": found.headline.as_json(),
        "recomputed": list(found.recomputed),
        "unchecked": list(found.unchecked),
        "signed": found.signed,
        "path": found.path,
        "checks": [check._asdict() for check in found.checks],
        **written,
    }
    answer(payload, as_json, lambda console: _render(console, found))


def _render(console: Console, found: Verification) -> None:
    from reticent.cli.screens import show_headline

    show_headline(console, found.headline)
    for title, told in (
        ("Recomputed from the published files:", found.recomputed),
        ("Not re-checked:", found.unchecked),
    ):
        if told:
            console.print(f"\n{title}")
        for sentence in told:
            console.print(f"- {sentence}")
    rows = [(check.name, check.status, check.detail) for check in found.checks]
    console.print(table(str(found.path), ("check", "result", "why"), rows))
