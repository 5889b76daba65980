"""The ledger: a durable record of all disclosures about a data set, in one SQLite file.

``location``  the path of the file: an argument, RETICENT_LEDGER, or the user's data folder
``store``     the file itself: durable transactions, safe between processes, every row a link of a keyed hash chain
              (``secret`` has the key, ``rollback_guard`` the newest position outside the file, ``layouts`` the tables)
``entries``   all disclosures, reserved before they are written; which may be published after which
``budgets``   amounts of a column that can be spent once; ``accounts`` what all noisy releases of a data set may cost together
``answers``   decisions on access to views, and the rules
``audits``    audited SQL: variables, decisions, users, and tokens; ``lock`` serializes decisions

Nothing is published before it is written here. A :class:`Ledger` holds an open file; close it, or use it in a ``with``
block. The other values that callers pass and get (``Given``, ``Judgement``, ``Spending``, ``SeriesState``) are plain
values in :mod:`reticent.base.disclosures`.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names

if TYPE_CHECKING:
    from reticent.ledger.accounts import Account, AccountCharge, Accounts, account, nameless, require_recognisable
    from reticent.ledger.answers import GRANT, AnsweredQuestion, Answers
    from reticent.ledger.audits import (
        ANSWERS,
        NOISY_SUM,
        AuditEntry,
        Audits,
        AuditVerdict,
        NoisyKind,
        NoisyNumbers,
        Question,
        Token,
        noisy_answer_cost,
    )
    from reticent.ledger.budgets import Budget, Budgets
    from reticent.ledger.entries import Entry
    from reticent.ledger.ledger import Ledger, given_out, withdrawn_if_unsaved
    from reticent.ledger.location import LedgerLocation, ledger_path
    from reticent.ledger.lock import DatasetLock
    from reticent.ledger.secret import Secret
    from reticent.ledger.store import TIME_FORMAT, is_time, now

_HOMES = {
    "ANSWERS": "audits",
    "Account": "accounts",
    "AccountCharge": "accounts",
    "Accounts": "accounts",
    "AnsweredQuestion": "answers",
    "Answers": "answers",
    "AuditEntry": "audits",
    "AuditVerdict": "audits",
    "Audits": "audits",
    "Budget": "budgets",
    "Budgets": "budgets",
    "DatasetLock": "lock",
    "Entry": "entries",
    "GRANT": "answers",
    "Ledger": "ledger",
    "LedgerLocation": "location",
    "NOISY_SUM": "audits",
    "NoisyKind": "audits",
    "NoisyNumbers": "audits",
    "Question": "audits",
    "Secret": "secret",
    "TIME_FORMAT": "store",
    "Token": "audits",
    "account": "accounts",
    "given_out": "ledger",
    "is_time": "store",
    "ledger_path": "location",
    "nameless": "accounts",
    "noisy_answer_cost": "audits",
    "now": "store",
    "require_recognisable": "accounts",
    "withdrawn_if_unsaved": "ledger",
}

__all__ = [
    "ANSWERS",
    "GRANT",
    "NOISY_SUM",
    "TIME_FORMAT",
    "Account",
    "AccountCharge",
    "Accounts",
    "AnsweredQuestion",
    "Answers",
    "AuditEntry",
    "AuditVerdict",
    "Audits",
    "Budget",
    "Budgets",
    "DatasetLock",
    "Entry",
    "Ledger",
    "LedgerLocation",
    "NoisyKind",
    "NoisyNumbers",
    "Question",
    "Secret",
    "Token",
    "account",
    "given_out",
    "is_time",
    "ledger_path",
    "nameless",
    "noisy_answer_cost",
    "now",
    "require_recognisable",
    "withdrawn_if_unsaved",
]

__getattr__ = lazy_names(__name__, _HOMES)
correct_names(__name__)
