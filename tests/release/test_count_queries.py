"""Counting queries on releases: estimates beside brute force over leaves and ways, bounds that always hold."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import reticent as rt
from reticent.conditions import ConditionError
from reticent.engine import count_table, engine_of
from reticent.errors import DataError, PolicyError
from reticent.methods.anatomy.counts import count_buckets
from reticent.release import open_public
from reticent.release.count_queries import count_labels
from reticent.release.format import format_of
from reticent.table import NULL_LABEL, FrameRows, Hierarchy, Table
from reticent.table.meaning import Anything, Interval, Value
from tests.oracles.predicate_region import share
from tests.oracles.utility_buckets import outcomes, summary
from tests.sampling import examples

DAY = datetime.date(2024, 1, 1)
ZIPS = ["100", "101", "110", "200"]
KINDS = {"age": "integer", "zip": "text", "sex": "text", "admitted": "date"}


@st.composite
def tables(draw: st.DrawFn, least: int = 1) -> Table:
    size = draw(st.integers(least, 10))

    def column(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    frame = pl.DataFrame(
        {
            "age": pl.Series(column([20, 21, 24, 27, 35, None]), dtype=pl.Int64),
            "zip": column(ZIPS),
            "sex": column(["F", "M"]),
            "admitted": column([DAY, DAY + datetime.timedelta(days=40)]),
            "disease": column(["flu", "hiv", None]),
            "cost": pl.Series(column([1.5, 20.0, None]), dtype=pl.Float64),
        }
    )
    quasi = {
        "age": Hierarchy.intervals(widths=[5, 10], domain=(20, 35)),
        "zip": Hierarchy.masking(3, domain=ZIPS),
        "sex": Hierarchy.suppression(domain=["F", "M"]),
        "admitted": Hierarchy.dates(levels=("month",), domain=("2024-01-01", "2024-02-29")),
    }
    return Table(frame, quasi=quasi, sensitive="disease", declared={"cost": "nobody knows it"}, nulls="category")


def generalized(table: Table, levels: tuple[int, ...]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """The data table of a release, and the meanings of its labels."""
    points = count_table(table, floor=levels)
    labels = points.labels()[np.concatenate(list(engine_of(table).points(table, points)))]
    data = labels.with_columns(table.frame["disease"], table.frame["cost"])
    meanings = {}
    for hierarchy, level in zip(table.hierarchies, levels, strict=True):
        known = dict(zip(hierarchy.levels[level].labels, hierarchy.levels[level].meanings, strict=True))
        meanings[hierarchy.column] = {label: known[label] for label in data[hierarchy.column].unique().to_list()}
    return data, meanings


operators = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
quasi_atoms = st.one_of(
    st.builds(lambda op, n: f"age {op} {n}", operators, st.integers(18, 37)),
    st.sampled_from(["age is null", "age in (20, 24, 25)", "zip like '1%'", "zip >= '101'", "sex = 'F'", "true"]),
    st.builds(lambda op, day: f"admitted {op} '2024-01-{day}'", operators, st.integers(10, 31)),
)
sensitive_atoms = st.sampled_from(["disease = 'flu'", "disease is null", "disease <> 'flu'"])
any_atoms = st.one_of(quasi_atoms, sensitive_atoms, st.sampled_from(["cost > 2", "cost < 2*age - 30", "cost is null"]))


def combined(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.recursive(
        atoms,
        lambda inner: st.one_of(
            st.builds(lambda a, b: f"({a}) and ({b})", inner, inner),
            st.builds(lambda a, b: f"({a}) or ({b})", inner, inner),
            inner.map(lambda part: f"not ({part})"),
        ),
        max_leaves=4,
    )


# Conditions that ask something of the person and something of the sensitive value, in shapes that no product of the two decides.
across = st.builds(
    lambda shape, a, b, c, d: shape.format(a, b, c, d),
    st.sampled_from(
        [
            "({0}) and ({1})",
            "({0}) or ({1})",
            "(({0}) and ({1})) or (({2}) and ({3}))",
            "not (({0}) or ({1}) and ({2}))",
        ]
    ),
    quasi_atoms,
    sensitive_atoms,
    quasi_atoms,
    sensitive_atoms,
)


def actual(frame: pl.DataFrame, condition: str) -> int:
    """The number of rows of the original table, as DuckDB counts them."""
    assert frame.height
    ((found,),) = duckdb.sql(f"SELECT count(*) FROM frame WHERE {condition}").fetchall()
    return int(found)


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data(), combined(any_atoms))
def test_a_generalized_release_answers_like_brute_force_over_leaves(
    table: Table, data: st.DataObject, condition: str
) -> None:
    levels = tuple(data.draw(st.integers(0, hierarchy.height)) for hierarchy in table.hierarchies)
    published, meanings = generalized(table, levels)
    domains = {hierarchy.column: hierarchy.leaves.to_list() for hierarchy in table.hierarchies}
    found = count_labels(FrameRows(published), meanings, condition, kinds=KINDS, domains=domains)
    shares = []
    for row in published.to_dicts():
        region: dict[str, list[Any]] = {}
        for hierarchy, level in zip(table.hierarchies, levels, strict=True):
            part = hierarchy.levels[level].labels.index(row[hierarchy.column])
            inside = np.flatnonzero(hierarchy.levels[level].parts == part)
            region[hierarchy.column] = hierarchy.leaves.gather(inside).to_list()
        region |= {"disease": [row["disease"]], "cost": [row["cost"]]}
        shares.append(share(condition, region, table.frame.schema))
    assert found.value == pytest.approx(float(sum(shares)))
    assert found.bounds == (sum(one == 1 for one in shares), sum(one > 0 for one in shares))
    assert found.standard_error == pytest.approx(math.sqrt(sum(one * (1 - one) for one in shares)))
    assert found.rows == table.rows
    wide = count_labels(FrameRows(published), meanings, condition, "intersect", kinds=KINDS, domains=domains)
    truth = actual(table.frame, condition)
    assert wide.value == found.bounds[1] >= truth >= found.bounds[0]
    assert wide.standard_error is None


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(tables(), st.data(), combined(any_atoms))
def test_bounds_hold_also_when_no_domain_is_public(table: Table, data: st.DataObject, condition: str) -> None:
    levels = tuple(data.draw(st.integers(0, hierarchy.height)) for hierarchy in table.hierarchies)
    published, meanings = generalized(table, levels)
    kinds = data.draw(st.sampled_from([KINDS, {"admitted": "date"}]))
    found = count_labels(FrameRows(published), meanings, condition, kinds=kinds)
    assert found.bounds[0] <= actual(table.frame, condition) <= found.bounds[1]
    assert found.bounds[0] - 1e-9 <= found.value <= found.bounds[1] + 1e-9


@examples(60, suppress_health_check=[HealthCheck.too_slow])
@given(tables(least=5), st.data(), st.one_of(across, across, across, combined(any_atoms)), st.booleans())
def test_a_bucketized_release_answers_like_brute_force_over_all_ways(
    table: Table, data: st.DataObject, condition: str, counted: bool
) -> None:
    frame = table.frame.head(6)
    numbers = data.draw(st.lists(st.integers(1, 2), min_size=frame.height, max_size=frame.height))
    frame = frame.with_columns(pl.Series("bucket", numbers))
    quasi = frame.drop("disease")
    sensitive = frame.select("bucket", "disease")
    if counted:
        sensitive = sensitive.group_by("bucket", "disease").agg(pl.len().alias("n"))
    meanings = {
        name: {
            text or NULL_LABEL: Value(value)
            for text, value in zip(frame[name].cast(pl.String), frame[name], strict=True)
        }
        for name in KINDS
    }
    arguments = {"kinds": KINDS, "counts": "n" if counted else None}
    tables_ = {"quasi": FrameRows(quasi), "sensitive": FrameRows(sensitive)}
    found = count_buckets(tables_, meanings, condition, **arguments)
    wide = count_buckets(tables_, meanings, condition, "intersect", **arguments)
    mean, variance, low, high = 0.0, 0.0, 0, 0
    for bucket in set(numbers):
        rows = frame.filter(pl.col("bucket") == bucket)
        people, values = list(range(rows.height)), rows["disease"].to_list()
        pairs = (
            rows.drop("disease")
            .with_row_index("person")
            .join(rows.select("disease").with_row_index("value"), how="cross")
        )
        assert pairs.height
        met = set(duckdb.sql(f"SELECT person, value FROM pairs WHERE {condition}").fetchall())
        ways = outcomes(people, list(range(len(values))), lambda person, value: (person, value) in met)  # noqa: B023  used at once
        one = summary(ways)
        mean, variance, low, high = mean + float(one[0]), variance + float(one[1]), low + one[2], high + one[3]
    assert found.value == pytest.approx(mean)
    assert found.standard_error == pytest.approx(math.sqrt(variance), abs=1e-7)
    assert found.bounds == wide.bounds == (low, high)
    assert wide.value >= high


def test_bounds_of_a_condition_that_no_product_decides_are_those_of_a_transport() -> None:
    quasi = pl.DataFrame({"sex": ["F", "F", "M"], "bucket": [1, 1, 1]})
    sensitive = pl.DataFrame({"disease": ["flu", "hiv", "hiv"], "bucket": [1, 1, 1]})
    condition = "(sex = 'F' and disease = 'flu') or (sex = 'M' and disease = 'hiv')"
    found = count_buckets({"quasi": FrameRows(quasi), "sensitive": FrameRows(sensitive)}, {}, condition)
    # Either M has hiv and one F flu (2 of 3 ways), or M has flu and nobody meets it.
    assert found.bounds == (0, 2)
    assert found.value == pytest.approx(4 / 3)
    assert found.standard_error == pytest.approx(math.sqrt(8 / 9))


def test_an_unknown_share_has_the_error_of_not_knowing_it() -> None:
    data = pl.DataFrame({"income": ["*"] * 12})
    found = count_labels(FrameRows(data), {"income": {"*": Anything()}}, "income > 1000")
    assert (found.value, found.bounds) == (6.0, (0, 12))
    assert found.standard_error == pytest.approx(math.sqrt(12 / 4 + 12**2 / 12))


def published(tmp_path: Path, format: str = "generalize") -> tuple[Any, Path]:
    random = np.random.default_rng(3)
    rows = 400
    frame = pl.DataFrame(
        {
            "age": random.integers(18, 80, rows),
            "marital-status": random.choice(["single", "married", "widowed"], rows),
            "disease": random.choice(["flu", "asthma", "hiv"], rows),
        }
    )
    quasi = {
        "age": Hierarchy.intervals(widths=[5, 10, 20], domain=(0, 99)),
        "marital-status": Hierarchy.suppression(domain=["single", "married", "widowed"]),
    }
    table = rt.Table(frame, quasi=quasi, sensitive="disease")
    definition = rt.KAnonymity(5) if format == "generalize" else rt.DistinctLDiversity(3)
    release = rt.publish(table, definition, method=rt.Lattice(format=format))
    release.save(tmp_path / "release")
    return release, tmp_path / "release"


@pytest.mark.parametrize("format", ["generalize", "bucketize"])
def test_a_saved_release_answers_like_the_release_without_its_private_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setenv("RETICENT_LEDGER", str(tmp_path / "ledger.sqlite"))
    release, place = published(tmp_path, format)
    condition = "age between 30 and 42 and disease = 'flu' and \"marital-status\" <> 'widowed'"
    expected = release.count(condition)
    (place / "private").rename(tmp_path / "away")
    found = open_public(place).count(condition)
    assert found == expected
    assert found.bounds[0] <= found.value <= found.bounds[1]
    assert found.standard_error is not None
    assert found.standard_error > 0


def test_what_cannot_be_counted_is_refused() -> None:
    data = pl.DataFrame({"age": ["[20, 25)"], "disease": ["flu"]})
    meanings = {"age": {"[20, 25)": Interval(20, 25)}}
    with pytest.raises(ConditionError, match=r"no column 'agee'. Did you mean 'age'"):
        count_labels(FrameRows(data), meanings, "agee > 3")
    with pytest.raises(ConditionError, match="holds numbers"):
        count_labels(FrameRows(data), meanings, "age > 'x'")
    with pytest.raises(PolicyError, match=r"no estimator 'uniforn'. Did you mean 'uniform'"):
        count_labels(FrameRows(data), meanings, "age > 3", "uniforn")
    with pytest.raises(DataError, match="'noisy' is not a published format"):
        format_of("noisy")
    with pytest.raises(DataError, match="which the manifest does not explain"):
        count_labels(FrameRows(data), {"age": {}}, "age > 3", kinds={"age": "integer"})
    quasi = pl.DataFrame({"age": [20, 21], "bucket": [1, 2]})
    sensitive = pl.DataFrame({"disease": ["flu"], "bucket": [1]})
    with pytest.raises(DataError, match="more rows in one of its two tables"):
        count_buckets({"quasi": FrameRows(quasi), "sensitive": FrameRows(sensitive)}, {}, "age > 3 and disease = 'flu'")


@pytest.mark.parametrize("domain", [(0, 40), None])
def test_a_declared_domain_does_not_say_that_nothing_is_missing(domain: tuple[int, int] | None) -> None:
    """Of a saved release, 'is not null' was said to hold for certain under ``*``, and a label of missing values was refused."""
    frame = pl.DataFrame({"age": [1, 21, None, None], "sex": ["F", "F", "M", "M"]})
    hierarchy = Hierarchy.intervals([20], domain=domain)
    table = Table(frame, quasi={"age": hierarchy, "sex": None}, nulls="category")
    starred = rt.publish(table, rt.KAnonymity(4), rt.Lattice(node={"age": 2, "sex": 1}))
    assert starred.count("age is not null").bounds == (0, 4)
    assert starred.count("age is null").bounds == (0, 4)
    assert starred.count("age is null").value == (2 if domain is None else 0)
    shown = rt.publish(table, rt.KAnonymity(1), rt.Lattice(node={"age": 1, "sex": 1}))
    assert shown.count("age is null").bounds == (2, 2)
    assert shown.count("age < 20").bounds == (1, 1)


NEW_YEAR, MOMENT, HUGE = datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1, 5), 2**63 + 5
HIDDEN: list[tuple[list[Any], pl.DataType, list[str]]] = [
    (
        [NEW_YEAR],
        pl.Date(),
        ["q is null", "q is not null", "q >= '0001-01-01'", "q <= '9999-12-31'", "q < '2020-01-02'"],
    ),
    ([MOMENT], pl.Datetime("us"), ["q is not null", "q >= '0001-01-01'", "q <= '9999-12-31 23:59:59.999999'"]),
    ([1, 2], pl.Int64(), ["q < 100000000000000000000", "q > -1e30", "q < 9223372036854775807"]),
    ([1, 2], pl.Int64(), ["q >= -9223372036854775808", "q = 9223372036854775807 or q = 1"]),
    ([HUGE, HUGE + 1], pl.UInt64(), [f"q = {HUGE}", f"q > {HUGE}", f"q > -5 and q <= {HUGE}", "q is not null"]),
    ([1.0, 1e300], pl.Float64(), ["q < 1e21", "q < 1e308", "q > -1e308", "q > 1e299", "q between 1e299 and 1.7e308"]),
]


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize(("values", "dtype", "conditions"), HIDDEN)
def test_counts_at_the_ends_of_what_a_type_can_hold_have_true_bounds(
    values: list[Any], dtype: pl.DataType, conditions: list[str], declared: bool, level: int
) -> None:
    """Asking a suppressed day whether it is missing ended in a traceback, and large numbers were said to meet nothing."""
    frame = pl.DataFrame({"q": pl.Series(values, dtype=dtype)})
    table = Table(frame, quasi={"q": Hierarchy.suppression(values if declared else None)})
    release = rt.publish(table, rt.KAnonymity(1), rt.Lattice(node={"q": level}))
    for condition in conditions:
        low, high = release.count(condition).bounds
        assert low <= actual(frame, condition) <= high, condition


@pytest.mark.parametrize("domain", [(2**63, 2**63 + 30), None])
def test_intervals_beyond_63_bits_are_counted(domain: tuple[int, int] | None) -> None:
    frame = pl.DataFrame({"q": pl.Series([HUGE, HUGE + 1], dtype=pl.UInt64)})
    table = Table(frame, quasi={"q": Hierarchy.intervals([10], origin=2**63, domain=domain)})
    release = rt.publish(table, rt.KAnonymity(2), rt.Lattice(node={"q": 1}))
    assert release.count(f"q < {2**63 + 5}").value == pytest.approx(1.0)
    assert release.count(f"q > -1 and q < {2**63 + 10}").bounds == (2, 2)
