"""Requested statistics: which statistic of which column, over which records, for which groups; declared before the data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from reticent.base.exact import exact, one_of
from reticent.conditions import Condition
from reticent.errors import PolicyError, did_you_mean

Statistic = Literal["count", "sum", "mean", "variance", "quantile"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
MOST_QUERIES = 1000
_KEYS = ("statistic", "column", "by", "where", "at", "weight")


@dataclass(frozen=True)
class StatisticQuery:
    """One ``statistic`` of a ``column`` over the records that meet the condition ``where``, for every group of the columns ``by``.

    A count without a column counts records, with one those whose value is known. Quantiles are those ``at`` the shares. Queries share the budget in proportion to their ``weight``.
    """

    statistic: Statistic
    column: str | None = None
    by: tuple[str, ...] = ()
    where: str | None = None
    at: tuple[Fraction, ...] = ()
    weight: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        one_of(self.statistic, "statistic", STATISTICS)
        exact(self.weight, "weight", above=0, high=10**6)
        if self.column is None and self.statistic != "count":
            raise PolicyError(f"A {self.statistic} needs a column.", setting=("queries",))
        if (self.statistic == "quantile") != bool(self.at):
            raise PolicyError(
                "A quantile needs at=, such as [0.25, 0.5, 0.75], and no other statistic has it.", setting=("queries",)
            )
        for share in self.at:
            exact(share, "at", above=0, below=1)
        if len(set(self.by)) < len(self.by):
            raise PolicyError(f"by names a column twice: {', '.join(self.by)}.", setting=("queries",))
        if self.where is not None:
            Condition.parse(self.where)

    @classmethod
    def of(cls, given: Any, place: int) -> StatisticQuery:
        """A query as a policy writes it: ``{"statistic": "mean", "column": "income", "by": ["region"], "where": "age >= 18"}``."""
        if isinstance(given, StatisticQuery):
            return given
        if not isinstance(given, Mapping) or "statistic" not in given:
            raise PolicyError(
                f"queries[{place}] must name a statistic, such as {{'statistic': 'mean', 'column': 'income'}}, but it is {given!r}.",
                setting=("queries",),
                value=given,
            )
        for name in given:
            if name not in _KEYS:
                raise PolicyError(
                    f"queries[{place}] has {name!r}, which is not known.{did_you_mean(str(name), _KEYS)} It may have {', '.join(_KEYS)}.",
                    setting=("queries",),
                )
        at = given.get("at", ())
        shares = at if isinstance(at, Sequence) and not isinstance(at, str) else (at,)
        by = given.get("by", ())
        if isinstance(by, str) or not isinstance(by, Sequence):
            raise PolicyError(
                f"queries[{place}]: by must be a list of columns, but it is {by!r}.", setting=("queries",)
            )
        try:
            return cls(
                given["statistic"],
                given.get("column"),
                tuple(map(str, by)),
                given.get("where"),
                tuple(exact(each, "at") for each in shares),
                exact(given.get("weight", 1), "weight"),
            )
        except PolicyError as problem:
            raise PolicyError(f"queries[{place}]: {problem}", setting=("queries",), value=given) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the query reads."""
        own = () if self.column is None else (self.column,)
        scope = () if self.where is None else Condition.parse(self.where).scope
        return tuple(dict.fromkeys((*own, *self.by, *scope)))

    def words(self) -> str:
        """A description of the query."""
        of = "of records" if self.column is None else f"of {self.column!r}"
        by = f" by {', '.join(self.by)}" if self.by else ""
        where = f" where {self.where}" if self.where is not None else ""
        return f"{self.statistic} {of}{by}{where}"

    def as_json(self) -> dict[str, Any]:
        """The query as plain data."""
        return {
            "statistic": self.statistic,
            "column": self.column,
            "by": list(self.by),
            "where": self.where,
            "at": [str(share) for share in self.at],
            "weight": str(self.weight),
        }

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> StatisticQuery:
        """The query that :meth:`as_json` wrote."""
        return cls(
            written["statistic"],
            written["column"],
            tuple(map(str, written["by"])),
            written["where"],
            tuple(Fraction(share) for share in written["at"]),
            Fraction(written["weight"]),
        )
