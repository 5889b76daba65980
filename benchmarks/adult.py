"""The Adult table with the hierarchies that reproduce the published experiments (spec 000b, A9)."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from reticent.table import Hierarchy

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"

MARITAL = {
    "Partnered": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent", "Separated"],
    "Single": ["Divorced", "Widowed", "Never-married"],
}
EDUCATION = {
    "Up to HS-grad": {
        "Up to 8th": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
        "9th to HS-grad": ["9th", "10th", "11th", "12th", "HS-grad"],
    },
    "Beyond": {
        "College": ["Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors"],
        "Graduate": ["Masters", "Prof-school", "Doctorate"],
    },
}


def complete_rows() -> pl.DataFrame:
    """The 45,222 rows of train and test without a missing value."""
    frame = pl.read_csv(SHARED / "adult_full" / "adult_48842.csv.gz")
    texts = [name for name, dtype in frame.schema.items() if dtype == pl.String]
    return frame.filter(~pl.any_horizontal(pl.col(texts).str.strip_chars() == "?"))


def quasi(columns: int) -> dict[str, Hierarchy]:
    """The first columns of Age, Gender, Race, Marital, Education, Native Country, Work Class."""
    frame = complete_rows()
    country, work = (frame[name].unique().sort().to_list() for name in ("native-country", "workclass"))
    everything = {
        "age": Hierarchy.intervals([5, 10, 20], origin=0, domain=(17, 90)),
        "sex": Hierarchy.suppression(["Female", "Male"]),
        "race": Hierarchy.suppression(["Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White"]),
        "marital-status": Hierarchy.taxonomy(MARITAL),
        "education": Hierarchy.taxonomy(EDUCATION),
        "native-country": Hierarchy.taxonomy(
            {"United-States": ["United-States"], "Elsewhere": [name for name in country if name != "United-States"]}
        ),
        "workclass": Hierarchy.taxonomy(
            {
                "Government": [name for name in work if name.endswith("-gov")],
                "Private sector": [name for name in work if not name.endswith("-gov")],
            }
        ),
    }
    return dict(list(everything.items())[:columns])
