"""The manifest: the schema of the published files. Columns with roles and types, and the meaning of every label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

import polars as pl

import reticent
from reticent.definitions import KnownRows, RowsJudged
from reticent.errors import DataError, PolicyError
from reticent.release.document_schemas import check_structure
from reticent.table import Meaning, Unit, ValueType, coarsening_from, to_plain

LAYOUT = 4
_LARGEST_RUN = 100_000_000
ROLES = ("quasi", "sensitive", "declared", "pseudonym")
GROUPS = "groups"
"""Name of the table with the labels of groups that are published as typical values."""

PublishedAs = Literal["labels", "values", "typical"]


@dataclass(frozen=True)
class ManifestColumn:
    """A published column of values of type ``kind``.

    A quasi column is published as labels, as the values themselves, or as typical values with the labels in a table of
    groups; ``labels`` maps the text of each label or value that occurs to its meaning. ``domain`` holds the declared
    possible values, if any. ``coarsened`` describes how the numbers or dates of another column were rounded, ``reason``
    why a declared column counts as unknown, and ``computable`` the quasi columns from which it can be computed
    nevertheless. A format may have roles of its own for columns without a counterpart in the original table.
    """

    name: str
    role: str
    kind: ValueType
    labels: Mapping[str, Meaning] = field(default_factory=dict)
    published: PublishedAs = "labels"
    domain: Sequence[Any] | None = None
    coarsened: Mapping[str, Any] | None = None
    reason: str | None = None
    computable: tuple[str, ...] = ()

    def type_in(self, table: str) -> pl.DataType:
        """Return the column's type in one of the tables."""
        labelled = self.published == "labels" or (self.published == "typical" and table == GROUPS)
        return ValueType.TEXT.dtype if self.role == "quasi" and labelled else self.kind.dtype

    def as_json(self) -> dict[str, Any]:
        """The column as plain data."""
        entry: dict[str, Any] = {"name": self.name, "role": self.role, "type": str(self.kind)}
        if self.coarsened is not None:
            entry["coarsened"] = to_plain(self.coarsened)
        if self.role == "declared":
            entry["reason"] = self.reason
        if self.computable:
            entry["computable_from"] = list(self.computable)
        if self.role == "quasi":
            entry["published"] = self.published
            entry["labels"] = {label: meaning.as_json() for label, meaning in self.labels.items()}
            entry["domain"] = _domain_json(self.domain)
        return entry


@dataclass(frozen=True)
class ManifestTable:
    """A published table: its files in order, and its columns in order.

    ``formulas`` are columns with text that a spreadsheet would run as a formula; CSV files prefix it with an
    apostrophe, which is not part of the text.
    """

    files: tuple[str, ...]
    columns: tuple[str, ...]
    formulas: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The entry of the manifest."""
        entry = {"files": list(self.files), "columns": list(self.columns)}
        return {**entry, "formulas": list(self.formulas)} if self.formulas else entry


@dataclass(frozen=True)
class Manifest:
    """Schema of the published files.

    ``quasi_sets`` are the sets of quasi columns that an adversary may know (default: all together). ``details`` is the
    format's own part. ``known_rows`` is how many rows of one person an adversary may know, as attested by the
    publisher. ``unit_declared``: a row counts as a person although an identifier column repeats.
    """

    format: str
    columns: tuple[ManifestColumn, ...]
    tables: Mapping[str, ManifestTable]
    method: Mapping[str, Any] = field(default_factory=dict)
    unit: str = "row"
    quasi_sets: tuple[tuple[str, ...], ...] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    known_rows: KnownRows | None = None
    unit_declared: bool = False

    def named(self, role: str) -> tuple[str, ...]:
        """Return the columns with a role."""
        return tuple(column.name for column in self.columns if column.role == role)

    def only(self, role: str) -> str | None:
        """Return the column with a role that at most one column has, or None."""
        return next(iter(self.named(role)), None)

    def column(self, name: str) -> ManifestColumn:
        """Return a published column by name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DataError(f"manifest.json does not describe a column {name!r}.")

    @property
    def meanings(self) -> dict[str, dict[str, Meaning]]:
        """Return the meaning of each label of every quasi column."""
        return {column.name: dict(column.labels) for column in self.columns if column.role == "quasi"}

    @property
    def domains(self) -> dict[str, Sequence[Any]]:
        """Return the declared domains of the quasi columns that have one."""
        return {column.name: column.domain for column in self.columns if column.domain is not None}

    @property
    def adversary_sets(self) -> tuple[tuple[str, ...], ...]:
        """Return the sets of quasi columns against which every claim must hold."""
        return self.quasi_sets if self.quasi_sets is not None else (self.named("quasi"),)

    def as_json(self) -> dict[str, Any]:
        """The manifest as plain data."""
        return {
            "layout": LAYOUT,
            "format": self.format,
            "method": to_plain(self.method),
            "unit": self.unit,
            "columns": [column.as_json() for column in self.columns],
            "tables": {name: table.as_json() for name, table in self.tables.items()},
            "quasi_sets": [list(names) for names in self.quasi_sets] if self.quasi_sets is not None else None,
            "details": to_plain(self.details),
            **({} if self.known_rows is None else {"known_rows": self.known_rows.as_json()}),
            **({"unit_declared": True} if self.unit_declared else {}),
        }

    @classmethod
    def from_json(cls, payload: Mapping[str, Any]) -> Manifest:
        """Parse a manifest; a mismatch raises a :class:`DataError` with its path."""
        reader = _ManifestReader(payload, "manifest.json")
        check_layout(reader.get("layout", int), LAYOUT, "manifest.json")
        check_structure(payload, "manifest")
        sets = payload.get("quasi_sets")
        manifest = cls(
            reader.get("format", str),
            tuple(_column(item) for item in reader.items("columns")),
            tables={
                name: _table(_ManifestReader(item, f"manifest.json, table {name!r}"))
                for name, item in reader.get("tables", dict).items()
            },
            method=reader.get("method", dict),
            unit=reader.get("unit", str),
            quasi_sets=tuple(_names(names, "manifest.json, quasi_sets") for names in reader.get("quasi_sets", list))
            if sets
            else None,
            details=reader.get("details", dict),
            known_rows=_read_known_rows(reader),
            unit_declared=payload.get("unit_declared") is True,
        )
        manifest._check()
        if payload != manifest.as_json():
            raise DataError("manifest.json has unknown or contradictory entries.")
        return manifest

    def _check(self) -> None:
        """Check that columns, tables, unit and column sets are consistent."""
        names = [column.name for column in self.columns]
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise DataError(f"manifest.json describes column {repeated[0]!r} twice.")
        if self.unit not in get_args(Unit):
            raise DataError(f"manifest.json: unit must be 'row', 'person' or 'household', but it is {self.unit!r}.")
        if self.known_rows is not None and self.unit == "row":
            raise DataError("manifest.json: known_rows applies to people with several rows, but the unit is the row.")
        if self.unit_declared and self.unit != "row":
            raise DataError(
                "manifest.json: unit_declared applies to rows that count as people, but the unit is not the row."
            )
        if self.quasi_sets is not None:
            covered = {name for names in self.quasi_sets for name in names}
            if covered != set(self.named("quasi")):
                raise DataError("manifest.json: quasi_sets must cover exactly the quasi columns.")
        published = {name for table in self.tables.values() for name in table.columns}
        if published != set(names):
            mismatched = sorted(published ^ set(names))[0]
            raise DataError(f"manifest.json: column {mismatched!r} must be both described and published.")


class EarlierLayout(DataError):
    """The files were written in an earlier layout, which this version does not read."""


def check_layout(layout: Any, supported: int, file: str) -> None:
    """Refuse files of another layout, and name the version that reads them."""
    if type(layout) is int and layout < supported:
        raise EarlierLayout(
            f"{file} has layout {layout}, which an earlier version of Reticent wrote, and this one ({reticent.__version__}) reads layout {supported}. "
            "Publish again, or verify it with the version that its certificate names."
        )
    if layout != supported:
        raise DataError(f"{file} has layout {layout!r}, and this version of Reticent reads {supported}.")


@dataclass(frozen=True)
class _ManifestReader:
    """Reads entries with type checks; errors name the path of a missing or wrong entry."""

    payload: Mapping[str, Any]
    where: str

    def __post_init__(self) -> None:
        if not isinstance(self.payload, Mapping):
            raise DataError(f"{self.where} must be a JSON object.")

    def get(self, name: str, kind: type) -> Any:
        """Return an entry, which must be of this type."""
        value = self.payload.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DataError(f"{self.where}: {name!r} is missing or has the wrong type.")
        return value

    def items(self, name: str) -> Iterator[_ManifestReader]:
        for number, item in enumerate(self.get(name, list), start=1):
            yield _ManifestReader(item, f"{self.where}, {name}, entry {number}")


def _column(reader: _ManifestReader) -> ManifestColumn:
    """Parse one column of a manifest; an invalid entry raises a :class:`DataError`."""
    name, role, type_name = (reader.get(field, str) for field in ("name", "role", "type"))
    if type_name not in list(ValueType):
        raise DataError(f"{reader.where}: type must be one of {', '.join(ValueType)}, but it is {type_name!r}.")
    kind = ValueType(type_name)
    if role != "quasi":
        sources = _names(reader.payload.get("computable_from", []), reader.where)
        reason = reader.get("reason", str) if role == "declared" else None
        return ManifestColumn(name, role, kind, coarsened=_read_coarsened(reader), reason=reason, computable=sources)
    where = f"manifest.json, column {name!r}: the meaning of label"
    labels = {text: Meaning.read(item, kind, f"{where} {text!r}") for text, item in reader.get("labels", dict).items()}
    published = reader.get("published", str)
    if published not in get_args(PublishedAs):
        raise DataError(
            f"{reader.where}: published must be one of {', '.join(get_args(PublishedAs))}, not {published!r}."
        )
    return ManifestColumn(
        name, role, kind, labels, published=cast(PublishedAs, published), domain=_read_domain(reader, kind)
    )


def _read_known_rows(reader: _ManifestReader) -> KnownRows | None:
    """Parse how many rows of a person an adversary may know, and what was judged; None if the manifest does not state it."""
    if "known_rows" not in reader.payload:
        return None
    payload = reader.get("known_rows", dict)
    rows, judged, same = payload.get("rows"), payload.get("judged"), payload.get("same")
    is_valid = rows == "all" or (type(rows) is int and rows >= 1)
    each_row = payload.get("each_row", [])
    if (
        not is_valid
        or judged not in get_args(RowsJudged)
        or not isinstance(same, list)
        or not isinstance(each_row, list)
    ):
        raise DataError(f"{reader.where}: known_rows must state how many rows may be known and what was judged.")
    return KnownRows(None if rows == "all" else rows, judged, tuple(map(str, same)), tuple(map(str, each_row)))


def _read_coarsened(reader: _ManifestReader) -> Mapping[str, Any] | None:
    """Parse how a column was rounded; None if it was not."""
    if "coarsened" not in reader.payload:
        return None
    try:
        return coarsening_from(reader.get("coarsened", dict), reader.where).told()
    except PolicyError as error:
        raise DataError(str(error)) from None


def _domain_json(domain: Sequence[Any] | None) -> Any:
    """Return a declared domain as plain data: the ends of an integer range, or all values."""
    if domain is None:
        return None
    if len(domain) > 2 and _is_run(domain):
        return {"from": to_plain(domain[0]), "to": to_plain(domain[-1])}
    return {"values": to_plain(domain)}


def _is_run(domain: Sequence[Any]) -> bool:
    """True if a domain is every integer from its first to its last; a range object is not expanded to test this."""
    if isinstance(domain, range):
        return domain.step == 1
    return all(type(value) is int for value in domain) and list(domain) == list(range(domain[0], domain[-1] + 1))


def _read_domain(reader: _ManifestReader, kind: ValueType) -> Sequence[Any] | None:
    """Parse the declared domain of a column: a range of integers or a list of values; None if none is declared."""
    if reader.payload.get("domain") is None:
        return None
    payload = reader.get("domain", dict)
    if set(payload) == {"from", "to"}:
        low, high = (kind.read(payload[end]) for end in ("from", "to"))
        if type(low) is int and type(high) is int and 0 <= high - low <= _LARGEST_RUN:
            return range(low, high + 1)
    elif set(payload) == {"values"} and isinstance(payload["values"], list):
        return [kind.read(value) for value in payload["values"]]
    raise DataError(f"{reader.where}: the domain cannot be parsed.")


def _table(reader: _ManifestReader) -> ManifestTable:
    files, columns = (_names(reader.get(entry, list), reader.where) for entry in ("files", "columns"))
    formulas = _names(reader.get("formulas", list), reader.where) if "formulas" in reader.payload else ()
    return ManifestTable(files, columns, formulas)


def _names(names: Any, where: str) -> tuple[str, ...]:
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise DataError(f"{where}: files and columns must be lists of names.")
    return tuple(names)
