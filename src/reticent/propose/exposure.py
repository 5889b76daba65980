"""Disclosure risk of an unmodified table: what publishing the rows with their quasi-identifiers unchanged would
disclose.

The results are about real people and are for the steward only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from reticent.base.context import Context
from reticent.base.packing import sum_by
from reticent.core import Evidence, FrequencySet, Groups
from reticent.definitions import (
    Assessment,
    ClaimScope,
    Definition,
    PopulationEstimate,
    all_of,
    closed,
    homogeneity_audit,
    judge,
    own_sets,
    population_estimate,
    verdict,
    with_closed_sets,
)
from reticent.engine import count_table
from reticent.table import Table

_SHOWN = 5


@dataclass(frozen=True)
class ExposedGroup:
    """One equivalence class: its quasi-identifier values, its size, and its sensitive values."""

    quasi: dict[str, str]
    people: int
    histogram: dict[str, int]


@dataclass(frozen=True)
class Exposure:
    """What an adversary learns who knows the quasi-identifiers ``columns`` of every person.

    ``unique_rows`` are rows that are unique in these columns; ``success`` is the expected share of people re-identified
    correctly if each row of a group is equally likely; ``homogeneous_rows`` are in groups that share one sensitive
    value. ``estimate`` refers to the population that the weighted rows represent. ``worst`` maps each failed assessment
    to the group of its witness.
    """

    columns: tuple[str, ...]
    rows: int
    groups: int
    k: int
    unique_rows: int
    success: Fraction
    homogeneous_groups: int
    homogeneous_rows: int
    assessments: tuple[Assessment, ...]
    exposed: tuple[ExposedGroup, ...]
    worst: tuple[ExposedGroup | None, ...]
    estimate: PopulationEstimate | None = None

    @property
    def holds(self) -> bool:
        """True if the table could be published unchanged."""
        return all(assessment.holds for assessment in self.assessments)

    def as_dict(self) -> dict[str, Any]:
        """Return the exposure as plain data."""
        return {
            "columns": list(self.columns),
            "rows": self.rows,
            "groups": self.groups,
            "k": self.k,
            "unique_rows": self.unique_rows,
            "success": self.success,
            "homogeneous_groups": self.homogeneous_groups,
            "homogeneous_rows": self.homogeneous_rows,
            "holds": self.holds,
            "estimate": self.estimate.as_dict() if self.estimate is not None else None,
            "assessments": [
                {**_assessment(assessment), "worst": asdict(group) if group is not None else None}
                for assessment, group in zip(self.assessments, self.worst, strict=True)
            ],
            "exposed": [asdict(group) for group in self.exposed],
        }


def exposures(
    table: Table, definitions: Sequence[Definition], shown: int = _SHOWN, *, context: Context | None = None
) -> tuple[Exposure, ...]:
    """Return the exposure for each set of quasi-identifiers that an adversary may know; one set unless the table declares several."""
    context = context or Context()
    table = with_closed_sets(table)
    definitions = [closed(definition, table) for definition in definitions]
    frequencies = count_table(all_of(tuple(definitions)).prepare(table) if definitions else table, context)
    sets = table.quasi_sets or (tuple(table.quasi),)
    # The weights of a person with several rows do not give the number of people represented.
    unit = table.weights.unit if table.weights is not None and not table.several_rows else None
    results = []
    for number, columns in enumerate(sets):
        context.step("assessing quasi-identifiers", number, len(sets))
        scope = ClaimScope.of_table(table, (tuple(columns),))
        results.append(_exposure(frequencies, columns, tuple(table.quasi), definitions, shown, unit, scope))
    return tuple(results)


def _exposure(
    frequencies: FrequencySet,
    columns: Sequence[str],
    all_columns: Sequence[str],
    definitions: Sequence[Definition],
    listed: int,
    unit: Fraction | None,
    scope: ClaimScope,
) -> Exposure:
    """Return what an adversary who knows some ``columns`` learns: group sizes, homogeneous groups, and verdicts on the definitions.

    At most ``listed`` of the most exposed groups are described. ``unit`` is the number of people that one weight stands for.
    """
    column_indices = [all_columns.index(name) for name in columns]
    if len(column_indices) == len(all_columns):
        representatives, groups = np.arange(len(frequencies)), frequencies.groups()
    else:
        ids, count = frequencies.group_ids(frequencies.levels, column_indices)
        representatives = np.zeros(count, dtype=np.int64)
        representatives[ids[::-1]] = np.arange(len(ids))[::-1]
        groups = frequencies.merged(ids, count)
    # With population counts, combinations without rows are nobody in the table.
    is_occupied = groups.sizes > 0
    representatives, groups = representatives[is_occupied], groups.select(is_occupied)
    audit = homogeneity_audit(groups) if groups.domain.columns else None
    groups_of_named_sets = (
        {
            names: _groups_by(frequencies, [all_columns.index(name) for name in names])
            for names in own_sets(all_of(tuple(definitions)))
        }
        if definitions
        else {}
    )
    evidence = Evidence({tuple(columns): groups}, groups_of_named_sets)
    assessments = tuple(
        replace(verdict(definition, judge(definition, evidence)), scope=scope) for definition in definitions
    )
    descriptions = _Described(frequencies, groups, representatives, column_indices)
    return Exposure(
        columns=tuple(columns),
        rows=int(groups.sizes.sum()),
        groups=len(groups),
        k=int(groups.people.min()),
        unique_rows=int(groups.sizes[groups.distinct_people == 1].sum()),
        success=Fraction(len(groups), int(groups.distinct_people.sum())),
        homogeneous_groups=audit.groups if audit else 0,
        homogeneous_rows=audit.rows if audit else 0,
        assessments=assessments,
        exposed=descriptions.most_exposed(listed),
        worst=tuple(
            descriptions.group(assessment.witness.group)
            if assessment.witness is not None and not own_sets(assessment.definition)
            else None
            for assessment in assessments
        ),
        estimate=population_estimate(groups, unit) if unit is not None else None,
    )


def _groups_by(frequencies: FrequencySet, column_indices: Sequence[int]) -> Groups:
    """Return the groups of people with the same labels in some columns, given by index; without groups that have no rows."""
    groups = frequencies.merged(*frequencies.group_ids(frequencies.levels, column_indices))
    return groups.select(groups.sizes > 0)


@dataclass(frozen=True)
class _Described:
    """Groups with a description of their members: the first combination of each group, and the indices of the known columns."""

    frequencies: FrequencySet
    groups: Groups
    firsts: np.ndarray[Any, Any]
    places: Sequence[int]

    def group(self, group: int) -> ExposedGroup:
        """Return one group as an adversary sees it."""
        combination, labels = int(self.firsts[group]), {}
        for column in self.places:
            hierarchy, level = self.frequencies.hierarchies[column], self.frequencies.levels[column]
            labels[hierarchy.column] = hierarchy.levels[level].labels[int(self.frequencies.codes[column][combination])]
        histogram = self.groups.histogram(group) if self.groups.domain.columns else {}
        return ExposedGroup(labels, int(self.groups.people[group]), histogram)

    def most_exposed(self, shown: int) -> tuple[ExposedGroup, ...]:
        """Return the smallest groups; ties are broken by fewest sensitive values, then by rarest quasi-identifier values."""
        order = np.lexsort((self._frequency(), self.groups.histograms.distinct, self.groups.people))
        return tuple(self.group(group) for group in order[:shown].tolist())

    def _frequency(self) -> np.ndarray[Any, Any]:
        """Return the sum over columns of the log frequency of the quasi-identifier values of each group."""
        log_frequency = np.zeros(len(self.firsts))
        for column in self.places:
            codes = self.frequencies.codes[column]
            rows = sum_by(codes, self.frequencies.sizes, int(codes.max(initial=0)) + 1)
            log_frequency += np.log(np.maximum(rows, 1))[codes[self.firsts]]
        return log_frequency


def _assessment(assessment: Assessment) -> dict[str, Any]:
    """Return an assessment and its parts as plain data."""
    return {
        "definition": str(assessment.definition),
        "sentence": assessment.sentence,
        "holds": assessment.holds,
        "value": assessment.value,
        "witness": assessment.witness.text if assessment.witness else None,
        "diagnostics": dict(assessment.diagnostics),
        "parts": [_assessment(part) for part in assessment.parts],
    }
