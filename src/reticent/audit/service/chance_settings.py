"""The probabilistic auditors of a column, as declared in the policy."""

from __future__ import annotations

from collections.abc import Callable

from reticent.audit.chance import (
    Exponential,
    Game,
    Gaussian,
    Prior,
    ProbabilisticMaxAuditor,
    ProbabilisticMinAuditor,
    ProbabilisticSumAuditor,
    Uniform,
)
from reticent.audit.chance.auditor import ChanceAuditor
from reticent.audit.service.settings import Chance


def probabilistic(chance: Chance, family: str, variables: int, key: bytes) -> ChanceAuditor:
    """Return a fresh auditor of one family. Its randomness is derived from ``key``, so that a restarted service decides alike."""
    laws: dict[str, Callable[..., Prior]] = {"normal": Gaussian, "uniform": Uniform, "exponential": Exponential}
    prior = laws[chance.prior.kind](chance.prior.first, chance.prior.second)
    game = Game(chance.ratio, chance.beta, chance.delta, chance.rounds)
    if family == "linear":
        return ProbabilisticSumAuditor(variables, prior, game, exact_only=True, key=key)
    kind = ProbabilisticMinAuditor if family == "min" else ProbabilisticMaxAuditor
    return kind(variables, prior, game, key=key)
