"""The details of marginals in the manifest: the cells of every column, every noisy step, and conditions that were declared impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.base.privacy_cost import UNITS, ProtectedUnit
from reticent.conditions import Condition
from reticent.errors import DataError, PolicyError
from reticent.methods.marginals.domain_compression import Groups, MergedCells, rare_groups
from reticent.methods.marginals.plan import MarginalsPlan, NoisyStep
from reticent.methods.noisy_columns import ProtectedRecords, PublicColumn, combinations_of
from reticent.noise import WholeNoise
from reticent.table import to_plain

_MOST_COMBINATIONS = 1_000_000


@dataclass(frozen=True)
class MarginalsDetails:
    """The public ``columns``, the ``plan``, the selection of marginals (``select``), the privacy ``unit``, the number of records if it is public (``total``), and conditions that no
    record meets (``impossible``). Groups of rare cells (``merged``) are one cell each in marginals of several columns; marginals of one column count every cell."""

    columns: tuple[PublicColumn, ...]
    plan: MarginalsPlan
    select: str
    unit: ProtectedUnit
    total: int | None = None
    impossible: tuple[str, ...] = ()
    merged: Mapping[str, Groups] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise DataError(f"The unit must be one of {', '.join(UNITS)}, but it is {self.unit!r}.")
        if self.total is not None:
            whole(self.total, "total", low=0)
        names = {column.name for column in self.columns}
        for step in self.plan.steps:
            if set(step.columns) - names or len(set(step.columns)) < len(step.columns):
                raise DataError(f"A noisy step uses the columns {', '.join(step.columns)}, which are not all declared.")
        for condition in self.impossible:
            excluded(self.columns, condition)
        if set(self.merged) - names:
            raise DataError("Cells of a column are merged that is not declared.")
        _ = self._merged_columns

    @cached_property
    def by_name(self) -> dict[str, PublicColumn]:
        """The columns by name."""
        return {column.name: column for column in self.columns}

    @property
    def measured(self) -> tuple[NoisyStep, ...]:
        """The steps whose noisy counts are published, in their order."""
        return tuple(step for step in self.plan.steps if step.kind == "measure")

    @cached_property
    def _merged_columns(self) -> dict[str, PublicColumn]:
        columns = {name: self.by_name[name] for name in self.merged}
        return {name: MergedCells(columns[name].size, self.merged[name]).column(columns[name]) for name in columns}

    def counted_columns(self, columns: Sequence[str]) -> list[PublicColumn]:
        """Some columns with the cells that a marginal of them counts."""
        merged = self._merged_columns if len(columns) > 1 else {}
        return [merged.get(name, self.by_name[name]) for name in columns]

    def cells(self, columns: Sequence[str]) -> int:
        """The number of cells of a marginal of some columns."""
        return int(np.prod([column.size for column in self.counted_columns(columns)], dtype=object))

    def rare_groups(self, counts: Sequence[NDArray[np.int64]]) -> dict[str, Groups]:
        """The cells that are merged by the rule of MST, from the published ``counts`` of :attr:`measured`."""
        kept = {name for condition in self.impossible for name in Condition.of(condition).scope}
        groups: dict[str, Groups] = {}
        for step, noisy in zip(self.measured, counts, strict=True):
            name = step.columns[0]
            if len(step.columns) == 1 and name not in kept:
                deviation = WholeNoise(self.plan.currency, step.scale).deviation
                groups[name] = rare_groups(self.by_name[name], noisy, deviation)
        return {name: group for name, group in groups.items() if group}

    def words(self, records: int) -> str:
        """A description of the release for the public."""
        protected = ProtectedRecords(self.unit, self.plan.rows).words()
        total_words = "" if self.total is None else f" The number of records ({self.total:,}) is public."
        return (
            f"{records:,} synthetic records over {len(self.columns)} columns, drawn from a model that fits noisy counts of {len(self.measured)} marginals; the noisy counts are published "
            f"beside them. Noise hides {protected}.{total_words} No record is a real one."
        )

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""
        return {
            "columns": {column.name: to_plain(column.as_json()) for column in self.columns},
            "plan": self.plan.as_json(),
            "select": self.select,
            "unit": self.unit,
            "total": self.total,
            "impossible": list(self.impossible),
            **({"merged": to_plain(dict(self.merged))} if self.merged else {}),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> MarginalsDetails:
        """The details that :meth:`as_json` wrote."""
        return cls(
            tuple(PublicColumn.from_json(name, column) for name, column in written["columns"].items()),
            MarginalsPlan.from_json(written["plan"]),
            str(written["select"]),
            written["unit"],
            written["total"],
            tuple(map(str, written["impossible"])),
            {name: tuple(map(tuple, groups)) for name, groups in written.get("merged", {}).items()},
        )

    def in_order_of(self, names: Sequence[str]) -> MarginalsDetails:
        """The same details with the columns in the order of the published table, because JSON objects are unordered."""
        return replace(self, columns=tuple(self.by_name[name] for name in names))


def excluded(columns: Sequence[PublicColumn], condition: str) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The columns of a condition that no record meets, and the combinations of their cells in which every value meets it, one per row."""
    parsed = Condition.of(condition)
    by_name = {column.name: column for column in columns}
    parsed.check_names(by_name)
    concerned = [by_name[name] for name in parsed.scope]
    size = int(np.prod([column.size for column in concerned], dtype=object))
    if not concerned or size > _MOST_COMBINATIONS:
        raise PolicyError(
            f"impossible: {condition!r} is about {size:,} combinations of cells; name at most {_MOST_COMBINATIONS:,}, in one column or more."
        )
    codes = combinations_of([column.size for column in concerned])
    covers = parsed.covers(
        {column.name: codes[:, index] for index, column in enumerate(concerned)},
        {column.name: column.cells for column in concerned},
    )
    return tuple(column.name for column in concerned), codes[covers.certain]
