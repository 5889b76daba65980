"""A policy: one TOML file that states where the rows are, what is private, and how the release is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reticent.base.context import Context
from reticent.base.parameters import beside
from reticent.definitions import Definition, definition_from
from reticent.errors import DataError, PolicyError, ReticentError, did_you_mean
from reticent.io import Source
from reticent.policy.file import PolicyFile, checked
from reticent.policy.sections import Sections
from reticent.registry import FRAMES
from reticent.table import (
    Coarsening,
    DistantRows,
    EngineName,
    Table,
    check_engine,
    coarsening_from,
    declared_reasons,
    hierarchy_from,
)

if TYPE_CHECKING:
    from reticent.definitions import Method
    from reticent.table import SensitiveKind

_ROLES = ("identifiers", "quasi", "sensitive", "private")
_ORDERED = "ordered"
_STUDIED_WEIGHT = 3.0
"""The weight of the loss of a column that a regression of the policy uses."""


@dataclass(frozen=True)
class Policy(PolicyFile):
    """A validated policy file. Paths in it are relative to its folder.

    Errors name the file, the line and the column, and show the line.
    """

    sections: Sections

    @classmethod
    def parse(cls, text: str, file: str = "policy", folder: str | Path = ".") -> Policy:
        """Validate the text of a policy; ``file`` is its name in messages."""
        sections, positions = checked(text, file, Sections)
        policy = cls(file, Path(folder), sections, positions)
        policy._check_columns()
        policy._make()
        return policy

    @cached_property
    def source(self) -> Source:
        """The source of the rows."""
        return self.sourced(self.sections.data.engine)

    def machine(self, engine: str | None) -> dict[str, Any]:
        """Return the settings of an engine with its own sources: its name, and the settings of its session."""
        if engine not in FRAMES.values():
            return {}
        section = self.sections.spark
        return {"engine": engine, "spark": None if section is None else section.model_dump()}

    def sourced(self, engine: str | None) -> Source:
        """Return the source of the rows that the policy names, as ``engine`` reads it."""
        data, machine = self.sections.data, self.machine(engine)
        if machine and data.source is None and (data.table is not None or data.query is not None):
            return Source("the catalogue", table=data.table, query=data.query, **self.reading, **machine)
        if data.source is None:
            raise self.error(("data",), "the policy has no source of rows. Write [data] source = 'patients.csv'.")
        address = "://" in data.source or data.source.startswith(("env:", "jdbc:"))
        location = data.source if address else str(self.folder / data.source)
        with self.pointing("data"):
            return Source(
                location,
                table=data.table,
                query=data.query,
                **self.reading,
                **machine,
            )

    @property
    def reading(self) -> dict[str, Any]:
        """The settings for reading files; :meth:`Source.fitting` selects those that apply to the kind of file."""
        data = self.sections.data
        return {
            "delimiter": data.delimiter,
            "encoding": data.encoding,
            "null_values": tuple(data.null_values),
            "types": data.types,
            "sheet": data.sheet,
            "labels": data.labels,
            "header": data.header,
            "skip_rows": data.skip_rows,
            "number_names": data.number_names,
        }

    @property
    def roles(self) -> dict[str, Any]:
        """The roles, as arguments of :class:`Table`."""
        roles = self.sections.roles
        return {
            "quasi": {name: self.hierarchies.get(name) for name in roles.quasi},
            "sensitive": {name: self.hierarchies.get(name) for name in roles.sensitive},
            "identifiers": roles.identifiers,
            "declared": self.sections.declared,
            "private": roles.private,
            "key": roles.key,
            "weight": roles.weight,
            "nulls": roles.nulls,
            "dataset": self.sections.dataset,
            "unit": roles.unit,
            "household": roles.household,
            "rows_per_person": roles.rows_per_person,
            "quasi_sets": roles.quasi_sets,
            "pseudonyms": roles.pseudonyms,
            "coarsen": self.coarsen,
        }

    def table(
        self, source: Source | None = None, engine: EngineName | None = None, context: Context | None = None
    ) -> Table:
        """Return the rows with their roles; ``source`` and ``engine`` override the policy's. Only columns with a role
        are read.

        If a cluster reads the rows, ``context`` reports progress and can stop it.
        """
        engine = engine or self.sections.data.engine
        check_engine(engine)
        source = source if source is not None else self.sourced(engine)
        with self.pointing("data", "source"):
            available = source.columns()
        self._check_available(available, source.name)
        columns = [name for _, name in self._columns()]
        with self.pointing("data"):
            rows = source.open(columns, engine)
        if context is not None and context.watched and isinstance(rows, DistantRows):
            rows = rows.watched(context, "counting rows")
        with self.pointing("roles"):
            table = Table(
                rows,
                **self.roles,
                left_out=[name for name in available if name not in columns],
                codebook=source.codebook(columns),
            )
        with self.pointing("hierarchies"):
            _fit(table)
        return table

    @cached_property
    def hierarchies(self) -> Mapping[str, SensitiveKind]:
        """The hierarchies of columns, or the order of a sensitive column's values."""
        hierarchies: dict[str, SensitiveKind] = {}
        for column, description in self.sections.hierarchies.items():
            with self.pointing("hierarchies", column):
                if description.get("kind") == _ORDERED:
                    hierarchies[column] = self._ordered(column, description)
                else:
                    hierarchies[column] = hierarchy_from(description, f"column {column!r}", self.folder)
        return hierarchies

    @cached_property
    def coarsen(self) -> Mapping[str, Coarsening]:
        """How numbers and dates of sensitive and declared columns are coarsened."""
        coarsenings = {}
        for column, description in self.sections.coarsen.items():
            with self.pointing("coarsen", column):
                coarsenings[column] = coarsening_from(description, f"column {column!r}")
        return coarsenings

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions, in the order of the file."""
        definitions = []
        for number, entry in enumerate(self.sections.definition):
            with self.pointing("definition", number):
                name = entry.get("name")
                if not isinstance(name, str):
                    raise PolicyError("a definition needs a name, such as name = 'KAnonymity'.")
                parameters = {key: value for key, value in entry.items() if key != "name"}
                if "population" in parameters:
                    parameters["population"] = self._population(parameters["population"])
                definitions.append(definition_from(name, parameters))
        return tuple(definitions)

    def _population(self, path: object) -> str:
        """Return the path of a population file, relative to the policy's folder."""
        if not isinstance(path, str):
            raise PolicyError(
                f"population must be a file with the people of the population, but it is {path!r}.",
                setting=("population",),
            )
        return str(self.folder / path)

    @property
    def definition(self) -> Definition:
        """The conjunction of all definitions."""
        if not self.definitions:
            raise self.error(
                ("definition",),
                "the policy has no definition of privacy. Write [[definition]] name = 'KAnonymity', k = 5.",
            )
        return reduce(and_, self.definitions)

    def named_method(self, **overrides: Any) -> Method | None:
        """Return the method that the policy names, with some parameters overridden (None keeps one); None if it names
        none.

        Another ``name`` is another method, to which the policy's parameters do not apply.
        """
        section, overriding = self.sections.method, _given_values(overrides)
        if overriding.get("name", section.get("name")) != section.get("name"):
            return _method_from(overriding)
        if "name" not in section:
            return None
        with self.pointing("method"):
            if not isinstance(section["name"], str):
                raise PolicyError(
                    f"name must be the name of a method, but it is {section['name']!r}.", setting=("name",)
                )
            file_parameters = beside(self.folder, "method", section["name"], _parameters(section))
            section = {"name": section["name"], **self._studied_weights(section["name"]), **file_parameters}
            method = _method_from(section)
        return _method_from({**section, **overriding}) if overriding else method

    def _studied_weights(self, method: str) -> dict[str, Any]:
        """Return weights by which Mondrian favours the quasi-identifiers that ``[analysis]`` names; none if it names no column, or all of them."""
        model_columns = {part.strip() for model in self.sections.analysis.models for part in re.split("[~+]", model)}
        studied = {name: _STUDIED_WEIGHT for name in self.sections.roles.quasi if name in model_columns}
        if method != "Mondrian" or not 0 < len(studied) < len(self.sections.roles.quasi):
            return {}
        return {"weights": studied}

    def method(self, table: Table, definition: Definition, **overrides: Any) -> Method:
        """Return the method that the policy names, or the default for the table and the definition, with some parameters overridden."""
        from reticent.release import default_method

        named = self.named_method(**overrides)
        if named is not None:
            return named
        with self.pointing("method"):
            default = default_method(table, definition, self.sections.method)
        overriding = _given_values(overrides)
        return default_method(table, definition, {**self.sections.method, **overriding}) if overriding else default

    def _ordered(self, column: str, description: Mapping[str, Any]) -> list[Any]:
        """Return the values of a sensitive column from lowest to highest, as a hierarchy of kind 'ordered' lists them."""
        if column not in self.sections.roles.sensitive:
            raise PolicyError(
                "kind 'ordered' applies to sensitive columns; a quasi column needs a hierarchy.", setting=("kind",)
            )
        values = description.get("values")
        if set(description) != {"kind", "values"} or not isinstance(values, list):
            raise PolicyError(
                "kind 'ordered' has one field, values: the list of all values from lowest to highest.",
                setting=("kind",),
            )
        return values

    def _check_columns(self) -> None:
        """Check that every column has one role, only generalized or compared columns have hierarchies, and only
        sensitive and declared ones are coarsened.
        """
        roles: dict[str, str] = {}
        for role in _ROLES:
            for number, name in enumerate(getattr(self.sections.roles, role)):
                if name in roles:
                    conflict = "listed twice" if roles[name] == role else f"under {roles[name]} and under {role}"
                    raise self.error(("roles", role, number), f"column {name!r} is {conflict}. Give it one role.")
                roles[name] = role
        for name in self.sections.roles.other:
            raise self.error(
                ("roles", "other", 0),
                f"there is no role 'other': a column that is published and not sensitive counts as known to an adversary. Put {name!r} under quasi, remove it, or, if no one can know it about a "
                f'person, write [declared] and below it {json.dumps(name, ensure_ascii=False)} = "the reason".',
            )
        with self.pointing("declared"):
            declared_reasons(self.sections.declared)
        for name in self.sections.declared:
            if name in roles:
                raise self.error(
                    ("declared", name), f"column {name!r} is under {roles[name]} and declared. Give it one role."
                )
        generalizable = [*self.sections.roles.quasi, *self.sections.roles.sensitive]
        for name in self.sections.hierarchies:
            if name not in generalizable:
                self._blame_roles(name)
                raise self.error(
                    ("hierarchies", name),
                    f"there is a hierarchy for {name!r}, which is neither quasi nor sensitive.{did_you_mean(name, generalizable)}",
                )
        coarsenable = [*self.sections.roles.sensitive, *self.sections.declared]
        for name in self.sections.coarsen:
            if name not in coarsenable:
                self._blame_roles(name)
                raise self.error(
                    ("coarsen", name),
                    f"coarsen names {name!r}, which is neither sensitive nor declared.{did_you_mean(name, coarsenable)} Quasi columns are generalized along their hierarchies.",
                )
        for set_number, columns in enumerate(self.sections.roles.quasi_sets or ()):
            for number, name in enumerate(columns):
                if name not in self.sections.roles.quasi:
                    raise self.error(
                        ("roles", "quasi_sets", set_number, number),
                        f"quasi_sets names {name!r}, which is not a quasi column."
                        f"{did_you_mean(name, self.sections.roles.quasi)}",
                    )

    def _blame_roles(self, name: str) -> None:
        """Point at a misspelled role if the rows have the column of a hierarchy."""
        try:
            available = self.source.columns()
        except (ReticentError, OSError):
            return
        if name in available:
            self._check_available(available, self.source.name)

    def _columns(self) -> list[tuple[tuple[str | int, ...], str]]:
        """Return the columns that have a role, each with the setting that names it."""
        roles = self.sections.roles
        listed: list[tuple[tuple[str | int, ...], str]] = [
            (("roles", role, number), name) for role in _ROLES for number, name in enumerate(getattr(roles, role))
        ]
        listed += [(("declared", name), name) for name in self.sections.declared]
        extras = [(("roles", setting), getattr(roles, setting)) for setting in ("key", "household", "weight")]
        names = {name for _, name in listed}
        return [*listed, *((path, name) for path, name in extras if name is not None and name not in names)]

    def _check_available(self, available: Sequence[str], where: str) -> None:
        """Raise for the first column of the policy that the source lacks, at its position in the file."""
        typed = [(("data", "types", name), name) for name in self.sections.data.types]
        for path, name in [*self._columns(), *typed]:
            if name not in available:
                message = (
                    f"{where} has no column {name!r}.{did_you_mean(name, available)} "
                    f"The columns are: {', '.join(map(repr, available))}."
                )
                raise self._placed(DataError(message), path)

    def _make(self) -> tuple[object, ...]:
        """Create everything that needs no data, so that errors are reported before any are read."""
        return self.definitions, self.hierarchies


def _given_values(overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in overrides.items() if value is not None}


def _method_from(settings: Mapping[str, Any]) -> Method:
    from reticent.release import method_from

    return method_from(settings["name"], _parameters(settings))


def _parameters(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != "name"}


def _fit(table: Table) -> tuple[object, ...]:
    """Fit hierarchies and domains to the rows now, so that errors can point into the policy."""
    return table.hierarchies, table.sensitive_columns
