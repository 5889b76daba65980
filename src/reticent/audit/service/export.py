"""The service's log as a file for an offline audit (``reticent audit check``)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from reticent.audit.service.service import unpacked
from reticent.ledger import AuditEntry


def log_lines(entries: Iterable[AuditEntry]) -> Iterator[bytes]:
    """Yield one JSON object per line for every exact decision; people are numbered as variables. Denied row sets are not stored."""
    for entry in entries:
        if entry.answered and entry.answer is not None and not entry.is_noisy:
            fields = {
                "members": unpacked(entry).tolist(),
                "function": entry.function,
                "answer": str(entry.answer),
                "column": entry.column,
            }
            yield json.dumps(fields, ensure_ascii=False).encode() + b"\n"
