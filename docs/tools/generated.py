"""The generated parts of pages: a comment ``<!-- generated: NAME -->`` in a page becomes what the source of NAME returns."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from docs.tools import api, catalogue, commands, policy
from reticent.registry import ROOMS

MARK = re.compile(r"<!-- generated: ([\w -]+) -->")
_ROOT = Path(__file__).resolve().parents[2]


def _results() -> str:
    """The current figures, below their heading."""
    text = (_ROOT / "benchmarks" / "RESULTS.md").read_text("utf-8").partition("\n")[2].strip()
    return text.replace("](history)", "](../../benchmarks/history/2026-11.md)")


PARTS: dict[str, Callable[[], str]] = {
    "commands": commands.commands,
    "policy keys": policy.releases,
    "audit policy keys": policy.audits,
    "definitions": catalogue.definitions,
    "methods": catalogue.methods,
    "results": _results,
    **{f"api {name}": partial(api.group, name) for name in api.GROUPS},
    **{f"api {name}": partial(api.package, name) for name in ROOMS},
}


_OUTSIDE = re.compile(
    r"\]\((?:\.\./){2,3}((?!how-to|start|tutorials|explanations|reference|evidence|images)[\w./-]+?)(#[\w-]+)?\)"
)
_SOURCE = "https://reticent.example/source"


def with_source_links(text: str) -> str:
    """The text of a page in which links to files outside docs/ lead to the repository: the site does not have them."""
    return _OUTSIDE.sub(lambda link: f"]({_SOURCE}/{link[1]}{link[2] or ''})", text)


@cache
def _keys() -> re.Pattern[str]:
    """The keys of the references, in brackets and without a link."""
    page = (_ROOT / "docs" / "reference" / "references.md").read_text("utf-8")
    keys = re.findall(r"^### (\w+)$", page, re.MULTILINE)
    return re.compile(rf"\[({'|'.join(keys)})\](?![(\[])")


def with_citations(text: str, page: str) -> str:
    """The text of a page in which keys such as [Sweeney2002] lead to the references."""
    up = "../" * page.count("/")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    linked = [
        _keys().sub(lambda key: f"[{key[1]}]({up}reference/references.md#{key[1].lower()})", part)
        for part in parts[::2]
    ]
    return "".join(part for pair in zip(linked, [*parts[1::2], ""], strict=True) for part in pair)


def filled(text: str) -> str:
    """The text of a page with its generated parts."""
    return MARK.sub(lambda mark: PARTS[mark[1]](), text)
