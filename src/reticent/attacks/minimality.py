"""Minimality: an adversary who knows how the release was chosen rules out every world in which another would have been chosen."""

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
    """An adversary who knows everybody's quasi values, the hierarchies, the definition and the method.

    The least distorted release that keeps a promise tells that less distorted ones would have broken it. Worlds are the assignments of
    each group's values to its people, and of any values to people who were left out; those in which the method would have published something
    else are ruled out, and the others are equally likely (m-confidentiality asks what remains). A person is hit when a value of ``column``
    becomes more likely than any is by the group alone (for people who were left out: than any is among all values), by more than ``gain``.

    Chances are exact, and no world is left out of account, but where worlds are sampled. Where the choice can be judged without running the method (:class:`reticent.methods.lattice.Lattice`
    without suppression, by a measure that does not look at sensitive values), people whom no node before the chosen one tells apart are taken
    together, and groups that no such node puts together are listed by themselves: ``worlds`` of them in all. Where the method has to be run, that is done
    in each of at most ``runs`` worlds; where there are more, and everybody of at most 60 people was published, in ``runs`` of them drawn at random; chances are estimates then (``details["sampled"]``), and a hit is what four standard errors do not explain.

    The method is taken to be as the manifest describes it, its measure without weights for columns. ``table`` has the quasi columns and the hierarchies; of its sensitive columns only the possible values are looked at. A method whose choice does not
    depend on sensitive values (``KAnonymity``) stops it: no world is ruled out then.
    """

    table: Table = field(repr=False)
    gain: Number = 0
    worlds: int = 50_000
    runs: int = 200
    column: str | None = None

    name = "minimality"

    def __post_init__(self) -> None:
        if not isinstance(self.table, Table) or not self.table.sensitive or self.table.several_rows:
            raise PolicyError("Minimality needs a table with a sensitive column, in which a row is a person.")
        if self.table.streamed:
            raise PolicyError("Minimality needs a table in memory: it tries every assignment of values to people.")
        exact(self.gain, "Minimality: gain", low=0, high=1)
        whole(self.worlds, "Minimality: worlds", low=1)
        whole(self.runs, "Minimality: runs", low=1)

    def needs(self, seen: AdversaryView) -> str | None:
        """A release in groups, made for one set of quasi columns."""
        if seen.made is None:
            return "Minimality looks at how a release was chosen, and a table as it stands was not chosen at all."
        if len(seen.sets) > 1:
            return "Minimality does not know releases for several sets of quasi columns."
        return needs_secret(seen, self.column, "Minimality")

    def attack(self, seen: AdversaryView) -> Findings:
        """Rule out the worlds in which something else would have been published."""
        reason = self.needs(seen)
        if reason is not None or seen.made is None:
            raise PolicyError(str(reason))
        sensitive, groups = secrets(seen, self.column, "Minimality")
        definition, method = of_groups(definition_of(seen.made), "Minimality"), method_of(seen.made)
        if own_sets(definition):
            raise PolicyError(
                f"Minimality does not follow choices by bounds that name their own columns, as {definition} does."
            )
        described = seen.made.method
        if not is_ranked(described) and self.table.rows > _MOST_ROWS:
            raise PolicyError(
                f"Minimality would have to rerun {described['name']} for every assignment of values to people, which is supported for tables of at "
                f"most {_MOST_ROWS:,} rows."
            )
        placed = Placed.of(seen, self.table.frame)
        if not placed.is_complete and Fraction(str(described.get("suppression", 0))) == 0:
            raise DataError(
                f"Somebody of the list fits no published group, and {described['name']} does not say that it leaves people out: the release was "
                "made from other data, or the choice cannot be followed."
            )
        choice = Choice(self.table, definition, seen, placed, self.worlds, self.runs)
        if is_ranked(described):
            ruled = choice.by_rank(str(described["objective"]))
        else:
            ruled = choice.by_running(method)
        if not ruled.possible:
            raise PolicyError(
                "No assignment of values to the list leads to this release: it was made from other data, or by another method."
            )
        return self._findings(_Beliefs.of(ruled, groups, sensitive), ruled, described)

    def _findings(self, beliefs: _Beliefs, ruled: RemainingWorlds, method: Any) -> Findings:
        limit, placed = exact(self.gain, "gain"), ruled.worlds.placed
        if ruled.worlds.is_sampled:
            # Four standard errors: what the sample alone could show is no finding.
            limit += Fraction(2 / sqrt(ruled.possible)).limit_denominator(10**6)
        gains = beliefs.gains()
        hit = np.array([gain > limit for gain in gains], dtype=bool)
        left_out = placed.group_of < 0
        others = " (and that those who were left out have some value)" if left_out.any() else ""
        return Findings(
            self.name,
            f"{listing(tuple(self.table.quasi))} of everybody, the hierarchies, the definition, and that {method['name']} chose the release{others}",
            f"have a value of {beliefs.sensitive} that the choice of the release makes likelier than their group does",
            int(placed.sizes[hit].sum()),
            int(placed.sizes.sum()),
            beliefs.example(placed, int(np.argmax([float(gain) for gain in gains])), bool(hit.any())),
            details={
                "worlds": _shown(ruled.worlds.count),
                "possible": _shown(ruled.possible),
                "moved": int(placed.sizes[beliefs.moved()].sum()),
                "surest": _text(beliefs.after.max()),
                "surest_by_group": _text(beliefs.alone.max()),
                "left_out": int(placed.sizes[left_out].sum()),
                "sampled": ruled.worlds.is_sampled,
            },
        )


def _shown(count: int) -> int | str:
    """A number of worlds; where it has more digits than anybody reads (and than Python prints), its size."""
    return count if count.bit_length() <= _LONGEST else f"about 10^{int(count.bit_length() * log10(2))}"


def _text(chance: Fraction) -> str:
    """An exact chance, or where it has too many digits a decimal."""
    return str(chance) if chance.denominator.bit_length() <= _LONGEST else f"{float(chance):.12g}"


@dataclass(frozen=True)
class _Beliefs:
    """For every point (a row) the chance of each of the ``texts`` (a column): by the group ``alone``, and ``after`` worlds were ruled out."""

    sensitive: str
    texts: list[str]
    alone: NDArray[np.object_]
    after: NDArray[np.object_]

    @classmethod
    def of(cls, ruled: RemainingWorlds, groups: Groups, sensitive: str) -> _Beliefs:
        """Of the values of one sensitive column, whatever the others are."""
        values = ruled.worlds.values[sensitive]
        labels = values.unique(maintain_order=True)
        mine = np.array([labels.to_list().index(value) for value in values.to_list()])
        texts = labels.cast(pl.String).fill_null("(missing)").to_list()
        shown = [groups.histogram(group) for group in range(len(groups))]
        anything = [Fraction(1, len(labels))] * len(labels)
        alone = [
            anything if group < 0 else [Fraction(shown[group].get(text, 0), int(groups.sizes[group])) for text in texts]
            for group in ruled.worlds.placed.group_of.tolist()
        ]
        chances = ruled.chances()
        after = np.stack([chances[:, mine == place].sum(axis=1) for place in range(len(labels))], axis=1)
        return cls(sensitive, texts, np.array(alone, dtype=object), after)

    def gains(self) -> list[Fraction]:
        """By how much everybody's likeliest value is more likely than the likeliest by the group alone."""
        return [after - before for after, before in zip(self.after.max(axis=1), self.alone.max(axis=1), strict=True)]

    def moved(self) -> NDArray[np.bool_]:
        """Who is believed to have some value with another chance than by the group alone."""
        return np.asarray((self.after != self.alone).any(axis=1), dtype=bool)

    def example(self, placed: Placed, point: int, hit: bool) -> str:
        """One person, in a sentence."""
        if not hit:
            return f"Knowing how the release was chosen makes nobody's {self.sensitive} likelier than the groups do."
        value = int(np.argmax([float(each) for each in self.after[point]]))
        values = ", ".join(str(each) for each in placed.points.row(point))
        by = "by the group alone" if placed.group_of[point] >= 0 else "as anybody who was left out"
        return (
            f"Somebody with {values} has {self.sensitive} {self.texts[value]!r} with a chance of {float(self.alone[point][value]):.0%} {by}, "
            f"and of {float(self.after[point][value]):.0%} for somebody who knows how the release was chosen."
        )
