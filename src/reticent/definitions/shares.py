"""Bounds on the share of a group that has a sensitive value or a set of them, alone or with a minimum group size."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent.base.exact import Number, exact, whole
from reticent.core import Groups
from reticent.definitions.anonymity import KAnonymity
from reticent.definitions.bounded import LargestShare, LeastFigure, rows_in
from reticent.definitions.claim_scope import GENERAL, ClaimScope
from reticent.definitions.conjunction import Conjunction, inverse
from reticent.definitions.definition import GroupDefinition, others_known
from reticent.definitions.diversity import DistinctLDiversity, ProbabilisticLDiversity
from reticent.definitions.number_text import listed, measured, shown
from reticent.definitions.scaled_comparison import WIDEST, less
from reticent.definitions.value_sets import Values, membership, named_columns, value_set
from reticent.errors import PolicyError


@dataclass(frozen=True)
class AlphaKAnonymity(Conjunction):
    """At least ``k`` people in every group, and no sensitive value makes up more than ``alpha`` of one.

    Guarantee: k candidates, and a sensitive value guessed right with a probability of at most ``alpha``. Adversary: knows quasi
    values and that the person is in the table. Monotone. The share is bounded for every value.
    Not covered: an adversary who can rule values out.
    Source: [Wong2006].

    Parameters:
        alpha: the largest share of a value.
        k: the smallest number of people in a group.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.AlphaKAnonymity(alpha="1/2", k=4)).holds
        True
    """

    alpha: Number
    k: int
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", share(self.alpha, "AlphaKAnonymity: alpha"))
        whole(self.k, "AlphaKAnonymity: k", low=1)
        self.adopt_traits()

    def members(self) -> Mapping[str, GroupDefinition]:
        """Return the two definitions that it combines, by parameter."""
        return {
            "k": KAnonymity(self.k),
            "alpha": ProbabilisticLDiversity(1 / Fraction(self.alpha), self.column),
        }

    def achieved(self, name: str, found: Any) -> Any:
        return inverse(found) if name == "alpha" else found


@dataclass(frozen=True)
class PSensitive(Conjunction):
    """p-sensitive k-anonymity: at least ``k`` people and at least ``p`` different sensitive values in every group.

    Guarantee: k candidates, and no adversary is certain of a value. Adversary: knows quasi values. Monotone; absorbing with one
    sensitive column.
    Not covered: the share of the most frequent value, and similar values.
    Source: [Truta2006].

    Parameters:
        p: the smallest number of different values in a group.
        k: the smallest number of people in a group.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.PSensitive(p=3, k=4)).holds
        True
    """

    p: int
    k: int
    column: str | None = None

    def __post_init__(self) -> None:
        whole(self.p, "PSensitive: p", low=1)
        whole(self.k, "PSensitive: k", low=1)
        self.adopt_traits()

    def members(self) -> Mapping[str, GroupDefinition]:
        return {"p": DistinctLDiversity(self.p, self.column), "k": KAnonymity(self.k)}


class SetShares(LargestShare):
    """The common part of bounds on sets of values: the largest share of a set in every group."""

    @property
    def convex(self) -> bool:
        """True: the share of a set of values is linear."""
        return True

    @abstractmethod
    def sets(self, groups: Groups) -> list[NDArray[np.bool_]]:
        """The sets, each as a mask over the values of the column."""

    def rows_by_set(self, groups: Groups) -> list[NDArray[np.int64]]:
        """For each set, the number of its rows in every group."""
        return [rows_in(groups.histograms, member) for member in self.sets(groups)]

    def largest(self, groups: Groups) -> NDArray[np.int64]:
        counts = self.rows_by_set(groups)
        return np.max(counts, axis=0) if counts else np.zeros(len(groups), dtype=np.int64)


@dataclass(frozen=True)
class ConfidenceBounding(SetShares):
    """None of the ``values`` makes up more than ``h`` of a group; join bounds for other values by ``&``.

    Guarantee: an adversary who knows any of the quasi values infers one of these values with a confidence of at most ``h``.
    Adversary: knows quasi values. Monotone, which also covers adversaries who know fewer columns: their groups are unions.
    Not covered: other values, and an adversary who can rule values out.
    Source: [Wang2007].

    Parameters:
        h: the largest confidence.
        values: the values that it bounds.
        column: the sensitive column; by default each sensitive column, with the others assumed known.
        quasi: the columns that the adversary knows (default: all), with the columns that can be computed from them.
        alone: judge the column by itself, for adversaries who know quasi values only.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.ConfidenceBounding(h="1/4", values=["asthma"])).holds
        True
    """

    h: Number
    values: Values
    column: str | None = None
    quasi: tuple[str, ...] | None = None
    alone: bool = False

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "h", exact(self.h, "ConfidenceBounding: h", low=0, high=1))
        object.__setattr__(self, "values", value_set(self.values, "ConfidenceBounding: values"))
        if not self.values:
            raise PolicyError("ConfidenceBounding: values must name at least one sensitive value.")
        if self.quasi is not None:
            object.__setattr__(self, "quasi", named_columns(self.quasi, "ConfidenceBounding: quasi"))

    @property
    def limit(self) -> Fraction:
        return Fraction(self.h)

    def sets(self, groups: Groups) -> list[NDArray[np.bool_]]:
        return [membership(groups, (value,)) for value in self._values]

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        each = ", each value by itself" if len(self._values) > 1 else ""
        return (
            f"is right to conclude that {scope.secret(self.column)} is {listed(self._values, 'or')} for at most {shown(self.h)} of "
            f"{scope.alike}{each}{scope.beside(self.column, self.alone)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the guarantee does not cover, in words."""
        return (
            others_known(self.alone)
            + scope.beyond(self.quasi)
            + (
                f"Other values of {scope.secret(self.column)} are not protected, and an attacker who can rule values out is not covered."
            )
        )

    @property
    def _known(self) -> str:
        return "quasi-identifying values" if self.quasi is None else f"the values of {listed(self.quasi)}"

    def _complaint(self, largest: Fraction) -> str:
        return f"a guarded value with a share above {shown(self.h)}; the worst has one with {measured(largest)}"

    @property
    def _values(self) -> tuple[str | None, ...]:
        return value_set(self.values, "values")


@dataclass(frozen=True)
class CategoryDiversity(SetShares):
    """Less than ``c`` of every group has a value of any category of similar values.

    Guarantee: an adversary who knows quasi values is less than ``c`` sure that a person's value belongs to a category, such as "some stomach
    disease". Adversary: knows quasi values, and is satisfied with a category. Monotone: a category's share in a mixture is at most
    the largest. Strict, as c-positive disclosure is.
    Not covered: values outside the listed categories, and an adversary who can rule values out.
    Source: our definition, after the similarity discussion in [Machanavajjhala2007].

    Parameters:
        c: the share that must not be reached.
        categories: lists of values, one for each category.
        column: the sensitive column; by default each sensitive column, with the others assumed known.
        alone: judge the column by itself, for adversaries who know quasi values only.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.CategoryDiversity(c="0.9", categories=[["flu", "cold"]])).value
        Fraction(3, 4)
    """

    c: Number
    categories: Iterable[Values]
    column: str | None = None
    alone: bool = False

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        object.__setattr__(self, "c", share(self.c, "CategoryDiversity: c"))
        categories = self.categories
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            raise PolicyError(
                f"CategoryDiversity: categories must be a list of lists of values, but it is {categories!r}."
            )
        sets = tuple(value_set(category, "CategoryDiversity: categories") for category in categories)
        if not sets or not all(sets):
            raise PolicyError("CategoryDiversity: categories needs at least one category, and none may be empty.")
        object.__setattr__(self, "categories", sets)

    @property
    def limit(self) -> Fraction:
        return Fraction(self.c)

    def within(self, rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        return less(rows, self.limit, sizes)

    def sets(self, groups: Groups) -> list[NDArray[np.bool_]]:
        return [membership(groups, values) for values in self._categories]

    def promise(self, scope: ClaimScope) -> str:
        sets = "; ".join(listed(values) for values in self._categories)
        return f"is less than {shown(self.c)} sure that {scope.secret(self.column)} is in any one of these categories: {sets}{scope.beside(self.column, self.alone)}"

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        """Return what the definition does not protect against, in sentences."""
        return others_known(self.alone) + (
            f"Only the listed categories of {scope.secret(self.column)} are protected, and an attacker who can rule values out is not covered. A value is "
            "protected by itself only where it is a category of its own."
        )

    def _complaint(self, largest: Fraction) -> str:
        return f"a category with a share of {shown(self.c)} or more; the worst has {measured(largest)}"

    @property
    def _categories(self) -> tuple[tuple[str | None, ...], ...]:
        return tuple(value_set(category, "categories") for category in self.categories)


@dataclass(frozen=True)
class WeightAtLeast(LeastFigure):
    """The distinct values of every group have a total weight of at least ``alpha``: the second half of
    (l,alpha)-diversity.

    Values without a weight count 0. Added values only add weight.
    """

    alpha: Number
    weights: Mapping[str, Number] | tuple[tuple[str, Fraction], ...]
    column: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", exact(self.alpha, "LAlphaDiversity: alpha", low=0))
        object.__setattr__(self, "weights", weight_list(self.weights, "LAlphaDiversity: weights"))

    @property
    def needed(self) -> Fraction:
        return Fraction(self.alpha)

    def figures(self, groups: Groups) -> tuple[NDArray[Any], int]:
        """Return the weight of the values in each group as an integer, and the integer that stands for weight 1."""
        listed_weights = weight_list(self.weights, "weights")
        unit = math.lcm(*(weight.denominator for _, weight in listed_weights), 1)
        column = groups.domain.columns[0]
        heaviest = sum(int(weight * unit) for _, weight in listed_weights)
        weight_of = np.zeros(column.size, dtype=np.int64 if heaviest * len(groups) < WIDEST else object)
        texts = {text: code for code, text in enumerate(column.texts)}
        for value, weight in listed_weights:
            if value in texts:
                weight_of[texts[value]] = int(weight * unit)
        return groups.histograms.add_cells(weight_of[groups.histograms.values]), unit

    def promise(self, scope: ClaimScope) -> str:
        """Return the guarantee as the end of a sentence about an attacker."""
        return (
            f"is left with values of {scope.secret(self.column)} that together weigh at least {shown(self.alpha)}, harmless ones more than grave "
            f"ones{scope.beside(self.column)}"
        )

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return (
            f"Weights say how harmless the possible values of {scope.secret(self.column)} are, not how likely each is."
        )

    def _complaint(self, lightest: Fraction) -> str:
        return f"values that together weigh less than {shown(self.alpha)}; the lightest weighs {measured(lightest)}"


@dataclass(frozen=True)
class LAlphaDiversity(Conjunction):
    """(l,alpha)-diversity: at least ``l`` different values in every group, which together weigh at least ``alpha``.

    Guarantee: at least ``l`` possible values, and a group does not consist of grave values only.
    Adversary: knows quasi values. Monotone; absorbing with one sensitive column.
    Not covered: how likely each possible value is.
    Source: [Sun2011].

    Parameters:
        l: the smallest number of different values in a group.
        alpha: the minimum total weight of these values.
        weights: how harmless each value is (0: gravest); values that are not listed weigh nothing.
        column: the sensitive column; by default each sensitive column, with the others assumed known.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [30, 30, 30, 30], "illness": ["flu", "flu", "cold", "asthma"]}, quasi=["age"], sensitive="illness")
        >>> rt.assess(table, rt.LAlphaDiversity(l=2, alpha=2, weights={"flu": 1, "cold": 1})).holds
        True
    """

    l: int  # noqa: E741 - the literature calls it l
    alpha: Number
    weights: Mapping[str, Number] | tuple[tuple[str, Fraction], ...]
    column: str | None = None

    def __post_init__(self) -> None:
        """Check the parameters, and store them in their exact or normalized form."""
        whole(self.l, "LAlphaDiversity: l", low=1)
        object.__setattr__(self, "alpha", exact(self.alpha, "LAlphaDiversity: alpha", low=0))
        object.__setattr__(self, "weights", weight_list(self.weights, "LAlphaDiversity: weights"))
        self.adopt_traits()

    def members(self) -> Mapping[str, GroupDefinition]:
        """Return the two definitions that it combines, by parameter."""
        return {
            "l": DistinctLDiversity(self.l, self.column),
            "alpha": WeightAtLeast(self.alpha, self.weights, self.column),
        }

    def parameters(self) -> dict[str, Any]:
        weights = weight_list(self.weights, "weights")
        return {**super().parameters(), "weights": {value: str(weight) for value, weight in weights}}


def share(value: Number, name: str) -> Fraction:
    """``value`` as a share of a group: above 0, at most 1."""
    return exact(value, name, above=0, high=1)


def weight_list(
    weights: Mapping[str, Number] | tuple[tuple[str, Fraction], ...], name: str
) -> tuple[tuple[str, Fraction], ...]:
    """Weights by value, sorted; every weight is at least 0."""
    try:
        pairs = [(value, weight) for value, weight in (weights.items() if isinstance(weights, Mapping) else weights)]
    except (TypeError, ValueError):
        raise PolicyError(
            f"{name} must give a weight for each sensitive value, such as {{'flu': 1, 'hiv': 0}}, but it is {weights!r}."
        ) from None
    return tuple(sorted((str(value), exact(weight, f"{name} of {value!r}", low=0)) for value, weight in pairs))
