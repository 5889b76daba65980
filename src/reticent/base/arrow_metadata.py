"""Whether an Arrow schema, as Parquet files carry it, has metadata of its own.

The schema is a table of FlatBuffers in a message of Arrow's stream format. Source: Schema.fbs and Message.fbs of Arrow.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

_CONTINUATION = b"\xff\xff\xff\xff"
_DEEPEST = 64
# Numbers of fields: of a message, a schema and a field.
_HEADER_TYPE, _HEADER, _MESSAGE_METADATA = 1, 2, 4
_SCHEMA = 1
_FIELDS, _SCHEMA_METADATA = 1, 2
_CHILDREN, _FIELD_METADATA = 5, 6


def has_metadata(message: bytes) -> bool:
    """True if the message, its schema or a column has key-value metadata. Raises :class:`ValueError` if it cannot be read."""
    try:
        start = 8 if message[:4] == _CONTINUATION else 4
        root = _SchemaTable(message, start).follow(start)
        if message[root.field(_HEADER_TYPE) or 0] != _SCHEMA:
            raise ValueError("it is not a schema")
        schema = root.table(_HEADER)
        return bool(
            root.size(_MESSAGE_METADATA)
            or schema.size(_SCHEMA_METADATA)
            or any(_of_field(field, 0) for field in schema.tables(_FIELDS))
        )
    except (struct.error, IndexError) as error:
        raise ValueError(f"it is cut or damaged ({error})") from None


def _of_field(field: _SchemaTable, depth: int) -> bool:
    if depth > _DEEPEST:
        raise ValueError("its columns are nested too deeply")
    return bool(field.size(_FIELD_METADATA) or any(_of_field(child, depth + 1) for child in field.tables(_CHILDREN)))


@dataclass(frozen=True)
class _SchemaTable:
    """A table of a FlatBuffer: where it starts. Its table of fields precedes it."""

    content: bytes
    place: int

    def field(self, number: int) -> int | None:
        """Return the byte offset of a field of a flatbuffer table by its ``number``; None if it is absent."""
        fields = self.place - self._number("<i", self.place)
        slot = 4 + 2 * number
        if slot + 2 > self._number("<H", fields):
            return None
        offset = self._number("<H", fields + slot)
        return self.place + offset if offset else None

    def follow(self, place: int) -> _SchemaTable:
        """The table to which an offset points."""
        return _SchemaTable(self.content, place + self._number("<I", place))

    def table(self, number: int) -> _SchemaTable:
        """The table in a field."""
        offset = self.field(number)
        if offset is None:
            raise ValueError(f"it lacks part {number}")
        return self.follow(offset)

    def size(self, number: int) -> int:
        """The length of the vector in a field, 0 if it is not there."""
        offset = self.field(number)
        return 0 if offset is None else self._number("<I", self.follow(offset).place)

    def tables(self, number: int) -> list[_SchemaTable]:
        """The tables of the vector in a field."""
        offset = self.field(number)
        if offset is None:
            return []
        start = self.follow(offset).place
        count = self._number("<I", start)
        if 4 * count > len(self.content):
            raise ValueError("it lists more columns than it has bytes")
        return [self.follow(start + 4 + 4 * number_of_table) for number_of_table in range(count)]

    def _number(self, kind: str, offset: int) -> int:
        if offset < 0:
            raise ValueError("it points outside of itself")
        return int(struct.unpack_from(kind, self.content, offset)[0])
