"""Whether a frame, published as it stands, satisfies a definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.definitions import Definition
    from reticent.table import Hierarchy


def satisfies(
    frame: Any,
    definition: Definition,
    *,
    quasi: Sequence[str] | Mapping[str, Hierarchy | None],
    sensitive: str | Sequence[str] = (),
    only: bool = True,
) -> bool:
    """Whether a frame (pandas, polars, Arrow, ...) satisfies a definition as it stands; a missing value is a value of its own.

    ``quasi`` and ``sensitive`` are the columns that are published. With ``only`` a frame that has another column is a :class:`PolicyError` that names
    it: what is published is known, so a column without a role cannot be judged.
    """
    from reticent.base.frames import as_polars
    from reticent.release import assess
    from reticent.table import Table

    named = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    rows = as_polars(frame)
    others = [column for column in rows.columns if column not in quasi and column not in named]
    if only and others:
        raise PolicyError(
            f"The frame has columns without a role: {', '.join(map(repr, others))}. Name them under quasi or sensitive, or pass only=False if they are not published.",
            column=others[0],
        )
    return assess(Table(rows, quasi=quasi, sensitive=named, nulls="category"), definition).holds
