"""The audited SQL front: exact answers or refusals that say nothing, from a real database.

``settings``       what the steward declared, checked; ``reticent.policy.audit_policy`` reads it from a file
``statement``      the SQL that may be asked, read by sqlglot; nothing of it reaches a database
``database``       one consistent look at a table: ``embedded`` (DuckDB over a file) and ``postgres``
``row_variables``  rows and variables: a variable is one value of one person; ``secret`` the key of their hashes
``column``         a sensitive column as its auditor sees it: the family lock, and what was answered
``service``        one order of steps: lock, decide, write down, compute, return
``service_replies``  what somebody who asked gets back
``access``         roles, quotas and tokens; ``column_guarantee`` what is promised, in words. Noisy answers from a budget are drawn by ``reticent.noise``
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
