"""The audited SQL service: exact answers or denials that reveal nothing, from a real database.

``settings``       the steward's declarations, validated; ``reticent.policy.audit_policy`` reads it from a file
``statement``      the supported SQL, parsed by sqlglot; no part of it reaches a database
``value_cells``    conditions on protected values, and histograms of them, for noisy counts
``database``       a consistent snapshot of a table: ``embedded`` (DuckDB over a file) and ``postgres``
``row_variables``  rows and variables (a variable is one value of one person); ``secret`` is the key of their hashes
``column``         the audit state of a sensitive column: the family lock and the answered queries
``service``        the order of steps: lock, decide, record, compute, return
``service_replies``  the replies to a user
``access``         roles, quotas and tokens; ``column_guarantee`` the guarantee in words; ``noisy_numbers`` noisy answers from a budget, sampled by ``reticent.noise``
"""

from typing import TYPE_CHECKING

from reticent.audit.service.access import Forbidden, QuotaUsed, tokens_of
from reticent.audit.service.service import AuditService
from reticent.audit.service.service_replies import CellAnswer, Reply, Row, exact_text
from reticent.audit.service.settings import (
    FUNCTIONS,
    STEWARD,
    Chance,
    Noise,
    PriorSettings,
    ProtectedColumn,
    Role,
    Settings,
)
from reticent.audit.service.statement import LONGEST_STATEMENT, Statement, StatementError
from reticent.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from reticent.audit.service.export import log_lines

_HOMES = {
    "log_lines": "export",
}

__all__ = [
    "FUNCTIONS",
    "LONGEST_STATEMENT",
    "STEWARD",
    "AuditService",
    "CellAnswer",
    "Chance",
    "Forbidden",
    "Noise",
    "PriorSettings",
    "ProtectedColumn",
    "QuotaUsed",
    "Reply",
    "Role",
    "Row",
    "Settings",
    "Statement",
    "StatementError",
    "exact_text",
    "log_lines",
    "tokens_of",
]

__getattr__ = lazy_names(__name__, _HOMES)
