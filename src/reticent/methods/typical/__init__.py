"""One typical value for each group and column, in the column's own type.

``values``  the choice of the typical value; ``ranges`` the grid of possible values; ``format`` the format ``typical``
"""

from reticent.methods.typical.ranges import at_places, places_of
from reticent.methods.typical.values import (
    FORMAT,
    by_labels,
    check_values,
    drawn_values,
    group_column,
    level_regions,
    refused,
    refused_sets,
    typical_values,
    with_groups,
)

__all__ = [
    "FORMAT",
    "at_places",
    "by_labels",
    "check_values",
    "drawn_values",
    "group_column",
    "level_regions",
    "places_of",
    "refused",
    "refused_sets",
    "typical_values",
    "with_groups",
]
