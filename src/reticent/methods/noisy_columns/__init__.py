"""Shared parts of methods that count records of public cells with noise: ``columns`` the cells of each column, ``protection`` the privacy unit and the budget of a definition."""

from reticent.methods.noisy_columns.columns import (
    NoisyCuts,
    PublicColumn,
    cell_labels,
    combinations_of,
    declared_columns,
)
from reticent.methods.noisy_columns.protection import KEPT, DPTarget, ProtectedRecords, account_cost, unfit

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
