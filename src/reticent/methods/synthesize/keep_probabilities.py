"""Retention probabilities: the public probability with which a value that nobody has is retained in a group's domain. They
must not be derived from the confidential rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.errors import PolicyError

ByValue = Literal["by value"]
BY_VALUE: ByValue = "by value"
"""Value of ``keep`` in a manifest or policy whose domain lists a probability for every value."""
ByGroup = Literal["by group"]
BY_GROUP: ByGroup = "by group"
"""Value of ``keep`` if the domain lists several columns of probabilities, and each group names one."""
Keep = Number | Mapping[Any, Number] | Sequence[Number]
_MOST_DIFFERENT = 1000


@dataclass(frozen=True, eq=False)
class KeptValues:
    """The distinct ``probabilities``, and the index of each value's probability."""

    probabilities: tuple[Fraction, ...]
    of: NDArray[np.int64] = field(repr=False)

    @classmethod
    def everywhere(cls, keep: Number, size: int) -> KeptValues:
        """Return one probability for all values."""
        return cls((_probability(keep),), np.zeros(size, dtype=np.int64))

    @classmethod
    def listed(cls, keep: Sequence[Number | None], size: int) -> KeptValues:
        """Return a probability for each value, in the order of the domain."""
        if len(keep) != size or any(probability is None for probability in keep):
            raise PolicyError(
                f"keep must have a probability for each of the {size:,} values of the domain.", setting=("keep",)
            )
        distinct = {probability: _probability(probability) for probability in dict.fromkeys(keep)}
        probabilities = {probability: index for index, probability in enumerate(dict.fromkeys(distinct.values()))}
        if len(probabilities) > _MOST_DIFFERENT:
            raise PolicyError(
                f"keep has {len(probabilities):,} different probabilities; at most {_MOST_DIFFERENT:,} are supported. Round them.",
                setting=("keep",),
            )
        return cls(
            tuple(probabilities),
            np.array([probabilities[distinct[probability]] for probability in keep], dtype=np.int64),
        )

    def texts(self) -> list[str]:
        """Return the probability of every value, as text that is parsed back exactly."""
        probability_texts = [str(probability) for probability in self.probabilities]
        return [probability_texts[index] for index in self.of.tolist()]


def _probability(probability: Number | None) -> Fraction:
    """Return a retention probability as an exact fraction above 0 and up to 1."""
    return exact(probability, "keep", above=0, high=1)  # type: ignore[arg-type]  # what is no number is refused by name
