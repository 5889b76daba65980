"""Declared columns: published unchanged, because the steward declares that no adversary can know them of a person, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reticent.errors import PolicyError


def declared_reasons(declared: Any) -> dict[str, str]:
    """The declared columns, each with its reason in one line. Raises for a column without a reason."""
    if declared is None:
        return {}
    if not isinstance(declared, Mapping):
        raise PolicyError(
            f"declared must map each column to the reason why no attacker can know it, such as {{'shoe_size': 'not recorded elsewhere'}}, but it is {declared!r}.",
            setting=("declared",),
            value=declared,
        )
    for name, reason in declared.items():
        if not isinstance(reason, str) or not reason.strip():
            raise PolicyError(
                f"The declared column {name!r} needs a reason in words, which is published with it: why no attacker can know it of a person. It is {reason!r}. Without a reason, make "
                "the column quasi, or drop it.",
                setting=("declared", name),
                column=name,
                value=reason,
            )
    return {name: " ".join(reason.split()) for name, reason in declared.items()}
