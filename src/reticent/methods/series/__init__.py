"""Republishing: successive releases of a changing table that are safe together (tau-safety, [Anjum2013]).

``history`` a series of releases with the publisher's private state; ``history_folder`` its folder; ``state`` what is
kept after a release; ``feed`` changes instead of a snapshot ``method`` the method Republish; ``diff`` events since the
last release, ``assignment`` people to groups, ``group_formation`` new groups, ``box_scales`` boxes and distances
``series`` the releases of a table as columns: group membership, events, public part ``definitions`` TauSafety and
MInvariance; ``series_check`` every violation in a series, independent of the publisher ``plan`` predicted cost of
coming releases ``turnover`` sensitive values gained, lost and missing ``format`` the format ``series`` of a release;
``batch_format`` that of a release in batches, with separate boxes of k people ``signatures`` sets of sensitive
values as rows of a matrix; ``person_keys`` people matched by key; ``hilbert`` a space-filling order of points
"""

from reticent.errors import correct_names
from reticent.methods.series.definitions import MInvariance, TauSafety
from reticent.methods.series.history import History, Republication, forgetting
from reticent.methods.series.method import Republish
from reticent.methods.series.plan import PlannedPrice, SeriesPlan, UpdateRates, plan
from reticent.methods.series.series import EventKind, HasSeries, PublishedSeries, SeriesRelease
from reticent.methods.series.series_check import SeriesVerdict, TauViolation, check_tau_safety, find_violations
from reticent.methods.series.turnover import ValueTurnover, value_turnover

__all__ = [
    "EventKind",
    "HasSeries",
    "History",
    "MInvariance",
    "PlannedPrice",
    "PublishedSeries",
    "Republication",
    "Republish",
    "SeriesPlan",
    "SeriesRelease",
    "SeriesVerdict",
    "TauSafety",
    "TauViolation",
    "UpdateRates",
    "ValueTurnover",
    "check_tau_safety",
    "find_violations",
    "forgetting",
    "plan",
    "value_turnover",
]

correct_names(__name__)
