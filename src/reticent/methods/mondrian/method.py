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
        shown, published, left_out = self._least(run, units)
        asked = of_groups(run.asked, "Mondrian")
        cuts = ColumnCuts.of(run.table, units, asked, self._style) if order is None else None
        if cuts is not None:
            cut = cuts.best(run.context)
            if cut.loss < cuts.loss_of(shown.group, ~left_out.mask):
                shown = ShownGroups.of(units, cut.parts, self._style)
                published = PublishedGroups.of(run.table, run.definition, shown.groups, shown.seen, 0)
                left_out = SuppressedGroups(np.zeros(len(shown), dtype=bool))
        made = local_grouping(run, shown, published, left_out, order)
        _require_company(run.asked, made.evidence)
        return made

    @property
    def _plain(self) -> Mondrian:
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
            what = "ties='divide'" if self.ties == "divide" else "pseudonyms="
            return f"Mondrian: {what} needs all rows in memory, and this table is {table.read_how}. Pass engine='local' if the table fits in memory, or publish without it."
        several = rows_of_people("Mondrian", table, counts_people=True)
        if several is not None:
            return several
        if self.ties == "divide" and table.several_rows:
            return "ties='divide' would split the rows of one person; use ties='keep' where unit='person'."
        if self.ties == "divide" and definition.needs_population:
            wrong = next(part for part in definition.parts() if part.needs_population)
            return f"{wrong} compares with a population, whose people would fit both parts of a divided tie; use ties='keep'."
        return refused("Mondrian", table, definition) if self._style == "typical" else None

    def _units(self, run: GroupRun) -> tuple[FrequencySet, Ids | None]:
        """The units to split: points or, if ties may be divided, rows in a random order, which is returned too."""
        if self.ties == "keep":
            return count_table(run.table, run.context), None
        order = run.context.randomness.order(run.table.rows)
        return engine_of(run.table, run.context).single_rows(run.table, order), order

    def _least(self, run: GroupRun, units: FrequencySet) -> tuple[ShownGroups, PublishedGroups, SuppressedGroups]:
        """The groups of the local search or, if what is disclosed about their suppressed records fails the definition, the groups of the splits alone."""
        if self.effort != "quick":
            with suppress(Infeasible):
                return self._settled(run, units)
        return self._plain._settled(run, units)

    def _settled(self, run: GroupRun, units: FrequencySet) -> tuple[ShownGroups, PublishedGroups, SuppressedGroups]:
        """The groups and the suppressed ones, if what is disclosed about suppressed records satisfies the definition; else groups from splits without suppression."""
        shown, judge = self._recoded(run, units)
        kept = self._kept(shown, judge, run.sets, run.definition)
        allowed = int(self._limit * units.rows)
        published = PublishedGroups.of(run.table, run.definition, shown.groups, shown.seen, allowed)
        ways = list(published.ways(~kept))
        if ways:
            return shown, published, min(ways, key=lambda way: int(shown.groups.sizes[way.mask].sum()))
        if not self._limit:
            raise Infeasible(discloses_too_much(run.definition, int(shown.groups.sizes[~kept].sum())))
        return replace(self, suppression=0)._settled(run, units)

    def _recoded(self, run: GroupRun, units: FrequencySet) -> tuple[ShownGroups, CutJudge]:
        """The units in groups, and the judge of their splits. Columns that no adversary knows together are split independently."""
        divide, parts, weights = self.ties == "divide", [], column_weights(tuple(run.table.quasi), self.weights)
        for columns in apart(run.sets):
            narrow, place = narrowed(units, columns, single=divide)
            judge = CutJudge(narrow, run.definition, may_suppress=self._limit > 0)
            _require(judge, narrow)
            judge.require_start()
            own = weights[list(columns)]
            group = Partition(narrow, judge, self.split, divide, self._style, run.context, weights=own).run()
            if self.effort != "quick" and _may_overlap(judge):
                search = LocalSearch(narrow, judge, self.split, self._style, own, run.context)
                group = search.run(group, ROUNDS[self.effort], self.seconds)
            parts.append((columns, group[place]))
        return ShownGroups.of(units, parts, self._style), judge

    def _kept(
        self, shown: ShownGroups, judge: CutJudge, sets: Sequence[Columns], definition: GroupDefinition
    ) -> NDArray[np.bool_]:
        """A mask of the published groups: those that fail at the end of splitting are suppressed.

        Records that are suppressed for one set of columns are missing in the groups of the other sets, which are judged again.
        """
        sizes = shown.groups.sizes
        kept: NDArray[np.bool_] = sizes > 0
        if judge.wavering is None:
            return kept
        local = judge.wavering if judge.firm is None else judge.wavering & judge.firm
        while True:
            before = kept.copy()
            for columns in sets:
                mine, groups = shown.seen(columns, kept)
                kept[kept] = ~local.failing(groups)[mine]
                self._require_few(int(sizes[~kept].sum()), int(sizes.sum()), definition)
            if (kept == before).all():
                break
        lost = int(sizes[~kept].sum())
        if lost and not all(part.holds(shown.seen(columns, kept)[1]) for part in judge.together for columns in sets):
            raise Infeasible(
                f"Without the {lost} rows that cannot be published the rest does not satisfy {definition}. Weaken the definition, or use Lattice."
            )
        return kept

    def _require_few(self, lost: int, rows: int, definition: GroupDefinition) -> None:
        if lost > self._limit * rows or lost == rows:
            raise Infeasible(
                f"Cutting the table leaves {lost} of {rows} rows in groups that do not satisfy {definition}, and at most "
                f"{self._limit} of the rows may be left out. Allow more with suppression=, weaken the definition, or use Lattice."
            )


def _may_overlap(judge: CutJudge) -> bool:
    """Whether groups may be arbitrary sets of units with overlapping boxes, as in the local search. It does not count all rows of a person, or all people of a population, that match a box, and does not handle
    definitions that judge all groups together."""
    return not judge.units.owners and not judge.together and not judge.definition.needs_population


def _require_company(definition: Definition, evidence: Evidence) -> None:
    """Raise if the published labels fail a definition that the splits passed. If people have several rows, more rows of a person may match overlapping labels, such as hierarchy nodes, or the labels of few columns."""
    if not evidence.published.owners:
        return
    wrong = next((each for each in judged(definition, evidence) if not each.holds), None)
    if wrong is not None:
        raise Infeasible(
            f"The groups do not satisfy {wrong.definition} as published: labels overlap, so too many rows of one person match them. Use Lattice, whose labels do "
            "not overlap, values='ranges' where all columns are known together, or keep fewer rows of each person with rows_per_person=."
        )


def _require(judge: CutJudge, units: FrequencySet) -> None:
    """Raise :class:`Infeasible` if all rows in one group fail parts of the definition that no split can repair."""
    needed = judge.needed
    if needed is not None and not needed.holds(units.groups().whole()):
        require_feasible(units.groups(), needed)
        raise Infeasible(f"Even all rows in one group do not satisfy {needed}.")
