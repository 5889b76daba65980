"""Conditions on rows: one language for counting queries on a release, for domain counts and for audited SQL.

``condition``   :class:`Condition`: read once, asked of rows (``mask``) and of generalized labels (``cover``)
``reading``     text to tree, by sqlglot; ``fault`` points into the text when it cannot be read
``nodes``       the tree; ``kinds`` which operands go together; ``linear`` arithmetic as exact coefficients
``evaluation``  tree and frame to true, false or unknown for every row
``domain``      what is public of a column's values; ``pieces`` labels cut where the condition cuts them; ``covering`` what a
                condition covers of a region; ``expanding`` by writing regions out; ``bounding`` when they are too large to go through

Nothing of the text is ever passed on as text. Known are comparisons of columns, constants, linear arithmetic and a few functions of whole numbers (``% div abs
sign floor ceil``), ``between``, ``in``, ``is null``, ``like 'abc%'``, ``and``, ``or``, ``not`` and parentheses, with SQL's three-valued logic for nulls.
"""

from reticent.data.predicate.condition import Condition
from reticent.data.predicate.domain import Domain
from reticent.data.predicate.fault import ConditionError
from reticent.data.predicate.regions import Coverage, Covers, RegionMatch

__all__ = ["Condition", "ConditionError", "Coverage", "Covers", "Domain", "RegionMatch"]
