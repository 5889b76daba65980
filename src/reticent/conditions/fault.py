"""Errors that point into the text of a condition."""

from __future__ import annotations

from reticent.errors import PolicyError

Span = tuple[int, int]


class ConditionError(PolicyError):
    """A condition that cannot be parsed, or does not match its columns.

    ``text`` is the whole condition, ``span`` the offsets of the offending part, ``line`` and ``character`` its start,
    from 1.
    """

    what = "condition"

    def __init__(self, reason: str, text: str, span: Span) -> None:
        self.text, self.span = text, span
        start = min(max(span[0], 0), len(text))
        preceding = text[:start]
        line_start = preceding.rfind("\n") + 1
        line_end = text.find("\n", start)
        line_end = len(text) if line_end < 0 else line_end
        self.line, self.character = preceding.count("\n") + 1, start - line_start + 1
        where = f"column {self.character}" if "\n" not in text else f"line {self.line}, column {self.character}"
        underline = "^" * max(1, min(span[1], line_end) - start)
        line_text = text[line_start:line_end].replace("\t", " ")
        super().__init__(
            f"In the {self.what}, {where}: {reason}\n  {line_text}\n  {' ' * (start - line_start)}{underline}"
        )
        self.reason = reason
