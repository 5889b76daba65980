"""The context of a run: randomness, progress, cancellation, a deadline, and what was counted already."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reticent.base.disclosures import SeriesState
from reticent.base.randomness import Randomness
from reticent.errors import Cancelled


@dataclass(frozen=True)
class Event:
    """Progress of one stage: ``done`` of ``total`` units, each None if unknown."""

    stage: str
    done: float | None = None
    total: float | None = None
    note: str = ""

    @property
    def share(self) -> float | None:
        """The completed share of the stage, from 0 to 1, if known."""
        return None if self.done is None or not self.total else min(self.done / self.total, 1.0)


def silent(event: Event) -> None:
    """Ignore progress events: the default."""


def never() -> bool:
    """Never stop: the default."""
    return False


@dataclass(frozen=True)
class Context:
    """What a run carries besides its input; make a new one for each publication.

    ``randomness`` is where random numbers come from (default: the operating system). ``listen`` is called with every :class:`Event`. ``stop`` is polled often; once it returns true the run ends with
    :class:`reticent.errors.Cancelled`. ``deadline`` (of ``time.monotonic``) makes an anytime search return its best answer so far. Large tables
    are spooled under ``scratch`` (default: the temp directory). ``engine`` replaces the engine that the table's rows would get. ``series`` returns
    the state of a series of the data set by name, as in the ledger (None before the first release); it is None if nothing will be recorded. ``ledger`` is the fingerprint of that ledger.

    ``memo`` caches the counts of this run, so a table is counted once however many parts of the run need it. It must not outlive the run:
    create a new context instead of sharing one between calls.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [31, 33, 52, 58], "illness": ["flu", "cold", "flu", "cold"]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness")
        >>> stages = []
        >>> context = rt.Context(listen=lambda event: stages.append(event.stage))
        >>> release = rt.publish(table, rt.KAnonymity(2), method="Mondrian", context=context)
        >>> len(stages) > 0
        True
    """

    randomness: Randomness = field(default_factory=Randomness)
    deadline: float | None = None
    listen: Callable[[Event], None] = silent
    stop: Callable[[], bool] = never
    scratch: Path | None = None
    engine: Any = None
    series: Callable[[str], SeriesState | None] | None = None
    ledger: str = ""
    memo: dict[Hashable, Any] = field(default_factory=dict, compare=False, repr=False)

    def step(self, stage: str, completed: float | None = None, total: float | None = None, note: str = "") -> None:
        """Report progress. Raises :class:`Cancelled` if the run should stop."""
        self.check(stage)
        if self.heard:
            self.listen(Event(stage, completed, total, note))

    def check(self, stage: str) -> None:
        """Raise :class:`Cancelled` if the run should stop."""
        if self.stop():
            raise Cancelled(f"Stopped on request while {stage}.", stage=stage)

    @property
    def heard(self) -> bool:
        """True if there is a listener: progress that is costly to compute is computed only then."""
        return self.listen is not silent

    @property
    def watched(self) -> bool:
        """True if there is a listener or the run may be stopped."""
        return self.heard or self.stop is not never

    @property
    def late(self) -> bool:
        """True if the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline

    def until(self, seconds: float | None) -> float | None:
        """The earlier of the deadline and ``seconds`` from now, if there is either."""
        limits = [self.deadline, None if seconds is None else time.monotonic() + seconds]
        return min((limit for limit in limits if limit is not None), default=None)
