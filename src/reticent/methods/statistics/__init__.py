"""Statistics: counts, sums, means, variances and quantiles with differential privacy, each with its interval.

``queries`` what is asked for; ``scaled_numbers`` bounded numbers as whole units; ``plan`` every noisy step, how far a record moves it, and their sum, exactly; ``noisy_answers`` records behind a budget, the
only access to the data; ``estimates`` statistics and intervals from noisy numbers; ``published_tables`` both as tables; ``method``, ``details``, ``format``.
"""
