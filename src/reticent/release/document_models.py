"""Pydantic models of manifest and certificate: readers validate against them, and the published JSON Schemas are generated from them.

Imported only when a document is read, since importing pydantic is slow. Rules beyond structure are in
docs/reference/release-format.md and in the readers.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Scalar = str | bool | int | float | None
Names = list[str]
Count = Annotated[int, Field(ge=0)]
Unit = Literal["row", "person", "household"]
Hex32 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class PublishedDocument(BaseModel):
    """A part of a document: exactly the declared entries with their types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ValueMeaning(PublishedDocument):
    """One value."""

    value: Scalar


class ValuesMeaning(PublishedDocument):
    """A set of values."""

    values: Annotated[list[Scalar], Field(min_length=1)]


class IntervalMeaning(PublishedDocument):
    """Values between two ends; an open end is null. ``null``: missing values are included."""

    interval: Annotated[list[str | int | float | None], Field(min_length=2, max_length=2)]
    closed: Literal["left", "right", "both", "neither"]
    null: Literal[True] | None = None


class PrefixMeaning(PublishedDocument):
    """Codes of a given length with a common prefix."""

    prefix: str
    length: Annotated[int, Field(ge=0, le=10_000)]


class WeekdayMeaning(PublishedDocument):
    """Days on one weekday, from Monday (1) to Sunday (7)."""

    weekday: Annotated[int, Field(ge=1, le=7)]


class HourMeaning(PublishedDocument):
    """Timestamps in one hour of any day."""

    hour_of_day: Annotated[int, Field(ge=0, le=23)]


class MissingMeaning(PublishedDocument):
    """A missing value."""

    null: Literal[True]


class AnythingMeaning(PublishedDocument):
    """Any value, or null."""

    all: Literal[True]


MeaningDocument = (
    ValueMeaning
    | ValuesMeaning
    | IntervalMeaning
    | PrefixMeaning
    | WeekdayMeaning
    | HourMeaning
    | MissingMeaning
    | AnythingMeaning
)


class DomainValues(PublishedDocument):
    """A declared domain as a list of values."""

    values: list[Scalar]


class DomainRun(PublishedDocument):
    """A declared domain of all integers between two ends."""

    first: Annotated[int | str, Field(alias="from")]
    last: Annotated[int | str, Field(alias="to")]


class ColumnDocument(PublishedDocument):
    """A published column. Quasi columns have ``published``, ``labels`` and ``domain``, declared ones a ``reason``."""

    name: str
    role: str
    type: Literal["text", "integer", "unsigned", "real", "boolean", "date", "datetime"]
    published: Literal["labels", "values", "typical"] | None = None
    labels: dict[str, MeaningDocument] | None = None
    domain: DomainValues | DomainRun | None = None
    coarsened: dict[str, JsonValue] | None = None
    reason: str | None = None
    computable_from: Names | None = None


class TableDocument(PublishedDocument):
    """A published table: its files, its columns, and the columns with text that a spreadsheet would run as a formula."""

    files: Annotated[Names, Field(min_length=1)]
    columns: Names
    formulas: Names | None = None


class KnownRowsDocument(PublishedDocument):
    """How many rows of one person an adversary may know."""

    rows: Annotated[int, Field(ge=1)] | Literal["all"]
    judged: Literal["records", "people", "chances"]
    same: Names
    each_row: Names | None = None


class ManifestDocument(PublishedDocument):
    """manifest.json: schema of the published files."""

    layout: Literal[4]
    format: str
    method: dict[str, JsonValue]
    unit: Unit
    columns: list[ColumnDocument]
    tables: dict[str, TableDocument]
    quasi_sets: list[Names] | None
    details: dict[str, JsonValue]
    known_rows: KnownRowsDocument | None = None
    unit_declared: Literal[True] | None = None


class HeadlineDocument(PublishedDocument):
    """The verdict in one word, with its reasons."""

    state: Literal["holds", "holds, but", "does not hold", "not shown"]
    reasons: Names


class ClaimDocument(PublishedDocument):
    """A claimed definition, and in plain words what it covers and does not cover."""

    definition: str
    parameters: dict[str, JsonValue]
    covers: str
    does_not_cover: str


class DeclaredDocument(PublishedDocument):
    """A declared column: how many records it makes unique, and how many it puts into small classes."""

    column: str
    reason: str | None
    unique: Count | None
    few: Count | None
    computable_from: Names
    may_link: bool


class DeclaredTogetherDocument(PublishedDocument):
    """All declared columns together: records unique, and records in small classes."""

    unique: Count | None
    few: Count | None
    records: Count
    k: Count


class ReferenceDocument(PublishedDocument):
    """The histogram of a sensitive column that claims compare with."""

    values: list[Scalar]
    counts: list[Count]
    ordered: bool
    levels: list[list[Count]] | None
    of: Literal["whole table", "published rows"]


class RandomnessDocument(PublishedDocument):
    """Whether all randomness came from the operating system."""

    releasable: bool
    statement: str


class FileDocument(PublishedDocument):
    """The fingerprint of a public file."""

    sha256: Hex32
    bytes: Count


class LedgerDocument(PublishedDocument):
    """The number of the release within its data set, and the prior disclosures it was judged with."""

    dataset: str | None
    release: Annotated[int, Field(ge=1)] | None
    statement: str
    beside: str | None = None


class SignatureDocument(PublishedDocument):
    """An Ed25519 signature over the canonical form of the rest of the document."""

    algorithm: Literal["Ed25519"]
    public_key: Hex32
    value: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class CertificateDocument(PublishedDocument):
    """certificate.json: the claims, and the hashes of the files they are about."""

    layout: Literal[4]
    reticent: Annotated[str, Field(pattern=r"^\d+(\.\w+)*$")]
    format: str
    headline: HeadlineDocument
    claims: Annotated[list[ClaimDocument], Field(max_length=100)]
    quasi: Names
    sensitive: Names
    declared: list[DeclaredDocument]
    declared_together: DeclaredTogetherDocument | None
    unit: Unit
    reference: dict[str, ReferenceDocument] | None
    randomness: RandomnessDocument
    residual_risks: Names
    files: dict[str, FileDocument]
    ledger: LedgerDocument
    created: Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")]
    signature: SignatureDocument | Annotated[list[SignatureDocument], Field(min_length=2)] | None = None
