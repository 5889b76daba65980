"""Record linkage: look up people of an external list, with names, in the published rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_groups, secret_of
from reticent.attacks.candidate_rows import Matches, match
from reticent.attacks.target_list import drawn, listed_people, listing, really_have, shared_columns
from reticent.base.exact import whole
from reticent.core import AdversaryView
from reticent.errors import PolicyError
from reticent.table import NULL_LABEL


@dataclass(frozen=True)
class Linkage:
    """An adversary who holds a list of people looks each of them up among the published rows.

    A person is *hit* if exactly one published row matches (or the rows of one person, if a person may have several): it
    is then theirs, if they are in the data at all. The details also count people with at least one match (``matched``),
    those whose sensitive value follows because all matching rows agree (``learned``), and, if ``truth`` names a column
    with the true value (null for people who are not in the data), how often the conclusion is ``right``. The truth is
    used for scoring only.

    ``columns`` are those that the adversary compares (default: all quasi-identifiers in the list). Declared columns
    that follow from quasi-identifiers are compared as well, if the list has them: an adversary who knows the latter
    computes the former. ``declared`` names further declared columns that this adversary is assumed to know. A null in
    the list is unknown to the adversary or, with ``null_is_unknown=False``, a value that is known to be missing in the
    data. A row with a missing value is not a candidate for people who have a value: that it could be anyone's protects
    no one. ``who`` names the column for people's names, ``about`` selects the person of the example, ``sample`` attacks
    that many people, sampled at random.
    """

    people: Any = field(repr=False)
    columns: Sequence[str] | None = None
    column: str | None = None
    who: str | None = None
    truth: str | None = None
    about: int | None = None
    sample: int | None = None
    seed: int = 0
    null_is_unknown: bool = True
    declared: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The name of the attack."""
        return "linkage" if not self.declared else f"linkage with declared {listing(tuple(self.declared))}"

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        frame = listed_people(self.people, [*(self.columns or ()), self.who, self.truth])
        object.__setattr__(self, "people", frame)
        if self.about is not None and not 0 <= self.about < frame.height:
            raise PolicyError(f"about must be a row of the list (0 to {frame.height - 1}), but it is {self.about}.")
        if self.sample is not None:
            whole(self.sample, "sample", low=1)

    def needs(self, view: AdversaryView) -> str | None:
        """Require true rows."""
        return needs_groups(view)

    def attack(self, view: AdversaryView) -> Findings:
        """Match each listed person with the published rows, and count those who match exactly one."""
        computable = {*self.declared, *(view.computable if self.columns is None else ())}
        view = view.knowing([name for name in computable if name in self.people.columns])
        quasi = shared_columns(view, self.people, self.columns)
        sensitive = secret_of(view, self.column)
        sampled = drawn(self.people.height, self.sample, self.seed)
        listed = self.people[sampled]
        matches = match(view, listed, quasi, sensitive, null_is_unknown=self.null_is_unknown)
        is_unique = matches.candidates == 1
        hits = int(is_unique.sum())
        details: dict[str, Any] = {
            "columns": list(quasi),
            "matched": int((matches.candidates > 0).sum()),
            "smallest_match": int(matches.candidates[matches.candidates > 0].min(initial=view.rows)),
        }
        if sensitive is not None:
            details["learned"] = int((matches.values == 1).sum())
        if sensitive is not None and self.truth is not None:
            details["right"] = int(self._right(view, listed, matches, sensitive).sum())
        person = self._person(view, listed, matches, sensitive)
        details["person"] = int(sampled[person])
        return Findings(
            self.name,
            f"a list of {self.people.height:,} people with {listing(quasi)}",
            f"match exactly one {_noun(view, 1)}",
            hits,
            listed.height,
            self._example(view, listed, matches, person, quasi, sensitive),
            details,
        )

    def _person(self, view: AdversaryView, listed: pl.DataFrame, matches: Matches, sensitive: str | None) -> int:
        """Return the person of the example: the requested one, else the worst case.

        The worst case is a person about whom the adversary is right (if known), with the fewest rows and values, and
        the rarest value.
        """
        if self.about is not None and self.sample is None:
            return self.about
        rows = np.where(matches.candidates > 0, matches.candidates, np.iinfo(np.int64).max)
        if sensitive is None:
            return int(np.argmin(rows))
        groups = view.true_groups.marginal(sensitive)
        frequency = np.append(groups.histograms.total(groups.domain.size), 0)
        wrong = ~self._right(view, listed, matches, sensitive) if self.truth is not None else np.zeros(len(rows))
        return int(np.lexsort((frequency[matches.guess], matches.values, rows, wrong))[0])

    def _right(self, view: AdversaryView, listed: pl.DataFrame, matches: Matches, sensitive: str) -> NDArray[np.bool_]:
        """Return a mask of the people whose learned value is their true one."""
        guess = np.where(matches.values == 1, matches.guess, -1)
        return really_have(listed[str(self.truth)], guess, self._texts(view, sensitive))

    def _texts(self, view: AdversaryView, sensitive: str) -> tuple[str, ...]:
        domain = view.true_groups.domain
        return domain.columns[domain.index(sensitive)].texts

    def _example(
        self,
        view: AdversaryView,
        listed: pl.DataFrame,
        matches: Matches,
        person: int,
        quasi: Sequence[str],
        sensitive: str | None,
    ) -> str:
        """Return a sentence about one listed person: how many rows match, and which sensitive value follows."""
        row = listed.row(person, named=True)
        texts = {name: NULL_LABEL if row[name] is None else str(row[name]) for name in quasi}
        values = ", ".join(texts[name] for name in quasi if row[name] is not None or not self.null_is_unknown)
        anonymous = f"A person with {values}" if values else "A person about whom nothing is known"
        subject = f"{row[self.who]} ({values})" if self.who is not None else anonymous
        rows, values_left = int(matches.candidates[person]), int(matches.values[person])
        if rows == 0:
            return f"{subject} matches no {_noun(view, 1)}."
        fits = f"matches {'exactly one' if rows == 1 else format(rows, ',')} {_noun(view, rows)}"
        if sensitive is None:
            return f"{subject} {fits}."
        guess = self._texts(view, sensitive)[int(matches.guess[person])]
        if values_left == 1:
            return f"{subject} {fits}, so {sensitive} is {guess!r}, if this person is in the data."
        return (
            f"{subject} {fits} with {values_left} different values of {sensitive}; "
            f"the best guess, {guess!r}, is right with a probability of {matches.chance[person]:.0%}."
        )


def _noun(view: AdversaryView, count: int) -> str:
    """Return the noun for the candidates: rows, or people if it is known whose rows are whose."""
    singular, plural = ("published row", "published rows") if view.people is None else ("person", "people")
    return singular if count == 1 else plural
