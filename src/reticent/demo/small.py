"""The small tables of the worked examples, as frames and with roles and hierarchies."""

from __future__ import annotations

import polars as pl

from reticent.table import Hierarchy, Table


def twelve_patients() -> pl.DataFrame:
    """Return twelve patients: the running example of l-diversity [Machanavajjhala2007]."""
    return pl.DataFrame(
        [
            ("13053", 28, "Russian", "heart disease"),
            ("13068", 29, "American", "heart disease"),
            ("13068", 21, "Japanese", "viral infection"),
            ("13053", 23, "American", "viral infection"),
            ("14853", 50, "Indian", "cancer"),
            ("14853", 55, "Russian", "heart disease"),
            ("14850", 47, "American", "viral infection"),
            ("14850", 49, "American", "viral infection"),
            ("13053", 31, "American", "cancer"),
            ("13053", 37, "Indian", "cancer"),
            ("13068", 36, "Japanese", "cancer"),
            ("13068", 35, "American", "cancer"),
        ],
        schema=["zip", "age", "nationality", "condition"],
        orient="row",
    )


def twelve_patients_table() -> Table:
    """Return the twelve patients with hierarchies: 24 nodes."""
    return Table(
        twelve_patients(),
        quasi={
            "zip": Hierarchy.masking(digits=5, keep=[5, 4, 3, 0]),
            "age": Hierarchy.cuts([[41]]),
            "nationality": Hierarchy.suppression(),
        },
        sensitive="condition",
    )


def ten_people() -> pl.DataFrame:
    """Return ten people whose names are known: the running example of worst-case knowledge [Martin2007]."""
    return pl.DataFrame(
        [
            ("Bob", "14850", 23, "M", "flu"),
            ("Charlie", "14850", 24, "M", "flu"),
            ("Dave", "14850", 25, "M", "lung cancer"),
            ("Ed", "14850", 27, "M", "lung cancer"),
            ("Frank", "14853", 29, "M", "mumps"),
            ("Gloria", "14850", 21, "F", "flu"),
            ("Hannah", "14850", 22, "F", "flu"),
            ("Irma", "14853", 24, "F", "breast cancer"),
            ("Jessica", "14853", 26, "F", "ovarian cancer"),
            ("Karen", "14853", 28, "F", "heart disease"),
        ],
        schema=["name", "zip", "age", "sex", "disease"],
        orient="row",
    )


def ten_people_table() -> Table:
    """Return the ten people with hierarchies: 12 nodes."""
    return Table(
        ten_people(),
        quasi={
            "zip": Hierarchy.masking(digits=5, keep=[5, 4]),
            "age": Hierarchy.intervals(widths=[5], origin=0, domain=(20, 29)),
            "sex": Hierarchy.suppression(),
        },
        sensitive="disease",
        identifiers=["name"],
    )


def six_patients() -> pl.DataFrame:
    """Return six patients: the running example of [Anjum2013] (tables 1.1 and 2.2)."""
    return pl.DataFrame(
        [
            (1, 62, "44120", "F", "flu"),
            (2, 51, "44190", "M", "flu"),
            (3, 48, "44100", "M", "HIV"),
            (4, 59, "44470", "F", "flu"),
            (5, 77, "44420", "M", "gastritis"),
            (6, 66, "44420", "M", "HIV"),
        ],
        schema=["id", "age", "zip", "gender", "disease"],
        orient="row",
    )


def six_patients_release() -> pl.DataFrame:
    """Return the release of the six patients that the same section analyses: two groups of three."""
    raw = six_patients()
    first = pl.col("id") <= 3
    return raw.select(
        pl.when(first).then(pl.lit("[48-62]")).otherwise(pl.lit("[59-77]")).alias("age"),
        pl.when(first).then(pl.lit("441XX")).otherwise(pl.lit("444XX")).alias("zip"),
        pl.lit("*").alias("gender"),
        pl.col("disease"),
    )
