"""A confidence bound that names its own quasi set: judged on the groups of those columns, by everybody who judges."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import ConfidenceBounding, KAnonymity, definition_from
from reticent.errors import Infeasible, PolicyError
from tests.definitions.test_any_columns import nearly_added_table

METHODS = {
    "lattice": rt.Lattice(suppression="0.4"),
    "datafly": rt.Datafly(suppression="0.4"),
    "mondrian": rt.Mondrian(suppression="0.4", values="sets"),
    "buckets": rt.Lattice(suppression="0.4", format="bucketize"),
}


def largest_share(frame: pl.DataFrame, columns: list[str], value: str) -> Fraction:
    groups: dict[tuple, Counter] = defaultdict(Counter)
    for row in frame.iter_rows(named=True):
        groups[tuple(row[name] for name in columns)][row["ill"]] += 1
    return max(Fraction(each[value], each.total()) for each in groups.values())


def drawn(rng: random.Random) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "zip": [rng.choice("123") for _ in range(24)],
            "age": [rng.choice("yo") for _ in range(24)],
            "ill": [rng.choice(["flu", "flu", "cold", "hiv"]) for _ in range(24)],
        }
    )


def test_a_table_is_judged_on_the_columns_that_the_bound_names():
    rng = random.Random(1)
    for _ in range(20):
        frame = drawn(rng)
        table = rt.Table(frame, quasi=["zip", "age"], sensitive="ill")
        for columns in (["zip"], ["age"], ["zip", "age"]):
            found = rt.assess(table, ConfidenceBounding("1/4", ["hiv"], quasi=columns))
            assert found.value == largest_share(frame, columns, "hiv")
            assert found.holds is (found.value <= Fraction(1, 4))
        both = ConfidenceBounding("1/2", ["hiv"], quasi=["zip"]) & KAnonymity(1)
        assert rt.assess(table, both).value[str(both.parts()[0])] == largest_share(frame, ["zip"], "hiv")
        assert rt.assess(table, both).failing_rows().tolist() == [
            place
            for place, row in enumerate(frame.iter_rows(named=True))
            if largest_share(frame.filter(pl.col("zip") == row["zip"]), ["zip"], "hiv") > Fraction(1, 2)
        ]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_bounds_on_their_own_columns(method, tmp_path):
    rng, made = random.Random(2), 0
    for number in range(12):
        frame = drawn(rng)
        quasi = {"zip": rt.Hierarchy.suppression(list("123")), "age": rt.Hierarchy.suppression(list("yo"))}
        table = rt.Table(frame, quasi=quasi, sensitive="ill")
        bound = ConfidenceBounding("0.3", ["hiv"], quasi=["zip"]) & ConfidenceBounding("0.7", ["flu"], quasi=["age"])
        try:
            release = rt.publish(table, bound, METHODS[method], insecure_seed=number)
        except Infeasible:
            continue
        made += 1
        if method != "buckets":
            assert largest_share(release.frame, ["zip"], "hiv") <= Fraction(3, 10)
            assert largest_share(release.frame, ["age"], "flu") <= Fraction(7, 10)
        folder = release.save(tmp_path / str(number))
        assert rt.verify(folder).holds
        assert rt.assess(folder, bound).holds
        assert rt.assess(release, ConfidenceBounding("0.3", ["hiv"], quasi=["zip"])).holds
    assert made >= 4


def test_a_bound_on_few_columns_costs_less_than_one_on_all():
    frame = pl.DataFrame({"zip": list("11112222"), "age": list("yyooyyoo"), "ill": ["hiv", "flu", "flu", "flu"] * 2})
    table = rt.Table(frame, quasi=["zip", "age"], sensitive="ill")
    own = rt.search(table, ConfidenceBounding("1/4", ["hiv"], quasi=["zip"]))
    every = rt.search(table, ConfidenceBounding("1/4", ["hiv"]))
    assert own.best.levels == {"zip": 0, "age": 0}
    assert every.best.levels == {"zip": 0, "age": 1}


def test_it_is_written_and_read_and_said_in_words():
    bound = ConfidenceBounding("1/4", ["hiv"], quasi=["zip"])
    assert bound.parameters() == {"h": "1/4", "values": ["hiv"], "quasi": ["zip"]}
    assert definition_from("ConfidenceBounding", bound.parameters()) == bound
    assert "An attacker who knows zip of a person, and" in bound.meaning()
    assert "other columns" in bound.not_covered()


def test_wrong_columns_are_refused_by_name():
    table = rt.Table({"zip": ["1", "1"], "ill": ["a", "b"]}, quasi=["zip"], sensitive="ill")
    with pytest.raises(PolicyError, match=r"'zipp', which is not a quasi column\. Did you mean 'zip'"):
        rt.publish(table, ConfidenceBounding("1/2", ["a"], quasi=["zipp"]))
    for wrong in ("zip", [], ["zip", "zip"], [1], 3):
        with pytest.raises(PolicyError, match="ConfidenceBounding: quasi must"):
            ConfidenceBounding("1/2", ["a"], quasi=wrong)


def test_a_finished_release_is_judged_for_whoever_computes_other_columns(tmp_path):
    """c = a + b but for three rows: whoever knows a and b knows c, which no claim of the release says; a claim that names columns names those that follow."""
    table, wanted = nearly_added_table(), KAnonymity(2, quasi=("a", "b"))
    assert not rt.assess(table, wanted).holds
    plain = rt.publish(table, KAnonymity(1), method=rt.Lattice())
    assert min(Counter(plain.frame.select("a", "b").rows()).values()) >= 2
    for subject in (plain, plain.save(tmp_path / "plain")):
        found = rt.assess(subject, wanted)
        assert (found.holds, found.value, found.definition) == (False, 1, wanted)
        assert "published rows do not show which columns can be computed" in found.witness.text
        assert rt.assess(subject, KAnonymity(1, quasi=("a", "b"))).holds
    claimed = rt.publish(table, wanted, method=rt.Lattice())
    assert claimed.certificate["claims"][0]["parameters"]["quasi"] == ["a", "b", "c"]
    for subject in (claimed, claimed.save(tmp_path / "claimed")):
        assert rt.assess(subject, wanted).holds
        assert rt.assess(subject, KAnonymity(2, quasi=("a",))).holds
        assert not rt.assess(subject, KAnonymity(99, quasi=("a",))).holds
    alone = rt.publish(table, wanted & KAnonymity(1, quasi=("a",)), method=rt.Lattice())
    shown = min(Counter(alone.frame["a"]).values())
    found = rt.assess(alone, KAnonymity(shown, quasi=("a",)))
    assert (found.holds, found.value) == (True, shown)
