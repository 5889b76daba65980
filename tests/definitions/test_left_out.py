"""Those left out: of every sensitive column whose whole-table histogram is published, what it tells about them must pass."""

from __future__ import annotations

import pytest

from reticent.core import Evidence, Groups
from reticent.definitions import DistinctLDiversity, judge, verdict


@pytest.mark.parametrize("order", [("ill", "paid"), ("paid", "ill")])
def test_a_column_that_fails_for_those_left_out_fails_wherever_it_stands(order: tuple[str, str]) -> None:
    published = Groups.from_histograms([{"a": 2, "b": 2}])
    rest = {"ill": Groups.from_histograms([{"a": 1, "b": 1}]), "paid": Groups.from_histograms([{"a": 2}])}
    definition = DistinctLDiversity(2)
    found = judge(definition, Evidence({("age",): published}, remainder={name: rest[name] for name in order}))
    assert not verdict(definition, found).holds
