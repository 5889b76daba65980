"""The scope of a claim: the unit that was counted, what an attacker is assumed to know, and which columns are
confidential.

A sentence has the form ``An attacker who knows KNOW, and that PERSON is in the table, PROMISE.`` A definition supplies
PROMISE; KNOW and the column names come from a :class:`ClaimScope`, which describes what was judged, not what was
requested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

from reticent.core import Columns

if TYPE_CHECKING:
    from reticent.table import Table

CountedUnit = Literal["record", "person", "household"]


class Openness(IntEnum):
    """What matching records are guaranteed to leave open about a confidential column: nothing, several values, or several values of bounded share."""

    NOTHING = 0
    SEVERAL_VALUES = 1
    BOUNDED_SHARES = 2


MOST_NAMED = 8
"""Maximum number of columns that a sentence names; above it, sentences give their number."""
_PLAIN = re.compile(r"[^\W\d]\w*")
_JOINING = {"and", "or", "of", "a", "the", "that", "except", "even", "where"}


@dataclass(frozen=True)
class ClaimScope:
    """What was judged, as far as sentences mention it.

    ``unit`` is what was counted. ``quasi`` are the published columns that are neither confidential nor declared; an
    attacker knows all of them together, or one of the ``sets`` if these were judged instead. ``sensitive`` are the
    confidential columns and ``declared`` those that the publisher declares unknown to attackers. ``rows`` is the
    maximum number of records of one person or household whose columns are known, if limited. ``alike`` describes the
    records that share the confidential values left to the attacker. ``about`` are the confidential columns covered by a
    guarantee that names none, if these are not all. ``several`` and ``bounded`` are the columns with :class:`Openness`
    beyond nothing and beyond several values, by some guarantee; ``crowd`` is the minimum number of matching people by
    all guarantees together.
    """

    unit: CountedUnit = "record"
    quasi: Columns = ()
    sets: tuple[Columns, ...] | None = None
    sensitive: Columns = ()
    declared: Columns = ()
    alike: str = "the records that look alike"
    rows: int | None = None
    about: Columns | None = None
    several: Columns = ()
    bounded: Columns = ()
    crowd: int = 1

    @classmethod
    def of_table(cls, table: Table, sets: tuple[Columns, ...] | None = None) -> ClaimScope:
        """The scope of a table as given, or of one of the ``sets`` of columns that an attacker may know."""
        unit: CountedUnit = "record" if table.unit == "row" else table.unit
        sensitive, declared = tuple(table.sensitive), tuple(table.declared)
        return cls(unit, tuple(table.quasi), sets=sets or table.quasi_sets, sensitive=sensitive, declared=declared)

    @property
    def whole(self) -> bool:
        """True if an attacker is assumed to know all columns that are neither confidential nor declared."""
        return self.sets is None or any(set(columns) == set(self.quasi) for columns in self.sets)

    @property
    def target(self) -> str:
        """The target of an attacker: a person, a household or a record."""
        return "household" if self.unit == "household" else "person"

    @property
    def units(self) -> str:
        """The plural of the unit that was counted."""
        return {"record": "records", "person": "people", "household": "households"}[self.unit]

    @property
    def protected(self) -> str:
        """What noise protects: one record, or all records of one person or household."""
        return "a person's record" if self.unit == "record" else f"all records of a {self.unit}"

    @property
    def present(self) -> str:
        """The comparison made by differential privacy for added and removed records."""
        absent = "without it" if self.unit == "record" else "without them"
        return f"with {self.protected} in the table as {absent}, and the other way round"

    @property
    def replaced(self) -> str:
        """The comparison made by differential privacy for replaced records."""
        return f"with one content of {self.protected} as with another"

    def covers_all(self, columns: Columns | None) -> bool:
        """True if a claim on ``columns`` (None: all) covers an attacker who knows every column that was judged."""
        return self.whole if columns is None else bool(self.quasi) and set(columns) == set(self.quasi)

    def known(self, columns: Columns | None = None) -> str:
        """Return in words what an attacker knows, and about whom; ``columns`` are those that the definition names
        itself.
        """
        whom = self._of
        if self.covers_all(columns):
            return self._everything(whom)
        if columns is not None:
            return f"{column_list(columns)} {whom}"
        sets = ", or ".join(column_list(columns) for columns in self.sets or ())
        comma = "," if len(self.sets or ()) > 1 else ""
        return f"{sets}{comma} {whom} (the same columns of everybody, or of one)"

    def known_any(self, most: int) -> str:
        """Return in words that an attacker knows any ``most`` of the columns, or of those of one set."""
        if not self.whole:
            return (
                self.known() if all(len(columns) <= most for columns in self.sets or ()) else self._some_of_sets(most)
            )
        if self.quasi and most >= len(self.quasi):
            return self._everything(self._of)
        named = column_list(self.quasi) if 0 < len(self.quasi) <= MOST_NAMED else f"the {len(self.quasi)} columns"
        columns = f"any {most} of {named}" if self.quasi else f"any {most} {plural(most, 'column')}"
        are = "is" if most == 1 and not self.quasi else "are"
        published = "" if 0 < len(self.quasi) <= MOST_NAMED else f" that {are} published and not confidential"
        return f"{columns} {self._of}{published} (the same columns of everybody, or of one)"

    @property
    def _of(self) -> str:
        """Whose columns are known, and of how many records."""
        if self.rows is None:
            return f"of a {self.target}"
        return f"of {'one record' if self.rows == 1 else f'up to {self.rows} records'} of a {self.target}"

    def _some_of_sets(self, most: int) -> str:
        """Return in words that an adversary knows any ``most`` columns of one of the sets."""
        phrases = [
            f"any {most} of {column_list(columns)}" if len(columns) > most else column_list(columns)
            for columns in self.sets or ()
        ]
        return f"{', or '.join(phrases)}, {self._of} (the same columns of everybody, or of one)"

    def _everything(self, whom: str) -> str:
        """Return in words that an adversary knows all columns that are not confidential."""
        exception = f", except {column_list(self.declared)}" if self.declared else ""
        if not self.quasi:
            return f"everything published {whom} that is not confidential{exception}"
        if len(self.quasi) > MOST_NAMED:
            return f"all {len(self.quasi)} columns {whom} that are published and not confidential{exception}"
        return f"{column_list(self.quasi)} {whom} (everything published that is not confidential{exception})"

    def beyond(self, columns: Columns | None) -> str:
        """A leading sentence stating that attackers with other columns are not covered; empty if an attacker is assumed to know every column."""
        if columns is None or self.covers_all(columns):
            return ""
        return f"An attacker who knows other columns than {column_list(columns)} is not covered. "

    def found(self, least: int) -> str:
        """What an attacker finds when looking for a person in groups of at least ``least``."""
        if self.unit == "record":
            return f"at least {least} matching {plural(least, 'record')}"
        people = plural(least, "person", "people") if self.unit == "person" else plural(least, "household")
        return f"matching records of at least {least} {people}"

    def secret(self, column: str | None, joined: str = "or") -> str:
        """The name of the confidential column of a guarantee; all names if it is about each."""
        columns = self.secrets(column)
        return column_list(columns, joined) if columns else "a confidential column"

    def anybodys_secret(self, column: str | None) -> str:
        """The confidential value of any person, by the names of the columns where they are known: ``anybody's illness or income``."""
        return f"anybody's {self.secret(column) if self.secrets(column) else 'confidential value'}"

    def secrets(self, column: str | None) -> Columns:
        """The confidential columns covered by a guarantee about ``column`` (None: each)."""
        all_columns = self.sensitive if self.about is None else self.about
        return all_columns if column is None else (column,)

    def beside(self, column: str | None, alone: bool = False) -> str:
        """A clause stating that the other confidential values may be known too, if the column was judged among people who share them."""
        others = [name for name in self.sensitive if name != column]
        if alone or len(self.sensitive) < 2 or not others:
            return ""
        if column is not None:
            return f", even with {column_list(others)} known too"
        return f", even with the other{'s' if self.about is None else ' confidential columns'} known too"

    def shared_value(self, joined: str = "or") -> str | None:
        """The confidential columns whose value all matching records may share, in words; None if there are none, or
        guarantees leave several values of each.
        """
        shared = tuple(name for name in self.sensitive if name not in self.several)
        if not shared:
            return None if self.quasi else "a confidential value"
        return "a confidential value" if shared == self.sensitive else f"a value of {column_list(shared, joined)}"


GENERAL = ClaimScope()
"""The scope of no particular release: sentences name no columns."""


def column_list(names: Sequence[str], joined: str = "and") -> str:
    """Column names in a sentence: ``age, sex and zip``. A name that is not a single plain word is quoted."""
    quoted_names = [named_column(name) for name in names]
    return (
        quoted_names[0]
        if len(quoted_names) == 1
        else f"{', '.join(quoted_names[:-1])} {joined} {quoted_names[-1]}"
        if quoted_names
        else "nothing"
    )


def named_column(name: str) -> str:
    """A column name in a sentence, quoted unless it is one plain word that the sentences themselves do not use."""
    return name if _PLAIN.fullmatch(name) and name.lower() not in _JOINING else repr(name)


def plural(count: int, word: str, several: str | None = None) -> str:
    """The singular or plural form for ``count``."""
    return word if count == 1 else several or f"{word}s"
