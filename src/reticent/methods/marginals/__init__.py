"""Marginals: noisy counts of chosen sets of columns, and synthetic records that fit them, with differential privacy.

``columns`` the public cells of each column; ``noisy_table`` a table behind a budget, the only access to the data; ``plan`` every noisy step and their sum, exactly; ``selection`` AIM, MST and fixed
lists; ``graphical_model`` the fit and the draw, by the library mbi; ``marginal_table`` the published counts; ``protection`` whom noise hides; ``estimates`` counting queries; ``method``, ``details``, ``format``.
"""

from reticent.methods.marginals.columns import NoisyCuts, PublicColumn, declared_columns
from reticent.methods.marginals.details import combinations_of
from reticent.methods.marginals.marginal_table import cell_labels
from reticent.methods.marginals.protection import KEPT, DPTarget, ProtectedRecords, account_cost, unfit

__all__ = [
    "KEPT",
    "DPTarget",
    "NoisyCuts",
    "ProtectedRecords",
    "PublicColumn",
    "account_cost",
    "cell_labels",
    "combinations_of",
    "declared_columns",
    "unfit",
]
