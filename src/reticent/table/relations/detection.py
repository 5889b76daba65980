"""Detect which columns of a table can be computed from which others: candidates in a sample, verified in all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import polars as pl

from reticent.table.relations.column_agreement import FEWEST_ROWS
from reticent.table.relations.column_forms import Codes, ColumnForm
from reticent.table.relations.lookups import lookup_relations
from reticent.table.relations.pair_formulas import Known, pair_relations
from reticent.table.relations.related_texts import text_relations
from reticent.table.relations.relation import ColumnRelation
from reticent.table.relations.row_extremes import extreme_relations
from reticent.table.relations.single_source import single_source_relations
from reticent.table.relations.sum_bands import sum_band_relations
from reticent.table.relations.totals import total_relations

_SAMPLE, _PAIRED = 256, 2048
_FEWEST_OTHERS = 5
_MOST_ROWS = 200_000


def find_relations(
    frame: pl.DataFrame,
    derived: Iterable[str] | None = None,
    sources: Iterable[str] | None = None,
    exact: bool = False,
) -> tuple[ColumnRelation, ...]:
    """The relations by which ``derived`` columns (default: all) follow from ``sources`` (default: all), each with a
    minimal set of sources.

    A relation with few exceptions counts, because an adversary who knows the sources nearly knows the column. With
    ``exact``, only relations without a contradicting row or a list of pairs, which are found much faster in wide
    tables. Inverses are included: for ``c = a - b`` also ``b = a - c`` if ``b`` is requested. Detection is incomplete:
    nothing here proves that a column does not follow from others. Cost: every pair of sources in a sample, and each
    candidate in all rows (for larger tables, in 200,000 of them).
    """
    if frame.height < FEWEST_ROWS:
        return ()
    if frame.height > _MOST_ROWS:
        frame = frame.sample(_MOST_ROWS, seed=0)
    forms = {name: ColumnForm.of(frame[name]) for name in frame.columns}
    usable = {name: form for name, form in forms.items() if _varies(form)}
    targets = [usable[name] for name in (frame.columns if derived is None else derived) if name in usable]
    known_by = [usable[name] for name in (frame.columns if sources is None else sources) if name in usable]
    if not targets or not known_by:
        return ()
    detected = _found(known_by, targets, frame.height, exact)
    return _minimal(relation for relation in detected if relation.exact or not exact)


def _varies(form: ColumnForm) -> bool:
    """True if enough rows differ from the most frequent value for a relation to be detectable."""
    return form.distinct > 1 and len(form.codes) - int(form.counts.max()) >= _FEWEST_OTHERS


def _found(
    sources: Sequence[ColumnForm], targets: Sequence[ColumnForm], height: int, exact: bool
) -> Iterator[ColumnRelation]:
    """Yield the relations of all kinds, the simplest kinds first, since a target that is already explained is skipped."""
    sampled_rows, paired_rows = _some(height, _SAMPLE), _some(height, _PAIRED)
    with_parts = [*(part for source in sources for part in source.parts() if part.distinct > 1), *sources]
    known: Known = set()
    for relation in (
        *single_source_relations(with_parts, targets, sampled_rows),
        *text_relations(sources, targets, sampled_rows),
    ):
        known.add((relation.derived, frozenset(relation.sources)))
        yield relation
    years = [form for form in with_parts if form.is_part and form.text.startswith("the year ")]
    for relation in pair_relations([*sources, *years], targets, sampled_rows, known, exact):
        known.add((relation.derived, frozenset(relation.sources)))
        yield relation
    for relation in (
        *total_relations(sources, targets, paired_rows, known),
        *total_relations(sources, targets, paired_rows, known, "product"),
        *extreme_relations(sources, targets, paired_rows, known, exact),
    ):
        known.add((relation.derived, frozenset(relation.sources)))
        yield relation
    yield from sum_band_relations(sources, targets, paired_rows, known)
    yield from lookup_relations(with_parts, targets, paired_rows, known, pairs=not exact)


def _some(height: int, limit: int) -> Codes:
    """A sample of rows with a fixed seed: the same table has the same relations."""
    if height <= limit:
        return np.arange(height)
    return np.sort(np.random.default_rng(0).choice(height, limit, replace=False))


def _minimal(relations: Iterable[ColumnRelation]) -> tuple[ColumnRelation, ...]:
    """Drop redundant relations: keep the first per column and sources, and none with a superset of another's sources."""
    minimal: list[ColumnRelation] = []
    for relation in relations:
        sources = set(relation.sources)
        if not any(kept.derived == relation.derived and set(kept.sources) <= sources for kept in minimal):
            minimal = [kept for kept in minimal if kept.derived != relation.derived or not sources < set(kept.sources)]
            minimal.append(relation)
    return tuple(minimal)
