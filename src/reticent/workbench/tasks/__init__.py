"""Tasks that run in the worker processes. Each takes and returns JSON-compatible data for a page; the only state is a cache of rows that were read.

``opened``   cached policy, rows and table of a project
``data``     first proposal for a file, pages of its rows, and a full proposal with measured information loss
``columns``  distributions, exposure, and the levels of a hierarchy
``explore``  the solution space, candidates before and after, attacks, other methods, cost of other parameters
``distributions``  each column before and after publication, over the same values
``release_task``  publication, verification, the ledger; ``verticals`` the calls behind the pages under More
``warmth``   imports and compilation before the first task
"""
