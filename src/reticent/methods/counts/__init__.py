"""Counts of the cells of a public domain, with noise.

``method``      CentralCounts and JointCounts; ``format`` the format ``noisy counts``; ``details`` what its manifest holds
``deployment``  a party on a host of its own, from its settings to the release
"""
