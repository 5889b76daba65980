"""Attacks on artificial records: what a synthetic file tells about the people it was made from, beyond what it tells about everybody else.

Every adversary here tries the same on two sides (:class:`Cohorts`): people in the data, and people or rows to compare with. What is reached on the second
side as well, a model of the whole population explains; the rest is memory of single people. A generator with a proof (``ProbabilisticDP``) bounds this for
every adversary; these runs show what four of them reach.
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
    """What the adversaries here share: they see artificial records, and are tried on both sides of ``cohorts``."""

    cohorts: Cohorts

    name: ClassVar[str]

    def needs(self, seen: AdversaryView) -> str | None:
        """Records that are not true rows, with the columns that people are compared by."""
        if seen.groups is not None:
            return f"The attack {self.name!r} is about artificial records, and these are true rows. Use Linkage or SinglingOut."
        if seen.channel is not None:
            return f"The attack {self.name!r} is about artificial records; where it is known how each was drawn, use Sighting."
        missing = [name for name in self.cohorts.columns if name not in seen.names]
        return None if not missing else f"The attack {self.name!r} compares {missing[0]!r}, which was not published."

    @abstractmethod
    def attack(self, seen: AdversaryView) -> Findings:
        """Try it on both sides."""

    def _trial(self, seen: AdversaryView) -> TwoSidedTrial:
        reason = self.needs(seen)
        if reason is not None:
            raise PolicyError(reason)
        return self.cohorts.trial(seen)

    def _findings(
        self, knows: str, hit: str, hits: Hits, control: Hits, example: str, details: Mapping[str, Any], **options: Any
    ) -> Findings:
        """The findings of an attack that hit some of the targets and some of those on the other side."""
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
    """An adversary who has a person's whole record wants to know whether that person was in the data.

    The sign is a synthetic record that is much nearer to the person than other people are: the distance to the nearest of many other people, divided by that to the
    nearest synthetic record. A common record, which somebody else has too, says nothing. People are said to have been in the data from a value of the sign on that
    at most a share ``alarms`` of the people on the other side reaches; one half of these sets that value, the other half is counted.
    """

    alarms: Number = "0.01"

    name = "membership"

    def __post_init__(self) -> None:
        exact(self.alarms, "Membership: alarms", above=0, below=1)

    def attack(self, seen: AdversaryView) -> Findings:
        """Measure both distances, of everybody."""
        trial = self._trial(seen)
        own, crowd = self._distances(trial.attacked, trial)
        sign, other = _sign(own, crowd), _sign(*self._distances(trial.compared, trial))
        limit = _reached_by(other[::2], float(exact(self.alarms, "alarms")))
        hits, others = sign >= limit, self.cohorts.others.height
        return self._findings(
            f"whole records, and those of {others:,} other people",
            "can be told to be in the data, since a synthetic record is much nearer to theirs than other people are",
            hits,
            other[1::2] >= limit,
            _nearness(trial.attacked.people, hits, own, crowd, others),
            {"alarms": str(exact(self.alarms, "alarms")), "same_record": int((own == 0).sum())},
        )

    def _distances(self, side: Side, trial: TwoSidedTrial) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        columns, context = self.cohorts.columns, self.cohorts.context
        own = side.nearest(columns, context, "looking for near records")
        return own, trial.crowd.nearest(side.people, columns, context, "looking for near people")


def _sign(own: NDArray[np.int64], crowd: NDArray[np.int64]) -> NDArray[np.float64]:
    """How much nearer a record is than other people; a hundredth of a column counts as the same."""
    return crowd / (own + COLUMN / 100)


def _reached_by(signs: NDArray[np.float64], share: float) -> float:
    """The least value that at most a share of the signs reaches, and the greatest of them where more do."""
    values, counts = np.unique(signs, return_counts=True)
    reached = np.cumsum(counts[::-1])[::-1] / max(len(signs), 1)
    allowed = values[reached <= share]
    return float(allowed[0]) if len(allowed) else float(values[-1])


@dataclass(frozen=True)
class Linkability(ArtificialRecordsAttack):
    """An adversary has two lists about the same people, with different columns, and wants to know who in one is who in the other.

    A person is linked where one synthetic record is the nearest both by the columns of the first list and by those of the second: it bridges them. The
    two sets are ``first`` and the rest; by default columns are dealt out so that both sets tell people apart about equally well.
    """

    first: Sequence[str] | None = None

    name = "linkability"

    def needs(self, seen: AdversaryView) -> str | None:
        if len(self.cohorts.columns) < 2:
            return "The attack 'linkability' needs two columns at least, one for each list."
        return super().needs(seen)

    def attack(self, seen: AdversaryView) -> Findings:
        """Find the nearest records of everybody, by both sets and by all columns."""
        trial = self._trial(seen)
        one, two = self._dealt()
        hits, control = (self._linked(side, one, two) for side in (trial.attacked, trial.compared))
        return self._findings(
            f"two lists, one with {listing(one)} and one with {listing(two)}",
            "have their entries in both lists linked by one synthetic record",
            hits,
            control,
            _of_somebody(
                trial.attacked.people, hits, "The entries of {} in both lists lead to the same synthetic record."
            ),
            {"first": list(one), "second": list(two)},
        )

    def _dealt(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        columns = self.cohorts.columns
        if self.first is None:
            table = self.cohorts.inside
            ranked = sorted(columns, key=lambda name: (-table[name].n_unique(), columns.index(name)))
            one = [name for place, name in enumerate(ranked) if place % 4 in (0, 3)]
        else:
            one = [name for name in columns if name in self.first]
        two = [name for name in columns if name not in one]
        if not one or not two:
            raise PolicyError(
                f"Linkability: first must name some of the columns and not all: {', '.join(columns)}.",
                setting=("first",),
            )
        return tuple(name for name in columns if name in one), tuple(two)

    def _linked(self, side: Side, one: Sequence[str], two: Sequence[str]) -> Hits:
        """One record is nearest by both sets if and only if the least distances by each add up to the least distance by all."""
        first, second, both = (
            side.nearest(columns, self.cohorts.context, "linking two lists")
            for columns in (one, two, self.cohorts.columns)
        )
        linked: Hits = both == first + second
        return linked


@dataclass(frozen=True)
class NearestGuess(ArtificialRecordsAttack):
    """An adversary who knows most of a person guesses one more column: it is what the nearest synthetic record says.

    Where several records are equally near, the value is taken that most of them have. A guessed number or date is right within ``tolerance`` of the range that the
    middle 90 % of people have.
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
        """What is known of people."""
        return tuple(name for name in self.cohorts.known if name != self.column)

    def needs(self, seen: AdversaryView) -> str | None:
        return super().needs(seen) if self.known else f"Nothing is known by which {self.column!r} could be guessed."

    def attack(self, seen: AdversaryView) -> Findings:
        """Guess, and look who has it."""
        trial = self._trial(seen)
        hits, guess = self._guessed(trial.attacked)
        control, _ = self._guessed(trial.compared)
        said = f"Of {{}} the nearest synthetic record says {self.column} {{guess!r}}, and that is right."
        return self._findings(
            f"{listing(self.known)} of people",
            f"have their {self.column} guessed rightly from the nearest synthetic record",
            hits,
            control,
            _of_somebody(trial.attacked.people.select(self.known), hits, said, guess),
            {"columns": list(self.known)},
            name=f"{self.name} of {self.column}",
        )

    def _guessed(self, side: Side) -> tuple[Hits, pl.Series]:
        context = self.cohorts.context
        guess = side.shown.guesses(side.people, self.known, self.column, context, f"guessing {self.column}")
        allowed = int(exact(self.tolerance, "tolerance") * COLUMN)
        return side.shown.ruler.scales[self.column].alike(guess, side.people[self.column], allowed), guess


@dataclass(frozen=True)
class Isolation(ArtificialRecordsAttack):
    """An adversary who knows nobody takes descriptions from synthetic rows and hopes that each fits exactly one real person.

    A description is drawn from a random row: columns in random order until no other synthetic row fits, then a random number more. A category is described by its
    value; a number or a date by its value, or as being at least (above the median; else at most) that. ``descriptions`` are drawn. On the other side
    it is a table of the same size, of people who are not in the data.
    """

    descriptions: int = 3000

    name = "singling out"

    def __post_init__(self) -> None:
        whole(self.descriptions, "Isolation: descriptions", low=1)

    def attack(self, seen: AdversaryView) -> Findings:
        """Draw descriptions, and count who fits."""
        trial = self._trial(seen)
        drawn = self._drawn(trial.attacked)
        same = trial.compared.shown is trial.attacked.shown
        isolated, who = self._isolated(drawn, trial.attacked)
        control, _ = self._isolated(drawn if same else self._drawn(trial.compared), trial.compared)
        place = int(np.argmax(isolated)) if isolated.any() else -1
        example = (
            f"Exactly one person has {drawn.words(place, self.cohorts.columns, trial.attacked.table[int(who[place])])}."
            if place >= 0
            else "No description that was tried fits exactly one person."
        )
        return self._findings(
            "only the synthetic rows",
            "fit exactly one person in the data",
            isolated,
            control,
            example,
            {"people_isolated": len(np.unique(who[isolated])), "rows": trial.attacked.table.height},
            unit="descriptions",
        )

    def _drawn(self, side: Side) -> _Boxes:
        self.cohorts.context.step("describing people")
        return _Boxes.drawn(side.shown, self.descriptions, np.random.default_rng(self.cohorts.seed))

    def _isolated(self, boxes: _Boxes, side: Side) -> tuple[Hits, NDArray[np.int64]]:
        self.cohorts.context.step("singling people out")
        rows, who = RecordIndex.of(Records.of(side.table), side.shown.ruler).fitting(boxes.lows, boxes.highs)
        return rows == 1, who


_ANYTHING = (1 << 31) - 1


@dataclass(frozen=True)
class _Boxes:
    """Descriptions as a range of places in every column; a column that is not described has all places."""

    lows: Places = field(repr=False)
    highs: Places = field(repr=False)

    @classmethod
    def drawn(cls, shown: RecordIndex, number: int, random: np.random.Generator) -> _Boxes:
        """From random rows, each with as many columns as leave one synthetic row, and some more."""
        columns, random_rows = (
            shown.ruler.columns,
            random.choice(len(shown.records.times), number, p=shown.records.times / shown.records.times.sum()),
        )
        places = shown.ruler.places(shown.records.frame)
        lows, highs = places[random_rows].copy(), places[random_rows].copy()
        for place, name in enumerate(columns):
            if shown.ruler.scales[name].is_number:
                above = lows[:, place] >= np.median(places[:, place])
                open_end = random.random(number) < 0.5
                highs[open_end & above, place] = _ANYTHING
                lows[open_end & ~above, place] = -_ANYTHING
        turns = np.argsort(np.argsort(random.random((number, len(columns))), axis=1), axis=1)
        needed = _columns_needed(shown, lows, highs, turns)
        used = needed + (random.random(number) * (len(columns) - needed + 1)).astype(np.int64)
        lows, highs = _described(lows, highs, turns < used[:, None])
        unique = needed <= len(columns)
        return cls(lows[unique], highs[unique])

    def words(self, place: int, columns: Sequence[str], person: pl.DataFrame) -> str:
        """A description, told by the values of the person that it fits."""
        told = [
            f"{name} {person[name][0]!r}"
            for column, name in enumerate(columns)
            if (self.lows[place, column], self.highs[place, column]) != (-_ANYTHING, _ANYTHING)
        ]
        return " and ".join(told)


def _described(lows: Places, highs: Places, told: NDArray[np.bool_]) -> tuple[Places, Places]:
    """The ends of descriptions that tell some columns only."""
    return np.where(told, lows, np.int32(-_ANYTHING)), np.where(told, highs, np.int32(_ANYTHING))


def _columns_needed(shown: RecordIndex, lows: Places, highs: Places, turns: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many columns, each in its turn, leave one row; one more than there are where all of them do not. Found by halving, since more columns leave fewer rows."""
    columns = lows.shape[1]
    too_few, enough = np.zeros(len(lows), dtype=np.int64), np.full(len(lows), columns + 1, dtype=np.int64)
    while (enough - too_few > 1).any():
        middle = (too_few + enough) // 2
        rows, _ = shown.fitting(*_described(lows, highs, turns < middle[:, None]))
        open_yet = enough - too_few > 1
        enough = np.where(open_yet & (rows < 2), middle, enough)
        too_few = np.where(open_yet & (rows > 1), middle, too_few)
    return enough


def _of_somebody(people: pl.DataFrame, hits: Hits, words: str, guess: pl.Series | None = None) -> str:
    """An example: the first person who was hit."""
    if not hits.any():
        return "Nobody is hit."
    place = int(np.argmax(hits))
    values = ", ".join(str(value) for value in people.row(place) if value is not None)
    return words.format(f"somebody with {values}", guess=None if guess is None else guess[place])


def _nearness(people: pl.DataFrame, hits: Hits, own: NDArray[np.int64], crowd: NDArray[np.int64], others: int) -> str:
    if not hits.any():
        return "Nobody's record is much nearer to a synthetic one than people are to each other."
    place = int(np.argmax(np.where(hits, crowd - own, -1)))
    values = ", ".join(str(value) for value in people.row(place) if value is not None)
    found = "is there" if own[place] == 0 else f"has a synthetic one {own[place] / COLUMN:.2g} columns away"
    return f"The record {values} {found}, and the nearest of {others:,} other people is {crowd[place] / COLUMN:.2g} columns away."
