"""The attack on a series: one call, three engines."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, get_args

from reticent.attacks.tracking.fixpoint import fixpoint
from reticent.attacks.tracking.join_attack import join
from reticent.attacks.tracking.learned import Learned
from reticent.attacks.tracking.tracked_view import Returns, Tracks
from reticent.attacks.tracking.world_counts import count_worlds
from reticent.base.context import Context
from reticent.base.exact import one_of
from reticent.methods.series import HasSeries, PublishedSeries

Mode = Literal["exact", "fixpoint", "join"]


def series(
    history: HasSeries | PublishedSeries,
    mode: Mode = "exact",
    knows_change: bool = True,
    *,
    returns: Returns = "unknown",
    releases: Collection[int] | None = None,
    context: Context | None = None,
) -> Learned:
    """Return what an adversary learns who tracks people through the releases: ``{person: {release: {value: chance}}}``.

    *Adversary.* Knows all public releases, who is in which group (mode ``join``: only all quasi-identifiers), and each
    person's event list with the kind of each change. ``knows_change``: a sensitive update reveals that old and new
    value differ. ``returns``: whether values are known to stay the same during an absence. ``releases``: the numbers of
    releases that the adversary has (default: all).

    *Modes.* ``exact`` counts all possible worlds and refuses components that are too large; ``fixpoint`` rules out
    impossible values and scales to a million people; ``join`` does so without knowing groups. A series without a
    possible world is a :class:`reticent.errors.DataError`.
    """
    one_of(mode, "mode", get_args(Mode))
    context = context or Context()
    published = PublishedSeries.of(history)
    tracks = Tracks.of(published, knows_change=knows_change, returns=returns, releases=releases)
    if mode == "exact":
        marginals, worlds = count_worlds(tracks, context)
        return Learned(tracks, mode, marginals, worlds)
    if mode == "fixpoint":
        return Learned(tracks, mode, fixpoint(tracks, context))
    return Learned(tracks, mode, join(published, tracks, context))
