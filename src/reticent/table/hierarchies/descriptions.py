"""Hierarchies as plain data, as in policies and saved recodings, and back.

:meth:`reticent.table.Hierarchy.describe` writes a description; :func:`hierarchy_from` is its inverse, and also reads
what people write by hand: ``{"kind": "csv", "file": "age.csv"}``, ``{"kind": "taxonomy", "file": "jobs.toml"}``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent.errors import PolicyError, did_you_mean
from reticent.table.hierarchies.hierarchy import Hierarchy


@dataclass(frozen=True)
class _Kind:
    """One kind of hierarchy: its required and optional fields, and its constructor."""

    needed: tuple[str, ...]
    optional: tuple[str, ...]
    make: Callable[[_Fields], Hierarchy]


@dataclass(frozen=True)
class _Fields:
    """The fields of a description, with error messages that name the location, the kind and the field."""

    values: Mapping[str, Any]
    where: str
    base: Path

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    def listed(self, name: str) -> list[Any]:
        """Return a field that must be a list."""
        value = self.values[name]
        if isinstance(value, str | bytes) or not isinstance(value, Sequence):
            raise PolicyError(f"{self.where}: {name} must be a list, but it is {value!r}.", setting=(name,))
        return list(value)

    def optional_list(self, name: str) -> list[Any] | None:
        return self.listed(name) if name in self else None

    def bounds(self, name: str) -> tuple[Any, Any] | None:
        """Return a pair ``[lowest, highest]``; None if the field is absent."""
        if name not in self:
            return None
        pair = self.listed(name)
        if len(pair) != 2:
            raise PolicyError(
                f"{self.where}: {name} must be a pair [lowest, highest], but it is {pair!r}.", setting=(name,)
            )
        return pair[0], pair[1]

    def whole(self, name: str) -> int:
        """Return a field that must be an integer."""
        value = self.values[name]
        if isinstance(value, bool) or not isinstance(value, int):
            raise PolicyError(f"{self.where}: {name} must be a whole number, but it is {value!r}.", setting=(name,))
        return value

    def text(self, name: str, default: str) -> str:
        """Return a field that must be text, or the default if it is absent."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise PolicyError(f"{self.where}: {name} must be text, but it is {value!r}.", setting=(name,))
        return value

    def path(self, name: str) -> Path:
        return self.base / self.text(name, "")


def hierarchy_from(description: Mapping[str, Any], where: str = "hierarchy", base: str | Path = ".") -> Hierarchy:
    """Construct the hierarchy of a description; the inverse of :meth:`Hierarchy.describe`.

    ``where`` opens every message (such as ``"column 'age'"``); files are resolved relative to ``base``, the folder of
    the policy.
    """
    if isinstance(description, Hierarchy):
        return description
    if not isinstance(description, Mapping):
        raise PolicyError(
            f"{where}: a hierarchy is described by a table such as {{kind = 'intervals', widths = [5, 10]}}, but this is {description!r}."
        )
    name = description.get("kind")
    if not isinstance(name, str) or name not in _KINDS:
        raise PolicyError(
            f"{where}: kind must be one of {', '.join(_KINDS)}, but it is {name!r}.{did_you_mean(name, _KINDS)}",
            setting=("kind",),
        )
    kind = _KINDS[name]
    fields_known = (*kind.needed, *kind.optional, *_LIMITS)
    for field in description:
        if field != "kind" and field not in fields_known:
            raise PolicyError(
                f"{where}: a hierarchy of kind {name!r} has no field {field!r}.{did_you_mean(field, fields_known)} "
                f"It has: {', '.join(fields_known) or 'none'}.",
                setting=(field,),
            )
    for field in kind.needed:
        if description.get(field) is None:
            raise PolicyError(f"{where}: a hierarchy of kind {name!r} needs the field {field!r}.", setting=("kind",))
    try:
        fields = _Fields(description, where, Path(base))
        hierarchy = kind.make(fields)
        limits = {name: fields.whole(name) for name in _LIMITS if name in fields}
        return hierarchy.limited(**limits) if limits else hierarchy
    except PolicyError as error:
        message = str(error)
        if message.startswith(where):
            raise
        raise PolicyError(f"{where}: {message}", setting=error.setting, value=error.value) from None


def _rows(fields: _Fields) -> Hierarchy:
    """Return the hierarchy that lists every value with its labels."""
    rows = fields.listed("rows")
    for number, row in enumerate(rows, start=1):
        if isinstance(row, str | bytes) or not isinstance(row, Sequence):
            raise PolicyError(
                f"{fields.where}: row {number} must list a value and its label at every level, but it is {row!r}.",
                setting=("rows", number - 1),
            )
    return Hierarchy.listed(rows)


def _csv(fields: _Fields) -> Hierarchy:
    """Return the hierarchy that a CSV file lists."""
    separator = fields.text("separator", ";")
    if len(separator) != 1:
        raise PolicyError(
            f"{fields.where}: separator must be a single character, but it is {separator!r}.", setting=("separator",)
        )
    return Hierarchy.from_csv(fields.path("file"), separator)


def _intervals(fields: _Fields) -> Hierarchy:
    return Hierarchy.intervals(fields.listed("widths"), fields.values.get("origin", 0), fields.bounds("domain"))


def _cuts(fields: _Fields) -> Hierarchy:
    """Return the hierarchy with cut points for every level."""
    levels = fields.listed("levels")
    if levels and all(isinstance(point, int | float) or not isinstance(point, Sequence) for point in levels):
        raise PolicyError(
            f"{fields.where}: levels must be a list of lists, one for each level; write [{levels}] for a single level.",
            setting=("levels",),
        )
    return Hierarchy.cuts(levels, fields.bounds("domain"))


def _masking(fields: _Fields) -> Hierarchy:
    domain = fields.optional_list("domain")
    return Hierarchy.masking(fields.whole("digits"), fields.optional_list("keep"), domain)


def _dates(fields: _Fields) -> Hierarchy:
    levels = fields.optional_list("levels") or ["month", "quarter", "year"]
    timezone = fields.text("timezone", "") or None
    return Hierarchy.dates(levels, fields.bounds("domain"), timezone)


def _taxonomy(fields: _Fields) -> Hierarchy:
    """Return the hierarchy of a tree of categories, written in the description or in a file."""
    if ("tree" in fields) == ("file" in fields):
        raise PolicyError(f"{fields.where}: a taxonomy has either a tree or a file that holds one.", setting=("kind",))
    from_data = _from_data(fields)
    if "file" in fields:
        return Hierarchy.taxonomy(fields.path("file"), from_data)
    tree = fields.values["tree"]
    if not isinstance(tree, Mapping):
        raise PolicyError(f"{fields.where}: tree must be a table of categories, but it is {tree!r}.", setting=("tree",))
    return Hierarchy.taxonomy(tree, from_data)


def _public(fields: _Fields) -> Hierarchy:
    return Hierarchy.public(fields.text("name", ""))


def _suppression(fields: _Fields) -> Hierarchy:
    return Hierarchy.suppression(fields.optional_list("domain"))


def _from_data(fields: _Fields) -> bool:
    """Return whether the hierarchy was made from the data."""
    from_data = fields.values.get("from_data", False)
    if not isinstance(from_data, bool):
        raise PolicyError(
            f"{fields.where}: from_data must be true or false, but it is {from_data!r}.", setting=("from_data",)
        )
    return from_data


def _order(fields: _Fields) -> Hierarchy:
    values, labels = fields.optional_list("values"), fields.optional_list("labels")
    return Hierarchy.order(fields.listed("sizes"), values, labels, _from_data(fields))


def _priority(fields: _Fields) -> Hierarchy:
    """Return the hierarchy that keeps the first values and merges the rest."""
    return Hierarchy.priority(
        fields.listed("keep"), fields.listed("values"), fields.text("other", "Other"), _from_data(fields)
    )


_LIMITS = ("min_level", "max_level")
_KINDS: Mapping[str, _Kind] = {
    "listed": _Kind(("rows",), (), _rows),
    "csv": _Kind(("file",), ("separator",), _csv),
    "intervals": _Kind(("widths",), ("origin", "domain"), _intervals),
    "cuts": _Kind(("levels",), ("domain",), _cuts),
    "masking": _Kind(("digits",), ("keep", "domain"), _masking),
    "dates": _Kind((), ("levels", "domain", "timezone"), _dates),
    "taxonomy": _Kind((), ("tree", "file", "from_data"), _taxonomy),
    "order": _Kind(("sizes",), ("values", "labels", "from_data"), _order),
    "priority": _Kind(("keep", "values"), ("other", "from_data"), _priority),
    "public": _Kind(("name",), (), _public),
    "suppression": _Kind((), ("domain",), _suppression),
}
