"""Definitions that say they are convex: every mixture of passing shares passes, however it is weighted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import reticent as rt
from reticent.core import Groups, Histograms
from reticent.definitions import GroupDefinition, definition_from
from tests.cli.test_catalogue import EXAMPLES
from tests.sampling import examples

VALUES = ("cook", "nurse", "clerk", "judge")
MADE: list[GroupDefinition] = [
    rt.DistinctLDiversity(2),
    rt.DistinctLDiversity(3),
    rt.ProbabilisticLDiversity("1.5"),
    rt.ProbabilisticLDiversity(2),
    rt.EntropyLDiversity("1.7"),
    rt.EntropyLDiversity("2.5"),
    rt.RecursiveLDiversity(2, 2),
    rt.RecursiveLDiversity(3, 3),
    rt.TCloseness("0.3"),
    rt.TCloseness("0.2"),
    rt.BetaLikeness(1),
    rt.BetaLikeness("0.5", enhanced=True),
    rt.ConfidenceBounding("0.4", ("cook", "judge")),
    rt.CategoryDiversity("0.7", [("cook", "nurse"), ("clerk", "judge")]),
    rt.MEligible(2),
]
counts = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


def grouped(histograms: list[list[int]], reference: list[int]) -> Groups:
    rows = np.array(histograms)
    ids, values = np.nonzero(rows)
    cells = Histograms.from_cells(ids, values, rows[ids, values], *rows.shape)
    domain = Groups.from_histograms([dict(zip(VALUES, reference, strict=True))], VALUES).domain
    return Groups(rows.sum(axis=1), cells, np.array(reference), domain)


def test_every_definition_that_says_so_is_tried():
    said = set()
    for name, parameters in EXAMPLES.items():
        try:
            definition = definition_from(name, parameters)
        except rt.ReticentError:
            continue
        if isinstance(definition, GroupDefinition) and definition.convex:
            said.add(name)
    assert said == {definition.name for definition in MADE}
    assert all(definition.convex and definition.monotone and not definition.hides_identity for definition in MADE)


@pytest.mark.parametrize("definition", MADE, ids=str)
@examples(80, few=25)
@given(counts, counts, st.integers(1, 9), st.integers(1, 9))
def test_a_mixture_of_passing_shares_passes(definition, one, other, heavy, light):
    reference = [a + b + 1 for a, b in zip(one, other, strict=True)]
    parts = grouped([one, other], reference)
    assume(definition.holds(parts))
    mixed = [heavy * sum(other) * a + light * sum(one) * b for a, b in zip(one, other, strict=True)]
    assert definition.holds(grouped([mixed], reference))


@pytest.mark.parametrize("definition", MADE, ids=str)
@given(counts, st.integers(2, 5))
@examples(20, few=10)
def test_only_shares_count(definition, one, times):
    reference = [value + 1 for value in one]
    assert definition.holds(grouped([one], reference)) == definition.holds(
        grouped([[times * value for value in one]], reference)
    )
