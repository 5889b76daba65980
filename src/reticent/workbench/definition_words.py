"""Readable names of definitions and their parameters, shown on pages next to their names in a policy."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from reticent.workbench.figures import columns_words

_PARAMETERS = {
    "k": "Matching records, at least (k)",
    "l": "Possible values, at least (l)",
    "p": "Different values, at least (p)",
    "m": "Possible values, at least (m)",
    "c": "Times that the most frequent value outweighs the rest, at most (c)",
    "t": "Distance from the whole table, at most (t)",
    "n": "Groups of fewer people than (n)",
    "h": "Share of a listed value, at most (h)",
    "alpha": "Share of one value, at most (alpha)",
    "beta": "Growth of a value's share, at most (beta)",
    "delta": "Change of a value's share, in powers of two, at most (delta)",
    "limit": "Average chance of being identified, at most",
    "column": "Sensitive column",
    "alone": "An attacker may know the other sensitive columns",
}
_OF_DEFINITIONS = {
    ("WorstCaseKnowledge", "k"): "Facts that an attacker knows (k)",
    ("NegatedKnowledge", "k"): "Values that an attacker rules out (k)",
    ("WorstCaseKnowledge", "c"): "Certainty stays below (c)",
    ("NegatedKnowledge", "c"): "Certainty stays below (c)",
    ("CategoryDiversity", "c"): "Share of a category stays below (c)",
    ("RangeDiversity", "c"): "Share of a range stays below (c)",
}
_CHOICES = {"alone": {True: "no", False: "yes"}}


@cache
def _models() -> dict[str, str]:
    """Return the name in the literature of every definition that the advisor covers."""
    from reticent.belief import CONCERNS, advise

    model_by_definition: dict[str, str] = {"KAnonymity": "k-anonymity"}
    for advice in advise(list(CONCERNS), []):
        if advice.definition:
            model_by_definition.setdefault(advice.definition, advice.model)
    return model_by_definition


def model_name(name: str) -> str:
    """Return the name of a definition in the literature, such as ``distinct l-diversity``, or else its class name."""
    return _models().get(name, name)


def guarantee_words(definition: Mapping[str, Any]) -> str:
    """Describe a definition with its parameters: ``distinct l-diversity of diagnosis, l = 2``."""
    parameters = {name: value for name, value in definition.items() if name not in ("name", "column", "alone")}
    column_words = f" of {definition['column']}" if definition.get("column") else ""
    texts = {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value for name, value in parameters.items()
    }
    parameters_text = "".join(f", {name}\u00a0=\u00a0{text}" for name, text in texts.items())
    return f"{model_name(str(definition.get('name')))}{column_words}{parameters_text}"


def guarantees_words(definitions: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe several definitions; those that differ only in their column share a line."""
    columns_by_rest: dict[str, list[str]] = {}
    first_by_rest: dict[str, Mapping[str, Any]] = {}
    for definition in definitions:
        rest = json.dumps(
            {name: value for name, value in definition.items() if name != "column"}, sort_keys=True, default=str
        )
        first_by_rest.setdefault(rest, definition)
        columns_by_rest.setdefault(rest, []).extend([str(definition["column"])] if definition.get("column") else [])
    return [
        guarantee_words({**first, "column": columns_words(columns_by_rest[rest])})
        for rest, first in first_by_rest.items()
    ]


def parameter_words(name: str, parameter: str) -> str:
    """Return the form label of a definition's parameter."""
    return _OF_DEFINITIONS.get((name, parameter)) or _PARAMETERS.get(parameter, parameter)


def choice_words(parameter: str, value: bool) -> str:
    """Return the wording of a value of a boolean parameter."""
    return _CHOICES.get(parameter, {True: "yes", False: "no"})[value]
