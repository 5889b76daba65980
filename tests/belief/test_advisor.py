"""The advisor: the matrix of R-PM-12, and that it speaks of definitions that exist."""

from __future__ import annotations

import pytest

from reticent.belief.advisor import ADVICE, CONCERNS, advise, uncovered
from reticent.definitions.catalogue import entries
from reticent.errors import PolicyError

MATRIX = {
    "k-anonymity": "identity",
    "k-anonymity of people with several rows": "identity",
    "recursive (c,l)-diversity": "identity attribute",
    "confidence bounding": "attribute",
    "(alpha,k)-anonymity": "identity attribute",
    "(X,Y)-privacy": "identity attribute",
    "(k,e)-anonymity": "attribute",
    "(epsilon,m)-anonymity": "attribute",
    "personalised privacy": "attribute",
    "t-closeness": "attribute belief",
    "delta-presence": "membership",
    "(c,t)-isolation": "identity belief",
    "differential privacy": "membership belief",
    "(d,gamma)-privacy": "membership belief",
    "distributional privacy": "membership belief",
}


@pytest.mark.parametrize("model", MATRIX)
def test_the_matrix_is_that_of_the_specification(model):
    found = next(each for each in ADVICE if each.model == model)
    assert " ".join(found.covers) == MATRIX[model]


def test_every_checked_definition_is_advised_and_the_other_way_round():
    judged_elsewhere = {"BoundedBelief", "ProbabilisticDP"}
    named = {each.definition for each in ADVICE if each.definition is not None} - judged_elsewhere
    known = {entry.name for entry in entries()}
    assert named <= known
    assert known - named <= {"NegatedKnowledge", "MEligible", *judged_elsewhere}


def test_models_that_cover_most_come_first():
    found = advise(["membership", "belief"], chosen=["ProbabilisticDP"])
    assert found[0].definition == "ProbabilisticDP"
    assert {each.model for each in found[:3]} == {"differential privacy", "(d,gamma)-privacy", "distributional privacy"}
    assert all(set(each.covers) & {"membership", "belief"} for each in found)
    with pytest.raises(PolicyError, match=r"There is no concern 'identitty'. Did you mean 'identity'"):
        advise(["identitty"])


def test_what_is_not_covered_is_said():
    assert uncovered(["KAnonymity"]) == ("attribute", "membership", "belief")
    assert uncovered(["KAnonymity", "TCloseness", "DeltaPresence"]) == ()
    assert uncovered([]) == tuple(CONCERNS)
