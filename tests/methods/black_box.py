"""A black-box test of differential privacy: a mechanism runs often on two neighbours; events that look telling in one half of the runs are judged on the other half, by Clopper-Pearson bounds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable

from scipy import stats


def largest_violation(
    run: Callable[[int], Hashable], tries: int, epsilon: float, delta: float, events: int = 20, error: float = 1e-6
) -> float:
    """By how much the chance of some event certainly exceeds e^epsilon times that on the neighbour plus delta; at most 0 where no violation is found.

    ``run(0)`` and ``run(1)`` are outputs on the two neighbours. In the first half of the runs sets of outputs are chosen: the single outputs whose frequencies differ most, and all outputs whose ratio is
    above e^epsilon together. The second half, which knows nothing of that choice, judges them.
    """
    first, second = ([Counter(run(which) for _ in range(tries // 2)) for which in (0, 1)] for _ in range(2))
    worst = -math.inf
    for one, other in ((0, 1), (1, 0)):
        seen = sorted(first[one], key=lambda each: first[other][each] - first[one][each])
        above = frozenset(each for each in first[one] if first[one][each] > math.exp(epsilon) * first[other][each])
        for event in [above, *(frozenset([each]) for each in seen[:events])]:
            times, beside = (sum(second[which][each] for each in event) for which in (one, other))
            half = tries // 2
            low = stats.beta.ppf(error, times, half - times + 1) if times else 0.0
            high = stats.beta.ppf(1 - error, beside + 1, half - beside) if beside < half else 1.0
            worst = max(worst, float(low - math.exp(epsilon) * high - delta))
    return worst
