"""The structure of manifest and certificate as models: what their readers check first, and what the published JSON Schemas are made from.

Imported where a document is read, since pydantic takes a while to import. What goes beyond structure is in docs/reference/release-format.md, and in the readers.
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
    """A part of a document: exactly its entries, each of its type."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ValueMeaning(PublishedDocument):
    """One value."""

    value: Scalar


class ValuesMeaning(PublishedDocument):
    """One of several values."""

    values: Annotated[list[Scalar], Field(min_length=1)]


class IntervalMeaning(PublishedDocument):
    """Values between two ends, null where there is none; with ``null`` also missing values."""

    interval: Annotated[list[str | int | float | None], Field(min_length=2, max_length=2)]
    closed: Literal["left", "right", "both", "neither"]
    null: Literal[True] | None = None


class PrefixMeaning(PublishedDocument):
    """Codes of a length that begin alike."""

    prefix: str
    length: Annotated[int, Field(ge=0, le=10_000)]


class WeekdayMeaning(PublishedDocument):
    """Days on one weekday, from Monday (1) to Sunday (7)."""

    weekday: Annotated[int, Field(ge=1, le=7)]


class HourMeaning(PublishedDocument):
    """Moments in one hour of any day."""

    hour_of_day: Annotated[int, Field(ge=0, le=23)]


class MissingMeaning(PublishedDocument):
    """A missing value."""

    null: Literal[True]


class AnythingMeaning(PublishedDocument):
    """Any value, or none."""

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
    """A declared domain, value by value."""

    values: list[Scalar]


class DomainRun(PublishedDocument):
    """A declared domain of all whole numbers between two ends."""

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
    """A published table: its files and its columns, and those with text that a spreadsheet would run."""

    files: Annotated[Names, Field(min_length=1)]
    columns: Names
    formulas: Names | None = None


class KnownRowsDocument(PublishedDocument):
    """Of how many rows of one person an adversary may know the columns."""

    rows: Annotated[int, Field(ge=1)] | Literal["all"]
    judged: Literal["records", "people", "chances"]
    same: Names
    each_row: Names | None = None


class ManifestDocument(PublishedDocument):
    """manifest.json: what the published files hold."""

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
    """A definition that is claimed, and in plain words what it covers and what not."""

    definition: str
    parameters: dict[str, JsonValue]
    covers: str
    does_not_cover: str


class DeclaredDocument(PublishedDocument):
    """A declared column: how many records it makes unique, and how many it puts among few."""

    column: str
    reason: str | None
    unique: Count | None
    few: Count | None
    computable_from: Names
    may_link: bool


class DeclaredTogetherDocument(PublishedDocument):
    """The same of all declared columns together."""

    unique: Count | None
    few: Count | None
    records: Count
    k: Count


class ReferenceDocument(PublishedDocument):
    """The histogram of a sensitive column with which claims compare."""

    values: list[Scalar]
    counts: list[Count]
    ordered: bool
    levels: list[list[Count]] | None
    of: Literal["whole table", "published rows"]


class RandomnessDocument(PublishedDocument):
    """Whether random choices came from the operating system."""

    releasable: bool
    statement: str


class FileDocument(PublishedDocument):
    """The fingerprint of a public file."""

    sha256: Hex32
    bytes: Count


class LedgerDocument(PublishedDocument):
    """The number of the release among those of its data set, and what was judged beside it."""

    dataset: str | None
    release: Annotated[int, Field(ge=1)] | None
    statement: str
    beside: str | None = None


class SignatureDocument(PublishedDocument):
    """An Ed25519 signature of the canonical form of everything else."""

    algorithm: Literal["Ed25519"]
    public_key: Hex32
    value: Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


class CertificateDocument(PublishedDocument):
    """certificate.json: what is claimed, and the fingerprints of the files that it is about."""

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
