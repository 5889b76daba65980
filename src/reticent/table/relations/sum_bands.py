"""Bands of weighted sums and products: a column of few values, each of which represents one interval of a weighted sum of
other columns.

The columns and weights are those that separate the values of the column best: the direction in which their means are
farthest apart (Fisher's discriminant), with as few columns as keep the values in their bands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

import numpy as np

from reticent.table.relations.bands import MOST_BANDS, OrderedNumbers, band_errors, evidence
from reticent.table.relations.column_agreement import is_shown
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.least_squares import product_words, sum_words
from reticent.table.relations.pair_formulas import Known, is_known, step_error
from reticent.table.relations.relation import ColumnRelation, Numbers

_MOST_SOURCES, _TRIED = 5, 8
_KNOWN, _EVIDENCE = 0.8, 40.0
_NEAR_WHOLE, _MOST_WEIGHT = 0.2, 10
_MOST_ENDS, _ROUNDS, _PENALTY = 4, 12, 1e-3
_MOST_WRONG = 0.02
"""Maximum share of rows outside their band: prediction alone is not a rule."""


def sum_band_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes, known: Known
) -> Iterator[ColumnRelation]:
    """The targets whose bands several sources determine together, except what is already ``known``. Candidates come from
    some ``rows``, and are verified in all.
    """
    numeric = [
        space
        for space in sources
        if space.numbers is not None and not space.is_part and float(np.mean(~np.isnan(space.numbers))) >= _KNOWN
    ]
    spaces = [form for is_log in (False, True) if (form := _Space.of(numeric, rows, is_log)) is not None]
    for target in targets:
        if not 2 <= target.distinct <= MOST_BANDS:
            continue
        relations = [space.relation(target, rows, known) for space in spaces]
        ranked = sorted(filter(None, relations), key=lambda relation: not relation.exact)
        for relation in ranked[:1]:
            known.add((target.owner, frozenset(relation.sources)))
            yield relation


class _Space:
    """Columns of numbers, or their logarithms, in rows in which all are known, standardized to mean 0 and variance 1."""

    def __init__(self, columns: Sequence[ColumnForm], numbers: Numbers, is_log: bool) -> None:
        """Standardize the ``numbers`` of the columns (a row per column), in the rows in which all are known."""
        self.columns, self.is_log = columns, is_log
        self.complete = np.flatnonzero(np.isfinite(numbers).all(axis=0))
        complete_numbers = numbers[:, self.complete]
        self.scale = complete_numbers.std(axis=1)
        with np.errstate(all="ignore"):
            self.x = (complete_numbers - complete_numbers.mean(axis=1, keepdims=True)) / self.scale[:, None]
            self.together = self.x @ self.x.T / max(self.x.shape[1], 1)

    @classmethod
    def of(cls, columns: Sequence[ColumnForm], rows: Codes, is_log: bool) -> _Space | None:
        """The columns that vary and, if needed, have logarithms; None if there are fewer than two, or too few complete rows."""
        numbers = [_read(form, is_log)[rows] for form in columns]
        usable = [
            index
            for index, row in enumerate(numbers)
            if np.isfinite(row).mean() >= _KNOWN and np.ptp(row[np.isfinite(row)]) > 0
        ]
        if len(usable) < 2:
            return None
        space = cls([columns[index] for index in usable], np.array([numbers[index] for index in usable]), is_log)
        return space if len(space.complete) >= 10 * len(usable) and bool((space.scale > 0).all()) else None

    def relation(self, target: ColumnForm, rows: Codes, known: Known) -> ColumnRelation | None:
        """The relation of a target to as few columns as determine its bands."""
        codes = target.codes[rows][self.complete]
        candidates = [index for index, form in enumerate(self.columns) if form.owner != target.owner]
        known_rows = codes > 0
        if len(candidates) < 2 or 2 * int(known_rows.sum()) < len(rows) or evidence(codes[known_rows]) < _EVIDENCE:
            return None
        chosen = self._most_separating(codes, candidates, _TRIED)
        if not self._may_separate(codes, chosen):
            return None
        for size in range(2, min(_MOST_SOURCES, len(chosen)) + 1):
            columns = self._most_separating(codes, chosen, size)
            sources = frozenset(self.columns[index].owner for index in columns)
            if is_known(target.owner, sources, known):
                return None
            if self._may_separate(codes, columns) and (relation := self._shown(target, codes, columns)) is not None:
                return relation
        return None

    def _most_separating(self, codes: Codes, places: Sequence[int], limit: int) -> list[int]:
        """The columns that separate the values of a target best, after dropping the least informative one by one."""
        remaining = list(places)
        while len(remaining) > limit:
            weights = np.abs(self._direction(codes, remaining))
            drop_count = max(min(len(remaining) - limit, len(remaining) // 2), 1)
            worst = set(np.argsort(weights)[:drop_count].tolist())
            remaining = [column for number, column in enumerate(remaining) if number not in worst]
        return remaining

    def _direction(self, codes: Codes, columns: Sequence[int]) -> Numbers:
        """Return the weights of some columns that best separate the means of a target's values, relative to the spread
        of all rows.

        This is Fisher's linear discriminant, with the spread of all rows instead of that within the values.
        """
        is_known = codes > 0
        x, codes = self.x[columns][:, is_known], codes[is_known]
        counts = np.bincount(codes)
        sums = np.array([np.bincount(codes, weights=row) for row in x])
        means = sums[:, counts > 0] / np.sqrt(counts[counts > 0])
        spread, axes = np.linalg.eigh(self.together[np.ix_(columns, columns)])
        usable = spread > 1e-9 * spread.max()
        whitened = axes[:, usable] / np.sqrt(spread[usable])
        directions, _, _ = np.linalg.svd(whitened.T @ means, full_matrices=False)
        direction: Numbers = whitened @ directions[:, 0]
        return direction

    def _may_separate(self, codes: Codes, columns: Sequence[int]) -> bool:
        """True if the weighted sum of some columns may have the values of a target in bands."""
        score = self._direction(codes, columns) @ self.x[columns]
        return bool(OrderedNumbers(score[None, :]).may_band(codes)[0])

    def _separating(self, codes: Codes, columns: Sequence[int]) -> Numbers:
        """The weights whose band boundaries separate the rows best: logistic regression with shared weights for some
        boundaries, from Fisher's direction.
        """
        is_known = codes > 0
        x, known_codes = self.x[columns][:, is_known], codes[is_known]
        score = self._direction(codes, columns) @ x
        present = np.unique(known_codes)
        middles = np.array([np.median(score[known_codes == code]) for code in present])
        rank_of = np.empty(int(present.max()) + 1, dtype=np.int64)
        rank_of[present[np.argsort(middles)]] = np.arange(len(present))
        ends = np.unique(np.linspace(0, len(present) - 2, min(len(present) - 1, _MOST_ENDS)).astype(np.int64))
        above = np.concatenate([rank_of[known_codes] > end for end in ends]).astype(np.float64)
        intercepts = np.repeat(np.eye(len(ends)), x.shape[1], axis=0)
        rows = np.hstack([np.tile(x.T, (len(ends), 1)), intercepts])
        penalty = _PENALTY * np.eye(rows.shape[1])
        weights = np.zeros(rows.shape[1])
        for _ in range(_ROUNDS):
            chance = 1 / (1 + np.exp(-np.clip(rows @ weights, -30, 30)))
            slope = rows.T @ (above - chance) - penalty @ weights
            curve = (rows * (chance * (1 - chance))[:, None]).T @ rows + penalty
            weights = weights + np.linalg.solve(curve, slope)
        direction: Numbers = weights[: len(columns)]
        return direction

    def _shown(self, target: ColumnForm, codes: Codes, indices: Sequence[int]) -> ColumnRelation | None:
        """The relation, if all rows support it, no column alone does nearly as well, and it is not a chance result of the search."""
        columns = [self.columns[index] for index in indices]
        chances = len(indices) * (log(len(self.columns)) + log(len(codes)))
        if evidence(target.codes[target.codes > 0]) < _EVIDENCE + chances:
            return None
        weights = self._separating(codes, indices) / self.scale[indices]
        numbers = np.array([_read(form, self.is_log) for form in columns])
        best: tuple[float, float, Numbers] | None = None
        for short in _short_weights(weights):
            errors = band_errors(short @ numbers, target.codes)
            if errors is not None and (best is None or errors[0] < best[0]):
                best = (*errors, short)
        if best is None:
            return None
        wrong, guessed, short = best
        if (
            not is_shown(wrong, guessed)
            or wrong > _MOST_WRONG
            or wrong > min(step_error(form, target.codes) for form in columns) / 3
        ):
            return None
        words = product_words if self.is_log else sum_words
        formula = words(
            list(zip(short.tolist(), (form.text for form in columns), strict=True)), 1.0 if self.is_log else 0.0
        )
        verb = "follows from" if wrong == 0 else "nearly follows from"
        sources = tuple(form.owner for form in columns)
        return ColumnRelation(target.owner, sources, f"{verb} {formula}", "band", exact=wrong == 0)


def _read(form: ColumnForm, is_log: bool) -> Numbers:
    """The numbers of a column, or their logarithms; None if some have no logarithm."""
    assert form.numbers is not None
    if not is_log:
        return form.numbers
    if not (np.nan_to_num(form.numbers, nan=1.0) > 0).all():
        return np.full(len(form.numbers), np.nan)
    return np.log(form.numbers)


def _short_weights(weights: Numbers) -> Iterator[Numbers]:
    """Yield the weights relative to the smallest: rounded to integers if they nearly are, and unrounded."""
    ratios = weights / np.abs(weights).min()
    ratios = ratios if ratios[0] > 0 else -ratios
    whole = np.round(ratios)
    if (np.abs(ratios - whole) <= _NEAR_WHOLE * np.abs(whole)).all() and np.abs(whole).max() <= _MOST_WEIGHT:
        yield whole
    yield ratios
