"""The topic of a table, and what it implies for its columns.

A column without a recognised meaning is judged by its neighbours: in a file about patients, debtors, convicts or
opinions it is assumed to be one more value of that kind. In doubt it is sensitive; visible attributes of a person are
not.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from reticent.propose.meanings import kind_in
from reticent.propose.names import BODY_WEIGHT, says_nothing, says_survey, words_of
from reticent.propose.profile import ColumnProfile
from reticent.propose.seen_values import kind_everybody_sees
from reticent.propose.sensitive_values import kind_of_values
from reticent.propose.vocabulary import Kind, kinds_of
from reticent.table import TableCodebook

Kinds = dict[str, Kind | None]


@dataclass(frozen=True)
class Topic:
    """A topic of a file, the meanings of columns that indicate it, and the kind that it gives to columns without a recognised meaning."""

    name: str
    meanings: frozenset[str]
    kind: Kind


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOPICS = (
    Topic(
        "health",
        _words("health genetics sexuality outcome"),
        Kind("health", "it is part of a medical file", inferred=True),
    ),
    Topic("money", _words("money"), Kind("money", "it is part of a file about credit or benefits", inferred=True)),
    Topic("crime", _words("crime"), Kind("crime", "it is part of a file about crime", inferred=True)),
    Topic(
        "outcome",
        _words("outcome"),
        Kind("outcome", "it accompanies an outcome and the time until it", inferred=True),
    ),
    Topic("achievement", _words("achievement"), Kind("achievement", "it accompanies scores and grades", inferred=True)),
    Topic(
        "opinion", _words("opinion politics religion"), Kind("opinion", "an answer to a questionnaire", inferred=True)
    ),
)
_OUTCOME = Kind("outcome", "what happened, or the time until it", topic=True)
_OF_PATIENTS = ("a patient's condition", "a finding")
_ANSWER = Kind("opinion", "an answer to a questionnaire", topic=True, inferred=True)
_TRAIT = Kind("opinion", "personality, one of five traits", topic=True)

# A file named after income is not about credit: its other columns are known.
_NO_TOPIC = ("income", "wealth", "spending", "tax")
_SEVERAL, _TWO, _SHARE = 3, 2, 0.15
# Files about schools contain much besides marks: class sizes, distances.
_SCHOOL_SHARE = 0.4
_ITEMS, _STEPS = 5, range(3, 12)
_TIMES = _words(
    "time times days months weeks duration durat ldurat spell stop start follow followup survtime t week tstart tstop wait years"
)
_STATES = _words(
    "status stat event events cens censor censors censored delta fail failed failure outcome relapse died dead death d state"
)
_STATE_ENDS = (".s", "_s", ".stat", "_stat", ".status", "_status", ".event", "_event")
"""Suffixes that distinguish the name of a state from that of its time: ``rel`` and ``rel.s``."""

_FEWEST_TIMES, _MOST_STATES = 10, 4
_ITEM = re.compile(r"(?:q|item|answer|question|frage|antwort|resp|response)_?\d+[a-z]?")
_NUMBERED_ITEM = re.compile(r"(.*[a-z]{2}\d?)[_.]?\d{1,3}")
_ANY_COLUMN = frozenset(["var", "col", "column", "field", "feature", "feat", "attr", "attribute", "dim", "comp", "pc"])
_MEASURED_AGAIN = re.compile(r"y_?(?:0?\d|1\d)")
_LOW_GRADES = 5
_FIVE_TRAITS = frozenset("ocean")


def with_kinds(
    profiles: Sequence[ColumnProfile], about: str = "", codebook: TableCodebook | None = None
) -> tuple[ColumnProfile, ...]:
    """Return the profiles with the kind of each column. ``about`` is the name of the file.

    First each column by itself, then by its neighbours; then the topics of the file (health, money, ...) classify the rest.
    """
    codebook = codebook or TableCodebook()
    columns = [replace(column, title=codebook.titles.get(column.name, "")) for column in profiles]
    kinds = {column.name: _alone(column, codebook) for column in columns}
    kinds |= _of_couples(columns, kinds)
    kinds |= _enclosed(columns, kinds)
    kinds |= dict.fromkeys(_weighed(columns, kinds), BODY_WEIGHT)
    kinds |= dict.fromkeys(_outcomes(columns, kinds), _OUTCOME)
    kinds |= dict.fromkeys(_answers(columns, kinds), _ANSWER)
    kinds |= dict.fromkeys(_big_five(columns, kinds), _TRAIT)
    for topic in _TOPICS:
        if _is_about(topic, columns, kinds, about):
            kinds |= dict.fromkeys(_unknown(columns, kinds, topic), topic.kind)
    return tuple(replace(column, kind=kinds[column.name]) for column in columns)


def _alone(column: ColumnProfile, codebook: TableCodebook) -> Kind | None:
    """Return the kind by name, title and values. Pupils' marks are not school levels, and the state of a patient is not part of a country."""
    by_values = kind_of_values(column.sample, list(codebook.labels.get(column.name, {}).values()))
    by_name = kind_in(column)
    is_mark = (
        by_values is not None
        and by_values.meaning == "achievement"
        and by_name is not None
        and by_name.says == "schooling"
    )
    is_patient_state = (
        by_values is not None and by_values.says in _OF_PATIENTS and by_name is not None and not by_name.sensitive
    )
    chosen = by_values if by_name is None or is_mark or is_patient_state else by_name
    return chosen or kind_everybody_sees(column)


def _of_couples(columns: Sequence[ColumnProfile], kinds: Kinds) -> Kinds:
    """Return kinds for columns of wives and husbands whose names differ only in the first letter, in a file about
    families: ``wc`` and ``hc`` are college attendance.
    """
    if not any(kind is not None and kind.says == "family" for kind in kinds.values()):
        return {}
    by_name = {column.name.lower(): column.name for column in columns if kinds[column.name] is None}
    return {
        by_name[f"{spouse}{after_first}"]: Kind("demographic", says, visible=True)
        for after_first, says in _OF_BOTH.items()
        if f"w{after_first}" in by_name and f"h{after_first}" in by_name
        for spouse in "wh"
    }


def _enclosed(columns: Sequence[ColumnProfile], kinds: Kinds) -> Kinds:
    """Return kinds for columns with meaningless names, taken from the nearest classified columns on both sides if these
    agree and have the same values: an unnamed column between two origins is an origin.
    """
    classified = [index for index, column in enumerate(columns) if kinds[column.name] is not None]
    enclosed_kinds: Kinds = {}
    for left, right in itertools.pairwise(classified):
        kind = kinds[columns[left].name]
        if kind is None or kind != kinds[columns[right].name] or not (kind.visible or kind.sensitive):
            continue
        enclosed_kinds |= {
            column.name: kind
            for column in columns[left + 1 : right]
            if _is_alike(column, columns[left]) and _is_alike(column, columns[right])
        }
    return enclosed_kinds


def _is_alike(column: ColumnProfile, other: ColumnProfile) -> bool:
    """True if two columns have the same levels, or numbers in the same range."""
    if column.type != other.type or column.type in ("date", "timestamp"):
        return False
    if column.type in ("integer", "number"):
        return (column.lowest, column.highest) == (other.lowest, other.highest)
    return column.distinct <= _STEPS[-1] and set(column.sample) == set(other.sample)


def _weighed(columns: Sequence[ColumnProfile], kinds: Kinds) -> list[str]:
    """Return weights that accompany a height or a body mass index: body weights, not survey weights."""
    bodies = {kind.says for kind in kinds.values() if kind is not None} & {"physical appearance", "body weight"}
    if not bodies:
        return []
    return [
        column.name
        for column in columns
        if column.type in ("integer", "number")
        and any(kind.meaning == "weight" for kind in kinds_of(column.name))
        and not says_survey(column.name)
        and (kinds[column.name] is None or kinds[column.name] == _SURVEY_WEIGHT)
    ]


_SURVEY_WEIGHT = Kind("weight", "a survey weight")
_OF_BOTH = {
    "c": "schooling",
    "e": "schooling",
    "ed": "schooling",
    "s": "schooling",
    "a": "age",
    "o": "work",
    "occ": "work",
    "h": "work",
    "hrs": "work",
}


def _outcomes(columns: Sequence[ColumnProfile], kinds: Kinds) -> list[str]:
    """Return columns of follow-up times and of the state at that time: ``time`` and ``status``, ``t1`` and ``d1``."""
    survival_columns = {name for name, kind in kinds.items() if kind is not None and kind.says == "death or survival"}
    times = [
        column for column in columns if _is_time(column) and (_says(column, _TIMES) or column.name in survival_columns)
    ]
    states = [
        column
        for column in columns
        if _is_state(column) and (_says(column, _STATES) or column.name in survival_columns)
    ]
    outcomes = {column.name for column in (*times, *states) if times and states}
    by_name = {column.name.lower(): column for column in columns}
    repeated = [
        column for name, column in by_name.items() if _MEASURED_AGAIN.fullmatch(name) and column.distinct <= _STEPS[-1]
    ]
    outcomes |= {column.name for column in repeated if len(repeated) >= _TWO}
    pairs = [
        (by_name[f"t{after_first}"], by_name[f"d{after_first}"])
        for after_first in {name[1:] for name in by_name if len(name) in (2, 3)}
        if f"t{after_first}" in by_name and f"d{after_first}" in by_name
    ]
    pairs += [
        (column, by_name[f"{name}{end}"])
        for name, column in by_name.items()
        for end in _STATE_ENDS
        if f"{name}{end}" in by_name
    ]
    pairs = [(time, state) for time, state in pairs if _is_time(time) and _is_state(state)]
    if len(pairs) >= _TWO:
        outcomes |= {column.name for column in itertools.chain(*pairs)}
    return [name for name in outcomes if kinds[name] is None]


def is_follow_up(column: ColumnProfile) -> bool:
    """True if the column is a time to an event."""
    return _is_time(column) and _says(column, _TIMES)


def _is_time(column: ColumnProfile) -> bool:
    numeric = column.type in ("integer", "number")
    return numeric and column.distinct > _FEWEST_TIMES and column.lowest is not None and column.lowest >= 0


def _is_state(column: ColumnProfile) -> bool:
    return 2 <= column.distinct <= _MOST_STATES


def _says(column: ColumnProfile, words: frozenset[str]) -> bool:
    return any(word.rstrip("0123456789") in words for word in words_of(column.name))


def _answers(columns: Sequence[ColumnProfile], kinds: Kinds) -> list[str]:
    """Return columns of a questionnaire: numbered questions, and scales that many columns share, including those of sensitive kinds."""
    unclassified = {column.name for column in columns if kinds[column.name] is None}
    numbered = [name for name in sorted(unclassified) if _ITEM.fullmatch("_".join(words_of(name)))]
    scales: dict[tuple[float, float], list[str]] = {}
    for column in columns:
        kind = kinds[column.name]
        if (kind is None or kind.sensitive) and column.type != "text" and _is_scale(column):
            scales.setdefault((column.lowest, column.highest), []).append(column.name)
    numbered += _items_of_scales(columns, unclassified)
    return [
        *numbered,
        *(name for names in scales.values() if len(names) >= _ITEMS for name in names if name in unclassified),
    ]


def _items_of_scales(columns: Sequence[ColumnProfile], unclassified: set[str]) -> list[str]:
    """Return columns that are numbered after the name of a scale (``gq6_1``, ``gq6_2`` ...) and have its steps, if
    several items form a questionnaire.
    """
    families: dict[str, list[str]] = {}
    for column in columns:
        match = _NUMBERED_ITEM.fullmatch(column.name.lower())
        if match is not None and column.name in unclassified and match[1] not in _ANY_COLUMN and _has_steps(column):
            families.setdefault(match[1], []).append(column.name)
    items = [name for names in families.values() if len(names) >= _SEVERAL for name in names]
    return items if len(items) >= _ITEMS else []


def _has_steps(column: ColumnProfile) -> bool:
    """True if numbers are on a scale of a few steps; imputed answers may fall between them."""
    numeric = column.type in ("integer", "number") and column.distinct >= _STEPS[0]
    return numeric and column.lowest >= 0 and column.highest <= _STEPS[-1]


def _big_five(columns: Sequence[ColumnProfile], kinds: Kinds) -> list[str]:
    """Return columns named by the initials of the five personality traits, if all five exist."""
    found = [column.name for column in columns if column.name.lower() in _FIVE_TRAITS and kinds[column.name] is None]
    return found if {name.lower() for name in found} == _FIVE_TRAITS else []


def _is_scale(column: ColumnProfile) -> bool:
    """True if values can be steps of a scale: few integers from 0 or 1, or few texts."""
    if column.distinct not in _STEPS:
        return False
    if column.type == "text":
        return True
    if column.type not in ("integer", "number") or column.lowest not in (0, 1) or column.highest > _STEPS[-1]:
        return False
    return bool((column.sample == column.sample.floor()).all())


def _is_about(topic: Topic, columns: Sequence[ColumnProfile], kinds: Kinds, about: str) -> bool:
    """True if several columns, or the file name, indicate the topic. So does a treatment of people with several
    observations, and one health column in a narrow file about no other subject.
    """
    # Words that must match a whole column name do not count in file names.
    if any(kind.meaning in topic.meanings and kind.says not in _NO_TOPIC for kind in kinds_of(f"{about} file")):
        return True
    indicating = [kind for kind in kinds.values() if kind is not None and kind.topic and kind.meaning in topic.meanings]
    if all(kind.meaning == "outcome" for kind in indicating) and topic.name != "outcome":
        # The time to an event, together with smoking, indicates patients.
        return topic.name == "health" and len(indicating) >= _TWO and "health" in _subjects(kinds)
    if any(kind.says == "a treatment" for kind in indicating) and any(
        _is_repeated_key(column, kinds) for column in columns
    ):
        return True
    share = _SCHOOL_SHARE if topic.name == "achievement" else _SHARE
    column_count = sum(kind is None or kind.meaning not in ("key", "identifier") for kind in kinds.values())
    has_several = len(indicating) >= _SEVERAL and topic.name != "achievement"
    is_only_subject = topic.name == "health" and bool(indicating) and _subjects(kinds) <= topic.meanings
    return has_several or ((len(indicating) >= _TWO or is_only_subject) and len(indicating) >= share * column_count)


def _subjects(kinds: Kinds) -> set[str]:
    """Return the subjects of the classified columns, other than demographics."""
    return {kind.meaning for kind in kinds.values() if kind is not None and kind.sensitive}


def _is_repeated_key(column: ColumnProfile, kinds: Kinds) -> bool:
    kind = kinds[column.name]
    return kind is not None and kind.meaning == "key" and 1 < column.distinct < column.filled


def _unknown(columns: Iterable[ColumnProfile], kinds: Kinds, topic: Topic) -> list[str]:
    """Return columns without a kind, and words with another meaning in such a file; dates and false friends keep theirs."""
    return [
        column.name
        for column in columns
        if column.type not in ("date", "timestamp")
        and not says_nothing(column.name)
        and (kinds[column.name] is None or _means_other(column, kinds[column.name], topic))
        and _can_be(column, topic)
    ]


def _can_be(column: ColumnProfile, topic: Topic) -> bool:
    """True if the values are plausible for the topic: scores are numbers, answers are steps of a scale."""
    if topic.name == "achievement":
        return column.type in ("integer", "number") and column.distinct > _FEWEST_TIMES
    return topic.name != "opinion" or (_is_scale(column) and column.distinct > _STEPS[0])


def _means_other(column: ColumnProfile, kind: Kind | None, topic: Topic) -> bool:
    """True if the word has another meaning in this topic: the grade of a tumour or of a loan, the size of one, a class
    of cells, participation in a programme, rejection of an organ.
    """
    words = words_of(column.name)
    if words in (["reject"], ["rejected"]) and topic.name == "health":
        return True
    if kind is None or kind.meaning != "demographic":
        return False
    if words[-1:] == ["grade"] and topic.name == "money":
        return True
    if words in (["participation"], ["partic"]):
        # Participation in the labour force is visible; participation in a programme for the poor or the ill is not.
        return topic.name in ("health", "money", "crime")
    if words == ["size"]:
        return topic.name in ("health", "outcome", "money")
    if words[-1:] in (["grade"], ["tgrade"]) and topic.name in ("health", "outcome"):
        if column.type == "text":
            steps = column.sample.str.extract(r"(\d+)").cast(pl.Int64, strict=False).max()
            return steps is None or int(steps) <= _LOW_GRADES  # type: ignore[arg-type]  # the largest of whole numbers is one
        return column.highest is not None and column.highest <= _LOW_GRADES
    return words == ["class"] and column.distinct == 2 and topic.name in ("health", "money")
