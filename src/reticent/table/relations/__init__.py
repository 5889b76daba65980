"""Relations between columns: which columns can be computed from others, detected in the values.

``detection``      the relations of a table, searched in a sample and verified in all rows
``relation``       a relation, with its wording
``single_source``  formulas, parts of dates, bands and monotone maps of one column; ``related_texts`` parts of texts
``pair_formulas``  sums, differences, products, ratios of two columns; ``totals`` sums and products of more, ``row_extremes`` maxima and minima
``lookups``        functional dependencies: columns determined by the values of others
``column_forms``   a column as numbers, codes and parts; ``column_agreement`` and ``correlation`` compare
"""

from reticent.table.relations.detection import find_relations
from reticent.table.relations.relation import ColumnRelation, RelationFormula

__all__ = ["ColumnRelation", "RelationFormula", "find_relations"]
