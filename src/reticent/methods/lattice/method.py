"""The method ``Lattice``: full-domain generalization, from search to draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import FrequencySet, Groups, Levels, PublishedCells, shown_meanings
from reticent.definitions import Definition, GroupDefinition, against_all, require_feasible
from reticent.engine import count_table, finest_floor
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grouping import (
    Columns,
    Grouping,
    GroupMethod,
    GroupRun,
    PublishedGroups,
    SuppressedGroups,
    discloses_too_much,
    not_in_buckets,
    rows_of_people,
    seen_as,
)
from reticent.methods.lattice.objectives import NodeView, describe
from reticent.methods.lattice.points import Points
from reticent.methods.lattice.search import Node, Search, Strategy, levels_of, search
from reticent.methods.typical import check_values, refused, refused_sets
from reticent.table import Table

_MOST_TRIED = 64
_NOTHING_LEFT = (
    "The best generalization would suppress every row. Allow less suppression, so that coarser nodes are preferred."
)


@dataclass(frozen=True)
class Lattice(GroupMethod):
    """Full-domain generalization: every column is generalized to one level of its hierarchy, and the node found is proven optimal.

    Guarantee and adversary: the definition's. Cost: the search evaluates nodes in memory, each in time proportional to
    the groups; exponential in the number of columns in the worst case. ``repair="rows"``, which trimmed failing groups
    instead of suppressing them, is refused wherever it would change anything: rerunning the method undoes it. Source:
    [LeFevre2005] and [Samarati2001] for the lattice; the search is our own.

    Parameters:
        objective: a measure by its name, such as ``"loss"`` or ``"discernibility"``, or a function of a node.
        suppression: the share of rows that may be suppressed, whole groups at a time.
        format: ``"generalize"``, or ``"bucketize"``: exact quasi values in one table and shuffled sensitive values in another, joined by a
            bucket number.
        weights: how much each column counts in the objective.
        seconds, strategy, floor: as in :func:`reticent.search`.
        repair: ``"groups"``.
        node: the levels, instead of a search.
        values: ``"labels"``, or ``"typical"``: one typical value per group in each column's own type, with a separate table of labels.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "town": ["Aix"] * 4, "illness": ["flu", "cold", "flu", "cold"]}
        >>> ages = rt.Hierarchy.intervals([10, 20], domain=(0, 99))
        >>> table = rt.Table(rows, quasi={"age": ages, "town": None}, sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Lattice()).frame["age"].unique().sort().to_list()
        ['[30, 40)', '[50, 60)']
    """

    objective: str | Callable[[NodeView], float] = "loss"
    suppression: Number = 0
    format: Literal["generalize", "bucketize"] = "generalize"
    weights: Mapping[str, float] | None = None
    seconds: float | None = None
    strategy: Strategy = "default"
    repair: Literal["groups", "rows"] = "groups"
    floor: Mapping[str, int] | None = None
    node: Mapping[str, int] | None = None
    values: Literal["labels", "typical"] = "labels"

    streams: ClassVar[bool] = True
    searches: ClassVar[bool] = True
    """All generalizations may have to be examined, which is not tried for many columns unless requested."""

    def __post_init__(self) -> None:
        exact(self.suppression, "Lattice: suppression", low=0, high=1)
        if self.format not in ("generalize", "bucketize"):
            raise PolicyError(f"Lattice: format must be 'generalize' or 'bucketize', but it is {self.format!r}.")
        if self.repair not in ("groups", "rows"):
            raise PolicyError(f"Lattice: repair must be 'groups' or 'rows', but it is {self.repair!r}.")
        if self.repair == "rows" and self.format == "bucketize":
            raise PolicyError("Lattice: repair='rows' needs format='generalize'.")
        check_values("Lattice", self.values)
        if self.values == "typical" and (self.format == "bucketize" or self.floor):
            other = "format='bucketize'" if self.format == "bucketize" else "floor="
            raise PolicyError(f"Lattice: values='typical' cannot be combined with {other}.", setting=("values",))

    @property
    def judges_columns(self) -> bool:
        """With buckets, all adversaries see the same."""
        return self.format == "generalize"

    def grouped(self, run: GroupRun) -> Grouping:
        """Return the least distorted generalization that satisfies the definition."""
        table, context = run.table, run.context
        requested_floor = levels_of(table, self.floor, "floor")
        start = finest_floor(table, requested_floor, context) if self.values == "labels" else requested_floor
        counted = count_table(table, context, floor=start)
        best, points, suppressed, outcome = self._node_to_publish(run, counted)
        # A group may have people of a population and no rows; it is not published.
        published = ~suppressed.mask & (points.sizes > 0)
        if not published.any():
            raise Infeasible(_NOTHING_LEFT)
        exact_values = self.format == "bucketize"
        codes = tuple(parts[published] for parts in points.codes)
        figures = _search_figures(outcome, best)
        if start != requested_floor:
            figures["floor"] = dict(zip(table.quasi, start, strict=True))
        return Grouping(
            counted,
            Levels.of(table, points.levels, codes, exact=exact_values),
            self.leaving(table, run.definition, points).evidence(suppressed),
            partial(PublishedCells.of_levels, counted, points.levels, suppressed.mask, exact=exact_values),
            figures,
            None if exact_values else shown_meanings(table.hierarchies, points.levels, codes),
            self.format,
        )

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        cells = {"values": self.values} if self.values == "typical" else {"format": self.format}
        return {
            "name": "Lattice",
            "objective": describe(self.objective),
            "suppression": str(exact(self.suppression, "suppression")),
            **cells,
            "repair": self.repair,
        }

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        if table.streamed and table.pseudonyms:
            return f"Lattice: pseudonyms= needs all rows in memory, and this table is {table.read_how}. Pass engine='local' if the table fits in memory, or publish without it."
        several = rows_of_people("Lattice", table, counts_people=self.format == "generalize")
        if several is not None:
            return several
        if self.repair == "rows":
            undone = [part for part in definition.parts() if not _absorbs(part, table)]
            if undone:
                return _undone(undone[0])
        if self.values == "typical":
            return refused_sets("Lattice", table) or refused("Lattice", table, definition)
        if self.format == "generalize":
            return None
        return not_in_buckets(table, definition, "format='bucketize'", "Use format='generalize'")

    def _search(self, run: GroupRun, counted: FrequencySet, suppression: Number) -> Search:
        """Search the generalizations of the counted table for the best one, with at most a share ``suppression`` of the rows suppressed."""
        table, definition, context = run.table, run.definition, run.context
        return search(
            # Any knowledge leads to a bucket and no further: there is one kind of adversary.
            table.against_all() if self.format == "bucketize" else table,
            against_all(definition) if self.format == "bucketize" else definition,
            suppression=suppression,
            objective=self.objective,
            weights=self.weights,
            seconds=self.seconds,
            strategy=self.strategy,
            floor=self.floor,
            node=self.node,
            counted=counted,
            context=context,
        )

    def _node_to_publish(self, run: GroupRun, counted: FrequencySet) -> tuple[Node, Points, SuppressedGroups, Search]:
        """Return the node to publish, its groups, the groups that can be suppressed without disclosing too much about
        their people, and the search.

        If that suppresses more than the search counted, the passing nodes are tried in order of cost, and then those
        that suppress nothing.
        """
        outcome = self._search(run, counted, self.suppression)
        best = self._require_node(outcome, counted, run.definition)
        chosen = self._safe_node(run, counted, outcome)
        if chosen is None:
            outcome_without = self._search(run, counted, 0)
            chosen = None if outcome_without.best is None else self._safe_node(run, counted, outcome_without)
        if chosen is None:
            raise Infeasible(discloses_too_much(run.definition, best.suppressed))
        return *chosen, outcome

    def _safe_node(
        self, run: GroupRun, counted: FrequencySet, outcome: Search
    ) -> tuple[Node, Points, SuppressedGroups] | None:
        """Return the cheapest passing node whose failing groups can be suppressed without disclosing too much about their
        people; None if there is none.
        """
        start = Points.of(counted)
        chosen: tuple[float, Node, Points, SuppressedGroups] | None = None
        for node in outcome.in_order()[:_MOST_TRIED]:
            if chosen is not None and node.objective >= chosen[0]:
                break
            levels = tuple(node.levels.values())
            points = start if start.levels == levels else start.at(levels)
            mask = outcome.evaluator.suppressed(points)
            for suppressed in self.leaving(run.table, run.definition, points, outcome.evaluator.allowed).ways(mask):
                if suppressed.mask is mask:
                    return node, points, suppressed
                cost = outcome.evaluator.objective.value(points, suppressed.mask, None)
                if chosen is None or cost < chosen[0]:
                    suppressed_rows, groups = int(points.sizes[suppressed.mask].sum()), int((~suppressed.mask).sum())
                    chosen = cost, Node(node.levels, cost, suppressed_rows, groups), points, suppressed
        return None if chosen is None else chosen[1:]

    def leaving(self, table: Table, definition: GroupDefinition, points: Points, allowed: int = 0) -> PublishedGroups:
        """Return the groups of a node with the view of each adversary on the published ones; in buckets, all adversaries see the same.

        At most ``allowed`` rows may be suppressed.
        """
        groups, all_columns = points.groups(), tuple(range(len(points.levels)))
        if self.format == "bucketize":
            # Rows show their values, not the labels of their bucket.
            groups = replace(groups, labels=None)

        def seen(columns: Columns, published: NDArray[np.bool_]) -> tuple[NDArray[Any], Groups]:
            """Return the group of each published group, and the groups, as an adversary sees them who knows ``columns``."""
            if columns == all_columns or self.format == "bucketize":
                return np.arange(int(published.sum())), groups.select(published)
            group_of, _, seen_groups = seen_as(groups, columns, *points.alike(columns), published)
            return group_of, seen_groups

        return PublishedGroups.of(table, definition, groups, seen, allowed)

    def _require_node(self, outcome: Search, frequencies: FrequencySet, definition: GroupDefinition) -> Node:
        """Return the best node. Raises :class:`Infeasible`, with the reason, if the search has none."""
        if outcome.best is not None:
            return outcome.best
        require_feasible(frequencies.groups(), definition)
        raise Infeasible(
            (
                "No generalization satisfies"
                if outcome.proven
                else "In the time given, no generalization was found that satisfies"
            )
            + f" {definition} with at most {exact(self.suppression, 'suppression')} of the rows suppressed. "
            "Allow more suppression (suppression='0.05'), weaken the definition, or add coarser levels to the hierarchies."
        )


def _absorbs(part: Definition, table: Table) -> bool:
    """True if suppressing rows of a group never makes it pass."""
    return (
        isinstance(part, GroupDefinition)
        and part.absorbing
        and (len(table.sensitive) <= 1 or not part.needs_sensitive)
        and not (table.several_rows and part.counts_people)
    )


def _undone(part: Definition) -> str:
    """Return why single rows cannot be suppressed under a definition."""
    return (
        f"Lattice: repair='rows' trims a failing group until {part} holds, but an adversary who knows the group's size and the method "
        "can reconstruct what was removed. Use repair='groups', which suppresses such a group."
    )


def _search_figures(outcome: Search, best: Node) -> dict[str, Any]:
    """Return the figures of the search for the steward's report."""
    space = outcome.evaluator.space
    chosen = tuple(best.levels.values())
    evaluations = {evaluation.levels: evaluation for evaluation in outcome.evaluator.log}
    return {
        "columns": list(best.levels),
        "heights": list(space.top),
        "chosen": list(chosen),
        "objective": outcome.objective,
        "value": best.objective,
        "proven": outcome.proven,
        "bound": outcome.bound,
        "lattice_nodes": outcome.nodes,
        "evaluated": len(evaluations),
        "suppressed": best.suppressed,
        "nodes": [
            {
                "levels": list(levels),
                "status": "chosen" if levels == chosen else "passing" if evaluation.passes else "failing",
                "objective": evaluation.objective,
            }
            for levels, evaluation in evaluations.items()
        ],
    }
