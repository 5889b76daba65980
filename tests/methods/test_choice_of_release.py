"""An adversary who knows the method: the certificate of every method says what was computed about such a one, or that nothing was; and the attack measures it where it can."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.registry import METHODS, load
from reticent.release import method_from, open_public
from tests.methods.mechanisms import CASES, RANDOM

ILL = pl.DataFrame(
    {
        "id": range(24),
        "age": [20 + i for i in range(24)],
        "zip": [100 + i % 6 for i in range(24)],
        "illness": [["flu", "cold", "ulcer", "asthma"][(i * 5 + i // 4) % 4] for i in range(24)],
    }
)
PARAMETERS: dict[str, dict[str, Any]] = {
    "Suppress": {"k": 2},
    "Gather": {"r": 2},
    "Cellular": {"r": 2},
}


QUASI = {
    "age": rt.Hierarchy.intervals(widths=[4, 12], domain=(20, 43)),
    "zip": rt.Hierarchy.intervals(widths=[3], domain=(100, 105)),
}


def risks_of(name: str, folder: Path) -> list[str]:
    """The residual risks in the certificate of a small release by a method."""
    if name == "Republish":
        domain = ["flu", "cold", "ulcer", "asthma", "angina", "gout"]
        settings: dict[str, Any] = {"m": 2, "key": "id", "sensitive": "illness", "domain": domain}
        history = rt.republish.History.open(
            folder / "h", ledger=folder / "ledger", quasi={"age": None, "zip": None}, **settings
        )
        return list(open_public(history.publish(ILL).folder).certificate["residual_risks"])
    if name in CASES:
        case = CASES[name]
        return list(rt.publish(case.table(), case.definition, case.method).certificate["residual_risks"])
    definition: Any = rt.KAnonymity(2)
    if name in ("Anatomy", "Angelization"):
        definition = rt.DistinctLDiversity(2) if name == "Anatomy" else rt.DistinctLDiversity(2) & rt.KAnonymity(2)
    table = rt.Table(ILL, quasi=QUASI, sensitive="illness", identifiers=["id"])
    if name == "Panel":
        visits = ILL.with_columns(id=pl.col("id") // 2)
        table = rt.Table(visits, quasi=QUASI, sensitive="illness", identifiers=["id"], pseudonyms=["id"])
    made = rt.publish(table, definition, method_from(name, PARAMETERS.get(name, {})))
    return list(made.certificate["residual_risks"])


@pytest.mark.parametrize("name", sorted(METHODS))
def test_certificates_say_that_no_figure_was_computed_for_whoever_knows_the_method(name: str, tmp_path: Path) -> None:
    risks = risks_of(name, tmp_path)
    told = [risk for risk in risks if "No figure" in risk]
    if name in RANDOM:
        # The promise itself is about an adversary who knows the mechanism and everything that it may draw.
        assert not told
        assert "plan" in load("method", name).keeps
    else:
        assert len(told) == 1, risks


SMALL = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3], "ill": ["a", "b", "a", "b", "b", "c"]})


@pytest.mark.parametrize("name", ["Lattice", "Mondrian", "Suppress", "Bang", "Cellular", "Gather", "Datafly"])
def test_the_attack_measures_it_where_all_tables_can_be_listed(name: str) -> None:
    table = rt.Table(SMALL, quasi={"age": rt.Hierarchy.intervals(widths=[3], domain=(1, 3))}, sensitive="ill")
    release = rt.publish(
        table, rt.KAnonymity(2) & rt.DistinctLDiversity(2), method_from(name, PARAMETERS.get(name, {}))
    )
    (found,) = rt.attack(release, rt.attacks.Minimality(table))
    assert found.details["worlds"]
    assert Fraction(found.details["surest"]) >= Fraction(1, 3)


def test_the_attack_says_where_it_cannot_follow_a_method() -> None:
    """Buckets of exact values overlap: the choice among them is random, and is not followed."""
    table = rt.Table(SMALL, quasi=["age"], sensitive="ill")
    # The seed draws groups that overlap; of others nothing could be said.
    release = rt.publish(table, rt.DistinctLDiversity(2), method_from("Anatomy", {}), insecure_seed=1)
    with pytest.raises(rt.PolicyError, match="Published groups overlap"):
        rt.attack(release, rt.attacks.Minimality(table))
