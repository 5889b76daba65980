"""A column may be called by any word of SQL: in conditions only the words of conditions themselves need quotes."""

from __future__ import annotations

import polars as pl
import pytest
from sqlglot import Dialect
from sqlglot.dialects.dialect import Dialects
from sqlglot.tokens import Tokenizer

from reticent.conditions import Condition, ConditionError
from reticent.conditions.words import RESERVED
from reticent.table import ValueType


def sql_words() -> list[str]:
    """Every word that some dialect of sqlglot reads as more than a name: keywords, commands, functions with and without parentheses."""
    words: set[str] = set(Tokenizer.KEYWORDS)
    for dialect in Dialects:
        kind = Dialect.get_or_raise(dialect.value)
        parser = kind.parser_class
        words |= set(kind.tokenizer_class.KEYWORDS) | set(parser.FUNCTIONS) | set(parser.FUNCTION_PARSERS)
        words |= set(parser.NO_PAREN_FUNCTION_PARSERS) | {token.name for token in parser.STATEMENT_PARSERS}
        words |= {token.name for token in kind.tokenizer_class.COMMANDS} | {token.name for token in parser.TYPE_TOKENS}
    return sorted({word.lower() for word in words if word.isidentifier() and word.isascii()})


WORDS = sql_words()
LEADING = [
    "Alter",
    "use",
    "SET",
    "show",
    "call",
    "load",
    "comment",
    "select",
    "case",
    "cast",
    "interval",
    "date",
    "div",
    "values",
    "any",
]
FORMS = (
    "{} = 1", "{} > 1 and other = 2", "other = 2 or {} <> 1", "not {} = 1", "({} >= 1)", "1 < {}", "{} is null", "{} is not null", "{} in (1, 2)",
    "{} not in (1, 2)", "{} between 1 and 2", "other between {} and 3", "{} + 1 < 3", "2 * {} < 3", "{} like 'a%'", "{} not like 'a%'", "{} div 2 = 1",
    "{} % 2 = 1", "other = {}", "-{} < 1", "abs({}) = 1", "{}", "other = 1 and {}", "({}, other) in ((1, 2))",
)  # fmt: skip


def test_there_are_hundreds_of_words() -> None:
    assert len(WORDS) > 900
    assert {word.lower() for word in LEADING} <= set(WORDS)


def check_form(form: str, words: list[str]) -> None:
    """The words are read as names, bare as in quotes."""
    for word in words:
        quoted = Condition.parse(form.format(f'"{word}"'))
        assert word in quoted.scope
        assert Condition.parse(form.format(f"`{word}`")).node == quoted.node
        if word.upper() not in RESERVED and (
            form == "{} = 1" or word.lower() not in ("and", "between", "in", "is", "like", "or")
        ):
            assert Condition.parse(form.format(word)).node == quoted.node, form.format(word)


@pytest.mark.parametrize("form", FORMS)
def test_words_that_begin_statements_are_names_wherever_a_column_may_stand(form: str) -> None:
    check_form(form, LEADING)


def test_every_word_of_sql_is_a_name() -> None:
    check_form("{} = 1", WORDS)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_word_of_sql_is_a_name_wherever_a_column_may_stand(form: str) -> None:
    check_form(form, [spelled for word in WORDS for spelled in (word, word.capitalize(), word.upper())])


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_a_word_of_conditions_needs_quotes_and_the_message_says_so_or_names_what_is_wrong(word: str) -> None:
    with pytest.raises(ConditionError) as refused:
        Condition.parse(f"{word} = 3").check({})
    assert "In the condition, column" in str(refused.value)
    assert Condition.parse(f'"{word}" = 3').scope == (word,)


@pytest.mark.parametrize(
    "text", ["age > 3 and = 4", "age > 3 and", "or", "age in = 3", "and and and", "between 3 and 4"]
)
def test_an_operator_without_its_operands_is_refused(text: str) -> None:
    with pytest.raises(ConditionError):
        Condition.parse(text).check({"age": ValueType.INTEGER})


def test_rows_are_chosen_by_a_column_that_is_called_like_a_command() -> None:
    rows = pl.DataFrame(
        {"Alter": [30, 40, 50], "use": [1, 2, 3], "show": ["a", "b", "b"], "comment": [True, False, True]}
    )
    for text, expected in {
        "Alter > 35": [False, True, True],
        "use = 1 or show = 'b'": [True, True, True],
        "comment and Alter between 45 and 60": [False, False, True],
        "show in ('b') and not comment": [False, True, False],
    }.items():
        assert Condition.parse(text).mask(rows).to_list() == expected
