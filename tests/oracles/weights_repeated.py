"""Weights by the book: a table in which every row stands there as often as its weight says. Shares no code with the product."""

import polars as pl


def repeated(frame: pl.DataFrame, weight: str, unit: int = 1) -> pl.DataFrame:
    """Every row ``unit`` times its weight, which must be a whole number then."""
    rows = [row for row in frame.iter_rows(named=True) for _ in range(round(row[weight] * unit))]
    return pl.DataFrame(rows, schema=frame.schema)


def candidates(frame: pl.DataFrame, quasi: list[str], weight: str) -> dict[tuple, float]:
    """For every combination of quasi values the people that its rows stand for."""
    found: dict[tuple, float] = {}
    for row in frame.iter_rows(named=True):
        key = tuple(row[name] for name in quasi)
        found[key] = found.get(key, 0) + row[weight]
    return found
