"""Hierarchies: total, disjoint, nested, exact; and what is not is refused with the value and the level."""

from __future__ import annotations

import datetime
import gzip
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.exact import exact
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.table import BoundHierarchy, Hierarchy
from reticent.table.meaning import Anything, Interval, Missing, Values
from tests.sampling import examples


def bound(hierarchy: Hierarchy, values: list[Any], dtype: Any = None) -> BoundHierarchy:
    return hierarchy.bind(pl.Series("x", values, dtype=dtype), "x")


def labels(hierarchy: Hierarchy, values: list[Any], level: int, dtype: Any = None) -> list[str]:
    fitted = bound(hierarchy, values, dtype)
    chosen = fitted.levels[level]
    return [chosen.labels[part] for part in chosen.parts[fitted.codes(pl.Series("x", values, dtype=dtype))]]


def test_intervals_count_from_their_origin() -> None:
    ages = Hierarchy.intervals(widths=[5, 10], origin=2)
    assert labels(ages, [2, 6, 7, 1, -3], 1) == ["[2, 7)", "[2, 7)", "[7, 12)", "[-3, 2)", "[-3, 2)"]
    assert labels(ages, [2, 6, 7, 1, -3], 2) == ["[2, 12)", "[2, 12)", "[2, 12)", "[-8, 2)", "[-8, 2)"]
    assert labels(ages, [2, 6], 3) == ["*", "*"]


def test_a_declared_domain_gives_the_leaves() -> None:
    fitted = bound(Hierarchy.intervals(widths=[5], domain=(17, 90)), [20, 30])
    assert (fitted.size, fitted.data_dependent) == (74, False)
    assert bound(Hierarchy.intervals(widths=[5]), [20, 30]).data_dependent


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt8, pl.Int16, pl.Int32])
def test_a_domain_may_be_wider_than_the_type_of_the_column(dtype: Any) -> None:
    assert labels(Hierarchy.intervals(widths=[100], domain=(-500, 500)), [0, 99, 100], 1, dtype) == [
        "[0, 100)",
        "[0, 100)",
        "[100, 200)",
    ]


def test_intervals_are_exact_where_floats_are_not() -> None:
    tenths = Hierarchy.intervals(widths=["0.1"])
    assert labels(tenths, [0.1, 0.2, 0.3, 0.7, 0.8], 1) == [
        "[0.1, 0.2)",
        "[0.2, 0.3)",
        "[0.3, 0.4)",
        "[0.7, 0.8)",
        "[0.8, 0.9)",
    ]
    last = 2**63 - 1
    assert labels(Hierarchy.intervals(widths=[2]), [last, last - 1, -(2**63)], 1) == [
        f"[{last - 1}, {last + 1})",
        f"[{last - 1}, {last + 1})",
        f"[{-(2**63)}, {-(2**63) + 2})",
    ]
    assert labels(Hierarchy.intervals(widths=[10]), [2**64 - 1], 1, pl.UInt64) == [f"[{2**64 - 6}, {2**64 + 4})"]


def test_cut_points_are_exact_where_floats_are_not() -> None:
    big = 2**53
    assert labels(Hierarchy.cuts([[big + 1]]), [big, big + 1, big + 2], 1) == [
        f"< {big + 1}",
        f">= {big + 1}",
        f">= {big + 1}",
    ]
    assert labels(Hierarchy.cuts([["1/3"]]), [0.3333333333333333, 0.3333333333333334], 1)[0].startswith("<")
    assert labels(Hierarchy.cuts([[18, 65], [18]]), [17, 18, 64, 65], 1) == ["< 18", "[18, 65)", "[18, 65)", ">= 65"]


@examples(80)
@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8, unique=True),
    width=st.fractions(min_value=Fraction(1, 7), max_value=10**6, max_denominator=7),
    origin=st.fractions(min_value=-(10**3), max_value=10**3, max_denominator=5),
)
def test_every_integer_lies_in_its_interval(values: list[int], width: Fraction, origin: Fraction) -> None:
    fitted = bound(Hierarchy.intervals(widths=[str(width)], origin=str(origin)), values)
    numbers = [(value - origin) // width for value in sorted(values)]
    together = dict(zip(numbers, fitted.levels[1].parts.tolist(), strict=True))
    assert [together[number] for number in numbers] == fitted.levels[1].parts.tolist()
    assert len(set(together.values())) == len(together)


def test_codes_are_masked_from_the_right() -> None:
    zips = Hierarchy.masking(digits=5)
    assert [labels(zips, ["14853"], level)[0] for level in range(6)] == [
        "14853",
        "1485*",
        "148**",
        "14***",
        "1****",
        "*",
    ]
    assert labels(Hierarchy.masking(digits=5, keep=[5, 3]), ["14853"], 1) == ["148**"]
    assert labels(zips, [2138], 1) == ["0213*"]
    with pytest.raises(DataError, match="'148' does not have the 5 characters"):
        bound(zips, ["14853", "148"])


def test_dates_go_to_calendar_units() -> None:
    day = datetime.date(2024, 8, 15)
    dates = Hierarchy.dates(levels=["month", "quarter", "half", "year", "decade"])
    assert [labels(dates, [day], level)[0] for level in range(1, 7)] == [
        "2024-08",
        "2024-Q3",
        "2024-H2",
        "2024",
        "2020s",
        "*",
    ]
    assert bound(dates, [day]).levels[1].meanings[0] == Interval(datetime.date(2024, 8, 1), datetime.date(2024, 9, 1))


def test_the_ends_of_the_calendar_are_open() -> None:
    fitted = bound(Hierarchy.dates(levels=["month", "decade"]), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31)])
    assert fitted.levels[1].meanings[1] == Interval(datetime.date(9999, 12, 1), None)
    assert fitted.levels[2].meanings[0] == Interval(None, datetime.date(10, 1, 1))


def test_a_timestamp_needs_to_know_where_a_day_begins() -> None:
    late = datetime.datetime(2024, 1, 1, 23, 30, tzinfo=datetime.UTC)
    with pytest.raises(DataError, match="holds timestamps: pass timezone="):
        bound(Hierarchy.dates(), [late])
    assert labels(Hierarchy.dates(timezone="Europe/Paris"), [late], 1) == ["2024-01-02"]
    assert labels(Hierarchy.dates(timezone="UTC"), [late], 1) == ["2024-01-01"]


def test_a_taxonomy_may_be_deeper_here_than_there(tmp_path: Path) -> None:
    tree = {"Europe": {"North": ["Norway", "Sweden"], "Malta": ["Malta"]}, "other": ["Nowhere"]}
    countries = Hierarchy.taxonomy(tree)
    values = ["Norway", "Sweden", "Malta", "Nowhere"]
    assert labels(countries, values, 1) == ["North", "North", "Malta", "Nowhere"]
    assert labels(countries, values, 2) == ["Europe", "Europe", "Europe", "other"]
    (tmp_path / "t.json").write_text(json.dumps(tree))
    (tmp_path / "t.toml").write_text('other = ["Nowhere"]\n[Europe]\nNorth = ["Norway", "Sweden"]\nMalta = ["Malta"]\n')
    for name in ("t.json", "t.toml"):
        assert sorted(labels(Hierarchy.taxonomy(tmp_path / name), values, 2)) == ["Europe", "Europe", "Europe", "other"]


def test_arx_files_are_read_as_they_are(tmp_path: Path) -> None:
    content = 'Paris;"North; West";*\r\nRome;South;*\r\n'.encode("utf-8-sig")
    (tmp_path / "h.csv").write_bytes(content)
    (tmp_path / "h.csv.gz").write_bytes(gzip.compress(content))
    for name in ("h.csv", "h.csv.gz"):
        assert labels(Hierarchy.from_csv(tmp_path / name), ["Rome", "Paris"], 1) == ["South", "North; West"]


def test_every_shared_hierarchy_file_is_read(shared_data: Path) -> None:
    files = sorted(shared_data.glob("*/*_hierarchy_*.csv*"))
    assert len(files) > 60
    for path in files:
        hierarchy = Hierarchy.from_csv(path)
        assert hierarchy.describe()["kind"] == "listed"


def test_leaf_text_is_read_as_the_type_of_the_column() -> None:
    rows = [["17", "young"], ["90", "old"]]
    assert labels(Hierarchy.listed(rows), [17, 90], 1) == ["young", "old"]
    assert labels(Hierarchy.listed(rows), ["17"], 1) == ["young"]
    assert labels(Hierarchy.listed([["true", "x"], ["false", "x"]]), [True, False], 1) == ["x", "x"]
    assert labels(Hierarchy.listed([["2024-01-31", "x"]]), [datetime.date(2024, 1, 31)], 1) == ["x"]
    moment = datetime.datetime(2024, 1, 31, 5)
    assert labels(Hierarchy.listed([["2024-01-31 05:00:00", "x"]]), [moment], 1) == ["x"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Hierarchy.listed([]), "the listed hierarchy has no rows."),
        (lambda: Hierarchy.listed([["a", "x"], ["b"]]), "line 2: 1 levels where line 1 has 2."),
        (lambda: Hierarchy.listed([["a", "x"], ["a", "y"]]), "line 2: the value 'a' is listed a second time."),
        (
            lambda: bound(Hierarchy.listed([["a", "x", "1"], ["b", "x", "2"]]), ["a"]),
            "does not nest: at level 2, value 'b' falls into '2', but others that share 'x' with it at level 1 fall into '1'.",
        ),
        (
            lambda: bound(Hierarchy.listed([["one", "x"]]), [1]),
            "'one' cannot be read as Int64, the type of the column.",
        ),
        (lambda: bound(Hierarchy.listed([["1", "x"], ["01", "x"]]), [1]), "'1' occurs twice once it is read as Int64."),
        (lambda: Hierarchy.from_csv("/nowhere/h.csv"), "There is no hierarchy file '/nowhere/h.csv'."),
        (lambda: Hierarchy.intervals(widths=[]), "widths is empty."),
        (lambda: Hierarchy.intervals(widths=[5, 12]), "width 12 is not a multiple of width 5"),
        (lambda: Hierarchy.intervals(widths=[0]), "a width of 0 is not positive"),
        (lambda: Hierarchy.intervals(widths=["x"]), "widths must be a number"),
        (lambda: Hierarchy.intervals(widths=[5], domain=(9, 1)), "domain must be a pair (lowest, highest)"),
        (
            lambda: bound(Hierarchy.intervals(widths=[5], domain=(0, 10**12)), [1]),
            "The declared domain of column 'x' has 1000000000001 values, more than 5000000.",
        ),
        (
            lambda: bound(Hierarchy.intervals(widths=[5], domain=("1/3", "2/3")), [1]),
            "The declared domain of column 'x', 1/3 to 2/3, holds no whole number.",
        ),
        (
            lambda: bound(Hierarchy.intervals(widths=[5]), ["a"]),
            "Column 'x' has type String, but its hierarchy is made of",
        ),
        (
            lambda: bound(Hierarchy.intervals(widths=[5]), [1.0, float("inf")]),
            "Column 'x' has the value inf, which is in no",
        ),
        (
            lambda: bound(Hierarchy.intervals(widths=[5], domain=(0, 1)), [0.5, 1.5]),
            "the value 1.5, outside its declared",
        ),
        (lambda: Hierarchy.cuts([]), "cuts: no level given."),
        (lambda: Hierarchy.cuts([[2, 1]]), "must be ascending"),
        (lambda: Hierarchy.cuts([[1, 2], [3]]), "point 3 is not among those of level 1, so the levels do not nest."),
        (lambda: Hierarchy.masking(digits=0), "masking: digits must be at least 1, but it is 0."),
        (
            lambda: Hierarchy.masking(digits=5, keep=[]),
            "masking: keep must begin with the 5 characters of a code and descend to at least 0, but it is [].",
        ),
        (
            lambda: Hierarchy.masking(digits=5, keep=[5, 5]),
            "keep must begin with the 5 characters of a code and descend",
        ),
        (lambda: Hierarchy.dates(levels=["eon"]), "dates: 'eon' is not one of hour, day, week, month,"),
        (lambda: Hierarchy.dates(levels=["year", "month"]), "dates: levels must grow coarser"),
        (lambda: Hierarchy.dates(domain=("2024-12-31", "2024-01-01")), "domain must be a pair (first, last)"),
        (lambda: Hierarchy.dates(domain=("soon", "later")), "the domain bound 'soon' is not a day such as 2024-01-31."),
        (lambda: Hierarchy.dates(timezone="Mars/Base"), "there is no timezone 'Mars/Base'."),
        (lambda: bound(Hierarchy.dates(), ["2024"]), "Column 'x' has type String, not dates."),
        (lambda: Hierarchy.taxonomy({}), "the taxonomy has no leaves."),
        (lambda: Hierarchy.taxonomy({"a": ["x"], "b": ["x"]}), "the value 'x' occurs twice."),
        (lambda: Hierarchy.taxonomy({"a": 3}), "'a' must hold categories or a list of values, but it is 3."),
        (lambda: bound(Hierarchy.suppression(domain=["a", "a"]), ["a"]), "'a' occurs twice. Keep one of the two."),
        (lambda: labels(Hierarchy.suppression(domain=["a"]), ["b"], 1), "Column 'x' has the value 'b' (row 1)"),
    ],
)
def test_what_is_no_hierarchy_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ReticentError) as caught:
        make()
    assert message in str(caught.value)
    assert isinstance(caught.value, DataError | PolicyError)


_kinds = st.sampled_from(
    [
        (Hierarchy.intervals(widths=[2, 4, 8]), st.integers(-20, 20)),
        (Hierarchy.intervals(widths=["0.5", 1]), st.floats(-5, 5)),
        (Hierarchy.cuts([[-5, 0, 5], [0]]), st.integers(-9, 9)),
        (Hierarchy.masking(digits=3), st.text("abc", min_size=3, max_size=3)),
        (
            Hierarchy.dates(levels=["month", "quarter", "half", "year", "decade"]),
            st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
        ),
        (Hierarchy.suppression(), st.text(max_size=3)),
    ]
)


@examples(80)
@given(data=st.data(), kind=_kinds)
def test_every_kind_is_total_disjoint_and_nested(data: st.DataObject, kind: tuple[Hierarchy, Any]) -> None:
    hierarchy, values = kind
    rows = data.draw(st.lists(values, min_size=1, max_size=12))
    fitted = bound(hierarchy, rows)
    codes = fitted.codes(pl.Series("x", rows))
    assert [fitted.leaves[int(code)] for code in codes] == rows
    for low in range(fitted.height + 1):
        level = fitted.levels[low]
        assert set(level.parts.tolist()) == set(range(level.size))
        assert len(set(level.labels)) == level.size
        assert fitted.cover(low).sum() == fitted.size
        for high in range(low, fitted.height + 1):
            assert np.array_equal(fitted.between(low, high)[level.parts], fitted.levels[high].parts)
    assert fitted.levels[-1].size == 1


def test_a_part_that_covers_every_value_does_not_cover_missing_ones_below_the_top():
    rows = [["a", "any", "*"], ["b", "any", "*"]]
    bound = Hierarchy.listed(rows).bind(pl.Series(["a", "b"]), "q").with_null_leaf()
    assert [level.meanings for level in bound.levels[1:]] == [
        (Values(("a", "b")), Missing()),
        (Anything(),),
    ]


@given(
    st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=1, max_size=30),
    st.sampled_from(["0.1", "0.3", "5", "1000"]),
    st.sampled_from(["0", "0.05", "-7"]),
)
def test_floats_fall_into_the_interval_that_their_decimals_say(drawn: list[float], width: str, origin: str) -> None:
    """Values at the ends of intervals, too: 0.3 lies in [0.3, 0.6), although 0.3 / 0.1 is below 3 in floats."""
    step, start = Fraction(width), Fraction(origin)
    values = [*drawn, *(float(start + number * step) for number in range(-5, 6))]
    bound = Hierarchy.intervals([width], origin=origin).bind(pl.Series("x", values), "x")
    level = bound.levels[1]
    for leaf, part in zip(bound.leaves.to_list(), level.parts.tolist(), strict=True):
        low = (exact(leaf, "leaf") - start) // step * step + start
        assert exact(level.meanings[part].low, "low") == low  # type: ignore[attr-defined]  # an interval
