"""Groups: every cell is what a single estimate of its condition says, on every kind of view and on perturbed records."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.conditions import Condition
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize import FrappPlan, Series, View, ViewDomain, perturb, plan, publish
from reticent.methods.randomize.reader import Reader
from tests.methods.randomize.examples import printed_view
from tests.sampling import examples

DOMAIN = {"a": range(6), "b": ["x", "y", None], "c": [0.5, None, 2.0, -3.0], "d": range(50)}
CONDITIONS = ["true", "a + d < 30", "c > 0 or d < 5", "a between 2 and 3 and b = 'x'", "a > 9"]
SOURCE = {"a": [5, 1, 1, 1, 1, 3], "b": [6, 3, 1]}


def _frame(rows: int, seed: int) -> pl.DataFrame:
    drawn = np.random.default_rng(seed)
    columns = {name: [list(values)[i] for i in drawn.integers(0, len(values), rows)] for name, values in DOMAIN.items()}
    return pl.DataFrame(columns).unique(maintain_order=True)


def _made(kind: str, rows: int, seed: int) -> Reader:
    frame, domain = _frame(rows, seed), ViewDomain.of(DOMAIN)
    if kind == "records":
        return perturb(
            frame, FrappPlan(rows, domain, Fraction(1, 3) if seed % 2 else Fraction(31, 32)), insecure_seed=seed
        )
    if kind in ("later", "frozen"):
        made = plan(n=rows, domain=domain, k=1, gamma="1/2", views=3, frozen=kind == "frozen")
        series = Series(made)
        for index in range(2 + seed % 2):
            series = series.publish(frame if kind == "frozen" else frame.slice(index), insecure_seed=seed + index)
        return series.views[-1]
    source = SOURCE if kind == "source" else None
    return publish(frame, plan(n=rows, domain=domain, k=1, gamma="1/2"), source=source, insecure_seed=seed)


def _cell(row: dict[str, Any], names: list[str], condition: str) -> Condition:
    written = [f"{name} is null" if row[name] is None else f"{name} = {row[name]!r}" for name in names]
    return Condition.parse(" and ".join([f"({condition})", *written]))


@pytest.mark.parametrize("kind", ["uniform", "later", "frozen", "source", "records"])
@examples(12, few=4)
@given(
    rows=st.integers(4, 150),
    seed=st.integers(0, 2**31),
    names=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=2, unique=True),
    condition=st.sampled_from(CONDITIONS),
    error=st.sampled_from(["1/20", "1/3"]),
)
def test_every_cell_is_the_estimate_of_its_condition(kind, rows, seed, names, condition, error):
    made = _made(kind, rows, seed)
    frame = made.group_by(names, condition, error=error, queries=2)
    assert frame.height == np.prod([len(DOMAIN[name]) for name in names])
    for row in frame.iter_rows(named=True):
        want = made.estimate(_cell(row, names, condition), error=error, queries=2)
        assert (row["shown"], row["low"], row["high"]) == (want.shown, *want.interval)
        figures = [row[name] for name in ("value", "standard_error", "clipped", "bound")]
        assert figures == pytest.approx(
            [float(want.value), want.standard_error, float(want.clipped), want.bound], rel=1e-9, abs=1e-7
        )
    assert made.group_by(names, condition).columns == frame.columns
    assert frame["value"].sum() == pytest.approx(float(made.estimate(condition).value), abs=1e-6)


@pytest.mark.parametrize("kind", ["uniform", "later", "source", "records"])
def test_cells_beyond_every_integer_are_estimates_too(kind):
    names = [f"c{i}" for i in range(200)]
    drawn = np.random.default_rng(1)
    frame = pl.DataFrame({name: drawn.integers(0, 50, 40) for name in names})
    domain = ViewDomain.of({name: range(50) for name in names})
    made: Reader
    if kind == "records":
        made = perturb(frame, FrappPlan(40, domain, Fraction(1, 3)), insecure_seed=1)
    elif kind == "later":
        series = Series(plan(n=40, domain=domain, k=2, gamma="1/2", views=2))
        made = series.publish(frame, insecure_seed=1).publish(frame.head(30), insecure_seed=2).views[-1]
    else:
        source = {"c0": range(1, 51)} if kind == "source" else None
        made = publish(frame, plan(n=40, domain=domain, k=2, gamma="1/2"), source=source, insecure_seed=1)
    for row in made.group_by("c0", "c1 > 40").head(12).iter_rows(named=True):
        want = made.estimate(f"c1 > 40 and c0 = {row['c0']}")
        assert (row["low"], row["high"]) == want.interval
        assert [row["value"], row["standard_error"], row["bound"]] == pytest.approx(
            [float(want.value), want.standard_error, want.bound], rel=1e-9, abs=1e-7
        )


def test_intervals_are_left_out_on_request():
    view = printed_view()
    whole = view.group_by(["nationality", "age"], "score < 3*age")
    assert view.group_by(["nationality", "age"], "score < 3*age", intervals=False).equals(whole.drop("low", "high"))
    together = view.group_by("nationality", queries=3)
    assert together["low"].to_list() <= view.group_by("nationality")["low"].to_list()
    assert (together["bound"] > view.group_by("nationality")["bound"]).all()


def test_groups_that_cannot_be_made_say_why():
    view = printed_view()
    for columns, why in (([], "but got none"), (["age", "age"], "each once"), ("agee", "Did you mean 'age'")):
        with pytest.raises((DataError, PolicyError), match=why):
            view.group_by(columns)
    named = publish(
        pl.DataFrame({"value": [1]}), plan(n=1, domain={"value": range(100)}, d="1/100", gamma="1/2"), insecure_seed=1
    )
    with pytest.raises(PolicyError, match="name of a result column"):
        named.group_by("value")
    series = Series(plan(n=8, domain={"a": range(100)}, d="1/100", gamma="1/2", views=2))
    later = series.publish(pl.DataFrame({"a": [1]})).publish(pl.DataFrame({"a": [1]})).views[-1]
    with pytest.raises(PolicyError, match="with the earlier ones"):
        View(later.manifest, later.keys).group_by("a")
