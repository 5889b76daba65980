"""Equivalence classes from a spatial index (BANG file): dense parts of the space are regions nested inside larger ones
([Anjum2013], chapter 3; [Freeston1987]).

``method`` Bang, the method that ``publish`` takes ``region_index`` the index of a table: built once, cut for any k
``cell_space`` columns as axes of cells, points as Morton keys, ranges of cells as labels ``directory`` regions and
blocks; ``dendrogram`` the order in which blocks merge, and cuts through it ``storage`` the folder of a saved index;
``digest`` an order-independent hash of a table's rows ``index_updates`` inserting rows into an index and deleting them;
``partial`` the trie of a subset of keys, ``block_merge`` merging of underfull blocks ``cut`` the published form of a
cut; ``flat`` the same as a single table, if every class is one region ``shape`` boxes with holes; ``nested_regions``
nested regions of a release; ``counts`` counting queries on them ``loops`` the inner loops, which ``_kernels`` compiles for large tables
"""

from reticent.methods.bang.cut import BangCut
from reticent.methods.bang.flat import flat_rows
from reticent.methods.bang.method import Bang
from reticent.methods.bang.region_index import BangIndex
from reticent.methods.bang.storage import open_index

__all__ = ["Bang", "BangCut", "BangIndex", "flat_rows", "open_index"]
