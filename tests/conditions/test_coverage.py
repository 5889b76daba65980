"""What a condition covers of a region: none, some or all of it, and the share, beside brute force over every leaf."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from reticent.conditions import Condition, Domain, RegionMatch
from reticent.conditions import bounds as bounding
from reticent.conditions import coverage as covering
from reticent.conditions import region_expansion as expanding
from reticent.conditions.nodes import positive
from reticent.conditions.regions import LabelProducts
from reticent.errors import DataError
from reticent.table import ValueType
from reticent.table.meaning import Anything, Interval, Missing, Prefix, Value, Values
from tests.oracles.predicate_region import share
from tests.sampling import examples

DAY = datetime.date(2024, 1, 1)
TYPES: dict[str, Any] = {"age": pl.Int64, "score": pl.Int64, "sex": pl.String, "zip": pl.String, "day": pl.Date}
LEAVES: dict[str, list[Any]] = {
    "age": [*range(6), None],
    "score": list(range(8)),
    "sex": ["F", "M"],
    "zip": ["100", "101", "110", "200"],
    "day": [DAY + datetime.timedelta(days=number) for number in range(5)],
}
DOMAINS = {name: Domain(ValueType.of(TYPES[name]()), pl.Series(LEAVES[name], dtype=TYPES[name])) for name in LEAVES}


@st.composite
def cells(draw: st.DrawFn, name: str) -> tuple[dict[str, Any], list[Any]]:
    """A meaning, and the leaves that it stands for."""
    leaves = LEAVES[name]
    known = [leaf for leaf in leaves if leaf is not None]
    match draw(st.integers(0, 5)):
        case 0:
            return Anything(), leaves
        case 1:
            chosen = draw(st.lists(st.sampled_from(known), min_size=1, unique=True))
            return Values(tuple(chosen)), chosen
        case 2 if None in leaves:
            return Missing(), [None]
        case 3 if name == "zip":
            prefix = draw(st.sampled_from(["1", "10", "2"]))
            return Prefix(prefix, 3), [leaf for leaf in known if leaf.startswith(prefix)]
        case 4 if name in ("age", "score", "day"):
            low, high = sorted(draw(st.lists(st.sampled_from(known), min_size=2, max_size=2)))
            closed = draw(st.sampled_from(["left", "right", "both", "neither"]))
            inside = [
                leaf
                for leaf in known
                if (low < leaf < high)
                or (leaf == low and closed in ("left", "both"))
                or (leaf == high and closed in ("right", "both"))
            ]
            if low == high and closed != "both":
                return Interval(low, high, "both"), [low]
            return (Interval(low, high, closed), inside) if inside else (Value(low), [low])
        case _:
            value = draw(st.sampled_from(known))
            return Value(value), [value]


operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
whole = st.integers(-1, 9)
atoms = st.one_of(
    st.builds(lambda op, n: f"age {op} {n}", operators, whole),
    st.builds(lambda op, n: f"2*score - 1 {op} {n}", operators, whole),
    st.builds(lambda op, n: f"score {op} {n}*age", operators, st.integers(-1, 3)),
    st.builds(lambda op, n: f"score + age {op} {n}", operators, whole),
    st.builds(lambda low, high: f"age not between {low} and {high}", whole, whole),
    st.builds(lambda values: f"score in ({', '.join(map(str, values))})", st.lists(whole, min_size=1, max_size=3)),
    st.sampled_from(
        ["age is null", "age is not null", "sex = 'F'", "sex in ('M', 'X')", "sex <> 'F'", "true", "false"]
    ),
    st.sampled_from(["zip like '10%'", "zip not like '1%'", "zip > '100'", "zip = '110'", "zip < sex"]),
    st.builds(lambda op, day: f"day {op} '2024-01-0{day}'", operators, st.integers(1, 6)),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: f"({a}) and ({b})", inner, inner),
        st.builds(lambda a, b: f"({a}) or ({b})", inner, inner),
        inner.map(lambda part: f"not ({part})"),
    ),
    max_leaves=5,
)
regions = st.fixed_dictionaries({name: cells(name) for name in LEAVES})


def verdict_of(fraction: Any) -> RegionMatch:
    return RegionMatch.NONE if fraction == 0 else RegionMatch.ALL if fraction == 1 else RegionMatch.SOME


@examples(150, suppress_health_check=[HealthCheck.too_slow])
@given(conditions, regions)
def test_a_cover_is_what_going_through_every_cell_finds(condition: str, region: Any) -> None:
    expected = share(condition, {name: leaves for name, (_, leaves) in region.items()}, TYPES)
    found = Condition.parse(condition).cover({name: meaning for name, (meaning, _) in region.items()}, DOMAINS)
    assert found.verdict is verdict_of(expected)
    assert found.share == pytest.approx(float(expected), abs=1e-12)
    assert found.measured


def test_a_constant_among_parts_that_hang_together_is_read() -> None:
    found = Condition.parse("age = 0 and (true and age <= 3) and not (1 > 2 and age = 0)").cover(
        {"age": Values((0, 1))}, DOMAINS
    )
    assert (found.verdict, found.share) == (RegionMatch.SOME, 0.5)


def cut_region(asked: Condition, region: Any) -> LabelProducts:
    meanings = {name: [meaning] for name, (meaning, _) in region.items()}
    return covering.cut_regions(asked.node, meanings, dict.fromkeys(region, np.zeros(1, dtype=np.int64)), DOMAINS, 1)


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(conditions.filter(lambda condition: Condition.parse(condition).scope), regions)
def test_writing_a_region_out_finds_the_same(condition: str, region: Any) -> None:
    asked = Condition.parse(condition)
    expected = share(condition, {name: leaves for name, (_, leaves) in region.items()}, TYPES)
    cut = cut_region(asked, region)
    found = expanding.expanded(asked.node, cut)[0]
    assert (found.verdict, found.measured) == (verdict_of(expected), True)
    assert found.share == pytest.approx(float(expected), abs=1e-12)
    assert expanding.cells_in_all(cut, asked.scope) == math.prod(len(region[name][1]) for name in asked.scope)


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(conditions.filter(lambda condition: Condition.parse(condition).scope), regions)
def test_the_fallback_never_claims_what_is_not_so(condition: str, region: Any) -> None:
    asked = Condition.parse(condition)
    expected = share(condition, {name: leaves for name, (_, leaves) in region.items()}, TYPES)
    found = bounding.bounded(positive(asked.node), cut_region(asked, region))[0]
    if found.verdict is not RegionMatch.SOME:
        assert found.verdict is verdict_of(expected)
    assert abs(found.share - float(expected)) < 0.35


def test_columns_with_thousands_of_values_that_hang_together_are_written_out() -> None:
    ages, costs = list(range(1000)), list(range(5000))
    domains = {"age": Domain.of_values("integer", ages), "cost": Domain.of_values("integer", costs)}
    meanings = {"age": [Interval(0, 100), Interval(100, 200)]}
    codes = {"age": np.array([0, 1, 1]), "cost": np.array([90, 301, 4999])}
    found = Condition.parse("cost < 3*age").covers(codes, meanings, domains)
    expected = [sum(3 * age > 90 for age in range(100)) / 100, sum(3 * age > 301 for age in range(100, 200)) / 100, 0.0]
    assert found.share.tolist() == pytest.approx(expected)
    assert found.measured.all()


@examples(40)
@given(conditions, st.lists(regions, min_size=2, max_size=6))
def test_many_regions_at_once_are_covered_like_each_alone(condition: str, many: list[Any]) -> None:
    asked = Condition.parse(condition)
    meanings = {name: [region[name][0] for region in many] for name in LEAVES}
    codes = {name: np.arange(len(many)) for name in LEAVES}
    found = asked.covers(codes, meanings, DOMAINS)
    for number, region in enumerate(many):
        alone = asked.cover({name: meaning for name, (meaning, _) in region.items()}, DOMAINS)
        assert found[number].verdict is alone.verdict
        assert found[number].share == pytest.approx(alone.share)


INTEGER, NUMBER = {"age": Domain(ValueType.INTEGER)}, {"age": Domain(ValueType.REAL)}


@pytest.mark.parametrize(
    ("condition", "meaning", "domains", "verdict", "fraction"),
    [
        ("age between 30 and 34", Interval(30, 40), INTEGER, RegionMatch.SOME, 0.5),
        ("age between 30 and 34", Interval(30, 40), NUMBER, RegionMatch.SOME, 0.4),
        ("age between 30 and 39", Interval(30, 40), INTEGER, RegionMatch.ALL, 1.0),
        ("age between 30 and 39", Interval(30, 40), NUMBER, RegionMatch.SOME, 0.9),
        ("age between 30 and 39", Interval(30, 40), None, RegionMatch.SOME, 0.9),
        ("age < 40", Interval(30, 40), NUMBER, RegionMatch.ALL, 1.0),
        ("age < 40", Interval(30, 40, "both"), NUMBER, RegionMatch.SOME, 1.0),
        ("age > 39", Interval(30, 40), INTEGER, RegionMatch.NONE, 0.0),
        ("age > 39", Interval(30, 40), NUMBER, RegionMatch.SOME, 0.1),
        ("age = 35", Interval(30, 40), NUMBER, RegionMatch.SOME, 0.0),
        ("age = 35", Value(35), NUMBER, RegionMatch.ALL, 1.0),
        ("age in (35, 36)", Values((35, 36.5)), NUMBER, RegionMatch.SOME, 0.5),
        ("age < 18", Interval(None, 18), INTEGER, RegionMatch.ALL, 1.0),
        ("age < 17", Interval(None, 18), INTEGER, RegionMatch.SOME, 0.5),
        ("age >= 18", Interval(None, 18), INTEGER, RegionMatch.NONE, 0.0),
        ("age > 30", Anything(), INTEGER, RegionMatch.SOME, 0.5),
        ("age > 30 or age <= 30 or age is null", Anything(), INTEGER, RegionMatch.ALL, 1.0),
        ("age > 30 or age <= 30", Anything(), INTEGER, RegionMatch.SOME, 0.5),
        ("age between 13000 and 13049", Prefix("130", 5), INTEGER, RegionMatch.SOME, 0.5),
    ],
)
def test_without_a_public_domain_the_label_itself_is_measured(
    condition: str, meaning: dict[str, Any], domains: Any, verdict: RegionMatch, fraction: float
) -> None:
    found = Condition.parse(condition).cover({"age": meaning}, domains)
    assert found.verdict is verdict
    assert found.share == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("condition", "verdict", "fraction"),
    [
        ("zip like '1%'", RegionMatch.ALL, 1.0),
        ("zip like '1305%'", RegionMatch.SOME, 0.1),
        ("zip like '14%'", RegionMatch.NONE, 0.0),
        ("zip = '13053'", RegionMatch.SOME, 0.01),
        ("zip = '1305'", RegionMatch.NONE, 0.0),
        ("zip >= '130'", RegionMatch.ALL, 1.0),
        ("zip < '13050'", RegionMatch.SOME, 0.5),
        ("zip not in ('14850', '14853')", RegionMatch.ALL, 1.0),
        ("zip is null", RegionMatch.NONE, 0.0),
    ],
)
def test_a_masked_code_is_measured_by_its_digits(condition: str, verdict: RegionMatch, fraction: float) -> None:
    found = Condition.parse(condition).cover({"zip": Prefix("130", 5)})
    assert found.verdict is verdict
    assert found.share == pytest.approx(fraction)


def test_an_unknown_spread_is_said_to_be_unknown() -> None:
    found = Condition.parse("income > 1000").cover({"income": Anything()})
    assert (found.verdict, found.share, found.measured) == (RegionMatch.SOME, 0.5, False)
    assert Condition.parse("disease = 'flu'").cover({"disease": Anything()}).measured is False


def test_columns_that_hang_together_over_a_real_line_are_bounded() -> None:
    asked = Condition.parse("score < 3*age")
    low = Interval(0, 10)
    assert asked.cover({"age": Interval(10, 20), "score": low}).verdict is RegionMatch.ALL
    assert asked.cover({"age": Interval(-5, 0), "score": low}).verdict is RegionMatch.NONE
    found = asked.cover({"age": Interval(0, 10), "score": Interval(0, 30)})
    assert found.verdict is RegionMatch.SOME
    assert found.share == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize(
    ("condition", "closed", "verdict"),
    [
        ("a < b", "left", RegionMatch.ALL),
        ("a >= b", "left", RegionMatch.NONE),
        ("a <> b", "left", RegionMatch.ALL),
        ("a = b", "left", RegionMatch.NONE),
        ("a < b", "both", RegionMatch.SOME),
        ("a <= b", "both", RegionMatch.ALL),
        ("a > b", "both", RegionMatch.NONE),
        ("a = b", "both", RegionMatch.SOME),
        ("a - b + 0.000000000000001 < 0", "both", RegionMatch.SOME),
        ("2*a - 2*b <= 0", "neither", RegionMatch.ALL),
    ],
)
def test_ends_that_touch_are_decided_exactly(condition: str, closed: str, verdict: RegionMatch) -> None:
    cells = {"a": Interval(0, 5, closed), "b": Interval(5, 10, closed)}
    assert Condition.parse(condition).cover(cells).verdict is verdict


def test_a_meaning_that_covers_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="covers no value"):
        Condition.parse("age > 3").cover({"age": Value(99)}, {"age": DOMAINS["age"]})
