"""Conditions are read into a small tree, and what cannot be read is pointed at."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from reticent.conditions import Condition, ConditionError
from reticent.conditions.nodes import (
    And,
    Arithmetic,
    Column,
    Comparison,
    IsNull,
    Member,
    Not,
    Number,
    Or,
    StartsWith,
    Text,
    Truth,
    positive,
)
from reticent.errors import PolicyError
from reticent.table import ValueType

ERRORS = Path(__file__).resolve().parents[1] / "fixtures" / "predicate" / "errors.txt"
KINDS = {
    "age": ValueType.INTEGER,
    "income": ValueType.REAL,
    "zip": ValueType.TEXT,
    "disease": ValueType.TEXT,
    "marital-status": ValueType.TEXT,
    "admitted": ValueType.DATE,
    "seen": ValueType.DATETIME,
    "smoker": ValueType.BOOLEAN,
}


def refusals() -> list[tuple[str, str]]:
    blocks = ERRORS.read_text(encoding="utf-8").split("=== ")[1:]
    return [(text, message.strip("\n")) for text, message in (block.split("\n", 1) for block in blocks)]


@pytest.mark.parametrize(("text", "message"), refusals())
def test_what_cannot_be_meant_is_refused_with_a_pointer(text: str, message: str) -> None:
    with pytest.raises(ConditionError) as refused:
        Condition.parse(text).check(KINDS)
    assert str(refused.value) == message


def test_an_error_knows_its_line_and_column() -> None:
    with pytest.raises(ConditionError, match="line 2, column 5") as refused:
        Condition.parse("age > 3\nand weight > 4").check(KINDS)
    assert (refused.value.line, refused.value.character) == (2, 5)
    assert isinstance(refused.value, PolicyError)


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_an_empty_condition_is_refused(text: str) -> None:
    with pytest.raises(ConditionError, match="it is empty"):
        Condition.parse(text)


def test_a_condition_nested_beyond_reason_is_refused() -> None:
    with pytest.raises(ConditionError, match=r"nested too deeply|characters"):
        Condition.parse("(" * 20_000 + "age > 3" + ")" * 20_000)


def test_a_long_chain_is_read() -> None:
    condition = Condition.parse(" or ".join(f"age = {number}" for number in range(3000)))
    assert isinstance(condition.node, Or)
    assert len(condition.node.parts) == 3000


age, income = Column("age"), Column("income")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("age = 3", Comparison("=", age, Number(Fraction(3)))),
        ("age != 3", Comparison("<>", age, Number(Fraction(3)))),
        ("age < .5", Comparison("<", age, Number(Fraction(1, 2)))),
        ("age < 1e-3", Comparison("<", age, Number(Fraction(1, 1000)))),
        ("age >= -2.50", Comparison(">=", age, Number(Fraction(-5, 2)))),
        ("3 <= age", Comparison("<=", Number(Fraction(3)), age)),
        (
            "age between 1 and 2",
            And((Comparison(">=", age, Number(Fraction(1))), Comparison("<=", age, Number(Fraction(2))))),
        ),
        ("age in (1, 2)", Member(age, (Number(Fraction(1)), Number(Fraction(2))))),
        ("age not in (1)", Not(Member(age, (Number(Fraction(1)),)))),
        ("age is null", IsNull(age)),
        ("age is not null", Not(IsNull(age))),
        ("zip like '130%'", StartsWith(Column("zip"), "130")),
        ("zip like '13053'", Comparison("=", Column("zip"), Text("13053"))),
        ("zip = 'it''s'", Comparison("=", Column("zip"), Text("it's"))),
        ("smoker", Comparison("=", Column("smoker"), Truth(True))),
        ("\"marital-status\" = 'a'", Comparison("=", Column("marital-status"), Text("a"))),
        ("`marital-status` = 'a'", Comparison("=", Column("marital-status"), Text("a"))),
        ("income < 3*age", Comparison("<", income, Arithmetic("*", Number(Fraction(3)), age))),
        (
            "-age + 1 < income - 2",
            Comparison(
                "<",
                Arithmetic("+", Arithmetic("*", Number(Fraction(-1)), age), Number(Fraction(1))),
                Arithmetic("-", income, Number(Fraction(2))),
            ),
        ),
        (
            "age = 1 or age = 2 and not (income = 3)",
            Or(
                (
                    Comparison("=", age, Number(Fraction(1))),
                    And(
                        (
                            Comparison("=", age, Number(Fraction(2))),
                            Not(Comparison("=", income, Number(Fraction(3)))),
                        )
                    ),
                )
            ),
        ),
    ],
)
def test_text_becomes_a_tree(text: str, node: object) -> None:
    condition = Condition.parse(text)
    assert condition.node == node
    assert Condition.parse(str(condition.node)).node == node


def test_the_scope_lists_columns_in_the_order_of_the_text() -> None:
    assert Condition.parse("b > 1 and (a < 2*c or b is null) and \"d-e\" in ('x')").scope == ("b", "a", "c", "d-e")
    assert Condition.parse("true").scope == ()


def test_not_is_pushed_down_to_single_atoms() -> None:
    condition = Condition.parse("not (age < 3 and not (zip like 'a%' or age is null))")
    assert str(positive(condition.node)) == "(age >= 3) or ((zip like 'a%') or (age is null))"


@pytest.mark.parametrize("name", ["a b", 'with "quotes"', "select", "Größe", "1st", "x-y", "order", "null", "a`b"])
def test_a_name_is_printed_so_that_it_reads_back(name: str) -> None:
    assert Condition.parse(f"{Column(name)} = 1").scope == (name,)


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "-2.5E10001"])
def test_a_number_that_nobody_can_write_out_is_refused_at_once(number):
    with pytest.raises(ConditionError, match=r"numbers must be between 1e-10000 and 1e10000"):
        Condition.parse(f"age < {number}")
