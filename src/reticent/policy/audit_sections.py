"""The sections of an audit policy, exactly as they may be written. Anything else in the file is an error."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from reticent.policy.sections import Names, Section


class DatabaseSection(Section):
    """``[database]``: the table, the person key, and the columns that everybody may know."""

    source: str = Field(description="where the rows are, such as source = 'people.csv' or 'env:DATABASE_URL'")
    table: str | None = None
    name: str | None = None
    key: str = Field(description="the column that tells people apart, such as key = 'id'")
    public: Names = Field(default_factory=list)
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Names = Field(default_factory=list)
    types: dict[str, str] = Field(default_factory=dict)


class PriorSection(Section):
    """``prior``: what everybody believes of a value."""

    kind: Literal["normal", "uniform", "exponential"] = Field(description="'normal', 'uniform' or 'exponential'")
    mean: Any = None
    deviation: Any = None
    low: Any = None
    high: Any = None


class NoiseSection(Section):
    """``[sensitive.NAME.noise]``: noisy answers from a budget."""

    epsilon: Any = Field(description="the whole budget, such as epsilon = 1")
    each: Any = Field(description="what one answer spends, such as each = 0.1")
    range: list[Any] = Field(description="the least and the largest value, such as range = [0, 100]")
    when: Literal["denied", "always"] = "denied"


class SensitiveSection(Section):
    """``[sensitive.NAME]``: a protected column and what is declared about it."""

    bounds: Any = None
    duplicates: Literal["allowed", "distinct"] = "allowed"
    changes: Literal["known", "any", "unknown"] = "known"
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

    dataset: str = Field(
        description="the name under which the ledger remembers what was answered, such as dataset = 'staff'"
    )
    ledger: str | None = None
    newest: str | None = None
    beside: Literal["refuse", "allow"] = "refuse"
    database: DatabaseSection = Field(description="[database] with source, key and public")
    sensitive: dict[str, SensitiveSection] = Field(default_factory=dict)
    roles: dict[str, RoleSection] = Field(default_factory=dict)
    users: dict[str, str] = Field(default_factory=dict)
    reserved: ReservedSection = Field(default_factory=ReservedSection)
