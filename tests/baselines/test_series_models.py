from collections import Counter

import polars as pl

from reticent.baselines.series_models import MODELS, bcf_anonymity, judge_models
from tests.methods.series.drafts import DraftedSeries
from tests.methods.series.examples import unsafe_series


def test_only_tau_safety_tracks_people_through_arbitrary_updates():
    assert [each.name for each in MODELS if each.tracked] == ["tau-safety"]
    assert Counter(each.supports for each in MODELS) == {
        "insertions": 3,
        "insertions, deletions": 2,
        "insertions, deletions, updates": 3,
    }


def test_the_golden_of_bcf():
    assert bcf_anonymity(["a", "a", "b"], ["a", "b", "b", "c"]) == 2


def test_the_unsafe_series_breaks_every_model_that_can_say_something_about_it():
    found = {each.model: each for each in judge_models(unsafe_series())}
    # p4 returns and p2 changes: m-invariance has nothing to say about them, and the others only about tables that grow.
    assert not any(each.applies for each in found.values())
    assert (found["Byun"].achieved, found["BCF"].achieved) == (1, 1)
    assert not any(each.holds for each in found.values())


def test_a_table_that_only_grows_keeps_byun_bcf_and_m_invariance():
    rows = pl.DataFrame({"id": range(8), "age": range(8), "town": ["Aix"] * 8, "job": list("abcdabcd")})
    found = DraftedSeries(2, list("abcde"))
    found.publish(rows[:4], 1)
    found.publish(rows, 2)
    verdicts = {each.model: each for each in judge_models(found.series)}
    assert all(each.applies and each.holds for each in verdicts.values())
    assert verdicts["Byun"].achieved == verdicts["BCF"].achieved == 2
