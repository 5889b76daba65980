"""Building blocks of pages: sections with blocks, rendered by the Jinja templates in ``templates/``.

Python determines the content of a page, the templates its layout. A block names a macro of ``templates/parts.html`` and its arguments; the workbench uses
the same macros. All values are HTML-escaped except the SVG figures, which this package generates.
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
_WIDEST_TABLE = 90  # characters that fit on one line of the page


@cache
def _environment() -> Environment:
    """Return the Jinja environment with the templates of all pages; values are HTML-escaped."""
    return Environment(
        loader=PackageLoader("reticent.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        lstrip_blocks=True,
    )


def page_text(template: str, **content: Any) -> str:
    """Render a page as one self-contained HTML file: no external resources, no scripts, only its own style sheet (enforced by a content security policy)."""
    style = files("reticent.reports").joinpath("templates", "report.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    return (
        _environment()
        .get_template(template)
        .render(version=__version__, style=style, style_hash=f"sha256-{digest}", **content)
    )


@dataclass(frozen=True)
class PageBlock:
    """A part of a section: a macro of ``parts.html`` with its arguments."""

    macro: str
    content: Mapping[str, Any]

    @property
    def html(self) -> Markup:
        """Render the block as HTML."""
        rendered: Markup = getattr(_environment().get_template("parts.html").module, self.macro)(**self.content)
        return rendered


@dataclass(frozen=True)
class PageSection:
    """A section of the page: its title (also listed in the contents), an introduction, and its blocks."""

    title: str
    lead: str
    blocks: Sequence[PageBlock] = ()

    @property
    def anchor(self) -> str:
        """The title as a fragment identifier."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class TableCell:
    """A table cell. Its kind determines line breaks: ``whole`` none, ``pieces`` at spaces, ``free`` anywhere."""

    text: str
    kind: str

    @property
    def fixed(self) -> bool:
        """True if the text is a fingerprint or a key, which is shown in a monospaced font."""
        return self.text.startswith(("sha256", "Ed25519"))


def block(macro: str, **content: Any) -> PageBlock:
    """Return a block for a macro of ``parts.html`` with these arguments."""
    return PageBlock(macro, content)


def figure_block(drawn: Figure) -> PageBlock:
    """Return a block with a figure (for wide and narrow screens), its caption, and its numbers in an expandable table."""
    return block("figure", drawn=drawn)


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> PageBlock:
    """Return a table block; the first cell of a row is its header. Short cells do not wrap; in a wide table they wrap at spaces only, so dates stay whole and all columns fit."""
    widths = [max(map(len, column_texts)) for column_texts in zip(*(heads, *rows) if heads else rows, strict=True)]
    is_wide = sum(min(width, _LONGEST_LINE) for width in widths) > _WIDEST_TABLE
    return block("table", heads=tuple(heads), rows=[[_cell(text, is_wide) for text in row] for row in rows])


def _cell(text: str, is_wide: bool) -> TableCell:
    """Return a table cell with its rule for line breaks; ``is_wide`` is for cells of a table that exceeds one line."""
    if len(text) > _LONGEST_LINE:
        return TableCell(text, "free")
    return TableCell(text, "pieces" if is_wide and " " in text else "whole")


def listing(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[PageBlock, ...]:
    """Return a title and a table, or nothing if there are no rows."""
    return (block("title", text=title), plain_table(heads, rows)) if rows else ()
