"""The public grid: cells from lists, ranges, breaks and declared levels, never from the data."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError, PolicyError
from reticent.methods.grid.axes import Grid, GridAxis, declared_grid

FRAME = pl.DataFrame(
    {
        "age": [0, 17, 18, 64, 120],
        "pay": [0.5, 10.0, 99.99, 100.0, None],
        "born": [datetime.date(2000, 1, day) for day in range(1, 6)],
        "town": ["Aix", "Apt", "Arles", "Aix", "Apt"],
        "code": ["13100", "13200", "84400", "84400", "13100"],
    }
)


def table(**hierarchies: rt.Hierarchy | None) -> rt.Table:
    return rt.Table(FRAME, quasi={name: hierarchies.get(name) for name in FRAME.columns}, nulls="category")


def axis(given: object, name: str, **hierarchies: rt.Hierarchy) -> GridAxis:
    return declared_grid(table(**hierarchies), {name: given}).axes[0]


def test_breaks_are_half_open_and_the_last_cell_has_both_ends():
    found = axis({"breaks": [0, 18, 65, 120]}, "age")
    assert found.labels == ("[0, 18)", "[18, 65)", "[65, 120]")
    assert found.encode(FRAME["age"]).tolist() == [0, 0, 1, 1, 2]


def test_steps_open_ends_and_missing_values_have_cells():
    found = axis({"from": 0, "to": 100, "step": 40, "open": True, "missing": True}, "pay")
    assert found.labels == ("< 0", "[0, 40)", "[40, 80)", "[80, 100)", ">= 100", "(missing)")
    assert found.encode(FRAME["pay"]).tolist() == [1, 1, 3, 4, 5]


def test_dates_have_ranges_and_listed_values_keep_their_order():
    days = axis({"breaks": ["2000-01-01", "2000-01-03", "2000-02-01"]}, "born")
    assert days.encode(FRAME["born"]).tolist() == [0, 0, 1, 1, 1]
    towns = axis(["Arles", "Apt", "Aix", "Avignon"], "town")
    assert towns.encode(FRAME["town"]).tolist() == [2, 1, 0, 2, 1]


def test_a_level_of_a_declared_hierarchy_is_a_grid_and_one_from_the_data_is_not():
    found = axis(1, "age", age=rt.Hierarchy.intervals([40, 80], domain=(0, 120)))
    assert found.labels == ("[0, 40)", "[40, 80)", "[80, 120)", "[120, 160)")
    codes = axis(3, "code", code=rt.Hierarchy.masking(5, domain=["13100", "13200", "84400"]))
    assert codes.labels == ("13***", "84***")
    assert codes.encode(FRAME["code"]).tolist() == [0, 0, 1, 1, 0]
    for given in ({}, {"age": rt.Hierarchy.intervals([40, 80])}):
        with pytest.raises(PolicyError, match="known only from the data"):
            axis(0, "age", **given)


def test_halves_have_names_of_their_own_which_lead_back():
    ages = axis({"from": 0, "to": 100, "step": 20, "open": True, "missing": True}, "age")
    assert ages.ranges[(0, 8)] == "*"
    assert ages.ranges[(1, 2)] == "[0, 20)"
    assert ages.ranges[(4, 8)] == ">= 60 or missing"
    towns = axis(["Arles", "Apt", "*", "Arles .. Apt"], "town")
    assert towns.ranges[(0, 4)] == "*'"
    assert towns.ranges[(0, 2)] == "Arles .. Apt'"
    assert {towns.halves[label] for label in towns.ranges.values()} == set(towns.ranges)


def test_a_grid_packs_its_cells_in_their_order_and_survives_json():
    grid = declared_grid(table(), {"town": ["Aix", "Apt", "Arles"], "age": {"breaks": [0, 18, 120]}, "pay": {"breaks": [0, 100], "missing": True}})  # fmt: skip
    cells = grid.encode(FRAME)
    assert grid.unpack(grid.pack(cells)).tolist() == cells.tolist()
    assert (grid.size, grid.deepest) == (12, 4)
    assert Grid.from_json(grid.as_json()) == grid


@pytest.mark.parametrize(
    ("given", "name", "message"),
    [
        ({"breaks": [0, 18, 120]}, "town", "does not hold numbers or dates"),
        ({"breaks": [0, 18, 18]}, "age", "must be increasing"),
        ({"breaks": [0]}, "age", "at least two numbers or dates"),
        ({"breaks": ["a", "b"]}, "pay", "grid: pay"),
        ({"from": 0, "to": 10, "step": 0}, "age", "gives no cell"),
        ({"from": 0, "to": 10**9, "step": 1}, "age", "at most 10,000"),
        ({"from": 0, "to": 10}, "age", "must be a list of values"),
        ({"quantiles": 4}, "age", "must be a list of values"),
        ({"values": ["Aix"], "open": True}, "town", "cannot be 'open'"),
        ({"values": ["Aix"], "missing": "yes"}, "town", "true or false"),
        (["Aix", "Aix"], "town", "same label"),
        (["old"], "age", "grid: age"),
        ([], "town", "must be a list of values"),
        (-1, "age", "must be a list of values"),
        (["Aix"], "street", "does not publish a column 'street'"),
    ],
)  # fmt: skip
def test_what_is_no_grid_is_refused_with_its_place(given, name, message):
    with pytest.raises(PolicyError, match=message):
        declared_grid(table(), {name: given})


def test_a_value_outside_of_the_grid_is_named_and_never_fitted():
    with pytest.raises(DataError, match="the value 120 is in no cell"):
        axis({"breaks": [0, 18, 100]}, "age").encode(FRAME["age"])
    with pytest.raises(DataError, match="the value None is in no cell"):
        axis({"breaks": [0, 200]}, "pay").encode(FRAME["pay"])


def test_grids_that_are_too_large_are_refused():
    with pytest.raises(PolicyError, match="which is too many"):
        Grid(tuple(GridAxis(f"c{i}", axis(["Aix"], "town").kind, tuple(map(str, range(9999))), axis(["Aix"], "town").meanings * 9999) for i in range(5)))  # fmt: skip
