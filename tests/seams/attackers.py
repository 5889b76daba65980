"""Every adversary against every kind of release: which run, which refuse, and the reason that they must give."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.attacks.artificial import ArtificialRecordsAttack
from reticent.core import SEVERAL, AdversaryView
from reticent.definitions import definition_from
from reticent.errors import DataError, PolicyError
from reticent.release import adversary_view_of

_NO_GROUPS = "has no groups of people who look alike"
_NO_CHANNEL = "does not state the probability that a record is shown"
_TRUE_ROWS = "this is not a randomized release"
_NOTHING_DECLARED = "declares no histogram of the whole table"
_NO_LABELS = "does not publish labels per row"
_SEVERAL_SETS = "does not support releases for several sets"
_MANY_WORLDS = "more than .* worlds|supported for small groups|randomly sampled tables"


def _adversaries(people: pl.DataFrame, table: rt.Table) -> dict[str, Any]:
    """One of each; Minimality only where the table is in memory, which it says itself when it is made."""
    found: dict[str, Any] = {
        "Linkage": rt.attacks.Linkage(people),
        "ProbabilisticLinkage": rt.attacks.ProbabilisticLinkage(people),
        "Homogeneity": rt.attacks.Homogeneity(),
        "Exclusion": rt.attacks.Exclusion(),
        "Skewness": rt.attacks.Skewness(),
        "Similarity": rt.attacks.Similarity(categories={"lungs": ["flu", "cold", "asthma"]}),
        "Remainder": rt.attacks.Remainder(),
        "SinglingOut": rt.attacks.SinglingOut(),
        "KnownColumns": rt.attacks.KnownColumns(1),
        "ColumnInTurn": rt.attacks.ColumnInTurn(people=people),
        "Register": rt.attacks.Register(people, pl.Series([row // 2 for row in range(people.height)])),
        "Sighting": rt.attacks.Sighting(people),
        "Inference": rt.attacks.Inference(people, column="illness"),
    }
    if table.held.engine == "local" and table.unit == "row":
        return {**found, "Minimality": rt.attacks.Minimality(table, runs=40)}
    with pytest.raises(PolicyError, match=r"needs a table in memory|in which a row is a person"):
        rt.attacks.Minimality(table)
    return found


def _reason(name: str, seen: AdversaryView) -> str | None:
    """Why an adversary cannot run on what is seen, by what the release shows and not by what it is called; None if it can."""
    if name == "Sighting":
        return _TRUE_ROWS if seen.groups is not None else _NO_CHANNEL if seen.channel is None else None
    if name == "Remainder":
        return None if seen.reference else _NOTHING_DECLARED
    if name == "KnownColumns" and seen.groups is not None and seen.labelled_groups.labels is None:
        return _NO_LABELS
    if name == "ColumnInTurn" and seen.groups is not None:
        labels = seen.labelled_groups.labels
        return "does not publish labels of several columns" if labels is None or len(labels.columns) < 2 else None
    if name == "Minimality" and len(seen.sets) > 1:
        return _SEVERAL_SETS
    return None if seen.groups is not None else _NO_GROUPS


def _refusal(release: rt.Release, adversary: Any) -> str | None:
    """What an adversary says who cannot do it after all; None if it can."""
    try:
        assert all(found.summary() for found in rt.attacks.attack(release, adversary))
    except (PolicyError, DataError) as error:
        return str(error)
    return None


def _unfollowed(release: rt.Release, seen: AdversaryView, people: pl.DataFrame) -> str:
    """Why the choice of a release cannot be followed, which depends on more than what adversaries are asked beforehand."""
    assert seen.made is not None
    claims = [definition_from(claim["definition"], claim["parameters"]) for claim in seen.made.claims]
    if any(claim.kind == "history" for claim in claims):
        return "judges a series of releases"
    if any(claim.kind == "plan" for claim in claims):
        return "judges how a release is made"
    if release.private.suppressed and "suppression" not in seen.made.method:
        # Who was left out may fit a published cell all the same, where cells overlap.
        return "does not declare suppression|groups overlap|does not fill the published groups"
    return "groups overlap" if (seen.place(people) == SEVERAL).any() else _MANY_WORLDS


def every_adversary(release: rt.Release, folder: Path, table: rt.Table, people: pl.DataFrame) -> None:
    """Each adversary finds the same in the release and in its folder, or refuses both for the stated reason."""
    made = _adversaries(people, table)
    known = {name for name in rt.attacks.__all__ if hasattr(getattr(rt.attacks, name), "needs")} - {"Adversary"}
    # Those who attack artificial records need both sides of an experiment, and are tried beside it.
    artificial = {name for name in known if issubclass(getattr(rt.attacks, name), ArtificialRecordsAttack)}
    assert set(made) | {"Minimality"} == known - artificial
    seen = adversary_view_of(release)
    for name, adversary in made.items():
        reason = _reason(name, seen)
        if reason is not None:
            assert reason in str(adversary.needs(seen)), name
            for target in (release, folder):
                with pytest.raises(PolicyError, match=reason):
                    rt.attacks.attack(target, adversary)
        elif name == "Minimality":
            refused = _refusal(release, adversary)
            assert refused is None or re.search(_unfollowed(release, seen, people), refused), refused
        else:
            assert adversary.needs(seen) is None, name
            one, other = (rt.attacks.attack(target, adversary) for target in (release, folder))
            assert len(one) == len(seen.sets)
            assert [found.as_dict() for found in one] == [found.as_dict() for found in other]
            assert all(found.summary() for found in one)
    # Without any named: those that can run and need no list.
    own = {found.adversary.split(" ")[0] for found in rt.attacks.attack(folder)}
    assert bool(own) is any(_reason(name, seen) is None for name in made if name != "Minimality")
