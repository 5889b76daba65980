"""Relations between columns: what can be computed from what, found in the values.

``detection``      the relations of a table, looked for in a sample and shown in all rows
``relation``       a relation, with its words
``single_source``  formulas, parts of dates, bands and monotone maps of one column; ``related_texts`` parts of texts
``pair_formulas``  sums, differences, products, ratios of two columns; ``totals`` sums and products of more, ``row_extremes`` the largest or smallest of several
``lookups``        columns of which equal values of others go with one value
``column_forms``   a column as numbers, codes and parts; ``column_agreement`` and ``correlation`` compare
"""

from reticent.table.relations.detection import find_relations
from reticent.table.relations.relation import ColumnRelation, RelationFormula

__all__ = ["ColumnRelation", "RelationFormula", "find_relations"]
