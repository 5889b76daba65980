"""What the specifications print about whole examples: the static fixture of spec 004 (6.1), the people of G2 and G3, and E1 and E4 of spec 000b."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from benchmarks import reproduce_ldiversity

from reticent.belief import (
    Belief,
    PopulationModel,
    SemanticSetting,
    excluding,
    negative,
    positive,
    posterior,
    semantic_sets,
)
from reticent.core import Groups
from reticent.definitions import DistinctLDiversity, RangeDiversity, TCloseness
from reticent.release.count_queries import count_labels
from reticent.table import FrameRows, SensitiveColumn
from reticent.table.meaning import Anything, Interval
from tests.definitions.making import groups_of

RELEASE = pl.DataFrame(
    {
        "age": ["[48-62]"] * 3 + ["[59-77]"] * 3,
        "zip": ["441XX"] * 3 + ["444XX"] * 3,
        "gender": ["*"] * 6,
        "disease": ["Flu", "Flu", "HIV", "Flu", "Gastritis", "HIV"],
    }
)
MEANINGS = {
    "age": {"[48-62]": Interval(48, 62, "both"), "[59-77]": Interval(59, 77, "both")},
    "zip": {
        "441XX": Interval(44100, 44199, "both"),
        "444XX": Interval(44400, 44499, "both"),
    },
    "gender": {"*": Anything()},
}


@pytest.mark.parametrize(
    ("condition", "estimate", "actual", "error"),
    [
        ("age = 62 and zip = 44120 and gender = 'F'", 3, 1, 2),
        ("zip between 44420 and 44479 and age >= 50", 3, 3, 0),
    ],
    ids=["Q1: a point", "Q2: a window"],
)
def test_counting_queries_on_the_static_fixture(condition: str, estimate: int, actual: int, error: int) -> None:
    found = count_labels(FrameRows(RELEASE), MEANINGS, condition, "intersect").value
    assert found == estimate
    assert abs(found - actual) / actual == error


def test_skewness_a_diverse_class_may_be_far_from_the_table() -> None:
    """Three values and 30 % HIV in a class, 1 % in the table: the distributions are at least 0.29 apart."""
    groups = Groups.from_histograms([{"hiv": 30, "flu": 40, "cold": 30}, {"hiv": 69, "flu": 4915, "cold": 4916}])
    assert groups.reference.tolist() == [4946, 4955, 99]
    assert DistinctLDiversity(3).holds(groups)
    distance = TCloseness("0.29").assess(groups).value
    assert distance == Fraction(30, 100) - Fraction(99, 10_000)
    assert distance >= Fraction(29, 100)


FOUR_ANONYMOUS = ({"H": 2, "V": 2}, {"C": 1, "H": 1, "V": 2}, {"C": 4})
THREE_DIVERSE = ({"H": 1, "V": 1, "C": 2}, {"C": 1, "H": 1, "V": 2})


def test_bruce_and_umeko_in_the_four_anonymous_version() -> None:
    """G2: Bruce has cancer for certain; Umeko is known to have no cancer, and without heart disease has the virus."""
    alike = PopulationModel.of({"all": {"H": 3, "V": 4, "C": 5}})
    bruce = posterior(alike, "all", ["all"], FOUR_ANONYMOUS[2])
    assert bruce == {"C": 1}
    assert positive(Belief("Bruce", "C", Fraction(5, 12), bruce["C"]), "0.01")
    umeko = posterior(alike, "all", ["all"], FOUR_ANONYMOUS[0])
    assert negative(Belief("Umeko", "C", Fraction(5, 12), umeko.get("C", Fraction(0))), "0.01")
    assert excluding(FOUR_ANONYMOUS[0], ["H"])["V"] == 1


def test_bruce_and_umeko_in_the_three_diverse_version() -> None:
    """G3: Bruce has cancer with 1/2; Umeko without heart disease the virus with 1/3, cancer with 2/3."""
    assert excluding(THREE_DIVERSE[0], [])["C"] == Fraction(1, 2)
    assert excluding(THREE_DIVERSE[0], ["H"]) == {"H": 0, "V": Fraction(1, 3), "C": Fraction(2, 3)}


@pytest.mark.parametrize("counts", [(1, 1, 1, 0), (2, 0, 1, 2), (1, 1, 0, 1), (0, 3, 1, 1)])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_range_predicates_mean_what_they_say(counts: tuple[int, ...], length: int) -> None:
    """Nobody is c sure of any range, decided over all databases, and by the fullest window of the group."""
    numbers = (1, 2, 4, 7)
    people = tuple(f"p{place}" for place in range(sum(counts)))
    shown = {str(number): n for number, n in zip(numbers, counts, strict=True) if n}
    setting = SemanticSetting((people,), (shown,), tuple(map(str, numbers)))
    windows = [[str(number) for number in numbers if start <= number <= start + length] for start in range(-5, 8)]
    column = SensitiveColumn("value", pl.Series("value", list(numbers)), ordered=True)
    for c in ("1/3", "1/2", "2/3", "3/4", "1"):
        meant = semantic_sets(setting, c, [window for window in windows if window]).assess(setting)
        assert RangeDiversity(c, 0, length).holds(groups_of([counts], column)) is meant.holds


@pytest.mark.slow
def test_the_homogeneity_and_utility_tables_of_the_thesis_are_reproduced(shared_data: object) -> None:
    """E1 with the labels as published and as corrected, and E4, every cell."""
    assert reproduce_ldiversity.main() == 0
