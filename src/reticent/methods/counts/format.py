"""The format ``noisy counts``: one table with a row for each cell of a public domain and its noisy count, judged by the noise distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition
from reticent.core import AdversaryView, Channel, Draft
from reticent.definitions import Definition, NoisyCounts
from reticent.errors import DataError
from reticent.methods.counts.details import NOISY_COUNT, CountsDetails, CountsPlan
from reticent.noise import CONFIDENCE, NoiseLaw, NoisySum, hidden_by_noise
from reticent.release import ManifestColumn
from reticent.release.format import MechanismFormat, Words, read_details
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

_CELL, _COUNT = "cell", "count"


class NoisyCountsFormat(MechanismFormat):
    """One table: the cells of the domain in its order, and a noisy count for each."""

    name: ClassVar[str] = "noisy counts"
    tables: ClassVar[tuple[str, ...]] = ("cells",)
    row_noun: ClassVar[str] = "cells"
    roles: ClassVar[tuple[str, ...]] = (_CELL, _COUNT)

    def refusal(self, definition: Definition) -> str | None:
        if isinstance(definition, NoisyCounts):
            return None
        return f"{definition} does not bound the privacy loss of noise, the only guarantee of noisy counts."

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        """Return the manifest's columns: those of the cells, and the noisy count."""
        return tuple(
            ManifestColumn(name, _COUNT if name == NOISY_COUNT else _CELL, ValueType.published(dtype))
            for name, dtype in rows["cells"].schema.items()
        )

    def read(self, public: PublicSide) -> CountsDetails:
        """The details of a release."""
        return _parsed(public.manifest.details, public.manifest.tables["cells"].columns)

    def plan(self, public: PublicSide) -> CountsPlan:
        return self.read(public).plan

    def check(self, public: PublicSide) -> None:
        """Check that there is one integer count for each cell of the domain, in order."""
        domain, rows = self.read(public).domain, public.rows["cells"]
        if rows.height != domain.size:
            raise DataError(f"The domain has {domain.size:,} cells, but there are {rows.height:,} noisy counts.")
        frame = rows.frame()
        if not frame[NOISY_COUNT].dtype.is_integer() or frame[NOISY_COUNT].null_count():
            raise DataError("A noisy count is not a whole number; the file was changed after it was published.")
        if not np.array_equal(domain.pack(domain.frame_columns(frame)), np.arange(domain.size)):
            raise DataError(
                "The cells are not those of the domain, in its order; the file was changed after it was published."
            )

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the view in which records with a noisy count of at least 1 are shown.

        The probabilities are those of a unique record: others with the same values make its count less informative.
        """
        frame = rows["cells"].frame()
        details_read = _parsed(details, frame.columns)
        is_shown = (frame[NOISY_COUNT] >= 1).to_numpy()

        def shows(people: pl.DataFrame) -> NDArray[np.bool_]:
            """Mask the records that are in a cell with a noisy count of at least 1."""
            answer: NDArray[np.bool_] = is_shown[details_read.domain.pack(details_read.domain.frame_columns(people))]
            return answer

        channel = channel_through(details_read.law, shows)
        return replace(
            AdversaryView.in_noise(frame.filter(pl.Series(is_shown)).select(details_read.domain.names)), channel=channel
        )

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        details = self.read(public)
        risks = (
            "Counts may be negative, and small ones may be noise alone. Count with `reticent query`, which knows the noise.",
            "Which cells there are was declared before; that a cell is listed says nothing about anybody.",
        )
        warned = hidden_by_noise(details.law, public.rows["cells"].frame()[NOISY_COUNT].to_numpy())
        return Words(details.words(), risks if warned is None else (*risks, warned))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> NoisySum:
        """Return the sum of the cells that meet a condition on the domain's columns."""
        details, frame = self.read(public), public.rows["cells"].frame()
        parsed = Condition.of(condition)
        mask = parsed.mask(frame.select(details.domain.names))
        cells = int(mask.sum())
        value = int(frame[NOISY_COUNT].filter(mask).sum())
        if not cells:
            return NoisySum(str(parsed), 0, 0, 0.0, (0, 0), CONFIDENCE)
        reach = details.law.reach(cells, float(CONFIDENCE))
        error = math.sqrt(cells * float(details.law.variance))
        interval = max(0, value - reach), max(0, value + reach)
        return NoisySum(str(parsed), value, cells, error, interval, CONFIDENCE)


def channel_through(law: NoiseLaw, shows: Callable[[pl.DataFrame], NDArray[np.bool_]]) -> Channel:
    """Return the probabilities that a unique record is shown, if records with a noisy count of at least 1 are shown.

    ``own`` if a person has it, ``other`` if nobody does: an adversary whose prior in a record is at most other/(own +
    other) has a posterior of at most 1/2 after seeing it.
    """
    low, chances = law.chances()
    own = Fraction(float(chances[max(0, -low) :].sum()))
    other = Fraction(float(chances[max(0, 1 - low) :].sum()))
    return Channel(own, other, other, other / (own + other), Fraction(1, 2), shows, is_set=True)


def _parsed(payload: Mapping[str, Any], described: Sequence[str]) -> CountsDetails:
    """Parse the details over the ``described`` columns; malformed ones raise a :class:`DataError`."""
    details = read_details(CountsDetails.from_json, payload)
    if sorted(described) != sorted([*details.domain.names, NOISY_COUNT]):
        raise DataError(
            f"manifest.json describes the columns {', '.join(described)}, but its domain has {', '.join(details.domain.names)}."
        )
    return details.in_order_of([name for name in described if name != NOISY_COUNT])


NOISY_COUNTS = NoisyCountsFormat()
