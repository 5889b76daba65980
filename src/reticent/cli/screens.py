"""Parts of the cards of drafted and published releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reticent.base.cards import CardTable, percent, shortened

if TYPE_CHECKING:
    import polars as pl

    from reticent.core import Groups, Recoding
    from reticent.reports import Analysis
    from reticent.table import Table

_ROWS_LOOKED_AT = 200
_COLUMNS_SHOWN, _LONGEST_CELL = 6, 24
ROWS_SHOWN = 5
_CONCLUSIONS_SHOWN = 6


def how_many(rows: int, suppressed: int, groups: Groups | None, waiting: int = 0) -> str:
    """Return rows, groups, suppressed rows and rows waiting for a later release, as the end of a sentence. Without
    groups, only the rows are counted: the sampling was judged, not the groups.
    """
    if groups is None:
        return (
            _count_in_words(rows, "row")
            if rows
            else "no rows: nothing can be published under this definition. Use coarser cells or a weaker definition"
        )
    remainder = f"{suppressed:,} suppressed" if suppressed else "none suppressed"
    if waiting:
        remainder = f"{_count_in_words(waiting, 'new row')} waiting for a later release (do not publish this number)"
    people = " people" if (groups.people != groups.sizes).any() else ""
    smallest_group = f"{int(groups.people.min()):,}{people}"
    return f"{_count_in_words(rows, 'row')} in {_count_in_words(len(groups), 'group')} of at least {smallest_group}, {remainder}"


def _count_in_words(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def columns_table(losses: Mapping[str, float], recoding: Recoding | None, rows: Table, loss: float | None) -> CardTable:
    """Return a table of the quasi-identifiers: an example of the recoding from the table itself, and the information loss."""
    examples = recoded_examples(recoding, rows) if losses else {}
    cells = [(name, examples.get(name, ""), percent(value)) for name, value in losses.items()]
    total = "" if loss is None else f" ({percent(loss)} lost overall, loss {loss:.3f})"
    return CardTable(("column", "for example", "given up"), cells, f"Detail{total}")


def recoded_examples(recoding: Recoding | None, rows: Table) -> dict[str, str]:
    """Return an example per quasi-identifier, ``34 -> 30-39``: a value of the table and its published form, if possible one that changes."""
    if recoding is None:
        return {}
    columns = list(dict.fromkeys([*rows.quasi, *(() if recoding.exact else recoding.names)]))
    frame = next(iter(rows.held.chunks(columns))).head(_ROWS_LOOKED_AT)
    original = labels = frame
    if not recoding.exact:
        labels, is_kept = recoding.place(frame, "suppress")
        original = frame.filter(is_kept)
    examples: dict[str, str] = {}
    for name in rows.quasi:
        pairs = [(_short(value), _short(label)) for value, label in zip(original[name], labels[name], strict=True)]
        changed = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if changed is not None:
            examples[name] = f"{changed[0]} -> {changed[1]}"
        elif pairs:
            examples[name] = f"{pairs[0][0]} (unchanged)"
    return examples


def conclusions(analysis: Analysis | None) -> list[str]:
    """Return which conclusions of regressions change, with coefficients and intervals; empty if none could be fitted."""
    if analysis is None or not analysis.models:
        return []
    more = len(analysis.conclusions) - _CONCLUSIONS_SHOWN
    return [
        analysis.verdict,
        *(f"  {conclusion.words}" for conclusion in analysis.conclusions[:_CONCLUSIONS_SHOWN]),
        *([f"  and {more} more: --json lists all of them"] if more > 0 else []),
    ]


def rows_table(frame: pl.DataFrame) -> CardTable:
    """Return a table of some published rows, with as many columns as fit."""
    columns: Sequence[str] = frame.columns[:_COLUMNS_SHOWN]
    more = len(frame.columns) - len(columns)
    cells = [[_short(row[name]) for name in columns] for row in frame.iter_rows(named=True)]
    beside = f" ({_count_in_words(more, 'more column')})" if more else ""
    return CardTable(columns, cells, f"{frame.height} of the rows{beside}")


def _short(value: Any) -> str:
    return shortened("" if value is None else str(value), _LONGEST_CELL)
