"""Singling out: a predicate built from the release that exactly one row matches. Source: [Cohen2020]."""

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
    """An adversary without background knowledge builds predicates from published values; each that matches exactly one
    record singles out a person.

    Predicates use all labels together (with ``sensitive=True`` also the sensitive values, if a row shows them next to
    its labels); one value of a column published unchanged (a declared one, or numbers, dates and times of a sensitive
    one); or all declared columns together, alone and with the labels. A person is hit if the predicate matches no other
    row; the kind of predicate with most hits is reported. k-anonymity with k >= 2 prevents the first kind (over all
    columns, if the sensitive ones are used too). Only rounding or suppression prevents the second: ``unique`` of the
    details has the number of rows with a unique value for every sensitive and declared column.

    *Baseline.* A predicate that matches a random person with probability w isolates one of n with probability n w (1 -
    w)^(n - 1), which is at most (1 - 1/n)^(n - 1), about 1/e, whatever is published. Weights assume independent
    columns. ``refined`` of the details is the success of the same predicates if each that matches m rows is refined by
    a random one-in-m predicate: 1/e for large groups, 1 for single rows.
    """

    sensitive: bool = False

    name = "singling out"

    def needs(self, view: AdversaryView) -> str | None:
        """Require true rows."""
        return needs_groups(view)

    def attack(self, view: AdversaryView) -> Findings:
        """Describe rows by published labels or values, count the rows that a description isolates, and report the best
        set of columns.

        ``fitting`` are the numbers of rows that the descriptions match. A description of n rows isolates one of them if
        a further test that each passes with probability 1/n is added (``refined_chance``). The baseline is the chance
        that a description isolates one person if people were sampled independently.
        """
        value_columns = [_ShownValues(values, counts) for values, counts in view.occurrences()]
        exact_values = [values for values in value_columns if values.values.name in view.declared or values.is_measured]
        descriptions = [self._by_labels(view), *(values.described() for values in exact_values)]
        if view.declared:
            declared_view = view.knowing(list(view.declared))
            descriptions += [self._by_labels(declared_view.known(list(view.declared))), self._by_labels(declared_view)]
        best = max(descriptions, key=lambda candidate: (int(candidate.isolated.sum()), -len(candidate.names)))
        row_count, hits = int(best.fitting.sum()), int(best.isolated.sum())
        column_list = listing([column.name for column in best.names]) if best.names else ""
        prefix = f"{hits:,} of {row_count:,} rows have {'a value' if len(best.names) == 1 else 'values'} of {column_list} that no other row has. "
        prefix = "" if best is descriptions[0] else prefix
        # (1 - 1/n)^(n - 1): exactly one of n matching rows passes a test that each passes with probability 1/n.
        refined_chance = (1 - 1 / best.fitting) ** (best.fitting - 1.0)
        isolation_chance = row_count * best.weights * (1 - best.weights) ** (row_count - 1)
        return Findings(
            self.name,
            "only what was published",
            "can be singled out by a description that matches no one else",
            hits,
            row_count,
            f"{prefix}{best.example(view.counted)}",
            details={
                "columns": [column.name for column in best.names],
                "descriptions": len(best.fitting),
                "refined": float((refined_chance * best.fitting).sum() / row_count) if row_count else 0.0,
                "refined_by_chance": (1 - 1 / row_count) ** (row_count - 1) if row_count else 1 / e,
                "unique": {value_column.values.name: value_column.told() for value_column in value_columns},
            },
            baseline=min(1.0, float((isolation_chance * best.fitting).sum() / row_count)) if row_count else 0.0,
        )

    def _by_labels(self, view: AdversaryView) -> _Descriptions:
        """Return a description of rows for each distinct combination of published labels, together with the sensitive
        values if rows show both.
        """
        labels = places_of(view, view.names, None)
        codes, row_counts = list(labels.codes), labels.candidates
        names = [_Shown(column.name, [meaning.words() for meaning in column.meanings]) for column in view.columns]
        if self.sensitive and view.sensitive and view.is_row_by_row:
            histograms, domain = view.true_groups.histograms, view.true_groups.domain
            codes = [column.codes[histograms.owners] for column in view.columns]
            for index, column in enumerate(domain.columns):
                codes.append(domain.joint[histograms.values, index].astype(np.int64))
                names.append(_Shown(column.name, [repr(text) for text in column.texts]))
            row_counts = histograms.counts
        return _Descriptions(codes, names, row_counts)


@dataclass(frozen=True)
class _ShownValues:
    """The values of one column that is published unchanged, and how many rows have each."""

    values: pl.Series
    counts: NDArray[np.int64]

    @property
    def is_measured(self) -> bool:
        """True for numbers or dates, which may identify people."""
        return self.values.dtype.is_numeric() or self.values.dtype.is_temporal()

    def told(self) -> dict[str, Any]:
        """Return how many rows have a unique value."""
        rows, unique = int(self.counts.sum()), int((self.counts == 1).sum())
        return {"rows": unique, "share": unique / rows if rows else 0.0, "distinct": len(self.counts)}

    def described(self) -> _Descriptions:
        texts = self.values.cast(pl.String).fill_null(NULL_LABEL).to_list()
        return _Descriptions([np.arange(len(self.counts))], [_Shown(self.values.name, texts)], self.counts)


@dataclass(frozen=True)
class _Shown:
    name: str
    labels: list[str]


@dataclass(frozen=True)
class _Descriptions:
    """Predicates: for each column (``names``) the label in every predicate, and how many people match it."""

    codes: list[NDArray[np.int64]]
    names: list[_Shown]
    fitting: NDArray[np.int64]

    @property
    def isolated(self) -> NDArray[np.bool_]:
        """A mask of the predicates that match one person only."""
        is_unique: NDArray[np.bool_] = self.fitting == 1
        return is_unique

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the probability that a random person matches each description, assuming independent columns."""
        weights = np.ones(len(self.fitting))
        for column_codes in self.codes:
            shares = np.bincount(column_codes, weights=self.fitting) / max(int(self.fitting.sum()), 1)
            weights = weights * shares[column_codes]
        return weights

    def example(self, counted: str = "people") -> str:
        """Return the rarest description that matches one person, as a sentence with as few columns as needed."""
        matching_rows, isolated = self.fitting, np.flatnonzero(self.isolated)
        if not len(isolated):
            people = int(matching_rows.sum())
            return f"Every description of a published row matches at least {int(matching_rows.min(initial=people)):,} {counted}."
        row = int(isolated[np.argmin(self.weights[isolated])])
        rows_by_column = [np.bincount(codes, weights=matching_rows)[codes[row]] for codes in self.codes]
        is_matching = np.ones(len(matching_rows), dtype=bool)
        conditions = []
        for column in np.argsort(rows_by_column, kind="stable").tolist():
            narrowed = is_matching & (self.codes[column] == self.codes[column][row])
            if matching_rows[narrowed].sum() < matching_rows[is_matching].sum():
                is_matching = narrowed
                conditions.append(
                    f"{self.names[column].name} {self.names[column].labels[int(self.codes[column][row])]}"
                )
            if matching_rows[is_matching].sum() == 1:
                break
        return f"Exactly one person has {' and '.join(conditions)}." if conditions else "There is only one person."
