"""Classes from a spatial index: dense parts of the space are regions inside larger ones ([Anjum2013], chapter 3).

``method``      Bang, the method that ``publish`` takes
``region_index``       a table's index: built once, cut for any k
``cell_space``  columns as lines of cells, points as keys of interleaved bits, ranges of cells as labels
``directory``   regions and blocks; ``dendrogram`` the order in which blocks merge, and cuts through it
``storage``     the folder of a saved index; ``digest`` what the rows of a table are known by
``index_updates``     rows that come to an index and rows that leave it; ``partial`` the trie of some keys, ``block_merge`` blocks that have become too small
``cut``         what is published of a cut; ``flat`` the same as one table, where every class is one region
``shape``       boxes with holes; ``nested_regions`` regions of a release, one inside the other; ``counts`` counting queries on them
``loops``       the loops behind, which ``_kernels`` compiles for large tables
"""

from reticent.methods.bang.cut import BangCut
from reticent.methods.bang.flat import flat_rows
from reticent.methods.bang.method import Bang
from reticent.methods.bang.region_index import BangIndex
from reticent.methods.bang.storage import open_index

__all__ = ["Bang", "BangCut", "BangIndex", "flat_rows", "open_index"]
