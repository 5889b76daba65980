"""The models of the catalogue, one group at a time, from lists of values with fractions. Shares no code with src."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

Rows = Sequence
Judge = Callable[[Rows, Rows], bool]


def shares(rows: Rows) -> dict:
    return {value: Fraction(count, len(rows)) for value, count in Counter(rows).items()}


def alpha_k(alpha: Fraction, k: int) -> Judge:
    return lambda rows, whole: len(rows) >= k and all(share <= alpha for share in shares(rows).values())


def p_sensitive(p: int, k: int) -> Judge:
    return lambda rows, whole: len(rows) >= k and len(set(rows)) >= p


def l_alpha(l: int, alpha: Fraction, weights: Mapping) -> Judge:  # noqa: E741 - the letter of the literature
    return lambda rows, whole: len(set(rows)) >= l and sum(weights.get(v, 0) for v in set(rows)) >= alpha


def x_y(k: int, h: Fraction) -> Judge:
    return lambda rows, whole: len(set(rows)) >= k and max(shares(rows).values()) <= h


def confidence(h: Fraction, values: Collection) -> Judge:
    return lambda rows, whole: all(shares(rows).get(value, 0) <= h for value in values)


def categories(c: Fraction, sets: Collection[Collection]) -> Judge:
    return lambda rows, whole: all(Fraction(sum(v in each for v in rows), len(rows)) < c for each in sets)


def k_e(k: int, e: Fraction) -> Judge:
    return lambda rows, whole: len(set(rows)) >= k and max(rows) - min(rows) >= e


def epsilon_m(epsilon: Fraction, m: Fraction) -> Judge:
    return lambda rows, whole: all(
        Fraction(sum(abs(other - value) <= epsilon for other in rows), len(rows)) <= 1 / m for value in rows
    )


def ranges(c: Fraction, below: Fraction, above: Fraction) -> Judge:
    """Every x at which a range begins or ends at a row's number, which are all x at which what it holds can be the most."""

    def judge(rows: Rows, whole: Rows) -> bool:
        centres = [number + below for number in rows] + [number - above for number in rows]
        return all(Fraction(sum(x - below <= n <= x + above for n in rows), len(rows)) < c for x in centres)

    return judge


def beta_like(beta: Fraction, enhanced: bool) -> Judge:
    def judge(rows: Rows, whole: Rows) -> bool:
        q = shares(whole)
        growths = {value: (p - q[value]) / q[value] for value, p in shares(rows).items()}
        if any(growth > beta for growth in growths.values()):
            return False
        return not enhanced or all(growth <= 0 or not _above_log(growth, 1 / q[v]) for v, growth in growths.items())

    return judge


def _above_log(value: Fraction, argument: Fraction) -> bool:
    """value > ln(argument), by the series of exp: exp(value) > argument, at a hundred digits."""
    with localcontext() as context:
        context.prec = 100
        power = (Decimal(value.numerator) / Decimal(value.denominator)).exp()
        return power > Decimal(argument.numerator) / Decimal(argument.denominator)


def delta_disclosing(delta: Fraction) -> Judge:
    """|log2(p/q)| < delta with both sides raised to the denominator of delta, as whole numbers."""

    def judge(rows: Rows, whole: Rows) -> bool:
        q = shares(whole)
        for value, p in shares(rows).items():
            ratio = max(p / q[value], q[value] / p)
            if ratio**delta.denominator >= 2**delta.numerator:
                return False
        return True

    return judge


def m_unique(m: int) -> Judge:
    return lambda rows, whole: len(rows) >= m and len(set(rows)) == len(rows)


def m_eligible(m: int) -> Judge:
    return lambda rows, whole: max(Counter(rows).values()) * m <= len(rows)


def n_t_close(n: int, t: Fraction) -> Judge:
    def judge(rows: Rows, whole: Rows) -> bool:
        p, q = shares(rows), shares(whole)
        return len(rows) >= n or sum(abs(p.get(v, 0) - q[v]) for v in q) / 2 <= t

    return judge


def average_risk(groups: Sequence[int], limit: Fraction, allowed: int) -> int | None:
    """How few rows must go so that the rest is picked out at most so often on average; None where more than allowed.

    By trying every set of groups; none may be left.
    """
    best = None
    for kept in itertools.product([True, False], repeat=len(groups)):
        sizes = [size for size, keep in zip(groups, kept, strict=True) if keep]
        lost = sum(groups) - sum(sizes)
        if len(sizes) <= limit * sum(sizes) and lost <= allowed and (best is None or lost < best):
            best = lost
    return best


class PopulationTwin:
    """A table beside a population: which nodes pass a judge of (rows, people) for each group, row by row."""

    def __init__(self, rows: Sequence[tuple], people: Sequence[tuple], hierarchies: Sequence, limit: Fraction) -> None:
        self.rows, self.people, self.limit = rows, people, limit
        self.label = [{row[0]: row for row in column} for column in hierarchies]
        self.levels = [len(column[0]) for column in hierarchies]

    def passing(self, judge: Callable[[int, int], bool]) -> dict[tuple, tuple[bool, int, int]]:
        found = {}
        for levels in itertools.product(*(range(n) for n in self.levels)):
            rows = Counter(self._key(row, levels) for row in self.rows)
            people = Counter(self._key(person, levels) for person in self.people)
            failing = [key for key, count in rows.items() if not judge(count, people[key])]
            lost = sum(rows[key] for key in failing)
            found[levels] = (lost <= self.limit * len(self.rows), lost, len(rows) - len(failing))
        return found

    def _key(self, row: tuple, levels: Sequence[int]) -> tuple:
        return tuple(self.label[j][row[j]][level] for j, level in enumerate(levels))


def breach_chances(people: Sequence[tuple], below: Mapping[str, Collection]) -> list[Fraction]:
    """For each person (value, node, threshold) of a group who named a node: the chance that a value of the group lies below it."""
    values = [value for value, _, _ in people]
    return [Fraction(sum(v in below[node] for v in values), len(values)) for _, node, _ in people if node is not None]


def personal(default: Fraction, below: Mapping[str, Collection]) -> Callable[[Sequence[tuple]], bool]:
    """Everybody who named a node is met, up to the own threshold or the default."""

    def judge(people: Sequence[tuple]) -> bool:
        allowed = [default if limit is None else Fraction(limit) for _, node, limit in people if node is not None]
        return all(chance <= limit for chance, limit in zip(breach_chances(people, below), allowed, strict=True))

    return judge


def x_y_of_columns(k: int, h: Fraction, x: Sequence[int], y: Sequence[int]) -> Callable[[Sequence[tuple]], bool]:
    """Of one group's rows (tuples of sensitive values): whoever knows the columns ``x`` sees k values of ``y``, none surer than h."""

    def judge(rows: Sequence[tuple]) -> bool:
        seen: dict[tuple, list] = {}
        for row in rows:
            seen.setdefault(tuple(row[j] for j in x), []).append(tuple(row[j] for j in y))
        return all(x_y(k, h)(values, ()) for values in seen.values())

    return judge


def n_t_close_to_some_superset(
    n: int, t: Fraction, rows: Sequence[tuple], hierarchies: Sequence, levels: Sequence[int]
) -> dict[tuple, bool]:
    """(n,t)-closeness as its authors put it, for a full-domain generalization: which groups are t-close to some natural superset.

    A natural superset of a group is what it becomes when its boundaries are widened: the rows that share its labels at the same or higher levels of
    every hierarchy. It counts where it has at least n rows.
    """
    label = [{row[0]: row for row in column} for column in hierarchies]

    def key(row: tuple, at: Sequence[int]) -> tuple:
        return tuple(label[j][row[j]][level] for j, level in enumerate(at))

    def values(at: Sequence[int]) -> dict[tuple, list]:
        found: dict[tuple, list] = {}
        for row in rows:
            found.setdefault(key(row, at), []).append(row[-1])
        return found

    def distance(mine: list, theirs: list) -> Fraction:
        p, q = shares(mine), shares(theirs)
        return sum((abs(p.get(v, Fraction(0)) - q[v]) for v in q), start=Fraction(0)) / 2

    wider = itertools.product(*(range(low, len(column[0])) for low, column in zip(levels, hierarchies, strict=True)))
    mine = values(levels)
    close = dict.fromkeys(mine, False)
    for at in wider:
        supersets = values(at)
        for row in rows:
            group, above = key(row, levels), supersets[key(row, at)]
            if not close[group] and len(above) >= n and distance(mine[group], above) <= t:
                close[group] = True
    return close
