"""Requested statistics: which statistic of which column, over which records, for which groups; declared before the data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from reticent.base.exact import exact, one_of
from reticent.conditions import Condition
from reticent.errors import PolicyError, did_you_mean

Statistic = Literal["count", "sum", "mean", "variance", "quantile", "linear"]
STATISTICS: tuple[Statistic, ...] = get_args(Statistic)
MOST_QUERIES = 1000
_KEYS = ("statistic", "column", "by", "where", "at", "weight", "outcome", "on")


@dataclass(frozen=True)
class StatisticQuery:
    """One ``statistic`` of a ``column`` over the records that meet the condition ``where``, for every group of the columns ``by``.

    A count without a column counts records, with one those whose value is known. Quantiles are those ``at`` the shares. A linear regression has the coefficients of its covariates ``on``, with the
    column as its outcome. Queries share the budget in proportion to their ``weight``.
    """

    statistic: Statistic
    column: str | None = None
    by: tuple[str, ...] = ()
    where: str | None = None
    at: tuple[Fraction, ...] = ()
    weight: Fraction = Fraction(1)
    on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        one_of(self.statistic, "statistic", STATISTICS)
        exact(self.weight, "weight", above=0, high=10**6)
        if self.column is None and self.statistic != "count":
            what_it_needs = "an outcome" if self.statistic == "linear" else "a column"
            raise PolicyError(f"A {self.statistic} needs {what_it_needs}.", setting=("queries",))
        if (self.statistic == "linear") != bool(self.on):
            raise PolicyError(
                "A linear regression needs its covariates, such as on=['age', 'sex'], and no other statistic has them.",
                setting=("queries",),
            )
        if self.column in self.on or len(set(self.on)) < len(self.on):
            raise PolicyError(
                f"on must name other columns than the outcome, each once, but it is {', '.join(self.on)}.",
                setting=("queries",),
            )
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
    def of(cls, entry: Any, number: int) -> StatisticQuery:
        """A query as a policy writes it: ``{"statistic": "mean", "column": "income", "by": ["region"], "where": "age >= 18"}``."""
        if isinstance(entry, StatisticQuery):
            return entry
        if not isinstance(entry, Mapping) or "statistic" not in entry:
            raise PolicyError(
                f"queries[{number}] must name a statistic, such as {{'statistic': 'mean', 'column': 'income'}}, but it is {entry!r}.",
                setting=("queries",),
                value=entry,
            )
        for name in entry:
            if name not in _KEYS:
                raise PolicyError(
                    f"queries[{number}] has {name!r}, which is not known.{did_you_mean(str(name), _KEYS)} It may have {', '.join(_KEYS)}.",
                    setting=("queries",),
                )
        share_or_shares = entry.get("at", ())
        shares = (
            share_or_shares
            if isinstance(share_or_shares, Sequence) and not isinstance(share_or_shares, str)
            else (share_or_shares,)
        )
        grouping, covariates = entry.get("by", ()), entry.get("on", ())
        for name, listed in (("by", grouping), ("on", covariates)):
            if isinstance(listed, str) or not isinstance(listed, Sequence):
                raise PolicyError(
                    f"queries[{number}]: {name} must be a list of columns, but it is {listed!r}.", setting=("queries",)
                )
        for name in ("column", "outcome", "where"):
            if not isinstance(entry.get(name, ""), str | None):
                expected = "a condition, such as 'age >= 18'" if name == "where" else "the name of a column"
                raise PolicyError(
                    f"queries[{number}]: {name} must be {expected}, but it is {entry[name]!r}.", setting=("queries",)
                )
        unsuitable = "column" if entry["statistic"] == "linear" else "outcome"
        if unsuitable in entry:
            raise PolicyError(
                f"queries[{number}]: a linear regression has an outcome, and other statistics have a column.",
                setting=("queries",),
            )
        try:
            return cls(
                entry["statistic"],
                entry.get("outcome", entry.get("column")),
                tuple(map(str, grouping)),
                entry.get("where"),
                tuple(exact(share, "at") for share in shares),
                exact(entry.get("weight", 1), "weight"),
                tuple(map(str, covariates)),
            )
        except PolicyError as problem:
            raise PolicyError(f"queries[{number}]: {problem}", setting=("queries",), value=entry) from None

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the query reads."""
        measured = () if self.column is None else (self.column,)
        scope = () if self.where is None else Condition.parse(self.where).scope
        return tuple(dict.fromkeys((*measured, *self.on, *self.by, *scope)))

    def words(self) -> str:
        """A description of the query."""
        subject = "of records" if self.column is None else f"of {self.column!r}"
        grouping = f" by {', '.join(self.by)}" if self.by else ""
        condition = f" where {self.where}" if self.where is not None else ""
        if self.statistic == "linear":
            return f"linear regression {subject} on {', '.join(self.on)}{grouping}{condition}"
        return f"{self.statistic} {subject}{grouping}{condition}"

    def as_json(self) -> dict[str, Any]:
        """The query as plain data."""
        return {
            "statistic": self.statistic,
            "column": self.column,
            "by": list(self.by),
            "where": self.where,
            "at": [str(share) for share in self.at],
            "weight": str(self.weight),
            **({"on": list(self.on)} if self.on else {}),
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
            tuple(map(str, written.get("on", ()))),
        )
