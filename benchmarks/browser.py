"""The recipient's verifier in a browser: how long Adult's release takes, and whether the page stays alive while 1.19 million rows are decided."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import reticent as rt
from benchmarks.adult import complete_rows, quasi
from benchmarks.search import ihis
from reticent.verifier import write_page

_GAPS = "window.longest = 0; let last = performance.now(); setInterval(() => { const now = performance.now(); window.longest = Math.max(window.longest, now - last); last = now; }, 20);"


def releases(folder: Path) -> dict[str, Path]:
    """Public folders by what they are."""
    hierarchies = quasi(7)
    adult = rt.Table(complete_rows().select(*hierarchies, "occupation"), quasi=hierarchies, sensitive="occupation")
    definition = rt.KAnonymity(5) & rt.DistinctLDiversity(3) & rt.EntropyLDiversity(2)
    found = {"Adult, 45,222 rows": rt.publish(adult, definition, rt.Lattice(suppression="0.05")).save(folder / "adult")}
    large = ihis().table()
    for kind in ("csv", "parquet"):
        saved = rt.publish(large, rt.KAnonymity(5), rt.Lattice(suppression="0.05"), files=kind).save(
            folder / f"ihis-{kind}"
        )  # type: ignore[arg-type]
        found[f"IHIS, {large.rows:,} rows, {kind}"] = saved
    return {name: path / "public" for name, path in found.items()}


def main() -> None:
    """Print a row for each release: seconds until the verdict, and the longest time that the page did not answer."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as place, sync_playwright() as running:
        page_file = write_page(Path(place) / "reticent-verify.html")
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name, folder in releases(Path(place)).items():
            page = browser.new_page()
            page.add_init_script(_GAPS)
            page.goto(page_file.as_uri())
            page.set_input_files("#single", [str(path) for path in sorted(folder.iterdir())])
            page.wait_for_selector("#answer:not([hidden])", timeout=300_000)
            state, seconds = (page.get_attribute("#answer", f"data-{each}") for each in ("state", "seconds"))
            longest = page.evaluate("window.longest")
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            print(
                f"{name} ({size:.1f} MB): {state} after {float(seconds or 0):.2f} s; the page waited {longest:.0f} ms at most"
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
