"""Several records of a person: the table keeps a declared number of them, so that one person more or less changes no more records than noise hides."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import PolicyError

pytest.importorskip("opendp")
OWNERS = st.lists(st.integers(0, 5), min_size=2, max_size=40)
NOISELESS = rt.UnboundedDP(50)
COUNT = [{"statistic": "count"}]


def kept(owners: list[int], limit: int, column: str = "key") -> list[tuple[int, int]]:
    """The owner and the own rank of every record that a table keeps, by the key or the household."""
    seen: Counter[int] = Counter()
    ranks = []
    for owner in owners:
        ranks.append(seen[owner])
        seen[owner] += 1
    frame = pl.DataFrame({"owner": owners, "rank": ranks})
    roles: dict[str, Any] = {column: "owner", "rows_per_person": limit}
    table = rt.Table(frame, quasi=["rank"], **roles)
    return list(zip(table.frame["owner"].to_list(), table.frame["rank"].to_list(), strict=True))


@pytest.mark.parametrize("column", ["key", "household"])
@settings(max_examples=40, deadline=None)
@given(owners=OWNERS, limit=st.integers(1, 4))
def test_one_unit_less_changes_at_most_the_declared_number_of_records(
    column: str, owners: list[int], limit: int
) -> None:
    everybody = kept(owners, limit, column)
    without = [owner for owner in owners if owner != owners[0]]
    own = [each for each in everybody if each[0] == owners[0]]
    assert len(own) == min(limit, owners.count(owners[0]))
    if without:
        assert kept(without, limit, column) == [each for each in everybody if each[0] != owners[0]]


@settings(max_examples=40, deadline=None)
@given(count=st.integers(1, 30), limit=st.integers(1, 6))
def test_kept_records_are_evenly_spread_over_those_of_the_person(count: int, limit: int) -> None:
    ranks = [rank for _, rank in kept([0] * count + [1], limit)][:-1]
    gaps = [other - one for one, other in zip([-1, *ranks], ranks, strict=False)]
    assert max(gaps) - min(gaps) <= 1
    assert ranks[-1] == count - 1


def visits(**roles: Any) -> rt.Table:
    """Persons 0 to 4 have 1 to 5 visits and a household each."""
    owners = [person for person in range(5) for _ in range(person + 1)]
    named = {name: owners for name in ("person", "home") if name in str(roles.values())}
    frame = pl.DataFrame({"age": [30 + person for person in owners], **named})
    return rt.Table(frame, quasi=["age"], **roles)


def test_the_count_is_that_of_the_kept_records() -> None:
    draft = rt.Statistics(COUNT).draft(
        visits(key="person", rows_per_person=2), NOISELESS, Context(randomness=Randomness(1))
    )
    assert draft.tables["statistics"].frame()["value"].to_list() == [1 + 2 + 2 + 2 + 2]


def test_the_statement_tells_the_declared_number_and_how_records_are_chosen(tmp_path: Path) -> None:
    release = rt.publish(
        visits(key="person", rows_per_person=2, dataset="visits"), NOISELESS, rt.Statistics(COUNT), insecure_seed=1
    )
    assert "at most 2 are counted, evenly spread over the person's own records" in (
        release.save(tmp_path / "release") / "public" / "STATEMENT.txt"
    ).read_text().replace("\n", " ")
    assert "all records of a person" in release.certificate["claims"][0]["covers"]


@pytest.mark.parametrize(
    ("roles", "unit", "message"),
    [
        ({"key": "person", "rows_per_person": 2}, "row", "would not hide one"),
        ({"household": "home", "rows_per_person": 2}, "row", "would not hide one"),
        ({"household": "home", "rows_per_person": 2}, "person", "bounds the records of each household here"),
        ({"key": "person", "household": "home", "rows_per_person": 2}, None, "any number of records"),
        ({"identifiers": ["person"], "rows_per_person": 2}, None, "must be declared, not found"),
        ({"rows_per_person": 2}, None, "must be declared, not found"),
        ({"key": "person"}, None, "Give the table rows_per_person="),
    ],
)
@pytest.mark.parametrize("method", ["Statistics", "Marginals"])
def test_a_bound_for_another_unit_is_refused(method: str, roles: dict[str, Any], unit: Any, message: str) -> None:
    given = {"Statistics": {"queries": COUNT}, "Marginals": {"select": [["age"]], "domain": {"age": list(range(99))}}}
    with pytest.raises(PolicyError, match=message):
        getattr(rt, method)(**given[method], unit=unit).draft(visits(**roles), NOISELESS)


def test_noisy_counts_and_grids_of_rows_refuse_a_table_with_several_declared_rows() -> None:
    """The refusal follows from what is declared, whether or not anyone has several rows."""
    frame = pl.DataFrame({"person": [1, 2, 3], "age": [31, 32, 33]})
    table = rt.Table(frame, quasi=["age"], key="person", rows_per_person=2)
    assert "protects one row" in str(rt.CentralCounts().refusal(table, rt.NoisyCounts(1)))
    assert "protects one row" in str(rt.GridCounts({"age": [31, 32, 33]}).refusal(table, rt.UnboundedDP(1)))
