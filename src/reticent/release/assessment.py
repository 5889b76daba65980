"""``rt.assess``: how well a raw table or a release satisfies a definition."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.base.packing import number, pack, sum_by
from reticent.core import Draft, Evidence, Groups
from reticent.definitions import (
    Assessment,
    ClaimScope,
    Definition,
    Distance,
    NTCloseness,
    PopulationDefinition,
    TCloseness,
    Witness,
    by_set,
    closed,
    closed_as_claimed,
    judge,
    of_groups,
    own_sets,
    require_same,
    verdict,
    with_closed_sets,
)
from reticent.engine import count_table, engine_of
from reticent.errors import PolicyError
from reticent.io import people_of
from reticent.release.adversary_views import adversary_view_of, public_side
from reticent.release.claims import read_claims
from reticent.release.format import EvidenceRequest
from reticent.release.public import PublicSide
from reticent.release.reference_histogram import ReferenceColumn, declared_reference
from reticent.release.release import Release
from reticent.release.statements import scope_of
from reticent.table import Table

_MOST_WIDENED = 12
_NOT_RELATED = (
    "All columns count as known here, because published rows do not show which columns can be computed from others; for the named columns alone it may hold. "
    "Assess the table, or publish with the definition, whose claim states what follows."
)


def assess(subject: Table | Draft | Release | PublicSide | str | Path, definition: Definition) -> Assessment:
    """Assess a table (as if published unchanged), a draft, a release, or a saved release by its public side.

    Where an adversary may know one of several sets of columns (``quasi_sets``), the definition must hold for each:
    ``value`` then has one entry for each set, and ``parts`` the assessments. A definition that compares with the whole
    table is judged, for a saved release, against the histogram that the certificate declares, or against the published
    rows if it declares none.

    Parameters:
        subject: a :class:`Table`, a draft, a :class:`Release`, or the folder of a saved release.
        definition: what must hold; join several by ``&``.

    Returns:
        An :class:`Assessment`: ``holds``, the achieved ``value``, and a ``witness`` if it does not hold.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> rt.assess(table, rt.KAnonymity(2)).holds
        False
    """
    if not isinstance(definition, Definition):
        raise PolicyError(f"assess needs a definition such as KAnonymity(5), but got {definition!r}.")
    if isinstance(subject, Table):
        subject = with_closed_sets(subject)
        definition = closed(definition, subject)
        assessment = verdict(definition, judge(definition, _evidence(subject, definition)))
        return replace(
            assessment, lister=partial(_failing_rows, subject, definition), scope=ClaimScope.of_table(subject)
        )
    assessment = _of_published(subject, definition)
    return (
        assessment if isinstance(subject, Draft) else replace(assessment, scope=scope_of(public_side(subject).manifest))
    )


def _of_published(subject: Draft | Release | PublicSide | str | Path, definition: Definition) -> Assessment:
    """Assess published data. Columns that an adversary can compute count as known if the claims name them.

    The claims name such columns because publishing found them; without claims all columns count as known, the stronger
    assumption. A witness then says that relations between columns were not considered.
    """
    if isinstance(subject, Draft):
        return verdict(definition, judge(definition, subject.evidence))
    side = public_side(subject)
    judged, same_demand = closed_as_claimed(definition, _claimed(side), side.manifest.named("quasi"))
    assessment = verdict(judged, judge(judged, _evidence(subject, judged)))
    if same_demand:
        return assessment
    assessment = replace(assessment, definition=definition)
    if assessment.witness is None:
        return assessment
    return replace(assessment, witness=replace(assessment.witness, text=f"{assessment.witness.text} {_NOT_RELATED}"))


def _evidence(subject: Any, definition: Definition) -> Evidence:
    """Return the adversary's evidence for each set of columns that may be known."""
    if isinstance(subject, Table):
        view = adversary_view_of(definition.prepare(subject))
        groups = {columns: view.known(columns).labelled_groups for columns in (*view.sets, *own_sets(definition))}
        non_empty = {
            columns: groups_of_set.select(groups_of_set.sizes > 0) for columns, groups_of_set in groups.items()
        }
        return Evidence({columns: non_empty[columns] for columns in view.sets}, non_empty)
    if isinstance(subject, Draft):
        return subject.evidence
    if isinstance(subject, Release):
        return _of_release(subject, definition)
    side = public_side(subject)
    return _of_public(side, definition, declared_reference(side))


def _failing_rows(table: Table, definition: Definition) -> NDArray[np.int64]:
    """Return the rows of a table that are in a failing group, for some set of columns that an adversary may know."""
    prepared, group_definition = definition.prepare(table), of_groups(definition, "assess")
    frequencies, names = count_table(prepared), list(table.quasi)
    points = frequencies.groups()
    failing = np.zeros(len(frequencies), dtype=bool)
    for columns, demand in by_set(group_definition, table.quasi_sets or (tuple(names),)):
        indices = [names.index(name) for name in columns]
        ids, count = frequencies.group_ids(frequencies.levels, indices)
        labels = None if points.labels is None else points.labels.seen_by(indices, ids, count)
        groups = replace(points.merged(ids, count), labels=labels)
        # With a population, groups may contain people who are not in the table.
        mask = groups.sizes > 0
        mask[mask] = demand.failing(groups.select(mask))
        failing |= mask[ids]
    point_of_row = np.concatenate(list(engine_of(prepared).points(prepared, frequencies)))
    return np.flatnonzero(failing[point_of_row])


def _of_release(release: Release, definition: Definition) -> Evidence:
    """Return the groups that publish judged; column sets and populations are evaluated on the public tables, with the
    private reference of the whole table.
    """
    side = release.public
    needs_tables = _population(definition) is not None or own_sets(definition)
    if len(side.manifest.adversary_sets) == 1 and not needs_tables:
        return release.private.evidence
    groups = release.groups
    marginals = {name: groups.marginal(name) for name in side.manifest.named("sensitive")}
    reference = {
        name: ReferenceColumn(marginal.domain.columns[0], marginal.reference) for name, marginal in marginals.items()
    }
    return _of_public(side, definition, reference)


def _of_public(side: PublicSide, definition: Definition, reference: dict[str, ReferenceColumn]) -> Evidence:
    """Return the groups that the public tables show, joined with a population if the definition compares with one."""
    if side.manifest.unit != "row" and definition.counts_people:
        raise PolicyError(
            f"{definition} counts people, but the published files show rows, and several rows may be one person. Assess the table, or the "
            "release object that publish returned (without a population or several quasi sets, which need the files)."
        )
    claimed = tuple(_claimed(side))
    return side.form.evidence(side, EvidenceRequest(definition, reference, _population(definition), claimed))


def _claimed(side: PublicSide) -> list[Definition]:
    """Return the claims of a release; those unknown to this version are skipped."""
    return [claim.definition for claim in read_claims(side.certificate) if claim.definition is not None]


def _population(definition: Definition) -> pl.DataFrame | None:
    """Return the population that a part of the definition compares with, or None."""
    populations = [part.population for part in definition.parts() if isinstance(part, PopulationDefinition)]
    frames = [people_of(population) for population in populations if population is not None]
    for other in frames[1:]:
        require_same(frames[0], other)
    return frames[0] if frames else None


def natural_closeness(
    subject: Any, n: int, t: Number, distance: Distance = "equal", column: str | None = None
) -> Assessment:
    """Assess (n,t)-closeness as published: every group is within distance ``t`` of some natural superset of at least ``n`` people.

    The natural supersets of a group are the rows that agree with it in a subset of the quasi columns, for every subset:
    from the group itself to all rows. ``NTCloseness``, which is claimed and certified, considers only the group itself
    and all rows, so it implies this one if no record is suppressed. This one is reported, not certified: it is not
    monotone. The value is the largest distance of a group to the nearest of its supersets. Takes a table or a
    generalized release; cost: 2^columns passes over the groups.
    """
    definition = NTCloseness(n, t, distance, column)
    view = adversary_view_of(subject)
    if not view.is_row_by_row:
        raise PolicyError("natural_closeness needs a release whose rows hold labels and sensitive values together.")
    if len(view.columns) > _MOST_WIDENED:
        raise PolicyError(
            f"natural_closeness examines all subsets of the quasi columns, of which there may be at most {_MOST_WIDENED}."
        )
    groups = view.true_groups
    # A group without a superset of n people is infinitely far away.
    nearest: list[Fraction | float] = [float("inf")] * len(groups)
    if column is None and len(groups.domain.columns) > 1:
        raise PolicyError("There are several sensitive columns; choose one with column=.")
    column_groups = groups.marginal(groups.domain.columns[0].name if column is None else column)
    for size in range(len(view.columns) + 1):
        for known in combinations(view.columns, size):
            codes = [known_column.codes for known_column in known]
            label_counts = [len(known_column.labels) for known_column in known]
            ids, count = number(*pack(codes, label_counts, len(column_groups)))
            _nearer(nearest, column_groups, ids, count, definition)
    worst = max(range(len(nearest)), key=nearest.__getitem__)
    text = (
        f"a group is {float(nearest[worst]):.4g} away from the nearest superset of at least {n} people, more than {t}"
    )
    witness = None if nearest[worst] <= exact(t, "t") else Witness(worst, text)
    return Assessment(definition, witness is None, nearest[worst], witness)


def _nearer(
    nearest: list[Fraction | float], groups: Groups, ids: NDArray[Any], count: int, definition: NTCloseness
) -> None:
    """Lower the ``nearest`` distance of each group to that of its superset, if the superset has at least n people.

    Groups with equal ``ids`` form a superset; ``count`` is the number of these. The list is changed in place.
    """
    merged = groups.histograms.merge(ids, count)
    people, closeness = sum_by(ids, groups.people, count), TCloseness(definition.t, definition.distance)
    for superset in np.flatnonzero(people >= definition.n).tolist():
        members = ids == superset
        reference = merged.select(np.arange(count) == superset).total(len(groups.reference))
        numerators, denominators = closeness.work(replace(groups.select(members), reference=reference))
        for group, numerator, denominator in zip(
            np.flatnonzero(members).tolist(), numerators.tolist(), denominators.tolist(), strict=True
        ):
            nearest[group] = min(nearest[group], Fraction(int(numerator), int(denominator)))
