"""Formats: the kinds of release there are. All that is particular to one kind is in its format, found by the manifest's ``format``.

Publishing, saving, verifying, counting, attacking and reporting are written once over :class:`Format`. A new kind of release is a subclass of
:class:`GroupFormat` or :class:`MechanismFormat` in a module of its own and a line in ``registry.py`` (or a call of ``rt.register``).
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
    """What evidence is asked for: a ``definition``, and what may be known beside the public tables.

    ``reference`` holds the whole table's histograms, ``people`` a population. Values that the ``naming`` definitions name and no published row has
    are absent, not unknown. ``earlier`` are the releases before this one, first to last, where a series is judged.
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
"""What every release of groups leaves open."""


@dataclass(frozen=True)
class Words:
    """A release in plain language: ``what`` it is, and the residual ``risks`` that come with its format.

    For the report: what the size of a ``group`` means to whoever looks for somebody, and what to know when ``attacked``.
    """

    what: str
    risks: tuple[str, ...] = ()
    group: str = ""
    attacked: str = ""


class Answer(Result, Protocol):
    """An answer to a counting query: an estimate, and between which ``bounds`` the true number lies."""

    @property
    def value(self) -> Any:
        """The estimate."""

    @property
    def standard_error(self) -> float | None:
        """The spread of the estimate in the model of its estimator; the model itself may be wrong."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Between which the true number lies, for certain or with a stated confidence."""


class Format(ABC):
    """One kind of release. It sees the public side only, so whatever it answers, anybody can compute.

    ``tables`` are the names of its public tables, the main one first. ``keeps`` are the kinds of definitions that can be claimed. ``roles`` are roles of columns that no column of the original table stands
    behind, such as a bucket. Tables that ``stream`` are judged where they lie when they do not fit in memory. Rows are ``sorted`` by all
    columns, or in an order of the format's ``own``, which :meth:`check` knows. ``alike`` says which records share the sensitive values that an attacker is left with. Releases that are ``chained`` name the one before them, so that their evidence
    shows a gap in a series by itself. ``row_noun`` is what a row of the main table is called where it is not the row of a person.
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
        """Why the definition cannot be claimed for this kind of release; None if it can. Publish asks first of all, and verify again."""
        return unkept(f"A release of format {self.name!r}", self.keeps, definition)

    def arranged(self, rows: Mapping[str, Rows], draft: Draft, table: Table) -> Mapping[str, Rows]:
        """Drafted rows with nothing in their values that tells how the original was ordered; the order of rows is settled later."""
        return rows

    @abstractmethod
    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Every column of the public ``rows`` with its role and type; a column without a role is refused."""

    def drafted(self, draft: Draft) -> tuple[ManifestColumn, ...]:
        """The columns of a draft as far as it describes them itself: enough for :meth:`seen`."""
        raise PolicyError(f"A draft of format {draft.format!r} is seen once it is published.")

    judges_links: ClassVar[bool] = False
    """Whether all rows that a pseudonym puts together are judged together: a person's rows are one record."""

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        """The table that shows declared columns, and the columns there by which records with the same labels are known; None where rows are not true rows."""
        return None

    @abstractmethod
    def check(self, public: PublicSide) -> None:
        """Whether manifest and tables fit together; a :class:`DataError` says where they do not. Sizes are looked at before anything is computed."""

    @abstractmethod
    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """What a definition is judged by, from the public side alone."""

    @abstractmethod
    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """What an adversary sees in public tables with these columns: labels, what they mean, groups."""

    def as_shown(self, public: PublicSide, frame: pl.DataFrame) -> pl.DataFrame | None:
        """True rows in the values by which the release would show them, so that both can be compared; None where the public side does not say which."""
        return frame

    def place_in_series(self, public: PublicSide) -> int | None:
        """The number of a release among those of a table that is published again and again, where its files say it; releases that say it need no numbers of the ledger to be put into order."""
        return None

    def attested(self, public: PublicSide) -> str:
        """What the publisher says about how the release was made and no file can show; empty where files show all that is claimed. Verify repeats it."""
        return ""

    @abstractmethod
    def words(self, public: PublicSide) -> Words:
        """What this release is, and the risks that remain because of its format."""

    @abstractmethod
    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """How many rows meet a condition, as well as the release can tell."""

    def figures(self, view: AdversaryView, groups: Groups) -> Sequence[Figure]:
        """Drawings of the groups for the report, where this kind of release has any of its own."""
        return ()

    def reader(self, public: PublicSide) -> Any:
        """The object that analysts of this kind of release work with; the public side itself if there is no other."""
        return public


@dataclass(frozen=True)
class GroupHistory:
    """A series as its public sides show it: the groups of each release, first to last."""

    releases: tuple[Groups, ...]


class GroupFormat(Format):
    """A release of true rows in groups: people of a group cannot be told apart in what a definition protects.

    ``hides_identity`` says whether people of a group look alike, so that quasi values do not single
    anybody out; ``shows`` what quasi columns are published as. The table ``labelled`` (the main one, if none is named) has the labels.
    """

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    hides_identity: ClassVar[bool] = True
    shows: ClassVar[PublishedAs] = "labels"
    labelled: ClassVar[str | None] = None

    def refusal(self, definition: Definition) -> str | None:
        if any(part.hides_identity for part in definition.parts()) and not self.hides_identity:
            return "It promises that quasi values single nobody out, but the release publishes them exactly."
        return super().refusal(definition)

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """The groups that the public tables show, for each set of columns that an adversary may hold, and what is told about those left out.

        A column that was published with a histogram to compare with is compared with that, any other with the published rows.
        """
        seen = public.seen
        columns = tuple(
            about.reference[column.name].column
            if column.name in about.reference
            else with_named_values(column, about.naming)
            for column in seen.true_groups.domain.columns
        )
        compared = columns_compared(about.definition, public.manifest.named("sensitive"))
        # Histograms of several columns are put together; where one is missing, the published rows stand for all.
        known = compared if all(column in about.reference for column in compared) else ()
        reference = {name: about.reference[name].counts for name in known}
        shown = {quasi: seen.known(quasi) for quasi in (*seen.sets, *own_sets(about.definition))}
        if about.definition.needs_population and about.people is not None:
            shown = {quasi: each.with_population(about.people) for quasi, each in shown.items()}
        bound = {quasi: each.labelled_groups.bound_to(columns, reference) for quasi, each in shown.items()}
        return Evidence(
            {quasi: bound[quasi] for quasi in seen.sets},
            bound,
            remainder=self.left_out(public),
            history=None
            if about.earlier is None
            else GroupHistory((*(each.groups for each in about.earlier), public.groups)),
        )

    def coarsened(self, public: PublicSide) -> str:
        """How numbers and dates beside the quasi columns were made coarser, as sentences after others; empty where none was."""
        told = [
            f"The value of {column.name!r} is {coarsening_from(column.coarsened).words()}."
            for column in public.manifest.columns
            if column.coarsened is not None
        ]
        return "".join(f" {sentence}" for sentence in told)

    def own_numbers(self, public: PublicSide) -> tuple[str, ...]:
        """The risk that numbers and dates beside the quasi columns are somebody's own: which, and for what share of the rows."""
        shares = {name: share for rows in public.rows.values() for name, share in _shares_alone(rows, public.manifest)}
        if not shares:
            return ()
        listed = ", ".join(f"{name!r} ({_percent(share)} of the rows)" for name, share in shares.items())
        return (
            f"Numbers or dates of these columns, as they are published, are one record's own: {listed}. An attacker who knows such a value of a person finds "
            "that record, however large its group.",
        )

    def missing_values(self, public: PublicSide) -> tuple[str, ...]:
        """What missing values tell and do not do, where quasi columns have some."""
        names = [
            column.name
            for column in public.manifest.columns
            if any(covers_missing(each) and not isinstance(each, Anything) for each in column.labels.values())
        ]
        if not names:
            return ()
        return (
            f"That a value is missing is published ({', '.join(map(repr, names))}), and whoever knows it of a person finds the person's group by it. Groups count rows that show "
            "the same labels: a row whose value is missing might be anybody's, but that was not counted as protecting anybody else.",
        )

    def left_out(self, public: PublicSide) -> dict[str, Groups]:
        """What the histograms of the whole table that the certificate declares tell about those left out: a group for each column."""
        declared = declared_reference(public)
        missing = {name: whole.unpublished(public.groups) for name, whole in declared.items()}
        return {
            name: Groups.single(rows, declared[name].counts, declared[name].column)
            for name, rows in missing.items()
            if rows.any()
        }

    def known(self, public: PublicSide) -> dict[str, Any]:
        """What a counting query may use besides tables and labels."""
        kinds = {column.name: column.kind for column in public.manifest.columns}
        # A declared domain says which values there can be, and nothing about missing ones (see _quasi_column).
        return {"kinds": kinds, "domains": public.manifest.domains, "may_miss": True}

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        main, own = rows[self._labels_in], self.own_columns(draft, list(table.sensitive))
        for name in own:
            if name in table.schema:
                raise PolicyError(
                    f"A release of format {self.name!r} has a column {name!r} of its own. Rename the column of that name."
                )
        quasi = self.labels_shown(rows, [name for name in main.schema if name in table.quasi])
        listed = {name: dtype for each in rows.values() for name, dtype in each.schema.items()}
        return tuple(
            self._quasi_column(table, draft, quasi[name])
            if name in table.quasi
            else ManifestColumn(
                name,
                own.get(name) or role_of(table, name),
                ValueType.published(dtype),
                coarsened=_told(table, name),
                reason=None if name in own else table.declared.get(name),
            )
            for name, dtype in listed.items()
        )

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        return self.tables[0], manifest.named("quasi")

    def labels_shown(self, rows: Mapping[str, Rows], quasi: Sequence[str]) -> Mapping[str, pl.Series]:
        """The labels that each quasi column shows, each at least once. Distinct rows are counted, which groups are made of later."""
        distinct, _ = rows[self._labels_in].counted(quasi)
        return {name: distinct[name] for name in quasi}

    @property
    def _labels_in(self) -> str:
        return self.labelled or self.tables[0]

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        """The columns that no column of the table stands behind, with their roles."""
        return {}

    def drafted(self, draft: Draft) -> tuple[ManifestColumn, ...]:
        sensitive = [column.name for column in draft.evidence.published.domain.columns]
        own = self.own_columns(draft, sensitive)
        listed = {name: dtype for rows in draft.tables.values() for name, dtype in rows.schema.items()}
        roles = {**dict.fromkeys(draft.meanings, "quasi"), **dict.fromkeys(sensitive, "sensitive"), **own}
        return tuple(
            ManifestColumn(name, roles.get(name, "declared"), ValueType.published(dtype), draft.meanings.get(name, {}))
            for name, dtype in listed.items()
        )

    def _quasi_column(self, table: Table, draft: Draft, series: pl.Series) -> ManifestColumn:
        name = series.name
        meanings = draft.meanings.get(name, {})
        labels = {label: meanings[label] for label in labels_of(series, meanings) if label in meanings}
        domain = draft.domains.get(name)
        # Whether values are missing depends on the data, so it is not part of what was declared.
        declared = [value for value in domain if value is not None] if domain is not None else None
        return ManifestColumn(name, "quasi", ValueType.published(table.schema[name]), labels, self.shows, declared)

    def check(self, public: PublicSide) -> None:
        if any(column.published != self.shows for column in public.manifest.columns if column.role == "quasi"):
            raise DataError(
                f"manifest.json: the quasi columns of a release of format {self.name!r} are published as {self.shows}."
            )
        self._check_labels(public)

    def _check_labels(self, public: PublicSide) -> None:
        """The labels that occur are exactly those that the manifest explains, and no two mean the same."""
        shown = self.labels_shown(public.rows, public.manifest.named("quasi"))
        for column in public.manifest.columns:
            if column.role != "quasi":
                continue
            occurring = set(labels_of(shown[column.name], column.labels))
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
        """Labels of a quasi column are written as their meanings are, and no two mean the same."""
        _check_texts(column)
        if len(set(column.labels.values())) != len(column.labels):
            raise DataError(f"The manifest gives two labels of column {column.name!r} the same meaning.")


class MechanismFormat(Format):
    """A release whose rows were drawn by a randomized mechanism: they are not true rows, and the plan of the mechanism is judged, not groups."""

    keeps: ClassVar[frozenset[Kind]] = frozenset({"plan"})
    order: ClassVar[Order] = "own"

    @abstractmethod
    def plan(self, public: PublicSide) -> MechanismPlan:
        """The plan that the rows were drawn by, as the manifest's details state it."""

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        return Evidence(plan=self.plan(public))


class ManifestDetails(Protocol):
    """What a format keeps in the manifest, as a value of its own."""

    def as_json(self) -> dict[str, Any]:
        """The details as plain data."""


Written = TypeVar("Written", bound=ManifestDetails)


def read_details(read: Callable[[Mapping[str, Any]], Written], written: Mapping[str, Any]) -> Written:
    """Details by their own reader; a :class:`DataError` where they cannot be understood, or are not written as they would be."""
    try:
        found = read(written)
    except ReticentError as problem:
        raise DataError(f"manifest.json, details: {problem}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise DataError(
            f"manifest.json: the details cannot be understood ({type(problem).__name__}: {problem})."
        ) from None
    if found.as_json() != written:
        raise DataError(
            "manifest.json: the details have entries that are not read, or are not written as Reticent writes them."
        )
    return found


def format_of(name: str) -> Format:
    """A format by name, imported when it is first asked for."""
    if name not in FORMATS:
        raise DataError(f"{name!r} is not a published format that this version knows ({', '.join(FORMATS)}).")
    return cast(Format, load("format", name))


def role_of(table: Table, name: str) -> str:
    """The role of a column that a method drafted; one that is not to be published is refused."""
    if name in table.quasi:
        return "quasi"
    if name in table.sensitive:
        return "sensitive"
    if name in table.declared:
        return "declared"
    if table.pseudonyms and name == PSEUDONYM:
        return "pseudonym"
    raise PolicyError(f"The method drafted the column {name!r}, which has no role that is published.")


def _shares_alone(rows: Rows, manifest: Manifest) -> Iterator[tuple[str, Fraction]]:
    """The columns of numbers or dates beside the quasi columns, with the share of rows whose value no other row has, where there are such."""
    if manifest.named("count"):
        return
    for name, dtype in rows.schema.items():
        if manifest.column(name).role in ("sensitive", "declared") and (dtype.is_numeric() or dtype.is_temporal()):
            values, times = rows.counted([name])
            alone = int(((times == 1) & values[name].is_not_null().to_numpy()).sum())
            if alone:
                yield name, Fraction(alone, int(times.sum()))


def _percent(share: Fraction) -> str:
    return "less than 0.1 %" if share < Fraction(1, 1000) else f"{float(100 * share):.1f} %"


def _told(table: Table, name: str) -> dict[str, Any] | None:
    """What the public is told of how a column was made coarser."""
    coarsening = table.coarsen.get(name)
    return None if coarsening is None else coarsening.told()


def _check_texts(column: ManifestColumn) -> None:
    """A label that is a value, a masked code, a stretch of whole numbers or the missing value is written in one way only.

    It is marked where another label is written so.
    """
    expected = dict(zip(column.labels, texts_of(list(column.labels.values()), column.kind), strict=True))
    for label, meaning in column.labels.items():
        if isinstance(meaning, Missing):
            # A value that is not published may be spelled so too, and then the label is marked all the same.
            expected[label] = NULL_LABEL + label.removeprefix(label.rstrip("'"))
    for label, text in expected.items():
        if text is not None and label != text and not (text in column.labels and label.rstrip("'") == text.rstrip("'")):
            raise DataError(
                f"The label {label!r} of column {column.name!r} does not fit the meaning that the manifest gives it."
            )
