"""Offline auditing: who does a log of questions and answers expose, with a proof.

``question_log``               the log and its file format; ``trace_classes``: people with the same trace
``log_check``         ``check_log`` chooses the method
``unbounded_sums``    linear algebra, on ``p_adic_solver``: exact solutions of large integer systems
``unbounded_maxima``  who alone can hold an extreme
``interval_sums``     Boolean sums over neighbours, by shortest paths
``constrained``       bounded, Boolean and mixed logs: ``answer_region`` (what fits), ``region_search`` (proposes), ``argument`` (proves)
``subset``            the largest part of a log that exposes nobody
``offline_proofs``, ``exposure_report``  the proofs, and what is told
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
