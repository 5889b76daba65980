"""Random small releases of every format of groups, with random claims and, if asked for, with something in them changed.

Published once with a plain definition; then the claims of the certificate are replaced by random ones, which hold or fail as it comes, so that both
verifiers are asked about every definition on every format. A forger who keeps hashes right does the same.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import reticent as rt
from reticent.errors import ReticentError
from reticent.release.canonical_json import readable

FORMATS = ("generalize", "cells", "panel", "typical", "bucketize", "angelize", "clusters", "regions")
SENSITIVE = ["flu", "cold", "ulcer", "asthma"]
Forge = Callable[["OpenRelease", Random], None]


class OpenRelease:
    """The files of a public folder, to be changed; ``write`` makes the certificate fit them again."""

    def __init__(self, folder: Path) -> None:
        self.files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
        self.manifest: dict[str, Any] = json.loads(self.files["manifest.json"])
        self.certificate: dict[str, Any] = json.loads(self.files["certificate.json"])

    def certify(self) -> dict[str, bytes]:
        """All files, with the fingerprints of what they are now."""
        self.files["manifest.json"] = readable(self.manifest)
        self.certificate["files"] = {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
            for name, content in self.files.items()
            if name != "certificate.json"
        }
        self.files["certificate.json"] = readable(self.certificate)
        return dict(self.files)

    def lines(self, name: str) -> list[str]:
        """The lines of a table without its header."""
        return self.files[name].decode().splitlines()[1:]

    def set_lines(self, name: str, lines: list[str]) -> None:
        """The table with other lines below its header."""
        header = self.files[name].decode().splitlines()[0]
        self.files[name] = "".join(f"{line}\n" for line in [header, *lines]).encode()

    @property
    def tables(self) -> list[str]:
        """The names of the files of tables that have rows."""
        return [name for name in self.files if name.endswith(".csv") and self.lines(name)]


def frame_of(draw: Random, rows: int) -> tuple[pl.DataFrame, dict[str, Any], list[str]]:
    """Rows with quasi columns of several types, hierarchies for them, and one or two sensitive columns."""
    made: dict[str, Any] = {
        "age": ([draw.randrange(20, 32) for _ in range(rows)], rt.Hierarchy.intervals(widths=[4, 8], origin=0, domain=(16, 40))),
        "sex": ([draw.choice(["f", "m"]) for _ in range(rows)], rt.Hierarchy.suppression()),
        "zip": ([draw.choice(["130", "131", "148", "149"]) for _ in range(rows)], rt.Hierarchy.masking(digits=3)),
        "size": ([draw.choice([0.5, 1.0, 2.5, 1e-7]) for _ in range(rows)], rt.Hierarchy.suppression()),
        "member": ([draw.random() < 0.5 for _ in range(rows)], rt.Hierarchy.suppression()),
        "day": ([datetime.date(2020, draw.randrange(1, 5), draw.randrange(1, 28)) for _ in range(rows)], rt.Hierarchy.dates()),
    }  # fmt: skip
    chosen = draw.sample(list(made), draw.randrange(1, 4))
    columns = {name: made[name][0] for name in chosen}
    secret = ["disease", *(["cost"] if draw.random() < 0.4 else [])]
    weights = draw.choice([(1, 1, 1, 1), (6, 2, 1, 1), (3, 3, 1, 0)])
    columns["disease"] = draw.choices(SENSITIVE, weights, k=rows)
    if "cost" in secret:
        columns["cost"] = [draw.choice([0, 5, 7, 20]) for _ in range(rows)]
    return pl.DataFrame(columns), {name: made[name][1] for name in chosen}, secret


def published(form: str, draw: Random) -> rt.Release:
    """A small release of a format."""
    rows = draw.randrange(8, 40)
    frame, quasi, secret = frame_of(draw, rows)
    definition: Any = rt.KAnonymity(draw.choice([1, 2, 3]))
    more: dict[str, Any] = {}
    if form == "panel":
        people = max(rows // 3, 4)
        frame = pl.concat(
            [
                frame.head(people).with_columns(pl.lit(year).alias("year"), pl.int_range(people).alias("id"))
                for year in (2001, 2002)
            ]
        )
        more = {"identifiers": ["id"], **({"pseudonyms": ["id"]} if draw.random() < 0.5 else {})}
        quasi = dict.fromkeys(["year", *(name for name in quasi)])
        definition = rt.KAnonymity(2)
    elif draw.random() < 0.2:
        name = draw.choice(list(quasi))
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 5 != 0).then(pl.col(name)).alias(name))
        more["nulls"] = "category"
    if form in ("generalize", "typical") and draw.random() < 0.3:
        frame = frame.with_columns(pl.Series("note", [draw.randrange(6) for _ in range(frame.height)]))
        more["declared"] = {"note": "nobody knows it"}
    if form == "generalize" and len(quasi) > 1 and draw.random() < 0.3:
        names = list(quasi)
        more["quasi_sets"] = [names[:1], names[1:]]
    table = rt.Table(frame, quasi=quasi, sensitive=secret, **more)
    loose = rt.DistinctLDiversity(1) if len(secret) == 1 else rt.DistinctLDiversity(1, "disease")
    method: Any = {
        "generalize": draw.choice(
            [rt.Lattice(suppression="0.2"), rt.Mondrian(values=draw.choice(["sets", "ranges", "hierarchy"]))]
        ),
        "cells": rt.Suppress(k=2),
        "panel": rt.Panel(suppression="0.5"),
        "typical": rt.Mondrian(values=draw.choice(["typical", "drawn"])),
        "bucketize": draw.choice([rt.Lattice(format="bucketize", suppression="0.2"), rt.Anatomy()]),
        "angelize": rt.Angelization(),
        "clusters": rt.Gather(r=2, **draw.choice([{}, {"numbers": "mean"}, {"centres": "records"}])),
        "regions": rt.Bang(minimum=2, compact=draw.random() < 0.3),
    }[form]
    if form == "bucketize":
        definition = loose if not isinstance(method, rt.Anatomy) else rt.DistinctLDiversity(2, "disease")
    if form == "angelize":
        definition = rt.KAnonymity(2) & rt.DistinctLDiversity(2, "disease")
    if form in ("cells", "clusters", "regions"):
        definition = rt.KAnonymity(2)
    return rt.publish(table, definition, method, insecure_seed=draw.randrange(1000))


def claims(draw: Random, quasi: list[str], secret: list[str], wide: bool = True) -> dict[str, Any]:
    """One random claim as a certificate writes it."""
    fraction = lambda: draw.choice(["1/4", "1/3", "0.4", "1/2", "0.6", "2/3", "3/4", "1"])  # noqa: E731
    column: dict[str, Any] = (
        {"column": draw.choice(secret)} if secret and draw.random() < (0.7 if len(secret) > 1 else 0.3) else {}
    )
    alone = {"alone": True} if draw.random() < 0.4 else {}
    values = [draw.choice(SENSITIVE), *(["gout"] if draw.random() < 0.2 else [])]
    named = {"quasi": draw.sample(quasi, draw.randrange(1, len(quasi) + 1))} if draw.random() < 0.3 else {}
    distance = {"distance": draw.choice(["equal", "ordered", "hierarchical"])} if draw.random() < 0.6 else {}
    number = {"column": "cost"} if "cost" in secret else column
    text = {"column": "disease"} if draw.random() < 0.9 else column
    made: dict[str, Callable[[], dict[str, Any]]] = {
        "KAnonymity": lambda: {"k": draw.randrange(1, 5), **named},
        "DistinctLDiversity": lambda: {"l": draw.randrange(1, 4), **column, **alone},
        "ProbabilisticLDiversity": lambda: {"l": draw.choice(["1", "3/2", "2", "5/3"]), **column},
        "EntropyLDiversity": lambda: {"l": draw.choice(["1", "3/2", "2", "1.7", "2.38"]), **({"dont_care": values, **text} if draw.random() < 0.4 else column)},
        "RecursiveLDiversity": lambda: {"c": draw.choice(["1/2", "1", "2", "3"]), "l": draw.randrange(1, 4), **({"dont_care": values, **text} if draw.random() < 0.4 else column), **alone},
        "NegativePositiveDiversity": lambda: {"c1": "3", "c2": draw.choice(["1", "10", "30"]), "l": draw.randrange(1, 3), "dont_care": values[:1], "must_keep": draw.sample(SENSITIVE, 1), **text},
        "WorstCaseKnowledge": lambda: {"c": fraction(), "k": draw.randrange(0, 3), **column},
        "NegatedKnowledge": lambda: {"c": fraction(), "k": draw.randrange(0, 3), **column},
        "TCloseness": lambda: {"t": fraction(), **distance, **column, **alone},
        "NTCloseness": lambda: {"n": draw.randrange(1, 9), "t": fraction(), **distance, **column},
        "AlphaKAnonymity": lambda: {"alpha": fraction(), "k": draw.randrange(1, 4), **column},
        "PSensitive": lambda: {"p": draw.randrange(1, 4), "k": draw.randrange(1, 4), **column},
        "LAlphaDiversity": lambda: {"l": draw.randrange(1, 3), "alpha": draw.choice(["0", "1", "3/2"]), "weights": {"flu": "1", "cold": "1/2", "5": "2"}, **column},
        "ConfidenceBounding": lambda: {"h": fraction(), "values": values, **text, **named, **alone},
        "CategoryDiversity": lambda: {"c": fraction(), "categories": [["flu", "cold"], ["ulcer"]], **text, **alone},
        "RangeDiversity": lambda: {"c": fraction(), "below": "1", "above": draw.choice(["1", "5/2", "10"]), **number},
        "KEAnonymity": lambda: {"k": draw.randrange(1, 3), "e": draw.choice(["0", "2", "6.5"]), **number},
        "EpsilonMAnonymity": lambda: {"epsilon": draw.choice(["0", "2", "5"]), "m": draw.choice(["1", "4/3", "2"]), **number},
        "BetaLikeness": lambda: {"beta": draw.choice(["1/2", "1", "2", "4"]), **({"enhanced": True} if draw.random() < 0.5 else {}), **column},
        "DeltaDisclosure": lambda: {"delta": draw.choice(["1/2", "1", "3/2", "2"]), **column},
        "MUnique": lambda: {"m": draw.randrange(1, 4), **column},
        "MEligible": lambda: {"m": draw.randrange(1, 4), **column},
        "XYPrivacy": lambda: {"k": draw.randrange(1, 3), "h": fraction(), **({"y": [secret[0]], **({"x": secret[1:]} if draw.random() < 0.5 else {})} if secret and draw.random() < 0.4 else column)},
        "AverageRisk": lambda: {"limit": fraction()},
        "PersonalPrivacy": lambda: {"h": "1/2", "guards": "wish"},
        "KMap": lambda: {"k": 3},
        "DeltaPresence": lambda: {"low": "0", "high": "1/2"},
    }  # fmt: skip
    monotone = [
        "KAnonymity",
        "DistinctLDiversity",
        "ProbabilisticLDiversity",
        "EntropyLDiversity",
        "ConfidenceBounding",
        "AlphaKAnonymity",
        "TCloseness",
    ]
    if wide and draw.random() < 0.2:
        part = claims_of(draw.choice(monotone), made)
        relations = {"relations": [[[quasi[0]], quasi[-1]]]} if draw.random() < 0.3 and len(quasi) > 1 else {}
        return {"definition": "AnyColumns", "parameters": {"known": draw.randrange(1, 4), "inner": part, **relations}}
    if wide and draw.random() < 0.06:
        inner = draw.choice(
            [{"name": "DistinctLDiversity", "l": draw.randrange(1, 3)}, {"name": "EntropyLDiversity", "l": "3/2"}]
        )
        return {"definition": "InTurn", "parameters": {"columns": draw.sample(quasi, 1), "inner": inner}}
    name = draw.choice(list(made))
    return {"definition": name, "parameters": made[name]()}


def claims_of(name: str, made: Mapping[str, Callable[[], dict[str, Any]]]) -> dict[str, Any]:
    """A definition inside another one: its name among its parameters, and no set of columns of its own."""
    return {"name": name, **{key: value for key, value in made[name]().items() if key != "quasi"}}


def reference_for(release: rt.Release, name: str, draw: Random) -> dict[str, Any]:
    """A histogram of the published rows, or of a few rows more; with an order and a tree where the column has none declared."""
    marginal = release.groups.marginal(name)
    column = marginal.domain.columns[0]
    counts = marginal.histograms.total(column.size).tolist()
    of = draw.choice(["published rows", "whole table", "whole table"])
    if of == "whole table" and draw.random() < 0.6:
        counts = [count + draw.choice([0, 0, 1, 2]) for count in counts]
    size = len(counts)
    first, parts = [draw.randrange(2) for _ in range(size)], dict[int, int]()
    level = [parts.setdefault(part, len(parts)) for part in first]
    return {
        "values": column.labels.to_list(),
        "counts": counts,
        "ordered": column.ordered or draw.random() < 0.7,
        "levels": [level, [0] * size] if draw.random() < 0.7 else None,
        "of": of,
    }


def _drop_row(made: OpenRelease, draw: Random) -> None:
    name = draw.choice(made.tables)
    lines = made.lines(name)
    del lines[draw.randrange(len(lines))]
    made.set_lines(name, lines)


def _repeat_row(made: OpenRelease, draw: Random) -> None:
    name = draw.choice(made.tables)
    lines = made.lines(name)
    at = draw.randrange(len(lines))
    made.set_lines(name, [*lines[:at], *lines[at : at + 1], *lines[at:]])


def _swap_rows(made: OpenRelease, draw: Random) -> None:
    name = draw.choice(made.tables)
    lines = made.lines(name)
    made.set_lines(name, [*lines[1:], lines[0]])


def _swap_cells(made: OpenRelease, draw: Random) -> None:
    """Two rows exchange a cell, and all rows are sorted by their text again."""
    name = draw.choice(made.tables)
    cells = [line.split(",") for line in made.lines(name)]
    if any('"' in cell for row in cells for cell in row):
        return
    one, other, column = draw.randrange(len(cells)), draw.randrange(len(cells)), draw.randrange(len(cells[0]))
    cells[one][column], cells[other][column] = cells[other][column], cells[one][column]
    made.set_lines(name, sorted(",".join(row) for row in cells))


def _quasi(made: OpenRelease, draw: Random) -> dict[str, Any]:
    return draw.choice([column for column in made.manifest["columns"] if column["role"] == "quasi"])


def _drop_label(made: OpenRelease, draw: Random) -> None:
    labels = _quasi(made, draw)["labels"]
    del labels[draw.choice(list(labels))]


def _rename_label(made: OpenRelease, draw: Random) -> None:
    labels = _quasi(made, draw)["labels"]
    old = draw.choice(list(labels))
    labels["elsewhere"] = labels.pop(old)


def _exchange_meanings(made: OpenRelease, draw: Random) -> None:
    labels = _quasi(made, draw)["labels"]
    one, other = draw.choice(list(labels)), draw.choice(list(labels))
    labels[one], labels[other] = labels[other], labels[one]


def _same_meaning(made: OpenRelease, draw: Random) -> None:
    labels = _quasi(made, draw)["labels"]
    labels[draw.choice(list(labels))] = labels[draw.choice(list(labels))]


def _other_role(made: OpenRelease, draw: Random) -> None:
    draw.choice(made.manifest["columns"])["role"] = draw.choice(["quasi", "sensitive", "declared", "bucket", "unknown"])


def _other_details(made: OpenRelease, draw: Random) -> None:
    made.manifest["details"] = draw.choice(
        [{}, {"people": "drawn"}, {"reading": "wildcard"}, {"k": 99, "guard": "quasi"}]
    )


def _other_entry(made: OpenRelease, draw: Random) -> None:
    made.manifest[draw.choice(["unit", "format", "extra", "quasi_sets"])] = draw.choice(
        ["person", "generalize", None, [["age"]]]
    )


def _other_certificate(made: OpenRelease, draw: Random) -> None:
    made.certificate[
        draw.choice(["format", "quasi", "sensitive", "unit", "declared", "created", "ledger", "headline"])
    ] = draw.choice(
        [
            "generalize",
            [],
            "row",
            {"dataset": None, "release": 1, "statement": ""},
            "2020-01-01T00:00:00Z",
            {"state": "holds", "reasons": ["x"]},
        ]
    )


def _wrong_parameter(made: OpenRelease, draw: Random) -> None:
    made.certificate["claims"][0]["parameters"][draw.choice(["k", "l", "t", "more"])] = draw.choice(
        [0, -1, "x", 2.5, None, True]
    )


def _unknown_claim(made: OpenRelease, draw: Random) -> None:
    name, parameters = draw.choice(
        [("Unheard", {"k": 2}), ("BoundedBelief", {"d": "1/10", "gamma": "1/2"}), ("TauSafety", {"m": 2})]
    )
    made.certificate["claims"][0].update(definition=name, parameters=parameters)


def _wrong_reference(made: OpenRelease, draw: Random) -> None:
    for entry in (made.certificate["reference"] or {}).values():
        match draw.randrange(4):
            case 0:
                entry["counts"][0] = 0
            case 1:
                entry["values"][0] = entry["values"][-1]
            case 2:
                entry["levels"] = [[1] * len(entry["values"])]
            case _:
                entry["of"] = "somebody"


def _other_number(made: OpenRelease, draw: Random) -> None:
    """A number in a table of groups, regions, places or counts is another one."""
    name = draw.choice(made.tables)
    cells = [line.split(",") for line in made.lines(name)]
    spots = [(row, at) for row, each in enumerate(cells) for at, cell in enumerate(each) if cell.isdigit()]
    if not spots or any('"' in cell for row in cells for cell in row):
        return
    row, at = draw.choice(spots)
    cells[row][at] = str(int(cells[row][at]) + draw.choice([1, 2, 10]))
    made.set_lines(name, sorted(",".join(each) for each in cells))


def _formulas(made: OpenRelease, draw: Random) -> None:
    made.manifest["tables"][draw.choice(list(made.manifest["tables"]))]["formulas"] = [
        made.manifest["columns"][0]["name"]
    ]


def _other_signature(made: OpenRelease, draw: Random) -> None:
    made.certificate["signature"] = {"algorithm": "Ed25519", "public_key": "00" * 32, "value": "11" * 64}


FORGERIES: Mapping[str, Forge] = {
    forge.__name__.removeprefix("_"): forge
    for forge in (
        _drop_row, _repeat_row, _swap_rows, _swap_cells, _drop_label, _rename_label, _exchange_meanings, _same_meaning, _other_role, _other_details,
        _other_entry, _other_certificate, _wrong_parameter, _unknown_claim, _wrong_reference, _other_number, _formulas, _other_signature,
    )
}  # fmt: skip


def random_release(seed: int, folder: Path, *, forged: bool | None = None, form: str | None = None) -> dict[str, bytes]:
    """The files of a random release; the same for the same seed."""
    draw = Random(seed)
    form = form or FORMATS[seed % len(FORMATS)]
    for attempt in range(20):
        try:
            release = published(form, draw)
        except ReticentError:
            continue
        place = folder / f"{seed}-{attempt}"
        made = OpenRelease(release.save(place) / "public")
        quasi, secret = made.certificate["quasi"], made.certificate["sensitive"]
        if draw.random() < 0.85:
            made.certificate["claims"] = [
                {**claims(draw, quasi, secret), "covers": "", "does_not_cover": ""} for _ in range(draw.randrange(1, 6))
            ]
            compared = draw.choice([[], secret, secret[:1]])
            made.certificate["reference"] = {name: reference_for(release, name, draw) for name in compared} or None
        if draw.random() < 0.35 if forged is None else forged:
            FORGERIES[draw.choice(list(FORGERIES))](made, draw)
        return made.certify()
    raise AssertionError(f"no release of format {form} could be published")
