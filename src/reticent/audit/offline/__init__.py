"""Offline auditing: who does a log of questions and answers expose, with a proof (R-QA-13).

``log``          the log and its file format; ``classes``: people with the same trace
``checking``     ``check_log`` chooses the method
``sums``         linear algebra, on ``lifting``: exact solutions of large integer systems
``maxima``       who alone can hold an extreme
``intervals``    Boolean sums over neighbours, by shortest paths
``constrained``  bounded, Boolean and mixed logs: ``region`` (what fits), ``search`` (proposes), ``argument`` (proves)
``subset``       the largest part of a log that exposes nobody
``certificate``, ``report``  the proofs, and what is told
"""

from reticent.audit.offline.checking import check_log
from reticent.audit.offline.log import Log, LogEntry, as_log, parse_log, read_log
from reticent.audit.offline.report import Report
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
