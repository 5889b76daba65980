"""Republishing: a table that changes, in releases that stay safe together (tau-safety, [Anjum2013]).

``history``      a series of releases and all that its publisher remembers; ``history_folder`` its folder; ``state`` what is kept after a release; ``feed`` changes instead of a snapshot
``method``       the method Republish; ``diff`` what happened to whom, ``assignment`` who goes where, ``group_formation`` new rows into groups, ``box_scales`` boxes and distances
``series``       the releases of a table as columns: who is in which group, what happened to whom, what the public sees
``definitions``  TauSafety and MInvariance; ``series_check`` every violation in a series, independent of the publisher
``plan``         what coming releases cost, before anything is published
``turnover``     sensitive values that came, went, and are missing
``format``       the format ``series`` of a release; ``batch_format`` that of a release in batches, beside boxes of people who look alike
``signatures``   sets of sensitive values as rows of a matrix; ``person_keys`` who is who by their keys; ``hilbert`` an order of points
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
