"""Buckets: every adversary who is after a value wins where the buckets are weak, and loses where its definition protects them.

Who is in the data is not hidden by buckets: quasi values are published exactly, so linkage and singling out succeed on all of them, and
no definition about identity can be asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from reticent.attacks import (
    Adversary,
    Exclusion,
    Homogeneity,
    Inference,
    Linkage,
    ProbabilisticLinkage,
    Similarity,
    SinglingOut,
    Skewness,
    attack,
)
from reticent.definitions import (
    BetaLikeness,
    CategoryDiversity,
    Definition,
    DistinctLDiversity,
    KAnonymity,
    RangeDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from reticent.errors import PolicyError
from reticent.methods.lattice import Lattice
from reticent.release import Release, publish
from reticent.table import Table
from tests.attacks.test_adversaries import by_zip, population, table_of

KINDS = {"chronic": ["gout", "asthma", "HIV"], "acute": ["flu", "ulcer"]}
PAIRS: dict[str, tuple[Callable[[], Table], Adversary, Definition, Definition]] = {
    "homogeneity": (lambda: by_zip({"250": ["flu"]}), Homogeneity(), DistinctLDiversity(1), DistinctLDiversity(2)),
    "exclusion": (
        lambda: by_zip({"250": ["flu", "gout"]}),
        Exclusion(1, "3/4"),
        DistinctLDiversity(2),
        RecursiveLDiversity(3, 3),
    ),
    "skewness": (lambda: table_of(population()), Skewness("0.2"), DistinctLDiversity(2), TCloseness("0.2")),
    "skewness by ratio": (lambda: table_of(population()), Skewness(times=3), DistinctLDiversity(2), BetaLikeness(2)),
    "similarity": (
        lambda: table_of(population(), "income"),
        Similarity(500),
        DistinctLDiversity(2),
        TCloseness("0.25", distance="ordered"),
    ),
    "similarity of ranges": (
        lambda: table_of(population(), "income"),
        Similarity(500, threshold="0.6"),
        DistinctLDiversity(2),
        RangeDiversity("0.6", 250, 250),
    ),
    "similarity of kinds": (
        lambda: by_zip({"250": ["gout", "asthma", "HIV"]}),
        Similarity(categories=KINDS),
        DistinctLDiversity(3),
        CategoryDiversity("0.9", list(KINDS.values())),
    ),
}


def buckets(table: Table, definition: Definition) -> Release:
    return publish(table, definition, Lattice(format="bucketize"))


@pytest.mark.parametrize("pair", PAIRS)
def test_values_in_buckets_are_protected_by_their_definition(pair: str, tmp_path: Path) -> None:
    make, adversary, loose, strict = PAIRS[pair]
    table = make()
    weak, safe = buckets(table, loose), buckets(table, strict)
    won, lost = attack(weak, adversary)[0], attack(safe, adversary)[0]
    assert won.succeeds
    assert won.interval is not None
    assert won.interval[0] > 0
    assert (lost.hits, lost.succeeds) == (0, False)
    safe.save(tmp_path / "release")
    assert attack(tmp_path / "release", adversary)[0] == lost


def test_inference_learns_about_members_only_from_small_buckets() -> None:
    frame, control = population(800), population(800, seed=6)
    weak, safe = (buckets(table_of(frame), each) for each in (DistinctLDiversity(1), TCloseness("0.15")))
    won, lost = (attack(each, Inference(frame, control))[0] for each in (weak, safe))
    assert won.succeeds
    assert not lost.succeeds
    assert lost.excess[0] <= 0 <= lost.excess[1]


def test_people_are_found_in_buckets_but_their_value_is_not_learned() -> None:
    frame = population(150)
    weak, safe = (buckets(table_of(frame), each) for each in (DistinctLDiversity(1), DistinctLDiversity(2)))
    for adversary in (Linkage(frame, truth="ill"), ProbabilisticLinkage(frame, truth="ill")):
        won, lost = attack(weak, adversary)[0], attack(safe, adversary)[0]
        assert won.hits > 50
        assert lost.hits > 50
        assert won.details["right"] > 50
        assert lost.details["right"] == lost.details["learned"] == 0
    assert attack(safe, SinglingOut())[0].hits > 50
    with pytest.raises(PolicyError, match="publishes these values exactly"):
        buckets(table_of(frame), KAnonymity(2))


def test_a_list_may_know_less_than_the_buckets_show() -> None:
    """Somebody who knows the place only finds all buckets of that place, and learns what they have in common."""
    frame = pl.DataFrame({"zip": ["1", "1", "2", "2"], "age": [20, 30, 40, 50], "ill": ["flu", "flu", "gout", "HIV"]})
    table = Table(frame, quasi=["zip", "age"], sensitive="ill")
    made = publish(table, DistinctLDiversity(1), Lattice(format="bucketize"))
    found = attack(made, Linkage({"zip": ["1", "2"]}))[0]
    assert (found.hits, found.details["learned"], found.details["smallest_match"]) == (0, 1, 2)
