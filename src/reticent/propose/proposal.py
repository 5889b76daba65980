"""A proposed policy for an undocumented table: roles, hierarchies and a definition, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl

from reticent.base.context import Context
from reticent.base.frames import is_pattern
from reticent.propose.coarsenings import ALONE, coarsening_for
from reticent.propose.guarantees import ColumnGuarantees, PromisedPart, guarantees_for
from reticent.propose.hierarchies import propose_hierarchy
from reticent.propose.identifier_patterns import full_names, identifying_pattern
from reticent.propose.meanings import is_by_context, is_category, may_hold_names, meaning_in
from reticent.propose.names import (
    SENSITIVE,
    numbers_persons,
    says_nothing,
    says_number_of_somebody,
    says_record,
    words_of,
)
from reticent.propose.profile import ColumnProfile, profile
from reticent.propose.relations import completing, families, relations
from reticent.propose.safe_harbor import safe_harbor
from reticent.propose.study_columns import is_outcome, is_studied, is_treatment
from reticent.propose.topics import is_follow_up, with_kinds
from reticent.propose.vocabulary import Kind
from reticent.table import ColumnRelation, TableCodebook, coarsening_from

_IDENTIFYING = Fraction(9, 10)
_K = 5
_SIZE: PromisedPart = {"name": "KAnonymity", "k": _K}
_MOST_PEOPLE = 10**10
_FREE_TEXT = 60
_MANY_VALUES = 100
_MEASURED = 20
_MOST = 0.8
_LONG_NUMBER, _LONGER_NUMBER = 7, 9
_FEWEST_PEOPLE = 50
_CROWDED, _UNEVEN = 0.05, 5
_NAMED = 6
_OF_PEOPLE = frozenset(
    ["patient", "person", "subject", "participant", "respondent", "individual", "member", "client", "pid"]
)
_OF_OTHERS = frozenset(
    [
        *(
            "household",
            "hh",
            "hhid",
            "hid",
            "house",
            "home",
            "family",
            "fam",
            "famid",
            "couple",
            "school",
            "class",
            "teacher",
        ),
        *(
            "hospital",
            "clinic",
            "ward",
            "doctor",
            "physician",
            "site",
            "center",
            "centre",
            "practice",
            "firm",
            "company",
        ),
        *(
            "plant",
            "branch",
            "store",
            "visit",
            "encounter",
            "admission",
            "order",
            "invoice",
            "claim",
            "study",
            "survey",
        ),
        *(
            "interview",
            "cluster",
            "clust",
            "village",
            "district",
            "region",
            "state",
            "country",
            "county",
            "city",
            "row",
        ),
    ]
)
"""Words of columns that identify something other than people."""
_LASTING = frozenset(
    [
        "sex",
        "gender",
        "female",
        "male",
        "race",
        "ethnicity",
        "eth",
        "black",
        "hispanic",
        "minority",
        "native",
        "birthyear",
        "yob",
    ]
)
"""Words of columns whose value is constant for a person."""
_ONLY_KNOWN = "others may know it: no other column is left that they could know"
_OTHERS_APART = ", but it repeats, and does not identify people"
_LEAST_DELICATE = ("achievement", "opinion")
_FEW_VALUES = 8
_FEW_UNCLEAR, _UNCLEAR_SHARE = 3, 0.25
_UNCLEAR = Kind("unclear", "nothing says whether others know it", inferred=True)
_EITHER_TELLS = ("religion", "politics", "opinion", "sexuality")
"""Meanings whose absence discloses as much as their presence: a voter who did not vote for one party voted for another."""


@dataclass(frozen=True)
class ColumnProposal:
    """One column's profile, its proposed role (None: not published), a hierarchy for quasi-identifiers, and the reason.

    ``coarsen`` describes how numbers or dates of a sensitive column are coarsened.
    """

    profile: ColumnProfile
    role: str | None
    reason: str
    hierarchy: dict[str, Any] | None = None
    levels: int = 1
    coarsen: dict[str, Any] | None = None

    @property
    def knowable(self) -> int:
        """Return how likely others know the column: 0 visible or commonly asked (age, sex, places), 1 other demographic
        values, 2 unknown, 3 measurements and answers that exist in records only.
        """
        meaning, kind = meaning_in(self.profile), self.profile.kind
        if meaning in ("age", "birth", "postcode") or (kind is not None and kind.visible):
            return 0
        if meaning in ("demographic", "time"):
            return 1
        measured = self.profile.type in ("integer", "number") and self.profile.distinct > _MEASURED
        return 3 if measured or says_record(self.name) or self.role == "sensitive" else 2

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.profile.name

    @property
    def safe_harbor(self) -> str | None:
        """Return the kind of HIPAA identifier that the column seems to hold."""
        return safe_harbor(self.profile)

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as plain data."""
        return {
            **self.profile.as_dict(),
            "role": self.role,
            "reason": self.reason,
            "hierarchy": self.hierarchy,
            "coarsen": self.coarsen,
            "safe_harbor": self.safe_harbor,
        }


@dataclass(frozen=True)
class Proposal:
    """A complete policy proposal, with notes for the steward.

    ``headline`` holds what must not be overlooked, ``notes`` the rest. ``unit`` is ``"person"`` if the key repeats.
    ``refusal`` is the reason why nothing is proposed: a table with too few people cannot be protected. ``relations``
    are the columns that are dropped because they follow from others, each with its rule.
    """

    rows: int
    columns: tuple[ColumnProposal, ...]
    definition: tuple[PromisedPart, ...]
    key: str | None
    weight: str | None
    nulls: str
    notes: tuple[str, ...] = field(default=())
    headline: tuple[str, ...] = field(default=())
    refusal: str | None = None
    relations: tuple[ColumnRelation, ...] = ()
    unit: str | None = None


def propose(
    frame: pl.DataFrame,
    beside: Path | None = None,
    context: Context | None = None,
    codebook: TableCodebook | None = None,
) -> Proposal:
    """Propose roles, hierarchies and a definition. ``beside`` is the data file, next to which hierarchy files may
    exist; ``codebook`` its descriptions of columns.
    """
    profiles = with_kinds(profile(frame, context), beside.name.split(".")[0] if beside else "", codebook)
    refusal = _too_few(frame.height)
    if refusal is not None:
        without_roles = tuple(ColumnProposal(column, None, "too few people for any protection") for column in profiles)
        return Proposal(
            frame.height,
            without_roles,
            definition=(),
            key=None,
            weight=None,
            nulls="refuse",
            notes=(refusal,),
            refusal=refusal,
        )
    weight = next((column.name for column in profiles if _is_weight(column)), None)
    first_roles = _with_known(_in_doubt(frame, [_first_look(column, weight) for column in profiles]))
    identified = [
        _within_households(frame, _of_people(frame, column, first_roles), first_roles) for column in first_roles
    ]
    independent, used_relations, relation_notes = _each_once(frame, identified)
    columns = _without_other_numbers(
        [_shared(frame, _with_hierarchy(column, beside)) for column in _with_known(independent)]
    )
    definition = (
        _SIZE,
        *(column_guarantee.diversity for column_guarantee in column_guarantees(columns, frame).values()),
    )
    published = [column for column in columns if column.role in ("quasi", "sensitive")]
    headline = [*_people_not_told_apart(columns), *_nothing_else_known(columns), *_questions(columns)]
    notes = [*_several_sensitive(columns), *_taken_for_sensitive(columns), *relation_notes]
    if not any(column.role == "quasi" for column in columns):
        headline.append(
            "No column can be generalized, so there is nothing to publish yet. Give a column the role quasi."
        )
    if any(column.profile.nulls for column in published):
        notes.append("Some values are missing; 'missing' is treated as a separate value (nulls = 'category').")
    key = _person_key(columns)
    has_several_rows = key is not None and key.profile.distinct < key.profile.filled
    notes += _about_people(columns, key if has_several_rows else None)
    checked_for_nulls = [*published, key] if key is not None and has_several_rows else published
    safe_harbor_columns = [
        f"{column.name} ({column.safe_harbor})" for column in columns if column.safe_harbor is not None
    ]
    if safe_harbor_columns:
        notes.append(f"Identifiers by the HIPAA safe harbor: {', '.join(safe_harbor_columns)}.")
    return Proposal(
        rows=frame.height,
        columns=tuple(columns),
        definition=definition,
        key=None if key is None else key.name,
        unit="person" if has_several_rows else None,
        weight=weight,
        nulls="category" if any(column.profile.nulls for column in checked_for_nulls) else "refuse",
        notes=tuple(notes),
        headline=tuple(headline),
        relations=used_relations,
    )


def _too_few(rows: int) -> str | None:
    """Return why so few people cannot be protected: a release of one or two groups would publish hardly anything, or disclose a person."""
    if rows >= 2 * _K:
        return None
    if rows == 0:
        return "The table has no rows. There is nothing to inspect and nothing to publish; check the source."
    count = "1 row" if rows == 1 else f"{rows} rows"
    return (
        f"The table has {count}: too few people for any protection. Nothing is proposed and nothing should be published below {2 * _K} rows, "
        f"two groups of {_K}; add rows, or publish nothing but a count."
    )


def missing_words(frame: pl.DataFrame) -> list[str]:
    """Return spellings of "missing" in the text columns, for ``null_values``."""
    return sorted({word for column in profile(frame) for word in column.missing_words})


def missing_codes(frame: pl.DataFrame) -> tuple[list[str], dict[str, list[str]]]:
    """Return numbers that mean "missing": those that are safe to list in ``null_values``, and by column those that only
    the steward can decide.

    Negative numbers are safe if they look like codes in every column that has them; nines may be values.
    """
    codes_by_column = {column.name: column.missing_codes for column in profile(frame) if column.missing_codes}
    numbers = [name for name, dtype in frame.schema.items() if dtype.is_numeric()]
    safe_codes = [
        code
        for code in sorted({code for codes in codes_by_column.values() for code in codes if code.startswith("-")})
        if all(
            code in codes_by_column.get(name, ()) or not (frame[name].alias("value") == int(code)).any()
            for name in numbers
        )
    ]
    uncertain = {name: [code for code in codes if code not in safe_codes] for name, codes in codes_by_column.items()}
    return safe_codes, {name: codes for name, codes in uncertain.items() if codes}


def _is_weight(column: ColumnProfile) -> bool:
    """True if the column can be a survey weight: numbers, none missing or negative, with a plausible total."""
    if column.type not in ("integer", "number") or column.nulls or meaning_in(column) != "weight":
        return False
    return bool(0 <= column.lowest <= column.highest <= _MOST_PEOPLE and column.highest > 0)


def _person_key(columns: Sequence[ColumnProposal]) -> ColumnProposal | None:
    """Return the column that identifies people: among those that repeat, the one with most values; else one that is unique in every row.

    A unique column named after people, as person_id is, comes before repeating ones that are not: each row is then another person.
    """
    keys = [column for column in columns if _numbers_people(column) and not column.profile.nulls]
    repeated = [column for column in keys if 2 * _K <= column.profile.distinct < column.profile.rows]
    unique = [column for column in keys if column.profile.distinct == column.profile.rows]
    if any(map(_named_after_people, unique)) and not any(map(_named_after_people, repeated)):
        repeated = []
    # Without a key, the people of a table are counted by an identifier that repeats.
    repeating = [column for column in columns if _repeats(column) and column.profile.distinct >= 2 * _K]
    unique.sort(key=lambda column: not _named_after_people(column))
    candidates = repeated or unique[:1] or [column for column in repeating if not _numbers_others(column)]
    return max(candidates, key=lambda column: column.profile.distinct, default=None)


def _without_other_numbers(columns: Sequence[ColumnProposal]) -> list[ColumnProposal]:
    """Return the columns. If no column identifies people, identifiers that repeat but number something else, or have
    too few values for people, lose that role.

    Otherwise a table without a key would count schools as people.
    """
    if _person_key(columns) is not None:
        return list(columns)
    return [
        ColumnProposal(column.profile, None, f"{column.reason}{_OTHERS_APART}")
        if _repeats(column) and (_numbers_others(column) or column.profile.distinct < 2 * _K)
        else column
        for column in columns
    ]


def _repeats(column: ColumnProposal) -> bool:
    return column.role == "identifier" and column.profile.distinct < column.profile.filled


def _numbers_others(column: ColumnProposal) -> bool:
    """True if the name indicates that schools, firms or visits are numbered."""
    return bool(_OF_OTHERS & set(words_of(column.name)))


def _named_after_people(column: ColumnProposal) -> bool:
    """True if the name indicates that people are numbered."""
    return bool(_OF_PEOPLE & set(words_of(column.name)))


def _numbers_people(column: ColumnProposal) -> bool:
    """True if a column looks like person numbers: not names, which several people share, and not numbers of schools, firms or visits."""
    if column.role != "identifier" or _numbers_others(column):
        return False
    named = meaning_in(column.profile) == "key" or _named_after_people(column)
    return named or _waves(column.profile) > 1 or column.reason.startswith("its values identify people")


def _about_people(columns: Sequence[ColumnProposal], person_column: ColumnProposal | None) -> list[str]:
    """Return notes about repeating identifiers: ``person_column`` identifies people with several rows (None: no column does); others repeat, too."""
    notes = []
    if person_column is not None:
        profile = person_column.profile
        notes.append(
            f"{person_column.name!r} has {profile.distinct:,} different values in {profile.rows:,} rows (one of them in {profile.times[0]:,}), so people are counted, not rows (unit = 'person'). If every row is a different person, set unit = 'row' and remove key."
        )
    repeating = [
        column.name
        for column in columns
        if column is not person_column
        and meaning_in(column.profile) == "key"
        and (_repeats(column) or column.reason.endswith(_OTHERS_APART))
    ]
    if repeating:
        notes.append(
            f"Several rows have the same {', '.join(map(repr, repeating))}. If it identifies a person, name it as key in [roles]; if a household, as household: groups then count these instead of rows."
        )
    return notes


def _first_look(column: ColumnProfile, weight: str | None) -> ColumnProposal:
    """Return the role that a column seems to have on its own: by its values first, then by its name.

    Columns that cannot be published (constant, nested, without values) get no role, with the reason.
    """
    if column.name == weight:
        return ColumnProposal(column, None, "the weight of a row")
    if _is_weight(column):
        return ColumnProposal(column, None, "another weight")
    if is_pattern(column.name):
        return ColumnProposal(column, None, "its name is used as a pattern for names; rename it to publish it")
    if column.distinct == 0:
        return ColumnProposal(column, None, "no values at all")
    if column.dtype.is_nested() or column.type not in ("text", "integer", "number", "boolean", "date", "timestamp"):
        return ColumnProposal(column, None, f"{column.type} values cannot be generalized")
    if _is_constant(column):
        if meaning_in(column) in (*SENSITIVE, "identifier", "place") and not is_by_context(column):
            return ColumnProposal(column, None, "every row has the same value, so it cannot be hidden")
        return ColumnProposal(column, "quasi", "the same in every row, so it costs nothing")
    role, reason = _by_values(column) or _by_name(column)
    return ColumnProposal(column, role, reason)


def _in_doubt(frame: pl.DataFrame, columns: Sequence[ColumnProposal]) -> list[ColumnProposal]:
    """Return the columns; those with few values about which name, values and neighbours indicate nothing become
    sensitive, to err on the safe side.

    Not so for the indicators of one category, or if much of the table is not understood: then nothing distinguishes one
    column from the others.
    """
    quasi = [column.name for column in columns if column.role == "quasi"]
    visible = [column.name for column in columns if column.role == "quasi" and _everybody_sees(column)]
    indicators = {name for family in families(frame, quasi) for name in family} | completing(frame, quasi, visible)
    unclear = [
        column
        for column in columns
        if column.role == "quasi"
        and column.profile.kind is None
        and 2 <= column.profile.distinct <= _FEW_VALUES
        and column.name not in indicators
        and not says_nothing(column.name)
    ]
    if len(unclear) > max(_FEW_UNCLEAR, _UNCLEAR_SHARE * len(columns)):
        return list(columns)
    return [
        ColumnProposal(replace(column.profile, kind=_UNCLEAR), "sensitive", _UNCLEAR.words)
        if column in unclear
        else column
        for column in columns
    ]


def _everybody_sees(column: ColumnProposal) -> bool:
    return column.profile.kind is not None and column.profile.kind.visible


def _with_known(columns: Sequence[ColumnProposal]) -> list[ColumnProposal]:
    """Return the columns. If no quasi-identifier would remain, one column is assumed to be known: the treatment, or
    else a time, a column that only its neighbours mark as sensitive, a body weight, one opinion or mark, or births,
    which families know.
    """
    if any(column.role == "quasi" for column in columns):
        return list(columns)
    sensitive = [column for column in columns if column.role == "sensitive"]
    candidates = [column for column in sensitive if not is_outcome(column.name)]
    by_context = [column for column in candidates if is_by_context(column.profile)]
    treatments = [column for column in candidates if is_treatment(column.name) and _may_be_treatment(column)]
    follow_up_times = [column for column in candidates if is_follow_up(column.profile)]
    body_weights, births = (
        [column for column in candidates if column.profile.kind is not None and column.profile.kind.says == kind]
        for kind in ("body weight", "pregnancy and birth")
    )
    least_delicate = [column for column in candidates if meaning_in(column.profile) in _LEAST_DELICATE]
    alternatives = (
        (treatments, follow_up_times, by_context, body_weights, least_delicate[-1:], births[-1:])
        if len(sensitive) > 1
        else (by_context,)
    )
    chosen = next(filter(None, alternatives), [])
    return [ColumnProposal(column.profile, "quasi", _ONLY_KNOWN) if column in chosen else column for column in columns]


def _may_be_treatment(column: ColumnProposal) -> bool:
    """True if the values do not contradict a treatment, as groups of patients by illness do."""
    return is_by_context(column.profile) or (
        column.profile.kind is not None and column.profile.kind.says == "a treatment"
    )


def _of_people(frame: pl.DataFrame, column: ColumnProposal, columns: Sequence[ColumnProposal]) -> ColumnProposal:
    """Return the column as a person number, if its values repeat and constant attributes of a person (sex, origin, birth) agree within each value."""
    profile = column.profile
    may_be_people = _FEWEST_PEOPLE <= profile.distinct <= profile.rows // 2 and not profile.nulls
    if (
        not (column.role == "quasi" or (column.role == "sensitive" and is_by_context(profile)))
        or not may_be_people
        or profile.type not in ("integer", "text")
        or _numbers_others(column)
    ):
        return column
    constant_attributes = [
        other.name
        for other in columns
        if other.name != column.name and other.profile.distinct > 1 and _LASTING & set(words_of(other.name))
    ]
    agreeing = [name for name in constant_attributes if frame.select(column.name, name).n_unique() == profile.distinct]
    if len(agreeing) < 2 or len(agreeing) < len(constant_attributes):
        return column
    why = f"its values identify people: {' and '.join(map(repr, agreeing[:2]))} are the same in all rows of each"
    return ColumnProposal(profile, "identifier", why)


def _within_households(
    frame: pl.DataFrame, column: ColumnProposal, columns: Sequence[ColumnProposal]
) -> ColumnProposal:
    """Return the column without a role if it numbers the people within a household: some value has very many rows, and
    it identifies rows only together with another number.
    """
    profile = column.profile
    if column.role != "identifier" or not profile.times:
        return column
    is_crowded = (
        profile.times[0] > _CROWDED * profile.rows and profile.times[0] > _UNEVEN * profile.filled / profile.distinct
    )
    other_numbers = [
        other.name
        for other in columns
        if other.name != column.name
        and other.profile.type == "integer"
        and profile.rows > other.profile.distinct > profile.rows // 5
    ]
    if not is_crowded or not any(frame.select(column.name, name).n_unique() == profile.rows for name in other_numbers):
        return column
    return ColumnProposal(profile, None, f"{column.reason}{_OTHERS_APART}")


def _is_constant(column: ColumnProfile) -> bool:
    """True if all rows have the same value, and it is not free text."""
    same = column.distinct == 1 and not column.nulls and column.rows > 1
    return same and column.hidden is None and (column.type != "text" or _longest(column) <= _FREE_TEXT)


def _by_values(column: ColumnProfile) -> tuple[str | None, str] | None:
    """Return the role of a column whose values identify people, whatever its name."""
    pattern = identifying_pattern(column.sample)
    if pattern is not None:
        return "identifier", f"values look like {pattern}"
    if column.hidden is not None:
        return None, f"some values contain {column.hidden}"
    meaning = meaning_in(column)
    if meaning == "place":
        return None, "coordinates; coarser places can be published instead"
    if may_hold_names(column) and full_names(column.sample, column.filled):
        return "identifier", "values look like names of people"
    return None


def _by_name(column: ColumnProfile) -> tuple[str | None, str]:
    """Return the role that the name suggests; without any hint, the values must not be unique."""
    meaning = meaning_in(column)
    countable = column.type in ("integer", "text")
    if meaning == "identifier" and column.type != "boolean" and not is_category(column):
        return "identifier", "the name suggests that it identifies a person"
    key_threshold = column.rows // 10
    if _says_person(column):
        key_threshold = 2 * _K - 1 if column.type == "integer" else _FEWEST_PEOPLE
    if meaning == "key" and countable and column.distinct > min(key_threshold, column.rows // 10):
        return "identifier", "the name suggests that it identifies people or households"
    is_unclassified = countable and (meaning is None or is_by_context(column))
    if is_unclassified and says_number_of_somebody(column.name) and column.distinct > column.rows // 10:
        return "identifier", "the name suggests that it identifies people or households"
    if is_unclassified and _codes_people(column):
        return "identifier", "the name suggests that it identifies people"
    if column.type == "text" and (_longest(column) > _FREE_TEXT or _is_prose(column)):
        return None, "free text may contain anything about anyone"
    if column.type == "text" and meaning in SENSITIVE and 2 * column.single > column.filled:
        return None, f"texts; {float(column.uniqueness):.0%} of the rows have a unique one"
    if column.type in ("date", "timestamp") and column.kind is not None and column.kind.says == "death or survival":
        return "quasi", "others may know it: the date of a death"
    if (
        column.kind is not None
        and column.kind.inferred
        and countable
        and (role_by_values := _own_values(column)) is not None
    ):
        return role_by_values
    if column.kind is not None and column.kind.sensitive and column.distinct + bool(column.nulls) > 1:
        return "sensitive", column.kind.words
    if column.kind is not None and meaning in ("age", "postcode", "birth", "demographic", "time"):
        return "quasi", f"others may know it: {column.kind.says}"
    if countable and (role_by_values := _own_values(column)) is not None:
        return role_by_values
    return "quasi", "others may know it: nothing indicates that they do not"


def _says_person(column: ColumnProfile) -> bool:
    """True if a key identifies people, not schools, firms or visits."""
    words = set(words_of(column.name))
    names_person = bool(words & (_OF_PEOPLE | {"id", "uid", "idno", "idnum", "idnr"})) or numbers_persons(column.name)
    return names_person and not words & _OF_OTHERS


def _codes_people(column: ColumnProfile) -> bool:
    """True if the name means patient, person or the like, and the column has many numbers or codes, whatever they look
    like (``P014`` is also an ICD-10 code).
    """
    names_people = set(words_of(column.name)) <= _OF_PEOPLE and column.distinct > min(_FEWEST_PEOPLE, column.rows // 10)
    return names_people and (column.type == "integer" or _has_codes(column))


def _has_codes(column: ColumnProfile) -> bool:
    """True if most texts have digits and no spaces."""
    return bool((column.sample.str.contains(r"\d") & ~column.sample.str.contains(r"\s")).mean() >= _MOST)  # type: ignore[operator]  # the mean of truth values is a float


def _own_values(column: ColumnProfile) -> tuple[str | None, str] | None:
    """Return the role of row numbers and person codes. Near-uniqueness alone does not make an identifier: amounts of money are nearly unique, too."""
    is_identifying = column.uniqueness >= _IDENTIFYING
    if column.type == "text":
        if not is_identifying:
            return None
        share = f"{float(column.uniqueness):.0%} of the rows have a unique one"
        return ("identifier", f"codes; {share}") if _has_codes(column) else (None, f"texts; {share}")
    if column.lowest < 0:
        return None
    if (waves := _waves(column)) > 1:
        return "identifier", f"every value occurs in {waves} rows, as person numbers do in a survey with {waves} waves"
    if column.distinct == column.filled == column.highest - column.lowest + 1:
        return "identifier", "it numbers the rows"
    digits = len(str(column.lowest)) if len(str(column.lowest)) == len(str(column.highest)) else 0
    if (is_identifying and digits >= _LONG_NUMBER) or (digits >= _LONGER_NUMBER and column.distinct > column.rows // 2):
        return "identifier", f"{digits}-digit numbers that hardly any rows share"
    return None


def _waves(column: ColumnProfile) -> int:
    """Return the number of rows of each value, if the values are many and occur equally often."""
    several = _FEWEST_PEOPLE <= column.distinct <= len(column.sample)
    return column.times[0] if several and column.times[0] == column.times[-1] and not column.nulls else 1


def _is_prose(column: ColumnProfile) -> bool:
    """True if texts are sentences that seldom repeat."""
    words = column.sample.str.count_matches(r"\S+").mean()
    return column.distinct > column.filled // 5 and bool(words is not None and words >= 4)  # type: ignore[operator]  # counts have a number as mean


def _longest(column: ColumnProfile) -> int:
    return int(column.sample.str.len_chars().max() or 0)  # type: ignore[arg-type]  # lengths are integers


def _people_not_told_apart(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return notes on rows that are not published because a repeating person number is missing in them."""
    key = _person_key(columns)
    keys = [column for column in columns if _repeats(column) and (_numbers_people(column) or column is key)]
    return [
        f"{column.name!r} identifies people, repeats, and is missing in {column.profile.nulls:,} of {column.profile.rows:,} rows. It is unknown whose rows these are, so they are not published; fill it in to publish them."
        for column in keys
        if column.profile.nulls
    ]


def _questions(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return questions that only the steward can answer: a table about people without a sensitive column either hides
    one, or is of no interest to an adversary.
    """
    unclear = [column.name for column in columns if column.role == "sensitive" and column.profile.kind is _UNCLEAR]
    if any(column.role == "sensitive" and column.name not in unclear for column in columns):
        return []
    limitation = (
        f"so the proposal only guarantees the size of groups, and protects {', '.join(map(repr, unclear))}, whose meaning is unknown"
        if unclear
        else "so the proposal only guarantees the size of groups"
    )
    return [
        "Is there a column that nobody may learn about a person? None looks sensitive (health, money, sexuality, religion, politics, crime, genes, a trade "
        f"union, grades, opinions), {limitation}. If there is one, move it from quasi to sensitive and add a definition for it, such as DistinctLDiversity with l = 2."
    ]


def _nothing_else_known(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return a note on the assumption behind a release in which hardly any column is assumed to be known."""
    assumed_known = [
        column.name for column in columns if column.role == "quasi" and column.reason.startswith(_ONLY_KNOWN)
    ]
    if not assumed_known:
        return []
    return [
        f"Every column looks sensitive. So that anything can be published, {', '.join(map(repr, assumed_known))} is assumed to be all that others know about a person. There is no guarantee against an adversary who knows another column: move every column that others may know to quasi."
    ]


def _taken_for_sensitive(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return notes on columns that are sensitive only because nothing is known about them, or because of their neighbours."""
    sensitive = [column for column in columns if column.role == "sensitive"]
    unclear = [column.name for column in sensitive if column.profile.kind is _UNCLEAR]
    by_neighbours = [
        column.name for column in sensitive if is_by_context(column.profile) and column.name not in unclear
    ]
    notes = []
    if unclear:
        notes.append(
            f"It is unclear whether others know {', '.join(map(repr, unclear))}; such columns are treated as sensitive. If others know one, move it to quasi: the release is then protected against them."
        )
    if by_neighbours:
        listed = ", ".join(map(repr, by_neighbours[:_NAMED])) + (
            f" and {len(by_neighbours) - _NAMED} more" if len(by_neighbours) > _NAMED else ""
        )
        notes.append(
            f"Only neighbouring columns suggest that {listed} are sensitive, so it is assumed that others do not know them. Move to quasi what others may know about a person."
            if len(by_neighbours) > 1
            else f"Only neighbouring columns suggest that {listed} is sensitive, so it is assumed that others do not know it. Move it to quasi if others may know it."
        )
    return notes


def _several_sensitive(columns: Sequence[ColumnProposal]) -> list[str]:
    """Return notes on the sensitive columns."""
    sensitive = [column for column in columns if column.role == "sensitive"]
    if len(sensitive) < 2:
        return []
    chosen = min(sensitive, key=_delicacy)
    return [f"Several columns look sensitive; {chosen.name!r} is the most delicate."]


def _shared(frame: pl.DataFrame, column: ColumnProposal) -> ColumnProposal:
    """Return the column with exact sensitive numbers and dates coarsened enough to be shared by several rows, or without a role."""
    if column.role != "sensitive" or not _singles_out(column.profile):
        return column
    uniqueness = f"{float(column.profile.uniqueness):.0%} of the rows have a unique value"
    coarsening = coarsening_for(frame[column.name])
    if coarsening is None:
        return ColumnProposal(column.profile, None, f"{uniqueness}, and too few rows share coarsened values")
    return replace(
        column, coarsen=coarsening.describe(), reason=f"{column.reason}; {uniqueness}, so it is {coarsening.words()}"
    )


def _as_published(frame: pl.DataFrame, column: ColumnProposal) -> pl.Series:
    values = frame[column.name]
    return values if column.coarsen is None else coarsening_from(column.coarsen).of(values)


def _singles_out(column: ColumnProfile) -> bool:
    """True if exact numbers or dates identify people."""
    return column.type in ("integer", "number", "date", "timestamp") and column.uniqueness > ALONE


def _each_once(
    frame: pl.DataFrame, columns: Sequence[ColumnProposal]
) -> tuple[list[ColumnProposal], tuple[ColumnRelation, ...], list[str]]:
    """Drop columns that follow from others: published together, they would undo the recoding or disclose a sensitive
    value.

    Return the columns, the relations for which one was dropped, and notes for the steward. The notes do not claim that
    a column can be recomputed: that depends on how its sources are published.
    """
    by_name = {column.name: column for column in columns}
    considered = [column.name for column in columns if column.role in ("quasi", "sensitive") or _was_sensitive(column)]
    dropped_for, notes = [], []
    for relation in relations(frame, considered, {column.name: _priority_to_keep(column) for column in columns}):
        sources = [by_name[name] for name in relation.sources]
        derived = by_name[relation.derived]
        if is_by_context(derived.profile) and all(source.role == "quasi" for source in sources):
            # An adversary who knows the sources knows the derived column.
            derived = replace(derived, role="quasi")
        if derived.role == "sensitive" and all(source.role == "quasi" for source in sources):
            source = sources[0]
            if meaning_in(source.profile) in ("age", "birth") and not is_outcome(derived.name):
                reason = f"{relation.how}: an adversary who knows that knows it, too"
                by_name[derived.name] = ColumnProposal(derived.profile, None, reason)
                notes.append(f"{derived.name!r} {relation.how}; it is not published, because it cannot be protected.")
                continue
            reason = f"it discloses the sensitive {derived.name!r}, which follows from it"
            by_name[source.name] = ColumnProposal(source.profile, None, reason)
            notes.append(
                f"{derived.name!r} {relation.how}; {source.name!r} is not published, because it discloses the sensitive value."
            )
        elif derived.role is not None and all(source.role is not None for source in sources):
            is_recomputable = all(source.role == "sensitive" and not _singles_out(source.profile) for source in sources)
            dearest_source = max(sources, key=_priority_to_keep)
            if (
                not is_recomputable
                and len(sources) > 1
                and _priority_to_keep(derived) == 0 < _priority_to_keep(dearest_source)
            ):
                # The subject of a study cannot be recomputed from generalized columns.
                reason = f"together with others it discloses {derived.name!r}, which a study is likely about"
                by_name[dearest_source.name] = ColumnProposal(dearest_source.profile, None, reason)
                notes.append(
                    f"{derived.name!r} {relation.how}; {dearest_source.name!r} is not published, because {reason}."
                )
                continue
            consequence = "can be recomputed" if is_recomputable else "would undo its protection"
            by_name[derived.name] = ColumnProposal(derived.profile, None, f"{relation.how}, and {consequence}")
            dropped_for.append(relation)
        elif derived.role is not None and relation.both:
            reason = f"{relation.how}, which is not published"
            by_name[derived.name] = ColumnProposal(derived.profile, None, reason)
            notes.append(f"{derived.name!r} {relation.how}, and discloses as much; neither is published.")
    if dropped_for:
        listed = "; ".join(f"{relation.derived!r} {relation.how}" for relation in dropped_for)
        notes.append(f"Not published, because they follow from other columns and add nothing new: {listed}.")
    return list(by_name.values()), tuple(dropped_for), notes


def _priority_to_keep(column: ColumnProposal) -> int:
    """Return the priority for keeping one of several columns that follow from each other: the subject of a study (0),
    sensitive or recognised by name (1), others (2).
    """
    is_recognised = meaning_in(column.profile) in ("age", "birth", "postcode", "demographic")
    return 0 if is_studied(column.name) else 1 if column.role == "sensitive" or is_recognised else 2


def _was_sensitive(column: ColumnProposal) -> bool:
    return column.role is None and meaning_in(column.profile) in SENSITIVE and column.profile.hidden is None


def _delicacy(column: ColumnProposal) -> tuple[int, bool]:
    """Return a sort key: the most delicate meaning first, among equals columns with few enough values to count."""
    meaning = meaning_in(column.profile)
    return SENSITIVE.index(meaning) if meaning in SENSITIVE else len(SENSITIVE), column.profile.distinct > _MANY_VALUES


def _with_hierarchy(column: ColumnProposal, beside: Path | None) -> ColumnProposal:
    """Return a quasi-identifier with a proposed hierarchy; other columns unchanged. ``beside`` is the data file."""
    if column.role != "quasi":
        return column
    proposed = propose_hierarchy(column.profile, meaning_in(column.profile), beside)
    reason = f"{column.reason}; {proposed.reason}"
    return ColumnProposal(column.profile, "quasi", reason, proposed.description, proposed.levels)


def column_guarantees(columns: Sequence[ColumnProposal], frame: pl.DataFrame) -> dict[str, ColumnGuarantees]:
    """Return the feasible guarantees of each sensitive column as published, the most delicate column first."""
    sensitive = sorted((column for column in columns if column.role == "sensitive"), key=_delicacy)
    guarantees = (
        guarantees_for(
            _as_published(frame, column),
            absence_is_harmless=meaning_in(column.profile) not in _EITHER_TELLS,
            several=len(sensitive) > 1,
        )
        for column in sensitive
    )
    return {guarantee.column: guarantee for guarantee in guarantees if guarantee is not None}
