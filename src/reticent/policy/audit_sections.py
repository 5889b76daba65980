"""The sections of an audit policy, exactly as they may be written. Anything else in the file is an error."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from reticent.policy.sections import Names, Section


class DatabaseSection(Section):
    """``[database]``: the table, the person key, and the columns that everybody may know."""

    source: str
    table: str | None = None
    name: str | None = None
    key: str
    public: Names = Field(default_factory=list)
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Names = Field(default_factory=list)
    types: dict[str, str] = Field(default_factory=dict)


class PriorSection(Section):
    """``prior``: what everybody believes of a value."""

    kind: Literal["normal", "uniform", "exponential"]
    mean: Any = None
    deviation: Any = None
    low: Any = None
    high: Any = None


class NoiseSection(Section):
    """``[sensitive.NAME.noise]``: noisy answers from a budget."""

    epsilon: Any
    each: Any
    range: list[Any]
    when: Literal["denied", "always"] = "denied"


class SensitiveSection(Section):
    """``[sensitive.NAME]``: a protected column and what is declared about it."""

    bounds: Any = None
    duplicates: Literal["allowed", "distinct"] = "allowed"
    changes: Literal["known", "unknown"] = "known"
    auditor: Literal["classical", "probabilistic"] = "classical"
    family: Literal["linear", "max", "min"] | None = None
    nulls: Literal["refuse", "public"] = "refuse"
    decimals: int | None = None
    ratio: Any = Field(default=None, alias="lambda")
    beta: Any = None
    delta: Any = None
    rounds: int | None = None
    prior: PriorSection | None = None
    noise: NoiseSection | None = None


class RoleSection(Section):
    """``[roles.NAME]``: which columns and functions may be asked, and how often."""

    columns: Names | None = None
    functions: Names | None = None
    questions_per_day: int | None = None


class ReservedSection(Section):
    """``[reserved]``: statements that are answered before anybody else asks."""

    queries: Names = Field(default_factory=list)


class AuditSections(Section):
    """The whole file."""

    dataset: str
    ledger: str | None = None
    newest: str | None = None
    beside: Literal["refuse", "allow"] = "refuse"
    database: DatabaseSection
    sensitive: dict[str, SensitiveSection] = Field(default_factory=dict)
    roles: dict[str, RoleSection] = Field(default_factory=dict)
    users: dict[str, str] = Field(default_factory=dict)
    reserved: ReservedSection = Field(default_factory=ReservedSection)
