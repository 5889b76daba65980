"""Every further definition of the catalogue against its row-by-row twin, and the goldens of spec 004 and 000b."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given

from reticent.core import Groups
from reticent.definitions import (
    AlphaKAnonymity,
    AverageRisk,
    BetaLikeness,
    CategoryDiversity,
    ConfidenceBounding,
    DeltaDisclosure,
    DeltaPresence,
    DistinctLDiversity,
    EntropyLDiversity,
    EpsilonMAnonymity,
    KAnonymity,
    KEAnonymity,
    KMap,
    LAlphaDiversity,
    MEligible,
    MUnique,
    NTCloseness,
    PersonalPrivacy,
    ProbabilisticLDiversity,
    PSensitive,
    RangeDiversity,
    RecursiveLDiversity,
    TCloseness,
    XYPrivacy,
    definition_from,
)
from reticent.definitions.likeness import exceeds_logarithm
from reticent.engine import count_table
from reticent.errors import DataError, PolicyError
from reticent.table import Hierarchy, SensitiveColumn, Table
from tests.definitions.making import LETTERS, groups_of, matrices, named
from tests.oracles import catalogue_models as oracle
from tests.sampling import examples

NUMBERS = SensitiveColumn("value", pl.Series("value", [0, 1, 3, 4, 10]), ordered=True)
NUMBERS_OF_THREE = SensitiveColumn("value", pl.Series("value", [0, 1, 3]), ordered=True)
HALF = Fraction(1, 2)

ON_LETTERS = [
    (AlphaKAnonymity("0.5", 4), oracle.alpha_k(HALF, 4)),
    (PSensitive(3, 7), oracle.p_sensitive(3, 7)),
    (LAlphaDiversity(2, "1.5", {"a": 1, "b": "0.5", "c": 0}), oracle.l_alpha(2, Fraction(3, 2), {"a": 1, "b": HALF})),
    (XYPrivacy(3, "0.6"), oracle.x_y(3, Fraction(3, 5))),
    (ConfidenceBounding("0.4", ["a", "c"]), oracle.confidence(Fraction(2, 5), "ac")),
    (CategoryDiversity("1/2", [["a", "b"], ["d"]]), oracle.categories(HALF, ["ab", "d"])),
    (BetaLikeness("0.5"), oracle.beta_like(HALF, False)),
    (BetaLikeness(2, enhanced=True), oracle.beta_like(Fraction(2), True)),
    (DeltaDisclosure("0.8"), oracle.delta_disclosing(Fraction(4, 5))),
    (DeltaDisclosure(1), oracle.delta_disclosing(Fraction(1))),
    (MUnique(2), oracle.m_unique(2)),
    (MEligible(3), oracle.m_eligible(3)),
    (NTCloseness(12, "0.25"), oracle.n_t_close(12, Fraction(1, 4))),
]
ON_NUMBERS = [
    (KEAnonymity(2, "3.5"), oracle.k_e(2, Fraction(7, 2))),
    (EpsilonMAnonymity(2, 2), oracle.epsilon_m(Fraction(2), Fraction(2))),
    (EpsilonMAnonymity("2.5", "1.5"), oracle.epsilon_m(Fraction(5, 2), Fraction(3, 2))),
    (RangeDiversity("0.6", 1, 1), oracle.ranges(Fraction(3, 5), Fraction(1), Fraction(1))),
    (RangeDiversity("1/2", "0.5", 2), oracle.ranges(HALF, HALF, Fraction(2))),
]
NOT_MONOTONE = {"DeltaDisclosure", "MUnique", "EpsilonMAnonymity"}


@pytest.mark.parametrize(("definition", "judge"), ON_LETTERS, ids=[str(each) for each, _ in ON_LETTERS])
@examples(60)
@given(matrix=matrices(highest=6))
def test_verdicts_are_those_of_the_row_by_row_twin(definition, judge, matrix):
    rows = [[LETTERS[v] for v, count in enumerate(row) for _ in range(count)] for row in matrix]
    whole = [value for group in rows for value in group]
    expected = [not judge(group, whole) for group in rows]
    groups = groups_of(matrix)
    assert definition.failing(groups).tolist() == expected
    found = definition.assess(groups)
    assert found.holds is not any(expected)
    assert (found.witness is None) is found.holds


@pytest.mark.parametrize(("definition", "judge"), ON_NUMBERS, ids=[str(each) for each, _ in ON_NUMBERS])
@examples(60)
@given(matrix=matrices(highest=4))
def test_verdicts_on_numbers_are_those_of_the_row_by_row_twin(definition, judge, matrix):
    numbers = NUMBERS.labels.to_list()
    rows = [[numbers[v] for v, count in enumerate(row) for _ in range(count)] for row in matrix]
    expected = [not judge(group, ()) for group in rows]
    assert definition.failing(groups_of(matrix, NUMBERS)).tolist() == expected
    assert definition.assess(groups_of(matrix, NUMBERS)).holds is not any(expected)


def pairs(column=None):
    draw = np.random.default_rng(4)
    sizes = draw.integers(1, 14, size=8000)
    return groups_of(draw.multinomial(sizes, draw.dirichlet([0.9] * 5, size=8000)).astype(np.int64), column)


def merged(groups):
    ids = np.arange(len(groups)) // 2
    sizes = np.bincount(ids, weights=groups.sizes).astype(np.int64)
    return Groups(sizes, groups.histograms.merge(ids, len(sizes)), groups.reference, groups.domain)


@pytest.mark.parametrize("definition", [each for each, _ in ON_LETTERS + ON_NUMBERS], ids=str)
def test_flags_that_a_search_prunes_by_are_true(definition):
    fine = pairs(NUMBERS)
    if not any(definition is each for each, _ in ON_NUMBERS):
        fine = pairs()
    coarse = merged(fine)
    before, after = ~definition.failing(fine), ~definition.failing(coarse)
    both, either = before[0::2] & before[1::2], before[0::2] | before[1::2]
    assert both.any()
    assert definition.monotone is (definition.name not in NOT_MONOTONE)
    assert definition.monotone is not bool((both & ~after).any())
    assert definition.absorbing is not bool((either & ~after).any())
    relaxed = definition.relaxation()
    if relaxed is not None:
        assert relaxed.absorbing_on(fine)
        assert not (before & relaxed.failing(fine)).any()
    lost = np.where(before, 0, fine.sizes)
    assert (definition.doomed(coarse) <= lost[0::2] + lost[1::2]).all()
    assert fine.sizes[before].min() >= definition.least_rows()


EVERY_KIND = [each for each, _ in ON_LETTERS + ON_NUMBERS] + [
    KMap(5),
    DeltaPresence("0.1", "2/3"),
    AverageRisk("0.05"),
    PersonalPrivacy("1/3", "wish"),
    AlphaKAnonymity("0.5", 4, "job") & AverageRisk("0.2"),
]


@pytest.mark.parametrize("definition", EVERY_KIND, ids=str)
def test_a_definition_survives_being_written_down_and_says_what_it_means(definition):
    again = definition_from(definition.name, json.loads(json.dumps(definition.parameters())))
    assert again == definition
    assert hash(again) == hash(definition)
    assert definition.meaning().endswith(".")
    assert definition.not_covered().endswith(".")
    assert definition.meaning() != definition.not_covered()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AlphaKAnonymity(0, 2), "AlphaKAnonymity: alpha must be above 0"),
        (lambda: AlphaKAnonymity("1.1", 2), "AlphaKAnonymity: alpha must be at most 1"),
        (lambda: AlphaKAnonymity("0.5", 0), "AlphaKAnonymity: k must be at least 1"),
        (lambda: PSensitive("2", 2), "PSensitive: p must be a whole number"),
        (lambda: XYPrivacy(2, 0), "XYPrivacy: h must be above 0"),
        (lambda: ConfidenceBounding("0.5", []), "ConfidenceBounding: values must name at least one"),
        (lambda: CategoryDiversity("0.5", "ab"), "CategoryDiversity: categories must be a list of lists"),
        (lambda: CategoryDiversity("0.5", [[]]), "CategoryDiversity: categories needs at least one"),
        (lambda: LAlphaDiversity(2, 1, 7), "LAlphaDiversity: weights must give a weight for each"),
        (lambda: LAlphaDiversity(2, 1, {"a": -1}), "LAlphaDiversity: weights of 'a' must be at least 0"),
        (lambda: BetaLikeness(0), "BetaLikeness: beta must be above 0"),
        (lambda: BetaLikeness(1, "yes"), "BetaLikeness: enhanced must be true or false, but it is 'yes'"),
        (lambda: DeltaDisclosure("x"), "DeltaDisclosure: delta must be a number"),
        (lambda: MUnique(0), "MUnique: m must be at least 1"),
        (lambda: MEligible(1.5), "MEligible: m must be a whole number"),
        (lambda: NTCloseness(5, 2), "NTCloseness: t must be at most 1"),
        (lambda: NTCloseness(5, "0.1", "odd"), "TCloseness: distance must be one of"),
        (lambda: KEAnonymity(2, -1), "KEAnonymity: e must be at least 0"),
        (lambda: EpsilonMAnonymity(-1, 2), "EpsilonMAnonymity: epsilon must be at least 0"),
        (lambda: RangeDiversity("0.5", -1, 1), "RangeDiversity: below must be at least 0"),
        (lambda: KMap(0), "KMap: k must be at least 1"),
        (lambda: DeltaPresence("0.5", "0.2"), "DeltaPresence: low must be at most high"),
        (lambda: AverageRisk(0), "AverageRisk: limit must be above 0"),
        (lambda: PersonalPrivacy("0.5", 3), "PersonalPrivacy: guards must be the name of a column"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


def test_numbers_are_needed_where_distances_are_measured():
    with pytest.raises(PolicyError, match=r"KEAnonymity measures distances between numbers, but .* 'value' has type"):
        KEAnonymity(2, 1).failing(groups_of([[1, 1]]))
    holes = SensitiveColumn("value", pl.Series("value", [1, None]), ordered=True)
    with pytest.raises(PolicyError, match="missing values of column 'value' are not numbers"):
        RangeDiversity("0.5", 1, 1).failing(groups_of([[1, 1]], holes))
    endless = SensitiveColumn("value", pl.Series("value", [1.0, math.inf]), ordered=True)
    with pytest.raises(PolicyError, match="infinite"):
        RangeDiversity("0.5", 1, 1).failing(groups_of([[1, 1]], endless))


def test_decimals_are_measured_as_they_are_written():
    """In binary, 0.3 - 0.1 is less than 0.2."""
    tenths = SensitiveColumn("value", pl.Series("value", [0.1, 0.3]), ordered=True)
    assert KEAnonymity(2, "0.2").holds(groups_of([[1, 1]], tenths))
    assert KEAnonymity(2, "0.2").assess(groups_of([[1, 1]], tenths)).value["e"] == Fraction(1, 5)
    assert not RangeDiversity("0.9", "0.1", "0.1").holds(groups_of([[1, 1]], tenths))


def test_numbers_beyond_64_bits_are_measured_exactly():
    huge = SensitiveColumn("value", pl.Series("value", [0, 10**30, 10**30 + 1], dtype=pl.Int128), ordered=True)
    groups = groups_of([[1, 1, 0], [0, 1, 1], [1, 1, 1]], huge)
    assert KEAnonymity(2, 10**30).failing(groups).tolist() == [False, True, False]
    assert EpsilonMAnonymity(1, "1.5").failing(groups).tolist() == [False, True, False]


def test_golden_g10_close_salaries_are_diverse_but_not_far_apart():
    salaries = SensitiveColumn("salary", pl.Series("salary", [99_999, 100_000, 100_001]), ordered=True)
    groups = groups_of([[4, 4, 4]], salaries)
    assert DistinctLDiversity(3).holds(groups)
    assert EntropyLDiversity(3).holds(groups)
    found = RangeDiversity(1, 1, 1).assess(groups)
    assert not found.holds
    assert found.value == 1
    assert RangeDiversity("0.7", "0.5", "0.5").assess(groups).value == Fraction(2, 3)


def release_of_table_2_2() -> Groups:
    frame = pl.DataFrame(
        {"group": [1, 1, 1, 2, 2, 2], "disease": ["Flu", "Flu", "HIV", "Flu", "Gastritis", "HIV"]},
    )
    return count_table(Table(frame, quasi=["group"], sensitive="disease")).groups()


def test_golden_table_2_2_of_spec_004():
    groups = release_of_table_2_2()
    assert KAnonymity(3).assess(groups).value == 3
    assert DistinctLDiversity(2).assess(groups).value == 2
    assert ProbabilisticLDiversity(1).assess(groups).value == Fraction(3, 2)
    assert EntropyLDiversity(1).assess(groups).value == pytest.approx(1.8899, abs=5e-5)
    assert math.log(EntropyLDiversity(1).assess(groups).value) == pytest.approx(0.63651, abs=5e-6)
    assert not RecursiveLDiversity(2, 2).holds(groups)
    assert RecursiveLDiversity("2.0001", 2).holds(groups)
    assert TCloseness("1/6").assess(groups).value == Fraction(1, 6)
    assert TCloseness("0.1666").failing(groups).tolist() == [True, True]
    assert AlphaKAnonymity("2/3", 3).assess(groups).value == {"k": 3, "alpha": Fraction(2, 3)}
    assert AverageRisk("1/3").assess(groups).value == Fraction(1, 3)
    assert MEligible(1).assess(groups).value == 1
    assert MEligible(1).assess(groups).diagnostics["whole_table"] == 2


def test_a_share_that_grew_by_exactly_beta_passes_and_delta_is_strict():
    groups = Groups.from_histograms([{"a": 2, "b": 2}, {"b": 4}])
    assert BetaLikeness(1).holds(groups)
    assert not BetaLikeness("0.999").holds(groups)
    assert BetaLikeness(1).assess(groups).value == 1
    assert not DeltaDisclosure(1).holds(groups)
    assert DeltaDisclosure("1.0000001").holds(groups)
    assert DeltaDisclosure(1).assess(groups).value == pytest.approx(1)


def test_ties_of_logarithms_with_large_counts_are_decided_exactly():
    """Both groups have p/q = 2 up to one part in 10^17, one exactly, the other not."""
    big = 10**8
    groups = replace(
        Groups.from_histograms([{"a": 2 * big, "b": 2 * big}, {"a": 2 * big, "b": 2 * big + 1}]),
        reference=np.array([big, 3 * big]),
    )
    assert DeltaDisclosure(1).failing(groups).tolist() == [True, False]


def test_the_enhanced_bound_compares_with_a_logarithm_exactly():
    assert exceeds_logarithm(Fraction(0), Fraction(1)) is False
    assert exceeds_logarithm(Fraction(1, 10**40), Fraction(1)) is True
    near = Fraction(math.log(3)).limit_denominator(10**12)
    assert exceeds_logarithm(near + Fraction(1, 10**11), Fraction(3))
    assert not exceeds_logarithm(near - Fraction(1, 10**11), Fraction(3))


def test_enhanced_likeness_with_no_beta_enough_says_so():
    groups = Groups.from_histograms([{"a": 4}, {"a": 4, "b": 4}])
    assert BetaLikeness(100).assess(groups).value == Fraction(1, 2)
    assert BetaLikeness(100, enhanced=True).assess(groups).value == math.inf


def test_a_range_that_only_two_groups_together_fill_is_found():
    """(epsilon,m) judges ranges around numbers that are there, so groups that pass apart may fail together."""
    column = SensitiveColumn("value", pl.Series("value", [-1, 0, 1, 10]), ordered=True)
    apart = groups_of([[1, 0, 1, 0], [0, 1, 0, 1]], column)
    assert EpsilonMAnonymity(1, 2).holds(apart)
    assert not EpsilonMAnonymity(1, 2).holds(apart.whole())


def test_people_are_guarded_from_what_they_name_and_from_nothing_else():
    frame = pl.DataFrame(
        {
            "zip": ["1", "1", "1", "2", "2", "2"],
            "illness": ["flu", "ulcer", "gastritis", "flu", "ulcer", "gastritis"],
            "wish": [None, None, None, None, "stomach", None],
        }
    )
    tree = Hierarchy.taxonomy({"stomach": ["ulcer", "gastritis"], "airways": ["flu"]})
    table = Table(frame, quasi=["zip"], sensitive={"illness": tree})
    definition = PersonalPrivacy("0.5", "wish")
    groups = count_table(definition.prepare(table)).groups()
    assert definition.failing(groups).tolist() == [False, True]
    assert definition.assess(groups).value == Fraction(2, 3)
    assert PersonalPrivacy("2/3", "wish").holds(groups)
    with pytest.raises(DataError, match=r"no column 'whish'.* Did you mean 'wish'"):
        PersonalPrivacy("0.5", "whish").prepare(table)
    wrong = Table(frame.with_columns(wish=pl.lit("stomak")), quasi=["zip"], sensitive={"illness": tree})
    with pytest.raises(DataError, match=r"A person guards 'stomak'.* Did you mean 'stomach'"):
        definition.failing(count_table(definition.prepare(wrong)).groups())


def test_average_risk_names_the_smallest_groups_and_no_more_than_must_go():
    draw = np.random.default_rng(3)
    for _ in range(60):
        sizes = draw.integers(1, 8, size=draw.integers(1, 8)).tolist()
        limit = Fraction(int(draw.integers(1, 12)), 12)
        groups = Groups.from_histograms([{"a": size} for size in sizes])
        lost = int(groups.sizes[AverageRisk(limit).failing(groups)].sum())
        assert lost == oracle.average_risk(sizes, limit, sum(sizes))
        assert AverageRisk(limit).holds(groups) is (len(sizes) <= limit * sum(sizes))


def test_limits_of_many_digits_are_compared_exactly():
    groups = Groups.from_histograms([{"a": 3}] * 9)
    below = Fraction(1, 3) - Fraction(1, 10**30)
    assert AverageRisk("1/3").holds(groups)
    assert not AverageRisk(below).holds(groups)
    assert AverageRisk(below).failing(groups).all()
    assert not KEAnonymity(1, 3 + Fraction(1, 10**30)).holds(groups_of([[1, 0, 1]], NUMBERS_OF_THREE))
    assert KEAnonymity(1, 3).holds(groups_of([[1, 0, 1]], NUMBERS_OF_THREE))


def test_the_witness_is_a_failing_group_with_its_histogram():
    found = ConfidenceBounding("0.4", ["a"]).assess(groups_of([[1, 5], [3, 1], [2, 1]]))
    assert found.witness.group == 1
    assert found.witness.details["histogram"] == named([3, 1])
