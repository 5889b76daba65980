"""In turn: what the other columns tell about a quasi column, which some know and others must not learn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from reticent.core import Columns, Evidence, Groups
from reticent.definitions.catalogue import definition_within
from reticent.definitions.claim_scope import GENERAL, ClaimScope, column_list
from reticent.definitions.definition import Assessment, GroupDefinition, Witness
from reticent.definitions.value_sets import named_columns
from reticent.errors import PolicyError, did_you_mean

if TYPE_CHECKING:
    from reticent.table import Table


@dataclass(frozen=True)
class InTurn(GroupDefinition):
    """For each of some quasi ``columns``: among records that are alike in all *other* quasi columns, its raw values pass ``inner``.

    Guarantee: an adversary who knows all other quasi columns of a person does not learn this one beyond what ``inner`` allows. For a column that some know, so that it
    must not single anybody out, and that is confidential to others. Not implied by k-anonymity: people who look alike may all be of one race. Adversary:
    knows all quasi values but one, of everybody. Monotone: merging labels merges records. Generalizing the column itself changes nothing, since its raw values
    are judged; generalizing the others does.

    The published files show it where the labels of the column stand for one value each; elsewhere it is the publisher's word.
    """

    columns: tuple[str, ...]
    inner: GroupDefinition | Mapping[str, Any] | Sequence[Mapping[str, Any]]

    local = False
    needs_sensitive = False
    needs_raw = True
    hides_identity = True
    own_family = True

    def __post_init__(self) -> None:
        columns = (self.columns,) if isinstance(self.columns, str) else self.columns
        object.__setattr__(self, "columns", named_columns(columns, "InTurn: columns"))
        object.__setattr__(self, "inner", definition_within(self.inner, "InTurn: inner"))
        for part in self.demand.parts():
            _require_about_values(part)

    @property
    def demand(self) -> GroupDefinition:
        """What the values of each column must pass."""
        return cast(GroupDefinition, self.inner)

    def counting(self, table: Table) -> Table:
        for name in self.columns:
            if name not in table.quasi:
                raise PolicyError(
                    f"InTurn names {name!r}, which is not a quasi column.{did_you_mean(name, table.quasi)} A sensitive column is protected by "
                    f"{self.demand} itself."
                )
        return super().counting(table)

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        failing = np.zeros(len(groups), dtype=bool)
        for _, ids, cells in self._cells(groups):
            failing |= self.demand.failing(cells)[ids]
        return failing & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        found: dict[str, Assessment] = {}
        for name, ids, cells in self._cells(groups):
            found[name] = self.demand.assess(cells)
            witness = found[name].witness
            if witness is not None:
                found[name] = replace(found[name], witness=_named(witness, name, groups, ids))
        first = next((each.witness for each in found.values() if each.witness is not None), None)
        values = {name: each.value for name, each in found.items()}
        value = values if len(values) > 1 else next(iter(values.values()))
        return Assessment(self, first is None, value, first, parts=tuple(found.values()) if len(found) > 1 else ())

    def in_each_group(self) -> GroupDefinition:
        """Records that are alike in the other columns are unions of groups."""
        return RawValuesInGroups(self.columns, self.demand)

    def not_shown(self, evidence: Evidence) -> str | None:
        for groups in evidence.groups.values():
            for name in self.columns:
                if groups.labels is None or groups.labels.column(name).raw is None:
                    return f"It is about the raw values of {name!r}, and published labels of that column stand for several values."
        return None

    def least_rows(self) -> int:
        return 1

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return " ".join(self._sentence(name, scope) for name in self.columns)

    def promise(self, scope: ClaimScope) -> str:
        return self.demand.promise(replace(scope, sensitive=self.columns))

    def guarded(self, sensitive: Columns) -> Columns:
        return ()

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        secret = replace(scope, sensitive=self.columns)
        return (
            f"An attacker who knows some people's {column_list(self.columns, 'or')} already may conclude more about the others. "
            f"{self.demand.not_covered(secret)}"
        )

    def __str__(self) -> str:
        return f"InTurn(columns={list(self.columns)}, inner={self.inner})"

    def _sentence(self, name: str, scope: ClaimScope) -> str:
        others = tuple(each for each in scope.quasi if each != name)
        about = replace(scope, quasi=others, sets=None, sensitive=(name,), declared=(*scope.declared, name))
        known = about.known() if others else f"the other columns of a {scope.target}"
        return (
            f"An attacker who knows {known}, and that the {scope.target} is in the table, {self.demand.promise(about)}."
        )

    def _cells(self, groups: Groups) -> Iterator[tuple[str, NDArray[np.int64], Groups]]:
        """For every column the cell of each group by its labels in the others, and the raw values of the column there."""
        if groups.owners:
            raise PolicyError(
                "InTurn counts records, and some people have several here. Keep one row of each with rows_per_person=1."
            )
        if groups.labels is None:
            raise PolicyError(f"{self} is judged on labels and raw values of columns, and these groups have none.")
        for name in self.columns:
            raw = groups.labels.column(name).raw
            if raw is None:
                raise PolicyError(f"{self} looks at the raw values of {name!r}, and these groups know its labels only.")
            ids, count = groups.labels.cells([each for each in groups.labels.names if each != name])
            yield name, ids, raw().merged(ids, count)


@dataclass(frozen=True)
class RawValuesInGroups(GroupDefinition):
    """The raw values of some quasi columns pass ``demand`` in every group: what :class:`InTurn` is kept by where groups are judged one by one."""

    columns: tuple[str, ...]
    demand: GroupDefinition

    needs_sensitive = False
    needs_raw = True
    hides_identity = True

    def failing(self, groups: Groups) -> NDArray[np.bool_]:
        failing = np.zeros(len(groups), dtype=bool)
        for each in self._values(groups):
            failing |= self.demand.failing(each)
        return failing & (groups.sizes > 0)

    def assess(self, groups: Groups) -> Assessment:
        found = [self.demand.assess(each) for each in self._values(groups)]
        witness = next((each.witness for each in found if each.witness is not None), None)
        return Assessment(self, witness is None, [each.value for each in found], witness)

    def least_rows(self) -> int:
        return self.demand.least_rows()

    def promise(self, scope: ClaimScope) -> str:
        return self.demand.promise(replace(scope, sensitive=self.columns))

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return self.demand.not_covered(replace(scope, sensitive=self.columns))

    def _values(self, groups: Groups) -> Iterator[Groups]:
        everything = np.arange(len(groups))
        for name in self.columns:
            raw = None if groups.labels is None else groups.labels.column(name).raw
            if raw is None:
                raise PolicyError(f"The raw values of {name!r} are not known in these groups. Use Lattice or Mondrian.")
            yield raw().merged(everything, len(groups))


def _named(witness: Witness, name: str, groups: Groups, ids: NDArray[np.int64]) -> Witness:
    """The witness of a cell with the labels that its records share."""
    assert groups.labels is not None
    group = int(np.argmax(ids == witness.group))
    others = [each for each in groups.labels.columns if each.name != name]
    shown = {each.name: each.texts[int(each.codes[group])] for each in others}
    return Witness(group, witness.text, {**witness.details, "column": name, "labels": shown})


def _require_about_values(part: GroupDefinition) -> None:
    fits = (
        part.needs_sensitive and part.monotone and part.local and not part.needs_reference and not part.needs_population
    )
    if fits and getattr(part, "column", None) is None and part.quasi is None and part.shown_by_files:
        return
    raise PolicyError(
        f"InTurn: {part} cannot be asked of a quasi column. It takes definitions about the values of a group that name no column, such as DistinctLDiversity(2) "
        "or ProbabilisticLDiversity(2).",
        setting=("inner",),
    )
