"""Metadata of Arrow schemas, found without the library that wrote them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from reticent.base.arrow_metadata import has_metadata

PLAIN = pa.schema([("a", pa.list_(pa.int64())), ("b", pa.dictionary(pa.int32(), pa.string())), ("c", pa.string())])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (PLAIN, False),
        (pa.schema([]), False),
        (PLAIN.with_metadata({"author": "x"}), True),
        (pa.schema([pa.field("a", pa.int64(), metadata={"k": "v"})]), True),
        (pa.schema([pa.field("a", pa.list_(pa.field("item", pa.int64(), metadata={"k": "v"})))]), True),
    ],
)
def test_metadata_of_a_schema_or_a_column_are_found(schema: pa.Schema, expected: bool) -> None:
    assert has_metadata(schema.serialize().to_pybytes()) is expected


def test_a_damaged_schema_is_an_error_of_its_own() -> None:
    whole = PLAIN.serialize().to_pybytes()
    rng = random.Random(5)
    for _ in range(3000):
        content = bytearray(whole[: rng.randrange(len(whole) + 1)])
        for _ in range(min(3, len(content))):
            content[rng.randrange(len(content))] = rng.randrange(256)
        try:
            has_metadata(bytes(content))
        except ValueError:
            continue
    with pytest.raises(ValueError, match="cut or damaged"):
        has_metadata(whole[:10])
