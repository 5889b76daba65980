"""How results show themselves: one line at a prompt, a small page in a notebook, a screen of a terminal. All are drawn from one :class:`Card`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import Any, Literal, Protocol

Tone = Literal["good", "doubtful", "bad", "plain"]
_TONES: Mapping[Tone, tuple[str, str]] = {
    "good": ("#1f7350", "✓ "),
    "doubtful": ("#8a6100", "✓ "),
    "bad": ("#b23a28", "✗ "),
    "plain": ("inherit", ""),
}
_LONGEST, _MOST_ROWS, _FIRST = 90, 12, 2
_FEW, _FEWEST = 0.0005, 1e-6
_MANY = 1000


@dataclass(frozen=True)
class CardTable:
    """Rows under their heads. One with ``detail`` is shown where details are asked for; a notebook always has it."""

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    detail: bool = False

    @classmethod
    def of(cls, title: str, records: Sequence[Mapping[str, object]]) -> CardTable:
        """Records with equal keys, which are the heads."""
        heads = [name.replace("_", " ") for name in (records[0] if records else ())]
        return cls(heads, [tuple(each.values()) for each in records], title)


@dataclass(frozen=True)
class Card:
    """What a result says, as plain data: a title, sentences below it, facts by name, tables, and notes at the end.

    ``tone`` says whether the news are good; ``more`` are notes that are shown where details are asked for.
    """

    title: str
    facts: Mapping[str, object] = field(default_factory=dict)
    tone: Tone = "plain"
    tables: Sequence[CardTable] = ()
    sentences: Sequence[str] = ()
    notes: Sequence[str] = ()
    more: Sequence[str] = ()

    def line(self) -> str:
        """The card in one line: title, first sentences and facts."""
        facts = (f"{name} {_short(value)}" for name, value in self.facts.items())
        said = "; ".join((*map(_short, self.sentences[:_FIRST]), *facts))
        return f"<{self.title}: {said}>" if said else f"<{self.title}>"

    def html(self) -> str:
        """The card for a notebook, in its own colours; nothing in it is read as markup."""
        colour, sign = _TONES[self.tone]
        facts = "".join(
            f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(_short(value))}</td></tr>'
            for name, value in self.facts.items()
        )
        return (
            f'<div><strong style="color:{colour}">{sign}{escape(self.title)}</strong>{_paragraphs(self.sentences)}'
            f"{f'<table>{facts}</table>' if facts else ''}{''.join(map(_drawn, self.tables))}"
            f"{_paragraphs((*self.notes, *self.more))}</div>"
        )


def tone_of(good: bool | None) -> Tone:
    """The tone of good news, of bad ones, and of neither (None)."""
    return "plain" if good is None else "good" if good else "bad"


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _drawn(table: CardTable) -> str:
    if not table.rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in table.rows[:_MOST_ROWS]
    )
    more = len(table.rows) - _MOST_ROWS
    rest = f"<small>and {more:,} more</small>" if more > 0 else ""
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class ShownAsCard(ABC):
    """Shown at a prompt and in a notebook as the :class:`Card` that it makes of itself."""

    @abstractmethod
    def card(self) -> Card:
        """What is worth knowing at a glance."""

    def __repr__(self) -> str:
        return self.card().line()

    def _repr_html_(self) -> str:
        return self.card().html()


class SaidInLines(ABC):
    """A result that is said in a few lines: the first is the title of its card."""

    @property
    def ok(self) -> bool:
        """It is an answer, so there is nothing that could not hold."""
        return True

    @abstractmethod
    def lines(self) -> list[str]:
        """The result for people, line by line."""

    def card(self) -> Card:
        """The lines."""
        title, *sentences = self.lines()
        return Card(title, sentences=sentences)

    def _repr_html_(self) -> str:
        return self.card().html()


class Result(Protocol):
    """What a command, a notebook and the workbench end with: ``ok`` is the exit code, ``as_dict`` the JSON, ``card`` what people read."""

    @property
    def ok(self) -> bool:
        """Whether what was asked for holds."""
        ...

    def as_dict(self) -> Mapping[str, Any]:
        """The result as plain data; its keys are public."""
        ...

    def card(self) -> Card:
        """The result for people."""
        ...


@dataclass(frozen=True, repr=False)
class PlainResult(ShownAsCard):
    """A result of figures and a card that says them, where no class of its own holds them."""

    figures: Mapping[str, Any]
    shown: Card
    ok: bool = True

    @classmethod
    def saying(cls, text: str, figures: Mapping[str, Any], ok: bool = True, notes: Sequence[str] = ()) -> PlainResult:
        """A result that is said in a sentence."""
        return cls(figures, Card(text, notes=notes), ok)

    @classmethod
    def beside(cls, result: Result, figures: Mapping[str, Any], notes: Sequence[str] = ()) -> PlainResult:
        """A result with what a command did besides: further figures, and notes that say it."""
        card = result.card()
        return cls({**result.as_dict(), **figures}, replace(card, notes=(*card.notes, *notes)), result.ok)

    def as_dict(self) -> Mapping[str, Any]:
        """The figures."""
        return self.figures

    def card(self) -> Card:
        """The card as it was made."""
        return self.shown


def shown(value: object) -> str:
    """A value for people: fractions as they are and as a decimal, mappings item by item, lists with commas, nothing as ``-``."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return f"{value.numerator:,}" if value.denominator == 1 else f"{value} ({float(value):.4g})"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if _MANY <= abs(value) < float("inf") else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value))
    return str(value)


def _short(value: object) -> str:
    return shortened("" if value is None else shown(value), _LONGEST)


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
