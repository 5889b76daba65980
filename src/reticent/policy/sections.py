"""The sections of a policy file, exactly as allowed. Anything else in the file is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _listed(value: Any) -> Any:
    """Accept a single name without brackets."""
    return [value] if isinstance(value, str) else value


def _several(value: Any) -> Any:
    """Accept one definition as ``[definition]``, several as ``[[definition]]``."""
    return [value] if isinstance(value, dict) else value


Names = Annotated[list[str], BeforeValidator(_listed)]


class Section(BaseModel):
    """A part of the policy: no unknown settings, no silent conversions, immutable."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DataSection(Section):
    """``[data]``: the source of the rows, and how to read it."""

    source: str | None = Field(default=None, description="The file, or the address of a database.")
    table: str | None = Field(default=None, description="The table of a database.")
    query: str | None = Field(default=None, description="A query, instead of a table of a database.")
    delimiter: str | None = Field(default=None, description="The delimiter of a text file. Default: detected.")
    encoding: str | None = Field(default=None, description="The encoding of a text file. Default: detected.")
    null_values: Names = Field(default_factory=list, description="Spellings of a missing value, such as ['?', '-9'].")
    types: dict[str, str] = Field(
        default_factory=dict,
        description="Types of columns: text, integer, number, date, timestamp, boolean; a date by its format (date:%d/%m/%Y), a number by an example of its spelling (number:1.234,5).",
    )
    sheet: str | None = Field(default=None, description="The sheet of a spreadsheet, if several have rows.")
    labels: Literal["text", "codes"] | None = Field(
        default=None, description="How columns with value labels are read from files of SPSS, Stata and SAS."
    )
    header: bool | None = Field(
        default=None,
        description="Whether the first line of a text file or sheet has the column names. Default: detected. Without names, columns are called column_1, column_2, ...",
    )
    skip_rows: int | None = Field(
        default=None,
        description="How many lines of a text file or rows of a sheet precede the table. Default: titles are detected and skipped.",
    )
    number_names: bool | None = Field(
        default=None,
        description="Whether repeated column names of a text file or sheet are numbered: date, date_2. Default: they are refused.",
    )
    engine: Literal["local", "streaming", "spark"] | None = Field(
        default=None,
        description="Rows in memory (local), read in chunks (streaming) or on a cluster (spark). Default: local if the table fits in memory, streaming if not.",
    )


class RolesSection(Section):
    """``[roles]``: the role of each column, the meaning of a null, and the unit of a person."""

    identifiers: Names = Field(default_factory=list, description="Columns that name a person. They are not published.")
    quasi: Names = Field(default_factory=list, description="Columns that an adversary may know.")
    sensitive: Names = Field(
        default_factory=list, description="Confidential columns: what must not be learned of a person."
    )
    other: Names = Field(
        default_factory=list,
        description="No longer used: a published column that is not sensitive counts as known. Only the empty list is accepted; use quasi or [declared].",
    )
    private: Names = Field(
        default_factory=list,
        description="Columns that are read and never published, because a definition needs them, such as the guards and thresholds of PersonalPrivacy.",
    )
    key: str | None = Field(
        default=None, description="The column that identifies people. Default: an identifier that repeats."
    )
    weight: str | None = Field(default=None, description="The column of survey weights.")
    household: str | None = Field(default=None, description="The column that identifies households.")
    unit: Literal["row", "person", "household"] | None = Field(
        default=None,
        description="What is protected: each row, each person or each household. Default: person if the key repeats, row if not.",
    )
    rows_per_person: int | None = Field(
        default=None, description="The number of rows that are kept of a person; further rows are suppressed."
    )
    nulls: Literal["refuse", "drop", "category"] = Field(
        default="refuse",
        description="Missing quasi and sensitive values: refuse the table, drop the rows, or treat them as a category.",
    )
    quasi_sets: list[list[str]] | None = Field(
        default=None,
        description="Sets of quasi columns that different adversaries know. Default: one adversary who knows all of them.",
    )
    pseudonyms: Names = Field(
        default_factory=list, description="Identifiers that are replaced by random pseudonyms instead of being dropped."
    )


class SparkSection(Section):
    """``[spark]``: the session that reads the rows if ``engine = "spark"``."""

    master: str | None = Field(
        default=None,
        description="The cluster, such as spark://head:7077. Default: local[*]. A session that is active is used as it is.",
    )
    conf: dict[str, str | int | float | bool] = Field(
        default_factory=dict, description="Settings of Spark, such as 'spark.executor.memory' = '8g'."
    )


class AnalysisSection(Section):
    """``[analysis]``: the regressions whose conclusions are compared before and after, such as ``"wage ~ age + sex"``."""

    models: Names = Field(
        default_factory=list,
        description="Regressions such as 'wage ~ age + sex', fitted before and after; their quasi columns count three times where Mondrian chooses groups. Default: each sensitive column on the quasi columns.",
    )


class ReleaseSection(Section):
    """``[release]``: the output folder and its contents."""

    output: str | None = Field(default=None, description="The folder of the release. It must not exist.")
    to: str | None = Field(
        default=None,
        description="A database that the release is also written to, as an address of SQLAlchemy or env:NAME.",
    )
    to_table: str | None = Field(
        default=None, description="The new table in that database, written in one transaction with the folder."
    )
    identity: str | None = Field(default=None, description="A column of that table that numbers the rows.")
    files: Literal["csv", "parquet", "xlsx", "sav", "dta", "xpt"] = Field(
        default="csv", description="The file format of the published tables."
    )
    report: bool = Field(default=False, description="Write the steward's report to private/report.html.")
    again: bool = Field(
        default=False,
        description="Allow another release of a data set that was released before; the certificate says so.",
    )
    sign: Names = Field(
        default_factory=list, description="The private key that signs the certificate, or a list of several."
    )
    log: str | None = Field(default=None, description="A log of releases that the certificate is appended to.")
    log_key: str | None = Field(default=None, description="The private key of the log. Default: the key of sign.")
    ledger: str | None = Field(
        default=None, description="The file of the ledger. Default: RETICENT_LEDGER, or the user's own."
    )
    newest: str | None = Field(
        default=None, description="A second file that holds the newest position of the ledger, against rollback."
    )


class Sections(Section):
    """The whole file."""

    dataset: str | None = Field(
        default=None,
        description="The name of the data set in the ledger. A data set is released once, unless another release is allowed. Without a name nothing is recorded.",
    )
    data: DataSection = Field(default_factory=DataSection, description="Where the rows are, and how they are read.")
    spark: SparkSection | None = Field(default=None, description="The Spark session, if engine = 'spark'.")
    roles: RolesSection = Field(
        default_factory=RolesSection,
        description="What each column is, what a missing value means, and who is protected.",
    )
    declared: dict[str, str] = Field(
        default_factory=dict,
        description="Columns that are published unprotected although they are not sensitive, each with the reason why no adversary knows them.",
    )
    hierarchies: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="How quasi columns may be generalized, one table for each column."
    )
    coarsen: dict[str, dict[str, Any]] = Field(
        default_factory=dict,
        description="How numbers and dates of sensitive and declared columns are coarsened, one table for each column.",
    )
    definition: Annotated[list[dict[str, Any]], BeforeValidator(_several)] = Field(
        default_factory=list,
        description="The definitions that must all hold, each with its name and parameters; numbers may be text, so that they stay exact: c = '2/3'.",
    )
    method: dict[str, Any] = Field(
        default_factory=dict,
        description="The method and its parameters. Default: the cheapest of Lattice, Mondrian and Bang.",
    )
    analysis: AnalysisSection = Field(
        default_factory=AnalysisSection, description="Regressions whose conclusions are compared before and after."
    )
    dossier: dict[str, str] = Field(
        default_factory=dict,
        description="What the steward states in an evidence dossier: purpose, recipients, risk_limit, ...",
    )
    release: ReleaseSection = Field(
        default_factory=ReleaseSection, description="Where the release goes, and what comes with it."
    )
