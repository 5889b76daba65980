"""The measured groups of a table or a release, with descriptions and the names of their people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.core import AdversaryView, Groups
from reticent.knowledge.people_source import check_rows_are_people, column_of_names, one_secret
from reticent.release import adversary_view_of
from reticent.table import Table
from reticent.worst_case import Buckets, RankedAtom, WorstFacts, negation_witness, witness


@dataclass(frozen=True)
class Subject:
    """Groups of one sensitive column, described by their quasi-identifiers, with the names of their people if known."""

    groups: Groups
    seen: AdversaryView = field(repr=False)
    names: pl.Series | None = field(default=None, repr=False)
    group_of_row: NDArray[np.int64] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, source: Any, levels: Mapping[str, int] | None = None, column: str | None = None) -> Subject:
        """Return the subject for a table, unmodified or with some quasi-identifiers at coarser ``levels``, or for a
        release (an object or its folder).
        """
        if isinstance(source, Table):
            check_rows_are_people(source)
        seen = adversary_view_of(source, levels)
        groups = one_secret(seen, column)
        names = column_of_names(source) if isinstance(source, Table) else None
        if names is None:
            return cls(groups, seen)
        return cls(groups, seen, source.frame[names].cast(pl.String), seen.place(source.frame))

    @cached_property
    def buckets(self) -> Buckets:
        """The histograms alone."""
        return Buckets.of(self.groups)

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.groups.domain.columns[0].name

    def description(self, group: int) -> str:
        """Return the common quasi-identifiers of a group, in words."""
        labels = self.seen.describe(group)
        return ", ".join(f"{name} {value}" for name, value in labels.items()) or "everybody"

    def people(self, group: int, many: int) -> list[str]:
        """Return names for the first people of a group: their own in order, or numbers."""
        own_names: list[str] = []
        if self.names is not None and self.group_of_row is not None:
            own_names = sorted(self.names.gather(np.flatnonzero(self.group_of_row == group)).drop_nulls().to_list())[
                :many
            ]
        description = self.description(group)
        return own_names + [f"person {number + 1} of ({description})" for number in range(len(own_names), many)]

    def explain(self, k: int) -> Explanation:
        """Return the worst ``k`` facts in words, and the worst negations."""
        return Explanation(self, k, witness(self.buckets, k), negation_witness(self.buckets, k))

    def name(self, worst: WorstFacts) -> _Names:
        """Return the names of the atoms of a witness."""
        atoms = (worst.consequent, *worst.antecedents)
        most = {bucket: max(a.person for a in atoms if a.bucket == bucket) + 1 for bucket in worst.buckets}
        return _Names(
            {bucket: self.people(bucket, many) for bucket, many in most.items()},
            {bucket: list(self.groups.histogram(bucket)) for bucket in most},
        )


@dataclass(frozen=True)
class _Names:
    people: Mapping[int, Sequence[str]]
    values: Mapping[int, Sequence[str]]

    def __call__(self, atom: RankedAtom) -> tuple[str, str]:
        return self.people[atom.bucket][atom.person], self.values[atom.bucket][atom.rank]


@dataclass(frozen=True)
class Explanation:
    """The facts behind a disclosure value, in words: what an adversary knows, about whom, and the conclusion."""

    subject: Subject
    k: int
    worst: WorstFacts
    negations: WorstFacts

    @property
    def disclosure(self) -> Fraction:
        """The belief given the worst facts."""
        return self.worst.disclosure

    def facts(self, *, negations: bool = False) -> list[str]:
        """Return the facts, one sentence each."""
        chosen = self.negations if negations else self.worst
        return chosen.sentences(self.subject.name(chosen))

    def conclusion(self, *, negations: bool = False) -> str:
        """Return the adversary's conclusion."""
        chosen = self.negations if negations else self.worst
        return chosen.conclusion(self.subject.name(chosen))

    def attacked(self) -> list[tuple[int, str, dict[str, int]]]:
        """Return the groups that the facts are about: number, description and histogram."""
        groups = self.subject.groups
        return [(group, self.subject.description(group), groups.histogram(group)) for group in self.worst.buckets]

    def replayed(self) -> Fraction:
        """Return the same belief from the exact solver, which is independent of the search for the worst facts."""
        return self.worst.replay(self.subject.buckets)
