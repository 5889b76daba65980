"""Sentences read back and counted: what a claim says, parsed from its words alone, and refuted or confirmed in the published rows.

Shares no code with the program: words by regular expressions, files by ``csv`` and ``json``, counts by ``Counter``, exact fractions.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

NUMBER = r"-?\d+(?:\.\d+)?(?:/\d+)?"
NAME = r"(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?!(?:and|or|of|a|the|that|except|even|where)\b)\w+)"
NAMES = rf"{NAME}(?:, {NAME})*(?: (?:and|or) {NAME})?"
OF = r" of (?:(?P<one>one record of )|up to (?P<rows>\d+) records of )?a (?P<target>person|household)"
CHOICE = rf"(?:any \d+ of )?{NAMES}"
VALUE = r"(?:\(missing\)|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
VALUES = rf"{VALUE}(?:(?:, | or ){VALUE})*"
ALIKE = r"(?P<alike>the records (?:that look alike|of a (?:bucket|batch|group)))"
COLUMN = rf"(?P<column>{NAMES}|a confidential column)"

START = re.compile(r"An attacker who knows ")
KNOWN = [
    ("all", re.compile(rf"(?P<names>{NAMES}){OF} \(everything published that is not confidential(?:, except (?P<but>{NAMES}))?\)")),
    ("all", re.compile(rf"all (?P<many>\d+) columns{OF} that are published and not confidential(?:, except (?P<but>{NAMES}))?")),
    ("sets", re.compile(rf"(?P<sets>{CHOICE}(?:, or {CHOICE})*),?{OF} \(the same columns of everybody, or of one\)")),
    ("sets", re.compile(rf"(?P<sets>{NAMES}){OF}")),
]  # fmt: skip
BESIDE = [
    ("table", re.compile(r", and that the (?:person|household) is in the table, ")),
    ("everybody", re.compile(r", and the same of everybody in the table, ")),
    ("population", re.compile(r", and the same of everybody in the population, ")),
]
SPARED = rf"(?: \(values that may be learned do not count: (?P<spared>{VALUES})\))?"
PROMISES = {
    "records": r"finds at least (?P<k>\d+) matching records?",
    "people": r"finds matching records of at least (?P<k>\d+) (?P<unit>people|person|households?)",
    "distinct": rf"cannot narrow {COLUMN}(?P<joint> together)? to fewer than (?P<l>\d+) values?",
    "span": rf"cannot narrow {COLUMN} to a range shorter than (?P<e>{NUMBER})",
    "share": rf"is right about {COLUMN}(?P<joint> together)? for at most (?P<c>{NUMBER}) of {ALIKE}",
    "entropy": rf"finds {COLUMN} as open, measured by entropy, as (?P<l>{NUMBER}) equally likely values{SPARED}",
    "sure": rf"is less than (?P<percent>{NUMBER}) %(?: \((?P<exact>{NUMBER})\))? sure of {COLUMN}(?:, even after ruling out any (?P<out>one|\d+) of its values)?{SPARED}",
    "kept": rf"cannot rule out (?P<values>{VALUES}): each makes up at least (?P<percent>{NUMBER}) % of {ALIKE}",
    "close": rf"finds the values of {COLUMN} among {ALIKE} distributed as in the whole table, up to a distance of (?P<t>{NUMBER}) \(from 0 to 1; (?P<apart>[^)]*)\)",
    "fewer": r"where these are fewer than (?P<n>\d+)",
    "times": rf"finds no value of {COLUMN} more than (?P<most>{NUMBER}) times as frequent among {ALIKE} as in the whole table(?P<tighter>; values that are frequent in the whole table are bounded more tightly)?",
    "factor": rf"finds each value of {COLUMN} that occurs among {ALIKE} less than 2\^(?P<delta>{NUMBER}) times more or less frequent there than in the whole table",
    "once": rf"sees at least (?P<m>\d+) different values of {COLUMN} among {ALIKE}, each of them once",
    "guarded": rf"is right to conclude that {COLUMN} is (?P<values>{VALUES}) for at most (?P<c>{NUMBER}) of {ALIKE}, each value by itself",
    "category": rf"is less than (?P<c>{NUMBER}) sure that {COLUMN} is in any one of these categories: (?P<sets>{VALUES}(?:; {VALUES})*)",
    "weight": rf"is left with values of {COLUMN} that together weigh at least (?P<least>{NUMBER}), harmless ones more than grave ones",
    "near": rf"is right for at most (?P<c>{NUMBER}) of {ALIKE} to say that {COLUMN} is within (?P<e>{NUMBER}) of a number that occurs among them",
    "window": rf"is less than (?P<c>{NUMBER}) sure that {COLUMN} lies between x - (?P<below>{NUMBER}) and x \+ (?P<above>{NUMBER}), for any x",
    "wish": rf"concludes what the person asked to have guarded of {COLUMN} with a chance of at most (?P<c>{NUMBER}|what the person allows \({NUMBER} where nothing was said\))",
    "population": r"finds at least (?P<k>\d+) people of the population who fit each record",
    "presence": rf"is at least (?P<low>{NUMBER}) and at most (?P<high>{NUMBER}) sure that a person who matches a published record is in the table",
    "average": rf"and picks a record for each is right for at most (?P<c>{NUMBER}) of the (?:records|people|households)",
    "facts": rf"and any (?P<k>\d+) facts? of the form '[^']*', is less than (?P<c>{NUMBER}) sure of anybody's {COLUMN}",
    "negations": rf"and can rule out any (?P<k>\d+) values? of people, is less than (?P<c>{NUMBER}) sure of anybody's {COLUMN}",
}  # fmt: skip
OTHERS = re.compile(
    rf", even with (?:(?P<those>the others|the other confidential columns)|(?P<names>{NAMES})) known too"
)


class UnreadableSentence(Exception):
    """The words are none that this reader knows."""


@dataclass(frozen=True)
class ReadPromise:
    """One promise: its kind, the numbers and texts in it, the columns that it is about, and those that may be known beside."""

    kind: str
    said: Mapping[str, str | None]
    columns: tuple[str, ...] = ()
    beside: tuple[str, ...] | None = ()


@dataclass(frozen=True)
class ReadSentence:
    """What a sentence says: who is counted, what is known, and what is promised. ``known`` are sets of columns; ``family`` says how they were told."""

    target: str
    family: str
    known: tuple[tuple[str, ...], ...]
    many: int | None
    excepted: tuple[str, ...]
    about: str
    promises: tuple[ReadPromise, ...] = field(default=())
    rows: int | None = None


def names_in(text: str) -> tuple[str, ...]:
    """The names of a list such as ``age, sex and 'zip code'``."""
    found = re.findall(NAME, re.sub(rf" (?:and|or) ({NAME})$", r", \1", text))
    return tuple(re.sub(r"\\(.)", r"\1", name[1:-1]) if name[0] in "'\"" else name for name in found)


def values_in(text: str) -> tuple[str | None, ...]:
    """The values of a list such as ``'flu' or 'hiv'``."""
    return tuple(
        None if each == "(missing)" else re.sub(r"\\(.)", r"\1", each[1:-1]) for each in re.findall(VALUE, text)
    )


def read_sentence(text: str) -> ReadSentence:
    """Parse the first sentence of a claim."""
    place = _match(START, text, 0).end()
    family, known = next(
        (
            (kind, found)
            for kind, pattern in KNOWN
            if (found := pattern.match(text, place)) and any(after.match(text, found.end()) for _, after in BESIDE)
        ),
        ("", None),
    )
    if known is None:
        raise UnreadableSentence(text)
    said, place = known.groupdict(), known.end()
    about, after = next((kind, found) for kind, pattern in BESIDE if (found := pattern.match(text, place)))
    place = after.end()
    promises: list[ReadPromise] = []
    while True:
        promise, place = _promise(text, place)
        promises.append(promise)
        if text.startswith(", and ", place):
            place += len(", and ")
        elif text.startswith(", where ", place):
            place += len(", ")
        elif text[place : place + 1] == "." and text[place + 1 : place + 2] in ("", " "):
            break
        else:
            raise UnreadableSentence(f"{text!r} from {text[place:]!r} on")
    many = int(said["many"]) if said.get("many") else None
    sets: tuple[tuple[str, ...], ...] = (names_in(said["names"]),) if said.get("names") else ()
    for choice in re.split(r", or (?=\w|['\"])", said["sets"]) if said.get("sets") else ():
        some = re.match(r"any (\d+) of ", choice)
        if some is None:
            sets += (names_in(choice),)
        else:
            family, many = "any", int(some[1])
            sets += tuple(combinations(names_in(choice[some.end() :]), many))
    rows = 1 if said["one"] else int(said["rows"]) if said["rows"] else None
    return ReadSentence(
        said["target"] or "", family, sets, many, names_in(said.get("but") or ""), about, tuple(promises), rows
    )


def _match(pattern: re.Pattern[str], text: str, place: int) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise UnreadableSentence(f"{text!r} from {text[place:]!r} on")
    return found


def _promise(text: str, place: int) -> tuple[ReadPromise, int]:
    matches = [(kind, found) for kind, pattern in PROMISES.items() if (found := re.compile(pattern).match(text, place))]
    if not matches:
        raise UnreadableSentence(f"{text!r} from {text[place:]!r} on")
    kind, found = max(matches, key=lambda each: each[1].end())
    said, place = found.groupdict(), found.end()
    beside: tuple[str, ...] | None = ()
    others = OTHERS.match(text, place)
    if others is not None:
        place = others.end()
        beside = None if others["those"] else names_in(others["names"])
    return ReadPromise(kind, said, names_in(said["column"]) if said.get("column") else (), beside), place


Record = dict[str, str | None]


class PublishedRows:
    """The public folder of a release as anybody can read it: records with labels, and confidential values by whoever shares them."""

    def __init__(self, folder: Path) -> None:
        self.manifest = json.loads((folder / "manifest.json").read_bytes())
        self.certificate = json.loads((folder / "certificate.json").read_bytes())
        self.tables = {
            name: [row for file in table["files"] for row in _rows(folder / file)]
            for name, table in self.manifest["tables"].items()
        }
        self.roles = {column["name"]: column["role"] for column in self.manifest["columns"]}
        self.sensitive = self._named("sensitive")
        self.quasi = self._named("quasi")
        self.meanings = {column["name"]: column.get("labels", {}) for column in self.manifest["columns"]}
        self.records = self._records()
        self.bucket = next((name for name in self._named("bucket")), None)

    def _named(self, role: str) -> tuple[str, ...]:
        return tuple(column["name"] for column in self.manifest["columns"] if column["role"] == role)

    def _records(self) -> list[Record]:
        """Records with what their labels stand for: of typical values the labels of their group; of regions the group, which is one label for every column."""
        main = next(name for name in ("data", "quasi", "generalized", "people") if name in self.tables)
        rows = self.tables[main]
        kind = self.manifest["format"]
        group = next((name for name, role in self.roles.items() if role == "group"), None)
        if kind == "typical":
            behind = {row[group]: row for row in self.tables["groups"]}
            return [{**row, **{name: behind[row[group]][name] for name in self.quasi}} for row in rows]
        if kind == "regions":
            return [{**row, **dict.fromkeys(self.quasi, row[group])} for row in rows]
        return rows

    def cells(self, known: Sequence[str]) -> list[list[Record]]:
        """Records with equal labels in some columns."""
        found: dict[tuple[str | None, ...], list[Record]] = defaultdict(list)
        for record in self.records:
            found[tuple(record[name] for name in known)].append(record)
        return list(found.values())

    def shared_values(self, known: Sequence[str]) -> list[list[Record]]:
        """Rows of confidential values that an attacker is left with: those of a cell, or of a bucket whatever is known of labels."""
        if self.bucket is None:
            return self.cells(known)
        count = next((name for name, role in self.roles.items() if role == "count"), None)
        found: dict[str | None, list[Record]] = defaultdict(list)
        for row in self.tables["sensitive"]:
            found[row[self.bucket]] += [row] * (int(row[count] or 0) if count else 1)
        return list(found.values())

    def whole(self, column: str) -> Counter[str | None]:
        """The histogram to compare with: the declared one, or that of the published rows."""
        declared = (self.certificate["reference"] or {}).get(column)
        if declared is not None:
            return Counter(
                {_text(value): count for value, count in zip(declared["values"], declared["counts"], strict=True)}
            )
        return Counter(row[column] for group in self.shared_values(()) for row in group)


def _text(value: Any) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _rows(file: Path) -> list[Record]:
    with file.open(newline="", encoding="utf-8") as opened:
        return [dict(row) for row in csv.DictReader(opened)]


def refutations(
    sentence: ReadSentence,
    rows: PublishedRows,
    claim: Mapping[str, Any],
    owner: str | None = None,
    population: Sequence[Record] = (),
) -> list[str]:
    """Why the published rows do not bear a sentence out; empty where they do. ``owner`` is the column that says whose a record is."""
    return list(_refuted(sentence, rows, claim, owner, population))


def _refuted(
    sentence: ReadSentence,
    rows: PublishedRows,
    claim: Mapping[str, Any],
    owner: str | None,
    population: Sequence[Record],
) -> Iterator[str]:
    known = _known_sets(sentence, rows)
    if isinstance(known, str):
        yield known
        return
    limit = next((int(each.said["n"] or 0) for each in sentence.promises if each.kind == "fewer"), None)
    for columns in known:
        for promise in sentence.promises:
            for why in _broken(promise, columns, rows, claim, owner, population, limit):
                yield f"{promise.kind} for {columns}: {why}"
            if owner is not None and len(promise.columns) == 1 and sentence.rows != 1:
                for counts in _sharing_parts(rows, columns, promise.columns[0], owner, sentence.rows):
                    for why in _value_refutation(promise.kind, promise.said, counts, rows, promise.columns[0], claim):
                        yield f"{promise.kind} for several records by {columns}: {why}"


def _sharing_parts(
    rows: PublishedRows, known: tuple[str, ...], column: str, owner: str, most: int | None
) -> Iterator[Counter[Any]]:
    """For every part of somebody's records that an attacker may know, up to so many: the values of all who have such records, each person once.

    Nothing for a column that differs between the records of a person: there a promise is about one record.
    """
    profiles: dict[str | None, Counter[int]] = defaultdict(Counter)
    values: dict[str | None, str | None] = {}
    for number, cell in enumerate(rows.cells(known)):
        for record in cell:
            if values.setdefault(record[owner], record[column]) != record[column]:
                return
            profiles[record[owner]][number] += 1
    for profile in {tuple(sorted(each.elements())) for each in profiles.values()}:
        for size in range(1, min(len(profile), most or len(profile)) + 1):
            for part in set(combinations(profile, size)):
                wanted = Counter(part)
                yield Counter(values[who] for who, each in profiles.items() if wanted <= each)


def _known_sets(sentence: ReadSentence, rows: PublishedRows) -> list[tuple[str, ...]] | str:
    """The sets of columns that an attacker may know, as the words have it; or what is wrong with the words."""
    published = {name for name, role in rows.roles.items() if role in ("quasi", "declared")}
    if sentence.family == "all":
        told = set(sentence.known[0]) if sentence.known else set(rows.quasi)
        if sentence.many is not None and sentence.many != len(rows.quasi):
            return f"{sentence.many} columns are said and {len(rows.quasi)} are published"
        if told | set(sentence.excepted) != published:
            return f"everything is said, and {sorted(published - told - set(sentence.excepted))} are published too"
        return [tuple(sorted(told))]
    if not set().union(*map(set, sentence.known)) <= published:
        return f"{sentence.known} are not published"
    return list(sentence.known)


def _broken(
    promise: ReadPromise,
    known: tuple[str, ...],
    rows: PublishedRows,
    claim: Mapping[str, Any],
    owner: str | None,
    population: Sequence[Record],
    limit: int | None,
) -> Iterator[str]:
    said, kind = promise.said, promise.kind
    if kind == "records":
        yield from (f"a cell of {len(cell)}" for cell in rows.cells(known) if len(cell) < int(said["k"] or 0))
    elif kind == "people":
        if owner is None:
            yield "nobody says whose the records are"
            return
        for cell in rows.cells(known):
            counts = Counter(record[owner] for record in cell)
            if len(counts) < int(said["k"] or 0):
                yield f"a cell of {len(counts)} people"
    elif kind == "average":
        cells = rows.cells(known)
        if Fraction(len(cells), sum(map(len, cells))) > Fraction(said["c"] or 0):
            yield f"{len(cells)} cells"
    elif kind in ("population", "presence"):
        yield from _population(promise, known, rows, population)
    elif kind not in ("fewer", "wish"):
        for column in (
            (promise.columns,) if said.get("joint") else ((each,) for each in promise.columns or rows.sensitive[:1])
        ):
            others = tuple(name for name in rows.sensitive if name not in column)
            beside = others if promise.beside is None else promise.beside
            for group in rows.shared_values(known):
                parts: dict[tuple[str | None, ...], Counter[Any]] = defaultdict(Counter)
                for row in group:
                    value: Any = row[column[0]] if len(column) == 1 else tuple(row[name] for name in column)
                    parts[tuple(row[name] for name in beside)][value] += 1
                for counts in parts.values():
                    if limit is None or sum(counts.values()) < limit:
                        yield from _value_refutation(kind, said, counts, rows, column[0], claim)


def _value_refutation(
    kind: str,
    said: Mapping[str, str | None],
    counts: Counter[Any],
    rows: PublishedRows,
    column: str,
    claim: Mapping[str, Any],
) -> Iterator[str]:
    """What is wrong with the values that an attacker is left with."""
    total, most = sum(counts.values()), max(counts.values())
    number = {name: Fraction(text) for name, text in said.items() if text is not None and re.fullmatch(NUMBER, text)}
    told = f"values {dict(counts)}"
    if (
        (kind == "distinct" and len(counts) < number["l"])
        or (kind == "share" and Fraction(most, total) > number["c"])
        or (
            kind == "entropy"
            and math.exp(-sum(many / total * math.log(many / total) for many in counts.values()))
            < float(number["l"]) - 1e-9
        )
    ):
        yield told
    elif kind in ("sure", "negations", "facts"):
        below = number.get("exact", number["percent"] / 100) if kind == "sure" else number["c"]
        out = (
            0
            if kind == "sure" and said["out"] is None
            else 1
            if said.get("out") == "one"
            else int(said.get("out") or said.get("k") or 0)
        )
        for value, many in counts.items():
            others = sorted((count for other, count in counts.items() if other != value), reverse=True)
            if Fraction(many, total - sum(others[:out])) >= below:
                yield f"{told}, sure of {value!r} after ruling out {out}"
    elif kind == "kept":
        for value in values_in(said["values"] or ""):
            if Fraction(counts[value], total) < number["percent"] / 100:
                yield f"{told} without enough {value!r}"
    elif kind == "close" and _distance(counts, rows.whole(column), said["apart"] or "") > number["t"]:
        yield f"{told} against {dict(rows.whole(column))}"
    elif kind in ("times", "factor"):
        whole = rows.whole(column)
        everybody = sum(whole.values())
        for value, many in counts.items():
            ratio = Fraction(many, total) / Fraction(whole[value], everybody)
            if kind == "times" and ratio > number["most"]:
                yield f"{told}, {value!r} {float(ratio)} times"
            if kind == "times" and said["tighter"] and float(ratio) - 1 > -math.log(whole[value] / everybody) + 1e-9:
                yield f"{told}, {value!r} too frequent for a frequent value"
            if kind == "factor" and abs(math.log2(float(ratio))) > float(number["delta"]) - 1e-12:
                yield f"{told}, {value!r} {float(ratio)} times"
    elif kind == "once" and (total < number["m"] or most > 1):
        yield told
    elif kind == "guarded":
        yield from (
            f"{told}: {value!r}"
            for value in values_in(said["values"] or "")
            if Fraction(counts[value], total) > number["c"]
        )
    elif kind == "category":
        for each in (said["sets"] or "").split("; "):
            if Fraction(sum(counts[value] for value in values_in(each)), total) >= number["c"]:
                yield f"{told}: {each}"
    elif (
        kind == "weight"
        and sum(Fraction(claim["parameters"]["weights"].get(value, 0)) for value in counts) < number["least"]
    ):
        yield told
    elif kind in ("span", "near", "window"):
        line = Counter({Fraction(value): many for value, many in counts.items()})
        if kind == "span" and max(line) - min(line) < number["e"]:
            yield told
        for start in line if kind != "span" else ():
            low, high = (
                (start - number["e"], start + number["e"])
                if kind == "near"
                else (start, start + number["below"] + number["above"])
            )
            inside = Fraction(sum(many for value, many in line.items() if low <= value <= high), total)
            if inside > number["c"] if kind == "near" else inside >= number["c"]:
                yield f"{told} around {start}"


def _distance(counts: Counter[Any], whole: Counter[Any], apart: str) -> Fraction:
    """The earth mover's distance: any two values equally far, or by their places in the order of numbers."""
    total, everybody = sum(counts.values()), sum(whole.values())
    differences = {
        value: Fraction(counts[value], total) - Fraction(whole[value], everybody) for value in set(counts) | set(whole)
    }
    if "equally far apart" in apart:
        return sum(map(abs, differences.values()), Fraction(0)) / 2
    assert "stand in their order" in apart, apart
    moved, left = Fraction(0), Fraction(0)
    for value in sorted(differences, key=Fraction):
        left += differences[value]
        moved += abs(left)
    return moved / max(len(differences) - 1, 1)


def _population(
    promise: ReadPromise, known: tuple[str, ...], rows: PublishedRows, population: Sequence[Record]
) -> Iterator[str]:
    for cell in rows.cells(known):
        people = sum(
            all(_fits(rows.meanings[name][cell[0][name]], person[name]) for name in known) for person in population
        )
        if promise.kind == "population" and people < int(promise.said["k"] or 0):
            yield f"{people} people fit"
        elif promise.kind == "presence" and not Fraction(promise.said["low"] or 0) <= Fraction(
            len(cell), people
        ) <= Fraction(promise.said["high"] or 0):
            yield f"{len(cell)} of {people}"


def _fits(meaning: Mapping[str, Any], value: str | None) -> bool:
    """Whether a raw value, as text, is one that a label stands for."""
    if "all" in meaning:
        return True
    if "value" in meaning:
        return _text(meaning["value"]) == value
    if "values" in meaning:
        return value in [_text(each) for each in meaning["values"]]
    if "prefix" in meaning:
        return str(value).startswith(meaning["prefix"]) and len(str(value)) == meaning["length"]
    low, high = meaning["interval"]
    number, closed = Fraction(value or 0), meaning["closed"]
    above = low is None or number > Fraction(str(low)) or (number == Fraction(str(low)) and closed in ("left", "both"))
    below = (
        high is None or number < Fraction(str(high)) or (number == Fraction(str(high)) and closed in ("right", "both"))
    )
    return above and below
