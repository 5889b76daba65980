"""Republishing: a table that changes, in releases that stay safe together (tau-safety, spec 004).

``history``      a series of releases and all that its publisher remembers; ``store`` its folder; ``state`` what is kept after a release; ``feed`` changes instead of a snapshot
``method``       the method Republish; ``binding`` what happened to whom, ``placing`` who goes where, ``assigning`` new rows into groups, ``scales`` boxes and distances
``series``       the releases of a table as columns: who is in which group, what happened to whom, what the public sees
``definitions``  TauSafety and MInvariance; ``checking`` every violation in a series, independent of the publisher
``models``       models of continuous publication and what they support, older ones judged on a history; ``turnover`` sensitive values that came, went, and are missing
``format``       the format ``series`` of a release; ``batches`` that of a release in batches, beside boxes of people who look alike
``signatures``   sets of sensitive values as rows of a matrix; ``people`` who is who by their keys; ``hilbert`` an order of points
"""

from reticent.republish.checking import SeriesVerdict, TauViolation, check_tau_safety
from reticent.republish.definitions import MInvariance, TauSafety
from reticent.republish.history import History, Republication, forgetting
from reticent.republish.method import Republish
from reticent.republish.models import MODELS, ModelVerdict, SeriesModel, bcf_anonymity, judge_models
from reticent.republish.series import EventKind, HasSeries, PublishedSeries, SeriesRelease
from reticent.republish.turnover import ValueTurnover, value_turnover

__all__ = [
    "MODELS",
    "EventKind",
    "HasSeries",
    "History",
    "MInvariance",
    "ModelVerdict",
    "PublishedSeries",
    "Republication",
    "Republish",
    "SeriesModel",
    "SeriesRelease",
    "SeriesVerdict",
    "TauSafety",
    "TauViolation",
    "ValueTurnover",
    "bcf_anonymity",
    "check_tau_safety",
    "forgetting",
    "judge_models",
    "value_turnover",
]
