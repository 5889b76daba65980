"""Mondrian against a slow twin, and what it publishes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.baselines.datafly import Datafly
from reticent.definitions import DeltaPresence, DistinctLDiversity, KAnonymity, KMap, MUnique
from reticent.definitions.background_knowledge import WorstCaseKnowledge
from reticent.engine import count_table
from reticent.engine.local import LocalEngine
from reticent.errors import Infeasible, PolicyError
from reticent.methods.grouping import stage
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.methods.mondrian.allowed_cuts import CutJudge
from reticent.methods.mondrian.partition import Partition
from reticent.table import Hierarchy, Table
from reticent.table.meaning import Anything, Interval, Missing, OrMissing, Value, Values
from reticent.utility import utility_of


def published_groups(draft, columns) -> Counter:
    data = draft.tables["data"].frame()
    return Counter(data.group_by(columns).len()["len"].to_list())


def people(rows: int = 2000, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    frame = pl.DataFrame(
        {
            "age": age,
            "job": rng.choice(["nurse", "doctor", "baker", "cook", "clerk", "judge"], rows),
            "town": rng.choice(["Aix", "Brest", "Caen"], rows),
            "illness": rng.choice(["flu", "cold", "cancer", "asthma"], rows, p=[0.4, 0.3, 0.1, 0.2]),
        }
    )
    jobs = Hierarchy.taxonomy({"health": ["nurse", "doctor"], "food": ["baker", "cook"], "law": ["clerk", "judge"]})
    quasi = {"age": Hierarchy.intervals([5, 10, 20], domain=(18, 90)), "job": jobs, "town": None}
    return Table(frame, quasi=quasi, sensitive="illness")


@pytest.mark.parametrize("values", ["sets", "ranges", "hierarchy"])
@pytest.mark.parametrize("ties", ["keep", "divide"])
@pytest.mark.parametrize("split", ["span", "loss"])
def test_every_published_row_lies_in_its_cells_and_every_group_passes(values, ties, split):
    table, definition = people(), KAnonymity(5) & DistinctLDiversity(2)
    draft = Mondrian(split=split, ties=ties, values=values).draft(table, definition, Context(Randomness(3)))
    assert definition.holds(draft.evidence.published)
    data = draft.tables["data"].frame()
    assert data.height == table.rows
    assert Counter(draft.evidence.published.sizes.tolist()) == published_groups(draft, list(table.quasi))
    assert sorted(data["illness"].to_list()) == sorted(table.frame["illness"].to_list())
    for name in table.quasi:
        covered = {label: _leaves(meaning, table, name) for label, meaning in draft.meanings[name].items()}
        raw, shown = Counter(table.frame[name].to_list()), Counter(data[name].to_list())
        assert all(label in covered for label in shown)
        for value, count in raw.items():
            assert sum(shown[label] for label in shown if value in covered[label]) >= count


def _leaves(meaning, table, name):
    leaves = next(h for h in table.hierarchies if h.column == name).leaves.to_list()
    match meaning:
        case Anything():
            return set(leaves)
        case Value(value):
            return {value}
        case Values(values):
            return set(values)
        case Interval(low, high, closed):
            return {x for x in leaves if low <= x and (x <= high if closed == "both" else x < high)}


def test_it_distorts_less_than_the_best_full_domain_generalization():
    table = people()
    local, full = Mondrian(values="sets").draft(table, KAnonymity(5)), Lattice().draft(table, KAnonymity(5))
    assert utility_of(local)["loss"] < utility_of(full)["loss"] / 2


@pytest.mark.parametrize("k", [2, 5, 9])
def test_dividing_ties_bounds_the_size_of_groups_that_can_still_be_told_apart(k):
    """Between k and 2k - 1 rows where ties may be divided; more only where all rows are alike. Strict groups may be larger."""
    table = people()
    units = LocalEngine().single_rows(table, np.random.default_rng(1).permutation(table.rows))
    group = Partition(units, CutJudge(units, KAnonymity(k)), "span", True, "sets").run()
    sizes = np.bincount(group)
    points = np.stack([group, *units.codes], axis=1)
    alike = np.bincount(np.unique(points, axis=0)[:, 0]) == 1
    assert sizes.min() >= k
    assert (alike | (sizes < 2 * k)).all()
    strict = count_table(table)
    apart = Partition(strict, CutJudge(strict, KAnonymity(k)), "span", False, "sets").run()
    kept = strict.merged(apart.astype(np.int32), len(strict))
    assert kept.sizes[kept.sizes > 0].min() >= k
    assert kept.sizes.max() >= sizes.max()


def test_which_of_equal_people_go_where_is_drawn_and_said_to_be():
    draft = Mondrian(ties="divide", values="sets").draft(people(), KAnonymity(5), Context(Randomness(1)))
    strict = Mondrian(values="sets").draft(people(), KAnonymity(5))
    assert len(draft.evidence.published) >= len(strict.evidence.published)
    assert draft.insecure
    assert not strict.insecure


def test_people_are_counted_where_one_has_several_rows():
    """MultiR k-anonymity: two rows of one person hide nobody."""
    frame = people(300).frame.with_columns(person=pl.int_range(pl.len()))
    twice = pl.concat([frame, frame])
    table = Table(twice, quasi=["age", "town"], sensitive="illness", key="person", unit="person")
    draft = Mondrian(values="sets").draft(table, KAnonymity(4))
    assert draft.evidence.published.people.min() >= 4
    assert draft.evidence.published.sizes.min() >= 8
    assert draft.evidence.published.people.sum() == 300
    with pytest.raises(PolicyError, match="would split the rows of one person"):
        Mondrian(ties="divide", values="sets").draft(table, KAnonymity(4))


def test_a_definition_of_all_groups_together_limits_the_cuts():
    table, definition = people(300), WorstCaseKnowledge(c="0.9", k=1)
    draft = Mondrian(values="sets").draft(table, definition)
    assert definition.holds(draft.evidence.published)
    assert len(draft.evidence.published) > 1


def test_what_is_left_to_suppress_is_told_with_the_rows_and_the_limit():
    with pytest.raises(
        Infeasible, match=r"leaves \d+ of 300 rows in groups that do not satisfy MUnique\(m=2\), and at most 1/10"
    ):
        Mondrian(suppression="0.1", values="sets").draft(people(300), MUnique(2))
    draft = Mondrian(suppression="0.9", values="sets").draft(people(300), MUnique(2))
    assert 0 < draft.suppressed <= 270
    assert draft.tables["data"].height == 300 - draft.suppressed
    assert draft.method["suppression"] == "9/10"
    assert MUnique(2).holds(draft.evidence.published)


@pytest.mark.parametrize("values", ["sets", "ranges", "hierarchy"])
def test_a_population_is_counted_as_a_reader_of_the_labels_counts_it(values):
    table = people(300)
    rng = np.random.default_rng(7)
    outside = pl.DataFrame(
        {
            "age": rng.integers(18, 90, 900),
            "job": rng.choice(["nurse", "doctor", "baker", "cook", "clerk", "judge"], 900),
            "town": rng.choice(["Aix", "Brest", "Caen"], 900),
        }
    )
    population = pl.concat([table.frame.select("age", "job", "town"), outside])
    definition = KMap(9, population) & DeltaPresence("0.1", "0.6", population)
    release = rt.publish(table, definition, method=Mondrian(values=values, suppression="0.5"))
    assert len(release.groups) > 1
    shown = release.frame.select("age", "job", "town").unique(maintain_order=True)
    leaves = {
        name: {label: _leaves(m, table, name) for label, m in release.meanings[name].items()} for name in shown.columns
    }
    counts = [
        sum(
            all(value in leaves[n][label] for n, label, value in zip(shown.columns, labels, person, strict=True))
            for person in population.iter_rows()
        )
        for labels in shown.iter_rows()
    ]
    assert Counter(counts) == Counter(release.private.evidence.published.extras["population"].tolist())


def test_what_does_not_judge_groups_says_so():
    with pytest.raises(PolicyError, match="BoundedBelief judges how a release is made, not groups of rows"):
        Mondrian(values="sets").draft(people(300), rt.BoundedBelief("0.1", "0.5", "independent"))


def test_what_cannot_hold_at_all_is_infeasible():
    with pytest.raises(Infeasible, match="DistinctLDiversity"):
        Mondrian(values="sets").draft(people(), DistinctLDiversity(5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mondrian(split="best", values="sets"), "split must be one of span, loss, but it is 'best'"),
        (lambda: Mondrian(values="boxes"), "values must be one of sets, ranges, hierarchy, typical"),
        (lambda: Mondrian(suppression="1.5", values="sets"), "Mondrian: suppression must be at most 1, but it is 1.5"),
        (
            lambda: Mondrian(values="sets").draft(Table(people().frame, sensitive="illness"), KAnonymity(2)),
            "no quasi columns",
        ),
    ],
)
def test_a_wrong_argument_is_named(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


def test_datafly_climbs_greedily_and_is_never_better_than_the_lattice():
    table = people()
    greedy = Datafly(suppression="0.05").draft(table, KAnonymity(5))
    best = Lattice(suppression="0.05").draft(table, KAnonymity(5))
    assert KAnonymity(5).holds(greedy.evidence.published)
    assert greedy.suppressed <= 0.05 * table.rows
    assert utility_of(greedy)["loss"] >= utility_of(best)["loss"] - 1e-12
    assert greedy.method["name"] == "Datafly"


@pytest.mark.parametrize("values", ["sets", "ranges"])
def test_a_column_of_very_many_values_is_described_alike(values, monkeypatch):
    """A table of all groups and all values may not fit into memory; lists of values say the same."""
    table = people()
    drafts = []
    for largest in (1 << 26, 0):
        monkeypatch.setattr(stage, "LARGEST_TABLE", largest)
        drafts.append(Mondrian(values=values).draft(table, KAnonymity(5)))
    first, second = (draft.tables["data"].frame().sort(pl.all()) for draft in drafts)
    assert first.equals(second)
    assert drafts[0].meanings == drafts[1].meanings


def test_values_that_look_like_labels_are_told_apart():
    rows = ["*", "{a, b}", "a", "b", "(missing)", None] * 4
    table = Table(pl.DataFrame({"q": rows, "s": list("xy") * 12}), quasi=["q"], sensitive="s", nulls="category")
    draft = Mondrian(values="sets").draft(table, KAnonymity(5))
    covered = [
        _leaves(meaning, table, "q") if meaning != Missing() else {None} for meaning in draft.meanings["q"].values()
    ]
    assert sorted(len(each) for each in covered) == sorted(len(each) for each in map(frozenset, covered))
    assert sum(len(each) for each in covered) == 6
    full = Lattice().draft(table, KAnonymity(4))
    assert full.recoding.levels == {"q": 0}
    assert full.tables["data"].frame()["q"].n_unique() == 6


@pytest.fixture(scope="module")
def adult(shared_data) -> Table:
    columns = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]
    frame = pl.read_csv(shared_data / "adult" / "adult.csv.gz", separator=";")
    files = {name: Hierarchy.from_csv(shared_data / "adult" / f"adult_hierarchy_{name}.csv") for name in columns}
    return Table(frame, quasi=files, sensitive="occupation")


@pytest.mark.parametrize(
    ("definition", "method", "loss"),
    [
        (KAnonymity(5), Mondrian(values="sets"), 0.0185),
        (KAnonymity(5), Mondrian(split="loss", values="sets"), 0.0098),
        (KAnonymity(5) & DistinctLDiversity(3), Mondrian(values="sets"), 0.020),
        (KAnonymity(5), Mondrian(values="hierarchy"), 0.0435),
        (KAnonymity(5), Mondrian(values="ranges", split="loss"), 0.0130),
    ],
)
def test_adult_is_distorted_no_more_than_the_targets_allow(definition, method, loss, adult):
    """TARGETS.md: exact values 0.0185, with l = 3 0.020; another tool's nodes of the same hierarchies lose 0.105."""
    draft = method.draft(adult, definition)
    assert definition.holds(draft.evidence.published)
    assert utility_of(draft)["loss"] <= loss


def test_nodes_are_cut_between_the_highest_branches_first():
    """The median lies inside a branch; a cut there would leave a half that reaches into both and shows what is above both."""
    tree = Hierarchy.taxonomy({"x": ["a", "b", "c"], "y": ["d", "e"]})
    frame = pl.DataFrame({"q": list("aabbbcccddee"), "s": ["u"] * 12})
    shown = Mondrian(values="hierarchy").draft(Table(frame, quasi={"q": tree}, sensitive="s"), KAnonymity(4))
    assert shown.tables["data"].frame()["q"].unique(maintain_order=True).to_list() == ["x", "y"]


def test_numbers_that_floats_cannot_tell_apart_are_cut_in_their_order():
    """2^60 + 1 and 2^60 + 2 are one float; a range written the wrong way round would cover nothing."""
    values = [2**60 + step for step in (3, 0, 2, 1)]
    listed = Hierarchy.listed([[str(value), "*"] for value in values])
    table = Table(pl.DataFrame({"q": values * 2, "s": list("uv") * 4}), quasi={"q": listed}, sensitive="s")
    draft = Mondrian(values="ranges").draft(table, KAnonymity(4))
    assert sorted(draft.meanings["q"].values(), key=str) == [
        Interval(2**60, 2**60 + 1, "both"),
        Interval(2**60 + 2, 2**60 + 3, "both"),
    ]


def test_what_the_whole_table_fails_may_hold_for_parts_of_it_where_rows_may_go():
    frame = pl.DataFrame({"q": [1, 1, 2, 2, 3, 3, 3, 3], "s": list("uvuvuuuu")})
    table, definition = Table(frame, quasi=["q"], sensitive="s"), rt.ProbabilisticLDiversity(2)
    with pytest.raises(Infeasible, match="even all 8 rows in one group do not"):
        Mondrian(values="sets").draft(table, definition)
    draft = Mondrian(suppression="0.5", values="sets").draft(table, definition)
    assert draft.suppressed == 4
    assert sorted(draft.tables["data"].frame()["q"].unique()) == ["1", "2"]
    with pytest.raises(Infeasible, match="leaves 4 of 8 rows in groups that do not satisfy"):
        Mondrian(suppression="0.4", values="sets").draft(table, definition)
    with pytest.raises(Infeasible, match="even all 8 rows in one group do not"):
        Mondrian(suppression=1, values="sets").draft(table, KAnonymity(9))


def test_columns_that_nobody_holds_together_are_cut_apart():
    table = people()
    apart = Table(table.frame, quasi=table.quasi, sensitive="illness", quasi_sets=[["age"], ["job", "town"]])
    linked = Table(table.frame, quasi=table.quasi, sensitive="illness", quasi_sets=[["age", "job"], ["job", "town"]])
    losses = [
        utility_of(Mondrian(values="sets").draft(each, KAnonymity(20)))["loss"] for each in (apart, linked, table)
    ]
    assert losses[0] < losses[1] == losses[2]
    shown = Mondrian(values="sets").draft(apart, KAnonymity(20)).tables["data"].frame()
    for columns in (["age"], ["job", "town"]):
        assert shown.group_by(columns).len()["len"].min() >= 20
    assert shown.group_by(["age", "job", "town"]).len()["len"].min() < 20


def test_long_sets_of_categories_have_short_labels_and_exact_meanings():
    towns = [f"town {number:02}" for number in range(40)]
    frame = pl.DataFrame({"town": towns * 2, "s": list("uv") * 40})
    table = Table(frame, quasi=["town"], sensitive="s")
    draft = Mondrian(values="ranges").draft(table, KAnonymity(20))
    assert sorted(draft.meanings["town"]) == [
        "{town 00, town 01, town 02 and 7 more}",
        "{town 10, town 11, town 12 and 7 more}",
        "{town 20, town 21, town 22 and 7 more}",
        "{town 30, town 31, town 32 and 7 more}",
    ]
    assert sorted(value for meaning in draft.meanings["town"].values() for value in meaning.values) == towns
    exact = Mondrian(values="sets").draft(table, KAnonymity(20))
    assert all(label.count(",") == 9 for label in exact.meanings["town"])
    assert utility_of(exact)["loss"] == utility_of(draft)["loss"]


def test_a_set_that_is_a_part_of_the_hierarchy_has_its_name():
    tree = Hierarchy.taxonomy({"north": [f"n{i}" for i in range(6)], "south": [f"s{i}" for i in range(6)]})
    frame = pl.DataFrame({"town": [f"{side}{i}" for side in "ns" for i in range(6)] * 2, "s": list("uv") * 12})
    draft = Mondrian(values="ranges").draft(Table(frame, quasi={"town": tree}, sensitive="s"), KAnonymity(12))
    assert sorted(draft.meanings["town"]) == ["north", "south"]
    assert utility_of(draft)["loss"] == pytest.approx(5 / 11)


def test_labels_that_would_be_the_same_are_told_apart():
    """Two long sets may begin alike."""
    frame = pl.DataFrame(
        {
            "a": ["x"] * 6 + ["y"] * 6,
            "b": ["p", "q", "r", "s", "t", "u", "p", "q", "r", "s", "t", "v"],
            "s": list("uv") * 6,
        }
    )
    draft = Mondrian(values="ranges").draft(Table(frame, quasi=["a", "b"], sensitive="s"), KAnonymity(6))
    assert sorted(draft.meanings["b"]) == ["{p, q, r and 3 more}", "{p, q, r and 3 more} #2"]
    assert {len(meaning.values) for meaning in draft.meanings["b"].values()} == {6}


def test_a_range_with_missing_values_says_so_and_lists_no_number():
    numbers = [None if i % 4 == 0 else i for i in range(200)]
    table = Table(pl.DataFrame({"q": numbers, "s": list("uv") * 100}), quasi=["q"], sensitive="s", nulls="category")
    draft = Mondrian(values="ranges").draft(table, KAnonymity(180))
    assert draft.meanings["q"] == {"[1, 199] or missing": OrMissing(Interval(1, 199, "both"))}
    release = rt.publish(table, KAnonymity(180), Mondrian(values="ranges"))
    assert release.count("q between 0 and 300").bounds == (0, 200)
    assert release.count("q is null").bounds == (0, 200)
    assert release.count("q > 500").bounds == (0, 0)
