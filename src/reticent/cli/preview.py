"""``reticent preview``: what would be published, and the cost of other methods. Nothing is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, percent
from reticent.cli.console import Details, Json, answer, working
from reticent.cli.options import DraftOptions, PolicyArgument

if TYPE_CHECKING:
    from reticent.policy import Policy
    from reticent.release import Headline
    from reticent.reports import Comparison, MechanismPreview, Preview, PreviewComparison


def preview(
    policy: PolicyArgument,
    draft: DraftOptions,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Also show the information loss of the other methods, each with its defaults."),
    ] = False,
    attacks: Annotated[
        bool, typer.Option("--attacks/--no-attacks", help="Run the attacks on the table before and after.")
    ] = True,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Show what `publish` would publish: rows, groups, information loss per column, attacks. Nothing is recorded or
    written.

    Example: reticent preview policy.toml --suppression 0.05 --compare
    """
    from reticent.policy import Policy

    show_preview(Policy.read(policy), draft, compare, attacks, details, as_json)


def show_preview(
    policy: Policy, draft: DraftOptions, compare: bool, attacks: bool, details: bool, as_json: bool
) -> None:
    """Draft the release of a policy and print its preview; also used by ``reticent publish --dry-run``."""
    from reticent.policy import compare_policy, preview_policy
    from reticent.release import methods_compared
    from reticent.reports import MechanismPreview

    with working("Drafting the release ...", as_json) as context:
        preview = preview_policy(policy, **draft.overrides(), context=context)
        achieved = preview.attacks if attacks else ()
        comparison = (
            compare_policy(policy, definition=draft.definition, engine=draft.engine, attacks=attacks, context=context)
            if compare
            else None
        )
        compared = preview.search.get("compared")
        if compared is None and not isinstance(preview, MechanismPreview):
            compared = methods_compared(preview.table, preview.definition, preview.cost, context)
    headline = preview.headline.beside(after.reservation for _, after in achieved if after.succeeds)
    figures: dict[str, Any] = {
        "recorded": False,
        **preview.as_dict(),
        "headline": headline.as_json(),
        "frame": preview.frame.to_dicts(),
        "attacks": [
            {"before": None if before is None else before.as_dict(), "after": after.as_dict()}
            for before, after in achieved
        ],
        "methods": compared,
        "analysis": None if preview.analysis is None else preview.analysis.as_dict(),
        "compared": None if comparison is None else comparison.table.to_dicts(),
    }
    if isinstance(preview, MechanismPreview):
        card = _error_card(preview, comparison)
    else:
        card = _card(preview, headline, comparison, compared, achieved)
    answer(PlainResult(figures, card), as_json, details)


def _error_card(preview: MechanismPreview, comparison: PreviewComparison | None) -> Card:
    """Return the card of a method that samples: its expected error, since nothing was sampled."""
    return Card(
        f"A preview by {preview.method.get('name')}. Nothing was sampled: this is the error that a release would have.",
        tables=[
            CardTable(("figure", "value"), list(preview.utility.items()), "Expected error"),
            *_others_table(comparison),
        ],
        sentences=[preview.error.words, *preview.sentences],
        notes=[
            *_problems(comparison),
            "Nothing was recorded or written. `reticent publish` samples and publishes it, once.",
        ],
    )


def _card(
    preview: Preview,
    headline: Headline,
    comparison: PreviewComparison | None,
    compared: Mapping[str, Any] | None,
    achieved: Sequence[Comparison],
) -> Card:
    """Return the card of a draft: verdict, columns, example rows, loss, attacks and compared methods."""
    from reticent.cli.screens import ROWS_SHOWN, columns_table, conclusions, how_many, rows_table
    from reticent.propose import poor_worth
    from reticent.release import methods_table
    from reticent.utility import listed_utility

    losses, loss = preview.loss_by_column, preview.utility.get("loss")
    worth = poor_worth(preview.table, preview.definition, preview.method, loss, losses)
    hits = [
        (
            after.adversary,
            "" if before is None else percent(before.share),
            percent(after.share),
            "" if after.baseline is None else percent(after.baseline),
            after.succeeds,
        )
        for before, after in achieved
    ]
    return Card(
        f"A preview by {preview.method.get('name')}: {how_many(preview.rows, preview.suppressed, preview.groups)}.",
        tone=headline.tone,
        tables=[
            columns_table(losses, preview.recoding, preview.table, loss),
            rows_table(preview.frame.gather_every(max(preview.frame.height // ROWS_SHOWN, 1)).head(ROWS_SHOWN)),
            *([] if compared is None else [methods_table(compared)]),
            CardTable(
                ("measure", "value"), list(listed_utility(preview.utility).items()), "Information loss", detail=True
            ),
            CardTable(("adversary", "before", "after", "anyway", "succeeds"), hits, "Attacks"),
            *_others_table(comparison),
        ],
        sentences=[*headline.lines(), *preview.sentences],
        notes=[
            *(() if worth is None else worth.words),
            *conclusions(preview.analysis),
            *_problems(comparison),
            "Nothing was recorded or written. `reticent publish` publishes it.",
        ],
    )


def _others_table(comparison: PreviewComparison | None) -> list[CardTable]:
    """Return a table of the other feasible methods with their information loss."""
    if comparison is None:
        return []
    rows = [
        (
            row["method"],
            row["suppressed"],
            row["groups"],
            "" if row["loss"] is None else f"{row['loss']:.4f}",
            row["standard_error"],
            row["succeeding"],
        )
        for row in comparison.table.iter_rows(named=True)
        if row["possible"]
    ]
    heads = ("method", "suppressed", "groups", "loss", "standard error", "succeeding")
    return [CardTable(heads, rows, "Methods compared")]


def _problems(comparison: PreviewComparison | None) -> list[str]:
    """Return why methods are not feasible."""
    if comparison is None:
        return []
    rows = comparison.table.filter(~comparison.table["possible"]).iter_rows(named=True)
    return [f"{row['method']}: {row['problem']}" for row in rows]
