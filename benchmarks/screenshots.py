"""``make screenshots``: the pictures of docs/how-to/workbench.md, taken from the workbench on the demo data."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.workbench import at, workbench

PAGES = {
    "data": "#rows-part",
    "columns": "#exposure .big",
    "columns/2": ".ladder",
    "guarantee": ".definition",
    "explore": ".solutions .tabs",
    "publish": ".promise",
}


def main(folder: str = "docs/images") -> None:
    """Take a picture of every page; the first screen, as a reader of the page sees it."""
    target = Path(folder)
    with tempfile.TemporaryDirectory() as place, workbench(Path(place), height=940, at_home=True) as bench:
        page = bench.page
        page.screenshot(path=target / "workbench-start.png")
        page.click("text=Open the demo data")
        page.wait_for_selector("#rows-part")
        for name, ready in PAGES.items():
            page.goto(at(page, name))
            page.wait_for_selector(ready)
            if name == "columns/2":
                page.select_option("#levels-kind", "cuts")
            page.wait_for_timeout(1_500)
            page.screenshot(path=target / f"workbench-{name.replace('/2', '-levels').split('/')[0]}.png")


if __name__ == "__main__":
    main(*sys.argv[1:])
