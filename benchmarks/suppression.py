"""Starred cells against the floor G (TARGETS.md). Run ``python -m benchmarks suppression``; with ``large`` also 1.19 million rows (some minutes).

What comes out: starred cells, their number over the lower bounds, the count under the wildcard reading beside sdcMicro's, and the loss beside other methods.
"""

from __future__ import annotations

from benchmarks.measuring import Row, alone, best_of, group_by_floor, in_turn, report
from benchmarks.search import Data, adult, ihis
from reticent.definitions import DistinctLDiversity, GroupDefinition, KAnonymity, TCloseness
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.methods.suppress import Suppress, SuppressionFit
from reticent.table import Hierarchy
from reticent.utility import utility_of

SDCMICRO = 17_916
"""What sdcMicro stars on Adult, in 355 s, under the wildcard reading, which is not k-anonymity."""


def plain(data: Data) -> Data:
    """The same rows, of which a cell is shown or starred."""
    return Data(data.frame, dict.fromkeys(data.quasi, Hierarchy.suppression()), data.sensitive)


def told(found: SuppressionFit) -> str:
    return f"{found.cost:,} starred cells; bounds {found.lower_bound:,} (neighbours) and {found.pattern_bound:,} (patterns), at most {found.ratio:.3f} times the least"


def _fitted() -> str:
    return told(Suppress(k=5).fit(plain(ihis()).table()))


def main(*names: str) -> None:
    data, rows = plain(adult()), []
    # In turn, since a busy machine slows both alike.
    floor, seconds = in_turn(
        5, lambda: group_by_floor(data.frame, list(data.quasi)), lambda: Suppress(k=5).fit(data.table()).cost
    )
    found = Suppress(k=5).fit(data.table())
    rows.append(Row("Adult x 8, k=5, own symbol", floor, seconds, 300, told(found)))
    seconds, count = best_of(3, lambda: Suppress(k=5).fit(data.table()).sdcmicro_count)
    wild = f"{count:,} starred cells; sdcMicro {SDCMICRO:,} in 355 s. Never certified"
    rows.append(Row("the same, with the wildcard count", floor, seconds, None, wild))
    jobs: list[tuple[str, GroupDefinition, Suppress | Mondrian | Lattice, bool]] = [
        ("Suppress, k=5, draft", KAnonymity(5), Suppress(), False),
        ("Suppress, k=5 + distinct 3, draft", KAnonymity(5) & DistinctLDiversity(3), Suppress(), False),
        ("Suppress, k=5 + t=0.4, draft", KAnonymity(5) & TCloseness("0.4"), Suppress(), False),
        ("Suppress along hierarchies, k=5, draft", KAnonymity(5), Suppress(hiding="hierarchy"), True),
        ("Mondrian, k=5, draft", KAnonymity(5), Mondrian(values="sets"), True),
        ("Lattice with 5 %, k=5, draft", KAnonymity(5), Lattice(suppression="0.05"), True),
    ]
    for job, definition, method, hierarchies in jobs:
        own = adult() if hierarchies else data
        seconds, draft = best_of(2, lambda own=own, method=method, wanted=definition: method.draft(own.table(), wanted))  # type: ignore[misc]
        loss = f"loss {utility_of(draft)['loss']:.4f}, {draft.suppressed} rows left out"
        rows.append(Row(f"Adult x 8: {job}", floor, seconds, None, loss))
    if "large" in names:
        large = plain(ihis())
        floor = group_by_floor(large.frame, list(large.quasi))
        seconds, used, note = alone(_fitted)
        rows.append(Row("1.19 million rows x 9, k=5", floor, seconds, None, f"{note}; {used}"))
    report("Starred cells", "python -m benchmarks suppression" + (" large" if "large" in names else ""), rows)
