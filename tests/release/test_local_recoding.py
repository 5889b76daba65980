"""A local recoding as a release: verified, counted, saved, and applied to later rows."""

from __future__ import annotations

import json

import polars as pl
import pytest

import reticent as rt
from tests.methods.mondrian.test_mondrian import people


@pytest.fixture(params=["sets", "ranges", "hierarchy", "divide"])
def release(request):
    method = (
        rt.Mondrian(ties="divide", values="sets") if request.param == "divide" else rt.Mondrian(values=request.param)
    )
    return rt.publish(people(), rt.KAnonymity(5) & rt.DistinctLDiversity(2), method=method)


def test_a_local_recoding_verifies_from_its_public_side(release, tmp_path):
    release.save(tmp_path / "release")
    found = rt.verify(tmp_path / "release")
    assert found.holds, found.checks
    assert rt.assess(tmp_path / "release", rt.KAnonymity(5)).holds


def test_counts_on_a_local_recoding_lie_within_their_bounds(release):
    frame = people().frame
    for condition, mask in {
        "age between 30 and 40 and illness = 'flu'": pl.col("age").is_between(30, 40) & (pl.col("illness") == "flu"),
        "job = 'baker' and town in ('Aix', 'Caen')": (pl.col("job") == "baker") & pl.col("town").is_in(["Aix", "Caen"]),
    }.items():
        actual, found = frame.filter(mask).height, release.count(condition)
        assert found.bounds[0] <= actual <= found.bounds[1]
        assert abs(found.value - actual) <= 0.35 * actual


def test_the_rows_of_the_table_are_recoded_as_they_were_published(release, tmp_path):
    release.save(tmp_path / "release")
    for scheme in (release, tmp_path / "release", tmp_path / "release" / "private" / "recoding.json"):
        recoded = rt.apply(scheme, people().frame)
        assert recoded.columns == release.frame.columns
        assert recoded.sort(pl.all()).equals(release.frame.sort(pl.all()))


def test_a_later_row_that_no_group_covers_is_refused_or_left_out():
    table = rt.Table(
        {"town": ["Aix"] * 4 + ["Brest"] * 4, "age": [30, 31] * 4, "s": list("xyxyxyxy")},
        quasi=["town", "age"],
        sensitive="s",
    )
    release = rt.publish(table, rt.KAnonymity(4), method=rt.Mondrian(values="sets"))
    later = {"town": ["Brest", "Caen"], "age": [30, 30], "s": ["x", "y"]}
    with pytest.raises(rt.DataError, match="'town' has the value 'Caen', which no label of the release covers"):
        rt.apply(release, later)
    left = rt.apply(release, later, unseen="suppress")
    assert left.to_dicts() == [{"town": "Brest", "age": "*", "s": "x"}]


def test_a_damaged_recoding_is_named(release, tmp_path):
    release.save(tmp_path / "release")
    recoding = tmp_path / "release" / "private" / "recoding.json"
    payload = json.loads(recoding.read_text())
    del payload["columns"][0]["meanings"]
    recoding.write_text(json.dumps(payload))
    with pytest.raises(rt.DataError, match=r"recoding\.json is damaged"):
        rt.apply(recoding, people().frame)


@pytest.mark.parametrize(
    ("options", "method"),
    [
        ({"quasi_sets": [["age", "job"], ["town"]]}, rt.Mondrian(values="hierarchy")),
        ({"quasi_sets": [["age", "job"], ["town"]]}, rt.Lattice(suppression="0.1")),
        ({"engine": "streaming"}, rt.Mondrian(values="sets")),
        ({"engine": "streaming"}, rt.Lattice(suppression="0.1")),
    ],
    ids=["sets, nodes", "sets, levels", "streamed, regions", "streamed, levels"],
)
def test_several_sets_and_streamed_tables_are_recoded_as_they_were_published(options, method):
    whole = people()
    table = rt.Table(whole.frame, quasi=dict(whole.quasi), sensitive="illness", **options)
    release = rt.publish(table, rt.KAnonymity(5), method=method)
    assert rt.apply(release, whole.frame).sort(pl.all()).equals(release.frame.sort(pl.all()))
