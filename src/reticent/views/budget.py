"""The search budget of one check: exceeding it gives UNKNOWN with a reason, never a silent verdict."""

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
    """The search was cut off; the message is the reason of the verdict."""


@dataclass(slots=True)
class SearchBudget:
    """Remaining search nodes and processor seconds for one pair of queries, and cancellation. Processor time is used so
    that the load of the machine does not matter. Mutable: every search step decreases it.
    """

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
        """Count one search step."""
        self.used += 1
        if self.used > self.nodes:
            raise OutOfBudget(f"the search was cut off after {self.nodes} nodes (raise --nodes)")
        self.look_at_the_clock()

    def look_at_the_clock(self) -> None:
        """Stop if the processor time is used up; for long work outside the search."""
        if self.context is not None:
            self.context.check("searching")
        if time.thread_time() > self._until:
            raise OutOfBudget(f"the search was cut off after {self.seconds:g} s of work (raise --seconds)")
