"""Descriptions of errors in a policy file, each with its position."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from reticent.errors import PolicyError, did_you_mean
from reticent.policy.toml_positions import TomlPosition, TomlPositions

_MOST_SHOWN = 5
_EXPECTED = {
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "list_type": "a list in brackets",
    "dict_type": "a table",
    "model_type": "a table",
}


def syntax_error(file: str, text: str, error: tomllib.TOMLDecodeError) -> PolicyError:
    """Return the error for a file that is not TOML: the parser's message with its position."""
    match = re.search(r"^(.*?) \(at (?:line (\d+), column (\d+)|end of document)\)$", str(error), re.DOTALL)
    lines = text.split("\n")
    words = match.group(1) if match else str(error)
    line = int(match.group(2)) if match and match.group(2) else len(lines)
    column = int(match.group(3)) if match and match.group(3) else len(lines[-1]) + 1
    line_text = lines[line - 1].rstrip("\r") if line <= len(lines) else ""
    position = TomlPosition(line, column, line_text)
    problem = PolicyError(f"this is not TOML: {words[:1].lower()}{words[1:]}.")
    return problem.at(position.name(file), position.excerpt)


def schema_error(
    file: str, positions: TomlPositions, content: Mapping[str, Any], error: ValidationError, root: type[BaseModel]
) -> PolicyError:
    """Return the error for unknown, missing or mistyped settings, in the order of the file."""
    messages = []
    for item in error.errors(include_url=False):
        path = item["loc"]
        messages.append((positions.find(path), _in_words(path, item, content, root)))
    messages.sort(key=lambda pair: (pair[0].line, pair[0].column))
    lines = [position.point(file, message) for position, message in messages[:_MOST_SHOWN]]
    if len(messages) > _MOST_SHOWN:
        lines.append(f"... and {len(messages) - _MOST_SHOWN} more.")
    first = PolicyError("\n".join(lines))
    first.position = messages[0][0].name(file)
    return first


def _in_words(
    path: Sequence[str | int], item: Mapping[str, Any], content: Mapping[str, Any], root: type[BaseModel]
) -> str:
    """Return one validation error in words: what is unknown, missing or of the wrong type, with a hint."""
    name, kind = path[-1], item["type"]
    if kind == "extra_forbidden":
        settings_known = _settings_of(path[:-1], root)
        where = f"[{'.'.join(map(str, path[:-1]))}]" if len(path) > 1 else f"a {_called(root)}"
        hint = "" if did_you_mean(name, settings_known) else _elsewhere(str(name), root)
        return f"{where} has no setting {name!r}.{did_you_mean(name, settings_known)}{hint} It has: {', '.join(sorted(settings_known))}."
    if kind == "missing":
        where = f"[{'.'.join(map(str, path[:-1]))}]" if len(path) > 1 else f"the {_called(root)}"
        return f"{where} needs a setting {name!r}{_described(path, root)}."
    value = _value_at(content, path)
    if kind == "literal_error":
        choices = re.findall(r"'([^']*)'", item["ctx"]["expected"])
        return f"{name} must be {_either(choices)}, but it is {value!r}.{did_you_mean(value, choices)}"
    setting_name = f"item {name + 1} of {path[-2]}" if isinstance(name, int) and len(path) > 1 else str(name)
    return f"{setting_name} must be {_EXPECTED.get(kind, item['msg'])}, but it is {value!r}."


def _called(root: type[BaseModel]) -> str:
    """Return the user-facing name of a file with these sections."""
    return str(getattr(root, "called", "policy"))


def _described(path: Sequence[str | int], root: type[BaseModel]) -> str:
    """Return the description of a setting, if its section has one."""
    description = _section(path[:-1], root).model_fields[str(path[-1])].description
    return f": {description}" if description else ""


def _settings_of(path: Sequence[str | int], root: type[BaseModel]) -> list[str]:
    """Return the settings of a section."""
    return list(_section(path, root).model_fields)


def _section(path: Sequence[str | int], root: type[BaseModel]) -> type[BaseModel]:
    """Return the model of the section at a path of settings."""
    model = root
    for part in path:
        nested = _model_in(model.model_fields[str(part)].annotation) if part in model.model_fields else None
        # A section of named sections, such as [hierarchies] or [users]: the name is free.
        model = nested if nested is not None else model
    return model


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Return the section class that a setting holds, also below a name or if optional."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in models if model is not None), None)


def _elsewhere(name: str, root: type[BaseModel]) -> str:
    """Return a hint for a setting that exists in another section."""
    for section, field in root.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel) and name in kind.model_fields:
            return f" It belongs under [{section}]."
    if name in root.model_fields:
        return " It belongs at the top of the file, before the first section."
    of_method = "method" in root.model_fields and name in ("objective", "suppression", "format", "weights", "seconds")
    return " It belongs under [method]." if of_method else ""


def _value_at(content: Any, path: Iterable[str | int]) -> Any:
    """Return the value at a path of settings, or the nearest that contains it."""
    for part in path:
        is_key = isinstance(content, Mapping) and part in content
        if is_key or (isinstance(content, list) and isinstance(part, int) and part < len(content)):
            content = content[part]
    return content


def _either(choices: Sequence[str]) -> str:
    quoted = [repr(choice) for choice in choices]
    return f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else "".join(quoted)
