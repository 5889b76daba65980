"""Whoever's value is missing may be anybody, and that protects nobody: judged, attacked and said on the safe side (spec 002, 7.2)."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import polars as pl
import pytest

import reticent as rt
from reticent.attacks import Linkage, attack, compare
from reticent.core import cover
from reticent.definitions import KAnonymity
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.table import Interval, Missing, OrMissing, Table, Values
from reticent.table.meaning import Value


def table(rows: list[tuple[Any, ...]]) -> Table:
    frame = pl.DataFrame(rows, schema={"town": pl.String, "age": pl.Int64, "ill": pl.String}, orient="row")
    return Table(frame, quasi=["town", "age"], sensitive="ill", nulls="category")


def test_a_row_that_could_match_does_not_make_a_group() -> None:
    """(a, missing) could be any of the three, but it is the only row that shows so."""
    found = rt.assess(table([("a", None, "u"), ("a", 2, "v"), ("a", 2, "u")]), KAnonymity(2))
    assert not found.holds
    assert found.value == 1


@pytest.mark.parametrize(
    "method", [Lattice(), Mondrian(values="ranges"), Mondrian(values="sets"), Mondrian(values="typical")]
)
def test_published_groups_are_large_enough_without_wildcards(method: Any) -> None:
    """By brute force on what the files show: rows that show the very same, whatever their missing values could be."""
    rows = [(town, age, ill) for town, age, ill in product("ab", [None, 20, 21, 30, 31, None], ["u", "v"])]
    release = rt.publish(table(rows), KAnonymity(4), method)
    shown = release.frame
    if "groups" in release.tables:
        shown = shown.select("group").join(release.tables["groups"], on="group")
    assert shown.height == len(rows)
    assert shown.group_by("town", "age").len()["len"].min() >= 4


def test_people_of_the_table_are_looked_up_by_what_is_missing_too() -> None:
    """One person alone has no age: whoever knows the table's own rows finds her, before; afterwards nobody is found."""
    rows = [("a", None, "u"), *[("a", 20 + number % 2, "v") for number in range(9)]]
    given = table(rows)
    release = rt.publish(given, KAnonymity(5), Mondrian(values="ranges"))
    before, after = next(pair for pair in compare(given, release) if pair[1].adversary.startswith("linkage"))
    assert before is not None
    assert (before.hits, after.hits) == (1, 0)
    assert "(missing)" in before.example
    listed = given.frame.drop("ill")
    unknown, known = attack(given, Linkage(listed), Linkage(listed, null_is_unknown=False))
    assert (unknown.hits, known.hits) == (0, 1)


def test_a_missing_value_fits_every_label_that_it_is_under() -> None:
    meanings = [
        Value(20),
        Values((20, None)),
        Interval(20, 25, "both"),
        OrMissing(Interval(20, 25, "both")),
        Missing(),
        Values((20, 21)),
    ]
    found = cover(pl.Series("age", [None, 20, 24]), meanings, "age").matrix()
    assert found[0].tolist() == [False, True, False, True, True, False]
    assert found[1].tolist() == [True, True, True, True, False, True]
    assert found[2].tolist() == [False, False, True, True, False, False]
    unknown = cover(pl.Series("age", [None], dtype=pl.Int64), meanings, "age", null_is_unknown=True).matrix()
    assert unknown[0].all()


def test_people_with_a_missing_value_are_placed_in_the_group_that_holds_them() -> None:
    rows = [("a", age, "u") for age in [None, 20, 21, 22, 23, 24]]
    release = rt.publish(table(rows), KAnonymity(6), Mondrian(values="ranges"))
    assert list(release.meanings["age"]) == ["[20, 24] or missing"] or list(release.meanings["age"]) == ["*"]
    placed = release.public.seen.place(table(rows).frame.drop("ill"))
    assert placed.tolist() == [0] * 6


def risks(rows: list[tuple[Any, ...]], method: Any) -> list[str]:
    certificate: Mapping[str, Any] = rt.publish(table(rows), KAnonymity(2), method).certificate
    return [risk for risk in certificate["residual_risks"] if "value is missing" in risk]


@pytest.mark.parametrize("method", [Lattice(), Mondrian(values="ranges"), Mondrian(values="typical")])
def test_the_certificate_says_what_missing_values_do(method: Any) -> None:
    with_some = [("a", age, "u") for age in [None, None, 20, 20]]
    assert len(risks(with_some, method)) == 1
    assert "'age'" in risks(with_some, method)[0]
    assert risks([("a", 20, "u"), ("a", 20, "v")], method) == []
