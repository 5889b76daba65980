"""Relations between columns are found where they are, said rightly, and not found where there are none."""

from __future__ import annotations

import datetime
import random
import warnings
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.table.relations import find_relations
from reticent.table.relations.lookups import share_to_remove
from tests.sampling import examples

DAY = datetime.date(2020, 1, 1)


def people(rows: int = 400, seed: int = 5) -> pl.DataFrame:
    draw = random.Random(seed)
    admitted = [DAY + datetime.timedelta(days=draw.randrange(900)) for _ in range(rows)]
    stays = [int(draw.expovariate(0.15)) for _ in range(rows)]
    return pl.DataFrame(
        {
            "age": [draw.randrange(18, 90) for _ in range(rows)],
            "height": [round(draw.gauss(1.7, 0.1), 2) for _ in range(rows)],
            "weight": [round(draw.gauss(75, 15), 1) for _ in range(rows)],
            "wage": [round(draw.lognormvariate(2, 0.6), 2) for _ in range(rows)],
            "admitted": admitted,
            "discharged": [a + datetime.timedelta(days=s) for a, s in zip(admitted, stays, strict=True)],
            "seen": [datetime.datetime(2023, 1, 1) + datetime.timedelta(minutes=draw.randrange(2 * 10**6)) for _ in admitted],
            "zip": [f"{draw.randrange(10000, 99999)}" for _ in range(rows)],
            "first": [draw.choice(["Ann", "Bob", "Cyd", "Dee", "Eve"]) for _ in range(rows)],
            "last": [draw.choice(["Smith", "Jones", "Kohl", "Li"]) for _ in range(rows)],
        }
    )  # fmt: skip


BMI = pl.col("weight") / pl.col("height") ** 2
STAY = (pl.col("discharged") - pl.col("admitted")).dt.total_days()
RULES: list[tuple[pl.Expr, tuple[str, ...], str]] = [
    (STAY, ("admitted", "discharged"), "is the days from 'admitted' to 'discharged'"),
    (STAY // 7, ("admitted", "discharged"), "is the weeks from 'admitted' to 'discharged'"),
    (
        (pl.col("seen") - pl.col("admitted").cast(pl.Datetime("us"))).dt.total_hours(),
        ("admitted", "seen"),
        "is the hours from 'admitted' to 'seen'",
    ),
    (BMI, ("height", "weight"), "is 'weight' divided by the square of 'height'"),
    (BMI.round(1), ("height", "weight"), "is 'weight' divided by the square of 'height'"),
    (BMI.floor(), ("height", "weight"), "is 'weight' divided by the square of 'height'"),
    ((BMI / 5).floor() * 5, ("height", "weight"), "is 'weight' divided by the square of 'height'"),
    (
        pl.when(BMI < 18.5).then(pl.lit("under")).when(BMI < 25).then(pl.lit("normal")).otherwise(pl.lit("over")),
        ("height", "weight"),
        "follows from 'weight' divided by the square of 'height'",
    ),
    (
        (0.007184 * pl.col("weight") ** 0.425 * (100 * pl.col("height")) ** 0.725).round(2),
        ("height", "weight"),
        "is nearly 0.20",
    ),
    (pl.col("age") + pl.col("weight"), ("age", "weight"), "is 'age' plus 'weight'"),
    (pl.col("weight") - pl.col("age"), ("age", "weight"), "is 'weight' minus 'age'"),
    (pl.col("wage") * pl.col("age"), ("age", "wage"), "is 'age' times 'wage'"),
    (pl.col("wage") / pl.col("age"), ("age", "wage"), "is 'wage' divided by 'age'"),
    (3 * pl.col("weight") - 2 * pl.col("age"), ("age", "weight"), "is 3 times 'weight' minus 2 times 'age'"),
    (pl.col("age") - 6 - pl.col("weight"), ("age", "weight"), "is 'age' minus 'weight' minus 6"),
    (
        pl.col("age") + pl.col("weight") + 100 * pl.col("height") - pl.col("wage"),
        ("age", "height", "weight", "wage"),
        "is 'age' plus 100 times 'height' plus 'weight' minus 'wage'",
    ),
    (pl.col("wage").log(), ("wage",), "is the natural logarithm of 'wage'"),
    (pl.col("age") ** 2, ("age",), "is the square of 'age'"),
    (pl.col("weight") * 2.2046, ("weight",), "is 2.2046 times 'weight'"),
    (pl.col("age") // 10, ("age",), "follows from 'age': 1 below 20, 2 from 20 on, 3 from 30 on, 4 from 40 on, 5 from 50 on, 6 from 60 on, 7 from 70 on, 8 from 80 on"),
    (pl.col("wage").rank("dense"), ("wage",), "rises or falls with 'wage', value by value"),
    (pl.col("admitted").dt.year(), ("admitted",), "is the year of 'admitted'"),
    (pl.col("admitted").dt.month(), ("admitted",), "is the month of 'admitted'"),
    (pl.col("admitted").dt.day(), ("admitted",), "is the day of 'admitted'"),
    (pl.col("admitted").dt.weekday(), ("admitted",), "is the weekday of 'admitted'"),
    (pl.col("admitted").dt.quarter(), ("admitted",), "is the quarter of 'admitted'"),
    (pl.col("seen").dt.hour(), ("seen",), "is the hour of 'seen'"),
    (pl.col("admitted").dt.strftime("%B"), ("admitted",), "follows from the month of 'admitted'"),
    (pl.col("seen").dt.year() - pl.col("admitted").dt.year(), ("admitted", "seen"), "is the year of 'seen' minus the year of 'admitted'"),
    (pl.col("zip").str.head(3), ("zip",), "is the first 3 characters of 'zip'"),
    (pl.col("zip").cast(pl.Int64) // 1000, ("zip",), "is the first 2 characters of 'zip'"),
    (pl.col("first") + " " + pl.col("last"), ("first", "last"), "is 'first' and 'last' written together"),
    (pl.col("first").replace_strict({"Ann": 7, "Bob": 3, "Cyd": 9, "Dee": 1, "Eve": 4}), ("first",), "has one value for each value of 'first'"),
    ((pl.col("first") == "Ann").cast(pl.Int64), ("first",), "says whether 'first' is 'Ann'"),
    (
        pl.when(pl.col("first") == "Ann").then(pl.col("last")).otherwise(pl.lit("none")),
        ("first", "last"),
        "has one value for each pair of values of 'first' and 'last'",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("made", "sources", "words"), RULES, ids=[words[:60] for _, _, words in RULES])
def test_a_column_that_follows_from_others_is_found_with_its_rule(
    made: pl.Expr, sources: tuple[str, ...], words: str
) -> None:
    frame = people()
    found = [each for each in find_relations(frame.with_columns(c=made), ["c"]) if set(each.sources) == set(sources)]
    assert len(found) == 1
    assert found[0].how.startswith(words)


EXACT = [rule for rule in RULES if "nearly" not in rule[2] and "each pair of values" not in rule[2]]


@pytest.mark.parametrize(("made", "sources", "words"), EXACT, ids=[words[:60] for _, _, words in EXACT])
def test_what_no_row_contradicts_is_found_when_only_that_is_asked_for(
    made: pl.Expr, sources: tuple[str, ...], words: str
) -> None:
    asked = find_relations(people().with_columns(c=made), ["c"], exact=True)
    assert all(each.exact for each in asked)
    assert [each.how.startswith(words) for each in asked if set(each.sources) == set(sources)] == [True]


def test_no_list_of_pairs_is_looked_for_when_only_exact_relations_are_asked_for() -> None:
    made, sources, _ = RULES[-1]
    frame = people().with_columns(c=made)
    assert set(sources) in [set(each.sources) for each in find_relations(frame, ["c"])]
    assert set(sources) not in [set(each.sources) for each in find_relations(frame, ["c"], exact=True)]


SPOILED = [rule for rule in RULES[:-1] if len(rule[1]) < 3 and "written together" not in rule[2]]


@pytest.mark.parametrize(("made", "sources", "words"), SPOILED, ids=[words[:60] for _, _, words in SPOILED])
def test_a_few_wrong_and_missing_rows_hide_no_relation(made: pl.Expr, sources: tuple[str, ...], words: str) -> None:
    frame = people(800).with_columns(c=made)
    rows = pl.int_range(pl.len())
    shuffled = pl.col("c").shuffle(seed=1)
    spoiled = frame.with_columns(
        c=pl.when(rows % 40 == 0).then(shuffled).when(rows % 11 == 0).then(None).otherwise(pl.col("c"))
    )
    found = {frozenset(each.sources) for each in find_relations(spoiled, ["c"])}
    assert frozenset(sources) in found


def test_relations_are_found_backwards_too() -> None:
    frame = people().with_columns(stay=STAY, bmi=BMI)
    found = {(each.derived, frozenset(each.sources)) for each in find_relations(frame)}
    for three in ({"admitted", "discharged", "stay"}, {"height", "weight", "bmi"}):
        assert {(name, frozenset(three - {name})) for name in three} <= found


@given(seed=st.integers(0, 10**6), rows=st.sampled_from([25, 60, 300, 1500]))
@examples(40, few=12)
def test_columns_that_have_nothing_to_do_with_each_other_have_no_relation(seed: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            **{f"n{i}": rng.normal(50, 10, rows).round(int(rng.integers(0, 3))) for i in range(4)},
            **{f"i{i}": rng.integers(0, int(rng.integers(2, 60)), rows) for i in range(4)},
            **{f"m{i}": (rng.random(rows) < rng.uniform(0.02, 0.5)).astype(int) for i in range(4)},
            **{f"t{i}": rng.choice(["a", "ab", "b", "c", "1"], rows, p=[0.6, 0.1, 0.1, 0.1, 0.1]) for i in range(3)},
            "day": [DAY + datetime.timedelta(days=int(each)) for each in rng.integers(0, 700, rows)],
            "skew": np.round(rng.lognormal(2, 1.5, rows), 1),
            "zeros": np.where(rng.random(rows) < 0.9, 0, rng.integers(1, 50, rows)),
        }
    )
    assert find_relations(frame) == ()


def test_what_is_correlated_is_not_therefore_computed() -> None:
    rng = np.random.default_rng(2)
    base = rng.normal(100, 15, 500)
    frame = pl.DataFrame({f"c{i}": (base + rng.normal(0, 3, 500)).round(1) for i in range(4)})
    assert find_relations(frame) == ()


def test_sources_that_are_nearly_unique_look_nothing_up() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"code": rng.integers(0, 10**6, 500), "x": rng.integers(0, 5, 500)})
    assert find_relations(frame, ["x"]) == ()


@pytest.mark.parametrize("rows", [0, 1, 19])
def test_few_rows_show_nothing(rows: int) -> None:
    frame = people(max(rows, 1)).head(rows)
    assert find_relations(frame.with_columns(c=pl.col("age") * 2)) == ()


def test_columns_that_hardly_vary_or_hold_anything_are_passed_over() -> None:
    frame = people(60).with_columns(
        same=pl.lit(1),
        rare=(pl.int_range(60) < 3).cast(pl.Int64),
        many=pl.concat_list("age", "weight"),
        no=pl.lit(None),
    )
    assert not {each.derived for each in find_relations(frame)} & {"same", "rare", "many", "no"}


def test_only_what_is_asked_for_follows_from_what_is_known() -> None:
    frame = people().with_columns(stay=STAY, lwage=pl.col("wage").log())
    assert {each.derived for each in find_relations(frame, ["stay"])} == {"stay"}
    assert find_relations(frame, ["lwage"], ["age", "stay", "lwage"]) == ()


def test_a_relation_needs_no_more_sources_than_it_must() -> None:
    frame = people().with_columns(half=pl.col("age") / 2, both=pl.col("age") + pl.col("weight"))
    by = [set(each.sources) for each in find_relations(frame, ["half"])]
    assert {"age"} in by
    assert not any({"age"} < each for each in by)


@given(
    rows=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), min_size=2, max_size=60),
)
def test_the_share_to_remove_is_that_of_counting(rows: list[tuple[int, int]]) -> None:
    """Group by hand, leave the most frequent value of each group, and count the rest."""
    by: dict[int, list[int]] = defaultdict(list)
    for source, target in rows:
        by[source].append(target)
    shared = {source: values for source, values in by.items() if len(values) > 1}
    kept = sum(Counter(values).most_common(1)[0][1] for values in shared.values())
    many = sum(map(len, shared.values()))
    everything = [value for values in shared.values() for value in values]
    wanted: Any = (0, 1.0, 0.0)
    if many:
        wanted = (many, 1 - kept / many, 1 - Counter(everything).most_common(1)[0][1] / many)
    found = share_to_remove(np.array([a for a, _ in rows]), np.array([b + 1 for _, b in rows]))
    assert found[0] == wanted[0]
    assert found[1:] == pytest.approx(wanted[1:])


@given(seed=st.integers(0, 10**6))
@examples(20, few=6)
def test_every_relation_that_is_called_exact_is_a_function_of_its_sources(seed: int) -> None:
    """An oracle without a formula: rows that are equal in the sources are equal in what follows from them."""
    rng = np.random.default_rng(seed)
    frame = people(300, seed).select("age", "admitted", "first", "last").with_columns(
        b=pl.Series(rng.integers(0, 9, 300)), c=pl.Series(rng.integers(0, 4, 300))
    )  # fmt: skip
    frame = frame.with_columns(
        sum=pl.col("b") + pl.col("c"),
        month=pl.col("admitted").dt.month(),
        decade=pl.col("age") // 10,
        near=pl.when(pl.int_range(300) % 50 == 0).then(pl.col("c")).otherwise(pl.col("b") - pl.col("c")),
    )
    found = find_relations(frame)
    assert {("sum", frozenset("bc")), ("b", frozenset(["c", "sum"]))} <= {
        (each.derived, frozenset(each.sources)) for each in found
    }
    for each in found:
        if each.exact:
            pairs = frame.select(*each.sources, each.derived).unique().height
            assert pairs == frame.select(each.sources).unique().height, each.words


RARE = {
    "of one column": (pl.col("age") >= 88, {"age"}),
    "of a time between dates": (
        (pl.col("discharged") - pl.col("admitted")).dt.total_days() > 24,
        {"admitted", "discharged"},
    ),
    "of a ratio": (pl.col("weight") / pl.col("height") ** 2 > 39, {"weight", "height"}),
}


@pytest.mark.parametrize("is_sorted", [False, True], ids=["mixed", "sorted"])
@pytest.mark.parametrize("name", RARE)
def test_a_band_of_few_rows_is_found(name: str, is_sorted: bool) -> None:
    """Few of the rows that are looked at first have a rare value, and none where the file is sorted by it."""
    made, sources = RARE[name]
    frame = people(1500).with_columns(rare=made.replace_strict({True: "yes", False: "no"}))
    assert 15 <= (frame["rare"] == "yes").sum() <= 60
    frame = frame.sort("rare") if is_sorted else frame
    (found,) = find_relations(frame, ["rare"], ["age", "height", "weight", "admitted", "discharged"])
    assert (set(found.sources), found.kind) == (sources, "band")


@pytest.mark.parametrize("fewest", [5, 12])
def test_rare_values_by_chance_are_no_band(fewest: int) -> None:
    rng = np.random.default_rng(3)
    numbers = {f"n{i}": rng.normal(50, 10, 600).round(2) for i in range(20)}
    rare = {f"r{i}": rng.permutation(np.arange(600) < fewest + i) for i in range(10)}
    assert find_relations(pl.DataFrame(numbers | rare), list(rare), list(numbers)) == ()


@pytest.mark.parametrize("few", [5, 7, 9])
def test_a_band_of_a_handful_of_rows_is_found(few: int) -> None:
    """The largest differences of two columns out of twelve, in a handful of 600 rows; with one row that does not belong there so few are chance."""
    rng = np.random.default_rng(few)
    frame = pl.DataFrame({f"n{i}": rng.normal(50, 10, 600).round(2) for i in range(12)})
    rank = (frame["n3"] - frame["n8"]).rank("ordinal", descending=True)
    frame = frame.with_columns(rare=pl.Series(rank <= few).replace_strict({True: "yes", False: "no"}))
    (found,) = find_relations(frame, ["rare"])
    assert (set(found.sources), found.kind, found.exact) == ({"n3", "n8"}, "band", True)
    if few < 7:
        wrong = frame.with_columns(rare=pl.when(rank == 300).then(pl.lit("yes")).otherwise("rare"))
        assert find_relations(wrong, ["rare"]) == ()


def is_banded(score: np.ndarray, labels: list[str]) -> bool:
    """Whether every label stands for one stretch of a score, and no score for two labels; by going through the rows in their order."""
    rows = sorted(zip(score.round(6).tolist(), labels, strict=True))
    seen = [label for place, (_, label) in enumerate(rows) if not place or label != rows[place - 1][1]]
    return len(seen) == len(set(seen)) and len(set(rows)) == len({number for number, _ in rows})


@pytest.mark.parametrize("seed", range(8))
def test_bands_of_three_and_more_columns_are_found(seed: int) -> None:
    """Scores of items, weighted sums and volumes, cut into two to five classes with names in no order, beside columns that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(250, 1200))
    columns = {
        **{f"item{i}": rng.integers(0, 5, rows).astype(float) for i in range(6)},
        **{f"size{i}": rng.normal(100, 15, rows).round(1) for i in range(5)},
        "age": rng.integers(18, 90, rows).astype(float),
    }
    weights = {
        0: {"item0": 1, "item2": 1, "item5": 1},
        1: {"item1": 1, "item3": 2, "item4": 1, "age": 0},
        2: {"size0": 1, "size1": -1, "age": 2},
        3: {"item0": 1, "item1": 1, "item2": 1, "item3": 1, "item4": 1},
    }[seed % 4]
    weights = {name: weight for name, weight in weights.items() if weight}
    score = sum(weight * columns[name] for name, weight in weights.items())
    if seed == 6:
        weights = dict.fromkeys(["size2", "size3", "size4"], 1)
        score = columns["size2"] * columns["size3"] * columns["size4"]
    classes = int(rng.integers(2, 6))
    ends = np.quantile(score, np.arange(1, classes) / classes)
    names = rng.permutation([f"class {letter}" for letter in "vwxyz"])
    labels = [str(names[each]) for each in np.searchsorted(ends, score, side="left")]
    assert is_banded(score, labels)
    frame = pl.DataFrame({**columns, "class": labels})
    (found,) = find_relations(frame, ["class"])
    assert (set(found.sources), found.kind) == (set(weights), "band")
    mixed = frame.with_columns(pl.col("class").shuffle(seed=seed))
    assert find_relations(mixed, ["class"]) == ()


def test_what_columns_predict_well_they_do_not_tell() -> None:
    """A class that a sum of three columns gets right for 19 of 20 rows is predicted, and no rule."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({f"n{i}": rng.normal(0, 1, 2000) for i in range(6)})
    score = frame["n0"] + frame["n1"] + frame["n2"] + pl.Series(rng.normal(0, 0.25, 2000))
    frame = frame.with_columns(ill=score > 0)
    right = ((frame["n0"] + frame["n1"] + frame["n2"] > 0) == frame["ill"]).mean()
    assert 0.94 < right < 0.97
    assert find_relations(frame, ["ill"]) == ()


@pytest.mark.slow
def test_sixty_columns_take_less_than_three_seconds() -> None:
    import time

    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {f"n{i}": rng.normal(50, 10, 2000).round(2) for i in range(30)}
        | {f"i{i}": rng.integers(0, 60, 2000) for i in range(24)}
        | {f"r{i}": rng.random(2000) < 0.02 for i in range(4)}
    )
    frame = frame.with_columns(
        s=pl.col("n0") + pl.col("n1") - pl.col("n2") + 2 * pl.col("i3"), r=pl.col("n4") / pl.col("n5")
    )
    begun = time.process_time()
    found = find_relations(frame)
    assert time.process_time() - begun < 3
    assert {"s", "r"} <= {each.derived for each in found}


def test_products_of_three_columns_are_found_and_unrelated_ones_are_not() -> None:
    """A volume, a rate and a power of three columns; zeros are rows that logarithms do not know. A column of its own is no product."""
    draw = np.random.default_rng(3)
    sides = {name: draw.integers(0, 50, 400) for name in "abc"}
    rates = {name: draw.integers(1, 90, 400) for name in "xyz"}
    a, b, c = sides.values()
    x, y, z = rates.values()
    made = {"volume": a * b * c, "rate": np.round(x * y / z, 2), "power": np.round(x * y**2 / z, 1)}
    frame = pl.DataFrame({**sides, **rates, **made, "own": np.round(np.exp(draw.normal(0, 1, 400)), 2)})
    found = find_relations(frame, [*made, "own"], [*sides, *rates])
    assert {each.derived: each.sources for each in found} == {
        "volume": ("a", "b", "c"),
        "rate": ("x", "y", "z"),
        "power": ("x", "y", "z"),
    }
    assert next(each.how for each in found if each.derived == "volume") == "is 'a' times 'b' times 'c'"


def test_a_declared_product_of_three_columns_is_refused() -> None:
    draw = np.random.default_rng(4)
    sides = {name: draw.integers(1, 50, 300) for name in "abc"}
    frame = pl.DataFrame({**sides, "volume": sides["a"] * sides["b"] * sides["c"]})
    table = rt.Table(frame, quasi=["a", "b", "c"], declared={"volume": "hardly known"})
    with pytest.raises(rt.PolicyError, match="'volume' is 'a' times 'b' times 'c'"):
        rt.publish(table, rt.KAnonymity(5), rt.Mondrian())


def test_the_mark_of_a_visit_brings_no_warning() -> None:
    """Four visits each: where the mark of the last one is 0 it has no logarithm, and its power is 0."""
    draw = np.random.default_rng(5)
    subject = np.repeat(np.arange(1, 60), 4)
    base, age = (np.repeat(draw.integers(low, high, 59), 4) for low, high in ((6, 152), (18, 43)))
    frame = pl.DataFrame({"subject": subject, "base": base, "age": age, "last": np.tile([0, 0, 0, 1], 59)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        find_relations(frame)


def extremes() -> pl.DataFrame:
    """Four measurements, the latest of three visits of which one may be missing, and marks of three illnesses."""
    draw = np.random.default_rng(6)
    day = np.datetime64("2020-01-01")
    frame = pl.DataFrame({name: draw.integers(0, 200, 500) for name in "abcd"}).with_columns(
        **{name: pl.Series(day + draw.integers(0, 900, 500)).cast(pl.Date) for name in ("first", "second", "third")},
        **{name: pl.Series((draw.random(500) < 0.1).astype(int)) for name in ("flu", "gout", "ulcer")},
        own=pl.Series(draw.integers(0, 200, 500)),
    )
    return frame.with_columns(second=pl.when(pl.col("a") > 30).then("second"))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    ("made", "sources", "words"),
    [
        (pl.max_horizontal("a", "b", "c"), ("a", "b", "c"), "is the largest of 'a', 'b' and 'c'"),
        (pl.min_horizontal("b", "c", "d"), ("b", "c", "d"), "is the smallest of 'b', 'c' and 'd'"),
        (pl.max_horizontal("a", "d"), ("a", "d"), "is the largest of 'a' and 'd'"),
        (pl.max_horizontal("first", "second", "third"), ("first", "second", "third"), "is the latest of 'first', 'second' and 'third'"),
        (pl.min_horizontal("first", "third"), ("first", "third"), "is the earliest of 'first' and 'third'"),
        (pl.max_horizontal("flu", "gout", "ulcer"), ("flu", "gout", "ulcer"), "is the largest of 'flu', 'gout' and 'ulcer'"),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)  # fmt: skip
def test_the_largest_and_the_smallest_of_columns_are_found(
    made: pl.Expr, sources: tuple[str, ...], words: str, exact: bool
) -> None:
    frame = extremes().with_columns(c_=made)
    (found,) = find_relations(frame, ["c_"], exact=exact)
    assert (found.sources, found.how, found.exact) == (sources, words, True)


def test_an_extreme_with_few_wrong_rows_is_nearly_one_and_others_are_none() -> None:
    frame = extremes().with_columns(most=pl.max_horizontal("a", "b", "c"))
    spoiled = frame.with_columns(most=pl.when(pl.int_range(500) % 40 == 0).then(199).otherwise("most"))
    (found,) = find_relations(spoiled, ["most"])
    assert found.how == "is nearly the largest of 'a', 'b' and 'c'"
    assert not found.exact
    assert find_relations(spoiled, ["most"], exact=True) == ()
    assert find_relations(frame, ["own"], ["a", "b", "c", "d"]) == ()
    # A sum is at least as large as its parts, and none of them.
    total = frame.with_columns(most=pl.col("a") + pl.col("b") + pl.col("c") + pl.col("own"))
    assert not [each for each in find_relations(total, ["most"]) if "largest" in each.how]


def test_a_declared_extreme_of_three_columns_is_refused() -> None:
    frame = extremes().select("a", "b", "c", most=pl.max_horizontal("a", "b", "c"))
    table = rt.Table(frame, quasi=["a", "b", "c"], declared={"most": "hardly known"})
    with pytest.raises(rt.PolicyError, match="'most' is the largest of 'a', 'b' and 'c'"):
        rt.publish(table, rt.KAnonymity(5), rt.Mondrian(values="ranges"))
