"""Which promise a table can afford: group size, diversity and closeness of its sensitive columns, each with the price of a release that keeps it.

The promise is made stricter step by step: first all delicate columns together, then one by one where that is too dear. The steps that are taken cost hardly
anything; the first one that costs more is told with its price.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

from reticent.definitions import Definition, definition_from
from reticent.errors import Infeasible, PolicyError
from reticent.propose.proposal import Proposal

Promised = tuple[dict[str, Any], ...]
"""Definitions as a policy writes them: the size of groups first."""

_AFFORDABLE, _DEARER = 0.10, 0.02
_FREE, _HARDLY_DEARER = 0.05, 0.01
_LARGEST_K = 20
_MOST_GUARDED, _MOST_SINGLY = 4, 3
_CLOSENESS = ("0.3", "0.2")
_FEWEST_STEPS, _MOST_STEPS = 8, 300


@dataclass(frozen=True)
class PromiseCost:
    """What a promise costs: the loss of a release that keeps it, and the columns of which nothing would be left; no loss where none is possible."""

    definition: str
    loss: float | None
    lost: tuple[str, ...] = ()
    chosen: bool = False

    @property
    def words(self) -> str:
        """The price in words."""
        if self.loss is None:
            return "not possible"
        return f"loss {self.loss:.3f}" + (f", nothing left of {', '.join(self.lost)}" if self.lost else "")

    def as_dict(self) -> dict[str, Any]:
        """The price as plain data."""
        return {"definition": self.definition, "loss": self.loss, "lost": list(self.lost), "chosen": self.chosen}


def made(promised: Sequence[Mapping[str, Any]]) -> Definition:
    """The definition that is written so."""
    parts = [definition_from(part["name"], {k: v for k, v in part.items() if k != "name"}) for part in promised]
    return reduce(and_, parts)


def guarded(proposal: Proposal) -> tuple[str, ...]:
    """The sensitive columns for which something is promised, the most delicate first."""
    named = tuple(each["column"] for each in proposal.definition[1:] if "column" in each)
    sensitive = tuple(column.name for column in proposal.columns if column.role == "sensitive")
    return (named or sensitive[: len(proposal.definition) - 1])[:_MOST_GUARDED]


class PromiseSearch:
    """Promises tried so far with their price, and the strictest of them that is affordable. Mutable: it is a running search.

    ``measure`` drafts a release that keeps a definition and gives its loss, in all and by column. ``steps`` are the values that each sensitive column is
    published with, where these are numbers.
    """

    def __init__(
        self,
        proposal: Proposal,
        measure: Callable[[Definition], tuple[float, dict[str, float]]],
        steps: Mapping[str, int],
    ) -> None:
        self._measure, self._steps = measure, steps
        first, *wishes = proposal.definition
        columns = guarded(proposal)
        self._wishes = dict(zip(columns, wishes, strict=False))
        self._tried: dict[str, tuple[Promised, PromiseCost]] = {}
        self.chosen: Promised = (first,)
        base = self._price(self.chosen)
        self._limit = max(_AFFORDABLE, (base.loss or 0.0) + _DEARER)

    def run(self) -> list[tuple[Promised, PromiseCost]]:
        """Take every affordable step; the promises that were tried, by their price, and the chosen one marked."""
        if self._price(self.chosen).loss is not None:
            self._raised({name: _with_column(_DISTINCT, wish) for name, wish in self._wishes.items()})
            held = self._held()
            self._raised({name: wish for name, wish in self._wishes.items() if name in held})
            for t in _CLOSENESS:
                held = self._held()
                fitting = [name for name in held if _FEWEST_STEPS <= self._steps.get(name, 0) <= _MOST_STEPS]
                close = {name: _with_column({**_CLOSE, "t": t}, self._wishes[name]) for name in fitting}
                self._raised(close, beside=True)
            self._larger()
        mine = str(made(self.chosen))
        self._tried[mine] = (self.chosen, replace(self._tried[mine][1], chosen=True))
        return sorted(
            self._tried.values(), key=lambda pair: (pair[1].loss is None, pair[1].loss or 0.0, not pair[1].chosen)
        )

    def _held(self) -> set[str]:
        """The columns for which something is promised by now."""
        only = next(iter(self._wishes), "")
        return {str(each.get("column", only)) for each in self.chosen[1:]}

    def _raised(self, wanted: Mapping[str, dict[str, Any]], *, beside: bool = False) -> None:
        """Promise this for all columns, or for those that can be afforded one by one; ``beside`` what is promised already, or instead of it."""
        if not wanted:
            return
        together = self._with(self.chosen, wanted, beside)
        if self._affordable(together):
            self.chosen = together
            return
        if len(wanted) > 1:
            for name in list(wanted)[:_MOST_SINGLY]:
                single = self._with(self.chosen, {name: wanted[name]}, beside)
                if self._affordable(single):
                    self.chosen = single

    def _larger(self) -> None:
        """Larger groups, as long as they cost next to nothing."""
        while self.chosen[0]["k"] < _LARGEST_K:
            first, *others = self.chosen
            larger = ({**first, "k": 2 * first["k"]}, *others)
            now, then = self._price(self.chosen).loss, self._price(larger).loss
            if now is None or then is None or then > _FREE or then > now + _HARDLY_DEARER:
                return
            self.chosen = larger

    def _with(self, promised: Promised, wanted: Mapping[str, dict[str, Any]], beside: bool) -> Promised:
        only = next(iter(self._wishes), "")
        kept = [
            each
            for each in promised[1:]
            if each.get("column", only) not in wanted or (beside and each["name"] != _CLOSE["name"])
        ]
        return (promised[0], *kept, *wanted.values())

    def _affordable(self, promised: Promised) -> bool:
        loss = self._price(promised).loss
        return loss is not None and loss <= self._limit

    def _price(self, promised: Promised) -> PromiseCost:
        definition = made(promised)
        if str(definition) not in self._tried:
            try:
                loss, by_column = self._measure(definition)
                lost = tuple(name for name, share in by_column.items() if share >= 1)
                price = PromiseCost(str(definition), loss, lost)
            except (Infeasible, PolicyError):
                price = PromiseCost(str(definition), None)
            self._tried[str(definition)] = promised, price
        return self._tried[str(definition)][1]


_DISTINCT: dict[str, Any] = {"name": "DistinctLDiversity", "l": 2}
_CLOSE: dict[str, Any] = {"name": "TCloseness", "distance": "ordered"}


def _with_column(promise: Mapping[str, Any], wish: Mapping[str, Any]) -> dict[str, Any]:
    return {**promise, **{name: value for name, value in wish.items() if name in ("column", "alone")}}


def promise_notes(proposal: Proposal, prices: Sequence[tuple[Promised, PromiseCost]]) -> list[str]:
    """The price of what is promised and of the next stricter promise, and the sensitive columns for which nothing is promised."""
    promised, chosen = next(pair for pair in prices if pair[1].chosen)
    told = f"{chosen.definition} costs {chosen.words}"
    dearer = [
        price for _, price in prices if not price.chosen and (price.loss is None or price.loss > (chosen.loss or 0.0))
    ]
    if dearer:
        told += f"; the next stricter promise, {dearer[0].definition}: {dearer[0].words}"
    sensitive = [column.name for column in proposal.columns if column.role == "sensitive"]
    only = sensitive[0] if len(sensitive) == 1 else ""
    covered = {str(each.get("column", only)) for each in promised[1:]}
    bare = [name for name in sensitive if name not in covered]
    notes = [f"{told}."]
    if bare:
        notes.append(
            f"Nothing is promised about {', '.join(map(repr, bare))} beyond groups of {promised[0]['k']}: where a group shares one value, it is known for everybody "
            "in the group. Leave out what must not be learned."
        )
    return notes
