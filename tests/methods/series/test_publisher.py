"""What holds for every release of every series, whatever happened to its table (spec 004, section 10)."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import polars as pl
import pytest
from benchmarks.reproduce_tau import months

import reticent as rt
from reticent.errors import Infeasible
from reticent.methods.series import EventKind, PublishedSeries
from tests.methods.series.drafts import DraftedSeries, random_months
from tests.oracles.tau_rules import is_tau_safe

MODES = {
    "filled near": {},
    "filled random": {"choice": "random"},
    "blind near": {"balance": "blind"},
    "blind random": {"balance": "blind", "choice": "random"},
    "filled bang": {"choice": "bang"},
    "blind bang": {"balance": "blind", "choice": "bang"},
    "blocks near": {"balance": "blocks"},
    "blocks random": {"balance": "blocks", "choice": "random"},
}
every_mode = pytest.mark.parametrize("options", MODES.values(), ids=list(MODES))


def drafted(seed: int, options: dict[str, str], m: int = 2, people: int = 30, months: int = 5) -> DraftedSeries:
    """A random series; one whose first release is not eligible is drawn anew."""
    while True:
        domain, frames = random_months(seed, people, months, 3 * m)
        found = DraftedSeries(m, domain, dict(options))
        try:
            for number, frame in enumerate(frames):
                found.publish(frame, seed + number)
        except Infeasible:
            seed += 1000
            continue
        return found


def facts_of(series: PublishedSeries) -> tuple[list, list]:
    groups, people = [], []
    for release in series:
        groups.append(
            [release.values[a:b].tolist() for a, b in zip(release.offsets, release.offsets[1:], strict=False)]
        )
        shown = [frozenset(each) for each in groups[-1]]
        people.append(
            {
                person: (int(value), shown[group])
                for person, value, group in zip(release.people, release.value_of, release.group_of, strict=True)
            }
        )
    return groups, people


@every_mode
@pytest.mark.parametrize("seed", range(4))
def test_random_series_keep_the_rules_and_lose_nobody(options, seed):
    series = drafted(seed, options, m=2 + seed % 2, people=24 + 12 * (seed % 2))
    assert is_tau_safe(*facts_of(series.series), series.m)
    assert rt.republish.check_tau_safety(series.series).holds
    before = None
    for state in series.states:
        release = state.release
        points = series.series.positions(release.quasi)
        assert (release.low[release.group_of] <= points).all()
        assert (points <= release.high[release.group_of]).all()
        assert (release.counterfeits < release.sizes).all()
        # Everybody of the snapshot is in the release or waits, with the own value.
        waiting = dict(state.waiting.select("id", "job").iter_rows())
        assert not set(waiting) & set(release.people.to_list())
        if before is not None:
            gone = set(before.people.to_list()) - set(release.people.to_list())
            assert gone == set(release.left.to_list())
            _check_sticky(before, release)
        before = release


def _check_sticky(before, release):
    """A group without counterfeits whose people are all unchanged goes on with the same people."""
    now = dict(zip(release.people.to_list(), release.group_of.tolist(), strict=True))
    steady = {
        person
        for person, event in zip(release.people.to_list(), release.events.tolist(), strict=True)
        if event in (EventKind.UNCHANGED, EventKind.QUASI_UPDATED)
    }
    members: dict[int, list] = {}
    for person, group in zip(before.people.to_list(), before.group_of.tolist(), strict=True):
        members.setdefault(group, []).append(person)
    for group, people in members.items():
        if before.counterfeits[group] == 0 and set(people) <= steady:
            assert len({now[person] for person in people}) == 1
            assert release.sizes[now[people[0]]] == len(people)


def test_regions_of_a_grid_keep_clusters_apart():
    """Two clusters, each with every value as often as the other: no group has people of both."""
    rng = np.random.default_rng(3)
    age = np.concatenate([rng.integers(10, 20, 60), rng.integers(70, 80, 60)])
    jobs = ["a", "b", "c"] * 40
    frame = pl.DataFrame({"id": range(120), "age": age, "town": ["Aix"] * 120, "job": jobs})
    drafted = DraftedSeries(3, list("abcdefgh"), {"choice": "bang"})
    drafted.publish(frame, 1)
    release = drafted.series[0]
    assert len(release) == 40
    assert (release.high - release.low)[:, 0].max() < 20


def test_event_lists_follow_the_grammar():
    grammar = re.compile("_*(i[_u]*(d_*r[_u]*)*(d_*)?)?")
    found = drafted(8, {}, people=60, months=8).series.event_lists()
    assert all(grammar.fullmatch(each) for each in found.values())
    assert {"i", "d", "r", "u", "_"} == set("".join(found.values()))


@pytest.mark.parametrize("seed", range(3))
def test_counterfeits_are_as_many_as_balance_needs(seed):
    for options in ({}, {"baseline": "tau"}):
        for change in drafted(seed, options, people=60).changes:
            if not change.waiting:
                assert change.counterfeits == change.needed + change.eligibility


@pytest.mark.parametrize("seed", range(60))
def test_no_choice_of_arrivals_for_vacancies_needs_fewer_counterfeits(seed):
    """Every choice of how many arrivals of each value fill vacancies is tried; those who do not must be m-eligible."""
    rng = np.random.default_rng(seed)
    m, values = 2 + seed % 2, 8
    away, supply = rng.integers(0, 4, values), rng.integers(0, 5, values)
    supply[0] += rng.integers(0, 6)
    codes, total = list("abcdefgh"), 12 * values
    base = pl.DataFrame({"id": range(total), "age": [1] * total, "town": ["Aix"] * total, "job": codes * 12})
    found = DraftedSeries(m, codes, {"choice": "random"})
    found.publish(base, seed)
    gone = [person for value, many in enumerate(away) for person in range(value, total, values)[:many]]
    jobs = [codes[value] for value, many in enumerate(supply) for _ in range(many)]
    ids = range(1000, 1000 + len(jobs))
    new = pl.DataFrame({"id": ids, "age": [1] * len(jobs), "town": ["Apt"] * len(jobs), "job": jobs}, base.schema)
    found.publish(pl.concat([base.filter(~pl.col("id").is_in(gone)), new]), seed)
    # One signature at first (all values, or disjoint runs of them): what is vacant in it.
    before, now = found.states[0].release, found.changes[1]
    left = [before.group_of[person] for person in gone]
    kept = Counter(
        (before.signature(int(before.group_of[person])), int(before.value_of[person]))
        for person in range(total)
        if person not in gone and before.group_of[person] in left
    )
    shown = {signature for signature, _ in kept} | {before.signature(int(group)) for group in left}
    need = np.zeros(values, dtype=int)
    for signature in shown:
        most = max(kept[signature, value] for value in signature)
        for value in signature:
            need[value] += most - kept[signature, value]
    fewest = min(
        (
            int(need.sum() - sum(chosen))
            for chosen in product(*(range(min(one, other) + 1) for one, other in zip(need, supply, strict=True)))
            if m * (supply - chosen).max() <= (supply - chosen).sum()
        ),
        default=None,
    )
    assert (now.waiting > 0) == (fewest is None)
    if fewest is not None:
        assert now.counterfeits == fewest


@pytest.mark.parametrize("baseline", ["tau", "m-invariance"])
def test_baselines_keep_what_they_are_named_for(baseline):
    found = drafted(11, {"baseline": baseline}, people=80)
    groups, people = facts_of(found.series)
    assert all(len(set(values)) == len(values) >= 2 for release in groups for values in release)
    if baseline == "tau":
        assert is_tau_safe(groups, people, 2, hardened=False)
    # The printed rules are weaker: a changed signature may share values with the old one.
    assert not rt.republish.check_tau_safety(found.series).holds


def test_the_same_seed_gives_the_same_release_whatever_the_order_of_rows():
    domain, frames = random_months(3, 40, 1, 6)
    one, other = DraftedSeries(2, domain), DraftedSeries(2, domain)
    tables = [each.publish(frame, 7).tables["data"].frame() for each, frame in ((one, frames[0]), (other, frames[0]))]
    assert tables[0].equals(tables[1])


def test_arrivals_that_are_not_eligible_wait_all_of_them_and_enter_later():
    base = pl.DataFrame(
        {"id": range(6), "age": range(20, 26), "town": ["Aix"] * 6, "job": ["a", "b", "c", "d", "e", "f"]}
    )
    new = pl.DataFrame({"id": [10, 11, 12], "age": [30, 31, 32], "town": ["Apt"] * 3, "job": ["a", "a", "b"]})
    more = pl.DataFrame({"id": [13], "age": [33], "town": ["Apt"], "job": ["c"]})
    found = DraftedSeries(2, list("abcdef"))
    for number, frame in enumerate((base, pl.concat([base, new]), pl.concat([base, new, more]))):
        found.publish(frame, number)
    assert [change.waiting for change in found.changes] == [0, 3, 0]
    assert found.states[1].waiting["id"].to_list() == [10, 11, 12]
    assert all(change.counterfeits == 0 for change in found.changes)
    assert found.series.event_lists()[10] == "__i"


def test_a_first_release_that_is_not_eligible_is_infeasible():
    frame = pl.DataFrame({"id": range(3), "age": range(3), "town": ["Aix"] * 3, "job": ["a", "a", "b"]})
    with pytest.raises(Infeasible, match="2 of 3 rows"):
        DraftedSeries(2, list("abcde")).publish(frame, 1)


def test_five_arrivals_with_one_value_get_no_counterfeits_that_give_them_away():
    base = pl.DataFrame({"id": range(4), "age": range(4), "town": ["Aix"] * 4, "job": ["a", "b", "c", "d"]})
    new = pl.DataFrame({"id": range(10, 15), "age": range(5), "town": ["Apt"] * 5, "job": ["b"] * 5})
    found = DraftedSeries(2, list("abcde"))
    found.publish(base, 1)
    found.publish(pl.concat([base, new]), 2)
    assert (found.changes[1].waiting, found.changes[1].counterfeits, found.changes[1].people) == (5, 0, 4)
    printed = DraftedSeries(2, list("abcde"), {"baseline": "tau"})
    printed.publish(base, 1)
    printed.publish(pl.concat([base, new]), 2)
    assert (printed.changes[1].waiting, printed.changes[1].eligibility) == (0, 5)


def test_a_changed_value_outside_the_signature_leads_to_a_disjoint_one():
    base = pl.DataFrame({"id": range(4), "age": range(4), "town": ["Aix"] * 4, "job": ["a", "b", "c", "d"]})
    for options in MODES.values():
        found = DraftedSeries(2, list("abcdef"), dict(options))
        found.publish(base, 1)
        old = found.series[0].signature(int(found.series[0].group_of[0]))
        outside = next(value for code, value in enumerate("abcdef") if code not in old)
        found.publish(base.with_columns(job=pl.when(pl.col("id") == 0).then(pl.lit(outside)).otherwise("job")), 2)
        release = found.series[1]
        row = release.people.to_list().index(0)
        assert not release.signature(int(release.group_of[row])) & old
        assert release.events[row] == EventKind.SENSITIVE_UPDATED


def test_a_changed_value_inside_the_signature_keeps_it():
    base = pl.DataFrame({"id": range(2), "age": range(2), "town": ["Aix"] * 2, "job": ["a", "b"]})
    found = DraftedSeries(2, list("abcde"))
    found.publish(base, 1)
    found.publish(base.with_columns(job=pl.lit("b")), 2)
    release = found.series[1]
    assert [release.signature(group) for group in range(2)] == [frozenset({0, 1})] * 2
    assert release.counterfeits.tolist() == [1, 1]


def test_who_returns_with_the_old_value_returns_to_the_old_signature():
    base = pl.DataFrame({"id": range(4), "age": range(4), "town": ["Aix"] * 4, "job": ["a", "b", "c", "d"]})
    found = DraftedSeries(2, list("abcde"))
    for number, frame in enumerate((base, base.filter(pl.col("id") != 3), base)):
        found.publish(frame, number)
    first, last = found.series[0], found.series[2]
    assert first.signature(int(first.group_of[3])) == last.signature(int(last.group_of[3]))
    assert [change.deleted_map for change in found.changes] == [0, 1, 0]
    assert [change.counterfeits for change in found.changes] == [0, 1, 0]


def test_fresh_signatures_are_uniform_over_those_that_avoid_the_old_one():
    """Random choice and blind balance: the new signature tells nothing about the value but that it is in it."""
    base = pl.DataFrame({"id": range(1200), "age": [1] * 1200, "town": ["Aix"] * 1200, "job": ["a", "b"] * 600})
    found = DraftedSeries(2, list("abcde"), {"choice": "random", "balance": "blind"})
    found.publish(base, 5)
    found.publish(base.with_columns(job=pl.when(pl.col("id") % 2 == 0).then(pl.lit("c")).otherwise("job")), 6)
    release = found.series[1]
    drawn = Counter(release.signature(group) for group in release.group_of[release.value_of == 2].tolist())
    # {c, d} and {c, e}: 300 each, five standard deviations are 61.
    assert set(drawn) == {frozenset({2, 3}), frozenset({2, 4})}
    assert abs(drawn[frozenset({2, 3})] - 300) <= 61


def test_changes_of_four_thousand_people_need_few_counterfeits():
    """13.1: deficit first keeps counterfeits far below those of arbitrary matching (2,880 of 4,000 people at m = 4 over 24 releases)."""
    rng = np.random.default_rng(4)
    domain = [f"v{number:02d}" for number in range(20)]
    rows = pl.DataFrame(
        {
            "id": range(4000),
            "age": rng.integers(0, 80, 4000),
            "town": rng.choice(["Aix", "Apt", "Arles"], 4000),
            "job": rng.choice(domain, 4000),
        }
    )
    found = DraftedSeries(4, domain)
    for month in range(6):
        found.publish(rows, month)
        changed = rng.random(rows.height) < 0.1
        rows = rows.with_columns(
            job=pl.when(pl.Series(changed)).then(pl.Series(rng.choice(domain, rows.height))).otherwise("job")
        )
    assert rt.republish.check_tau_safety(found.series).holds
    assert sum(change.counterfeits for change in found.changes) <= 200
    # Changed people join signatures that are there: with one of their own for each group there would be about 200.
    last = found.series[-1]
    assert len({last.signature(group) for group in range(len(last))}) <= 130


@pytest.mark.slow
def test_a_large_m_needs_few_counterfeits_where_many_people_share_signatures():
    """Half of the thesis' experiment, m = 10 of 50 values: with a signature for each group of changed people, twelve releases needed 9,470 counterfeits."""
    found = DraftedSeries(10, [f"job{number:02d}" for number in range(50)])
    for number, frame in enumerate(months(0.5)[:12]):
        found.publish(frame.rename({"fnlwgt": "town"}), number)
    assert rt.republish.check_tau_safety(found.series).holds
    assert sum(change.counterfeits for change in found.changes) < 5_000
