"""The workbench in a browser: from the command to the first page, from Adult's upload to its profile and its best release, 1.19 million rows by path, and reports."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.adult import SHARED

_PORT = 8977
_PATIENCE = 600_000
_IDLE = 0.1
_REPORTED = (
    SHARED / "sdcmicro" / "free1.csv.gz",
    SHARED / "gss" / "gss_wages.parquet",
    SHARED / "gss" / "cces_tv16.parquet",
)


@dataclass(frozen=True)
class Workbench:
    """A running workbench with a browser that was let in: the address, a page, the seconds until the first page was there and those of processor that its server used until then, and its process."""

    base: str
    page: Any
    seconds: float
    process: int
    started: float = 0.0

    def processor(self) -> float:
        """The processor seconds that the server and its workers have used so far; on a loaded machine they say more than the clock."""
        used = 0.0
        for entry in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if self.process in (int(entry.parent.name), int(fields[1])):
                used += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return used


def _used(process: int) -> float:
    """The processor seconds that one process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def workbench(
    home: Path, *, width: int = 1440, height: int = 900, theme: str = "light", at_home: bool = False
) -> Iterator[Workbench]:
    """Start the command, open its link in Chromium, and stop both at the end. ``home`` holds the projects, or is the home folder of a user who has them in the usual place."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
        page = context.new_page()
        page.set_default_timeout(_PATIENCE)
        projects = home / "workbench" if at_home else home
        environment = {
            **os.environ,
            "RETICENT_WORKBENCH": str(projects),
            "RETICENT_LEDGER": str(home / "ledger.sqlite"),
        }
        environment |= {"HOME": str(home)} if at_home else {}
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "reticent", "workbench", "--no-browser", "--port", str(_PORT)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            link = re.findall(r"http://\S+", process.stdout.readline())[0]
            while True:
                try:
                    page.goto(link)
                    break
                except Exception:
                    time.sleep(0.02)
            page.wait_for_selector(".doors")
            seconds = time.perf_counter() - started
            yield Workbench(f"http://127.0.0.1:{_PORT}", page, seconds, process.pid, _used(process.pid))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
            browser.close()


def warmed_up(bench: Workbench) -> None:
    """Wait until the processes have imported and compiled what the first tasks need: until they use no processor for a second."""
    before = -1.0
    while bench.processor() - before > _IDLE:
        before = bench.processor()
        bench.page.wait_for_timeout(1_500)


def timed(act: Any) -> float:
    """The seconds that something takes."""
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


def measured(bench: Workbench, act: Any) -> str:
    """The seconds that something takes, on the clock and of processor."""
    before = bench.processor()
    seconds = timed(act)
    return f"{seconds:.1f} s ({bench.processor() - before:.1f} s of processor)"


def at(page: Any, name: str) -> str:
    """The address of another page at the same version."""
    return re.sub(r"(/v/\d+)/.*", rf"\1/{name}", page.url)


def shown(page: Any, name: str, ready: str) -> float:
    """The seconds until a page shows what it is for."""

    def act() -> None:
        page.goto(at(page, name))
        page.wait_for_selector(ready)

    return timed(act)


def main() -> None:
    """Print a row for each step."""
    adult, large = SHARED / "adult" / "adult.csv.gz", SHARED / "ihis_synth" / "ihis_synth.parquet"
    with tempfile.TemporaryDirectory() as place, workbench(Path(place) / "home") as bench:
        page = bench.page
        print(
            f"from the command to the first page: {bench.seconds:.1f} s ({bench.started:.1f} s of the server's processor)"
        )
        warmed_up(bench)  # while a person looks for the file

        def upload() -> None:
            page.set_input_files("input[data-upload]", str(adult))
            page.wait_for_selector("#rows-part")

        before = bench.processor()
        seconds = timed(upload)
        profiled = seconds + shown(page, "columns", ".column-card")
        print(
            f"Adult, from upload to first rows: {seconds:.1f} s; to the profile of every column: {profiled:.1f} s "
            f"({bench.processor() - before:.1f} s of processor)"
        )
        before = bench.processor()
        seconds = shown(page, "explore", ".candidate .verdict")
        print(
            f"Adult, to the best release (k=5, 5 %): {seconds:.1f} s more ({bench.processor() - before:.1f} s of processor)"
        )

        page.goto(bench.base)
        page.fill("input[name=path]", str(large))

        def open_large() -> None:
            page.click("button:has-text('Open') >> nth=0")
            page.wait_for_selector("#rows-part")

        print(f"1,193,504 rows by path, to the first rows: {measured(bench, open_large)}")
        for name, ready in (
            ("columns", ".column-card"),
            ("columns", "#exposure .big"),
            ("columns/1", ".ladder"),
            ("guarantee", ".definition"),
            ("explore", ".candidate .verdict, .candidate .failed"),
        ):
            before = bench.processor()
            begun = shown(page, name, f"{ready}, .progress")
            done = shown(page, name, ready) + begun
            print(
                f"1,193,504 rows, {name}: answer or progress after {begun:.1f} s, done after {done:.1f} s ({bench.processor() - before:.1f} s of processor)"
            )
        for path in _REPORTED:
            publish(bench, path)


def publish(bench: Workbench, path: Path) -> None:
    """Open a file and publish what is proposed, with its report; print a row."""
    page = bench.page
    page.goto(bench.base)
    page.fill("input[name=path]", str(path))
    page.click("button:has-text('Open') >> nth=0")
    page.wait_for_selector("#rows-part")
    page.goto(at(page, "explore"))
    page.wait_for_selector("#candidate .verdict")
    page.goto(at(page, "publish"))
    page.wait_for_selector(".promise")
    warmed_up(bench)

    def release() -> None:
        page.click("button:text-is('Publish')")
        page.wait_for_selector(".release .chip.good")

    released = measured(bench, release)
    report = measured(bench, lambda: page.wait_for_selector(".release a:text-is('Report')"))
    print(f"{path.name}: to the verified release {released}; to its report {report} more")


if __name__ == "__main__":
    main()
