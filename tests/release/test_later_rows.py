"""Saved recodings treat later rows as the first ones."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from reticent.definitions import DistinctLDiversity, KAnonymity
from reticent.errors import DataError, PolicyError
from reticent.methods.lattice import Lattice
from reticent.methods.mondrian import Mondrian
from reticent.release import apply, publish
from reticent.table import Hierarchy, Table
from tests.release.conftest import frame_of_patients, table_of_patients


def newcomer(**changes) -> pl.DataFrame:
    values = {"zip": 13051, "age": 33, "nationality": "Indian", "condition": "viral", **changes}
    return pl.DataFrame({name: [value] for name, value in values.items()})


@pytest.fixture
def release():
    return publish(table_of_patients(declared={"ward": "nobody knows it"}), KAnonymity(4), Lattice())


def test_the_same_rows_are_recoded_as_they_were_published(release, tmp_path: Path) -> None:
    folder = release.save(tmp_path / "release")
    for scheme in (
        release,
        release.private.recoding,
        folder,
        str(folder),
        folder / "private" / "recoding.json",
        folder / "private",
    ):
        recoded = apply(scheme, frame_of_patients())
        assert recoded.columns == release.frame.columns
        assert recoded.sort(pl.all()).equals(release.frame)
    assert apply(release, frame_of_patients())["condition"].to_list() == frame_of_patients()["condition"].to_list()


def test_frames_of_other_kinds_are_taken(release) -> None:
    assert apply(release, frame_of_patients().to_pandas()).height == 12
    assert apply(release, frame_of_patients().to_dict(as_series=False)).height == 12


def test_a_new_value_under_a_known_label_is_recoded() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice())
    assert apply(release, newcomer()).row(0) == ("1305*", "[20, 40)", "*", "viral")


def test_only_quasi_columns_are_needed(release) -> None:
    recoded = apply(release, frame_of_patients().select("zip", "age", "nationality"))
    assert recoded.columns == ["zip", "age", "nationality"]
    assert recoded.height == 12


def test_no_rows_are_recoded_to_no_rows(release) -> None:
    assert apply(release, frame_of_patients().clear()).schema == release.frame.schema


def test_a_value_outside_the_declared_domain_is_an_error_or_suppressed() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice())
    with pytest.raises(DataError, match=r"Column 'age' has the value 120 .*declared domain"):
        apply(release, newcomer(age=120))
    rows = pl.concat([newcomer(age=120), newcomer()])
    assert apply(release, rows, unseen="suppress").height == 1


def test_a_label_that_no_row_had_is_unseen_where_the_domain_came_from_the_data() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice())
    with pytest.raises(DataError, match=r"'zip' has the value 20000, whose label '2000\*' no row of the release had"):
        apply(release, newcomer(zip=20000))
    assert apply(release, newcomer(zip=20000), unseen="suppress").height == 0
    # A column that is suppressed altogether says nothing, whatever the value.
    assert apply(release, newcomer(nationality="Martian")).height == 1


def test_a_value_of_the_wrong_shape_is_an_error_or_suppressed() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice())
    with pytest.raises(DataError, match="does not have the 5 characters"):
        apply(release, newcomer(zip=123456))
    assert apply(release, pl.concat([newcomer(zip=123456), newcomer()]), unseen="suppress").height == 1


def test_rows_of_groups_that_were_not_published_are_left_out() -> None:
    release = publish(table_of_patients(), KAnonymity(4), Lattice())
    # Both labels were published, but not together.
    assert apply(release, newcomer(zip=14853, age=30)).height == 0


def test_missing_values_are_unseen_unless_they_are_a_value_of_their_own() -> None:
    plain = publish(table_of_patients(dataset=None), KAnonymity(4), Lattice())
    rows = pl.concat([newcomer(), newcomer().with_columns(pl.lit(None, pl.Int64).alias("age"))])
    with pytest.raises(DataError, match="Column 'age' has no value in row 2"):
        apply(plain, rows)
    assert apply(plain, rows, unseen="suppress").height == 1
    frame = frame_of_patients().with_columns(
        pl.when(pl.col("nationality") == "American").then(None).otherwise(pl.col("age")).alias("age")
    )
    table = table_of_patients(frame=frame, quasi={"age": Hierarchy.intervals([100])}, nulls="category")
    release = publish(table, KAnonymity(2), Lattice())
    assert set(release.frame["age"]) == {"[0, 100)", "(missing)"}
    assert apply(release, rows.select("age", "condition"))["age"].to_list() == ["[0, 100)", "(missing)"]


def test_the_recoding_of_a_bucketized_release_gives_labels(tmp_path: Path) -> None:
    release = publish(table_of_patients(), DistinctLDiversity(3), Lattice(format="bucketize"))
    folder = release.save(tmp_path / "release")
    recoded = apply(folder, frame_of_patients())
    assert recoded.height == 12
    assert set(recoded["age"]) == {"[20, 40)", "[40, 60)"}


def test_wrong_arguments_are_refused_by_name(release, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="unseen must be 'error' or 'suppress'"):
        apply(release, frame_of_patients(), unseen="ignore")
    with pytest.raises(DataError, match="The new rows have no column 'age'"):
        apply(release, frame_of_patients().drop("age"))
    with pytest.raises(DataError, match="There is no recoding at"):
        apply(tmp_path, frame_of_patients())
    with pytest.raises(PolicyError, match="A int has no recoding"):
        apply(7, frame_of_patients())
    saved = release.save(tmp_path / "release") / "private"
    for text, reason in {
        "{}": "is not a recoding that this version",
        '{"layout": 2, "kind": "levels", "columns": [{}]}': "is damaged",
        '{"layout": 2, "kind": "regions", "columns": [{}], "unchanged": []}': "is damaged",
    }.items():
        (saved / "recoding.json").write_text(text)
        with pytest.raises(DataError, match=reason):
            apply(saved / "recoding.json", frame_of_patients())
    (saved / "recoding.parquet").write_bytes(b"PAR1")
    with pytest.raises(DataError, match="cannot be read"):
        apply(saved, frame_of_patients())
    (saved / "recoding.parquet").unlink()
    with pytest.raises(DataError, match=r"recoding\.parquet is missing"):
        apply(saved, frame_of_patients())


def columns_of_every_type(rows: int = 60) -> dict[str, tuple[pl.Series, Hierarchy]]:
    """A column of each type that a table may have, with a hierarchy for it; some values are missing."""
    draw = np.random.default_rng(7)
    few = draw.integers(0, 6, rows)
    moments = pl.Series(few * 10**11 + 10**15).cast(pl.Datetime("us"))
    days = Hierarchy.dates(["month", "year"], timezone="Europe/Paris")
    made = {
        "small": (pl.Series(few - 3).cast(pl.Int8), Hierarchy.intervals([2, 4])),
        "unsigned": (pl.Series([int(each) + 2**63 for each in few], dtype=pl.UInt64), Hierarchy.suppression()),
        "single": (pl.Series(few / 10).cast(pl.Float32), Hierarchy.intervals(["0.2", "0.4"])),
        "decimal": (pl.Series([str(each) for each in few / 4]).cast(pl.Decimal(10, 2)), Hierarchy.suppression()),
        "truth": (pl.Series(few > 2), Hierarchy.suppression()),
        "kind": (pl.Series([f"{each}" for each in few]).cast(pl.Categorical), Hierarchy.suppression()),
        "day": (pl.Series(few * 9 + 19_000).cast(pl.Int32).cast(pl.Date), Hierarchy.dates(["month", "year"])),
        "moment": (moments, days),
        "zoned": (moments.dt.replace_time_zone("UTC"), days),
        "clock": (pl.Series(few * 3_600 * 10**9 + 500).cast(pl.Time), Hierarchy.suppression()),
        "code": (pl.Series([f"{each * 3:05d}" for each in few]), Hierarchy.masking(5)),
        "words": (
            pl.Series([("*", "(missing)", "{a, b}", "a", "b", "c")[each] for each in few]),
            Hierarchy.suppression(),
        ),
    }
    there = pl.Series(draw.random(rows) > 0.1)
    return {name: (pl.select(pl.when(there).then(each)).to_series(), given) for name, (each, given) in made.items()}


@pytest.mark.parametrize("column", columns_of_every_type(2))
@pytest.mark.parametrize(
    "method",
    [Lattice(suppression="0.2"), Mondrian(values="sets"), Mondrian(values="ranges"), Mondrian(values="hierarchy"), Mondrian(ties="divide", values="sets")],
    ids=["lattice", "sets", "ranges", "hierarchy", "divide"],
)  # fmt: skip
def test_columns_of_every_type_are_recoded_as_they_were_published(column: str, method, tmp_path: Path) -> None:
    series, hierarchy = columns_of_every_type()[column]
    frame = pl.DataFrame([series.alias("q"), pl.Series("s", list("xyz") * 20)])
    release = publish(Table(frame, quasi={"q": hierarchy}, sensitive="s", nulls="category"), KAnonymity(3), method)
    for scheme in (release, release.save(tmp_path / "release")):
        assert apply(scheme, frame).sort(pl.all()).equals(release.frame.sort(pl.all()))
        assert apply(scheme, frame.clear()).height == 0
