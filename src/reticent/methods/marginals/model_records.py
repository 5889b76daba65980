"""Synthetic records from a graphical model: column by column along the junction tree, with counts that stay close to the model's.

Independent draws would add the error of a sample of that size to the error of the noise. Here each column is drawn with error feedback (:func:`diffused`) over the records in the order of the columns that it
depends on, and of the other columns after these, so that the counts of its values are near their expectation in every such block of records, and nearly independent of columns that it does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from reticent.methods.marginals._kernels import diffused
from reticent.methods.marginals.junction_tree import Array, JunctionTree, others

Codes = NDArray[np.int64]
_DRAWN_BEFORE = 256
"""The least number of draws that are not kept; a random number of up to twice as many, because debts can go round in a cycle."""
_MOST_VALUES = 512
"""Columns with more values are drawn in two steps: a block of this many values, and a value of the block."""


def model_records(tree: JunctionTree, shares: Sequence[Array], count: int, seed: int) -> dict[str, Codes]:
    """``count`` records as codes of cells, from the distribution of every clique of a ``tree``."""
    source = np.random.default_rng(seed)
    drawn: dict[str, Codes] = {}
    for clique, shared, share in zip(tree.cliques, tree.separators, shares, strict=True):
        conditions = list(shared)
        new_columns = [name for name in clique if name not in shared]
        for name in sorted(new_columns, key=lambda column_name: tree.sizes[column_name]):
            needed_columns = [*conditions, name]
            axes = [column_name for column_name in clique if column_name in needed_columns]
            table = share.sum(axis=others(clique, needed_columns)).transpose(
                [axes.index(column_name) for column_name in needed_columns]
            )
            keys = _keys(drawn, conditions, tree.sizes, count)
            independent = [codes for other, codes in drawn.items() if other not in conditions]
            drawn[name] = _column(table.reshape(-1, tree.sizes[name]), keys, independent, source)
            conditions.append(name)
    return {name: drawn[name] for name in tree.sizes}


def split_codes(codes: Codes, table: Array, beside: Sequence[Codes], source: np.random.Generator) -> Codes:
    """A finer code for every record from the row of a ``table`` of weights that its code states; nearly independent of the columns ``beside``. Rows with a single weight are not sampled."""
    weighted = table > 0
    split: Codes = weighted.argmax(axis=1)[codes]
    sampled = np.flatnonzero(weighted.sum(axis=1)[codes] > 1)
    if len(sampled):
        # Values that no sampled record can get are left out, which are most of them.
        values = np.flatnonzero(weighted[np.unique(codes[sampled])].any(axis=0))
        chosen = _column(table[:, values], codes[sampled], [other[sampled] for other in beside], source)
        split[sampled] = values[chosen]
    return split


def _keys(drawn: Mapping[str, Codes], names: Iterable[str], sizes: Mapping[str, int], count: int) -> Codes:
    keys = np.zeros(count, dtype=np.int64)
    for name in names:
        keys = keys * sizes[name] + drawn[name]
    return keys


def _column(table: Array, keys: Codes, beside: Sequence[Codes], source: np.random.Generator) -> Codes:
    """A value for every record from its row of a ``table`` of weights; rows are the ``keys`` of what the column depends on, ``beside`` are the columns that were drawn and that it does not depend on."""
    present, row_of = np.unique(keys, return_inverse=True)
    weights = table[present]
    if weights.shape[1] > _MOST_VALUES:
        blocks = -(-weights.shape[1] // _MOST_VALUES)
        padded = np.pad(weights, ((0, 0), (0, blocks * _MOST_VALUES - weights.shape[1])))
        inside = padded.reshape(len(present) * blocks, _MOST_VALUES)
        block = _column(inside.sum(axis=1).reshape(-1, blocks), row_of, beside, source)
        return block * _MOST_VALUES + _column(inside, row_of * blocks + block, beside, source)
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.full_like(weights, 1 / weights.shape[1]), where=total > 0)
    count = len(keys)
    sorted_by = [beside[index] for index in source.permutation(len(beside))]
    order = np.lexsort([source.random(count), *sorted_by, row_of])
    before = int(source.integers(_DRAWN_BEFORE, 2 * _DRAWN_BEFORE))
    drawn: Codes = diffused(order, int(source.integers(count)), before, row_of, shares, source.random(before + count))
    return drawn
