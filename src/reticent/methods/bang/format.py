"""The format ``regions``: rows with the number of their class, and the regions of every class. A point belongs to the
region of the highest level that contains it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from reticent.conditions import Condition
from reticent.core import AdversaryView, Draft, Evidence, Groups, Shape
from reticent.errors import DataError
from reticent.methods.bang.nested_regions import NestedRegions, SteppedColumn, stepped_values
from reticent.methods.bang.shape import Compacted, Nested, Patched
from reticent.release import Manifest, ManifestColumn
from reticent.release.format import CHOSEN, Answer, EvidenceRequest, GroupFormat, Words
from reticent.table import Anything, Interval, Meaning, Missing, OrMissing, Rows, Value, Values, ValueType

if TYPE_CHECKING:
    from reticent.base.figures import Figure
    from reticent.release import PublicSide

_DATA, _REGIONS, _PLACES = "data", "regions", "places"
_GUARDS = ("quasi", "raised", "sensitive")


class RegionsFormat(GroupFormat):
    """Three tables. ``data`` has a row per record: class number, labels that bound its regions, and the sensitive values.
    ``regions`` has a row per region: class, level, labels, and plain bounds for queries. ``places`` lists the values of
    non-numeric columns in the order that bounds refer to.

    A class may have several regions, and a region has holes where regions of a higher level are inside it. So two
    classes may have the same labels: the number distinguishes them.
    """

    name: ClassVar[str] = "regions"
    tables: ClassVar[tuple[str, ...]] = (_DATA, _PLACES, _REGIONS)
    roles: ClassVar[tuple[str, ...]] = ("group", "level", "bound", "missing", "place", "extent")
    streams: ClassVar[bool] = True

    def own_columns(self, draft: Draft, sensitive: Sequence[str]) -> Mapping[str, str]:
        """Return the role of each column that the format adds: class, level, bounds, extents and places."""
        regions, quasi = list(draft.tables[_REGIONS].schema), draft.meanings
        added = [name for name in regions if name not in quasi]
        # Extents have as many columns as bounds, and follow them.
        bounds = added[2 : 2 + (len(added) - 2) // 2] if draft.details.get("compact") else added[2:]
        missing = [name for name in bounds if name.endswith(" missing")]
        return {
            added[0]: "group",
            added[1]: "level",
            **dict.fromkeys((name for name in bounds if name not in missing), "bound"),
            **dict.fromkeys(missing, "missing"),
            **dict.fromkeys(added[2 + len(bounds) :], "extent"),
            **dict.fromkeys(draft.tables[_PLACES].schema, "place"),
        }

    def labels_shown(self, rows: Mapping[str, Rows], quasi: Sequence[str]) -> Mapping[str, pl.Series]:
        distinct = [rows[name].counted(quasi)[0] for name in (_DATA, _REGIONS)]
        return {name: pl.concat([values_by_name[name] for values_by_name in distinct]) for name in quasi}

    def check(self, public: PublicSide) -> None:
        """Raise unless the regions are nested, differ in their labels, and hold the published classes."""
        manifest = public.manifest
        _check_details(manifest)
        (number,), (level,) = manifest.named("group"), manifest.named("level")
        quasi = list(manifest.named("quasi"))
        regions = public.rows[_REGIONS].frame()
        if regions.select(number, level, *quasi).null_count().sum_horizontal().item() or (regions[level] < 0).any():
            raise DataError("The table 'regions' has a region without a class, a level or a label.")
        if regions.select(quasi).n_unique() != regions.height:
            raise DataError("Two regions of the table 'regions' show the same labels.")
        classes, _ = public.rows[_DATA].counted([number, *quasi])
        if classes[number].null_count() or classes[number].n_unique() != classes.height:
            raise DataError("Rows of one class show different labels.")
        if set(classes[number].to_list()) != set(regions[number].to_list()):
            raise DataError("The classes of the table 'regions' are not those of the rows.")
        super().check(public)
        _check_bounds(public, regions, classes)
        sizes = public.rows[_DATA].counted([number])[1]
        if len(sizes) > 1 and int(sizes.min()) < manifest.details["k"]:
            raise DataError("manifest.json: the details name a k that is greater than the smallest class.")
        nested = self.reader(public)
        nested.check()
        if is_compact(manifest):
            _check_extents(nested)

    def evidence(self, public: PublicSide, about: EvidenceRequest) -> Evidence:
        """Return the evidence of a release; for a later release of a growing table also the people who are new, who must
        satisfy the definition on their own.
        """
        evidence = super().evidence(public, about)
        number = self.place_in_series(public) or 1
        if number > 1 and about.earlier:
            from reticent.methods.bang.release_difference import check_growth

            check_growth(about.earlier, public, number, about.definition)
        return evidence

    def place_in_series(self, public: PublicSide) -> int | None:
        number: int | None = public.manifest.details.get("series", {}).get("number")
        return number

    def attested(self, public: PublicSide) -> str:
        """Return what a single release of a growing table does not prove; empty for the first."""
        number = self.place_in_series(public) or 1
        if number == 1:
            return ""
        return f"This is release {number} of a table that grows. That people who were new in it satisfy what is promised on their own shows only beside the releases before: verify all folders together, first to last."

    def record_classes(self, manifest: Manifest) -> tuple[str, tuple[str, ...]] | None:
        # Classes may have equal labels; an adversary who knows a person's values knows the region.
        return _DATA, manifest.named("group")

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: the rows by class, each class with the shape of its regions."""
        quasi = {column.name: column.labels for column in columns if column.role == "quasi"}
        sensitive = [column.name for column in columns if column.role == "sensitive"]
        number = next(column.name for column in columns if column.role == "group")
        counted, times = rows[_DATA].counted([*quasi, number, *sensitive])
        view = AdversaryView.in_rows(counted, times, quasi, sensitive, number)
        assert view.called is not None
        regions = rows[_REGIONS].frame()
        shapes = (
            _compacted(regions, rows[_PLACES].frame(), columns) if details.get("compact") else _shapes(regions, columns)
        )
        return replace(view, shapes=tuple(shapes[group] for group in view.called.to_list()))

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Answer:
        """Count the rows that meet a condition, by the regions of every class."""
        from reticent.methods.bang.counts import count_regions

        (number,), (level,) = public.manifest.named("group"), public.manifest.named("level")
        regions, meanings = public.rows[_REGIONS].frame(), public.meanings
        if is_compact(public.manifest):
            # Rows are within the extents of their region, which are queried like labels.
            extent_meanings = _extent_meanings(regions, public.rows[_PLACES].frame(), public.manifest.columns)
            regions = regions.with_columns(
                pl.Series(name, [str(region) for region in range(regions.height)], dtype=pl.String)
                for name in extent_meanings
            )
            meanings = {
                name: {str(region): meaning for region, meaning in enumerate(extents)}
                for name, extents in extent_meanings.items()
            }
        return count_regions(
            public.rows[_DATA],
            regions.select(number, level, *meanings),
            self.reader(public),
            meanings,
            condition,
            estimator,
            **self.known(public),
        )

    def known(self, public: PublicSide) -> dict[str, Any]:
        """Return public knowledge for counting queries beyond tables and labels: all values of non-numeric columns are listed."""
        column, value, rank_column = public.manifest.named("place")
        value_ranks = public.rows[_PLACES].frame().sort(rank_column)
        listed_values = {
            str(name): values[value].to_list() for (name,), values in value_ranks.group_by(column, maintain_order=True)
        }
        for name, values in listed_values.items():
            listed_values[name] = stepped_values(public.manifest.column(name).kind, values)
        known_domains = super().known(public)
        return {**known_domains, "domains": {**known_domains["domains"], **listed_values}}

    def reader(self, public: PublicSide) -> NestedRegions:
        """Return the regions, to query which class contains a point (``at``) and which classes a range meets (``within``)."""
        from reticent.release import domains_of

        manifest, regions = public.manifest, public.rows[_REGIONS].frame()
        (number,), (level,) = manifest.named("group"), manifest.named("level")
        column, value, rank_column = manifest.named("place")
        value_ranks, bounds = public.rows[_PLACES].frame().sort(rank_column), bound_columns(manifest)
        bounds_of_columns = [regions.select(bounds[name]) for name in manifest.named("quasi")]
        if is_compact(manifest):
            extents = extent_columns(manifest)
            bounds_of_columns = [
                pl.concat(
                    [
                        column_bounds,
                        regions.select(extents[name]).rename(
                            dict(zip(extents[name], column_bounds.columns, strict=True))
                        ),
                    ]
                )
                for name, column_bounds in zip(manifest.named("quasi"), bounds_of_columns, strict=True)
            ]
        all_columns = tuple(
            SteppedColumn.of(
                name,
                manifest.column(name).kind,
                column_bounds,
                value_ranks.filter(pl.col(column) == name)[value].to_list(),
            )
            for name, column_bounds in zip(manifest.named("quasi"), bounds_of_columns, strict=True)
        )
        columns, filled = (
            tuple(
                replace(box_column, lows=box_column.lows[part], highs=box_column.highs[part])
                for box_column in all_columns
            )
            for part in (slice(regions.height), slice(regions.height, None))
        )
        counted, row_counts = public.rows[_DATA].counted([number])
        rows = dict(zip(counted[number].to_list(), row_counts.tolist(), strict=True))
        return NestedRegions(
            columns,
            regions[level].to_numpy().astype(np.int64),
            regions[number],
            rows,
            domains_of(public.meanings, **self.known(public)),
            filled if is_compact(manifest) else (),
        )

    def figures(self, view: AdversaryView, groups: Groups) -> Sequence[Figure]:
        """Return a drawing of the regions in the two columns that split them most, if there is one."""
        from reticent.methods.bang.figure import regions_in_two_columns

        figure = regions_in_two_columns(view)
        return () if figure is None else (figure,)

    def words(self, public: PublicSide) -> Words:
        """Return what was done to the table, what an attacker can learn, and the residual risks."""
        return Words(
            "The space of the values that could identify a person was halved repeatedly, and each person is shown by the class of regions that contains them. Of several "
            "regions that contain a person, the one of the highest level counts." + self.coarsened(public),
            (
                *self.own_numbers(public),
                *self.missing_values(public),
                "The release does not hide who is in the table: an attacker who knows that a person is finds the person's class.",
                _MADE[public.manifest.details["guard"]],
                *([_COMPACT] if is_compact(public.manifest) else []),
                *([_GROWS] if "series" in public.manifest.details else []),
                CHOSEN,
            ),
            group="An attacker who looks for a person finds this many people who look alike.",
        )


_MADE = {
    "sensitive": "Classes were split as far as their sensitive values allow. The guarantees do not hold against an attacker who knows the algorithm: that a class was not split further discloses something about the values "
    "in it.",
    "raised": "Classes were made by the counts of quasi values, but sensitive values required more, so all classes were enlarged to one larger minimum. An attacker who knows the algorithm learns that some smaller class "
    "would have failed; the guarantees do not hold against that knowledge.",
    "quasi": "Classes were made by the counts of quasi values alone: how they were made discloses nothing about sensitive values.",
}
_COMPACT = "For every region it is shown between which values its people truly lie. This shows the lowest and the highest values of real people, and a gap proves that no one with such values is in the table."
_GROWS = (
    "The table grows, and this is one release of a series. An attacker who subtracts an earlier release finds who is new in a class; these people satisfy the guarantees on their own. People for whom there are not "
    "yet enough others wait for a later release, so not everyone in the table is in the release."
)


def _check_details(manifest: Manifest) -> None:
    """Raise unless the details and columns of a manifest are those of a release of regions."""
    details = dict(manifest.details)
    compact = details.pop("compact", True)
    if compact is not True or is_compact(manifest) != bool(manifest.named("extent")):
        raise DataError("manifest.json: regions with extents say so in the details, and others have none.")
    series = details.pop("series", {"number": 1})
    if set(details) != {"guard", "k"} or details["guard"] not in _GUARDS or type(details["k"]) is not int:
        raise DataError("manifest.json: the details of regions must say how classes were guarded, and for which k.")
    if (
        not isinstance(series, dict)
        or set(series) != {"number"}
        or type(series["number"]) is not int
        or series["number"] < 1
    ):
        raise DataError("manifest.json: the details of a series of regions must have the number of the release in it.")
    if len(manifest.named("group")) != 1 or len(manifest.named("level")) != 1 or len(manifest.named("place")) != 3:
        raise DataError("manifest.json: a release of regions has a column of class numbers, one of levels, and places.")
    leading = (*manifest.named("group"), *manifest.named("level"))
    expected = [*leading, *manifest.named("quasi")]
    if list(manifest.tables[_REGIONS].columns)[: len(expected)] != expected:
        raise DataError("manifest.json: the table 'regions' has the class, the level and the quasi columns first.")


def _check_bounds(public: PublicSide, regions: pl.DataFrame, classes: pl.DataFrame) -> None:
    """Check that plain bounds match the labels of regions (values for numbers and dates, ranks in the table 'places'
    otherwise), and that rows show the range from the first region of their class to the last.
    """
    value_ranks = public.rows[_PLACES].frame()
    column, value, rank_column = public.manifest.named("place")
    bounds = bound_columns(public.manifest)
    for name in public.manifest.named("quasi"):
        described = public.manifest.column(name)
        ranks_of_column = value_ranks.filter(pl.col(column) == name)
        order = dict(zip(ranks_of_column[value].to_list(), ranks_of_column[rank_column].to_list(), strict=True))
        if sorted(order.values()) != list(range(ranks_of_column.height)):
            raise DataError(f"The table 'places' does not give every value of column {name!r} a place of its own.")
        label_bounds = [_bounds(described, meaning, order) for meaning in described.labels.values()]
        bounds_of_labels = pl.DataFrame(
            [pl.Series(name, list(described.labels), dtype=pl.String)]
            + [
                pl.Series(bound_name, [bound[position] for bound in label_bounds], dtype=regions.schema[bound_name])
                for position, bound_name in enumerate(bounds[name])
            ]
        )
        expected, class_bounds = (
            labels.to_frame().join(bounds_of_labels, on=name, how="left", maintain_order="left").drop(name)
            for labels in (regions[name], classes[name])
        )
        if not expected.equals(regions.select(bounds[name])):
            raise DataError(
                f"The plain bounds of column {name!r} in the table 'regions' do not say what its labels say."
            )
        values = ranks_of_column.sort(rank_column)[value].to_list()
        steps = SteppedColumn.of(name, described.kind, pl.concat([expected, class_bounds]), values)
        if not _spans(steps, regions, classes):
            raise DataError(f"The rows of a class do not show in column {name!r} between which labels its regions lie.")


def _spans(steps: SteppedColumn, regions: pl.DataFrame, classes: pl.DataFrame) -> bool:
    """True if every class (the last entries of a column in steps) spans from the first to the last of its regions (the first entries)."""
    region_count, number = regions.height, classes.columns[0]
    ranges = pl.DataFrame(
        {number: regions[number], "low": steps.lows[:region_count], "high": steps.highs[:region_count]}
    )
    hulls = ranges.group_by(number).agg(pl.col("low").min(), pl.col("high").max())
    class_hulls = classes.select(number).join(hulls, on=number, how="left", maintain_order="left")
    return bool(
        (class_hulls["low"].to_numpy() == steps.lows[region_count:]).all()
        and (class_hulls["high"].to_numpy() == steps.highs[region_count:]).all()
    )


def is_compact(manifest: Manifest) -> bool:
    """True if regions publish the extents of their people."""
    return "compact" in manifest.details


def extent_columns(manifest: Manifest) -> dict[str, list[str]]:
    """Return the extent columns of each quasi column: as many as its bounds, in the same order."""
    extents, bounds = list(manifest.named("extent")), bound_columns(manifest)
    if len(extents) != sum(map(len, bounds.values())):
        raise DataError("manifest.json: every column of bounds of the table 'regions' has one of extents.")
    extents_by_column = {}
    for name, column_bounds in bounds.items():
        extents_by_column[name], extents = extents[: len(column_bounds)], extents[len(column_bounds) :]
    return extents_by_column


def _check_extents(nested: NestedRegions) -> None:
    """Check that extents are not empty and within their regions."""
    for column, filled in zip(nested.columns, nested.filled, strict=True):
        if not ((column.lows <= filled.lows) & (filled.lows < filled.highs) & (filled.highs <= column.highs)).all():
            raise DataError(f"The extents of column {column.name!r} in the table 'regions' do not lie in its bounds.")


def _extent_meanings(
    regions: pl.DataFrame, value_ranks: pl.DataFrame, columns: Sequence[ManifestColumn]
) -> dict[str, list[Meaning]]:
    """Return for every quasi column the values that the extent of each region stands for: the range between its lowest and highest record there.

    The table of regions has, for each quasi column in order, two bound columns, or three if values may be missing, and as many extent columns.
    """
    roles = {column_entry.name: column_entry.role for column_entry in columns}
    column, value, rank_column = (column_entry.name for column_entry in columns if column_entry.role == "place")
    bounds = [name for name in regions.columns if roles[name] in ("bound", "missing")]
    extents, meanings_by_column = [name for name in regions.columns if roles[name] == "extent"], {}
    for described in (column_entry for column_entry in columns if column_entry.role == "quasi"):
        order = value_ranks.filter(pl.col(column) == described.name).sort(rank_column)[value].to_list()
        # If values may be missing, a third column states whether null is included.
        width = 3 if len(bounds) > 2 and roles[bounds[2]] == "missing" else 2
        own_extents, extents, bounds = extents[:width], extents[width:], bounds[width:]
        meaning_of: dict[tuple[Any, ...], Meaning] = {}
        meanings_by_column[described.name] = [
            meaning_of.setdefault(bounds_of_region, _extent(described.kind, order, *bounds_of_region))
            for bounds_of_region in regions.select(own_extents).iter_rows()
        ]
    return meanings_by_column


def _extent(kind: ValueType, order: Sequence[str | None], low: Any, high: Any, missing: str = "no") -> Meaning:
    """Return the meaning of a half-open range: values, or ranks in an order."""
    if order:
        texts = order[low:high]
        values = [text == "true" if kind is ValueType.BOOLEAN and text is not None else text for text in texts]
        return Values(tuple(values)) if len(values) > 1 else Missing() if values[0] is None else Value(values[0])
    if missing == "only":
        return Missing()
    if low is None and high is None:
        return Anything() if missing == "too" else Interval(None, None)
    return OrMissing(Interval(low, high)) if missing == "too" else Interval(low, high)


def _compacted(regions: pl.DataFrame, value_ranks: pl.DataFrame, columns: Sequence[ManifestColumn]) -> dict[Any, Shape]:
    """Return the shape of every class by its number: its regions with the extents of their people."""
    quasi = [column for column in columns if column.role == "quasi"]
    number, level = (next(column.name for column in columns if column.role == role) for role in ("group", "level"))
    names, kinds = tuple(column.name for column in quasi), tuple(column.kind for column in quasi)
    extent_meanings = _extent_meanings(regions, value_ranks, columns)
    boxes: dict[Any, list[tuple[int, tuple[Meaning, ...]]]] = {}
    extents: dict[Any, list[tuple[Meaning, ...]]] = {}
    for region, (group, depth, *labels) in enumerate(regions.select(number, level, *names).iter_rows()):
        sides = tuple(column.labels[label] for column, label in zip(quasi, labels, strict=True))
        boxes.setdefault(group, []).append((depth, sides))
        extents.setdefault(group, []).append(tuple(extent_meanings[name][region] for name in names))
    return {
        group: Compacted(Patched(names, kinds, tuple(group_boxes)), tuple(extents[group]))
        for group, group_boxes in boxes.items()
    }


def bound_columns(manifest: Manifest) -> dict[str, list[str]]:
    """Return the plain bound columns of each quasi column: two, and a third if values may be missing."""
    bounds, missing = list(manifest.named("bound")), set(manifest.named("missing"))
    quasi = manifest.named("quasi")
    if len(bounds) != 2 * len(quasi):
        raise DataError("manifest.json: the table 'regions' has two columns of bounds for each quasi column.")
    region_columns = list(manifest.tables[_REGIONS].columns)
    bounds_by_column = {}
    for index, name in enumerate(quasi):
        low, high = bounds[2 * index : 2 * index + 2]
        next_column = region_columns[region_columns.index(high) + 1 : region_columns.index(high) + 2]
        bounds_by_column[name] = [low, high, *(name for name in next_column if name in missing)]
    return bounds_by_column


def _bounds(column: ManifestColumn, meaning: Meaning, order: Mapping[str | None, int]) -> tuple[Any, Any, str]:
    """Return the half-open bounds of a label (None: unbounded), and whether it covers null."""
    if order:
        values = meaning.listed(column.kind)
        if values is None:
            return 0, len(order), "too"
        ranks = sorted(order.get(text, -1) for text in column.kind.texts(values))
        if ranks[0] < 0 or ranks != list(range(ranks[0], ranks[0] + len(ranks))):
            raise DataError(
                f"A label of column {column.name!r} stands for values that do not follow each other in the table 'places'."
            )
        return ranks[0], ranks[-1] + 1, "no"
    match meaning:
        case Interval(low, high, "left"):
            return low, high, "no"
        case OrMissing(Interval(None, high, "left")):
            return None, high, "too"
        case Value(only) if column.kind.is_whole and only is not None:
            return only, only + 1, "no"
        case Missing():
            return None, None, "only"
        case Anything():
            return None, None, "too"
    raise DataError(f"A label of column {column.name!r} is not a range of neighbouring cells.")


def _shapes(regions: pl.DataFrame, columns: Sequence[ManifestColumn]) -> dict[Any, Shape]:
    """Return the shape of every class by its number: a region with holes, or several."""
    quasi = [column for column in columns if column.role == "quasi"]
    number, level = (next(column.name for column in columns if column.role == role) for role in ("group", "level"))
    names, kinds = tuple(column.name for column in quasi), tuple(column.kind for column in quasi)
    boxes_by_group: dict[Any, list[tuple[int, tuple[str, ...]]]] = {}
    for group, depth, *labels in regions.select(number, level, *names).iter_rows():
        boxes_by_group.setdefault(group, []).append((depth, tuple(labels)))
    shapes: dict[Any, Shape] = {}
    for group, boxes in boxes_by_group.items():
        if len(boxes) == 1:
            shapes[group] = Nested(boxes[0][0])
            continue
        sides = tuple(
            (depth, tuple(column.labels[label] for column, label in zip(quasi, labels, strict=True)))
            for depth, labels in boxes
        )
        shapes[group] = Patched(names, kinds, sides)
    return shapes


REGIONS = RegionsFormat()
