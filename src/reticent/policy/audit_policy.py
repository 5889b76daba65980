"""The policy of an audited table: one TOML file, read into the settings of ``reticent.audit.service``.

The classes below define all allowed sections; anything else in the file is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, cast

from pydantic import Field

from reticent.audit.service import FUNCTIONS, Chance, Noise, PriorSettings, ProtectedColumn, Role, Settings
from reticent.base.exact import exact
from reticent.errors import DataError, PolicyError
from reticent.io import Source
from reticent.policy.file import PolicyFile, checked
from reticent.policy.sections import Names, Section

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_CHANCE = ("lambda", "beta", "delta", "rounds", "prior")


class DatabaseSection(Section):
    """``[database]``: the table, the person key, and the public columns."""

    source: str = Field(description="where the rows are, such as source = 'people.csv' or 'env:DATABASE_URL'")
    table: str | None = Field(default=None, description="The table of a database.")
    name: str | None = Field(default=None, description="The name of the table in queries. Default: that of the source.")
    key: str = Field(description="the column that identifies a person, such as key = 'id'")
    public: Names = Field(default_factory=list, description="Public columns, which conditions may use.")
    delimiter: str | None = Field(default=None, description="The delimiter of a text file. Default: detected.")
    encoding: str | None = Field(default=None, description="The encoding of a text file. Default: detected.")
    null_values: Names = Field(default_factory=list, description="Spellings of a missing value.")
    types: dict[str, str] = Field(default_factory=dict, description="Types of columns, as in a policy for releases.")
    sheet: str | None = Field(default=None, description="The sheet of a spreadsheet.")
    labels: Literal["text", "codes"] | None = Field(
        default=None, description="How columns with value labels are read from files of SPSS, Stata and SAS."
    )
    header: bool | None = Field(
        default=None, description="Whether the first line has the column names. Default: detected."
    )
    skip_rows: int | None = Field(default=None, description="How many lines precede the table. Default: detected.")
    number_names: bool | None = Field(
        default=None, description="Whether repeated column names are numbered. Default: they are refused."
    )


class PriorSection(Section):
    """``prior``: the public prior of a value."""

    kind: Literal["normal", "uniform", "exponential"] = Field(description="'normal', 'uniform' or 'exponential'")
    mean: Any = Field(default=None, description="The mean of a normal or exponential prior.")
    deviation: Any = Field(default=None, description="The standard deviation of a normal prior.")
    low: Any = Field(default=None, description="The lower bound of a uniform prior.")
    high: Any = Field(default=None, description="The upper bound of a uniform prior.")


class NoiseSection(Section):
    """``[sensitive.NAME.noise]``: noisy answers from a budget."""

    epsilon: Any = Field(description="the total budget, such as epsilon = 1")
    each: Any = Field(description="the cost of one answer, such as each = 0.1")
    range: list[Any] = Field(description="the smallest and the largest value, such as range = [0, 100]")
    when: Literal["denied", "always"] = Field(
        default="denied", description="Whether only denied queries get a noisy answer, or every query."
    )


class SensitiveSection(Section):
    """``[sensitive.NAME]``: a protected column and its declared properties."""

    bounds: Any = Field(
        default=None,
        description="The publicly known bounds of the values, such as [0, 100]; with bounds every exact answer is denied. 'ignored': queries are answered, for users who do not use bounds.",
    )
    duplicates: Literal["allowed", "distinct"] = Field(
        default="allowed", description="Whether two people may have the same value."
    )
    changes: Literal["known", "any", "unknown"] = Field(
        default="known", description="What users may know about changes of values between queries."
    )
    auditor: Literal["classical", "probabilistic"] = Field(
        default="classical",
        description="Exact answers that never determine a value (classical), or that never move a belief too far (probabilistic).",
    )
    family: Literal["linear", "max", "min"] | None = Field(
        default=None, description="The aggregates that are answered: sums and means (linear), maxima or minima."
    )
    nulls: Literal["refuse", "public"] = Field(
        default="refuse", description="Missing values: refuse the table, or treat as public that a value is missing."
    )
    decimals: int | None = Field(
        default=None, description="The number of decimals of the values; a value with more is refused."
    )
    ratio: Any = Field(
        default=None,
        alias="lambda",
        description="Probabilistic auditing: a belief may change by a factor of at most 1 + lambda.",
    )
    beta: Any = Field(
        default=None,
        description="Probabilistic auditing: beliefs about intervals of prior probability 1/beta are protected.",
    )
    delta: Any = Field(
        default=None, description="Probabilistic auditing: the probability that the auditor fails over all rounds."
    )
    rounds: int | None = Field(
        default=None, description="Probabilistic auditing: the number of queries; denied queries count."
    )
    prior: PriorSection | None = Field(default=None, description="Probabilistic auditing: the public prior of a value.")
    noise: NoiseSection | None = Field(default=None, description="Noisy answers from a budget.")


class RoleSection(Section):
    """``[roles.NAME]``: which columns and functions may be queried, and how often."""

    columns: Names | None = Field(default=None, description="The columns that may be queried. Default: all.")
    functions: Names | None = Field(default=None, description="The aggregates that may be queried. Default: all.")
    questions_per_day: int | None = Field(default=None, description="The number of queries per day. Default: no limit.")


class ReservedSection(Section):
    """``[reserved]``: statements that are answered before any user's query."""

    queries: Names = Field(
        default_factory=list,
        description="Statements that are answered before all others, so that they are never denied.",
    )


class AuditSections(Section):
    """The whole file."""

    dataset: str = Field(description="the name of the data set in the ledger, such as dataset = 'staff'")
    ledger: str | None = Field(
        default=None, description="The file of the ledger. Default: RETICENT_LEDGER, or the user's own."
    )
    newest: str | None = Field(
        default=None, description="A second file that holds the newest position of the ledger, against rollback."
    )
    beside: Literal["refuse", "allow"] = Field(
        default="refuse", description="Whether queries are answered after other disclosures about the same data set."
    )
    database: DatabaseSection = Field(description="[database] with source, key and public")
    sensitive: dict[str, SensitiveSection] = Field(default_factory=dict, description="The protected columns.")
    roles: dict[str, RoleSection] = Field(default_factory=dict, description="What groups of users may query.")
    users: dict[str, str] = Field(default_factory=dict, description="The role of each user.")
    reserved: ReservedSection = Field(
        default_factory=ReservedSection, description="Statements that are answered first."
    )


@dataclass(frozen=True)
class AuditPolicy(PolicyFile):
    """A validated audit policy. Errors name the file, the line and the column, and show the line."""

    sections: AuditSections

    @classmethod
    def parse(cls, text: str, file: str = "policy", folder: str | Path = ".") -> Self:
        """Validate the text of a policy; ``file`` is its name in messages."""
        sections, positions = checked(text, file, AuditSections)
        policy = cls(file, Path(folder), sections, positions)
        policy._check_reserved()
        return policy

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Make errors about the data, raised while a service is opened, point at the setting concerned."""
        data = self.sections.database
        setting_of: dict[str, tuple[str | int, ...]] = {name: ("sensitive", name) for name in self.sections.sensitive}
        setting_of |= {name: ("database", "public", number) for number, name in enumerate(data.public)}
        setting_of |= {data.key: ("database", "key")}
        try:
            yield
        except DataError as error:
            if error.column not in setting_of:
                raise
            raise DataError(self.places.find(setting_of[error.column]).point(self.file, str(error))) from None

    @cached_property
    def settings(self) -> Settings:
        """Return the settings of the file for the service."""
        sections = self.sections
        columns = {name: self._column(name, section) for name, section in sections.sensitive.items()}
        roles = {}
        for name, role in sections.roles.items():
            with self.pointing("roles", name):
                functions = (
                    FUNCTIONS
                    if role.functions is None
                    else [column_section.lower() for column_section in role.functions]
                )
                allowed = None if role.columns is None else frozenset(role.columns)
                roles[name] = Role(name, allowed, frozenset(functions), role.questions_per_day)
        with self.pointing():
            return Settings(
                dataset=sections.dataset,
                source=self._source,
                view=self._view,
                key=sections.database.key,
                public=tuple(sections.database.public),
                sensitive=columns,
                roles=roles,
                users=sections.users,
                reserved=tuple(sections.reserved.queries),
                ledger=self.path(sections.ledger),
                newest=self.path(sections.newest),
                beside=sections.beside,
            )

    def _check_reserved(self) -> None:
        """Refuse invalid reserved queries before any query is run."""
        from reticent.audit.service import Statement

        for number, text in enumerate(self.settings.reserved):
            try:
                Statement.parse(text, self.settings)
            except PolicyError as error:
                raise self.error(("reserved", "queries", number), str(error)) from None

    @cached_property
    def _source(self) -> Source:
        """Return the source of the rows; paths are relative to the policy's folder."""
        data = self.sections.database
        address = "://" in data.source or data.source.startswith("env:")
        with self.pointing("database"):
            return Source(
                data.source if address else str(self.folder / data.source),
                table=data.table,
                delimiter=data.delimiter,
                encoding=data.encoding,
                null_values=tuple(data.null_values),
                types=data.types,
                sheet=data.sheet,
                labels=data.labels,
                header=data.header,
                skip_rows=data.skip_rows,
                number_names=data.number_names,
            )

    @property
    def _view(self) -> str:
        """Return the name after FROM: as given, the table's own, or the file's."""
        data = self.sections.database
        name = data.name or (data.table or "").rpartition(".")[2] or Path(data.source).name.partition(".")[0]
        if not _PLAIN_NAME.fullmatch(name) or (data.source.startswith("env:") and not (data.name or data.table)):
            raise self.error(
                ("database", "name" if data.name else "source"),
                f"name the table for queries, with letters, digits and _: name = 'people' (now it would be {name!r}).",
            )
        return name

    def _column(self, name: str, section: SensitiveSection) -> ProtectedColumn:
        """Return the settings of a protected column."""
        with self.pointing("sensitive", name):
            return ProtectedColumn(
                name,
                bounds=_bounds(section.bounds),
                duplicates=section.duplicates == "allowed",
                changes=section.changes,
                family=section.family,
                nulls=section.nulls,
                decimals=section.decimals,
                chance=_chance(name, section),
                noise=None if section.noise is None else _noise(section.noise),
            )


def _bounds(bounds: Any) -> tuple[Fraction, Fraction] | Literal["ignored"] | None:
    if bounds is None or bounds == "ignored":
        return cast(Literal["ignored"] | None, bounds)
    return _range(bounds, "bounds", " or 'ignored'")


def _range(ends: Any, name: str, otherwise: str = "") -> tuple[Fraction, Fraction]:
    """Return two increasing numbers exactly. Raises for anything else, with the setting's name."""
    if not isinstance(ends, list) or len(ends) != 2:
        raise PolicyError(
            f"{name} must be two numbers [low, high]{otherwise}, but it is {ends!r}.", setting=tuple(name.split(": "))
        )
    low, high = exact(ends[0], name), exact(ends[1], name)
    if low >= high:
        raise PolicyError(
            f"{name} must be increasing, but it goes from {low} to {high}.", setting=tuple(name.split(": "))
        )
    return low, high


def _chance(name: str, section: SensitiveSection) -> Chance | None:
    """Return the settings of probabilistic auditing; None if the auditor is classical."""
    probabilistic_settings = {
        setting: getattr(section, "ratio" if setting == "lambda" else setting) for setting in _CHANCE
    }
    if section.auditor == "classical":
        unused = [setting for setting, value in probabilistic_settings.items() if value is not None]
        if unused:
            raise PolicyError(
                f"{unused[0]} belongs to auditor = 'probabilistic', but the auditor is classical.", setting=(unused[0],)
            )
        return None
    missing = [setting for setting, value in probabilistic_settings.items() if value is None]
    if missing:
        raise PolicyError(
            f"auditor = 'probabilistic' of column {name!r} needs {', '.join(missing)} as well.", setting=("auditor",)
        )
    assert section.prior is not None
    assert section.rounds is not None
    return Chance(
        exact(section.ratio, "lambda"),
        exact(section.beta, "beta"),
        exact(section.delta, "delta"),
        section.rounds,
        _prior(section.prior),
    )


def _prior(section: PriorSection) -> PriorSettings:
    """Return the prior distribution of a column's values. Raises unless it has exactly the parameters of its kind."""
    needed_settings = {"normal": ("mean", "deviation"), "uniform": ("low", "high"), "exponential": ("mean", "low")}[
        section.kind
    ]
    for setting in ("mean", "deviation", "low", "high"):
        if (getattr(section, setting) is not None) != (setting in needed_settings):
            raise PolicyError(
                f"prior: a {section.kind} prior has {' and '.join(needed_settings)}, and nothing else.",
                setting=("prior", setting),
            )
    first, second = (exact(getattr(section, setting), f"prior: {setting}") for setting in needed_settings)
    return PriorSettings(section.kind, first, second)


def _noise(section: NoiseSection) -> Noise:
    """Return the settings of noisy answers."""
    low, high = _range(section.range, "noise: range")
    return Noise(
        exact(section.epsilon, "noise: epsilon"),
        exact(section.each, "noise: each"),
        low,
        high,
        section.when == "always",
    )
