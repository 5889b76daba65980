"""A table about people: rows, and a role for every column."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Any, Literal, cast, get_args

import polars as pl

from reticent.base.cards import Card, ShownAsCard
from reticent.base.context import Context
from reticent.base.exact import whole
from reticent.base.frames import as_polars, as_type_of, is_pattern
from reticent.base.memory import fits
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.registry import FRAMES
from reticent.table.canonical_types import plain, plain_rows
from reticent.table.coarsening import Coarsening, Microaggregation, coarse_rows, coarsening_from
from reticent.table.codebook import TableCodebook
from reticent.table.column_names import column_name_sets, column_names
from reticent.table.declarations import declared_reasons
from reticent.table.hierarchies.hierarchy import BoundHierarchy, Hierarchy
from reticent.table.opener import opener, profiler
from reticent.table.rows import DistantRows, FrameRows, Rows, StreamRows, by_person, without_nulls
from reticent.table.sensitive import SensitiveColumn, SensitiveKind, bind_sensitive
from reticent.table.weights import Weights

Nulls = Literal["refuse", "drop", "category"]
Unit = Literal["row", "person", "household"]
EngineName = Literal["local", "streaming", "spark"]
PSEUDONYM = "pseudonym"
"""The published column of pseudonyms."""


class Table(ShownAsCard):
    """Rows about people with a role for each column. Immutable.

    Published columns count as known: a published column that is not sensitive is part of the adversary's knowledge, and is judged. A column
    without a role is not published.

    Parameters:
        frame: the rows: a frame of pandas, polars, Arrow, DuckDB or Spark, a mapping of columns, or rows of a source.

        quasi: columns that may link a row to a person, and are generalized; a list, or a mapping to hierarchies.
        sensitive: columns whose values must not be inferred about a person; a name, a list, or a mapping to hierarchies or orders.
        identifiers: columns that name people; dropped.
        declared: columns that the steward declares unknown to adversaries, with the reason: ``{"shoe_size": "nobody knows it"}``. They
            are published unchanged, and certificate, statement and ``verify`` name each with its reason.
        pseudonyms: identifiers for which a random name per person is published.
        private: columns that are never published, but that a definition may use (guarding nodes of personalized privacy).
        other: must be empty; it used to publish columns without judging them.

        key: the column that identifies people.
        unit: the unit of protection: ``"row"``, ``"person"`` or ``"household"``. By default the person if ``key`` has duplicates, or if
            an identifier has, which then becomes the key (of several, the one with most values; ``key_found`` is then true). k then
            counts people, however many rows they have and whether or not their quasi values vary between rows.
        household: the column that identifies households: k counts these as well.
        rows_per_person: keep at most this many rows of each person, evenly spread; ``rows_left_out`` is the number of
            suppressed rows.
        quasi_sets: several sets of quasi columns that an adversary may know, each of which the definition must withstand.

        nulls: ``"refuse"``, ``"drop"`` (rows with a missing value), or ``"category"`` (missing is a value of its own). If people
            have several rows, rows without a key are refused or suppressed: their owner is unknown.
        weight: the column with the number of people of a population that a row represents. It is never published and decides no verdict;
            measures of utility and population estimates use it (see :mod:`reticent.table.weights`).
        coarsen: how numbers and dates of sensitive and declared columns are rounded, such as ``{"income": Rounding(1000)}`` or
            ``{"income": {"kind": "round", "to": 1000}}`` (see :mod:`reticent.table.coarsening`). Everything else sees the rounded values only.

        dataset: the name of the data set in the ledger.
        engine: ``"local"`` holds the columns with a role in memory, ``"streaming"`` a chunk of rows at a time (then there is no ``frame``),
            ``"spark"`` processes a Spark frame in place. By default a lazy frame or a stream that would not fit into memory is
            streamed (see :mod:`reticent.base.memory`), and everything else is local.
        codebook: titles of columns and labels of codes of the source, for files of statistics packages; and codes read as missing.
        left_out: columns of the source that have no role and were not read.

    ``unit_declared`` is true if the steward declares that a row is a person although an identifier has duplicates and no key decides it:
    certificate, statement and ``verify`` then state that guarantees count records. ``exact_rows`` are the rows before ``coarsen``, if any
    column is coarsened: relations between columns are detected in them.

    ``population`` (made from ``population_source``) and ``extra_counts`` are what a definition needs counted in addition to the rows; it adds
    them itself (:meth:`with_population`, :meth:`with_extra_counts`), once: ``prepared_by`` lists these definitions.

    Example:
        >>> import reticent as rt
        >>> rows = {"name": ["Ann", "Bob"], "age": [31, 58], "illness": ["flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness", identifiers=["name"])
        >>> table.rows, table.unit
        (2, 'row')
    """

    def __init__(
        self,
        frame: Any,
        quasi: Sequence[str] | Mapping[str, Hierarchy | None] = (),
        sensitive: str | Sequence[str] | Mapping[str, SensitiveKind] = (),
        identifiers: Sequence[str] = (),
        other: Sequence[str] = (),
        key: str | None = None,
        weight: str | None = None,
        nulls: Nulls = "refuse",
        dataset: str | None = None,
        unit: Unit | None = None,
        quasi_sets: Sequence[Sequence[str]] | None = None,
        pseudonyms: Sequence[str] = (),
        left_out: Sequence[str] = (),
        engine: EngineName | None = None,
        private: Sequence[str] = (),
        coarsen: Mapping[str, Any] | None = None,
        codebook: TableCodebook | None = None,
        declared: Mapping[str, str] | None = None,
        household: str | None = None,
        rows_per_person: int | None = None,
    ) -> None:
        self.quasi: dict[str, Hierarchy] = _hierarchies(quasi)
        self.sensitive: dict[str, SensitiveKind] = _sensitive_kinds(sensitive)
        self.identifiers = column_names(identifiers, "identifiers")
        self.declared = declared_reasons(declared)
        _refuse_other(column_names(other, "other"))
        self.private = column_names(private, "private")
        self.pseudonyms = column_names(pseudonyms, "pseudonyms")
        self.key, self.weight, self.household = key, weight, household
        self.nulls: Nulls = nulls
        self.dataset, self.rows_per_person = dataset, rows_per_person
        self.unit: Unit = unit or ("household" if household is not None else "row")
        self.key_found, self.several_rows, self.rows_left_out = False, False, 0
        self.unit_declared = False
        self.exact_rows: Rows | None = None
        self.quasi_sets = column_name_sets(quasi_sets, "quasi_sets") if quasi_sets else None
        self.left_out = column_names(left_out, "left_out")
        self.codebook = codebook or TableCodebook()
        self.population: pl.DataFrame | None = None
        self.population_source: Any = None
        self.extra_counts: Mapping[str, pl.Series] = {}
        self.prepared_by: tuple[Any, ...] = ()
        self.first_row: int | None = 0
        self.coarsen: Mapping[str, Coarsening] = {
            name: coarsening_from(description, f"coarsen, column {name!r}")
            for name, description in _by_column(coarsen).items()
        }
        opened = self._opened(frame, engine)
        self._check_roles(opened.schema.names())
        self._check_types(opened.schema)
        rows_before = self._settle(opened)
        if self.rows == 0:
            raise DataError(
                "The table has no rows"
                + (" left after those with missing values were dropped" if rows_before else "")
                + ". There is nothing to publish; check the source."
            )
        self._settle_people(unit)

    def card(self) -> Card:
        """The number of rows, and the columns of each role."""
        roles = {
            "identifiers": self.identifiers,
            "quasi": tuple(self.quasi),
            "sensitive": tuple(self.sensitive),
            "declared": tuple(self.declared),
            "private": self.private,
            "not published": self.unpublished,
        }
        names_by_role = {role: ", ".join(names) for role, names in roles.items() if names}
        settings = {"data set": self.dataset, "unit": None if self.unit == "row" else self.unit, "key": self.key}
        return Card(
            "Table", {"rows": self.rows, **{name: value for name, value in settings.items() if value}, **names_by_role}
        )

    @property
    def streamed(self) -> bool:
        """True if the rows are never in memory together."""
        return self.held.engine != "local"

    @property
    def read_how(self) -> str:
        """How the rows are read, as part of a sentence: ``"streamed"``, or by which engine."""
        return "streamed" if self.held.engine == "streaming" else f"read by the engine {self.held.engine!r}"

    @property
    def frame(self) -> pl.DataFrame:
        """All rows. Raises for a streamed table, naming the engine to use."""
        return self.held.frame()

    @property
    def schema(self) -> pl.Schema:
        """The stored columns with their types."""
        return self.held.schema

    @property
    def rows(self) -> int:
        """The number of rows."""
        return self.held.height

    @property
    def carried(self) -> dict[str, Coarsening | None]:
        """The columns that are published in addition to the quasi columns, and how each was coarsened."""
        return {name: self.coarsen.get(name) for name in (*self.sensitive, *self.declared)}

    def values(self, name: str) -> pl.Series:
        """The values of a quasi or sensitive column, each at least once, for fitting hierarchies and domains."""
        return self.held.values(name)

    def parts(self) -> Iterator[Table]:
        """The rows as tables of one chunk each, with the hierarchies and domains of the whole."""
        _ = self.hierarchies, self.sensitive_columns
        first = 0
        for chunk in self.held.chunks():
            yield self.part(chunk, first)
            first += chunk.height

    def part(self, rows: pl.DataFrame, first: int | None = 0, *, weighted: bool = True) -> Table:
        """Some of the rows, from row ``first`` (None: unordered), with the hierarchies, domains and weights of the whole;
        people are not identified in it.
        """
        part = copy(self)
        if not weighted:
            part.weight = part.__dict__["weights"] = None
        part.held, part.first_row = FrameRows(rows), first
        part.key, part.household, part.unit, part.several_rows, part.population = None, None, "row", False, None
        return part

    @cached_property
    def hierarchies(self) -> tuple[BoundHierarchy, ...]:
        """The quasi columns' hierarchies, fitted to the data, in column order."""
        bound = []
        for name, hierarchy in self.quasi.items():
            series = self.values(name)
            missing = bool(series.null_count())
            fitted = hierarchy.bind(series, name)
            if self.population is not None and fitted.data_dependent:
                fitted = hierarchy.bind(pl.concat([series, self.population[name]]), name)
            bound.append(fitted.with_null_leaf() if missing else fitted)
        return tuple(bound)

    @cached_property
    def weights(self) -> Weights | None:
        """The row weights, if any."""
        return None if self.weight is None else Weights.of(self.held, self.weight)

    def with_population(self, people: Any) -> Table:
        """The table with the ``people`` it was sampled from: a table or a frame with the same quasi columns.

        Domains that come from the data then come from both, and every group is counted in both.
        """
        listed = people.frame if isinstance(people, Table) else as_polars(people)
        columns = []
        for name, hierarchy in self.quasi.items():
            if name not in listed.columns:
                raise DataError(
                    f"The population has no column {name!r}.{did_you_mean(name, listed.columns)} It needs the quasi columns "
                    f"of the table: {', '.join(map(repr, self.quasi))}."
                )
            columns.append(as_type_of(plain(listed[name], hierarchy), self.schema[name]))
        beside = copy(self)
        beside.__dict__.pop("hierarchies", None)
        beside.population, beside.population_source = pl.DataFrame(columns), people
        return beside

    def against_all(self) -> Table:
        """The same table for an adversary who may know all quasi columns together."""
        together = copy(self)
        together.quasi_sets = None
        return together

    def only(self, rows: pl.Series) -> Table:
        """The table restricted to some rows, with hierarchies and domains of its own."""
        some = copy(self)
        for cached in ("hierarchies", "sensitive_columns", "weights"):
            some.__dict__.pop(cached, None)
        some.held = FrameRows(self.frame.filter(rows))
        return some

    def without_declared(self) -> Table:
        """The same table without declared columns."""
        narrow = copy(self)
        narrow.declared = {}
        return narrow

    def with_roles_for(self, quasi: Iterable[str], sensitive: Iterable[str]) -> Table:
        """The same rows with fewer quasi and sensitive columns, whose hierarchies and domains are those of this table; the others lose their role."""
        fewer = copy(self)
        bound = {hierarchy.column: hierarchy for hierarchy in self.hierarchies}
        domains = {column.name: column for column in self.sensitive_columns}
        fewer.quasi = {name: self.quasi[name] for name in quasi}
        fewer.sensitive = {name: self.sensitive[name] for name in sensitive}
        fewer.__dict__["hierarchies"] = tuple(bound[name] for name in fewer.quasi)
        fewer.__dict__["sensitive_columns"] = tuple(domains[name] for name in fewer.sensitive)
        return fewer

    def without_sensitive(self) -> Table:
        """The same table without sensitive columns, for grouping by quasi values only."""
        bare = copy(self)
        bare.__dict__.pop("sensitive_columns", None)
        bare.sensitive = {}
        return bare

    def with_extra_counts(self, counts: Mapping[str, pl.Series]) -> Table:
        """The same table with additional integers per row, which are summed by group."""
        self._refuse_streamed("A definition that counts something of its own in every row")
        more = copy(self)
        more.extra_counts = {**self.extra_counts, **counts}
        return more

    def watched(self, context: Context, stage: str) -> Table:
        """The same table; if it is streamed, a pass over its rows reports progress and can be cancelled."""
        if not context.watched or not isinstance(self.held, StreamRows | DistantRows):
            return self
        _ = self.hierarchies, self.sensitive_columns
        result = copy(self)
        result.held = self.held.watched(context, stage)
        return result

    def with_preparation(self, definition: Any) -> Table:
        """The same table, marked as prepared by ``definition``."""
        marked = copy(self)
        marked.prepared_by = (*self.prepared_by, definition)
        return marked

    @property
    def counted_as(self) -> Hashable:
        """The cache key of a count of the rows: tables with equal keys have the same frequency set. Valid while the table is alive."""
        extra = tuple((name, id(counts)) for name, counts in self.extra_counts.items())
        shared = (self.held, self.population, self.quasi, self.sensitive)
        return (*map(id, shared), extra, self.key, self.household, self.unit, self.weight, self.first_row)

    @cached_property
    def sensitive_columns(self) -> tuple[SensitiveColumn, ...]:
        """The sensitive columns with their domains."""
        return tuple(bind_sensitive(name, kind, self.values(name)) for name, kind in self.sensitive.items())

    @property
    def unpublished(self) -> tuple[str, ...]:
        """Columns without a role, which are not published."""
        roles = {*self.quasi, *self.sensitive, *self.identifiers, *self.declared, *self.private, *self._beside}
        return tuple(name for name in [*self.schema, *self.left_out] if name not in roles)

    def people(self) -> Iterator[pl.DataFrame]:
        """The key and, if a person may have several rows, the quasi values of all rows; all rows of a person are in one frame."""
        assert self.key is not None
        columns = [self.key] if self.unit == "row" else list(dict.fromkeys([self.key, *self.quasi]))
        yield from by_person(self.held, columns, self.key)

    @property
    def owners(self) -> dict[str, str]:
        """The owner column for each protected unit (person, household), if an owner may have several rows. Empty if rows are owners."""
        if not self.several_rows:
            return {}
        named = {"person": self.key, "household": self.household if self.unit == "household" else None}
        return {unit: column for unit, column in named.items() if column is not None}

    @property
    def linked(self) -> bool:
        """True if a published pseudonym links rows of one person."""
        return bool(self.pseudonyms) and self.several_rows

    @property
    def _beside(self) -> tuple[str, ...]:
        """The columns needed in addition to those with a role."""
        return tuple(name for name in (self.key, self.household, self.weight) if name is not None)

    def _opened(self, source: Any, engine: EngineName | None) -> Rows:
        """The source as rows in memory or as a stream, as requested or as it fits."""
        check_engine(engine)
        if isinstance(source, DistantRows):
            return cast(Rows, source)
        owner = _owner(source, engine)
        if owner is not None:
            machine = opener(owner)
            return machine.open(source, self._wanted(machine.columns(source)))
        if engine == "streaming" and not isinstance(source, pl.LazyFrame | Rows):
            source = StreamRows.of_frame(as_polars(source))
        if isinstance(source, pl.LazyFrame):
            names = self._wanted(source.collect_schema())
            rows = source.select(names)
            if engine is None:
                counted = int(source.select(pl.len()).collect(engine="streaming").item())
                engine = "local" if fits(counted, len(names)) else "streaming"
            return StreamRows.of_lazy(rows) if engine == "streaming" else FrameRows(self._collected(rows))
        if isinstance(source, StreamRows):
            names = self._wanted(source.schema)
            if engine == "local":
                empty = pl.DataFrame(schema=source.schema).select(names)
                return FrameRows(pl.concat([empty, *source.chunks(names)]))
            return StreamRows(pl.Schema({name: source.schema[name] for name in names}), source.make)
        return source if isinstance(source, Rows) else FrameRows(as_polars(source))

    def _wanted(self, available: Collection[str]) -> list[str]:
        """The columns with a role. Others are not read."""
        self._check_roles(list(available))
        with_role = (*self.quasi, *self.sensitive, *self.declared, *self.identifiers, *self.private, *self._beside)
        names = list(dict.fromkeys(with_role))
        self.left_out = (*self.left_out, *(name for name in available if name not in names))
        return names

    def _collected(self, rows: pl.LazyFrame) -> pl.DataFrame:
        """A query's rows, streamed into memory, with repeated text stored as codes: a fifth of the memory, or less."""
        schema = rows.collect_schema()
        repeated = [name for name in (*self.quasi, *self.sensitive) if schema[name] == pl.String]
        return rows.with_columns(pl.col(repeated).cast(pl.Categorical)).collect(engine="streaming")

    def _refuse_streamed(self, what: str) -> None:
        """Raise if the rows are streamed; ``what`` needs them in memory."""
        if self.streamed:
            raise PolicyError(
                f"{what} needs all rows in memory, and this table is {self.read_how}. Pass engine='local' if the table fits in memory."
            )

    def _check_roles(self, columns: Sequence[str]) -> None:
        """Check that every column has one role and exists, and that the settings that name columns fit these roles."""
        roles: dict[str, str] = {}
        columns_by_role = [
            *((name, "quasi") for name in self.quasi),
            *((name, "sensitive") for name in self.sensitive),
            *((name, "identifier") for name in self.identifiers),
            *((name, "declared") for name in self.declared),
            *((name, "private") for name in self.private),
        ]
        for name, role in columns_by_role:
            if name in roles:
                raise PolicyError(
                    f"Column {name!r} is {roles[name]} and {role} at once. Give it one role.", column=name
                )
            roles[name] = role
        for name in [*roles, *self._beside]:
            if name not in columns:
                raise DataError(
                    f"There is no column {name!r}.{did_you_mean(name, columns)} The columns are: {', '.join(map(repr, columns))}.",
                    column=name,
                )
            if is_pattern(name):
                raise DataError(
                    f"Column {name!r} has a name that polars takes for a pattern of names. Rename the column.",
                    column=name,
                )
        for name in self.coarsen:
            if name not in self.sensitive and name not in self.declared:
                raise PolicyError(
                    f"coarsen names {name!r}, which is neither sensitive nor declared.{did_you_mean(name, [*self.sensitive, *self.declared])} Quasi columns "
                    "are generalized along their hierarchies.",
                    setting=("coarsen", name),
                    column=name,
                )
        for name in self.pseudonyms:
            if name not in self.identifiers:
                raise PolicyError(
                    f"pseudonyms names {name!r}, which is not an identifier.{did_you_mean(name, self.identifiers)}",
                    setting=("pseudonyms",),
                    column=name,
                )
        if self.nulls not in ("refuse", "drop", "category"):
            raise PolicyError(
                f"nulls must be 'refuse', 'drop' or 'category', but it is {self.nulls!r}.",
                setting=("nulls",),
                value=self.nulls,
            )
        self._check_unit()
        for columns_of_set in self.quasi_sets or ():
            for name in columns_of_set:
                if name not in self.quasi:
                    raise PolicyError(
                        f"quasi_sets names {name!r}, which is not a quasi column.{did_you_mean(name, self.quasi)}",
                        setting=("quasi_sets",),
                        column=name,
                    )
        if self.quasi_sets is not None:
            uncovered = set(self.quasi) - {name for columns_of_set in self.quasi_sets for name in columns_of_set}
            if uncovered:
                raise PolicyError(
                    f"quasi_sets does not contain the quasi column {sorted(uncovered)[0]!r}: no guarantee would cover adversaries who know it.",
                    setting=("quasi_sets",),
                    column=sorted(uncovered)[0],
                )

    def _check_types(self, schema: pl.Schema) -> None:
        """Raise for a quasi or sensitive column whose values cannot be compared or generalized."""
        for name in [*self.quasi, *self.sensitive]:
            dtype = schema[name]
            if dtype.is_nested() or dtype in (pl.Object, pl.Binary, pl.Duration):
                advice = {
                    pl.Duration: "Convert it to a number, such as days or hours",
                    pl.Binary: "Convert it to text",
                }.get(dtype.base_type(), "Convert it to plain columns first")
                raise DataError(
                    f"Column {name!r} has type {dtype}, whose values cannot be compared or generalized. {advice}, or drop it.",
                    column=name,
                )

    def _settle(self, rows: Rows) -> int:
        """Store the rows: judged columns get canonical types (NaN becomes null), then nulls in them are refused, dropped
        or kept as a category.

        Returns the number of rows before.
        """
        kinds = {**self.quasi, **self.sensitive}
        judged = list(kinds)
        rows = plain_rows(rows, kinds)
        if self.coarsen:
            self.exact_rows = rows
        self.coarsen = {name: self._fitted(rows, name, coarsening) for name, coarsening in self.coarsen.items()}
        self.held, missing = self._profiled(coarse_rows(rows, self.coarsen), judged)
        rows_before = self.held.height
        if missing and self.nulls == "drop":
            self.held, missing = self._profiled(without_nulls(self.held, list(missing)), judged)
        if self.nulls == "refuse":
            for name in (name for name in judged if name in missing):
                count, first = missing[name]
                location = "" if first is None else f", the first in row {first + 1}"
                raise DataError(
                    f"Column {name!r} has {count} missing values{location}. Use nulls='drop' to drop "
                    "such rows, or nulls='category' to treat 'missing' as a value of its own.",
                    setting=("nulls",),
                    column=name,
                )
        return rows_before

    @staticmethod
    def _fitted(rows: Rows, name: str, coarsening: Coarsening) -> Coarsening:
        """Return a coarsening with what it takes from the data, such as the steps of microaggregation. Raises if that needs all rows in memory."""
        if rows.engine != "local" and isinstance(coarsening, Microaggregation):
            how = "streamed" if rows.engine == "streaming" else f"read by the engine {rows.engine!r}"
            raise PolicyError(
                f"coarsen, column {name!r}: microaggregation needs all rows in memory, and this table is {how}. Use kind = 'round' or 'digits', "
                "or engine='local' if the table fits in memory.",
                setting=("coarsen", name),
            )
        empty = pl.Series(name, [], dtype=rows.schema[name])
        return coarsening.fitted(empty if rows.engine != "local" else rows.frame()[name])

    @staticmethod
    def _profiled(rows: Rows, columns: Sequence[str]) -> tuple[Rows, Mapping[str, tuple[int, int | None]]]:
        """The rows with the profile of one pass, and the columns with nulls: their number, and the index of the first."""
        profile = profiler(rows.engine).profile(rows, columns)
        return rows.profiled(profile) if isinstance(rows, StreamRows | DistantRows) else rows, profile.missing

    def _check_unit(self) -> None:
        """Check that the unit of protection and the columns that identify people or households fit together."""
        if self.unit not in get_args(Unit):
            raise PolicyError(
                f"unit must be 'row', 'person' or 'household', but it is {self.unit!r}.",
                setting=("unit",),
                value=self.unit,
            )
        if self.unit == "household" and self.household is None:
            raise PolicyError(
                "unit='household' needs household=, the column that identifies households.", setting=("unit",)
            )
        if self.unit != "household" and self.household is not None:
            raise PolicyError(
                f"household={self.household!r} is for unit='household', but the unit is {self.unit!r}. Omit one of them.",
                setting=("unit",),
                value=self.unit,
            )
        if self.rows_per_person is not None:
            whole(self.rows_per_person, "rows_per_person", low=1)

    def _settle_people(self, requested: Unit | None) -> None:
        """Determine the owners of rows: the key and the unit, if not given, and whether an owner has several rows."""
        _ = self.weights
        if self.key is None and requested != "row":
            self._find_key()
        self._leave_out_ownerless()
        repeats = self._repeats(self.key) if self.key is not None else False
        if requested is None and repeats and self.unit == "row":
            self.unit = "person"
        if self.unit == "person" and self.key is None:
            raise PolicyError("unit='person' needs key=, the column that identifies people.", setting=("unit",))
        if self.unit == "row":
            self._check_rows_are_people(repeats)
            # A key without duplicates proves that rows are people; names of different people may coincide.
            self.unit_declared = self.key is None and any(
                self._values_if_repeated(name) is not None for name in self.identifiers
            )
            return
        if self.household is not None and self._repeats(self.household):
            repeats = True
        if self.rows_per_person is not None and repeats:
            self._keep_some_rows(self.rows_per_person)
            repeats = any(self._repeats(name) for name in (self.key, self.household) if name is not None)
        self.several_rows = repeats
        if repeats and self.pseudonyms and self.pseudonyms != (self.key,):
            raise PolicyError(
                f"The pseudonyms of {', '.join(map(repr, self.pseudonyms))} would link rows, but people are identified by {self.key!r}. If people have several rows, pseudonyms must be "
                "those of the key: omit pseudonyms=, or name the key there.",
                setting=("pseudonyms",),
            )
        if repeats and self.streamed:
            self._check_same_quasi()

    def _find_key(self) -> None:
        """Choose an identifier with duplicates as the key; of several, the one with most values."""
        names = [name for name in self.identifiers if name != self.household]
        candidates = {name: values for name in names if (values := self._values_if_repeated(name)) is not None}
        if candidates:
            self.key, self.key_found = max(candidates, key=lambda name: candidates[name]), True

    def _leave_out_ownerless(self) -> None:
        """Suppress rows without an owner, if other rows have one, people have several rows, and missing values are not refused."""
        if self.nulls == "refuse" or self.streamed:
            return
        for name in (self.key, self.household):
            if name is not None and self.frame[name].null_count() and self._values_if_repeated(name) is not None:
                rows = self.frame.filter(pl.col(name).is_not_null())
                self.rows_left_out += self.rows - rows.height
                self.held = FrameRows(rows)

    def _repeats(self, name: str) -> bool:
        """True if a column that identifies people or households has duplicates. Raises if values are missing."""
        repeats = False
        for rows in by_person(self.held, [name], name):
            keys = rows[name]
            if keys.null_count():
                setting = "household" if name == self.household else "key"
                why = f"Column {name!r} has duplicates, so it is used as the key that identifies people, but it"
                raise DataError(
                    f"{why if self.key_found else f'The {setting} column {name!r}'} has missing values; every row needs an owner."
                    + (" Fill them in, or pass unit='row' if every row is a person." if self.key_found else ""),
                    setting=(setting,),
                    column=name,
                )
            repeats = repeats or keys.n_unique() < len(keys)
        return repeats

    def _values_if_repeated(self, name: str) -> int | None:
        """The number of values of an identifier, if it has duplicates."""
        values, repeats = 0, False
        for rows in by_person(self.held, [name], name):
            present = rows[name].drop_nulls()
            distinct = present.n_unique()
            values, repeats = values + distinct, repeats or distinct < len(present)
        return values if repeats else None

    def _check_rows_are_people(self, repeats: bool) -> None:
        """Raise if rows are taken for people although a key or pseudonym shows that several rows are one person."""
        if repeats:
            name = str(self.key)
            keys = next(rows[name] for rows in self.people() if rows[name].is_duplicated().any())
            repeated = keys.filter(keys.is_duplicated())[0]
            raise DataError(
                f"The key {self.key!r} has duplicates: {repeated!r} has several rows, but every row counts as a person. "
                "Use unit='person' so that k counts people, or keep one row per person.",
                setting=("key",),
                column=self.key,
                value=repeated,
            )
        if self.pseudonyms and not self.streamed and self.frame.select(self.pseudonyms).is_duplicated().any():
            raise DataError(
                f"The pseudonym of {', '.join(map(repr, self.pseudonyms))} would have duplicates: it links rows of one person, and unit='row' counts every row as another "
                f"person. Omit pseudonyms=, or pass unit='person' with key={self.pseudonyms[0]!r}, so that the person's rows are judged together.",
                setting=("pseudonyms",),
                column=self.pseudonyms[0],
            )

    def _keep_some_rows(self, limit: int) -> None:
        """Keep at most ``limit`` rows of an owner, evenly spread over the rows in order."""
        self._refuse_streamed("rows_per_person=")
        owner = pl.col(self.key if self.key is not None else str(self.household))
        rank, count = pl.int_range(pl.len()).over(owner), pl.len().over(owner)
        is_kept = (count <= limit) | ((rank + 1) * limit // count > rank * limit // count)
        rows = self.frame.filter(is_kept)
        self.rows_left_out += self.rows - rows.height
        self.held = FrameRows(rows)

    def _check_same_quasi(self) -> None:
        """Raise if a streamed table has people whose quasi values vary between rows."""
        if self.unit == "household":
            self._refuse_streamed("unit='household'")
        name = str(self.key)
        for rows in self.people():
            distinct = rows.unique()
            if distinct.height > distinct[name].n_unique():
                person = distinct.filter(pl.col(name).is_duplicated())[name][0]
                raise DataError(
                    f"The rows of {self.key} {person!r} differ in their quasi columns. To count people whose quasi values change, all rows must be in memory, and this "
                    f"table is {self.read_how}. Pass engine='local' if the table fits in memory, or give all rows of a person the same quasi values."
                    + (f" If {name!r} does not identify people, pass unit='row'." if self.key_found else ""),
                    setting=("engine",),
                    column=self.key,
                )


def check_engine(engine: str | None) -> None:
    """Raise unless the engine is one of the three names or None (chosen by size)."""
    if engine not in (None, *get_args(EngineName)):
        raise PolicyError(
            f"engine must be 'local', 'streaming' or 'spark', but it is {engine!r}.", setting=("engine",), value=engine
        )


def _owner(source: Any, engine: EngineName | None) -> str | None:
    """The engine that opens a source itself, if any: that of frames of its package, or the requested one."""
    owner = FRAMES.get(type(source).__module__.partition(".")[0])
    if owner is not None and engine not in (None, owner):
        raise PolicyError(
            f"A frame of {type(source).__module__.partition('.')[0]} is read by engine={owner!r}, not by {engine!r}. Omit engine=, or collect the rows first.",
            setting=("engine",),
            value=engine,
        )
    if engine not in FRAMES.values():
        return owner
    # Checked last: isinstance with Rows reads its properties, and the height of a stream costs a pass.
    return None if isinstance(source, Rows) else engine


def _hierarchies(quasi: Sequence[str] | Mapping[str, Hierarchy | None]) -> dict[str, Hierarchy]:
    """Return the hierarchy of every quasi column; suppression for those without one."""
    listed = column_names(quasi, "quasi")
    named = {name: quasi[name] for name in listed} if isinstance(quasi, Mapping) else dict.fromkeys(listed)
    for name, hierarchy in named.items():
        if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
            raise PolicyError(f"quasi[{name!r}] must be a Hierarchy or None, but it is {hierarchy!r}.", column=name)
    return {name: hierarchy if hierarchy is not None else Hierarchy.suppression() for name, hierarchy in named.items()}


def _refuse_other(names: Sequence[str]) -> None:
    """Raise for a column with the role ``other``, which does not exist."""
    for name in names:
        raise PolicyError(
            f"other names {name!r}: there is no such role. A column that is published and not sensitive counts as known to an adversary. Make {name!r} quasi, drop it, or, if no attacker "
            f"can know it of a person, declare it with the reason: declared={{{name!r}: '...'}}.",
            setting=("other",),
            column=name,
        )


def _sensitive_kinds(sensitive: str | Sequence[str] | Mapping[str, SensitiveKind]) -> dict[str, SensitiveKind]:
    listed = column_names(sensitive, "sensitive")
    return {name: sensitive[name] for name in listed} if isinstance(sensitive, Mapping) else dict.fromkeys(listed)


def _by_column(coarsen: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The coarsening of each column. Raises if it is not a mapping."""
    if coarsen is None or isinstance(coarsen, Mapping):
        return coarsen or {}
    raise PolicyError(
        f"coarsen must map columns to how they are rounded, such as {{'income': {{'kind': 'round', 'to': 1000}}}}, but it is {coarsen!r}.",
        setting=("coarsen",),
        value=coarsen,
    )
