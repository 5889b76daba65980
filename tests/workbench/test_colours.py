"""Colours of the workbench for people who do not see all of them: marks of charts stay apart, and good and bad are always words or figures, too."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import reticent.workbench
from tests.workbench.conftest import Shop

SHEET = (Path(reticent.workbench.__file__).parent / "static" / "workbench.css").read_text("utf-8")
# Simulation of complete protanopia, deuteranopia and tritanopia in linear RGB: Machado, Oliveira and Fernandes (2009), table for severity 1.
VISIONS = {
    "all colours": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
MARKS = ("accent", "soft", "chosen", "card")
"""What charts are drawn in: passing and published, before, chosen, failing (hollow)."""
APART = 25.0
"""A distance of 2.3 in CIELAB is just noticeable side by side; small marks that lie apart need about ten times as much."""
TONES = {"good", "bad", "warn"}
DRAWN = {"rect", "circle", "path", "line", "polyline"}
EMPTY = {"input", "img", "br", "hr", "meta", "link", "use"}


def themes() -> list[dict[str, str]]:
    """The colours of the light theme and of both dark ones."""
    found = [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root[^{]*{([^}]*)}", SHEET)
    ]
    return [each for each in found if each]


def lab(colour: str, vision: str) -> np.ndarray:
    """A colour in CIELAB (D65) as somebody sees it."""
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISIONS[vision]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    scaled = to_xyz @ seen / np.array([0.95047, 1, 1.08883])
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_the_simulation_confuses_what_people_confuse() -> None:
    """Red and green of equal lightness nearly coincide without red or green, and blue and yellow do not."""
    apart = {each: np.linalg.norm(lab("#b05a3c", each) - lab("#6f7a2f", each)) for each in VISIONS}
    assert apart["no green"] < 0.5 * apart["all colours"]
    assert apart["no red"] < 0.5 * apart["all colours"]
    assert np.linalg.norm(lab("#2040c0", "no green") - lab("#c0b020", "no green")) > 80


@pytest.mark.parametrize("vision", VISIONS)
def test_marks_of_charts_differ_for_everybody(vision: str) -> None:
    assert len(themes()) == 3
    for theme in themes():
        for one, other in combinations(MARKS, 2):
            if {one, other} == {"soft", "card"}:  # bars, which are also longer or shorter than nothing
                continue
            apart = float(np.linalg.norm(lab(theme[one], vision) - lab(theme[other], vision)))
            assert apart >= APART, (one, other, apart)


class Toned(HTMLParser):
    """Collect the words of every element with a tone; those of its cell or paragraph for a mark inside a drawing."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[tuple[str, list[str], bool]] = []
        self.toned: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        told = [text for name in ("aria-label", "title") if (text := said.get(name))]
        if tag in EMPTY:
            return
        words = self.holder() if tag in DRAWN else told
        if TONES & set((said.get("class") or "").split()):
            self.toned.append((self.get_starttag_text() or tag, words))
        self.open.append((tag, words, tag in ("td", "p", "li", "div", "th")))

    def holder(self) -> list[str]:
        """The words of the innermost block."""
        return next((words for _, words, is_block in reversed(self.open) if is_block), [])

    def handle_data(self, data: str) -> None:
        for _, words, _ in self.open if data.strip() else ():
            words.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass


def test_good_and_bad_are_never_said_by_colour_alone(shop: Shop, policy: Path) -> None:
    project = shop.opened(policy)
    parts = [
        ("rows", "data"),
        ("columns", "columns"),
        ("exposure", "columns"),
        ("candidate", "explore"),
        ("attacks", "explore"),
    ]
    shown = [
        shop.part(project, name, page, **({"start": 0, "count": 9} if name == "rows" else {})) for name, page in parts
    ]
    shown += [shop.part(project, "words", "publish"), *(shop.page(project, name) for name in ("guarantee", "explore"))]
    shop.rail(project)
    shown.append(shop.client("GET", f"/p/{project.id}/rail?v=1&page=data").text)
    shop.client.post(f"/p/{project.id}/publish", dataset="")
    shown.append(shop.page(project, "publish"))
    tones = []
    for html in shown:
        reader = Toned()
        reader.feed(html)
        tones += reader.toned
    assert len(tones) > 10
    assert {tone for start, _ in tones for tone in TONES if tone in start} >= {"good", "bad"}
    for start, words in tones:
        assert any(re.search(r"\w", each) for each in words), start
