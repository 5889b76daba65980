"""Minimality attack: an adversary who knows the method excludes every possible world in which another release would
have been chosen. Source: [Wong2007].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import log10, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.attacks.adversary import Findings, needs_secret, secrets
from reticent.attacks.control import definition_of, method_of
from reticent.attacks.method_inversion import Choice, RemainingWorlds, is_ranked
from reticent.attacks.release_worlds import Placed
from reticent.attacks.target_list import listing
from reticent.base.exact import Number, exact, whole
from reticent.core import AdversaryView, Groups
from reticent.definitions import of_groups, own_sets
from reticent.errors import DataError, PolicyError
from reticent.table import Table

_LONGEST = 512
_MOST_ROWS = 2000


@dataclass(frozen=True)
class Minimality:
    """An adversary who knows all quasi-identifiers, the hierarchies, the definition and the method.

    That a release is the least distorted one implies that less distorted ones violate the definition. Possible worlds
    are the assignments of each group's values to its people, and of any values to suppressed people; those in which the
    method would have published another release are excluded, and the others are equally likely (as in
    m-confidentiality). A person is hit if a value of ``column`` becomes more likely, by more than ``gain``, than the
    most likely one by the group alone (for suppressed people: among all values).

    Probabilities are exact over all worlds, unless worlds are sampled. If the choice can be reproduced without running
    the method (:class:`reticent.methods.lattice.Lattice` without suppression, with a measure that ignores sensitive
    values), people whom no node before the chosen one distinguishes are merged, and groups that no such node merges are
    enumerated separately: ``worlds`` of them in total. Otherwise the method is run in each of at most ``runs`` worlds;
    if there are more, and all of at most 60 people were published, in ``runs`` sampled ones; probabilities are then
    estimates (``details["sampled"]``), and a hit must exceed four standard errors.

    The method is assumed to be the one in the manifest, its measure without column weights. ``table`` has the
    quasi-identifiers and the hierarchies; of its sensitive columns only the domain is used. A choice that does not
    depend on sensitive values (``KAnonymity``) prevents the attack: no world is excluded.
    """

    table: Table = field(repr=False)
    gain: Number = 0
    worlds: int = 50_000
    runs: int = 200
    column: str | None = None

    name = "minimality"

    def __post_init__(self) -> None:
        """Refuse a table whose possible worlds cannot be listed: without a sensitive column, with several rows per
        person, or streamed.
        """
        if not isinstance(self.table, Table) or not self.table.sensitive or self.table.several_rows:
            raise PolicyError("Minimality needs a table with a sensitive column, in which a row is a person.")
        if self.table.streamed:
            raise PolicyError("Minimality needs a table in memory: it tries every assignment of values to people.")
        exact(self.gain, "Minimality: gain", low=0, high=1)
        whole(self.worlds, "Minimality: worlds", low=1)
        whole(self.runs, "Minimality: runs", low=1)

    def needs(self, view: AdversaryView) -> str | None:
        """Require a release in groups, made for one set of quasi-identifiers."""
        if view.made is None:
            return "Minimality uses how a release was chosen, and an unmodified table was not chosen."
        if len(view.sets) > 1:
            return "Minimality does not support releases for several sets of quasi-identifiers."
        return needs_secret(view, self.column, "Minimality")

    def attack(self, view: AdversaryView) -> Findings:
        """Exclude the possible worlds in which another release would have been published, and count people about whom that tells more.

        A world assigns the published sensitive values to the people of the table. The method is evaluated in each, by the order
        of its lattice nodes where that is known, otherwise by running it.
        """
        reason = self.needs(view)
        if reason is not None or view.made is None:
            raise PolicyError(str(reason))
        sensitive, groups = secrets(view, self.column, "Minimality")
        definition, method = of_groups(definition_of(view.made), "Minimality"), method_of(view.made)
        if own_sets(definition):
            raise PolicyError(
                f"Minimality does not support definitions that name their own columns, as {definition} does."
            )
        described = view.made.method
        if not is_ranked(described) and self.table.rows > _MOST_ROWS:
            raise PolicyError(
                f"Minimality has to run {described['name']} for every assignment of values to people, which is supported for tables of at most {_MOST_ROWS:,} rows."
            )
        assignment = Placed.of(view, self.table.frame)
        if not assignment.is_complete and Fraction(str(described.get("suppression", 0))) == 0:
            raise DataError(
                f"A person of the list matches no published group, and {described['name']} does not declare suppression: the release was made from other data, or the choice cannot be reproduced."
            )
        choice = Choice(self.table, definition, seen=view, placed=assignment, most=self.worlds, runs=self.runs)
        if is_ranked(described):
            remaining = choice.by_rank(str(described["objective"]))
        else:
            remaining = choice.by_running(method)
        if not remaining.possible:
            raise PolicyError(
                "No assignment of values to the list leads to this release: it was made from other data, or by another method."
            )
        return self._findings(_Beliefs.of(remaining, groups, sensitive), remaining, described)

    def _findings(self, beliefs: _Beliefs, remaining: RemainingWorlds, method: Any) -> Findings:
        """Return the findings: people with a value that became more likely, by more than ``gain``, than their group makes it."""
        limit, assignment = exact(self.gain, "gain"), remaining.worlds.placed
        if remaining.worlds.is_sampled:
            # Four standard errors: a difference that sampling alone explains is not a finding.
            limit += Fraction(2 / sqrt(remaining.possible)).limit_denominator(10**6)
        gains = beliefs.gains()
        is_hit = np.array([gain > limit for gain in gains], dtype=bool)
        is_suppressed = assignment.group_of < 0
        assumption = " (and that suppressed people have some value)" if is_suppressed.any() else ""
        return Findings(
            self.name,
            f"{listing(tuple(self.table.quasi))} of every person, the hierarchies, the definition, and that {method['name']} chose the release{assumption}",
            f"have a value of {beliefs.sensitive} that the choice of the release makes more likely than their group does",
            int(assignment.sizes[is_hit].sum()),
            int(assignment.sizes.sum()),
            beliefs.example(assignment, int(np.argmax([float(gain) for gain in gains])), bool(is_hit.any())),
            details={
                "worlds": _shown(remaining.worlds.count),
                "possible": _shown(remaining.possible),
                "moved": int(assignment.sizes[beliefs.moved()].sum()),
                "surest": _text(beliefs.after.max()),
                "surest_by_group": _text(beliefs.alone.max()),
                "left_out": int(assignment.sizes[is_suppressed].sum()),
                "sampled": remaining.worlds.is_sampled,
            },
        )


def _shown(count: int) -> int | str:
    """Return a number of worlds; if it has too many digits, its order of magnitude."""
    return count if count.bit_length() <= _LONGEST else f"about 10^{int(count.bit_length() * log10(2))}"


def _text(chance: Fraction) -> str:
    """Return an exact probability, or a decimal if it has too many digits."""
    return str(chance) if chance.denominator.bit_length() <= _LONGEST else f"{float(chance):.12g}"


@dataclass(frozen=True)
class _Beliefs:
    """For every point (row) the probability of each of the ``texts`` (column): by the group ``alone``, and ``after`` the exclusion of worlds."""

    sensitive: str
    texts: list[str]
    alone: NDArray[np.object_]
    after: NDArray[np.object_]

    @classmethod
    def of(cls, remaining: RemainingWorlds, groups: Groups, sensitive: str) -> _Beliefs:
        """Return, for each distinct person, the probability of each value by the group alone and by the remaining worlds.

        Other sensitive columns are marginalized out. Suppressed people (group -1) have a uniform prior.
        """
        values = remaining.worlds.values[sensitive]
        labels = values.unique(maintain_order=True)
        label_of = np.array([labels.to_list().index(value) for value in values.to_list()])
        texts = labels.cast(pl.String).fill_null("(missing)").to_list()
        histograms = [groups.histogram(group) for group in range(len(groups))]
        uniform = [Fraction(1, len(labels))] * len(labels)
        by_group = [
            uniform
            if group < 0
            else [Fraction(histograms[group].get(text, 0), int(groups.sizes[group])) for text in texts]
            for group in remaining.worlds.placed.group_of.tolist()
        ]
        chances = remaining.chances()
        by_choice = np.stack([chances[:, label_of == label].sum(axis=1) for label in range(len(labels))], axis=1)
        return cls(sensitive, texts, np.array(by_group, dtype=object), by_choice)

    def gains(self) -> list[Fraction]:
        """Return by how much each person's most likely value exceeds the most likely one by the group alone."""
        return [after - before for after, before in zip(self.after.max(axis=1), self.alone.max(axis=1), strict=True)]

    def moved(self) -> NDArray[np.bool_]:
        """Return a mask of the people for whom some probability differs from that of the group alone."""
        return np.asarray((self.after != self.alone).any(axis=1), dtype=bool)

    def example(self, placed: Placed, point: int, hit: bool) -> str:
        """Return one person (with the quasi-identifier values of index ``point``) as an example sentence; ``hit`` is
        False if the choice of the release raises no belief.
        """
        if not hit:
            return f"Knowing how the release was chosen makes no {self.sensitive} more likely than the groups do."
        value = int(np.argmax([float(chance) for chance in self.after[point]]))
        values = ", ".join(str(label) for label in placed.points.row(point))
        by_what = "by the group alone" if placed.group_of[point] >= 0 else "as any suppressed person"
        return f"A person with {values} has {self.sensitive} {self.texts[value]!r} with a probability of {float(self.alone[point][value]):.0%} {by_what}, and of {float(self.after[point][value]):.0%} for an attacker who knows how the release was chosen."
