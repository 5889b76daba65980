"""Choose affordable guarantees: start from the minimum guarantee of each sensitive column and strengthen it while that
costs hardly anything.

Each step is taken for all columns, or for some of them if that is too expensive. The first step that costs more is
reported with its loss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reticent.propose.guarantees import ColumnGuarantees, PromisedPart
from reticent.propose.prices import Price, Promised, definition_of

_AFFORDABLE, _DEARER = 0.10, 0.02
_FREE, _HARDLY_DEARER = 0.05, 0.01
_LARGEST_K = 20
_CLOSENESS = ("0.3", "0.2")
_CLOSE = "TCloseness"


@dataclass(frozen=True)
class PromiseCost:
    """The cost of a set of guarantees: the loss of a release that satisfies them, and the columns that become constant;
    no loss if no release is possible.
    """

    definition: str
    loss: float | None
    lost: tuple[str, ...] = ()
    chosen: bool = False

    @property
    def words(self) -> str:
        """Return the cost in words."""
        if self.loss is None:
            return "not possible"
        return f"loss {self.loss:.3f}" + (f", nothing left of {', '.join(self.lost)}" if self.lost else "")

    def as_dict(self) -> dict[str, Any]:
        """Return the cost as plain data."""
        return {"definition": self.definition, "loss": self.loss, "lost": list(self.lost), "chosen": self.chosen}


class PromiseSearch:
    """Guarantees tried so far with their loss, and the strictest affordable ones. Mutable: a running search.

    ``measure`` returns the loss of a set of guarantees, None if no release is possible; ``least`` is the starting
    point: the group size and one guarantee per sensitive column. ``may_go_on`` tells whether to try more.
    """

    def __init__(
        self,
        measure: Callable[[Promised], Price | None],
        least: Promised,
        guarantees: Mapping[str, ColumnGuarantees],
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start from the minimum guarantees ``least``, and allow a loss that is small, or slightly above that of the minimum.

        ``measure`` returns the loss of a release with some guarantees (None: infeasible), ``guarantees`` the stronger ones that
        are feasible for each sensitive column; ``may_go_on`` is asked before each step.
        """
        self._measure, self._may_go_on = measure, may_go_on
        self._guarantees = {part["column"]: guarantees[part["column"]] for part in least[1:]}
        self._tried: dict[str, tuple[Promised, PromiseCost]] = {}
        self.chosen = least
        base = self._price(least).loss
        self._limit = max(_AFFORDABLE, (base or 0.0) + _DEARER)

    def run(self) -> list[tuple[Promised, PromiseCost]]:
        """Strengthen the guarantees step by step as long as the loss is affordable; return all that were tried, by
        loss, with the chosen one marked.
        """
        if self._price(self.chosen).loss is not None:
            diverse_columns = [part["column"] for part in self.chosen[1:] if part["name"] == "DistinctLDiversity"]
            self._strengthen({name: self._guarantees[name].diversity for name in diverse_columns})
            for t in _CLOSENESS:
                ordered_columns = [name for name in self._held if self._guarantees[name].has_order]
                self._strengthen({name: self._closeness_part(name, t) for name in ordered_columns}, beside=True)
            bounded_columns = [
                part["column"]
                for part in self.chosen[1:]
                if part["name"] in ("ConfidenceBounding", "CategoryDiversity")
            ]
            for step in range(max((len(self._guarantees[name].tighter) for name in bounded_columns), default=0)):
                tighter = {name: self._guarantees[name].tighter for name in bounded_columns}
                self._strengthen({name: bounds[step] for name, bounds in tighter.items() if step < len(bounds)})
            self._enlarge_groups()
        chosen_definition = str(definition_of(self.chosen))
        self._tried[chosen_definition] = (self.chosen, replace(self._tried[chosen_definition][1], chosen=True))
        return sorted(
            self._tried.values(), key=lambda pair: (pair[1].loss is None, pair[1].loss or 0.0, not pair[1].chosen)
        )

    @property
    def _held(self) -> list[str]:
        """Return the columns that have a guarantee, in order."""
        return list(dict.fromkeys(part["column"] for part in self.chosen[1:]))

    def _closeness_part(self, name: str, t: str) -> PromisedPart:
        """Return the part of the guarantee that the column's distribution in each group is within ``t`` of the whole table's."""
        column_parameters = {
            key: value for key, value in self._guarantees[name].diversity.items() if key in ("column", "alone")
        }
        return {"name": _CLOSE, "distance": "ordered", "t": t, **column_parameters}

    def _strengthen(self, parts_by_column: Mapping[str, PromisedPart], *, beside: bool = False) -> None:
        """Strengthen the guarantee of all columns, or of as many as are affordable. ``beside``: add to the existing
        guarantee instead of replacing it.
        """
        parts_by_column = {name: part for name, part in parts_by_column.items() if part not in self.chosen}
        if not parts_by_column or not self._may_go_on():
            return
        stronger = self._with(parts_by_column, beside)
        if self._affordable(stronger):
            self.chosen = stronger
        # All together cost too much: try each half, starting with the columns whose values vary most.
        elif len(parts_by_column) > 1:
            by_variety = sorted(parts_by_column, key=lambda name: -self._guarantees[name].varied)
            for columns in (by_variety[: len(by_variety) // 2], by_variety[len(by_variety) // 2 :]):
                self._strengthen({name: parts_by_column[name] for name in columns}, beside=beside)

    def _enlarge_groups(self) -> None:
        """Increase the group size while that costs next to nothing."""
        while self.chosen[0]["k"] < _LARGEST_K:
            size_part, *value_parts = self.chosen
            larger = ({**size_part, "k": 2 * size_part["k"]}, *value_parts)
            loss_now, loss_of_larger = self._price(self.chosen).loss, self._price(larger).loss
            if (
                loss_now is None
                or loss_of_larger is None
                or loss_of_larger > _FREE
                or loss_of_larger > loss_now + _HARDLY_DEARER
            ):
                return
            self.chosen = larger

    def _with(self, parts_by_column: Mapping[str, PromisedPart], beside: bool) -> Promised:
        """Return the chosen guarantees with other parts for some columns: added to the existing ones (``beside``), or instead of them."""
        size_part, *value_parts = self.chosen
        parts: list[PromisedPart] = []
        for name in self._held:
            column_parts = [part for part in value_parts if part["column"] == name]
            if name in parts_by_column:
                column_parts = [part for part in column_parts if beside and part["name"] != _CLOSE] + [
                    parts_by_column[name]
                ]
            parts += column_parts
        return (size_part, *parts)

    def _affordable(self, promised: Promised) -> bool:
        loss = self._price(promised).loss
        return loss is not None and loss <= self._limit

    def _price(self, promised: Promised) -> PromiseCost:
        """Return the cost of guarantees, measured once: the loss, and the columns that lose all detail; no loss if infeasible."""
        definition = str(definition_of(promised))
        if definition not in self._tried:
            measured = self._measure(promised)
            price = PromiseCost(definition, None)
            if measured is not None:
                lost_columns = tuple(name for name, share in measured.by_column.items() if share >= 1)
                price = PromiseCost(definition, measured.loss, lost_columns)
            self._tried[definition] = promised, price
        return self._tried[definition][1]


def next_stricter(tried: Sequence[tuple[Promised, PromiseCost]]) -> str | None:
    """Return the cheapest guarantees that were tried and cost more than the chosen ones: the added parts and their
    cost.

    Guarantees with smaller groups are not stricter, whatever else they contain.
    """
    promised, chosen = next(pair for pair in tried if pair[1].chosen)
    for other, price in tried:
        if other[0]["k"] < promised[0]["k"]:
            continue
        added_parts = [part for part in other if part not in promised]
        if added_parts and not price.chosen and (price.loss is None or price.loss > (chosen.loss or 0.0)):
            return f"{' & '.join(str(definition_of([part])) for part in added_parts)}: {price.words}"
    return None
