"""What labels mean: each class against its JSON, its leaves and its words."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.errors import DataError
from reticent.table import LeafIndex, Meaning, ValueType
from reticent.table.meaning import Anything, Interval, Missing, Prefix, Value, Values, null_label, texts_of

DAY = datetime.date(2024, 8, 1)
KNOWN = [
    (Value(3), ValueType.INTEGER, {"value": 3}, "3"),
    (Value(2**60), ValueType.UNSIGNED, {"value": str(2**60)}, str(2**60)),
    (Value(DAY), ValueType.DATE, {"value": "2024-08-01"}, "2024-08-01"),
    (Values(("a", "b")), ValueType.TEXT, {"values": ["a", "b"]}, "in {a, b}"),
    (Values(tuple("abcde")), ValueType.TEXT, {"values": list("abcde")}, "in {a, b, c, d, ...}"),
    (Interval(20, 25), ValueType.INTEGER, {"interval": [20, 25], "closed": "left"}, "in [20, 25)"),
    (Interval(None, 2.5, "both"), ValueType.REAL, {"interval": [None, 2.5], "closed": "both"}, "in (-inf, 2.5]"),
    (Prefix("148", 5), ValueType.TEXT, {"prefix": "148", "length": 5}, "148**"),
    (Missing(), ValueType.TEXT, {"null": True}, "missing"),
    (Anything(), ValueType.BOOLEAN, {"all": True}, "anything"),
]


@pytest.mark.parametrize(("meaning", "kind", "plain", "words"), KNOWN, ids=[str(each[0]) for each in KNOWN])
def test_a_meaning_is_written_and_read_back(meaning: Meaning, kind: ValueType, plain: dict, words: str) -> None:
    assert meaning.as_json() == plain
    assert Meaning.read(plain, kind, "here") == meaning
    assert meaning.words() == words


values = st.one_of(
    st.tuples(st.just(ValueType.INTEGER), st.integers(-(2**63), 2**63 - 1)),
    st.tuples(st.just(ValueType.REAL), st.floats(allow_nan=False)),
    st.tuples(st.just(ValueType.TEXT), st.text()),
    st.tuples(st.just(ValueType.BOOLEAN), st.booleans()),
    st.tuples(st.just(ValueType.DATE), st.dates()),
    st.tuples(st.just(ValueType.DATETIME), st.datetimes()),
)


@given(values)
def test_every_value_comes_back_from_json_with_its_type(drawn: tuple[ValueType, object]) -> None:
    kind, value = drawn
    for meaning in (Value(value), Values((value, value)), Interval(value, None)):
        back = Meaning.read(meaning.as_json(), kind, "here")
        assert back == meaning
        assert [type(each) for each in back.written()] == [type(value)] * len(back.written())


@pytest.mark.parametrize(
    "given",
    [
        {"colour": "red"}, {}, [], None, 3, {"value": "x"}, {"values": []}, {"values": 3}, {"value": 1, "values": [1]}, {"null": False},
        {"interval": [1, 2]}, {"interval": [2, 1], "closed": "left"}, {"interval": [1], "closed": "left"}, {"interval": [1, 2], "closed": "up"},
        {"prefix": 1, "length": 2}, {"prefix": "1", "length": True}, {"prefix": "1"},
    ],
)  # fmt: skip
def test_what_is_no_meaning_is_refused_with_its_place(given: object) -> None:
    with pytest.raises(DataError, match="label 'x' is not a known meaning"):
        Meaning.read(given, ValueType.INTEGER, "manifest.json: the meaning of label 'x'")


def test_one_and_true_are_different_meanings() -> None:
    assert Value(1) != Value(True)
    assert len({Value(1), Value(1.0), Value(True), Value("1")}) == 3
    assert len({Values((1, 2)), Values((1, 2)), Interval(1, 2), Missing(), Missing()}) == 3


def test_labels_that_can_be_written_in_one_way_only_are_known() -> None:
    kinds = [
        Value(7),
        Interval(1, 2),
        Interval(None, 2),
        Interval(3, None, "both"),
        Prefix("1", 3),
        Missing(),
        Anything(),
        Values((1,)),
    ]
    expected = ["7", "[1, 2)", "< 2", ">= 3", "1**", "(missing)", None, None]
    assert texts_of(kinds, ValueType.INTEGER) == expected
    assert [each.label(ValueType.INTEGER) for each in kinds] == expected
    assert Interval(1, 2).label(ValueType.REAL) is None
    assert texts_of([Value(0.1), Value(True)], ValueType.REAL)[0] == "0.1"


def test_the_leaves_under_a_meaning_are_found() -> None:
    index = LeafIndex.of(pl.Series([14, 3, None, 140, 149, 20]), "column")
    assert Values((3, 20, 5)).covers(index).tolist() == [1, 5]
    assert sorted(Interval(14, 140, "both").covers(index).tolist()) == [0, 3, 5]
    assert sorted(Prefix("14", 3).covers(index).tolist()) == [3, 4]
    assert Missing().covers(index).tolist() == [2]
    assert len(Anything().covers(index)) == 6
    with pytest.raises(DataError, match="covers no value"):
        index.under(Value(99))


def test_the_label_of_missing_values_may_be_marked() -> None:
    assert null_label({"(missing)": Value("(missing)"), "(missing)'": Missing()}) == "(missing)'"
    assert null_label({}) == "(missing)"


@pytest.mark.parametrize(
    ("dtype", "compared", "published"),
    [
        (pl.UInt64(), "integer", "unsigned"), (pl.Int8(), "integer", "integer"), (pl.Float32(), "real", "real"), (pl.String(), "text", "text"),
        (pl.Categorical(), "text", "text"), (pl.Boolean(), "boolean", "boolean"), (pl.Date(), "date", "date"), (pl.Datetime("ms"), "datetime", "datetime"),
        (pl.Datetime("us", "UTC"), "datetime", "text"),
    ],
)  # fmt: skip
def test_there_is_one_list_of_types(dtype: pl.DataType, compared: str, published: str) -> None:
    assert ValueType.of(dtype) == compared
    assert ValueType.published(dtype) == published
    assert ValueType.published(dtype).compared in (compared, "text")


def test_types_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(DataError, match="conditions cannot use"):
        ValueType.of(pl.Duration(), "column")
