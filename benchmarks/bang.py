"""Bang against the floor G (TARGETS.md), and its loss beside Mondrian's on the files of ../shared/data. Run ``python -m benchmarks bang [loss | files | large | changes | linear] [NAME]``.

``loss`` compares on the tables of the other benchmarks with their hierarchies, ``files`` on a dozen files with the quasi columns and hierarchies that ``rt.inspect`` proposes.
``linear`` tells how the time of an index and its release grows with rows that are nearly all different.
"""

from __future__ import annotations

import resource
from datetime import date
from typing import Any

import reticent as rt
from benchmarks import bang_changes, bang_large, first_hour
from benchmarks.adult import SHARED
from benchmarks.measuring import HISTORY, Row, best_of, group_by_floor, report
from benchmarks.reproduce_banga import customers
from benchmarks.search import Data, adult, cps, ihis, ten_million
from reticent.base.context import Context
from reticent.definitions import KAnonymity
from reticent.methods.bang import Bang, BangCut, BangIndex
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.utility import utility_of

FILES = {
    "Adult 30,162 x 8": adult,
    "CPS 280,005 x 7": cps,
    "ihis_synth 1,193,504 x 9": ihis,
    "10 million x 8": ten_million,
}


def speed(name: str, data: Data) -> list[Row]:
    """Index and release of a table, and another k from the same index: cut, groups and labels of all points, no files; and with the texts that a release would show."""
    floor = group_by_floor(data.frame, list(data.quasi))
    ours, draft = best_of(5, lambda: Bang().draft(data.table(), KAnonymity(5), Context()))
    note = f"loss {utility_of(draft)['loss']:.4f}, {len(draft.evidence.published):,} classes"
    target = 10 if data.frame.height >= 1_000_000 else None
    rows = [Row(f"{name}, k=5, index and release", floor, ours, target, note)]
    index = Bang(minimum=5).build(data.table())
    again(index, 5)
    for k in (10, 40, 200):
        ours, cut = best_of(5, lambda k=k: again(index, k))
        rows.append(Row(f"{name}, k={k} from the same index", floor, ours, 0.2, f"{cut.count:,} classes"))
        ours, _ = best_of(5, lambda k=k: again(index, k).axes)
        rows.append(Row(f"{name}, k={k}, with the texts that classes show", floor, ours, 0.2, ""))
    return rows


def growth() -> list[Row]:
    """Index and release of customers who are nearly all different, one, three and ten million of them; and by how much more than a million the larger tables take, for us and for G."""
    rows: list[Row] = []
    for millions in (1, 3, 10):
        table = customers(rows=millions * 1_000_000)
        data = Data(table.frame, dict(table.quasi), tuple(table.sensitive))
        floor = group_by_floor(data.frame, list(data.quasi))
        ours, draft = best_of(5, lambda data=data: Bang().draft(data.table(), KAnonymity(5), Context()))
        note = f"{len(draft.evidence.published):,} classes"
        if rows:
            note += f"; {ours / rows[0].ours:.1f} x the time of a million, G {floor / rows[0].floor:.1f} x"
        rows.append(Row(f"{millions} million different customers x 7, k=5, index and release", floor, ours, 10, note))
        print(rows[-1].line(), flush=True)
        del table, data, draft
    return rows


def again(index: BangIndex, k: int) -> BangCut:
    """A cut: its classes with their sensitive values, and the label of every point, which is the number of its class."""
    cut = index.draft(k)
    _ = cut.labels, cut.groups
    return cut


def losses(name: str, data: Data) -> list[str]:
    """The loss at two k, beside that of other methods."""
    found = []
    for k in (5, 50):
        methods = (Bang(minimum=5), Bang(minimum=k), Mondrian(values="ranges"), Mondrian(values="sets"), Lattice())
        told = [utility_of(method.draft(data.table(), KAnonymity(k), Context()))["loss"] for method in methods]
        found.append(f"| {name} | {k} | {' | '.join(f'{each:.4f}' for each in told)} |")
        print(found[-1], flush=True)
    return found


_OTHERS = ("adult_subset", "testdata2", "EIA", "Tarragona", "od/")
PEOPLE = tuple(name for name in first_hour.FILES if not any(each in name for each in _OTHERS))
"""Files about people or households of which the default path makes a release."""
# Lattice is searched for this long where it has more generalizations than can be gone through.
_PATIENCE = 15


def losses_as_proposed(name: str) -> list[str]:
    """The loss of a file with the columns, hierarchies and missing values that ``rt.inspect`` proposes, beside that of other methods; the least of each k is marked."""
    table, found = rt.inspect(str(SHARED / name)).table(), []
    for k in (5, 50):
        methods: tuple[Any, ...] = (
            Bang(minimum=5),
            Bang(minimum=k),
            Mondrian(values="ranges"),
            Mondrian(values="sets"),
            Lattice(seconds=_PATIENCE),
        )
        losses = [utility_of(method.draft(table, KAnonymity(k), Context()))["loss"] for method in methods]
        told = [f"**{each:.4f}**" if each == min(losses) else f"{each:.4f}" for each in losses]
        file = f"{name.split('/')[-1].split('.')[0]} {table.rows:,} x {len(table.quasi)}"
        found.append(f"| {file} | {k} | {' | '.join(told)} |")
        print(found[-1], flush=True)
    return found


def main(*names: str) -> None:
    if "changes" in names:
        bang_changes.main()
        return
    if "large" in names:
        bang_large.main([each for each in names if each != "large"])
        return
    if "linear" in names:
        report("Bang: growth with different rows", "python -m benchmarks bang linear", growth())
        return
    parts = [each for each in names if each not in ("loss", "files")]
    chosen = {name: make for name, make in FILES.items() if all(each in name for each in parts)}
    if "loss" in names or "files" in names:
        if "files" in names:
            files = [name for name in PEOPLE if all(each in name for each in parts)]
            lines = [line for name in files for line in losses_as_proposed(name)]
        else:
            lines = [line for name, make in chosen.items() for line in losses(name, make())]
        head = [
            "| file | k | Bang(minimum=5) | Bang(minimum=k) | Mondrian, ranges | Mondrian, sets | Lattice |",
            "|---|---|---|---|---|---|---|",
        ]
        title = f"## Bang: loss beside other methods ({date.today().isoformat()})"
        with HISTORY.open("a", encoding="utf-8") as out:
            out.write(
                "\n".join(["", title, "", f"`python -m benchmarks bang {' '.join(names)}`", "", *head, *lines, ""])
            )
        return
    rows: list[Row] = []
    for name, make in chosen.items():
        for row in speed(name, make()):
            rows.append(row)
            print(row.line(), flush=True)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
    report("Bang", f"python -m benchmarks bang {' '.join(names)}".strip(), rows)


if __name__ == "__main__":
    main()
