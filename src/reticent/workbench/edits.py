"""Edits of a policy that the workbench makes, each as a small in-place change of the parsed TOML."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from reticent.errors import PolicyError

Content = MutableMapping[str, Any]
LISTED = ("identifiers", "quasi", "sensitive", "private")
"""Roles that a policy lists columns under."""
_SIZE = {"name": "KAnonymity", "k": 5}


def role_of(content: Mapping[str, Any], column: str) -> str | None:
    """Return the role of a column, or None if it is not published."""
    roles = content.get("roles", {})
    for role in LISTED:
        if column in _names(roles, role):
            return role
    return "declared" if column in content.get("declared", {}) else None


def roles_of(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of every role."""
    roles = content.get("roles", {})
    columns_by_role = {role: _names(roles, role) for role in LISTED}
    return {**columns_by_role, "declared": list(content.get("declared", {}))}


def set_role(
    content: Content, column: str, role: str | None, proposed: Mapping[str, Any] | None = None, reason: str = ""
) -> None:
    """Assign a role to a column. Settings of the old role are removed; settings that the new role needs are copied from ``proposed``."""
    if role is not None and role not in (*LISTED, "declared"):
        raise PolicyError(f"There is no role {role!r}.")
    old_role = role_of(content, column)
    if old_role == role and role != "declared":
        return
    _take_away(content, column, old_role)
    roles = content.setdefault("roles", {})
    if role == "declared":
        content.setdefault("declared", {})[column] = reason
    elif role is not None:
        roles[role] = [*_names(roles, role), column]
    settings = proposed or {}
    if role == "quasi" and settings.get("hierarchy"):
        content.setdefault("hierarchies", {})[column] = dict(settings["hierarchy"])
    if role == "sensitive":
        if settings.get("coarsen"):
            content.setdefault("coarsen", {})[column] = dict(settings["coarsen"])
        _guard(content, column)
    if not content.get("definition"):
        content["definition"] = [dict(_SIZE)]


def _take_away(content: Content, column: str, role: str | None) -> None:
    """Remove a column from its role, with all settings that belong to that role."""
    roles = content.setdefault("roles", {})
    for listed in LISTED:
        if column in _names(roles, listed):
            roles[listed] = [name for name in _names(roles, listed) if name != column]
    for section in ("declared", "coarsen", "hierarchies"):
        content.get(section, {}).pop(column, None)
    if role == "quasi" and roles.get("quasi_sets"):
        shortened = [[name for name in quasi_set if name != column] for quasi_set in roles["quasi_sets"]]
        roles["quasi_sets"] = [quasi_set for quasi_set in shortened if quasi_set]
        if not roles["quasi_sets"]:
            del roles["quasi_sets"]
    if role == "sensitive":
        remaining = _names(roles, "sensitive")
        content["definition"] = [
            definition
            for definition in definitions_of(content)
            if definition.get("column") != column and (remaining or not _is_about_values(definition))
        ]
    if role == "identifiers" and roles.get("pseudonyms"):
        roles["pseudonyms"] = [name for name in _names(roles, "pseudonyms") if name != column]
    method = content.get("method", {})
    for setting in ("weights", "node", "floor"):
        if isinstance(method.get(setting), dict):
            method[setting].pop(column, None)
            if not method[setting]:
                del method[setting]


def _guard(content: Content, column: str) -> None:
    """Add distinct 2-diversity for a new sensitive column that no definition covers, and name the column in definitions that left it implicit."""
    sensitive = _names(content["roles"], "sensitive")
    definitions = [dict(definition) for definition in definitions_of(content)]
    if len(sensitive) > 1:
        for definition in definitions:
            if _is_about_values(definition) and "column" not in definition:
                definition["column"] = sensitive[0]
    if not any(
        _is_about_values(definition) and definition.get("column", column) == column for definition in definitions
    ):
        definitions.append({"name": "DistinctLDiversity", "l": 2, "column": column})
    content["definition"] = definitions


def _is_about_values(definition: Mapping[str, Any]) -> bool:
    """True if a definition constrains sensitive values."""
    from reticent.registry import DEFINITIONS, load

    name = str(definition.get("name"))
    return name in DEFINITIONS and bool(getattr(load("definition", name), "needs_sensitive", False))


def set_special(content: Content, setting: str, column: str | None) -> None:
    """Set the column that identifies people or households or holds survey weights; None removes the setting."""
    if setting not in ("key", "household", "weight"):
        raise PolicyError(f"There is no setting {setting!r} of [roles] that names one column.")
    roles = content.setdefault("roles", {})
    if column is None:
        roles.pop(setting, None)
    else:
        roles[setting] = column


def set_hierarchy(content: Content, column: str, description: Mapping[str, Any] | None) -> None:
    """Set the hierarchy of a quasi-identifier; None means exact value or suppression, with no levels in between."""
    hierarchies = content.setdefault("hierarchies", {})
    if description is None:
        hierarchies.pop(column, None)
    else:
        hierarchies[column] = dict(description)


def set_method(content: Content, method: Mapping[str, Any]) -> None:
    """Set the method and its parameters."""
    content["method"] = dict(method)


def free_node(content: Content) -> None:
    """Remove the fixed lattice node, so that the search chooses the levels again."""
    content.setdefault("method", {}).pop("node", None)


def set_weight(content: Content, column: str, weight: float | None) -> None:
    """Set the weight of a column in the objective; None resets it to the default."""
    method = content.setdefault("method", {})
    weights = dict(method.get("weights", {}))
    if weight is None:
        weights.pop(column, None)
    else:
        weights[column] = weight
    if weights:
        method["weights"] = weights
    else:
        method.pop("weights", None)


def set_suppression(content: Content, limit: str) -> None:
    """Set the maximum share of suppressed rows."""
    content.setdefault("method", {})["suppression"] = limit


def set_definition(content: Content, place: int, settings: Mapping[str, Any] | None) -> None:
    """Replace the definition at index ``place``, append one if the index is past the end, or remove it if ``settings`` is None."""
    definitions = definitions_of(content)
    if settings is None:
        del definitions[place]
    elif place >= len(definitions):
        definitions.append(dict(settings))
    else:
        definitions[place] = dict(settings)
    content["definition"] = definitions


def set_quasi_sets(content: Content, sets: list[list[str]]) -> None:
    """Set the column sets known to different adversaries; an empty list means one adversary who knows all quasi-identifiers."""
    roles = content.setdefault("roles", {})
    if sets:
        roles["quasi_sets"] = sets
    else:
        roles.pop("quasi_sets", None)


def set_release(content: Content, settings: Mapping[str, Any]) -> None:
    """Set the output folder and options of the release; settings that are None or empty are removed."""
    release = content.setdefault("release", {})
    for name, value in settings.items():
        if value in (None, "", [], {}):
            release.pop(name, None)
        else:
            release[name] = value


def set_reading(content: Content, settings: Mapping[str, Any]) -> None:
    """Set how the rows are read; settings that are None or empty are detected from the file."""
    data = content.setdefault("data", {})
    for name, value in settings.items():
        if value in (None, "", [], {}):
            data.pop(name, None)
        else:
            data[name] = value


def definitions_of(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the definitions as a list, also if the policy has a single table instead of a list."""
    stored = content.get("definition", [])
    return [stored] if isinstance(stored, dict) else list(stored)


def _names(section: Mapping[str, Any], name: str) -> list[str]:
    """Return the names under a setting as a list, also if it is a single name."""
    stored = section.get(name, [])
    return [stored] if isinstance(stored, str) else list(stored)
