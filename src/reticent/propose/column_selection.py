"""Select the columns that a release can afford: the columns with the highest loss relative to their value for analysts
are dropped, each with the loss of keeping it.

Every published column that is not sensitive is protected as a quasi-identifier, and every sensitive one has a
guarantee; so a column that costs too much can only be dropped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reticent.propose.guarantees import ColumnGuarantees, PromisedPart
from reticent.propose.prices import Price, Pricing, Promised
from reticent.propose.proposal import ColumnProposal
from reticent.propose.study_columns import is_studied

USEFUL = 0.25
"""The largest loss of a useful release."""

_TARGETS = ((0.20, 0.6), (USEFUL, 0.5), (USEFUL, 0.0))
"""Target loss and minimum share of columns to publish; the next pair applies if the first cannot be reached."""

_STUDIED, _SENSITIVE, _SEEN, _PLAIN = 4.0, 2.0, 2.5, 1.0
_EMPTY = 0.8
_GUARANTEES_COST = 0.03
_LOSSES_TRIED = 4


@dataclass(frozen=True)
class LeftOut:
    """A column that is not published, and the increase of the loss with it; None if that was not measured, or no
    release would satisfy the definition.
    """

    column: str
    price: float | None

    @property
    def words(self) -> str:
        """Return why it is not published, and what it would cost."""
        if self.price is None:
            return "not published: protecting it together with the others would cost too much"
        return f"not published: keeping it would raise the loss by {max(self.price, 0.0):.2f}"


@dataclass(frozen=True)
class ColumnSelection:
    """The published columns, the minimum guarantee of each sensitive one, the loss of the release, and the dropped
    columns.

    ``everything`` is the loss with all columns, ``size_alone`` that of the published ones with a group size but no
    guarantee about values.
    """

    quasi: tuple[str, ...]
    floors: Mapping[str, PromisedPart]
    price: Price | None
    everything: float | None
    size_alone: float | None
    left_out: tuple[LeftOut, ...] = ()

    def promised(self, size: PromisedPart) -> Promised:
        """Return the minimum guarantees: the group size, and one guarantee per sensitive column."""
        return (size, *self.floors.values())


def worth_for_analysts(column: ColumnProposal) -> float:
    """Return the value of a column for an analyst: treatments and outcomes most, then sensitive columns, then commonly asked ones."""
    if is_studied(column.name):
        return _STUDIED
    if column.role == "sensitive":
        return _SENSITIVE
    return _SEEN if column.knowable <= 1 else _PLAIN


def select(
    pricing: Pricing,
    columns: Sequence[ColumnProposal],
    guarantees: Mapping[str, ColumnGuarantees],
    size: PromisedPart,
    together: Sequence[Sequence[str]],
) -> ColumnSelection:
    """Drop columns until the rest is worth publishing, then add back what fits. Columns ``together`` (indicators of one
    category) are dropped together.
    """
    return _SelectionSearch(pricing, columns, guarantees, size, together).run()


class _SelectionSearch:
    """The columns selected so far. Mutable: a running search.

    A *unit* is dropped or added as a whole: a column, or the indicators of one category.
    """

    def __init__(
        self,
        pricing: Pricing,
        columns: Sequence[ColumnProposal],
        guarantees: Mapping[str, ColumnGuarantees],
        size: PromisedPart,
        together: Sequence[Sequence[str]],
    ) -> None:
        """Prepare a search for columns to publish: all at first, with the cheapest guarantee of each sensitive column.

        ``together`` are families of columns (indicators of one category) that are published or dropped as a unit; ``size`` is
        the guarantee on the group size.
        """
        self._pricing, self._guarantees, self._size, self._total = pricing, guarantees, size, len(columns)
        self._worth = {column.name: worth_for_analysts(column) for column in columns}
        self._quasi = {column.name for column in columns if column.role == "quasi"}
        self._order = [column.name for column in columns]
        self._floors = {name: guarantee.floors[0] for name, guarantee in guarantees.items()}
        self._dropped_units: list[tuple[str, ...]] = []
        families = [tuple(name for name in family if name in self._quasi) for family in together]
        self._family = {name: family for family in families if len(family) > 1 for name in family}

    def run(self) -> ColumnSelection:
        """Drop columns until the release is useful, publish again what fits after all, and return the selection with its prices.

        Targets get weaker: a small loss with most columns first, then larger ones with fewer columns.
        """
        price_of_all = self._price()
        for target, share in _TARGETS:
            self._reduce_loss(target, -int(-share * self._total // 1))
            if self._loss <= target:
                break
        self._readmit(target)
        price_of_size = self._pricing.price(self._quasi, (self._size,)) if self._floors else self._price()
        return ColumnSelection(
            tuple(name for name in self._order if name in self._quasi),
            {name: self._floors[name] for name in self._order if name in self._floors},
            price=self._price(),
            everything=None if price_of_all is None else price_of_all.loss,
            size_alone=None if price_of_size is None else price_of_size.loss,
            left_out=tuple(
                LeftOut(name, self._price_of_keeping(unit)) for unit in self._dropped_units for name in unit
            ),
        )

    @property
    def _loss(self) -> float:
        price = self._price()
        return 1.0 if price is None else price.loss

    def _price(self, without: Sequence[str] = (), beside: Sequence[str] = ()) -> Price | None:
        """Return the loss if the columns ``without`` are not published and those ``beside`` are, too; sensitive ones
        with their weakest guarantee.
        """
        quasi = (self._quasi | {name for name in beside if name not in self._guarantees}) - set(without)
        more = {name: self._guarantees[name].floors[0] for name in beside if name in self._guarantees}
        floors = {name: floor for name, floor in (self._floors | more).items() if name not in without}
        return self._pricing.price(quasi, (self._size, *(floors[name] for name in self._order if name in floors)))

    def _reduce_loss(self, target: float, fewest_columns: int) -> None:
        """Drop units until the loss is at most ``target`` and no published column is nearly constant; at least ``fewest_columns`` stay.

        Of the possible drops, that with the largest gain relative to the value of its columns is made.
        """
        if self._loss > target:
            self._cheaper_floors(target)
        while (self._loss > target or self._emptiest() is not None) and self._pricing.left > 0:
            droppable = len(self._quasi) + len(self._floors) - fewest_columns
            moves = [
                move for move in (*self._fewer_quasi(target, droppable), *self._fewer_sensitive(droppable)) if move
            ]
            if not moves:
                return
            ranked = [(self._gain(move) / sum(self._worth[name] for name in move), move) for move in moves]
            self._drop(max(ranked, key=lambda pair: pair[0])[1])

    def _gain(self, move: Sequence[str]) -> float:
        """Return by how much the loss shrinks without the columns of ``move``."""
        price = self._price(without=move)
        return self._loss - (1.0 if price is None else price.loss)

    def _emptiest(self) -> tuple[str, ...] | None:
        """Return the columns of a unit (published or dropped together) that lose nearly all information and are not the
        subject of a study; None if there are none.
        """
        losses = self._unit_losses()
        empty = [unit for unit, loss in losses.items() if loss > _EMPTY and self._worth[unit[0]] < _STUDIED]
        return max(empty, key=lambda unit: losses[unit], default=None)

    def _unit_losses(self) -> dict[tuple[str, ...], float]:
        """Return the mean loss of the columns of each quasi-identifier unit (a family, or a single column), in table order."""
        price = self._price()
        by_column = {} if price is None else price.by_column
        units = {self._family.get(name, (name,)) for name in self._quasi}
        return {
            unit: sum(by_column.get(name, 1.0) for name in unit) / len(unit)
            for unit in sorted(units, key=lambda unit: self._order.index(unit[0]))
        }

    def _fewer_quasi(self, target: float, droppable: int) -> list[tuple[str, ...]]:
        """Return the units with the highest loss relative to their value: about half of those that would have to go if
        the losses of the others stayed the same.
        """
        losses = self._unit_losses()
        # With a sensitive column one quasi-identifier is enough to analyse; without one it is not.
        droppable = min(droppable, len(self._quasi) - (1 if self._floors else 2))
        by_relative_loss = sorted(losses, key=lambda unit: losses[unit] / self._worth[unit[0]], reverse=True)
        fitting = [unit for unit in by_relative_loss if len(unit) <= droppable]
        if not fitting:
            return []
        if self._loss <= target:
            emptiest = self._emptiest()
            return [emptiest] if emptiest in fitting else []
        excess = self._units_to_drop(losses, fitting, target)
        chosen: list[str] = []
        for unit in fitting[: max(excess // 2, 1)]:
            if len(chosen) + len(unit) <= droppable:
                chosen += unit
        return [tuple(chosen)]

    def _units_to_drop(
        self, losses: Mapping[tuple[str, ...], float], by_relative_loss: Sequence[tuple[str, ...]], target: float
    ) -> int:
        """Return how many units (columns that are dropped together) must go, in the order given, until the mean loss of
        the others is at most ``target``.
        """
        total, columns = sum(loss * len(unit) for unit, loss in losses.items()), len(self._quasi)
        for number, unit in enumerate(by_relative_loss, 1):
            total, columns = total - losses[unit] * len(unit), columns - len(unit)
            if columns <= 0 or total / columns <= target:
                return number
        return len(by_relative_loss)

    def _fewer_sensitive(self, droppable: int) -> list[tuple[str, ...]]:
        """Return the sensitive columns with the fewest rows outside the most frequent value, if guarantees about values are expensive."""
        if not self._floors or droppable < 1:
            return []
        price_of_size = self._pricing.price(self._quasi, (self._size,))
        if price_of_size is None or self._loss - price_of_size.loss <= _GUARANTEES_COST:
            return []
        by_variety = sorted(self._floors, key=lambda name: self._guarantees[name].varied / self._worth[name])
        return [(name,) for name in by_variety[:_LOSSES_TRIED]]

    def _cheaper_floors(self, target: float) -> None:
        """Choose the cheaper of two sufficient guarantees, column by column."""
        for name, column_guarantees in self._guarantees.items():
            for floor in column_guarantees.floors[1:]:
                former_floor, former_loss = self._floors[name], self._loss
                if former_loss <= target or self._pricing.left <= 0:
                    return
                self._floors[name] = floor
                if self._loss >= former_loss - _NOTHING:
                    self._floors[name] = former_floor

    def _drop(self, names: Sequence[str]) -> None:
        """Drop columns, and remember the units that they belong to."""
        dropped = set(names)
        units = {self._family.get(name, (name,)) for name in dropped}
        self._dropped_units += sorted(units, key=lambda unit: self._order.index(unit[0]))
        self._quasi -= dropped
        self._floors = {name: floor for name, floor in self._floors.items() if name not in dropped}

    def _readmit(self, limit: float) -> None:
        """Publish dropped units that fit after all, the most valuable first."""
        for unit in sorted(self._dropped_units, key=lambda unit: -self._worth[unit[0]]):
            if self._pricing.left <= _KEPT_FOR_GUARANTEES:
                return
            price = self._price(beside=unit)
            if price is None or price.loss > limit:
                continue
            losses = [price.by_column[name] for name in unit if name in price.by_column]
            if losses and sum(losses) / len(losses) > _EMPTY and self._worth[unit[0]] < _STUDIED:
                continue
            self._dropped_units.remove(unit)
            self._quasi |= {name for name in unit if name not in self._guarantees}
            self._floors |= {name: self._guarantees[name].floors[0] for name in unit if name in self._guarantees}

    def _price_of_keeping(self, unit: Sequence[str]) -> float | None:
        """Return by how much the loss grows if a dropped unit is published after all; None if there is no time left to measure it, or no release."""
        if self._pricing.left <= _KEPT_FOR_GUARANTEES:
            return None
        price = self._price(beside=unit)
        return None if price is None else price.loss - self._loss


_NOTHING = 1e-9
_KEPT_FOR_GUARANTEES = 8
