"""The least epsilon of many releases together, by the privacy loss distributions of Google's ``dp_accounting``, which shares no code with the account of a data set.

The package holds another one below the version that the tests need, so it runs in an environment of its own and its figures are kept in a file::

    pip install --no-deps --target elsewhere dp-accounting absl-py dm-tree
    PYTHONPATH=elsewhere python -m tests.oracles.privacy_losses
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from fractions import Fraction
from math import isfinite
from pathlib import Path

FIGURES = Path(__file__).resolve().parents[1] / "fixtures" / "ledger" / "privacy_losses.json"
STEP, DELTA = 1e-4, "1/100000"
_EPSILONS, _DELTAS = ("1/20", "1/10", "1/4", "1/2", "1", "2"), ("0", "0", "1/100000000", "1/10000000")


def least_epsilon(charges: Sequence[tuple[str, str]], delta: Fraction) -> float | None:
    """What every mechanism with these losses keeps together, rounded up by a step for each charge; None where the tails that the library cuts off are heavier than ``delta``."""
    from dp_accounting.pld import privacy_loss_distribution
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    together = None
    for epsilon, each in charges:
        parameters = DifferentialPrivacyParameters(float(Fraction(epsilon)), float(Fraction(each)))
        one = privacy_loss_distribution.from_privacy_parameters(parameters, value_discretization_interval=STEP)
        together = one if together is None else together.compose(one)
    assert together is not None
    found = float(together.get_epsilon_for_delta(float(delta)))
    return found if isfinite(found) else None


def drawn(chance: random.Random) -> list[tuple[str, str]]:
    """The epsilons and deltas of one to eighty releases, of few kinds."""
    kinds = [(chance.choice(_EPSILONS), chance.choice(_DELTAS)) for _ in range(chance.randint(1, 3))]
    return [chance.choice(kinds) for _ in range(chance.choice([1, 2, 3, 5, 10, 20, 40, 80]))]


def main() -> None:
    """Compute the figures anew."""
    chance, found = random.Random(2026), []
    for _ in range(80):
        charges = drawn(chance)
        least = {delta: least_epsilon(charges, Fraction(delta)) for delta in _stated(charges)}
        found.append({"charges": charges, "least": least})
    FIGURES.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n", encoding="utf-8")


def _stated(charges: Sequence[tuple[str, str]]) -> list[str]:
    """The deltas at which an account states what was spent: the sum, and the same with what concentrated composition converts with."""
    together = sum((Fraction(delta) for _, delta in charges), Fraction(0))
    return [str(together), str(together + min(Fraction(1, 10**6), Fraction(DELTA) - together))]


if __name__ == "__main__":
    main()
