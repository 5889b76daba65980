"""The method ``Lattice``: full-domain generalization, from search to draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.anonymize.assembly import BUCKET, Assembled, bucketized, domains, generalized, meanings, relabelled
from reticent.anonymize.base import GROUPS, fitting
from reticent.anonymize.lattice.objectives import NodeView, describe
from reticent.anonymize.lattice.points import Points
from reticent.anonymize.lattice.search import Node, Search, Strategy, levels_of, search
from reticent.anonymize.repair import capped, caps
from reticent.anonymize.sets import adversary_sets, seen_as
from reticent.data.context import Context
from reticent.data.draft import Draft, Format
from reticent.data.engine import Engine
from reticent.data.evidence import Evidence, Kind
from reticent.data.frequencies import FrequencySet
from reticent.data.groups import Groups
from reticent.data.hierarchy import Codes
from reticent.data.recoding import Levels
from reticent.data.table import Table
from reticent.definitions import Definition, GroupDefinition
from reticent.definitions.feasibility import require_feasible
from reticent.engine import LocalEngine, count, engine_of
from reticent.errors import Infeasible, PolicyError
from reticent.exact import Number, exact
from reticent.randomness import Randomness
from reticent.utility import Measured, Picture

_NOTHING_LEFT = (
    "The best generalization would leave out every row. Allow less suppression, so that coarser nodes are preferred."
)


@dataclass(frozen=True)
class Lattice:
    """Full-domain generalization: every column moves to one level of its hierarchy, the best there is (R-LD-20..24).

    ``suppression`` is the share of rows that may be left out; ``repair="rows"`` keeps what it can of a failing group
    instead of leaving it out whole. ``format="bucketize"`` publishes exact quasi values in one table and shuffled
    sensitive values in another, joined by a bucket number. ``node`` names the levels instead of searching for them.
    """

    objective: str | Callable[[NodeView], float] = "loss"
    suppression: Number = 0
    format: Format = "generalize"
    weights: Mapping[str, float] | None = None
    seconds: float | None = None
    strategy: Strategy = "default"
    repair: Literal["groups", "rows"] = "groups"
    floor: Mapping[str, int] | None = None
    node: Mapping[str, int] | None = None

    keeps: ClassVar[frozenset[Kind]] = GROUPS
    streams: ClassVar[bool] = True

    def __post_init__(self) -> None:
        exact(self.suppression, "Lattice: suppression", low=0, high=1)
        if self.format not in ("generalize", "bucketize"):
            raise PolicyError(f"Lattice: format must be 'generalize' or 'bucketize', but it is {self.format!r}.")
        if self.repair not in ("groups", "rows"):
            raise PolicyError(f"Lattice: repair must be 'groups' or 'rows', but it is {self.repair!r}.")
        if self.repair == "rows" and self.format == "bucketize":
            raise PolicyError("Lattice: repair='rows' goes with format='generalize' only.")

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """The least distorted generalization that satisfies the definition."""
        wanted = fitting(self, table, definition)
        context = context or Context()
        table = wanted.prepare(table)
        # Counted with values for the draft; the search takes its own counts from these.
        frequencies = count(table, context, floor=levels_of(table, self.floor, "floor"))
        found = search(
            # Whatever somebody knows leads to a bucket, and no further: there is one kind of adversary.
            table.against_all() if self.format == "bucketize" else table,
            wanted,
            suppression=self.suppression,
            objective=self.objective,
            weights=self.weights,
            seconds=self.seconds,
            strategy=self.strategy,
            floor=self.floor,
            node=self.node,
            context=context,
        )
        best = self._require(found, frequencies, wanted)
        levels = tuple(best.levels.values())
        start = Points.of(frequencies)
        points = start if start.levels == levels else start.at(levels)
        suppressed = found.evaluator.suppressed(points)
        engine, randomness = engine_of(table), context.randomness
        cut = self.repair == "rows" and bool(suppressed.any()) and bool(table.sensitive)
        if self.format == "bucketize" or cut:
            if table.streamed:
                raise PolicyError(_needs_memory("repair='rows'"))
            recoded = self._row_by_row(table, wanted, frequencies, points, suppressed, randomness, cut)
        else:
            recoded = self._group_by_group(table, engine, points, suppressed, randomness)
        gone = recoded.groups.sizes == 0
        groups = recoded.groups.select(~gone)
        return Draft(
            format=self.format,
            recoding=Levels(dict(best.levels), _generalized_points(points, gone)),
            evidence=self._evidence(table, points, recoded.groups),
            tables=recoded.assembled.tables,
            meanings=meanings(table.hierarchies, *(recoded.shown or (levels, _codes_of(points, ~gone)))),
            suppressed=frequencies.rows - int(groups.sizes.sum()),
            method=self.describe(),
            utility=Measured(lambda: _picture(frequencies, levels, gone, groups, self.format == "bucketize")),
            search=_search_figures(found, best),
            domains=domains(table.hierarchies),
            private=recoded.assembled.private,
            insecure=not randomness.is_secure,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return {
            "name": "Lattice",
            "objective": describe(self.objective),
            "suppression": str(exact(self.suppression, "suppression")),
            "format": self.format,
            "repair": self.repair,
        }

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why this cannot be published so, told by what the table and the definition are, without a look at a row."""
        whole = "format='bucketize'" if self.format == "bucketize" else "pseudonyms=" if table.pseudonyms else None
        if table.streamed and whole is not None:
            return _needs_memory(whole)
        if self.repair == "rows" and table.quasi_sets is not None:
            return "Lattice: repair='rows' cannot cut groups down for several quasi sets at once; use repair='groups'."
        if self.format == "generalize":
            return None
        if not table.sensitive:
            return "format='bucketize' separates sensitive values from people, but the table has no sensitive column."
        if BUCKET in table.schema:
            return f"A bucketized release calls its bucket {BUCKET!r}. Rename the column of that name."
        hidden = [part for part in definition.parts() if part.hides_identity]
        if hidden:
            return (
                f"{hidden[0]} promises that nobody can be singled out by quasi values, but format='bucketize' publishes these values "
                "exactly. Use format='generalize', or ask only for definitions about the sensitive values."
            )
        return None

    def _evidence(self, table: Table, points: Points, groups: Groups) -> Evidence:
        """What is left of every group, as each adversary sees it: in buckets, everybody sees the same."""
        kept = groups.sizes > 0
        finest = groups.select(kept)
        if table.quasi_sets is None or self.format == "bucketize":
            return Evidence(dict.fromkeys(table.quasi_sets or (tuple(table.quasi),), finest))
        seen = {}
        for columns, places in zip(table.quasi_sets, adversary_sets(table), strict=True):
            seen[columns] = seen_as(groups, *points.alike(places), kept)[2]
        return Evidence(seen, finest=finest)

    def _require(self, found: Search, frequencies: FrequencySet, definition: GroupDefinition) -> Node:
        if found.best is not None:
            return found.best
        require_feasible(frequencies.groups(), definition)
        raise Infeasible(
            (
                "No generalization satisfies"
                if found.proven
                else "In the time given, no generalization was found that satisfies"
            )
            + f" {definition} with at most {exact(self.suppression, 'suppression')} of the rows suppressed. "
            "Allow more suppression (suppression='0.05'), weaken the definition, or add coarser levels to the hierarchies."
        )

    def _group_by_group(
        self, table: Table, engine: Engine, points: Points, suppressed: NDArray[np.bool_], randomness: Randomness
    ) -> _Recoded:
        """Whole groups are published or left out, so that a row is recoded by itself, wherever it stands."""
        local, dropped = LocalEngine(), _points_under(points, suppressed)
        published = _left_out(points.groups(), suppressed)
        if not published.sizes.any():
            raise Infeasible(_NOTHING_LEFT)

        def quasi(part: Table) -> tuple[pl.DataFrame, NDArray[np.bool_]]:
            kept = local.points(part, dropped) < 0 if len(dropped) else np.ones(part.rows, dtype=bool)
            return local.labelled(part, points.levels, kept), kept

        return _Recoded(relabelled(table, engine, quasi, randomness), published)

    def _row_by_row(
        self,
        table: Table,
        definition: GroupDefinition,
        frequencies: FrequencySet,
        points: Points,
        suppressed: NDArray[np.bool_],
        randomness: Randomness,
        cut: bool,
    ) -> _Recoded:
        """Rows of one group are treated differently: chance decides which are left out, or in which order they stand."""
        local = LocalEngine()
        point_of_row = local.points(table, frequencies)
        group_of_row = point_of_row if points.ids is None else points.ids[point_of_row]
        if cut:
            kept, published = self._repaired(table, definition, points, suppressed, group_of_row, randomness)
        else:
            kept, published = ~suppressed[group_of_row], _left_out(points.groups(), suppressed)
        if not kept.any():
            raise Infeasible(_NOTHING_LEFT)
        if self.format == "generalize":
            labels = local.labelled(table, points.levels, kept)
            return _Recoded(generalized(table, labels, kept, randomness), published)
        values = (0,) * len(points.levels)
        shown = [codes[kept] for codes in local.codes(table, values)]
        return _Recoded(bucketized(table, group_of_row, kept, randomness), published, (values, shown))

    def _repaired(
        self,
        table: Table,
        definition: GroupDefinition,
        points: Points,
        suppressed: NDArray[np.bool_],
        group_of_row: NDArray[Any],
        randomness: Randomness,
    ) -> tuple[NDArray[np.bool_], Groups]:
        """Failing groups cut down until they pass: which rows are published, and what is left of every group.

        Which rows of a value have to go is drawn by the operating system.
        """
        groups = points.groups()
        limits = caps(groups, suppressed, definition)
        order = randomness.order(table.rows)
        joint = _joint_values(table)
        ranks = _ranks(group_of_row[order].astype(np.int64) * (int(joint.max(initial=0)) + 1) + joint[order])
        kept = np.empty(table.rows, dtype=bool)
        kept[order] = ranks < limits[group_of_row[order]]
        return kept, capped(groups, limits)


@dataclass(frozen=True)
class _Recoded:
    """Public tables, what is left of every group, and the levels and parts that are shown where these are not the groups' own."""

    assembled: Assembled
    groups: Groups
    shown: tuple[tuple[int, ...], Sequence[Codes]] | None = None


def _needs_memory(what: str) -> str:
    return f"Lattice: {what} needs all rows in memory, and this table is streamed. Say engine='local' if it fits, or publish without it."


def _points_under(points: Points, mask: NDArray[np.bool_]) -> FrequencySet:
    """Some of the groups as a frequency set, in which rows can be looked up."""
    chosen, whole = points.groups().select(mask), points.frequencies
    return FrequencySet(
        whole.hierarchies, points.levels, _codes_of(points, mask), chosen.sizes, chosen.histograms, whole.domain
    )


def _codes_of(points: Points, mask: NDArray[np.bool_]) -> tuple[Codes, ...]:
    return tuple(codes[mask] for codes in points.codes)


def _left_out(groups: Groups, mask: NDArray[np.bool_]) -> Groups:
    """The groups with those under ``mask`` emptied."""
    return capped(groups, np.where(mask, 0, groups.histograms.counts.max(initial=0)))


def _picture(
    frequencies: FrequencySet, levels: tuple[int, ...], gone: NDArray[np.bool_], groups: Groups, exact: bool
) -> Picture:
    """The release as measures see it; groups that were cut down show fewer rows than the table has there."""
    picture = Picture.of_levels(frequencies, levels, gone, exact)
    if int(picture.sizes.sum()) == int(groups.sizes.sum()):
        return picture
    lost = groups.reference - groups.histograms.total(len(groups.reference))
    return replace(
        picture, sizes=groups.sizes, blocks=groups.sizes, histograms=groups.histograms, suppressed_histogram=lost
    )


def _generalized_points(points: Points, mask: NDArray[np.bool_]) -> NDArray[np.int32]:
    return np.stack([codes.astype(np.int32) for codes in _codes_of(points, mask)], axis=1)


def _joint_values(table: Table) -> NDArray[np.int64]:
    joint = np.zeros(table.rows, dtype=np.int64)
    for column in table.sensitive_columns:
        joint = joint * column.size + column.codes(table.frame[column.name])
    return joint


def _ranks(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each key how many equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    lengths = np.diff(np.append(starts, len(keys)))
    ranks = np.empty(len(keys), dtype=np.int64)
    ranks[order] = np.arange(len(keys)) - np.repeat(starts, lengths)
    return ranks


def _search_figures(found: Search, best: Node) -> dict[str, Any]:
    """What the steward's report shows of the search."""
    space = found.evaluator.space
    chosen = tuple(best.levels.values())
    seen = {each.levels: each for each in found.evaluator.log}
    return {
        "columns": list(best.levels),
        "heights": list(space.top),
        "chosen": list(chosen),
        "objective": found.objective,
        "value": best.objective,
        "proven": found.proven,
        "bound": found.bound,
        "lattice_nodes": found.nodes,
        "evaluated": len(seen),
        "suppressed": best.suppressed,
        "nodes": [
            {
                "levels": list(levels),
                "status": "chosen" if levels == chosen else "passing" if each.passes else "failing",
                "objective": each.objective,
            }
            for levels, each in seen.items()
        ],
    }
