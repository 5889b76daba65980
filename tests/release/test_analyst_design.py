"""Which regressions are fitted before and after a release, where a policy names none."""

from __future__ import annotations

import datetime

import numpy as np

import reticent as rt
from reticent.release import default_models
from reticent.utility import DesignColumn


def test_a_date_is_no_outcome() -> None:
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(day) for day in range(40)]
    rows = {"age": list(range(20, 60)), "day": days, "score": [each % 7 for each in range(40)]}
    table = rt.Table(rows, quasi=["age"], sensitive=["day", "score"])
    design = {name: DesignColumn((name,), np.arange(40.0)[:, None]) for name in rows}
    assert [each.outcome for each in default_models(table, design)] == ["score"]
