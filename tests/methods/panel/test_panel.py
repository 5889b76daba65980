"""Panel: people grouped by all of their rows, linked by a pseudonym or not."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations
from random import Random

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.errors import Infeasible, PolicyError
from reticent.methods.panel.wave_pattern import wave_patterns
from reticent.table.meaning import Anything, Interval, Value, Values
from tests.oracles.panel_worlds import Record, beliefs
from tests.release.test_people import _certify_again, panel, visits

ROLES = {"quasi": ["year", "age", "sex", "origin"], "sensitive": "wage", "identifiers": ["person"]}


def sequences(release) -> dict[str, list[tuple]]:
    """The labels of all rows of every pseudonym."""
    found = defaultdict(list)
    for row in release.frame.iter_rows(named=True):
        found[row["pseudonym"]].append(tuple(row[name] for name in ROLES["quasi"]))
    return {name: sorted(rows) for name, rows in found.items()}


def test_linked_sequences_hide_among_k_others(tmp_path):
    """A pseudonym that is published on purpose: no sequence of labels is that of fewer than five people."""
    table = rt.Table(panel(), **ROLES, pseudonyms=["person"])
    release = rt.publish(table, rt.KAnonymity(5) & rt.DistinctLDiversity(2))
    assert release.public.manifest.method["name"] == "Panel"
    shared = Counter(map(tuple, sequences(release).values()))
    assert min(shared.values()) >= 5
    assert release.frame.height == table.rows
    found = rt.verify(release.save(tmp_path / "release"))
    assert found.holds
    statuses = {check.name: check.status for check in found.checks}
    assert statuses["pseudonym pseudonym"] == statuses["claim KAnonymity(k=5)"] == "holds"
    known = release.public.manifest.known_rows
    assert (known.rows, known.judged) == (None, "chances")


def test_four_sequences_of_two_values_are_two_rows_each_and_one_sequence_each():
    rows = [(i, wave, value) for i, word in enumerate(["ax", "ay", "bx", "by"]) for wave, value in enumerate(word)]
    frame = pl.DataFrame(rows, schema=["id", "wave", "place"], orient="row")
    unlinked = rt.publish(rt.Table(frame, quasi=["wave", "place"], identifiers=["id"]), rt.KAnonymity(2), rt.Lattice())
    assert unlinked.utility["loss"] == 0
    assert unlinked.groups.sizes.tolist() == [2] * 4
    table = rt.Table(frame, quasi=["wave", "place"], identifiers=["id"], pseudonyms=["id"])
    linked = rt.publish(table, rt.KAnonymity(2))
    assert linked.utility["loss"] > 0
    assert set(linked.frame.group_by("group").agg(pl.col("pseudonym").n_unique())["pseudonym"]) == {2}
    with pytest.raises(Infeasible):
        rt.publish(table, rt.KAnonymity(5))


def leaves(meaning, values) -> frozenset:
    match meaning:
        case Anything():
            return frozenset(values)
        case Value(value):
            return frozenset([value])
        case Values(several):
            return frozenset(several)
        case Interval():
            return frozenset(value for value in values if meaning.low <= value <= meaning.high)
    raise AssertionError(meaning)


@pytest.mark.parametrize("seed", range(12))
def test_no_chance_exceeds_the_largest_share_of_a_group_in_all_worlds(seed):
    """Five people at two waves: everybody's values are known, and still no chance of a static value is above the share that was promised."""
    chance = Random(seed)
    people = [{wave: (chance.randrange(4) + wave, chance.choice("ab")) for wave in (0, 1)} for _ in range(5)]
    values = [chance.choice("vw") for _ in people]
    rows = [(i, wave, *person[wave], values[i]) for i, person in enumerate(people) for wave in (0, 1)]
    frame = pl.DataFrame(rows, schema=["id", "wave", "age", "place", "blood"], orient="row")
    table = rt.Table(frame, quasi=["wave", "age", "place"], sensitive="blood", identifiers=["id"])
    release = rt.publish(table, rt.KAnonymity(2), rt.Panel())
    meanings = release.public.meanings
    domains = {name: frame[name].unique().to_list() for name in ("age", "place")}
    records = [
        Record(
            row["group"],
            int(row["wave"]),
            tuple(leaves(meanings[name][row[name]], domains[name]) for name in ("age", "place")),
            row["blood"],
        )
        for row in release.frame.iter_rows(named=True)
    ]
    shares = defaultdict(Counter)
    for record in records:
        shares[record.group][record.value] += 1
    largest = max(Fraction(max(each.values()), each.total()) for each in shares.values())
    found = beliefs(people, records)
    assert all(found)
    assert max(max(each.values()) for each in found) <= largest


def test_people_with_rare_waves_lose_rows_until_they_fit_others():
    frame = panel(60, 5).filter(~((pl.col("person") < 20) & (pl.col("year") == 2004)))
    # One misses another wave, and keeps the rows that others have too; one has a single row of her own and none of a pattern.
    frame = frame.filter(~((pl.col("person") == 30) & (pl.col("year") == 2004)))
    frame = frame.filter(~((pl.col("person") == 31) & (pl.col("year") < 2004)))
    table = rt.Table(frame, **ROLES)
    with pytest.raises(Infeasible, match="1 of 275 rows are at waves that too few people share"):
        rt.publish(table, rt.KAnonymity(5), rt.Panel())
    release = rt.publish(table, rt.KAnonymity(5), rt.Panel(suppression="0.01"))
    assert release.private.suppressed == 1
    waves = release.frame.group_by("group").agg(pl.col("year").unique().sort())
    assert {tuple(each) for each in waves["year"].to_list()} == {
        ("2000", "2001", "2002", "2003", "2004"),
        ("2000", "2001", "2002", "2003"),
    }


def test_patterns_keep_as_many_rows_as_fit():
    owner = np.array([0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4])
    wave = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 2])
    found = wave_patterns(owner, wave, 2)
    assert [each.rows.tolist() for each in found] == [[[6, 8], [7, 9]], [[0, 3], [1, 4], [2, 5]]]
    assert wave_patterns(owner, wave, 3) == []


def test_sequences_that_differ_within_a_group_are_found_by_verify(tmp_path):
    release = rt.publish(rt.Table(panel(), **ROLES, pseudonyms=["person"]), rt.KAnonymity(5))
    folder = release.save(tmp_path / "release")
    frame = release.frame
    # Two people of different groups exchange their rows of one wave.
    groups = (
        frame.filter(pl.col("year") == "2000").group_by("group", maintain_order=True).agg(pl.col("pseudonym").first())
    )
    one, other = groups["pseudonym"][:2]
    swap = pl.when(pl.col("year") == "2003").then(pl.col("pseudonym").replace({one: other, other: one}))
    spoilt = frame.with_columns(swap.otherwise(pl.col("pseudonym")).alias("pseudonym"))
    spoilt.sort(pl.all()).write_csv(folder / "public" / "data.csv")
    _certify_again(folder)
    found = rt.verify(folder)
    assert not found.holds
    assert any("sequences of a group differ" in check.detail for check in found.failures)


@pytest.mark.parametrize(
    ("change", "method", "told"),
    [
        ({"quasi_sets": [["year", "age"], ["sex", "origin"]]}, rt.Panel(), "does not support sets of columns"),
        ({"engine": "streaming", "unit": "row", "identifiers": []}, rt.Panel(), "needs all rows in memory"),
        ({"rows_per_person": 1}, rt.Panel(), "here nobody has several"),
        ({}, rt.Panel(wave="wage"), "wave is 'wage', which is not a quasi column"),
        ({}, rt.Panel(wave="sex"), "'sex' has the same value in several rows of a person"),
    ],
)
def test_what_cannot_be_published_is_refused_by_name(change, method, told):
    table = rt.Table(panel(), **{**ROLES, **change})
    with pytest.raises(PolicyError, match=told):
        rt.publish(table, rt.KAnonymity(5), method)


def test_visits_without_waves_are_refused_with_a_way_out():
    table = rt.Table(
        visits(), quasi=["age", "town"], sensitive="diagnosis", identifiers=["patient"], pseudonyms=["patient"]
    )
    with pytest.raises(PolicyError, match=r"Panel is for people observed at the same times.*use Mondrian"):
        rt.publish(table, rt.KAnonymity(5))


def test_a_panel_is_published_by_a_policy_and_attacked(tmp_path):
    panel().write_csv(tmp_path / "panel.csv")
    (tmp_path / "policy.toml").write_text(
        """
[data]
source = "panel.csv"
[roles]
identifiers = ["person"]
pseudonyms = ["person"]
quasi = ["year", "age", "sex", "origin"]
sensitive = ["wage"]
[[definition]]
name = "KAnonymity"
k = 5
[method]
name = "Panel"
"""
    )
    table = rt.read(tmp_path / "panel.csv", policy=tmp_path / "policy.toml")
    assert table.linked
    release = rt.publish(table, rt.KAnonymity(5), rt.Panel())
    folder = release.save(tmp_path / "release")
    assert json.loads((folder / "public" / "manifest.json").read_text())["format"] == "panel"
    assert release.count("sex = 'f'").value == table.frame.filter(pl.col("sex") == "f").height
    assert rt.attack(release, raw=table).table.height


def test_any_few_columns_at_any_waves_are_covered_by_what_is_promised_of_all():
    """A claim for any few columns is refused with what implies it, and that is so: every choice of two points of a sequence is shared by as many people."""
    table = rt.Table(panel(), **ROLES, pseudonyms=["person"])
    with pytest.raises(PolicyError, match=r"use KAnonymity\(k=5\) itself"):
        rt.publish(table, rt.AnyColumns(2, rt.KAnonymity(5)), rt.Panel(wave="year"))
    release = rt.publish(table, rt.KAnonymity(5), rt.Panel(wave="year"))
    points = defaultdict(set)
    for row in release.frame.iter_rows(named=True):
        points[row["pseudonym"]] |= {(row["year"], name, row[name]) for name in ROLES["quasi"]}
    pairs = Counter(pair for each in points.values() for pair in combinations(sorted(each), 2))
    assert min(pairs.values()) >= 5
