"""Guards on sensitive values: any monotone definition, and what the making of classes tells somebody who knows the algorithm."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.core import Groups
from reticent.definitions import of_groups
from reticent.methods.bang.region_index import IndexParts
from tests.sampling import seeds, spread

DEFINITIONS = [
    rt.KAnonymity(6),
    rt.DistinctLDiversity(3),
    rt.EntropyLDiversity(2),
    rt.ProbabilisticLDiversity(2),
    rt.RecursiveLDiversity(3, 2),
    rt.TCloseness("0.3"),
    rt.WorstCaseKnowledge("0.9", 1),
    rt.AlphaKAnonymity("0.7", 4),
]


@pytest.mark.parametrize("definition", DEFINITIONS, ids=str)
def test_any_definition_that_merging_cannot_break_guards_classes(definition):
    draw = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "x": draw.integers(0, 64, 400),
            "y": draw.integers(0, 64, 400),
            "illness": draw.choice(["flu", "cold", "gout", "ulcer"], 400, p=[0.5, 0.2, 0.2, 0.1]),
        }
    )
    table = rt.Table(frame, quasi=["x", "y"], sensitive="illness")
    released = {guard: rt.publish(table, definition, method=rt.Bang(guard=guard)) for guard in ("quasi", "sensitive")}
    for release in released.values():
        assert rt.assess(release, definition).holds
    assert len(released["sensitive"].groups) >= len(released["quasi"].groups)
    told = {guard: " ".join(release.certificate["residual_risks"]) for guard, release in released.items()}
    if released["sensitive"].public.manifest.details["guard"] == "sensitive":
        assert "do not hold against an attacker who knows the algorithm" in told["sensitive"]
    # Counts alone decide about k, so that nothing needs to be said there.
    if definition.name == "KAnonymity":
        assert "how they were made discloses nothing" in told["quasi"]


def above_the_share(seed: int, guard: str, n: int = 8) -> dict[str, tuple[int, int]]:
    """By what the guard came to (its name in the manifest): how many releases there are, and in how many of them somebody's value is likelier than the share of the class says.

    The adversary knows quasi values and the algorithm, and finds all assignments of two values equally likely: all of them are tried, and those that give the same release are what she is left with.
    """
    cells = np.random.default_rng(seed).integers(0, 8, (2, n))
    frame, scales = pl.DataFrame({"x": cells[0], "y": cells[1]}), {"x": list(range(1, 8)), "y": list(range(1, 8))}
    index = rt.Bang(minimum=2, guard=guard, scales=scales).build(rt.Table(frame, quasi=["x", "y"]))
    region = index.directory.holding(index.space.keys_at(cells))
    columns = Groups.from_histograms([{"a": 1, "b": 1}]).domain.columns
    wanted = of_groups(rt.DistinctLDiversity(2), "Bang")
    worlds: dict[tuple, list[np.ndarray]] = defaultdict(list)
    for values in map(np.array, list(product((0, 1), repeat=n))[1:-1]):
        blocks = Groups.of_rows(region, len(index.directory), columns, [values])
        known = replace(index, knows=IndexParts(blocks, index.digest, index.dendrogram))
        cut = known.passing(wanted, Context())
        name = "sensitive" if cut.guarded else "raised" if cut.raised else "quasi"
        group = cut.group[region]
        worlds[name, tuple(group.tolist()), tuple(np.bincount(group, values, cut.count).tolist())].append(values)
    found: dict[str, tuple[int, int]] = {}
    for (name, group, ones), possible in worlds.items():
        classes, likely = np.array(group), np.mean(possible, axis=0)
        share = np.array(ones)[classes] / np.bincount(classes)[classes]
        above = np.maximum(likely, 1 - likely) > np.maximum(share, 1 - share) + 1e-9
        releases, leaking = found.get(name, (0, 0))
        found[name] = releases + 1, leaking + bool(above.any())
    return found


def test_refused_splits_tell_somebody_who_knows_the_algorithm_and_counts_do_not():
    """13.2, distinct l = 2. A larger k that sensitive values asked for tells too, which is why the certificate then promises less."""
    total: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(2, dtype=int))
    for seed in spread(range(20), 4):
        for guard in ("quasi", "sensitive"):
            for name, counts in above_the_share(seed, guard).items():
                total[name] += counts
    assert total["quasi"][0] > 20
    assert total["quasi"][1] == 0
    assert total["sensitive"][1] > 0.2 * total["sensitive"][0]
    assert total["raised"][1] > 0


@pytest.mark.parametrize("seed", seeds(9))
def test_regions_depend_on_sensitive_values_through_one_number_only(seed):
    draw = np.random.default_rng(seed)
    people = pl.DataFrame(draw.integers(0, 8, (6, 2)), schema=["x", "y"])
    values = draw.choice(["a", "a", "b", "c"], 6).tolist()
    shown, numbers = defaultdict(set), set()
    for world in sorted(set(permutations(values)))[:: 1 if len(set(values)) < 3 else 3]:
        table = rt.Table(people.with_columns(s=pl.Series(world)), quasi=["x", "y"], sensitive="s")
        try:
            draft = rt.Bang(minimum=2).draft(table, rt.DistinctLDiversity(2))
        except rt.Infeasible:
            continue
        placed = draft.recoding.place(people, "error")[0]["group"].to_list()  # type: ignore[union-attr]
        numbers.add(draft.details["k"])
        shown[draft.details["k"]].add((tuple(placed), tuple(draft.tables["regions"].frame().rows())))
    assert all(len(each) == 1 for each in shown.values())
    # The number is that of the finest cut that passes: larger ones only where a finer cut fails.
    assert len(numbers) <= len(shown) <= 6
