"""The running example of spec 004: Tables 4.1 to 4.3, three releases that are each 2-unique and unsafe together."""

from __future__ import annotations

import numpy as np
import polars as pl

from reticent.methods.series import EventKind, PublishedSeries, SeriesRelease

DOMAIN = ("cataract", "diarrhea", "flu", "gastritis", "glaucoma", "pneumonia")
MONTHS = (
    pl.DataFrame(
        {
            "id": ["p1", "p2", "p3", "p4", "p5", "p6"],
            "age": [21, 22, 24, 23, 41, 42],
            "zip": [12_000, 14_000, 18_000, 25_000, 20_000, 34_000],
            "disease": ["cataract", "pneumonia", "flu", "glaucoma", "flu", "gastritis"],
        }
    ),
    pl.DataFrame(
        {
            "id": ["p1", "p2", "p3", "p5", "p6", "p7"],
            "age": [21, 23, 24, 41, 42, 26],
            "zip": [12_000, 40_000, 18_000, 20_000, 35_000, 34_000],
            "disease": ["cataract", "diarrhea", "flu", "flu", "gastritis", "gastritis"],
        }
    ),
    pl.DataFrame(
        {
            "id": ["p1", "p2", "p3", "p4", "p5", "p6", "p7"],
            "age": [21, 23, 24, 23, 41, 42, 26],
            "zip": [12_000, 40_000, 18_000, 25_000, 20_000, 35_000, 34_000],
            "disease": ["cataract", "diarrhea", "flu", "glaucoma", "flu", "gastritis", "gastritis"],
        }
    ),
)
UNSAFE_GROUPS = ([0, 0, 1, 1, 2, 2], [0, 0, 1, 2, 2, 1], [0, 0, 1, 0, 2, 2, 1])
"""The groups of the rows of each month in Tables 4.1, 4.2 and 4.3."""
_EVENTS = (
    [EventKind.INSERTED] * 6,
    [
        EventKind.UNCHANGED,
        EventKind.SENSITIVE_UPDATED,
        EventKind.UNCHANGED,
        EventKind.UNCHANGED,
        EventKind.QUASI_UPDATED,
        EventKind.INSERTED,
    ],
    [EventKind.UNCHANGED] * 3 + [EventKind.RETURNED] + [EventKind.UNCHANGED] * 3,
)
_LEFT: tuple[list[str], ...] = ([], ["p4"], [])


def unsafe_series() -> PublishedSeries:
    """Tables 4.1 to 4.3 as a series."""
    releases = []
    for number, (month, groups, events, left) in enumerate(
        zip(MONTHS, UNSAFE_GROUPS, _EVENTS, _LEFT, strict=True), start=1
    ):
        codes = np.array([DOMAIN.index(value) for value in month["disease"]])
        group_of = np.array(groups)
        order = np.lexsort((codes, group_of))
        quasi = month.select("age", "zip")
        points = quasi.cast(pl.Float64).to_numpy()
        members = [points[group_of == group] for group in range(group_of.max() + 1)]
        releases.append(
            SeriesRelease(
                number=number,
                people=month["id"],
                group_of=group_of,
                value_of=codes,
                quasi=quasi,
                events=np.array(events, dtype=np.uint8),
                left=pl.Series("id", left, dtype=pl.String),
                offsets=np.concatenate([[0], np.cumsum(np.bincount(group_of))]),
                values=codes[order],
                counterfeits=np.zeros(len(members), dtype=np.int64),
                low=np.array([each.min(axis=0) for each in members]),
                high=np.array([each.max(axis=0) for each in members]),
            )
        )
    return PublishedSeries(DOMAIN, 2, "disease", {"age": None, "zip": None}, tuple(releases))
