"""Prior disclosures of a data set, and what they imply for the next one. Plain values, no ledger.

A method uses these to state what its draft needs: whether it may be published ``beside`` prior disclosures, what it
spends, and which state of a series it leaves. The ledger reads them; drafts and methods do not depend on it.
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
    """Something disclosed about a data set, or reserved and possibly disclosed: other disclosures must treat both alike.

    ``number`` counts all disclosures of the data set, of any ``kind``; ``content`` is the hash of the content,
    ``details`` its public parameters.
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
    """Whether something may be published in addition to prior disclosures; ``text`` is the reason, or a note for the certificate."""

    allowed: bool
    text: str = ""


PriorCheck = Callable[[Sequence[PriorDisclosure]], Judgement]
"""Judges a new disclosure together with the prior ones, first to last. May be called several times."""


def refuse(reason: str) -> Judgement:
    """It must not be published."""
    return Judgement(False, reason)


def allow(note: str = "") -> Judgement:
    """It may be published; the ``note`` for the certificate describes how it was judged together with the others."""
    return Judgement(True, note)


def alone(prior: Sequence[PriorDisclosure]) -> Judgement:
    """Refuse any disclosure after another: two releases that are each safe can disclose people's values together."""
    if not prior:
        return allow()
    last = prior[-1]
    more = f"; in all: {described(prior)}" if len(prior) > 1 else ""
    # These continue in small steps, and stop when something else is published.
    continuing = [
        name
        for kind, name in (("answers", "Audited answers"), ("grant", "Grants"))
        if any(entry.kind == kind for entry in prior)
    ]
    consequence = (
        f" {' and '.join(continuing)} then stop, until beside = 'allow' is in their own policy." if continuing else ""
    )
    withdrawal_hint = (
        f" It was never saved; if the program was stopped and nothing of it was published, withdraw it: reticent ledger withdraw {last.dataset!r} "
        f"{last.number} --reason 'never saved'."
        if last.status == "reserved"
        else ""
    )
    return refuse(
        f"The data set {last.dataset!r} was released already: {last.kind} {last.number}, {last.made}, content {last.content[:12]}{more}. Two releases "
        "that are each safe can disclose people's values together, so this one was refused and nothing was published. Publish the earlier content unchanged, or "
        f"allow another release with again=True (--again): its certificate will say that they were not judged together.{consequence}{withdrawal_hint}"
    )


def unjudged(prior: Sequence[PriorDisclosure]) -> Judgement:
    """Allowed by the steward without a joint judgement, which the certificate states."""
    if not prior:
        return allow()
    return allow(
        f"Given out before: {described(prior)}. They and this were not judged together. Whoever holds an earlier one may learn more from both than either tells."
    )


def described(prior: Sequence[PriorDisclosure]) -> str:
    """The disclosures in a few words: ``release 1, answers 2 of 'people'``. A new disclosure may be of another data set about the same people."""
    names = {entry.dataset for entry in prior}
    entry_texts = [
        f"{entry.kind} {entry.number}" + (f" of {entry.dataset!r}" if len(names) > 1 else "") for entry in prior
    ]
    texts = (
        entry_texts
        if len(entry_texts) <= _SHOWN
        else [*entry_texts[: _SHOWN - 1], f"... {entry_texts[-1]} ({len(entry_texts)} in all)"]
    )
    return ", ".join(texts) + (f" of {names.pop()!r}" if len(names) == 1 else "")


MARKS_KEPT, MARK_BITS = 4096, 58
"""Maximum number of marks stored per data set, and the number of hash bits of each."""
MARKS_OF_A_SET, SET_BITS = 128, 16
"""Maximum number of marks per set of columns (the smallest ones), and the number of leading bits that identify the set."""
_HASH_BITS = 64 - SET_BITS
_SHARED_PEOPLE = Fraction(1, 4)
_NUMBERED_ALIKE = 3
# 1/e, rounded up, and the variance of a share of that size.
_BY_CHANCE = Fraction(37, 100)
_DEVIATIONS = 4
# Below this many combinations the tail is computed exactly; above, the normal approximation suffices.
_FEW, _TAIL = 20, Fraction(1, 1000)
_ROWS_ALIKE, _COMBINATIONS_ALIKE = 3, 4


@dataclass(frozen=True)
class PersonFingerprints:
    """The people of a data set as keyed hashes (marks) of one ``kind``.

    ``people``            identifying values, whatever the column is called
    ``rows``              whole rows, each with its multiplicity
    ``columns``           the same for sets of two and three named columns: one common set suffices
    ``numbered columns``  a person's row number, which alone identifies nobody, with the values of a set of named columns
    ``contents``          all rows of a table together, if they are too few to be distinctive, for the cost of its noisy releases
    ``numbered``          the same with any one value, as stored by earlier versions

    ``level`` 0 keeps all of them, and each higher level half of the previous one; a mark has its level before its hash.
    Of sets of columns the smallest marks are kept (a bottom-k sketch); a mark has its set before its hash.
    """

    kind: str
    level: int
    hashes: tuple[int, ...]

    def overlaps(self, other: PersonFingerprints) -> bool:
        """True if both are about the same people: a quarter of the smaller set's people, or more of its rows than two
        samples of one population share.

        What both kept is a random sample of both, so shares in it estimate those of the whole. The multiplicity of a
        combination in a sample is nearly Poisson, so any given positive multiplicity has probability at most 1/e: two
        different samples agree in at most that share of their combinations with multiplicity, whatever the population.
        """
        if self.kind != other.kind:
            return False
        if self.kind in ("columns", "numbered columns"):
            return self._share_a_set(other)
        level = max(self.level, other.level)
        own_marks, other_marks = (
            {mark for mark in fingerprints.hashes if mark >> MARK_BITS >= level} for fingerprints in (self, other)
        )
        shared = len(own_marks & other_marks)
        if shared < (2 if level else 1):
            return False
        smaller = min(len(own_marks), len(other_marks))
        if self.kind != "rows":
            return shared >= _SHARED_PEOPLE * smaller
        return shared == smaller >= _ROWS_ALIKE or _beyond_chance(shared, smaller)

    def _share_a_set(self, other: PersonFingerprints) -> bool:
        """True if the people are the same by one set of columns that both have."""
        own_sets, other_sets = self._by_set(), other._by_set()
        return any(self._alike(own_sets[name], other_sets[name]) for name in own_sets.keys() & other_sets.keys())

    def _by_set(self) -> dict[int, list[int]]:
        """Return the marks (hashes) by the set of columns that they are about."""
        sets: dict[int, list[int]] = {}
        for mark in self.hashes:
            sets.setdefault(mark >> _HASH_BITS, []).append(mark)
        return sets

    def _alike(self, own_marks: list[int], other_marks: list[int]) -> bool:
        """Judge one set of columns by what both sketches contain completely: everything up to the smaller of their largest marks."""
        ends = [marks[-1] for marks in (own_marks, other_marks) if len(marks) == MARKS_OF_A_SET]
        own_part, other_part = (
            {mark for mark in marks if not ends or mark <= min(ends)} for marks in (own_marks, other_marks)
        )
        shared, smaller = len(own_part & other_part), min(len(own_part), len(other_part))
        if self.kind == "numbered columns":
            return shared >= min(smaller, _NUMBERED_ALIKE) > 0 and shared >= _SHARED_PEOPLE * smaller
        return shared == smaller >= _COMBINATIONS_ALIKE or _beyond_chance(shared, smaller)


def _beyond_chance(shared: int, total: int) -> bool:
    """True if two samples of one population would hardly share so many combinations: each is shared with probability at most 1/e."""
    if total < _FEW:
        chances = [
            comb(total, count) * _BY_CHANCE**count * (1 - _BY_CHANCE) ** (total - count)
            for count in range(shared, total + 1)
        ]
        return sum(chances) <= _TAIL
    excess = shared - _BY_CHANCE * total
    return excess > 0 and excess**2 >= _DEVIATIONS**2 * _BY_CHANCE * (1 - _BY_CHANCE) * total


def apart(what: str, way_out: str) -> PriorCheck:
    """A judge for disclosures that continue in small steps: they stop as soon as anything else is published, unless the
    steward allows it (``way_out``).
    """

    def judge(prior: Sequence[PriorDisclosure]) -> Judgement:
        """Refuse if anything else was published about the data set."""
        if not prior:
            return allow()
        return refuse(
            f"Something else was published about the data set {prior[-1].dataset!r} ({described(prior)}), and {what} are not judged together with it: each can be safe, "
            f"and both together disclose people's values. {way_out}"
        )

    return judge


@dataclass(frozen=True)
class Spending:
    """An amount spent with a disclosure: from a budget of the data set, or of one of its columns.

    With ``total`` the budget is created if it does not exist; a total that differs from the budget's is refused.
    ``first`` is the total of a new budget that was not declared.
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
    """The state of a series: a few public or private figures, and the ``version`` that names the folder of its bulk state.

    The current version is the one named by the ledger. ``follows`` is the version that this one was made from, None for
    the first; if the series has advanced meanwhile, nothing is recorded. A version name is never reused, not even after
    a withdrawal.
    """

    series: str
    version: str
    details: Mapping[str, Any] = field(default_factory=dict)
    follows: str | None = None

    def __post_init__(self) -> None:
        if not self.series or not self.version:
            raise PolicyError("A series and the version of its state must have names.")

    def stored(self) -> SeriesState:
        """Itself: without a bulk state, the ledger's record is everything."""
        return self

    def discard(self) -> None:
        """No-op: nothing was written."""
