"""Every definition of the catalogue, everywhere: in a search, in Mondrian, joined with another, verified, in a policy, on the command line."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import Definition, KAnonymity, definition_from
from reticent.definitions.catalogue import entries
from reticent.policy import Policy
from reticent.policy.expressions import definition_from_text
from tests.cli.conftest import Command
from tests.sampling import first

NOT_OF_GROUPS = {
    "BoundedBelief": "judges a randomized view",
    "LocalDP": "judges how a value is drawn",
    "NoisyCounts": "judges noise on counts",
    "ProbabilisticDP": "judges the plan of a mechanism",
    "UnboundedDP": "judges the plan of a mechanism",
    "BoundedDP": "judges the plan of a mechanism",
    "ConcentratedDP": "judges the plan of a mechanism",
    "CrowdBlending": "judges the plan of a mechanism",
    "MInvariance": "judges a series",
    "TauSafety": "judges a series",
}
POPULATION = "people.csv"

EXAMPLES: dict[str, dict[str, Any]] = {
    "KAnonymity": {"k": 4},
    "AnyColumns": {"known": 1, "inner": {"name": "KAnonymity", "k": 4}},
    "InTurn": {"columns": ["zip"], "inner": {"name": "DistinctLDiversity", "l": 2}},
    "DistinctLDiversity": {"l": 3},
    "ProbabilisticLDiversity": {"l": "1.5"},
    "EntropyLDiversity": {"l": 2},
    "RecursiveLDiversity": {"c": 3, "l": 2},
    "NegativePositiveDiversity": {"c1": 4, "c2": 2, "l": 2, "dont_care": ["cook"], "must_keep": ["judge"]},
    "WorstCaseKnowledge": {"c": "0.9", "k": 1},
    "NegatedKnowledge": {"c": "0.9", "k": 1},
    "TCloseness": {"t": "0.3"},
    "NTCloseness": {"n": 30, "t": "0.3"},
    "AlphaKAnonymity": {"alpha": "0.6", "k": 4},
    "PSensitive": {"p": 2, "k": 4},
    "LAlphaDiversity": {"l": 2, "alpha": "1.5", "weights": {"cook": 1, "nurse": "0.75", "clerk": 1}},
    "XYPrivacy": {"k": 2, "h": "0.7"},
    "ConfidenceBounding": {"h": "0.6", "values": ["judge"]},
    "CategoryDiversity": {"c": "0.9", "categories": [["cook", "nurse"], ["judge", "clerk"]]},
    "RangeDiversity": {"c": "0.5", "below": 200, "above": 200},
    "KEAnonymity": {"k": 3, "e": 800},
    "EpsilonMAnonymity": {"epsilon": 200, "m": 2},
    "BetaLikeness": {"beta": 2},
    "DeltaDisclosure": {"delta": "1.5"},
    "MUnique": {"m": 2},
    "MEligible": {"m": 2},
    "PersonalPrivacy": {"h": "0.6", "guards": "wish", "thresholds": "limit"},
    "KMap": {"k": 8, "population": POPULATION},
    "DeltaPresence": {"low": "0.02", "high": "0.6", "population": POPULATION},
    "AverageRisk": {"limit": "0.1"},
}
NUMERIC = {"RangeDiversity", "KEAnonymity", "EpsilonMAnonymity"}
SUPPRESSION = {"MUnique": "0.95"}


def test_every_definition_of_the_catalogue_is_tried() -> None:
    assert {entry.name for entry in entries()} - set(NOT_OF_GROUPS) == set(EXAMPLES)


@pytest.fixture
def patients(place: Path) -> Path:
    """People with jobs, pay and wishes of their own, and the population they come from."""
    draw = random.Random(11)
    rows = [
        {
            "age": 20 + draw.randrange(40),
            "zip": draw.choice(["10", "11", "20", "21"]),
            "job": draw.choice(["cook", "nurse", "clerk", "judge"]),
            "pay": draw.randrange(20, 60) * 100,
            "wish": draw.choice(["judge", None, None]),
            "limit": draw.choice(["0.875", None]),
        }
        for _ in range(160)
    ]
    frame = pl.DataFrame(rows)
    outside = [{"age": 20 + draw.randrange(60), "zip": draw.choice(["10", "11", "20", "30"])} for _ in range(600)]
    frame.write_csv(place / "rows.csv")
    pl.concat([frame.select("age", "zip"), pl.DataFrame(outside)]).write_csv(place / POPULATION)
    return place


def written(name: str, parameters: Mapping[str, Any], method: str, suppression: str) -> str:
    """A policy with one definition; JSON values are TOML values here, but for tables."""
    settings = "\n".join(f"{key} = {_toml(value)}" for key, value in parameters.items())
    return f"""
[data]
source = "rows.csv"
types = {{zip = "text", limit = "text"}}
[roles]
quasi = ["age", "zip"]
sensitive = ["{"pay" if name in NUMERIC else "job"}"]
private = ["wish", "limit"]
[hierarchies.age]
kind = "intervals"
widths = [10, 20]
domain = [0, 99]
[hierarchies.zip]
kind = "masking"
digits = 2
[[definition]]
name = "{name}"
{settings}
[method]
name = "{method}"
suppression = "{suppression}"
"""


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {json.dumps(item)}" for key, item in value.items()) + "}"
    return json.dumps(value)


def spelled(name: str, parameters: Mapping[str, Any]) -> str:
    """The definition as it is typed on a command line."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"


@pytest.mark.parametrize(
    ("name", "method"),
    first([*((name, "Lattice") for name in EXAMPLES), *((name, "Mondrian") for name in EXAMPLES)], len(EXAMPLES)),
)
def test_a_definition_works_in_search_and_mondrian_joined_and_verified_by_policy_and_command(
    name: str, method: str, patients: Path, reticent: Command
) -> None:
    parameters, suppression = EXAMPLES[name], SUPPRESSION.get(name, "0.4")
    (patients / "policy.toml").write_text(written(name, parameters, method, suppression))
    found = reticent("publish", "policy.toml", "-o", "release", "--json")
    assert found.code == 0, found.err
    assert [claim["definition"] for claim in found.json["certificate"]["claims"]] == [name]
    assert found.json["groups"]["count"] > 1
    for file in (patients / "release" / "public").iterdir():
        assert b"0.875" not in file.read_bytes(), file
    population = ["--population", POPULATION] if "population" in parameters else []
    checked = reticent("verify", "release", "--json", *population)
    statuses = {check["name"]: check["status"] for check in checked.json["checks"]}
    claim = next(status for told, status in statuses.items() if told.startswith(f"claim {name}("))
    if name == "PersonalPrivacy" or (name, method) == ("InTurn", "Mondrian"):
        assert (claim, checked.code) == ("not re-checked", 1)
        assert "fails" not in statuses.values()
    else:
        assert (claim, checked.code, checked.json["holds"]) == ("holds", 0, True)
    assessed = reticent("assess", "policy.toml", "--definition", spelled(name, parameters), "--json")
    assert assessed.code in (0, 1), assessed.err

    policy = Policy.read("policy.toml")
    table, definition = policy.table(), policy.definition
    assert definition_from(name, json.loads(json.dumps(definition.parameters()))) == definition
    assert definition_from_text(spelled(name, parameters)) == definition
    joined: Definition = definition & KAnonymity(2)
    release = rt.publish(table, joined, method=policy.method(table, joined))
    assert joined.holds(release.private.evidence.published)
    assert int(release.private.evidence.published.sizes.min()) >= 2
    if method == "Lattice":
        best = rt.search(table, definition, suppression=suppression).best
        assert best is not None
