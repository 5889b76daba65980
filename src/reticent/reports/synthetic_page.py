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
    records, original_records = people_of(target), people_of(original)
    control_records = None if control is None else people_of(control)
    results = attack(
        records, original=original, control=control_records, quasi=quasi, sensitive=sensitive, context=context
    )
    context.step("comparing")
    files = [original_records] if control_records is None else [original_records, control_records]
    columns = [name for name in records.columns if all(name in file.columns for file in files)]
    fit = record_fit(original_records, records, columns)
    control_fit = None if control_records is None else record_fit(original_records, control_records, columns)
    context.step("drawing")
    page.parent.mkdir(parents=True, exist_ok=True)
    text = _page(_title(target), records, original_records, control_records, results, fit, control_fit)
    write_whole(page, text.encode(), _OWNER_ONLY)
    return page


def _title(target: Any) -> str:
    """Return the file name as title; a general title for a frame."""
    return Path(target).name if isinstance(target, str | Path) else "Synthetic records"


def _page(
    title: str,
    records: pl.DataFrame,
    original_records: pl.DataFrame,
    control_records: pl.DataFrame | None,
    results: AttackResults,
    fit: RecordFit,
    control_fit: RecordFit | None,
) -> str:
    """Render the page as HTML. ``control_fit`` is the fit of the control group, if there is one."""
    tiles = [
        (f"{records.height:,}", "synthetic records"),
        (f"{original_records.height:,}", "records in the original table"),
        ("none" if control_records is None else f"{control_records.height:,}", "people in the control group"),
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
        details=[_comparison(control_records)],
        tiles=tiles,
        sections=[_attacks(results), _fit(fit, control_fit)],
        foot="This page holds facts about the confidential table. Keep it where the table is.",
    )


def _comparison(control_records: pl.DataFrame | None) -> str:
    """Return a sentence on what attacks are compared with."""
    if control_records is not None:
        return "Success is compared with attacks on people who are not in the original table: what is learned about them as well is not a leak."
    return "No control group was given, so half of the original table took its place. A control group of people who are not in the data gives a stronger comparison."


def _attacks(results: AttackResults) -> PageSection:
    """Return the section on attack results, before and after, with one example each."""
    names = [findings.adversary for findings in results.succeeding]
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


def _fit(fit: RecordFit, control_fit: RecordFit | None) -> PageSection:
    """Return the section with the total variation distances of single columns and of the worst pairs of columns."""
    control_head = ["control group"] if control_fit is not None else []

    def row(name: str, distance: float, control_distance: float | None) -> list[str]:
        """Return a table row: name, distance of the synthetic records, and that of the control group if there is one."""
        return [name, f"{distance:.1%}", *([] if control_distance is None else [f"{control_distance:.1%}"])]

    blocks: list[PageBlock] = [
        plain_table(
            ["column", "synthetic records", *control_head],
            [
                row(name, distance, None if control_fit is None else control_fit.columns[name])
                for name, distance in sorted(fit.columns.items(), key=lambda pair: -pair[1])
            ],
        )
    ]
    if fit.pairs:
        blocks += [
            block("title", text="Pairs of columns that fit worst"),
            plain_table(
                ["columns", "synthetic records", *control_head],
                [
                    row(f"{pair[0]}, {pair[1]}", distance, None if control_fit is None else control_fit.pairs[pair])
                    for pair, distance in fit.worst_pairs(_PAIRS_SHOWN)
                ],
            ),
        ]
    lead = "Total variation distance to the original table: the share of records that would have to change for both to show the same shares. Numbers are compared by twentieths of the original."
    if control_fit is not None:
        lead += " The control group shows how far other true records are."
    return PageSection("How well the records fit", lead, blocks)
