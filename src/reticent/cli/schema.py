"""``reticent schema``: the JSON Schemas of the documents of a release."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from reticent.base.cards import PlainResult
from reticent.cli.console import Json, answer


def schema(
    name: Annotated[str | None, typer.Argument(help="manifest or certificate; default: both.")] = None,
    as_json: Json = False,
) -> None:
    """Print the JSON Schema of manifest.json or certificate.json. Rules beyond structure are in docs/reference/release-format.md.

    Example: reticent schema manifest
    """
    from reticent.release import schema_names, shipped_schema

    if name is None:
        schemas = {schema_name: shipped_schema(schema_name) for schema_name in schema_names()}
    else:
        schemas = shipped_schema(name)
    if as_json:
        answer(PlainResult.saying("", {"schemas" if name is None else "schema": schemas}), as_json)
    else:
        typer.echo(json.dumps(schemas, indent=1))
