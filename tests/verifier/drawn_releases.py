"""Releases whose rows were drawn, and releases of a series, small ones; and what a forger makes of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import reticent as rt
from tests.methods.series.drafts import random_months
from tests.verifier.random_releases import OpenRelease

Change = Callable[[OpenRelease], None]


def view_of(adversary: str = "independent", **method: Any) -> rt.Release:
    frame = pl.DataFrame({"age": [20, 30, 40, 21], "c": ["a", "b", "a", "c"]})
    domain = {"age": range(20, 60), "c": ["a", "b", "c", "none"]}
    table = rt.Table(frame, quasi=["age", "c"])
    return rt.publish(table, rt.BoundedBelief("1/20", "1/2", adversary), rt.AlphaBeta(domain=domain, **method), insecure_seed=3)  # fmt: skip


def drawn_releases() -> dict[str, Callable[[], rt.Release]]:
    rows = pl.DataFrame({"age": [31, 33, 52, 58], "ill": ["flu", "cold", "flu", "cold"]})
    table = rt.Table(rows, quasi=["age"], sensitive="ill", declared={})
    values = ["flu", "cold", "none"]
    return {
        "view": view_of,
        "view against links": lambda: view_of("both"),
        "view with a source": lambda: view_of(source={"c": [1, 1, 1, 2]}),
        "view that counts": lambda: view_of("exclusive", count=3, duplicates="count"),
        "records": lambda: rt.publish(rt.Table(rows, quasi=["age", "ill"]), rt.BoundedBelief("1/10", "1/2", "record"), rt.Frapp(domain={"age": range(30, 60), "ill": values}), insecure_seed=1),
        "perturbed": lambda: rt.publish(table, rt.LocalDP(2), rt.Perturbation(values=values), insecure_seed=1),
        "perturbed for beliefs": lambda: rt.publish(table, rt.BoundedBelief("1/3", "1/2", "record"), rt.Perturbation(values=values), insecure_seed=1),
    }  # fmt: skip


def releases_of_a_series(place: Path, k: int | None, many: int = 3) -> list[Path]:
    """The public folders of releases of a table that changes, in groups or, where ``k`` is given, in batches."""
    domain, frames = random_months(2, 40, 3, 6)
    settings = {"m": 2, "key": "id", "sensitive": "job", "quasi": {"age": None, "town": None}, "domain": domain}
    more = {} if k is None else {"k": k}
    opened = rt.republish.History.open(place, **settings, **more, ledger=place / "ledger.sqlite")
    return [opened.publish(frame, insecure_seed=number).folder / "public" for number, frame in enumerate(frames[:many])]


def claim(name: str, **parameters: Any) -> Change:
    """Claim something else."""

    def change(made: OpenRelease) -> None:
        made.certificate["claims"] = [
            {"definition": name, "parameters": parameters, "covers": "", "does_not_cover": ""}
        ]

    return change


def details(*path: str, value: Any) -> Change:
    """Another value somewhere in the details."""

    def change(made: OpenRelease) -> None:
        place = made.manifest["details"]
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = value

    return change


def last_row_first(made: OpenRelease) -> None:
    name = made.tables[0]
    lines = made.lines(name)
    made.set_lines(name, [lines[-1], *lines[:-1]])


def twice(made: OpenRelease) -> None:
    name = made.tables[0]
    made.set_lines(name, [made.lines(name)[0], *made.lines(name)])


def other_role(made: OpenRelease) -> None:
    made.manifest["columns"][-1]["role"] = "declared"
    made.manifest["columns"][-1]["reason"] = "x"


CHANGES: dict[str, Change] = {
    "tighter": claim("BoundedBelief", d="1/20", gamma="1/3"),
    "looser": claim("BoundedBelief", d="1/30", gamma="2/3"),
    "against links": claim("BoundedBelief", d="1/20", gamma="1/2", adversary="both"),
    "about records": claim("BoundedBelief", d="1/50", gamma="1/2", adversary="record"),
    "local": claim("LocalDP", epsilon="2"),
    "local, less": claim("LocalDP", epsilon="1.99"),
    "k": claim("KAnonymity", k=2),
    "noise": claim("NoisyCounts", epsilon="1"),
    "series": claim("TauSafety", m=2),
    "unheard": claim("Unheard"),
    "no belief": claim("BoundedBelief", d="1/2", gamma="1/3"),
    "beta": details("plan", "beta", value="1/1000"),
    "alpha in decimals": details("plan", "alpha", value="0.5"),
    "n": details("plan", "n", value=10**6),
    "index": details("index", value=2),
    "duplicates": details("duplicates", value="maybe"),
    "kept": details("kept", value="99/100"),
    "rows": details("n", value=77),
    "domain": details("domain", "ill", value={"type": "text", "values": ["flu", "none"]}),
    "order": last_row_first,
    "twice": twice,
    "role": other_role,
}


def repeated_value(made: OpenRelease) -> None:
    """A group shows one value twice."""
    name = next(each for each in made.tables if each.startswith(("data", "batches")))
    lines = made.lines(name)
    lines[1] = lines[0]
    made.set_lines(name, lines)


def more_counterfeits(made: OpenRelease) -> None:
    made.set_lines("counterfeits.csv", [*made.lines("counterfeits.csv"), "1,9"])


SERIES_CHANGES: dict[str, Change] = {
    "three": claim("TauSafety", m=3),
    "as printed": claim("TauSafety", m=2, hardened=False),
    "m-invariance": claim("MInvariance", m=2),
    "one": claim("MInvariance", m=1),
    "k": claim("KAnonymity", k=4),
    "too many": claim("KAnonymity", k=40),
    "l": claim("DistinctLDiversity", l=2),
    "belief": claim("BoundedBelief", d="1/20", gamma="1/2"),
    "repeated": repeated_value,
    "counterfeits": more_counterfeits,
    "number": details("number", value=0),
    "k of boxes": details("k", value=1),
}
