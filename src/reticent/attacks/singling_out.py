"""Singling out: a description, made from what was published, that exactly one row fits."""

from __future__ import annotations

from dataclasses import dataclass
from math import e
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_groups
from reticent.attacks.candidate_rows import places_of
from reticent.attacks.target_list import listing
from reticent.core import AdversaryView
from reticent.table import NULL_LABEL


@dataclass(frozen=True)
class SinglingOut:
    """An adversary without background knowledge builds predicates from published values; each that matches exactly one record singles out a person.

    Descriptions are made of all labels together (with ``sensitive=True`` also of the sensitive values, where a row shows them beside its
    labels); of one value of a column that is published as it is: a declared one, or numbers, dates and times of a sensitive one; and of all declared columns together, by themselves and with the labels. A person is hit
    when the description fits no other row, and people are counted for the way of describing that hits most. k-anonymity with k >= 2 stops the first;
    over all columns, if the sensitive ones are used too. Only rounding or leaving out stops the second: ``unique`` of the details says for every
    sensitive and declared column how many rows have a value that no other row has.

    *Baseline.* A description that fits a random person with chance w isolates one of n with chance n w (1 - w)^(n - 1), which is at most
    (1 - 1/n)^(n - 1), about 1/e, whatever is published. Weights are those of independent columns. ``refined`` of the details is what the
    same descriptions reach when each, fitting m rows, is narrowed by a one-in-m coin: 1/e for large groups, 1 for single rows.
    """

    sensitive: bool = False

    name = "singling out"

    def needs(self, seen: AdversaryView) -> str | None:
        """Rows that are true."""
        return needs_groups(seen)

    def attack(self, seen: AdversaryView) -> Findings:
        """Describe everybody."""
        single = [_ShownValues(values, counts) for values, counts in seen.occurrences()]
        exact = [each for each in single if each.values.name in seen.declared or each.is_measured]
        ways = [self._by_labels(seen), *(each.described() for each in exact)]
        if seen.declared:
            together = seen.knowing(list(seen.declared))
            ways += [self._by_labels(together.known(list(seen.declared))), self._by_labels(together)]
        best = max(ways, key=lambda way: (int(way.isolated.sum()), -len(way.names)))
        people, hits = int(best.fitting.sum()), int(best.isolated.sum())
        own = listing([each.name for each in best.names]) if best.names else ""
        told = f"{hits:,} of {people:,} rows have {'a value' if len(best.names) == 1 else 'values'} of {own} that no other row has. "
        told = "" if best is ways[0] else told
        refined = (1 - 1 / best.fitting) ** (best.fitting - 1.0)
        chance = people * best.weights * (1 - best.weights) ** (people - 1)
        return Findings(
            self.name,
            "only what was published",
            "can be singled out by a description that nobody else fits",
            hits,
            people,
            f"{told}{best.example(seen.counted)}",
            details={
                "columns": [each.name for each in best.names],
                "descriptions": len(best.fitting),
                "refined": float((refined * best.fitting).sum() / people) if people else 0.0,
                "refined_by_chance": (1 - 1 / people) ** (people - 1) if people else 1 / e,
                "unique": {each.values.name: each.told() for each in single},
            },
            baseline=min(1.0, float((chance * best.fitting).sum() / people)) if people else 0.0,
        )

    def _by_labels(self, seen: AdversaryView) -> _Descriptions:
        """By all labels together, and the sensitive values beside them."""
        places = places_of(seen, seen.names, None)
        codes, fitting = list(places.codes), places.candidates
        names = [_Shown(each.name, [meaning.words() for meaning in each.meanings]) for each in seen.columns]
        if self.sensitive and seen.sensitive and seen.is_row_by_row:
            histograms, domain = seen.true_groups.histograms, seen.true_groups.domain
            codes = [column.codes[histograms.owners] for column in seen.columns]
            for place, column in enumerate(domain.columns):
                codes.append(domain.joint[histograms.values, place].astype(np.int64))
                names.append(_Shown(column.name, [repr(text) for text in column.texts]))
            fitting = histograms.counts
        return _Descriptions(codes, names, fitting)


@dataclass(frozen=True)
class _ShownValues:
    """The values of one column that is published as it is, and how many rows have each."""

    values: pl.Series
    counts: NDArray[np.int64]

    @property
    def is_measured(self) -> bool:
        """Whether these are numbers or dates, which are fine enough to tell people apart."""
        return self.values.dtype.is_numeric() or self.values.dtype.is_temporal()

    def told(self) -> dict[str, Any]:
        """How many rows have a value that no other row has."""
        rows, alone = int(self.counts.sum()), int((self.counts == 1).sum())
        return {"rows": alone, "share": alone / rows if rows else 0.0, "distinct": len(self.counts)}

    def described(self) -> _Descriptions:
        texts = self.values.cast(pl.String).fill_null(NULL_LABEL).to_list()
        return _Descriptions([np.arange(len(self.counts))], [_Shown(self.values.name, texts)], self.counts)


@dataclass(frozen=True)
class _Shown:
    name: str
    labels: list[str]


@dataclass(frozen=True)
class _Descriptions:
    """Descriptions of people: for each column (``names``) the label of every description, and how many people fit it."""

    codes: list[NDArray[np.int64]]
    names: list[_Shown]
    fitting: NDArray[np.int64]

    @property
    def isolated(self) -> NDArray[np.bool_]:
        """Which of them fit one person only."""
        alone: NDArray[np.bool_] = self.fitting == 1
        return alone

    @property
    def weights(self) -> NDArray[np.float64]:
        """The chance that a random person fits each description, if columns were independent."""
        weights = np.ones(len(self.fitting))
        for each in self.codes:
            shares = np.bincount(each, weights=self.fitting) / max(int(self.fitting.sum()), 1)
            weights = weights * shares[each]
        return weights

    def example(self, counted: str = "people") -> str:
        """The rarest description that fits one person, in a sentence, with as few columns as that takes."""
        fitting, isolated = self.fitting, np.flatnonzero(self.isolated)
        if not len(isolated):
            people = int(fitting.sum())
            return f"Every description that a published row fits, at least {int(fitting.min(initial=people)):,} {counted} fit."
        row = int(isolated[np.argmin(self.weights[isolated])])
        counts = [np.bincount(each, weights=fitting)[each[row]] for each in self.codes]
        left = np.ones(len(fitting), dtype=bool)
        used = []
        for column in np.argsort(counts, kind="stable").tolist():
            narrowed = left & (self.codes[column] == self.codes[column][row])
            if fitting[narrowed].sum() < fitting[left].sum():
                left = narrowed
                used.append(f"{self.names[column].name} {self.names[column].labels[int(self.codes[column][row])]}")
            if fitting[left].sum() == 1:
                break
        return f"Exactly one person has {' and '.join(used)}." if used else "There is only one person."
