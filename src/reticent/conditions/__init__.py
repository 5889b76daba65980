"""Conditions on rows: one language for counting queries on a release, for domain counts and for audited SQL.

``condition``   :class:`Condition`: parsed once, evaluated on rows (``mask``) and on generalized labels (``cover``)
``parser``      text to tree, by sqlglot; ``words`` decides which words are column names; ``fault`` points into the text of an error
``nodes``       the tree; ``operand_kinds`` type checking; ``linear`` arithmetic as exact coefficients
``evaluation``  tree and frame to true, false or unknown for every row
``domain``      public knowledge of a column's values; ``pieces`` labels split where the condition splits them; ``coverage`` the part of a
                region that satisfies a condition; ``region_expansion`` by enumerating cells; ``bounds`` if there are too many

The text is never passed on as text. Supported are comparisons of columns, constants, linear arithmetic and a few
integer functions (``% div abs sign floor ceil``), ``between``, ``in``, ``is null``, ``like 'abc%'``, ``and``, ``or``,
``not`` and parentheses, with SQL's three-valued logic for nulls.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.conditions.condition import Condition
from reticent.conditions.domain import Domain
from reticent.conditions.evaluation import truth
from reticent.conditions.fault import ConditionError, Span
from reticent.conditions.nodes import And, Column, IsNull, Node, Not, Or, Text, positive, scope
from reticent.conditions.regions import Coverage, Covers, RegionMatch

if TYPE_CHECKING:
    from reticent.conditions.parser import read_expression
    from reticent.conditions.words import parse_statements

_HOMES = {
    "parse_statements": "words",
    "read_expression": "parser",
}

__all__ = [
    "And",
    "Column",
    "Condition",
    "ConditionError",
    "Coverage",
    "Covers",
    "Domain",
    "IsNull",
    "Node",
    "Not",
    "Or",
    "RegionMatch",
    "Span",
    "Text",
    "parse_statements",
    "positive",
    "read_expression",
    "scope",
    "truth",
]

__getattr__ = lazy_names(__name__, _HOMES)
