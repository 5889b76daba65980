"""``check_log``: find the people whom a log of queries and answers exposes, with a proof for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.audit.offline.constrained import check_constrained
from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.interval_sums import are_intervals, check_intervals
from reticent.audit.offline.question_log import LogLike, as_log
from reticent.audit.offline.unbounded_maxima import check_maxima
from reticent.audit.offline.unbounded_sums import check_sums
from reticent.base.exact import Number, whole
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.base.context import Context

LIMIT = 20_000


def check_log(
    log: LogLike,
    n: int | None = None,
    *,
    values: str = "real",
    lower: Number | None = None,
    upper: Number | None = None,
    duplicates: bool = True,
    limit: int = LIMIT,
    context: Context | None = None,
) -> Report:
    """Return who is exposed by a log of ``(members, function, answer)`` triples; functions are sum, avg, max and min.

    A person is exposed if only one value fits all answers and the public facts: ``values="boolean"`` (0 or 1),
    ``lower`` and ``upper`` bounds, ``duplicates=False`` (no two people share a value). The simplest exact method for
    the log is used: linear algebra, extreme elements, shortest paths; otherwise a search with at most ``limit`` linear
    programs. Source: [Chin1986]; [Kleinberg2003].

    >>> report = check_log([({0, 1}, "sum", 7), ({0}, "sum", 3)], n=6)
    >>> report.exposed[1], report.certificate[1].lines(report.log)[0]
    (Fraction(4, 1), 'query 1 - query 2: all people cancel except person 1.')
    """
    whole(limit, "limit", low=1)
    checked = as_log(log, n, values=values, lower=lower, upper=upper, duplicates=duplicates)
    if checked.values == "boolean":
        return check_intervals(checked) if are_intervals(checked) else check_constrained(checked, limit, context)
    if checked.bounded:
        return check_constrained(checked, limit, context)
    if checked.functions <= {"sum"}:
        return check_sums(checked)
    if len(checked.functions) == 1:
        return check_maxima(checked)
    if not checked.duplicates:
        raise PolicyError("duplicates=False is decided for logs of one function only; this log mixes several.")
    return check_constrained(checked, limit, context)
