"""Probabilistic games and wrong priors over HTTP, judged by other code on another model (issue 14)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from .conftest import start
from .games import DELTA, PRIORS, Player, moved, play, write_games

PEOPLE = 160


def drawn(prior: str, rng: np.random.Generator) -> np.ndarray:
    return PRIORS[prior][1].rvs(PEOPLE, random_state=rng)


def campaign(folder: Path, priors: list[str], seed: int, draw=drawn) -> dict[str, list[tuple[int, bool]]]:
    """How many answers each game gave, and whether they moved a belief too far."""
    tables = write_games(folder, priors, PEOPLE, draw, seed)
    process, server = start(folder, users=("alice",))
    found: dict[str, list[tuple[int, bool]]] = {prior: [] for prior in priors}
    try:
        for place, prior in enumerate(priors):
            rng = np.random.default_rng([seed, place])
            answers = play(server, place, Player(PEOPLE, rng))
            # Beliefs may move too far with the first answers and back with the later ones: every prefix counts.
            won = any(
                moved(prior, tables[place], answers[: count + 1], rng)
                for count in range(len(answers))
                if prior == "normal" or count == len(answers) - 1
            )
            found[prior].append((len(answers), won))
    finally:
        process.terminate()
        process.wait(timeout=60)
    return found


@pytest.mark.slow
def test_games_over_http_move_no_belief_too_far(tmp_path: Path) -> None:
    found = campaign(tmp_path, ["normal", "uniform", "exponential"], seed=1)
    assert sum(answers for games in found.values() for answers, _ in games) >= 3
    assert sum(won for games in found.values() for _, won in games) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("prior", list(PRIORS))
def test_the_share_of_games_that_are_won_is_as_promised(tmp_path: Path, prior: str) -> None:
    games = campaign(tmp_path, [prior] * 40, seed=7)[prior]
    assert sum(answers for answers, _ in games) >= 40
    won = sum(won for _, won in games)
    # As many wins or more would be rarer than one in a million if the promise held.
    assert stats.binom.sf(won - 1, len(games), DELTA) > 1e-6


def shifted(prior: str, rng: np.random.Generator) -> np.ndarray:
    """Values of another law than declared: one deviation above it."""
    return drawn(prior, rng) + PRIORS[prior][1].std()


def test_a_wrong_prior_voids_the_promise_and_the_column_stops_after_the_first_answer(tmp_path: Path) -> None:
    """Nothing limits what the first answer tells; but from then on the auditor sees that beliefs have moved too far."""
    found = campaign(tmp_path, ["normal", "exponential"], seed=3, draw=shifted)
    for games in found.values():
        assert all(answers <= 1 for answers, _ in games)
        assert all(won for answers, won in games if answers)
    assert sum(answers for games in found.values() for answers, _ in games) >= 1
