"""The command line: one thin module a command; the work happens in the rooms that they call."""

from __future__ import annotations

import sys


def main() -> None:
    """The ``reticent`` command."""
    from reticent.cli.app import app_for
    from reticent.cli.console import run

    sys.exit(run(app_for(sys.argv[1:])))
