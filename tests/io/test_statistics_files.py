"""Files of SPSS, Stata and SAS come in as they were meant: labels as text, codes for missing values as missing, and both are said."""

from __future__ import annotations

import builtins
import datetime
import gzip
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import reticent as rt
from reticent.errors import DataError, MissingPackage, PolicyError
from reticent.io.source import Source, read_frame

SURVEY = pl.DataFrame(
    {
        "sex": [1, 2, 1, 9, None],
        "income": [1500, 97, 98, 2500, 99],
        "region": ["n", "s", "zz", "n", "s"],
        "born": [datetime.date(1980, 5, 17), None, datetime.date(1900, 1, 1), datetime.date(2000, 2, 29), None],
        "weight": [1.5, 2.25, 0.1, 1.0, 3.0],
        "kids": [0, 1, 2, 3, 0],
    }
)
LABELS: dict[str, dict[Any, str]] = {
    "sex": {1: "male", 2: "female", 9: "no answer"},
    "income": {97: "refused", 98: "do not know"},
    "region": {"n": "North", "s": "South"},
    "kids": {0: "none"},
}


@pytest.fixture
def spss(tmp_path: Path) -> Path:
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        SURVEY,
        str(path),
        column_labels={"sex": "Sex of respondent"},
        variable_value_labels=LABELS,
        missing_ranges={"sex": [9], "income": [{"lo": 97, "hi": 99}], "region": ["zz"]},
    )
    return path


def test_labels_are_read_as_text_and_declared_codes_as_missing(spss: Path) -> None:
    found = read_frame(spss)
    assert found.to_dict(as_series=False) == {
        "sex": ["male", "female", "male", None, None],
        "income": [1500, None, None, 2500, None],
        "region": ["North", "South", None, "North", "South"],
        "born": SURVEY["born"].to_list(),
        "weight": [1.5, 2.25, 0.1, 1.0, 3.0],
        "kids": [0, 1, 2, 3, 0],
    }
    assert found.schema["income"] == pl.Int64
    book = Source(spss).codebook(["sex", "income", "kids"])
    assert book.titles == {"sex": "Sex of respondent"}
    assert book.labels["kids"] == {0: "none"}
    assert book.notes() == (
        "Column 'sex': 9 (no answer) is a code for a missing value in the file; 1 row was read as missing.",
        "Column 'income': 97 (refused), 98 (do not know), 99 are codes for a missing value in the file; 3 rows were read as missing.",
    )


def test_codes_are_kept_where_that_is_said(spss: Path) -> None:
    assert read_frame(spss, labels="codes", columns=["sex", "region"]).rows() == [
        (1, "n"), (2, "s"), (1, None), (None, "n"), (None, "s"),
    ]  # fmt: skip
    with pytest.raises(PolicyError, match="labels must be 'text' or 'codes', but it is 'both'"):
        read_frame(spss, labels="both")
    with pytest.raises(PolicyError, match="labels= is for files of SPSS, Stata and SAS"):
        Source("rows.csv", labels="codes")


def test_two_codes_with_one_label_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    pyreadstat.write_dta(
        pl.DataFrame({"job": [1, 2, 3]}), str(path), variable_value_labels={"job": {1: "nurse", 2: "nurse", 3: "cook"}}
    )
    assert read_frame(path)["job"].to_list() == ["nurse (1)", "nurse (2)", "cook"]


def test_the_special_missing_values_of_stata_are_missing_and_said(tmp_path: Path) -> None:
    path = tmp_path / "a.dta"
    rows = pd.DataFrame({"income": [1, 2, "a", "b", "a", None], "age": [20.5, 30, 40, 50, 60, 70]})
    pyreadstat.write_dta(
        rows, str(path), missing_user_values={"income": ["a", "b"]}, variable_value_labels={"income": {"a": "refused"}}
    )
    assert read_frame(path)["income"].to_list() == [1, 2, None, None, None, None]
    assert Source(path).codebook().missing == {"income": {".a (refused)": 2, ".b": 1}}


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_dates_numbers_and_texts_have_their_types(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}[ending]
    moments = [datetime.datetime(2024, 1, 31, 12, 30), None]
    frame = pl.DataFrame(
        {"n": [1, None], "x": [0.5, None], "t": ["é", None], "d": [datetime.date(1950, 1, 1), None], "m": moments}
    )
    write(frame, str(path))
    found = read_frame(path)
    assert found.schema == pl.Schema(
        {"n": pl.Int64, "x": pl.Float64, "t": pl.String, "d": pl.Date, "m": pl.Datetime("us")}
    )
    assert found.rows() == frame.rows()
    # pandas shares no code with us.
    if ending == "dta":
        assert pd.read_stata(path)["x"][0] == found["x"][0]


def test_only_the_wanted_columns_are_read_and_a_wrong_one_is_named(spss: Path) -> None:
    assert Source(spss).columns() == SURVEY.columns
    assert read_frame(spss, columns=["kids", "sex"]).columns == ["kids", "sex"]
    with pytest.raises(DataError, match=r"has no column 'incom'\. Did you mean 'income'"):
        read_frame(spss, columns=["incom"])
    assert Source(spss).stream(["kids"]).frame is not None
    assert read_frame(spss, columns=["kids"], types={"kids": "text"})["kids"].to_list() == ["0", "1", "2", "3", "0"]


@pytest.mark.parametrize("ending", ["sav", "dta", "sas7bdat", "xpt", "por"])
def test_what_is_no_such_file_is_refused(tmp_path: Path, spss: Path, ending: str) -> None:
    whole = spss.read_bytes()
    for content in (b"", b"age,sex\n1,2\n", whole[:300], whole[: len(whole) - 30]):
        path = tmp_path / f"broken.{ending}"
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"broken.{ending} cannot be read as a file of"):
            read_frame(path)


def test_the_catalog_beside_a_sas_file_gives_its_labels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing writes SAS data sets but SAS, so the reader is watched."""
    asked: list[Any] = []

    def watched(path: str, **options: Any) -> Any:
        asked.append(options.get("catalog_file"))
        return pyreadstat.read_sav(str(tmp_path / "stands_in.sav"), output_format="polars")

    pyreadstat.write_sav(pl.DataFrame({"sex": [1, 2]}), str(tmp_path / "stands_in.sav"))
    monkeypatch.setattr(pyreadstat, "read_sas7bdat", watched)
    for name in ("people.sas7bdat", "formats.sas7bcat", "people.sas7bcat"):
        (tmp_path / name).write_bytes(b"x")
        assert read_frame(tmp_path / "people.sas7bdat")["sex"].to_list() == [1, 2]
    assert list(dict.fromkeys(asked)) == [None, str(tmp_path / "formats.sas7bcat"), str(tmp_path / "people.sas7bcat")]


def test_a_packed_file_is_to_be_unpacked(tmp_path: Path, spss: Path) -> None:
    packed = tmp_path / "survey.sav.gz"
    packed.write_bytes(gzip.compress(spss.read_bytes()))
    with pytest.raises(DataError, match="only text files are read packed"):
        read_frame(packed)


def test_the_package_is_named_where_it_is_missing(spss: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"age": [1, 2] * 5, "dx": ["x", "y"] * 5})
    rt.publish(rt.Table(frame, quasi=["age"], sensitive="dx"), rt.KAnonymity(2), files="dta").save(tmp_path / "release")
    real = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "pyreadstat":
            raise ModuleNotFoundError("No module named 'pyreadstat'", name="pyreadstat")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "pyreadstat")
    with pytest.raises(MissingPackage, match=r"Reading SPSS files needs .* pip install 'reticent\[formats\]'"):
        read_frame(spss)
    with pytest.raises(MissingPackage, match="Writing Stata files needs"):
        rt.publish(rt.Table(frame, quasi=["age"], sensitive="dx"), rt.KAnonymity(2), files="dta")
    # Nothing is wrong with the files, so nothing is said to fail.
    with pytest.raises(MissingPackage, match="Reading Stata files"):
        rt.verify(tmp_path / "release")


@pytest.mark.parametrize("files", ["sav", "dta"])
def test_labels_survive_the_way_in_and_out(tmp_path: Path, files: Any) -> None:
    rows = pl.DataFrame({"sex": [1, 2] * 30, "age": [20 + i % 4 for i in range(60)], "ill": [i % 3 for i in range(60)]})
    labels = {"sex": {1: "male", 2: "female"}, "ill": {0: "no", 1: "a little", 2: "very"}}
    pyreadstat.write_sav(
        rows, str(tmp_path / "in.sav"), variable_value_labels=labels, column_labels={"ill": "How ill?"}
    )
    table = rt.read(tmp_path / "in.sav", quasi=["sex", "age"], sensitive="ill")
    release = rt.publish(table, rt.KAnonymity(3), files=files)
    release.save(tmp_path / "out")
    assert rt.verify(tmp_path / "out").holds
    (published,) = (tmp_path / "out" / "public").glob(f"*.{files}")
    read = pyreadstat.read_sav if files == "sav" else pyreadstat.read_dta
    found, told = read(str(published))
    assert told.variable_value_labels["ill"] == labels["ill"]
    assert told.variable_value_labels["sex"] == labels["sex"]
    assert told.column_names_to_labels["ill"] == "How ill?"
    assert sorted(found["ill"]) == sorted(rows["ill"])
    # The same rows in another kind of file are the same release.
    assert release.frame.equals(rt.publish(table, rt.KAnonymity(3)).frame)
