"""Probabilistic record linkage: details may be wrong or unknown, and people may not be in the data. Source: [Fellegi1969]."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_groups, secret_of
from reticent.attacks.candidate_rows import LabelPlaces, places_of
from reticent.attacks.target_list import drawn, listed_people, listing, really_have, shared_columns
from reticent.base.exact import Number, exact
from reticent.base.packing import first_rows, number, pack, sum_by
from reticent.core import AdversaryView, QueriedPeople, find_place
from reticent.errors import PolicyError

_CHUNK_CELLS = 1 << 18
_MOST_WEIGHTS = 1 << 25
_MOST_SUBSETS = 128
_MARGIN = 1e-4


@dataclass(frozen=True)
class ProbabilisticLinkage:
    """An adversary whose list has errors weighs the evidence of every column. Source: [Fellegi1969].

    In each column a person's value is wrong with probability ``errors`` (one for all columns, or by column) and is then
    distributed as in the list. A row whose label covers it weighs (1 - errors)/f + errors, any other row weighs errors,
    where f is the share of the list that the label covers (so agreement on a rare value is stronger evidence); an
    unknown value weighs 1. The product over the columns, with the probability ``present`` that the person is in the
    data (default: rows per listed person, at most 1), gives the posterior of each row.

    A person is *hit* if one row has a posterior above ``threshold``. Rows of a group have equal weights, so k-anonymity
    bounds the posterior by 1/k: with k >= 2 no one is hit at 1/2. ``truth`` names the person's real sensitive value,
    for scoring only. Posteriors are floats; a margin keeps rounding from making hits.
    """

    people: Any = field(repr=False)
    columns: Sequence[str] | None = None
    column: str | None = None
    errors: Number | Mapping[str, Number] = "0.02"
    present: Number | None = None
    threshold: Number = "1/2"
    who: str | None = None
    truth: str | None = None
    sample: int | None = None
    seed: int = 0
    null_is_unknown: bool = True

    name = "probabilistic linkage"

    def __post_init__(self) -> None:
        """Check the parameters; the list of people is stored as a frame."""
        frame = listed_people(self.people, [*(self.columns or ()), self.who, self.truth])
        object.__setattr__(self, "people", frame)
        rates = self.errors.values() if isinstance(self.errors, Mapping) else [self.errors]
        for rate in rates:
            if exact(rate, "ProbabilisticLinkage: errors", low=0, high=1) == 1:
                raise PolicyError(
                    "ProbabilisticLinkage: errors must be below 1, otherwise the list carries no information."
                )
        if self.present is not None:
            exact(self.present, "ProbabilisticLinkage: present", low=0, high=1)
        exact(self.threshold, "ProbabilisticLinkage: threshold", low=0, high=1)

    def needs(self, view: AdversaryView) -> str | None:
        """Require true rows."""
        return needs_groups(view)

    def attack(self, view: AdversaryView) -> Findings:
        """Compute for each listed person the posterior probability of the best matching row, and count those above the threshold."""
        quasi = shared_columns(view, self.people, self.columns)
        sensitive = secret_of(view, self.column)
        listed = self.people[drawn(self.people.height, self.sample, self.seed)]
        queried = view.ask(listed, quasi, null_is_unknown=self.null_is_unknown)
        labels = places_of(view, quasi, sensitive)
        is_known = [
            (listed[name].is_not_null() | (not self.null_is_unknown)).to_numpy()[_firsts(queried)] for name in quasi
        ]
        posteriors = _posteriors(queried, labels, is_known, self._rates(quasi), self._present(labels))
        is_hit = (posteriors.row > float(exact(self.threshold, "threshold")) + _MARGIN)[queried.owners]
        posterior, best_label = posteriors.row[queried.owners], posteriors.place[queried.owners]
        details: dict[str, Any] = {
            "columns": list(quasi),
            "present": self._present(labels),
            "expected": float(posterior.sum()),
        }
        texts, guess = self._guesses(view, labels, best_label, sensitive)
        if sensitive is not None:
            details["learned"] = int((is_hit & (guess >= 0)).sum())
        if sensitive is not None and self.truth is not None:
            details["right"] = int(really_have(listed[self.truth], np.where(is_hit, guess, -1), texts).sum())
        person = int(np.argmax(posterior))
        row = listed.row(person, named=True)
        values = ", ".join(str(row[name]) for name in quasi if row[name] is not None)
        subject = f"{row[self.who]} ({values})" if self.who is not None else f"A person with {values}"
        evidence = f", which has {sensitive} {texts[guess[person]]!r}" if is_hit[person] and guess[person] >= 0 else ""
        return Findings(
            self.name,
            f"a list of {self.people.height:,} people with {listing(quasi)}, some of it wrong or unknown, and not all of them in the data",
            "have one row that is more likely than not theirs"
            if exact(self.threshold, "threshold") * 2 == 1
            else f"have one row that is theirs with a probability above {float(exact(self.threshold, 'threshold')):.0%}",
            int(is_hit.sum()),
            listed.height,
            f"{subject} has one row with a probability of {posterior[person]:.1%}{evidence}.",
            details,
        )

    def _rates(self, quasi: Sequence[str]) -> list[float]:
        if isinstance(self.errors, Mapping):
            return [float(exact(self.errors.get(name, 0), "errors")) for name in quasi]
        return [float(exact(self.errors, "errors"))] * len(quasi)

    def _present(self, labels: LabelPlaces) -> float:
        if self.present is not None:
            return float(exact(self.present, "present"))
        return min(1.0, int(labels.candidates.sum()) / int(self.people.height))

    def _guesses(
        self, view: AdversaryView, labels: LabelPlaces, best_label: NDArray[np.int64], sensitive: str | None
    ) -> tuple[tuple[str, ...], NDArray[np.int64]]:
        """Return the texts of the sensitive values, and for each person the index of the value that all rows of the
        most likely label combination have; -1 if they have several.
        """
        if sensitive is None:
            return (), np.full(len(best_label), -1)
        values, guess, _ = labels.best()
        domain = view.true_groups.domain
        texts = domain.columns[domain.index(sensitive)].texts
        return texts, np.where((best_label >= 0) & (values[best_label] == 1), guess[best_label], -1)


@dataclass(frozen=True)
class _Posteriors:
    """For each distinct person the posterior of their most likely row, and the label combination of that row."""

    row: NDArray[np.float64]
    place: NDArray[np.int64]


def _posteriors(
    queried: QueriedPeople,
    labels: LabelPlaces,
    is_known: Sequence[NDArray[np.bool_]],
    rates: Sequence[float],
    presence: float,
) -> _Posteriors:
    """Return each distinct person's most likely row and its posterior probability ([Fellegi1969]).

    ``is_known[column]`` are the people with a value there, ``rates`` the error rates of the columns, and ``presence`` the
    prior probability that a person is in the data. A row's weight is the likelihood ratio of "the same person" to "another".
    """
    shares = [_shares(queried, column, is_known[column]) for column in range(len(rates))]
    labels_are_disjoint = all(
        bool(cover.is_single[values[is_known_value]].all())
        for cover, values, is_known_value in zip(queried.covers, queried.values, is_known, strict=True)
    )
    rows = max(int(labels.candidates.sum()), 1)
    weigh_rows = _weigh_by_agreement if labels_are_disjoint else _weigh_all
    best_weight, sum_of_weights, best_label = weigh_rows(queried, labels, is_known, rates, shares)
    evidence = 1 - presence + presence / rows * sum_of_weights
    # No evidence: the list contradicts every row although the person must be in the data. Then nothing is concluded.
    row_posteriors = np.divide(
        presence / rows * best_weight, evidence, out=np.zeros(len(best_weight)), where=evidence > 0
    )
    return _Posteriors(row_posteriors, best_label)


_Weighed = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]


def _weigh_by_agreement(
    queried: QueriedPeople,
    label_rows: LabelPlaces,
    is_known: Sequence[NDArray[np.bool_]],
    rates: Sequence[float],
    shares: Sequence[NDArray[np.float64]],
) -> _Weighed:
    """Return per person the largest weight of a row, the sum of the weights of all rows, and the label combination of
    that row.

    A weight is the Fellegi-Sunter likelihood ratio: per known column (1 - rate) / share + rate if the label agrees,
    else rate; ``rates`` are the error rates of the columns, ``shares`` those of the labels in the list. Expanded, it is
    a sum over sets of agreeing columns, and rows that agree on a set are counted by a join: no pair of person and row
    is enumerated. Sets that ``_subsets`` omits as improbable add their expected weight, 1 per row. Needs labels that do
    not overlap.
    """
    people, rows = len(queried), int(label_rows.candidates.sum())
    labels = [cover.lookup()[values] for cover, values in zip(queried.covers, queried.values, strict=True)]
    label_counts = [cover.label_count for cover in queried.covers]
    share_of_person = [np.where(label >= 0, shares[j][label], 1.0) for j, label in enumerate(labels)]
    best_weight, sum_of_weights, best_label = np.zeros(people), np.zeros(people), np.full(people, -1, dtype=np.int64)
    covered_probability = 0.0
    for agreeing in _subsets(len(rates)):
        term_weight, row_weight, can_agree = np.ones(people), np.ones(people), np.ones(people, dtype=bool)
        covered_probability += float(np.prod([1 - rate if j in agreeing else rate for j, rate in enumerate(rates)]))
        for j, rate in enumerate(rates):
            if j in agreeing:
                can_agree &= is_known[j] & (labels[j] >= 0)
                term_weight *= (1 - rate) / share_of_person[j]
                row_weight *= (1 - rate) / share_of_person[j] + rate
            else:
                factor = np.where(is_known[j], rate, 1.0)
                term_weight *= factor
                row_weight *= factor
        agreeing_label, row_counts = _agreeing_rows(label_rows, agreeing, labels, label_counts)
        row_counts = np.where(can_agree, row_counts, 0)
        sum_of_weights += term_weight * row_counts
        is_better = (row_counts > 0) & (row_weight > best_weight)
        best_weight[is_better], best_label[is_better] = row_weight[is_better], agreeing_label[is_better]
    return best_weight, sum_of_weights + rows * max(0.0, 1 - covered_probability), best_label


def _subsets(columns: int) -> Iterator[tuple[int, ...]]:
    """Yield sets of agreeing columns, the largest first, up to a limit."""
    total = 0
    for wrong in range(columns + 1):
        total += comb(columns, wrong)
        if total > _MOST_SUBSETS and wrong > 1:
            return
        yield from combinations(range(columns), columns - wrong)


def _agreeing_rows(
    label_rows: LabelPlaces, agreeing: Sequence[int], labels: Sequence[NDArray[np.int64]], label_counts: Sequence[int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each person a label combination that agrees on some columns, and how many rows do."""
    people = len(labels[0])
    if not agreeing:
        return np.zeros(people, dtype=np.int64), np.full(people, label_rows.candidates.sum())
    agreeing_codes = [label_rows.codes[j] for j in agreeing]
    id_of_label, count = number(*pack(agreeing_codes, [label_counts[j] for j in agreeing], len(label_rows.rows)))
    rows = sum_by(id_of_label, label_rows.candidates, count)
    agreeing_label = find_place(agreeing_codes, [labels[j] for j in agreeing], [label_counts[j] for j in agreeing])
    return agreeing_label, np.where(agreeing_label >= 0, rows[id_of_label[agreeing_label]], 0)


def _weigh_all(
    queried: QueriedPeople,
    label_rows: LabelPlaces,
    is_known: Sequence[NDArray[np.bool_]],
    rates: Sequence[float],
    shares: Sequence[NDArray[np.float64]],
) -> _Weighed:
    """Return what :func:`_weigh_by_agreement` returns, but for labels that overlap (local recoding).

    Compares every distinct person with every label combination, in batches. People who agree in some columns have the
    same weights there, so the product over these columns is computed once for all of them.
    """
    weight_tables = []
    for cover, rate, share, values, is_known_value in zip(
        queried.covers, rates, shares, queried.values, is_known, strict=True
    ):
        table = np.where(cover.matrix(), ((1 - rate) / share + rate)[None, :], rate)
        table[values[~is_known_value]] = 1.0
        weight_tables.append(table.astype(np.float32))
    products = [
        _weights_of_columns(columns, weight_tables, queried, label_rows)
        for columns in _column_parts(queried, len(label_rows.rows))
    ]
    people = len(queried)
    candidates = label_rows.candidates.astype(np.float32)
    best_weight, sum_of_weights, best_label = np.zeros(people), np.zeros(people), np.zeros(people, dtype=np.int64)
    chunk_size = max(1, _CHUNK_CELLS // max(len(candidates), 1))
    for start in range(0, people, chunk_size):
        chunk = slice(start, start + chunk_size)
        weights = products[0][0][products[0][1][chunk]]
        for table, index_of in products[1:]:
            weights *= table[index_of[chunk]]
        best_label[chunk] = weights.argmax(axis=1)
        best_weight[chunk] = np.take_along_axis(weights, best_label[chunk, None], axis=1)[:, 0]
        sum_of_weights[chunk] = weights @ candidates
    return best_weight, sum_of_weights, best_label


def _column_parts(queried: QueriedPeople, labels: int) -> list[list[int]]:
    """Return the columns partitioned so that few people differ in a part: as few parts as the size limit of tables
    (distinct people, label combinations) allows.
    """
    counts = [cover.value_count for cover in queried.covers]
    for parts in range(1, len(counts) + 1):
        members_of_part: list[list[int]] = [[] for _ in range(parts)]
        for column in sorted(range(len(counts)), key=lambda columns: -counts[columns]):
            min(members_of_part, key=lambda columns: prod(counts[member] for member in columns)).append(column)
        column_sets = [columns for columns in members_of_part if columns]
        if all(_alike(queried, columns)[1] * labels <= _MOST_WEIGHTS for columns in column_sets):
            return column_sets
    return [[column] for column in range(len(counts))]


def _alike(queried: QueriedPeople, columns: Sequence[int]) -> tuple[NDArray[np.int64], int]:
    """Return distinct people numbered by their values in some columns."""
    chosen = [queried.values[column] for column in columns]
    ids, count = number(*pack(chosen, [queried.covers[column].value_count for column in columns], len(queried)))
    return ids.astype(np.int64), count


def _weights_of_columns(
    columns: Sequence[int], tables: Sequence[NDArray[np.float32]], queried: QueriedPeople, labels: LabelPlaces
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the weights of every label combination in some columns, for people distinct there, and the index of each person."""
    id_of_person, distinct_people = _alike(queried, columns)
    representatives = first_rows(id_of_person, distinct_people)
    weights = np.ones((distinct_people, len(labels.rows)), dtype=np.float32)
    for column in columns:
        table = tables[column][queried.values[column][representatives]]
        # Codes are in range; clipping spares the check of every one of them, which costs more than the copy.
        weights *= np.take(table, labels.codes[column], axis=1, mode="clip")
    return weights, id_of_person


def _shares(queried: QueriedPeople, column: int, is_known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of the list that each label covers, among people with a known value; never 0."""
    cover, values = queried.covers[column], queried.values[column]
    people_by_value = np.bincount(values[is_known], weights=queried.times[is_known], minlength=cover.value_count)
    people_by_label = np.bincount(cover.labels, weights=people_by_value[cover.values], minlength=cover.label_count)
    total = max(float(people_by_value.sum()), 1.0)
    return np.clip(people_by_label / total, 0.5 / total, 1.0)


def _firsts(queried: QueriedPeople) -> NDArray[np.int64]:
    """Return one listed person for each distinct person."""
    firsts = np.zeros(len(queried), dtype=np.int64)
    firsts[queried.owners] = np.arange(len(queried.owners))
    return firsts
