"""A promise that is kept by giving up the table gets no green tick: the cause is named, and what would cost less."""

import random

import polars as pl

from reticent.definitions import KAnonymity, RecursiveLDiversity
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.propose import poor_worth
from reticent.reports import preview
from reticent.table import Hierarchy, Table


def table(secrets: list[str]) -> Table:
    draw = random.Random(3)
    frame = pl.DataFrame(
        {
            **{f"q{number}": [draw.randrange(9) for _ in range(300)] for number in range(4)},
            "secret": [draw.choice(secrets) for _ in range(300)],
        }
    )
    return Table(frame, quasi={f"q{number}": Hierarchy.suppression() for number in range(4)}, sensitive="secret")


def test_a_release_of_use_has_nothing_to_explain() -> None:
    assert poor_worth(table(["a", "b"]), KAnonymity(5), {"name": "Mondrian"}, 0.2, {"q0": 0.2, "q1": 0.4}) is None


def test_the_promise_that_costs_the_most_is_named_with_the_price_of_doing_without() -> None:
    rows, wanted = table(["flu"] * 40 + ["hiv"] * 10), KAnonymity(3) & RecursiveLDiversity(c=8, l=2)
    found = preview(rows, wanted, Mondrian(values="ranges"))
    told = poor_worth(rows, wanted, found.method, 0.8, dict.fromkeys(rows.quasi, 0.8))
    assert told is not None
    assert "RecursiveLDiversity" in told.cause
    assert told.ways[0].change == "--definition 'KAnonymity(k=3)'"
    assert told.ways[0].loss < 0.75
    assert [way.loss for way in told.ways] == sorted(way.loss for way in told.ways)


def test_a_method_that_gives_up_columns_is_named_with_the_one_that_does_not() -> None:
    rows = table(["a", "b", "c"])
    found = preview(rows, KAnonymity(5), Lattice())
    told = poor_worth(rows, KAnonymity(5), found.method, found.utility["loss"], found.loss_by_column)
    assert told is not None
    assert told.lost
    assert told.cause.startswith("the method Lattice")
    assert told.ways[0].change == '[method] name = "Mondrian", values = "ranges"'
    assert "of little use" in told.words[0]


def test_where_nothing_helps_fewer_columns_are_advised() -> None:
    rows = table(["a", "b"])
    told = poor_worth(rows, KAnonymity(150), {"name": "Mondrian"}, 0.8, dict.fromkeys(rows.quasi, 0.8))
    assert told is not None
    assert told.ways == ()
    assert "publish fewer quasi columns" in told.words[-1]


def test_a_large_table_is_not_drafted_again_to_find_what_would_cost_less() -> None:
    rows = table(["a", "b", "c"])
    told = poor_worth(rows, KAnonymity(5), {"name": "Lattice"}, 0.9, dict.fromkeys(rows.quasi, 1.0), most_rows=299)
    assert told is not None
    assert (told.ways, told.tried) == ((), False)
    assert told.words[-1] == "Run `reticent preview` to see alternatives with less loss."
    tried = poor_worth(rows, KAnonymity(5), {"name": "Lattice"}, 0.9, dict.fromkeys(rows.quasi, 1.0), most_rows=300)
    assert tried is not None
    assert tried.ways
