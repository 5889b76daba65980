"""Full-domain search the slow way: rows as tuples, groups as dictionaries, every node visited. Shares no code with src."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction

Hierarchies = Sequence[Sequence[Sequence[str]]]  # column -> leaf rows: (leaf, label at level 1, ...)
Judge = Callable[[Counter, Counter], bool]


def k_anonymous(k: int) -> Judge:
    return lambda group, whole: sum(group.values()) >= k


def distinct(l: int) -> Judge:  # noqa: E741 - the letter of the literature
    return lambda group, whole: len(group) >= l


def entropy(l: int) -> Judge:  # noqa: E741
    def judge(group: Counter, whole: Counter) -> bool:
        rows = sum(group.values())
        return rows**rows >= l**rows * math.prod(n**n for n in group.values())

    return judge


def recursive(c: Fraction, l: int) -> Judge:  # noqa: E741
    def judge(group: Counter, whole: Counter) -> bool:
        falling = sorted(group.values(), reverse=True)
        return l == 1 or falling[0] < c * sum(falling[l - 1 :])

    return judge


def close(t: Fraction) -> Judge:
    def judge(group: Counter, whole: Counter) -> bool:
        rows, all_rows = sum(group.values()), sum(whole.values())
        distance = sum(abs(Fraction(group[v], rows) - Fraction(n, all_rows)) for v, n in whole.items()) / 2
        return distance <= t

    return judge


class Twin:
    """A table with hierarchies and a judge; ``node`` answers for one level vector, ``search`` for all."""

    def __init__(
        self, rows: Sequence[tuple], hierarchies: Hierarchies, judges: Sequence[Judge], limit: Fraction, objective: str
    ) -> None:
        self.rows, self.judges, self.limit, self.objective = rows, judges, limit, objective
        self.levels = [len(column[0]) for column in hierarchies]
        self.label = [{row[0]: row for row in column} for column in hierarchies]
        self.leaves = [[row[0] for row in column] for column in hierarchies]
        self.whole = Counter(row[-1] for row in rows)

    def node(self, levels: Sequence[int]) -> tuple[bool, int, int, float]:
        groups: dict[tuple, list[tuple]] = defaultdict(list)
        for row in self.rows:
            groups[self._key(row, levels)].append(row)
        kept, lost = {}, []
        for key, members in groups.items():
            histogram = Counter(row[-1] for row in members)
            if all(judge(histogram, self.whole) for judge in self.judges):
                kept[key] = members
            else:
                lost.extend(members)
        return len(lost) <= self.limit * len(self.rows), len(lost), len(kept), self._cost(levels, kept, lost)

    def search(self) -> tuple[dict[tuple, bool], tuple | None]:
        passing, best = {}, None
        for levels in itertools.product(*(range(n) for n in self.levels)):
            ok, lost, groups, cost = self.node(levels)
            passing[levels] = ok
            if ok and (best is None or cost < best[0] - 1e-11 * abs(best[0])):
                best = (cost, levels, lost, groups)
        return passing, best

    def minimal(self, passing: dict[tuple, bool]) -> list[tuple]:
        return [
            v
            for v, ok in passing.items()
            if ok and not any(v[j] and passing[(*v[:j], v[j] - 1, *v[j + 1 :])] for j in range(len(v)))
        ]

    def _key(self, row: tuple, levels: Sequence[int]) -> tuple:
        return tuple(self.label[j][row[j]][level] for j, level in enumerate(levels))

    def _covered(self, j: int, value: str, level: int) -> list[str]:
        part = self.label[j][value][level]
        return [leaf for leaf in self.leaves[j] if self.label[j][leaf][level] == part]

    def _cost(self, levels: Sequence[int], kept: dict[tuple, list[tuple]], lost: list[tuple]) -> float:
        rows, columns = len(self.rows), len(levels)
        if self.objective == "height":
            return float(sum(levels))
        if self.objective == "discernibility":
            return float(sum(len(m) ** 2 for m in kept.values()) + rows * len(lost))
        if self.objective == "average_group_size":
            return rows / (len(kept) + bool(lost))
        if self.objective == "kl":
            return self._divergence(levels, kept, lost)
        if self.objective == "non_uniform_entropy":
            return self._entropy_loss(levels, kept, lost)
        losses = []
        for j, level in enumerate(levels):
            total = float(len(lost))
            for row in itertools.chain.from_iterable(kept.values()):
                covered, leaves = len(self._covered(j, row[j], level)), len(self.leaves[j])
                if self.objective == "ncp":
                    total += 0.0 if covered == 1 else covered / leaves
                else:
                    total += (covered - 1) / (leaves - 1) if leaves > 1 else 0.0
            losses.append(total / rows)
        if self.objective == "loss_geometric":
            return math.prod(x + 1 for x in losses) ** (1 / columns) - 1
        return sum(losses) / columns

    def _entropy_loss(self, levels: Sequence[int], kept: dict[tuple, list[tuple]], lost: list[tuple]) -> float:
        total = 0.0
        for j, level in enumerate(levels):
            raw = Counter(row[j] for row in self.rows)
            shared = Counter(self.label[j][row[j]][level] for row in self.rows)
            for row in itertools.chain.from_iterable(kept.values()):
                total += math.log2(shared[self.label[j][row[j]][level]] / raw[row[j]])
            total += sum(math.log2(len(self.rows) / raw[row[j]]) for row in lost)
        return total

    def _divergence(self, levels: Sequence[int], kept: dict[tuple, list[tuple]], lost: list[tuple]) -> float:
        rows, total = len(self.rows), 0.0
        exact = Counter(self.rows)
        for members in kept.values():
            values = Counter(row[-1] for row in members)
            for row in members:
                volume = math.prod(len(self._covered(j, row[j], level)) for j, level in enumerate(levels))
                total += math.log(exact[row] / rows / (values[row[-1]] / rows / volume)) / rows
        values, volume = Counter(row[-1] for row in lost), math.prod(len(leaves) for leaves in self.leaves)
        for row in lost:
            total += math.log(exact[row] / rows / (values[row[-1]] / rows / volume)) / rows
        return total
