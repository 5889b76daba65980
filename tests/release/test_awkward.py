"""Releases of awkward columns: types, names and values that a table may have and that must come back as they are."""

from __future__ import annotations

import datetime
from pathlib import Path

import polars as pl
import pytest

import reticent as rt

TIMES = [datetime.datetime(2024, 1, 1, hour) for hour in (1, 1, 2, 2, 3)]
COLUMNS = {
    "single precision": pl.Series([0.1, 0.1, 0.7, 0.7, 3.0], dtype=pl.Float32),
    "two zeros": pl.Series([-0.0, 0.0, 0.7, 0.7, 3.0]),
    "decimal": pl.Series(["1.10", "1.10", "2.00", "2.00", "3.00"]).cast(pl.Decimal(10, 2)),
    "nanoseconds": pl.Series(TIMES).cast(pl.Datetime("ns")),
    "milliseconds": pl.Series(TIMES).cast(pl.Datetime("ms")),
    "with a zone": pl.Series(TIMES).dt.replace_time_zone("Europe/Paris"),
    "time of day": pl.Series([datetime.time(hour, 0, 0, 500) for hour in (1, 1, 2, 2, 3)]),
    "128 bits": pl.Series([1, 1, 2, 2, 3], dtype=pl.Int128),
    "missing and a text that says so": pl.Series(["(missing)", "(missing)", None, None, "b"]),
    "texts": pl.Series(['q"', 'q"', "a\r\nb", "a\r\nb", ""]),
}


def saved(
    tmp_path: Path, frame: pl.DataFrame, definition: rt.Definition, format: str = "generalize", engine: str = "local"
) -> Path:
    table = rt.Table(frame, quasi=["q"], sensitive="s", nulls="category", engine=engine)
    return rt.publish(table, definition, rt.Lattice(suppression="0.5", format=format)).save(tmp_path / "release")


@pytest.mark.parametrize("engine", ["local", "streaming"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_quasi_column_of_any_type_is_published_and_verified(tmp_path: Path, kind: str, engine: str) -> None:
    folder = saved(tmp_path, pl.DataFrame({"q": COLUMNS[kind], "s": [1, 2, 3, 4, 5]}), rt.KAnonymity(2), engine=engine)
    assert rt.verify(folder).holds, rt.verify(folder).failures


@pytest.mark.parametrize("format", ["generalize", "bucketize"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_sensitive_column_of_any_type_is_compared_with_the_whole_table(
    tmp_path: Path, kind: str, format: str
) -> None:
    frame = pl.DataFrame({"q": [1] * 5, "s": COLUMNS[kind]})
    folder = saved(tmp_path, frame, rt.TCloseness("0.5") & rt.DistinctLDiversity(3), format=format)
    assert rt.verify(folder).holds, rt.verify(folder).failures


@pytest.mark.parametrize("kind", COLUMNS)
def test_exact_quasi_values_of_any_type_come_back_from_buckets(tmp_path: Path, kind: str) -> None:
    frame = pl.DataFrame({"q": COLUMNS[kind], "s": [1, 2, 1, 2, 3]})
    folder = saved(tmp_path, frame, rt.DistinctLDiversity(2), format="bucketize")
    assert rt.verify(folder).holds, rt.verify(folder).failures


@pytest.mark.parametrize("kind", ["nanoseconds", "time of day"])
def test_named_values_that_no_published_row_has_are_absent_whatever_their_type(tmp_path: Path, kind: str) -> None:
    series = COLUMNS[kind]
    named = rt.Table(pl.DataFrame({"q": [1] * 5, "s": series}), quasi=["q"], sensitive="s").sensitive_columns[0].texts
    frame = pl.DataFrame({"q": [1, 1, 1, 1, 2], "s": series})
    definition = rt.ConfidenceBounding("0.9", [named[-1]]) & rt.DistinctLDiversity(2)
    table = rt.Table(frame, quasi={"q": rt.Hierarchy.listed([["1", "1"], ["2", "2"]])}, sensitive="s")
    folder = rt.publish(table, definition, rt.Lattice(suppression="0.5")).save(tmp_path / "release")
    assert rt.verify(folder).holds, rt.verify(folder).failures


@pytest.mark.parametrize("engine", ["local", "streaming"])
@pytest.mark.parametrize(
    "name", ['q"n', "a\nb", "x,y", "kind", "(times)", "times", "number", "place", "person", "value"]
)
@pytest.mark.parametrize("role", ["quasi", "sensitive", "other"])
def test_a_column_may_have_any_name(tmp_path: Path, name: str, role: str, engine: str) -> None:
    frame = pl.DataFrame({"quasi": ["a", "a", "b", "b"], "sensitive": ["x", "y", "x", "y"], "other": [1, 2, 3, 4]})
    names = {"quasi": "quasi", "sensitive": "sensitive", "other": "other", role: name}
    frame = frame.rename(names)
    table = rt.Table(
        frame,
        quasi=[names["quasi"]],
        sensitive=names["sensitive"],
        declared={names["other"]: "nobody knows it"},
        engine=engine,
    )
    made = rt.publish(table, rt.DistinctLDiversity(2)).save(tmp_path / "release")
    assert rt.verify(made).holds, rt.verify(made).failures


@pytest.mark.parametrize("name", ["kind", "(people)", "(times)", "times", "place", "person", "value", "number", 'q"n'])
@pytest.mark.parametrize("role", ["quasi", "sensitive", "other"])
def test_a_column_of_a_bucketized_release_may_have_any_name(tmp_path: Path, name: str, role: str) -> None:
    frame = pl.DataFrame({"quasi": ["a", "a", "b", "b"], "sensitive": ["x", "y", "x", "y"], "other": [1, 2, 3, 4]})
    names = {"quasi": "quasi", "sensitive": "sensitive", "other": "other", role: name}
    frame = frame.rename(names)
    table = rt.Table(
        frame, quasi=[names["quasi"]], sensitive=names["sensitive"], declared={names["other"]: "nobody knows it"}
    )
    release = rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"))
    assert rt.verify(release.save(tmp_path / "release")).holds
    quasi, sensitive = (names[each].replace('"', '""') for each in ("quasi", "sensitive"))
    assert release.count(f"\"{quasi}\" = 'a' and \"{sensitive}\" = 'x'").value == 1


@pytest.mark.parametrize("role", ["quasi", "sensitive", "other"])
def test_a_column_called_as_the_bucket_is_refused_by_name(role: str) -> None:
    names = {"quasi": "quasi", "sensitive": "sensitive", "other": "other", role: "bucket"}
    frame = pl.DataFrame({each: [1, 2] for each in names.values()})
    table = rt.Table(
        frame, quasi=[names["quasi"]], sensitive=names["sensitive"], declared={names["other"]: "nobody knows it"}
    )
    with pytest.raises(rt.PolicyError, match=r"calls its bucket 'bucket'. Rename the column"):
        rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"))


def test_a_mask_that_all_share_does_not_cover_the_missing(tmp_path: Path) -> None:
    frame = pl.DataFrame({"code": ["012", "013", "014", None, None, None]})
    table = rt.Table(frame, quasi={"code": rt.Hierarchy.masking(3, keep=[3, 1])}, nulls="category")
    release = rt.publish(table, rt.KAnonymity(3))
    assert release.frame["code"].to_list() == ["(missing)"] * 3 + ["0**"] * 3


def test_new_rows_of_no_number_stay_none(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4]})
    release = rt.publish(rt.Table(frame, quasi=["age"]), rt.KAnonymity(2), rt.Mondrian(values="sets"))
    assert rt.apply(release, frame.clear()).height == 0


def test_a_header_that_is_not_the_manifests_is_told(tmp_path: Path) -> None:
    from reticent.errors import DataError
    from reticent.release import open_public

    folder = saved(tmp_path, pl.DataFrame({"q": ["a", "a"], "s": [1, 2]}), rt.KAnonymity(2))
    file = folder / "public" / "data.csv"
    file.write_text(file.read_text().replace("q,s", "s,q"))
    with pytest.raises(DataError, match=r"data.csv begins with 's,q', but the manifest lists the columns \['q', 's'\]"):
        open_public(folder)


def test_the_order_in_which_definitions_name_columns_does_not_matter(tmp_path: Path) -> None:
    """The certificate's words listed compared columns as the definitions did, and verify as JSON sorts them."""
    frame = pl.DataFrame({"q": [1] * 4, "b": [1, 2, 1, 2], "a": [1, 1, 2, 2], "c": [1, 2, 2, 1]})
    table = rt.Table(frame, quasi=["q"], sensitive=["b", "a", "c"])
    definition = rt.TCloseness("0.9", column="c") & rt.TCloseness("0.9", column="a") & rt.TCloseness("0.9", column="b")
    folder = rt.publish(table, definition).save(tmp_path / "release")
    assert rt.verify(folder).holds, rt.verify(folder).failures


def test_a_sensitive_column_that_no_definition_guards_is_a_residual_risk() -> None:
    frame = pl.DataFrame({"q": [1] * 4, "a": [1, 2, 1, 2], "b": [1, 2, 2, 1]})
    table = rt.Table(frame, quasi=["q"], sensitive=["a", "b"])

    def risks(definition: rt.Definition) -> list[str]:
        return [
            text
            for text in rt.publish(table, definition).certificate["residual_risks"]
            if "Nothing is promised" in text
        ]

    first, second = risks(rt.KAnonymity(2))
    assert first.startswith("Nothing is promised about 'a':")
    assert second.startswith("Nothing is promised about b:")
    assert risks(rt.KAnonymity(2) & rt.TCloseness("0.9", column="a")) == [second]
    assert risks(rt.TCloseness("0.9")) == []
    assert risks(rt.XYPrivacy(2, "0.9", y=("a",), x=())) == [second]


def test_buckets_are_judged_whatever_part_of_the_columns_somebody_knows(tmp_path: Path) -> None:
    """With several quasi sets the search judged groups of each set, but a bucketized release shows buckets."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "y", "x"]})
    table = rt.Table(frame, quasi=["a", "b"], sensitive="s", quasi_sets=[["a"], ["b"]])
    release = rt.publish(table, rt.DistinctLDiversity(2), rt.Lattice(format="bucketize"))
    assert rt.verify(release.save(tmp_path / "release")).holds
    assert sorted(release.groups.sizes) == [2, 2]


@pytest.mark.parametrize("definition", [rt.KAnonymity(2), rt.AlphaKAnonymity("0.9", 2), rt.NTCloseness(2, "0.9")])
def test_every_claim_that_counts_people_says_that_the_files_show_rows(definition: rt.Definition) -> None:
    frame = pl.DataFrame({"q": [1] * 4, "s": [1, 2, 1, 2], "who": ["a", "a", "b", "b"]})
    table = rt.Table(frame, quasi=["q"], sensitive="s", key="who", unit="person")
    assert "publisher's word" in rt.publish(table, definition).certificate["claims"][0]["covers"]


def test_labels_that_are_told_apart_by_a_mark_verify(tmp_path: Path) -> None:
    """Local recoding marks a value that is spelled like a set; the label was then refused as not fitting its meaning."""
    values = ["{a, b}", "{a, b}", "{a, b}", "a", "b", "*", "*", "z"]
    release = rt.publish(rt.Table({"q": values}, quasi=["q"]), rt.KAnonymity(2), rt.Mondrian(values="sets"))
    assert rt.verify(release.save(tmp_path / "release")).holds
