"""``reticent preview``: what a release would be, and what other methods would cost. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Details, Json, answer, table, working
from reticent.cli.options import DraftOptions, PolicyArgument

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.policy import Policy
    from reticent.release import Headline
    from reticent.reports import MechanismPreview, Preview, PreviewComparison


def preview(
    policy: PolicyArgument,
    draft: DraftOptions,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also show what the other methods would cost, each with its defaults.")
    ] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks/--no-attacks", help="Run the adversaries, before and after.")
    ] = True,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Show what `publish` would publish: rows, groups, loss by column, attacks. Nothing is recorded or written.

    Example: reticent preview policy.toml --suppression 0.05 --compare
    """
    from reticent.policy import Policy

    show_preview(Policy.read(policy), draft, compare, attacks, details, as_json)


def show_preview(
    policy: Policy, draft: DraftOptions, compare: bool, attacks: bool, details: bool, as_json: bool
) -> None:
    """Make the preview of a policy and print it; ``reticent publish --dry-run`` prints the same."""
    from reticent.policy import compare_policy, preview_policy
    from reticent.release import methods_compared
    from reticent.reports import MechanismPreview

    with working("Drafting the release ...", as_json) as context:
        found = preview_policy(policy, **draft.overrides(), context=context)
        achieved = found.attacks if attacks else ()
        others = (
            compare_policy(policy, definition=draft.definition, engine=draft.engine, attacks=attacks, context=context)
            if compare
            else None
        )
        compared = found.search.get("compared")
        if compared is None and not isinstance(found, MechanismPreview):
            compared = methods_compared(found.table, found.definition, found.cost, context)
    headline = found.headline.beside(after.reservation for _, after in achieved if after.succeeds)
    payload: dict[str, Any] = {
        "ok": True,
        "recorded": False,
        **found.as_dict(),
        "headline": headline.as_json(),
        "frame": found.frame.to_dicts(),
        "attacks": [
            {"before": None if before is None else before.as_dict(), "after": after.as_dict()}
            for before, after in achieved
        ],
        "methods": compared,
        "analysis": None if found.analysis is None else found.analysis.as_dict(),
        "compared": None if others is None else others.table.to_dicts(),
    }

    def show(console: Console) -> None:
        if isinstance(found, MechanismPreview):
            _render_error(console, found, others)
        else:
            _render(console, found, headline, others, compared, attacks, details)

    answer(payload, as_json, show)


def _render_error(console: Console, found: MechanismPreview, others: PreviewComparison | None) -> None:
    from reticent.cli.text import shown

    console.print(
        f"A preview by {found.method.get('name')}. Nothing was drawn: this is the error that a release would have.\n"
    )
    console.print(found.error.words)
    console.print()
    for sentence in found.sentences:
        console.print(sentence)
    console.print(
        table("Expected error", ("figure", "value"), [(each, shown(value)) for each, value in found.utility.items()])
    )
    _show_others(console, others)
    console.print("\nNothing was recorded or written. `reticent publish` draws and publishes it, once.")


def _render(
    console: Console,
    found: Preview,
    headline: Headline,
    others: PreviewComparison | None,
    compared: Mapping[str, Any] | None,
    attacks: bool,
    details: bool,
) -> None:
    from reticent.base.cards import percent
    from reticent.cli.screens import (
        ROWS_SHOWN,
        how_many,
        show_columns,
        show_conclusions,
        show_headline,
        show_methods,
        show_rows,
        show_worth,
    )
    from reticent.cli.text import shown
    from reticent.propose import poor_worth

    name = found.method.get("name")
    console.print(f"A preview by {name}: {how_many(found.rows, found.suppressed, found.groups)}.\n")
    show_headline(console, headline)
    console.print()
    for sentence in found.sentences:
        console.print(sentence)
    show_columns(console, found.loss_by_column, found.recoding, found.table, found.utility.get("loss"))
    show_rows(console, found.frame.gather_every(max(found.frame.height // ROWS_SHOWN, 1)).head(ROWS_SHOWN))
    show_methods(console, compared)
    losses = found.loss_by_column
    show_worth(console, poor_worth(found.table, found.definition, found.method, found.utility.get("loss"), losses))
    costs = [(name, shown(value)) for name, value in found.utility.items()]
    if details and costs:
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
    show_conclusions(console, found.analysis)
    _show_others(console, others)
    console.print("\nNothing was recorded or written. `reticent publish` publishes it.")


def _show_others(console: Console, others: PreviewComparison | None) -> None:
    if others is None:
        return
    heads = ("method", "left out", "groups", "loss", "standard error", "succeeding")
    console.print(table("Methods compared", heads, _compared(others)))
    for row in others.table.filter(~others.table["possible"]).iter_rows(named=True):
        console.print(f"{row['method']}: {row['problem']}")


def _compared(others: PreviewComparison) -> list[tuple[object, ...]]:
    def cell(value: Any, form: str) -> str:
        return "" if value is None else format(value, form)

    return [
        (
            row["method"],
            cell(row["suppressed"], ","),
            cell(row["groups"], ","),
            cell(row["loss"], ".4f"),
            cell(row["standard_error"], ",.1f"),
            cell(row["succeeding"], ""),
        )
        for row in others.table.iter_rows(named=True)
        if row["possible"]
    ]
