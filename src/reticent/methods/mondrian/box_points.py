"""Input arrays of the local search: what each unit adds to the box of a group, and the cost of boxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reticent.core import FrequencySet
from reticent.definitions import DistinctLDiversity, GroupDefinition, SetShares
from reticent.methods.grouping import CellStyle, Ids, Scale, Stage
from reticent.methods.mondrian._kernels import NOBODY_LOW

_BITS = 62
"""Number of bits used in a word; fewer than 64, so that words are never negative."""

_MOST_PAIRS = 1 << 20
"""Maximum pairs of ranks whose lowest common node is listed: beyond it the table no longer fits in the processor's cache."""


class BoxPoints(NamedTuple):
    """One row per unit, followed by an empty unit that widens no box.

    In each ordered column a group covers all ranks from the minimum ``low`` of its units to the maximum ``high``, in the others the union of
    their ``bits``; with hierarchy levels (``levels[j]`` to ``levels[j + 1]``) the lowest node that covers these, whose leaves are listed for each pair of ranks (``pair_leaves``
    from ``pairs[j]`` on) unless there are too many pairs (-1). A column's cost is its weight times the covered leaves, so
    unordered columns with equal weights share words.

    Necessary conditions of a group that are checked here: ``least`` rows; at least ``needed`` set bits in the words of sensitive values, which cost nothing; and, for values with a limited share, a
    ``slack`` of at least ``least_slack``, summed over its units. The definition still judges every group.
    """

    low: NDArray[np.int32]
    high: NDArray[np.int32]
    bits: Ids
    rows: Ids
    slack: Ids
    span_weights: NDArray[np.float64]
    bit_weights: NDArray[np.float64]
    leaves: Ids
    levels: Ids
    parts: Ids
    covers: Ids
    pairs: Ids
    pair_leaves: NDArray[np.int32]
    needed: Ids
    least_slack: Ids
    least: int

    @classmethod
    def of(
        cls, units: FrequencySet, values: CellStyle, definition: GroupDefinition, weights: NDArray[np.float64]
    ) -> BoxPoints:
        """The arrays for units that are published with labels of the style ``values``, with the necessary conditions of a definition."""
        stage = Stage.of(units, values)
        weights = weights / weights.sum() / np.maximum(stage.leaves - 1, 1)
        low, high, spans, nodes = [], [], [], []
        words: dict[float, list[Ids]] = {}
        for scale, ranks, weight in zip(stage.scales, stage.ranks.astype(np.int64), weights.tolist(), strict=True):
            if scale.size == 1:
                continue
            missing = ranks == scale.apart_null
            known = scale.size - (scale.apart_null >= 0)
            if len(scale.parts) or (scale.spanned and known > 2):
                low.append(np.where(missing, NOBODY_LOW, ranks))
                high.append(np.where(missing, -1, ranks))
                spans.append(weight)
                nodes.append(scale)
                if missing.any():
                    words.setdefault(weight, []).append(np.where(missing, 0, -1))
            else:
                words.setdefault(weight, []).append(ranks)
        packed = [(weight, 0, word) for weight, columns in words.items() for word in _packed_words(columns)]
        packed += [(0.0, minimum_values, word) for minimum_values, word in _needed_values(units, definition)]
        shares = list(_slacks(units, definition))
        count, levels = len(units), [len(scale.parts) for scale in nodes]
        parts = np.zeros((sum(levels), max((scale.size for scale in nodes), default=0)), dtype=np.int64)
        covers, level_starts = parts.copy(), np.concatenate([[0], np.cumsum(levels, dtype=np.int64)]).astype(np.int64)
        for scale, first_level in zip(nodes, level_starts.tolist(), strict=False):
            parts[first_level : first_level + len(scale.parts), : scale.size] = scale.parts
            covers[first_level : first_level + len(scale.parts), : scale.size] = scale.covers
        pairs, pair_leaves = _pair_leaves(nodes)
        return cls(
            _rows(low, count, NOBODY_LOW).astype(np.int32),
            _rows(high, count, -1).astype(np.int32),
            _rows([word for _, _, word in packed], count, 0),
            np.append(units.sizes, 0),
            _rows([slack for slack, _ in shares], count, 0),
            np.array(spans, dtype=np.float64),
            np.array([weight for weight, _, _ in packed], dtype=np.float64),
            np.array([scale.size for scale in nodes], dtype=np.int64),
            level_starts,
            parts,
            covers,
            pairs,
            pair_leaves,
            np.array([minimum_values for _, minimum_values, _ in packed], dtype=np.int64),
            np.array([least for _, least in shares], dtype=np.int64),
            max(definition.least_rows(), 1),
        )

    def only(self, chosen: Ids) -> BoxPoints:
        """The chosen units, followed by the empty unit."""
        units_and_empty = np.append(chosen, len(self.rows) - 1)
        chosen_rows = {name: getattr(self, name)[units_and_empty] for name in ("low", "high", "bits", "rows", "slack")}
        return self._replace(**chosen_rows)


def _pair_leaves(scales: Sequence[Scale]) -> tuple[Ids, NDArray[np.int32]]:
    """For each scale the position of its pairs of ranks (-1: not listed), and the leaves of the lowest node that covers each of these pairs, one row of pairs after the other."""
    positions, tables, filled = np.full(len(scales), -1, dtype=np.int64), [np.empty(0, dtype=np.int32)], 0
    for j, scale in enumerate(scales):
        if len(scale.parts) and filled + scale.size**2 <= _MOST_PAIRS:
            table = np.full((scale.size, scale.size), scale.size, dtype=np.int32)
            for parts, covers in zip(reversed(scale.parts), reversed(scale.covers), strict=True):
                table = np.where(parts[:, None] == parts[None, :], covers[:, None], table).astype(np.int32)
            positions[j], filled = filled, filled + table.size
            tables.append(table.ravel())
    return positions, np.concatenate(tables)


def _rows(columns: Sequence[Ids], count: int, nobody: int) -> Ids:
    """The columns as a matrix with one row per unit and a last row of ``nobody`` for the empty unit."""
    rows = np.full((count + 1, len(columns)), nobody, dtype=np.int64)
    for j, column in enumerate(columns):
        rows[:count, j] = column
    return rows


def _packed_words(columns: Sequence[Ids]) -> Iterator[Ids]:
    """Yield words (an integer per unit) in which every value of each column of small integers (-1: none) has its own bit; as many words as needed."""
    offset = 0
    words: list[Ids] = []
    for ranks in columns:
        bits = np.where(ranks < 0, -1, ranks + offset)
        offset += int(ranks.max()) + 1
        for word_number in range(-(-offset // _BITS)):
            if word_number == len(words):
                words.append(np.zeros(len(ranks), dtype=np.int64))
            in_word = (bits >= 0) & (bits // _BITS == word_number)
            words[word_number][in_word] |= np.int64(1) << (bits[in_word] % _BITS)
    yield from words


def _needed_values(units: FrequencySet, definition: GroupDefinition) -> Iterator[tuple[int, Ids]]:
    """For each sensitive column of which a group needs several values, yield how many, and for every unit a word with a bit for each of its values. Values may share a bit, which makes the condition stricter than needed."""
    needed_by_column: dict[str, int] = {}
    for part in definition.parts():
        implied = part if isinstance(part, DistinctLDiversity) else part.relaxation()
        for implied_part in () if implied is None else implied.parts():
            if isinstance(implied_part, DistinctLDiversity):
                names = (
                    [column.name for column in units.domain.columns]
                    if implied_part.column is None
                    else [implied_part.column]
                )
                needed_by_column.update({name: max(implied_part.l, needed_by_column.get(name, 0)) for name in names})
    cells = units.histograms
    for name, minimum_values in needed_by_column.items():
        codes, column = units.domain.together([name])
        if minimum_values <= min(column.size, _BITS):
            word = np.zeros(len(units), dtype=np.int64)
            np.bitwise_or.at(word, cells.owners, np.int64(1) << (codes[cells.values] % _BITS))
            yield minimum_values, word


def _slacks(units: FrequencySet, definition: GroupDefinition) -> Iterator[tuple[Ids, int]]:
    """For each set of values with a limited share, yield by how much every unit stays below the limit, in whole numbers, and the minimum sum of these for a group."""
    for part in definition.parts():
        if isinstance(part, SetShares):
            names = [column.name for column in units.domain.columns] if part.column is None else [part.column]
            numerator, denominator = part.limit.as_integer_ratio()
            may_fill = part.within(np.array([numerator]), np.array([denominator]))[0]
            for name in names:
                by_value = units.groups().marginal(name)
                for rows in part.rows_by_set(by_value):
                    yield numerator * by_value.sizes - denominator * rows, 0 if may_fill else 1
