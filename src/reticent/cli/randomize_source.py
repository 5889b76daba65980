"""The files that ``reticent randomize`` reads: public domains and plans."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from reticent.randomize import Plan, ViewDomain


def read_domain(path: Path) -> ViewDomain:
    """The domain that a file declares; ``[domain]`` may stand around it."""
    from reticent.documents import parse_toml
    from reticent.errors import PolicyError
    from reticent.randomize import ViewDomain

    found = _read(path) if path.suffix == ".json" else _read(path, parse_toml)
    if not isinstance(found, dict) or not isinstance(found.get("domain", found), dict):
        raise PolicyError(f"{path} must map every column to its values.")
    return ViewDomain.from_json(found.get("domain", found))


def read_plan(path: Path) -> Plan:
    """The plan that a file holds."""
    from reticent.errors import PolicyError
    from reticent.randomize import Plan

    written = _read(path)
    if not isinstance(written, dict):
        raise PolicyError(
            f"{path} holds no plan: it must be one JSON object, as 'reticent randomize plan -o' writes it."
        )
    return Plan.from_json(written)


def _read(path: Path, loads: Callable[[str], Any] | None = None) -> Any:
    """What a file of settings says; JSON, if nothing else is said."""
    from reticent.documents import parse_json, read_document
    from reticent.errors import PolicyError

    try:
        return (loads or parse_json)(read_document(path).decode("utf-8"))
    except FileNotFoundError:
        raise PolicyError(f"There is no file {str(path)!r}.") from None
    except ValueError as error:
        raise PolicyError(f"{path} cannot be read: {error}.") from None
