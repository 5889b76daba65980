"""The entry point for decisions: a pure function of the history and the query, without access to the data."""

from __future__ import annotations

from reticent.audit.decision import AggregateQuery, Decision, QueryHistory, as_members
from reticent.audit.maxima import MaxAuditor, MinAuditor
from reticent.audit.reasons import BOUNDED, OTHER_FAMILY
from reticent.audit.sums import SumAuditor


def decide(history: QueryHistory, query: AggregateQuery) -> Decision:
    """Answer or deny ``query`` after ``history``, in the classical sense: no value may be determined. Source:
    [Kenthapadi2005].

    The auditors (:class:`SumAuditor`, :class:`MaxAuditor`, :class:`MinAuditor`) are its fast, stateful equivalent. A
    query of a column with a declared bound is denied if the extreme answer would determine the values of all members.
    """
    as_members(query.members, history.n)
    if history.family not in (None, query.family):
        return OTHER_FAMILY
    if exhausts_bounds(history, query):
        return BOUNDED
    if query.family == "linear":
        return SumAuditor.of(history).would_answer(query)
    auditor = MaxAuditor if query.family == "max" else MinAuditor
    return auditor.of(history).would_answer(query)


def exhausts_bounds(history: QueryHistory, query: AggregateQuery) -> bool:
    """True if some answer would put all members of the query on a declared bound: the classical auditors must then
    deny.

    Any bound suffices for a sum, the lower one for a maximum and the upper one for a minimum. The result is the same
    for all sets of members.
    """
    if query.family == "linear":
        return history.lower is not None or history.upper is not None
    return (history.lower if query.family == "max" else history.upper) is not None
