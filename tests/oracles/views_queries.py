"""Random small queries for the oracles, and their literal evaluation. Shares no code with the product.

A query is a list of disjuncts ``(head, atoms, comparisons)``. A term is a string (variable) or a number (constant).
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

Term = Any
Row = tuple[str, tuple[Any, ...]]
Disjunct = tuple[tuple[Term, ...], list[tuple[str, tuple[Term, ...]]], list[tuple[str, Term, Term]]]
Query = list[Disjunct]
Domains = dict[tuple[str, int], list[Any]]


def variables(disjunct: Disjunct) -> list[str]:
    return list(dict.fromkeys(t for _, terms in disjunct[1] for t in terms if isinstance(t, str)))


def holds(operator: str, left: Any, right: Any) -> bool:
    return bool({"<": left < right, "<=": left <= right, "!=": left != right}[operator])


def valuations(disjunct: Disjunct, domains: Domains) -> Iterator[dict[str, Any]]:
    """Every valuation of the variables over the columns they stand in that satisfies the comparisons."""
    choices: dict[str, list[Any]] = {}
    for relation, terms in disjunct[1]:
        for position, term in enumerate(terms):
            if isinstance(term, str):
                here = domains[relation, position]
                choices[term] = [value for value in choices.get(term, here) if value in here]
    names = list(choices)
    for values in product(*(choices[name] for name in names)):
        found = dict(zip(names, values, strict=True))
        if all(holds(op, found.get(a, a), found.get(b, b)) for op, a, b in disjunct[2]):
            yield found


def ground(terms: Iterable[Term], valuation: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(valuation[t] if isinstance(t, str) else t for t in terms)


def facts(disjunct: Disjunct, valuation: dict[str, Any]) -> frozenset[Row]:
    return frozenset((relation, ground(terms, valuation)) for relation, terms in disjunct[1])


def answers(query: Query, instance: frozenset[Row]) -> frozenset[tuple[Any, ...]]:
    """The set of answers, by joining one subgoal after the other."""
    found = set()
    for head, atoms, comparisons in query:
        partial: list[dict[str, Any]] = [{}]
        for relation, terms in atoms:
            extended = []
            for binding in partial:
                for name, row in instance:
                    if name != relation:
                        continue
                    new = dict(binding)
                    if all(
                        (new.setdefault(t, v) == v) if isinstance(t, str) else t == v
                        for t, v in zip(terms, row, strict=True)
                    ):
                        extended.append(new)
            partial = extended
        for binding in partial:
            if all(holds(op, binding.get(a, a), binding.get(b, b)) for op, a, b in comparisons):
                found.add(ground(head, binding))
    return frozenset(found)


def bag_answers(query: Query, instance: frozenset[Row]) -> tuple[tuple[Any, ...], ...]:
    """The multiset of answers of a single rule: one for each valuation of its subgoals."""
    ((head, atoms, comparisons),) = query
    names = variables((head, atoms, comparisons))
    wide = answers([((*head, *names), atoms, comparisons)], instance)
    return tuple(sorted(row[: len(head)] for row in wide))


def text(query: Query) -> str:
    """The query as Datalog."""
    rules = []
    for head, atoms, comparisons in query:
        body = [f"{relation}({','.join(map(_term, terms))})" for relation, terms in atoms]
        body += [f"{_term(a)} {op} {_term(b)}" for op, a, b in comparisons]
        rules.append(f"Q({','.join(map(_term, head))}) :- {', '.join(body)}.")
    return "\n".join(rules)


def _term(term: Term) -> str:
    return str(term)


def random_query(
    rng: random.Random,
    *,
    relations: dict[str, int],
    atoms: int,
    names: int,
    constants: list[int],
    disjuncts: int = 1,
    operators: tuple[str, ...] = (),
    variable_share: float = 0.5,
) -> Query:
    """A random union whose heads have one length; few variables and many constants make PRIVATE pairs likely."""
    pool = ["x", "y", "z", "u", "v"][:names]
    width = rng.randint(0, 2)
    rules: Query = []
    for _ in range(rng.randint(1, disjuncts)):
        body = []
        for _ in range(rng.randint(1, atoms)):
            relation = rng.choice(sorted(relations))
            terms = tuple(
                rng.choice(pool) if rng.random() < variable_share else rng.choice(constants)
                for _ in range(relations[relation])
            )
            body.append((relation, terms))
        bound = sorted({t for _, terms in body for t in terms if isinstance(t, str)})
        head = tuple(rng.choice(bound) if bound and rng.random() < 0.8 else rng.choice(constants) for _ in range(width))
        comparisons = []
        if operators and bound and rng.random() < 0.8:
            for _ in range(rng.randint(1, 2)):
                left = rng.choice(bound)
                right = rng.choice(bound) if rng.random() < 0.5 else rng.choice(constants)
                pair = (left, right) if rng.random() < 0.5 else (right, left)
                comparisons.append((rng.choice(operators), *pair))
        rules.append((head, body, comparisons))
    return rules


def large_domain(queries: Iterable[Query], relations: dict[str, int], *, ordered: bool) -> Domains:
    """All constants and enough further values: one for every variable, in every gap when the order matters."""
    queries = list(queries)
    disjuncts = [disjunct for query in queries for disjunct in query]
    constants = sorted(
        {
            t
            for head, atoms, comps in disjuncts
            for terms in [head, *(a for _, a in atoms), *(c[1:] for c in comps)]
            for t in terms
            if not isinstance(t, str)
        }
    )
    count = max((len(variables(disjunct)) for disjunct in disjuncts), default=0)
    values: list[Any] = list(constants)
    if not ordered:
        values += [1000 + index for index in range(count)]
    else:
        ends = [min(constants, default=0) - 10, *constants, max(constants, default=0) + 10]
        for low, high in pairwise(ends):
            values += [low + Fraction(high - low) * (index + 1) / (count + 1) for index in range(count)]
    return {(name, place): sorted(values) for name, arity in relations.items() for place in range(arity)}
