"""The method ``Mondrian``: local recoding, where the same value may be generalized differently in different records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, one_of
from reticent.base.parameters import exact_text, parameter
from reticent.core import Evidence, FrequencySet
from reticent.definitions import Definition, GroupDefinition, of_groups, require_feasible
from reticent.definitions import judge as judged
from reticent.engine import count_table, engine_of
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grouping import (
    CellStyle,
    Columns,
    Grouping,
    GroupMethod,
    GroupRun,
    Ids,
    PublishedGroups,
    ShownGroups,
    SuppressedGroups,
    apart,
    discloses_too_much,
    local_grouping,
    narrowed,
    rows_of_people,
)
from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.column_cuts import ColumnCuts
from reticent.methods.mondrian.local_search import ROUNDS, Effort, LocalSearch
from reticent.methods.mondrian.partition import Choice, Partition
from reticent.methods.typical import refused
from reticent.table import Table
from reticent.utility import column_weights


@dataclass(frozen=True)
class Mondrian(GroupMethod):
    """Multidimensional local recoding [LeFevre2006]: groups are split in two along one column while both halves satisfy the definition.

    Guarantee: that of the definition, for records with the same labels; every group is judged by it. Adversary: knows the quasi values of a person, for every set of columns that the table names.
    Definitions that are not monotone, or that the whole table fails, may hold for parts of a failing group: such groups are split further, and what still fails in the end is suppressed, at most
    ``suppression`` of all rows. Beside a population, groups cover its people as well as the rows.

    Cost: about ``log2(rows / k)`` passes over the points; the local search of ``effort="best"`` grows with the square of a block of 20,000 rows. ``utility["loss_bound"]`` bounds the loss of every method of this kind from below.

    Parameters:
        split: criterion for the column of a split: the widest (``"span"``), or the one with the least loss afterwards (``"loss"``, slower).
        ties: ``"keep"`` never separates records with equal quasi values (strict partitioning); ``"divide"`` may (relaxed; assignment by the operating system's randomness).
        values: labels of a group: ``"ranges"`` of numbers and sets of other values, ``"sets"`` of all values, nodes of the ``"hierarchy"``, or one ``"typical"`` or randomly ``"drawn"`` value in the column's
            own type, with the number of the group and a table of the ranges.
        suppression: the largest share of rows that may be suppressed.
        effort: ``"quick"`` splits only; ``"good"`` and ``"best"`` continue with a local search (:class:`.local_search.LocalSearch`), whose boxes may overlap.
        seconds: time limit of the local search; by default a fixed number of rounds, so that results are reproducible.
        weights: weights of columns in the loss that splits and groups minimize.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Mondrian(values="ranges")).frame["age"].unique().sort().to_list()
        ['[31, 33]', '[52, 58]']
    """

    split: Choice = parameter("span", stated="always")
    ties: Literal["keep", "divide"] = parameter("keep", stated="always")
    values: CellStyle | Literal["drawn"] = parameter("ranges", stated="always")
    suppression: Number = parameter(0, written=exact_text)
    effort: Effort = "quick"
    seconds: float | None = None
    weights: Mapping[str, float] | None = parameter(None, written=lambda weights: dict(weights) or None)

    streams: ClassVar[bool] = True
    knows_raw_values: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name, known in (
            ("split", ("span", "loss")),
            ("ties", ("keep", "divide")),
            ("values", ("sets", "ranges", "hierarchy", "typical", "drawn")),
            ("effort", ("quick", "good", "best")),
        ):
            one_of(getattr(self, name), f"Mondrian: {name}", known)
        exact(self.suppression, "Mondrian: suppression", low=0, high=1)
        if self.seconds is not None:
            exact(self.seconds, "Mondrian: seconds", low=0)
            if self.effort == "quick":
                raise PolicyError(
                    "Mondrian: seconds limits the search of effort='best'. Omit seconds=, or set effort='best'."
                )

    def grouped(self, run: GroupRun) -> Grouping:
        """A partition into groups that satisfy the definition, for every set of columns that an adversary may hold."""
        units, order = self._units(run)
        labelled, published, suppressed = self._searched_or_split(run, units)
        requested = of_groups(run.asked, "Mondrian")
        cuts = ColumnCuts.of(run.table, units, requested, self._style) if order is None else None
        if cuts is not None:
            labels = cuts.best(run.context)
            if labels.loss < cuts.loss_of(labelled.group, ~suppressed.mask):
                labelled = ShownGroups.of(units, labels.parts, self._style)
                published = PublishedGroups.of(run.table, run.definition, labelled.groups, labelled.seen, 0)
                suppressed = SuppressedGroups(np.zeros(len(labelled), dtype=bool))
        grouping = local_grouping(run, labelled, published, suppressed, order)
        _require_published_labels(run.asked, grouping.evidence)
        return grouping

    @property
    def _splits_only(self) -> Mondrian:
        return replace(self, effort="quick", seconds=None)

    @property
    def _style(self) -> CellStyle:
        """The style of the cells: sampled values are published with the same table of ranges as typical ones."""
        return "typical" if self.values == "drawn" else self.values

    @property
    def _limit(self) -> Fraction:
        return exact(self.suppression, "suppression")

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why this method cannot publish the table under the definition, or None. Decided from their declarations, without reading rows."""
        if table.streamed and (self.ties == "divide" or table.pseudonyms):
            feature = "ties='divide'" if self.ties == "divide" else "pseudonyms="
            return f"Mondrian: {feature} needs all rows in memory, and this table is {table.read_how}. Pass engine='local' if the table fits in memory, or publish without it."
        people_refusal = rows_of_people("Mondrian", table, counts_people=True)
        if people_refusal is not None:
            return people_refusal
        if self.ties == "divide" and table.several_rows:
            return "ties='divide' would split the rows of one person; use ties='keep' where unit='person'."
        if self.ties == "divide" and definition.needs_population:
            population_part = next(part for part in definition.parts() if part.needs_population)
            return f"{population_part} compares with a population, whose people would fit both parts of a divided tie; use ties='keep'."
        return refused("Mondrian", table, definition) if self._style == "typical" else None

    def _units(self, run: GroupRun) -> tuple[FrequencySet, Ids | None]:
        """The units to split: points or, if ties may be divided, rows in a random order, which is returned too."""
        if self.ties == "keep":
            return count_table(run.table, run.context), None
        order = run.context.randomness.order(run.table.rows)
        return engine_of(run.table, run.context).single_rows(run.table, order), order

    def _searched_or_split(
        self, run: GroupRun, units: FrequencySet
    ) -> tuple[ShownGroups, PublishedGroups, SuppressedGroups]:
        """The groups of the local search or, if what is disclosed about their suppressed records fails the definition, the groups of the splits alone."""
        if self.effort != "quick":
            with suppress(Infeasible):
                return self._with_suppression(run, units)
        return self._splits_only._with_suppression(run, units)

    def _with_suppression(
        self, run: GroupRun, units: FrequencySet
    ) -> tuple[ShownGroups, PublishedGroups, SuppressedGroups]:
        """Return a partition of the units, the views of it, and the groups to suppress, such that what is disclosed about suppressed records satisfies the definition; if there is no such choice, a partition without suppression."""
        labelled, judge = self._partitioned(run, units)
        passing = self._passing_groups(labelled, judge, run.sets, run.definition)
        suppressible_rows = int(self._limit * units.rows)
        published = PublishedGroups.of(run.table, run.definition, labelled.groups, labelled.seen, suppressible_rows)
        suppressions = list(published.ways(~passing))
        if suppressions:
            return (
                labelled,
                published,
                min(suppressions, key=lambda suppressed: int(labelled.groups.sizes[suppressed.mask].sum())),
            )
        if not self._limit:
            raise Infeasible(discloses_too_much(run.definition, int(labelled.groups.sizes[~passing].sum())))
        return replace(self, suppression=0)._with_suppression(run, units)

    def _partitioned(self, run: GroupRun, units: FrequencySet) -> tuple[ShownGroups, CutJudge]:
        """Partition the units into groups; return these and the judge of their splits. Columns that no adversary knows together are split independently."""
        divide, group_by_columns, weights = (
            self.ties == "divide",
            [],
            column_weights(tuple(run.table.quasi), self.weights),
        )
        for columns in apart(run.sets):
            projected, projected_index = narrowed(units, columns, single=divide)
            judge = CutJudge(projected, run.definition, may_suppress=self._limit > 0)
            _require_whole_table(judge, projected)
            judge.require_start()
            known_weights = weights[list(columns)]
            group = Partition(
                projected, judge, self.split, divide, self._style, run.context, weights=known_weights
            ).run()
            if self.effort != "quick" and _may_overlap(judge):
                search = LocalSearch(projected, judge, self.split, self._style, known_weights, run.context)
                group = search.run(group, ROUNDS[self.effort], self.seconds)
            group_by_columns.append((columns, group[projected_index]))
        return ShownGroups.of(units, group_by_columns, self._style), judge

    def _passing_groups(
        self, labelled: ShownGroups, judge: CutJudge, sets: Sequence[Columns], definition: GroupDefinition
    ) -> NDArray[np.bool_]:
        """Return a mask of the groups that are published; those that fail at the end of splitting are suppressed.

        Records that are suppressed for one set of columns are missing in the groups of the other sets, which are judged again.
        """
        sizes = labelled.groups.sizes
        passing: NDArray[np.bool_] = sizes > 0
        if judge.wavering is None:
            return passing
        group_definition = judge.wavering if judge.firm is None else judge.wavering & judge.firm
        while True:
            passing_before = passing.copy()
            for columns in sets:
                group_of, groups = labelled.seen(columns, passing)
                passing[passing] = ~group_definition.failing(groups)[group_of]
                self._require_little_suppression(int(sizes[~passing].sum()), int(sizes.sum()), definition)
            if (passing == passing_before).all():
                break
        suppressed_rows = int(sizes[~passing].sum())
        if suppressed_rows and not all(
            part.holds(labelled.seen(columns, passing)[1]) for part in judge.together for columns in sets
        ):
            raise Infeasible(
                f"Without the {suppressed_rows} rows that cannot be published the rest does not satisfy {definition}. Weaken the definition, or use Lattice."
            )
        return passing

    def _require_little_suppression(self, suppressed_rows: int, rows: int, definition: GroupDefinition) -> None:
        """Raise if more rows are suppressed than allowed, or all."""
        if suppressed_rows > self._limit * rows or suppressed_rows == rows:
            raise Infeasible(
                f"Splitting the table leaves {suppressed_rows} of {rows} rows in groups that do not satisfy {definition}, and at most "
                f"{self._limit} of the rows may be suppressed. Allow more with suppression=, weaken the definition, or use Lattice."
            )


def _may_overlap(judge: CutJudge) -> bool:
    """Whether groups may be arbitrary sets of units with overlapping boxes, as in the local search. It does not count all rows of a person, or all people of a population, that match a box, and does not handle
    definitions that judge all groups together."""
    return not judge.units.owners and not judge.together and not judge.definition.needs_population


def _require_published_labels(definition: Definition, evidence: Evidence) -> None:
    """Raise if the published labels fail a definition that the splits passed. If people have several rows, more rows of a person may match overlapping labels, such as hierarchy nodes, or the labels of few columns."""
    if not evidence.published.owners:
        return
    failing_claim = next((claim for claim in judged(definition, evidence) if not claim.holds), None)
    if failing_claim is not None:
        raise Infeasible(
            f"The groups do not satisfy {failing_claim.definition} as published: labels overlap, so too many rows of one person match them. Use Lattice, whose labels do "
            "not overlap, values='ranges' where all columns are known together, or keep fewer rows of each person with rows_per_person=."
        )


def _require_whole_table(judge: CutJudge, units: FrequencySet) -> None:
    """Raise :class:`Infeasible` if all rows in one group fail parts of the definition that no split can repair."""
    necessary = judge.needed
    if necessary is not None and not necessary.holds(units.groups().whole()):
        require_feasible(units.groups(), necessary)
        raise Infeasible(f"Even all rows in one group do not satisfy {necessary}.")
