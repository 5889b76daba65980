"""Boolean sums over intervals of a fixed order: decided exactly by shortest paths. Source: [Kleinberg2003].

With prefix sums s_0..s_n a query is ``s_j - s_i = a``, and the values give ``0 <= s_j - s_i <= j - i``. Both are
difference constraints, so the largest ``s_j - s_i`` is the length of a shortest path. Only the ends of queries are
nodes: between two neighbouring ends people are interchangeable. A path is a proof: its queries, added and subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from reticent.audit.offline.argument import Argument, Leaf
from reticent.audit.offline.constrained import not_whole
from reticent.audit.offline.exposure_report import Report
from reticent.audit.offline.offline_proofs import Certificate
from reticent.audit.offline.question_log import Log

IntArray = NDArray[np.int64]

_METHOD = "Shortest paths over prefix sums, in whole numbers, exact."


def are_intervals(log: Log) -> bool:
    """True if the log holds only plain sums over consecutive people."""
    return log.functions <= {"sum"} and all(
        entry.query.coefficients is None
        and int(entry.query.members[-1]) - int(entry.query.members[0]) == len(entry.query) - 1
        for entry in log.entries
    )


@dataclass(frozen=True)
class _Graph:
    """A graph of difference constraints: an edge ``tail -> head`` of ``length`` means ``s_head - s_tail <= length``;
    ``row`` is its query, or -1 for the bounds.
    """

    ends: IntArray
    tail: IntArray
    head: IntArray
    length: IntArray
    row: IntArray

    @classmethod
    def of(cls, log: Log) -> _Graph:
        """Return the difference constraints of a log of sums over intervals, as a graph.

        Its nodes are the sums of the first people up to each end of an interval; an edge states that the node at its
        head exceeds that at its tail by at most its length.
        """
        starts = np.array([int(entry.query.members[0]) for entry in log.entries], dtype=np.int64)
        stops = np.array([int(entry.query.members[-1]) + 1 for entry in log.entries], dtype=np.int64)
        ends = np.unique(np.concatenate([starts, stops, [0, log.n]]))
        left, right = np.searchsorted(ends, starts), np.searchsorted(ends, stops)
        answers = np.array([int(entry.answer) for entry in log.entries], dtype=np.int64)
        rows = np.arange(len(log.entries))
        low, high = np.arange(len(ends) - 1), np.arange(1, len(ends))
        no_row = np.full(len(low), -1)
        return cls(
            ends,
            np.concatenate([left, right, low, high]),
            np.concatenate([right, left, high, low]),
            np.concatenate([answers, -answers, np.diff(ends), np.zeros(len(low), dtype=np.int64)]),
            np.concatenate([rows, rows, no_row, no_row]),
        )

    def potentials(self) -> tuple[IntArray, list[int] | None]:
        """Return the shortest distances (Bellman-Ford) from an extra node joined to all with length 0, or the edges of
        a negative cycle.
        """
        distance = np.zeros(len(self.ends), dtype=np.int64)
        via = np.full(len(self.ends), -1)
        for _ in range(len(self.ends) + 1):
            offered = distance[self.tail] + self.length
            best = distance.copy()
            np.minimum.at(best, self.head, offered)
            better = best < distance
            if not better.any():
                return distance, None
            improving = np.flatnonzero(better[self.head] & (offered == best[self.head]))
            via[self.head[improving]] = improving
            distance = best
        return distance, self._cycle(via)

    def _cycle(self, via: IntArray) -> list[int]:
        """Return a cycle of the last improving edges: after as many rounds as nodes there is one, and it is negative."""
        # Not every chain of improving edges ends in a cycle, so try every node.
        for start in range(len(self.ends)):
            position_of: dict[int, int] = {}
            edges: list[int] = []
            node = start
            while via[node] >= 0 and node not in position_of:
                position_of[node] = len(edges)
                edges.append(int(via[node]))
                node = int(self.tail[via[node]])
            if node in position_of and via[node] >= 0:
                return edges[position_of[node] :]
        raise AssertionError("a distance fell after as many rounds as there are nodes, so there is a negative cycle")

    @cached_property
    def lightest(self) -> dict[tuple[int, int], int]:
        """Return the shortest of the parallel edges between two nodes."""
        order = np.argsort(-self.length, kind="stable")
        return {(int(self.tail[e]), int(self.head[e])): int(e) for e in order}

    def paths(self, distance: IntArray) -> tuple[IntArray, IntArray]:
        """Return shortest lengths between all nodes, and for each start the predecessor of each end on a shortest path."""
        edges = np.array(list(self.lightest.values()), dtype=np.int64)
        tail, head = self.tail[edges], self.head[edges]
        reduced = (self.length[edges] + distance[tail] - distance[head]).astype(float)
        size = len(self.ends)
        lengths, before = dijkstra(
            sparse.csr_array((reduced, (tail, head)), shape=(size, size)), return_predecessors=True
        )
        exact: IntArray = lengths.astype(np.int64) + distance[None, :] - distance[:, None]
        return exact, before.astype(np.int64)

    def weights(self, edges: list[int]) -> tuple[tuple[int, Fraction], ...]:
        """Return the weights of the queries on a path: +1 along their direction, -1 against it."""
        total: dict[int, Fraction] = {}
        for edge in edges:
            row = int(self.row[edge])
            if row >= 0:
                forward = self.tail[edge] < self.head[edge]
                total[row] = total.get(row, Fraction(0)) + (1 if forward else -1)
        return tuple((row, weight) for row, weight in sorted(total.items()) if weight)

    def walk(self, start: int, end: int, before: IntArray) -> list[int]:
        """Return the edges of the shortest path; ``before`` gives the predecessor of each end, for each start."""
        edges = []
        while end != start:
            previous = int(before[start, end])
            edges.append(self.lightest[previous, end])
            end = previous
        return edges


def check_intervals(log: Log) -> Report:
    """Find the people exposed by Boolean sums over intervals of people, by shortest paths between the ends of the
    intervals.

    A person is 0 (or 1) for certain if the number of ones from one end to the next can only be 0 (or all).
    """
    impossible = not_whole(log)
    if impossible is not None:
        return Report(log, _METHOD, contradiction=impossible, consistent=False)
    graph = _Graph.of(log)
    distance, cycle = graph.potentials()
    if cycle is not None:
        proof = Argument(None, Fraction(0), Leaf(_negated(graph.weights(cycle))))
        return Report(log, _METHOD, contradiction=proof, consistent=False)
    lengths, before = graph.paths(distance)
    exposed: dict[int, Fraction] = {}
    proofs: dict[int, Certificate] = {}
    for left, (start, stop) in enumerate(zip(graph.ends[:-1].tolist(), graph.ends[1:].tolist(), strict=True)):
        if lengths[left, left + 1] == 0:
            value, upper, lower = Fraction(0), Leaf(graph.weights(graph.walk(left, left + 1, before))), Leaf(())
        elif -lengths[left + 1, left] == stop - start:
            value, upper, lower = Fraction(1), Leaf(()), Leaf(graph.weights(graph.walk(left + 1, left, before)))
        else:
            continue
        for person in range(start, stop):
            exposed[person] = value
            proofs[person] = Argument(person, value, upper, lower)
    return Report(log, _METHOD, exposed=exposed, certificate=proofs)


def _negated(weights: tuple[tuple[int, Fraction], ...]) -> tuple[tuple[int, Fraction], ...]:
    return tuple((row, -weight) for row, weight in weights)
