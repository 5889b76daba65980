"""Proposed hierarchies fit the values: steps for few numbers, even parts for skewed ones, trees for categories, public domains where there is one."""

from __future__ import annotations

import gzip
import itertools
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from reticent.errors import PolicyError
from reticent.policy import Policy, inspect
from reticent.propose.hierarchies import propose_hierarchy
from reticent.propose.profile import profile_column
from reticent.table import NAMES as PUBLIC_DOMAINS
from reticent.table import Hierarchy, hierarchy_from


def proposed(name: str, values: list[Any]) -> dict[str, Any]:
    return propose_hierarchy(profile_column(pl.Series(name, values)), None, None).description


def bound(name: str, values: list[Any]) -> Any:
    return hierarchy_from(proposed(name, values)).bind(pl.Series(name, values), name)


def test_few_whole_numbers_are_joined_with_their_neighbours() -> None:
    assert proposed("children", [0, 1, 2, 3, 4, 5, 6] * 9) == {"kind": "intervals", "widths": [2, 4], "origin": 0}


def test_skewed_numbers_are_cut_into_even_parts() -> None:
    chance = random.Random(2)
    values = [round(chance.lognormvariate(6, 2)) for _ in range(4000)]
    found = proposed("amount", values)
    assert found["kind"] == "cuts"
    for level, parts in zip(found["levels"], (16, 8, 4, 2), strict=True):
        edges = [-1, *level, 10**12]
        shares = [sum(low <= value < high for value in values) / 4000 for low, high in itertools.pairwise(edges)]
        assert len(level) <= parts - 1
        assert max(shares) < 2.5 / parts


def test_categories_get_a_tree_of_what_begins_alike_and_of_what_is_rare() -> None:
    values = ["Private"] * 60 + ["Self-emp-inc"] * 10 + ["Self-emp-not-inc"] * 10 + ["Farm"] * 3 + ["Never"] * 2
    found = proposed("workclass", values)
    assert found["tree"]["Self-emp..."] == {"Self-emp...": ["Self-emp-inc", "Self-emp-not-inc"]}
    assert set(found["tree"]["Other"]) == {"Farm", "Never"}
    tree = bound("workclass", values)
    assert [level.size for level in tree.levels] == [5, 4, 3, 1]
    assert tree.data_dependent


@pytest.mark.parametrize(
    "values", [["Other", "a", "b", "c"], ["x y", "x-z", "X", "w"], ["a'", "Other", "Other'", "b", "B c"]]
)
def test_any_categories_make_a_hierarchy_that_binds(values: list[str]) -> None:
    assert bound("kind", values * 5).levels[-1].size == 1


def test_a_tree_is_written_so_that_it_can_be_edited(tmp_path: Path) -> None:
    jobs = ["clerk", "smith", "baker", "farm hand", "farm owner"] * 20
    pl.DataFrame({"job": jobs, "age": [20 + i % 60 for i in range(100)]}).write_csv(tmp_path / "a.csv")
    found = inspect(str(tmp_path / "a.csv"), output=tmp_path / "policy.toml")
    assert "[hierarchies.job.tree." in found.policy
    found.save(tmp_path / "policy.toml")
    assert Policy.read(tmp_path / "policy.toml").table().hierarchies[0].data_dependent


@pytest.mark.parametrize("name", PUBLIC_DOMAINS)
def test_every_public_domain_binds_and_describes_itself(name: str) -> None:
    hierarchy = Hierarchy.public(name)
    found = hierarchy.bind(pl.Series([], dtype=pl.String), "column")
    assert not found.data_dependent
    assert found.levels[-1].size == 1
    assert hierarchy_from(hierarchy.describe()) == hierarchy


@pytest.mark.parametrize(
    ("column", "values", "name"),
    [
        ("state", ["CA", "NY", "TX"], "us-states"),
        ("where", ["California", "New York", "Texas", "District of Columbia"], "us-states-names"),
        ("STATEFIP", [6, 36, 48], "us-states-fips"),
        ("country", ["DE", "FR", "NA"], "iso-3166-2"),
        ("cntry", ["DEU", "FRA", "USA"], "iso-3166-3"),
        ("dx", ["E11", "I10", "Z99"], "icd-10"),
        ("diagnosis", ["E11.9", "I10", "J45.2"], "icd-10"),
        ("nace", ["01", "10", "86"], "nace"),
    ],
)
def test_values_that_everybody_knows_get_their_public_domain(column: str, values: list[Any], name: str) -> None:
    assert proposed(column, values * 10) == {"kind": "public", "name": name}


@pytest.mark.parametrize(
    ("column", "values"), [("grade", ["AA", "BA", "CA"]), ("age", [6, 36, 48]), ("size", ["S", "M", "L"])]
)
def test_codes_that_only_look_like_it_do_not(column: str, values: list[Any]) -> None:
    assert proposed(column, values * 10)["kind"] != "public"


def test_public_domains_have_as_many_values_as_their_makers_say() -> None:
    sizes = {name: Hierarchy.public(name).bind(pl.Series([], dtype=pl.String), "c").size for name in PUBLIC_DOMAINS}
    assert sizes["us-states"] == sizes["us-states-fips"] == sizes["us-states-names"] == 51
    assert sizes["iso-3166-2"] == sizes["iso-3166-3"] == 249
    assert sizes["nace"] == 88


def test_a_disease_below_its_category_keeps_the_public_chapters() -> None:
    found = Hierarchy.public("icd-10").bind(pl.Series(["E11.9", "E11.2", "I10"]), "dx")
    assert found.data_dependent
    assert [level.size for level in found.levels] == [3, 2, 2, 1]
    assert set(found.levels[2].labels) == {"IV Endocrine, nutritional and metabolic", "IX Circulatory system"}


def test_an_unknown_public_domain_is_refused_by_name() -> None:
    with pytest.raises(PolicyError, match="Did you mean 'us-states'"):
        Hierarchy.public("us-state")


def test_a_gzipped_hierarchy_file_beside_the_data_is_taken(tmp_path: Path) -> None:
    pl.DataFrame({"job": ["a", "b", "c"] * 10}).write_csv(tmp_path / "people.csv")
    (tmp_path / "people_hierarchy_job.csv.gz").write_bytes(gzip.compress(b"a;x;*\nb;x;*\nc;y;*\n"))
    found = inspect(str(tmp_path / "people.csv"), output=tmp_path / "policy.toml")
    assert found.proposal.columns[0].hierarchy == {"kind": "csv", "file": str(tmp_path / "people_hierarchy_job.csv.gz")}
