"""The data types of auditing: a query, the decision on it, and the history of answered queries.

Nothing here, and nothing that decides from it, has access to the data. A :class:`QueryHistory` holds the answered
queries with their answers; denied queries are not part of it, because a simulatable denial reveals nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.errors import PolicyError, did_you_mean

Members = Iterable[int] | NDArray[np.integer]

FAMILIES = {"sum": "linear", "max": "max", "min": "min"}

# Different coefficients then also differ modulo every 61-bit prime.
LARGEST_COEFFICIENT = 2**59


def as_members(members: Members, n: int | None = None) -> NDArray[np.int64]:
    """Return the members of a query as a strictly increasing array of distinct integers in 0..n-1.

    An integer array that is already increasing is returned as is, without checking single elements.
    """
    people = members if isinstance(members, np.ndarray) else _listed(members)
    if people.dtype.kind not in "iu" or people.ndim != 1:
        hint = " Convert a mask to members with numpy.flatnonzero." if people.dtype.kind == "b" else ""
        raise PolicyError(
            f"The members of a query must be whole numbers in one row, not an array of {people.dtype} "
            f"with {people.ndim} dimensions.{hint}"
        )
    if not people.size:
        raise PolicyError("A query needs at least one person, but its set of members is empty.")
    people = people.astype(np.int64, copy=False)
    if not (people[1:] > people[:-1]).all():
        people = np.sort(people)
        twice = np.flatnonzero(people[1:] == people[:-1])
        if twice.size:
            raise PolicyError(f"A query is a set of people, but person {people[twice[0]]} is named twice.")
    if people[0] < 0:
        raise PolicyError(f"People are numbered from 0, but a member of the query is {people[0]}.")
    if n is not None and people[-1] >= n:
        raise PolicyError(f"There are {n} people, numbered 0 to {n - 1}, but a member of the query is {people[-1]}.")
    return people


def _listed(members: Iterable[int]) -> NDArray[np.int64]:
    """Return the members of a query as an array. Raises for anything that is not a set of whole numbers."""
    if isinstance(members, (str, bytes)) or not isinstance(members, Iterable):
        raise PolicyError(f"The members of a query must be a set of whole numbers, but they are {members!r}.")
    listed = list(members)
    for kind in set(map(type, listed)):
        if kind is bool or not issubclass(kind, (int, np.integer)):
            wrong_member = next(member for member in listed if type(member) is kind)
            raise PolicyError(f"A member of a query must be a whole number, but one is {wrong_member!r}.")
    try:
        return np.array(listed, dtype=np.int64)
    except OverflowError:
        raise PolicyError(
            f"A member of the query is {max(listed, key=abs)}, which is not the number of a person."
        ) from None


@dataclass(frozen=True, eq=False)
class AggregateQuery:
    """An aggregate over a set of people: ``members`` (increasing), a ``function`` and, for a sum, ``coefficients``.

    ``coefficients`` is None for a plain sum (every one is 1); otherwise a non-zero integer for each member. Two queries
    are equal if function, members and coefficients agree, however they were written.
    """

    members: NDArray[np.int64]
    function: str = "sum"
    coefficients: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.function not in FAMILIES:
            families = ", ".join(FAMILIES)
            raise PolicyError(
                f"function must be one of {families}, but it is {self.function!r}.{did_you_mean(self.function, FAMILIES)}"
            )
        members = as_members(self.members).copy()
        members.flags.writeable = False
        object.__setattr__(self, "members", members)
        if self.coefficients is not None:
            object.__setattr__(self, "coefficients", self._checked(self.coefficients))

    def _checked(self, coefficients: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return validated coefficients of a sum; None if all are 1."""
        if self.function != "sum":
            raise PolicyError(f"coefficients belong to sums, but the function is {self.function!r}.")
        if coefficients.dtype.kind != "i" or coefficients.shape != self.members.shape or not coefficients.all():
            raise PolicyError("coefficients must be one non-zero whole number for each member.")
        if (np.abs(coefficients) >= LARGEST_COEFFICIENT).any():
            raise PolicyError("coefficients must lie between -2^59 and 2^59.")
        if (coefficients == 1).all():
            return None
        coefficients = coefficients.astype(np.int64)
        coefficients.flags.writeable = False
        return coefficients

    @classmethod
    def of(cls, members: Members, function: str = "sum") -> AggregateQuery:
        """Return the query of ``function`` over any iterable of people."""
        people = members if isinstance(members, np.ndarray) else _listed(members)
        return cls(people, function)  # type: ignore[arg-type]  # whatever it holds is checked there

    @classmethod
    def linear(cls, coefficients: Mapping[int, int]) -> AggregateQuery:
        """Return the sum of ``coefficient * value`` over people; people with coefficient 0 are not members."""
        nonzero = {person: coefficient for person, coefficient in coefficients.items() if coefficient != 0}
        members = as_members(nonzero.keys())
        weights = [nonzero[int(person)] for person in members]
        for person, weight in zip(members, weights, strict=True):
            whole(weight, f"the coefficient of person {person}", low=1 - LARGEST_COEFFICIENT)
        try:
            return cls(members, "sum", np.array(weights, dtype=np.int64))
        except OverflowError:
            raise PolicyError("coefficients must lie between -2^59 and 2^59.") from None

    @property
    def family(self) -> str:
        """``linear``, ``max`` or ``min``: a sensitive column is locked to one of them."""
        return FAMILIES[self.function]

    @cached_property
    def identity(self) -> str:
        """A digest of the members (and coefficients), independent of how the query was written.

        It does not cover the function or the column; callers add these.
        """
        digest = hashlib.sha256(self.members.astype("<i8").tobytes())
        if self.coefficients is not None:
            digest.update(b"coefficients" + self.coefficients.astype("<i8").tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AggregateQuery) and (self.function, self.identity) == (other.function, other.identity)

    def __hash__(self) -> int:
        return hash((self.function, self.identity))

    def __len__(self) -> int:
        return len(self.members)


@dataclass(frozen=True)
class Decision:
    """Answer or deny, decided before the data are read.

    ``reason`` is for people and ``rule`` for programs; both follow from queries and past answers alone, so both may be
    shown to the user.
    """

    answer: bool
    reason: str
    rule: str

    def __bool__(self) -> bool:
        return self.answer


@dataclass(frozen=True)
class Answered:
    """A query and its answer; sums are audited without the answer, which may then be None."""

    query: AggregateQuery
    answer: Fraction | int | None = None

    def __post_init__(self) -> None:
        if self.answer is None and self.query.family != "linear":
            raise PolicyError(f"answer is missing: auditing a {self.query.function} needs the answers so far.")
        if self.answer is not None:
            object.__setattr__(self, "answer", as_answer(self.answer))


def as_answer(answer: Number) -> Fraction:
    """Return an answer as an exact number; a finite float is read as its shortest decimal, which preserves order and equality."""
    return exact(answer, "answer")


@dataclass(frozen=True)
class QueryHistory:
    """The answered queries about one sensitive column of ``n`` people, in order, and the declared properties of the
    column.

    ``duplicates`` is whether two people may share a value. ``lower`` and ``upper`` are bounds of every value that an
    adversary knows. All three are declared by the owner, never inferred from the data.
    """

    n: int
    answered: tuple[Answered, ...] = ()
    duplicates: bool = True
    lower: Fraction | None = None
    upper: Fraction | None = None

    def __post_init__(self) -> None:
        whole(self.n, "n", low=1)
        for name in ("lower", "upper"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.lower is not None and self.upper is not None and self.lower >= self.upper:
            raise PolicyError(f"lower must be below upper, but they are {self.lower} and {self.upper}.")
        for entry in self.answered:
            as_members(entry.query.members, self.n)
        families = {entry.query.family for entry in self.answered}
        if len(families) > 1:
            raise PolicyError(f"A column is locked to one family of queries, but its history holds {sorted(families)}.")

    @property
    def family(self) -> str | None:
        """The family that the first answer locked the column to; None before it."""
        return self.answered[0].query.family if self.answered else None

    def followed_by(self, query: AggregateQuery, answer: Number | None = None) -> QueryHistory:
        """Return this history with one more answer."""
        entry = Answered(query, None if answer is None else as_answer(answer))
        return QueryHistory(self.n, (*self.answered, entry), self.duplicates, self.lower, self.upper)


@runtime_checkable
class Auditor(Protocol):
    """Decides query after query from its own state; the fast equivalent of :func:`decide`."""

    @property
    def n(self) -> int:
        """The number of variables: people, plus one for every changed value."""

    def would_answer(self, members: Members) -> Decision:
        """Return the decision on a query without recording it."""

    def ask(self, members: Members) -> bool:
        """Return whether the query is answered; if so it becomes part of the history."""

    def record(self, members: Members, answer: Number) -> None:
        """Record the answer to the last query. Auditors that never use answers only check it."""

    def extend(self, n: int) -> None:
        """Grow to ``n`` variables: inserted people and changed values are new variables."""
