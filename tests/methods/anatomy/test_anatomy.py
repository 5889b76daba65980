"""Anatomy: which values meet, who goes where, what is told about it, and what an adversary who knows all that concludes."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.core import read_recoding
from reticent.definitions import definition_from
from reticent.methods.anatomy.bucket_assignment import Signatures, most_eligible
from reticent.release import open_public
from reticent.reports import write_report
from tests.cli.test_catalogue import EXAMPLES
from tests.oracles.anatomy_worlds import Coins, World, as_published, largest_beliefs
from tests.oracles.utility_buckets import outcomes, summary
from tests.sampling import examples


def ward(diseases: list[str | None], **more: object) -> rt.Table:
    ages = [20 + 3 * i for i in range(len(diseases))]
    frame = pl.DataFrame(
        {"age": ages, "sex": ["f", "m"] * (len(ages) // 2) + ["f"] * (len(ages) % 2), "disease": diseases}
    )
    return rt.Table(frame, quasi=["age", "sex"], sensitive="disease", **more)  # type: ignore[arg-type]


TWELVE: list[str | None] = ["flu"] * 4 + ["cold"] * 3 + ["ulcer"] * 3 + ["gout"] * 2


@pytest.fixture(scope="module")
def release() -> rt.Release:
    return rt.publish(ward(TWELVE), rt.DistinctLDiversity(3), method=rt.Anatomy())


# Which values meet.


def test_values_meet_as_reckoned_by_hand():
    found = Signatures.drawn(np.array([3, 3, 2]), 2, Coins(in_file_order=True))  # type: ignore[arg-type]
    assert found.count == 4
    groups = [sorted(found.values[found.group == number].tolist()) for number in range(4)]
    assert groups == [[0, 1], [1, 2], [0, 2], [0, 1]]


@st.composite
def eligible(draw: st.DrawFn) -> tuple[list[int], int]:
    times = draw(st.lists(st.integers(0, 12), min_size=2, max_size=9).filter(any))
    return times, draw(st.integers(1, most_eligible(np.array(times))))


@examples(200)
@given(eligible(), st.integers(0, 5))
def test_each_group_takes_the_values_with_most_rows_left_and_no_value_twice(case, seed):
    times, least = case
    found = Signatures.drawn(np.array(times), least, Randomness(seed))
    assert found.count == sum(times) // least
    assert Counter(found.values.tolist()) == {value: count for value, count in enumerate(times) if count}
    members = [found.values[found.group == number].tolist() for number in range(found.count)]
    assert all(least <= len(group) == len(set(group)) for group in members)
    left = list(times)
    for number in range(found.count):
        first = found.values[: found.count * least].reshape(found.count, least)[number].tolist()
        others = [left[value] for value in range(len(times)) if value not in first]
        assert min(left[value] for value in first) >= max(others, default=0)
        for value in first:
            left[value] -= 1
    assert max(left) <= 1
    assert sum(left) < least


def test_the_compiled_loop_and_the_plain_one_agree(monkeypatch):
    times = np.random.default_rng(3).integers(0, 400, 70)
    plain = Signatures.drawn(times, 4, Randomness(1))
    monkeypatch.setattr("reticent.methods.anatomy.bucket_assignment._COMPILED_FROM", 0)
    compiled = Signatures.drawn(times, 4, Randomness(1))
    assert (plain.values.tolist(), plain.group.tolist()) == (compiled.values.tolist(), compiled.group.tolist())


def test_rows_go_where_their_value_is_wanted():
    values = np.array([2, 0, 1, 0, 2, 1, 0])
    found = Signatures.drawn(np.bincount(values), 2, Randomness(4))
    group = found.dealt(values)
    assert Counter(zip(values.tolist(), group.tolist(), strict=True)) == Counter(
        zip(found.values.tolist(), found.group.tolist(), strict=True)
    )


# What somebody concludes who knows the method.


def dealt(least: int):
    def method(world: World, coins: Coins):
        order, values = coins.order(len(world)), np.array(world)
        bucket = np.empty(len(world), dtype=np.int64)
        found = Signatures.drawn(np.bincount(values), least, coins)  # type: ignore[arg-type]
        bucket[order] = found.dealt(values[order])
        return as_published(bucket.tolist(), world)

    return method


@pytest.mark.parametrize(
    ("world", "least"),
    [
        ((0, 1, 0, 1), 2),
        ((1, 0, 2, 0), 2),
        ((0, 1, 2), 2),
        pytest.param((0, 1, 2, 3), 3, marks=pytest.mark.slow),
        pytest.param((1, 0, 2, 0, 1), 2, marks=pytest.mark.slow),
    ],
)
def test_no_value_of_anybody_is_above_its_share_for_whoever_knows_the_method(world, least):
    assert max(largest_beliefs(dealt(least), world).values()) <= Fraction(1, least)


def _small_worlds() -> list[World]:
    """Tables of four to six people, eligible for two values that meet."""
    drawn = np.random.default_rng(8)
    found: list[World] = []
    while len(found) < 25:
        world = tuple(drawn.integers(0, 3, int(drawn.integers(4, 7))).tolist())
        world = tuple(sorted(set(world)).index(value) for value in world)
        if 2 * max(Counter(world).values()) <= len(world):
            found.append(world)
    return found


def test_rows_in_the_order_of_the_file_would_give_people_away():
    """004, 13.3 found 20 of 25 tables above 1/l, 18 of them with somebody whose value is certain."""
    beliefs = [max(largest_beliefs(dealt(2), world, in_file_order=True).values()) for world in _small_worlds()]
    assert sum(belief > Fraction(1, 2) for belief in beliefs) == 17
    assert sum(belief == 1 for belief in beliefs) == 11


def test_the_draft_deals_rows_as_they_are_drawn():
    """The method itself, many times on four rows: each person is as often in the bucket with each value as the histogram says."""
    table, seen = ward(["a", "b", "c", "c"]), Counter[tuple[int, frozenset[int]]]()
    for seed in range(144):
        draft = rt.Anatomy().draft(table, rt.DistinctLDiversity(2), Context(Randomness(seed)))
        bucket = draft.recoding.rows.tolist()  # type: ignore[union-attr]
        seen[0, frozenset(person for person in range(4) if bucket[person] == bucket[0])] += 1
    # Person 0 (a) is with one of the two who have c, each as likely; never with b alone, since the two c's would meet.
    assert set(seen) == {(0, frozenset({0, 2})), (0, frozenset({0, 3}))}
    assert abs(seen[0, frozenset({0, 2})] - 72) <= 30


# What is published.


def test_the_two_tables_share_a_bucket_and_nothing_else(release):
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    assert quasi.columns == ["age", "sex", "bucket"]
    assert sensitive.columns == ["bucket", "disease", "count"]
    assert quasi.height == 12
    assert sensitive["count"].to_list() == [1] * 12
    assert sorted(quasi["bucket"].unique()) == [1, 2, 3, 4]
    assert Counter(sensitive["disease"].to_list()) == Counter(TWELVE)
    assert release.groups.sizes.tolist() == [3, 3, 3, 3]
    assert release.private.suppressed == 0
    assert release.private.utility["loss"] == 0


def test_the_certificate_says_what_is_hidden_and_what_is_not(release, tmp_path):
    said = " ".join(release.certificate["residual_risks"])
    assert "published exactly, so that anybody can see whether a person with certain values is in the table" in said
    assert "Neither presence nor identity is protected." in said
    assert "an attacker who knows how buckets are made, since people were assigned to them at random" in said
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    assert any("drawn at random among the people who share a value" in check.detail for check in found.checks)


def test_the_report_says_how_buckets_were_made(release, tmp_path):
    page = write_report(release, tmp_path / "report.html", table=ward(TWELVE)).read_text("utf-8")
    assert (
        "Rows were assigned at random to 4 buckets of different sensitive values. Quasi values are unchanged." in page
    )


@pytest.mark.parametrize(
    "condition", ["disease = 'flu' and age < 40", "disease in ('flu', 'gout') or sex = 'm'", "age > 30"]
)
def test_counts_are_those_of_all_ways_to_give_a_bucket_s_values_to_its_people(release, condition):
    meets = {
        "disease = 'flu' and age < 40": lambda who, value: value == "flu" and who[0] < 40,
        "disease in ('flu', 'gout') or sex = 'm'": lambda who, value: value in ("flu", "gout") or who[1] == "m",
        "age > 30": lambda who, value: who[0] > 30,
    }[condition]
    quasi, sensitive = release.tables["quasi"], release.tables["sensitive"]
    figures = [
        summary(
            outcomes(
                quasi.filter(pl.col("bucket") == bucket).select("age", "sex").rows(),
                sensitive.filter(pl.col("bucket") == bucket)["disease"].to_list(),
                meets,
            )
        )
        for bucket in range(1, 5)
    ]
    mean, variance, low, high = (sum(each) for each in zip(*figures, strict=True))
    answer = release.count(condition)
    assert answer.value == pytest.approx(float(mean))
    assert answer.standard_error == pytest.approx(float(variance) ** 0.5)
    assert answer.bounds == (low, high)


def test_a_model_based_count_may_be_wrong_where_bounds_are_not():
    """004, 13.3: people of one kind all have s, those of another all t; the true number is all of them, the estimate half."""
    frame = pl.DataFrame({"kind": ["A"] * 50 + ["B"] * 50, "value": ["s"] * 50 + ["t"] * 50})
    made = rt.publish(rt.Table(frame, quasi=["kind"], sensitive="value"), rt.DistinctLDiversity(2), rt.Anatomy())
    answer = made.count("kind = 'A' and value = 's'")
    assert (answer.value, answer.bounds) == (25, (0, 50))


# What decides how many values meet.


@pytest.mark.parametrize(
    ("definition", "least"),
    [
        (rt.DistinctLDiversity(3), 3),
        (rt.ProbabilisticLDiversity("2.5"), 3),
        (rt.EntropyLDiversity("2.2"), 3),
        (rt.RecursiveLDiversity(1, 2), 3),
        (rt.RecursiveLDiversity(2, 2), 2),
        (rt.WorstCaseKnowledge("0.6", 1), 3),
        (rt.WorstCaseKnowledge("0.6", 0), 2),
        (rt.MUnique(3), 3),
        (rt.ConfidenceBounding("1/3", ("gout",)), 3),
        (rt.DistinctLDiversity(2) & rt.ProbabilisticLDiversity(3), 3),
    ],
    ids=str,
)
def test_as_few_values_meet_as_the_definition_allows(definition, least):
    draft = rt.Anatomy().draft(ward(TWELVE), definition)
    assert int(draft.evidence.published.sizes.min()) == draft.search["l"] == least
    assert definition.holds(draft.evidence.published)


def test_more_values_meet_where_they_are_asked_for():
    assert rt.Anatomy(l=3).draft(ward(TWELVE), rt.DistinctLDiversity(2)).search["l"] == 3


def test_a_missing_value_is_a_value_like_others():
    made = rt.publish(ward(["flu", None, "cold", None], nulls="category"), rt.DistinctLDiversity(2), rt.Anatomy())
    assert made.tables["sensitive"]["disease"].null_count() == 2
    assert made.tables["sensitive"].group_by("bucket").len()["len"].to_list() == [2, 2]


# What cannot be published.


@pytest.mark.parametrize(
    ("diseases", "definition", "method", "words"),
    [
        (
            ["flu"] * 5 + ["cold"] * 3,
            rt.DistinctLDiversity(2),
            rt.Anatomy(),
            "'flu' of column 'disease' has 5 of 8 rows",
        ),
        (["flu"] * 4, rt.DistinctLDiversity(2), rt.Anatomy(), "no value may have more than 1/2 of the 4 rows"),
        (["flu"], rt.DistinctLDiversity(2), rt.Anatomy(), "'flu' of column 'disease' has 1 of 1 rows"),
        (TWELVE, rt.TCloseness("0.1"), rt.Anatomy(), "No buckets of different values satisfy TCloseness"),
        (TWELVE, rt.DistinctLDiversity(3), rt.Anatomy(l=2), "With l = 2: "),
        (TWELVE, rt.DistinctLDiversity(2), rt.Anatomy(l=4), "needs groups of at least 4 different values"),
    ],
)
def test_a_table_that_is_not_eligible_is_told_which_value_is_too_frequent(diseases, definition, method, words):
    with pytest.raises(rt.Infeasible) as found:
        rt.publish(ward(diseases), definition, method)
    assert words in str(found.value)


def _several() -> rt.Table:
    return rt.Table(
        ward(TWELVE).frame.with_columns(second=pl.col("disease")), quasi=["age"], sensitive=["disease", "second"]
    )


def _visits() -> rt.Table:
    frame = ward(TWELVE).frame.with_columns(person=pl.int_range(pl.len()) // 2, age=pl.lit(3))
    return rt.Table(frame, quasi=["age"], sensitive="disease", key="person", unit="person")


@pytest.mark.parametrize(
    ("table", "definition", "words"),
    [
        (lambda: ward(TWELVE), rt.KAnonymity(2), "Anatomy publishes these values exactly. Use Mondrian"),
        (lambda: ward(TWELVE), rt.KAnonymity(2) & rt.DistinctLDiversity(2), "KAnonymity(k=2) requires"),
        (lambda: ward(TWELVE), rt.BoundedBelief("1/3", "9/10"), "BoundedBelief judges how a release is made"),
        (
            _several,
            rt.DistinctLDiversity(2, column="disease"),
            "one sensitive column, but this table has 2: 'disease', 'second'",
        ),
        (_visits, rt.DistinctLDiversity(2), "Anatomy needs one row per person"),
        (
            lambda: rt.Table(
                ward(TWELVE).frame, quasi=["age"], identifiers=["sex"], declared={"disease": "nobody knows it"}
            ),
            rt.DistinctLDiversity(2),
            "the table has no sensitive column",
        ),
        (
            lambda: rt.Table(
                ward(TWELVE).frame.rename({"sex": "bucket"}), quasi=["age", "bucket"], sensitive="disease"
            ),
            rt.DistinctLDiversity(2),
            "calls its bucket 'bucket'",
        ),
        (
            lambda: rt.Table(ward(TWELVE).frame.rename({"sex": "count"}), quasi=["age", "count"], sensitive="disease"),
            rt.DistinctLDiversity(2),
            "reserves the column name 'count'",
        ),
        (
            lambda: rt.Table(ward(TWELVE).frame, quasi=["age"], sensitive="disease", private=["sex"]),
            rt.PersonalPrivacy("1/2", "sex"),
            "depends on more than the counts of values",
        ),
        (lambda: ward(TWELVE, engine="streaming"), rt.DistinctLDiversity(2), "Anatomy needs all rows in memory"),
        (lambda: rt.Table(ward(TWELVE).frame, sensitive="disease"), rt.DistinctLDiversity(2), "no quasi columns"),
    ],
)
def test_what_anatomy_cannot_publish_is_refused_by_name(table, definition, words):
    with pytest.raises(rt.PolicyError) as found:
        rt.publish(table(), definition, rt.Anatomy())
    assert words in str(found.value)


@pytest.mark.parametrize("wrong", [0, -1, "3", 2.5, True])
def test_l_is_a_whole_number_from_one_on(wrong):
    with pytest.raises(rt.PolicyError, match="Anatomy: l must be"):
        rt.Anatomy(l=wrong)


# Later rows, and damaged files.


def test_a_later_row_has_no_bucket(release, tmp_path):
    folder = release.save(tmp_path / "release")
    own = ward(TWELVE).frame
    assert rt.apply(folder, own)["bucket"].sort().to_list() == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    later = own.with_columns(age=pl.col("age") + 1)
    with pytest.raises(rt.DataError, match="Row 1 is not a published row, and the buckets of this release"):
        rt.apply(folder, later)
    assert rt.apply(folder, later, unseen="suppress").height == 0
    # The same person twice: one place only.
    assert rt.apply(folder, pl.concat([own, own]), unseen="suppress").height == 12


def test_a_damaged_recoding_says_so(release):
    recoding = release.private.recoding
    for wrong in (recoding.stored().drop("bucket"), recoding.stored().with_columns(bucket=pl.lit("x"))):
        with pytest.raises(rt.DataError, match="here is damaged"):
            read_recoding(recoding.as_json(), wrong, "here")


def test_a_manifest_that_says_something_else_about_buckets_is_refused(release, tmp_path):
    folder = release.save(tmp_path / "release")
    manifest = folder / "public" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"people": "drawn"', '"people": "chosen"'))
    with pytest.raises(rt.DataError, match="the details of a bucketized release are empty or"):
        open_public(folder).form.check(open_public(folder))
    assert not rt.verify(folder).holds


def test_every_definition_of_groups_is_kept_or_refused_by_name():
    """What is published satisfies what was asked, whatever it was."""
    table, kept = ward(TWELVE), 0
    for name, parameters in EXAMPLES.items():
        try:
            definition = definition_from(name, parameters)
            draft = rt.Anatomy().draft(table, definition)
        except (rt.PolicyError, rt.Infeasible, rt.DataError):
            continue
        kept += 1
        assert definition.holds(draft.evidence.published), name
    assert kept >= 5


def test_all_ways_of_three_values_and_two_sizes_are_tried_at_once():
    """Every histogram of up to three values and ten rows: published if and only if it is eligible."""
    for times in product(range(5), repeat=3):
        diseases = [name for name, count in zip("abc", times, strict=True) for _ in range(count)]
        if not diseases:
            continue
        fits = 2 * max(times) <= sum(times)
        try:
            sizes = rt.Anatomy().draft(ward(list(diseases)), rt.ProbabilisticLDiversity(2)).evidence.published.sizes
        except rt.Infeasible:
            assert not fits, times
        else:
            assert fits, times
            assert sizes.sum() == sum(times)
