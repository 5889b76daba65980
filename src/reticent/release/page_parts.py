"""The parts that sections of a report are made of: cards, pictures with their numbers, tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from reticent.release.figures import Figure


def section(title: str, lead: str, content: str) -> str:
    """A card of the page with a title and a lead."""
    return f"<section><h2>{escape(title)}</h2><p>{escape(lead)}</p>{content}</section>"


def figure(drawn: Figure) -> str:
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


def listing(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table under a title of its own; nothing without rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<h3>{escape(title)}</h3><div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
