"""Search for safe releases among externally defined bucketizations. Source: [Martin2007].

A node is any name of a bucketization; a callable turns it into histograms. The searches only use that coarser
bucketizations are safer (monotonicity). The full-domain search of ``rt.publish`` does this for tables; this module does
it for any chain or lattice, and checks the paper's own algorithms.

Corrected: binary search on a chain finds a node that is minimal on that chain only, so :func:`descend` continues to a
node without a safe direct predecessor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import log
from typing import Generic, Protocol, TypeVar

from reticent.base.exact import Number
from reticent.core import FrequencySet, Groups
from reticent.engine import count_table
from reticent.errors import Infeasible, PolicyError
from reticent.table import Table
from reticent.worst_case import Buckets, Measured, as_probability, curve, fact_count, holds, negation_curve

Node = TypeVar("Node", bound=Hashable)
Levels = tuple[int, ...]


class Order(Protocol[Node]):
    """Bucketizations from fine to coarse: every node after its direct predecessors."""

    def nodes(self) -> Iterable[Node]:
        """Yield all nodes, each after everything below it."""

    def predecessors(self, node: Node) -> Iterable[Node]:
        """Yield the nodes directly below."""


@dataclass(frozen=True)
class LevelLattice:
    """All level vectors up to ``heights``: the product of the columns' hierarchies."""

    heights: Levels

    @property
    def top(self) -> Levels:
        """The node with everything suppressed."""
        return self.heights

    def nodes(self) -> list[Levels]:
        """Return all level vectors by total height."""
        return sorted(product(*(range(height + 1) for height in self.heights)), key=lambda node: (sum(node), node))

    def predecessors(self, node: Levels) -> Iterator[Levels]:
        """Yield the nodes one level lower in one column."""
        for column, level in enumerate(node):
            if level:
                yield (*node[:column], level - 1, *node[column + 1 :])

    def chain(self, columns: Sequence[int]) -> list[Levels]:
        """Return a chain from bottom to top, raising one column after the other."""
        node = [0] * len(self.heights)
        steps = [tuple(node)]
        for column in columns:
            while node[column] < self.heights[column]:
                node[column] += 1
                steps.append(tuple(node))
        return steps


class Rollup:
    """Maps level vectors to groups, for the searches below.

    Rows are counted once; a node is merged from the smallest known node below it, which is correct because levels are
    nested (other hierarchies are refused when fitted). Mutable: caches its results.
    """

    def __init__(self, source: Table | FrequencySet) -> None:
        """Count the rows of a table, or start from counts."""
        if isinstance(source, Table):
            source = count_table(source)
        self.lattice = LevelLattice(tuple(hierarchy.height for hierarchy in source.hierarchies))
        self._known: dict[Levels, FrequencySet] = {source.levels: source}

    def __call__(self, node: Levels) -> Groups:
        """Return the groups at these levels."""
        if node not in self._known:
            below = (
                levels for levels in self._known if all(low <= high for low, high in zip(levels, node, strict=True))
            )
            self._known[node] = min((self._known[levels] for levels in below), key=len).generalize(node)
        return self._known[node].groups()


@dataclass
class Audit(Generic[Node]):
    """Judges nodes and caches the verdicts, hence mutable; ``checks`` counts the computed ones.

    ``negations`` uses the weaker adversary of l-diversity instead.
    """

    histograms: Callable[[Node], Measured]
    c: Fraction
    k: int
    negations: bool = False
    verdicts: dict[Node, bool] = field(default_factory=dict)

    @classmethod
    def make(cls, histograms: Callable[[Node], Measured], c: Number, k: int, *, negations: bool = False) -> Audit[Node]:
        """Return an audit against ``k`` facts and the exact threshold ``c``."""
        return cls(histograms, as_probability(c), fact_count(k), negations)

    def __call__(self, node: Node) -> bool:
        """Return whether a node is safe; each node is judged once."""
        if node not in self.verdicts:
            buckets = Buckets.of(self.histograms(node))
            if self.negations:
                self.verdicts[node] = negation_curve(buckets, self.k)[-1] < self.c
            else:
                self.verdicts[node] = holds(buckets, self.c, self.k)
        return self.verdicts[node]

    @property
    def checks(self) -> int:
        """The number of nodes that were computed."""
        return len(self.verdicts)

    def require(self, top: Node) -> None:
        """Raise if even the coarsest node is unsafe, with the best achievable disclosure."""
        if not self(top):
            measured = negation_curve if self.negations else curve
            floor = measured(self.histograms(top), self.k)[-1]
            raise Infeasible(
                f"No bucketization is safe for c = {self.c} and k = {self.k}: even the coarsest one discloses {floor} = "
                f"{float(floor):.4f}. Choose c above that, fewer facts, or other data."
            )


def lowest_on_chain(chain: Sequence[Node], safe: Audit[Node]) -> Node:
    """Return the finest safe node of a chain from fine to coarse, with about log2 of its length checks."""
    if not chain:
        raise PolicyError("The chain has no bucketization. Pass at least one, from fine to coarse.")
    safe.require(chain[-1])
    low, high = 0, len(chain) - 1
    while low < high:
        middle = (low + high) // 2
        if safe(chain[middle]):
            high = middle
        else:
            low = middle + 1
    return chain[low]


def descend(node: Node, order: Order[Node], safe: Callable[[Node], bool]) -> Node:
    """Move to safe direct predecessors until there is none: a minimal safe node."""
    while (
        below := next((predecessor for predecessor in order.predecessors(node) if safe(predecessor)), None)
    ) is not None:
        node = below
    return node


@dataclass(frozen=True)
class SafeNodes(Generic[Node]):
    """All safe nodes, and the minimal ones among them."""

    minimal: tuple[Node, ...]
    safe: frozenset[Node]


def all_minimal(order: Order[Node], safe: Callable[[Node], bool]) -> SafeNodes[Node]:
    """Return the minimal safe nodes of an order and all safe ones, from the bottom up; nodes above a safe node are safe
    without a check (monotonicity).
    """
    safe_nodes: set[Node] = set()
    minimal: list[Node] = []
    for node in order.nodes():
        if any(finer in safe_nodes for finer in order.predecessors(node)):
            safe_nodes.add(node)
        elif safe(node):
            safe_nodes.add(node)
            minimal.append(node)
    return SafeNodes(tuple(minimal), frozenset(safe_nodes))


def all_minimal_by_subsets(lattice: LevelLattice, safe: Callable[[Levels], bool]) -> SafeNodes[Levels]:
    """Return all safe nodes of the lattice and the minimal ones among them, with fewer checks than :func:`all_minimal`.

    Sets of columns are grown, with the others suppressed: a node is a candidate for a set only if it was safe with any
    one of the columns suppressed. ``safe`` must be monotone.
    """
    columns = range(len(lattice.heights))
    verdicts = {lattice.top: safe(lattice.top)}
    for size in range(1, len(lattice.heights) + 1):
        for chosen in combinations(columns, size):
            candidates = [
                node for node in lattice.nodes() if all(node[c] == lattice.top[c] for c in columns if c not in chosen)
            ]
            for node in candidates:
                if node in verdicts:
                    continue
                if any(verdicts.get(finer) for finer in lattice.predecessors(node)):
                    verdicts[node] = True
                else:
                    projections = ((*node[:c], lattice.top[c], *node[c + 1 :]) for c in chosen)
                    verdicts[node] = all(
                        verdicts[projection] for projection in projections if projection != node
                    ) and safe(node)
    safe_nodes = frozenset(node for node, verdict in verdicts.items() if verdict)
    minimal = [
        node
        for node in lattice.nodes()
        if node in safe_nodes and not safe_nodes.intersection(lattice.predecessors(node))
    ]
    return SafeNodes(tuple(minimal), safe_nodes)


Utility = Callable[[Buckets], float]

UTILITIES: Mapping[str, Utility] = {
    "buckets": lambda buckets: -float(len(buckets)),
    "average_size": lambda buckets: float(buckets.sizes.sum()) / len(buckets),
    "discernibility": lambda buckets: float((buckets.sizes.astype(object) ** 2).sum()),
    "entropy": lambda buckets: sum(size * log(size) for size in buckets.sizes.tolist()),
}
"""Cost functions of a bucketization, lower is better: many buckets, small buckets, few pairs, or low entropy."""


def ranked(
    nodes: Iterable[Node], histograms: Callable[[Node], Measured], utility: str | Callable[[Node], float]
) -> list[Node]:
    """Return nodes from the most to the least useful, ties by the node itself.

    ``utility`` names one of :data:`UTILITIES`, or ``"levels"`` for the sum of a level vector, or is a custom cost
    function.
    """
    if callable(utility):
        price = utility
    elif utility == "levels":

        def price(node: Node) -> float:
            if not isinstance(node, tuple):
                raise PolicyError("Utility 'levels' needs nodes that are level vectors.")
            return sum(node)

    elif utility in UTILITIES:

        def price(node: Node) -> float:
            return UTILITIES[utility](Buckets.of(histograms(node)))

    else:
        raise PolicyError(f"There is no utility {utility!r}. Choose one of {', '.join([*UTILITIES, 'levels'])}.")
    return sorted(nodes, key=lambda node: (price(node), node))


def partition_histograms(labels: Sequence[Hashable], values: Sequence[Hashable]) -> list[Counter[Hashable]]:
    """Return the histograms of a bucketization given as one bucket label per person."""
    if len(labels) != len(values):
        raise PolicyError(f"{len(labels)} bucket labels do not go with {len(values)} sensitive values.")
    buckets: defaultdict[Hashable, Counter[Hashable]] = defaultdict(Counter)
    for label, value in zip(labels, values, strict=True):
        buckets[label][value] += 1
    return list(buckets.values())


def require_nested(chain: Sequence[Sequence[Hashable]]) -> None:
    """Refuse a chain of bucketizations (labels per person, fine to coarse) in which a step splits a bucket."""
    for step, (fine, coarse) in enumerate(pairwise(chain)):
        if len(fine) != len(coarse):
            raise PolicyError(f"Step {step + 1} of the chain labels {len(coarse)} people, step {step} {len(fine)}.")
        into: dict[Hashable, Hashable] = {}
        for label, above in zip(fine, coarse, strict=True):
            if into.setdefault(label, above) != above:
                raise PolicyError(
                    f"Step {step + 1} of the chain splits bucket {label!r} of step {step} into {into[label]!r} and {above!r}. "
                    "Every bucket must be a union of buckets of the step before."
                )
