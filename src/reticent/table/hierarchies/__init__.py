"""Generalization hierarchies: chains of increasingly coarse partitions of a column's domain.

``hierarchy``     :class:`Hierarchy`, and :class:`BoundHierarchy` fitted to a column
``recipes``       intervals, taxonomies, masks, lists; ``calendars`` dates; ``builders`` orders and priorities
``leaves``        values at level 0; ``levels`` partitions of them; ``level_limits`` the levels that may be published
``descriptions``  hierarchies from plain data; ``public_values`` publicly known domains
"""
