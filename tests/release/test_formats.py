"""Groups read off the public tables are those of the rows, counted one by one."""

from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent.base.context import Context
from reticent.definitions import KAnonymity
from reticent.definitions.catalogue import definition_from
from reticent.errors import Infeasible
from reticent.methods.lattice import Lattice
from reticent.release import publish
from reticent.release.claims import check_claims
from reticent.table import Table
from tests.sampling import examples

SOME = examples(40)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([1, 2]),
        st.sampled_from(["flu", "cold", None, ""]),
        st.sampled_from([True, False]),
    ),
    min_size=1,
    max_size=40,
)


def table_of(rows: list, sensitive: list[str]) -> Table:
    schema = {"q": pl.String, "r": pl.Int64, "s": pl.String, "u": pl.Boolean}
    return Table(
        pl.DataFrame(rows, schema=schema, orient="row"), quasi=["q", "r"], sensitive=sensitive, nulls="category"
    )


def counted_by_hand(release) -> list[tuple]:
    """Every group's histogram, one row after the other, in an order that does not depend on how groups are numbered."""
    sensitive = release.manifest.named("sensitive")
    histograms: dict[object, Counter] = defaultdict(Counter)
    if release.format == "generalize":
        for row in release.tables["data"].iter_rows(named=True):
            key = tuple(row[name] for name in release.manifest.named("quasi"))
            histograms[key][" / ".join(text(row[name]) for name in sensitive)] += 1
    else:
        for row in release.tables["sensitive"].iter_rows(named=True):
            histograms[row["bucket"]][" / ".join(text(row[name]) for name in sensitive)] += 1
    return sorted(sorted(histogram.items()) for histogram in histograms.values())


def text(value: object) -> str:
    if value is None:
        return "(missing)"
    return str(value).lower() if isinstance(value, bool) else str(value)


@SOME
@given(rows=ROWS, both=st.booleans(), form=st.sampled_from(["generalize", "bucketize"]))
def test_groups_from_the_public_tables_are_the_rows_counted_by_hand(rows, both: bool, form: str) -> None:
    definition = KAnonymity(2) if form == "generalize" else definition_from("DistinctLDiversity", {"l": 1})
    try:
        release = publish(
            table_of(rows, ["s", "u"] if both else ["s"]), definition, Lattice(format=form, suppression="0.5")
        )
    except Infeasible:
        return
    groups = release.public.groups
    found = sorted(sorted(groups.histogram(number).items()) for number in range(len(groups)))
    assert found == counted_by_hand(release)
    assert sorted(groups.sizes.tolist()) == sorted(release.groups.sizes.tolist())


@SOME
@given(rows=ROWS, both=st.booleans())
def test_a_reference_gives_the_verdict_of_the_whole_table(rows, both: bool) -> None:
    """Where rows were left out, the claims are judged as the method judged them: against all rows, or the published ones where it says so."""
    sensitive = ["s", "u"] if both else ["s"]
    definition = definition_from("TCloseness", {"t": "0.5"}) & KAnonymity(2)
    try:
        release = publish(table_of(rows, sensitive), definition, Lattice(suppression="0.6"))
    except Infeasible:
        return
    for name in sensitive:
        said = release.certificate["reference"][name]
        compared = release_table(rows) if said["of"] == "whole table" else release.frame
        whole = Counter(text(value) for value in compared[name].to_list())
        told = {text(value): count for value, count in zip(said["values"], said["counts"], strict=True) if count}
        assert told == dict(whole)
    expected = definition.parts()[0].assess(release.groups)
    claim = next(check for check in check_claims(release.public, None, None, Context()) if "TCloseness" in check.name)
    assert claim.status == "holds"
    values = expected.value.values() if both else [expected.value]
    assert all(str(value) in claim.detail for value in values)


def release_table(rows: list) -> pl.DataFrame:
    return table_of(rows, ["s"]).frame


@pytest.mark.parametrize("columns", [["q"], ["r"], []])
def test_groups_of_fewer_columns_are_merged(columns: list[str]) -> None:
    rows = [("a", 1, "flu", True), ("a", 2, "cold", True), ("b", 1, "flu", True), ("b", 2, "flu", False)] * 2
    release = publish(table_of(rows, ["s"]), KAnonymity(2))
    groups = release.public.seen.known(columns).true_groups
    frame = release.frame
    expected = sorted(frame.group_by(columns).len()["len"].to_list()) if columns else [frame.height]
    assert sorted(groups.sizes.tolist()) == expected
    assert np.array_equal(groups.sizes, groups.histograms.sum_cells(groups.histograms.counts))
