"""Critical rows by the literal definition, and by small witnesses."""

from __future__ import annotations

from itertools import combinations, product

from tests.oracles.views_queries import Domains, Query, Row, answers, facts, ground, valuations

Keys = dict[str, list[tuple[int, ...]]]


def all_rows(domains: Domains) -> list[Row]:
    """Every possible row of every relation."""
    arity: dict[str, int] = {}
    for relation, position in domains:
        arity[relation] = max(arity.get(relation, 0), position + 1)
    return [
        (relation, values)
        for relation, count in sorted(arity.items())
        for values in product(*(domains[relation, position] for position in range(count)))
    ]


def respects(instance: frozenset[Row], keys: Keys) -> bool:
    """Whether no two rows agree on a key."""
    for relation, of_relation in keys.items():
        rows = [row for name, row in instance if name == relation]
        for key in of_relation:
            if len({tuple(row[column] for column in key) for row in rows}) < len(rows):
                return False
    return True


def critical_by_definition(query: Query, domains: Domains, keys: Keys | None = None) -> set[Row]:
    """O1: t is critical iff some instance I has Q(I + t) != Q(I); with keys, both must respect them."""
    rows = all_rows(domains)
    assert len(rows) <= 14
    found = set()
    for size in range(len(rows) + 1):
        for chosen in combinations(rows, size):
            instance = frozenset(chosen)
            if keys and not respects(instance, keys):
                continue
            before = answers(query, instance)
            for row in rows:
                if row in found or row in instance or (keys and not respects(instance | {row}, keys)):
                    continue
                if answers(query, instance | {row}) != before:
                    found.add(row)
    return found


def critical_by_witness(query: Query, domains: Domains, keys: Keys | None = None) -> set[Row]:
    """O2: t is critical iff a valuation uses t and its answer is lost without t."""
    found: set[Row] = set()
    for disjunct in query:
        for valuation in valuations(disjunct, domains):
            used = facts(disjunct, valuation)
            if keys and not respects(used, keys):
                continue
            head = ground(disjunct[0], valuation)
            for row in used - found:
                if head not in answers(query, used - {row}):
                    found.add(row)
    return found


def shares(secret: set[Row], view: set[Row], keys: Keys | None = None) -> bool:
    """Whether two sets of critical rows meet: the same row, or with keys two rows that agree on all common key columns."""
    keys = keys or {}

    def block(row: Row) -> tuple[object, ...]:
        if row[0] not in keys:
            return row
        common = sorted(set.intersection(*(set(key) for key in keys[row[0]])))
        return (row[0], *(row[1][column] for column in common))

    return bool({block(row) for row in secret} & {block(row) for row in view})
