"""The fast sum auditor: random null vectors modulo a private prime instead of elimination.

Let A be the matrix of answered queries over trace classes and v the new query. A unit vector e_i is in the row space of
[A; v] iff every null vector of [A; v] is 0 at i. So a *uniformly random* null vector decides: it is 0 at i with
certainty if e_i is in the row space, and with probability 1/p otherwise. The auditor keeps two independent uniform null
vectors z1, z2 of A, modulo a 61-bit prime p. Then

* v is implied by the answers iff v.z1 = v.z2 = 0;
* if v splits two or more classes, or one into three parts, the values of the parts are free and no value is determined;
* if v splits one class into two parts, their values are forced by the sum of the class and by v;
* if v splits none, (v.z2) z1 - (v.z1) z2 is uniform among the null vectors of [A; v], and is checked at the classes of one person.

Once v is answered, z1 and z2 have to become null vectors of [A; v]. For any null vector u of A with v.u != 0 the map z
- (v.z)/(v.u) u is linear from the null space of A onto that of [A; v], so uniform vectors stay uniform and can be reused. If v splits a class, u = e_i - e_j for two people of it will do. Otherwise u comes from :class:`Pivots`.

*Guarantee*. Over the field of p elements every step is exact up to a small error probability: a decision denies wrongly
with probability at most (classes of one person)/p, below 10^-13 for 100,000 people. It answers wrongly only if p
divides a certain minor of A; at rank 2,000 such a minor has at most 11,000 bits, so at most 183 of the 2.7 * 10^16
primes of 61 bits: probability below 10^-14. The prime comes from the operating system's random generator and never
leaves the process, so no query can be tailored to it.

*Cost*. O(members + classes) per decision. An answered query that splits a class adds O(rank * cutless answers), any
other
O(rank^2).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from reticent.audit import _kernels as kernels
from reticent.audit.decision import AggregateQuery, Decision
from reticent.audit.pivots import Pivots
from reticent.audit.primes import RandomWords
from reticent.audit.reasons import EXPOSES, IMPLIED, SAFE
from reticent.audit.trace import Refinement, Traces

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class _Look:
    refinement: Refinement
    decision: Decision


class NullSpace:
    """Answered linear queries as two random null vectors over trace classes, modulo a private prime."""

    def __init__(self, n: int, *, insecure_seed: int | None = None) -> None:
        """Start with one class of all people, a random prime, and two random vectors that are null vectors of no query
        yet.
        """
        self.traces = Traces(n)
        self._source = RandomWords(insecure_seed)
        self._prime = self._source.prime()
        self._modulus = np.uint64(self._prime)
        self._vectors: Words = self._drawn(1)
        self._pivots = Pivots(self._modulus)
        self._last: _Look | None = None

    @property
    def n(self) -> int:
        return self.traces.n

    @property
    def rank(self) -> int:
        """The number of independent answered queries."""
        return self._pivots.rank

    @property
    def state_bytes(self) -> int:
        """The memory of the state arrays in bytes."""
        arrays = (self.traces.labels, self.traces.sizes, self._vectors)
        return sum(array.nbytes for array in arrays) + self._pivots.state_bytes

    def decide(self, query: AggregateQuery) -> Decision:
        """Decide whether no value would be determined; does not change the state."""
        return self._looked_at(query).decision

    def remember(self, query: AggregateQuery) -> None:
        """Record that ``query`` was answered."""
        refinement = self._looked_at(query).refinement
        self._last = None
        if len(refinement.piece_class):
            self._cut(refinement)
        else:
            products = self._products(refinement.whole_class, refinement.whole_coefficient)
            if any(products):
                self._eliminate(refinement, products)

    def extend(self, n: int) -> None:
        self._last = None
        if self.traces.extend(n) is not None:
            self._vectors = np.concatenate([self._vectors, self._drawn(1)], axis=1)

    def _looked_at(self, query: AggregateQuery) -> _Look:
        """Return the effect of a query on the classes and its decision.

        The last one is cached until the state changes, because a decision is usually followed by a record.
        """
        if self._last is None or not _same(self._last.refinement.query, query):
            refinement = self.traces.refine(query)
            self._last = _Look(refinement, self._judged(refinement))
        return self._last

    def _judged(self, refinement: Refinement) -> Decision:
        """Return whether a query is safe, exposes a value or is implied by earlier ones.

        A query that splits several classes is safe; otherwise its products with the null vectors decide.
        """
        cuts = refinement.cut_classes
        if cuts > 1:
            return SAFE
        products = self._products(refinement.whole_class, refinement.whole_coefficient)
        if cuts == 1:
            return EXPOSES if self._forces(refinement, products[0]) else SAFE
        if not any(products):
            return IMPLIED
        first, second = (0, 1) if products[1] else (1, 0)
        ratio = products[first] * pow(products[second], -1, self._prime) % self._prime
        vanishing = kernels.some_vanish(
            self._vectors[first], self._vectors[second], np.uint64(ratio), self.traces.sizes, self._modulus
        )
        return EXPOSES if vanishing else SAFE

    def _forces(self, refinement: Refinement, product: int) -> bool:
        """True if the query would determine a value: it splits one class, and a part of one person is 0 in every null
        vector.
        """
        parts = refinement.parts()
        if len(parts) > 2:
            return False
        (first_coefficient, first_size), (second_coefficient, second_size) = parts
        total = int(self._vectors[0, refinement.piece_class[0]])
        value = (
            (-product - second_coefficient * total)
            * pow(first_coefficient - second_coefficient, -1, self._prime)
            % self._prime
        )
        return (first_size == 1 and value == 0) or (second_size == 1 and value == total)

    def _cut(self, refinement: Refinement) -> None:
        """Split classes by a query, and keep the vectors null vectors.

        The entry of a split class is divided at random; the product with the query is then made 0 at two parts of one
        class.
        """
        class_cut = self.traces.cut(refinement)
        random_values = self._drawn(len(class_cut.new))
        self._vectors = np.concatenate([self._vectors, random_values], axis=1)
        for vector, values in zip(self._vectors, random_values, strict=True):
            kernels.spread(
                vector,
                class_cut.parent,
                np.full(len(random_values[0]), -1),
                values,
                self._modulus - np.uint64(1),
                self._modulus,
            )
        inside, outside = int(class_cut.new[0]), int(class_cut.parent[0])
        step = int(class_cut.coefficient[inside] - class_cut.coefficient[outside])
        inverse = pow(step, -1, self._prime)
        touched = np.flatnonzero(class_cut.coefficient != 0)
        products = self._products(touched, class_cut.coefficient[touched])
        for vector, product in zip(self._vectors, products, strict=True):
            amount = product * inverse % self._prime
            vector[inside] = (int(vector[inside]) - amount) % self._prime
            vector[outside] = (int(vector[outside]) + amount) % self._prime
        people = tuple(int(np.argmax(self.traces.labels == label)) for label in (inside, outside))
        self._pivots.add_cut(self.traces.labels, class_cut, people[0], people[1])

    def _eliminate(self, refinement: Refinement, products: list[int]) -> None:
        """Record a query that splits no class: subtract from each vector the multiple of a new direction that makes its
        product with the query 0.
        """
        coefficient = self.traces.cut(refinement).coefficient
        direction = self._pivots.add_whole(self.traces.labels, coefficient)
        plus, minus = self._pivots.places(self.traces.labels)
        for vector, product in zip(self._vectors, products, strict=True):
            factor = product * direction.inverse % self._prime
            vector[direction.label] = (int(vector[direction.label]) - factor) % self._prime
            kernels.spread(vector, plus[:-1], minus[:-1], direction.weights, np.uint64(factor), self._modulus)

    def _products(self, classes: NDArray[np.int64], coefficients: NDArray[np.int64]) -> list[int]:
        """Return the products, modulo the prime, of the two null vectors with a query that has these coefficients on
        these classes.
        """
        vectors = self._vectors[:, classes]
        if (coefficients == 1).all():
            low = (vectors & np.uint64(0xFFFFFFFF)).sum(axis=1).tolist()
            high = (vectors >> np.uint64(32)).sum(axis=1).tolist()
            return [((above << 32) + below) % self._prime for above, below in zip(high, low, strict=True)]
        reduced = (coefficients % self._prime).astype(np.uint64)
        return [int(kernels.dot(vector, reduced, self._modulus)) for vector in vectors]

    def _drawn(self, count: int) -> Words:
        return self._source.below(self._prime, 2 * count).reshape(2, count)


@cache
def prepare() -> None:
    """Load or compile the kernels by a tiny session, so that the first query does not wait for them."""
    space = NullSpace(6, insecure_seed=0)
    for members in ({0, 1}, {0, 2}, {0, 3}, {1, 2}):
        space.remember(AggregateQuery.of(members))
    space.decide(AggregateQuery.of({1, 2, 3}))
    space.decide(AggregateQuery.linear({0: 2, 4: 3}))
    space._pivots.prepare()


def _same(first: AggregateQuery, second: AggregateQuery) -> bool:
    """True if two linear queries are equal; faster than comparing digests."""
    if first is second:
        return True
    if first.coefficients is None or second.coefficients is None:
        return first.coefficients is second.coefficients and np.array_equal(first.members, second.members)
    return np.array_equal(first.members, second.members) and np.array_equal(first.coefficients, second.coefficients)
