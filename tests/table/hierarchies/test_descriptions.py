"""Hierarchies as plain data: what describe() writes, hierarchy_from reads."""

import datetime
import json

import polars as pl
import pytest

from reticent.errors import DataError, PolicyError
from reticent.table import Hierarchy
from reticent.table.hierarchies.descriptions import hierarchy_from

KINDS = {
    "listed": (Hierarchy.listed([["1", "low", "*"], ["2", "high", "*"]]), pl.Series([1, 2, 2])),
    "intervals": (Hierarchy.intervals([5, "10"], origin="0.5", domain=(0, 30)), pl.Series([3, 17])),
    "intervals from data": (Hierarchy.intervals([0.5, 1]), pl.Series([0.25, 1.5])),
    "cuts": (Hierarchy.cuts([[18, 40, 65], [18, 65]]), pl.Series([3, 50, 90])),
    "masking": (Hierarchy.masking(5, keep=[5, 3, 0]), pl.Series(["14853", "13068"])),
    "masking with domain": (Hierarchy.masking(2, domain=["10", "11", "20"]), pl.Series(["10"])),
    "dates": (
        Hierarchy.dates(["month", "year"], domain=(datetime.date(2024, 1, 1), datetime.date(2024, 3, 1))),
        pl.Series([datetime.date(2024, 2, 3)]),
    ),
    "timestamps": (Hierarchy.dates(timezone="Europe/Paris"), pl.Series([datetime.datetime(2024, 2, 3, 4)])),
    "taxonomy": (
        Hierarchy.taxonomy({"ill": {"stomach": ["ulcer", "gastritis"], "flu": ["influenza"]}, "well": ["healthy"]}),
        pl.Series(["ulcer", "healthy"]),
    ),
    "suppression": (Hierarchy.suppression(), pl.Series(["b", "a"])),
    "suppression with domain": (Hierarchy.suppression([True, False]), pl.Series([True])),
}


@pytest.mark.parametrize("name", KINDS)
def test_a_described_hierarchy_comes_back_the_same_through_json(name: str) -> None:
    hierarchy, series = KINDS[name]
    text = json.dumps(hierarchy.describe(), default=str)
    back = hierarchy_from(json.loads(text)).bind(series, "column")
    bound = hierarchy.bind(series, "column")
    assert back.leaves.equals(bound.leaves)
    assert [level.labels for level in back.levels] == [level.labels for level in bound.levels]
    assert [level.parts.tolist() for level in back.levels] == [level.parts.tolist() for level in bound.levels]
    assert [level.meanings for level in back.levels] == [level.meanings for level in bound.levels]


def test_files_are_found_below_the_base_folder(tmp_path) -> None:
    (tmp_path / "age.csv").write_text("1|young|*\n2|old|*\n")
    (tmp_path / "jobs.json").write_text('{"office": ["clerk", "boss"]}')
    age = hierarchy_from({"kind": "csv", "file": "age.csv", "separator": "|"}, base=tmp_path)
    jobs = hierarchy_from({"kind": "taxonomy", "file": "jobs.json"}, base=tmp_path)
    assert age.bind(pl.Series([1]), "age").levels[1].labels == ("young", "old")
    assert jobs.bind(pl.Series(["clerk"]), "job").levels[1].labels == ("office",)


@pytest.mark.parametrize(
    ("description", "message"),
    [
        ("intervals", "column 'age': a hierarchy is described by a table"),
        ({"widths": [5]}, "kind must be one of listed, csv, intervals"),
        ({"kind": "interval", "widths": [5]}, "Did you mean 'intervals'"),
        ({"kind": "intervals", "width": [5]}, "has no field 'width'. Did you mean 'widths'"),
        ({"kind": "intervals"}, "needs the field 'widths'"),
        ({"kind": "intervals", "widths": 5}, "widths must be a list, but it is 5"),
        ({"kind": "intervals", "widths": [5, 12]}, "column 'age': intervals: width 12 is not a multiple"),
        ({"kind": "intervals", "widths": [5], "domain": [1, 2, 3]}, "domain must be a pair"),
        ({"kind": "cuts", "levels": [18, 65]}, "levels must be a list of lists"),
        ({"kind": "masking", "digits": "5"}, "digits must be a whole number, but it is '5'"),
        ({"kind": "dates", "levels": ["weeks"]}, "'weeks' is not one of hour"),
        ({"kind": "taxonomy"}, "either a tree or a file"),
        ({"kind": "taxonomy", "tree": ["a"]}, "tree must be a table of categories"),
        ({"kind": "csv", "file": "a.csv", "separator": ";;"}, "separator must be a single character"),
        ({"kind": "listed", "rows": ["a;b"]}, "row 1 must list a value"),
    ],
)
def test_a_wrong_description_is_refused_with_the_place_and_the_field(description, message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        hierarchy_from(description, where="column 'age'")
    assert str(caught.value).startswith("column 'age': ")
    assert message in str(caught.value)


def test_a_missing_hierarchy_file_is_named(tmp_path) -> None:
    with pytest.raises(DataError, match=r"There is no hierarchy file .*nowhere\.csv"):
        hierarchy_from({"kind": "csv", "file": "nowhere.csv"}, base=tmp_path)
