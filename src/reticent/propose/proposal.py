"""What a policy could say about a table nobody has described yet: roles, hierarchies and a definition, each with its reason.

A proposal errs on the side of privacy: a column that is not understood is not published.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.data import Groups, Histograms, SensitiveColumn, SensitiveDomain
from reticent.definitions import DistinctLDiversity, GroupDefinition, RecursiveLDiversity
from reticent.propose.hierarchies import propose_hierarchy
from reticent.propose.names import SENSITIVE, meaning_of
from reticent.propose.patterns import identifying_pattern
from reticent.propose.profile import ColumnProfile, profile
from reticent.propose.safe_harbor import safe_harbor

_IDENTIFYING = Fraction(9, 10)
_K = 5
_MOST_QUASI = 10
_MOST_NODES = 50_000
_PRIORITY = {"age": 0, "birth": 0, "postcode": 0, "demographic": 1}
_MOST_PEOPLE = 10**10
_FREE_TEXT = 60
_MANY_VALUES = 100


@dataclass(frozen=True)
class ColumnProposal:
    """One column's profile, the role proposed for it (None: not published), a hierarchy for quasi columns, and why."""

    profile: ColumnProfile
    role: str | None
    reason: str
    hierarchy: dict[str, Any] | None = None
    levels: int = 1

    @property
    def name(self) -> str:
        """The column."""
        return self.profile.name

    @property
    def safe_harbor(self) -> str | None:
        """The kind of HIPAA identifier that the column seems to hold."""
        return safe_harbor(self.profile)

    def as_dict(self) -> dict[str, Any]:
        """The proposal as plain data."""
        return {
            **self.profile.as_dict(),
            "role": self.role,
            "reason": self.reason,
            "hierarchy": self.hierarchy,
            "safe_harbor": self.safe_harbor,
        }


@dataclass(frozen=True)
class Proposal:
    """Everything that a policy needs, and notes for the steward who is going to read it.

    ``refusal`` says why nothing is proposed: a table of too few people cannot be protected.
    """

    rows: int
    columns: tuple[ColumnProposal, ...]
    definition: tuple[dict[str, Any], ...]
    key: str | None
    weight: str | None
    nulls: str
    notes: tuple[str, ...] = field(default=())
    refusal: str | None = None

    def with_role(self, role: str | None) -> list[str]:
        """The columns of a role."""
        return [column.name for column in self.columns if column.role == role]


def propose(frame: pl.DataFrame, beside: Path | None = None) -> Proposal:
    """Propose roles, hierarchies and a definition. ``beside`` is the data file, next to which hierarchy files may lie."""
    profiles = profile(frame)
    refusal = _too_few(frame.height)
    if refusal is not None:
        nothing = tuple(ColumnProposal(column, None, "too few people for any protection") for column in profiles)
        return Proposal(frame.height, nothing, (), None, None, "refuse", (refusal,), refusal)
    weight = next((column.name for column in profiles if _is_weight(column)), None)
    first = [_first_look(column, weight) for column in profiles]
    first, sensitive_notes = _one_sensitive(first)
    columns = _enough_quasi([_with_hierarchy(column, beside) for column in first])
    sensitive = next((column for column in columns if column.role == "sensitive"), None)
    definition, note = _definition(frame[sensitive.name] if sensitive else None)
    judged = [column for column in columns if column.role in ("quasi", "sensitive")]
    notes = [*sensitive_notes, *([note] if note else [])]
    if not any(column.role == "quasi" for column in columns):
        notes.append("No column can be made coarser, so there is nothing to publish yet. Give a column the role quasi.")
    if any(column.profile.nulls for column in judged):
        notes.append("Some values are missing; 'missing' is treated as a value of its own (nulls = 'category').")
    named = [f"{column.name} ({column.safe_harbor})" for column in columns if column.safe_harbor is not None]
    if named:
        notes.append(f"Identifiers by the HIPAA safe harbor: {', '.join(named)}.")
    return Proposal(
        rows=frame.height,
        columns=tuple(columns),
        definition=definition,
        key=next((column.name for column in columns if _is_key(column)), None),
        weight=weight,
        nulls="category" if any(column.profile.nulls for column in judged) else "refuse",
        notes=tuple(notes),
    )


def _too_few(rows: int) -> str | None:
    """Why so few people cannot be protected: a release of one or two groups would show hardly anything, or somebody."""
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
    """Spellings of "nothing" among the text columns, for ``null_values``."""
    return sorted({word for column in profile(frame) for word in column.missing_words})


def _is_weight(column: ColumnProfile) -> bool:
    """Whether it can say how many people a row stands for: numbers, none missing or below zero, and not too many people in all."""
    if column.type not in ("integer", "number") or column.nulls or meaning_of(column.name) != "weight":
        return False
    return bool(0 <= column.lowest <= column.highest <= _MOST_PEOPLE and column.highest > 0)


def _is_key(column: ColumnProposal) -> bool:
    found = column.profile
    unique = found.distinct == found.rows and found.nulls == 0
    return column.role == "identifier" and unique and meaning_of(column.name) == "key"


def _first_look(column: ColumnProfile, weight: str | None) -> ColumnProposal:
    """The role that a column seems to have, seen by itself."""
    meaning = meaning_of(column.name)
    pattern = identifying_pattern(column.sample)
    countable = column.type in ("integer", "text")
    if column.name == weight:
        return ColumnProposal(column, None, "the weight of a row")
    if _is_weight(column):
        return ColumnProposal(column, None, "another weight")
    if column.distinct == 0:
        return ColumnProposal(column, None, "no values at all")
    if column.dtype.is_nested() or column.type not in ("text", "integer", "number", "boolean", "date", "timestamp"):
        return ColumnProposal(column, None, f"{column.type} values cannot be generalized")
    if pattern is not None:
        return ColumnProposal(column, "identifier", f"values look like {pattern}")
    if meaning == "identifier" and column.type != "boolean":
        return ColumnProposal(column, "identifier", "the name says that it identifies a person")
    if meaning == "key" and countable and column.distinct > column.rows // 10:
        return ColumnProposal(column, "identifier", "the name says that it tells people or households apart")
    if meaning in SENSITIVE and column.distinct > 1:
        return ColumnProposal(column, "sensitive", "the name says that it must not be learned about anybody")
    if column.type == "text" and _longest(column) > _FREE_TEXT:
        return ColumnProposal(column, None, "free text may say anything about anybody")
    if meaning in ("age", "postcode", "birth", "demographic"):
        return ColumnProposal(column, "quasi", "others may know it: a demographic value")
    if countable and column.uniqueness >= _IDENTIFYING and column.rows > 1:
        return ColumnProposal(
            column, "identifier", f"{float(column.uniqueness):.0%} of the rows have a value of their own"
        )
    return ColumnProposal(column, "quasi", "others may know it: nothing says that they do not")


def _longest(column: ColumnProfile) -> int:
    return int(column.sample.str.len_chars().max() or 0)  # type: ignore[arg-type]  # lengths are integers


def _one_sensitive(columns: Sequence[ColumnProposal]) -> tuple[list[ColumnProposal], list[str]]:
    """Keep the sensitive column that tells the most; the others are not published until the steward says so (R-LD-16)."""
    candidates = [column for column in columns if column.role == "sensitive"]
    if not candidates:
        return list(columns), [
            "No column looks sensitive. If one is, move it from quasi to sensitive and add a definition for it."
        ]
    chosen = min(candidates, key=_delicacy)
    kept = [
        ColumnProposal(
            column.profile, None, f"also looks sensitive; beside {chosen.name!r} groups would have to be large"
        )
        if column in candidates and column is not chosen
        else column
        for column in columns
    ]
    notes = []
    if chosen.profile.distinct > _MANY_VALUES:
        notes.append(
            f"The sensitive column {chosen.name!r} has {chosen.profile.distinct} values. Different values that lie close together protect "
            "little: consider to round it, or TCloseness with distance = 'ordered'."
        )
    return kept, notes


def _delicacy(column: ColumnProposal) -> tuple[int, bool]:
    """What is most delicate comes first, and among equals what has few enough values to be counted."""
    meaning = meaning_of(column.name)
    return SENSITIVE.index(meaning) if meaning in SENSITIVE else len(SENSITIVE), column.profile.distinct > _MANY_VALUES


def _with_hierarchy(column: ColumnProposal, beside: Path | None) -> ColumnProposal:
    if column.role != "quasi":
        return column
    found = propose_hierarchy(column.profile, meaning_of(column.name), beside)
    reason = f"{column.reason}; {found.reason}"
    return ColumnProposal(column.profile, "quasi", reason, found.description, found.levels)


def _enough_quasi(columns: Sequence[ColumnProposal]) -> list[ColumnProposal]:
    """Only as many quasi columns as leave something useful: those with a telling name first, then those with few values."""
    quasi = [column for column in columns if column.role == "quasi"]
    quasi.sort(
        key=lambda column: (_PRIORITY.get(meaning_of(column.name) or "", len(_PRIORITY)), column.profile.distinct)
    )
    kept: set[str] = set()
    nodes = 1
    for column in quasi:
        if len(kept) < _MOST_QUASI and nodes * column.levels <= _MOST_NODES:
            nodes *= column.levels
            kept.add(column.name)
    return [
        column
        if column.role != "quasi" or column.name in kept
        else ColumnProposal(
            column.profile, None, "so many columns together single everybody out; add it to quasi if it is needed"
        )
        for column in columns
    ]


def _definition(sensitive: pl.Series | None) -> tuple[tuple[dict[str, Any], ...], str | None]:
    """k = 5 and recursive (3,3)-diversity, or the nearest that these rows can have at all (R-LD-18)."""
    first: dict[str, Any] = {"name": "KAnonymity", "k": _K}
    if sensitive is None:
        return (first,), None
    whole = _all_in_one_group(sensitive)
    wishes: list[GroupDefinition] = [RecursiveLDiversity(c=3, l=3), RecursiveLDiversity(c=3, l=2)]
    wishes += [RecursiveLDiversity(c=c, l=2) for c in range(4, 11)]
    wishes.append(DistinctLDiversity(l=2))
    for number, wish in enumerate(wishes):
        if wish.holds(whole):
            note = (
                f"The values of {sensitive.name!r} do not allow {wishes[0]}; {wish} is the nearest that they allow."
                if number
                else None
            )
            return (first, {"name": wish.name, **wish.parameters()}), note
    return (
        first,
    ), f"All rows have the same {sensitive.name!r}, so it cannot be hidden. Think again before you publish it."


def _all_in_one_group(sensitive: pl.Series) -> Groups:
    counts = np.sort(sensitive.value_counts(name="times")["times"].to_numpy().astype(np.int64))[::-1]
    labels = pl.Series([str(number) for number in range(len(counts))])
    histograms = Histograms(np.array([0, len(counts)]), np.arange(len(counts), dtype=np.int32), counts)
    domain = SensitiveDomain.single(SensitiveColumn(sensitive.name, labels))
    return Groups(np.array([counts.sum()]), histograms, counts, domain)
