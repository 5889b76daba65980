"""Coarser numbers and dates: shared by several people, of the column's own type, and alike for later rows."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.table import Coarsening, Table, coarsening_from

NUMBERS = st.lists(st.one_of(st.none(), st.integers(-(10**9), 10**9)), min_size=20, max_size=80).filter(
    lambda values: sum(value is not None for value in values) >= 10
)


def coarse(description: dict[str, Any], values: Sequence[Any]) -> list[Any]:
    series = pl.Series("v", values)
    fitted = coarsening_from(description).fitted(series)
    return fitted.of(series).cast(fitted.type_of(series.dtype)).to_list()


@given(values=NUMBERS, step=st.sampled_from([1, 5, 1000, 25]))
def test_rounded_numbers_are_the_nearest_multiples(values: list[int | None], step: int) -> None:
    for value, rounded in zip(values, coarse({"kind": "round", "to": step}, values), strict=True):
        assert (value is None) == (rounded is None)
        if value is not None:
            assert rounded % step == 0
            assert 2 * abs(rounded - value) <= step


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.UInt32, pl.Int64, pl.UInt64])
@pytest.mark.parametrize(
    "description",
    [{"kind": "round", "to": 1000}, {"kind": "digits", "digits": 2}, {"kind": "microaggregate", "size": 5}],
)
def test_numbers_at_the_ends_of_their_type_are_coarsened(dtype: Any, description: dict[str, Any]) -> None:
    least, largest = pl.select(least=dtype.min(), largest=dtype.max()).row(0)
    values = pl.Series("v", [least] * 6 + [0] * 6 + [largest] * 6, dtype=dtype)
    table = Table(
        pl.DataFrame({"q": ["a"] * 18, "v": values}),
        quasi=["q"],
        declared={"v": "nobody knows it"},
        coarsen={"v": description},
    )
    shown = table.frame["v"].to_list()
    for value, coarser in zip(values, shown, strict=True):
        assert abs(coarser - value) <= max(500, abs(value) / 20)


def test_a_rounded_decimal_is_written_short() -> None:
    assert coarse({"kind": "round", "to": 0.1}, [0.31, 0.299, 2.96]) == [0.3, 0.3, 3.0]
    assert coarse({"kind": "round", "to": "1/4"}, [0.31, 0.9]) == [0.25, 1.0]


def test_the_ends_are_coded_together() -> None:
    assert coarse({"kind": "round", "to": 10, "bottom": 20, "top": 50}, [1, 24, 49, 900]) == [20, 20, 50, 50]


@given(
    values=st.lists(st.floats(-1e12, 1e12).filter(lambda v: v == 0 or abs(v) > 1e-6), min_size=1, max_size=50),
    digits=st.integers(1, 4),
)
def test_significant_digits_err_by_half_a_unit_of_the_last_at_most(values: list[float], digits: int) -> None:
    for value, rounded in zip(values, coarse({"kind": "digits", "digits": digits}, values), strict=True):
        assert abs(rounded - value) <= abs(value) * 10.0 ** (1 - digits) * 0.5001
        assert len(Decimal(repr(rounded)).normalize().as_tuple().digits) <= digits


@given(values=NUMBERS, size=st.integers(2, 5))
def test_whoever_is_microaggregated_shares_the_value(values: list[int | None], size: int) -> None:
    shown = pl.Series(coarse({"kind": "microaggregate", "size": size}, values)).drop_nulls()
    assert shown.value_counts()["count"].min() >= size
    assert (
        pl.Series(values).is_null().to_list()
        == pl.Series(coarse({"kind": "microaggregate", "size": size}, values)).is_null().to_list()
    )


@given(values=NUMBERS)
def test_microaggregation_keeps_the_order(values: list[int | None]) -> None:
    pairs = [(v, s) for v, s in zip(values, coarse({"kind": "microaggregate"}, values), strict=True) if v is not None]
    shown = [s for _, s in sorted(pairs)]
    assert shown == sorted(shown)


def test_bins_are_ranges_and_dates_are_beginnings() -> None:
    assert coarse({"kind": "bins", "edges": [10, 20]}, [5, 10, 25, None]) == ["< 10", "[10, 20)", ">= 20", None]
    day = datetime.date(1967, 8, 17)
    for unit, first in [("month", (8, 1)), ("quarter", (7, 1)), ("year", (1, 1)), ("week", (8, 14))]:
        assert coarse({"kind": "calendar", "unit": unit}, [day, None]) == [datetime.date(1967, *first), None]
    assert coarse({"kind": "calendar", "unit": "decade"}, [day]) == [datetime.date(1960, 1, 1)]
    moment = datetime.datetime(1967, 8, 17, 14, 35)
    assert coarse({"kind": "calendar", "unit": "hour"}, [moment]) == [moment.replace(minute=0)]
    assert coarse({"kind": "calendar", "unit": "decade"}, [moment]) == [datetime.datetime(1960, 1, 1)]


@pytest.mark.parametrize(
    ("description", "words"),
    [
        ({"kind": "rond", "to": 5}, "Did you mean 'round'"),
        ({"kind": "round"}, "needs the field 'to'"),
        ({"kind": "round", "to": 0}, "must be positive"),
        ({"kind": "round", "to": 5, "botom": 1}, "Did you mean 'bottom'"),
        ({"kind": "round", "to": 5, "bottom": 9, "top": 1}, "bottom must be below top"),
        ({"kind": "digits", "digits": 0}, "at least 1"),
        ({"kind": "bins", "edges": [3, 1]}, "ascending"),
        ({"kind": "calendar", "unit": "moon"}, "must be one of"),
        ({"kind": "microaggregate", "size": 1}, "at least 2"),
    ],
)
def test_a_wrong_coarsening_is_refused_by_the_field(description: dict[str, Any], words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        coarsening_from(description)


def test_a_coarsening_for_another_type_or_role_is_refused() -> None:
    frame = pl.DataFrame({"a": ["x"] * 10, "b": range(10)})
    with pytest.raises(DataError, match="is for numbers"):
        Table(frame, quasi=["b"], sensitive="a", coarsen={"a": {"kind": "round", "to": 5}})
    with pytest.raises(DataError, match="is for dates"):
        Table(frame, quasi=["a"], sensitive="b", coarsen={"b": {"kind": "calendar", "unit": "year"}})
    with pytest.raises(PolicyError, match="neither sensitive nor declared"):
        Table(frame, quasi=["a"], coarsen={"a": {"kind": "round", "to": 5}})


def people(rows: int = 60) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sex": ["f", "m"] * (rows // 2),
            "pay": [1000.0 + 37 * i for i in range(rows)],
            "seen": [i * 3 for i in range(rows)],
        }
    )


def published(coarsen: dict[str, Any], **more: Any) -> rt.Release:
    return rt.publish(
        rt.Table(
            people(), quasi=["sex"], sensitive="pay", declared={"seen": "nobody knows it"}, coarsen=coarsen, **more
        ),
        rt.KAnonymity(5),
    )


def test_a_release_shows_coarser_values_and_says_so(tmp_path: Path) -> None:
    release = published({"pay": {"kind": "digits", "digits": 1}, "seen": {"kind": "microaggregate", "size": 6}})
    assert set(release.frame["pay"]) == {1000.0, 2000.0, 3000.0}
    assert release.frame["seen"].value_counts()["count"].min() >= 6
    release.save(tmp_path / "out")
    assert rt.verify(tmp_path / "out").holds
    statement = " ".join((tmp_path / "out/public/STATEMENT.txt").read_text().split())
    assert "'pay' is rounded to 1 significant digit" in statement
    assert "middle of 6 or more neighbouring values" in statement
    assert "one record's own" not in statement
    # The edges of the stretches are values of people.
    assert "edges" not in (tmp_path / "out/public/manifest.json").read_text()


def test_exact_numbers_are_a_residual_risk_with_their_share() -> None:
    risks = " ".join(published({"pay": {"kind": "digits", "digits": 1}}).certificate["residual_risks"])
    assert "'seen' (100.0 % of the rows)" in risks
    assert "'pay' (" not in risks


def test_later_rows_are_coarsened_alike(tmp_path: Path) -> None:
    release = published({"pay": {"kind": "round", "to": 500}, "seen": {"kind": "microaggregate", "size": 6}})
    release.save(tmp_path / "out")
    for scheme in (release, tmp_path / "out"):
        again = rt.apply(scheme, people())
        assert sorted(again.rows()) == sorted(release.frame.rows())


def test_a_streamed_table_is_coarsened_value_by_value() -> None:
    table = rt.Table(
        people().lazy(),
        quasi=["sex"],
        sensitive="pay",
        engine="streaming",
        coarsen={"pay": {"kind": "round", "to": 500}},
    )
    assert {value for chunk in table.held.chunks(["pay"]) for value in chunk["pay"]} <= {500.0 * i for i in range(20)}
    with pytest.raises(PolicyError, match="microaggregation needs all rows in memory"):
        rt.Table(
            people().lazy(),
            quasi=["sex"],
            sensitive="pay",
            engine="streaming",
            coarsen={"pay": {"kind": "microaggregate"}},
        )


def test_a_weight_is_published_when_it_is_wanted_rounded_and_named() -> None:
    frame = people().with_columns(w=pl.int_range(0, 60) * 7 + 101)
    table = rt.Table(
        frame, quasi=["sex"], declared={"w": "nobody knows it"}, weight="w", coarsen={"w": {"kind": "round", "to": 100}}
    )
    release = rt.publish(table, rt.KAnonymity(5))
    assert set(release.frame["w"]) == {100, 200, 300, 400, 500}
    assert "'w'" in " ".join(release.certificate["residual_risks"])


def test_every_kind_reads_what_it_describes() -> None:
    series = pl.Series("v", range(50))
    for description in (
        {"kind": "round", "to": 5, "bottom": 3},
        {"kind": "digits", "digits": 2, "top": 40},
        {"kind": "bins", "edges": [1, 2]},
        {"kind": "microaggregate", "size": 4},
    ):
        fitted: Coarsening = coarsening_from(description).fitted(series)
        assert coarsening_from(fitted.describe()).of(series).equals(fitted.of(series))
        assert coarsening_from(fitted.told()) == coarsening_from(description)
