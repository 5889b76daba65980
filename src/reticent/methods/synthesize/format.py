"""The format ``synthetic``: sampled rows by group, with the groups and the domain that were declared public, judged by the plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft
from reticent.definitions import Definition, ProbabilisticDP
from reticent.errors import DataError, PolicyError
from reticent.methods.synthesize.count_estimates import SyntheticCount, added_up, count_rows
from reticent.methods.synthesize.declared import (
    KEEP,
    KEEP_OF,
    SIZE,
    WEIGHT,
    DeclaredDomain,
    DeclaredGroups,
    named_keeps,
)
from reticent.methods.synthesize.details import SynthesisDetails
from reticent.methods.synthesize.groupwise_plan import AnyPlan, parts_of
from reticent.methods.synthesize.method import FORMAT
from reticent.methods.synthesize.urn import Ints
from reticent.release import ManifestColumn
from reticent.release.format import MechanismFormat, Words, read_details
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

ATTESTED = (
    "Mechanism attested, not checkable from files: that the rows were drawn by this plan, once, from the confidential table, and that groups, sizes and domain "
    "were public, is the publisher's word. What was checked: the plan's arithmetic, the size of every group, and that all values are in the domain."
)

_ROWS_AT_ONCE = 1_000_000


class SyntheticFormat(MechanismFormat):
    """Three tables: the sampled rows, the groups with their sizes, the domain with its weights. The value column has the
    role ``drawn``, the others are ``public``.
    """

    name: ClassVar[str] = FORMAT
    tables: ClassVar[tuple[str, ...]] = (FORMAT, "groups", "domain")
    roles: ClassVar[tuple[str, ...]] = ("drawn", "public")
    streams: ClassVar[bool] = True

    def refusal(self, definition: Definition) -> str | None:
        if isinstance(definition, ProbabilisticDP):
            return None
        return f"{definition} is not probabilistic differential privacy, the only guarantee of synthetic rows."

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: public ones, and the sampled value."""
        value = draft.details["value"]
        listed = {name: dtype for name in self.tables for name, dtype in rows[name].schema.items()}
        return tuple(
            ManifestColumn(name, "drawn" if name == value else "public", ValueType.published(dtype))
            for name, dtype in listed.items()
        )

    def details(self, public: PublicSide) -> SynthesisDetails:
        """Parse the details of a release; malformed ones raise a :class:`DataError`."""
        return read_details(SynthesisDetails.from_json, public.manifest.details)

    def declared(self, public: PublicSide) -> tuple[DeclaredGroups, DeclaredDomain]:
        """Return the groups and the domain in the public tables, in order."""
        value = self.details(public).value
        groups, domain = public.rows["groups"].frame(), public.rows["domain"].frame()
        if SIZE not in groups.columns or value not in domain.columns or value in groups.columns:
            raise DataError(
                f"The tables groups and domain must have the columns {SIZE!r} and {value!r}; they were changed after they were published."
            )
        keep_columns = set(domain.columns) - {value, WEIGHT, KEEP}
        if any(not name.startswith(KEEP_OF) for name in keep_columns):
            raise DataError("The table domain has unexpected columns.")
        weights, keeps = (domain[name].to_list() if name in domain.columns else None for name in (WEIGHT, KEEP))
        try:
            by_group = named_keeps(domain.select(sorted(keep_columns)))
            declarations = (
                DeclaredGroups.checked(groups),
                DeclaredDomain.checked(domain[value], weights, keeps, by_group),
            )
        except PolicyError as problem:
            raise DataError(f"The public tables are inconsistent. {problem}") from None
        if not declarations[0].frame.equals(groups) or not declarations[1].table().equals(domain):
            raise DataError("The tables groups and domain are not sorted; they were changed after they were published.")
        return declarations

    def plan(self, public: PublicSide) -> AnyPlan:
        """Return the plan of the noise that the release declares. Raises if it does not fit the groups and the domain."""
        details, (groups, domain) = self.details(public), self.declared(public)
        if not details.noise_of(groups) or not set(details.drawn) <= set(groups.sizes.tolist()):
            raise DataError(
                "manifest.json: the details have noise for other group sizes than those of the table groups."
            )
        try:
            return details.plan(groups, domain)
        except PolicyError as problem:
            raise DataError(f"The manifest and the table domain are inconsistent. {problem}") from None

    def check(self, public: PublicSide) -> None:
        """Check that every group has as many rows as its plan samples, with values of the domain, and that rows are sorted."""
        plan = self.plan(public)
        groups, domain = self.declared(public)
        drawn = np.array([plan.rows_drawn(size) for size in groups.sizes.tolist()])
        row_counts = np.zeros(len(groups.sizes), dtype=np.int64)
        last_cell = -1
        for group, code in self.coded(public, groups, domain):
            cells = group * len(domain.values) + code
            if len(cells) and (cells[0] < last_cell or (np.diff(cells) < 0).any()):
                raise DataError(f"The rows of {FORMAT} are not sorted; they were changed after they were published.")
            last_cell = int(cells[-1]) if len(cells) else last_cell
            row_counts += np.bincount(group, minlength=len(row_counts))
        wrong_groups = np.flatnonzero(row_counts != drawn)
        if len(wrong_groups):
            first = int(wrong_groups[0])
            raise DataError(
                f"{len(wrong_groups):,} groups do not have the planned number of synthetic rows: group {first + 1} has {int(row_counts[first]):,} rows and should have "
                f"{int(drawn[first]):,}."
            )

    def coded(self, public: PublicSide, groups: DeclaredGroups, domain: DeclaredDomain) -> Iterator[tuple[Ints, Ints]]:
        """Yield the rows in parts, as group and value indexes; an unknown group or value raises a :class:`DataError`."""
        value, group_columns = domain.values.name, groups.columns
        if set(public.rows[FORMAT].schema) != {*group_columns, value}:
            raise DataError(f"The table {FORMAT} must have the columns {', '.join([*group_columns, value])}.")
        for chunk in _batches(public.rows[FORMAT].chunks()):
            group, code = _places(chunk, groups.frame.select(group_columns)), _places(chunk, domain.values.to_frame())
            for indexes, column_names, kind in ((group, group_columns, "a group"), (code, [value], "a value")):
                if indexes.null_count():
                    row = chunk.filter(indexes.is_null()).row(0, named=True)
                    described = ", ".join(f"{key} = {row[key]!r}" for key in column_names)
                    raise DataError(f"A row of {FORMAT} has {kind} that was not declared: {described}.")
            yield group.to_numpy().astype(np.int64), code.to_numpy().astype(np.int64)

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        return AdversaryView.in_noise(rows[FORMAT].frame())

    def as_shown(self, public: PublicSide, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return true rows with the replacements for missing values and values outside the domain; None if these have no
        replacement (values sampled by part).
        """
        details, (_, domain) = self.details(public), self.declared(public)
        values = frame[details.value].cast(domain.values.dtype, strict=False)
        lost, outside = domain.strangers(values)
        if (outside.any() and details.elsewhere is None) or (lost.any() and details.missing is None):
            return None
        return frame.with_columns(domain.shown(values, details.elsewhere, details.missing))

    def attested(self, public: PublicSide) -> str:
        return ATTESTED

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        details, plan = self.details(public), self.plan(public)
        risks = [
            "Groups and their sizes are exact. They expose a person whose presence in a group is not publicly known.",
            "Another draw from the same table is another release: epsilons and deltas add up, and averaging many draws shows the table.",
        ]
        if plan.options.delta_scope == "per_person" and plan.delta:
            chance_of_any = min(float(plan.delta * plan.groups), 1.0)
            risks.append(
                f"delta = {float(plan.delta):.3g} is the risk of each person; that anybody at all in {plan.groups:,} groups is disclosed has a chance of up to {chance_of_any:.3g}."
            )
        if plan.real_share < 0.5:
            risks.append(
                f"Most rows are noise: about {plan.real_share:.1%} repeat real ones. Count with `reticent query`, which takes the noise out and states the error."
            )
        if plan.prior.kept is not None:
            risks.append(
                "Values that nobody of a group has stayed in its domain with public probabilities only. Which stayed is secret and must remain so: a value that was dropped is "
                "nobody's."
            )
        for label, reason in ((details.elsewhere, "is not in the domain"), (details.missing, "is missing")):
            if label is not None:
                risks.append(f"The value {label!r} also stands for people whose value {reason}.")
        if plan.drawn:
            risks.append(
                "Groups have another number of synthetic rows than of people; the table groups has the true sizes."
            )
        return Words(details.words(plan.synthetic_rows, plan.groups, plan), tuple(risks))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> SyntheticCount:
        """Estimate how many rows meet a condition; the noise is taken out."""
        if estimator != "uniform":
            raise PolicyError(f"A synthetic release has a single estimator, not {estimator!r}.")
        groups, domain = self.declared(public)
        parsed_condition = Condition.of(condition)
        plan, rows = self.plan(public), public.rows[FORMAT]
        return added_up(
            [
                count_rows(parsed_condition, part_plan, groups.some(group_indexes), domain, rows)
                for group_indexes, part_plan in parts_of(plan, groups)
            ]
        )


def _batches(chunks: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Yield rows in larger parts: each lookup builds an index of all declarations."""
    collected: list[pl.DataFrame] = []
    for chunk in chunks:
        collected.append(chunk)
        if sum(chunk_collected.height for chunk_collected in collected) >= _ROWS_AT_ONCE:
            yield pl.concat(collected)
            collected = []
    if collected:
        yield pl.concat(collected)


def _places(rows: pl.DataFrame, listed: pl.DataFrame) -> pl.Series:
    """Return the index of each row among the distinct rows of ``listed``, by its columns; null if absent."""
    if not listed.width:
        return pl.repeat(0, rows.height, eager=True)
    placed = listed.with_row_index("#place")
    return rows.select(listed.columns).join(placed, on=listed.columns, how="left", maintain_order="left")["#place"]


SYNTHETIC = SyntheticFormat()
