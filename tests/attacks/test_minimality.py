"""Who knows how a release was chosen learns from the choice, unless it does not depend on what is secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reticent.attacks import Minimality, attack, compare
from reticent.attacks.control import definition_of, method_of
from reticent.attacks.method_inversion import Choice
from reticent.attacks.release_worlds import Placed
from reticent.baselines.datafly import Datafly
from reticent.definitions import (
    ConfidenceBounding,
    DistinctLDiversity,
    KAnonymity,
    RecursiveLDiversity,
    TCloseness,
    WorstCaseKnowledge,
    of_groups,
)
from reticent.demo import twelve_patients_table
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.methods.suppress import Suppress
from reticent.release import adversary_view_of, publish
from reticent.table import Hierarchy, Table
from tests.oracles import attack_minimality as oracle
from tests.sampling import examples

METHODS = {
    "lattice": Lattice(),
    "mondrian": Mondrian(values="sets"),
    "datafly": Datafly(),
    "allowance": Lattice(suppression="0.1"),
}


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
        "A person with 1 has ill 'HIV' with a probability of 33% by the group alone, and of 100% for an attacker who knows how the release was chosen."
    )


@pytest.mark.parametrize("method", METHODS)
def test_a_choice_that_does_not_depend_on_the_secret_tells_nothing(method: str) -> None:
    table = two_places()
    found = attack(publish(table, KAnonymity(5), METHODS[method]), Minimality(table))[0]
    assert (found.hits, found.details["moved"]) == (0, 0)
    assert not found.succeeds
    assert found.details["possible"] == found.details["worlds"] == 15
    assert "makes no ill more likely" in found.example


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
    found = attack(publish(table, DistinctLDiversity(2), Lattice()), Minimality(table))[0]
    assert (found.details["possible"], found.details["surest"]) == (7, "6/7")
    assert (found.hits, found.details["moved"]) == (2, 6)
    assert attack(publish(table, DistinctLDiversity(2), Lattice()), Minimality(table, gain="1/5"))[0].hits == 0


def test_the_three_diverse_patients_are_known_better_by_how_their_release_was_chosen() -> None:
    table = twelve_patients_table()
    found = attack(publish(table, DistinctLDiversity(3), Lattice()), Minimality(table))[0]
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


@examples(40)
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
        release = publish(table, definition, Lattice())
    except Infeasible:
        assert expected is None
        return
    assert expected is not None
    found = attack(release, Minimality(table))[0]
    groups = oracle.groups(points, values, passes)
    alone = [Fraction(max(Counter(group).values()), len(group)) for group in groups]
    assert found.hits == sum(max(after.values()) > before for after, before in zip(expected, alone, strict=True))
    assert found.details["surest"] == str(max(max(each.values()) for each in expected))


@examples(12)
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
    published = adversary_view_of(side)
    assert published.made is not None
    choice = Choice(
        table, of_groups(definition_of(published.made), "This"), published, Placed.of(published, frame), 60, 60
    )
    by_rank, by_running = choice.by_rank(objective), choice.by_running(method_of(published.made))
    assert by_rank.possible == by_running.possible > 0
    assert (by_rank.chances()[by_rank.point_of] == by_running.chances()[by_running.point_of]).all()


AREA = {"0": "01", "1": "01", "2": "23", "3": "23"}


def look_of(table: Table, definition: Any, method: Any) -> list[Any] | None:
    """What is published of a table, whatever the order of the rows: these, and what the certificate says that they are compared with."""
    try:
        release = publish(table, definition, method, insecure_seed=0)
    except Infeasible:
        return None
    return [*sorted(release.frame.rows()), *([release.certificate["reference"]] if definition.needs_reference else [])]


@examples(15)
@given(
    people=st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab")), min_size=3, max_size=5),
    definition=st.sampled_from([DistinctLDiversity(2), ConfidenceBounding("1/2", ["a"]), TCloseness("0.3")]),
    method=st.sampled_from(
        [Lattice(suppression="0.4"), Mondrian(suppression="0.4", values="sets"), Datafly(suppression="0.4")]
    ),
)
def test_with_people_left_out_chances_are_those_of_publishing_every_table(
    people: list[tuple[int, str]], definition: Any, method: Any
) -> None:
    """Whoever was left out may have any value; a reference in the certificate rules worlds out too."""
    at = [str(point) for point, _ in people]

    def table(values: list[Any]) -> Table:
        hierarchy = Hierarchy.taxonomy({"01": ["0", "1"], "23": ["2", "3"]})
        return Table({"at": at, "ill": values}, quasi={"at": hierarchy}, sensitive={"ill": ["a", "b"]})

    mine = table([value for _, value in people])
    look = look_of(mine, definition, method) or people
    shown = [row for row in look if isinstance(row, tuple)]
    assume(len(shown) < len(people))
    expected = oracle.same_releases(
        len(people), ["a", "b"], lambda values: look_of(table(values), definition, method), look
    )
    found = Minimality(mine).attack(adversary_view_of(publish(mine, definition, method, insecure_seed=0)))
    assert found.details["left_out"] == len(people) - len(shown)
    assert found.details["surest"] == str(max(max(each.values()) for each in expected))
    moved = 0
    for point, after in zip(at, expected, strict=True):
        inside = [value for label, value in shown if label in (point, AREA[point], "*")]
        alone = {value: Fraction(inside.count(value), len(inside)) if inside else Fraction(1, 2) for value in "ab"}
        moved += alone != after
    assert found.details["moved"] == moved


@pytest.mark.parametrize(
    "people", ["001 abb xyx", "001 bab xyy", "001 bba xxx", pytest.param("0011 bbab xxxy", marks=pytest.mark.slow)]
)
def test_with_two_secrets_chances_are_those_of_publishing_every_table(people: str) -> None:
    """Both are tried out together, since a definition looks at both; what is told is about each."""
    at, ills, jobs = map(list, people.split())

    def table(values: Sequence[Any]) -> Table:
        frame = {"at": at, "ill": [ill for ill, _ in values], "job": [job for _, job in values]}
        secrets = {"ill": ["a", "b"], "job": ["x", "y"]}
        return Table(frame, quasi={"at": Hierarchy.suppression(["0", "1"])}, sensitive=secrets)

    definition = ConfidenceBounding("1/2", ["a"], column="ill")
    mine = table(list(zip(ills, jobs, strict=True)))
    shown = look_of(mine, definition, Lattice())
    values = [(ill, job) for ill in "ab" for job in "xy"]
    expected = oracle.same_releases(len(at), values, lambda some: look_of(table(some), definition, Lattice()), shown)
    published = adversary_view_of(publish(mine, definition, Lattice()))
    for place, column in enumerate(("ill", "job")):
        found = Minimality(mine, column=column).attack(published)
        surest = [
            max(sum(chance for value, chance in each.items() if value[place] == wanted) for wanted in "abxy")
            for each in expected
        ]
        assert column in found.hit
        assert found.details["surest"] == str(max(surest))
        assert 0 < found.details["possible"] < found.details["worlds"]


def test_many_small_groups_are_followed_together_exactly() -> None:
    """Forty areas of two places each, 15^40 worlds: places are merged since in some area both people of the first have HIV.

    With p = 1/15 for that in an area and q for it in any of them, such a person has HIV with p/q + (1 - p/q)(1/3 - p)/(1 - p).
    """
    areas = 40
    frame = pl.DataFrame(
        {
            "zip": [f"{area}{place}" for area in range(10, 10 + areas) for place in "112222"],
            "ill": ["HIV"] * 2 + ["flu"] * 4 + ["flu", "HIV", "HIV", "flu", "flu", "flu"] * (areas - 1),
        }
    )
    tree = {str(area): [f"{area}1", f"{area}2"] for area in range(10, 10 + areas)}
    table = Table(frame, quasi={"zip": Hierarchy.taxonomy(tree)}, sensitive="ill")
    release = publish(table, ConfidenceBounding("1/2", ["HIV"]), Lattice())
    found = attack(release, Minimality(table))[0]
    assert found.details["worlds"] == 15**areas
    fails = Fraction(1, 15)
    some = 1 - (1 - fails) ** areas
    assert found.details["possible"] == some * 15**areas
    chance = fails / some + (1 - fails / some) * (Fraction(1, 3) - fails) / (1 - fails)
    # Those of the second place have flu the more likely: four of them share the HIV that the first two do not have.
    assert found.details["surest"] == str(1 - (2 - 2 * chance) / 4)
    assert (found.hits, found.people) == (160, 240)


def test_the_figure_depends_on_values_that_the_release_hides() -> None:
    """Why certificates state none: tables that give the same release differ in it, so that it would tell who lives where."""
    definition, rows, surest = ConfidenceBounding("1/2", ["HIV"]), [], []
    for first in (2, 3):
        frame = pl.DataFrame({"zip": ["1"] * first + ["2"] * (6 - first), "ill": ["HIV"] * 2 + ["flu"] * 4})
        table = Table(frame, quasi={"zip": Hierarchy.suppression(["1", "2"])}, sensitive="ill")
        release = publish(table, definition, Lattice())
        rows.append(sorted(release.frame.rows()))
        surest.append(Minimality(table).attack(adversary_view_of(release)).details["surest"])
        assert any(
            "depends on exact values that the release hides" in risk for risk in release.certificate["residual_risks"]
        )
    assert rows[0] == rows[1]
    # With three and three both are of one place, which may be either: HIV stays at 1/3, and flu at 2/3.
    assert surest == ["1", "2/3"]


def test_every_secret_of_a_small_table_is_followed() -> None:
    table = Table(
        two_places().frame.with_columns(job=pl.Series(["x", "y"] * 3)),
        quasi=two_places().quasi,
        sensitive=["ill", "job"],
    )
    names = [after.adversary for _, after in compare(table, publish(table, KAnonymity(2), Lattice()))]
    assert names[-2:] == ["minimality of ill", "minimality of job"]


def test_it_is_one_of_the_adversaries_where_the_table_is_small_enough(tmp_path: Path) -> None:
    table = two_places()
    release = publish(table, DistinctLDiversity(2), Lattice())
    release.save(tmp_path / "release")
    before, after = next(pair for pair in compare(table, tmp_path / "release") if pair[1].adversary == "minimality")
    assert before is None
    assert after.hits == 2


@pytest.mark.parametrize(
    ("target", "table", "kind", "message"),
    [
        (two_places(), two_places(), PolicyError, "an unmodified table was not chosen"),
        ("release", Table(two_places().frame[:5], quasi=["zip"], sensitive="ill"), DataError, "does not fill"),
    ],
)
def test_what_cannot_be_followed_is_refused(target: Any, table: Table, kind: type[Exception], message: str) -> None:
    aim = publish(two_places(), DistinctLDiversity(2), Lattice()) if target == "release" else target
    with pytest.raises(kind, match=message):
        attack(aim, Minimality(table))


def test_that_people_differ_makes_no_worlds_where_it_never_mattered() -> None:
    """Forty people of forty ages: one by one they never had two values, so that they were put together tells nothing."""
    frame = pl.DataFrame({"age": list(range(40)), "ill": ["a", "b", "c", "d"] * 10})
    table = Table(frame, quasi={"age": Hierarchy.intervals([10], domain=(0, 39))}, sensitive="ill")
    found = attack(publish(table, DistinctLDiversity(2), Lattice()), Minimality(table))[0]
    assert (found.hits, found.people, found.details["moved"]) == (0, 40, 0)
    assert found.details["worlds"] == found.details["possible"] == 25_200**4


@pytest.mark.parametrize("rows", [1000, 5000])
def test_thousands_of_people_are_followed_where_few_nodes_could_have_passed(rows: int) -> None:
    random = np.random.default_rng(1)
    zips = [f"{number:03d}" for number in range(rows // 8)]
    frame = pl.DataFrame(
        {
            "age": random.integers(20, 60, rows),
            "zip": random.choice(zips, rows),
            "sex": random.choice(["f", "m"], rows),
            "ill": random.choice(["flu", "gout", "HIV"], rows),
        }
    )
    quasi = {
        "age": Hierarchy.intervals([40], origin=20, domain=(20, 59)),
        "zip": Hierarchy.suppression(zips),
        "sex": Hierarchy.suppression(["f", "m"]),
    }
    table = Table(frame, quasi=quasi, sensitive="ill")
    found = attack(publish(table, DistinctLDiversity(2), Lattice()), Minimality(table))[0]
    assert found.people == rows
    assert str(found.details["worlds"]).startswith("about 10^")
    assert (found.hits > 0) == (rows == 1000)


def test_what_would_have_to_be_run_again_and_again_is_refused_for_many_rows() -> None:
    table = Table(
        {"zip": ["1", "2"] * 1001, "ill": ["a", "b", "b", "a"] * 500 + ["a", "b"]}, quasi=["zip"], sensitive="ill"
    )
    with pytest.raises(
        PolicyError,
        match="run Mondrian for every assignment of values to people, which is supported for tables of at most 2,000 rows",
    ):
        attack(publish(table, KAnonymity(2), Mondrian(values="sets")), Minimality(table))


def test_large_tables_are_refused() -> None:
    """Thirty places of two people, any of which may or may not share a value."""
    places = [f"{number:02d}" for number in range(30)]
    frame = pl.DataFrame({"zip": sorted(places * 2), "ill": ["a", "a", *(["a", "b"] * 29)]})
    table = Table(frame, quasi={"zip": Hierarchy.suppression(places)}, sensitive="ill")
    with pytest.raises(PolicyError, match="more than 50,000 possible worlds"):
        attack(publish(table, DistinctLDiversity(2), Lattice()), Minimality(table))
    with pytest.raises(PolicyError, match="a sensitive column"):
        Minimality(Table(frame, quasi=["zip"]))
    with pytest.raises(PolicyError, match="gain"):
        Minimality(table, gain=2)


def test_a_release_of_more_groups_than_numpy_has_dimensions_is_followed() -> None:
    """Seventy buckets of two people with one value each: every bucket has one world."""
    frame = pl.DataFrame({"age": list(range(140)), "ill": [f"value {i // 2}" for i in range(140)]})
    table = Table(frame, quasi={"age": Hierarchy.intervals([2, 140], domain=(0, 139))}, sensitive="ill")
    release = publish(table, KAnonymity(2), Lattice(node={"age": 1}))
    found = Minimality(table).attack(adversary_view_of(release))
    assert (found.details["worlds"], found.hits) == (1, 0)


def test_where_tables_are_too_many_to_list_they_are_sampled() -> None:
    """Estimates from sampled tables agree with the exact chances of all of them."""
    frame = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6, 7, 8], "ill": ["a", "b", "a", "b", "c", "a", "b", "c"]})
    table = Table(frame, quasi=["age"], sensitive="ill")
    release = publish(table, DistinctLDiversity(2), Suppress())
    every = Minimality(table, runs=600).attack(adversary_view_of(release))
    some = Minimality(table, runs=60).attack(adversary_view_of(release))
    assert (every.details["sampled"], some.details["sampled"]) == (False, True)
    assert abs(float(Fraction(every.details["surest"])) - float(Fraction(some.details["surest"]))) < 0.25
    assert (every.hits, some.hits) == (0, 0)
