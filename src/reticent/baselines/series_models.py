"""Models of continuous publication: the events each supports, and whether earlier ones hold for a history."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from reticent.methods.series import EventKind, HasSeries, PublishedSeries, SeriesRelease, find_violations


@dataclass(frozen=True)
class SeriesModel:
    """A model of continuous publication: the supported events, whether people may be ``tracked`` through arbitrary
    updates, and its check here (empty: none).
    """

    name: str
    insertions: bool
    deletions: bool
    updates: bool
    tracked: bool
    checked_by: str

    @property
    def supports(self) -> str:
        """The events in words."""
        return ", ".join(name for name in ("insertions", "deletions", "updates") if getattr(self, name))


MODELS = (
    SeriesModel("Sweeney", True, False, False, False, "judge_models"),
    SeriesModel("Byun", True, False, False, False, "judge_models"),
    SeriesModel("BCF", True, False, False, False, "judge_models, rt.attacks.bcf_of_releases"),
    SeriesModel("m-invariance", True, True, False, False, "judge_models, MInvariance"),
    SeriesModel("He et al.", True, True, False, False, ""),
    SeriesModel("HD-composition", True, True, True, False, "rt.attacks.hd_composition"),
    SeriesModel("m-Distinct", True, True, True, False, "rt.attacks.m_distinct"),
    SeriesModel("tau-safety", True, True, True, True, "check_tau_safety, TauSafety"),
)
"""The models and what they support."""


@dataclass(frozen=True)
class ModelVerdict:
    """Verdict on one model: the events that it ``supports``, whether it ``applies`` to the history, whether it ``holds``,
    and the value ``achieved``, if any.
    """

    model: str
    supports: str
    applies: bool
    holds: bool
    achieved: int | None = None


def judge_models(history: HasSeries | PublishedSeries) -> tuple[ModelVerdict, ...]:
    """Judge a history (or its ``series``) by the models of continuous publication that came before tau-safety.

    *Sweeney*: no published box ever gets finer [Sweeney2002]. *Byun*: each person's possible values, intersected over
    all releases, stay at least m [Byun2006]. *BCF*: the anonymity left by forward and cross attacks, over all pairs of
    groups with a common person (:func:`bcf_anonymity`) [Fung2008]. *m-invariance*: a person who stays keeps the
    signature [Xiao2007]. All but the last are for growing tables.
    """
    series = PublishedSeries.of(history)
    grows = all(_only_grows(release) for release in series)
    unchanged = not any(_changed(release) for release in series)
    fewest, anonymity = _fewest_candidates(series), _least_bcf(series)
    invariant = not find_violations(series, hardened=False, returns=False)
    judged: dict[str, tuple[bool, bool, int | None]] = {
        "Sweeney": (grows, _never_finer(series), None),
        "Byun": (grows, fewest >= series.m, fewest),
        "BCF": (grows, anonymity >= series.m, anonymity),
        "m-invariance": (unchanged, invariant, None),
    }
    return tuple(
        ModelVerdict(model.name, model.supports, *judged[model.name]) for model in MODELS if model.name in judged
    )


def bcf_anonymity(first: list[Any], second: list[Any]) -> int:
    """Return the anonymity that forward and cross attacks leave of two groups with a common victim: the number of rows
    that can be matched at the same time.

    ``first`` and ``second`` are the sensitive values of the victim's group in two releases, of which the second has all
    rows of the first. A row of one without a counterpart of the same value in the other is cracked; the rest is the sum
    over values of the smaller count. Source: [Fung2008].
    """
    return sum(min(first.count(value), second.count(value)) for value in set(first))


def _only_grows(release: SeriesRelease) -> bool:
    return len(release.left) == 0 and bool(np.isin(release.events, (EventKind.INSERTED, EventKind.UNCHANGED)).all())


def _changed(release: SeriesRelease) -> bool:
    return bool(np.isin(release.events, (EventKind.SENSITIVE_UPDATED, EventKind.RETURNED)).any())


def _pairs(before: SeriesRelease, after: SeriesRelease) -> pl.DataFrame:
    """Return the groups and boxes of everyone in both releases."""
    first, second = (
        pl.DataFrame({"person": release.people, "group": release.group_of, "box": release.box_of})
        for release in (before, after)
    )
    return first.join(second, on="person", suffix="_after")


def _never_finer(series: PublishedSeries) -> bool:
    """Return whether the box of every person stays the same or gets wider from each release to the next."""
    for before, after in pairwise(series):
        pairs = _pairs(before, after)
        box_before, box_now = pairs["box"].to_numpy(), pairs["box_after"].to_numpy()
        if (after.low[box_now] > before.low[box_before]).any() or (after.high[box_now] < before.high[box_before]).any():
            return False
    return True


def _fewest_candidates(series: PublishedSeries) -> int:
    """Return the smallest number of values that a person may have, intersected over all their releases."""
    known = (
        pl.DataFrame(schema={"person": series[0].people.dtype, "value": pl.Int64}) if len(series) else pl.DataFrame()
    )
    fewest = len(series.domain)
    for release in series:
        values = pl.DataFrame(
            {"group": np.repeat(np.arange(len(release)), release.sizes), "value": release.values}
        ).unique()
        possible_now = (
            pl.DataFrame({"person": release.people, "group": release.group_of})
            .join(values, on="group")
            .select("person", "value")
        )
        fresh = possible_now.join(known.select("person").unique(), on="person", how="anti")
        known = pl.concat(
            [
                known.join(possible_now, on=["person", "value"], how="semi"),
                known.join(possible_now, on="person", how="anti"),
                fresh,
            ]
        )
        left = known.group_by("person").len()["len"]
        fewest = min(fewest, int(left.to_numpy().min()))
    return fewest


def _least_bcf(series: PublishedSeries) -> int:
    """Return the smallest anonymity over all pairs of groups of consecutive releases with a common person."""
    least = min((int(release.sizes.min(initial=len(series.domain))) for release in series), default=0)
    for before, after in pairwise(series):
        for first_group, second_group in _pairs(before, after).select("group", "group_after").unique().iter_rows():
            values = [
                release.values[release.offsets[group] : release.offsets[group + 1]].tolist()
                for release, group in ((before, first_group), (after, second_group))
            ]
            least = min(least, bcf_anonymity(*values))
    return least
