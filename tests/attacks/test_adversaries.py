"""Every adversary wins against a release that is weak against it, and loses against one that its definition protects."""

from __future__ import annotations

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.attacks import (
    Adversary,
    Exclusion,
    Findings,
    Homogeneity,
    Inference,
    Linkage,
    ProbabilisticLinkage,
    Similarity,
    SinglingOut,
    Skewness,
    adversaries_for,
    attack,
    compare,
)
from reticent.core import AdversaryView
from reticent.definitions import (
    BetaLikeness,
    CategoryDiversity,
    Definition,
    DistinctLDiversity,
    EpsilonMAnonymity,
    KAnonymity,
    RangeDiversity,
    RecursiveLDiversity,
    TCloseness,
)
from reticent.demo import hospital, hospital_table, twelve_patients
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import Release, adversary_view_of, publish
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Value
from tests.attacks.test_linkage import MEANINGS
from tests.oracles.attack_adversaries import excluded, posteriors, similar, skewed
from tests.sampling import examples

METHODS = {"lattice": Lattice(), "mondrian": Mondrian(values="sets")}


def population(rows: int = 600, seed: int = 5) -> pl.DataFrame:
    """People whose income goes with their age, and whose illness mostly does not."""
    random = np.random.default_rng(seed)
    age = random.integers(20, 80, rows)
    return pl.DataFrame(
        {
            "age": age,
            "zip": random.choice(["130", "131", "142", "148", "149", "250"], rows),
            "ill": random.choice(["flu", "gout", "ulcer", "asthma", "HIV"], rows, p=[0.4, 0.2, 0.2, 0.15, 0.05]),
            "income": (age // 10) * 1000 + random.integers(0, 300, rows),
        }
    )


def table_of(frame: pl.DataFrame, sensitive: str | list[str] = "ill", **quasi: Any) -> Table:
    chosen = quasi or {"age": Hierarchy.intervals([5, 10, 20], domain=(20, 79)), "zip": Hierarchy.masking(3)}
    return Table(frame, quasi=chosen, sensitive=sensitive)


def by_zip(only: dict[str, list[str]]) -> Table:
    """A table in which some places have only some illnesses; the place is all that others know."""
    frame = population()
    for place, ills in only.items():
        some = pl.Series(np.resize(ills, frame.height))
        frame = frame.with_columns(pl.when(pl.col("zip") == place).then(some).otherwise("ill").alias("ill"))
    return table_of(frame, zip=Hierarchy.masking(3))


def released(table: Table, definition: Definition, method: str) -> Release:
    return publish(table, definition, METHODS[method])


def groups(values: list[list[Any]]) -> AdversaryView:
    """A release with one quasi column that names the group."""
    labels = [str(number) for number, group in enumerate(values) for _ in group]
    data = pl.DataFrame({"place": labels, "secret": [value for group in values for value in group]})
    return AdversaryView.in_rows(data, None, {"place": {label: Value(label) for label in labels}}, ["secret"])


def test_after_ruling_out_heart_disease_umeko_has_a_viral_infection() -> None:
    """G2: the 4-anonymous patients; heart disease ruled out, the first group has only viral infections."""
    condition = twelve_patients()["condition"].to_list()
    view = groups([condition[:4], condition[4:8], condition[8:]])
    findings = attack(view, Exclusion())[0]
    assert (findings.hits, findings.people) == (8, 12)
    assert findings.details["without_exclusions"] == 4
    assert "with a chance of 100% once" in findings.example


def test_the_three_diverse_patients_stop_one_exclusion_below_two_thirds_only() -> None:
    """G3: Umeko without heart disease is a cancer patient with 2/3; (c, 3)-diverse iff c > 2."""
    condition = twelve_patients()["condition"].to_list()
    rows = [[0, 3, 8, 9], [4, 5, 6, 7], [1, 2, 10, 11]]
    view = groups([[condition[row] for row in group] for group in rows])
    assert attack(view, Exclusion(1, "2/3"))[0].hits == 6
    assert attack(view, Exclusion(1, "0.67"))[0].hits == 0


lists = st.lists(st.lists(st.sampled_from("abcde"), min_size=1, max_size=8), min_size=1, max_size=4)


@examples(60)
@given(values=lists, exclusions=st.integers(0, 3), threshold=st.sampled_from(["1", "2/3", "1/2", "0.3"]))
def test_exclusion_agrees_with_trying_every_set_of_values(
    values: list[list[str]], exclusions: int, threshold: str
) -> None:
    found = attack(groups(values), Exclusion(exclusions, threshold))[0]
    assert found.hits == excluded(values, exclusions, Fraction(threshold))


@examples(60)
@given(values=lists, gain=st.sampled_from(["0", "1/4", "1/3", "0.5"]))
def test_skewness_agrees_with_counting(values: list[list[str]], gain: str) -> None:
    assert attack(groups(values), Skewness(gain))[0].hits == skewed(values, Fraction(gain))


@examples(60)
@given(
    values=st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=8), min_size=1, max_size=4),
    width=st.integers(0, 5),
    threshold=st.sampled_from(["1", "2/3", "1/2"]),
)
def test_similarity_agrees_with_sliding_a_window(values: list[list[int]], width: int, threshold: str) -> None:
    found = attack(groups(values), Similarity(width, threshold=threshold))[0]
    assert found.hits == similar(values, width, Fraction(threshold))


def test_salaries_that_differ_by_one_are_nearly_the_same() -> None:
    """G10: 99 999, 100 000 and 100 001 are three values, and one fact."""
    view = groups([[99_999, 100_000, 100_001], [20_000, 50_000, 90_000]])
    findings = attack(view, Similarity(2), Homogeneity())
    assert [each.hits for each in findings] == [3, 0]
    assert findings[0].example == (
        "In a group of 3, 100% have a value of secret between 99999 and 100001, against 50% of all that was published."
    )


def test_of_two_values_whoever_can_rule_out_one_knows_the_other_without_any_release() -> None:
    found = attack(groups([["low", "high", "low"], ["low", "high", "high"]]), Exclusion())[0]
    assert (found.hits, found.people, found.baseline) == (6, 6, 1.0)
    assert not found.succeeds
    told = attack(groups([["a", "b"], ["a", "c"], ["a", "a", "b", "c"]]), Exclusion())[0]
    assert (told.hits, told.baseline) == (4, None)
    assert told.succeeds


def test_what_everybody_shares_is_given_away_by_no_group() -> None:
    found = attack(groups([["flu", "flu"], ["flu"]]), Homogeneity())[0]
    assert (found.hits, found.baseline, found.succeeds) == (3, 1.0, False)
    assert attack(groups([["flu", "flu"], ["gout"]]), Homogeneity())[0].succeeds


def test_three_illnesses_of_the_stomach_are_one_kind() -> None:
    view = groups([["ulcer", "gastritis", "dyspepsia"], ["ulcer", "flu", "gout"]])
    kinds = {"stomach": ["ulcer", "gastritis", "dyspepsia"]}
    findings = attack(view, Similarity(categories=kinds))[0]
    assert findings.hits == 3
    assert "have a value of secret of the kind 'stomach'" in findings.example
    with pytest.raises(PolicyError, match="pass the values that are similar"):
        attack(view, Similarity())


@pytest.mark.parametrize("method", METHODS)
class TestPairs:
    """Weak and safe releases, by both methods."""

    def check(self, adversary: Adversary, weak: Release, safe: Release) -> tuple[Findings, Findings]:
        won, lost = attack(weak, adversary)[0], attack(safe, adversary)[0]
        assert won.succeeds
        assert won.interval is not None
        assert won.interval[0] > 0
        assert not lost.succeeds
        return won, lost

    def test_linkage_is_stopped_by_k_anonymity(self, method: str) -> None:
        frame = population()
        table = table_of(frame)
        weak, safe = (released(table, KAnonymity(k), method) for k in (1, 5))
        won, lost = self.check(Linkage(frame), weak, safe)
        assert won.hits > 100
        assert lost.hits == 0

    def test_probabilistic_linkage_is_stopped_by_k_anonymity(self, method: str) -> None:
        frame = population()
        mistaken = frame.with_columns(pl.when(pl.int_range(pl.len()) % 20 == 0).then(79).otherwise("age").alias("age"))
        listed = mistaken.with_columns(
            pl.when(pl.int_range(pl.len()) % 15 == 0).then(None).otherwise("zip").alias("zip")
        )
        weak, safe = (released(table_of(frame), KAnonymity(k), method) for k in (1, 2))
        won, lost = self.check(ProbabilisticLinkage(listed, errors="0.05", truth="ill"), weak, safe)
        assert won.details["right"] / won.hits > 0.5
        assert lost.hits == 0

    def test_homogeneity_is_stopped_by_diversity(self, method: str) -> None:
        table = by_zip({"250": ["flu"]})
        weak, safe = released(table, KAnonymity(5), method), released(table, DistinctLDiversity(2), method)
        self.check(Homogeneity(), weak, safe)

    def test_exclusion_is_stopped_by_recursive_diversity(self, method: str) -> None:
        table = by_zip({"250": ["flu", "gout"]})
        weak, safe = released(table, DistinctLDiversity(2), method), released(table, RecursiveLDiversity(3, 3), method)
        self.check(Exclusion(1, "3/4"), weak, safe)

    def test_skewness_is_stopped_by_closeness(self, method: str) -> None:
        table = table_of(population())
        weak, safe = released(table, KAnonymity(3), method), released(table, TCloseness("0.2"), method)
        self.check(Skewness("0.2"), weak, safe)

    def test_similarity_is_stopped_by_closeness_of_ordered_values(self, method: str) -> None:
        table = table_of(population(), "income")
        weak = released(table, KAnonymity(3) & DistinctLDiversity(3), method)
        safe = released(table, TCloseness("0.25", distance="ordered"), method)
        self.check(Similarity(500), weak, safe)

    def test_similarity_is_stopped_by_diversity_of_ranges(self, method: str) -> None:
        table = table_of(population(), "income")
        weak, safe = released(table, KAnonymity(3), method), released(table, RangeDiversity("0.6", 250, 250), method)
        self.check(Similarity(500, threshold="0.6"), weak, safe)

    def test_similarity_of_kinds_is_stopped_by_diversity_of_categories(self, method: str) -> None:
        kinds = {"chronic": ["gout", "asthma", "HIV"], "acute": ["flu", "ulcer"]}
        table = by_zip({"250": ["gout", "asthma", "HIV"]})
        weak = released(table, DistinctLDiversity(3), method)
        safe = released(table, CategoryDiversity("0.9", list(kinds.values())), method)
        self.check(Similarity(categories=kinds), weak, safe)

    def test_skewness_by_ratio_is_stopped_by_likeness(self, method: str) -> None:
        table = table_of(population())
        weak, safe = released(table, KAnonymity(3), method), released(table, BetaLikeness(2), method)
        self.check(Skewness(times=3), weak, safe)

    def test_singling_out_is_stopped_by_k_anonymity(self, method: str) -> None:
        table = table_of(population(150))
        weak, safe = (released(table, KAnonymity(k), method) for k in (1, 5))
        _, lost = self.check(SinglingOut(), weak, safe)
        assert lost.hits == 0
        chance = lost.details["refined_by_chance"]
        assert chance == pytest.approx((1 - 1 / 150) ** 149)
        assert 1 / np.e < chance < 0.37
        assert chance < lost.details["refined"] <= (1 - 1 / 5) ** 4

    def test_inference_learns_about_members_only_from_small_groups(self, method: str) -> None:
        frame, control = population(800), population(800, seed=6)
        table = table_of(frame)
        weak, safe = released(table, KAnonymity(1), method), released(table, TCloseness("0.15"), method)
        won, lost = self.check(Inference(frame, control), weak, safe)
        assert won.share > won.baseline + 0.2  # type: ignore[operator]  # a control group gives a baseline
        assert lost.excess[0] <= 0 <= lost.excess[1]


def test_similarity_is_stopped_by_numbers_with_few_neighbours() -> None:
    """Only by Lattice: Mondrian refuses what may fail for a group although it holds for its halves."""
    table = table_of(population(), "income")
    weak, safe = (released(table, definition, "lattice") for definition in (KAnonymity(3), EpsilonMAnonymity(500, 2)))
    assert attack(weak, Similarity(500, threshold="0.51"))[0].succeeds
    assert attack(safe, Similarity(500, threshold="0.51"))[0].hits == 0


def test_sensitive_values_single_people_out_unless_all_columns_are_hidden_together() -> None:
    frame = population()
    known = table_of(frame)
    found = attack(publish(known, KAnonymity(5)), SinglingOut(), SinglingOut(sensitive=True))
    assert found[0].hits == 0
    assert found[1].hits > 0
    together = table_of(frame, [], age=Hierarchy.intervals([5, 10, 20], domain=(20, 79)), ill=Hierarchy.suppression())
    assert attack(publish(together, KAnonymity(2)), SinglingOut(sensitive=True))[0].hits == 0


def test_a_short_description_is_enough_for_an_example() -> None:
    frame = pl.DataFrame({"age": [20, 20, 30, 97], "sex": ["f", "m", "f", "f"], "ill": ["a", "b", "c", "d"]})
    found = attack(Table(frame, quasi=["age", "sex"], sensitive="ill"), SinglingOut())[0]
    assert found.hits == 4
    assert found.example == "Exactly one person has sex m."


@examples(50)
@given(data=st.data(), error=st.sampled_from([0.0, 0.05, 0.3]), present=st.sampled_from(["1", "0.5"]))
def test_posteriors_are_those_of_bayes_row_by_row(data: st.DataObject, error: float, present: str) -> None:
    """Overlapping labels (compared one by one) and single ones (joined by sets of columns) alike."""
    ages = data.draw(st.sampled_from([["33", "young", "old"], ["33", "40"]]))
    meanings = {"age": {**MEANINGS["age"], "40": Value(40)}, "zip": MEANINGS["zip"]}
    row = st.fixed_dictionaries(
        {
            "age": st.sampled_from(ages),
            "zip": st.sampled_from(["14", "gone"]),
            "ill": st.sampled_from("abc"),
        }
    )
    person = st.fixed_dictionaries(
        {"age": st.none() | st.sampled_from([25, 28, 33, 40, 47]), "zip": st.none() | st.sampled_from(["148", "250"])}
    )
    rows = data.draw(st.lists(row, min_size=1, max_size=10))
    people = data.draw(st.lists(person, min_size=1, max_size=6))
    frame = pl.DataFrame(people, schema={"age": pl.Int64, "zip": pl.String})
    view = AdversaryView.in_rows(pl.DataFrame(rows), None, {name: meanings[name] for name in ["age", "zip"]}, ["ill"])
    used = {
        name: {label: meaning for label, meaning in meanings[name].items() if any(row[name] == label for row in rows)}
        for name in meanings
    }
    expected = posteriors(people, rows, used, ["age", "zip"], error, float(present))
    findings = ProbabilisticLinkage(frame, errors=error, present=present).attack(view)
    assert findings.details["expected"] == pytest.approx(sum(expected), rel=1e-4, abs=1e-9)
    assert findings.hits == sum(each > 0.5001 for each in expected)


def test_with_many_columns_rare_sets_of_mistakes_enter_by_their_expectation() -> None:
    """Nine columns have 512 sets that may agree; those with more than two mistakes are not looked at one by one."""
    random = np.random.default_rng(4)
    quasi = [f"c{number}" for number in range(9)]
    rows = pl.DataFrame({name: random.integers(0, 3, 60).astype(str) for name in quasi})
    listed = rows.with_columns(
        pl.when(pl.Series(random.random(60) < 0.1)).then(pl.lit("1")).otherwise(name).alias(name) for name in quasi[:3]
    )
    meanings = {name: {value: Value(value) for value in "012"} for name in quasi}
    view = AdversaryView.in_rows(rows, None, {name: meanings[name] for name in quasi}, [])
    expected = posteriors(listed.to_dicts(), rows.to_dicts(), meanings, quasi, 0.02, 0.7)
    found = ProbabilisticLinkage(listed, errors="0.02", present="0.7").attack(view)
    assert found.details["expected"] == pytest.approx(sum(expected), rel=0.01)
    assert found.hits == sum(each > 0.5 for each in expected)
    assert 30 < found.hits < 60


def test_posteriors_are_calibrated() -> None:
    """Of people whom the adversary holds to be found with some chance, about that many are."""
    random = np.random.default_rng(2)
    frame = population(2000, seed=3).with_columns(pl.Series("ill", [f"v{i}" for i in range(2000)]))
    wrong = random.random(2000) < 0.1
    listed = frame.with_columns(
        pl.when(pl.Series(wrong))
        .then(pl.Series(random.permutation(frame["age"].to_numpy())))
        .otherwise("age")
        .alias("age")
    )
    table = table_of(
        frame.with_columns(street=pl.Series(random.integers(0, 40, 2000))), age=None, zip=None, street=None
    )
    listed = listed.with_columns(table.frame["street"])
    found = attack(table, ProbabilisticLinkage(listed, errors={"age": "0.1"}, truth="ill", present=1))[0]
    assert found.hits > 300
    assert found.details["right"] / found.hits > 0.8


def test_baselines_are_compared_by_intervals() -> None:
    level = Findings("x", "", "", 52, 100, "", baseline=0.5, baseline_interval=(0.4, 0.6))
    assert not level.succeeds
    assert level.excess[0] < 0.02 < level.excess[1]
    assert Findings("x", "", "", 90, 100, "", baseline=0.5, baseline_interval=(0.4, 0.6)).succeeds
    assert not Findings("x", "", "", 0, 100, "").succeeds
    assert "without the release 50.0%" in level.summary()


def test_all_adversaries_that_apply_run_before_and_after(tmp_path: Path) -> None:
    table = hospital_table(hospital(400))
    made = publish(
        table, KAnonymity(3) & DistinctLDiversity(2), Lattice(suppression="0.1"), ledger=tmp_path / "l.sqlite"
    )
    pairs = compare(table, made)
    assert [after.adversary for _, after in pairs] == [
        "linkage",
        "probabilistic linkage",
        "homogeneity",
        "exclusion",
        "skewness",
        "singling out",
        "column in turn",
        "inference",
    ]
    for before, after in pairs:
        assert before.share > after.share
        assert before.example
        assert after.knows
    assert [each.name for each in adversaries_for(made)] == [
        "homogeneity",
        "exclusion",
        "skewness",
        "singling out",
        "column in turn",
    ]
    assert [each.adversary for each in attack(Table({"zip": ["1"]}, quasi=["zip"]))] == ["singling out"]


def test_buckets_are_attacked_by_everybody_too() -> None:
    table = table_of(population())
    made = publish(table, DistinctLDiversity(3), Lattice(format="bucketize"))
    found = {each.adversary: each for _, each in compare(table, made)}
    assert found["singling out"].hits > 0
    assert found["homogeneity"].hits == found["exclusion"].hits == 0


@pytest.mark.parametrize("values", ["sets", "ranges", "hierarchy"])
@pytest.mark.parametrize("ties", ["keep", "divide"])
def test_however_local_recoding_writes_its_labels_people_are_placed_in_their_group(
    values: Any, ties: Any, tmp_path: Path
) -> None:
    table = hospital_table(hospital(400))
    method = Mondrian(values=values, ties=ties)
    made = publish(table, KAnonymity(4), method, ledger=tmp_path / "ledger.sqlite")
    made.save(tmp_path / "release")
    found = {after.adversary: after for _, after in compare(table, tmp_path / "release")}
    linked = found["linkage"]
    assert linked.details["matched"] == 400
    assert linked.details["smallest_match"] >= 4
    assert linked.hits == found["probabilistic linkage"].hits == found["singling out"].hits == 0


@pytest.mark.slow
def test_thirty_thousand_people_meet_every_adversary_within_seconds() -> None:
    table = hospital_table(hospital(30_000, seed=1))
    published = adversary_view_of(table)
    for adversary in adversaries_for(published, table.frame.select(*table.quasi, *table.sensitive)):
        started = time.perf_counter()
        adversary.attack(published)
        assert time.perf_counter() - started < 5, adversary.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Exclusion(-1), "exclusions"),
        (lambda: Exclusion(1, 0), "threshold must be above 0"),
        (lambda: Skewness("1/4", 2), "gain or times, not both"),
        (lambda: Skewness(times="1/2"), "times"),
        (lambda: Similarity(1, {"a": ["b"]}), "width .* or categories, not both"),
        (lambda: Similarity(threshold=0), "threshold must be above 0"),
        (lambda: ProbabilisticLinkage({"a": [1]}, errors=1), "errors must be below 1"),
        (lambda: Inference({"a": [1]}, smoothing=-1), "smoothing"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


def test_inference_needs_to_know_who_was_right() -> None:
    with pytest.raises(DataError, match="has no column 'ill'"):
        attack(table_of(population(50)), Inference({"age": [30]}))


@pytest.mark.parametrize("most", [1, 2_000, 10**9])
def test_columns_are_weighed_together_without_changing_anything(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """People against places of a local recoding: one table for all columns, several, or one a column."""
    frame = population()
    view = adversary_view_of(released(table_of(frame), KAnonymity(3), "mondrian"))
    expected = ProbabilisticLinkage(frame, errors="0.05").attack(view)
    monkeypatch.setattr("reticent.attacks.probabilistic._MOST_WEIGHTS", most)
    found = ProbabilisticLinkage(frame, errors="0.05").attack(view)
    assert found.hits == expected.hits == 0
    assert found.details["expected"] == pytest.approx(expected.details["expected"], rel=1e-5)
