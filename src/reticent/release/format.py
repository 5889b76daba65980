"""Release formats. Everything specific to one kind of release is in its format, selected by the manifest's ``format``.

Publishing, saving, verifying, counting, attacking and reporting are written once over :class:`Format`. A new format is
a subclass of :class:`GroupFormat` or :class:`MechanismFormat` in its own module, and a line in ``registry.py`` (or a
call of ``rt.register``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar, cast

import polars as pl

from reticent.base.cards import Result
from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence, Groups, Kind, MechanismPlan
from reticent.definitions import GENERAL, Definition, columns_compared, own_sets, unkept
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.registry import FORMATS, load
from reticent.release.interval_widths import IntervalWidths
from reticent.release.manifest import Manifest, ManifestColumn, PublishedAs
from reticent.release.public_tables import labels_of
from reticent.release.reference_histogram import ReferenceColumn, declared_reference, with_named_values
from reticent.table import (
    NULL_LABEL,
    PSEUDONYM,
    Anything,
    Missing,
    Rows,
    Table,
    ValueType,
    coarsening_from,
    covers_missing,
    texts_of,
)

if TYPE_CHECKING:
    from reticent.base.figures import Figure
    from reticent.release.public import PublicSide

Order = Literal["sorted", "own"]


@dataclass(frozen=True)
class EvidenceRequest:
    """A request for evidence: a ``definition``, and knowledge in addition to the public tables.

    ``reference`` holds the whole table's histograms, ``people`` a population. Values that the ``naming`` definitions
    mention and no published row has are absent, not unknown. ``earlier`` are the prior releases in order, if a series
    is judged.
    """

    definition: Definition
    reference: Mapping[str, ReferenceColumn] = field(default_factory=dict)
    people: pl.DataFrame | None = None
    naming: tuple[Definition, ...] = ()
    earlier: tuple[PublicSide, ...] | None = None


CHOSEN = (
    "Groups, parameters, hierarchies or the method itself may have been chosen by looking at the data, for the least loss. Who knows how they are chosen "
    "can rule out tables for which the choice would have been another one (minimality)."
)
"""Residual risk of every group-based release."""


@dataclass(frozen=True)
class Words:
    """A release in plain language: ``what`` it is, and the residual ``risks`` of its format.

    For the report: what the size of a ``group`` means to an adversary, and what to know when ``attacked``.
    """

    what: str
    risks: tuple[str, ...] = ()
    group: str = ""
    attacked: str = ""


class Answer(Result, Protocol):
    """An answer to a counting query: an estimate, and ``bounds`` on the true number."""

    @property
    def value(self) -> Any:
        """Return the estimate."""

    @property
    def standard_error(self) -> float | None:
        """Return the standard error within the model of the estimator; the model itself may be wrong."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Return the bounds on the true number, certain or with a stated confidence."""


class Format(ABC):
    """One kind of release. A format reads the public side only, so anyone can compute what it returns.

    ``tables`` are the names of its public tables, the main one first. ``keeps`` are the kinds of definitions that can
    be claimed. ``roles`` are roles of columns without a counterpart in the original table, such as a bucket number.
    Tables that ``stream`` are judged out of core if they do not fit in memory. Rows are ``sorted`` by all columns, or
    in an order of the format's ``own``, which :meth:`check` knows. ``alike`` describes which records share the
    sensitive values that remain possible to an attacker. ``chained`` releases name their predecessor, so their evidence
    shows gaps in a series. ``row_noun`` is what a row of the main table is called if it is not a person's row.
    """

    name: ClassVar[str]
    tables: ClassVar[tuple[str, ...]]
    keeps: ClassVar[frozenset[Kind]]
    roles: ClassVar[tuple[str, ...]] = ()
    streams: ClassVar[bool] = False
    order: ClassVar[Order] = "sorted"
    chained: ClassVar[bool] = False
    alike: ClassVar[str] = GENERAL.alike
    row_noun: ClassVar[str] = "rows"

    def refusal(self, definition: Definition) -> str | None:
        """Return why the definition cannot be claimed for this format, or None. Checked first by publish, and again by verify."""
        return unkept(f"A release of format {self.name!r}", self.keeps, definition)

    def arranged(self, rows: Mapping[str, Rows], draft: Draft, table: Table) -> Mapping[str, Rows]:
        """Return drafted rows with no trace of the original row order in their values; the rows themselves are sorted later."""
        return rows

    @abstractmethod
    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return every column of the public ``rows`` with role and type; a column without a role is refused."""

    def drafted(self, draft: Draft) -> tuple[ManifestColumn, ...]:
        """Return the columns that a draft describes by itself: enough for :meth:`seen`."""
        raise PolicyError(f"A draft of format {draft.format!r} cannot be viewed before it is published.")

    judges_links: ClassVar[bool] = False
    """True if all rows linked by a pseudonym are judged together: a person's rows are one record."""

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        """Return the table that holds the declared columns and the columns that define classes of records; None if rows are not true rows."""
        return None

    @abstractmethod
    def check(self, public: PublicSide) -> None:
        """Check that manifest and tables agree; otherwise raise a :class:`DataError` with the location. Sizes are checked
        before anything is computed.
        """

    @abstractmethod
    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return the evidence by which a definition is judged, from the public side alone."""

    @abstractmethod
    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary's view of public tables with these columns: labels, their meanings, groups."""

    def as_shown(self, public: PublicSide, frame: pl.DataFrame) -> pl.DataFrame | None:
        """Return true rows recoded to the labels of the release, for comparison; None if the public side does not determine the labels."""
        return frame

    def place_in_series(self, public: PublicSide) -> int | None:
        """Return the number of a release within its series if its files state it; such releases can be ordered without the ledger."""
        return None

    def attested(self, public: PublicSide) -> str:
        """Return what the publisher attests about how the release was made that no file can show; empty if the files show
        every claim. Verify repeats it.
        """
        return ""

    @abstractmethod
    def words(self, public: PublicSide) -> Words:
        """Describe this release, and the residual risks of its format."""

    @abstractmethod
    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Estimate how many rows meet a condition."""

    def figures(self, view: AdversaryView, groups: Groups) -> Sequence[Figure]:
        """Return figures of the groups for the report, if the format has any."""
        return ()

    def interval_widths(self, public: PublicSide) -> Sequence[IntervalWidths]:
        """Return how precise the noisy figures are, for the report, if the format publishes some with intervals."""
        return ()

    def reader(self, public: PublicSide) -> Any:
        """Return the object that analysts use for this kind of release; by default the public side itself."""
        return public


@dataclass(frozen=True)
class GroupHistory:
    """A series as its public sides show it: the groups of each release, in order."""

    releases: tuple[Groups, ...]


class GroupFormat(Format):
    """A release of true rows in groups: a definition protects a person by the other members of the group.

    ``hides_identity``: members of a group share their quasi labels, so that these single out nobody. ``shows`` is the
    form in which quasi columns are published. The table ``labelled`` (default: the main one) has the labels.
    """

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    hides_identity: ClassVar[bool] = True
    shows: ClassVar[PublishedAs] = "labels"
    labelled: ClassVar[str | None] = None

    def refusal(self, definition: Definition) -> str | None:
        if any(part.hides_identity for part in definition.parts()) and not self.hides_identity:
            return "It requires that quasi values single out nobody, but this format publishes them exactly."
        return super().refusal(definition)

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return the groups in the public tables for each set of columns that an adversary may know, and the disclosed
        information about suppressed records.

        A column with a declared histogram is compared with that, any other with the published rows.
        """
        view = public.seen
        columns = tuple(
            about.reference[column.name].column
            if column.name in about.reference
            else with_named_values(column, about.naming)
            for column in view.true_groups.domain.columns
        )
        compared = columns_compared(about.definition, public.manifest.named("sensitive"))
        # Histograms of several columns are combined; if one is missing, the published rows are the reference for all.
        columns_with_reference = compared if all(column in about.reference for column in compared) else ()
        reference = {name: about.reference[name].counts for name in columns_with_reference}
        views = {quasi: view.known(quasi) for quasi in (*view.sets, *own_sets(about.definition))}
        if about.definition.needs_population and about.people is not None:
            views = {quasi: view_of_set.with_population(about.people) for quasi, view_of_set in views.items()}
        groups_by_columns = {
            quasi: view_of_set.labelled_groups.bound_to(columns, reference) for quasi, view_of_set in views.items()
        }
        return Evidence(
            {quasi: groups_by_columns[quasi] for quasi in view.sets},
            groups_by_columns,
            remainder=self.left_out(public),
            history=None
            if about.earlier is None
            else GroupHistory((*(side.groups for side in about.earlier), public.groups)),
        )

    def coarsened(self, public: PublicSide) -> str:
        """Describe how numbers and dates other than quasi columns were rounded, as sentences to append; empty if none were."""
        sentences = [
            f"The value of {column.name!r} is {coarsening_from(column.coarsened).words()}."
            for column in public.manifest.columns
            if column.coarsened is not None
        ]
        return "".join(f" {sentence}" for sentence in sentences)

    def own_numbers(self, public: PublicSide) -> tuple[str, ...]:
        """Return the risk that numbers and dates other than quasi columns are unique to a person: the columns, and the share of rows."""
        shares = {name: share for rows in public.rows.values() for name, share in _shares_alone(rows, public.manifest)}
        if not shares:
            return ()
        listed = ", ".join(f"{name!r} ({_percent(share)} of the rows)" for name, share in shares.items())
        return (
            f"Numbers or dates of these columns, as they are published, are one record's own: {listed}. An attacker who knows such a value of a person finds "
            "that record, however large its group.",
        )

    def missing_values(self, public: PublicSide) -> tuple[str, ...]:
        """Describe what missing values disclose, if quasi columns have any."""
        names = [
            column.name
            for column in public.manifest.columns
            if any(covers_missing(label) and not isinstance(label, Anything) for label in column.labels.values())
        ]
        if not names:
            return ()
        return (
            f"That a value is missing is published ({', '.join(map(repr, names))}), and an attacker who knows it of a person finds the person's group by it. Groups count rows that show "
            "the same labels: a row whose value is missing might be anybody's, but that was not counted as protecting anybody else.",
        )

    def left_out(self, public: PublicSide) -> dict[str, Groups]:
        """Return what the declared whole-table histograms disclose about suppressed records: one group per column."""
        declared = declared_reference(public)
        missing = {name: histogram.unpublished(public.groups) for name, histogram in declared.items()}
        return {
            name: Groups.single(rows, declared[name].counts, declared[name].column)
            for name, rows in missing.items()
            if rows.any()
        }

    def known(self, public: PublicSide) -> dict[str, Any]:
        """Return public knowledge for counting queries beyond tables and labels."""
        kinds = {column.name: column.kind for column in public.manifest.columns}
        # A declared domain lists the possible values and does not imply that none is missing (see _quasi_column).
        return {"kinds": kinds, "domains": public.manifest.domains, "may_miss": True}

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's entry for every public column: its role, type, labels of quasi columns, and declared reason.

        Refused if a column of the format's own has the name of a column of the table.
        """
        main, own_roles = rows[self._labels_in], self.own_columns(draft, list(table.sensitive))
        for name in own_roles:
            if name in table.schema:
                raise PolicyError(
                    f"A release of format {self.name!r} reserves the column name {name!r}. Rename the column of the table."
                )
        quasi = self.labels_shown(rows, [name for name in main.schema if name in table.quasi])
        types_by_name = {name: dtype for table_rows in rows.values() for name, dtype in table_rows.schema.items()}
        return tuple(
            self._quasi_column(table, draft, quasi[name])
            if name in table.quasi
            else ManifestColumn(
                name,
                own_roles.get(name) or role_of(table, name),
                ValueType.published(dtype),
                coarsened=_coarsening_of(table, name),
                reason=None if name in own_roles else table.declared.get(name),
            )
            for name, dtype in types_by_name.items()
        )

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        return self.tables[0], manifest.named("quasi")

    def labels_shown(self, rows: Mapping[str, Rows], quasi: Sequence[str]) -> Mapping[str, pl.Series]:
        """Return the labels that occur in each quasi column. Distinct rows are counted once here and reused for the groups."""
        distinct, _ = rows[self._labels_in].counted(quasi)
        return {name: distinct[name] for name in quasi}

    @property
    def _labels_in(self) -> str:
        return self.labelled or self.tables[0]

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        """Return the columns without a counterpart in the table, with their roles."""
        return {}

    def drafted(self, draft: Draft) -> tuple[ManifestColumn, ...]:
        """Return the columns of a draft that was not published: roles as far as the draft knows them."""
        sensitive = [column.name for column in draft.evidence.published.domain.columns]
        own_roles = self.own_columns(draft, sensitive)
        types_by_name = {name: dtype for rows in draft.tables.values() for name, dtype in rows.schema.items()}
        roles = {**dict.fromkeys(draft.meanings, "quasi"), **dict.fromkeys(sensitive, "sensitive"), **own_roles}
        return tuple(
            ManifestColumn(name, roles.get(name, "declared"), ValueType.published(dtype), draft.meanings.get(name, {}))
            for name, dtype in types_by_name.items()
        )

    def _quasi_column(self, table: Table, draft: Draft, series: pl.Series) -> ManifestColumn:
        """Return the manifest's entry for a quasi column: the labels that occur with their meanings, and its declared domain."""
        name = series.name
        meanings = draft.meanings.get(name, {})
        labels = {label: meanings[label] for label in labels_of(series, meanings) if label in meanings}
        domain = draft.domains.get(name)
        # Whether values are missing depends on the data, so it is not part of the declaration.
        declared = [value for value in domain if value is not None] if domain is not None else None
        return ManifestColumn(
            name,
            "quasi",
            kind=ValueType.published(table.schema[name]),
            labels=labels,
            published=self.shows,
            domain=declared,
        )

    def check(self, public: PublicSide) -> None:
        """Check that quasi columns are published in the way of this format, and that labels and manifest agree."""
        if any(column.published != self.shows for column in public.manifest.columns if column.role == "quasi"):
            raise DataError(
                f"manifest.json: the quasi columns of a release of format {self.name!r} are published as {self.shows}."
            )
        self._check_labels(public)

    def _check_labels(self, public: PublicSide) -> None:
        """Check that the labels that occur are exactly those that the manifest explains, and that no two have the same meaning."""
        label_series = self.labels_shown(public.rows, public.manifest.named("quasi"))
        for column in public.manifest.columns:
            if column.role != "quasi":
                continue
            occurring = set(labels_of(label_series[column.name], column.labels))
            for label in sorted(occurring - set(column.labels)):
                raise DataError(
                    f"Column {column.name!r} shows the label {label!r}, which the manifest does not explain."
                )
            for label in sorted(set(column.labels) - occurring):
                raise DataError(
                    f"The manifest explains the label {label!r} of column {column.name!r}, which does not occur."
                )
            self.check_spelling(column)

    def check_spelling(self, column: ManifestColumn) -> None:
        """Check that the labels of a quasi column are spelled as their meanings prescribe, and that no two have the same meaning."""
        _check_texts(column)
        if len(set(column.labels.values())) != len(column.labels):
            raise DataError(f"The manifest gives two labels of column {column.name!r} the same meaning.")


class MechanismFormat(Format):
    """A release whose rows were sampled by a randomized mechanism: rows are not true rows, and the mechanism's plan is judged instead of groups."""

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    order: ClassVar[Order] = "own"

    @abstractmethod
    def plan(self, public: PublicSide) -> MechanismPlan:
        """Return the mechanism's plan as stated in the manifest's details."""

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        return Evidence(plan=self.plan(public))


class ManifestDetails(Protocol):
    """A format's own part of the manifest, as a value object."""

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""


Written = TypeVar("Written", bound=ManifestDetails)


def read_details(read: Callable[[Mapping[str, Any]], Written], written: Mapping[str, Any]) -> Written:
    """Parse details; a :class:`DataError` if they are malformed or not in canonical form."""
    try:
        details = read(written)
    except ReticentError as problem:
        raise DataError(f"manifest.json, details: {problem}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise DataError(f"manifest.json: the details cannot be parsed ({type(problem).__name__}: {problem}).") from None
    if details.as_json() != written:
        raise DataError("manifest.json: the details have unknown entries, or are not in the form that Reticent writes.")
    return details


def format_of(name: str) -> Format:
    """Return a format by name; imported on first use."""
    if name not in FORMATS:
        raise DataError(f"{name!r} is not a published format that this version knows ({', '.join(FORMATS)}).")
    return cast(Format, load("format", name))


def role_of(table: Table, name: str) -> str:
    """Return the role of a drafted column; a column that must not be published is refused."""
    if name in table.quasi:
        return "quasi"
    if name in table.sensitive:
        return "sensitive"
    if name in table.declared:
        return "declared"
    if table.pseudonyms and name == PSEUDONYM:
        return "pseudonym"
    raise PolicyError(f"The method drafted the column {name!r}, whose role does not allow publishing it.")


def _shares_alone(rows: Rows, manifest: Manifest) -> Iterator[tuple[str, Fraction]]:
    """Yield the numeric and date columns other than quasi columns with the share of rows whose value is unique, if any."""
    if manifest.named("count"):
        return
    for name, dtype in rows.schema.items():
        if manifest.column(name).role in ("sensitive", "declared") and (dtype.is_numeric() or dtype.is_temporal()):
            values, multiplicities = rows.counted([name])
            unique_values = int(((multiplicities == 1) & values[name].is_not_null().to_numpy()).sum())
            if unique_values:
                yield name, Fraction(unique_values, int(multiplicities.sum()))


def _percent(share: Fraction) -> str:
    return "less than 0.1 %" if share < Fraction(1, 1000) else f"{float(100 * share):.1f} %"


def _coarsening_of(table: Table, name: str) -> dict[str, Any] | None:
    """Return the public description of how a column was rounded."""
    coarsening = table.coarsen.get(name)
    return None if coarsening is None else coarsening.told()


def _check_texts(column: ManifestColumn) -> None:
    """Check that a label for a value, a masked code, an integer range or the missing value has its one canonical spelling.

    A label is marked if another label is spelled the same.
    """
    expected = dict(zip(column.labels, texts_of(list(column.labels.values()), column.kind), strict=True))
    for label, meaning in column.labels.items():
        if isinstance(meaning, Missing):
            # An unpublished value may have this spelling too, and then the label is marked as well.
            expected[label] = NULL_LABEL + label.removeprefix(label.rstrip("'"))
    for label, text in expected.items():
        if text is not None and label != text and not (text in column.labels and label.rstrip("'") == text.rstrip("'")):
            raise DataError(
                f"The label {label!r} of column {column.name!r} does not match its meaning in the manifest."
            )
