"""What pages are put together from: the frame of a self-contained page, its cards, contents, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Template

from reticent import __version__
from reticent.base.figures import Figure

_LONGEST_LINE = 26  # [2025-06-23, 2025-08-23]
_WIDEST_TABLE = 90  # characters that fit beside each other on the page
LOGO = (
    '<svg viewBox="0 0 24 24" aria-hidden="true"><circle cx="12" cy="12" r="10.5" fill="none" stroke="currentColor" stroke-width="2"/>'
    '<path d="M7 12h10" stroke="currentColor" stroke-width="2.4" stroke-linecap="round"/></svg>'
)


def whole_page(title: str, body: str) -> str:
    """One self-contained file: nothing is loaded from elsewhere, and it prints."""
    home = files("reticent.reports")
    return Template(home.joinpath("report.html").read_text("utf-8")).substitute(
        version=__version__,
        title=escape(title),
        style=home.joinpath("report.css").read_text("utf-8"),
        body=body,
    )


@dataclass(frozen=True)
class PageSection:
    """A card of the page: its title, which the contents list, a lead, and its content as HTML."""

    title: str
    lead: str
    content: str

    @property
    def anchor(self) -> str:
        """The title as the name of a place in the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


def card(section: PageSection) -> str:
    """A section as HTML."""
    return (
        f'<section id="{section.anchor}"><h2>{escape(section.title)}</h2><p>{escape(section.lead)}</p>'
        f"{section.content}</section>"
    )


def contents(sections: Sequence[PageSection]) -> str:
    """Links to all sections."""
    links = "".join(f'<li><a href="#{each.anchor}">{escape(each.title)}</a></li>' for each in sections)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def figure_block(drawn: Figure) -> str:
    """A picture, wide and narrow, with its caption and its numbers as a table that can be opened."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in drawn.columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f'<td class="number">{escape(cell)}</td>' for cell in row[1:])
        + "</tr>"
        for row in drawn.rows
    )
    numbers = (
        f'<details><summary>The numbers</summary><div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>'
        if rows
        else ""
    )
    caption = f"<figcaption>{escape(drawn.description)}</figcaption>" if drawn.captioned else ""
    narrow = f'<div class="narrow">{drawn.narrow}</div>' if drawn.narrow else ""
    kind = ' class="wide"' if drawn.narrow else ""
    return f"<figure><div{kind}>{drawn.svg}</div>{narrow}{caption}</figure>{numbers}"


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts; the first of a row is its head. Short cells stay on one line; in a wide table they break at spaces only, so that a date is never parted and all columns are seen."""
    wide = sum(min(max(map(len, each)), _LONGEST_LINE) for each in zip(heads, *rows, strict=True)) > _WIDEST_TABLE
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        "<tr>" + _cell("th", row[0], wide) + "".join(_cell("td", text, wide) for text in row[1:]) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(kind: str, text: str, wide: bool) -> str:
    scope = ' scope="row"' if kind == "th" else ""
    shown = plain_or_code(text) if kind == "td" else escape(text)
    if len(text) > _LONGEST_LINE:
        return f"<{kind}{scope}>{shown}</{kind}>"
    if not wide or " " not in text:
        return f'<{kind} class="whole"{scope}>{shown}</{kind}>'
    pieces = " ".join(f'<span class="whole">{escape(piece)}</span>' for piece in text.split(" "))
    return f"<{kind}{scope}>{pieces}</{kind}>"


def plain_or_code(value: str) -> str:
    """Fingerprints and keys in fixed width, sentences as text."""
    return f"<code>{escape(value)}</code>" if value.startswith(("sha256", "Ed25519")) else escape(value)


def listing(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table under a title of its own; nothing without rows."""
    return f"<h3>{escape(title)}</h3>{plain_table(heads, rows)}" if rows else ""
