"""A kind of release of one's own: people in stripes along one column of whole numbers. It is one package; nothing in ``src`` knows it.

``method`` finds the stripes; ``recoding`` puts rows into them, later ones too; ``format`` is what is published; ``figure`` draws it.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import reticent as rt
from reticent.registry import FORMATS, METHODS, RECODINGS


@contextmanager
def stripes_registered() -> Iterator[None]:
    """The kind under its name, forgotten after the block."""
    kinds = (METHODS, FORMATS, RECODINGS)
    before = [dict(names) for names in kinds]
    rt.register("method", "Stripes", f"{__name__}.method", "people in stripes")
    rt.register("recoding", "stripes", f"{__name__}.recoding", "rows into stripes", "IntoStripes")
    rt.register("format", "stripes", f"{__name__}.format", "one table of stripes", "STRIPES")
    try:
        yield
    finally:
        for names, old in zip(kinds, before, strict=True):
            names.clear()
            names.update(old)
