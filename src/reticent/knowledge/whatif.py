"""The belief of an adversary with exactly these facts: the explicit counterpart of the worst case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from reticent.base.exact import whole
from reticent.errors import PolicyError
from reticent.knowledge.tiny_worlds import Predicate, holds_in, worlds
from reticent.knowledge.world_samples import SampledBelief, estimate
from reticent.worst_case import (
    BUDGET,
    BudgetExceeded,
    Clause,
    Fact,
    PersonValue,
    Population,
    WorkBudget,
    components,
    conditional,
    disclosure_risk,
    parse_fact,
    probability,
)

if TYPE_CHECKING:
    from reticent.base.context import Context

WORLDS = 200_000
"""The number of random worlds sampled if the exact computation exceeds its budget."""

UNIT = frozenset[PersonValue]()


@dataclass(frozen=True)
class WhatIf:
    """The consequences of some facts.

    ``posterior`` is None if the facts contradict the release (``contradiction``), or if sampling found no consistent
    world (``exact`` is False and there is no interval). ``prior`` is the belief without any facts, ``cost`` the number
    of basic implications equivalent to the facts: the k to compare with on the disclosure curve. If ``exact`` is False,
    ``posterior`` is an estimate and ``interval`` covers the truth with the stated confidence. Without ``ask``,
    ``asked`` is the statement with the highest posterior.
    """

    asked: str
    posterior: Fraction | float | None
    prior: Fraction
    cost: int
    contradiction: bool
    exact: bool = True
    costs: tuple[tuple[str, int], ...] = ()
    interval: tuple[float, float] | None = None
    confidence: float | None = None

    def sentence(self) -> str:
        """Return the result in words."""
        before = f"(without the facts: {_shown(self.prior)})"
        if self.contradiction:
            return "These facts contradict the release: no arrangement of the published values fits all of them."
        if self.posterior is None:
            return "Undecided: the exact answer exceeds the budget, and no sampled world fits the facts."
        if self.exact:
            return f"{self.asked} has probability {_shown(self.posterior)} {before}; the facts cost {self.cost}."
        assert self.interval is not None
        assert self.confidence is not None
        return (
            f"NOT EXACT: {self.asked} has probability of about {self.posterior:.4f}, between {self.interval[0]:.4f} and "
            f"{self.interval[1]:.4f} with {self.confidence:.0%} confidence {before}; the facts cost {self.cost}."
        )


def explore(
    population: Population,
    know: Sequence[str | Fact | Predicate],
    ask: str | PersonValue | None = None,
    *,
    budget: int = BUDGET,
    samples: int = WORLDS,
    seed: int = 0,
    context: Context | None = None,
) -> WhatIf:
    """Return the belief in ``ask`` of an adversary who knows ``know``, or the statement with the highest posterior if
    nothing is asked.

    Exact within ``budget`` placements; beyond it an estimate from ``samples`` random worlds, labelled as such
    (``samples=0`` raises BudgetExceeded instead).
    """
    if isinstance(know, str | Fact) or callable(know):
        know = [know]
    budget_left = WorkBudget(whole(budget, "budget", low=1), context)
    facts = [
        population.resolve(fact if isinstance(fact, Fact) else parse_fact(fact)) for fact in know if not callable(fact)
    ]
    predicates = [fact for fact in know if callable(fact)]
    question = None if ask is None else _question(population, ask)
    questions = [] if question is None else [question]
    population.check_room({atom.person for fact in (*facts, *questions) for atom in fact.atoms})
    costs = tuple((fact.text, population.cost(fact)) for fact in facts)
    known = [clause for fact in facts for clause in fact.clauses]
    if predicates:
        if question is None:
            raise PolicyError("Knowledge given as a function needs a statement to evaluate, such as ask='Ed=flu'.")
        return _enumerated(population, known, predicates, costs, question)
    total = sum(cost for _, cost in costs)
    if question is None:
        return _surest(population, known, costs, total, budget_left)
    prior = probability(population, question.clauses)
    consistent = _consistent_elsewhere(population, known, question, budget_left, samples, seed)
    if consistent is False:
        return WhatIf(question.text, None, prior, cost=total, contradiction=True, costs=costs)
    connected = _beside(population, known, question)
    try:
        posterior = conditional(population, connected, question.clauses, budget_left)
        if posterior is None:
            return WhatIf(question.text, None, prior, cost=total, contradiction=True, costs=costs)
        return WhatIf(
            question.text,
            posterior if consistent else None,
            prior,
            cost=total,
            contradiction=False,
            exact=bool(consistent),
            costs=costs,
        )
    except BudgetExceeded:
        if not samples:
            raise
    estimated = (
        estimate(population, connected, question.clauses, samples, seed, budget_left.context) if consistent else None
    )
    return _estimated(question, estimated, prior, total, costs)


def _estimated(
    question: Fact, about: SampledBelief | None, prior: Fraction, cost: int, costs: tuple[tuple[str, int], ...]
) -> WhatIf:
    """Return the answer to a question by sampled worlds; without a belief if none was consistent."""
    if about is None:
        return WhatIf(question.text, None, prior, cost, contradiction=False, exact=False, costs=costs)
    interval = about.low, about.high
    return WhatIf(
        question.text,
        about.value,
        prior,
        cost,
        contradiction=False,
        exact=False,
        costs=costs,
        interval=interval,
        confidence=about.confidence,
    )


def _question(population: Population, ask: str | PersonValue) -> Fact:
    fact = Fact(str(ask), (Clause(UNIT, frozenset({ask})),)) if isinstance(ask, PersonValue) else parse_fact(ask)
    return population.resolve(fact)


def _buckets(population: Population, clauses: Sequence[Clause]) -> set[int]:
    return {population.bucket_of[person] for clause in clauses for person in clause.people}


def _beside(population: Population, known: Sequence[Clause], question: Fact) -> list[Clause]:
    """Return the facts connected with the statement; the others cannot change its belief."""
    question_buckets = _buckets(population, question.clauses)
    return [
        clause
        for component in components(population, known)
        if question_buckets & _buckets(population, component.clauses)
        for clause in component.clauses
    ]


def _consistent_elsewhere(
    population: Population, known: Sequence[Clause], question: Fact, budget: WorkBudget, samples: int, seed: int
) -> bool | None:
    """Return whether the unconnected facts are satisfiable at all; None if that could not be decided."""
    question_buckets = _buckets(population, question.clauses)
    for component in components(population, known):
        if question_buckets & _buckets(population, component.clauses):
            continue
        try:
            if not probability(population, component.clauses, budget):
                return False
        except BudgetExceeded:
            if not samples:
                raise
            if estimate(population, component.clauses, (), samples, seed, budget.context) is None:
                return None
    return True


def _surest(
    population: Population, known: Sequence[Clause], costs: tuple[tuple[str, int], ...], total: int, budget: WorkBudget
) -> WhatIf:
    """Return the statement about which an adversary with this knowledge is surest."""
    risk = disclosure_risk(population, known, budget)
    if risk is None:
        return WhatIf("anything", None, prior=Fraction(0), cost=total, contradiction=True, costs=costs)
    posterior, atom = risk
    return WhatIf(str(atom), posterior, prior=population.prior(atom), cost=total, contradiction=False, costs=costs)


def _enumerated(
    population: Population,
    known: Sequence[Clause],
    predicates: Sequence[Predicate],
    costs: tuple[tuple[str, int], ...],
    question: Fact,
) -> WhatIf:
    """Return the belief counted over all worlds, for knowledge given as functions."""
    all_worlds = list(worlds(population))
    allowed = [world for world in all_worlds if all(predicate(world) for predicate in predicates)]
    fitting = [world for world in allowed if holds_in(world, known)]
    hits = sum(holds_in(world, question.clauses) for world in fitting)
    costs = (*costs, ("function", len(all_worlds) - len(allowed)))
    total = sum(cost for _, cost in costs)
    prior = Fraction(sum(holds_in(world, question.clauses) for world in all_worlds), len(all_worlds))
    posterior = Fraction(hits, len(fitting)) if fitting else None
    return WhatIf(question.text, posterior, prior, cost=total, contradiction=not fitting, costs=costs)


def _shown(value: Fraction | float) -> str:
    return f"{value} = {float(value):.4f}" if isinstance(value, Fraction) and value.denominator > 1 else str(value)
