"""Logs that linear algebra alone cannot decide: bounded and Boolean columns, and sums combined with maxima or minima.

Boolean and mixed logs are hard in general (coNP and NP; [Kleinberg2003], [Chin1986]), so the search has a limit, and
what it cannot decide is reported as undecided. What is reported as exposed or hidden is proved in fractions: by an
argument, or by two data sets that differ.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from reticent.audit.offline.answer_region import Bound, Region
from reticent.audit.offline.argument import Argument, Goal, Leaf
from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.offline_proofs import Certificate, NotWhole
from reticent.audit.offline.question_log import Log
from reticent.audit.offline.region_search import RegionSearch

if TYPE_CHECKING:
    from reticent.base.context import Context

# Points from a few directions distinguish most values before single people are examined.
_DIRECTIONS = 4
_METHOD = "Linear programs and a search by cases; every verdict proved in exact fractions, the rest undecided."


def check_constrained(log: Log, limit: int, context: Context | None) -> Report:
    """Find the people exposed by any log, bounded or mixed, with at most ``limit`` linear programs.

    A person is exposed if the largest and smallest possible value, searched by cases, are equal; both are proved in
    fractions. People for whom the limit is reached stay undecided.
    """
    impossible = not_whole(log)
    if impossible is not None:
        return Report(log, _METHOD, contradiction=impossible, consistent=False)
    region = Region.of(log)
    search = RegionSearch(region, limit, context)
    first = search.beyond(Goal())
    if first is None:
        return Report(log, _METHOD, consistent=None, undecided=tuple(range(log.n)))
    if not isinstance(first, tuple):
        return Report(log, _METHOD, contradiction=Argument(None, Fraction(0), first), consistent=False)
    for _ in range(_DIRECTIONS):
        search.beyond(Goal())
    ends = _intervals(search) if log.bounded and not region.integral and not region.holdings else {}
    verdicts = {}
    for index, piece in enumerate(region.heads.tolist()):
        if context is not None:
            context.step("checking person by person", index, len(region.heads))
        verdicts[piece] = _verdict(search, piece, ends.get(piece))
    proofs: dict[int, Certificate] = {}
    exposed: dict[int, Fraction] = {}
    undecided = []
    for person, piece in enumerate(region.head.tolist()):
        verdict = verdicts[piece]
        if verdict is None:
            undecided.append(person)
        elif isinstance(verdict, Argument):
            exposed[person] = verdict.value
            proofs[person] = Argument(person, verdict.value, verdict.upper, verdict.lower)
    intervals = {
        person: (ends[head][0], ends[head][1]) for person, head in enumerate(region.head.tolist()) if head in ends
    }
    return Report(log, _METHOD, exposed=exposed, certificate=proofs, undecided=tuple(undecided), intervals=intervals)


def not_whole(log: Log) -> NotWhole | None:
    """Return the proof that a Boolean log has an answer that is not an integer, if it has one."""
    if log.values != "boolean":
        return None
    return next((NotWhole(entry.number) for entry in log.entries if entry.answer.denominator != 1), None)


_Ends = tuple[Bound, Bound, Leaf | None, Leaf | None]


def _intervals(search: RegionSearch) -> dict[int, _Ends]:
    """Return proved lower and upper bounds of the first piece of every class, with the weights that prove them, as far
    as the limit of programs allows.
    """
    ends = {}
    for piece in map(int, search.region.heads):
        if search.solved + 2 * search.price > search.limit:
            break
        high, above, _ = search.extent(piece, 1)
        low, below, _ = search.extent(piece, -1)
        ends[piece] = (None if low is None else -low, high, below, above)
    return ends


def _verdict(search: RegionSearch, piece: int, ends: _Ends | None) -> Argument | bool | None:
    """Return the proof that the piece (a person, or a group with one sum) has only one value, True if two possible
    points differ in it, None if neither was found.
    """
    value = search.points[0][piece]
    if any(point[piece] != value for point in search.points):
        return True
    person = int(search.region.people[piece][0])
    if ends is not None and ends[0] == ends[1] == value and ends[2] is not None and ends[3] is not None:
        return Argument(person, value, ends[3], ends[2])
    upper = search.beyond(Goal(piece, 1, value))
    if isinstance(upper, tuple):
        return True
    lower = search.beyond(Goal(piece, -1, -value))
    if isinstance(lower, tuple):
        return True
    return None if upper is None or lower is None else Argument(person, value, upper, lower)
