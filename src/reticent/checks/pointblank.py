"""A definition as a pointblank step: ``Validate(frame).specially(expr=pointblank_check(rt.KAnonymity(5), quasi=["age", "zip"]))``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reticent.checks.checked_frames import satisfies

if TYPE_CHECKING:
    from reticent.definitions import Definition
    from reticent.table import Hierarchy


def pointblank_check(
    definition: Definition,
    *,
    quasi: Sequence[str] | Mapping[str, Hierarchy | None],
    sensitive: str | Sequence[str] = (),
    only: bool = True,
) -> Callable[[Any], bool]:
    """Return a function of a frame for ``specially``: True if :func:`satisfies` is."""

    def holds(frame: Any) -> bool:
        return satisfies(frame, definition, quasi=quasi, sensitive=sensitive, only=only)

    return holds
