"""A condition: text that is parsed once and evaluated on rows and on generalized labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions.coverage import covers, cut_regions
from reticent.conditions.domain import Domain
from reticent.conditions.evaluation import truth
from reticent.conditions.nodes import Always, And, Column, Comparison, Member, Node, Or, constant, scope
from reticent.conditions.operand_kinds import check, check_names, kinds_of, suggested
from reticent.conditions.regions import Coverage, Covers
from reticent.errors import DataError
from reticent.table import Meaning, ValueType


@dataclass(frozen=True)
class Condition:
    """A condition on the rows of a table, such as ``age between 30 and 40 and disease = 'flu'``.

    ``text`` is the source, ``node`` the syntax tree. A row meets a condition if it is true for it; unknown, the result
    of comparing with null, is not true.
    """

    text: str
    node: Node

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition. Raises :class:`ConditionError`, pointing at what cannot be parsed."""
        # sqlglot is imported lazily: utility measures use this package without parsing.
        from reticent.conditions.parser import read

        return cls(text, read(text))

    @classmethod
    def of(cls, condition: str | Condition) -> Condition:
        """A condition, or the text of one."""
        return condition if isinstance(condition, Condition) else cls.parse(condition)

    def within(self, rows: pl.DataFrame) -> Condition:
        """Return the condition restricted to rows that agree with some row of a public table in all its columns; rows
        with nulls agree with none.
        """
        listed = rows.unique(maintain_order=True).drop_nulls()
        if not rows.columns:
            raise DataError("A table without columns cannot restrict a condition.")
        constants = [[constant(value, name) for value in listed[name].to_list()] for name in rows.columns]
        if len(constants) == 1:
            met: Node = Member(Column(rows.columns[0]), tuple(constants[0])) if constants[0] else Always(False)
        else:
            columns = [Column(name) for name in rows.columns]
            agreeing = (
                And(tuple(Comparison("=", column, value) for column, value in zip(columns, row, strict=True)))
                for row in zip(*constants, strict=True)
            )
            met = Or(tuple(agreeing)) if listed.height else Always(False)
        return Condition(f"({self.text}) within a table of {listed.height} rows", And((self.node, met)))

    def __str__(self) -> str:
        return self.text

    @cached_property
    def scope(self) -> tuple[str, ...]:
        """The columns of the condition, in order of first appearance."""
        return scope(self.node)

    @property
    def conjuncts(self) -> tuple[Condition, ...]:
        """Conditions whose conjunction is this one."""
        if not isinstance(self.node, And):
            return (self,)
        parts = tuple(Condition(str(part), part) for part in self.node.parts)
        return tuple(conjunct for part in parts for conjunct in part.conjuncts)

    @classmethod
    def together(cls, parts: Sequence[Condition]) -> Condition:
        """The conjunction of some conditions."""
        if len(parts) == 1:
            return parts[0]
        node = And(tuple(part.node for part in parts))
        return cls(str(node), node)

    def check(self, kinds: Mapping[str, ValueType], known: Iterable[str] | None = None) -> None:
        """Raise for unknown columns and for operands of incompatible types."""
        check(self.node, kinds, kinds if known is None else known, self.text)

    def check_names(self, known: Iterable[str]) -> None:
        """Raise for unknown columns."""
        check_names(self.node, known, self.text)

    def truth(self, frame: pl.DataFrame) -> pl.Series:
        """True, false or null (unknown) for every row of a frame."""
        self.check(kinds_of(frame, self.scope), frame.columns)
        return truth(self.node, frame)

    def mask(self, frame: pl.DataFrame) -> pl.Series:
        """Mask of the rows of a frame that meet the condition, as in SQL's ``WHERE``."""
        return self.truth(frame).fill_null(False).rename("")

    def covers(
        self,
        codes: Mapping[str, NDArray[np.int64]],
        meanings: Mapping[str, Sequence[Meaning]],
        domains: Mapping[str, Domain] | None = None,
    ) -> Covers:
        """Return the part of each of many regions (one label per column) that satisfies the condition.

        Region ``i`` has in column ``c`` the label whose meaning is ``meanings[c][codes[c][i]]``. ``domains`` is public
        knowledge of the columns' values; for a column without one the domain is guessed from its meanings. A column
        without meanings is published unchanged, and its codes index the leaves of its domain.
        """
        guessed = {
            name: Domain.guessed(label_meanings, suggested(self.node, name))
            for name, label_meanings in meanings.items()
        }
        all_domains = guessed | dict(domains or {})
        self.check({name: domain.kind for name, domain in all_domains.items()})
        count = len(next(iter(codes.values()))) if codes else 1
        return covers(self.node, cut_regions(self.node, meanings, codes, all_domains, count))

    def cover(self, cells: Mapping[str, Meaning], domains: Mapping[str, Domain] | None = None) -> Coverage:
        """Return the part of one region, given by the meaning of its label in every column, that satisfies the
        condition.
        """
        first_code = np.zeros(1, dtype=np.int64)
        return self.covers(
            dict.fromkeys(cells, first_code), {name: [meaning] for name, meaning in cells.items()}, domains
        )[0]
