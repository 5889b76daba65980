"""The sections and keys of policy files as Markdown, read from their models."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from docs.tools.docstrings import in_cell
from reticent.policy.audit_policy import AuditSections
from reticent.policy.sections import Sections

_WORDS = {str: "text", int: "integer", bool: "true or false", float: "number"}


def releases() -> str:
    """The keys of a policy for releases."""
    return _tables(Sections)


def audits() -> str:
    """The keys of a policy for audited SQL."""
    return _tables(AuditSections)


def _tables(model: type[BaseModel]) -> str:
    return "\n\n".join(f"### {heading}\n\n{_table(each)}" for heading, each in sections(model))


def sections(model: type[BaseModel], path: str = "") -> Iterator[tuple[str, type[BaseModel]]]:
    """The sections of a file with their headings, the file itself first."""
    yield f"`[{path}]`" if path else "At the top", model
    for name, field in model.model_fields.items():
        inner, named = _section(field.annotation)
        if inner is not None:
            below = f"{path}.{name}" if path else name
            yield from sections(inner, f"{below}.NAME" if named else below)


def _section(kind: Any) -> tuple[type[BaseModel] | None, bool]:
    """The model of a key that is a section, and whether names of one's own stand between."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return kind, False
    if get_origin(kind) is dict:
        return _section(get_args(kind)[1])[0], True
    options = [each for each in get_args(kind) if each is not NoneType] if _is_union(kind) else []
    return _section(options[0]) if len(options) == 1 else (None, False)


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _table(model: type[BaseModel]) -> str:
    rows = [
        f"| `{field.alias or name}` | {in_cell(_kind(field.annotation))} | {in_cell(_default(field))} | {in_cell(field.description or '')} |"
        for name, field in model.model_fields.items()
    ]
    return "\n".join(["| key | type | default | meaning |", "|---|---|---|---|", *rows])


def _kind(kind: Any) -> str:
    if get_origin(kind) is typing.Annotated:
        return _kind(get_args(kind)[0])
    if _is_union(kind):
        return " or ".join(dict.fromkeys(_kind(each) for each in get_args(kind) if each is not NoneType))
    if get_origin(kind) is Literal:
        return ", ".join(f'`"{each}"`' for each in get_args(kind))
    if get_origin(kind) is list:
        inner = _kind(get_args(kind)[0])
        return "text or list of texts" if inner == "text" else f"list of {inner}"
    if get_origin(kind) is dict:
        return "table"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "table"
    return _WORDS.get(kind, "any")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default_factory is None else None
    if value in (None, PydanticUndefined):
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value!r}`".replace("'", '"')
