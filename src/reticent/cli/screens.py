"""What a release, made or only previewed, looks like on one screen of a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reticent.base.cards import percent, shortened
from reticent.cli.console import table

if TYPE_CHECKING:
    import polars as pl
    from rich.console import Console

    from reticent.core import Groups, Recoding
    from reticent.propose import LowUtility
    from reticent.release import Headline
    from reticent.reports import Analysis
    from reticent.table import Table

_ROWS_LOOKED_AT = 200
_COLUMNS_SHOWN, _LONGEST_CELL = 6, 24
ROWS_SHOWN = 5
_CONCLUSIONS_SHOWN = 6


def show_headline(console: Console, headline: Headline) -> None:
    """The verdict on a release in its colour, and each reason as an item."""
    style = {"holds": "bold green", "holds, but": "bold yellow"}.get(headline.state, "bold red")
    title, *reasons = headline.lines()
    console.print(title, style=style)
    for reason in reasons:
        console.print(reason)


def how_many(rows: int, suppressed: int, groups: Groups | None, waiting: int = 0) -> str:
    """Rows, groups, those left out and those who wait for a later release, as the end of a sentence. Where there are no groups, how the rows were made is what was judged."""
    if groups is None:
        return (
            _counted(rows, "row")
            if rows
            else "no row at all: nothing can be shown under this promise. Use coarser cells, or a weaker promise"
        )
    left = f"{suppressed:,} left out" if suppressed else "nobody left out"
    if waiting:
        left = f"{_counted(waiting, 'new row')} waiting for a later release (never tell how many)"
    people = " people" if (groups.people != groups.sizes).any() else ""
    least = f"{int(groups.people.min()):,}{people}"
    return f"{_counted(rows, 'row')} in {_counted(len(groups), 'group')} of at least {least}, {left}"


def _counted(many: int, what: str) -> str:
    return f"{many:,} {what}" if many == 1 else f"{many:,} {what}s"


def show_columns(
    console: Console, losses: Mapping[str, float], recoding: Recoding | None, rows: Table, loss: float | None
) -> None:
    """What each quasi column becomes, by an example of the table itself, and the detail that it gives up."""
    if not losses:
        return
    examples = recoded_examples(recoding, rows)
    cells = [(name, examples.get(name, ""), percent(value)) for name, value in losses.items()]
    total = "" if loss is None else f" ({percent(loss)} of it given up in all, loss {loss:.3f})"
    console.print(table(f"Detail{total}", ("column", "for example", "given up"), cells))


def recoded_examples(recoding: Recoding | None, rows: Table) -> dict[str, str]:
    """For each quasi column a value of the table and what it is published as: ``34 -> 30-39``; a value that changes, if one does."""
    if recoding is None:
        return {}
    columns = list(dict.fromkeys([*rows.quasi, *(() if recoding.exact else recoding.names)]))
    frame = next(iter(rows.held.chunks(columns))).head(_ROWS_LOOKED_AT)
    original = labels = frame
    if not recoding.exact:
        labels, kept = recoding.place(frame, "suppress")
        original = frame.filter(kept)
    found: dict[str, str] = {}
    for name in rows.quasi:
        pairs = [(_short(value), _short(label)) for value, label in zip(original[name], labels[name], strict=True)]
        changed = next((pair for pair in pairs if pair[0] != pair[1]), None)
        if changed is not None:
            found[name] = f"{changed[0]} -> {changed[1]}"
        elif pairs:
            found[name] = f"{pairs[0][0]} (unchanged)"
    return found


def show_conclusions(console: Console, found: Analysis | None) -> None:
    """Which conclusions of regressions change, with coefficients and intervals; nothing where none could be fitted."""
    if found is None or not found.models:
        return
    console.print(found.verdict)
    for each in found.conclusions[:_CONCLUSIONS_SHOWN]:
        console.print(f"  {each.words}")
    if len(found.conclusions) > _CONCLUSIONS_SHOWN:
        console.print(f"  and {len(found.conclusions) - _CONCLUSIONS_SHOWN} more: --json lists all of them")


def show_rows(console: Console, frame: pl.DataFrame) -> None:
    """Some published rows, as many columns as fit."""
    columns: Sequence[str] = frame.columns[:_COLUMNS_SHOWN]
    more = len(frame.columns) - len(columns)
    cells = [[_short(row[name]) for name in columns] for row in frame.iter_rows(named=True)]
    beside = f" ({_counted(more, 'more column')})" if more else ""
    console.print(table(f"{frame.height} of the rows{beside}", columns, cells))


def show_methods(console: Console, compared: Mapping[str, Any] | None) -> None:
    """What each method would cost, as :meth:`reticent.release.MethodComparison.as_dict` says it; the chosen one is marked."""
    if compared is None:
        return
    rows = [
        (
            _described(each["method"]) + (" (chosen)" if place == compared["chosen"] else ""),
            "-" if each["loss"] is None else f"{each['loss']:.3f}",
            ", ".join(each["suppressed_columns"]) or ("-" if each["loss"] is None else "none"),
            "-" if each["left_out"] is None else f"{each['left_out']:,}",
            each["problem"] or ("every row recoded alike" if each["uniform"] else "by group"),
        )
        for place, each in enumerate(compared["methods"])
    ]
    some = f" (a sample of {compared['rows']:,} rows)" if compared["rows"] < compared["total"] else ""
    heads = ("method", "loss", "columns lost", "left out", "analysis")
    console.print(table(f"Methods compared{some}, for your eyes only", heads, rows))


def show_worth(console: Console, worth: LowUtility | None) -> None:
    """Why a release is of little use and what would cost less, in yellow; nothing where it is of use."""
    for words in () if worth is None else worth.words:
        console.print(words, style="yellow")


def _described(method: Mapping[str, Any]) -> str:
    """A method with the parameters that tell candidates apart."""
    told = [str(method[name]) for name in ("values", "split") if name in method]
    if "effort" in method:
        told.append(f"effort {method['effort']}")
    return f"{method['name']} {', '.join(told)}".strip()


def _short(value: Any) -> str:
    return shortened("" if value is None else str(value), _LONGEST_CELL)
