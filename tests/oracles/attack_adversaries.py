"""Slow twins of the adversaries: plain loops over people, rows and values, no shared code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from reticent.table import Meaning
from tests.oracles.attack_linkage import fits


def excluded(groups: Sequence[Sequence[str]], exclusions: int, threshold: Fraction) -> int:
    """People whose value reaches the threshold for some set of other values that is ruled out."""
    hits = 0
    for group in groups:
        for value in group:
            others = sorted(set(group) - {value})
            chances = [
                Fraction(group.count(value), sum(each not in gone for each in group))
                for gone in combinations(others, min(exclusions, len(others)))
            ]
            hits += max(chances) >= threshold
    return hits


def skewed(groups: Sequence[Sequence[str]], gain: Fraction) -> int:
    """People in groups where some value is more frequent than in the whole by more than ``gain``."""
    whole = [value for group in groups for value in group]
    return sum(
        len(group)
        for group in groups
        if any(
            Fraction(group.count(value), len(group)) - Fraction(whole.count(value), len(whole)) > gain
            for value in set(group)
        )
    )


def similar(groups: Sequence[Sequence[int]], width: int, threshold: Fraction) -> int:
    """People in groups of which some range of ``width`` holds the share ``threshold``, while it does not hold that share of the whole."""
    whole = [value for group in groups for value in group]

    def share(values: Sequence[int], low: int) -> Fraction:
        return Fraction(sum(low <= value <= low + width for value in values), len(values))

    return sum(
        len(group) for group in groups if any(share(group, low) >= threshold > share(whole, low) for low in set(group))
    )


def posteriors(
    people: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    meanings: Mapping[str, Mapping[str, Meaning]],
    quasi: Sequence[str],
    error: float,
    present: float,
) -> list[float]:
    """For each person the posterior of the likeliest row, by Bayes over all rows and over not being there."""
    share = {}
    for name in quasi:
        known = [person[name] for person in people if person[name] is not None]
        for label, meaning in meanings[name].items():
            covered = sum(fits(value, meaning) for value in known)
            share[name, label] = max(covered, 0.5) / max(len(known), 1)
    found = []
    for person in people:
        weights = []
        for row in rows:
            weight = 1.0
            for name in quasi:
                if person[name] is None:
                    continue
                agrees = fits(person[name], meanings[name][row[name]])
                weight *= (1 - error) / share[name, row[name]] + error if agrees else error
            weights.append(weight * present / len(rows))
        evidence = 1 - present + sum(weights)
        found.append(max(weights) / evidence if evidence else 0.0)
    return found
