"""Datalog text, for tests, documents and quick checks: ``Q(n) :- P(p,n), D(p,'cancer',m,w), w != 3``.

Identifiers are variables (``b2'`` with primes too), each ``_`` is a fresh variable, numbers and quoted texts are
constants. Several rules with one head are a union. Datalog is always read with set semantics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from reticent.errors import PolicyError
from reticent.views.constants import Constant, number
from reticent.views.queries import Atom, ConjunctiveQuery, Query, Term, TermComparison, Union, Variable, comparison

_TOKEN = re.compile(
    r"(?P<space>\s+|%[^\n]*|--[^\n]*|\#[^\n]*)"
    r"|(?P<arrow>:-|<-(?!\d)|←)"
    r"|(?P<operator><=|>=|!=|<>|≠|≤|≥|<|>|=)"
    r"|(?P<number>[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*'*(?:\.[^\W\d]\w*)?)"
    r"|(?P<text>'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")"
    r"|(?P<mark>[(),.;∪&])"
)
_OPERATORS = {"<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int


def looks_like_datalog(text: str) -> bool:
    """True if a query text is Datalog rather than SQL: it has a rule arrow outside quotes."""
    return bool(re.search(r":-|←", re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", "", text)))


def parse(text: str, name: str = "") -> Query:
    """Parse the rules in ``text`` into a query; errors point at line and column."""
    return _DatalogParser(text).query(name)


def parse_atom(text: str) -> Atom:
    """Parse a single subgoal or row: ``D(135,'cancer','RX2',2312)``."""
    return _DatalogParser(text).single_atom()


class _DatalogParser:
    """A cursor over the tokens of a text; its only state is the position."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = list(self._split())
        self.at = 0
        self.anonymous = 0

    def query(self, name: str) -> Query:
        """Parse all rules; together they are a union of queries with one head."""
        rules: list[ConjunctiveQuery] = []
        head_name = None
        while self.at < len(self.tokens):
            start = self.tokens[self.at].start
            head, rule = self._rule()
            if head_name is not None and head.lower() != head_name.lower():
                raise self._error(f"This rule defines {head}, the one before {head_name}; a query has one head", start)
            head_name = head
            rules.append(rule)
            while self._take("mark", ".", ";", "∪"):
                pass
        if not rules:
            raise PolicyError("The query text is empty; write a rule such as Q(x) :- R(x,y).")
        if len({len(rule.head) for rule in rules}) > 1:
            raise PolicyError(f"The rules of {head_name} have heads of different lengths; a union needs one length.")
        return Query(name or head_name or "Q", (Union(tuple(rules)),), self.text.strip())

    def single_atom(self) -> Atom:
        """Parse one row, and nothing else."""
        atom = self._atom()
        self._take("mark", ".")
        if self.at < len(self.tokens):
            raise self._error("Expected a single row", self.tokens[self.at].start)
        return atom

    def _rule(self) -> tuple[str, ConjunctiveQuery]:
        """Parse one rule; return the name of its head and the query."""
        start = self.tokens[self.at].start
        head = self._atom()
        if not self._take("arrow"):
            raise self._error("Expected ':-' after the head of the rule", self._here())
        atoms: list[Atom] = []
        comparisons: list[TermComparison] = []
        equalities: list[tuple[Term, Term]] = []
        while True:
            if self._peek("name") and self._peek("mark", "(", ahead=1):
                atoms.append(self._atom())
            else:
                left, operator, right = self._comparison()
                if operator == "=":
                    equalities.append((left, right))
                else:
                    comparisons.append(comparison(left, operator, right))
            if not (self._take("mark", ",", "&") or self._take_word("and")):
                break
        try:
            return head.relation, _rule(head.terms, atoms, comparisons, equalities)
        except PolicyError as error:
            raise self._error(str(error).rstrip("."), start) from None

    def _atom(self) -> Atom:
        """Parse one subgoal: a relation name and its terms."""
        token = self._next("name", "a relation name")
        if not self._take("mark", "("):
            raise self._error(f"Expected '(' after {token.text}", self._here())
        terms: list[Term] = []
        if not self._take("mark", ")"):
            while True:
                terms.append(self._term())
                if self._take("mark", ")"):
                    break
                if not self._take("mark", ","):
                    raise self._error("Expected ',' or ')'", self._here())
        return Atom(token.text, tuple(terms))

    def _comparison(self) -> tuple[Term, str, Term]:
        left = self._term()
        token = self._next("operator", "a subgoal or a comparison such as x < 5")
        return left, _OPERATORS.get(token.text, token.text), self._term()

    def _term(self) -> Term:
        """Parse a variable, a number or a quoted text."""
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or token.kind not in ("name", "number", "text"):
            raise self._error("Expected a variable, a number or a quoted text", self._here())
        self.at += 1
        if token.kind == "number":
            return number(token.text)
        if token.kind == "text":
            quote = token.text[0]
            return Constant("text", token.text[1:-1].replace(quote * 2, quote))
        if token.text == "_":
            self.anonymous += 1
            return Variable(f"_{self.anonymous}")
        return Variable(token.text)

    def _split(self) -> Iterator[_Token]:
        """Yield the tokens of the text. Raises at the first character that starts none."""
        position = 0
        while position < len(self.text):
            match = _TOKEN.match(self.text, position)
            if match is None:
                raise self._error(f"Cannot read {self.text[position]!r}", position)
            if match.lastgroup != "space":
                yield _Token(match.lastgroup or "", match.group(), position)
            position = match.end()

    def _peek(self, kind: str, *texts: str, ahead: int = 0) -> bool:
        """True if the token at the current position, or ``ahead`` of it, has this kind and one of the texts."""
        index = self.at + ahead
        if index >= len(self.tokens) or self.tokens[index].kind != kind:
            return False
        return not texts or self.tokens[index].text in texts

    def _take(self, kind: str, *texts: str) -> bool:
        is_match = self._peek(kind, *texts)
        self.at += is_match
        return is_match

    def _take_word(self, word: str) -> bool:
        is_match = self._peek("name") and self.tokens[self.at].text.lower() == word
        self.at += is_match
        return is_match

    def _next(self, kind: str, expected: str) -> _Token:
        """Consume and return the next token. Raises if it has another kind."""
        if not self._peek(kind):
            raise self._error(f"Expected {expected}", self._here())
        self.at += 1
        return self.tokens[self.at - 1]

    def _here(self) -> int:
        return self.tokens[self.at].start if self.at < len(self.tokens) else len(self.text)

    def _error(self, message: str, position: int) -> PolicyError:
        """Return an error that ends with the line and column of a character position."""
        before = self.text[:position]
        line, column = before.count("\n") + 1, position - (before.rfind("\n") + 1) + 1
        line_text = self.text.splitlines()[line - 1].strip() if self.text.splitlines() else ""
        return PolicyError(f"{message}, at line {line}, column {column} of the Datalog text: {line_text}")


def _rule(
    head: tuple[Term, ...],
    atoms: list[Atom],
    comparisons: list[TermComparison],
    equalities: list[tuple[Term, Term]],
) -> ConjunctiveQuery:
    """Return the query of a parsed rule, with its equalities substituted.

    Two constants set equal become the comparison ``c != c``, which never holds.
    """
    replaced: dict[Term, Term] = {}

    def find(term: Term) -> Term:
        """Return the term by which the equalities read so far replace this one."""
        while term in replaced:
            term = replaced[term]
        return term

    extra: list[TermComparison] = []
    for left, right in equalities:
        left, right = find(left), find(right)
        if left == right:
            continue
        if isinstance(left, Variable):
            replaced[left] = right
        elif isinstance(right, Variable):
            replaced[right] = left
        else:
            extra.append(TermComparison(left, "!=", left))
    return ConjunctiveQuery(
        tuple(find(term) for term in head),
        tuple(Atom(atom.relation, tuple(find(term) for term in atom.terms)) for atom in atoms),
        tuple(TermComparison(find(item.left), item.operator, find(item.right)) for item in comparisons) + tuple(extra),
    )
