"""Every definition by name: what it is for in a line, and how to make it from plain data, as policies and certificates write it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from importlib import import_module
from typing import Any

from reticent.definitions.base import Definition, all_of
from reticent.errors import PolicyError, did_you_mean

_ROOM = "reticent.definitions"

_HOMES = {
    "KAnonymity": ("anonymity", "at least k people in every group"),
    "DistinctLDiversity": ("diversity", "at least l different sensitive values in every group"),
    "ProbabilisticLDiversity": ("diversity", "no sensitive value above a share of 1/l in any group"),
    "EntropyLDiversity": ("entropy", "sensitive values as varied as l equally likely ones in every group"),
    "RecursiveLDiversity": ("recursive", "who rules out l-2 sensitive values is still less than c/(c+1) sure"),
    "NegativePositiveDiversity": ("recursive", "the same, and values that nobody may rule out keep their share"),
    "WorstCaseKnowledge": ("knowledge", "any k facts about people leave the chance of every value below c"),
    "NegatedKnowledge": (
        "knowledge",
        "any k facts of the kind 'she has no flu' leave the chance of every value below c",
    ),
    "TCloseness": ("closeness", "sensitive values distributed as in the whole table, within t"),
    "NTCloseness": ("nt_closeness", "the same for groups of fewer than n people"),
    "AlphaKAnonymity": ("shares", "at least k people in every group, no sensitive value above a share of alpha"),
    "PSensitive": ("shares", "at least k people and p different sensitive values in every group"),
    "LAlphaDiversity": ("shares", "at least l different sensitive values in every group, harmless enough together"),
    "XYPrivacy": ("xy_privacy", "who knows X is linked to at least k values of Y, to none with a confidence above h"),
    "ConfidenceBounding": ("shares", "none of some sensitive values above a share of h in any group"),
    "CategoryDiversity": ("shares", "less than c of any group in a category of values that mean nearly the same"),
    "RangeDiversity": ("numeric", "less than c of any group's numbers in a range of some length"),
    "KEAnonymity": ("numeric", "at least k different numbers in every group, which span at least e"),
    "EpsilonMAnonymity": ("numeric", "at most 1/m of any group within epsilon of one of its numbers"),
    "BetaLikeness": (
        "likeness",
        "no sensitive value more than 1 + beta times as frequent in a group as in the whole table",
    ),
    "DeltaDisclosure": (
        "likeness",
        "sensitive values in a group as frequent as in the whole table, within a factor of 2^delta",
    ),
    "MUnique": ("uniqueness", "at least m rows in every group, all with different sensitive values"),
    "MEligible": ("uniqueness", "no sensitive value above a share of 1/m in any group"),
    "PersonalPrivacy": (
        "personal",
        "what people say must not be learned about them has a share of at most h in their group",
    ),
    "KMap": ("population", "at least k people of the population fit every group"),
    "DeltaPresence": ("population", "between low and high of the people who fit a group are in the table"),
    "BoundedBelief": ("mechanisms", "whoever gives a record at most d before gives it at most gamma after"),
    "AverageRisk": ("risk", "people are picked out with a chance of at most limit on average"),
}


@dataclass(frozen=True)
class Entry:
    """A definition in the catalogue."""

    name: str
    help: str
    parameters: tuple[str, ...]
    required: tuple[str, ...]


def names() -> tuple[str, ...]:
    """The names of all definitions, none of which is loaded for that."""
    return tuple(_HOMES)


def entries() -> tuple[Entry, ...]:
    """All definitions that can be asked for by name."""
    return tuple(entry_of(name) for name in _HOMES)


def definition_from(name: str, parameters: Mapping[str, Any]) -> Definition:
    """The definition that ``name`` and ``parameters`` (as :meth:`Definition.parameters` gives them) describe.

    ``All`` takes ``{"all": [{"name": ..., ...}, ...]}``. Unknown names and parameters are a :class:`PolicyError` with a hint.
    """
    if name == "All":
        return _all_from(parameters)
    if name not in _HOMES:
        raise PolicyError(
            f"There is no definition {name!r}.{did_you_mean(name, _HOMES)} The definitions are: {', '.join(_HOMES)}."
        )
    entry = entry_of(name)
    for given in parameters:
        if given not in entry.parameters:
            raise PolicyError(
                f"{name} has no parameter {given!r}.{did_you_mean(given, entry.parameters)} "
                f"Its parameters are: {', '.join(entry.parameters)}."
            )
    missing = [needed for needed in entry.required if needed not in parameters]
    if missing:
        raise PolicyError(f"{name} needs {', '.join(missing)}. Its parameters are: {', '.join(entry.parameters)}.")
    made: Definition = _class_of(name)(**parameters)
    return made


def _all_from(parameters: Mapping[str, Any]) -> Definition:
    members = parameters.get("all")
    if set(parameters) != {"all"} or not isinstance(members, list | tuple):
        raise PolicyError('All takes one parameter, "all": a list of definitions, each with its name and parameters.')
    made: list[Definition] = []
    for number, member in enumerate(members, start=1):
        if not isinstance(member, Mapping) or not isinstance(member.get("name"), str):
            raise PolicyError(f'Part {number} of All must be a table with a "name", but it is {member!r}.')
        made.append(definition_from(member["name"], {key: value for key, value in member.items() if key != "name"}))
    return all_of(tuple(made))


def entry_of(name: str) -> Entry:
    """One definition of the catalogue; the others are not loaded for it."""
    own = [field for field in fields(_class_of(name)) if field.init]
    required = tuple(field.name for field in own if _is_required(field))
    return Entry(name, _HOMES[name][1], tuple(field.name for field in own), required)


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def _class_of(name: str) -> Any:
    return getattr(import_module(f"{_ROOM}.{_HOMES[name][0]}"), name)
