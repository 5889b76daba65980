"""The command line: one thin module per command. The work is done in the packages that they call."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the ``reticent`` command."""
    from reticent.cli.app import app_for
    from reticent.cli.console import run

    sys.exit(run(app_for(sys.argv[1:])))
