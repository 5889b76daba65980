"""The sections of a policy file, exactly as they may be written. Anything else in the file is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _listed(value: Any) -> Any:
    """One name may be written without the brackets."""
    return [value] if isinstance(value, str) else value


def _several(value: Any) -> Any:
    """One definition may be written as ``[definition]``, several as ``[[definition]]``."""
    return [value] if isinstance(value, dict) else value


Names = Annotated[list[str], BeforeValidator(_listed)]


class Section(BaseModel):
    """A part of the policy: no unknown settings, no silent conversions, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DataSection(Section):
    """``[data]``: where the rows are, and what must be said to read them."""

    source: str | None = None
    table: str | None = None
    query: str | None = None
    delimiter: str | None = None
    encoding: str | None = None
    null_values: Names = Field(default_factory=list)
    types: dict[str, str] = Field(default_factory=dict)
    sheet: str | None = None
    labels: Literal["text", "codes"] | None = None
    header: bool | None = None
    skip_rows: int | None = None
    engine: Literal["local", "streaming", "spark"] | None = None


class RolesSection(Section):
    """``[roles]``: what each column is, what a null means, and what a person is."""

    identifiers: Names = Field(default_factory=list)
    quasi: Names = Field(default_factory=list)
    sensitive: Names = Field(default_factory=list)
    other: Names = Field(default_factory=list)
    private: Names = Field(default_factory=list)
    key: str | None = None
    weight: str | None = None
    household: str | None = None
    unit: Literal["row", "person", "household"] | None = None
    rows_per_person: int | None = None
    nulls: Literal["refuse", "drop", "category"] = "refuse"
    quasi_sets: list[list[str]] | None = None
    pseudonyms: Names = Field(default_factory=list)


class SparkSection(Section):
    """``[spark]``: the session that reads the rows where ``engine = "spark"``."""

    master: str | None = None
    conf: dict[str, str | int | float | bool] = Field(default_factory=dict)


class AnalysisSection(Section):
    """``[analysis]``: the regressions whose conclusions are compared before and after, such as ``"wage ~ age + sex"``."""

    models: Names = Field(default_factory=list)


class ReleaseSection(Section):
    """``[release]``: where the release goes and what comes with it."""

    output: str | None = None
    to: str | None = None
    to_table: str | None = None
    identity: str | None = None
    files: Literal["csv", "parquet", "xlsx", "sav", "dta", "xpt"] = "csv"
    report: bool = False
    again: bool = False
    sign: Names = Field(default_factory=list)
    log: str | None = None
    log_key: str | None = None
    ledger: str | None = None
    newest: str | None = None


class Sections(Section):
    """The whole file."""

    dataset: str | None = None
    data: DataSection = Field(default_factory=DataSection)
    spark: SparkSection | None = None
    roles: RolesSection = Field(default_factory=RolesSection)
    declared: dict[str, str] = Field(default_factory=dict)
    hierarchies: dict[str, dict[str, Any]] = Field(default_factory=dict)
    coarsen: dict[str, dict[str, Any]] = Field(default_factory=dict)
    definition: Annotated[list[dict[str, Any]], BeforeValidator(_several)] = Field(default_factory=list)
    method: dict[str, Any] = Field(default_factory=dict)
    analysis: AnalysisSection = Field(default_factory=AnalysisSection)
    dossier: dict[str, str] = Field(default_factory=dict)
    release: ReleaseSection = Field(default_factory=ReleaseSection)
