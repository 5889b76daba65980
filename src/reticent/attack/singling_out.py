"""Singling out: a description, made from what was published, that exactly one row fits."""

from __future__ import annotations

from dataclasses import dataclass
from math import e

import numpy as np
from numpy.typing import NDArray

from reticent.attack.base import Findings, needs_groups
from reticent.attack.matching import places_of
from reticent.data import Seen


@dataclass(frozen=True)
class SinglingOut:
    """Somebody who knows nobody describes people by published labels, and hopes that each description fits a single row.

    A person is hit when the description by all labels (with ``sensitive=True`` also by the sensitive values, where a row shows them
    beside its labels) fits no other row. k-anonymity with k >= 2 stops it; over all columns, if the sensitive ones are used too.

    *Baseline.* A description that fits a random person with chance w isolates one of n with chance n w (1 - w)^(n - 1), which is at most
    (1 - 1/n)^(n - 1), about 1/e, whatever is published. Weights are those of independent columns. ``refined`` of the details is what the
    same descriptions reach when each, fitting m rows, is narrowed by a one-in-m coin: 1/e for large groups, 1 for single rows.
    """

    sensitive: bool = False

    name = "singling out"

    def needs(self, seen: Seen) -> str | None:
        """Rows that are true."""
        return needs_groups(seen)

    def attack(self, seen: Seen) -> Findings:
        """Describe everybody."""
        places = places_of(seen, seen.names, None)
        codes, fitting = list(places.codes), places.candidates
        names = [_Shown(each.name, [meaning.words() for meaning in each.meanings]) for each in seen.columns]
        if self.sensitive and seen.true_groups.domain.columns and seen.is_row_by_row:
            histograms, domain = seen.true_groups.histograms, seen.true_groups.domain
            codes = [column.codes[histograms.owners] for column in seen.columns]
            for place, column in enumerate(domain.columns):
                codes.append(domain.joint[histograms.values, place].astype(np.int64))
                names.append(_Shown(column.name, [repr(text) for text in column.texts]))
            fitting = histograms.counts
        people = int(fitting.sum())
        isolated = np.flatnonzero(fitting == 1)
        weights = _weights(codes, fitting)
        chance = people * weights * (1 - weights) ** (people - 1)
        refined = (1 - 1 / fitting) ** (fitting - 1.0)
        return Findings(
            self.name,
            "only what was published",
            "can be singled out by a description that nobody else fits",
            len(isolated),
            people,
            _example(codes, names, fitting, isolated, weights),
            details={
                "columns": [each.name for each in names],
                "descriptions": len(fitting),
                "refined": float((refined * fitting).sum() / people) if people else 0.0,
                "refined_by_chance": (1 - 1 / people) ** (people - 1) if people else 1 / e,
            },
            baseline=min(1.0, float((chance * fitting).sum() / people)) if people else 0.0,
        )


@dataclass(frozen=True)
class _Shown:
    name: str
    labels: list[str]


def _weights(codes: list[NDArray[np.int64]], fitting: NDArray[np.int64]) -> NDArray[np.float64]:
    """The chance that a random person fits each description, if columns were independent."""
    weights = np.ones(len(fitting))
    for each in codes:
        shares = np.bincount(each, weights=fitting) / max(int(fitting.sum()), 1)
        weights = weights * shares[each]
    return weights


def _example(
    codes: list[NDArray[np.int64]],
    names: list[_Shown],
    fitting: NDArray[np.int64],
    isolated: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> str:
    if not len(isolated):
        people = int(fitting.sum())
        return f"Every description that a published row fits, at least {int(fitting.min(initial=people)):,} people fit."
    row = int(isolated[np.argmin(weights[isolated])])
    counts = [np.bincount(each, weights=fitting)[each[row]] for each in codes]
    left = np.ones(len(fitting), dtype=bool)
    used = []
    for column in np.argsort(counts, kind="stable").tolist():
        narrowed = left & (codes[column] == codes[column][row])
        if fitting[narrowed].sum() < fitting[left].sum():
            left = narrowed
            used.append(f"{names[column].name} {names[column].labels[int(codes[column][row])]}")
        if fitting[left].sum() == 1:
            break
    return f"Exactly one person has {' and '.join(used)}." if used else "There is only one person."
