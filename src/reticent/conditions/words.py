"""SQL keywords and column names, distinguished before sqlglot parses a text.

A column may be called ``load``, ``use`` or ``comment``. sqlglot has several hundred keywords, and takes a text that
begins with one of them for another kind of statement. Here a word is a name if an operand is expected and an operator
or the end follows; only :data:`RESERVED` words need double quotes.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.sqlite import SQLite

_CONSTANTS = frozenset({"NULL", "TRUE", "FALSE"})
_BETWEEN_OPERANDS = frozenset({"AND", "OR", "IN", "IS", "LIKE", "BETWEEN"})
_CLAUSES = frozenset({"SELECT", "FROM", "WHERE", "AS", "GROUP BY"})
RESERVED = _CONSTANTS | {"NOT"}
"""The words that a condition can begin with; as names they need double quotes."""
# What may follow an operand besides symbols. Unsupported words are included, so a message can name them.
_FOLLOWING = _BETWEEN_OPERANDS | {"NOT"} | (_CLAUSES - {"SELECT"}) | frozenset(
    {"DIV", "ILIKE", "GLOB", "REGEXP", "ESCAPE", "COLLATE", "ISNULL", "NOTNULL", "HAVING", "ORDER BY", "LIMIT", "UNION"}
)  # fmt: skip
_ENDS = frozenset({TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER, TokenType.R_PAREN, TokenType.R_BRACKET})
_COMPARING = frozenset({TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})


class _PlainWords(SQLite):
    """SQLite's dialect (names in double quotes or backticks, text in single quotes only), without keywords that consume the rest of the text."""

    class Tokenizer(SQLite.Tokenizer):
        COMMANDS: ClassVar[set[TokenType]] = set()


def parse_statements(text: str, is_name: Callable[[str], bool] | None = None) -> list[exp.Expr]:
    """Parse the statements or conditions of a text. Raises sqlglot's own errors.

    ``is_name`` decides which words may be names; by default all but the words of a condition.
    """
    dialect = _PlainWords()
    tokens = dialect.tokenize(text)
    reserved = RESERVED if is_name is None else RESERVED | _CLAUSES
    bare: set[int] = set()
    named: list[Token] = []
    operand_expected = True
    for token, following in zip_longest(tokens, tokens[1:]):
        word = _word(token, text)
        if word is None:
            operand_expected = token.token_type not in _ENDS
        elif word.upper() in reserved:
            operand_expected = word.upper() not in _CONSTANTS
        elif word.upper() in _BETWEEN_OPERANDS and not (operand_expected and _is_operator(following, text)):
            operand_expected = True
        elif operand_expected and _ends_operand(following, text) and (is_name is None or is_name(word)):
            bare.add(token.start)
            token = _as_name(token)
            operand_expected = False
        else:
            # A keyword of sqlglot: a function, or something that will be rejected.
            operand_expected = token.token_type != TokenType.VAR
        named.append(token)
    statements = [parsed for parsed in dialect.parser().parse(named, text) if parsed is not None]
    for identifier in (node for statement in statements for node in statement.find_all(exp.Identifier)):
        if identifier.meta.get("start") in bare:
            identifier.set("quoted", False)
    return statements


def _word(token: Token, text: str) -> str | None:
    """The word of a token, if it is one and not quoted."""
    written = text[token.start : token.end + 1]
    return written if written == token.text and (written[:1].isalpha() or written[:1] == "_") else None


def _ends_operand(following: Token | None, text: str) -> bool:
    """True if an operand may end before a token."""
    if following is None:
        return True
    word = _word(following, text)
    if word is not None:
        return " ".join(word.upper().split()) in _FOLLOWING
    return following.token_type not in _OPENING and following.token_type not in (
        _ENDS - {TokenType.R_PAREN, TokenType.R_BRACKET}
    )


def _is_operator(following: Token | None, text: str) -> bool:
    """True if a token is a binary operator symbol: only then a word like ``in`` before it is a name."""
    return following is not None and following.token_type in _COMPARING and _word(following, text) is None


def _as_name(token: Token) -> Token:
    return Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end, token.comments)
