"""The method: what users ask for first, which definitions it keeps, what it refuses, and what it does with hard tables."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.errors import Infeasible, PolicyError
from tests.methods.suppress.instances import small_tables, table_of
from tests.oracles.suppression import cost_of
from tests.sampling import examples


def people(many: int = 200, seed: int = 7) -> pl.DataFrame:
    frame = pl.DataFrame({"i": range(many)})
    mixed = (pl.col("i") * 7919 + seed * 104729) % 1009
    return frame.select(
        age=20 + mixed % 13,
        town=pl.concat_str(pl.lit("t"), (mixed // 13 % 5).cast(pl.String)),
        job=pl.concat_str(pl.lit("j"), (mixed // 65 % 6).cast(pl.String)),
        illness=pl.concat_str(pl.lit("d"), (mixed * 31 % 4).cast(pl.String)),
    )


def table(**more: object) -> rt.Table:
    return rt.Table(people(), quasi=["age", "town", "job"], sensitive="illness", **more)  # type: ignore[arg-type]


def classes(frame: pl.DataFrame, names: list[str]) -> Counter[tuple[str, ...]]:
    return Counter(frame.select(names).rows())


# Columns.


def test_a_column_that_is_kept_is_never_starred():
    found = rt.Suppress(k=4, keep=("town",)).fit(table())
    assert found.cells["town"] == 0
    shown = rt.publish(table(), rt.KAnonymity(4), method=rt.Suppress(keep=("town",))).frame
    assert "*" not in shown["town"]
    assert sorted(shown["town"]) == sorted(people()["town"])
    assert min(classes(shown, ["age", "town", "job"]).values()) >= 4


def test_a_dear_column_is_starred_less():
    plain, dear = rt.Suppress(k=4).fit(table()), rt.Suppress(k=4, weights={"age": 10}).fit(table())
    assert dear.cells["age"] < plain.cells["age"]
    assert dear.cost == 10 * dear.cells["age"] + dear.cells["town"] + dear.cells["job"]


def test_every_set_of_columns_may_have_a_k_of_its_own():
    wanted = rt.KAnonymity(3) & rt.KAnonymity(20, quasi=["age", "town"])
    release = rt.publish(table(), wanted, method=rt.Suppress())
    assert min(classes(release.frame, ["age", "town", "job"]).values()) >= 3
    assert min(classes(release.frame, ["age", "town"]).values()) >= 20
    everywhere = rt.publish(table(), rt.KAnonymity(20), method=rt.Suppress())
    assert stars(release.frame) < stars(everywhere.frame)


def stars(frame: pl.DataFrame) -> int:
    return sum(int((frame[name] == "*").sum()) for name in ("age", "town", "job"))


@pytest.mark.parametrize(
    "sets",
    [
        [["age", "town"], ["job"]],
        [["age", "town"], ["town", "job"]],
        [["age", "town"], ["town", "job"], ["age", "job"]],
    ],
)
def test_sets_that_share_columns_are_all_kept(sets):
    release = rt.publish(table(quasi_sets=sets), rt.KAnonymity(6), method=rt.Suppress())
    for names in sets:
        assert min(classes(release.frame, names).values()) >= 6


def test_a_column_that_nobody_knows_is_shown_as_it_is():
    release = rt.publish(table(), rt.KAnonymity(6, quasi=["age", "town"]), method=rt.Suppress())
    assert "*" not in release.frame["job"]
    assert min(classes(release.frame, ["age", "town"]).values()) >= 6


@examples(300, few=20)
@given(data=st.data())
def test_any_sets_and_any_k_hold_on_the_published_labels(data):
    rows = data.draw(small_tables(3, 5, most=24, columns=4))
    names = [f"q{j}" for j in range(len(rows[0]))]
    sets = data.draw(st.lists(st.lists(st.sampled_from(names), min_size=1, unique=True), min_size=1, max_size=3))
    parts = [rt.KAnonymity(data.draw(st.integers(1, 5)), quasi=each) for each in sets]
    wanted = parts[0]
    for part in parts[1:]:
        wanted = wanted & part
    release = rt.publish(table_of(rows), wanted, method=rt.Suppress())
    for part in parts:
        assert min(classes(release.frame, list(part.quasi or ())).values()) >= part.k


# Definitions.


@pytest.mark.parametrize(
    "wanted",
    [
        rt.KAnonymity(3) & rt.DistinctLDiversity(3),
        rt.EntropyLDiversity(2),
        rt.RecursiveLDiversity(3, 2),
        rt.KAnonymity(3) & rt.TCloseness("0.4"),
        rt.BetaLikeness(2),
        rt.KAnonymity(2) & rt.AverageRisk("1/5"),
        rt.WorstCaseKnowledge(c="0.9", k=1),
        rt.AlphaKAnonymity("0.7", 3),
    ],
    ids=str,
)
def test_every_definition_of_groups_holds_on_the_classes(wanted, tmp_path):
    release = rt.publish(table(), wanted, method=rt.Suppress())
    assert rt.assess(release, wanted).holds
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert release.private.suppressed == 0


def test_a_population_counts_for_those_who_fit_the_labels(tmp_path):
    population = pl.concat([people().select("age", "town", "job")] * 2)
    release = rt.publish(table(), rt.KMap(8, population), method=rt.Suppress())
    assert rt.verify(release.save(tmp_path / "release"), population=population).holds


def test_a_definition_that_fails_for_all_rows_together_is_refused_with_the_reason():
    with pytest.raises(Infeasible, match=r"even all 200 rows in one group"):
        rt.publish(table(), rt.DistinctLDiversity(5), method=rt.Suppress())


def test_rows_that_fit_no_class_join_the_cheapest_one():
    """One row differs in everything; nobody may be left out, and one class less is better than starring all."""
    rows = [("a", "x")] * 4 + [("b", "y")]
    found = rt.Suppress(k=2).fit(table_of(rows))
    assert sorted(Counter(found.labels.tolist()).values()) == [2, 3]
    assert found.cost == 4


def test_a_definition_of_plans_is_refused_by_name():
    with pytest.raises(PolicyError, match="Suppress cannot satisfy it"):
        rt.publish(table(), rt.BoundedBelief("1/4", "1/2"), method=rt.Suppress())


# Leaving out.


def test_left_out_rows_are_absent_and_pass_the_definition(tmp_path):
    frame = pl.concat(
        [people(), pl.DataFrame({"age": [90, 91], "town": ["far"] * 2, "job": ["j9", "j8"], "illness": ["d0", "d1"]})]
    )
    own = rt.Table(frame, quasi=["age", "town", "job"], sensitive="illness")
    wanted = rt.KAnonymity(5) & rt.TCloseness("0.45")
    release = rt.publish(own, wanted, method=rt.Suppress(keep=("town",), suppression="0.2"))
    assert "far" not in release.frame["town"]
    assert 2 <= release.private.suppressed <= 40
    assert rt.verify(release.save(tmp_path / "release")).holds
    told = release.private.evidence.remainder
    assert all(wanted.holds(rows_left_out) for rows_left_out in told.values())
    with pytest.raises(Infeasible, match=r"2 of 202 rows are in no class .* with town kept"):
        rt.publish(own, wanted, method=rt.Suppress(keep=("town",)))


def test_rows_of_which_nothing_is_left_are_left_out_where_that_is_allowed():
    rows = [("a", "x")] * 4 + [("b", "y"), ("c", "z")]
    starred = rt.publish(table_of(rows), rt.KAnonymity(2), method=rt.Suppress())
    assert Counter(starred.frame.rows()) == {("a", "x"): 4, ("*", "*"): 2}
    absent = rt.publish(table_of(rows), rt.KAnonymity(2), method=rt.Suppress(suppression="1/2"))
    assert Counter(absent.frame.rows()) == {("a", "x"): 4}
    fitted = rt.Suppress(k=2, suppression="1/2").fit(table_of(rows))
    assert fitted.cost == 4
    assert sorted(fitted.labels.tolist()) == [-1, -1, 0, 0, 0, 0]


# Hard tables.


def test_fewer_rows_than_k_are_refused():
    with pytest.raises(Infeasible, match=r"The table has 3 people, but every class needs at least 4"):
        rt.Suppress(k=4).fit(table_of([(1,), (2,), (3,)]))
    with pytest.raises(Infeasible, match=r"has 1 person"):
        rt.publish(table_of([(1,)]), rt.KAnonymity(2), method=rt.Suppress())


def test_one_class_passes_with_a_warning():
    found = rt.Suppress(k=3).fit(table_of([(1, "a"), (2, "b"), (3, "c")]))
    assert found.cost == 6
    assert "one class" in found.warnings[0]


def test_a_star_in_the_data_is_a_value_and_the_star_is_told_apart(tmp_path):
    frame = pl.DataFrame({"a": ["*"] * 3 + ["u", "v", "w"], "b": ["x"] * 3 + ["y"] * 3})
    release = rt.publish(rt.Table(frame, quasi=["a", "b"]), rt.KAnonymity(3), method=rt.Suppress())
    assert Counter(release.frame.rows()) == {("*", "x"): 3, ("*'", "y"): 3}
    opened = release.save(tmp_path / "release")
    assert rt.verify(opened).holds
    assert release.count("a = '*'").bounds == (3, 6)
    assert release.count("a = 'u'").bounds == (0, 3)


def test_missing_values_are_values_and_no_stars():
    frame = pl.DataFrame({"a": [None, None, 1, 2], "b": ["x", "x", "y", "y"]})
    own = rt.Table(frame, quasi=["a", "b"], nulls="category")
    release = rt.publish(own, rt.KAnonymity(2), method=rt.Suppress())
    assert Counter(release.frame.rows()) == {("(missing)", "x"): 2, ("*", "y"): 2}
    nan = rt.Table(pl.DataFrame({"a": [float("nan"), None, 1.0, 1.0]}), quasi=["a"], nulls="category")
    assert rt.Suppress(k=2).fit(nan).cost == 0


def test_who_of_equal_people_is_starred_is_drawn():
    """Four equal rows and one other in each of fifty towns, k = 2: one of the four is starred, each as often as any other."""
    towns = pl.DataFrame({"town": range(50)}).join(
        pl.DataFrame({"a": ["x"] * 4 + ["y"], "s": ["s0", "s1", "s2", "s3", "s4"]}), how="cross"
    )
    own = rt.Table(towns, quasi=["town", "a"], sensitive="s")
    drawn: Counter[str] = Counter()
    for seed in range(8):
        draft = rt.Suppress(keep=("town",)).draft(own, rt.KAnonymity(2), Context(Randomness(seed)))
        shown = draft.tables["data"].frame()
        drawn += Counter(shown.filter(pl.col("a") == "*")["s"])
    assert drawn.pop("s4") == 400 == drawn.total()
    # Binomial(400, 1/4): five standard deviations are 43.
    assert all(57 <= drawn[each] <= 143 for each in ("s0", "s1", "s2", "s3"))


def test_texts_of_all_kinds_and_huge_numbers_survive():
    frame = pl.DataFrame({"a": ["ä", "日本", "'; --", "ä"], "b": [2**62, 2**62, -(2**62), 5]})
    found = rt.publish(rt.Table(frame, quasi=["a", "b"]), rt.KAnonymity(2), method=rt.Suppress())
    assert min(Counter(found.frame.rows()).values()) >= 2


# What is refused.


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2.5}, "k must be a whole number"),
        ({"algorithm": "best"}, "algorithm must be one of"),
        ({"hiding": "dots"}, "hiding must be one of"),
        ({"weights": {"age": 0}}, "weight of column 'age' must be above 0"),
        ({"weights": {"age": "much"}}, "must be a number"),
        ({"suppression": 2}, "suppression must be at most 1"),
        ({"reading": "wildcard"}, "never certified"),
    ],
)
def test_wrong_settings_are_told_by_name(settings_, message):
    with pytest.raises(PolicyError, match=message) as caught:
        rt.Suppress(**settings_)
    assert caught.value.setting or "weight" in message


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (rt.Suppress(keep=("agee",)), "keep names 'agee', which is not a quasi column.*age"),
        (rt.Suppress(weights={"illness": 2}), "weights names 'illness'"),
        (rt.Suppress(algorithm="factor", k=4), "classes of 2 or 3, not of 4"),
    ],
)
def test_settings_that_do_not_fit_the_table_are_refused(method, message):
    with pytest.raises(PolicyError, match=message):
        rt.publish(table(), rt.KAnonymity(2), method=method)


def test_exact_and_proven_algorithms_keep_k_anonymity_alone():
    for method in (rt.Suppress(exact=True), rt.Suppress(algorithm="forest")):
        with pytest.raises(PolicyError, match="supports only k-anonymity"):
            rt.publish(table(), rt.DistinctLDiversity(2), method=method)


def test_an_exact_search_that_is_too_large_is_refused_before_it_starts():
    wide = pl.DataFrame({f"c{j}": [(i * (j + 3) + i // (j + 5)) % 4 for i in range(300)] for j in range(10)})
    with pytest.raises(PolicyError, match="too many for an exact search"):
        rt.Suppress(k=3, exact=True).fit(rt.Table(wide, quasi=wide.columns))


def test_fit_needs_k():
    with pytest.raises(PolicyError, match="fit needs k"):
        rt.Suppress().fit(table())


def test_limited_levels_are_kept_by_hiding_along_the_hierarchy():
    ages = rt.Hierarchy.intervals([2, 4, 8, 16], domain=(20, 35)).limited(min_level=1, max_level=3)
    own = rt.Table(people(), quasi={"age": ages, "town": None, "job": None}, sensitive="illness")
    with pytest.raises(PolicyError, match="limits the levels"):
        rt.publish(own, rt.KAnonymity(3), method=rt.Suppress())
    release = rt.publish(own, rt.KAnonymity(3), method=rt.Suppress(hiding="hierarchy"))
    assert all(label.startswith("[") for label in release.frame["age"].unique())


# Sizes.


def test_larger_tables_are_solved_in_parts_and_say_so():
    frame = pl.concat([people(900, seed) for seed in range(5)])
    own = rt.Table(frame.with_columns(age=pl.col("age") + pl.int_range(pl.len()) % 11), quasi=["age", "town", "job"])
    found = rt.Suppress(k=3, algorithm="forest").fit(own)
    assert found.parts > 1
    assert found.factor == Fraction(5)
    assert any("parts" in each for each in found.warnings)
    assert min(Counter(found.labels.tolist()).values()) >= 3
    greedy = rt.Suppress(k=3).fit(own)
    assert greedy.factor is None
    assert greedy.cost == cost_of(own.frame.select("age", "town", "job").rows(), greedy.labels.tolist())
    assert greedy.pattern_bound <= greedy.cost <= found.cost


def test_very_many_columns_are_placed_all_the_same():
    frame = pl.DataFrame({f"c{j}": [(i * (2 * j + 3) + i // (j + 1)) % 5 for i in range(40)] for j in range(13)})
    found = rt.Suppress(k=4).fit(rt.Table(frame, quasi=frame.columns))
    assert min(Counter(found.labels.tolist()).values()) >= 4
    assert found.cost == cost_of(frame.rows(), found.labels.tolist())
    assert found.pattern_bound <= found.cost


def test_the_compiled_sweep_is_the_uncompiled_one():
    from reticent.methods.suppress import cell_search as improving

    own = rt.Table(people(600), quasi=["age", "town", "job"])
    one = rt.Suppress(k=4).fit(own).cost
    before = improving._COMPILED_FROM
    try:
        improving._COMPILED_FROM = 0
        assert rt.Suppress(k=4).fit(own).cost == one
    finally:
        improving._COMPILED_FROM = before


def test_improving_never_costs_more_and_keeps_every_class_large():
    import numpy as np

    from reticent.methods.suppress.cell_search import improved
    from reticent.methods.suppress.patterns import PatternGreedy, enough_people
    from tests.methods.suppress.instances import units_of

    draw = np.random.default_rng(11)
    for _ in range(60):
        rows = [tuple(each) for each in draw.integers(0, 4, size=(40, 4)).tolist()]
        units = units_of(rows, 3)
        group = PatternGreedy(units, enough_people(units), Context()).run()
        if (group < 0).any():
            continue
        better = improved(units, group, Context())
        assert units.cost(better) <= units.cost(group)
        assert int(np.bincount(better).min()) >= 3
