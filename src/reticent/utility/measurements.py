"""A release's utility measures, each computed on demand: most users need one or two."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from functools import cached_property

from reticent.base.context import Context
from reticent.core import Draft
from reticent.utility import measures
from reticent.utility.lower_bound import QUICK, REPORTED, THOROUGH, BoundEffort, LowerBound
from reticent.utility.measures import Weights
from reticent.utility.summary import ReleaseSummary
from reticent.utility.workload import Workload, WorkloadError, workload_error

Measure = Callable[[ReleaseSummary, Weights | None], float]
Bounded = Callable[[bool, BoundEffort, Context], LowerBound]
"""A lower bound on loss: whether for ranges, how much is computed for it, and the context of the run."""

_ALWAYS: dict[str, Measure] = {
    "loss": measures.loss,
    "loss_geometric": measures.loss_geometric,
    "discernibility": lambda summary, weights: float(measures.discernibility(summary)),
    "average_group_size": lambda summary, weights: measures.average_group_size(summary),
    "ncp": measures.ncp,
    "cp": measures.cp,
}
_BESIDE_THE_ORIGINAL: dict[str, Measure] = {
    "non_uniform_entropy": measures.non_uniform_entropy,
    "kl": lambda summary, weights: measures.kl(summary),
    "kl_quasi": lambda summary, weights: measures.kl(summary, sensitive=False),
}
# Means over rows; with weights, means over the people that the rows represent.
_WEIGHTED: dict[str, Measure] = {
    "weighted_loss": measures.loss,
    "weighted_loss_geometric": measures.loss_geometric,
    "weighted_ncp": measures.ncp,
}


class UtilityMeasures(Mapping[str, float]):
    """The applicable measures of a release, by name. The release is summarized on first use; if it cannot be, there are
    only the ``known`` ones.

    Mutable: results are cached.
    """

    def __init__(
        self,
        summarized: Callable[[], ReleaseSummary] | None,
        weights: Weights | None = None,
        known: Mapping[str, float] | None = None,
    ) -> None:
        """Measures of the summary that ``summarized`` computes (None: there is none), with ``weights`` of the quasi columns, and ``known`` figures."""
        self._summarized, self._weights = summarized, weights
        self._known = dict(known or {})

    @cached_property
    def summary(self) -> ReleaseSummary | None:
        """The input of the measures."""
        return None if self._summarized is None else self._summarized()

    @cached_property
    def _measures(self) -> dict[str, tuple[Measure, ReleaseSummary]]:
        """Every applicable measure with the summary that it is computed from: that of the release, or of the release with rows counted by weight."""
        summary = self.summary
        if summary is None:
            return {}
        selected = dict(_ALWAYS)
        if summary.complete:
            selected |= _BESIDE_THE_ORIGINAL
        if summary.levels is not None:
            selected["height"] = measures.height
        if summary.volumes is not None:
            selected["volume_share"] = lambda summary, weights: measures.volume_share(summary)
        weighted = summary.weighted()
        weighted_measures = (
            {} if weighted is None else {name: (measure, weighted) for name, measure in _WEIGHTED.items()}
        )
        return {name: (measure, summary) for name, measure in selected.items()} | weighted_measures

    @cached_property
    def loss_by_column(self) -> dict[str, float]:
        """The loss of every quasi column by itself; empty without a summary."""
        if self.summary is None:
            return {}
        return dict(zip(self.summary.columns, measures.column_losses(self.summary).tolist(), strict=True))

    def __getitem__(self, name: str) -> float:
        """The measure of this name, computed on first access."""
        if name not in self._known:
            measure, summary = self._measures[name]
            self._known[name] = measure(summary, self._weights)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._measures, *self._known]))

    def __len__(self) -> int:
        return len(self._measures.keys() | self._known.keys())

    def __repr__(self) -> str:
        return repr(dict(self))

    def query_error(self, queries: int = 200, dimensions: int = 2, seed: int = 0) -> WorkloadError | None:
        """The error of random counting queries that each constrain ``dimensions`` quasi columns and select about 5 % of
        the rows; None without a summary.
        """
        if self.summary is None:
            return None
        original = self.summary.original
        workload = Workload.drawn(original.hierarchies, queries, min(dimensions, len(original.hierarchies)), seed=seed)
        return workload_error(original, self.summary, workload)


class MeasuredUtility(Mapping[str, float]):
    """The measures of a release as numbers, with lower bounds on the loss of every release by groups under its definition.

    ``loss_bound`` holds whatever the labels are; ``loss_bound_ranges`` for releases that publish numbers and dates as ranges; ``loss_bound_confidence`` is there where records were
    sampled. The best ones are computed when first read, and listed from then on: listing and saving figures does not wait for them. :meth:`with_bound` and :meth:`reported` list weaker ones, computed with less effort.
    Never public: a bound is computed from the confidential table. Mutable: it remembers what it has computed.
    """

    def __init__(self, figures: Mapping[str, float], bounded: Bounded | None = None, quick: bool = False) -> None:
        self._figures, self._bounded, self._quick = dict(figures), bounded, quick

    def __getitem__(self, name: str) -> float:
        """The figure of this name. Reading a bound on loss first computes the best one, which may take minutes."""
        if name in _BOUNDS and self._bounded is not None:
            self._bound(self._bounded, THOROUGH)
            self._bounded = None
        return self._figures[name]

    def __contains__(self, name: object) -> bool:
        """True for the listed figures, and for the bounds that can still be computed."""
        return name in self._figures or (name in _BOUNDS[:2] and self._bounded is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._figures))

    def __len__(self) -> int:
        return len(self._figures)

    def __repr__(self) -> str:
        return repr(dict(self.items()))

    def items(self) -> ItemsView[str, float]:
        """The figures that are listed, as they are: nothing is computed."""
        return dict(self._figures).items()

    def with_bound(self) -> dict[str, float]:
        """The figures, with a bound where one was read before or is quickly computed."""
        if self._quick and self._bounded is not None and "loss_bound" not in self._figures:
            self._bound(self._bounded, QUICK)
        return dict(self._figures)

    @property
    def is_final(self) -> bool:
        """Whether no better bound is left to compute."""
        return self._bounded is None

    def reported(self, context: Context | None = None) -> dict[str, float]:
        """The figures for a report, with the best bound where it was read before, otherwise with one that takes a second or two. ``context`` hears of progress and can stop the computation."""
        if self._bounded is not None:
            self._bound(self._bounded, QUICK if self._quick else REPORTED, context)
        return dict(self._figures)

    def _bound(self, bounded: Bounded, effort: BoundEffort, context: Context | None = None) -> None:
        """Compute the lower bounds on loss for any labels and for ranges with some effort, and list them in place of earlier ones."""
        context = context or Context()
        any_labels, by_ranges = bounded(False, effort, context), bounded(True, effort, context)
        # What holds whatever the labels are holds for ranges too.
        bounds = {"loss_bound": any_labels.value, "loss_bound_ranges": max(any_labels.value, by_ranges.value)}
        confidence = min(any_labels.confidence, by_ranges.confidence)
        if confidence < 1:
            bounds["loss_bound_confidence"] = confidence
        self._figures = {name: value for name, value in self._figures.items() if name not in _BOUNDS} | bounds


_MORE_CAN_BE_PROVEN = (
    'The bound was computed in a second or two, from distances between records; read utility["loss_bound"] before the report for a longer computation, '
    "which often proves more."
)
_BOUNDS = ("loss_bound", "loss_bound_ranges", "loss_bound_confidence")


def listed_utility(utility: Mapping[str, float]) -> dict[str, float]:
    """The figures of a release for a screen of the steward, with a bound on the loss where that takes no time."""
    return utility.with_bound() if isinstance(utility, MeasuredUtility) else dict(utility)


def bound_sentence(utility: Mapping[str, float], *, final: bool = True) -> str | None:
    """The loss of a release beside the least that is possible, for the steward; None where no bound is listed. Unless the bound is ``final``, it says that more can be proven."""
    listed = listed_utility(utility)
    if "loss_bound" not in listed:
        return None
    loss, bound, ranges = listed["loss"], listed["loss_bound"], listed["loss_bound_ranges"]
    confidence_text = (
        f" (with confidence {listed['loss_bound_confidence']:.1%}, from a sample of the records)"
        if "loss_bound_confidence" in listed
        else ""
    )
    ranges_text = f", and none that publishes numbers as ranges below {ranges:.4f}" if bound < ranges <= loss else ""
    hint = "" if final else f" {_MORE_CAN_BE_PROVEN}"
    return f"Loss {loss:.4f}; no release by groups under this definition can be below {bound:.4f}{ranges_text}{confidence_text}.{hint}"


def measure_all(summary: ReleaseSummary, weights: Weights | None = None) -> dict[str, float]:
    """Every applicable measure of a summary, by name."""
    return dict(UtilityMeasures(lambda: summary, weights))


def utility_of(draft: Draft) -> UtilityMeasures:
    """The utility of a draft. For random samples, which are judged by expected error, only the method's own figures."""
    counted, cells = draft.counted, draft.cells
    if counted is None or cells is None:
        return UtilityMeasures(None, known=draft.measured)
    return UtilityMeasures(lambda: ReleaseSummary.of(counted, cells()), known=draft.measured)
