"""Judged columns are held as they are published, whatever type they come in."""

from __future__ import annotations

import datetime
from decimal import Decimal

import polars as pl
import pytest

from reticent.errors import DataError
from reticent.table import Hierarchy, Table

UTC = datetime.UTC


def held(values: pl.Series, hierarchy: Hierarchy | None = None, engine: str = "local") -> pl.Series:
    table = Table(
        pl.DataFrame({"q": values, "s": values}), quasi={"q": hierarchy}, sensitive="s", nulls="category", engine=engine
    )
    return pl.concat([part.frame["q"] for part in table.parts()])


@pytest.mark.parametrize("engine", ["local", "streaming"])
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (pl.Series([0.1, 2.5, None], dtype=pl.Float32), pl.Series([0.1, 2.5, None])),
        (pl.Series([-0.0, 0.0, float("nan")]), pl.Series([0.0, 0.0, None])),
        (pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)), pl.Series([1.5, 2.25])),
        (pl.Series([1, 2**40], dtype=pl.Int128), pl.Series([1, 2**40])),
        (
            pl.Series([datetime.datetime(2024, 1, 1, 3)]).cast(pl.Datetime("ns")),
            pl.Series([datetime.datetime(2024, 1, 1, 3)]),
        ),
        (
            pl.Series([datetime.time(3), datetime.time(3, 0, 0, 500_000)]),
            pl.Series(["03:00:00", "03:00:00.500"]),
        ),
        (
            pl.Series([datetime.datetime(2024, 1, 1, 3, tzinfo=UTC)]),
            pl.Series(["2024-01-01 03:00:00.000000+00:00"]),
        ),
    ],
)
def test_a_column_is_held_in_the_type_that_a_release_publishes(
    given: pl.Series, expected: pl.Series, engine: str
) -> None:
    found = held(given, engine=engine)
    assert found.dtype == expected.dtype
    assert [str(value) for value in found] == [str(value) for value in expected]


def test_a_moment_with_a_zone_becomes_the_local_time_of_its_hierarchy() -> None:
    late = pl.Series([datetime.datetime(2024, 1, 31, 23, 30, tzinfo=UTC)])
    found = held(late, Hierarchy.dates(timezone="Europe/Paris"))
    assert found.to_list() == [datetime.datetime(2024, 2, 1, 0, 30)]


@pytest.mark.parametrize(
    "series", [pl.Series([1, 2**70], dtype=pl.Int128), pl.Series([Decimal("12345678901234567.89")])]
)
def test_a_number_that_would_change_is_refused_with_its_value(series: pl.Series) -> None:
    with pytest.raises(
        DataError, match=r"Column 'q' has the value 1\d+.* more digits than a 64-bit number holds. Read"
    ):
        held(series)


def test_lengths_of_time_are_refused_by_name() -> None:
    with pytest.raises(DataError, match="Column 'q' has type Duration"):
        held(pl.Series([datetime.timedelta(days=1)]))


def test_a_population_is_read_as_the_table_is() -> None:
    moments = pl.DataFrame({"seen": [datetime.datetime(2024, 1, 31, 23, 30, tzinfo=UTC)]})
    table = Table(moments, quasi={"seen": Hierarchy.dates(timezone="Europe/Paris")})
    beside = table.with_population(moments)
    assert beside.population is not None
    assert beside.population["seen"].to_list() == table.frame["seen"].to_list()
