"""How many combinations of values Bang's classes hold: the cells of the space gone through one by one, and KL from its definition."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.methods.bang import BangCut
from reticent.utility import kl_mixture, utility_of
from tests.sampling import examples


def cut_of(seed: int, k: int) -> tuple[rt.Table, BangCut]:
    draw = np.random.default_rng(seed)
    ages = np.where(draw.random(120) < 0.6, draw.integers(3, 6, 120), draw.integers(0, 14, 120))
    frame = pl.DataFrame({"age": ages, "town": draw.choice(["a", "b", "c", "d", "e"], 120), "s": ["x", "y"] * 60})
    towns = rt.Hierarchy.taxonomy({"north": ["a", "d"], "south": ["c", "b", "e"]})
    table = rt.Table(frame, quasi={"age": rt.Hierarchy.intervals([2, 4], domain=(0, 15)), "town": towns}, sensitive="s")  # fmt: skip
    return table, rt.Bang(minimum=3).build(table).draft(k=k)


def innermost(cut: BangCut) -> dict[tuple[int, ...], int]:
    """The class of every combination of leaves: of all published regions around its cell, the one of the greatest level."""
    axes, shown = cut.index.space.axes, cut.published
    found = {}
    for leaves in product(*(range(axis.hierarchy.size) for axis in axes)):
        cell = [int(axis.cell_of[leaf]) for axis, leaf in zip(axes, leaves, strict=True)]
        around = [
            region
            for region in range(len(shown))
            if all(shown.lows[j, region] <= cell[j] < shown.highs[j, region] for j in range(len(axes)))
        ]
        found[leaves] = int(shown.group[max(around, key=lambda region: shown.level[region])])
    return found


@given(st.integers(0, 2**16), st.sampled_from([3, 5, 10, 30]))
@examples(12)
def test_classes_hold_the_combinations_that_queries_give_them(seed, k):
    _, cut = cut_of(seed, k)
    owners = innermost(cut)
    held = Counter(owners.values())
    assert cut.combinations().tolist() == [held[each] for each in range(cut.count)]
    draw = np.random.default_rng(seed)
    asked = [draw.random(axis.hierarchy.size) < 0.5 for axis in cut.index.space.axes]
    chosen = Counter(
        owner for leaves, owner in owners.items() if all(mask[leaf] for mask, leaf in zip(asked, leaves, strict=True))
    )
    assert cut.combinations(asked).tolist() == [chosen[each] for each in range(cut.count)]


@pytest.mark.parametrize("k", [3, 10])
def test_divergence_and_volume_go_by_what_classes_hold_and_not_by_the_labels_around_them(k):
    table, cut = cut_of(7, k)
    draft = cut.release(table, rt.KAnonymity(k), rt.Context())
    owners, units = innermost(cut), cut.index.units
    held, total, share = Counter(owners.values()), 0.0, 0.0
    sizes = cut.groups.sizes
    for place, rows in enumerate(units.sizes.tolist()):
        owner = owners[tuple(int(codes[place]) for codes in units.codes)]
        chance = sizes[owner] / units.rows / held[owner]
        total += rows / units.rows * math.log(rows / units.rows / chance)
        share += rows / units.rows * held[owner] / len(owners)
    assert utility_of(draft)["kl_quasi"] == pytest.approx(total)
    assert utility_of(draft)["volume_share"] == pytest.approx(share)
    assert kl_mixture(utility_of(draft).summary, sensitive=False) == pytest.approx(total)
    boxes = rt.Mondrian(values="ranges").draft(table, rt.KAnonymity(k))
    assert "volume_share" not in utility_of(boxes)
