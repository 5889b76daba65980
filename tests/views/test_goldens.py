"""The golden verdicts of spec 000a, on every path that must agree."""

from __future__ import annotations

import json

import pytest

from reticent import views
from reticent.views.budget import SearchBudget
from reticent.views.checker import Checker
from tests.views.goldens import Golden, read_goldens, read_sql_goldens

DATALOG = read_goldens("goldens.txt")
SQL = read_sql_goldens("sql_goldens.sql")


def _domains(text: str | None) -> dict[str, dict[int, list[object]]]:
    found = json.loads(text or "{}")
    return {name: {int(place): values for place, values in columns.items()} for name, columns in found.items()}


def _verdict(golden: Golden, turned: bool = False) -> views.Verdict:
    fields = golden.fields
    secret, view = (fields["view"], fields["secret"]) if turned else (fields["secret"], fields["view"])
    return views.check(
        secret,
        view,
        keys=json.loads(fields.get("keys", "{}")),
        domains=_domains(fields.get("domains")),
        key_mode=fields.get("key_mode", "exact"),
    )


@pytest.mark.parametrize("golden", DATALOG, ids=lambda golden: golden.name)
def test_the_golden_verdict_is_reached(golden: Golden) -> None:
    verdict = _verdict(golden)
    assert verdict.status == golden.fields["verdict"]
    if "pattern" in golden.fields:
        assert verdict.pattern == golden.fields["pattern"]
    if "relation" in golden.fields:
        assert verdict.relation == golden.fields["relation"]
    if "rows" in golden.fields:
        assert verdict.witness is not None
        assert [item.value for item in verdict.witness.row] in json.loads(golden.fields["rows"])
    if "assumption" in golden.fields:
        assert any(golden.fields["assumption"] in item for item in verdict.assumptions)


@pytest.mark.parametrize("golden", DATALOG, ids=lambda golden: golden.name)
def test_secret_and_view_may_change_places(golden: Golden) -> None:
    assert _verdict(golden, turned=True).status == golden.fields["verdict"]


@pytest.mark.parametrize("golden", DATALOG, ids=lambda golden: golden.name)
def test_the_generic_engine_agrees_with_the_fast_paths(golden: Golden) -> None:
    fields = golden.fields
    schema, (secret, view) = views.prepare(
        [fields["secret"], fields["view"]],
        None,
        keys=json.loads(fields.get("keys", "{}")),
        domains=_domains(fields.get("domains")),
    )
    slow = Checker(schema, key_mode=fields.get("key_mode", "exact"), fast=False, minimize=False)
    assert slow.check(secret, view).status == fields["verdict"]


@pytest.mark.parametrize("golden", SQL, ids=lambda golden: golden.name)
def test_the_golden_verdict_on_sql_is_reached(golden: Golden) -> None:
    fields = golden.fields
    wanted, _, words = fields["verdict"].partition(";")
    verdict = views.check(
        fields["secret"], fields["view"], schema=fields["schema"], semantics=fields.get("semantics", "sql")
    )
    assert verdict.status == wanted.strip(), verdict.reason
    assert words.strip() in verdict.reason
    if verdict.status == "DISCLOSES":
        assert verdict.witness is not None
        assert verdict.witness.engine in ("sqlite", "duckdb")
        assert verdict.witness.secret_before != verdict.witness.secret_after
        assert verdict.witness.view_before != verdict.witness.view_after


def test_the_only_unifiable_pair_of_example_2_3_is_the_two_first_subgoals() -> None:
    """GT-10."""
    golden = next(item for item in DATALOG if item.name == "GT-10")
    schema, (secret, view) = views.prepare([golden.fields["secret"], golden.fields["view"]], None)
    checker = Checker(schema, minimize=False)
    (first,), (second,) = (checker.signatures(query, SearchBudget()) for query in (secret, view))
    pairs = [
        (sorted(a.gamma), sorted(b.gamma))
        for a in first.live("R", SearchBudget())
        for b in second.live("R", SearchBudget())
        if all(x >= 0 or y >= 0 or x == y for x, y in zip(a.pattern, b.pattern, strict=True))
    ]
    assert pairs == [([0], [0])]


def test_several_views_are_private_together_iff_each_is() -> None:
    """GT-46, and a third view that spoils it."""
    secret = "Q(x) :- R(x,2)"
    pair = ["Q(x) :- R(x,0)", "Q(x) :- R(x,1)"]
    together = views.check(secret, pair)
    assert together.status == "PRIVATE"
    assert len(together.each) == 2
    spoiled = views.check(secret, [*pair, "Q(y) :- R(x,y)"])
    assert spoiled.status == "DISCLOSES"
    assert spoiled.view == "view 3"
