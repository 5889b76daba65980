"""Attacks on synthetic records: what a synthetic file discloses about the people it was made from, beyond what it
discloses about everyone. Source: [Giomi2023].

Every adversary here runs on two sides (:class:`Cohorts`): people in the data, and a control. Success on the control is
explained by a model of the population; the excess is memorization of single people. A generator with a proof
(``ProbabilisticDP``) bounds the excess for every adversary; these runs measure what four of them achieve.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, wilson
from reticent.attacks.cohorts import Cohorts, Side, TwoSidedTrial
from reticent.attacks.numeric_records import COLUMN, Places, RecordIndex, Records
from reticent.attacks.target_list import listing
from reticent.base.exact import Number, exact, whole
from reticent.core import AdversaryView
from reticent.errors import PolicyError

Hits = NDArray[np.bool_]


@dataclass(frozen=True)
class ArtificialRecordsAttack(ABC):
    """Base of these adversaries: they see synthetic records, and run on both sides of ``cohorts``."""

    cohorts: Cohorts

    name: ClassVar[str]

    def needs(self, view: AdversaryView) -> str | None:
        """Require synthetic records with the columns by which people are compared."""
        if view.groups is not None:
            return f"The attack {self.name!r} needs synthetic records, and these are true rows. Use Linkage or SinglingOut."
        if view.channel is not None:
            return f"The attack {self.name!r} needs synthetic records; if the sampling probabilities are known, use Sighting."
        missing = [name for name in self.cohorts.columns if name not in view.names]
        return None if not missing else f"The attack {self.name!r} compares {missing[0]!r}, which was not published."

    @abstractmethod
    def attack(self, view: AdversaryView) -> Findings:
        """Run the attack on both sides."""

    def _trial(self, view: AdversaryView) -> TwoSidedTrial:
        """Return the attacked people and their control group, with the records each is compared with; an error if this
        view cannot be attacked.
        """
        reason = self.needs(view)
        if reason is not None:
            raise PolicyError(reason)
        return self.cohorts.trial(view)

    def _findings(
        self, knows: str, hit: str, hits: Hits, control: Hits, example: str, details: Mapping[str, Any], **options: Any
    ) -> Findings:
        """Return the findings of an attack with these hits among the targets and the control."""
        share = float(control.mean()) if len(control) else 0.0
        return Findings(
            options.pop("name", self.name),
            f"{knows}; compared with {self.cohorts.compared}",
            hit,
            int(hits.sum()),
            len(hits),
            example,
            {
                "compared_with": self.cohorts.compared,
                "control_hits": int(control.sum()),
                "control_people": len(control),
                **details,
            },
            share,
            wilson(int(control.sum()), len(control)) if len(control) else None,
            **options,
        )


@dataclass(frozen=True)
class Membership(ArtificialRecordsAttack):
    """Membership inference: an adversary who has a person's complete record decides whether that person was in the
    data.

    The score is the distance to the nearest of many other people, divided by the distance to the nearest synthetic
    record. A common record, which others have too, gives no evidence. People are declared members above a threshold
    that at most a share ``alarms`` of the control exceeds; one half of the control sets the threshold, the other half
    is counted.
    """

    alarms: Number = "0.01"

    name = "membership"

    def __post_init__(self) -> None:
        exact(self.alarms, "Membership: alarms", above=0, below=1)

    def attack(self, view: AdversaryView) -> Findings:
        """Score each person by how much nearer a synthetic record is than other people are; those above a threshold count as members.

        The threshold is calibrated on the control group, so that at most the share ``alarms`` of it would be taken for members.
        """
        trial = self._trial(view)
        record_distances, crowd_distances = self._distances(trial.attacked, trial)
        scores, control_scores = (
            _sign(record_distances, crowd_distances),
            _sign(*self._distances(trial.compared, trial)),
        )
        # Half of the control sets the threshold, the other half is judged by it.
        threshold = _reached_by(control_scores[::2], float(exact(self.alarms, "alarms")))
        hits, other_people = scores >= threshold, self.cohorts.others.height
        return self._findings(
            f"whole records, and those of {other_people:,} other people",
            "are recognised as members of the data, because a synthetic record is much nearer to theirs than other people are",
            hits,
            control_scores[1::2] >= threshold,
            _nearness(trial.attacked.people, hits, record_distances, crowd_distances, other_people),
            {"alarms": str(exact(self.alarms, "alarms")), "same_record": int((record_distances == 0).sum())},
        )

    def _distances(self, side: Side, trial: TwoSidedTrial) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for every person of a side the distance to the nearest published record, and to the nearest other person."""
        columns, context = self.cohorts.columns, self.cohorts.context
        to_published = side.nearest(columns, context, "looking for near records")
        return to_published, trial.crowd.nearest(side.people, columns, context, "looking for near people")


def _sign(record_distances: NDArray[np.int64], crowd_distances: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how much nearer a synthetic record is than other people; distances below a hundredth of a column count as equal."""
    return crowd_distances / (record_distances + COLUMN / 100)


def _reached_by(scores: NDArray[np.float64], share: float) -> float:
    """Return the smallest score that at most this ``share`` of the scores reaches, or the largest score if none is so rare."""
    values, counts = np.unique(scores, return_counts=True)
    share_at_or_above = np.cumsum(counts[::-1])[::-1] / max(len(scores), 1)
    admissible = values[share_at_or_above <= share]
    return float(admissible[0]) if len(admissible) else float(values[-1])


@dataclass(frozen=True)
class Linkability(ArtificialRecordsAttack):
    """Linkability: an adversary has two lists about the same people with different columns, and links their entries.

    A person is linked if the same synthetic record is nearest both by the columns of the first list and by those of the
    second. The two sets are ``first`` and the rest; by default columns are divided so that both sets identify people
    about equally well.
    """

    first: Sequence[str] | None = None

    name = "linkability"

    def needs(self, view: AdversaryView) -> str | None:
        if len(self.cohorts.columns) < 2:
            return "The attack 'linkability' needs two columns at least, one for each list."
        return super().needs(view)

    def attack(self, view: AdversaryView) -> Findings:
        """Find the nearest records of each person, by both sets and by all columns."""
        trial = self._trial(view)
        first, second = self._dealt()
        hits, control = (self._linked(side, first, second) for side in (trial.attacked, trial.compared))
        return self._findings(
            f"two lists, one with {listing(first)} and one with {listing(second)}",
            "have their entries in both lists linked by one synthetic record",
            hits,
            control,
            _of_somebody(
                trial.attacked.people, hits, "The entries of {} in both lists lead to the same synthetic record."
            ),
            {"first": list(first), "second": list(second)},
        )

    def _dealt(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the columns of the two lists: as given in ``first``, or dealt out in order of their number of distinct values.

        Ranks 0, 3, 4, 7, 8, ... go to the first list, so that both identify people about equally well.
        """
        columns = self.cohorts.columns
        if self.first is None:
            rows = self.cohorts.inside
            ranked = sorted(columns, key=lambda name: (-rows[name].n_unique(), columns.index(name)))
            first = [name for rank, name in enumerate(ranked) if rank % 4 in (0, 3)]
        else:
            first = [name for name in columns if name in self.first]
        second = [name for name in columns if name not in first]
        if not first or not second:
            raise PolicyError(
                f"Linkability: first must name some of the columns and not all: {', '.join(columns)}.",
                setting=("first",),
            )
        return tuple(name for name in columns if name in first), tuple(second)

    def _linked(self, side: Side, first_columns: Sequence[str], second_columns: Sequence[str]) -> Hits:
        """Return who is linked: one record is nearest by both sets iff the minimum distances by each add up to the minimum distance by all."""
        by_first, by_second, by_all = (
            side.nearest(columns, self.cohorts.context, "linking two lists")
            for columns in (first_columns, second_columns, self.cohorts.columns)
        )
        linked: Hits = by_all == by_first + by_second
        return linked


@dataclass(frozen=True)
class NearestGuess(ArtificialRecordsAttack):
    """Attribute inference: an adversary who knows most columns of a person guesses another one from the nearest
    synthetic record.

    If several records are equally near, their most frequent value is taken. A guessed number or date is right within
    ``tolerance`` of the range of the central 90 % of people.
    """

    column: str = ""
    tolerance: Number = "0.05"

    name = "inference"

    def __post_init__(self) -> None:
        exact(self.tolerance, "NearestGuess: tolerance", low=0, high=1)
        if self.column not in self.cohorts.columns:
            raise PolicyError(
                f"NearestGuess: column must be one of {', '.join(self.cohorts.columns)}.", setting=("column",)
            )

    @property
    def known(self) -> tuple[str, ...]:
        """The columns that are known."""
        return tuple(name for name in self.cohorts.known if name != self.column)

    def needs(self, view: AdversaryView) -> str | None:
        return super().needs(view) if self.known else f"No column is known from which {self.column!r} could be guessed."

    def attack(self, view: AdversaryView) -> Findings:
        """Guess each person's value from the nearest synthetic records, and count the correct guesses among targets and control."""
        trial = self._trial(view)
        is_right, guess = self._guessed(trial.attacked)
        control_right, _ = self._guessed(trial.compared)
        sentence = f"For {{}} the nearest synthetic record has {self.column} {{guess!r}}, and that is right."
        return self._findings(
            f"{listing(self.known)} of people",
            f"have their {self.column} guessed correctly from the nearest synthetic record",
            is_right,
            control_right,
            _of_somebody(trial.attacked.people.select(self.known), is_right, sentence, guess),
            {"columns": list(self.known)},
            name=f"{self.name} of {self.column}",
        )

    def _guessed(self, side: Side) -> tuple[Hits, pl.Series]:
        """Return for each person of one side whether the value guessed from the nearest records is right (within
        ``tolerance``), and the guesses.
        """
        context = self.cohorts.context
        guess = side.shown.guesses(side.people, self.known, self.column, context, f"guessing {self.column}")
        allowed = int(exact(self.tolerance, "tolerance") * COLUMN)
        return side.shown.ruler.scales[self.column].alike(guess, side.people[self.column], allowed), guess


@dataclass(frozen=True)
class Isolation(ArtificialRecordsAttack):
    """Singling out: an adversary without background knowledge takes descriptions from synthetic rows; each that matches
    exactly one real person is a hit.

    A description is sampled from a random row: columns in random order until no other synthetic row matches, then a
    random number more. A category is described by its value; a number or a date by its value, or as at least (above the
    median; else at most) that value. ``descriptions`` are sampled. The control is a table of the same size, of people
    who are not in the data.
    """

    descriptions: int = 3000

    name = "singling out"

    def __post_init__(self) -> None:
        whole(self.descriptions, "Isolation: descriptions", low=1)

    def attack(self, view: AdversaryView) -> Findings:
        """Sample descriptions from the synthetic rows, and count those that match exactly one person in the data (and in the control)."""
        trial = self._trial(view)
        descriptions = self._drawn(trial.attacked)
        # The control is described from records of its own, if it has any.
        same_records = trial.compared.shown is trial.attacked.shown
        isolated, matching_rows = self._isolated(descriptions, trial.attacked)
        control, _ = self._isolated(descriptions if same_records else self._drawn(trial.compared), trial.compared)
        best = int(np.argmax(isolated)) if isolated.any() else -1
        example = (
            f"Exactly one person has {descriptions.words(best, self.cohorts.columns, trial.attacked.table[int(matching_rows[best])])}."
            if best >= 0
            else "No description tried matches exactly one person."
        )
        return self._findings(
            "only the synthetic rows",
            "match exactly one person in the data",
            isolated,
            control,
            example,
            {"people_isolated": len(np.unique(matching_rows[isolated])), "rows": trial.attacked.table.height},
            unit="descriptions",
        )

    def _drawn(self, side: Side) -> _Boxes:
        self.cohorts.context.step("describing people")
        return _Boxes.drawn(side.shown, self.descriptions, np.random.default_rng(self.cohorts.seed))

    def _isolated(self, boxes: _Boxes, side: Side) -> tuple[Hits, NDArray[np.int64]]:
        self.cohorts.context.step("singling people out")
        rows, matching_rows = RecordIndex.of(Records.of(side.table), side.shown.ruler).fitting(boxes.lows, boxes.highs)
        return rows == 1, matching_rows


_ANYTHING = (1 << 31) - 1


@dataclass(frozen=True)
class _Boxes:
    """Descriptions as a range in every column; a column that is not described has the full range."""

    lows: Places = field(repr=False)
    highs: Places = field(repr=False)

    @classmethod
    def drawn(cls, index: RecordIndex, number: int, random: np.random.Generator) -> _Boxes:
        """Return random descriptions, each an interval per column, that match exactly one synthetic row.

        Each starts from the values of a random row and uses columns in random order: as many as it takes to match one
        row, and a random number more. A category must equal the row's value; a number equals it or, with probability
        1/2, is bounded only on the side of the median. Of ``number`` descriptions those that match no single row are
        dropped.
        """
        columns, random_rows = (
            index.ruler.columns,
            random.choice(len(index.records.times), number, p=index.records.times / index.records.times.sum()),
        )
        coordinates = index.ruler.places(index.records.frame)
        lows, highs = coordinates[random_rows].copy(), coordinates[random_rows].copy()
        for position, name in enumerate(columns):
            if index.ruler.scales[name].is_number:
                above = lows[:, position] >= np.median(coordinates[:, position])
                open_end = random.random(number) < 0.5
                highs[open_end & above, position] = _ANYTHING
                lows[open_end & ~above, position] = -_ANYTHING
        # The rank of each column in a random order of the columns, for each description.
        column_rank = np.argsort(np.argsort(random.random((number, len(columns))), axis=1), axis=1)
        columns_needed = _columns_needed(index, lows, highs, column_rank)
        columns_used = columns_needed + (random.random(number) * (len(columns) - columns_needed + 1)).astype(np.int64)
        lows, highs = _described(lows, highs, column_rank < columns_used[:, None])
        unique = columns_needed <= len(columns)
        return cls(lows[unique], highs[unique])

    def words(self, description: int, columns: Sequence[str], person: pl.DataFrame) -> str:
        """Return a description in words, with the values of the person that it matches."""
        conditions = [
            f"{name} {person[name][0]!r}"
            for column, name in enumerate(columns)
            if (self.lows[description, column], self.highs[description, column]) != (-_ANYTHING, _ANYTHING)
        ]
        return " and ".join(conditions)


def _described(lows: Places, highs: Places, is_described: NDArray[np.bool_]) -> tuple[Places, Places]:
    """Return the bounds of descriptions restricted to some columns."""
    return np.where(is_described, lows, np.int32(-_ANYTHING)), np.where(is_described, highs, np.int32(_ANYTHING))


def _columns_needed(
    index: RecordIndex, lows: Places, highs: Places, column_rank: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return for each description how many of its columns are needed to match at most one row; one more than all if none do.

    ``column_rank[description, column]`` is the order in which columns are added. Bisection, since more columns match fewer
    rows.
    """
    columns = lows.shape[1]
    too_few, enough = np.zeros(len(lows), dtype=np.int64), np.full(len(lows), columns + 1, dtype=np.int64)
    while (enough - too_few > 1).any():
        columns_tried = (too_few + enough) // 2
        rows, _ = index.fitting(*_described(lows, highs, column_rank < columns_tried[:, None]))
        is_open = enough - too_few > 1
        enough = np.where(is_open & (rows < 2), columns_tried, enough)
        too_few = np.where(is_open & (rows > 1), columns_tried, too_few)
    return enough


def _of_somebody(people: pl.DataFrame, hits: Hits, sentence: str, guess: pl.Series | None = None) -> str:
    """Return ``sentence`` about the first person who was hit, with her values (and the guess) filled in."""
    if not hits.any():
        return "No one is hit."
    row = int(np.argmax(hits))
    values = ", ".join(str(value) for value in people.row(row) if value is not None)
    return sentence.format(f"a person with {values}", guess=None if guess is None else guess[row])


def _nearness(
    people: pl.DataFrame,
    hits: Hits,
    record_distances: NDArray[np.int64],
    crowd_distances: NDArray[np.int64],
    others: int,
) -> str:
    """Return an example: the member whose record is much nearer to a synthetic record than to those of other people."""
    if not hits.any():
        return "No record is much nearer to a synthetic one than people are to each other."
    row = int(np.argmax(np.where(hits, crowd_distances - record_distances, -1)))
    values = ", ".join(str(value) for value in people.row(row) if value is not None)
    nearness = (
        "is there"
        if record_distances[row] == 0
        else f"is {record_distances[row] / COLUMN:.2g} columns away from a synthetic one"
    )
    return f"The record {values} {nearness}, but {crowd_distances[row] / COLUMN:.2g} columns away from the nearest of {others:,} other people."
