"""The method protocol: a method turns a table and a definition into a draft. Methods implement it structurally and need not import it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions.definition import Definition
from reticent.table import Table


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing is published until ``publish`` accepts the draft.

    ``keeps`` are the kinds of definitions that it can satisfy; ``streams`` is True if it can run without all rows in
    memory.
    """

    keeps: ClassVar[frozenset[Kind]]
    streams: ClassVar[bool]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why the method cannot satisfy the definition for this table, or None. Called before any row is read."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """A draft that satisfies the definition. Raises :class:`reticent.errors.Infeasible` otherwise. Without a context, a new one is made."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""


@dataclass(frozen=True)
class ExpectedError:
    """The expected error of a noisy release: ``figures`` by name and ``words``, computed from the plan alone, never from a sample."""

    figures: Mapping[str, float]
    words: str


@runtime_checkable
class RandomMechanism(Protocol):
    """A randomized method. Repeated samples from real rows average to the truth, so a preview shows ``expected_error`` instead of a sample."""

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """The expected error of a release. Reads no row values, only the number of rows and their owners."""


def is_random(method: Method) -> bool:
    """True if releases of a method are random samples: it satisfies definitions that judge a plan."""
    return "plan" in method.keeps
