"""Definitions and methods constructed from the plain data of policies, certificates and manifests; errors name the offending parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, field, fields
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from reticent.base.exact import Number, exact
from reticent.errors import ParameterError, ReticentError, did_you_mean
from reticent.registry import Kind, load

_WORDS = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}


def made_from(kind: Kind, name: str, parameters: Mapping[str, Any]) -> Any:
    """Construct the definition or method ``name`` with its parameters.

    Raises :class:`ParameterError`, with ``setting`` naming a parameter that is unknown (with a hint), missing, or of
    the wrong type.
    """
    constructor, parameters_known = load(kind, name), parameters_of(kind, name)
    listed = f"Its parameters are: {', '.join(parameters_known)}." if parameters_known else "It has no parameters."
    for parameter in parameters:
        if parameter not in parameters_known:
            raise ParameterError(
                f"{name} has no parameter {parameter!r}.{did_you_mean(parameter, parameters_known)} {listed}",
                setting=(parameter,),
            )
    missing = [
        key
        for key, signature_entry in parameters_known.items()
        if signature_entry.default is Parameter.empty and key not in parameters
    ]
    if missing:
        raise ParameterError(f"{name} needs {', '.join(missing)}. {listed}")
    try:
        instance, problem = constructor(**parameters), None
    except Exception as error:
        instance, problem = None, error
    if not (isinstance(problem, ReticentError) and problem.setting):
        problem = _misfit(name, parameters, _hints(constructor), problem) or problem
    if problem is not None:
        raise problem
    return instance


def parameter(
    default: Any,
    *,
    stated: Literal["changed", "always", "never"] = "changed",
    written: Callable[[Any], Any] | None = None,
) -> Any:
    """The dataclass field of a parameter, with what :func:`described` needs: whether its default is stated, and how it is written."""
    return field(default=default, metadata={"stated": stated, "written": written})


def described(instance: Any, encode: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """The name of a method and its public parameters as plain data, the inverse of :func:`made_from`.

    Parameters are stated if they differ from their default, unless their field (:func:`parameter`) requests otherwise;
    ``encode`` is the encoding of parameters without one of their own.
    """
    description: dict[str, Any] = {"name": type(instance).__name__}
    for dataclass_field in fields(instance):
        rule = dataclass_field.metadata.get("stated", "changed")
        if rule == "never" or dataclass_field.name.startswith("_"):
            continue
        write = dataclass_field.metadata.get("written") or encode or plain_parameter
        default_value = (
            dataclass_field.default if dataclass_field.default_factory is MISSING else dataclass_field.default_factory()
        )
        value, default = (
            None if stated is None else write(stated)
            for stated in (getattr(instance, dataclass_field.name), default_value)
        )
        if rule == "always" or value != default:
            description[dataclass_field.name] = value
    return description


def plain_parameter(value: Any) -> Any:
    """The value of a parameter as JSON: mappings and lists are converted recursively, numbers and strings are kept,
    everything else becomes a string.
    """
    if isinstance(value, Mapping):
        return {name: plain_parameter(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain_parameter(item) for item in value]
    return value if isinstance(value, str | int | float) else str(value)


def exact_text(value: Number) -> str:
    """A number as the text of its fraction."""
    return str(exact(value, "parameter"))


def parameters_of(kind: Kind, name: str) -> dict[str, Parameter]:
    """The parameters of a definition or method, by name."""
    return {
        key: parameter for key, parameter in _signature(load(kind, name)).parameters.items() if not key.startswith("_")
    }


def beside(folder: Path, kind: Kind, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with relative file names resolved against ``folder``: strings of parameters annotated as ``Path``."""
    hints = _hints(load(kind, name))
    return {
        key: str(folder / value) if isinstance(value, str) and Path in get_args(hints.get(key)) else value
        for key, value in parameters.items()
    }


_signature = cache(signature)
_hints = cache(get_type_hints)


def _misfit(
    name: str, parameters: Mapping[str, Any], hints: Mapping[str, Any], problem: Exception | None
) -> ReticentError | None:
    """An error for the first parameter of the wrong type; an existing error only gets the setting."""
    for key, value in parameters.items():
        if not _fits(value, hints.get(key, Any)):
            if isinstance(problem, ReticentError):
                problem.setting, problem.value = (key,), value
                return problem
            return ParameterError(
                f"{name}: {key} must be {_words(hints[key])}, but it is {value!r}.", setting=(key,), value=value
            )
    return None


def _fits(value: Any, hint: Any) -> bool:
    """True if a value is of an annotated type. A string counts as a list of strings, and an integer as a number."""
    kind, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(_fits(value, alternative) for alternative in arguments)
    if kind is Literal:
        return any(type(value) is type(option) and value == option for option in arguments)
    if kind is not None and issubclass(kind, Mapping):
        keys, values = arguments
        return isinstance(value, Mapping) and all(
            _fits(key, keys) and _fits(item, values) for key, item in value.items()
        )
    if kind is not None and issubclass(kind, Iterable):
        if isinstance(value, str):
            return _fits(value, arguments[0])
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            return False
        items = list(value)
        item_types = [arguments[0]] * len(items) if len(arguments) == 1 or arguments[1] is ... else arguments
        return len(items) == len(item_types) and all(map(_fits, items, item_types))
    if kind is Callable:
        return callable(value)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return not isinstance(hint, type) or isinstance(value, hint)


def _words(hint: Any) -> str:
    """A type in words."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        words = dict.fromkeys(
            _words(member) for member in inner if member is not NoneType and get_origin(member) is not Callable
        )
        return " or ".join(words)
    if kind is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if kind is not None and issubclass(kind, Mapping):
        return "a table"
    if kind is not None and issubclass(kind, Iterable):
        return "a list"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
