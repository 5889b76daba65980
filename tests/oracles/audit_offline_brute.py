"""Offline auditing by brute force and by other people's solvers; shares nothing with ``reticent.audit``.

A log is a list of ``(members, function, answer)``. Each oracle gives, for every person, the set or range of possible values.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

FUNCTIONS = {"sum": sum, "max": max, "min": min}


def fits(log, data) -> bool:
    return all(FUNCTIONS[function](data[j] for j in members) == answer for members, function, answer in log)


def possible(log, n, domain, distinct=False) -> list[set] | None:
    """The values that each person has in some data over the domain that fit the log; None if none fit."""
    fitting = [data for data in product(domain, repeat=n) if (not distinct or len(set(data)) == n) and fits(log, data)]
    return [{data[j] for data in fitting} for j in range(n)] if fitting else None


def exposed_over(log, n, domain, distinct=False) -> dict | None:
    values = possible(log, n, domain, distinct)
    return None if values is None else {j: min(seen) for j, seen in enumerate(values) if len(seen) == 1}


def exposed_by_elimination(log, n) -> dict | None:
    """Gauss and Jordan in fractions on questions and answers together; None for a contradiction."""
    rows = [[Fraction(int(j in members)) for j in range(n)] + [Fraction(answer)] for members, _, answer in log]
    rank = 0
    for column in range(n):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        rows[rank] = [value / rows[rank][column] for value in rows[rank]]
        for r in range(len(rows)):
            if r != rank and rows[r][column]:
                rows[r] = [a - rows[r][column] * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    if any(row[n] and not any(row[:n]) for row in rows):
        return None
    alone = [(row, [j for j in range(n) if row[j]]) for row in rows]
    return {support[0]: row[n] for row, support in alone if len(support) == 1}


def range_by_program(log, n, person, lower=None, upper=None) -> tuple[float, float] | None:
    """Least and greatest value by linear programs over sums; None if nothing fits."""
    matrix = np.array([[float(j in members) for j in range(n)] for members, _, _ in log])
    answers = [float(answer) for _, _, answer in log]
    ends = []
    for sign in (1, -1):
        costs = np.zeros(n)
        costs[person] = sign
        done = linprog(costs, A_eq=matrix, b_eq=answers, bounds=[(lower, upper)] * n)
        if done.status == 2:
            return None
        ends.append(done.fun * sign if done.status == 0 else -sign * np.inf)
    return ends[0], ends[1]


def range_by_milp(log, n, person, box=1000.0) -> tuple[float, float] | None:
    """Least and greatest value of a mixed log inside a wide box; a binary says who holds each extreme."""
    holders = [(k, j) for k, (members, function, _) in enumerate(log) if function != "sum" for j in sorted(members)]
    width = n + len(holders)
    rules = []
    for k, (members, function, answer) in enumerate(log):
        row = np.zeros(width)
        row[sorted(members)] = 1
        if function == "sum":
            rules.append(LinearConstraint(row, float(answer), float(answer)))
            continue
        chosen = np.zeros(width)
        for place, (question, j) in enumerate(holders):
            if question != k:
                continue
            chosen[n + place] = 1
            single, linked = np.zeros(width), np.zeros(width)
            single[j] = linked[j] = 1
            sign = 1 if function == "max" else -1
            rules.append(LinearConstraint(sign * single, -np.inf, sign * float(answer)))
            # sign * x_j >= sign * answer - 2 * box * (1 - held)
            linked[n + place] = -sign * 4 * box
            rules.append(LinearConstraint(sign * linked, sign * float(answer) - 4 * box, np.inf))
        rules.append(LinearConstraint(chosen, 1, np.inf))
    whole = np.concatenate([np.zeros(n), np.ones(len(holders))]).astype(int)
    bounds = Bounds(np.r_[np.full(n, -box), np.zeros(len(holders))], np.r_[np.full(n, box), np.ones(len(holders))])
    ends = []
    for sign in (1, -1):
        costs = np.zeros(width)
        costs[person] = sign
        done = milp(costs, integrality=whole, bounds=bounds, constraints=rules)
        if done.x is None:
            return None
        ends.append(done.fun * sign)
    return ends[0], ends[1]
