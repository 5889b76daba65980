"""Every definition by name: a one-line description, and its construction from the plain data of policies and certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Any

from reticent.base.parameters import made_from
from reticent.definitions.definition import Definition, GroupDefinition, all_of
from reticent.errors import PolicyError
from reticent.registry import DEFINITIONS, load


@dataclass(frozen=True)
class CatalogueEntry:
    """A definition in the catalogue."""

    name: str
    help: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]


def names() -> tuple[str, ...]:
    """The names of all definitions. Loads none of them."""
    return tuple(DEFINITIONS)


def entries() -> tuple[CatalogueEntry, ...]:
    """All definitions that can be requested by name."""
    return tuple(entry_of(name) for name in DEFINITIONS)


def definition_from(name: str, parameters: Mapping[str, Any]) -> Definition:
    """The definition that ``name`` and ``parameters`` (as :meth:`Definition.parameters` gives them) describe.

    ``All`` takes ``{"all": [{"name": ..., ...}, ...]}``. Unknown names and parameters are a :class:`PolicyError` with a hint.
    """
    if name == "All":
        return _all_from(parameters)
    definition: Definition = made_from("definition", name, parameters)
    return definition


def definition_within(given: Any, where: str) -> GroupDefinition:
    """The definition of groups given as a parameter of another one: an instance, a mapping with its name and parameters, or a list of these."""
    setting = where.split(": ")[-1]
    try:
        if isinstance(given, Mapping) and isinstance(given.get("name"), str):
            given = definition_from(given["name"], {key: value for key, value in given.items() if key != "name"})
        elif isinstance(given, list | tuple) and given:
            given = _all_from({"all": given})
    except PolicyError as error:
        error.setting = (setting, *error.setting)
        raise
    if not isinstance(given, GroupDefinition):
        raise PolicyError(
            f"{where} must be a definition of groups, such as KAnonymity(5), or a table with its name and parameters, but it is {given!r}.",
            setting=(setting,),
        )
    return given


def _all_from(parameters: Mapping[str, Any]) -> Definition:
    """Return the conjunction described by the list under ``all``."""
    members = parameters.get("all")
    if set(parameters) != {"all"} or not isinstance(members, list | tuple):
        raise PolicyError('All takes one parameter, "all": a list of definitions, each with its name and parameters.')
    definitions: list[Definition] = []
    for number, member in enumerate(members, start=1):
        if not isinstance(member, Mapping) or not isinstance(member.get("name"), str):
            raise PolicyError(f'Part {number} of All must be a table with a "name", but it is {member!r}.')
        definitions.append(
            definition_from(member["name"], {key: value for key, value in member.items() if key != "name"})
        )
    return all_of(tuple(definitions))


def entry_of(name: str) -> CatalogueEntry:
    """The catalogue entry of one definition. Loads no other."""
    parameters = [field for field in fields(load("definition", name)) if field.init]
    required = tuple(field.name for field in parameters if _is_required(field))
    return CatalogueEntry(name, DEFINITIONS[name].help, tuple(field.name for field in parameters), required)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING
