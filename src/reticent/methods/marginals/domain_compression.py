"""Domain compression: rare cells of a column are counted as one where several columns are counted together, and synthetic records get one of them again.

Everything here is a function of noisy counts and public cells, and so costs no privacy: the same queries are paid for, in coarser cells. Source: [McKenna2021], compression of domains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.errors import DataError
from reticent.methods.marginals.model_records import split_codes
from reticent.methods.noisy_columns import PublicColumn
from reticent.table import Interval, Value, Values

RARE_DEVIATIONS = 3
"""A cell is rare if its noisy count is below this many standard deviations of the noise."""

Codes = NDArray[np.int64]
Groups = tuple[tuple[int, ...], ...]


def rare_groups(column: PublicColumn, counts: NDArray[np.int64], deviation: float) -> Groups:
    """The groups of at least two rare cells of a column, by noisy ``counts`` of it: all rare values together, and rare ranges with their rare neighbours. The cell of missing values is not merged."""
    rare = counts < RARE_DEVIATIONS * deviation
    codes = [int(code) for code in np.flatnonzero(rare)]
    listed = tuple(code for code in codes if isinstance(column.cells[code], Value | Values))
    ranged = [code for code in codes if isinstance(column.cells[code], Interval)]
    runs = [
        tuple(code for _, code in run)
        for _, run in groupby(enumerate(ranged), key=lambda numbered: numbered[1] - numbered[0])
    ]
    return tuple(sorted(group for group in (listed, *runs) if len(group) > 1))


@dataclass(frozen=True)
class MergedCells:
    """The ``size`` cells of a column, those of each group merged into one, which has the index of the first of them; ``groups`` have two cells or more and do not overlap."""

    size: int
    groups: Groups

    def __post_init__(self) -> None:
        members = [code for group in self.groups for code in group]
        for code in members:
            whole(code, "merged cell", low=0, high=self.size - 1)
        if len(set(members)) < len(members) or any(len(group) < 2 for group in self.groups):
            raise DataError("Merged cells must be groups of two cells or more that do not overlap.")

    @cached_property
    def codes(self) -> Codes:
        """The merged cell of every cell."""
        firsts = np.arange(self.size)
        for group in self.groups:
            firsts[list(group)] = min(group)
        codes: Codes = np.unique(firsts, return_inverse=True)[1].astype(np.int64)
        return codes

    @property
    def merged_size(self) -> int:
        """The number of cells after merging."""
        return self.size - sum(len(group) - 1 for group in self.groups)

    def column(self, column: PublicColumn) -> PublicColumn:
        """The column with its cells merged."""
        cells = list(column.cells)
        for group in self.groups:
            merged = [column.cells[code] for code in group]
            first, last = merged[0], merged[-1]
            if isinstance(first, Interval) and isinstance(last, Interval):
                cells[group[0]] = Interval(first.low, last.high, last.closed)
            else:
                cells[group[0]] = Values(tuple(value for cell in merged for value in cell.written()))
        dropped = {code for group in self.groups for code in group[1:]}
        return replace(column, cells=tuple(cell for code, cell in enumerate(cells) if code not in dropped))


@dataclass(frozen=True)
class DomainCompression:
    """The columns with merged cells, and ``shares``: how often each cell of a column occurs by the noisy counts of the column alone."""

    columns: Mapping[str, MergedCells] = field(default_factory=dict)
    shares: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def groups(self) -> dict[str, Groups]:
        """The merged groups of every column that has some."""
        return {name: merged.groups for name, merged in self.columns.items()}

    def expanded(self, codes: Mapping[str, Codes], seed: Sequence[int]) -> dict[str, Codes]:
        """Records of merged cells as records of the declared cells: each merged cell becomes one of its own, in proportion to the shares."""
        source = np.random.default_rng(seed)
        expanded = dict(codes)
        for name, merged in self.columns.items():
            table = np.zeros((merged.merged_size, merged.size))
            table[merged.codes, np.arange(merged.size)] = self.shares[name]
            empty = table.sum(axis=1) <= 0
            table[merged.codes, np.arange(merged.size)] += empty[merged.codes]
            expanded[name] = split_codes(codes[name], table, [codes[other] for other in codes if other != name], source)
        return expanded
