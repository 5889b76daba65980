"""What a definition says was achieved is the strictest parameter that its row-by-row twin accepts (R-PM: every checker returns it)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from reticent.core import Groups
from reticent.definitions import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    CategoryDiversity,
    ConfidenceBounding,
    Definition,
    EpsilonMAnonymity,
    KEAnonymity,
    LAlphaDiversity,
    MEligible,
    MUnique,
    NTCloseness,
    ProbabilisticLDiversity,
    PSensitive,
    RangeDiversity,
    TCloseness,
    XYPrivacy,
)
from tests.definitions.making import LETTERS, groups_of, matrices
from tests.definitions.test_catalogue import NUMBERS
from tests.oracles import catalogue_models as oracle
from tests.oracles import lattice
from tests.sampling import examples

TINY = Fraction(1, 10**6)
WEIGHTS = {"a": Fraction(1), "b": Fraction(1, 2), "c": Fraction(0)}
SETS = ["ab", "d"]

Judges = Iterator[tuple[Callable[..., bool], bool]]


def on_counts(judge):
    return lambda rows, whole: judge(Counter(rows), Counter(whole))


def strictest(definition: Definition, value: Any) -> Judges:
    """Judges at the achieved parameter and just beyond it, with what they must say of all groups together."""
    match definition:
        case ProbabilisticLDiversity():
            yield oracle.x_y(1, 1 / Fraction(value)), True
            yield oracle.x_y(1, 1 / (Fraction(value) + TINY)), False
        case AlphaKAnonymity() | XYPrivacy():
            judge = oracle.alpha_k if isinstance(definition, AlphaKAnonymity) else lambda h, k: oracle.x_y(k, h)
            share = value["alpha" if isinstance(definition, AlphaKAnonymity) else "h"]
            yield judge(share, value["k"]), True
            yield judge(share - TINY, value["k"]), False
            yield judge(share, value["k"] + 1), False
        case PSensitive():
            yield oracle.p_sensitive(value["p"], value["k"]), True
            yield oracle.p_sensitive(value["p"] + 1, value["k"]), False
            yield oracle.p_sensitive(value["p"], value["k"] + 1), False
        case LAlphaDiversity():
            yield oracle.l_alpha(value["l"], value["alpha"], WEIGHTS), True
            yield oracle.l_alpha(value["l"] + 1, value["alpha"], WEIGHTS), False
            yield oracle.l_alpha(value["l"], value["alpha"] + TINY, WEIGHTS), False
        case ConfidenceBounding():
            yield oracle.confidence(value, "ac"), True
            yield oracle.confidence(value - TINY, "ac"), False
        case CategoryDiversity():
            yield oracle.categories(value, SETS), False
            yield oracle.categories(value + TINY, SETS), True
        case BetaLikeness():
            yield oracle.beta_like(value, False), True
            yield oracle.beta_like(value - TINY, False), False
        case TCloseness():
            yield on_counts(lattice.close(value)), True
            yield on_counts(lattice.close(value - TINY)), False
        case NTCloseness():
            yield oracle.n_t_close(12, value), True
            if value > 0:
                yield oracle.n_t_close(12, value - TINY), False
        case MEligible():
            yield oracle.m_eligible(value), True
            yield oracle.m_eligible(value + 1), False
        case MUnique() if value:
            yield oracle.m_unique(value), True
            yield oracle.m_unique(value + 1), False
        case MUnique():
            yield oracle.m_unique(1), False
        case KEAnonymity():
            yield oracle.k_e(value["k"], value["e"]), True
            yield oracle.k_e(value["k"] + 1, value["e"]), False
            yield oracle.k_e(value["k"], value["e"] + TINY), False
        case EpsilonMAnonymity():
            yield oracle.epsilon_m(Fraction(2), value), True
            yield oracle.epsilon_m(Fraction(2), value + TINY), False
        case RangeDiversity():
            yield oracle.ranges(value, Fraction(1), Fraction(1)), False
            yield oracle.ranges(value + TINY, Fraction(1), Fraction(1)), True


ON_LETTERS = [
    ProbabilisticLDiversity(2), AlphaKAnonymity("0.5", 4), PSensitive(3, 7), LAlphaDiversity(2, "1.5", WEIGHTS), XYPrivacy(3, "0.6"),
    ConfidenceBounding("0.4", ["a", "c"]), CategoryDiversity("1/2", [["a", "b"], ["d"]]), BetaLikeness("0.5"), TCloseness("0.2"),
    NTCloseness(12, "0.25"), MUnique(2), MEligible(3),
]  # fmt: skip
ON_NUMBERS = [KEAnonymity(2, "3.5"), EpsilonMAnonymity(2, 2), RangeDiversity("0.6", 1, 1)]


@pytest.mark.parametrize("definition", [*ON_LETTERS, *ON_NUMBERS], ids=str)
@examples(50)
@given(matrix=matrices(highest=6))
def test_the_achieved_value_is_the_strictest_that_the_twin_accepts(definition, matrix):
    numeric = definition in ON_NUMBERS
    values = NUMBERS.labels.to_list() if numeric else LETTERS
    rows = [[values[v] for v, count in enumerate(row) for _ in range(count)] for row in matrix]
    whole = [value for group in rows for value in group]
    found = definition.assess(groups_of(matrix, NUMBERS) if numeric else groups_of(matrix))
    judged = 0
    for judge, expected in strictest(definition, found.value):
        assert all(judge(group, whole) for group in rows) is expected
        judged += 1
    assert judged


@examples(50)
@given(matrix=matrices(highest=6))
def test_the_achieved_risk_is_that_of_matching_everybody(matrix):
    chances = [Fraction(1, sum(row)) for row in matrix for _ in range(sum(row))]
    groups: Groups = groups_of(matrix)
    assert AverageRisk(1).assess(groups).value == sum(chances) / len(chances)
