"""What somebody learns who follows people through a series: the three scenarios of spec 004, and brute force on random series."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import reticent as rt
from reticent.attacks.tracking import join_attack as joining
from reticent.attacks.tracking import world_counts as counting
from reticent.methods.series import EventKind, PublishedSeries
from tests.attacks.series_examples import random_series, release_of
from tests.attacks.series_publisher import published, random_months
from tests.methods.series import drafts
from tests.methods.series.examples import DOMAIN, unsafe_series
from tests.oracles.series_worlds import chances, joined_values, months_of, worlds
from tests.sampling import campaign, seeds

HALF = Fraction(1, 2)
CATARACT, DIARRHEA, FLU, GASTRITIS, GLAUCOMA, PNEUMONIA = range(6)
VALUES = {"p1": CATARACT, "p2": PNEUMONIA, "p3": FLU, "p4": GLAUCOMA, "p5": FLU, "p6": GASTRITIS, "p7": GASTRITIS}
FIRST = [["p1", "p2"], ["p3", "p4"], ["p5", "p6"]]
KEPT = dict.fromkeys(["p1", "p3", "p5"], EventKind.UNCHANGED)
SECOND = KEPT | {"p2": EventKind.SENSITIVE_UPDATED, "p6": EventKind.QUASI_UPDATED, "p7": EventKind.INSERTED}
THIRD = dict.fromkeys(VALUES, EventKind.UNCHANGED) | {"p4": EventKind.RETURNED}


def made(*later: tuple[list[list[str]], list[list[int]], dict[str, EventKind], list[str]]) -> PublishedSeries:
    """Table 4.1, and releases after it in which p2 has diarrhea."""
    first = release_of(1, VALUES, FIRST, [[]] * 3, dict.fromkeys(VALUES, EventKind.INSERTED))
    changed = VALUES | {"p2": DIARRHEA}
    return PublishedSeries(
        DOMAIN,
        2,
        "disease",
        {"place": None},
        [first, *(release_of(number, changed, *each) for number, each in enumerate(later, start=2))],
    )


@pytest.fixture
def safe() -> PublishedSeries:
    """Tables 4.1, 4.4 and 4.5: what the printed tau-safe algorithm publishes."""
    rest = [["p5", "p6"], ["p2", "p7"]]
    return made(
        ([["p1"], ["p3"], *rest], [[PNEUMONIA], [GLAUCOMA], [], []], SECOND, ["p4"]),
        ([["p1"], ["p3", "p4"], *rest], [[PNEUMONIA], [], [], []], THIRD, []),
    )


@pytest.mark.parametrize("mode", ["exact", "fixpoint", "join"])
def test_scenario_one_discloses_five_of_seven(mode):
    found = rt.attacks.series(unsafe_series()[:2], mode=mode)
    assert found.disclosed == ["p1", "p2", "p3", "p4", "p7"]
    assert found["p1"] == {1: {"cataract": 1}, 2: {"cataract": 1}}
    assert found["p2"] == {1: {"pneumonia": 1}, 2: {"diarrhea": 1}}
    assert found["p5"] == {1: {"flu": HALF, "gastritis": HALF}, 2: {"flu": HALF, "gastritis": HALF}}


def test_eight_worlds_after_the_first_release_and_two_after_the_second():
    assert [rt.attacks.series(unsafe_series()[:last]).worlds for last in (1, 2)] == [8, 2]


def test_scenario_two_narrows_p2_and_discloses_p4():
    found = rt.attacks.series(unsafe_series(), releases=[2, 3])
    assert found["p2"][3] == {"cataract": HALF, "diarrhea": HALF}
    assert found.disclosed == ["p4"]
    assert found.narrowed == ["p1", "p2", "p4"]
    assert rt.attacks.series(unsafe_series())["p2"][3] == {"diarrhea": 1}


def test_scenario_three_links_p4_across_the_month_in_which_it_was_away():
    """It takes the declaration that values do not change during absence: without it p4 may have come back with something else."""
    linked = rt.attacks.series(unsafe_series(), releases=[1, 3], returns="unchanged")
    assert linked["p4"] == {1: {"glaucoma": 1}, 3: {"glaucoma": 1}}
    apart = rt.attacks.series(unsafe_series(), releases=[1, 3])
    assert apart["p4"] == {1: {"glaucoma": 1}, 3: {"diarrhea": HALF, "glaucoma": HALF}}


@pytest.mark.parametrize("mode", ["exact", "fixpoint"])
@pytest.mark.parametrize("knows_change", [True, False])
def test_the_safe_series_has_sixteen_worlds_and_every_chance_is_one_half(safe, mode, knows_change):
    found = rt.attacks.series(safe, mode=mode, knows_change=knows_change)
    assert found.worlds == (16 if mode == "exact" else None)
    assert {c for mine in found.values() for values in mine.values() for c in values.values()} == {HALF}
    assert not found.disclosed
    assert not found.narrowed
    assert found.highest == HALF
    assert not found.above(HALF)


def test_a_quasi_update_treated_as_new_discloses_four_people():
    groups = [["p1"], ["p3"], ["p5", "p7"], ["p2", "p6"]]
    found = rt.attacks.series(made((groups, [[PNEUMONIA], [GLAUCOMA], [], []], SECOND, ["p4"])))
    assert {
        (person, value) for person in found for value, chance in found[person].get(2, {}).items() if chance == 1
    } == {
        ("p2", "diarrhea"),
        ("p5", "flu"),
        ("p6", "gastritis"),
        ("p7", "gastritis"),
    }


def test_who_knows_that_a_value_changed_gains_where_signatures_overlap():
    people = {"x": 0, "y": 1}
    changed = {"x": 2, "z": 0}
    series = PublishedSeries(
        ("a", "b", "c"),
        2,
        "illness",
        {"place": None},
        [
            release_of(1, people, [["x", "y"]], [[]], dict.fromkeys(people, EventKind.INSERTED)),
            release_of(
                2, changed, [["x", "z"]], [[]], {"x": EventKind.SENSITIVE_UPDATED, "z": EventKind.INSERTED}, ["y"]
            ),
        ],
    )
    assert rt.attacks.series(series)["x"][2] == {"a": Fraction(1, 3), "c": Fraction(2, 3)}
    assert rt.attacks.series(series, knows_change=False)["x"][2] == {"a": HALF, "c": HALF}


def agree(seed: int) -> int:
    """Compare all engines with brute force on a random series; the number of comparisons."""
    drawn = random_series(seed)
    months = months_of(drawn)
    compared = 0
    for asked in ({}, {"knows_change": False}, {"returns": "unchanged"}, {"releases": [1, 3]}):
        plain = {key: value for key, value in asked.items() if key != "returns"}
        possible = worlds(months, **plain, returns_unchanged="returns" in asked)
        if not possible:
            with pytest.raises(rt.DataError, match="contradict"):
                rt.attacks.series(drawn, **asked)
            continue
        expected = {
            person: {number: {drawn.domain[code]: c for code, c in values.items()} for number, values in mine.items()}
            for person, mine in chances(possible).items()
        }
        exact = rt.attacks.series(drawn, **asked)
        assert exact == expected
        assert exact.worlds == len(possible)
        # The other engines rule out only what is impossible.
        for mode in ("fixpoint", "join"):
            found = rt.attacks.series(drawn, mode=mode, **asked)
            assert all(
                expected[p][number].keys() <= found[p][number].keys() for p in expected for number in expected[p]
            )
        compared += 1
    return compared


def test_engines_agree_with_brute_force():
    series = 24 if campaign() else 10
    assert sum(agree(seed) for seed in range(series)) > 2.5 * series


@pytest.mark.slow
def test_engines_agree_with_brute_force_on_thousands_of_series():
    assert sum(agree(seed) for seed in range(100, 3100)) > 10_000


def test_the_fixpoint_finds_what_only_a_matching_shows():
    """Two people share two of three values, so the third person has the third (a Hall set), also beyond 64 values."""
    domain = tuple(f"v{number}" for number in range(130))
    truth = {"x": 3, "y": 100, "z": 128}
    kinds = dict.fromkeys(truth, EventKind.UNCHANGED)
    series = PublishedSeries(
        domain,
        2,
        "illness",
        {"place": None},
        [
            release_of(1, truth, [["x", "y"], ["z"]], [[], [7, 3]], dict.fromkeys(truth, EventKind.INSERTED)),
            release_of(2, truth, [["x", "y", "z"]], [[]], kinds),
        ],
    )
    found = rt.attacks.series(series, mode="fixpoint")
    assert found["z"] == {1: {"v128": 1}, 2: {"v128": 1}}
    assert found["x"][2] == {"v3": HALF, "v100": HALF}
    assert found == rt.attacks.series(series)


def test_a_series_that_contradicts_itself_is_an_error_in_every_mode():
    truth, other = {"x": 0}, {"x": 1}
    series = PublishedSeries(
        ("a", "b"),
        2,
        "illness",
        {"place": None},
        [
            release_of(1, truth, [["x"]], [[]], {"x": EventKind.INSERTED}),
            release_of(2, other, [["x"]], [[]], {"x": EventKind.UNCHANGED}),
        ],
    )
    for mode in ("exact", "fixpoint"):
        with pytest.raises(rt.DataError, match="no assignment of values fits the group of x"):
            rt.attacks.series(series, mode=mode)
    with pytest.raises(rt.DataError, match="not every person can be assigned"):
        rt.attacks.series(series, mode="join")


def test_a_component_that_is_too_large_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(counting, "MOST_TRANSITIONS", 10)
    with pytest.raises(rt.PolicyError, match=r"too many to count.*mode='fixpoint'"):
        rt.attacks.series(random_series(36))
    monkeypatch.setattr(joining, "MOST_EDGES", 3)
    with pytest.raises(rt.PolicyError, match="overlap so much"):
        rt.attacks.series(unsafe_series(), mode="join")


def test_join_keeps_only_memberships_with_one_signature():
    """Boxes overlap, and somebody who stays may be in either group of each month; but only one signature is in both."""
    truth = {"x": 0, "y": 1, "u": 2, "v": 3}
    kinds = dict.fromkeys(truth, EventKind.UNCHANGED)
    born = dict.fromkeys(truth, EventKind.INSERTED)
    here = {"x": 1.0, "y": 3.0, "u": 2.0, "v": 4.0}
    there = {"x": 1.0, "y": 2.0, "u": 9.0, "v": 8.0}
    groups = [["x", "y"], ["u", "v"]]
    series = PublishedSeries(
        ("a", "b", "c", "d"),
        2,
        "illness",
        {"place": None},
        [
            release_of(1, truth, groups, [[], []], born, places=here),
            release_of(2, truth, groups, [[], []], kinds, places=there),
        ],
    )
    assert len(rt.attacks.series(series, mode="join", releases=[1])["y"][1]) == 4
    assert rt.attacks.series(series, mode="join")["y"][1] == {"a": HALF, "b": HALF}


@pytest.mark.parametrize("event", [EventKind.SENSITIVE_UPDATED, EventKind.RETURNED])
def test_join_keeps_only_memberships_with_equal_or_disjoint_signatures_across_changes_and_returns(event):
    """At first x can only be where a and b are. Later x lies in the boxes of {c, d} and of {b, c}, which shares one value with {a, b}: so x is not there."""
    truth = {"x": 0, "y": 1, "u": 2, "v": 3, "w": 1, "z": 2}
    places = {"x": 1.0, "y": 2.0, "u": 5.0, "v": 6.0, "w": 8.0, "z": 9.0}
    groups, stayed = [["x", "y"], ["u", "v"], ["w", "z"]], dict.fromkeys(truth, EventKind.UNCHANGED)
    months = [release_of(1, truth, groups, [[], [], []], dict.fromkeys(truth, EventKind.INSERTED), places=places)]
    if event == EventKind.RETURNED:
        months.append(release_of(2, truth, [["y"], *groups[1:]], [[0], [], []], stayed, ["x"], places=places))
    number = len(months) + 1
    now, happened = {**truth, "x": 3, "n": 2}, {**stayed, "x": event, "n": EventKind.INSERTED}
    places = {"x": 3.0, "u": 4.0, "w": 2.0, "n": 3.5, "y": 20.0, "v": 30.0}
    again = [["y"], ["u", "x"], ["w", "n"], ["v"]]
    months.append(release_of(number, now, again, [[0], [], [], [2]], happened, ["z"], places=places))
    series = PublishedSeries(("a", "b", "c", "d"), 2, "illness", {"place": None}, months)
    asked = {"mode": "join", "knows_change": False}
    assert set(rt.attacks.series(series, **asked, releases=[number])["x"][number]) == {"b", "c", "d"}
    assert set(rt.attacks.series(series, **asked)["x"][number]) == {"c", "d"}


def join_agrees(seed: int, people: int) -> bool:
    """Compare the join with brute force on a series that keeps the rules; whether signatures across changes made a difference."""
    series = published(random_months(seed, people, 3), seed)
    if series is None:
        return False
    possible = joined_values(series)
    found = rt.attacks.series(series, mode="join")
    for (person, number), values in possible.items():
        assert {series.domain[code] for code in values} <= found[person][number].keys()
    return possible != joined_values(series, apart=False)


def test_join_rules_out_only_what_no_membership_that_keeps_the_rules_has():
    assert [seed for seed in (1, 2, 3, 43, 53) if join_agrees(seed, 5)] == [43, 53]


# The brute force goes through the memberships of the seventh series for as long as through those of all other quick ones.
@pytest.mark.parametrize("seed", [pytest.param(7, marks=pytest.mark.slow) if seed == 7 else seed for seed in seeds(60)])
def test_join_rules_out_nothing_that_is_possible_where_people_show_boxes_of_buckets(seed):
    """Brute force gives every box as many people of each batch as are listed; the engine asks only whether there are some, so it may leave more."""
    series = published(random_months(seed, 5, 2), seed, k=2)
    if series is None:
        return
    found = rt.attacks.series(series, mode="join")
    for (person, number), values in joined_values(series).items():
        assert {series.domain[value] for value in values} <= set(found[person][number])


@pytest.mark.slow
def test_join_rules_out_only_what_no_membership_has_in_hundreds_of_series():
    assert sum(join_agrees(seed, 5) for seed in range(300)) >= 5


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"mode": "exakt"}, "mode must be one of exact, fixpoint, join.*Did you mean 'exact'"),
        ({"returns": "same"}, "returns must be 'unknown' or 'unchanged'"),
        ({"releases": [4]}, r"releases must name some of 1, 2, 3, but it has \[4\]"),
        ({"releases": []}, "releases must name some of 1, 2, 3, but it has nothing"),
    ],
)
def test_wrong_questions_are_refused(asked, message):
    with pytest.raises(rt.PolicyError, match=message):
        rt.attacks.series(unsafe_series(), **asked)


def test_an_empty_series_and_one_with_gaps_are_refused():
    series = unsafe_series()
    with pytest.raises(rt.DataError, match="no release yet"):
        rt.attacks.series(series[:0])
    with pytest.raises(rt.DataError, match="Releases are missing in between"):
        rt.attacks.series(series[::2])


def test_an_unknown_person_is_a_key_error():
    with pytest.raises(KeyError, match="No release contains the person 'p9'"):
        rt.attacks.series(unsafe_series(), mode="fixpoint")["p9"]


def test_the_engines_see_no_true_value():
    """Shuffling the true values of a release inside its groups changes nothing."""
    series = unsafe_series()
    for release in series:
        object.__setattr__(release, "value_of", np.zeros_like(release.value_of))
    assert rt.attacks.series(series) == rt.attacks.series(unsafe_series())


def test_worlds_that_are_too_many_are_refused_before_they_are_laid_out(monkeypatch):
    """One group with many open people: the limit is looked at within a step, not after it."""
    monkeypatch.setattr(counting, "MOST_TRANSITIONS", 20_000)
    steps = []
    true = counting._less
    monkeypatch.setattr(counting, "_less", lambda room, at: steps.append(at) or true(room, at))
    domain, frames = drafts.random_months(3, 120, 5, 12)
    drafted = drafts.DraftedSeries(4, domain)
    for number, frame in enumerate(frames):
        drafted.publish(frame, number)
    with pytest.raises(rt.PolicyError, match="too many to count"):
        rt.attacks.series(drafted.series)
    assert len(steps) < 25_000
