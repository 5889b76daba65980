"""Who knows how a release was chosen learns from the choice, unless it does not depend on what is secret."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reticent.anonymize import Datafly, Lattice, Mondrian
from reticent.attack import Minimality, Published, attack, compare
from reticent.attack.minimality import _chances, _Choice
from reticent.attack.remaking import definition_of, method_of
from reticent.attack.worlds import Worlds
from reticent.data import Hierarchy, Table
from reticent.definitions import (
    ConfidenceBounding,
    DistinctLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
)
from reticent.demo import twelve_patients_table
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.release import publish
from tests.oracles import attack_minimality as oracle

METHODS = {"lattice": Lattice(), "mondrian": Mondrian(), "datafly": Datafly(), "allowance": Lattice(suppression="0.1")}


def two_places() -> Table:
    """Two people of one place have HIV, four of another do not: published apart, one place would be all HIV."""
    frame = pl.DataFrame({"zip": ["1"] * 2 + ["2"] * 4, "ill": ["HIV"] * 2 + ["flu"] * 4})
    return Table(frame, quasi={"zip": Hierarchy.suppression(["1", "2"])}, sensitive="ill")


@pytest.mark.parametrize("method", METHODS)
def test_that_places_were_merged_tells_who_has_hiv(method: str) -> None:
    """A bound on HIV alone is broken apart only if both people of place 1 have it: of 15 worlds one is left."""
    table = two_places()
    release = publish(table, ConfidenceBounding("1/2", ["HIV"]), METHODS[method])
    found = attack(release, Minimality(table))[0]
    assert (found.hits, found.people) == (6, 6)
    assert (found.details["worlds"], found.details["possible"]) == (15, 1)
    assert (found.details["surest"], found.details["surest_by_group"]) == ("1", "2/3")
    assert found.interval is not None
    assert found.interval[0] > 0.5
    assert found.example == (
        "Somebody with 1 has ill 'HIV' with a chance of 33% by the group alone, and of 100% for somebody who knows how the release was chosen."
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_choice_that_does_not_depend_on_the_secret_tells_nothing(method: str) -> None:
    table = two_places()
    found = attack(publish(table, KAnonymity(5), METHODS[method]), Minimality(table))[0]
    assert (found.hits, found.details["moved"]) == (0, 0)
    assert not found.succeeds
    assert found.details["possible"] == found.details["worlds"] == 15
    assert "makes nobody's ill likelier" in found.example


def test_buckets_tell_the_same() -> None:
    table = two_places()
    weak = publish(table, ConfidenceBounding("1/2", ["HIV"]), Lattice(format="bucketize"))
    assert attack(weak, Minimality(table))[0].hits == 6
    free = publish(table, ConfidenceBounding(1, ["HIV"]), Lattice(format="bucketize"))
    found = attack(free, Minimality(table))[0]
    assert (found.hits, found.details["moved"]) == (0, 0)


def test_two_values_in_every_group_leave_more_worlds() -> None:
    """Apart, place 1 would share one value: both have HIV (1 way) or both flu (6 ways), so flu is 6/7 likely there."""
    table = two_places()
    found = attack(publish(table, DistinctLDiversity(2)), Minimality(table))[0]
    assert (found.details["possible"], found.details["surest"]) == (7, "6/7")
    assert (found.hits, found.details["moved"]) == (2, 6)
    assert attack(publish(table, DistinctLDiversity(2)), Minimality(table, gain="1/5"))[0].hits == 0


def test_the_three_diverse_patients_are_known_better_by_how_their_release_was_chosen() -> None:
    table = twelve_patients_table()
    found = attack(publish(table, DistinctLDiversity(3)), Minimality(table))[0]
    assert found.details["worlds"] == 12**3
    assert 0 < found.details["possible"] <= 12**3


PASSES = {
    "distinct": (DistinctLDiversity(2), lambda group: len(set(group)) >= 2),
    "bound": (ConfidenceBounding("1/2", ["a"]), lambda group: 2 * group.count("a") <= len(group)),
    "large": (KAnonymity(2), lambda group: len(group) >= 2),
    "recursive": (
        RecursiveLDiversity(2, 2),
        lambda group: max(Counter(group).values()) < 2 * (len(group) - max(Counter(group).values())),
    ),
}


@settings(max_examples=40, deadline=None)
@given(
    people=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("aabc")), min_size=2, max_size=6),
    rule=st.sampled_from(sorted(PASSES)),
)
def test_chances_are_those_of_trying_every_permutation(people: list[tuple[int, str]], rule: str) -> None:
    definition, passes = PASSES[rule]
    points, values = [point for point, _ in people], [value for _, value in people]
    assume(rule != "bound" or "a" in values)
    expected = oracle.beliefs(points, values, passes)
    hierarchy = Hierarchy.taxonomy({"01": ["0", "1"], "23": ["2", "3"]})
    table = Table({"at": [str(p) for p in points], "ill": values}, quasi={"at": hierarchy}, sensitive="ill")
    try:
        release = publish(table, definition)
    except Infeasible:
        assert expected is None
        return
    assert expected is not None
    found = attack(release, Minimality(table))[0]
    groups = oracle.groups(points, values, passes)
    alone = [Fraction(max(Counter(group).values()), len(group)) for group in groups]
    assert found.hits == sum(max(after.values()) > before for after, before in zip(expected, alone, strict=True))
    assert found.details["surest"] == str(max(max(each.values()) for each in expected))


@settings(max_examples=12, deadline=None)
@given(
    people=st.lists(
        st.tuples(st.integers(20, 23), st.sampled_from("xy"), st.sampled_from("aab")), min_size=3, max_size=5
    ),
    definition=st.sampled_from([DistinctLDiversity(2), TCloseness("0.3"), WorstCaseKnowledge("0.8", 1)]),
    objective=st.sampled_from(["loss", "discernibility"]),
)
def test_following_the_order_of_nodes_agrees_with_running_the_search_in_every_world(
    people: list[tuple[int, str, str]], definition: Any, objective: Any
) -> None:
    frame = pl.DataFrame(people, schema=["age", "sex", "ill"], orient="row")
    quasi = {"age": Hierarchy.intervals([2], domain=(20, 23)), "sex": Hierarchy.suppression(["x", "y"])}
    table = Table(frame, quasi=quasi, sensitive="ill")
    try:
        side = publish(table, definition, Lattice(objective=objective)).public
    except Infeasible:
        assume(False)
    published = Published.of(side)
    worlds = Worlds.of(published, table.frame, "ill", 60)
    values = published.groups.domain.columns[0].labels
    choice = _Choice(table, definition_of(side), method_of(side), worlds, values)
    assert choice.by_rank(objective).tolist() == choice.by_running(side).tolist()
    assert _chances(worlds, choice.by_rank(objective))


def test_it_is_one_of_the_adversaries_where_the_table_is_small_enough(tmp_path: Path) -> None:
    table = two_places()
    release = publish(table, DistinctLDiversity(2))
    release.save(tmp_path / "release")
    before, after = next(pair for pair in compare(table, tmp_path / "release") if pair[1].adversary == "minimality")
    assert before is None
    assert after.hits == 2


@pytest.mark.parametrize(
    ("target", "table", "kind", "message"),
    [
        (two_places(), two_places(), PolicyError, "was not chosen at all"),
        ("release", Table(two_places().frame[:5], quasi=["zip"], sensitive="ill"), DataError, "does not fill"),
    ],
)
def test_what_cannot_be_followed_is_refused(target: Any, table: Table, kind: type[Exception], message: str) -> None:
    aim = publish(two_places(), DistinctLDiversity(2)) if target == "release" else target
    with pytest.raises(kind, match=message):
        attack(aim, Minimality(table))


def test_large_tables_are_refused() -> None:
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b", "c", "d"] * 10})
    table = Table(frame, quasi={"age": Hierarchy.intervals([10], domain=(0, 39))}, sensitive="ill")
    with pytest.raises(PolicyError, match="more than 20,000 worlds"):
        attack(publish(table, DistinctLDiversity(2)), Minimality(table))
    with pytest.raises(PolicyError, match="one sensitive column"):
        Minimality(Table(frame, quasi=["age"]))
    with pytest.raises(PolicyError, match="gain"):
        Minimality(table, gain=2)
