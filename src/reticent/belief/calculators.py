"""The effect of additional knowledge on a belief within one group.

Group membership is known, and every assignment of its values to its people is equally likely. Knowledge excludes
assignments; the rest is counted in closed form, so that groups of any size are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import perm

from reticent.base.exact import whole
from reticent.errors import DataError, PolicyError, did_you_mean


def excluding(histogram: Mapping[str, int], values: Iterable[str]) -> dict[str, Fraction]:
    """Return the probabilities of a person's value once some values are excluded (negation knowledge)."""
    return knowing(histogram, excluded=values)


def knowing(
    histogram: Mapping[str, int], *, excluded: Iterable[str] = (), others: Iterable[str] = (), sharing: int = 0
) -> dict[str, Fraction]:
    """Return the probabilities of a person's value for an adversary with 3D knowledge. Source: [Chen2007].

    ``excluded``: values that the person does not have. ``others``: the values of other people of the group, one for
    each. ``sharing``: how many further people of the group are known to have the same value as the person. With ``n'``
    rows of a value left after removing the known others, ``n' (n'-1) ... (n'-sharing)`` assignments give it to the
    person and to those who share it, times a factor that is the same for every value.
    """
    counts = _counted(histogram)
    whole(sharing, "knowing: sharing", low=0)
    ruled_out = _known(excluded, counts, "excluded")
    known_others = Counter(_known(others, counts, "others"))
    for value, number in known_others.items():
        if number > counts[value]:
            raise DataError(f"others has {value!r} {number} times, but the group has it only {counts[value]} times.")
    ways = {
        value: 0 if value in ruled_out else perm(count - known_others[value], sharing + 1)
        for value, count in counts.items()
    }
    total = sum(ways.values())
    if total == 0:
        raise DataError(
            "No assignment of the group's values fits the knowledge: the knowledge contradicts the release."
        )
    return {value: Fraction(number, total) for value, number in ways.items()}


@dataclass(frozen=True)
class Guess:
    """The highest belief of an adversary, in which value, and with which knowledge."""

    chance: Fraction
    value: str
    excluded: tuple[str, ...]
    others: tuple[str, ...]


def worst_knowing(histogram: Mapping[str, int], exclusions: int, others: int, sharing: int) -> Guess:
    """Return the highest belief over all knowledge of that size: ``exclusions`` values, ``others`` people, ``sharing``
    people.

    For a value it is optimal to exclude the most frequent others, and to know people with the values that are then most
    frequent: the remainder of a value counts ``n (n-1) ... (n-sharing)``, which grows faster the larger n is.
    """
    counts = _counted(histogram)
    for name, number in (("exclusions", exclusions), ("others", others), ("sharing", sharing)):
        whole(number, f"worst_knowing: {name}", low=0)
    guesses = [
        guess for value in counts if (guess := _best_for(value, counts, exclusions, others, sharing)) is not None
    ]
    if not guesses:
        raise DataError("The group has too few rows for so much knowledge.")
    return max(guesses, key=lambda guess: guess.chance)


def _best_for(value: str, counts: Mapping[str, int], exclusions: int, others: int, sharing: int) -> Guess | None:
    """Return the highest belief in one value, with the knowledge that leads to it; None if the group is too small."""
    own_assignments = perm(counts[value], sharing + 1)
    if own_assignments == 0:
        return None
    rivals = sorted((other for other in counts if other != value), key=lambda other: (-counts[other], other))
    excluded, open_rivals = rivals[:exclusions], {other: counts[other] for other in rivals[exclusions:]}
    known_others: list[str] = []
    while len(known_others) < others and any(open_rivals.values()):
        largest = max(open_rivals, key=lambda other: (open_rivals[other], other))
        open_rivals[largest] -= 1
        known_others.append(largest)
    # No ambiguity is left: the remaining known people have excluded values, or the value itself.
    certain_values = Counter({other: counts[other] for other in excluded}) + Counter(
        {value: counts[value] - sharing - 1}
    )
    known_others.extend(list(certain_values.elements())[: others - len(known_others)])
    if len(known_others) < others:
        return None
    other_assignments = sum(perm(count, sharing + 1) for count in open_rivals.values())
    return Guess(
        Fraction(own_assignments, own_assignments + other_assignments), value, tuple(excluded), tuple(known_others)
    )


def homogeneous_groups(rows: int, size: int, values: int) -> tuple[Fraction, Fraction, Fraction]:
    """Return rough figures for groups of ``size`` with ``values`` equally likely and independent sensitive values.

    These are the probability that a group is homogeneous, and the expected number of such groups and of their people in
    ``rows``.
    """
    for name, number in (("rows", rows), ("size", size), ("values", values)):
        whole(number, f"homogeneous_groups: {name}", low=1)
    chance = values * Fraction(1, values) ** size
    groups = Fraction(rows, size)
    return chance, groups * chance, rows * chance


def _counted(histogram: Mapping[str, int]) -> dict[str, int]:
    """Return a histogram without empty values. Raises unless it has people."""
    counts = {str(value): count for value, count in histogram.items() if count}
    if not counts or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in counts.values()):
        raise PolicyError(
            f"A histogram must map values to whole numbers of people, with at least one person, but it is {dict(histogram)!r}."
        )
    return counts


def _known(values: Iterable[str], counts: Mapping[str, int], name: str) -> list[str]:
    """Return values as a list. Raises for one that the group does not have."""
    listed = [values] if isinstance(values, str) else [str(value) for value in values]
    for value in listed:
        if value not in counts:
            raise DataError(f"{name} names {value!r}, which the group does not have.{did_you_mean(value, counts)}")
    return listed
