"""A schema without SQL: JSON, TOML or YAML with tables, columns, keys and finite domains.

```yaml
tables:
  diagnosis:
    columns: {pid: whole, code: text, level: {type: text, values: [mild, serious], nullable: true}}
    keys: [[pid, code]]
```
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from reticent.base.documents import parse_json, parse_toml
from reticent.errors import PolicyError, did_you_mean
from reticent.views.schema import Relation, Schema, SchemaColumn
from reticent.views.texts import read_text

SUFFIXES = (".json", ".toml", ".yaml", ".yml")
_TYPES = {
    "whole": ("number", True),
    "number": ("number", False),
    "double": ("number", False),
    "text": ("text", False),
    "boolean": ("boolean", False),
    "date": ("date", True),
    "timestamp": ("timestamp", True),
    "moment": ("moment", True),
    "any": (None, False),
}


def read_schema_file(path: Path) -> Schema:
    """Read the schema in a JSON, TOML or YAML file."""
    content = _load(path)
    tables = content.get("tables") if isinstance(content, Mapping) else None
    if not isinstance(tables, Mapping) or not tables:
        raise PolicyError(f"{path}: describe at least one table under 'tables'.")
    schema = Schema({str(name).lower(): _relation(str(name), entry, path) for name, entry in tables.items()})
    schema = schema.with_domains(
        {
            name: {
                column: column_entry["values"]
                for column, column_entry in entry["columns"].items()
                if isinstance(column_entry, Mapping) and "values" in column_entry
            }
            for name, entry in tables.items()
        }
    )
    booleans: dict[str, dict[int | str, list[object]]] = {
        name: {column.name: [False, True] for column in schema.relation(name).columns if column.kind == "boolean"}
        for name in tables
    }
    return schema.with_domains(booleans).with_keys({name: entry.get("keys", []) for name, entry in tables.items()})


def _relation(name: str, entry: Any, path: Path) -> Relation:
    """Return the table that an entry of a schema file describes: its columns with their types."""
    if not isinstance(entry, Mapping) or not isinstance(entry.get("columns"), Mapping):
        raise PolicyError(f"{path}: the table {name} needs 'columns', a map from name to type.")
    columns = []
    for column, column_entry in entry["columns"].items():
        options = column_entry if isinstance(column_entry, Mapping) else {"type": column_entry}
        word = str(options.get("type", "any"))
        if word not in _TYPES:
            raise PolicyError(
                f"{path}: {name}.{column} has the type {word!r}; the types are {', '.join(_TYPES)}."
                f"{did_you_mean(word, _TYPES)}"
            )
        kind, whole = _TYPES[word]
        columns.append(
            SchemaColumn(
                str(column), kind, whole, bool(options.get("nullable", False)), form=word if word == "double" else ""
            )
        )
    return Relation(name, tuple(columns))


def _load(path: Path) -> Any:
    """Return the content of a JSON, TOML or YAML file."""
    text = read_text(path)
    try:
        if path.suffix == ".json":
            return parse_json(text)
        if path.suffix == ".toml":
            return parse_toml(text)
    except ValueError as error:
        raise PolicyError(f"{path} cannot be read: {error}.") from None
    try:
        yaml: Any = import_module("yaml")
    except ImportError:
        raise PolicyError(f"Reading {path} needs PyYAML (pip install pyyaml); JSON and TOML work without.") from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PolicyError(f"{path} cannot be read: {error}.") from None
