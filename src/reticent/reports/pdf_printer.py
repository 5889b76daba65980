"""Conversion of an HTML page to PDF by an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from reticent.errors import DataError, MissingPackage

VARIABLE = "RETICENT_BROWSER"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
_PATIENCE = 120


def printed(page: bytes) -> bytes:
    """Convert a self-contained HTML page to PDF. Uses no network and removes its temporary files."""
    browser = _browser()
    with tempfile.TemporaryDirectory(prefix="reticent-print-") as folder:
        source, target = Path(folder) / "page.html", Path(folder) / "page.pdf"
        source.write_bytes(page)
        command = [
            browser,
            "--headless",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--no-pdf-header-footer",
            f"--user-data-dir={folder}/profile",
            f"--print-to-pdf={target}",
            # Chromium refuses to start its sandbox as root; the page is our own and contains no script.
            *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
            source.as_uri(),
        ]
        try:
            result = subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DataError(
                f"The browser {browser!r} did not print the page ({error}). Write .html and print it yourself."
            ) from None
        content = target.read_bytes() if target.is_file() else b""
        if not content.startswith(b"%PDF-"):
            error_lines = result.stderr.decode(errors="replace").strip().splitlines()
            raise DataError(
                f"The browser {browser!r} did not print the page ({error_lines[-1] if error_lines else f'exit code {result.returncode}'}). Write .html and print it yourself."
            )
        return content


def _browser() -> str:
    """Return the browser named in the environment, or else the first one installed."""
    requested = os.environ.get(VARIABLE)
    browser = shutil.which(requested) if requested else next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        problem = (
            f"{requested!r} ({VARIABLE}) was not found" if requested else f"none was found ({', '.join(_BROWSERS[:3])})"
        )
        raise MissingPackage(
            f"A PDF is printed by a browser, and {problem}. Install chromium, name a browser with {VARIABLE}, or write .html and print it from any browser."
        )
    return browser
