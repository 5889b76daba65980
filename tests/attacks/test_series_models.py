"""BCF-anonymity, HD-composition and m-Distinct: goldens, and every matching listed on small random series."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest

import reticent as rt
from reticent.attacks.tracking import bcf_of_releases, hd_composition, m_distinct
from reticent.methods.series import EventKind, PublishedSeries
from tests.attacks.series_examples import random_series, release_of
from tests.methods.series.examples import unsafe_series
from tests.oracles.series_models import bcf, least_left
from tests.oracles.series_worlds import months_of


def grown(old: dict[str, int], new: dict[str, int], groups: list[list[list[str]]], places: dict[str, float]):
    """A first release, and one with more people."""
    everybody = old | new
    return [
        release_of(number, everybody, each, [[]] * len(each), dict.fromkeys(everybody, EventKind.INSERTED), (), places)
        for number, each in enumerate(groups, start=1)
    ]


def test_two_rows_remain_although_both_classes_have_three():
    """qid1 = {a, a, b}, qid2 = {a, b, b, c}: anonymity 2 for those in both releases."""
    old, new = {"x": 0, "y": 0, "z": 1}, {"u": 1, "v": 2, "s": 0, "t": 1}
    groups = [[["x", "y", "z"]], [["x", "z", "u", "v"], ["y", "s", "t"]]]
    found = bcf_of_releases(*grown(old, new, groups, dict.fromkeys(old | new, 1.0)))
    assert (found.forward, found.cross) == (2, 2)
    assert found.worst == (0, 0)
    assert found.achieved == 2


def compare_with_every_matching(seed: int) -> bool:
    draw = random.Random(seed)
    old = {f"o{number}": draw.randrange(2) for number in range(draw.randint(2, 4))}
    new = {f"n{number}": draw.randrange(2) for number in range(draw.randint(0, 3))}
    places = {name: float(draw.randrange(4)) for name in old | new}

    def partition(names: list[str]) -> list[list[str]]:
        cut = [[], []]
        for name in names:
            cut[draw.randrange(2)].append(name)
        return [each for each in cut if each]

    first, second = grown(old, new, [partition(list(old)), partition(list(old | new))], places)
    rows = [
        [(g, v) for g in range(len(each)) for v in each.values[each.offsets[g] : each.offsets[g + 1]].tolist()]
        for each in (first, second)
    ]
    boxes = [
        [(low[0], high[0]) for low, high in zip(each.low.tolist(), each.high.tolist(), strict=True)]
        for each in (first, second)
    ]
    homes = [dict(zip(each.people, each.group_of.tolist(), strict=True)) for each in (first, second)]
    pairs = sorted({(homes[0][name], homes[1][name]) for name in old})
    expected = bcf(*rows, *boxes, pairs, sorted({homes[1][name] for name in new}))
    found = bcf_of_releases(first, second)
    assert (found.forward, found.backward) == expected
    return bool(new) and found.achieved < min(*first.sizes.tolist(), *second.sizes.tolist())


def test_bcf_of_releases_is_what_all_matchings_say():
    assert sum(compare_with_every_matching(seed) for seed in range(40)) > 0


@pytest.mark.slow
def test_bcf_of_releases_is_what_all_matchings_say_on_many_tables():
    assert sum(compare_with_every_matching(seed) for seed in range(1000, 3000)) > 50


def test_bcf_is_refused_for_tables_that_do_not_only_grow():
    series = unsafe_series()
    with pytest.raises(rt.DataError, match="'p4' is not in the second release"):
        bcf_of_releases(series[0], series[1])
    changed = grown({"x": 0}, {}, [[["x"]], [["x"]]], {"x": 1.0})
    changed[1].value_of[:] = 1
    with pytest.raises(rt.DataError, match="'x' has another sensitive value"):
        bcf_of_releases(*changed)
    with pytest.raises(rt.DataError, match="No person is in both"):
        bcf_of_releases(release_of(1, {}, [], [], {}), release_of(2, {}, [], [], {}))


def test_m_distinct_propagates_updates_and_matchings():
    sizes = set()
    for seed in range(30):
        drawn = random_series(seed, people=5)
        months = months_of(drawn)
        updates = {code: {code} for code in range(4)}
        for earlier, later in pairwise(months):
            for person in earlier.truth.keys() & later.truth.keys():
                updates[earlier.truth[person]].add(later.truth[person])
        expected = least_left([month.groups for month in months], updates)
        named = {drawn.domain[code]: [drawn.domain[each] for each in targets] for code, targets in updates.items()}
        assert m_distinct(drawn, named).achieved == expected
        sizes.add(expected)
    assert sizes == {1, 2}


def test_m_distinct_says_whose_values_are_left():
    """Cataract and pneumonia do not change, diarrhea may have come from pneumonia: p1 is found out, as in Scenario I."""
    domain = unsafe_series().domain
    updates = {value: [value] for value in domain} | {"pneumonia": ["pneumonia", "diarrhea"]}
    codes = {domain.index(key): [domain.index(each) for each in values] for key, values in updates.items()}
    series = unsafe_series()[:2]
    found = m_distinct(series, updates)
    assert found.achieved == least_left([month.groups for month in months_of(series)], codes) == 1
    assert found.worst[0] in {"p1", "p2", "p3", "p4", "p7"}
    assert found.unique
    assert not found.holds(2)
    assert found.holds(1)
    with pytest.raises(rt.PolicyError, match=r"'diarrhoea' is not a value of the domain\. Did you mean 'diarrhea'"):
        m_distinct(series, {"pneumonia": ["diarrhoea"]})
    with pytest.raises(rt.PolicyError, match="'fluu' is not a value"):
        m_distinct(series, {"fluu": ["flu"]})


def test_holders_of_a_permanent_value_need_decoys_of_different_cohorts():
    truth = {"h": 0, "d1": 1, "d2": 2, "o": 3, "e1": 1}
    kinds = dict.fromkeys(truth, EventKind.INSERTED)
    stay = dict.fromkeys(truth, EventKind.UNCHANGED)
    wide, narrow = [["h", "d1", "d2"], ["o", "e1"]], [["h", "d1"], ["d2", "o", "e1"]]
    releases = [release_of(1, truth, wide, [[], []], kinds), release_of(2, truth, narrow, [[], []], stay)]
    series = PublishedSeries(("hiv", "b", "c", "d"), 2, "illness", {"place": None}, releases)
    found = hd_composition(series, "hiv", {"h": 0, "d1": 1, "d2": 2})
    assert found.achieved == 2
    assert found.risk == Fraction(1, 2)
    assert found.lonely == ((2, 0),)
    assert found.holds(2)
    assert not found.holds(3)
    assert hd_composition(series[:1], "hiv", {"h": 0, "d1": 1, "d2": 2}).holds(3)
    assert "uniformly" in found.warning
    crowded = hd_composition(series[:1], "hiv", {"h": 0, "d1": 1, "d2": 1})
    assert crowded.crowded == ((1, 0),)
    assert not crowded.holds(1)
    with pytest.raises(rt.DataError, match="'h' holds 'hiv', contrary to the given cohort"):
        hd_composition(series, "hiv", {"h": 1})
    with pytest.raises(rt.PolicyError, match="'HIV' is not a value"):
        hd_composition(series, "HIV", {})
    with pytest.raises(rt.DataError, match="No one holds 'd'"):
        hd_composition(series[:0], "d", {})
