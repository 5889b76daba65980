"""Formulas of two columns: sums, differences, products, ratios, the time between dates, and bands of these; weighted sums
and products of powers.

The first kind is looked up among all pairs of columns at once, at the resolution of the target. The second is found by
how much of a target two columns explain together, unchanged and by their logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from reticent.table.relations.bands import MOST_BANDS, OrderedNumbers, band_errors, rows_of_rare_values
from reticent.table.relations.column_agreement import Agreement, agreement, is_shown
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.correlation import by_blocks, correlations
from reticent.table.relations.least_squares import product_words, sum_words, weights_of
from reticent.table.relations.relation import ColumnRelation, Numbers, short_number

_FIRST, _OFTEN = 16, 0.75
_FIRST_BANDED, _STEPS = 64, 20
_EXPLAINED = 0.99
_MOST_FORMS, _MOST_FITTED, _MOST_RARE = 120, 300, 10_000
_BLOCK = 256


@dataclass(frozen=True)
class PairFormula:
    """A function of two numbers with its wording, for columns with the given number of ``dates``; with ``marks``, one of them is a 0/1 column."""

    of: Callable[[Numbers, Numbers], Numbers]
    words: str
    dates: int = 0
    marks: bool = False


_TIMES = {
    "days": 1.0,
    "weeks": 7.0,
    "months": 30.4375,
    "years": 365.25,
    "hours": 1 / 24,
    "minutes": 1 / 1440,
    "seconds": 1 / 86400,
}


def _between(unit: float, sign: int) -> Callable[[Numbers, Numbers], Numbers]:
    return lambda a, b: sign * (b - a) / unit


PAIR_FORMULAS: tuple[PairFormula, ...] = (
    *(PairFormula(_between(days, 1), f"the {unit} from {{0}} to {{1}}", 2) for unit, days in _TIMES.items()),
    *(PairFormula(_between(days, -1), f"the {unit} from {{1}} to {{0}}", 2) for unit, days in _TIMES.items()),
    PairFormula(lambda a, b: a - b, "{0} minus {1}", 1),
    PairFormula(lambda a, b: b - a, "{1} minus {0}", 1),
    PairFormula(lambda a, b: a + b, "{0} plus {1}", 1),
    PairFormula(lambda a, b: a * b, "{0} times {1}"),
    PairFormula(lambda a, b: a * b, "{0} times {1}", marks=True),
    PairFormula(lambda a, b: a / b, "{0} divided by {1}"),
    PairFormula(lambda a, b: b / a, "{1} divided by {0}"),
    PairFormula(lambda a, b: a / b**2, "{0} divided by the square of {1}"),
    PairFormula(lambda a, b: b / a**2, "{1} divided by the square of {0}"),
    PairFormula(lambda a, b: a * b**2, "{0} times the square of {1}"),
    PairFormula(lambda a, b: b * a**2, "{1} times the square of {0}"),
    PairFormula(lambda a, b: np.sqrt(a / b), "the square root of {0} divided by {1}"),
    PairFormula(lambda a, b: np.sqrt(b / a), "the square root of {1} divided by {0}"),
)
"""The formulas that are looked up."""

Known = set[tuple[str, frozenset[str]]]
"""Known relations: the source sets of each target."""


def is_known(target: str, sources: frozenset[str], known: Known) -> bool:
    """True if a target already follows from some of the sources, or is one of them."""
    return target in sources or any(name == target and known_sources <= sources for name, known_sources in known)


def pair_relations(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes, known: Known, exact: bool
) -> Iterator[ColumnRelation]:
    """The relations of targets to two sources each, except what is already ``known``. Candidates come from some ``rows``,
    and are verified in all; with ``exact``, no row may contradict.
    """
    numeric = [form for form in sources if form.numbers is not None and (form.distinct > 2 or form.is_mark)]
    search = _PairSearch(numeric[:_MOST_FORMS], targets, rows, set(known), exact)
    yield from search.looked_up(banded=False)
    yield from search.explained()
    yield from search.looked_up(banded=True)


class _PairSearch:
    """The numbers of some rows, and the relations so far. Mutable: ``known`` grows, so no target is explained twice by the same columns."""

    def __init__(
        self, numeric: Sequence[ColumnForm], targets: Sequence[ColumnForm], rows: Codes, known: Known, exact: bool
    ) -> None:
        """Read the sampled ``rows``: the numbers of the source columns as ``x``, those of the targets as ``y`` (NaN if
        unknown).
        """
        self.numeric, self.targets, self.known, self.exact = numeric, targets, known, exact
        self.small = [form.at(rows) for form in targets]
        self.x = np.array([form.at(rows).numbers for form in numeric]).reshape(len(numeric), len(rows))
        unknown = np.full(len(rows), np.nan)
        self.y = np.array([unknown if form.numbers is None else form.numbers for form in self.small])
        self.rare = self._rare_targets()

    def _rare_targets(self) -> dict[int, tuple[Codes, Numbers]]:
        """Return the codes and numbers of additional rows for targets whose rare values the first rows lack; for as
        many targets as there is time to test all pairs.
        """
        pairs = len(self.numeric) * (len(self.numeric) - 1) // 2
        rare: dict[int, tuple[Codes, Numbers]] = {}
        for number, target in enumerate(self.targets):
            if not 2 <= target.distinct <= MOST_BANDS or (len(rare) + 1) * pairs > _MOST_RARE:
                continue
            first_codes = self.small[number].codes[:_FIRST_BANDED]
            rows = rows_of_rare_values(target.codes, first_codes, _FIRST_BANDED)
            if rows is not None:
                rare[number] = target.codes[rows], np.array([_numbers(form)[rows] for form in self.numeric])
        return rare

    def looked_up(self, banded: bool) -> Iterator[ColumnRelation]:
        """Yield relations in which a formula of two columns equals a target or, if ``banded``, intervals of the formula
        determine it.
        """
        for formula in PAIR_FORMULAS:
            pairs = self._pairs(formula)
            if not len(pairs) or (banded and formula.marks):
                continue
            features = _features(formula, self.x, pairs)
            first = OrderedNumbers(features[:, :_FIRST_BANDED])
            for number, target in enumerate(self.targets):
                if not banded:
                    features_found = self._equal(features, number)
                    if self.exact:
                        features_found = self._without_exceptions(formula, pairs, features_found, target)
                elif number in self.rare:
                    features_found = self._rare_bands(formula, pairs, number)
                else:
                    features_found = self._bands(features, first, number)
                for feature in features_found:
                    a, b = (self.numeric[index] for index in pairs[feature])
                    if not is_known(target.owner, frozenset((a.owner, b.owner)), self.known):
                        relation = _shown(formula, a, b, target)
                        if relation is not None:
                            self.known.add((target.owner, frozenset(relation.sources)))
                            yield relation

    def _pairs(self, formula: PairFormula) -> NDArray[np.int64]:
        """The index pairs of columns to which a formula applies."""
        dates = [form.is_date for form in self.numeric]
        marks_last = sorted(range(len(self.numeric)), key=lambda index: self.numeric[index].is_mark)
        listed = [
            (i, j)
            for i, j in combinations(marks_last, 2)
            if self.numeric[i].owner != self.numeric[j].owner
            and (dates[i] + dates[j] == formula.dates or (formula.dates == 1 and not dates[i] and not dates[j]))
            and formula.marks == (self.numeric[i].is_mark != self.numeric[j].is_mark)
            and not (self.numeric[i].is_mark and self.numeric[j].is_mark)
        ]
        return np.array(listed, dtype=np.int64).reshape(-1, 2)

    def _equal(self, features: Numbers, number: int) -> list[int]:
        """Return the indices of the features (a formula of a pair of columns, row by row) that may equal a target:
        tested in a few rows, then in all sampled ones.
        """
        target = self.small[number]
        if target.numbers is None or target.is_mark:
            return []
        first = np.flatnonzero(_agree(features[:, :_FIRST], target, slice(_FIRST)) >= (1 if self.exact else _OFTEN))
        most_wrong = 0 if self.exact else min(1 - _OFTEN, target.mode_error) / 2
        candidates: list[int] = first[_agree(features[first], target, slice(None)) >= 1 - most_wrong].tolist()
        return candidates

    def _without_exceptions(
        self, formula: PairFormula, pairs: NDArray[np.int64], candidates: Sequence[int], target: ColumnForm
    ) -> list[int]:
        """Return the candidates (pairs of columns) for which the formula equals the target in every row of the table,
        for some rounding.
        """
        uncontradicted: list[int] = []
        for start in range(0, len(candidates), _BLOCK):
            block = np.array(candidates[start : start + _BLOCK])
            columns_used = np.unique(pairs[block])
            numbers = np.array([_numbers(self.numeric[index]) for index in columns_used.tolist()])
            features = _features(formula, numbers, np.searchsorted(columns_used, pairs[block]))
            uncontradicted += block[_contradicted(features, target) == 0].tolist()
        return uncontradicted

    def _bands(self, features: Numbers, ordered: OrderedNumbers, number: int) -> list[int]:
        """Return the indices of the features (a formula of a pair of columns, row by row) whose intervals may determine
        a target: tested in a few ``ordered`` rows, then in all sampled ones.
        """
        target = self.small[number]
        if target.distinct < 2 or self.targets[number].distinct > MOST_BANDS:
            return []
        first = np.flatnonzero(ordered.may_band(target.codes[:_FIRST_BANDED], self.exact))
        candidates: list[int] = first[OrderedNumbers(features[first]).may_band(target.codes, self.exact)].tolist()
        return candidates

    def _rare_bands(self, formula: PairFormula, pairs: NDArray[np.int64], number: int) -> list[int]:
        """Return the indices of the pairs for which intervals of the formula may determine a target with rare values,
        tested in its additional rows.
        """
        codes, numbers = self.rare[number]
        ordered = OrderedNumbers(_features(formula, numbers, pairs))
        candidates: list[int] = np.flatnonzero(ordered.may_band(codes, self.exact)).tolist()
        return candidates

    def explained(self) -> Iterator[ColumnRelation]:
        """Yield relations in which a target is a weighted sum of two columns, or a product of their powers."""
        for is_log in (False, True):
            x, y = (self.x, self.y) if not is_log else (_logarithms(self.x), _logarithms(self.y))
            for i, j, number in _explaining(x, y):
                a, b, target = self.numeric[i], self.numeric[j], self.targets[number]
                if is_known(target.owner, frozenset((a.owner, b.owner)), self.known) or a.owner == b.owner:
                    continue
                relation = _fitted(a, b, target, is_log)
                if relation is not None:
                    self.known.add((target.owner, frozenset(relation.sources)))
                    yield relation


def _features(formula: PairFormula, numbers: Numbers, pairs: NDArray[np.int64]) -> Numbers:
    """Return the value of a formula for each pair of columns (indices into the rows of ``numbers``) and row; NaN if it
    cannot be computed.
    """
    with np.errstate(all="ignore"):
        features = formula.of(numbers[pairs[:, 0]], numbers[pairs[:, 1]])
    return np.where(np.isfinite(features), features, np.nan)


def _numbers(form: ColumnForm) -> Numbers:
    assert form.numbers is not None
    return form.numbers


def _agree(features: Numbers, target: ColumnForm, rows: slice) -> Numbers:
    """The share of known values in which each feature agrees with the target, for the best rounding."""
    assert target.numbers is not None
    numbers = target.numbers[rows]
    known_counts = (~np.isnan(features - numbers)).sum(axis=1)
    with np.errstate(invalid="ignore"):
        agreements = [
            (np.abs(rounding - numbers) <= target.precision).sum(axis=1) for rounding in target.rounded(features)
        ]
    share: Numbers = np.maximum.reduce(agreements) / np.maximum(known_counts, 1)
    return np.where(2 * known_counts >= len(numbers), share, 0.0)


def _contradicted(features: Numbers, target: ColumnForm) -> NDArray[np.int64]:
    """In how many rows each feature is known and differs from the target, for the best rounding."""
    assert target.numbers is not None
    with np.errstate(invalid="ignore"):
        contradicting = [
            (np.abs(rounding - target.numbers) > target.precision).sum(axis=1) for rounding in target.rounded(features)
        ]
    contradictions: NDArray[np.int64] = np.minimum.reduce(contradicting)
    return contradictions


def _shown(formula: PairFormula, a: ColumnForm, b: ColumnForm, target: ColumnForm) -> ColumnRelation | None:
    """Return the relation between a target and a formula of two columns; None unless all rows support it and neither
    column alone does nearly as well.
    """
    with np.errstate(all="ignore"):
        computed = formula.of(_numbers(a), _numbers(b))
    computed = np.where(np.isfinite(computed), computed, np.nan)
    words, sources = formula.words.format(a.text, b.text), (a.owner, b.owner)
    if target.numbers is not None and not target.is_mark:
        agreed = agreement(computed, target)
        if agreed.shown and agreed.wrong <= min(_alone(form, target) for form in (a, b)) / 3:
            return ColumnRelation(target.owner, sources, f"is {_nearly(agreed)}{words}", exact=agreed.exact)
    if target.distinct <= MOST_BANDS and (errors := band_errors(computed, target.codes)) is not None:
        wrong, single_error = errors[0], min(step_error(form, target.codes) for form in (a, b))
        if is_shown(*errors) and wrong <= single_error / 3:
            verb = "follows from" if wrong == 0 else "nearly follows from"
            return ColumnRelation(target.owner, sources, f"{verb} {words}", "band", exact=wrong == 0)
    return None


def _alone(source: ColumnForm, target: ColumnForm) -> float:
    """The share of rows in which a target differs from the source itself."""
    assert source.numbers is not None
    return agreement(source.numbers, target).wrong


def _nearly(match: Agreement) -> str:
    return "" if match.exact else "nearly "


def step_error(source: ColumnForm, codes: Codes) -> float:
    """The error of predicting the most frequent value in each twentieth of a source."""
    ranks = np.nan_to_num(source.ranks)
    steps = (ranks * _STEPS / (len(ranks) + 1)).astype(np.int64)
    table = np.zeros((_STEPS + 1, int(codes.max()) + 1), dtype=np.int64)
    np.add.at(table, (steps, codes), 1)
    return 1 - float(table.max(axis=1).sum()) / len(codes)


def _logarithms(numbers: Numbers) -> Numbers:
    """Logarithms of rows of positive numbers; NaN for other rows."""
    with np.errstate(all="ignore"):
        return np.where((np.nan_to_num(numbers, nan=1.0) > 0).all(axis=1, keepdims=True), np.log(numbers), np.nan)


def _explaining(x: Numbers, y: Numbers) -> Iterator[tuple[int, int, int]]:
    """Yield (index of the first column, of the second, of the target) for pairs that nearly explain a target, and far
    better together than each alone; best first.
    """
    first, second = np.triu_indices(len(x), 1)

    def together(columns: Numbers, targets: Numbers) -> Numbers:
        """Return R squared of each pair of columns for each target, 0 if the pair is not far better than each alone."""
        correlation, target_correlation = correlations(columns, columns), correlations(columns, targets)
        r = correlation[..., first, second][..., None]
        first_r, second_r = target_correlation[..., first, :], target_correlation[..., second, :]
        with np.errstate(all="ignore"):
            explained = (first_r**2 + second_r**2 - 2 * first_r * second_r * r) / (1 - r**2)
        single_residual = 1 - np.maximum(first_r**2, second_r**2)
        is_better = (explained <= 1 + 1e-6) & (1 - r**2 > 1e-12) & (1 - explained <= single_residual / 3)
        return np.where(is_better, explained, 0.0)

    # Only rows with a known target: correlations over different rows would be inconsistent.
    known_rows = [np.flatnonzero(~np.isnan(target)) for target in y]
    explained = np.concatenate(
        [by_blocks(together, x[:, rows], y[[number]][:, rows]) for number, rows in enumerate(known_rows)], axis=1
    )
    pair_indices, targets = np.nonzero(explained >= _EXPLAINED)
    for number in np.argsort(-explained[pair_indices, targets], kind="stable")[:_MOST_FITTED].tolist():
        yield int(first[pair_indices[number]]), int(second[pair_indices[number]]), int(targets[number])


def _fitted(a: ColumnForm, b: ColumnForm, target: ColumnForm, is_log: bool) -> ColumnRelation | None:
    """Return the relation of a target to the weighted sum, or product of powers, of two columns that fits most rows;
    None unless it fits nearly all.
    """
    assert a.numbers is not None
    assert b.numbers is not None
    assert target.numbers is not None
    with np.errstate(all="ignore"):
        x = [np.log(each) if is_log else each for each in (a.numbers, b.numbers)]
        y = np.log(target.numbers) if is_log else target.numbers
    scale = float(np.nanmax(np.abs(y[np.isfinite(y)])))
    for weights in weights_of(np.stack([*x, np.ones(len(y))], axis=1), y):
        p, q, constant = short_number(weights[0]), short_number(weights[1]), short_number(weights[2], scale)
        with np.errstate(all="ignore"):
            # An exponent of 0 leaves the logarithm of 0 undefined.
            computed = p * x[0] + q * x[1] + constant
            agreed = agreement(np.exp(computed) if is_log else computed, target)
        if agreed.shown:
            terms = [(p, a.text), (q, b.text)]
            words = product_words(terms, float(np.exp(constant))) if is_log else sum_words(terms, constant)
            return ColumnRelation(target.owner, (a.owner, b.owner), f"is {_nearly(agreed)}{words}", exact=agreed.exact)
    return None
