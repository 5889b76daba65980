"""The finest and the coarsest level that may be published: kept by every method, or refused with the column."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.errors import Infeasible, PolicyError, ReticentError
from reticent.policy import Policy
from reticent.table import Hierarchy, Table, hierarchy_from

AGES = Hierarchy.intervals(widths=[5, 10, 20, 40], domain=(0, 119))


def people(rows: int = 400) -> pl.DataFrame:
    draw = random.Random(3)
    return pl.DataFrame(
        {
            "age": [draw.randrange(20, 80) for _ in range(rows)],
            "town": [draw.choice(["A1", "A2", "B1", "B2", "B3"]) for _ in range(rows)],
            "ill": [draw.choice(["flu", "cold", "ulcer"]) for _ in range(rows)],
        }
    )


def table(frame: pl.DataFrame | None = None, **limits: Any) -> Table:
    frame = people() if frame is None else frame
    return Table(frame, quasi={"age": AGES.limited(**limits), "town": Hierarchy.masking(2)}, sensitive="ill")


METHODS = [
    rt.Lattice(),
    rt.Lattice(suppression="0.1"),
    rt.Datafly(),
    rt.Mondrian(values="sets"),
    rt.Mondrian(values="ranges"),
    rt.Mondrian(values="hierarchy"),
    rt.Mondrian(split="loss", ties="divide", values="sets"),
]


def _ages(release: Any) -> dict[str, list[int]]:
    from reticent.table import LeafIndex

    bound = AGES.bind(pl.Series("age", [1]), "age")
    index = LeafIndex.of(bound.leaves, "age")
    columns = {each.name: each for each in release.manifest.columns}
    return {label: bound.leaves.gather(index.under(m)).to_list() for label, m in columns["age"].labels.items()}


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_nothing_is_finer_than_the_least_level(method: Any) -> None:
    release = rt.publish(table(min_level=2), rt.KAnonymity(5), method=method)
    for ages in _ages(release).values():
        assert len(ages) in (10, 20, 40, 120)
        assert ages[0] % len(ages) == 0


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_nothing_is_coarser_than_the_largest_level(method: Any) -> None:
    release = rt.publish(table(max_level=3), rt.KAnonymity(5), method=method)
    for ages in _ages(release).values():
        assert len(ages) in (1, 5, 10, 20)
        assert len({age // 20 for age in ages}) == 1


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_one_level_alone_is_that_level(method: Any) -> None:
    release = rt.publish(table(min_level=1, max_level=1), rt.KAnonymity(5), method=method)
    assert {len(ages) for ages in _ages(release).values()} == {5}


@given(st.integers(0, 5), st.integers(0, 5), st.integers(2, 12), st.sampled_from(METHODS), st.integers(0, 99))
def test_limits_hold_or_are_refused(low: int, high: int, k: int, method: Any, seed: int) -> None:
    frame = people(60).sample(40, seed=seed)
    if low > high:
        with pytest.raises(PolicyError, match="there is no level between"):
            AGES.limited(low, high)
        return
    try:
        release = rt.publish(table(frame, min_level=low, max_level=high), rt.KAnonymity(k), method=method)
    except Infeasible:
        return
    sizes = [1, 5, 10, 20, 40, 120]
    assert {len(ages) for ages in _ages(release).values()} <= set(sizes[low : high + 1])


def test_what_max_level_makes_impossible_is_said_with_the_column() -> None:
    with pytest.raises(Infeasible, match=r"max_level separates records that .* needs in one group, in 'age'"):
        rt.publish(table(people(30), max_level=0), rt.KAnonymity(5), method=rt.Mondrian(values="sets"))


def test_exact_values_are_refused_where_a_level_is_asked_for() -> None:
    with pytest.raises(PolicyError, match=r"Lattice publishes column 'age' as .* beyond the min_level") as caught:
        rt.publish(table(min_level=1), rt.DistinctLDiversity(2), method=rt.Lattice(format="bucketize"))
    assert caught.value.column == "age"


@pytest.mark.parametrize("name", ["min_level", "max_level"])
def test_a_level_that_the_hierarchy_does_not_have_is_refused_with_the_column(name: str) -> None:
    with pytest.raises(PolicyError, match=f"Column 'age' has levels 0 to 5, but its {name} is 6") as caught:
        _ = table(**{name: 6}).hierarchies
    assert caught.value.column == "age"


def test_a_node_or_floor_below_the_least_level_is_refused() -> None:
    with pytest.raises(PolicyError, match="node: column 'age' has levels 2 to 5, not 1"):
        rt.search(table(min_level=2), rt.KAnonymity(2), node={"age": 1})
    found = rt.search(table(min_level=2), rt.KAnonymity(2), floor={"town": 1})
    assert found.floor == {"age": 2, "town": 1}
    assert all(node["age"] >= 2 for node in found.minimal or [])


def test_missing_values_stay_missing_under_limits() -> None:
    frame = people().with_columns(pl.when(pl.col("age") < 30).then(None).otherwise("age").alias("age"))
    made = Table(frame, quasi={"age": AGES.limited(1, 3), "town": None}, sensitive="ill", nulls="category")
    for method in METHODS:
        release = rt.publish(made, rt.KAnonymity(5), method=method)
        assert "(missing)" in release.frame["age"].to_list()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"min_level": -1}, "min_level must be at least 0"),
        ({"min_level": "1"}, "min_level must be a whole number"),
        ({"min_level": 3, "max_level": 2}, "there is no level between"),
        ({"min_levl": 1}, "Did you mean 'min_level'"),
    ],
)
def test_nonsense_in_a_description_is_refused_by_its_field(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        hierarchy_from({"kind": "intervals", "widths": [5], **wrong}, "column 'age'")


def test_a_policy_says_limits_beside_any_hierarchy(tmp_path: Any) -> None:
    people().write_csv(tmp_path / "people.csv")
    text = """
[data]
source = "people.csv"
[roles]
quasi = ["age", "town"]
sensitive = ["ill"]
[hierarchies.age]
kind = "intervals"
widths = [5, 10, 20]
min_level = 1
max_level = 2
[hierarchies.town]
kind = "masking"
digits = 2
max_level = 7
[[definition]]
name = "KAnonymity"
k = 5
"""
    with pytest.raises(ReticentError, match="Column 'town' has levels 0 to 2, but its max_level is 7") as caught:
        Policy.parse(text, folder=tmp_path).table()
    assert "policy" in str(caught.value)
    made = Policy.parse(text.replace("max_level = 7", "max_level = 1"), folder=tmp_path).table()
    assert [(each.lowest, each.height) for each in made.hierarchies] == [(1, 2), (0, 1)]
