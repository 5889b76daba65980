"""What is being measured, with names: the groups of a table or a release, who is in them and what they look like."""

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
    """Groups of one sensitive column, described by their quasi values, with the names of their people where these are known."""

    groups: Groups
    seen: AdversaryView = field(repr=False)
    names: pl.Series | None = field(default=None, repr=False)
    group_of_row: NDArray[np.int64] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, source: Any, levels: Mapping[str, int] | None = None, column: str | None = None) -> Subject:
        """A table as it stands or with some quasi columns at coarser ``levels``, or what a release shows (as published, opened, or its folder)."""
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
        """The counts alone."""
        return Buckets.of(self.groups)

    @property
    def sensitive(self) -> str:
        """The sensitive column."""
        return self.groups.domain.columns[0].name

    def description(self, group: int) -> str:
        """What everybody in a group looks like."""
        told = self.seen.describe(group)
        return ", ".join(f"{name} {value}" for name, value in told.items()) or "everybody"

    def people(self, group: int, many: int) -> list[str]:
        """Names for the first people of a group: their own in order, or numbers."""
        known: list[str] = []
        if self.names is not None and self.group_of_row is not None:
            known = sorted(self.names.gather(np.flatnonzero(self.group_of_row == group)).drop_nulls().to_list())[:many]
        where = self.description(group)
        return known + [f"person {number + 1} of ({where})" for number in range(len(known), many)]

    def explain(self, k: int) -> Explanation:
        """The worst ``k`` facts in words, and the worst that only rule values out."""
        return Explanation(self, k, witness(self.buckets, k), negation_witness(self.buckets, k))

    def name(self, worst: WorstFacts) -> _Names:
        """How the atoms of a witness are called."""
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
    """The facts behind a number, for people: what an attacker knows, about whom, and what she concludes."""

    subject: Subject
    k: int
    worst: WorstFacts
    negations: WorstFacts

    @property
    def disclosure(self) -> Fraction:
        """How sure the worst facts make the attacker."""
        return self.worst.disclosure

    def facts(self, *, negations: bool = False) -> list[str]:
        """The facts, one sentence each."""
        chosen = self.negations if negations else self.worst
        return chosen.sentences(self.subject.name(chosen))

    def conclusion(self, *, negations: bool = False) -> str:
        """What the attacker then believes."""
        chosen = self.negations if negations else self.worst
        return chosen.conclusion(self.subject.name(chosen))

    def attacked(self) -> list[tuple[int, str, dict[str, int]]]:
        """The groups that the facts are about: number, description and histogram."""
        groups = self.subject.groups
        return [(group, self.subject.description(group), groups.histogram(group)) for group in self.worst.buckets]

    def replayed(self) -> Fraction:
        """The same number from the exact solver, which shares nothing with the search for the worst facts."""
        return self.worst.replay(self.subject.buckets)
