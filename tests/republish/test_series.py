from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from reticent.errors import DataError
from tests.republish.examples import unsafe_series

SERIES = unsafe_series()


def test_event_lists_are_those_of_the_thesis():
    assert SERIES.event_lists() == {
        "p1": "i__",
        "p2": "iu_",
        "p3": "i__",
        "p4": "idr",
        "p5": "i__",
        "p6": "iu_",
        "p7": "_i_",
    }


def test_a_group_shows_its_signature():
    signature = {SERIES.domain[code] for code in SERIES[2].signature(0)}
    assert signature == {"cataract", "diarrhea", "glaucoma"}


def test_everybody_lies_in_the_box_of_the_own_group():
    for release in SERIES:
        points = SERIES.positions(release.quasi)
        assert (release.low[release.group_of] <= points).all()
        assert (points <= release.high[release.group_of]).all()


def test_a_value_that_no_scale_has_lies_nowhere():
    ordered = replace(SERIES, orders={"age": None, "zip": ["a", "b"]})
    found = ordered.positions(pl.DataFrame({"age": [3, 4], "zip": ["b", "c"]}))
    assert found[0].tolist() == [3.0, 1.0]
    assert np.isnan(found[1, 1])


def test_a_part_of_a_series_is_a_series():
    assert [release.number for release in SERIES[1:]] == [2, 3]
    assert "2 releases" in repr(SERIES[1:])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"events": np.zeros(2, dtype=np.uint8)}, "about people have different lengths"),
        ({"counterfeits": np.zeros(7, dtype=np.int64)}, "about groups have different lengths"),
        ({"offsets": np.array([0, 2, 4, 5])}, "offsets of its groups"),
        ({"counterfeits": np.array([1, 0, 0])}, "do not fill"),
    ],
)
def test_a_release_whose_parts_do_not_fit_is_refused(change, problem):
    with pytest.raises(DataError, match=problem):
        replace(SERIES[0], **change)
