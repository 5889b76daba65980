"""Tallies of exchanges say what judging the whole partition says, whatever the order of the questions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from reticent.core import Groups, Histograms, SensitiveDomain
from reticent.definitions import AverageRisk, KAnonymity, WorstCaseKnowledge
from reticent.definitions.exchanges import Rejudged, admitted, joined
from reticent.worst_case import Buckets, curve
from tests.definitions.making import column_of, groups_of
from tests.sampling import seeds


def shapes(draw: np.random.Generator, count: int) -> np.ndarray:
    """Histograms of the kinds whose worst facts link groups (G4): two frequent values beside rare ones."""
    kinds = np.array(
        [
            [8, 8, 1, 1, 1, 0, 0],
            [8, 5, 1, 1, 1, 1, 1],
            [20, 20, 1, 1, 1, 0, 0],
            [5, 2, 1, 1, 1, 0, 0],
            [1, 1, 1, 1, 1, 0, 0],
        ]
    )
    return kinds[draw.integers(0, len(kinds), count)]


def exchanges(draw: np.random.Generator, columns: int):
    """Groups that stay, groups that may go, and the two halves of each of these."""
    values, count, kept = 7, int(draw.integers(1, 9)), int(draw.integers(0, 4))
    halves = np.repeat(shapes(draw, count), 2, axis=0) + draw.integers(0, 2, (2 * count, values))
    rest = shapes(draw, kept)
    if columns == 1:
        every = groups_of(np.concatenate([rest, halves, halves[0::2] + halves[1::2]]))
    else:
        # Two columns: a joint value is a letter and whether it is one of the first three.
        letters = np.arange(values)
        joint = np.stack([letters, (letters < 3).astype(np.int64)], axis=1).astype(np.int32)
        plain = groups_of(np.concatenate([rest, halves, halves[0::2] + halves[1::2]]))
        domain = SensitiveDomain((column_of(values), column_of(2, name="other")), joint)
        every = Groups(plain.sizes, plain.histograms, plain.reference, domain)
    number = np.arange(len(every))
    chosen = [number < kept, number >= kept + 2 * count, (number >= kept) & (number < kept + 2 * count)]
    staying, before, after = (every.select(mask) for mask in chosen)
    return staying, before, after


def tight(draw: np.random.Generator, rest: Groups, before: Groups, after: Groups, k: int) -> Fraction:
    """A threshold that some of the exchanges just keep, or just miss."""
    made = draw.random(len(before)) < draw.choice([0, 0.3, 0.7])
    groups = joined([rest, before.select(~made), after.select(np.repeat(made, 2))])
    return min(curve(Buckets.of(groups), k)[k] + draw.choice([Fraction(0), Fraction(1, 10**6)]), Fraction(1))


@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("seed", seeds(4))
def test_a_tally_admits_what_judging_everything_one_by_one_admits(seed, columns):
    draw = np.random.default_rng(seed)
    partly = 0
    for _ in range(60):
        rest, before, after = exchanges(draw, columns)
        now = joined([rest, before])
        room = int(draw.integers(0, len(before) + 1))
        definitions = [AverageRisk(Fraction(len(now) + room, int(now.sizes.sum())))]
        if columns == 1:
            k = int(draw.integers(0, 4))
            definitions.append(WorstCaseKnowledge(tight(draw, rest, before, after, k), k))
        for chosen in ([each] for each in definitions) if draw.random() < 0.7 else [definitions]:
            if not all(each.holds(joined([rest, before])) for each in chosen):
                continue
            hopeless = np.any([each.hopeless(after) for each in chosen], axis=0).reshape(-1, 2).any(axis=1)
            before_now, after_now = before.select(~hopeless), after.select(np.repeat(~hopeless, 2))
            rest_now = joined([rest, before.select(hopeless)])
            many = len(before_now)
            made = admitted([each.exchanges(rest_now, before_now, after_now) for each in chosen], many)
            slow = [Rejudged(each, rest_now, before_now, after_now) for each in chosen]
            expected = []
            for place in range(many):
                expected.append(all(each.fits(0, place) for each in slow))
                for each in slow:
                    each.settle(0, place, expected[-1])
            assert made.tolist() == expected
            for place in np.flatnonzero(hopeless):
                alone = after.select(np.arange(len(after)) // 2 == place)
                others = before.select(np.arange(len(before)) != place)
                assert not all(each.holds(joined([rest, others, alone])) for each in chosen)
            partly += 0 < made.sum() < many
    assert partly > 3


def test_knowledge_is_tallied_for_each_of_several_sensitive_columns():
    """Groups refined by the other column have too few values for anybody to be hidden, so that nothing may be exchanged."""
    draw = np.random.default_rng(9)
    rest, before, after = exchanges(draw, 2)
    definition = WorstCaseKnowledge("0.99", 0, column="value")
    tally = definition.exchanges(rest, before, after)
    slow = Rejudged(definition, rest, before, after)
    assert [tally.fits(0, place) for place in range(len(before))] == [
        slow.fits(0, place) for place in range(len(before))
    ]


def test_a_definition_that_judges_groups_one_by_one_is_tallied_by_judging_them():
    halves = groups_of([[2, 1], [1, 0], [2, 2], [3, 3]])
    before = groups_of([[3, 1], [5, 5]])
    empty = Histograms(np.zeros(1, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))
    nobody = Groups(np.zeros(0, dtype=np.int64), empty, before.reference, before.domain)
    definition = KAnonymity(2)
    assert definition.hopeless(halves).tolist() == [False, True, False, False]
    assert admitted([definition.exchanges(nobody, before, halves)], 2).tolist() == [False, True]
    assert admitted([], 0).tolist() == []
