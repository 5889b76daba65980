"""A release's measures, each computed when somebody looks at it: most publishers look at one or two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from reticent.utility import measures
from reticent.utility.measures import Weights
from reticent.utility.summary import ReleaseSummary, Summarizer

Measure = Callable[[ReleaseSummary, Weights | None], float]

_ALWAYS: dict[str, Measure] = {
    "loss": measures.loss,
    "loss_geometric": measures.loss_geometric,
    "discernibility": lambda picture, weights: float(measures.discernibility(picture)),
    "average_group_size": lambda picture, weights: measures.average_group_size(picture),
    "ncp": measures.ncp,
    "cp": measures.cp,
}
_BESIDE_THE_ORIGINAL: dict[str, Measure] = {
    "non_uniform_entropy": measures.non_uniform_entropy,
    "kl": lambda picture, weights: measures.kl(picture),
    "kl_quasi": lambda picture, weights: measures.kl(picture, sensitive=False),
}
# Means over rows, which are means over the people that the rows stand for where rows have weights.
_WEIGHTED: dict[str, Measure] = {
    "weighted_loss": measures.loss,
    "weighted_loss_geometric": measures.loss_geometric,
    "weighted_ncp": measures.ncp,
}


class UtilityMeasures(Mapping[str, float]):
    """The measures that make sense for a picture, by name. The picture itself is drawn when the first is asked for.

    It has mutable state because it remembers: a measure is computed once.
    """

    def __init__(self, drawing: ReleaseSummary | Summarizer, weights: Weights | None = None) -> None:
        self._drawing, self._weights = drawing, weights
        self._known: dict[str, float] = {}

    @cached_property
    def _picture(self) -> ReleaseSummary:
        return self._drawing if isinstance(self._drawing, ReleaseSummary) else self._drawing.picture()

    @cached_property
    def _measures(self) -> dict[str, Measure]:
        found = dict(_ALWAYS)
        if self._picture.complete:
            found |= _BESIDE_THE_ORIGINAL
        if self._picture.levels is not None:
            found["height"] = measures.height
        if self._picture.volumes is not None:
            found["volume_share"] = lambda picture, weights: measures.volume_share(picture)
        return found if self._weighted is None else found | _WEIGHTED

    @cached_property
    def _weighted(self) -> ReleaseSummary | None:
        return self._picture.weighted()

    @cached_property
    def loss_by_column(self) -> dict[str, float]:
        """The loss of every quasi column by itself."""
        return dict(zip(self._picture.columns, measures.column_losses(self._picture).tolist(), strict=True))

    def __getitem__(self, name: str) -> float:
        if name not in self._known:
            picture = self._weighted if name in _WEIGHTED and self._weighted is not None else self._picture
            self._known[name] = self._measures[name](picture, self._weights)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._measures)

    def __len__(self) -> int:
        return len(self._measures)

    def __repr__(self) -> str:
        return repr(dict(self))


def measure_all(picture: ReleaseSummary, weights: Weights | None = None) -> dict[str, float]:
    """Every measure that makes sense for a picture, by name."""
    return dict(UtilityMeasures(picture, weights))
