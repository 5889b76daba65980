"""Facts as people type them."""

from __future__ import annotations

import pytest

from reticent.errors import PolicyError
from reticent.worst_case import Clause, PersonValue, parse_fact


def clause(given: str, then: str) -> Clause:
    def side(text: str) -> frozenset[PersonValue]:
        return frozenset(PersonValue(*each.split("=")) for each in text.split())

    return Clause(side(given), side(then))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Ed=flu", [("", "Ed=flu")]),
        ("  Ed = flu ", [("", "Ed=flu")]),
        ("!Ed=flu", [("Ed=flu", "")]),
        ("Ed != flu", [("Ed=flu", "")]),
        ("Ed≠flu", [("Ed=flu", "")]),
        ("! Ed != flu", [("", "Ed=flu")]),
        ("Hannah=flu -> Charlie=flu", [("Hannah=flu", "Charlie=flu")]),
        ("Hannah=flu→Charlie=flu", [("Hannah=flu", "Charlie=flu")]),
        ("A=x & B=y -> C=z | D=w", [("A=x B=y", "C=z D=w")]),
        ("A=x => !B=y", [("A=x B=y", "")]),
        ("!A=x & B=y -> C=z", [("B=y", "A=x C=z")]),
        ("Ed=flu | Ed=mumps", [("", "Ed=flu Ed=mumps")]),
        ("Ed in {flu, mumps}", [("", "Ed=flu Ed=mumps")]),
        ("'Ed' in {flu,mumps}", [("", "Ed=flu Ed=mumps")]),
        ("Ed in [flu, mumps]", [("", "Ed=flu Ed=mumps")]),
        ("Ed in (flu, mumps)", [("", "Ed=flu Ed=mumps")]),
        ("Ed=flu|mumps", [("", "Ed=flu Ed=mumps")]),
        ("Ed=flu | mumps | gout", [("", "Ed=flu Ed=mumps Ed=gout")]),
        ("A=x -> Ed=flu|mumps | B=y", [("A=x", "Ed=flu Ed=mumps B=y")]),
        ("not Ed=flu", [("Ed=flu", "")]),
        ("not Ed != flu", [("", "Ed=flu")]),
        ("A=x -> Ed in {flu, mumps}", [("A=x", "Ed=flu Ed=mumps")]),
        ("!Bob=flu & !Ed=flu", [("Bob=flu", ""), ("Ed=flu", "")]),
        ("\"Ed\"='flu'", [("", "Ed=flu")]),
    ],
)
def test_what_a_fact_means(text, wanted):
    assert parse_fact(text).clauses == tuple(clause(*each) for each in wanted)


@pytest.mark.parametrize(
    ("text", "person", "value"),
    [
        ("Mary Ann O'Neil=lung cancer", "Mary Ann O'Neil", "lung cancer"),
        ("p-17=T2-diabetes", "p-17", "T2-diabetes"),
        ("'a=b'=\"x -> y\"", "a=b", "x -> y"),
        ("Ed=Wow! very", "Ed", "Wow! very"),
    ],
)
def test_names_and_values_may_hold_blanks_hyphens_and_quotes(text, person, value):
    assert parse_fact(text).atoms == {PersonValue(person, value)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expected a person's name, at column 1"),
        ("Ed", "Expected '=' or '!='"),
        ("Ed=", "Expected a value"),
        ("=flu", "Expected a person's name"),
        ("Ed=flu ->", "Expected a person's name, at column 10"),
        ("-> Ed=flu", "Expected a person's name, at column 1"),
        ("Ed=flu -> Al=flu -> Bo=flu", "Nothing more was expected"),
        ("Ed=flu & Al=flu | Bo=flu", "mixed"),
        ("Ed=flu | Al=flu -> Bo=flu", "left side of '->'"),
        ("Ed=flu -> Al=flu & Bo=flu", "right side of '->'"),
        ("Ed in {flu, mumps", "not closed by '}'"),
        ("Ed in {flu,,mumps}", "empty entry"),
        ("Ed in {flu, mumps} -> Al=flu", "not to its left"),
        ("Ed=flu|mumps -> Al=flu", "not to its left"),
        ("!Ed=flu | mumps", "Expected '=' or '!='"),
        ("!Ed in {flu, mumps}", "negated list"),
        ("Ed {flu}", "A list is written"),
        ("'Ed=flu", "quote is not closed"),
        ("Ed=flu}", "Nothing more"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(text, message):
    with pytest.raises(PolicyError, match=message.replace("|", r"\|")) as error:
        parse_fact(text)
    assert "Facts look like" in str(error.value)


def test_only_text_is_a_fact():
    with pytest.raises(PolicyError, match="A fact is text"):
        parse_fact(7)
