"""Flat rows: a release whose classes are one region each, as one table with a column for the level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.release import PublicSide


def flat_rows(public: PublicSide) -> pl.DataFrame:
    """The rows of a release in regions, each with the number, the level, the labels and the plain bounds of its region, and the sensitive values.

    It is made of public files alone, so that it shows nothing more than they do. Somebody is found by filtering every column and keeping the rows of the greatest level. Classes that were merged
    from several blocks have several regions, which no single row can show: these are refused.
    """
    manifest = public.manifest
    if manifest.format != "regions":
        raise PolicyError(
            f"Flat rows are made of a release in regions (method Bang), and this one has the format {manifest.format!r}."
        )
    (number,), quasi = manifest.named("group"), list(manifest.named("quasi"))
    regions, data = public.rows["regions"].frame(), public.rows["data"].frame()
    several = regions.filter(pl.col(number).is_duplicated())
    if several.height:
        merged = several[number].n_unique()
        raise PolicyError(
            f"{merged} of {regions[number].n_unique()} classes have several regions, such as class {several[number][0]}, and a flat row shows one. Cut at the blocks of the index: publish with "
            "Bang(minimum=k) for the k that is asked for, or keep the tables 'data' and 'regions'."
        )
    others = [name for name in data.columns if name != number and name not in quasi]
    return (
        data.select(number, *others)
        .join(regions, on=number, how="left", maintain_order="left")
        .select(*regions.columns, *others)
    )
