"""Public domains: listed codes, and longer ones under public groups."""

from __future__ import annotations

import polars as pl
import pytest

from reticent.errors import DataError
from reticent.table import NAMES as PUBLIC_DOMAINS
from reticent.table import Hierarchy
from reticent.table.hierarchies.public_values import public_paths


def ways(name: str, codes: list[str]) -> list[list[str]]:
    fitted = Hierarchy.public(name).bind(pl.Series("x", codes), "x")
    found = fitted.codes(pl.Series("x", codes))
    return [[level.labels[level.parts[code]] for level in fitted.levels] for code in found]


@pytest.mark.parametrize("name", PUBLIC_DOMAINS)
def test_every_domain_has_each_code_once_and_binds(name: str) -> None:
    codes = [path[0] for path in public_paths(name)]
    assert len(set(codes)) == len(codes)
    fitted = Hierarchy.public(name).bind(pl.Series("x", codes[:3]), "x")
    assert not fitted.data_dependent
    assert fitted.levels[-1].size == 1


def test_sizes_are_those_that_the_makers_name() -> None:
    sizes = {name: len(public_paths(name)) for name in PUBLIC_DOMAINS}
    assert (sizes["us-states"], sizes["isco-08"], sizes["nace"], sizes["iso-3166-2"]) == (51, 43, 88, 249)


@pytest.mark.parametrize(
    ("name", "code", "way"),
    [
        ("isco-08", "2221", ["2221", "222", "22", "2 Professionals", "*"]),
        ("isco-08", "0110", ["0110", "011", "01", "0 Armed forces", "*"]),
        ("nace", "62.01", ["62.01", "620", "62", "J Information", "*"]),
        ("nuts", "DE212", ["DE212", "DE21", "DE2", "DE", "*"]),
        ("us-zip", "02139", ["02139", "021**", "MA", "New England", "Northeast", "*"]),
        ("us-zip", "73301", ["73301", "733**", "TX", "West South Central", "South", "*"]),
        (
            "us-zip",
            "09123",
            ["09123", "091**", "Military", "Territories and military", "Territories and military", "*"],
        ),
        ("icd-10", "J45.1", ["J45.1", "J45", "X Respiratory system", "*"]),
    ],
)
def test_longer_codes_lie_under_public_groups(name: str, code: str, way: list[str]) -> None:
    assert ways(name, [code]) == [way]


def test_codes_of_several_lengths_meet_in_their_groups() -> None:
    long, short, other = ways("nuts", ["DE212", "DE21", "FR101"])
    assert long[1:] == short[1:]
    assert other[3:] == ["FR", "*"]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("isco-08", "1500"),
        ("nuts", "XX12"),
        ("us-zip", "00100"),
        ("us-zip", "1234"),
        ("nace", "62.0x"),
        ("icd-10", "D49.1"),
    ],
)
def test_what_is_no_code_is_refused_by_name(name: str, code: str) -> None:
    with pytest.raises(DataError, match=f"'{code}' is not a code of the public domain '{name}'") as caught:
        ways(name, [code])
    assert (caught.value.column, caught.value.value) == ("x", code)
