"""A published column is quasi, sensitive or declared; there is no role for columns that are published without a word."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import reticent as rt

FRAME = pl.DataFrame({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"], "shoe_size": [40.5, 41.5, 42.5, 43.5]})


def table(**more: object) -> rt.Table:
    return rt.Table(FRAME, quasi=["age"], sensitive="ill", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["shoe_size", ["shoe_size"], ("shoe_size",)])
def test_the_role_other_is_refused_with_the_way_out(other: object) -> None:
    with pytest.raises(rt.PolicyError, match=r"Make 'shoe_size' quasi, drop it, or.*declared=\{'shoe_size': '...'\}"):
        table(other=other)


@pytest.mark.parametrize("nothing", [{"other": ()}, {"other": []}, {"declared": None}, {"declared": {}}])
def test_nothing_declared_is_nothing_published(nothing: dict[str, object]) -> None:
    assert table(**nothing).declared == {}
    assert table(**nothing).unpublished == ("shoe_size",)


@pytest.mark.parametrize("reason", ["", " \n", None, 7, True, ["nobody knows it"]])
def test_a_declaration_needs_a_reason_in_words(reason: object) -> None:
    with pytest.raises(rt.PolicyError, match="'shoe_size' needs a reason in words"):
        table(declared={"shoe_size": reason})


@pytest.mark.parametrize("declared", ["shoe_size", ["shoe_size"]])
def test_a_list_is_no_declaration(declared: object) -> None:
    with pytest.raises(rt.PolicyError, match="declared must map each column to the reason"):
        table(declared=declared)


def test_a_column_that_is_not_there_and_one_with_another_role_are_refused() -> None:
    with pytest.raises(rt.DataError, match=r"no column 'shoe'\. Did you mean 'shoe_size'"):
        table(declared={"shoe": "nobody knows it"})
    with pytest.raises(rt.PolicyError, match="'age' is quasi and declared at once"):
        table(declared={"age": "nobody knows it"})


def test_the_reason_is_published_in_one_line(tmp_path: Path) -> None:
    declared = {"shoe_size": "measured\n  once"}
    release = rt.publish(table(declared=declared, coarsen={"shoe_size": {"kind": "round", "to": 2}}), rt.KAnonymity(2))
    assert release.certificate["declared"][0]["reason"] == "measured once"
    assert release.frame["shoe_size"].to_list() == [40.0, 42.0, 42.0, 44.0]
    folder = release.save(tmp_path / "release")
    assert "measured once" in " ".join((folder / "public" / "STATEMENT.txt").read_text().split())
    assert rt.verify(folder).holds


@pytest.mark.parametrize(
    "method",
    [
        rt.Lattice(),
        rt.Mondrian(values="sets"),
        rt.Mondrian(values="ranges"),
        rt.Mondrian(values="typical"),
        rt.Bang(),
        rt.Suppress(),
        rt.Gather(r=2),
        rt.Cellular(r=2),
    ],
)
def test_a_quasi_column_with_one_value_costs_nothing(method: object) -> None:
    frame = pl.DataFrame({"age": [1, 1, 2, 2, 3, 3], "country": ["NO"] * 6, "year": [2024] * 6})
    plain = rt.publish(rt.Table(frame.select("age"), quasi=["age"]), rt.KAnonymity(2), method)
    found = rt.publish(rt.Table(frame, quasi=["age", "country", "year"]), rt.KAnonymity(2), method)
    assert found.private.loss_by_column["country"] == found.private.loss_by_column["year"] == 0
    assert found.groups.sizes.tolist() == plain.groups.sizes.tolist()
    assert found.frame["country"].unique().to_list() == ["NO"]
