"""Offline auditing: find the people whose values a log of queries and answers determines, with proofs.

``question_log``      the log and its file format; ``trace_classes``: people in the same queries
``log_check``         ``check_log`` chooses the method
``unbounded_sums``    linear algebra, on ``p_adic_solver``: exact solutions of large integer systems
``unbounded_maxima``  people who alone can attain an extreme
``interval_sums``     Boolean sums over neighbours, by shortest paths
``constrained``       bounded, Boolean and mixed logs: ``answer_region`` (the feasible region), ``region_search`` (finds points and proofs), ``argument`` (checks proofs)
``subset``            the largest subset of a log that exposes no one
``offline_proofs``, ``exposure_report``  the proofs and the report
"""

from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.log_check import check_log
from reticent.audit.offline.question_log import Log, LogEntry, as_log, parse_log, read_log
from reticent.audit.offline.subset import SafeSubset, largest_safe_subset

__all__ = [
    "Log",
    "LogEntry",
    "Report",
    "SafeSubset",
    "as_log",
    "check_log",
    "largest_safe_subset",
    "parse_log",
    "read_log",
]
