"""The groups of every node of a table's generalization lattice, each rolled up from a finer one (R-WK-22)."""

from __future__ import annotations

from reticent.data import FrequencySet, Groups, Table
from reticent.knowledge.search import LevelLattice, Levels


class Rollup:
    """Turns level vectors into groups, for the searches of :mod:`reticent.knowledge.search`.

    Rows are counted once; a node is merged from the smallest node below it that is known already, which is right because levels
    nest (a hierarchy whose levels do not is refused when it is fitted). Remembers what it made, hence mutable.
    """

    def __init__(self, source: Table | FrequencySet) -> None:
        if isinstance(source, Table):
            from reticent.engine import count_table

            source = count_table(source)
        self.lattice = LevelLattice(tuple(hierarchy.height for hierarchy in source.hierarchies))
        self._known: dict[Levels, FrequencySet] = {source.levels: source}

    def __call__(self, node: Levels) -> Groups:
        """The groups at these levels."""
        if node not in self._known:
            below = (
                levels for levels in self._known if all(low <= high for low, high in zip(levels, node, strict=True))
            )
            self._known[node] = min((self._known[levels] for levels in below), key=len).generalize(node)
        return self._known[node].groups()
