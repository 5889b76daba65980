"""The targets of attacks on synthetic records, and the control: people who were not in the data, or true rows of other people."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.numeric_records import NumericScale, RecordIndex, Records
from reticent.base.context import Context
from reticent.base.exact import whole
from reticent.base.frames import as_polars
from reticent.core import AdversaryView
from reticent.errors import DataError, did_you_mean

LEAST_PEOPLE = 20
"""The minimum number of people for a comparison."""
_CROWD = 20_000


@dataclass(frozen=True)
class Cohorts:
    """People in the data, and a control. An attack is run on both, and only the excess over the control is a leak.

    ``targets`` are in the data; ``outsiders`` are not, but were sampled from the same population: a control group.
    Without one the comparison is reversed: the targets stay, and true rows of *other* people (``instead``) replace the
    synthetic ones, as many on both sides. A generator that samples new people from the same population comes as near to
    the targets as those rows; one that repeats its input comes nearer.

    ``others`` are further people in the data, for the typical distance between people. ``inside`` and ``outside`` are
    whole tables of equal size, in which a description may match one person only. ``known`` are the columns that an
    adversary may know, ``secret`` the targeted ones; without roles every column is both.
    """

    known: tuple[str, ...]
    secret: tuple[str, ...]
    targets: pl.DataFrame = field(repr=False)
    outsiders: pl.DataFrame = field(repr=False)
    others: pl.DataFrame = field(repr=False)
    inside: pl.DataFrame = field(repr=False)
    outside: pl.DataFrame = field(repr=False)
    instead: pl.DataFrame | None = field(default=None, repr=False)
    codes: frozenset[str] = frozenset()
    seed: int = 0
    context: Context = field(default_factory=Context, compare=False, repr=False)

    @classmethod
    def of(
        cls,
        original: Any,
        control: Any = None,
        known: Sequence[str] | None = None,
        secret: Sequence[str] = (),
        sample: int = 2000,
        seed: int = 0,
        context: Context | None = None,
        codes: Collection[str] = (),
    ) -> Cohorts:
        """Build the cohorts from the original table and, as ``control``, people who were not in it.

        Without a control group the table is split: true rows of one half (``instead``) then replace the synthetic ones, and
        the other half is attacked. At most ``sample`` people of each side are attacked, by the columns ``known`` to the
        adversary and those that are ``secret``. Numbers in ``codes`` are equal or not, never near.
        """
        whole(sample, "sample", low=1)
        rows = as_polars(original)
        known = [name for name in rows.columns if name not in secret] if known is None else list(known)
        columns = list(dict.fromkeys([*known, *secret]))
        rows = _checked(rows, columns, "original table")
        random = np.random.default_rng(seed)
        rows = rows[random.permutation(rows.height)]
        if control is None:
            half_size = rows.height // 2
            instead, rows = rows[:half_size], rows[half_size:]
            outside = outsiders = None
        else:
            instead, outside = None, _checked(as_polars(control), columns, "control group")
            outside = outside[random.permutation(outside.height)]
            outsiders = outside[:sample]
        attacked = min(sample, rows.height // 2)
        table_size = rows.height if outside is None else min(rows.height, outside.height)
        return cls(
            known=tuple(known),
            secret=tuple(secret or columns),
            targets=rows[:attacked],
            outsiders=rows[:attacked] if outsiders is None else outsiders,
            others=rows[attacked:],
            inside=rows[:table_size],
            outside=rows if outside is None else outside[:table_size],
            instead=instead,
            codes=frozenset(codes),
            seed=seed,
            context=context or Context(),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are compared."""
        return tuple(dict.fromkeys([*self.known, *self.secret]))

    def trial(self, view: AdversaryView) -> TwoSidedTrial:
        """Return both sides with their records indexed; built once for all adversaries of a run."""
        key, memo = ("trial", id(self), id(view)), self.context.memo
        if key not in memo:
            self.context.step("preparing")
            memo[key] = (view, self._trial(Records.shown(view, self.columns)))
        trial: TwoSidedTrial = memo[key][1]
        return trial

    def _trial(self, published: Records) -> TwoSidedTrial:
        """Return the people to attack and their control, each with the index of the records they are compared with.

        With a control group both sides are compared with the published records. Without one the same people are compared with
        published records and with as many true rows of other people.
        """
        frames = [self.inside, self.others, self.outside, published.frame]
        ruler = NumericScale.of(
            self.columns, *frames, *([] if self.instead is None else [self.instead]), codes=self.codes
        )
        other_people = RecordIndex.of(Records.of(self.others[:_CROWD]), ruler)
        if self.instead is None:
            index = RecordIndex.of(published, ruler)
            return TwoSidedTrial(
                Side(self.targets, self.inside, index), Side(self.outsiders, self.outside, index), other_people
            )
        record_count = min(published.rows, self.instead.height)
        synthetic, true = (
            published.drawn(record_count, np.random.default_rng(self.seed)),
            Records.of(self.instead[:record_count]),
        )
        synthetic_index, true_index = (RecordIndex.of(records, ruler) for records in (synthetic, true))
        return TwoSidedTrial(
            Side(self.targets, self.inside, synthetic_index),
            Side(self.outsiders, self.outside, true_index),
            other_people,
        )

    @property
    def compared(self) -> str:
        """The control, in words."""
        if self.instead is None:
            return f"{self.outsiders.height:,} people who are not in the data"
        return "the same attack with true rows of other people in place of the synthetic ones"


@dataclass(frozen=True)
class Side:
    """One side of a comparison: ``people`` to attack, the whole ``table`` they are in, and the ``shown`` records."""

    people: pl.DataFrame = field(repr=False)
    table: pl.DataFrame = field(repr=False)
    shown: RecordIndex = field(repr=False)

    def nearest(self, columns: Sequence[str], context: Context, what: str) -> NDArray[np.int64]:
        """Return each person's distance to the nearest shown record by some columns; cached for the run.

        ``what`` names the step in progress messages.
        """
        key = ("nearest", id(self), tuple(columns))
        if key not in context.memo:
            context.memo[key] = (self, self.shown.nearest(self.people, columns, context, what))
        distances: NDArray[np.int64] = context.memo[key][1]
        return distances


@dataclass(frozen=True)
class TwoSidedTrial:
    """The ``attacked`` side, the ``compared`` side (the control), and the ``crowd`` of other people in the data."""

    attacked: Side
    compared: Side
    crowd: RecordIndex = field(repr=False)


def _checked(rows: pl.DataFrame, columns: Sequence[str], table_name: str) -> pl.DataFrame:
    """Return the ``columns`` of ``rows``; refused if one is missing or there are too few rows for a comparison."""
    for name in columns:
        if name not in rows.columns:
            raise DataError(f"The {table_name} has no column {name!r}.{did_you_mean(name, rows.columns)}", column=name)
    if rows.height < LEAST_PEOPLE:
        raise DataError(
            f"The {table_name} has {rows.height} rows: at least {LEAST_PEOPLE} are needed for a comparison."
        )
    return rows.select(columns)
