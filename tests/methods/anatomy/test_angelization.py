"""Angelization: labels for identity and batches for sensitive values, independent of each other, judged apart and counted together."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.definitions import judge
from reticent.engine import engine_of
from reticent.methods.anatomy.bucket_assignment import Signatures
from reticent.methods.anatomy.recoding import Coupled, Deal
from reticent.release import open_public
from reticent.table import ValueType
from reticent.utility import utility_of
from tests.oracles.anatomy_worlds import largest_beliefs
from tests.oracles.utility_buckets import summary

WANTED = rt.KAnonymity(3) & rt.ProbabilisticLDiversity(3)


def ward(rows: int = 24, **more: object) -> rt.Table:
    frame = pl.DataFrame(
        {
            "age": [30 + (5 * i) % 17 for i in range(rows)],
            "sex": ["fm"[(i // 3) % 2] for i in range(rows)],
            "disease": [("flu", "cold", "gout", "ulcer")[(i * i + i // 4) % 4] for i in range(rows)],
        }
    )
    return rt.Table(frame, quasi=["age", "sex"], sensitive="disease", **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def release() -> rt.Release:
    return rt.publish(ward(), WANTED, method=rt.Angelization())


def test_labels_keep_k_and_batches_keep_l(release):
    labelled, values = release.tables["generalized"], release.tables["sensitive"]
    assert labelled.columns == ["age", "sex", "batch"]
    assert values.columns == ["batch", "disease", "count"]
    assert labelled.group_by("age", "sex").len()["len"].min() >= 3
    sizes = values.group_by("batch").agg(pl.col("count").sum(), pl.col("count").max().alias("most"))
    assert (sizes["most"] * 3 <= sizes["count"]).all()
    assert sizes.sort("batch")["count"].to_list() == labelled.group_by("batch").len().sort("batch")["len"].to_list()


def test_each_part_is_judged_by_the_side_that_keeps_it(release, tmp_path):
    evidence = release.private.evidence
    found = {str(each.definition): each for each in judge(WANTED, evidence)}
    assert found["KAnonymity(k=3)"].value == int(evidence.alike.published.sizes.min())
    assert found["ProbabilisticLDiversity(l=3)"].value >= 3
    # Rows with the same labels would not keep l by themselves, and batches would not keep k.
    assert not rt.KAnonymity(5).holds(evidence.published)
    folder = release.save(tmp_path / "release")
    told = {check.name: check.status for check in rt.verify(folder).checks}
    assert told["claim KAnonymity(k=3)"] == told["claim ProbabilisticLDiversity(l=3)"] == "holds"
    assert told["mechanism"] == "not re-checked"


def test_what_is_concluded_about_anybody_is_within_the_bound(release):
    """A person's row is one of those with the person's labels; the value is one of its batch's."""
    rows, shares = release.tables["generalized"], defaultdict(dict)
    sizes = dict(release.tables["sensitive"].group_by("batch").agg(pl.col("count").sum()).rows())
    for batch, disease, count in release.tables["sensitive"].rows():
        shares[batch][disease] = Fraction(count, sizes[batch])
    for (_, _), mine in rows.group_by("age", "sex"):
        for disease in ("flu", "cold", "gout", "ulcer"):
            belief = (
                sum((shares[batch].get(disease, Fraction(0)) for batch in mine["batch"]), Fraction(0)) / mine.height
            )
            assert belief <= Fraction(1, 3)


@pytest.mark.parametrize(("world", "labels"), [((0, 1, 0, 1), "AABB"), ((1, 0, 2, 0), "AABB"), ((0, 1, 2), "AAA")])
def test_nobody_is_given_away_to_whoever_knows_the_method(world, labels):
    """Every table and every draw of a few people who look alike in twos: rows show labels and a batch, and nothing else of anybody."""

    def method(values, coins):
        order, codes = coins.order(len(values)), np.array(values)
        batch = np.empty(len(values), dtype=np.int64)
        batch[order] = Signatures.drawn(np.bincount(codes), 2, coins).dealt(codes[order])
        members = [np.flatnonzero(batch == number) for number in np.unique(batch)]
        shown = [(sorted(labels[i] for i in who), sorted(codes[who].tolist())) for who in members]
        return tuple(sorted((tuple(looks), tuple(secrets)) for looks, secrets in shown))

    assert max(largest_beliefs(method, world).values()) <= Fraction(1, 2)


def test_labels_are_as_fine_as_identity_alone_allows():
    table = ward(60)
    alone = utility_of(rt.Mondrian(values="sets").draft(table, rt.KAnonymity(3)))["loss"]
    both = utility_of(rt.Mondrian(values="sets").draft(table, WANTED))["loss"]
    assert utility_of(rt.Angelization().draft(table, WANTED))["loss"] == alone < both


def test_levels_may_hide_identity_as_well():
    made = rt.publish(ward(), WANTED, method=rt.Angelization(buckets="Lattice"))
    assert made.private.recoding.labels.kind == "levels"
    assert made.manifest.method == {"name": "Angelization", "buckets": "Lattice"}


# Counting.


def _worlds(release, condition):
    """For every way to give people an age of their label and a value of their batch, how many meet the condition."""
    labelled, values = release.tables["generalized"], release.tables["sensitive"]
    meanings = release.meanings
    found = []
    for (batch,), people in labelled.group_by("batch", maintain_order=True):
        given = [disease for each, disease, count in values.rows() if each == batch for _ in range(count)]
        options = []
        for age in people["age"]:
            options.append(meanings["age"][age].listed(ValueType.INTEGER))
        met = [
            sum(condition(age, value) for age, value in zip(ages, dealt, strict=True))
            for dealt in permutations(given)
            for ages in product(*options)
        ]
        found.append(summary(met))
    return [sum(each) for each in zip(*found, strict=True)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("disease = 'flu' and age < 4", lambda age, disease: disease == "flu" and age < 4),
        ("disease = 'flu' or age > 3", lambda age, disease: disease == "flu" or age > 3),
        ("disease <> 'gout' and age in (2, 3, 8)", lambda age, disease: disease != "gout" and age in (2, 3, 8)),
    ],
)
def test_counts_are_those_of_all_worlds(text, condition):
    frame = pl.DataFrame({"age": range(1, 10), "disease": ["flu", "cold", "gout"] * 3})
    table = rt.Table(frame, quasi=["age"], sensitive="disease")
    made = rt.publish(table, rt.KAnonymity(2) & rt.DistinctLDiversity(3), rt.Angelization(), insecure_seed=3)
    mean, variance, low, high = _worlds(made, condition)
    answer = made.count(text)
    assert answer.value == pytest.approx(float(mean))
    assert answer.standard_error == pytest.approx(float(variance) ** 0.5)
    assert answer.bounds == (low, high)
    assert answer.bounds[0] <= sum(condition(*row) for row in frame.rows()) <= answer.bounds[1]


def test_a_condition_on_one_side_is_counted_as_that_side_tells(release):
    assert release.count("disease = 'flu'").bounds == (6, 6)
    labelled = release.count("age < 40")
    assert labelled.model == "people are spread evenly over the values that a label stands for"
    assert "batch" in release.count("age < 40 and disease = 'flu'").model
    most = release.count("age < 40 and disease = 'flu'", "intersect")
    assert most.value >= release.count("age < 40 and disease = 'flu'").value


# Generalization is a special case.


def test_a_generalized_release_is_one_whose_batches_are_its_groups():
    """Batches that are groups of equal labels: the same verdicts and the same counts as rows that show both."""
    table, definition = ward(), rt.KAnonymity(3) & rt.DistinctLDiversity(2)
    plain = rt.Mondrian(values="sets").draft(table, definition)
    labels = plain.recoding
    group = labels.groups_of(engine_of(table).codes(table, labels.coded_at))
    recoding = Coupled(labels, Deal.of(table, group), table.carried)
    recoded = engine_of(table).recode(table, recoding, Context())

    class Same:
        keeps, streams, format = rt.Mondrian.keeps, False, "angelize"

        def refusal(self, table, definition):
            return None

        def describe(self):
            return {"name": "Same"}

        def draft(self, table, definition, context):
            evidence = replace(plain.evidence, alike=plain.evidence)
            return replace(
                plain,
                format="angelize",
                tables=recoded.tables,
                recoding=recoding,
                evidence=evidence,
                method=self.describe(),
            )

    coupled, rows = rt.publish(table, definition, Same()), rt.publish(table, definition, rt.Mondrian(values="sets"))
    assert sorted(coupled.groups.sizes.tolist()) == sorted(rows.groups.sizes.tolist())
    for condition in ("disease = 'flu'", "age < 38", "sex = 'f' and disease = 'flu'"):
        one, other = coupled.count(condition), rows.count(condition)
        assert one.value == pytest.approx(other.value)


# What is refused, and what is damaged.


@pytest.mark.parametrize(
    ("definition", "method", "words"),
    [
        (rt.KAnonymity(3), rt.Angelization(), "does not protect sensitive values"),
        (rt.DistinctLDiversity(3), rt.Angelization(), "does not hide identity"),
        (
            WANTED & rt.WorstCaseKnowledge("0.9", 0),
            rt.Angelization(),
            "WorstCaseKnowledge(c=9/10, k=0) may hold for each batch but not for a mixture",
        ),
        (WANTED & rt.MUnique(3), rt.Angelization(), "MUnique(m=3) may hold for each batch but not for a mixture"),
        (
            WANTED & rt.EntropyLDiversity(2, dont_care=("flu",)),
            rt.Angelization(),
            "may hold for each batch but not for a mixture",
        ),
        (WANTED & rt.AlphaKAnonymity("1/2", 3), rt.Angelization(), "depends on labels and values together"),
    ],
)
def test_a_definition_that_is_not_convex_is_refused_by_name(definition, method, words):
    with pytest.raises(rt.PolicyError) as found:
        rt.publish(ward(), definition, method)
    assert words in str(found.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            lambda: rt.Table(ward().frame, quasi=["age", "sex"], declared={"disease": "nobody knows it"}),
            "has no sensitive column",
        ),
        (
            lambda: rt.Table(ward().frame.rename({"sex": "batch"}), quasi=["age", "batch"], sensitive="disease"),
            "numbers batches in a column 'batch'",
        ),
        (
            lambda: rt.Table(ward().frame.rename({"sex": "count"}), quasi=["age", "count"], sensitive="disease"),
            "reserves the column name 'count'",
        ),
        (lambda: rt.Table(ward().frame, quasi=["age"], sensitive=["disease", "sex"]), "one sensitive column"),
        (lambda: ward(engine="streaming"), "Angelization needs all rows in memory"),
    ],
)
def test_a_table_that_cannot_be_dealt_out_is_refused_by_name(table, words):
    with pytest.raises(rt.PolicyError) as found:
        rt.publish(table(), WANTED, rt.Angelization())
    assert words in str(found.value)


def test_columns_may_be_called_as_those_of_other_releases():
    frame = ward().frame.with_columns(bucket=pl.col("sex"), group=pl.lit(1))
    table = rt.Table(
        frame,
        quasi=["age", "sex"],
        sensitive="disease",
        declared={"bucket": "nobody knows it", "group": "nobody knows it"},
    )
    assert rt.publish(table, WANTED, rt.Angelization()).frame.columns == ["age", "sex", "bucket", "group", "batch"]


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"buckets": "Datafly"}, "buckets must be one of Mondrian, Lattice"),
        ({"values": "typical"}, "values must be one of sets, ranges, hierarchy"),
        ({"buckets": "Lattice", "values": "ranges"}, "values needs buckets='Mondrian'"),
        ({"l": 0}, "Angelization: l must be"),
    ],
)
def test_parameters_are_checked(parameters, words):
    with pytest.raises(rt.PolicyError, match=words):
        rt.Angelization(**parameters)


def test_a_table_that_is_not_eligible_is_told_which_value_is_too_frequent():
    frame = ward().frame.with_columns(
        disease=pl.when(pl.int_range(pl.len()) < 20).then(pl.lit("flu")).otherwise("disease")
    )
    with pytest.raises(rt.Infeasible, match="'flu' of column 'disease' has 20 of 24 rows"):
        rt.publish(rt.Table(frame, quasi=["age", "sex"], sensitive="disease"), WANTED, rt.Angelization())


def test_a_batch_whose_counts_do_not_fit_is_found(release, tmp_path):
    folder = release.save(tmp_path / "release")
    file = folder / "public" / "sensitive.csv"
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1].rsplit(",", 1)[0] + ",2", *lines[2:]]) + "\n")
    with pytest.raises(
        rt.DataError, match="Batch 1 has 3 rows in the table 'generalized' and 4 in the table 'sensitive'"
    ):
        open_public(folder).form.check(open_public(folder))
    assert not rt.verify(folder).holds


def test_later_rows_have_no_batch(release, tmp_path):
    folder = release.save(tmp_path / "release")
    assert rt.apply(folder, ward().frame).columns == ["age", "sex", "batch", "disease"]
    with pytest.raises(rt.DataError, match="the buckets of this release have no room for later ones"):
        rt.apply(folder, pl.concat([ward().frame, ward().frame]))
