"""Flat rows: a release in which every class is one region, as a single table with a level column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.release import PublicSide


def flat_rows(public: PublicSide) -> pl.DataFrame:
    """Return the rows of a release in regions, each with number, level, labels and plain bounds of its region, and the sensitive values.

    Made from public files alone, so it discloses nothing more. To look up a point, filter every column and keep the
    rows of the highest level. Classes merged from several blocks have several regions, which a single row cannot
    represent: these are refused.
    """
    manifest = public.manifest
    if manifest.format != "regions":
        raise PolicyError(
            f"Flat rows need a release in regions (method Bang), but this one has the format {manifest.format!r}."
        )
    (number,), quasi = manifest.named("group"), list(manifest.named("quasi"))
    regions, data = public.rows["regions"].frame(), public.rows["data"].frame()
    several = regions.filter(pl.col(number).is_duplicated())
    if several.height:
        merged = several[number].n_unique()
        raise PolicyError(
            f"{merged} of {regions[number].n_unique()} classes have several regions, such as class {several[number][0]}, but a flat row has one. Cut at the blocks of the index: publish with "
            "Bang(minimum=k) for the required k, or keep the tables 'data' and 'regions'."
        )
    other_columns = [name for name in data.columns if name != number and name not in quasi]
    return (
        data.select(number, *other_columns)
        .join(regions, on=number, how="left", maintain_order="left")
        .select(*regions.columns, *other_columns)
    )
