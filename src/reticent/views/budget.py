"""How much work one question may cost: a cut-off is an honest UNKNOWN, never a silent verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.base.context import Context

NODES = 1_000_000
SECONDS = 30.0


class OutOfBudget(Exception):
    """The search was cut off; the message is the reason that the verdict carries."""


@dataclass(slots=True)
class SearchBudget:
    """Search nodes and seconds of processor time left for one pair of queries, and whether to go on: a busy machine decides nothing. Mutable: every search step takes from it."""

    nodes: int = NODES
    seconds: float = SECONDS
    context: Context | None = None
    used: int = 0
    _until: float = 0.0

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.seconds <= 0:
            raise PolicyError(f"A budget needs at least one node and some time, not {self.nodes} and {self.seconds} s.")
        self._until = time.thread_time() + self.seconds

    def tick(self) -> None:
        """Count one step of search."""
        self.used += 1
        if self.used > self.nodes:
            raise OutOfBudget(f"the search was cut off after {self.nodes} nodes (raise --nodes)")
        self.look_at_the_clock()

    def look_at_the_clock(self) -> None:
        """Stop when the processor time is up; for work that is no search but may be long."""
        if self.context is not None:
            self.context.check("searching")
        if time.thread_time() > self._until:
            raise OutOfBudget(f"the search was cut off after {self.seconds:g} s of work (raise --seconds)")
