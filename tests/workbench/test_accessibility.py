"""Every page judged by axe-core, at both sizes and in both themes: no serious finding, no scrolling sideways, no inline script or style."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.workbench.conftest import Bench, Visitor

PAGES = ("data", "columns", "columns/2", "columns/5", "guarantee", "explore", "publish", "more", "more/views")
READY = {
    "data": "#rows-part",
    "columns": "#exposure .big",
    "columns/2": ".ladder",
    "columns/5": ".tree",
    "guarantee": ".part table",
    "explore": ".solutions .tabs",
    "publish": ".promise",
    "more": ".verticals",
    "more/views": "textarea",
}


@pytest.fixture(scope="module")
def project(visitor: Visitor, bench: Bench) -> str:
    """The address of the demo project, without its page."""
    page = visitor.page()
    page.goto(bench.base)
    page.click("text=Open the demo data")
    page.wait_for_selector("#rows-part")
    return re.sub(r"/data$", "", page.url)


def judged(page: Any) -> list[str]:
    """The serious findings of axe-core on a page."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    found = axe.Axe().run(page)
    return [
        f"{each['id']}: {node['html'][:160]}"
        for each in found.response["violations"]
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"][:3]
    ]


def looked_at(visitor: Visitor, address: str, ready: str, width: int, theme: str) -> tuple[list[str], bool, str]:
    page = visitor.page()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.goto(address)
    page.wait_for_selector(ready)
    wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth + 1")
    found, html = judged(page), page.content()
    page.close()
    return found, wide, html


QUICK = ("columns", "explore")


@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in PAGES if name not in QUICK)]
)
def test_a_page_has_no_serious_finding(visitor: Visitor, project: str, name: str) -> None:
    found, wide, html = looked_at(visitor, f"{project}/{name}", READY[name], 1440, "light")
    assert found == []
    assert not wide
    assert re.findall(r"<script(?![^>]*\ssrc=)[^>]*>|<style|\sstyle=|\son\w+=", html) == []


@pytest.mark.slow
@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (390, "dark"), (1440, "dark")])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_serious_finding_on_a_phone_and_in_the_dark(
    visitor: Visitor, project: str, name: str, width: int, theme: str
) -> None:
    found, wide, _ = looked_at(visitor, f"{project}/{name}", READY[name], width, theme)
    assert found == []
    assert not wide


def test_the_first_page_has_no_serious_finding(visitor: Visitor, bench: Bench) -> None:
    found, wide, _ = looked_at(visitor, bench.base, ".doors", 390, "dark")
    assert found == []
    assert not wide
