"""Personalized privacy: each person states which values must not be inferred about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import Number, exact
from reticent.core import Groups
from reticent.definitions.bounded import rows_in
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.definition import Assessment, SensitiveDefinition, Witness
from reticent.definitions.diversity_figures import failures, occupied
from reticent.definitions.number_text import measured, shown
from reticent.definitions.scaled_comparison import at_most, largest_ratio
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import SensitiveColumn

if TYPE_CHECKING:
    from reticent.table import Table


@dataclass(frozen=True)
class Wish:
    """A guarding node: no adversary may infer a value below ``node`` with probability above ``limit`` (None: the common limit)."""

    node: str
    limit: Fraction | None

    def write(self) -> str:
        """The wish encoded as the name of a count."""
        return f"{'' if self.limit is None else self.limit} {self.node}"

    @classmethod
    def read(cls, text: str) -> Wish:
        """Decode a wish from the name of a count."""
        limit, _, node = text.partition(" ")
        return cls(node, Fraction(limit) if limit else None)


@dataclass(frozen=True)
class PersonalPrivacy(SensitiveDefinition):
    """For each person who names a guarding node, at most a threshold share of their group has a value below that node.

    Guarantee: for every person with a guarding node, an adversary who knows the quasi values infers a value below the node with probability at
    most the person's threshold.
    Adversary: knows quasi values.
    Not covered: people without a guarding node, and an adversary who can rule values out. Nodes and thresholds are not published, so only
    the publisher can check this.
    Not monotone: a group may contain many records of a value if nobody in it guards that value. One sensitive column only.
    Source: [Xiao2006b].

    Parameters:
        h: the threshold of people who state none.
        guards: the column in which people name a value or a category of the sensitive column's hierarchy; an empty cell means not guarded.
        column: the sensitive column, if there are several.
        thresholds: the column with each person's own threshold.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [30, 30], "illness": ["flu", "cold"], "guard": ["flu", None]}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness", private=["guard"])
        >>> rt.assess(table, rt.PersonalPrivacy(h="1/2", guards="guard")).holds
        True
    """

    h: Number
    guards: str
    column: str | None = None
    thresholds: str | None = None

    monotone = False
    shown_by_files = False

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "h", exact(self.h, "PersonalPrivacy: h", low=0, high=1))
        for name in ("guards", "thresholds"):
            column = getattr(self, name)
            if (column is not None or name == "guards") and (not isinstance(column, str) or not column):
                raise PolicyError(f"PersonalPrivacy: {name} must be the name of a column, but it is {column!r}.")

    def counting(self, table: Table) -> Table:
        """Return the table with one more count for each distinct wish: 1 in the rows of people who have it."""
        wishes = {"node": self._private(table, self.guards).cast(pl.String)}
        if self.thresholds is not None:
            wishes["limit"] = self._private(table, self.thresholds).cast(pl.String)
        rows_by_wish = pl.DataFrame(wishes).with_row_index("row").drop_nulls("node").group_by(list(wishes)).agg("row")
        counts: dict[str, pl.Series] = {}
        for node, *limit, people in zip(*rows_by_wish.get_columns(), strict=True):
            wish = Wish(str(node), self._limit(str(limit[0])) if limit and limit[0] is not None else None)
            # Equal thresholds in different spellings are one wish.
            name = self._prefix + wish.write()
            rows = np.zeros(table.rows, dtype=np.uint8) if name not in counts else counts[name].to_numpy().copy()
            rows[people.to_numpy()] = 1
            counts[name] = pl.Series(rows)
        return table.with_extra_counts(dict(sorted(counts.items())))

    def failing_in(self, groups: Groups) -> NDArray[np.bool_]:
        """Return a mask of the groups in which too many people have a value that a member wants protected."""
        failing = np.zeros(len(groups), dtype=bool)
        for wish, where_wished, guarded in self._guarded(groups):
            failing[where_wished] |= ~at_most(guarded, self._allowed(wish), groups.sizes[where_wished])
        return failing

    def assess_in(self, groups: Groups) -> Assessment:
        """Assess one column. The value is the largest share, over all people with a guarding node, of values below their node."""
        filled, failing = occupied(groups), np.zeros(len(groups), dtype=bool)
        largest, excess, worst, detail = Fraction(0), Fraction(-1), int(filled[0]), ""
        for wish, where_wished, guarded in self._guarded(groups):
            sizes, allowed = groups.sizes[where_wished], self._allowed(wish)
            failing[where_wished] |= ~at_most(guarded, allowed, sizes)
            index, ratio = largest_ratio(guarded, sizes)
            chance = Fraction(ratio)
            largest = max(largest, chance)
            if chance - allowed > excess:
                excess, worst = chance - allowed, int(where_wished[index])
                detail = f"{measured(chance)} below {wish.node!r}, where {shown(allowed)} is allowed"
        text = f"{int(failing.sum())} of {len(groups)} groups have more values below a guarding node than the person who named it allows; the worst has {detail}."
        witness = Witness(worst, text) if failing.any() else None
        return Assessment(self, witness is None, largest, witness, failures(groups, failing))

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        own = f"at most what the person allows ({shown(self.h)} where nothing was said)"
        limit = own if self.thresholds is not None else f"at most {shown(self.h)}"
        return (
            f"concludes what the person asked to have guarded of {scope.secret(self.column)} with a chance of {limit}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return (
            f"People who asked for nothing are not protected, and nobody is protected from an attacker who can rule out values of {scope.secret(self.column)}. What "
            "people asked for is not published: that the published shares are small enough for them is the publisher's word."
        )

    @property
    def _prefix(self) -> str:
        """Prefix of the names of this definition's counts; other definitions may use other columns of the same table."""
        return f"wish {self.guards!r} {self.thresholds!r}: "

    def _private(self, table: Table, name: str) -> pl.Series:
        """A column of guarding nodes or thresholds. Raises if the column would be published."""
        if name not in table.schema:
            column_names = [*table.schema, *table.left_out]
            hint = f" It was not read; declare it private: private=[{name!r}]." if name in table.left_out else ""
            raise DataError(
                f"PersonalPrivacy: there is no column {name!r} with guarding nodes."
                f"{hint or did_you_mean(name, column_names)}"
            )
        published = (*table.quasi, *table.sensitive, *table.declared, *table.pseudonyms)
        if name in published:
            raise PolicyError(
                f"PersonalPrivacy: the column {name!r} contains people's guarding nodes, but it would be published. Give it the role private."
            )
        return table.frame[name]

    def _limit(self, text: str) -> Fraction:
        return exact(text, f"PersonalPrivacy: a threshold in column {self.thresholds!r}", low=0, high=1)

    def _allowed(self, wish: Wish) -> Fraction:
        return Fraction(self.h) if wish.limit is None else wish.limit

    def _guarded(self, groups: Groups) -> Iterator[tuple[Wish, NDArray[np.int64], NDArray[np.int64]]]:
        """For each wish, the groups in which a person has it, and the number of their rows below its node."""
        below_node: dict[str, NDArray[np.int64]] = {}
        for name, askers in groups.extras.items():
            if name.startswith(self._prefix):
                wish, where_wished = Wish.read(name.removeprefix(self._prefix)), np.flatnonzero(askers != 0)
                if wish.node not in below_node:
                    below_node[wish.node] = rows_in(groups.histograms, below(groups.domain.columns[0], wish.node))
                if len(where_wished):
                    yield wish, where_wished, below_node[wish.node][where_wished]

    def _refined(self, groups: Groups) -> Iterator[Groups]:
        """Yield the groups of the only sensitive column. Raises if there are several."""
        if len(groups.domain.columns) > 1:
            names = ", ".join(column.name for column in groups.domain.columns)
            raise PolicyError(
                f"PersonalPrivacy guards one sensitive column, but the table has several: {names}. Declare only the one that the guarding nodes refer to."
            )
        return super()._refined(groups)


def below(column: SensitiveColumn, node: str) -> NDArray[np.bool_]:
    """Mask of the values below a node: the value of that name, and the categories of that name at any level of the
    column's hierarchy.

    If a value and a category share the name, both are guarded.
    """
    texts = column.texts
    covered: NDArray[np.bool_] = np.array([text == node for text in texts])
    labels: list[str] = []
    for level in column.hierarchy.levels if column.hierarchy is not None else ():
        labels.extend(level.labels)
        if node in level.labels:
            covered |= level.parts == level.labels.index(node)
    if covered.any():
        return covered
    raise DataError(
        f"A person guards {node!r}, which is neither a value nor a category of column {column.name!r}."
        f"{did_you_mean(node, [*texts, *labels])}"
    )
