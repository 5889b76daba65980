"""Query auditing: exact answers, or denials that reveal nothing.

An auditor is simulatable: it decides from the queries and answers so far, *before* the data are read, so a denial
carries no information. Source: [Kenthapadi2005].

* ``decision`` – the data types: `AggregateQuery`, `Decision`, `Answered`, `QueryHistory`, the protocol `Auditor`.
* ``simulatable`` – `decide(history, query)`: the entry point, without access to the data.
* ``sums`` – `SumAuditor`: ``exact_sums`` for few people; beyond, ``null_space`` with its ``pivots``, ``primes`` and kernels; both work on the classes of a ``trace`` (people in the same queries).
* ``maxima`` – `MaxAuditor`, `MinAuditor`: ``extremes`` if values may repeat, ``distinct`` if not.
* ``size_monitor`` – `OverlapMonitor`, from sizes and overlaps alone.
* ``chance`` – auditors for partial disclosure: answers may shift beliefs a little, with small probability more.
* ``service`` – the audited SQL service: a real database, a durable log, roles, tokens, and noisy answers as an alternative to exact ones.
* ``offline`` – which people a log of answers exposes, with proofs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.audit.decision import AggregateQuery, Answered, Auditor, Decision, QueryHistory, as_members
from reticent.audit.maxima import MaxAuditor, MinAuditor
from reticent.audit.reasons import BOUNDED, OTHER_FAMILY
from reticent.audit.simulatable import decide, exhausts_bounds
from reticent.audit.size_monitor import OverlapMonitor
from reticent.audit.sums import SumAuditor
from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names

if TYPE_CHECKING:
    from reticent.audit.chance import ProbabilisticMaxAuditor, ProbabilisticMinAuditor, ProbabilisticSumAuditor
    from reticent.audit.offline import Log, Report, check_log, largest_safe_subset, read_log

# Exported here, but loaded on first use: they need scipy.
_LATER = {
    "Log": "offline",
    "ProbabilisticMaxAuditor": "chance",
    "ProbabilisticMinAuditor": "chance",
    "ProbabilisticSumAuditor": "chance",
    "Report": "offline",
    "check_log": "offline",
    "largest_safe_subset": "offline",
    "read_log": "offline",
}

__all__ = [
    "BOUNDED",
    "OTHER_FAMILY",
    "AggregateQuery",
    "Answered",
    "Auditor",
    "Decision",
    "Log",
    "MaxAuditor",
    "MinAuditor",
    "OverlapMonitor",
    "ProbabilisticMaxAuditor",
    "ProbabilisticMinAuditor",
    "ProbabilisticSumAuditor",
    "QueryHistory",
    "Report",
    "SumAuditor",
    "as_members",
    "check_log",
    "decide",
    "exhausts_bounds",
    "largest_safe_subset",
    "read_log",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _LATER)
