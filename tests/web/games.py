"""The privacy game over HTTP: players who ask adaptively, and a judge who shares neither code nor model with the auditors.

Every sensitive column of one served table is a game of its own: its values are drawn from a law, a player asks until the rounds are used up, and the judge
works out what everybody may believe now. For normal values he conditions the joint normal law by scipy; for the others he walks through the tables that
agree with all answers by exact Gibbs steps, starting from the true one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.linalg import null_space

from .conftest import Server

Values = NDArray[np.float64]
LAMBDA, BETA, DELTA, ROUNDS = 1, 5, 0.1, 8
PRIORS = {
    "normal": ('{ kind = "normal", mean = 170, deviation = 10 }', stats.norm(170, 10)),
    "uniform": ('{ kind = "uniform", low = 0, high = 100 }', stats.uniform(0, 100)),
    "exponential": ('{ kind = "exponential", mean = 30, low = 10 }', stats.expon(10, 30)),
}
COLUMN = """
[sensitive.v{place}]
auditor = "probabilistic"
decimals = 2
lambda = {lambda_}
beta = {beta}
delta = {delta}
rounds = {rounds}
prior = {prior}
"""


def write_games(
    folder: Path, priors: list[str], people: int, draw: Callable[[str, np.random.Generator], Values], seed: int
) -> list[Values]:
    """A table with a game a column, each with values that ``draw`` makes; the true values."""
    rng = np.random.default_rng(seed)
    tables = [np.round(draw(prior, rng), 2) for prior in priors]
    head = ",".join(["id", *(f"v{place}" for place in range(len(priors)))])
    rows = [",".join([str(person), *(f"{table[person]:.2f}" for table in tables)]) for person in range(people)]
    (folder / "people.csv").write_text("\n".join([head, *rows]) + "\n")
    columns = [
        COLUMN.format(place=place, lambda_=LAMBDA, beta=BETA, delta=DELTA, rounds=ROUNDS, prior=PRIORS[prior][0])
        for place, prior in enumerate(priors)
    ]
    (folder / "audit.toml").write_text(
        'dataset = "games"\nledger = "ledger.sqlite"\n[database]\nsource = "people.csv"\nkey = "id"\npublic = ["id"]\n'
        + "".join(columns)
        + '[roles.player]\n[users]\nalice = "player"\n'
    )
    return tables


@dataclass
class Player:
    """Asks for everybody, parts, and what differs a little from what was answered. Mutable: remembers what was answered."""

    people: int
    rng: np.random.Generator
    answered: list[NDArray[np.int64]] = field(default_factory=list)

    def question(self) -> NDArray[np.int64]:
        everybody = np.arange(self.people)
        kind = self.rng.integers(5)
        if not self.answered or kind == 0:
            return everybody if self.rng.random() < 0.5 else self._some(everybody, self.rng.uniform(0.3, 0.9))
        past = self.answered[self.rng.integers(len(self.answered))]
        rest = np.setdiff1d(everybody, past)
        if kind == 1 and len(rest):
            return rest
        if kind == 2:
            return self._some(past, self.rng.uniform(0.3, 0.8))
        if kind == 3:
            return np.sort(self.rng.permutation(past)[: -int(self.rng.integers(1, 4))])
        return np.sort(np.concatenate([self._some(past, 0.5), self._some(rest, 0.5)]))

    def _some(self, people: NDArray[np.int64], share: float) -> NDArray[np.int64]:
        return np.sort(self.rng.permutation(people)[: max(1, int(share * len(people)))])


def sql(function: str, place: int, members: NDArray[np.int64]) -> str:
    return f"SELECT {function}(v{place}) FROM people WHERE id IN ({', '.join(map(str, members))})"


def play(server: Server, place: int, player: Player, function: str = "SUM") -> list[tuple[NDArray[np.int64], float]]:
    """A whole game over HTTP; the answers."""
    told = []
    for _ in range(ROUNDS):
        members = player.question()
        status, reply = server.ask(sql(function, place, members))
        assert status == 200, reply
        (answer,) = reply["rows"][0]["answers"]
        if answer["answered"] and not any(np.array_equal(members, past) for past in player.answered):
            told.append((members, float(answer["decimal"])))
            player.answered.append(members)
    return told


def moved(prior: str, values: Values, answers: list[tuple[NDArray[np.int64], float]], rng: np.random.Generator) -> bool:
    """Whether the answers moved somebody's belief in an interval of prior chance 1/beta by more than 1 + lambda, for sure."""
    law, share = PRIORS[prior][1], 1 / BETA
    starts = np.linspace(0, 1 - share, 41)
    edges = np.array([law.ppf(starts), law.ppf(starts + share)])
    asked = np.zeros((len(answers), len(values)))
    for row, (members, _) in enumerate(answers):
        asked[row, members] = 1
    told = np.array([answer for _, answer in answers])
    if prior == "normal":
        chances = _normal(law, asked, told, edges)
        return bool(_far(chances, 1e-6, share))
    chances, error = _walked(prior, law, asked, values, edges, rng)
    return bool(_far(chances, error, share))


def _far(chances: Values, error: Values | float, share: float) -> bool:
    factor = 1 + LAMBDA
    return bool(((chances - error > share * factor) | (chances + error < share / factor)).any())


def _normal(law: stats.rv_continuous, asked: Values, told: Values, edges: Values) -> Values:
    """Everybody's chances of the intervals, from the conditional normal law."""
    inverse = np.linalg.pinv(asked @ asked.T)
    mean = law.mean() + asked.T @ inverse @ (told - asked.sum(axis=1) * law.mean())
    kept = np.clip(1 - np.einsum("ij,ik,kj->j", asked, inverse, asked), 0, 1)
    each = stats.norm(mean[:, None], np.maximum(law.std() * np.sqrt(kept), 1e-9)[:, None])
    chances: Values = each.cdf(edges[1]) - each.cdf(edges[0])
    return chances


def _walked(
    prior: str, law: stats.rv_continuous, asked: Values, values: Values, edges: Values, rng: np.random.Generator
) -> tuple[Values, Values]:
    """The chances of the intervals for everybody in a class of people who were asked about alike, and how wrong they may be."""
    low, high = law.support()
    kinds, whose = np.unique(asked.T, axis=0, return_inverse=True)
    null = _null_moves(kinds.T)
    groups = [np.flatnonzero(whose == kind) for kind in range(len(kinds))]
    state, sweeps = values.copy(), 600
    found = np.zeros((sweeps, len(kinds), edges.shape[1]))
    for sweep in range(-60, sweeps):
        for group in groups:
            # Two people of a class share what they have together in any way: under both laws every way is as likely.
            order = rng.permutation(group)
            one, other = order[: len(order) // 2], order[len(order) // 2 : 2 * (len(order) // 2)]
            total = state[one] + state[other]
            least, most = np.maximum(low, total - high), np.minimum(high, total - low)
            state[one] = rng.uniform(least, most)
            state[other] = total - state[one]
        for move in null:
            _shift(state, move, groups, low, high, law.std() if prior == "exponential" else None, rng)
        if sweep >= 0:
            for kind, group in enumerate(groups):
                inside = (state[group, None] >= edges[0]) & (state[group, None] <= edges[1])
                found[sweep, kind] = inside.mean(axis=0)
    # Batches of sweeps are nearly independent; five of their standard errors.
    batches = found.reshape(20, sweeps // 20, *found.shape[1:]).mean(axis=1)
    return found.mean(axis=0), 5 * batches.std(axis=0, ddof=1) / np.sqrt(20)


def _null_moves(incidence: Values) -> list[Values]:
    """Moves of class sums that change no answer."""
    return list(null_space(incidence).T)


def _shift(
    state: Values,
    move: Values,
    groups: list[NDArray[np.int64]],
    low: float,
    high: float,
    mean: float | None,
    rng: np.random.Generator,
) -> None:
    """Move one person of each class along a move that changes no answer, by the exact conditional law."""
    for _ in range(20):
        chosen = np.array([rng.choice(group) for group in groups])
        using = move != 0
        at, step = state[chosen[using]], move[using]
        ends = np.sort(np.array([(low - at) / step, (high - at) / step]), axis=0)
        least, most = float(ends[0].max()), float(ends[1].min())
        if not least < most:
            continue
        rate = 0.0 if mean is None else float(step.sum()) / mean
        state[chosen[using]] = at + step * _truncated(least, most, rate, rng)


def _truncated(least: float, most: float, rate: float, rng: np.random.Generator) -> float:
    """A draw between two ends with a density in proportion to exp(-rate t)."""
    if abs(rate) * min(most - least, 1e9) < 1e-9:
        return float(rng.uniform(least, most))
    if rate > 0:
        return float(least - np.log1p(-rng.random() * -np.expm1(-rate * (most - least))) / rate)
    return float(most + np.log1p(-rng.random() * -np.expm1(rate * (most - least))) / -rate)
