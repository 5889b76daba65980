"""Feasible guarantees for one sensitive column, derived from its values: the minimum useful guarantee, and stronger
ones.

Two distinct values in every group is the minimum. If one value is delicate and its absence harmless (a positive result
among many negative ones), a bound on the share of that value is more informative and cheaper: it does not require a
delicate value in every group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.definitions import DistinctLDiversity, GroupDefinition, RecursiveLDiversity
from reticent.propose.study_columns import words_in
from reticent.table import SensitiveColumn

PromisedPart = dict[str, Any]
"""A definition in policy syntax."""

_RARE = Fraction(1, 4)
_LEAST_BOUND = "1/2"
_TIGHTER = ("1/3", "1/4", "1/5")
_MOST_LISTED = 20
MOST_COUNTED = 40
_FEWEST_STEPS, _MOST_STEPS = 8, 300
_HARMLESS = frozenset(
    words_in(
        """
        0 0.0 no n none never not negative neg absent false normal healthy nein nie negativ keine non jamais negatif aucun nunca negativo ninguno ninguna mai
        nessuno nessuna nao nenhum nee nooit geen nie nej aldrig ingen нет
        """
    )
)
_DELICATE = frozenset(
    words_in(
        """
        1 1.0 yes y positive pos present true abnormal dead died event sick ja positiv oui positif si positivo sim muerto morto tak да
        """
    )
)


@dataclass(frozen=True)
class ColumnGuarantees:
    """Feasible guarantees for a sensitive column.

    ``floors`` are the minimum guarantees, each sufficient by itself, the better one first. ``tighter`` are stronger
    bounds on the share of the delicate values, by rising strength. ``diversity`` is the strongest diversity that the
    whole table has. ``has_order`` is true if t-closeness on an ordered domain is possible. ``varied`` is the share of
    rows without the most frequent value.
    """

    column: str
    floors: tuple[PromisedPart, ...]
    tighter: tuple[PromisedPart, ...]
    diversity: PromisedPart
    has_order: bool
    varied: float


def guarantees_for(values: pl.Series, *, absence_is_harmless: bool, several: bool) -> ColumnGuarantees | None:
    """Return the feasible guarantees for a sensitive column with these published ``values``; None if the column is
    constant.

    The minimum is distinct 2-diversity or, if there is one harmless value, a bound on the share of the delicate others;
    the bound comes first if ``absence_is_harmless`` and the delicate values are rare. With ``several`` sensitive
    columns each is judged by itself (``alone``).
    """
    if values.n_unique() < 2:
        return None
    column_setting: PromisedPart = {"column": values.name, **({"alone": True} if several else {})}
    distinct: PromisedPart = {"name": "DistinctLDiversity", "l": 2, **column_setting}
    floors, tighter = [distinct], list[PromisedPart]()
    sensitive_codes, share = delicate_values(values)
    bounds = [
        _bound(sensitive_codes, h, column_setting)
        for h in (_LEAST_BOUND, *_TIGHTER)
        if sensitive_codes and Fraction(h) > share
    ]
    if bounds:
        floors = [bounds[0], distinct] if absence_is_harmless and share <= _RARE else [distinct, bounds[0]]
        tighter = bounds[1:]
    diversity = _strongest_diversity(values)
    is_numeric = values.dtype.is_numeric() and not values.null_count()
    most_frequent = float(values.value_counts(name="\0times")["\0times"].max())  # type: ignore[arg-type]  # a count
    return ColumnGuarantees(
        str(values.name),
        floors=tuple(floors),
        tighter=tuple(tighter),
        diversity={"name": diversity.name, **diversity.parameters(), **column_setting},
        has_order=is_numeric and _FEWEST_STEPS <= values.n_unique() <= _MOST_STEPS,
        varied=1 - most_frequent / len(values),
    )


def delicate_values(values: pl.Series) -> tuple[tuple[Any, ...], Fraction]:
    """Return the delicate values of a column that has one harmless value, and their share of the rows; empty if there is no harmless value."""
    counts = values.drop_nulls().value_counts(sort=True, name="\0times")
    distinct_values, value_counts = counts[values.name].to_list(), counts["\0times"].to_list()
    if not 2 <= len(distinct_values) <= MOST_COUNTED:
        return (), Fraction(1)
    harmless = [value for value in distinct_values if _spelled(value) in _HARMLESS]
    if len(harmless) != 1:
        return (), Fraction(1)
    delicate = [value for value in distinct_values if value not in harmless]
    is_number = values.dtype.is_integer() or values.dtype == pl.Boolean
    if (not is_number and len(delicate) > 1) or len(delicate) > _MOST_LISTED:
        return (), Fraction(1)
    if not is_number and _spelled(delicate[0]) not in _DELICATE and len(distinct_values) > 2:
        return (), Fraction(1)
    delicate_rows = sum(
        count for value, count in zip(distinct_values, value_counts, strict=True) if value not in harmless
    )
    # Definitions refer to booleans by their text form, as tables do.
    texts = [_spelled(value) if isinstance(value, bool) else value for value in sorted(delicate)]
    return tuple(texts), Fraction(delicate_rows, len(values))


def _spelled(value: Any) -> str:
    return str(value).strip().lower()


def _bound(delicate: Sequence[Any], h: str, column_parameters: PromisedPart) -> PromisedPart:
    """Return the part of the guarantee that no group has a share of delicate values above what ``h`` allows: of one value, or of several together."""
    if len(delicate) == 1:
        return {"name": "ConfidenceBounding", "h": h, "values": list(delicate), **column_parameters}
    return {"name": "CategoryDiversity", "c": h, "categories": [list(delicate)], **column_parameters}


def _strongest_diversity(values: pl.Series) -> GroupDefinition:
    """Return recursive (3,3)-diversity, or the nearest diversity that the table as a whole has."""
    one_group = _all_in_one_group(values)
    candidates: list[GroupDefinition] = [RecursiveLDiversity(c=3, l=3), RecursiveLDiversity(c=3, l=2)]
    candidates += [RecursiveLDiversity(c=c, l=2) for c in range(4, 11)]
    return next((candidate for candidate in candidates if candidate.holds(one_group)), DistinctLDiversity(l=2))


def _all_in_one_group(values: pl.Series) -> Groups:
    """Return the values as one group, with artificial labels: what definitions judge if all rows are merged."""
    counts = np.sort(values.value_counts(name="\0times")["\0times"].to_numpy().astype(np.int64))[::-1]
    labels = pl.Series([str(number) for number in range(len(counts))])
    histograms = Histograms(np.array([0, len(counts)]), np.arange(len(counts), dtype=np.int32), counts)
    domain = SensitiveDomain.single(SensitiveColumn(str(values.name), labels))
    return Groups(np.array([counts.sum()]), histograms, counts, domain)
