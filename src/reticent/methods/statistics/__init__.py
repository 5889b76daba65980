"""Statistics: counts, sums, means, variances, quantiles and linear regressions with differential privacy, each with its interval.

``queries`` the requested statistics; ``declared_bounds`` bounds of numbers; ``linear_regression`` least squares from noisy sums; ``plan`` every noisy step, its sensitivity, and the exact composed cost; ``noisy_answers`` budgeted queries, the
only access to the data; ``published_tables`` the noisy numbers, and the statistics and intervals that follow from them; ``method``, ``details``, ``format``.
"""
