"""Property P3: after any session with an auditor, offline auditing of what was answered finds nobody exposed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from tests.sampling import examples

PEOPLE = 7
SESSIONS = st.lists(st.frozensets(st.integers(0, PEOPLE - 1), min_size=1), min_size=1, max_size=12)
VALUES = st.lists(st.integers(0, 6), min_size=PEOPLE, max_size=PEOPLE)


@examples(40)
@given(SESSIONS, VALUES)
def test_answered_sums_expose_nobody(session, data):
    auditor = rt.audit.SumAuditor(n=PEOPLE)
    log = [(members, "sum", sum(data[j] for j in members)) for members in session if auditor.ask(members)]
    assert rt.audit.check_log(log, n=PEOPLE).ok


@examples(60)
@given(SESSIONS, VALUES, st.booleans())
def test_answered_maxima_expose_nobody(session, data, duplicates):
    if not duplicates:
        data = [PEOPLE * value + person for person, value in enumerate(data)]
    auditor = rt.audit.MaxAuditor(n=PEOPLE, duplicates=duplicates)
    log = []
    for members in session:
        if auditor.ask(members):
            answer = max(data[j] for j in members)
            auditor.record(members, answer)
            log.append((members, "max", answer))
    assert rt.audit.check_log(log, n=PEOPLE, duplicates=duplicates).ok


@examples(30)
@given(SESSIONS, VALUES)
def test_a_denied_sum_would_have_exposed_somebody(session, data):
    """The other half for sums: what is denied does determine a value, whatever the data."""
    auditor = rt.audit.SumAuditor(n=PEOPLE)
    log = []
    for members in session:
        asked = (members, "sum", sum(data[j] for j in members))
        if auditor.ask(members):
            log.append(asked)
        else:
            assert rt.audit.check_log([*log, asked], n=PEOPLE).exposed


@pytest.mark.slow
def test_a_long_session_over_many_people_exposes_nobody():
    rng = np.random.default_rng(11)
    n = 3000
    columns = rng.integers(0, 6, size=(n, 4))
    values = rng.integers(0, 10**6, n)
    auditor = rt.audit.SumAuditor(n=n)
    log = []
    for _ in range(300):
        chosen = rng.choice(4, size=rng.integers(1, 4), replace=False)
        members = np.flatnonzero((columns[:, chosen] == rng.integers(0, 6, size=len(chosen))).all(axis=1))
        if len(members) and auditor.ask(members):
            log.append((members, "sum", int(values[members].sum())))
    assert len(log) > 100
    assert rt.audit.check_log(log, n=n).ok
