import re
from dataclasses import replace
from itertools import product

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import DataError
from reticent.methods.series import EventKind, PublishedSeries
from tests.attacks.series_examples import release_of
from tests.methods.series.examples import unsafe_series

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


def told(symbols: str) -> PublishedSeries:
    """A series of two people: nothing happens to one, and to the other what an event list says."""
    releases, there = [], False
    kinds = {
        "i": EventKind.INSERTED,
        "u": EventKind.SENSITIVE_UPDATED,
        "_": EventKind.UNCHANGED,
        "r": EventKind.RETURNED,
    }
    for number, symbol in enumerate(symbols, start=1):
        there = symbol in "iur" or (there and symbol != "d")
        happened = {"other": EventKind.UNCHANGED if releases else EventKind.INSERTED}
        if there:
            happened["x"] = kinds[symbol]
        releases.append(
            release_of(number, {"x": 0, "other": 1}, [sorted(happened)], [[]], happened, ["x"] * (symbol == "d"))
        )
    return PublishedSeries(("a", "b"), 2, "illness", {"place": None}, releases)


def is_accepted(symbols: str) -> bool:
    series = told(symbols)
    try:
        series.check_events(*series.coded_people())
    except DataError:
        return False
    return True


def check_grammar(longest: int) -> list[int]:
    """Compare with the grammar, symbol by symbol; how many event lists of each length there are."""
    grammar = re.compile("_*(i[_u]*(d_*r[_u]*)*(d_*)?)?")
    found = []
    for length in range(1, longest + 1):
        lists = ["".join(each) for each in product("iud_r", repeat=length)]
        accepted = {each for each in lists if is_accepted(each)}
        assert accepted == {each for each in lists if grammar.fullmatch(each)}
        found.append(len(accepted))
    return found


def accepted_lists(longest: int) -> list[int]:
    """How many event lists of each length are accepted; none begins with a list that is not (which the test of the grammar holds)."""
    found, lists = [1], [""]
    for _ in range(longest):
        lists = [each + symbol for each in lists for symbol in "iud_r" if is_accepted(each + symbol)]
        found.append(len(lists))
    return found


def test_there_are_as_many_event_lists_as_the_spec_counts():
    assert accepted_lists(4) == [1, 2, 5, 13, 34]


@pytest.mark.slow
def test_there_are_as_many_event_lists_of_six_releases_as_the_spec_counts():
    assert accepted_lists(6) == [1, 2, 5, 13, 34, 89, 233]


def test_event_lists_are_those_of_the_grammar():
    assert check_grammar(3) == [2, 5, 13]
    assert is_accepted("idrd_")
    assert is_accepted("i_udr")
    assert not is_accepted("id_i")


@pytest.mark.slow
def test_event_lists_of_five_releases_are_those_of_the_grammar():
    assert check_grammar(5) == [2, 5, 13, 34, 89]


@pytest.mark.parametrize(
    ("symbols", "problem"),
    [
        ("r", "Release 1: 'x' is said to be back, and was never in a release"),
        ("_u", "Release 2: 'x' is said to be changed, and was never in a release"),
        ("ii", "Release 2: 'x' is said to be new, and was in the one before"),
        ("id_i", "Release 4: 'x' is said to be new, and was away"),
        ("d", "Release 1: 'x' is said to have left, and was not in the one before"),
        ("idd", "Release 3: 'x' is said to have left, and was not in the one before"),
    ],
)
def test_events_that_cannot_follow_each_other_are_told(symbols, problem):
    with pytest.raises(DataError, match=problem):
        rt.attacks.series(told(symbols))


def test_whoever_vanishes_or_stays_while_leaving_is_told():
    series = told("i_")
    gone = replace(SERIES[1], people=SERIES[1].people.replace("p1", "p9"))
    with pytest.raises(DataError, match="Release 2: 'p9' is said to be unchanged, and was never in a release"):
        rt.attacks.series(replace(SERIES, releases=[SERIES[0], gone]))
    with pytest.raises(DataError, match="Release 2: 'x' is there and is said to have left"):
        rt.attacks.series(replace(series, releases=[series[0], replace(series[1], left=pl.Series("id", ["x"]))]))
    with pytest.raises(DataError, match="Release 2: 'p4' is neither there nor said to have left"):
        rt.attacks.series(replace(SERIES, releases=[SERIES[0], replace(SERIES[1], left=SERIES[1].left.clear())]))


def test_a_part_of_a_series_and_people_who_were_forgotten_may_begin_anywhere():
    series = told("id_ri")
    for part in (series[1:4], replace(told("id_i"), retention=1)):
        part.check_events(*part.coded_people())
    with pytest.raises(DataError, match="was away"):
        rt.attacks.series(replace(told("id_i"), retention=2))


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
