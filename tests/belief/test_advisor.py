"""The advisor: its matrix, and that it speaks of definitions that exist."""

from __future__ import annotations

import pytest

from reticent.belief import Application, judge
from reticent.belief.advisor import ADVICE, CONCERNS, advise, uncovered
from reticent.belief.application import POWERS
from reticent.definitions.catalogue import entries
from reticent.errors import PolicyError

MATRIX = {
    "k-anonymity": "identity",
    "k-anonymity of people with several rows": "identity",
    "any L columns (LKC-privacy)": "identity attribute",
    "a known column learned from the others": "attribute",
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
    # Differential privacy is advised once for a known and once for a hidden number of rows; the others bound the same adversary for other mechanisms or in another figure.
    other_figures = {"BoundedDP", "ConcentratedDP", "NoisyCounts"}
    known = {entry.name for entry in entries()} - {"MInvariance", "TauSafety"} - other_figures
    assert named <= known
    assert known - named <= judged_elsewhere
    assert {each.definition for each in ADVICE if each.available} == known


def test_models_without_a_definition_to_ask_for_are_explained_only():
    explained = {each.model for each in ADVICE if not each.available}
    assert {"(c,t)-isolation", "distributional privacy", "privacy-maxent", "skyline (B,t)-privacy"} <= explained
    assert "k-anonymity" not in explained


def test_models_that_cover_most_come_first():
    found = advise(["membership", "belief"], chosen=["ProbabilisticDP"])
    assert found[0].definition == "ProbabilisticDP"
    assert {each.model for each in found[:3]} == {
        "differential privacy",
        "differential privacy of unknown size",
        "(d,gamma)-privacy",
    }
    assert all(set(each.covers) & {"membership", "belief"} for each in found)
    with pytest.raises(PolicyError, match=r"There is no concern 'identitty'. Did you mean 'identity'"):
        advise(["identitty"])


def test_what_is_not_covered_is_said():
    assert uncovered(["KAnonymity"]) == ("attribute", "membership", "belief")
    assert uncovered(["KAnonymity", "TCloseness", "DeltaPresence"]) == ()
    assert uncovered([]) == tuple(CONCERNS)
    assert uncovered(["MEligible"]) == ("membership", "belief")
    assert "attribute" not in uncovered(["NegatedKnowledge"])


def test_every_model_says_what_it_stands_against():
    assert set(POWERS) == {each.model for each in ADVICE}


def judged(application):
    return {each.advice.model: each for each in judge(application)}


def test_the_worked_instance_of_workplaces_and_homes():
    """Section B1: the home block and its neighbourhood, against somebody who knows everybody else and two blocks; no belief may change."""
    asked = Application("attribute", frozenset({"quasi", "others", "alternatives"}), "changed", near=True)
    found = judged(asked)
    assert [each.advice.model for each in judge(asked) if each.covers] == [
        "differential privacy",
        "local differential privacy",
        "differential privacy of unknown size",
        "gamma-amplification",
    ]
    assert "similar values count as different" in found["recursive (c,l)-diversity"].reasons
    assert found["(d,gamma)-privacy"].reasons == (
        "the adversary may know that the person has one of two values, or any other prior belief",
    )


def test_what_a_model_lacks_is_said():
    found = judged(Application("attribute", frozenset({"quasi", "exclusions"})))
    assert found["recursive (c,l)-diversity"].covers
    assert found["(c,k)-safety"].covers
    assert found["probabilistic l-diversity"].reasons == (
        "the adversary may know values that the person does not have",
    )
    assert found["k-anonymity"].reasons[0] == "it does not protect a person's sensitive value"
    assert found["delta-disclosure privacy"].reasons == (
        "the adversary may know values that the person does not have",
        "it prevents that a belief changes too much, not that something becomes too likely",
    )
    assert judged(Application("membership", frozenset({"population"}), "excluded"))["delta-presence"].covers
    assert [each.advice.model for each in judge(Application("attribute", measure="excluded")) if each.covers] == [
        "negative/positive diversity",
        "local differential privacy",
        "perfect privacy",
    ]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"protect": "atribute"}, "There is no concern 'atribute'. Did you mean 'attribute'"),
        ({"protect": "attribute", "knows": {"other"}}, "There is no knowledge 'other'. Did you mean 'others'"),
        ({"protect": "attribute", "measure": "likly"}, "There is no measure 'likly'. Did you mean 'likely'"),
    ],
)
def test_a_form_that_makes_no_sense_is_refused(form, message):
    with pytest.raises(PolicyError, match=message):
        Application(**form)
