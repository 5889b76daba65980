"""Tau-safety by its words (13.1): person by person, release by release, with sets. Shares nothing with the checker or the publisher."""

from __future__ import annotations

from typing import Any

AdversaryView = dict[Any, tuple[Any, frozenset[Any]]]
"""Everybody of one release: the true value, and the signature of the own group."""


def is_tau_safe(groups: list[list[list[Any]]], people: list[AdversaryView], m: int, *, hardened: bool = True) -> bool:
    """Whether releases keep the rules: ``groups`` lists the published values of every group of each release, ``people`` who is where."""
    for release in groups:
        for values in release:
            if len(values) < m or len(set(values)) < len(values):
                return False
    last: AdversaryView = {}
    last_time: dict[Any, int] = {}
    for time, seen in enumerate(people):
        for person, (value, signature) in seen.items():
            if person in last:
                before, old = last[person]
                stayed = last_time[person] == time - 1 and before == value
                if stayed or value in old:
                    must_equal = stayed or hardened or last_time[person] < time - 1
                    if must_equal and signature != old:
                        return False
                elif hardened and signature & old:
                    return False
            last[person], last_time[person] = (value, signature), time
    return True
