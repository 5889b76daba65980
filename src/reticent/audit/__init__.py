"""Exact answers, or refusals that say nothing: query auditing (R-QA).

An auditor decides *before* anything touches the data, from the queries and answers so far. So a refusal carries no information.

* ``decision`` – the shapes: `Query`, `Decision`, `Answered`, `History`, the protocol `Auditor`.
"""

from __future__ import annotations

from reticent.audit.decision import Answered, Auditor, Decision, History, Query

__all__ = ["Answered", "Auditor", "Decision", "History", "Query"]
