"""Facts as people type them, and the clauses they mean.

    Ed=flu                      Ed has flu              costs one fact for every other value in Ed's bucket
    !Ed=flu    Ed != flu        Ed does not have flu    costs 1
    Bob=flu & Ed=flu -> Al=flu | Al=mumps               costs 1
    Ed in {flu, mumps}          one of a list           costs one fact for every value of the bucket not listed
    Ed=flu|mumps                the same

Names and values may contain blanks; quote them with '...' or "..." when they contain an operator. Inside an implication
every atom may be negated: "not" only moves an atom to the other side of the arrow. A clause without any negative
literal is not a single basic implication; its cost is that of fixing the cheapest person in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from reticent.errors import PolicyError

_OPERATORS = ("->", "=>", "→", "!=", "≠", "&", "|", "=", "!", "{", "}")
_SPELLED = {"=>": "->", "→": "->", "≠": "!="}


class PersonValue(NamedTuple):
    """The statement that a person has a value."""

    person: str
    value: str

    def __str__(self) -> str:
        return f"{self.person}={self.value}"


@dataclass(frozen=True)
class Clause:
    """All of ``given`` together imply at least one of ``then``: a disjunction of negated and plain atoms."""

    given: frozenset[PersonValue]
    then: frozenset[PersonValue]

    @property
    def atoms(self) -> frozenset[PersonValue]:
        """Every atom in the clause."""
        return self.given | self.then

    @property
    def people(self) -> frozenset[str]:
        """Every person in the clause."""
        return frozenset(atom.person for atom in self.atoms)


@dataclass(frozen=True)
class Fact:
    """One typed fact: its text and the clauses that it means, all of which hold."""

    text: str
    clauses: tuple[Clause, ...]

    @property
    def atoms(self) -> frozenset[PersonValue]:
        """Every atom in the fact."""
        return frozenset(atom for clause in self.clauses for atom in clause.atoms)


def parse_fact(text: str) -> Fact:
    """Parse one fact. Raises PolicyError, pointing at the column, if it cannot be parsed.

    >>> parse_fact("Hannah=flu -> Charlie=flu").clauses[0].then
    frozenset({PersonValue(person='Charlie', value='flu')})
    """
    return _FactParser(text).fact()


class _Literal(NamedTuple):
    atoms: tuple[PersonValue, ...]
    positive: bool


class _FactParser:
    def __init__(self, text: str) -> None:
        """Split the text of a fact into tokens."""
        if not isinstance(text, str):
            raise PolicyError(f"A fact is text such as 'Ed=flu', but this is {text!r}.")
        self.text = text
        self.tokens = list(self._scan())
        self.token_index = 0

    def fact(self) -> Fact:
        """Parse a fact: an implication, or literals joined by '&' or by '|'."""
        left, left_operators = self._literals()
        if self._take("->"):
            right, right_operators = self._literals()
            self._end()
            if "|" in left_operators:
                self._fail("The left side of '->' is joined by '&'; write one fact for each alternative")
            if "&" in right_operators:
                self._fail("The right side of '->' is joined by '|'; write one fact for each part that follows")
            return Fact(self.text.strip(), (self._clause(left, right),))
        self._end()
        if left_operators == {"&", "|"}:
            self._fail("'&' and '|' are mixed without '->'; write separate facts")
        groups = [[literal] for literal in left] if "&" in left_operators else [left]
        return Fact(self.text.strip(), tuple(self._clause((), group) for group in groups))

    def _clause(self, left: Iterable[_Literal], right: Iterable[_Literal]) -> Clause:
        """Return the clause of two sides of an implication; negated literals change the side."""
        antecedents: set[PersonValue] = set()
        consequents: set[PersonValue] = set()
        for literal in left:
            if len(literal.atoms) > 1:
                self._fail(
                    "A list may be used alone or to the right of '->', not to its left; write one fact for each value"
                )
            (antecedents if literal.positive else consequents).update(literal.atoms)
        for literal in right:
            (consequents if literal.positive else antecedents).update(literal.atoms)
        return Clause(frozenset(antecedents), frozenset(consequents))

    def _literals(self) -> tuple[list[_Literal], set[str]]:
        """Parse literals joined by ``&`` or ``|``; return them and the operators."""
        literals, joint = [self._literal()], set()
        while (operator := self._peek()) in ("&", "|"):
            self.token_index += 1
            if operator == "|" and self._is_bare_value() and literals[-1].positive:
                before = literals[-1].atoms
                more = PersonValue(before[-1].person, self._word("a value"))
                literals[-1] = _Literal((*before, more), True)
                continue
            joint.add(operator)
            literals.append(self._literal())
        return literals, joint

    def _literal(self) -> _Literal:
        """Parse one literal, such as ``Ed=flu``, ``!Ed=flu`` or ``Ed in {flu, mumps}``."""
        positive = not self._take("!")
        person = self._word("a person's name")
        if person.startswith("not "):
            positive, person = not positive, person.removeprefix("not ").strip()
        if self._is_word("in"):
            person += f" {self._word('in')}"
        list_match = re.fullmatch(r"(.+?)\s+in(?:\s*[(\[](.+)[)\]])?", person)
        if self._take("{") or (list_match is not None and list_match[2] is not None):
            if list_match is None:
                self._fail("A list is written 'Ed in {flu, mumps}'")
            if not positive:
                self._fail("Write 'Ed != flu' once for every value that is ruled out, instead of a negated list")
            values = self._list() if list_match[2] is None else self._split(list_match[2])
            return _Literal(tuple(PersonValue(list_match[1], value) for value in values), True)
        if self._take("!="):
            positive = not positive
        elif not self._take("="):
            self._fail("Expected '=' or '!=' and a value")
        return _Literal((PersonValue(person, self._word("a value")),), positive)

    def _list(self) -> list[str]:
        """Parse a list of values up to its closing brace."""
        inside = self._word("a list of values")
        if not self._take("}"):
            self._fail("The list is not closed by '}'")
        return self._split(inside)

    def _split(self, inside: str) -> list[str]:
        """Return the values of a list, which are separated by commas."""
        values = [value.strip().strip("'\"") for value in inside.split(",")]
        if not all(values):
            self._fail("The list has an empty entry")
        return values

    def _word(self, expected: str) -> str:
        """Return the next token, which must not be an operator; ``expected`` names it in the error."""
        if self.token_index == len(self.tokens) or self.tokens[self.token_index][0]:
            self._fail(f"Expected {expected}")
        self.token_index += 1
        return self.tokens[self.token_index - 1][1]

    def _is_bare_value(self) -> bool:
        """True if the next word is not followed by '=': another value of the previous person."""
        ahead = self.tokens[self.token_index : self.token_index + 2]
        if not ahead or ahead[0][0] or re.search(r"\sin\b", ahead[0][1]):
            return False
        return len(ahead) == 1 or (ahead[1][0] and ahead[1][1] in ("&", "|", "->"))

    def _is_word(self, word: str) -> bool:
        return self.token_index < len(self.tokens) and self.tokens[self.token_index][:2] == (False, word)

    def _peek(self) -> str | None:
        """Return the next token if it is an operator; None if it is not, or there is none."""
        return (
            self.tokens[self.token_index][1]
            if self.token_index < len(self.tokens) and self.tokens[self.token_index][0]
            else None
        )

    def _take(self, operator: str) -> bool:
        """Skip the next token if it is this operator; True if it was."""
        if self._peek() != operator:
            return False
        self.token_index += 1
        return True

    def _end(self) -> None:
        if self.token_index < len(self.tokens):
            self._fail("Nothing more was expected")

    def _scan(self) -> Iterable[tuple[bool, str, int]]:
        """(is an operator, text, column): words extend to the next operator; a quote opens a word only at its start."""
        position, text, inside = 0, self.text, False
        while position < len(text):
            if text[position].isspace():
                position += 1
                continue
            operator = next((sign for sign in _OPERATORS if text.startswith(sign, position)), None)
            if operator is not None and not (inside and operator != "}"):
                inside = operator == "{"
                yield True, _SPELLED.get(operator, operator), position
                position += len(operator)
            elif text[position] in "'\"" and not inside:
                end = text.find(text[position], position + 1)
                if end < 0:
                    self._point("The quote is not closed", position)
                yield False, text[position + 1 : end], position
                position = end + 1
            else:
                end = position
                while end < len(text) and not self._stops(end, inside):
                    end += 1
                yield False, text[position:end].strip(), position
                position = end

    def _stops(self, position: int, inside: bool) -> bool:
        if inside:
            return self.text[position] == "}"
        return any(self.text.startswith(sign, position) for sign in _OPERATORS if sign != "!")

    def _fail(self, problem: str) -> NoReturn:
        self._point(
            problem, self.tokens[self.token_index][2] if self.token_index < len(self.tokens) else len(self.text)
        )

    def _point(self, problem: str, position: int) -> NoReturn:
        """Raise an error that points at a character of the fact (``position``, from 0)."""
        raise PolicyError(
            f"{problem}, at column {position + 1} of the fact {self.text!r}. "
            "Facts look like 'Ed=flu', '!Ed=flu', 'Hannah=flu -> Charlie=flu' or 'Ed in {flu, mumps}'."
        )
