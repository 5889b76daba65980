"""A column in turn: the golden, brute force, what is public and what only the steward knows."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reticent as rt
from reticent.attacks import ColumnInTurn
from reticent.errors import PolicyError
from tests.sampling import examples

NAMES = "abc"


def people():
    return pl.DataFrame({"zip": ["1"] * 5 + ["2"] * 2, "race": ["w"] * 3 + ["b"] * 2 + ["w"] * 2})


def test_race_is_known_for_whom_all_neighbours_share_it():
    release = rt.publish(rt.Table(people(), quasi=["zip", "race"]), rt.KAnonymity(2), method=rt.Lattice())
    (found,) = rt.attack(release, ColumnInTurn())
    race = found.details["columns"]["race"]
    assert (race["certain"], race["records"]) == (2, 7)
    assert (
        Fraction(race["mean"]).limit_denominator(100) == Fraction(5, 7) == Fraction(race["mode"]).limit_denominator(100)
    )
    assert not found.succeeds
    assert any(each.adversary == "column in turn" for each in rt.attack(release))


@examples(80)
@given(
    rows=st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=1, max_size=15),
    threshold=st.sampled_from(["0.5", "0.9", 1]),
)
def test_figures_are_those_of_counting(rows, threshold):
    table = rt.Table(pl.DataFrame(rows, schema=list(NAMES), orient="row"), quasi=list(NAMES))
    (found,) = rt.attack(table, ColumnInTurn(threshold))
    for place, name in enumerate(NAMES):
        alike = [
            [row[place] for row in rows if row[:place] + row[place + 1 :] == one[:place] + one[place + 1 :]]
            for one in rows
        ]
        shares = [Fraction(Counter(values).most_common(1)[0][1], len(values)) for values in alike]
        told = found.details["columns"][name]
        assert told["certain"] == sum(share > Fraction(threshold) for share in shares)
        assert told["mean"] == pytest.approx(float(sum(shares) / len(rows)))
        assert told["mode"] == pytest.approx(Counter(row[place] for row in rows).most_common(1)[0][1] / len(rows))


def test_the_steward_sees_behind_generalized_labels():
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 60, 61, 62, 63], "sex": ["f"] * 4 + ["m"] * 4})
    table = rt.Table(frame, quasi=["age", "sex"])
    release = rt.publish(table, rt.KAnonymity(4), method=rt.Mondrian(values="sets"))
    public = next(each for each in rt.attack(release) if each.adversary == "column in turn")
    assert set(public.details["columns"]) == {"sex"}
    assert public.details["columns"]["sex"]["certain"] == 8
    private = next(each for each in rt.attack(release, raw=table) if each.adversary == "column in turn")
    assert private.details["columns"]["age"]["mean"] == pytest.approx(1 / 4)
    assert private.details["columns"]["age"]["mode"] == pytest.approx(1 / 8)


def test_without_raw_values_it_does_not_run():
    frame = pl.DataFrame({"age": [20, 21, 22, 23], "size": [1, 2, 3, 4]})
    release = rt.publish(rt.Table(frame, quasi=["age", "size"]), rt.KAnonymity(4), method=rt.Mondrian(values="sets"))
    with pytest.raises(PolicyError, match="only the steward knows"):
        rt.attack(release, ColumnInTurn())
    with pytest.raises(PolicyError, match="several columns"):
        rt.attack(rt.Table(frame, quasi=["age"]), ColumnInTurn())


def test_the_figure_says_what_was_counted():
    release = rt.publish(rt.Table(people(), quasi=["zip", "race"]), rt.KAnonymity(2), method=rt.Lattice())
    (found,) = rt.attack(release, ColumnInTurn())
    assert found.example == (
        "For 2 of 7 records (28.6%), one value of zip has a share above 0.9 among the records that agree in all other quasi-identifiers. An attacker who guesses "
        "it is right for 71.4% of all records; one who always guesses the most frequent value of zip is right for 71.4%."
    )
