"""Parameters: read exactly, refused with a message that names them, and written down so that they can be read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from reticent.definitions import (
    All,
    Definition,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    NegativePositiveDiversity,
    ProbabilisticLDiversity,
    RecursiveLDiversity,
    TCloseness,
    definition_from,
)
from reticent.definitions.catalogue import entries
from reticent.errors import DataError, PolicyError
from tests.definitions.making import groups_of

EVERY_KIND: list[Definition] = [
    KAnonymity(5),
    DistinctLDiversity(3),
    DistinctLDiversity(3, "job"),
    ProbabilisticLDiversity("2.5"),
    EntropyLDiversity("2.8"),
    EntropyLDiversity(3, ["healthy", None], "job"),
    RecursiveLDiversity("1/3", 4, dont_care=["healthy"]),
    NegativePositiveDiversity(3, "0.5", 3, ["healthy"], ["flu", "cold"]),
    TCloseness(0.2, "ordered", "pay"),
    KAnonymity(5) & EntropyLDiversity(3) & TCloseness("0.15"),
]


@pytest.mark.parametrize("definition", EVERY_KIND, ids=str)
def test_a_definition_survives_being_written_down(definition: Definition) -> None:
    written = json.loads(json.dumps(definition.parameters()))
    again = definition_from(definition.name, written)
    assert again == definition
    assert hash(again) == hash(definition)
    assert str(again) == str(definition)


def test_numbers_are_read_as_they_are_spelled() -> None:
    assert TCloseness(0.1).t == Fraction(1, 10)
    assert EntropyLDiversity("2.8").l == Fraction(14, 5)
    assert RecursiveLDiversity("2/3", 2).c == Fraction(2, 3)


def test_a_single_dont_care_value_need_not_be_a_list() -> None:
    assert RecursiveLDiversity(3, 3, "healthy") == RecursiveLDiversity(3, 3, ["healthy"])


def test_sets_of_values_have_one_spelling() -> None:
    assert EntropyLDiversity(2, {"b", "a"}).parameters()["dont_care"] == ["a", "b"]
    assert EntropyLDiversity(2, [True, 3]).parameters()["dont_care"] == ["true", "3"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DistinctLDiversity(0), "DistinctLDiversity: l must be at least 1, but it is 0"),
        (lambda: DistinctLDiversity(2.5), "DistinctLDiversity: l must be a whole number, but it is 2.5"),
        (lambda: DistinctLDiversity(True), "DistinctLDiversity: l must be a whole number, but it is True"),
        (lambda: ProbabilisticLDiversity("0.5"), "ProbabilisticLDiversity: l must be at least 1, but it is 0.5"),
        (lambda: EntropyLDiversity("1/2"), "EntropyLDiversity: l must be at least 1, but it is 1/2"),
        (lambda: EntropyLDiversity("three"), "EntropyLDiversity: l must be a number such as .* but it is 'three'"),
        (lambda: EntropyLDiversity(float("nan")), "EntropyLDiversity: l must be a number such as .* but it is nan"),
        (lambda: EntropyLDiversity(2, 7), "EntropyLDiversity: dont_care must be a list of sensitive values"),
        (lambda: RecursiveLDiversity(0, 2), "RecursiveLDiversity: c must be above 0, but it is 0"),
        (
            lambda: RecursiveLDiversity("1e999999999", 2),
            "RecursiveLDiversity: c must be a number .* it is '1e999999999'",
        ),
        (lambda: TCloseness("0e-999999999"), "TCloseness: t must be a number .* it is '0e-999999999'"),
        (lambda: RecursiveLDiversity("-1", 2), "RecursiveLDiversity: c must be above 0, but it is -1"),
        (lambda: RecursiveLDiversity(3, 0), "RecursiveLDiversity: l must be at least 1, but it is 0"),
        (lambda: RecursiveLDiversity(3, "3"), "RecursiveLDiversity: l must be a whole number, but it is '3'"),
        (lambda: NegativePositiveDiversity(0, 5, 2, (), ()), "NegativePositiveDiversity: c1 must be above 0"),
        (lambda: NegativePositiveDiversity(3, 0, 2, (), ()), "NegativePositiveDiversity: c2 must be above 0"),
        (lambda: NegativePositiveDiversity(3, 100, 2, (), ()), "c2 is a percentage below 100, but it is 100"),
        (lambda: NegativePositiveDiversity(3, 5, 2, (), 4), "NegativePositiveDiversity: must_keep must be a list"),
        (lambda: TCloseness("1.2"), "TCloseness: t must be at most 1, but it is 1.2"),
        (lambda: TCloseness(-0.1), "TCloseness: t must be at least 0, but it is -0.1"),
        (lambda: TCloseness(0.1, "orderd"), "TCloseness: distance must be one of .* Did you mean 'ordered'"),
        (lambda: All(()), "A definition needs at least one part"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("KAnonimity", {"k": 5}, "There is no definition 'KAnonimity'. Did you mean 'KAnonymity'"),
        ("KAnonymity", {"K": 5}, "KAnonymity has no parameter 'K'.* Its parameters are: k"),
        ("TCloseness", {"t": 0.1, "distence": "equal"}, "no parameter 'distence'. Did you mean 'distance'"),
        ("RecursiveLDiversity", {"c": 3}, "RecursiveLDiversity needs l. Its parameters are: c, l, dont_care, column"),
        ("All", {"all": "KAnonymity"}, "All takes one parameter"),
        ("All", {}, "All takes one parameter"),
        ("All", {"all": [{"name": "KAnonymity", "k": 2}, {"k": 3}]}, 'Part 2 of All must be a table with a "name"'),
        ("All", {"all": [{"name": "KAnonymity", "k": 0}]}, "KAnonymity: k must be at least 1"),
        ("All", {"all": []}, "A definition needs at least one part"),
    ],
)
def test_a_bad_description_is_refused_with_a_hint(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        definition_from(name, parameters)


def test_the_catalogue_describes_every_definition_in_a_line() -> None:
    listed = {entry.name: entry for entry in entries()}
    assert {type(kind).__name__ for kind in EVERY_KIND} - {"All"} <= set(listed)
    for entry in listed.values():
        assert entry.help
        assert "\n" not in entry.help
        assert set(entry.required) <= set(entry.parameters)
    assert listed["NegativePositiveDiversity"].parameters == ("c1", "c2", "l", "dont_care", "must_keep", "column")
    assert listed["TCloseness"].required == ("t",)


@pytest.mark.parametrize(
    "definition",
    [EntropyLDiversity(2, ["z"]), RecursiveLDiversity(2, 2, ["z"]), NegativePositiveDiversity(2, 5, 2, (), ["z"])],
)
def test_a_value_that_the_column_does_not_have_is_an_error(definition: Definition) -> None:
    with pytest.raises(DataError, match="Column 'value' has no value 'z'"):
        definition.failing(groups_of([[1, 2]]))


@pytest.mark.parametrize("definition", EVERY_KIND, ids=str)
def test_every_definition_says_what_it_promises_and_what_not(definition: Definition) -> None:
    assert definition.meaning().endswith(".")
    assert definition.not_covered().endswith(".")
    assert definition.meaning() != definition.not_covered()


def test_a_decimal_parameter_is_spoken_as_a_decimal() -> None:
    assert "2.8 equally likely values" in EntropyLDiversity("2.8").meaning()
    assert "a distance of 1/3 (from 0 to 1" in TCloseness("1/3").meaning()
