"""The public reasons of classical auditors: each follows from queries and past answers alone, so each may be shown."""

from __future__ import annotations

from reticent.audit.decision import Decision

IMPLIED = Decision(True, "The answer already follows from answers given before.", "implied")
SAFE = Decision(True, "Together with the answers given before, it determines no value.", "safe")
EXPOSES = Decision(False, "Together with the answers given before, it would determine a person's value.", "exposes")
COULD_EXPOSE = Decision(
    False, "Some possible answer, together with the answers given before, would determine a person's value.", "exposes"
)
SINGLE = Decision(False, "The query is about one person.", "single")
BOUNDED = Decision(
    False,
    "The values are declared to be bounded, and the extreme answer would determine all values in the query. "
    "Use the probabilistic auditor for bounded values.",
    "bounded",
)
OTHER_FAMILY = Decision(
    False, "The column is locked to another family of queries: sums, maxima and minima are not mixed.", "other-family"
)
