"""What each column of a table is about: by its name, its title in a codebook, its values, and the columns beside it.

A column that nothing is known of is judged in its context: in a file about patients, debtors, convicts or opinions it is taken to be one more value of that kind.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from reticent.propose.names import kind_of, says_survey, words_of
from reticent.propose.profile import ColumnProfile
from reticent.propose.sensitive_values import kind_of_values
from reticent.propose.vocabulary import Kind, kinds_of
from reticent.table import TableCodebook


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BODIES, _NEWBORN = (30, 700), (2000, 5000)
_SMALLEST_BODY, _BODY_SPREAD = 1.5, 0.35
_AGES_REACH = (13, 125)
_LEVELS = 5
_MARKS = 5

_BODY_WEIGHT = Kind("health", "body weight")
_OUTCOME = Kind("outcome", "what happened, or the time until it", topic=True)
_ANSWER = Kind("opinion", "an answer to a questionnaire", topic=True)
_PAY = Kind("money", "income")
_DEMOGRAPHIC = Kind("demographic", "a demographic value")
_HOSPITAL_STAY = Kind("health", "a stay in hospital", topic=True)

# Topics of a file, the meanings that make them, and what a column without a word of its own then is.
_TOPICS: Mapping[str, tuple[frozenset[str], Kind]] = {
    "health": (
        frozenset(["health", "genetics", "sexuality", "outcome"]),
        Kind("health", "it stands in a medical file"),
    ),
    "money": (frozenset(["money"]), Kind("money", "it stands in a file about credit or benefits")),
    "crime": (frozenset(["crime"]), Kind("crime", "it stands in a file about crime")),
}
_NAMED = frozenset(["income", "wealth", "spending", "tax"])
_OPINIONS = frozenset(["opinion", "politics", "religion"])
_SEVERAL, _TWO, _SHARE = 3, 2, 0.2
_ITEMS, _SCALE = 5, range(3, 12)
_TIMES = _words(
    "time times days months weeks duration durat ldurat spell stop start follow followup survtime t week tstart tstop wait years"
)
_STATES = _words(
    "status stat event events cens censor censored delta fail failed failure outcome relapse died dead death d state"
)
_FEWEST_TIMES = 10
_ITEM = re.compile(r"(?:q|item|answer|question|frage|antwort|resp|response|item_)_?\d+[a-z]?")


def with_kinds(
    profiles: Sequence[ColumnProfile], about: str = "", codebook: TableCodebook | None = None
) -> tuple[ColumnProfile, ...]:
    """The profiles, each with the kind of column that it is. ``about`` is the name of the file."""
    codebook = codebook or TableCodebook()
    titled = [replace(column, title=codebook.titles.get(column.name, "")) for column in profiles]
    known = {
        column.name: kind_in(column) or kind_of_values(column.sample, _labels(codebook, column.name))
        for column in titled
    }
    known |= dict.fromkeys(_outcomes(titled, known), _OUTCOME)
    known |= dict.fromkeys(_answers(titled, known), _ANSWER)
    for topic, found in _TOPICS.items():
        if _is_about(topic, known, about):
            known |= dict.fromkeys(_unknown(titled, known, topic), found[1])
    if sum(kind is not None and kind.topic and kind.meaning in _OPINIONS for kind in known.values()) >= _SEVERAL:
        scales = [
            column for column in titled if known[column.name] is None and _is_scale(column) and column.distinct > 3
        ]
        known |= {column.name: _ANSWER for column in scales}
    return tuple(replace(column, kind=known[column.name]) for column in titled)


def meaning_in(column: ColumnProfile) -> str | None:
    """What the column is about, in one word (:data:`reticent.propose.names.Meaning`)."""
    kind = column.kind or kind_in(column)
    return kind.meaning if kind is not None else None


def kind_in(column: ColumnProfile) -> Kind | None:
    """What the name says, or else the title, if the values can be that: a longitude is no pay, the weight of a body is none of a survey."""
    kind = _fitting(kind_of(column.name), column)
    return kind if kind is not None or not column.title else _fitting(kind_of(column.title), column)


def _fitting(kind: Kind | None, column: ColumnProfile) -> Kind | None:
    if kind is None:
        return _HOSPITAL_STAY if "hospital" in words_of(column.name) and _is_counted(column) else None
    numeric = column.type in ("integer", "number")
    if kind.meaning == "place":
        if numeric and column.lowest is not None and column.lowest >= -180 and column.highest <= 180:
            return kind
        return _PAY if numeric and "lon" in words_of(column.name) else None
    if kind.meaning == "weight" and numeric and not says_survey(column.name) and _like_bodies(column):
        return _BODY_WEIGHT
    if kind.meaning == "age" and numeric and not _like_ages(column):
        return _DEMOGRAPHIC
    if kind.numbers and (not numeric or column.distinct <= _MARKS):
        return None
    if kind.says == "how somebody looks" and numeric and column.distinct <= 2:
        return None
    return kind


def _is_counted(column: ColumnProfile) -> bool:
    """Whether it says if or how often, and not which one."""
    return column.distinct == 2 or (column.type == "integer" and column.lowest == 0)


def _like_ages(column: ColumnProfile) -> bool:
    """Numbers as ages in years are: not below zero, above those of children, and not those of trees; classes of ages and shares of a century are none."""
    return column.lowest is not None and column.lowest >= 0 and _AGES_REACH[0] <= column.highest <= _AGES_REACH[1]


def _like_bodies(column: ColumnProfile) -> bool:
    """Numbers as kilograms, pounds or, of the newborn, grams of people are: bounded on both sides, and close to their mean, which a survey's are seldom."""
    if column.lowest is None or not column.lowest > 0 or column.distinct < 2 or column.highest > 12 * column.lowest:
        return False
    values = np.repeat(column.sample.cast(pl.Float64).to_numpy(), column.times)
    mean, spread = float(values.mean()), float(values.std() / values.mean())
    if mean > _BODIES[1]:
        return _NEWBORN[0] <= mean <= _NEWBORN[1] and spread <= _BODY_SPREAD
    return mean >= _BODIES[0] or (mean >= _SMALLEST_BODY and spread <= _BODY_SPREAD)


def _labels(codebook: TableCodebook, name: str) -> list[str]:
    return list(codebook.labels.get(name, {}).values())


def _outcomes(columns: Sequence[ColumnProfile], known: Mapping[str, Kind | None]) -> list[str]:
    """Columns of follow-up times, and of what had happened by then: ``time`` and ``status``, ``t1`` and ``d1``."""
    free = [column for column in columns if known[column.name] is None]
    times = [column for column in columns if _is_time(column) and _says(column, _TIMES)]
    states = [column for column in columns if column.distinct in (2, 3, 4) and _says(column, _STATES)]
    found = {column.name for column in (*times, *states) if times and states}
    by_name = {column.name.lower(): column for column in columns}
    pairs = [
        (by_name[f"t{rest}"], by_name[f"d{rest}"])
        for rest in {name[1:] for name in by_name if len(name) in (2, 3)}
        if f"t{rest}" in by_name and f"d{rest}" in by_name
    ]
    pairs = [(time, state) for time, state in pairs if _is_time(time) and state.distinct == 2]
    if len(pairs) >= _TWO:
        found |= {column.name for column in itertools.chain(*pairs)}
    return [column.name for column in free if column.name in found]


def _is_time(column: ColumnProfile) -> bool:
    numeric = column.type in ("integer", "number")
    return numeric and column.distinct > _FEWEST_TIMES and column.lowest is not None and column.lowest >= 0


def _says(column: ColumnProfile, words: frozenset[str]) -> bool:
    return any(word.rstrip("0123456789") in words for word in words_of(column.name))


def _answers(columns: Sequence[ColumnProfile], known: Mapping[str, Kind | None]) -> list[str]:
    """Columns of a questionnaire: numbered questions, and scales that many columns share."""
    free = [column for column in columns if known[column.name] is None]
    numbered = [column.name for column in free if _ITEM.fullmatch("_".join(words_of(column.name)))]
    scales: dict[tuple[int, int], list[str]] = {}
    for column in free:
        if column.type == "integer" and _is_scale(column):
            scales.setdefault((column.lowest, column.highest), []).append(column.name)
    shared = [name for names in scales.values() if len(names) >= _ITEMS for name in names]
    return [*numbered, *shared]


def _is_scale(column: ColumnProfile) -> bool:
    """Whether values can be steps of a scale: few whole numbers from 0 or 1 on, or few texts."""
    if column.type == "text":
        return 2 <= column.distinct <= _SCALE[-1]
    whole = column.type in ("integer", "number") and column.lowest is not None
    return whole and column.distinct in _SCALE and column.lowest in (0, 1) and column.highest <= _SCALE[-1]


def _is_about(topic: str, known: Mapping[str, Kind | None], about: str) -> bool:
    """Whether several columns, or the name of the file, say that the file is about it."""
    meanings, _ = _TOPICS[topic]
    # Words that are meant as whole names of columns say nothing as names of files.
    if any(kind.meaning in meanings and kind.says not in _NAMED for kind in kinds_of(f"{about} file")):
        return True
    meant = [kind for kind in known.values() if kind is not None and kind.topic and kind.meaning in meanings]
    if all(kind.meaning == "outcome" for kind in meant):
        return False
    columns = sum(kind is None or kind.meaning not in ("key", "identifier") for kind in known.values())
    return len(meant) >= _SEVERAL or (len(meant) >= _TWO and len(meant) >= _SHARE * columns)


def _unknown(columns: Iterable[ColumnProfile], known: Mapping[str, Kind | None], topic: str) -> list[str]:
    """Columns without a kind of their own, and words that mean something else in such a file; dates stay what they are."""
    found = []
    for column in columns:
        kind, dated = known[column.name], column.type in ("date", "timestamp")
        if not dated and (kind is None or (kind.meaning == "demographic" and _means_other(column, topic))):
            found.append(column.name)
    return found


def _means_other(column: ColumnProfile, topic: str) -> bool:
    """A grade of a tumour or of a loan, a class of cells."""
    words = words_of(column.name)
    if words[-1:] == ["grade"]:
        low = column.type in ("integer", "number") and column.highest is not None and column.highest <= _LEVELS
        return low or (column.type == "text" and not column.sample.str.contains(r"\d").any())
    return words == ["class"] and column.distinct == 2 and topic in ("health", "money")
