"""Keys as equality-generating dependencies: subgoals that agree on a key are one row. Source: [Maier1979]."""

from __future__ import annotations

from collections.abc import Iterator

from reticent.views.integer_queries import NULL_CODE, CodedQuery
from reticent.views.schema import Key, Schema
from reticent.views.unification import EqualTerms, respects_null


def chase(query: CodedQuery, classes: EqualTerms, schema: Schema) -> bool:
    """Chase with the keys until no two subgoals agree on a key and differ elsewhere; return False if the keys admit no
    such database.

    A partial key (with nullable columns) applies only if its columns are known to be filled; the case split covers the
    rest.
    """
    changed = True
    while changed:
        changed = False
        filled = {classes.find(code) for code in query.filled}
        for left, right, key in keyed_pairs(query, schema):
            low, high = classes.apply(left), classes.apply(right)
            if low == high or any(low[column] != high[column] for column in key.columns):
                continue
            if key.partial and not all(_is_filled(low[column], filled) for column in key.columns):
                continue
            if not classes.merge_rows(low, high, range(len(low))):
                return False
            changed = True
    return respects_null(classes, query.filled)


def keyed_pairs(query: CodedQuery, schema: Schema) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Key]]:
    """Yield every two subgoals of one relation, with each key of the relation."""
    for relation, indices in query.places.items():
        keys = schema.relation(relation).keys
        if not keys:
            continue
        for number, first in enumerate(indices):
            for second in indices[number + 1 :]:
                for key in keys:
                    yield query.atoms[first].terms, query.atoms[second].terms, key


def _is_filled(code: int, filled: set[int]) -> bool:
    return code in filled or (code < 0 and code != NULL_CODE)
