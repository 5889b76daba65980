"""The steward's declarations: the table, public and sensitive columns, and roles. Validated on construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from reticent.base.exact import exact, whole
from reticent.errors import PolicyError, did_you_mean
from reticent.io import Source

FUNCTIONS = ("sum", "avg", "count", "max", "min", "var_pop", "quantile")
STEWARD = "steward"
"""The user of the command line, who may query everything; no other user may have this name."""

_FAMILIES = ("linear", "max", "min")
_BOUNDED = "a column with bounds cannot be audited classically: if all values may be at the bound, even the sum over all people could disclose every value, so all sums would be denied. Use auditor = 'probabilistic', or set bounds = 'ignored' to protect against users who do not use the bounds"


@dataclass(frozen=True)
class PriorSettings:
    """The public prior of one value: ``normal`` with mean and deviation, ``uniform`` between two ends, or
    ``exponential`` with the mean above a low end.
    """

    kind: Literal["normal", "uniform", "exponential"]
    first: Fraction
    second: Fraction

    def __post_init__(self) -> None:
        if self.kind == "normal" and self.second <= 0:
            raise PolicyError(
                f"prior: deviation must be above 0, but it is {self.second}.", setting=("prior", "deviation")
            )
        if self.kind == "exponential" and self.first <= 0:
            raise PolicyError(f"prior: mean must be above 0, but it is {self.first}.")
        if self.kind == "uniform" and self.first >= self.second:
            raise PolicyError(
                f"prior: low must be below high, but they are {self.first} and {self.second}.", setting=("prior", "low")
            )


@dataclass(frozen=True)
class Chance:
    """Parameters of a probabilistic auditor: (lambda, delta, beta, T)-privacy under a prior."""

    ratio: Fraction
    beta: Fraction
    delta: Fraction
    rounds: int
    prior: PriorSettings

    def __post_init__(self) -> None:
        exact(self.ratio, "lambda", low=0)
        exact(self.beta, "beta", low=1)
        exact(self.delta, "delta", low=0, high=1)
        whole(self.rounds, "rounds", low=1)
        if self.ratio == 0 or self.delta == 0:
            raise PolicyError(
                "lambda and delta must be above 0: with 0 nothing could ever be answered.",
                setting=("delta" if self.delta == 0 else "lambda",),
            )


@dataclass(frozen=True)
class Noise:
    """Noisy answers for a column: a budget, the cost of each answer, and the range to which values are clamped.

    With ``only`` the column never gives exact answers; otherwise a denied query may get a noisy answer instead. Answers
    about disjoint groups of people, in one query, cost as much as one of them.

    *Guarantee*: the noisy answers of a column together are epsilon-differentially private for the whole budget,
    neighbours being tables in which one person's value differs; the members of a row set are public. Each answer is
    also charged to the budget of the data set. Repeating a query returns the same noise. *Adversary*: knows all other
    values. In combination with exact answers the bound is for tables that agree with them: if exact answers link a
    person's value to those of m others, odds may change by a factor exp((m + 1) epsilon) instead of exp(epsilon).
    """

    epsilon: Fraction
    each: Fraction
    low: Fraction
    high: Fraction
    only: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "each"):
            if exact(getattr(self, name), f"noise: {name}", low=0) == 0:
                raise PolicyError(f"noise: {name} must be above 0.", setting=("noise", name))
        if self.each > self.epsilon:
            raise PolicyError(
                f"noise: each answer costs {self.each}, more than the whole budget epsilon = {self.epsilon}.",
                setting=("noise", "each"),
            )
        if self.low >= self.high:
            raise PolicyError(
                f"noise: range must be increasing, but it goes from {self.low} to {self.high}.",
                setting=("noise", "range"),
            )


@dataclass(frozen=True)
class ProtectedColumn:
    """A protected column and its declared properties; nothing is inferred from the data.

    ``bounds`` is the publicly known range, or ``"ignored"``; ``decimals`` makes floating-point numbers exact;
    ``nulls="public"`` means that it is public for whom the value is missing. ``changes`` is what users may know about
    changes of values: with ``"known"`` by how much each value changed (or one percentage for all), with ``"any"``
    anything, so that no query is answered after a change, and with ``"unknown"`` nothing: the old and the new value are
    unrelated numbers.
    """

    name: str
    bounds: tuple[Fraction, Fraction] | Literal["ignored"] | None = None
    duplicates: bool = True
    family: Literal["linear", "max", "min"] | None = None
    nulls: Literal["refuse", "public"] = "refuse"
    decimals: int | None = None
    chance: Chance | None = None
    noise: Noise | None = None
    changes: Literal["known", "any", "unknown"] = "known"

    def __post_init__(self) -> None:
        if self.changes not in ("known", "any", "unknown"):
            raise PolicyError(
                f"changes must be 'known', 'any' or 'unknown', but it is {self.changes!r}.", setting=("changes",)
            )
        if self.family is not None and self.family not in _FAMILIES:
            raise PolicyError(
                f"family must be one of {', '.join(_FAMILIES)}, but it is {self.family!r}.", setting=("family",)
            )
        if self.decimals is not None and whole(self.decimals, "decimals", low=0) > 18:
            raise PolicyError(f"decimals must be at most 18, but it is {self.decimals}.", setting=("decimals",))
        if self.chance is None and self.bounds is None:
            raise PolicyError(
                f"bounds must be declared for column {self.name!r}: [low, high] if the range of its values is public (a salary is never below 0), or 'ignored'. A classical auditor is safe only against users who do not use the range.",
                setting=("bounds",),
            )
        if self.noise is not None and self.noise.only and self.chance is not None:
            raise PolicyError(
                "noise: when = 'always' leaves nothing to audit. Remove the auditor's parameters.",
                setting=("noise", "when"),
            )

    @property
    def unit(self) -> Fraction:
        """The step of noisy answers: one unit of the last declared decimal place."""
        return Fraction(1, 10 ** (self.decimals or 0))

    @property
    def refusal(self) -> str | None:
        """Return why no exact answer can ever be given; None if one can. An example is a bounded column under a classical auditor."""
        if self.noise is not None and self.noise.only:
            return f"Column {self.name!r} gives noisy answers only."
        if self.chance is None and self.bounds != "ignored":
            return f"Column {self.name!r}: {_BOUNDED}."
        return None


@dataclass(frozen=True)
class Role:
    """The functions and columns that a role may query, and its daily quota; None is no limit."""

    name: str
    columns: frozenset[str] | None = None
    functions: frozenset[str] = frozenset(FUNCTIONS)
    questions_per_day: int | None = None

    def __post_init__(self) -> None:
        for function in self.functions:
            if function not in FUNCTIONS:
                raise PolicyError(
                    f"functions names {function!r}, which is not one of {', '.join(FUNCTIONS)}.{did_you_mean(function, FUNCTIONS)}",
                    setting=("functions",),
                    value=function,
                )
        if self.questions_per_day is not None:
            whole(self.questions_per_day, "questions_per_day", low=0)


@dataclass(frozen=True)
class Settings:
    """An audited table. ``view`` is the name used after FROM; ``newest`` is the second location of the ledger's newest
    position.

    ``beside`` is whether queries may be answered after other disclosures about the same people that are not assessed
    jointly.
    """

    dataset: str
    source: Source
    view: str
    key: str
    public: tuple[str, ...]
    sensitive: Mapping[str, ProtectedColumn]
    roles: Mapping[str, Role] = field(default_factory=dict)
    users: Mapping[str, str] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    ledger: Path | None = None
    newest: Path | None = None
    beside: Literal["refuse", "allow"] = "refuse"

    def __post_init__(self) -> None:
        if not self.dataset.strip():
            raise PolicyError(
                "dataset must be a non-empty name: the ledger identifies the table by it.", setting=("dataset",)
            )
        if not self.sensitive:
            raise PolicyError(
                "sensitive: at least one column must be protected, such as [sensitive.salary].", setting=("sensitive",)
            )
        self._check_roles_of_columns()
        for name, role in self.roles.items():
            for column in role.columns or ():
                if column not in self.sensitive:
                    raise PolicyError(
                        f"role {name!r} names column {column!r}, which is not sensitive.{did_you_mean(column, self.sensitive)}",
                        setting=("roles", name, "columns"),
                    )
        for user, role_name in self.users.items():
            if user == STEWARD:
                raise PolicyError(
                    f"users: {STEWARD!r} is reserved for the command line. Choose another name.",
                    setting=("users", user),
                )
            if role_name not in self.roles:
                raise PolicyError(
                    f"user {user!r} has the role {role_name!r}, which is not defined.{did_you_mean(role_name, self.roles)}",
                    setting=("users", user),
                )

    def _check_roles_of_columns(self) -> None:
        """Refuse a column with two roles; only the key may also be public."""
        role_of_column: dict[str, Any] = {}
        for kind, names in (("public", self.public), ("sensitive", list(self.sensitive))):
            for name in names:
                if name in role_of_column:
                    conflict = "listed twice" if role_of_column[name] == kind else f"{role_of_column[name]} and {kind}"
                    raise PolicyError(
                        f"column {name!r} is {conflict}. Give it one role.",
                        setting=("sensitive", name) if kind == "sensitive" else ("database", "public"),
                    )
                role_of_column[name] = kind
        if self.key in self.sensitive:
            raise PolicyError(
                f"key: column {self.key!r} is sensitive. A key only identifies a person.",
                setting=("sensitive", self.key),
            )

    def role_of(self, user: str) -> Role:
        """Return the role of a user; the steward may query everything."""
        if user == STEWARD:
            return Role(STEWARD)
        if user not in self.users:
            raise PolicyError(f"There is no user {user!r}.{did_you_mean(user, self.users)}")
        return self.roles[self.users[user]]
