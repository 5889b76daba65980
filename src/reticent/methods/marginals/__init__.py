"""Marginals: noisy counts of chosen sets of columns, and synthetic records that fit them, with differential privacy.

``noisy_table`` budgeted queries, the only access to the data; ``plan`` every noisy step and their exact composed cost; ``selection`` AIM, MST and fixed
lists; ``graphical_model`` inference, over a ``junction_tree``; ``model_records`` sampling; ``marginal_table`` the published counts; ``estimates`` counting queries; ``method``, ``details``, ``format``.
"""
