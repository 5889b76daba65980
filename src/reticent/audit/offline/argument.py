"""Proofs by cases that nothing in a region exceeds a bound, and a checker that trusts no solver.

A leaf is a weighted sum of queries. In it ``sign * x`` equals the weighted sum of the answers plus a remainder that the
box bounds; if the total is at most the bound, the leaf is proved. A leaf is also proved if no values in the box reach
the weighted sum of the answers. A split distinguishes the people who may attain an extreme, or the two sides of an
integer threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from reticent.audit.offline.answer_region import Bound, Box, Region
from reticent.audit.offline.offline_proofs import named, signed
from reticent.audit.offline.question_log import Log


@dataclass(frozen=True)
class Goal:
    """The claim ``sign * piece <= value`` everywhere; with ``piece`` None, that the region is empty."""

    piece: int | None = None
    sign: int = 1
    value: Fraction = Fraction(0)


@dataclass(frozen=True)
class Leaf:
    """Weights of queries, by row of the region's matrix."""

    weights: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True)
class ByHolder:
    """One case for every piece that may attain the extreme of ``holding`` (an index into the region's list)."""

    holding: int
    cases: tuple[tuple[int, Tree], ...]


@dataclass(frozen=True)
class ByValue:
    """Two cases: an integer is at most ``at``, or at least ``at + 1``."""

    piece: int
    at: int
    below: Tree
    above: Tree


Tree = Leaf | ByHolder | ByValue


def proves(region: Region, goal: Goal, tree: Tree, box: Box | None = None) -> bool:
    """True if the tree of cases proves the goal within the box, checked in fractions alone.

    A case bounds a piece from below or above, or names who has an extreme value; a leaf closes its case by a weighted
    sum of queries.
    """
    box = region.box if box is None else box
    if box.is_empty:
        return True
    if isinstance(tree, Leaf):
        return leaf_proves(region, goal, tree, box)
    if isinstance(tree, ByValue):
        lower = box.narrowed(tree.piece, None, Fraction(tree.at))
        upper = box.narrowed(tree.piece, Fraction(tree.at + 1), None)
        return region.integral and proves(region, goal, tree.below, lower) and proves(region, goal, tree.above, upper)
    holding = region.holdings[tree.holding]
    cases = dict(tree.cases)
    return all(
        piece in cases and proves(region, goal, cases[piece], box.narrowed(piece, holding.value, holding.value))
        for piece in holding.pieces
        if box.allows(piece, holding.value)
    )


def leaf_proves(region: Region, goal: Goal, leaf: Leaf, box: Box) -> bool:
    """True if the weighted sum of queries at a leaf closes its case: it cannot be reached within the box, or it bounds
    the person's value as the goal states.
    """
    coefficients, total = region.combined(leaf.weights)
    largest_total = _most(box, coefficients)
    if largest_total is not None and largest_total < total:
        return True
    bound = upper_bound(region, goal, leaf, box)
    return bound is not None and bound <= goal.value


def upper_bound(region: Region, goal: Goal, leaf: Leaf, box: Box) -> Bound:
    """Return the upper bound of ``sign * piece`` that the weighted queries of the leaf prove within the box; None if
    there is none.
    """
    if goal.piece is None:
        return None
    coefficients, total = region.combined(leaf.weights)
    rest = {piece: -factor for piece, factor in coefficients.items()}
    rest[goal.piece] = rest.get(goal.piece, Fraction(0)) + goal.sign
    largest_rest = _most(box, rest)
    return None if largest_rest is None else total + largest_rest


def _most(box: Box, factors: dict[int, Fraction]) -> Bound:
    """Return the largest weighted sum of the pieces (people, or groups with one sum) in the box; None if unbounded."""
    total = Fraction(0)
    for piece, factor in factors.items():
        largest = box.most(piece, factor)
        if largest is None:
            return None
        total += largest
    return total


@dataclass(frozen=True)
class Argument:
    """A proof about a region: that a person has only one possible value, or that no data fit the log (``person`` None).

    ``upper`` proves that the value is at most ``value`` and ``lower`` that it is at least that. The person may be
    represented by another one of its trace class: they are in the same queries, so what holds for one holds for the
    other.
    """

    person: int | None
    value: Fraction
    upper: Tree
    lower: Tree | None = None

    def holds(self, log: Log) -> bool:
        """Return whether the trees prove that the person has ``value``, or, without a person, that no data fit the log.

        Every step is checked again in fractions.
        """
        region = Region.of(log)
        if self.person is None:
            return proves(region, Goal(), self.upper)
        head = int(region.head[self.person])
        return (
            self.lower is not None
            and proves(region, Goal(head, 1, self.value), self.upper)
            and proves(region, Goal(head, -1, -self.value), self.lower)
        )

    def lines(self, log: Log) -> list[str]:
        """Return the cases as indented lines."""
        region = Region.of(log)
        if self.person is None or self.lower is None:
            return [*_told(region, Goal(), self.upper, region.box), "So no data fit the log."]
        head = int(region.head[self.person])
        lines = []
        if head_person(region, head) != self.person:
            lines.append(
                f"Person {self.person} is in the same queries as person {head_person(region, head)}, so both have:"
            )
        lines += [f"At most {self.value}:", *_indent(_told(region, Goal(head, 1, self.value), self.upper, region.box))]
        lines += [
            f"At least {self.value}:",
            *_indent(_told(region, Goal(head, -1, -self.value), self.lower, region.box)),
        ]
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return the tree of cases as plain data; queries by their row among the sums, people by piece."""
        return {
            "kind": "argument",
            "person": self.person,
            "value": str(self.value),
            "upper": _tree_json(self.upper),
            "lower": None if self.lower is None else _tree_json(self.lower),
        }


def head_person(region: Region, piece: int) -> int:
    """Return the person of a single piece."""
    return int(region.people[piece][0])


def _told(region: Region, goal: Goal, tree: Tree, box: Box) -> list[str]:
    """Return the proof below a node of the search tree as indented lines; ``box`` are the bounds assumed so far."""
    if box.is_empty:
        return ["The bounds already exclude this."]
    if isinstance(tree, Leaf):
        return [_leaf_told(region, goal, tree, box)]
    if isinstance(tree, ByValue):
        name = _piece_name(region, tree.piece)
        lines = [f"If {name} is at most {tree.at}:"]
        lines += _indent(_told(region, goal, tree.below, box.narrowed(tree.piece, None, Fraction(tree.at))))
        lines.append(f"If {name} is at least {tree.at + 1}:")
        return lines + _indent(_told(region, goal, tree.above, box.narrowed(tree.piece, Fraction(tree.at + 1), None)))
    holding = region.holdings[tree.holding]
    lines = [f"Some person in query {holding.number} has {holding.value}."]
    if not any(box.allows(piece, holding.value) for piece in holding.pieces):
        return [*lines, "No one in it can."]
    for piece, child in tree.cases:
        if box.allows(piece, holding.value):
            lines.append(f"If it is {_piece_name(region, piece)}:")
            lines += _indent(_told(region, goal, child, box.narrowed(piece, holding.value, holding.value)))
    return lines


def _leaf_told(region: Region, goal: Goal, leaf: Leaf, box: Box) -> str:
    """Return the sentence that closes a branch: the weighted queries whose sum contradicts or implies a bound."""
    coefficients, total = region.combined(leaf.weights)
    sign = goal.sign if goal.piece is not None else 1
    combination = signed((sign * weight, f"query {region.numbers[row]}") for row, weight in leaf.weights)
    largest_sum = _most(box, coefficients)
    if largest_sum is not None and largest_sum < total:
        side = "at most" if sign > 0 else "at least"
        return f"{combination} adds up to {sign * total}, but within the bounds to {side} {sign * largest_sum}: impossible."
    side = "at most" if goal.sign > 0 else "at least"
    bound = goal.sign * (upper_bound(region, goal, leaf, box) or Fraction(0))
    name = _piece_name(region, goal.piece or 0)
    if not leaf.weights:
        return f"By the bounds, {name} is {side} {bound}."
    return (
        f"{combination} adds up to {sign * total}; with the bounds of all other people in it, {name} is {side} {bound}."
    )


def _piece_name(region: Region, piece: int) -> str:
    people = tuple(region.people[piece].tolist())
    return named(people) if len(people) == 1 else f"the sum of {named(people)}"


def _indent(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _tree_json(tree: Tree) -> dict[str, Any]:
    """Return a proof tree as plain data."""
    if isinstance(tree, Leaf):
        return {"weights": {str(row): str(weight) for row, weight in tree.weights}}
    if isinstance(tree, ByValue):
        return {"piece": tree.piece, "at": tree.at, "below": _tree_json(tree.below), "above": _tree_json(tree.above)}
    return {"holding": tree.holding, "cases": {str(piece): _tree_json(child) for piece, child in tree.cases}}
