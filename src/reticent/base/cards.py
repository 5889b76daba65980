"""How results are displayed: one line at a prompt, a small page in a notebook, a terminal screen. All are rendered from one :class:`Card`."""

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
    """Rows with headers. A table with ``detail`` is shown only if details are requested; a notebook always has it."""

    heads: Sequence[str]
    rows: Sequence[Sequence[object]]
    title: str = ""
    detail: bool = False

    @classmethod
    def of(cls, title: str, records: Sequence[Mapping[str, object]]) -> CardTable:
        """A table of records with equal keys, which are the headers."""
        heads = [name.replace("_", " ") for name in (records[0] if records else ())]
        return cls(heads, [tuple(record.values()) for record in records], title)


@dataclass(frozen=True)
class Card:
    """The content of a result as plain data: a title, sentences below it, facts by name, tables, and notes at the end.

    ``tone`` is whether the result is good or bad; ``more`` are notes that are shown if details are requested.
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
        sentences = (_short(sentence).removeprefix("- ").rstrip(".") for sentence in self.sentences[:_FIRST])
        summary = "; ".join((*sentences, *facts))
        title = self.title.rstrip(".:")
        return f"<{title}: {summary}>" if summary else f"<{title}>"

    def html(self) -> str:
        """The card as HTML for a notebook, in its own colours; all text is escaped."""
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
    """The tone of a good result, of a bad one, and of neither (None)."""
    return "plain" if good is None else "good" if good else "bad"


def _paragraphs(texts: Sequence[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>" for text in texts)


def _drawn(table: CardTable) -> str:
    """Return a table as HTML, with at most ``_MOST_ROWS`` rows."""
    if not table.rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in table.heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(_short(cell))}</td>' for cell in row)}</tr>" for row in table.rows[:_MOST_ROWS]
    )
    more = len(table.rows) - _MOST_ROWS
    remark = f"<small>and {more:,} more</small>" if more > 0 else ""
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{remark}"


class ShownAsCard(ABC):
    """Displayed at a prompt and in a notebook as its :class:`Card`."""

    @abstractmethod
    def card(self) -> Card:
        """The card of the result."""

    def __repr__(self) -> str:
        return self.card().line()

    def _repr_html_(self) -> str:
        return self.card().html()


class SaidInLines(ABC):
    """A result displayed as a few lines: the first is the title of its card."""

    @property
    def ok(self) -> bool:
        """True: an answer cannot fail."""
        return True

    @abstractmethod
    def lines(self) -> list[str]:
        """Human-readable lines."""

    def card(self) -> Card:
        """The card made of the lines."""
        title, *sentences = self.lines()
        return Card(title, sentences=sentences)

    def _repr_html_(self) -> str:
        return self.card().html()


class Result(Protocol):
    """The common interface of results: ``ok`` determines the exit code, ``as_dict`` is the JSON, ``card`` is for people."""

    @property
    def ok(self) -> bool:
        """True if the requested property holds."""
        ...

    def as_dict(self) -> Mapping[str, Any]:
        """The result as plain data; its keys are public API."""
        ...

    def card(self) -> Card:
        """The result for people."""
        ...


@dataclass(frozen=True, repr=False)
class PlainResult(ShownAsCard):
    """A result given by figures and a card, without a class of its own."""

    figures: Mapping[str, Any]
    shown: Card
    ok: bool = True

    @classmethod
    def saying(cls, text: str, figures: Mapping[str, Any], ok: bool = True, notes: Sequence[str] = ()) -> PlainResult:
        """A result consisting of one sentence."""
        return cls(figures, Card(text, notes=notes), ok)

    @classmethod
    def beside(cls, result: Result, figures: Mapping[str, Any], notes: Sequence[str] = ()) -> PlainResult:
        """A result with additions of the command: further figures, and notes about them."""
        card = result.card()
        return cls({**result.as_dict(), **figures}, replace(card, notes=(*card.notes, *notes)), result.ok)

    def as_dict(self) -> Mapping[str, Any]:
        """The figures."""
        return self.figures

    def card(self) -> Card:
        """The card as it was made."""
        return self.shown


def shown(value: object) -> str:
    """A value for people: fractions exactly and as a decimal, mappings item by item, lists with commas, None as ``-``."""
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
    """The text with its first letter capitalized, unless it is a name."""
    return f"{text[:1].upper()}{text[1:]}"


def shortened(text: str, limit: int) -> str:
    """A text of at most ``limit`` characters; the rest is replaced by ``…``."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def percent(share: float, digits: int = 0) -> str:
    """A percentage with enough digits that few are not shown as 0 %, nor nearly all as 100 %; ``digits`` for shares in between."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share > 0.99:
        return f"{min(share, 0.999):.1%}"
    if share < _FEW:
        return f"{100 * share:.1g}%" if share >= _FEWEST else "under 0.0001%"
    return f"{share:.{digits}%}" if share >= 0.1 else f"{share:.1%}"
