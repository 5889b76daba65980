"""A definition as a pandera check: ``DataFrameSchema(..., checks=pandera_check(rt.KAnonymity(5), quasi=["age", "zip"]))``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reticent.checks.checked_frames import satisfies
from reticent.errors import MissingPackage

if TYPE_CHECKING:
    from reticent.definitions import Definition
    from reticent.table import Hierarchy


def pandera_check(
    definition: Definition,
    *,
    quasi: Sequence[str] | Mapping[str, Hierarchy | None],
    sensitive: str | Sequence[str] = (),
    only: bool = True,
) -> Any:
    """Return a ``pandera.Check`` of a whole frame that fails if :func:`satisfies` is False. Its failure names the definition, and no value."""
    try:
        from pandera.api.checks import Check
    except ModuleNotFoundError as error:
        raise MissingPackage(
            f"This check needs the package {error.name}. Install it with: pip install 'reticent[checks]'"
        ) from None

    def holds(frame_or_pair: Any) -> bool:
        """Return whether the frame that pandera passes satisfies the definition."""
        # The polars backend passes a tuple of a lazy frame and a column name, which is None for a check of the whole
        # frame.
        lazy = getattr(frame_or_pair, "lazyframe", None)
        return satisfies(
            frame_or_pair if lazy is None else lazy.collect(), definition, quasi=quasi, sensitive=sensitive, only=only
        )

    return Check(holds, name=str(definition), error=f"does not satisfy {definition}")
