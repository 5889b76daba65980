"""The ledger: a durable memory of everything that was given out about a data set, in one SQLite file.

``place``     where the file is: an argument, RETICENT_LEDGER, or a folder of the user
``store``     the file itself: transactions that are durable when they return, safe between processes
``releases``  one release a data set, unless more are allowed explicitly
``records``   views that were given out, and answers to questions
``budgets``   amounts that can be spent once

Nothing leaves before it is written here. A :class:`Ledger` holds an open file; close it, or use it in a ``with`` block.
"""

from reticent.ledger.budgets import Budget, Budgets
from reticent.ledger.ledger import Ledger
from reticent.ledger.place import ledger_path
from reticent.ledger.records import Answer, Answers, View, Views
from reticent.ledger.releases import ReleaseEntry, Releases

__all__ = [
    "Answer",
    "Answers",
    "Budget",
    "Budgets",
    "Ledger",
    "ReleaseEntry",
    "Releases",
    "View",
    "Views",
    "ledger_path",
]
