"""HD-composition: holders of a permanent value hide among permanent decoys. Source: [Bu2008]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import polars as pl

from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.methods.series import PublishedSeries

HOLDERS = 0
"""The cohort of the holders of the permanent value; decoys are in cohorts 1, 2, ..."""


@dataclass(frozen=True)
class HdComposition:
    """``achieved`` is the largest l for which both rules hold; ``risk`` the largest share of holders among holders and
    decoys of a group.

    ``lonely`` lists (release, group) where holders have fewest decoys, ``crowded`` those with two decoys of one cohort.
    """

    achieved: int
    risk: Fraction
    lonely: tuple[tuple[int, int], ...]
    crowded: tuple[tuple[int, int], ...]
    warning: str = "This assumes that values which may change do so uniformly at random; nothing here checks that."

    def holds(self, l: int) -> bool:  # noqa: E741  # the name of the parameter in the literature
        """True if the series is l-HD-composed for the value."""
        return not self.crowded and self.achieved >= l


def hd_composition(series: PublishedSeries, permanent: Any, cohorts: Mapping[Any, int]) -> HdComposition:
    """Return whether decoys hide the holders of a permanent value in every release.

    *Rules.* Role: a group with holders (cohort 0) has at least l - 1 decoys for each of them. Cohort: each person stays
    in one cohort for the whole series, and no group with a holder has two decoys of one cohort. ``cohorts`` maps every
    holder and decoy to a cohort; others are in none.

    *Adversary.* Knows releases, who is in which group and who is present; wants to link a person to the permanent
    value. The goal is a probability of at most 1/l.
    """
    if permanent not in series.domain:
        raise PolicyError(
            f"{permanent!r} is not a value of the domain.{did_you_mean(permanent, series.domain)}",
            setting=("permanent",),
            value=permanent,
        )
    series.check_complete("HD-composition")
    code = series.domain.index(permanent)
    assigned = pl.DataFrame(
        {"person": list(cohorts), "cohort": list(cohorts.values())}, schema_overrides={"cohort": pl.Int64}
    )
    fewest_decoys, risk = None, Fraction(0)
    least_hidden: list[tuple[int, int]] = []
    crowded: list[tuple[int, int]] = []
    for release in series:
        rows = pl.DataFrame({"person": release.people, "group": release.group_of, "holds": release.value_of == code})
        rows = rows.join(assigned.cast({"person": rows["person"].dtype}), on="person", how="left")
        contradictions = rows.filter(pl.col("holds") != (pl.col("cohort") == HOLDERS).fill_null(False))
        if contradictions.height:
            person = contradictions["person"][0]
            raise DataError(
                f"Release {release.number}: {person!r} {'holds' if contradictions['holds'][0] else 'does not hold'} {permanent!r}, contrary to the given cohort. "
                f"Holders are in cohort {HOLDERS}, and a permanent value neither comes nor goes.",
                value=person,
            )
        per_cohort = rows.drop_nulls("cohort").group_by("group", "cohort").len()
        groups = per_cohort.group_by("group").agg(
            holders=pl.col("len").filter(pl.col("cohort") == HOLDERS).sum(),
            decoys=pl.col("len").filter(pl.col("cohort") != HOLDERS).sum(),
            most=pl.col("len").filter(pl.col("cohort") != HOLDERS).max(),
        )
        groups = groups.filter(pl.col("holders") > 0).sort("group")
        crowded += [(release.number, group) for group in groups.filter(pl.col("most") > 1)["group"].to_list()]
        for group, holders, decoys, _ in groups.iter_rows():
            decoys_per_holder = decoys // holders
            risk = max(risk, Fraction(holders, holders + decoys))
            if fewest_decoys is None or decoys_per_holder < fewest_decoys:
                fewest_decoys, least_hidden = decoys_per_holder, []
            if decoys_per_holder == fewest_decoys:
                least_hidden.append((release.number, group))
    if fewest_decoys is None:
        raise DataError(f"No one holds {permanent!r} in any release, so there is no one to hide.")
    return HdComposition(fewest_decoys + 1, risk, tuple(least_hidden), tuple(crowded))
