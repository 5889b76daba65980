"""A change feed: the changes of a table since its last release, one row per change, instead of the whole table."""

from __future__ import annotations

import polars as pl

from reticent.errors import DataError, did_you_mean

CHANGE = "change"
"""Column that names the kind of change: insert, update or delete."""
_KINDS = ("insert", "update", "delete")


def with_changes(table: pl.DataFrame, feed: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return a table after the changes of a ``feed``, at most one per person: inserted rows, updated rows (complete), and deleted keys."""
    required_columns = [CHANGE, *table.columns]
    missing = [name for name in required_columns if name not in feed.columns]
    if missing:
        raise DataError(
            f"The changes have no column {missing[0]!r}. They need: {', '.join(required_columns)}.", column=missing[0]
        )
    kinds = feed[CHANGE].cast(pl.String)
    wrong = kinds.filter(~kinds.is_in(_KINDS).fill_null(False))
    if len(wrong):
        wrong_kind = str(wrong[0])
        raise DataError(
            f"A row of the changes has the kind {wrong_kind!r}.{did_you_mean(wrong_kind, _KINDS)} It must be insert, update or delete.",
            column=CHANGE,
            value=wrong[0],
        )
    is_repeated = feed[key].is_duplicated()
    if is_repeated.any():
        raise DataError(
            f"{feed[key].filter(is_repeated)[0]!r} has several changes. Give one change per person and release: the last state.",
            column=key,
        )
    rows = feed.select(table.columns).cast(table.schema)
    is_present = feed[key].cast(table.schema[key]).is_in(table[key].implode())
    for kind, must_be_present, problem in (
        ("insert", True, "is inserted, but is in the table already; use update"),
        ("update", False, "is updated, but is not in the table; use insert"),
        ("delete", False, "is deleted, but is not in the table"),
    ):
        wrong_rows = feed.filter((kinds == kind) & (is_present if must_be_present else ~is_present))
        if wrong_rows.height:
            raise DataError(f"{wrong_rows[key][0]!r} {problem}.", column=key, value=wrong_rows[key][0])
    unchanged = table.join(rows.select(key), on=key, how="anti")
    return pl.concat([unchanged, rows.filter(kinds != "delete")])
