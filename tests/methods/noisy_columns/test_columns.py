"""Public columns: every value has one cell, and values drawn from a cell belong to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.methods.noisy_columns import NoisyCuts, PublicColumn, declared_columns

ROWS = {"age": [18, 25, 40, 89], "pay": [0.5, 10.0, 99.9, 1e6], "town": ["Aix", "Apt", "Aix", "Arles"]}


def column(name: str, entry: Any, **more: Any) -> PublicColumn:
    table = rt.Table(ROWS, quasi=list(ROWS), **more)
    (found,) = declared_columns(table, {name: entry})
    assert isinstance(found, PublicColumn)
    return found


ENTRIES = {
    "cuts": ("age", {"cuts": [0, 18, 30, 90]}),
    "bins": ("age", {"low": 0, "high": 100, "bins": 7}),
    "reals": ("pay", {"low": 0, "high": 100, "bins": 16}),
    "values": ("town", ["Aix", "Apt", "Arles", "Avignon"]),
    "steps": ("age", {"from": 0, "to": 120, "step": 1}),
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
@given(seed=st.integers(0, 2**32 - 1))
def test_values_drawn_from_a_cell_are_in_it(entry: tuple[str, Any], seed: int) -> None:
    found = column(*entry)
    source = np.random.default_rng(seed)
    codes = source.integers(0, found.size, 50)
    drawn = found.decode(codes, source)
    assert found.encode(drawn).tolist() == codes.tolist()
    assert PublicColumn.from_json(found.name, found.as_json()) == found


def test_numbers_beyond_the_ends_are_counted_in_the_outer_bins() -> None:
    found = column("pay", {"low": 0, "high": 100, "bins": 4})
    assert found.encode(pl.Series([-5.0, 0.0, 24.9, 25.0, 100.0, 1e9])).tolist() == [0, 0, 0, 1, 3, 3]


def test_a_level_of_a_hierarchy_gives_its_parts() -> None:
    towns = rt.Hierarchy.taxonomy({"south": ["Aix", "Arles"], "north": ["Apt"]})
    table = rt.Table(ROWS, quasi={"town": towns, "age": None})
    (found,) = declared_columns(table, {"town": {"level": 1}})
    assert isinstance(found, PublicColumn)
    assert found.size == 2
    codes = found.encode(pl.Series(["Aix", "Arles", "Apt"]))
    assert codes[0] == codes[1] != codes[2]
    assert set(found.decode(np.full(50, codes[0]), np.random.default_rng(1)).to_list()) == {"Aix", "Arles"}


def test_missing_values_are_a_cell_where_they_are_a_category() -> None:
    table = rt.Table({"age": [1, None, 3]}, quasi=["age"], nulls="category")
    (found,) = declared_columns(table, {"age": {"cuts": [0, 2, 4]}})
    assert isinstance(found, PublicColumn)
    codes = found.encode(pl.Series([1, None, 3]))
    assert codes.tolist() == [0, 2, 1]
    assert found.decode(codes, np.random.default_rng(1)).is_null().to_list() == [False, True, False]


def test_noisy_cuts_put_about_as_many_records_in_every_bin() -> None:
    table = rt.Table({"age": list(range(100))}, quasi=["age"])
    (found,) = declared_columns(table, {"age": {"low": 0, "high": 100, "bins": 4, "cuts": "noisy"}})
    assert isinstance(found, NoisyCuts)
    skewed = np.array([1000.0 if place < 10 else 10.0 for place in range(found.grid.size)])
    cut = found.cut(skewed)
    assert cut.size == 4
    shares = np.bincount(
        cut.encode(
            found.grid.decode(np.repeat(np.arange(found.grid.size), skewed.astype(int)), np.random.default_rng(2))
        )
    )
    assert shares.max() < 2 * shares.min()


@pytest.mark.parametrize(
    ("name", "entry", "said"),
    [
        ("age", {"cuts": [3, 2]}, "increasing"),
        ("age", {"low": 0, "high": 9}, "must be written as"),
        ("age", {"low": 0, "high": 9, "bins": 3, "cuts": "often"}, "noisy"),
        ("town", {"cuts": [1, 2]}, "for numbers"),
        ("town", ["Aix", "Aix"], "more than once"),
        ("town", ["Aix", 3], "of one kind"),
        ("town", [], "between 1 and"),
        ("age", {"from": 3, "to": 9, "stride": 1}, "must be a list of values"),
        ("town", {"level": 1}, "from the data only"),
        ("nobody", [1], "does not publish"),
    ],
)
def test_declarations_that_cannot_be_are_refused(name: str, entry: Any, said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        declared_columns(rt.Table(ROWS, quasi=list(ROWS)), {name: entry})


def test_a_value_without_a_cell_names_its_row() -> None:
    with pytest.raises(DataError, match=r"row 2.*'Paris'"):
        column("town", ["Aix", "Apt"]).encode(pl.Series(["Aix", "Paris"]))
