"""How precise published noisy figures are: the widths of their intervals beside their values. Everything follows from public tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class IntervalWidths:
    """Figures of one ``name``: how many there are (``figures``), the median of their magnitudes, the median half width of their 95 % intervals, and the share of figures whose interval does not contain 0 (``distinct``)."""

    name: str
    figures: int
    magnitude: float
    half_width: float
    distinct: float

    @classmethod
    def of_intervals(
        cls, name: str, values: NDArray[np.float64], half_widths: NDArray[np.float64]
    ) -> IntervalWidths | None:
        """The widths of some figures, each ``values[i]`` plus or minus ``half_widths[i]``; None if no figure has a known interval."""
        known = np.isfinite(values) & np.isfinite(half_widths)
        if not known.any():
            return None
        magnitudes, widths = np.abs(values[known]), half_widths[known]
        return cls(
            name,
            int(known.sum()),
            float(np.median(magnitudes)),
            float(np.median(widths)),
            float(np.mean(magnitudes > widths)),
        )

    @property
    def relative(self) -> float | None:
        """The half width beside the magnitude; None for a magnitude of 0."""
        return self.half_width / self.magnitude if self.magnitude else None
