"""Giving out: what was given out about a data set before, and what that means for the next time. Plain values, no ledger.

A method says with these what its draft needs: whether it may go out ``beside`` what is out already, what it spends, and which state of a
series it leaves behind. The ledger reads them; drafts and methods need not know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any, Literal

from reticent.base.exact import Number, exact, one_of
from reticent.errors import PolicyError

Status = Literal["reserved", "given out", "withdrawn"]
_SHOWN = 6
STATUSES: tuple[Status, ...] = ("reserved", "given out", "withdrawn")


@dataclass(frozen=True)
class PriorDisclosure:
    """Something that was given out about a data set, or is reserved and may be: for everybody else that is the same.

    ``number`` counts everything of the data set, whatever its ``kind``; ``content`` is the hash of what it tells, ``details`` its public parameters.
    """

    dataset: str
    kind: str
    number: int
    content: str
    made: str
    status: Status = "given out"
    details: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        one_of(self.status, "status", STATUSES)


@dataclass(frozen=True)
class Judgement:
    """Whether something may go out beside what is out already; ``text`` is the reason, or a note for the certificate."""

    allowed: bool
    text: str = ""


PriorCheck = Callable[[Sequence[PriorDisclosure]], Judgement]
"""Judges something that is to be given out together with what was given out before, first to last. It may be asked several times."""


def refuse(reason: str) -> Judgement:
    """It must not go out."""
    return Judgement(False, reason)


def allow(note: str = "") -> Judgement:
    """It may go out; the ``note`` says how it was judged together with the others, for the certificate."""
    return Judgement(True, note)


def alone(given: Sequence[PriorDisclosure]) -> Judgement:
    """Nothing may go out beside anything else: two releases that are each safe can give people away together."""
    if not given:
        return allow()
    last = given[-1]
    more = f"; in all: {described(given)}" if len(given) > 1 else ""
    # These go on little by little, and stop when something else goes out beside them.
    going_on = [
        name
        for kind, name in (("answers", "Audited answers"), ("grant", "Grants"))
        if any(each.kind == kind for each in given)
    ]
    stops = f" {' and '.join(going_on)} then stop, until beside = 'allow' is in their own policy." if going_on else ""
    unsaved = (
        f" It was never saved; if the program was stopped and nothing of it left the house, take it back: reticent ledger withdraw {last.dataset!r} "
        f"{last.number} --reason 'never saved'."
        if last.status == "reserved"
        else ""
    )
    return refuse(
        f"The data set {last.dataset!r} was released already: {last.kind} {last.number}, {last.made}, content {last.content[:12]}{more}. Two releases "
        "that are each safe can give people away together, so this one was refused and nothing was published. Publish the earlier content unchanged, or "
        f"allow another release with again=True (--again): its certificate will say that they were not judged together.{stops}{unsaved}"
    )


def unjudged(given: Sequence[PriorDisclosure]) -> Judgement:
    """The steward allows it without a judgement, and the certificate says so."""
    if not given:
        return allow()
    return allow(
        f"Given out before: {described(given)}. They and this were not judged together. Whoever holds an earlier one may learn more from both than either tells."
    )


def described(given: Sequence[PriorDisclosure]) -> str:
    """What was given out, in a few words: ``release 1, answers 2 of 'people'``. What is given out now may be of another data set about the same people."""
    names = {each.dataset for each in given}
    shown = [f"{each.kind} {each.number}" + (f" of {each.dataset!r}" if len(names) > 1 else "") for each in given]
    listed = shown if len(shown) <= _SHOWN else [*shown[: _SHOWN - 1], f"... {shown[-1]} ({len(shown)} in all)"]
    return ", ".join(listed) + (f" of {names.pop()!r}" if len(names) == 1 else "")


MARKS_KEPT, MARK_BITS = 4096, 58
"""How many of a data set's marks are kept at most, and how many bits of each are its hash."""
MARKS_OF_A_SET, SET_BITS = 128, 16
"""How many marks of one set of columns are kept at most: the smallest. How many bits before each say which set it belongs to."""
_HASH_BITS = 64 - SET_BITS
_SHARED_PEOPLE = Fraction(1, 4)
_NUMBERED_ALIKE = 3
# 1/e, rounded up, and the variance of a share of that size.
_BY_CHANCE = Fraction(37, 100)
_DEVIATIONS = 4
# Below so many combinations the tail is computed; above it is normal enough.
_FEW, _TAIL = 20, Fraction(1, 1000)
_ROWS_ALIKE, _COMBINATIONS_ALIKE = 3, 4


@dataclass(frozen=True)
class PersonFingerprints:
    """Who a data set is about, as keyed hashes, of one ``kind``.

    ``people``            identifying values, whatever the column is called
    ``rows``              whole rows, each with how often it occurs
    ``columns``           the same of sets of two and three named columns: both tables need to have one such set only
    ``numbered columns``  the number of a person, which alone identifies nobody, with the values of a set of named columns
    ``contents``          all rows of a table together, where they are too few to be told from others', for what its noisy releases cost
    ``numbered``          the same with any one value, as earlier versions kept it

    ``level`` 0 keeps all of them, and each higher level half of those of the one before; the level that a mark belongs to stands before its hash. Of sets of
    columns the smallest marks are kept (a bottom-k sketch); which set a mark belongs to stands before its hash.
    """

    kind: str
    level: int
    hashes: tuple[int, ...]

    def overlaps(self, other: PersonFingerprints) -> bool:
        """Whether both are about the same people: a quarter of the smaller set's people, or more of its rows than two samples of one population share.

        What both kept is a random sample of both, so shares in it estimate those of the whole. A combination of values occurs in a sample about as often as
        Poisson's law says, so a given number of times, once or more, with a chance of at most 1/e: two different samples share at most that part of their
        combinations with the number of times each occurs, whatever the population.
        """
        if self.kind != other.kind:
            return False
        if self.kind in ("columns", "numbered columns"):
            return self._share_a_set(other)
        level = max(self.level, other.level)
        mine, theirs = ({mark for mark in each.hashes if mark >> MARK_BITS >= level} for each in (self, other))
        shared = len(mine & theirs)
        if shared < (2 if level else 1):
            return False
        smaller = min(len(mine), len(theirs))
        if self.kind != "rows":
            return shared >= _SHARED_PEOPLE * smaller
        return shared == smaller >= _ROWS_ALIKE or _beyond_chance(shared, smaller)

    def _share_a_set(self, other: PersonFingerprints) -> bool:
        """Whether the people are the same by one set of columns that both have."""
        mine, theirs = self._by_set(), other._by_set()
        return any(self._alike(mine[each], theirs[each]) for each in mine.keys() & theirs.keys())

    def _by_set(self) -> dict[int, list[int]]:
        sets: dict[int, list[int]] = {}
        for mark in self.hashes:
            sets.setdefault(mark >> _HASH_BITS, []).append(mark)
        return sets

    def _alike(self, mine: list[int], theirs: list[int]) -> bool:
        """Judge one set of columns by what both sketches hold completely: everything up to the smaller of their largest marks."""
        ends = [marks[-1] for marks in (mine, theirs) if len(marks) == MARKS_OF_A_SET]
        one, two = ({mark for mark in marks if not ends or mark <= min(ends)} for marks in (mine, theirs))
        shared, smaller = len(one & two), min(len(one), len(two))
        if self.kind == "numbered columns":
            return shared >= min(smaller, _NUMBERED_ALIKE) > 0 and shared >= _SHARED_PEOPLE * smaller
        return shared == smaller >= _COMBINATIONS_ALIKE or _beyond_chance(shared, smaller)


def _beyond_chance(shared: int, of: int) -> bool:
    """Whether two samples of one population would hardly share so many combinations: each is shared with a chance of at most 1/e."""
    if of < _FEW:
        chances = [
            comb(of, each) * _BY_CHANCE**each * (1 - _BY_CHANCE) ** (of - each) for each in range(shared, of + 1)
        ]
        return sum(chances) <= _TAIL
    above = shared - _BY_CHANCE * of
    return above > 0 and above**2 >= _DEVIATIONS**2 * _BY_CHANCE * (1 - _BY_CHANCE) * of


def apart(what: str, way_out: str) -> PriorCheck:
    """A judge for what goes out little by little: it stops as soon as anything else is out, unless the steward allows it (``way_out``)."""

    def judge(given: Sequence[PriorDisclosure]) -> Judgement:
        if not given:
            return allow()
        return refuse(
            f"Something else is out about the data set {given[-1].dataset!r} ({described(given)}), and {what} are not judged together with it: each can be safe, "
            f"and both together give people away. {way_out}"
        )

    return judge


@dataclass(frozen=True)
class Spending:
    """An amount that goes out with something: from a budget of the data set, or of one of its columns.

    With ``total`` the budget is opened if it is not there; another total than the budget's own is refused. ``first`` is the total of a budget that is not
    there and that nobody declared.
    """

    budget: str
    amount: Number
    purpose: str = ""
    column: str | None = None
    total: Number | None = None
    first: Number | None = None

    def __post_init__(self) -> None:
        exact(self.amount, f"The amount spent from budget {self.budget!r}", low=0)


@dataclass(frozen=True)
class SeriesState:
    """What a series leaves behind: a few public or private figures, and the ``version`` that names the folder of its bulk state.

    The true version is the one that the ledger names. ``follows`` is the version that this one was made from, None for the first; if the series
    moved on meanwhile, nothing is recorded. A version's name is never used twice, not even after a withdrawal.
    """

    series: str
    version: str
    details: Mapping[str, Any] = field(default_factory=dict)
    follows: str | None = None

    def __post_init__(self) -> None:
        if not self.series or not self.version:
            raise PolicyError("A series and the version of its state must have names.")

    def stored(self) -> SeriesState:
        """Itself: without a bulk state, the ledger's record is all that there is."""
        return self

    def discard(self) -> None:
        """Nothing was written."""
