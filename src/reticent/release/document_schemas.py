"""JSON Schemas of manifest and certificate: generated from the models, and shipped as files for readers without this program."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Literal, get_args

from reticent.errors import DataError

SchemaName = Literal["manifest", "certificate"]


def schema_names() -> tuple[str, ...]:
    """Return the names of the documents that have a schema."""
    return get_args(SchemaName)


def shipped_schema(name: str) -> dict[str, Any]:
    """Return the shipped JSON Schema of a document."""
    if name not in schema_names():
        raise DataError(f"There is no schema {name!r}. There are: {', '.join(schema_names())}.")
    content = files("reticent.release").joinpath("schemas", f"{name}.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(content)
    return schema


def check_structure(document: Mapping[str, Any], name: SchemaName) -> None:
    """Validate a document against its model; a mismatch raises a :class:`DataError` with its path."""
    from pydantic import ValidationError

    from reticent.release import document_models as models

    model = models.ManifestDocument if name == "manifest" else models.CertificateDocument
    try:
        model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        *parents, entry = first["loc"]
        where = f"{name}.json" + "".join(
            f", {step!r}" if isinstance(step, str) else f", entry {step + 1}" for step in parents
        )
        if first["type"] in ("missing", "extra_forbidden"):
            raise DataError(f"{where}: the entry {entry!r} is missing or unexpected.") from None
        value = first["input"]
        value_text = (
            f", but it is {value!r}" if isinstance(value, str | int | float | None) and len(str(value)) < 100 else ""
        )
        raise DataError(f"{where}: the entry {entry!r} is wrong ({first['msg']}{value_text}).") from None
