"""``reticent preview``: what a release would be, and what other methods would cost. Nothing is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working
from reticent.cli.options import (
    DefinitionOption,
    EngineOption,
    FormatOption,
    ObjectiveOption,
    PolicyArgument,
    SecondsOption,
    SuppressionOption,
)

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.policy import Policy
    from reticent.report import Compared, Preview

_COLUMNS_SHOWN, _ROWS_SHOWN = 6, 6


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("preview")(preview)


def preview(
    policy: PolicyArgument,
    definition: DefinitionOption = None,
    suppression: SuppressionOption = None,
    objective: ObjectiveOption = None,
    release_format: FormatOption = None,
    seconds: SecondsOption = None,
    engine: EngineOption = None,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also what the other methods would cost, each with its own defaults.")
    ] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks/--no-attacks", help="Run the adversaries, before and after.")
    ] = True,
    as_json: Json = False,
) -> None:
    """Show what `publish` would publish: rows, groups, loss by column, attacks. Nothing is recorded or written.

    Example: reticent preview policy.toml --suppression 0.05 --compare
    """
    from reticent.policy import Policy

    method = {"suppression": suppression, "objective": objective, "format": release_format, "seconds": seconds}
    show_preview(Policy.read(policy), definition, engine, method, compare, attacks, as_json)


def show_preview(
    policy: Policy,
    definition: str | None,
    engine: str | None,
    method: dict[str, Any],
    compare: bool,
    attacks: bool,
    as_json: bool,
) -> None:
    """Make the preview of a policy and print it; ``reticent publish --dry-run`` prints the same."""
    from reticent.policy import compare_policy, preview_policy

    with working("Drafting the release ...", as_json) as context:
        found = preview_policy(policy, definition=definition, engine=engine, method=method, context=context)
        achieved = found.attacks if attacks else ()
        others = (
            compare_policy(policy, definition=definition, engine=engine, attacks=attacks, context=context)
            if compare
            else None
        )
    payload: dict[str, Any] = {
        "ok": True,
        "recorded": False,
        **found.as_dict(),
        "frame": found.frame.to_dicts(),
        "attacks": [
            {"before": None if before is None else before.as_dict(), "after": after.as_dict()}
            for before, after in achieved
        ],
        "compared": None if others is None else others.table.to_dicts(),
    }
    answer(payload, as_json, lambda console: _render(console, found, others, attacks))


def _render(console: Console, found: Preview, others: Compared | None, attacks: bool) -> None:
    from reticent.cli.wording import shown
    from reticent.report import percent

    groups = (
        ""
        if found.groups is None
        else f" in {len(found.groups):,} groups of at least {int(found.groups.people.min()):,}"
    )
    console.print(
        f"A preview by {found.method.get('name')}: {found.rows:,} rows{groups} would be published, {found.suppressed:,} left out.",
        markup=False,
    )
    frame = found.frame.head(_ROWS_SHOWN)
    columns = frame.columns[:_COLUMNS_SHOWN]
    more = len(frame.columns) - len(columns)
    rows = [[str(row[name]) for name in columns] for row in frame.iter_rows(named=True)]
    console.print(table("The first rows" + (f" ({more} more columns)" if more else ""), columns, rows))
    losses = [(name, percent(value)) for name, value in found.loss_by_column.items()]
    if losses:
        console.print(table("Loss by column", ("column", "detail given up"), losses))
    costs = [(name, shown(value)) for name, value in found.utility.items()]
    if costs:
        console.print(table("What it would cost", ("measure", "value"), costs))
    if attacks:
        hits = [
            (
                after.adversary,
                "" if before is None else percent(before.share),
                percent(after.share),
                "" if after.baseline is None else percent(after.baseline),
                "yes" if after.succeeds else "no",
            )
            for before, after in found.attacks
        ]
        console.print(table("Attacks", ("adversary", "before", "after", "anyway", "succeeds"), hits))
    if others is not None:
        console.print(table("Compared", ("method", "left out", "groups", "loss", "succeeding"), _compared(others)))
        for row in others.table.filter(~others.table["possible"]).iter_rows(named=True):
            console.print(f"{row['method']}: {row['problem']}", markup=False)
    console.print("\nNothing was recorded or written. `reticent publish` publishes it.", markup=False)


def _compared(others: Compared) -> list[tuple[object, ...]]:
    def cell(value: Any, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        (
            row["method"],
            cell(row["suppressed"], ","),
            cell(row["groups"], ","),
            cell(row["loss"], ".4f"),
            cell(row["succeeding"], ""),
        )
        for row in others.table.iter_rows(named=True)
        if row["possible"]
    ]
