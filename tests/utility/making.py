"""Small random tables with their hierarchies, as the product and as the oracle see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from hypothesis import strategies as st
from numpy.typing import NDArray

from reticent.core import FrequencySet, PublishedCells, Regions
from reticent.engine import count_table
from reticent.table import Hierarchy, Table
from reticent.utility import ReleaseSummary
from tests.oracles.utility_rows import ReleasedTable, Row

ZIPS = ["100", "101", "110", "200", "201"]
TREE = {"Europe": {"North": ["fi", "se"], "South": ["it"]}, "Asia": {"East": ["jp", "kr"]}}


def summary_of(
    frequencies: FrequencySet,
    levels: Sequence[int],
    suppressed: NDArray[np.bool_] | None = None,
    exact: bool = False,
) -> ReleaseSummary:
    """The release that generalizes every column to a level."""
    return ReleaseSummary.of(frequencies, PublishedCells.of_levels(frequencies, levels, suppressed, exact=exact))


def region_summary(frequencies: FrequencySet, regions: Regions) -> ReleaseSummary:
    """The release of a local recoding."""
    return ReleaseSummary.of(frequencies, regions.published_cells(frequencies.hierarchies))


@dataclass(frozen=True)
class World:
    """A table, a node of its lattice, and the groups that are suppressed there."""

    table: Table
    frequencies: FrequencySet
    levels: tuple[int, ...]
    suppressed: NDArray[np.bool_]
    weights: dict[str, float]

    def as_rows(self) -> ReleasedTable:
        """The same release, row by row."""
        hierarchies = self.table.hierarchies
        leaves = [hierarchy.leaves.to_list() for hierarchy in hierarchies]
        part_of = [
            dict(zip(values, hierarchy.levels[level].parts.tolist(), strict=True))
            for values, hierarchy, level in zip(leaves, hierarchies, self.levels, strict=True)
        ]
        members = [
            {part: frozenset(leaf for leaf in known if known[leaf] == part) for part in set(known.values())}
            for known in part_of
        ]
        names = [hierarchy.column for hierarchy in hierarchies]
        blocks = sorted(
            {
                tuple(known[value] for known, value in zip(part_of, point, strict=True))
                for point in self.table.frame.select(names).rows()
            }
        )
        rows = []
        for *point, sensitive in self.table.frame.select([*names, "disease"]).rows():
            block = tuple(known[value] for known, value in zip(part_of, point, strict=True))
            cells = tuple(cell[part] for cell, part in zip(members, block, strict=True))
            gone = bool(self.suppressed[blocks.index(block)])
            rows.append(Row(tuple(point), sensitive, None if gone else cells))
        return ReleasedTable(rows, leaves, [hierarchy.is_numeric for hierarchy in hierarchies])

    def column_weights(self) -> list[float]:
        return [self.weights.get(hierarchy.column, 1.0) for hierarchy in self.table.hierarchies]


@st.composite
def worlds(draw: st.DrawFn, suppression: bool = True) -> World:
    size = draw(st.integers(1, 9))

    def column(values: Sequence[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    frame = pl.DataFrame(
        {
            "age": pl.Series(column([20, 21, 24, 27, 35, None]), dtype=pl.Int64),
            "zip": column(ZIPS),
            "country": column(["fi", "se", "it", "jp", "kr"]),
            "unit": ["x"] * size,
            "disease": column(["flu", "hiv", "asthma"]),
        }
    )
    table = Table(
        frame,
        quasi={
            "age": Hierarchy.intervals(widths=[5, 10], domain=(20, 35)),
            "zip": Hierarchy.masking(3, domain=ZIPS),
            "country": Hierarchy.taxonomy(TREE),
            "unit": Hierarchy.suppression(domain=["x"]),
        },
        sensitive="disease",
        nulls="category",
    )
    frequencies = count_table(table)
    levels = tuple(draw(st.integers(0, hierarchy.height)) for hierarchy in table.hierarchies)
    _, count = frequencies.group_ids(levels)
    gone = draw(st.lists(st.booleans(), min_size=count, max_size=count)) if suppression else [False] * count
    weights = draw(st.dictionaries(st.sampled_from(["age", "zip"]), st.sampled_from([0.0, 0.5, 2.0])))
    return World(table, frequencies, levels, np.array(gone, dtype=bool), weights)
