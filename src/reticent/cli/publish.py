"""``reticent publish``: search, certify, write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working
from reticent.cli.options import (
    DefinitionOption,
    EngineOption,
    FormatOption,
    LedgerOption,
    ObjectiveOption,
    PolicyArgument,
    SecondsOption,
    SignOption,
    SuppressionOption,
)
from reticent.cli.preview import show_preview

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.policy import Published
    from reticent.release import Release


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("publish")(publish)


def publish(
    policy: PolicyArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder that the release is written to; a new one.")
    ] = None,
    again: Annotated[
        bool | None, typer.Option("--again", help="Allow another release of a data set that was released before.")
    ] = None,
    sign: SignOption = None,
    report: Annotated[
        bool | None, typer.Option("--report", help="Write the steward's report to private/report.html.")
    ] = None,
    suppression: SuppressionOption = None,
    objective: ObjectiveOption = None,
    definition: DefinitionOption = None,
    release_format: FormatOption = None,
    seconds: SecondsOption = None,
    files: Annotated[
        str | None, typer.Option("--files", help="The kind of the released files: csv or parquet.")
    ] = None,
    engine: EngineOption = None,
    ledger: LedgerOption = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be published, as `reticent preview` does; record nothing."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Find the least distorted release that keeps the promise, certify it and write it.

    Example: reticent publish policy.toml -o release --report
    """
    from reticent.policy import Policy, publish_policy

    method = {"suppression": suppression, "objective": objective, "format": release_format, "seconds": seconds}
    loaded = Policy.read(policy)
    if dry_run:
        show_preview(loaded, definition, engine, method, compare=False, attacks=False, as_json=as_json)
        return
    with working("Searching for the least distorted release ...", as_json) as context:
        found = publish_policy(
            loaded,
            output,
            again=again,
            sign=sign,
            report=report,
            definition=definition,
            ledger=ledger,
            files=files,
            engine=engine,
            method=method,
            context=context,
        )
    answer(_payload(found), as_json, lambda console: _render(console, found))


def _payload(found: Published) -> dict[str, Any]:
    release, private = found.release, found.release.private
    return {
        "ok": True,
        "path": found.path,
        "report": found.report,
        "format": release.format,
        "tables": {name: found.path / "public" / each.files[0] for name, each in release.manifest.tables.items()},
        "levels": {column: level for column, level, _ in _levels(found)},
        "groups": _groups(release),
        "rows": release.public.height,
        "suppressed": private.suppressed,
        "worst_posterior": private.search.get("worst_posterior"),
        "proven": private.search.get("proven"),
        "bound": private.search.get("bound"),
        "utility": dict(release.utility),
        "unpublished": list(found.table.unpublished),
        "certificate": dict(release.certificate),
    }


def _render(console: Console, found: Published) -> None:
    from reticent.cli.wording import shown

    release, private = found.release, found.release.private
    groups = _groups(release)
    grouped = f" in {groups['count']:,} groups; {private.suppressed:,} rows were left out" if groups else ""
    console.print(f"Published {release.public.height:,} rows{grouped}.", markup=False)
    promises = [(_claim(claim), claim["covers"]) for claim in release.certificate["claims"]]
    console.print(table("What is promised", ("definition", "in plain words"), promises))
    levels = [(column, f"{level} of {height}") for column, level, height in _levels(found)]
    if levels:
        console.print(table("Levels", ("column", "level"), levels))
    costs = [(name, shown(value)) for name, value in release.utility.items()]
    if costs:
        console.print(table("What it cost (for your eyes only)", ("measure", "value"), costs))
    if not private.search.get("proven", True):
        console.print(
            f"The time was up: a better release may exist, but none below {shown(private.search['bound'])}.",
            markup=False,
        )
    if found.table.unpublished:
        console.print(f"Without a role, so not published: {', '.join(found.table.unpublished)}.", markup=False)
    console.print(f"\n{found.path / 'public'} is for everybody, {found.path / 'private'} for you alone.", markup=False)
    if found.report is not None:
        console.print(f"The report is {found.report}.", markup=False)
    console.print(f"Anybody can check it: reticent verify {found.path}", markup=False)


def _groups(release: Release) -> dict[str, int] | None:
    """How many groups there are and how many people are in the smallest; None where rows are not true rows."""
    if not release.private.evidence.groups:
        return None
    return {"count": len(release.groups), "smallest": int(release.groups.people.min())}


def _levels(found: Published) -> list[tuple[str, int, int]]:
    """Every column with its level and the coarsest there is; nothing where a method gives columns no single level."""
    search = found.release.private.search
    if "chosen" not in search:
        return []
    return list(zip(search["columns"], search["chosen"], search["heights"], strict=True))


def _claim(claim: dict[str, Any]) -> str:
    return f"{claim['definition']}({', '.join(f'{name}={value}' for name, value in claim['parameters'].items())})"
