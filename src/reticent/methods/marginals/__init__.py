"""Marginals: noisy counts of chosen sets of columns, and synthetic records that fit them, with differential privacy.

``noisy_table`` a table behind a budget, the only access to the data; ``plan`` every noisy step and their sum, exactly; ``selection`` AIM, MST and fixed
lists; ``graphical_model`` the fit and the draw, over a ``junction_tree``; ``marginal_table`` the published counts; ``estimates`` counting queries; ``method``, ``details``, ``format``.
"""
