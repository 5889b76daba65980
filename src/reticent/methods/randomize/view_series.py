"""Several views of changing data, by a corrected scheme. Source: [Rastogi2007].

Independent views are a breach: a tuple in three of them is almost surely true. Here a tuple of an earlier view keeps a
high probability of inclusion even if it is not true. Corrected: the printed scheme guarantees too much. Noise must be
inflated by exp((v-1)/v), and must not shrink from view to view unless the table is frozen.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from reticent.base.context import Context
from reticent.base.disclosures import Judgement, PriorDisclosure, SeriesState, allow, alone, refuse
from reticent.base.exact import whole
from reticent.base.files import write_whole
from reticent.errors import DataError, LedgerError, PolicyError
from reticent.ledger import Ledger
from reticent.methods.randomize.details import ViewManifest
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.estimators import Estimate
from reticent.methods.randomize.instance import full_domain, instance_of
from reticent.methods.randomize.plans import Plan
from reticent.methods.randomize.sampler import ListedKeys, sample
from reticent.methods.randomize.tuple_draft import DrawnTuples, check_size
from reticent.methods.randomize.tuple_sets import union, without
from reticent.methods.randomize.view import View
from reticent.methods.randomize.view_domain import Keys, ViewDomain
from reticent.methods.randomize.view_publication import open_view, released, table_of
from reticent.release import EarlierLayout

_STATE = "series.json"
_SERIES = "randomized views"


@dataclass(frozen=True)
class Series:
    """The views of one plan, in order. The publisher keeps all of them; the number of views is fixed by the plan.

    ``digest`` is a hash of the table in a frozen series, which may not change; it is private to the publisher.
    """

    plan: Plan
    views: tuple[View, ...] = ()
    digest: str | None = None

    @property
    def shown(self) -> Keys:
        """All tuples that any view has included so far."""
        shown_keys = np.empty(0, self.plan.domain.key_type)
        for view in self.views:
            shown_keys = union(shown_keys, view.keys)
        return shown_keys

    def publish(
        self,
        frame: Any,
        dataset: str | None = None,
        *,
        domain: ViewDomain | Mapping[str, Any] | None = None,
        duplicates: str = "refuse",
        ledger: str | Path | Ledger | None = None,
        budget: Mapping[str, Any] | None = None,
        insecure_seed: int | None = None,
        context: Context | None = None,
    ) -> Series:
        """Return the series with one more view, of the current table: true tuples with s, tuples of earlier views with e, others with c_i."""
        index = len(self.views) + 1
        if index > self.plan.views:
            raise LedgerError(
                f"The plan is for {self.plan.views} view{'s' * (self.plan.views > 1)}, all published. One more would break the guarantee; nothing was "
                "published."
            )
        space = full_domain(self.plan, domain)
        listed = self.plan.on(space)
        check_size(listed)
        true = instance_of(frame, listed, space, duplicates)
        digest = _digest(true) if self.plan.rates.frozen else None
        if self.digest is not None and digest != self.digest:
            raise DataError(
                "The series is frozen, but the table has changed. Plan without frozen= for data that change."
            )
        rates, earlier, draws = self.plan.rates, self.shown, Draws(insecure_seed)
        sets = [ListedKeys(true, rates.s), ListedKeys(without(earlier, true), rates.carry)]
        manifest = ViewManifest(listed, index, duplicates)
        chunks = sample(space, sets, rates.noise(index), draws)
        keys = DrawnTuples(manifest, chunks, draws.is_secure, float(listed.expected_rows), {}).keys(context)
        view = View(manifest, keys, earlier if index > 1 else None, draws.is_secure)
        if dataset is not None:
            table = table_of(frame, space, dataset)
            beside = alone if index == 1 else partial(_next, index, self.plan.views)
            view = replace(
                view,
                given=released(
                    view,
                    table,
                    state=self._state(view),
                    beside=beside,
                    series=f"series {_digest((*self.views, view)[0].keys)}",
                    budget=budget,
                    ledger=ledger,
                    context=context,
                ),
            )
        return Series(listed, (*self.views, view), digest)

    def _state(self, view: View) -> SeriesState:
        """Return the ledger's record of the series: the current view, identified by its tuples, and its predecessor."""
        named = [f"{state_view.manifest.index}:{_digest(state_view.keys)}" for state_view in (*self.views[-1:], view)]
        details = {"index": view.manifest.index, "views": self.plan.views}
        return SeriesState(_SERIES, named[-1], details, follows=named[0] if self.views else None)

    def estimate(self, condition: str, *, error: Any = None) -> Estimate:
        """Estimate from the latest view, given the earlier ones."""
        if not self.views:
            raise PolicyError("The series has no view yet.")
        return self.views[-1].estimate(condition, error=error)

    def combined(self, condition: str, *, error: Any = None) -> Estimate:
        """Combine the estimates of all views of an unchanged table, weighted by inverse variance."""
        if not self.plan.rates.frozen:
            raise PolicyError(
                "Views are combined in a frozen series only: in others the table may have changed between them."
            )
        estimates = [view.estimate(condition, error=error) for view in self.views]
        weights = [1 / Fraction(max(estimate.standard_error, 1e-12) ** 2) for estimate in estimates]
        total = sum(weights, Fraction(0))
        value = (
            sum((weight * estimate.value for weight, estimate in zip(weights, estimates, strict=True)), Fraction(0))
            / total
        )
        bound = float(
            sum(weight * Fraction(estimate.bound) for weight, estimate in zip(weights, estimates, strict=True)) / total
        )
        best = estimates[0]
        top = Fraction(min(Fraction(self.plan.n), best.domain_count))
        low, high = int(np.floor(float(value) - bound)), int(np.ceil(float(value) + bound))
        return replace(
            best,
            value=value,
            standard_error=float(1 / total) ** 0.5,
            clipped=max(Fraction(0), min(value, top)),
            bound=bound,
            # The bounds of all views must hold simultaneously.
            error=best.error * len(estimates),
            interval=(max(0, min(low, int(top))), min(int(top), max(high, 0))),
        )

    def save(self, path: str | Path) -> Path:
        """Write new views: a folder for every view, and the publisher's record of the series.

        A folder that holds a different view is not touched: a series that loses a published view would break its
        guarantee.
        """
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for view in self.views:
            target = folder / f"view-{view.manifest.index}"
            if not target.exists():
                view.save(target)
            elif not _is_same(open_view(target), view):
                raise DataError(
                    f"{str(target)!r} holds a view of another series. Save to a different folder; nothing was overwritten."
                )
        state = {"plan": self.plan.as_json(), "views": len(self.views), "digest": self.digest}
        write_whole(folder / _STATE, json.dumps(state, indent=2).encode() + b"\n", mode=0o600)
        return folder

    @classmethod
    def open(cls, path: str | Path) -> Series:
        """Open a series from its folder, every view with its predecessors."""
        folder = Path(path)
        if not (folder / _STATE).is_file():
            raise DataError(f"{str(folder)!r} does not hold a series: {_STATE} is missing.")
        try:
            state = json.loads((folder / _STATE).read_text(encoding="utf-8"))
            plan, count = Plan.from_json(state["plan"]), whole(state["views"], "views", low=1)
            digest = None if state["digest"] is None else str(state["digest"])
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise DataError(
                f"{str(folder / _STATE)!r} is not what a series writes ({type(problem).__name__}: {problem})."
            ) from None
        try:
            views = read_views([folder / f"view-{index}" for index in range(1, count + 1)])
        except EarlierLayout:
            raise DataError(
                f"The series in {str(folder)!r} was begun with an earlier version of Reticent. Publish its remaining views with that version: later views depend "
                "on the earlier ones. A new series about the same people is not judged together with the old views, and the ledger refuses it."
            ) from None
        if views[0].plan.as_json() != plan.as_json():
            raise DataError(f"The views in {str(folder)!r} were made by another plan than the one in {_STATE}.")
        return cls(plan, views, digest)


def read_views(paths: Sequence[str | Path]) -> tuple[View, ...]:
    """Read the published views of one series, in order, each with its predecessors."""
    views: list[View] = []
    earlier: Keys | None = None
    for number, path in enumerate(paths, start=1):
        view = open_view(path, earlier)
        if view.manifest.index != number:
            raise DataError(
                f"{str(path)!r} is view {view.manifest.index} of its series, not view {number}. Pass all views in order."
            )
        if views and view.plan.as_json() != views[0].plan.as_json():
            raise DataError(
                f"{str(path)!r} was made by another plan than {str(paths[0])!r}: they are not views of one series."
            )
        views.append(view)
        earlier = view.keys if earlier is None else union(earlier, view.keys)
    return tuple(views)


def _next(index: int, views: int, prior: Sequence[PriorDisclosure]) -> Judgement:
    """Judge a later view: it may be released after the earlier views of its own series and nothing else; the series' state
    proves which are its own.
    """
    if len(prior) == index - 1:
        return allow(f"It is view {index} of {views} that were planned and judged together.")
    return refuse(
        f"The ledger knows {len(prior)} releases of this data set, but this would be view {index} of its series: this copy of the series is not the one that was "
        "published last. Open it again from its folder; nothing was published."
    )


def _digest(keys: Keys) -> str:
    return hashlib.sha256(np.ascontiguousarray(keys).tobytes()).hexdigest()


def _is_same(first: View, second: View) -> bool:
    """True if two views include the same tuples under the same plan."""
    return first.manifest.as_json() == second.manifest.as_json() and np.array_equal(first.keys, second.keys)
