"""How grouping methods refuse tables in which people have several rows."""

from __future__ import annotations

from reticent.table import Table


def rows_of_people(method: str, table: Table, *, counts_people: bool = False) -> str | None:
    """Return why a method cannot publish a table with several rows per person. None if people have one row each, or if the method ``counts_people`` and no pseudonym links their rows."""
    if table.linked:
        return (
            f"{method} judges rows one by one, and the pseudonym of {table.pseudonyms[0]!r} links all rows of a person, who could be found by their combination. Leave pseudonyms= out, or use "
            "Panel, which hides a person's rows together among those of others."
        )
    if table.several_rows and not counts_people:
        owner_column = next(iter(table.owners.values()))
        return (
            f"{method} treats every row as a different person, but some people have several rows (by {owner_column!r}). Use Mondrian or Lattice, which count people, or keep one row of each with "
            "rows_per_person=1."
        )
    return None
