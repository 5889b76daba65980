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
    make, known = load(kind, name), parameters_of(kind, name)
    listed = f"Its parameters are: {', '.join(known)}." if known else "It has no parameters."
    for given in parameters:
        if given not in known:
            raise ParameterError(
                f"{name} has no parameter {given!r}.{did_you_mean(given, known)} {listed}", setting=(given,)
            )
    missing = [key for key, each in known.items() if each.default is Parameter.empty and key not in parameters]
    if missing:
        raise ParameterError(f"{name} needs {', '.join(missing)}. {listed}")
    try:
        made, problem = make(**parameters), None
    except Exception as error:
        made, problem = None, error
    if not (isinstance(problem, ReticentError) and problem.setting):
        problem = _misfit(name, parameters, _hints(make), problem) or problem
    if problem is not None:
        raise problem
    return made


def parameter(
    default: Any,
    *,
    stated: Literal["changed", "always", "never"] = "changed",
    written: Callable[[Any], Any] | None = None,
) -> Any:
    """The dataclass field of a parameter, with what :func:`described` needs: whether its default is stated, and how it is written."""
    return field(default=default, metadata={"stated": stated, "written": written})


def described(made: Any, written: Callable[[Any], Any] | None = None) -> dict[str, Any]:
    """The name of a method and its public parameters as plain data, the inverse of :func:`made_from`.

    Parameters are stated if they differ from their default, unless their field (:func:`parameter`) requests otherwise;
    ``written`` is the encoding of parameters without one of their own.
    """
    description: dict[str, Any] = {"name": type(made).__name__}
    for each in fields(made):
        rule = each.metadata.get("stated", "changed")
        if rule == "never" or each.name.startswith("_"):
            continue
        write = each.metadata.get("written") or written or plain_parameter
        usual = each.default if each.default_factory is MISSING else each.default_factory()
        value, default = (None if given is None else write(given) for given in (getattr(made, each.name), usual))
        if rule == "always" or value != default:
            description[each.name] = value
    return description


def plain_parameter(value: Any) -> Any:
    """The value of a parameter as JSON: mappings and lists are converted recursively, numbers and strings are kept,
    everything else becomes a string.
    """
    if isinstance(value, Mapping):
        return {name: plain_parameter(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [plain_parameter(each) for each in value]
    return value if isinstance(value, str | int | float) else str(value)


def exact_text(value: Number) -> str:
    """A number as the text of its fraction."""
    return str(exact(value, "parameter"))


def parameters_of(kind: Kind, name: str) -> dict[str, Parameter]:
    """The parameters of a definition or method, by name."""
    return {key: each for key, each in _signature(load(kind, name)).parameters.items() if not key.startswith("_")}


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
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if kind is Literal:
        return any(type(value) is type(each) and value == each for each in inner)
    if kind is not None and issubclass(kind, Mapping):
        keys, values = inner
        return isinstance(value, Mapping) and all(
            _fits(key, keys) and _fits(each, values) for key, each in value.items()
        )
    if kind is not None and issubclass(kind, Iterable):
        if isinstance(value, str):
            return _fits(value, inner[0])
        if not isinstance(value, Iterable) or isinstance(value, Mapping):
            return False
        listed = list(value)
        wanted = [inner[0]] * len(listed) if len(inner) == 1 or inner[1] is ... else inner
        return len(listed) == len(wanted) and all(map(_fits, listed, wanted))
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
            _words(each) for each in inner if each is not NoneType and get_origin(each) is not Callable
        )
        return " or ".join(words)
    if kind is Literal:
        return f"one of {', '.join(map(str, inner))}"
    if kind is not None and issubclass(kind, Mapping):
        return "a table"
    if kind is not None and issubclass(kind, Iterable):
        return "a list"
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
