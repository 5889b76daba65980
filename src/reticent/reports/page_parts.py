"""What pages are put together from: sections with blocks, laid out by the templates in ``templates/``.

Python decides what a page tells, the templates how it looks. A block names a macro of ``templates/parts.html`` and its content; the workbench uses the same macros
where it shows the same things. Every value is escaped but the pictures, which are drawn here.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from reticent import __version__
from reticent.base.figures import Figure

_LONGEST_LINE = 26  # [2025-06-23, 2025-08-23]
_WIDEST_TABLE = 90  # characters that fit beside each other on the page


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("reticent.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )


def page_text(template: str, **content: Any) -> str:
    """A whole page as one self-contained file: it loads nothing, runs nothing, applies no style but its own, and prints."""
    style = files("reticent.reports").joinpath("templates", "report.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(version=__version__, style=style, style_hash=f"sha256-{digest}", **content)
    )


@dataclass(frozen=True)
class PageBlock:
    """A part of a section: a macro of ``parts.html`` with its content."""

    macro: str
    content: Mapping[str, Any]

    @property
    def html(self) -> Markup:
        """The block as HTML."""
        filled: Markup = getattr(_environment().get_template("parts.html").module, self.macro)(**self.content)
        return filled


@dataclass(frozen=True)
class PageSection:
    """A card of the page: its title, which the contents list, a lead, and its blocks."""

    title: str
    lead: str
    blocks: Sequence[PageBlock] = ()

    @property
    def anchor(self) -> str:
        """The title as a fragment identifier."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class TableCell:
    """A text of a table. Its kind says where it may break: ``whole`` nowhere, ``pieces`` at spaces, ``free`` anywhere."""

    text: str
    kind: str

    @property
    def fixed(self) -> bool:
        """Whether it is a fingerprint or a key, which is set in fixed width."""
        return self.text.startswith(("sha256", "Ed25519"))


def block(macro: str, **content: Any) -> PageBlock:
    """A block of a macro with its content."""
    return PageBlock(macro, content)


def figure_block(drawn: Figure) -> PageBlock:
    """A picture, wide and narrow, with its caption and its numbers as a table that can be opened."""
    return block("figure", drawn=drawn)


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> PageBlock:
    """A table of texts; the first of a row is its head. Short cells stay on one line; in a wide table they break at spaces only, so a date is never split and all columns are visible."""
    widths = [max(map(len, each)) for each in zip(*(heads, *rows) if heads else rows, strict=True)]
    wide = sum(min(width, _LONGEST_LINE) for width in widths) > _WIDEST_TABLE
    return block("table", heads=tuple(heads), rows=[[_cell(text, wide) for text in row] for row in rows])


def _cell(text: str, wide: bool) -> TableCell:
    if len(text) > _LONGEST_LINE:
        return TableCell(text, "free")
    return TableCell(text, "pieces" if wide and " " in text else "whole")


def listing(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[PageBlock, ...]:
    """A table under a title of its own; nothing without rows."""
    return (block("title", text=title), plain_table(heads, rows)) if rows else ()
