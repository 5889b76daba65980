"""Attribute inference: a model trained on the release guesses the sensitive value of people in it and of people who are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_secret, secrets, wilson
from reticent.attacks.candidate_rows import LabelPlaces, expect, places_of
from reticent.attacks.guess_models import MODELS, ModelName, Trained, checked_model
from reticent.attacks.target_list import drawn, listed_people, listing, really_have, shared_columns
from reticent.base.exact import Number, exact, whole
from reticent.core import AdversaryView, QueriedPeople

_CONTROL = "control group"


@dataclass(frozen=True)
class Inference:
    """An adversary trains a model on what was published and guesses the sensitive value of people in the data.

    The ``model`` is the relation between the columns in the population: naive Bayes over the labels, or a random
    ``forest`` (which needs scikit-learn). It is combined with the rows that match the person, the evidence about this
    person: rows with the value + ``smoothing`` x the model's probability. ``people`` are in the data; ``truth`` names
    the column with their real value (default: the sensitive column), used for scoring only.

    *Baseline.* What a model learns about people in general, it also knows about people who are not in the data.
    ``control`` is a list of such people, sampled from the same population (``outsiders`` describes them): only accuracy
    in excess of theirs is caused by the release, and ``excess`` of the findings is that leak with its interval
    (Newcombe's). :func:`reticent.attacks.hold_out` makes such a list from a table. Without one the baseline is the most
    frequent value, and a success may only reflect a relation in the population. At most ``sample`` people of each list
    are attacked.
    """

    people: Any = field(repr=False)
    control: Any = field(default=None, repr=False)
    truth: str | None = None
    columns: Sequence[str] | None = None
    column: str | None = None
    smoothing: Number = 1
    sample: int | None = 5000
    seed: int = 0
    outsiders: str = "people who are not in the data"
    model: ModelName = "naive bayes"

    name = "inference"

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "people", listed_people(self.people, [*(self.columns or ()), self.truth]))
        if self.control is not None:
            columns_needed = [*(self.columns or ()), self.truth]
            object.__setattr__(self, "control", listed_people(self.control, columns_needed, _CONTROL))
        exact(self.smoothing, "Inference: smoothing", low=0)
        checked_model(self.model)
        if self.sample is not None:
            whole(self.sample, "Inference: sample", low=1)

    def needs(self, view: AdversaryView) -> str | None:
        """Require groups with a sensitive column."""
        return needs_secret(view, self.column, "Inference")

    def attack(self, view: AdversaryView) -> Findings:
        """Train a model on the published rows, guess everybody's sensitive value, and compare with guesses about a control group.

        Without a control group the baseline is always to guess the most frequent published value.
        """
        sensitive, groups = secrets(view, self.column, "Inference")
        truth = sensitive if self.truth is None else self.truth
        quasi = shared_columns(view, listed_people(self.people, [truth]), self.columns)
        texts = groups.domain.columns[0].texts
        label_rows = places_of(view, quasi, sensitive)
        members = self._drawn(self.people)
        queried = view.ask(members, quasi)
        trained = MODELS[self.model](queried, label_rows, self.seed)
        guesses, chances = self._guess(trained, label_rows, queried)
        is_right = really_have(members[truth], guesses, texts)
        most_frequent = int(np.argmax(groups.reference))
        if self.control is None:
            baseline = float(really_have(members[truth], np.full(members.height, most_frequent), texts).mean())
            interval, compared = None, f"always guessing {texts[most_frequent]!r}"
        else:
            outsiders = self._drawn(listed_people(self.control, [truth, *quasi], _CONTROL))
            is_right_outside = really_have(
                outsiders[truth], self._guess(trained, label_rows, view.ask(outsiders, quasi))[0], texts
            )
            baseline = float(is_right_outside.mean())
            interval = wilson(int(is_right_outside.sum()), len(is_right_outside))
            compared = f"{outsiders.height:,} {self.outsiders}"
        return Findings(
            self.name,
            f"{listing(quasi)} of people in the data, and how to train a model ({self.model}) on what was published; compared with {compared}",
            f"have their {sensitive} guessed correctly by the model",
            int(is_right.sum()),
            members.height,
            _example(members, quasi, sensitive, texts, guesses, chances, is_right),
            {
                "columns": list(quasi),
                "compared_with": compared,
                "most_frequent": texts[most_frequent],
                "model": self.model,
            },
            baseline,
            interval,
        )

    def _drawn(self, people: pl.DataFrame) -> pl.DataFrame:
        return people[drawn(people.height, self.sample, self.seed)]

    def _guess(
        self, trained: Trained, label_rows: LabelPlaces, queried: QueriedPeople
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each person's most likely value (-1: no evidence), and its probability.

        A value's score is the expected number of matching published rows that have it, plus the model's probability times the
        ``smoothing``.
        """
        scores = expect(queried, label_rows) + float(exact(self.smoothing, "smoothing")) * trained.chances(queried)
        best_value = scores.argmax(axis=1)
        sums = scores.sum(axis=1)
        chances = np.divide(scores.max(axis=1), sums, out=np.zeros(len(sums)), where=sums > 0)
        return np.where(sums > 0, best_value, -1)[queried.owners], chances[queried.owners]


def _example(
    people: pl.DataFrame,
    quasi: Sequence[str],
    sensitive: str,
    texts: Sequence[str],
    guesses: NDArray[np.int64],
    chances: NDArray[np.float64],
    is_right: NDArray[np.bool_],
) -> str:
    """Return a sentence about the person whose value is guessed with most confidence, preferably a correct guess."""
    person = int(np.argmax(np.where(is_right, chances + 1, chances)))
    row = people.row(person, named=True)
    values = ", ".join(str(row[name]) for name in quasi if row[name] is not None)
    if guesses[person] < 0:
        return "The model has no evidence."
    outcome = "and is right" if is_right[person] else "and is wrong"
    return f"For a person with {values} the model guesses {sensitive} {texts[guesses[person]]!r}, with a probability of {chances[person]:.0%}, {outcome}."
