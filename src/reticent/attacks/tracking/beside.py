"""The same people published with weaker protection, attacked for comparison with a history."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from reticent.base.context import Context
from reticent.errors import Infeasible, PolicyError, did_you_mean
from reticent.methods.series import History, PublishedSeries, SeriesRelease

Weaker = Literal["separate", "m-invariance", "tau"]
WORDS: dict[str, str] = {
    "separate": "every release made independently",
    "m-invariance": "m-invariance",
    "tau": "plain tau-safety",
}


def republished(history: History, weaker: str, context: Context | None = None) -> PublishedSeries:
    """Return the tables of a history, published again with weaker protection in a temporary folder.

    ``separate``: every release as if it were the first, as tools without a memory do. ``m-invariance`` and ``tau``: the
    published algorithms ([Xiao2007], [Anjum2013]). People who wait in the history are suppressed. Raises
    :class:`Infeasible` if the weaker protection cannot publish some table.
    """
    if weaker not in get_args(Weaker):
        raise PolicyError(
            f"A history can be compared with {', '.join(get_args(Weaker))}, not {weaker!r}.{did_you_mean(weaker, get_args(Weaker))}",
            setting=("beside",),
            value=weaker,
        )
    context = context or Context()
    history.series.check_complete("Publishing the tables again")
    with tempfile.TemporaryDirectory(dir=context.scratch) as folder:
        releases = list(
            _separate(history, Path(folder), context)
            if weaker == "separate"
            else _again(history, weaker, Path(folder), context)
        )
    original = history.series
    return PublishedSeries(
        original.domain, original.m, sensitive=original.sensitive, orders=original.orders, releases=releases
    )


def _snapshots(history: History) -> Iterator[tuple[SeriesRelease, pl.DataFrame]]:
    """Yield each release of a history with its original rows: quasi-identifiers, key and true sensitive value."""
    series, settings = history.series, history.settings
    for release in series:
        values = pl.Series(settings.sensitive, list(series.domain)).gather(release.value_of)
        yield release, release.quasi.with_columns(release.people.alias(settings.key), values)


def _opened(history: History, folder: Path, baseline: str | None) -> History:
    """Return a history in another folder with the same columns, m and domain, published by a ``baseline``, which has no buckets of k people."""
    setting_names = ("m", "key", "sensitive", "quasi", "domain", "ranges", *(("k",) if baseline is None else ()))
    settings: dict[str, Any] = {name: getattr(history.settings, name) or None for name in setting_names}
    ledger = folder / "ledger.sqlite"
    return History.open(folder, **settings, baseline=baseline, ledger=ledger)  # type: ignore[arg-type]  # one of the names above


def _separate(history: History, folder: Path, context: Context) -> Iterator[SeriesRelease]:
    """Publish every release of a history as if it were the first one; yield each with its number and events."""
    for release, rows in _snapshots(history):
        context.step("publishing each release on its own", release.number - 1, len(history))
        single = _opened(history, folder / str(release.number), None)
        _publish(single, rows, release.number, "separate")
        yield _with_events(single.series[0], release)


def _again(history: History, how: str, folder: Path, context: Context) -> Iterator[SeriesRelease]:
    """Publish all releases of a history with a published algorithm (``how``); yield each with its number and events."""
    weaker_history = _opened(history, folder, how)
    released = []
    for release, rows in _snapshots(history):
        context.step(f"publishing with {WORDS[how]}", release.number - 1, len(history))
        _publish(weaker_history, rows, release.number, how)
        released.append(release)
    for weaker, release in zip(weaker_history.series, released, strict=True):
        yield _with_events(weaker, release)


def _publish(history: History, rows: pl.DataFrame, number: int, how: str) -> None:
    """Publish ``rows`` in a history as release ``number``; errors name the release and the protection ``how``."""
    try:
        # The histories compared contain the same people on purpose.
        history.publish(rows, again=True)
    except Infeasible as problem:
        raise Infeasible(f"Release {number} cannot be published as {WORDS[how]}: {problem}") from None


def _with_events(weaker: SeriesRelease, release: SeriesRelease) -> SeriesRelease:
    """Return a release with the number and the events of its counterpart."""
    events = pl.DataFrame({"person": release.people, "event": release.events})
    joined = weaker.people.to_frame("person").join(events, on="person", how="left", maintain_order="left")
    return replace(weaker, number=release.number, events=joined["event"].to_numpy(), left=release.left)
