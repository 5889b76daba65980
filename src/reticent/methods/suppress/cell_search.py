"""Local search after the greedy: classes are opened, enlarged and closed while that saves cells. The cost never increases.

Only single rows are moved, and only sizes are checked, so it applies to k-anonymity alone. Large tables are improved in
batches, each of whole classes that are close to each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import sum_by
from reticent.methods.suppress import _kernels
from reticent.methods.suppress.ladders import Ids, Mask, Pattern, Units
from reticent.methods.suppress.patterns import cheapest_patterns

_MOST_PAIRS = 1_500_000
_MOST_IN_A_LOT = 40_000
_COMPILED_FROM = 20_000
_MOST_SWEEPS = 12


def improved(units: Units, group: Ids, context: Context) -> Ids:
    """Return a partition that costs at most as much: single rows move to cheaper classes, existing or new, and no class
    falls below the minimum size.
    """
    group = group.copy()
    count = int(group.max(initial=-1)) + 1
    prices = units.prices(group, count)
    lots = [lot for lot in _lots(units, group, _movable(units, group, prices)) if prices[group[lot]].any()]
    for index, lot in enumerate(lots):
        context.step("improving", index, len(lots))
        batch = _Lot.of(units, group, prices, lot)
        for number in range(_MOST_SWEEPS):
            context.check("improving")
            if not batch.sweep(number):
                break
        batch.settle(group, count)
        count = int(group.max(initial=-1)) + 1
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _movable(units: Units, group: Ids, prices: Ids) -> Ids:
    """Return the units in classes with suppressed cells, and those that classes without any can lose and still have enough."""
    sizes = np.bincount(group, minlength=len(prices))
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(starts, sizes)
    spare = np.minimum(sizes - units.least, units.least - 1)
    return np.flatnonzero((prices[group] > 0) | (rank < spare[group]))


def _lots(units: Units, group: Ids, movable: Ids) -> Iterator[Ids]:
    """Yield the movable units in lots of some ``_MOST_IN_A_LOT``: whole classes (``group`` is the class of every unit) that are near each other, sorted by the column with the fewest values first."""
    if len(movable) <= _MOST_IN_A_LOT:
        yield movable
        return
    most_values_first = sorted(
        range(len(units.codes)), key=lambda column: len(np.unique(units.codes[column])), reverse=True
    )
    count = int(group.max()) + 1
    unit_of_class = np.zeros(count, dtype=np.int64)
    unit_of_class[group[movable]] = movable
    rank = np.empty(count, dtype=np.int64)
    # The last key of lexsort sorts first.
    rank[np.lexsort([units.codes[column][unit_of_class] for column in most_values_first])] = np.arange(count)
    ordered = movable[np.argsort(rank[group[movable]], kind="stable")]
    classes = group[ordered]
    class_starts = np.flatnonzero(np.append(True, classes[1:] != classes[:-1]))
    start = 0
    for edge in [*class_starts.tolist(), len(ordered)]:
        if edge - start >= _MOST_IN_A_LOT or edge == len(ordered):
            yield ordered[start:edge]
            start = edge


@dataclass(frozen=True)
class _Lot:
    """Movable units (``chosen``), their possible classes, and their current class; :func:`._kernels.sweep` describes the
    arrays. Mutable: sweeps move units.

    The last class represents all fully visible classes: its units cost nothing, and all of them may leave.
    """

    chosen: Ids
    members: Ids
    member_starts: Ids
    choices: Ids
    choice_starts: Ids
    price: Ids
    of_unit: Ids
    size: Ids
    least: int

    @classmethod
    def of(cls, units: Units, group: Ids, prices: Ids, chosen: Ids) -> _Lot:
        """Build the batch of the ``chosen`` units: the classes that each could join, cheapest patterns (combinations of
        suppressed cells) first, up to a limited number of pairs of unit and class.
        """
        of_unit = np.full(len(chosen), -1, dtype=np.int64)
        paying = prices[group[chosen]] > 0
        units_kept, classes_kept, price = [], [], []
        count = pairs = 0
        for cost, pattern, own_units in _with_own(units, group, chosen, paying):
            if pairs >= _MOST_PAIRS and not len(own_units):
                continue
            ids, groups = units.alike(pattern, chosen)
            is_own_class = np.zeros(groups, dtype=bool)
            is_own_class[ids[own_units]] = True
            is_useful = is_own_class.copy()
            if pairs < _MOST_PAIRS:
                is_useful |= (np.bincount(ids, minlength=groups) >= units.least) & (sum_by(ids, paying, groups) > 0)
            numbers = np.cumsum(is_useful) - 1 + count
            kept_units = np.flatnonzero(is_useful[ids])
            units_kept.append(kept_units)
            classes_kept.append(numbers[ids[kept_units]])
            of_unit[own_units] = numbers[ids[own_units]]
            price.append(np.full(int(is_useful.sum()), cost, dtype=np.int64))
            count += int(is_useful.sum())
            pairs += len(kept_units)
        of_unit[of_unit < 0] = count
        size = np.bincount(of_unit, minlength=count + 1).astype(np.int64)
        size[count] = len(units) + units.least
        in_units, in_classes = np.concatenate(units_kept), np.concatenate(classes_kept)
        member_starts, members = _listed(in_classes, in_units, count + 1, len(chosen))
        choice_starts, choices = _listed(in_units, in_classes, len(chosen), count + 1)
        prices_of = np.append(np.concatenate(price), 0)
        return cls(chosen, members, member_starts, choices, choice_starts, prices_of, of_unit, size, units.least)

    def sweep(self, number: int) -> int:
        """Try every class once, by increasing cost or, after that, in a different order each time; return the saving."""
        classes = len(self.price) - 1
        order = np.arange(classes) if number == 0 else np.random.default_rng(number).permutation(classes)
        run = _kernels.compiled_sweep if len(self.members) >= _COMPILED_FROM else _kernels.sweep
        saved = run(
            order,
            self.members,
            self.member_starts,
            self.choices,
            self.choice_starts,
            self.price,
            self.of_unit,
            self.size,
            self.least,
        )
        return int(saved)

    def settle(self, group: Ids, count: int) -> None:
        """Renumber the classes of the units starting at ``count``; units in a fully visible class keep their number."""
        moved = self.of_unit < len(self.price) - 1
        group[self.chosen[moved]] = count + self.of_unit[moved]


def _listed(owners: Ids, items: Ids, count: int, item_count: int) -> tuple[Ids, Ids]:
    """Return ``items`` grouped by their ``owners`` in CSR form: the offsets of ``count`` owners, and the items of each in ascending order."""
    from scipy.sparse import coo_array

    matrix = coo_array((np.ones(len(items), dtype=np.int8), (owners, items)), shape=(count, item_count)).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)


def _with_own(units: Units, group: Ids, chosen: Ids, paying: Mask) -> Iterator[tuple[int, Pattern, Ids]]:
    """Yield the cost and the pattern of suppressed cells, by increasing cost up to the highest current one, with the units
    whose current class has exactly this pattern; patterns of ``paying`` units that this misses come at the end.
    """
    classes, numbers = np.unique(group[chosen[paying]], return_inverse=True)
    rungs = units.select(chosen[paying]).rungs(numbers, len(classes))
    kinds, kind = np.unique(rungs, axis=0, return_inverse=True)
    pattern_index = {tuple(pattern): index for index, pattern in enumerate(kinds.tolist())}
    of_unit = np.full(len(chosen), -1, dtype=np.int64)
    of_unit[paying] = kind.ravel()[numbers]
    highest = max((int(price) for price in units.priced(kinds)), default=0)
    for cost, pattern in cheapest_patterns(units.ladders):
        if cost > highest:
            break
        if any(pattern):
            yield cost, pattern, np.flatnonzero(of_unit == pattern_index.pop(pattern, -2))
    for pattern, index in pattern_index.items():
        if any(pattern):
            price = int(units.priced(np.array([pattern]))[0])
            yield price, pattern, np.flatnonzero(of_unit == index)
