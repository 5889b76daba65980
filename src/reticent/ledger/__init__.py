"""The ledger: a durable memory of everything that was given out about a data set, in one SQLite file.

``place``     where the file is: an argument, RETICENT_LEDGER, or a folder of the user
``store``     the file itself: transactions that are durable when they return, safe between processes
``releases``  one release a data set, unless more are allowed explicitly
``records``   views that were given out, and answers to questions
``budgets``   amounts that can be spent once
``audits``    audited SQL: variables, decisions, who asked, and tokens; ``turns`` who is deciding right now

Nothing leaves before it is written here. A :class:`Ledger` holds an open file; close it, or use it in a ``with`` block.
"""

from reticent.ledger.audits import NOISY_SUM, AuditEntry, Audits, Question, Token, Verdict
from reticent.ledger.budgets import Budget, Budgets
from reticent.ledger.ledger import Ledger
from reticent.ledger.place import ledger_path
from reticent.ledger.records import Answer, Answers, View, Views
from reticent.ledger.releases import ReleaseEntry, Releases
from reticent.ledger.turns import Turns

__all__ = [
    "NOISY_SUM",
    "Answer",
    "Answers",
    "AuditEntry",
    "Audits",
    "Budget",
    "Budgets",
    "Ledger",
    "Question",
    "ReleaseEntry",
    "Releases",
    "Token",
    "Turns",
    "Verdict",
    "View",
    "Views",
    "ledger_path",
]
