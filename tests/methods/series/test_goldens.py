"""Tables 4.1 to 4.5 of the thesis, with exact values (spec 004, 6.2, 6.3, 6.7)."""

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.methods.series.group_formation import assign_steps, missing_for_eligibility
from tests.methods.series.examples import DOMAIN, MONTHS, UNSAFE_GROUPS, unsafe_series

RANGES = {"age": (21, 42, 1), "zip": (12_000, 40_000, 1_000)}


def begin(path, **more):
    settings = {"m": 2, "key": "id", "sensitive": "disease", "quasi": {"age": None, "zip": None}, "domain": DOMAIN}
    return rt.republish.History.open(path, **{"ledger": path / "ledger.sqlite", **settings, "ranges": RANGES, **more})


def published(folder):
    """The public groups: box and values, with the counterfeits of each."""
    data, made_up = (pl.read_csv(folder / "public" / f"{name}.csv") for name in ("data", "counterfeits"))
    counts = dict(made_up.iter_rows())
    return Counter(
        (age, zipped, tuple(sorted(values)), counts.get(group, 0))
        for group, age, zipped, values in data.group_by("group", "age", "zip").agg("disease").iter_rows()
    )


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Tables 4.4 and 4.5: the printed algorithm after Table 4.1."""
    history = begin(tmp_path_factory.mktemp("series") / "printed", baseline="tau")
    history.import_release(MONTHS[0], UNSAFE_GROUPS[0], MONTHS[0]["id"].to_list())
    return history, [history.publish(month, insecure_seed=5) for month in MONTHS[1:]]


@pytest.fixture(scope="module")
def hardened(tmp_path_factory):
    history = begin(
        tmp_path_factory.mktemp("series") / "hardened", ranges={"age": (0, 99, 5), "zip": (0, 99_999, 5000)}
    )
    history.import_release(MONTHS[0], [["p1", "p2"], ["p3", "p4"], ["p5", "p6"]], MONTHS[0]["id"].to_list())
    return history, [history.publish(month, insecure_seed=5) for month in MONTHS[1:]]


def test_the_printed_algorithm_gives_table_4_4(printed):
    _, (second, _) = printed
    assert published(second.folder) == Counter(
        [
            ("[21, 22]", "[12000, 13000]", ("cataract", "pneumonia"), 1),
            ("[24, 25]", "[18000, 19000]", ("flu", "glaucoma"), 1),
            ("[41, 42]", "[20000, 35000]", ("flu", "gastritis"), 0),
            ("[23, 26]", "[34000, 40000]", ("diarrhea", "gastritis"), 0),
        ]
    )
    assert (second.counterfeits, second.change["needed"]) == (2, 2)


def test_the_printed_algorithm_gives_table_4_5(printed):
    _, (_, third) = printed
    assert published(third.folder) == Counter(
        [
            ("[21, 22]", "[12000, 13000]", ("cataract", "pneumonia"), 1),
            ("[23, 24]", "[18000, 25000]", ("flu", "glaucoma"), 0),
            ("[41, 42]", "[20000, 35000]", ("flu", "gastritis"), 0),
            ("[23, 26]", "[34000, 40000]", ("diarrhea", "gastritis"), 0),
        ]
    )
    assert (third.counterfeits, third.change["needed"], third.change["deleted_map"]) == (1, 1, 0)


def test_the_hardened_publisher_needs_no_more_counterfeits_on_the_same_series(hardened):
    history, releases = hardened
    assert [each.counterfeits for each in releases] == [2, 1]
    assert rt.republish.check_tau_safety(history).holds
    # A box does not end at anybody's own value.
    assert all(box.startswith("[") for box, *_ in published(releases[0].folder))


def test_the_tau_safe_series_is_tau_safe(printed):
    history, _ = printed
    assert rt.republish.check_tau_safety(history).holds
    assert history.series.event_lists()["p4"] == "idr"


def test_values_that_came_and_went_are_those_of_the_spec(printed):
    second, third = rt.republish.value_turnover(printed[0])
    assert second.lost == second.missing == Counter(["glaucoma", "pneumonia"])
    assert second.stayed == Counter(["cataract", "flu", "flu", "gastritis"])
    assert second.gained == Counter(["diarrhea", "gastritis"])
    # The tables themselves show no absence in the third month; what was published does.
    assert (third.lost, third.missing) == (Counter(), Counter(["pneumonia"]))


def test_a_group_of_which_everybody_left_misses_nothing():
    series = unsafe_series()
    gone = np.isin(series[1].people.to_list(), ["p5", "p6"])
    kept = np.flatnonzero(~gone)
    later = replace(
        series[1],
        people=series[1].people.gather(kept),
        group_of=series[1].group_of[kept],
        value_of=series[1].value_of[kept],
        quasi=series[1].quasi[kept],
        events=series[1].events[kept],
        offsets=series[1].offsets[:3],
        values=series[1].values[:4],
        counterfeits=series[1].counterfeits[:2],
        low=series[1].low[:2],
        high=series[1].high[:2],
    )
    (found,) = rt.republish.value_turnover(replace(series, releases=(series[0], later)))
    assert found.lost == Counter(["pneumonia", "glaucoma", "flu"])
    assert found.missing == Counter(["pneumonia", "glaucoma"])


def test_the_measures_of_the_printed_series_are_those_of_the_spec(printed):
    history, _ = printed
    measured = rt.reports.measure_series(history.series, rt.attacks.series(history), queries=5)
    assert [each.dcp for each in measured[1:]] == [16, 16]
    assert [round(each.cp, 5) for each in measured[1:]] == [2.04762, 2.55952]


def test_the_unsafe_series_breaks_the_rules_that_the_spec_lists():
    found = rt.republish.check_tau_safety(unsafe_series(), hardened=False)
    assert not found.holds
    assert sorted((each.person, each.rule, each.times) for each in found.violations) == [
        ("p1", "stay", (1, 2)),
        ("p1", "stay", (2, 3)),
        ("p2", "stay", (2, 3)),
        ("p3", "stay", (1, 2)),
        ("p4", "return", (1, 3)),
    ]


def test_the_hardened_rule_also_finds_the_change_between_overlapping_signatures():
    found = rt.republish.check_tau_safety(unsafe_series())
    extra = [each for each in found.violations if each.rule == "change"]
    assert [(each.person, each.before, each.after) for each in extra] == [
        ("p2", ("cataract", "pneumonia"), ("cataract", "diarrhea"))
    ]
    assert "neither equal" in extra[0].text()


def test_a_whole_unsafe_series_can_be_imported_and_checked(tmp_path):
    history = begin(tmp_path / "history")
    for month, groups in zip(MONTHS, UNSAFE_GROUPS, strict=True):
        history.import_release(month, groups)
    made, drawn = history.series, unsafe_series()
    assert made.event_lists() == drawn.event_lists()
    assert len(rt.republish.check_tau_safety(history).violations) == 6
    for one, other in zip(made, drawn, strict=True):
        assert one.values.tolist() == other.values.tolist()
        assert one.events.tolist() == other.events.tolist()
        assert np.array_equal(one.low, other.low)


@pytest.mark.parametrize(
    ("m", "counts", "steps"),
    [
        (2, (1, 1), [(1, 2)]),
        (2, (1, 1, 1), [(1, 3)]),
        (2, (2, 2, 1), [(1, 2), (1, 3)]),
        (2, (3, 3, 2, 1), [(2, 2), (1, 2), (1, 3)]),
        (2, (5, 4, 3, 2, 1), [(4, 2), (2, 2), (1, 3)]),
        (2, (2, 1, 1, 1, 1), [(1, 2)] * 3),
        (3, (4, 3, 3, 2), [(2, 3), (1, 3), (1, 3)]),
        (3, (3, 3, 3, 3, 1), [(1, 3)] * 3 + [(1, 4)]),
    ],
)
def test_assignment_steps_are_those_of_the_spec(m, counts, steps):
    ties = np.random.default_rng(0).permutation
    found = [(each.alpha, len(each.values)) for each in assign_steps(np.array(counts), m, ties)]
    assert found == steps


@pytest.mark.parametrize(
    ("counts", "m", "missing"), [((5,), 2, 5), ((3, 1), 2, 2), ((4, 1, 1), 3, 6), ((1,), 4, 3), ((1, 1), 4, 2)]
)
def test_eligibility_counterfeits_are_those_of_the_spec(counts, m, missing):
    assert missing_for_eligibility(np.array(counts), m) == missing
