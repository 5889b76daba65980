"""The steward's report with everything in it: what adversaries achieve before and after, and what drove the risk before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reticent.data.table import Table


def write_stewards_report(
    release: Any, path: str | Path, table: Table, *, people: Any = None, who: str | None = None
) -> Path:
    """Write the steward's report on a release (or its folder) of ``table``: its adversaries run, its risk looked at.

    ``people`` is a list that adversaries look up, ``who`` the column to call them by; without one the table's own people are looked up.
    """
    from reticent.attack import compare
    from reticent.inspect import exposures, risk_views
    from reticent.release.report import write_report

    return write_report(
        release,
        path,
        table=table,
        attacks=compare(table, release, people, who=who),
        risks=risk_views(table),
        exposed=[each.exposed for each in exposures(table, ())],
    )
