"""What a synthetic release promises, worked out from its public files alone: laws of small groups by rational Polya urns, and every world that could be.

Shares nothing with ``reticent.methods.synthesize``: files are read with csv and json, laws are built draw by draw, and disclosure is decided by its definition.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from math import exp
from pathlib import Path

Counts = tuple[int, ...]


@dataclass(frozen=True)
class PublicFiles:
    """The files of a release: values with their weights, sizes of groups, noise by size, and the rows drawn for each group."""

    values: tuple[str, ...]
    weights: tuple[int, ...]
    sizes: dict[str, int]
    alpha: dict[int, Fraction]
    epsilon: Fraction
    delta: Fraction
    drawn: dict[str, Counts]
    keep: tuple[Fraction, ...]

    @classmethod
    def read(cls, folder: Path) -> PublicFiles:
        public = folder / "public"
        details = json.loads((public / "manifest.json").read_text())["details"]
        domain = list(csv.DictReader((public / "domain.csv").open()))
        groups = list(csv.DictReader((public / "groups.csv").open()))
        value = details["value"]
        values = tuple(row[value] for row in domain)
        by = next(name for name in groups[0] if name != "group_size")
        rows = Counter((row[by], row[value]) for row in csv.DictReader((public / "synthetic.csv").open()))
        return cls(
            values,
            tuple(int(row.get("domain_weight") or 1) for row in domain),
            {row[by]: int(row["group_size"]) for row in groups},
            {int(size): Fraction(alpha) for size, alpha in details["alpha"].items()},
            Fraction(details["promise"]["epsilon"]),
            Fraction(details["promise"]["delta"]),
            {row[by]: tuple(rows[row[by], each] for each in values) for row in groups},
            # One probability for all values is in the manifest, different ones are in the table of the domain.
            tuple(Fraction(row.get("domain_keep") or details["keep"] or 1) for row in domain),
        )

    def noise(self, size: int) -> tuple[Fraction, ...]:
        return tuple(self.alpha[size] * weight for weight in self.weights)


def worlds(people: int, values: int) -> list[Counts]:
    """Every way in which so many people can have so many values."""
    return [
        tuple(chosen.count(value) for value in range(values))
        for chosen in combinations_with_replacement(range(values), people)
    ]


@cache
def law(people: Counts, noise: tuple[Fraction, ...], draws: int) -> dict[Counts, Fraction]:
    """The chance of every output: balls are drawn one by one, and each goes back with one more of its kind."""
    found: dict[Counts, Fraction] = {(0,) * len(people): Fraction(1)}
    for turn in range(draws):
        total = sum(people) + sum(noise) + turn
        following: dict[Counts, Fraction] = {}
        for output, chance in found.items():
            for value in range(len(people)):
                ball = (people[value] + noise[value] + output[value]) / total
                longer = (*output[:value], output[value] + 1, *output[value + 1 :])
                following[longer] = following.get(longer, Fraction(0)) + chance * ball
        found = following
    return found


def neighbours(world: Counts) -> Iterator[Counts]:
    """One person's value replaced."""
    for one in range(len(world)):
        for other in range(len(world)):
            if one != other and world[one]:
                yield tuple(count - (place == one) + (place == other) for place, count in enumerate(world))


Law = Callable[[Counts], Mapping[Counts, Fraction]]


def screened(noise: tuple[Fraction, ...], epsilon: Fraction, delta: Fraction, draws: int) -> Law:
    """The law of draws that are drawn again until some world within one row of the true one finds them representative."""
    # What is tested spends -ln(1 - delta) less than what is promised; thresholds sit on whole numbers, so they get a hair more.
    gamma = (Fraction(exp(float(epsilon))) * (1 - delta) - 1) * (1 + Fraction(1, 10**9))

    def representative(output: Counts, world: Counts) -> bool:
        return all(
            shown <= gamma * (alpha + max(people - 1, 0))
            for shown, alpha, people in zip(output, noise, world, strict=True)
        )

    @cache
    def found(world: Counts) -> dict[Counts, Fraction]:
        near = [world, *neighbours(world)]
        good = {
            output: chance
            for output, chance in law(world, noise, draws).items()
            if any(representative(output, each) for each in near)
        }
        return {output: chance / sum(good.values()) for output, chance in good.items()}

    return found


def dropped(noise: tuple[Fraction, ...], keep: tuple[Fraction, ...], draws: int) -> Law:
    """The law where every value that nobody has stays with its probability: all sets of values that may be left are tried."""

    @cache
    def found(world: Counts) -> dict[Counts, Fraction]:
        free = [value for value, people in enumerate(world) if not people]
        total: dict[Counts, Fraction] = {}
        for choice in product((True, False), repeat=len(free)):
            weight = Fraction(1)
            left = list(noise)
            for value, stays in zip(free, choice, strict=True):
                weight *= keep[value] if stays else 1 - keep[value]
                left[value] = left[value] if stays else Fraction(0)
            for output, chance in law(world, tuple(left), draws).items():
                total[output] = total.get(output, Fraction(0)) + weight * chance
        return total

    return found


def disclosing(world: Counts, drawn_by: Law, epsilon: Fraction) -> Fraction:
    """The chance of outputs for which two worlds, each within one row of this one and of each other, differ by more than e^epsilon."""
    near = [world, *neighbours(world)]
    pairs = [(one, other) for one in near for other in near if other in set(neighbours(one))]
    # The least noise sits where a ratio is e^epsilon or hardly less, so that a limit below it would call these outputs disclosing.
    limit = Fraction(exp(float(epsilon))) * (1 + Fraction(1, 10**14))
    laws = {each: drawn_by(each) for each in near}
    nothing = Fraction(0)
    return sum(
        (
            chance
            for output, chance in laws[world].items()
            if any(laws[one].get(output, nothing) > limit * laws[other].get(output, nothing) for one, other in pairs)
        ),
        nothing,
    )
