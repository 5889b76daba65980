"""Three gates whose decisions depend on the true answer. Their refusals disclose values; never use one with real data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from reticent.audit import as_members
from reticent.base.exact import Number, exact
from reticent.baselines.leaky_auditors.gates import aggregate
from reticent.errors import PolicyError


class _LeakyGate(ABC):
    """Hidden values, and decisions that cannot be predicted because they depend on them."""

    functions: tuple[str, ...] = ()

    def __init__(self, values: Sequence[Number]) -> None:
        self._values = [exact(value, "value") for value in values]

    def foreseen(self, members: Iterable[int], function: str) -> bool | None:
        """Return None: no decision is predictable."""
        return None

    def answer(self, members: Iterable[int], function: str) -> Fraction | None:
        """Return the true answer of a query, or None if the rule of this gate, which looks at the answer, denies it."""
        if function not in self.functions:
            raise PolicyError(f"This auditor supports {' or '.join(self.functions)}, not {function}.")
        people = frozenset(as_members(members, len(self._values)).tolist())
        truth = aggregate(self._values, people, function)
        return truth if self._allows(people, function, truth) else None

    @abstractmethod
    def _allows(self, people: frozenset[int], function: str, truth: Fraction) -> bool:
        """Decide, given the true answer."""


class ChinGate(_LeakyGate):
    """Maxima of distinct values, denied iff the *true* answer would determine a person's value ([Chin1986]).

    The synopsis is a list of disjoint predicates (people, whether ``=`` or ``<``, bound); denied queries are forgotten.
    """

    functions = ("max",)

    def __init__(self, values: Sequence[Number]) -> None:
        super().__init__(values)
        self._synopsis: dict[frozenset[int], tuple[bool, Fraction]] = {}
        self._group_of: dict[int, frozenset[int]] = {}

    def _allows(self, people: frozenset[int], function: str, truth: Fraction) -> bool:
        """Return whether answering determines no value; if so, update the synopsis with the true answer.

        The synopsis maps disjoint groups of people to a bound of their values, and whether a member attains it.
        """
        groups_met = {self._group_of[person] for person in people if person in self._group_of}
        unbounded = {person for person in people if person not in self._group_of}
        updated: dict[frozenset[int], tuple[bool, Fraction]] = {}
        has_maximum: frozenset[int] = frozenset()
        for group in groups_met:
            is_attained, bound = self._synopsis[group]
            if bound > truth:
                unbounded |= group & people
                updated[group - people] = (is_attained, bound)
            elif bound == truth and is_attained:
                has_maximum = group & people
                updated[group - people] = (False, bound)
            else:
                updated[group] = (is_attained, bound)
        if has_maximum:
            updated[has_maximum] = (True, truth)
        updated[frozenset(unbounded)] = (not has_maximum, truth)
        updated.pop(frozenset(), None)
        if any(is_attained and len(group) == 1 for group, (is_attained, _) in updated.items()):
            return False
        for group in groups_met:
            del self._synopsis[group]
        self._synopsis |= updated
        self._group_of |= {person: group for group in updated for person in group}
        return True


class OppositeGate(_LeakyGate):
    """The "conservative" Boolean auditor: sums of zeros and ones, answered iff afterwards everyone has a person of
    opposite value in the same answered queries.
    """

    functions = ("sum",)

    def __init__(self, values: Sequence[Number]) -> None:
        """Take the hidden values: ``_traces`` is the set of answered queries that each person was in, as bits, and ``_sizes`` counts the zeros and ones of each set."""
        super().__init__(values)
        if not set(self._values) <= {0, 1}:
            raise PolicyError("The values of this auditor must be 0 and 1.")
        self._bits = [int(value) for value in self._values]
        self._traces = [0] * len(self._bits)
        self._sizes = {0: [self._bits.count(0), self._bits.count(1)]}
        self._answered = 0

    def _allows(self, people: frozenset[int], function: str, truth: Fraction) -> bool:
        """Return whether, after an answer, everyone in the query's classes still has a person of opposite value in the same
        queries; if so, record the query. A class is all people in the same answered queries.
        """
        leaving: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
        for person in people:
            leaving[self._traces[person]][self._bits[person]] += 1
        staying = {
            trace: [size - removed_count for size, removed_count in zip(self._sizes[trace], removed, strict=True)]
            for trace, removed in leaving.items()
        }
        if any((0 in sizes) and any(sizes) for sizes in [*leaving.values(), *staying.values()]):
            return False
        self._answered += 1
        query_bit = 1 << self._answered
        self._sizes |= staying | {trace | query_bit: sizes for trace, sizes in leaving.items()}
        for person in people:
            self._traces[person] |= query_bit
        return True


class MixedGate(_LeakyGate):
    """Sums, and the maximum of people whose sum was answered: denied iff the true answers determine them.

    The sum and the maximum of the same people determine all values iff these are equal; otherwise none.
    """

    functions = ("sum", "max")

    def _allows(self, people: frozenset[int], function: str, truth: Fraction) -> bool:
        return len(people) > 1 and (function == "sum" or truth * len(people) != aggregate(self._values, people, "sum"))
