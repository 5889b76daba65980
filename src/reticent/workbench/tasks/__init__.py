"""What runs in the worker processes: each task takes plain data and returns plain data that a page shows. None of them remembers anything but rows that were read.

``opened``   the policy, the rows and the table of a project, kept between tasks
``data``     a first look at a file, what was guessed, pages of rows, and what a full proposal costs
``columns``  distributions, exposure, and the levels of a hierarchy
``explore``  the solution space, candidates before and after, adversaries, other methods, prices
``release_task``  the release, its verification, the ledger; ``verticals`` the calls behind the pages under More
``warmth``   what is imported and compiled before the first task
"""
