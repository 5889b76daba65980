"""The ledger of a history: that of its first release, identified by the fingerprint of its key; any other is refused."""

from __future__ import annotations

from pathlib import Path

from reticent.errors import LedgerError
from reticent.ledger import Ledger, LedgerLocation, Secret
from reticent.methods.series.history_folder import HistoryFolder

LedgerChoice = str | Path | LedgerLocation | Ledger | None


def located_ledger(folder: HistoryFolder, choice: LedgerChoice) -> LedgerLocation | Ledger:
    """Return the ledger of a history: the ``choice`` one, the one in its folder, the one that it recorded, or the user's, in this order.

    A history with a state refuses any ledger but the recorded one.
    """
    recorded = folder.bound_ledger()
    if isinstance(choice, Ledger):
        candidates: list[LedgerLocation | Ledger] = [choice]
    elif choice is not None:
        candidates = [choice if isinstance(choice, LedgerLocation) else LedgerLocation.of(choice)]
    else:
        paths = [folder.own_ledger, *([] if recorded is None else [recorded[0]])]
        candidates = [LedgerLocation.of(path) for path in paths if path.exists()]
        candidates.append(LedgerLocation.of())
    if recorded is None or not folder.has_states:
        return candidates[0]
    for candidate in candidates:
        if _fingerprint(candidate) == recorded[1]:
            return candidate
    refused = candidates[0].place if isinstance(candidates[0], Ledger) else candidates[0]
    raise LedgerError(
        f"The history {str(folder.path)!r} belongs to the ledger {str(recorded[0])!r}, and {str(refused.path)!r} is not that ledger. Nothing was changed. Pass the ledger of the history "
        "(ledger=, --ledger), or restore it from a backup: another one does not know the prior releases."
    )


def _fingerprint(candidate: LedgerLocation | Ledger) -> str | None:
    """Return the fingerprint of a ledger's key, or None if there is no ledger."""
    if isinstance(candidate, Ledger):
        return candidate.secret.fingerprint
    return Secret.read(candidate.key).fingerprint if candidate.path.exists() else None
