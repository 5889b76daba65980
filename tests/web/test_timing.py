"""How long a refusal takes over HTTP does not depend on the protected values: a permutation test (issue 14)."""

from __future__ import annotations

import random
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from .conftest import Server, start

PEOPLE = 200
POLICY = """\
dataset = "staff"
ledger = "ledger.sqlite"
[database]
source = "staff.parquet"
key = "id"
public = ["id"]
[sensitive.small]
bounds = "ignored"
[sensitive.large]
bounds = "ignored"
[roles.analyst]
[users]
alice = "analyst"
"""


def times(server: Server, count: int, seed: int) -> dict[str, list[float]]:
    """The seconds that refusals took: of the same questions about equal small values and about different large ones, in random order."""
    chance = random.Random(seed)
    people = chance.sample(range(PEOPLE), count)
    taken: dict[str, list[float]] = {"small": [], "large": []}
    for column in taken:
        assert server.ask(f"SELECT MAX({column}) FROM staff")[1]["ok"]
    for person in people:
        for column in chance.sample(list(taken), 2):
            text = f"SELECT MAX({column}) FROM staff WHERE id <> {person}"
            begun = time.perf_counter()
            status, reply = server.ask(text)
            taken[column].append(time.perf_counter() - begun)
            assert (status, reply["ok"]) == (200, False)
    return taken


def chance_of_difference(first: list[float], second: list[float], seed: int = 0) -> float:
    """How often a random exchange within the pairs makes the mean logarithms differ as much."""
    differences = np.log(first) - np.log(second)
    signs = np.random.default_rng(seed).choice([-1, 1], size=(20_000, len(differences)))
    return float((np.abs((signs * differences).mean(axis=1)) >= abs(differences.mean())).mean())


def campaign(folder: Path, count: int) -> float:
    rng = np.random.default_rng(1)
    # All equal, so that one of them would have the maximum alone in no table; or one very large value, which a careless auditor would look at.
    large = rng.integers(10**14, 10**15, PEOPLE)
    pl.DataFrame({"id": range(PEOPLE), "small": [1] * PEOPLE, "large": large}).write_parquet(folder / "staff.parquet")
    (folder / "audit.toml").write_text(POLICY)
    process, server = start(folder, users=("alice",))
    try:
        taken = times(server, count, seed=3)
    finally:
        process.terminate()
        process.wait(timeout=60)
    return chance_of_difference(taken["small"], taken["large"])


@pytest.mark.slow
def test_the_times_of_many_refusals_over_http_do_not_tell_values(tmp_path: Path) -> None:
    assert campaign(tmp_path, count=PEOPLE) > 1e-3


def test_the_judge_sees_a_tenth_more_time() -> None:
    rng = np.random.default_rng(2)
    base = rng.lognormal(-4, 0.2, 200)
    assert chance_of_difference(list(base), list(1.1 * rng.permutation(base))) < 1e-3
    assert chance_of_difference(list(base), list(rng.permutation(base))) > 1e-3
