"""What keeps a definition: a method turns a table and a definition into a draft. Methods need not import this; they only look like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions.definition import Definition
from reticent.table import Table


class Method(Protocol):
    """How a release is made. ``draft`` returns everything; nothing leaves the house before ``publish`` takes it.

    ``keeps`` are the kinds of definitions that it keeps, ``streams`` says whether it can do without having all rows in memory.
    """

    keeps: ClassVar[frozenset[Kind]]
    streams: ClassVar[bool]

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Why it cannot keep the definition for this table, or None; asked before any row is looked at."""

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """A draft that keeps the definition, or :class:`reticent.errors.Infeasible`. No context means a new one."""

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, for policies and manifests."""


@dataclass(frozen=True)
class ExpectedError:
    """What noise does to the answers of a release: ``figures`` by name and ``words``, both computed from the plan alone, never from a draw."""

    figures: Mapping[str, float]
    words: str


@runtime_checkable
class RandomMechanism(Protocol):
    """A method that publishes at random by a plan. Draws of real rows average to the truth, so a preview shows ``expected_error`` instead of one."""

    def expected_error(self, table: Table, definition: Definition) -> ExpectedError:
        """The error that a release would have; no row is read but to see how many there are and whose they are."""


def is_random(method: Method) -> bool:
    """Whether releases of a method are draws: it keeps definitions that judge a plan."""
    return "plan" in method.keeps
