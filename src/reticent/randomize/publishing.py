"""Publishing a view (3.2): from a plan and a table to tuples that may be shown. The ledger is written before anything leaves."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reticent.errors import Infeasible, PolicyError
from reticent.giving import Given, Judgement, allow, alone, refuse, unjudged
from reticent.ledger import Ledger
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.draws import Draws
from reticent.randomize.instance import full_domain, instance_of
from reticent.randomize.manifest import ViewManifest
from reticent.randomize.plans import Plan
from reticent.randomize.sampling import ROWS_AT_ONCE, ListedKeys, sample
from reticent.randomize.sources import NoiseSource
from reticent.randomize.view import View

_MOST_ROWS = 10**10


@dataclass(frozen=True)
class Drawing:
    """A view that is about to be drawn: its public manifest, and its tuples chunk by chunk."""

    manifest: ViewManifest
    chunks: Iterator[Keys]


def publish(
    frame: Any,
    plan: Plan,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    *,
    duplicates: str = "refuse",
    source: NoiseSource | Mapping[str, Any] | None = None,
    ledger: str | Path | Ledger | None = None,
    again: bool = False,
    insecure_seed: int | None = None,
) -> View:
    """A view of ``frame`` by ``plan``: true tuples with probability s, every other tuple of the domain with beta (R-AB-7..10).

    ``domain`` lists the values of every column, as they were declared in public; ``source`` is a public distribution for non-uniform noise.
    ``dataset`` names the data: a second independent view of them is a :class:`LedgerError`, since two views give tuples away that neither does
    (a series of views is :class:`reticent.randomize.Series`). The view is recorded before this returns.
    """
    drawing = draw(frame, plan, domain, duplicates=duplicates, source=source, insecure_seed=insecure_seed)
    keys = np.concatenate(list(drawing.chunks))
    view = View(drawing.manifest, keys)
    if dataset is not None:
        record(dataset, drawing.manifest, digest_of(keys), ledger, again)
    return view


def digest_of(keys: Keys) -> str:
    """The hash of a view's tuples, as the ledger keeps it."""
    return hashlib.sha256(np.ascontiguousarray(keys).tobytes()).hexdigest()


def draw(
    frame: Any,
    plan: Plan,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    *,
    duplicates: str = "refuse",
    source: NoiseSource | Mapping[str, Any] | None = None,
    insecure_seed: int | None = None,
    rows_at_once: int = ROWS_AT_ONCE,
) -> Drawing:
    """The drawing of a single view; nothing is recorded and nothing has left."""
    if plan.views > 1:
        raise PolicyError(
            f"The plan is for a series of {plan.views} views. Publish them with rt.randomize.Series, which keeps what was shown."
        )
    space = full_domain(plan, domain)
    listed = plan.on(space) if source is None else plan.on(space).with_source(source)
    check_size(listed)
    true = instance_of(frame, listed, space, duplicates)
    draws = Draws(insecure_seed)
    manifest = ViewManifest(listed, secure=draws.is_secure, duplicates=duplicates)
    if listed.source_rates is not None:
        return Drawing(manifest, iter([listed.source_rates.sample(true, draws)]))
    return Drawing(manifest, sample(space, [ListedKeys(true, plan.s)], plan.beta, draws, rows_at_once))


def check_size(plan: Plan) -> None:
    """Refuse a plan whose views would be too large to be written, before anything is drawn."""
    if plan.expected_rows > _MOST_ROWS:
        raise Infeasible(
            f"The view would have about {float(plan.expected_rows):.3g} rows. Ask for a smaller k, a larger gamma, or coarser columns."
        )


def record(
    dataset: str, manifest: ViewManifest, digest: str, ledger: str | Path | Ledger | None, again: bool = False
) -> None:
    """Write a view down in the ledger: as a release of its data set, and as a view of its plan, of which no more than planned may leave."""
    plan = manifest.plan
    details = {"index": manifest.index, "views": plan.views, "d": str(plan.d), "gamma": str(plan.gamma)}

    def next_of_series(given: Sequence[Given]) -> Judgement:
        views = [each for each in given if each.kind == manifest.format]
        if len(views) != manifest.index - 1:
            return refuse(
                f"The ledger knows {len(views)} views of the data set {dataset!r}, but this would be view {manifest.index}: the series at hand is not the one that "
                "was published last. Open it again from its folder; nothing was published."
            )
        if len(views) < len(given):
            return alone(given)
        return allow(f"It is view {manifest.index} of {plan.views} that were planned and judged together.")

    beside = unjudged if again else alone if manifest.index == 1 else next_of_series
    with opened(ledger) as book:
        book.record(dataset, digest, lambda entry: digest, kind=manifest.format, beside=beside, details=details)


@contextmanager
def opened(ledger: str | Path | Ledger | None) -> Iterator[Ledger]:
    """A ledger, closed again if it was opened here."""
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    try:
        yield book
    finally:
        if book is not ledger:
            book.close()
