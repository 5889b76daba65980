"""Statistics: counts, sums, means, variances and quantiles with differential privacy, each with its interval.

``queries`` the requested statistics; ``scaled_numbers`` bounded numbers as integers; ``plan`` every noisy step, its sensitivity, and the exact composed cost; ``noisy_answers`` budgeted queries, the
only access to the data; ``estimates`` statistics and intervals from noisy numbers; ``published_tables`` both as tables; ``method``, ``details``, ``format``.
"""
