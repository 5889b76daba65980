"""Several sensitive columns with suppression: no definition on them is absorbing, so the search must not prune as if it were."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reticent.definitions import Definition, DistinctLDiversity, EntropyLDiversity, KAnonymity, TCloseness
from reticent.methods.lattice import search
from reticent.table import Hierarchy, Table


def table(seed: int) -> Table:
    draw = np.random.default_rng(seed)
    rows = int(draw.integers(20, 60))
    frame = pl.DataFrame(
        {
            "a": draw.integers(0, 8, rows),
            "b": draw.integers(0, 6, rows),
            "s": [f"s{value}" for value in draw.integers(0, 3, rows)],
            "u": [f"u{value}" for value in draw.integers(0, 3, rows)],
        }
    )
    quasi = {"a": Hierarchy.intervals([2, 4], domain=(0, 7)), "b": Hierarchy.intervals([3], domain=(0, 5))}
    return Table(frame, quasi=quasi, sensitive=["s", "u"])


@pytest.mark.parametrize(
    "definition",
    [
        DistinctLDiversity(2, "s"),
        KAnonymity(2) & DistinctLDiversity(2, "u"),
        EntropyLDiversity("1.3", column="s"),
        TCloseness("0.5"),
    ],
    ids=str,
)
def test_the_search_finds_what_exhaustive_search_finds(definition: Definition) -> None:
    for seed in range(4):
        for suppression in ("0.3", "0.6"):
            fast = search(table(seed), definition, suppression=suppression)
            slow = search(table(seed), definition, suppression=suppression, strategy="exhaustive")
            assert fast.passing == slow.passing
            assert fast.best == slow.best
