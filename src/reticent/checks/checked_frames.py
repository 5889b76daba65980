"""Check whether a frame satisfies a definition if published unchanged."""

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
    """True if a frame (pandas, polars, Arrow, ...) satisfies a definition unchanged; a missing value is a separate
    value.

    ``quasi`` and ``sensitive`` are the published columns. With ``only`` a frame with another column is a
    :class:`PolicyError` that names it: a column without a role cannot be judged.
    """
    from reticent.base.frames import as_polars
    from reticent.release import assess
    from reticent.table import Table

    sensitive_columns = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    rows = as_polars(frame)
    without_role = [column for column in rows.columns if column not in quasi and column not in sensitive_columns]
    if only and without_role:
        raise PolicyError(
            f"The frame has columns without a role: {', '.join(map(repr, without_role))}. Name them under quasi or sensitive, or pass only=False if they are not published.",
            column=without_role[0],
        )
    return assess(Table(rows, quasi=quasi, sensitive=sensitive_columns, nulls="category"), definition).holds
