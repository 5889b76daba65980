"""(X,Y)-privacy with any sensitive columns as Y, and any others as part of X."""

from __future__ import annotations

import random
from fractions import Fraction

import polars as pl
import pytest

import reticent as rt
from reticent.definitions import KAnonymity, XYPrivacy, definition_from
from reticent.engine import count_table
from reticent.errors import PolicyError
from reticent.table import Hierarchy, Table
from tests.oracles import catalogue_models as oracle

NAMES = ("illness", "drug", "ward")


def patients(rng: random.Random, rows: int) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "zip": rng.choice("abcd"),
                "illness": rng.choice(["flu", "cold", "hiv"]),
                "drug": rng.choice(["red", "blue"]),
                "ward": rng.choice(["north", "south"]),
            }
            for _ in range(rows)
        ]
    )


@pytest.mark.parametrize(
    ("y", "x"),
    [
        (("illness",), None),
        (("illness",), ()),
        (("illness",), ("drug",)),
        (("illness", "drug"), ()),
        (("illness", "drug"), ("ward",)),
        (("ward", "illness", "drug"), None),
    ],
)
def test_verdicts_are_those_of_everybody_who_knows_x(y, x):
    rng = random.Random(str((y, x)))
    verdicts = set()
    for _ in range(60):
        frame = patients(rng, rng.randint(8, 60))
        k, h = rng.randint(1, 4), Fraction(rng.randint(2, 6), 6)
        definition = XYPrivacy(k, h, y=y, x=x)
        table = Table(frame, quasi={"zip": Hierarchy.suppression()}, sensitive=list(NAMES))
        groups = count_table(table).groups()
        known = [name for name in NAMES if name not in y] if x is None else list(x)
        judge = oracle.x_y_of_columns(k, h, [NAMES.index(n) for n in known], [NAMES.index(n) for n in y])
        expected = [not judge(list(group.select(NAMES).iter_rows())) for _, group in sorted(frame.group_by("zip"))]
        assert definition.failing(groups).tolist() == expected
        found = definition.assess(groups)
        assert found.holds is not any(expected)
        assert (found.witness is None) is found.holds
        if found.witness is not None:
            assert expected[found.witness.group]
        verdicts.add(found.holds)
        if found.holds:
            assert definition.holds(groups.whole())
            assert int(groups.sizes.min()) >= definition.least_rows()
    assert verdicts == {True, False}


def test_one_sensitive_column_by_itself_is_what_it_was():
    frame = patients(random.Random(1), 40).drop("drug", "ward")
    groups = count_table(Table(frame, quasi=["zip"], sensitive="illness")).groups()
    for h in ("0.4", "0.6", "1"):
        plain, named = XYPrivacy(2, h), XYPrivacy(2, h, y=["illness"])
        assert plain.failing(groups).tolist() == named.failing(groups).tolist()
        assert plain.assess(groups).value == named.assess(groups).value


@pytest.mark.parametrize("method", [rt.Lattice(suppression="0.2"), rt.Mondrian(values="sets")])
def test_releases_keep_it_and_show_it_from_the_public_side(method, tmp_path):
    rng = random.Random(4)
    frame = patients(rng, 400).with_columns(age=pl.Series([rng.randrange(20, 60) for _ in range(400)]))
    quasi = {"age": Hierarchy.intervals([10, 20], domain=(0, 99)), "zip": None}
    definition = XYPrivacy(3, "0.5", y=["illness", "drug"], x=["ward"]) & KAnonymity(3)
    release = rt.publish(Table(frame, quasi=quasi, sensitive=list(NAMES)), definition, method=method)
    assert len(release.groups) > 1
    release.save(tmp_path / "release")
    found = rt.verify(tmp_path / "release")
    assert found.holds, found.checks
    part = definition.parts()[0]
    assert definition_from(part.name, part.parameters()) == part


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: XYPrivacy(2, "0.5", x=["drug"]), "pass y=, the columns to protect"),
        (lambda: XYPrivacy(2, "0.5", y=[]), "y must name at least one sensitive column"),
        (lambda: XYPrivacy(2, "0.5", "drug", y=["illness"]), "cannot be combined with column"),
        (lambda: XYPrivacy(2, "0.5", y=["drug"], x="drug"), "column 'drug' is in x and in y at once"),
        (lambda: XYPrivacy(2, "0.5", y=7), "y must be a list of names of sensitive columns, but it is 7"),
    ],
)
def test_a_wrong_parameter_is_named(make, message):
    with pytest.raises(PolicyError, match=message):
        make()


def test_a_column_that_is_not_sensitive_is_named():
    table = Table(patients(random.Random(1), 20), quasi=["zip"], sensitive=list(NAMES))
    with pytest.raises(PolicyError, match=r"There is no sensitive column 'ilness'.* Did you mean 'illness'"):
        rt.assess(table, XYPrivacy(2, "0.5", y=["ilness"]))
