"""Published columns that an adversary can compute from known columns: a length of stay from two dates, a ratio from its terms.

Declaring such a column unknown is wrong, and a guarantee about such a sensitive column is void, whatever the policy
says.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reticent.core import AdversaryView, Columns, Groups
from reticent.definitions import Definition, GroupDefinition
from reticent.errors import PolicyError
from reticent.table import ColumnRelation, Table, relations_in, unused

if TYPE_CHECKING:
    from reticent.release.manifest import Manifest
    from reticent.release.public import PublicSide


@dataclass(frozen=True)
class ComputableColumns:
    """For each computable column, the quasi columns it is computed from and the relation.

    ``declared`` columns count for every kind of relation. ``sensitive`` columns count for formulas and for bands, which
    need only the thresholds: "short" and "long" stays follow from two dates. They do not count for lookup tables, which
    contain the secret values themselves.
    """

    declared: Mapping[str, tuple[Columns, ColumnRelation]]
    sensitive: Mapping[str, tuple[Columns, ColumnRelation]]

    @classmethod
    def of(cls, table: Table, definition: Definition) -> ComputableColumns:
        """Find the computable columns of a table by testing relations on its rows, or on a sample of them."""
        secret = tuple(table.sensitive)
        if not table.quasi or not (table.declared or secret) or all(part.kind == "plan" for part in definition.parts()):
            return cls({}, {})
        relations = relations_in(table, [*table.declared, *secret], [*table.quasi, *table.declared])
        sets = table.quasi_sets or (tuple(table.quasi),)
        # A lookup table contains the secret values themselves, so a secret must follow by a formula.
        formulas = [relation for relation in relations if relation.kind != "lookup"]
        closures = [follows(known_columns, relations) for known_columns in sets]
        closures_by_formula = [follows(known_columns, formulas) for known_columns in sets]
        return cls(_chosen(closures, tuple(table.declared)), _chosen(closures_by_formula, secret))

    @staticmethod
    def declared_in(table: Table) -> Columns:
        """Return the declared columns of a table that follow from its quasi columns."""
        if not table.declared or not table.quasi:
            return ()
        relations = relations_in(table, list(table.declared), [*table.quasi, *table.declared])
        sets = table.quasi_sets or (tuple(table.quasi),)
        return tuple(_chosen([follows(known, relations) for known in sets], tuple(table.declared)))

    def check_secrets(self, definition: Definition) -> None:
        """Refuse a guarantee about a sensitive column that an adversary can compute."""
        for name, (sources, relation) in self.sensitive.items():
            claims = [str(part) for part in definition.parts() if part.kind != "plan" and name in part.guarded((name,))]
            if not claims:
                continue
            raise PolicyError(
                f"The sensitive column {relation.words}: an adversary who knows {_listed(sources)}, which counts as known, can compute it, so {' and '.join(claims)} cannot hold for it. Make "
                f"{name!r} quasi: then it is protected together with the others; or do not publish one of these columns.",
                setting=("roles", "sensitive"),
                column=name,
            )

    def marked(self, manifest: Manifest) -> Manifest:
        """Return the manifest with the columns from which others can be computed."""
        computable = {**self.declared, **self.sensitive}
        columns = tuple(
            replace(column, computable=computable[column.name][0]) if column.name in computable else column
            for column in manifest.columns
        )
        return replace(manifest, columns=columns)

    def check_classes(self, side: PublicSide, claims: Sequence[Definition]) -> None:
        """Refuse computable columns that make a class of records fail a claim."""
        computable = {**self.declared, **self.sensitive}
        failing = failing_records(side, claims, tuple(computable))
        if not failing.records:
            return
        worst = next(
            (name for name in computable if failing_records(side, claims, (name,)).records), next(iter(computable))
        )
        sources, relation = computable[worst]
        role = "declared" if worst in self.declared else "sensitive"
        raise PolicyError(
            f"The {role} column {relation.words}: an adversary who knows {_listed(sources)}, which counts as known, can compute it, so it counts as known too. Together with the quasi columns it makes "
            f"{failing.unique:,} of {side.height:,} records unique, and {failing.records:,} records are in classes that fail a claim. Make {worst!r} quasi: then it is protected "
            "together with the others, or do not publish it. Nothing was published.",
            setting=("declared", worst) if role == "declared" else ("roles", "sensitive"),
            column=worst,
        )


def follows(known: Sequence[str], relations: Sequence[ColumnRelation]) -> dict[str, tuple[Columns, ColumnRelation]]:
    """Return the closure of the ``known`` columns under the relations: each derived column with the known columns it needs and its relation."""
    sources_of: dict[str, Columns] = {name: (name,) for name in known}
    derived: dict[str, tuple[Columns, ColumnRelation]] = {}
    while True:
        applicable = next(
            (
                relation
                for relation in relations
                if relation.derived not in sources_of and set(relation.sources) <= set(sources_of)
            ),
            None,
        )
        if applicable is None:
            return derived
        sources_of[applicable.derived] = tuple(
            dict.fromkeys(name for source in applicable.sources for name in sources_of[source])
        )
        derived[applicable.derived] = sources_of[applicable.derived], applicable


@dataclass(frozen=True)
class FailingRecords:
    """Number of ``records`` in classes that fail a claim, and number of ``unique`` records (classes of one)."""

    records: int = 0
    unique: int = 0


def failing_records(side: PublicSide, claims: Sequence[Definition], known: Columns) -> FailingRecords:
    """Count the published records in classes that fail a claim, and those in classes of one record.

    Records of a class have equal quasi labels and equal values in the ``known`` columns.
    """
    record_classes = side.form.record_classes(side.manifest)
    conditions = [condition for claim in claims for condition in _of_classes(claim)]
    if record_classes is None or not conditions:
        return FailingRecords()
    table, labels = record_classes
    class_rows = side.rows[table]
    known = tuple(name for name in known if name in class_rows.schema)
    if not known:
        return FailingRecords()
    sensitive = [name for name in side.manifest.named("sensitive") if name in class_rows.schema and name not in known]
    rows, times = class_rows.counted([*labels, *known, *sensitive])
    class_column, columns = unused("class", rows.columns), [*labels, *known]
    classes = rows.select(columns).unique(maintain_order=True).with_row_index(class_column)
    rows_with_class = rows.join(classes, on=columns, how="left", nulls_equal=True, maintain_order="left")
    groups: Groups = AdversaryView.in_rows(rows_with_class, times, {}, sensitive, class_column).true_groups
    failing = np.zeros(len(groups), dtype=bool)
    for condition in conditions:
        if not condition.needs_sensitive or condition.guarded(tuple(sensitive)):
            failing |= condition.failing(groups)
    return FailingRecords(int(groups.sizes[failing].sum()), int((groups.sizes == 1).sum()))


def _of_classes(claim: Definition) -> Iterator[GroupDefinition]:
    """Yield the parts of a claim that judge each class of records separately, independent of the columns that define classes."""
    for part in claim.parts():
        if isinstance(part, GroupDefinition) and part.shown_by_files and not part.needs_population:
            yield from (
                group_part
                for group_part in part.in_each_group().parts()
                if group_part.local and getattr(group_part, "quasi", None) is None
            )


def _chosen(
    derived_by_set: Sequence[Mapping[str, tuple[Columns, ColumnRelation]]], names: Columns
) -> dict[str, tuple[Columns, ColumnRelation]]:
    """Return the derived columns in ``names`` with their sources and relation, each from the first column set that
    derives it.
    """
    return {name: derived[name] for derived in reversed(derived_by_set) for name in names if name in derived}


def _listed(names: Columns) -> str:
    return " and ".join(map(repr, names))
