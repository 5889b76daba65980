"""The synopsis of maxima of distinct values written down in sets, with every bound, midpoint and outer value tried as an answer."""

from __future__ import annotations

import itertools
from fractions import Fraction


def update(synopsis, query, answer):
    """The synopsis after an answer, or None if the answer is inconsistent. A synopsis is a list of (people, "=" or "<", bound)."""
    free = set(query) - {person for people, _, _ in synopsis for person in people}
    kept, winners = [], None
    for people, sign, bound in synopsis:
        inside, outside = people & query, people - query
        if bound > answer:
            free |= inside
            if sign == "=" and not outside:
                return None
            if outside:
                kept.append((outside, sign, bound))
        elif bound == answer and sign == "=":
            if not inside:
                return None
            winners = inside
            if outside:
                kept.append((outside, "<", bound))
        else:
            kept.append((people, sign, bound))
    if winners is None and not free:
        return None
    if winners is None:
        return [*kept, (frozenset(free), "=", answer)]
    kept.append((winners, "=", answer))
    return [*kept, (frozenset(free), "<", answer)] if free else kept


def answers(synopsis, query):
    """True = answer."""
    bounds = sorted({Fraction(bound) for _, _, bound in synopsis}) or [Fraction(0)]
    between = [(low + high) / 2 for low, high in itertools.pairwise(bounds)]
    for answer in [bounds[0] - 1, *bounds, *between, bounds[-1] + 1]:
        after = update(synopsis, query, answer)
        if after is not None and any(sign == "=" and len(people) == 1 for people, sign, _ in after):
            return False
    return True
