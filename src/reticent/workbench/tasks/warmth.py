"""What is imported and compiled before the first task, while the steward still looks for the file."""

from __future__ import annotations

import reticent as rt
from reticent.propose import exposures, propose, risk_views

_ROWS = {
    "age": [20 + n % 60 for n in range(400)],
    "sex": ["f", "m"] * 200,
    "town": [f"{10000 + n % 50}" for n in range(400)],
    "illness": ["flu", "cold", "asthma", "gout", "none"] * 80,
}


def warm(lane: str) -> None:
    """Go once through what pages ask for first, on rows of nobody."""
    table = rt.Table(
        _ROWS, quasi={"age": rt.Hierarchy.intervals([5, 10]), "sex": None, "town": None}, sensitive="illness"
    )
    if lane == "look":
        propose(table.frame)
        exposures(table, ())
        risk_views(table)
    rt.preview(table, rt.KAnonymity(2) & rt.DistinctLDiversity(2), rt.Lattice(suppression="0.05"))
