"""How results show themselves: a line of text at a prompt, a small card in a notebook. Both say the same."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

_TONES = {True: ("#1f7350", "✓ "), False: ("#b23a28", "✗ "), None: ("inherit", "")}
_LONGEST, _MOST_ROWS = 90, 12
_FEW, _FEWEST = 0.0005, 1e-6


@dataclass(frozen=True)
class Card:
    """A title, facts by name, and perhaps a small table. ``good`` says whether the news are good, None that they are neither."""

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    good: bool | None = None
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[object]] = ()

    def line(self) -> str:
        """The card in one line, without its table."""
        said = "; ".join(f"{name} {_text(value)}" for name, value in self.facts.items())
        return f"<{self.title}: {said}>" if said else f"<{self.title}>"

    def html(self) -> str:
        """The card for a notebook, in its own colours; nothing in it is read as markup."""
        colour, sign = _TONES[self.good]
        facts = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(_text(value))}</td></tr>'
            for name, value in self.facts.items()
        )
        return (
            f'<div><strong style="color:{colour}">{sign}{escape(self.title)}</strong>'
            f"{f'<table>{facts}</table>' if facts else ''}{self._table()}</div>"
        )

    def _table(self) -> str:
        if not self.rows:
            return ""
        head = "".join(f"<th>{escape(name)}</th>" for name in self.heads)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_text(cell))}</td>' for cell in row)}</tr>" for row in self.rows[:_MOST_ROWS]
        )
        more = len(self.rows) - _MOST_ROWS
        rest = f"<small>and {more:,} more</small>" if more > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class ShownAsCard(ABC):
    """Shown at a prompt and in a notebook as the :class:`Card` that it makes of itself."""

    @abstractmethod
    def card(self) -> Card:
        """What is worth knowing at a glance."""

    def __repr__(self) -> str:
        return self.card().line()

    def _repr_html_(self) -> str:
        return self.card().html()


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return shortened("" if value is None else str(value), _LONGEST)


def sentence_case(text: str) -> str:
    """The text with a capital letter at its beginning; names in it stay as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def shortened(text: str, most: int) -> str:
    """A text of at most so many characters; what is cut off shows as ``…``."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def percent(share: float, digits: int = 0) -> str:
    """A share, with so many digits that few people are not shown as nobody, nor nearly all as all; ``digits`` for shares between."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share > 0.99:
        return f"{min(share, 0.999):.1%}"
    if share < _FEW:
        return f"{100 * share:.1g}%" if share >= _FEWEST else "under 0.0001%"
    return f"{share:.{digits}%}" if share >= 0.1 else f"{share:.1%}"
