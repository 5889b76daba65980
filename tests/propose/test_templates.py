"""Templates bend a proposal to a purpose, publish as they are, and say what they do not settle."""

from __future__ import annotations

import datetime
import random
from pathlib import Path

import polars as pl
import pytest

import reticent as rt
from reticent.errors import PolicyError
from reticent.policy import Inspection, Policy, inspect
from reticent.propose import TEMPLATES


def looked(folder: Path, template: str | None) -> Inspection:
    chance = random.Random(7)
    first = datetime.date(2019, 1, 1)
    frame = pl.DataFrame(
        {
            "name": [f"Person {i}" for i in range(300)],
            "age": [chance.randrange(30, 104) for _ in range(300)],
            "zip": [chance.choice(["10115", "10117", "20095"]) for _ in range(300)],
            "sex": [chance.choice("fm") for _ in range(300)],
            "admitted": [first + datetime.timedelta(days=chance.randrange(900)) for _ in range(300)],
            "diagnosis": [chance.choice(["flu", "asthma", "ulcer", "cold"]) for _ in range(300)],
            **{f"answer {n}": [chance.randrange(4) for _ in range(300)] for n in range(4)},
        }
    )
    frame.write_csv(folder / "a.csv")
    return inspect(str(folder / "a.csv"), output=folder / "policy.toml", template=template)


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_is_a_policy_and_says_what_it_does_not_settle(tmp_path: Path, template: str) -> None:
    found = looked(tmp_path, template)
    assert found.notes[0].startswith(f"Template {template}.")
    assert "does not cover" in found.notes[0]
    assert found.roles["name"] == "identifier"
    assert found.table().rows == 300


def test_the_safe_harbor_leaves_out_places_and_keeps_years(tmp_path: Path) -> None:
    found = looked(tmp_path, "hipaa-safe-harbor")
    assert found.roles["zip"] is None
    assert {found.roles["age"], found.roles["admitted"]} == {"quasi"}
    release = rt.publish(found.table(), rt.KAnonymity(2), rt.Mondrian(), ledger=tmp_path / "ledger")
    assert not any("-" in label for label in release.manifest.meanings["admitted"])
    assert not any(label.isdigit() for label in release.manifest.meanings["age"])
    assert not any("91" <= label.strip("[") < "99" for label in release.manifest.meanings["age"])


def test_public_use_asks_for_more_people(tmp_path: Path) -> None:
    found = looked(tmp_path, "public-use")
    assert found.proposal.definition[0] == {"name": "KAnonymity", "k": 10}


@pytest.mark.parametrize(("template", "k"), [("ema-prci", 12), ("cms-11", 11)])
def test_templates_of_a_threshold_ask_for_the_smallest_groups_that_meet_it(
    tmp_path: Path, template: str, k: int
) -> None:
    """1/11 is above 0.09 and 1/12 is not; a cell of 11 is the smallest that is not 1 to 10."""
    looked(tmp_path, template).save(tmp_path / "policy.toml")
    assert {"name": "KAnonymity", "k": k}.items() <= Policy.read(tmp_path / "policy.toml").sections.definition[
        0
    ].items()


def test_an_unknown_template_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="Did you mean 'public-use'"):
        looked(tmp_path, "public")


def test_the_safe_harbor_keeps_ages_with_decimals_in_whole_years(tmp_path: Path) -> None:
    chance = random.Random(8)
    frame = pl.DataFrame(
        {
            "age": [round(chance.uniform(30, 99), 1) for _ in range(200)],
            "sex": [chance.choice("fm") for _ in range(200)],
            "diagnosis": [chance.choice(["flu", "asthma", "ulcer"]) for _ in range(200)],
        }
    )
    frame.write_csv(tmp_path / "a.csv")
    found = inspect(str(tmp_path / "a.csv"), output=tmp_path / "policy.toml", template="hipaa-safe-harbor")
    assert found.roles["age"] == "quasi"
    release = rt.publish(found.table(), rt.KAnonymity(2), rt.Mondrian(), ledger=tmp_path / "ledger")
    assert not any("." in label for label in release.manifest.meanings["age"])
