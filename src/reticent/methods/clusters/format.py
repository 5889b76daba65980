"""The format ``clusters``: rows with the labels of their cluster, and a table of clusters with centres, radii and counts; a cluster is a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Groups, Shape
from reticent.errors import DataError
from reticent.methods.clusters.shape import balls_around
from reticent.release import Manifest, ManifestColumn
from reticent.release.format import CHOSEN, Answer, GroupFormat, Words
from reticent.table import NULL_LABEL, FrameRows, Interval, LeafIndex, Rows, Table

if TYPE_CHECKING:
    from reticent.base.figures import Figure
    from reticent.release import PublicSide

_DETAILS = {
    "norm": str,
    "scales": dict,
    "places": list,
    "grid": dict,
    "numbers": str,
    "centres": str,
    "aggregated": list,
}
_STATISTICS = ("mean", "median", "mode")


class Clusters(GroupFormat):
    """Two tables. ``data`` has a row per record with the labels of its cluster and the sensitive values; ``groups`` a row per cluster.

    A label combination means the box of its labels and, inside it, the ball around the centre. Definitions are judged
    on the clusters, not on the balls, which may overlap. If the details state that ``numbers`` are means, medians or
    modes, numeric columns show these; a number then means the ranges of all clusters that show it.
    """

    name: ClassVar[str] = "clusters"
    tables: ClassVar[tuple[str, ...]] = ("data", "groups")
    roles: ClassVar[tuple[str, ...]] = ("centre", "radius", "members")

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        """Return the role of each column that the format adds: centres, radius and number of members."""
        added_columns = [name for name in draft.tables["groups"].schema if name not in draft.meanings]
        return {
            **dict.fromkeys(added_columns[:-2], "centre"),
            added_columns[-2]: "radius",
            added_columns[-1]: "members",
        }

    def columns(self, draft: Draft, table: Table, rows: Mapping[str, Rows]) -> tuple[ManifestColumn, ...]:
        return tuple(_as_numbers(column, draft.details) for column in super().columns(draft, table, rows))

    def drafted(self, draft: Draft) -> tuple[ManifestColumn, ...]:
        return tuple(_as_numbers(manifest_column, draft.details) for manifest_column in super().drafted(draft))

    def check(self, public: PublicSide) -> None:
        """Raise unless labels, centres, radii and sizes of the clusters agree with the rows."""
        manifest = public.manifest
        _check_details(manifest)
        for column in manifest.columns:
            if column.role == "quasi" and _is_number(column) != _shows_numbers(column, manifest.details):
                raise DataError(f"manifest.json: column {column.name!r} is not published as the details state.")
        self._check_labels(public)
        _check_clusters(public)

    def check_spelling(self, column: ManifestColumn) -> None:
        """Check labels; a number is looked up in its range, and may mean the same range as another."""
        if not _is_number(column):
            super().check_spelling(column)
            return
        for label, meaning in column.labels.items():
            if isinstance(meaning, Interval) and not _lies_in(label, meaning, column):
                raise DataError(f"The number {label} of column {column.name!r} is outside its range.")

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: rows by label, each cluster with its ball."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        view = AdversaryView.in_rows(*rows["data"].counted([*quasi, *sensitive]), quasi, sensitive)
        return view.shaped(_balls(rows["groups"].frame(), columns, details))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Count the rows that meet a condition; published numbers are compared like labels."""
        from reticent.release import count_labels

        rows = public.rows["data"]
        numbers = [column.name for column in public.manifest.columns if column.role == "quasi" and _is_number(column)]
        if numbers:
            rows = FrameRows(rows.frame().with_columns(pl.col(numbers).cast(pl.String)))
        return count_labels(rows, public.meanings, condition, estimator, **self.known(public))

    def figures(self, view: AdversaryView, groups: Groups) -> Sequence[Figure]:
        """Return a drawing of the clusters' centres and radii, if there are two numeric columns."""
        from reticent.methods.clusters.figure import balls_in_two_columns

        figure = balls_in_two_columns(view.shapes, groups.sizes)
        return () if figure is None else (figure,)

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        details, clusters = public.manifest.details, public.rows["groups"].height
        grid = ", ".join(f"{name} {step}" for name, step in sorted(details["grid"].items()))
        numbers_shown = "ranges" if details["numbers"] == "ranges" else f"the {details['numbers']} of their cluster"
        description = (
            "People who are near each other were put into clusters. Of everybody the release shows the cluster: "
            f"numbers as {numbers_shown}, the centre of the cluster, its radius and its size. "
            + (f"Numbers are rounded to a grid ({grid})." if grid else "")
        )
        aggregated = details["aggregated"]
        if aggregated:
            description += f" The numbers of {', '.join(aggregated)} are the {details['numbers']} of the cluster, not a person's own."
        return Words(
            description.rstrip() + self.coarsened(public),
            (
                *self.own_numbers(public),
                *([_MEMBERS] if details["centres"] == "records" else []),
                *([_ONE] if clusters == 1 else []),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's cluster, or a few that overlap.",
                "A centre and a range follow the members: an attacker who knows all members of a cluster but one learns about that one what the grid leaves open.",
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike.",
        )


_MEMBERS = "Every centre is the record of a person in the table, as it is: an attacker who recognises it knows that the person is in the table."
_ONE = "All rows are one cluster: nothing but its ranges is disclosed about anyone's quasi values."


def _as_numbers(column: ManifestColumn, details: Mapping[str, Any]) -> ManifestColumn:
    return replace(column, published="values") if column.role == "quasi" and _shows_numbers(column, details) else column


def _is_number(column: ManifestColumn) -> bool:
    return column.published == "values"


def _shows_numbers(column: ManifestColumn, details: Mapping[str, Any]) -> bool:
    """True if a column shows the mean, median or mode of its clusters."""
    return details["numbers"] in _STATISTICS and column.name in details["grid"]


def _lies_in(label: str, meaning: Interval, column: ManifestColumn) -> bool:
    """Return whether the value of a label belongs to an interval."""
    try:
        value = (
            int(label) if column.kind.is_whole else float(label) if column.kind.is_numeric else column.kind.read(label)
        )
        return len(meaning.covers(LeafIndex.of(column.kind.series([value]), column.name))) == 1
    except (ValueError, OverflowError, DataError):
        return False


def _check_details(manifest: Manifest) -> None:
    """Check that the details of clusters are well-formed and name published columns."""
    details = manifest.details
    if set(details) != set(_DETAILS) or not all(isinstance(details[key], kind) for key, kind in _DETAILS.items()):
        raise DataError(
            "manifest.json: the details of clusters must say how distances were measured and what is shown."
        )
    if details["norm"] not in ("L1", "L2") or details["numbers"] not in ("ranges", *_STATISTICS):
        raise DataError("manifest.json: the details of clusters have a norm or a choice of numbers that is not known.")
    if details["centres"] not in ("synthetic", "records"):
        raise DataError("manifest.json: the centres of clusters are synthetic or records.")
    quasi = manifest.named("quasi")
    columns_named = [*details["scales"], *details["grid"], *(name for pair in details["places"] for name in pair)]
    if not set(columns_named) <= set(quasi) or not set(details["aggregated"]) <= set(manifest.named("sensitive")):
        raise DataError("manifest.json: the details of clusters name columns that are not published in this form.")
    if not all(type(scale) in (int, float) and isfinite(scale) and scale > 0 for scale in details["scales"].values()):
        raise DataError("manifest.json: every scale of a distance must be a number above 0.")
    expected = [*quasi, *manifest.named("centre"), *manifest.named("radius"), *manifest.named("members")]
    if len(manifest.named("centre")) != len(quasi) or list(manifest.tables["groups"].columns) != expected:
        raise DataError(
            "manifest.json: the table of clusters has the quasi columns, a centre for each, a radius and the number of rows."
        )


def _check_clusters(public: PublicSide) -> None:
    """Check that the clusters are those of the rows with correct sizes, and that every radius is a number."""
    quasi, clusters = list(public.manifest.named("quasi")), public.rows["groups"].frame()
    (radius,), (members,) = public.manifest.named("radius"), public.manifest.named("members")
    clusters_of_rows, row_counts = public.rows["data"].counted(quasi)
    counted = clusters_of_rows.with_columns(pl.Series("counted rows", row_counts))
    joined = counted.join(clusters.select(*quasi, members), on=quasi, how="full", coalesce=True, nulls_equal=True)
    if (
        clusters.height != clusters_of_rows.height
        or joined.filter(pl.col("counted rows").ne_missing(pl.col(members))).height
    ):
        raise DataError(
            "The table of clusters does not list the clusters of the rows, each once, with the number of their rows."
        )
    if clusters[radius].null_count() or not (clusters[radius].is_finite() & (clusters[radius] >= 0)).all():
        raise DataError("The table of clusters has a radius that is not a number of at least 0.")


def _balls(
    clusters: pl.DataFrame, columns: Sequence[ManifestColumn], details: Mapping[str, Any]
) -> dict[tuple[str, ...], Shape]:
    """Return the ball of every cluster by its labels."""
    quasi = [column.name for column in columns if column.role == "quasi"]
    centres = [column.name for column in columns if column.role == "centre"]
    (radius,) = (column.name for column in columns if column.role == "radius")
    location_pairs = [(str(latitude), str(longitude)) for latitude, longitude in details["places"]]
    centres_by_column = {
        name: _plain_values(clusters[centre], name in details["grid"])
        for name, centre in zip(quasi, centres, strict=True)
        if name in details["scales"]
    }
    texts = [clusters[name].cast(pl.String).fill_null(NULL_LABEL).to_list() for name in quasi]
    balls = balls_around(
        centres_by_column, clusters[radius].to_list(), details["scales"], details["norm"], location_pairs
    )
    return dict(zip(zip(*texts, strict=True), balls, strict=True))


def _plain_values(centres: pl.Series, numbers: bool) -> list[Any]:
    """Return centres of a column as balls use them: numbers (dates as days), text or booleans."""
    if numbers:
        return (centres.to_physical() if centres.dtype == pl.Date else centres).cast(pl.Float64).to_list()
    return (centres if centres.dtype in (pl.String, pl.Boolean) else centres.cast(pl.String)).to_list()


CLUSTERS = Clusters()
