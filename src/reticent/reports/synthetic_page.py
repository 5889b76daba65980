"""The steward's page about a synthetic file made by any tool: what it discloses about the people behind it, and how well it fits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reticent.attacks import AttackResults, attack
from reticent.base.context import Context
from reticent.base.files import write_whole
from reticent.errors import PolicyError
from reticent.io import people_of
from reticent.release import Headline
from reticent.reports.attack_figures import attack_figures, attack_quote
from reticent.reports.page_parts import PageBlock, PageSection, block, page_text, plain_table
from reticent.utility import RecordFit, record_fit

_OWNER_ONLY = 0o600
_PAIRS_SHOWN = 10
_NO_GUARANTEE = "The file has no certificate: only these attacks were run, and nothing limits what others would learn."


def write_synthetic_page(
    target: Any,
    path: str | Path,
    original: Any,
    control: Any = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    context: Context | None = None,
) -> Path:
    """Attack a synthetic file (or frame), compare it with the table that it was made from, and write the page.

    Only its owner can read the page. The parameters are those of :func:`reticent.attacks.attack`.
    """
    if hasattr(target, "public") or (isinstance(target, str | Path) and Path(target).is_dir()):
        raise PolicyError(
            "report: original= is for synthetic records of other tools. For a release pass its table as raw=.",
            setting=("original",),
        )
    context, page = context or Context(), Path(path)
    records, true = people_of(target), people_of(original)
    others = None if control is None else people_of(control)
    results = attack(records, original=original, control=others, quasi=quasi, sensitive=sensitive, context=context)
    context.step("comparing")
    files = [true] if others is None else [true, others]
    columns = [name for name in records.columns if all(name in each.columns for each in files)]
    fit = record_fit(true, records, columns)
    sampled = None if others is None else record_fit(true, others, columns)
    context.step("drawing")
    page.parent.mkdir(parents=True, exist_ok=True)
    text = _page(_title(target), records, true, others, results, fit, sampled)
    write_whole(page, text.encode(), _OWNER_ONLY)
    return page


def _title(target: Any) -> str:
    return Path(target).name if isinstance(target, str | Path) else "Synthetic records"


def _page(
    title: str,
    records: pl.DataFrame,
    true: pl.DataFrame,
    others: pl.DataFrame | None,
    results: AttackResults,
    fit: RecordFit,
    sampled: RecordFit | None,
) -> str:
    tiles = [
        (f"{records.height:,}", "synthetic records"),
        (f"{true.height:,}", "records in the original table"),
        ("none" if others is None else f"{others.height:,}", "people in the control group"),
        (f"{len(results.succeeding)} of {len(results)}", "attacks succeed"),
    ]
    if fit.mean_pair is not None:
        tiles.append((f"{fit.mean_pair:.1%}", "mean distance over pairs of columns"))
    return page_text(
        "report.html",
        title=f"{title}: report on synthetic records",
        kind="report on synthetic records",
        tag="For the steward: do not publish this page",
        public=False,
        heading=title,
        release="",
        headline=Headline("not shown", (*results.reservations, _NO_GUARANTEE)),
        details=[_comparison(others)],
        tiles=tiles,
        sections=[_attacks(results), _fit(fit, sampled)],
        foot="This page holds facts about the confidential table. Keep it where the table is.",
    )


def _comparison(others: pl.DataFrame | None) -> str:
    """Return a sentence on what attacks are compared with."""
    if others is not None:
        return "Success is compared with attacks on people who are not in the original table: what is learned about them as well is not a leak."
    return "No control group was given, so half of the original table took its place. A control group of people who are not in the data gives a stronger comparison."


def _attacks(results: AttackResults) -> PageSection:
    names = [each.adversary for each in results.succeeding]
    outcome = f"These succeed: {', '.join(names)}." if names else "None of these attacks succeeds."
    return PageSection(
        "What adversaries achieve",
        "Attacks on the synthetic records. Thin lines: 95\u00a0% intervals. Notches: what is reached in the comparison.",
        [
            block("paragraph", text=outcome),
            *attack_figures(results.pairs),
            block("title", text="One example each"),
            block("quotes", pairs=[attack_quote(before, after) for before, after in results.pairs]),
        ],
    )


def _fit(fit: RecordFit, sampled: RecordFit | None) -> PageSection:
    beside = ["control group"] if sampled is not None else []

    def row(name: str, distance: float, other: float | None) -> list[str]:
        return [name, f"{distance:.1%}", *([] if other is None else [f"{other:.1%}"])]

    parts: list[PageBlock] = [
        plain_table(
            ["column", "synthetic records", *beside],
            [
                row(name, far, None if sampled is None else sampled.columns[name])
                for name, far in sorted(fit.columns.items(), key=lambda each: -each[1])
            ],
        )
    ]
    if fit.pairs:
        parts += [
            block("title", text="Pairs of columns that fit worst"),
            plain_table(
                ["columns", "synthetic records", *beside],
                [
                    row(f"{pair[0]}, {pair[1]}", far, None if sampled is None else sampled.pairs[pair])
                    for pair, far in fit.worst_pairs(_PAIRS_SHOWN)
                ],
            ),
        ]
    lead = "Total variation distance to the original table: the share of records that would have to change for both to show the same shares. Numbers are compared by twentieths of the original."
    if sampled is not None:
        lead += " The control group shows how far other true records are."
    return PageSection("How well the records fit", lead, parts)
