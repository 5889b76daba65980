"""The methods ``Gather`` and ``Cellular``: clusters of people, published as centres, radii, counts and sensitive values."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from reticent.base.context import Context
from reticent.base.exact import Number, exact, one_of, whole
from reticent.base.parameters import described, parameter
from reticent.core import MetricChoices, PairwiseDistances
from reticent.definitions import Definition
from reticent.errors import Infeasible, PolicyError
from reticent.methods.clusters.cellular import cellular, primal_dual
from reticent.methods.clusters.cluster_draft import ClusterDraft, ClusterLayout
from reticent.methods.clusters.cluster_solver import Algorithm, ClusterPlan, PartSolution, Solution
from reticent.methods.clusters.column_ranges import ShownCategories
from reticent.methods.clusters.radii import (
    Floats,
    Ids,
    centre_most,
    gather,
    gather_around_records,
    gather_most,
    lowest_possible_radius,
    neighbours,
)
from reticent.methods.clusters.units import ClusterUnits
from reticent.methods.grouping import Grouping, GroupMethod, GroupRun, rows_of_people
from reticent.table import Table

CentreKind = Literal["synthetic", "records"]
ShownNumbers = Literal["ranges", "mean", "median", "mode"]


@dataclass(frozen=True, eq=False)
class FittedClusters:
    """Clusters of points or of the rows of a table, private to the steward: nothing here is rounded or judged.

    ``labels`` is the cluster of every row (-1: suppressed), ``centres`` has one row per cluster: an array for points, a
    frame for a table. ``radii`` are the distances from the centres to the farthest members, ``radius`` the largest of
    them, and ``cost`` the sum of size times radius and the set-up costs. The objective (the radius, or for Cellular the
    cost) is at least ``lower_bound``, and at most ``factor`` times the optimum (None: no factor is claimed) in each of
    the separately solved ``parts``.
    """

    labels: Ids
    centres: Any
    radii: Floats
    cost: float
    lower_bound: float
    factor: int | None
    parts: int
    notes: tuple[str, ...] = ()

    @property
    def radius(self) -> float:
        """The largest radius."""
        return float(self.radii.max(initial=0.0))

    @property
    def sizes(self) -> Ids:
        """The number of rows in every cluster."""
        return np.bincount(self.labels[self.labels >= 0], minlength=len(self.radii))


@dataclass(frozen=True)
class ClusterMethod(GroupMethod):
    """Common parameters of ``Gather`` and ``Cellular``: cluster size, metric, and published form of a cluster.

    Clusters have at least ``r`` people each; at most ``epsilon`` of all rows are suppressed. Distances are summed over
    the quasi columns (``norm`` L1 or L2), each divided by its scale and times its weight; ``places`` are pairs of a
    latitude and a longitude column, ``categories`` columns compared for equality, ``distances`` custom functions (for
    :meth:`fit` only).

    A cluster is published as a range of numbers, a set of other ``values`` (or, with ``"hierarchy"``, the lowest node
    of the hierarchy that covers them), a centre and a radius; numbers are rounded outward to a ``grid`` (a step for
    each column). ``centres="records"`` publishes members as centres, which discloses that they are in the table.
    ``numbers`` publishes the rounded mean, median or mode of a cluster instead of ranges, and ``aggregate`` lists
    sensitive columns whose numbers are replaced by it as well. A cluster that fails the definition is merged with the
    nearest, or refused (``failing="refuse"``).
    """

    r: int = parameter(5, stated="always")
    epsilon: Number = 0
    centres: CentreKind = "synthetic"
    norm: Literal["L1", "L2"] = "L2"
    weights: Mapping[str, Number] = field(default_factory=dict)
    scales: Mapping[str, Number] = field(default_factory=dict)
    places: Sequence[Sequence[str]] = ()
    categories: Sequence[str] = ()
    distances: Mapping[str, PairwiseDistances] = field(default_factory=dict)
    grid: Mapping[str, Number] = field(default_factory=dict)
    numbers: ShownNumbers = "ranges"
    values: ShownCategories = "sets"
    aggregate: Sequence[str] = ()
    failing: Literal["merge", "refuse"] = "merge"

    format: ClassVar[str] = "clusters"

    def __post_init__(self) -> None:
        """Validate the parameters."""
        name = type(self).__name__
        whole(self.r, f"{name}: r", low=1)
        exact(self.epsilon, f"{name}: epsilon", low=0, below=1)
        for key, choices in (
            ("centres", ("synthetic", "records")),
            ("norm", ("L1", "L2")),
            ("numbers", ("ranges", "mean", "median", "mode")),
            ("values", ("sets", "hierarchy")),
            ("failing", ("merge", "refuse")),
        ):
            one_of(getattr(self, key), f"{name}: {key}", choices)
        if isinstance(self.places, str) or any(isinstance(pair, str) or len(pair) != 2 for pair in self.places):
            raise PolicyError(
                f"{name}: places must be a list of pairs of a latitude and a longitude column, but it is {self.places!r}.",
                setting=("places",),
                value=self.places,
            )
        for key in ("categories", "aggregate"):
            names = getattr(self, key)
            object.__setattr__(self, key, (names,) if isinstance(names, str) else tuple(names))
        object.__setattr__(self, "places", tuple((latitude, longitude) for latitude, longitude in self.places))
        for key in ("weights", "scales", "grid"):
            for value in getattr(self, key).values():
                exact(value, f"{name}: {key}", above=0)
        if self.aggregate and self.numbers == "ranges":
            raise PolicyError(
                f"{name}: aggregate needs numbers = mean, median or mode, but it is ranges.", setting=("aggregate",)
            )

    def fit(self, points_or_table: Any, context: Context | None = None) -> FittedClusters:
        """Cluster the rows of a table, or points: an array of shape (n, d), compared by the Euclidean distance. Nothing is published or recorded."""
        context = context or Context()
        units, table = self._units(points_or_table, context)
        solution = self.solve(units, self.r, context)
        return FittedClusters(
            solution.labels[units.owner],
            _centres_of(units, solution, table),
            solution.radii,
            float(solution.sizes @ solution.radii) + self._setup * len(solution),
            solution.lower_bound,
            solution.factor,
            solution.parts,
            self.notes(units, solution),
        )

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported, from declarations alone, without reading a row; otherwise None."""
        name = type(self).__name__
        people_refusal = rows_of_people(name, table)
        if people_refusal is not None:
            return people_refusal
        if not table.quasi:
            return f"{name}: the table has no quasi columns to cluster by. Declare some with quasi=."
        limited = [column for column, hierarchy in table.quasi.items() if hierarchy.unlimited is not hierarchy]
        if limited:
            return (
                f"{name}: the hierarchy of column {limited[0]!r} limits the levels that may be published, which ranges and centres do not respect. Use Mondrian or Lattice, or drop "
                "min_level and max_level."
            )
        if self.distances:
            return f"{name}: a release states how distances are measured, but a custom function cannot be serialised. Use it with fit()."
        for column in self.aggregate:
            if column not in table.sensitive or not table.schema[column].is_numeric():
                return f"{name}: aggregate has {column!r}, which is not a numeric sensitive column."
        return None

    def grouped(self, run: GroupRun) -> Grouping:
        """Return clusters that satisfy the definition, with their published form."""
        run.context.step("measuring distances")
        units = ClusterUnits.of_table(run.table, self.choices, run.context)
        solution = self.solve(units, max(self.r, run.definition.least_rows()), run.context)
        layout = ClusterLayout(
            self.grid,
            self.numbers,
            self.values,
            tuple(self.aggregate),
            self.centres == "records",
            tuple(self.categories),
        )
        draft = ClusterDraft.of(run.table, units, layout, solution.labels, run.context)
        draft = draft.passing(run.definition, self.failing, run.context)
        self.check_diameter(units, draft.labels, draft.count)
        return draft.grouping(run.definition, self._figures(units, solution, draft))

    def _figures(self, units: ClusterUnits, solution: Solution, draft: ClusterDraft) -> dict[str, Any]:
        """Return the steward's figures: radii and costs before and after, bounds, and the proven factor."""
        radii, sizes = solution.radii, solution.sizes
        cost = float(sizes @ radii) + self._setup * len(solution)
        reached = cost if self._objective == "cost" else float(radii.max(initial=0.0))
        published = draft.centres[1]
        return {
            "clusters": len(solution),
            "groups": draft.count,
            "minimizes": self._objective,
            "radius": float(radii.max(initial=0.0)),
            "cost": cost,
            "lower_bound": solution.lower_bound,
            "ratio": reached / solution.lower_bound if solution.lower_bound > 0 else None,
            "factor": solution.factor,
            "parts": solution.parts,
            "published_radius": float(published.max(initial=0.0)),
            "columns": list(draft.table.quasi),
            "notes": list(self.notes(units, solution)),
            "figures": [self._beside_bound(solution, reached)],
        }

    def _beside_bound(self, solution: Solution, reached: float) -> dict[str, Any]:
        """Return the achieved value and the lower bound, for a figure in the report."""
        objective = "largest radius" if self._objective == "radius" else "total cost"
        bound = solution.lower_bound
        comparison = (
            f"at most {reached / bound:.3g} times the least possible" if bound > 0 else "with no bound from below"
        )
        proved = f" {solution.factor} times was proved beforehand." if solution.factor is not None else ""
        parts = f" Each of {solution.parts:,} parts was clustered by itself." if solution.parts > 1 else ""
        return {
            "title": f"The {objective} beside the least possible",
            "words": f"The {objective} of the clusters, before clusters were merged and rounded, is {reached:.4g}: {comparison}.{proved}{parts}",
            "numbers": {objective: reached, "lower bound": bound},
        }

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters, those that differ from the usual ones."""
        return described(self, _plain)

    def fit_predict(self, points_or_table: Any) -> Ids:
        """Return the cluster of every point or row, -1 if suppressed."""
        return self.fit(points_or_table).labels

    def solve(self, units: ClusterUnits, r: int, context: Context) -> Solution:
        """Return clusters of at least ``r`` units (people or points) each. Raises if there are fewer units, or a diameter is too large."""
        name = type(self).__name__
        if len(units) < r:
            raise Infeasible(
                f"{name}: the table has {len(units)} {'person' if len(units) == 1 else 'people'}, fewer than the {r} of one cluster. Use smaller clusters, or publish a larger table."
            )
        solution = self.plan(len(units), r, context).solve(units, context)
        self.check_diameter(units, solution.labels, len(solution))
        return solution

    def check_diameter(self, units: ClusterUnits, labels: Ids, count: int) -> None:
        """Refuse clusters above the allowed diameter: none within it were found, which does not prove that there are none."""
        limit = self._largest_diameter
        largest = 0.0 if limit is None else units.widest(labels, count)
        if limit is not None and largest > limit:
            raise Infeasible(
                f"{type(self).__name__}: a cluster has the diameter {largest:.4g}, but at most {float(limit):.4g} is allowed. Allow a larger diameter, smaller clusters or a larger epsilon."
            )

    @abstractmethod
    def plan(self, n: int, r: int, context: Context) -> ClusterPlan:
        """Return the clustering parameters for ``n`` units."""

    def notes(self, units: ClusterUnits, solution: Solution) -> tuple[str, ...]:
        """Return notes about the clusters for the steward."""
        notes = []
        if len(solution) == 1:
            notes.append("There is only one cluster: the release discloses only its centre and radius.")
        if solution.parts > 1:
            notes.append(
                f"The {len(units):,} records were cut into {solution.parts:,} parts, and each was clustered by itself: sizes hold everywhere, the factor in every part, and the lower bound is "
                + ("half of the farthest neighbour." if self._objective == "radius" and not self._share else "0.")
            )
        return tuple(notes)

    @property
    def _largest_diameter(self) -> Fraction | None:
        return None

    @property
    def _setup(self) -> float:
        return 0.0

    @property
    def _objective(self) -> str:
        return "radius"

    @property
    def _share(self) -> Fraction:
        return exact(self.epsilon, "epsilon")

    @property
    def choices(self) -> MetricChoices:
        """The choices about the metric."""
        return MetricChoices(
            self.weights,
            self.scales,
            self.norm,
            tuple((latitude, longitude) for latitude, longitude in self.places),
            tuple(self.categories),
            self.distances or None,
        )

    def _units(self, points: Any, context: Context) -> tuple[ClusterUnits, Table | None]:
        """Return the units to cluster, from a table or from points; and the table, if it is one."""
        if isinstance(points, Table):
            if points.streamed:
                raise PolicyError(
                    f"{type(self).__name__} needs all rows in memory, and this table is {points.read_how}. Pass engine='local' if the table fits in memory."
                )
            return ClusterUnits.of_table(points, self.choices, context), points
        return ClusterUnits.of_points(points), None


@dataclass(frozen=True)
class Gather(ClusterMethod):
    """Clusters of at least ``r`` people whose largest radius is within a proven factor of the optimum.

    Guarantee: every published cluster has at least r people and satisfies the definition; the radius is at most 2 times
    the optimal one, 4 times with ``epsilon`` (of the best centres anywhere), 3 times with ``epsilon`` and
    ``centres="records"`` (of the best centres that are records). With ``k`` there are at most k clusters (2 times; 4
    times with ``epsilon``). Adversary: one who knows a person's quasi values and that the person is in the table finds
    a cluster of at least r. Cost: all distances, up to 4,000 people; larger tables are split into parts, and the factor
    holds in each part. ``grouping="neighbours"`` groups exactly r neighbours at a time (MDAV, [DomingoFerrer2005]; no factor is proven).
    Source: [Aggarwal2006]; [Kenthapadi2006], chapter 5, with corrections.

    Parameters:
        r: the smallest number of people in a cluster.
        epsilon: the share of people who may be suppressed.
        centres: ``"synthetic"`` or ``"records"``.
        norm: ``"L1"`` or ``"L2"``, how distances of columns are added up.
        weights, scales: how much each column counts, and the unit of its distances.
        places: pairs of a latitude and a longitude column.
        categories: columns whose values are equal or not.
        distances: distances of the values of a column.
        grid: the step to which published numbers are rounded.
        numbers, values, aggregate: how numbers, categories and sensitive numbers are published.
        failing: ``"merge"`` or ``"refuse"`` clusters that violate the definition.
        k: the largest number of clusters.
        grouping: ``"gather"`` or ``"neighbours"``.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58], "illness": ["flu"] * 4}, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Gather(r=2)).groups.sizes.tolist()
        [2, 2]
    """

    k: int | None = None
    grouping: Literal["gather", "neighbours"] = "gather"

    _WHOLE: ClassVar[int] = 4_000
    _PART: ClassVar[int] = 500

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k is not None:
            whole(self.k, "Gather: k", low=1)
        one_of(self.grouping, "Gather: grouping", ("gather", "neighbours"))
        if self.grouping == "neighbours" and (self.k is not None or self._share):
            wrong = "k" if self.k is not None else "epsilon"
            raise PolicyError(f"Gather: {wrong} cannot be combined with grouping='neighbours'.", setting=(wrong,))

    def plan(self, n: int, r: int, context: Context) -> ClusterPlan:
        """Return the clustering parameters for ``n`` units."""
        if self.k is not None and n > self._WHOLE:
            raise PolicyError(
                f"Gather: k needs the distances between all people, which are computed for at most {self._WHOLE:,}, but there are {n:,}. Publish without k.",
                setting=("k",),
            )
        finer = self.k is None and self.grouping == "gather"
        return ClusterPlan(
            r,
            self._share,
            self._algorithm(r, context),
            self._WHOLE,
            max(self._PART, 4 * r),
            finer=finer,
            records=self.centres == "records",
        )

    def _algorithm(self, r: int, context: Context) -> Algorithm:
        """Return the algorithm for groups of at least ``r`` records: by neighbours, by a number of centres, or by the smallest radius."""

        def solved(distances: Floats, spare: int) -> PartSolution:
            """Return the clusters of the points of a distance matrix, at most ``spare`` of them suppressed."""
            if self.grouping == "neighbours":
                labels = neighbours(distances, r)
                hearts = np.zeros(int(labels.max()) + 1, dtype=np.int64)
                return PartSolution(labels, hearts, lowest_possible_radius(distances, r), None)
            if self.k is not None:
                clustering = (
                    centre_most(distances, self.k, r, spare, context)
                    if spare
                    else gather(distances, r, self.k, context)
                )
            elif spare and self.centres == "records":
                clustering = gather_around_records(distances, r, spare, context)
            else:
                clustering = gather_most(distances, r, spare, context) if spare else gather(distances, r, None, context)
            return PartSolution(clustering.labels, clustering.hearts, clustering.lower_bound, clustering.factor)

        return solved


@dataclass(frozen=True)
class Cellular(ClusterMethod):
    """Clusters of at least ``r`` people at minimal total cost: ``setup`` for each cluster, and its radius for each member.

    Guarantee and adversary: those of ``Gather``. The cost is at most 60 times that of the best centres that are records (3 times
    with r = 1; 4 times by ``algorithm="primal-dual"``, which needs r = 1). With ``epsilon`` or a largest ``diameter``
    no factor is claimed. Clusters in dense regions stay small: one remote person widens one cluster only. Cost: the
    cube of the number of people, up to 250 of them; larger tables are split into parts, and the factor holds in each
    part. Source: [Aggarwal2006]; corrected: the algorithm for r > 1 replaces the published one, whose factor does not hold.

    Parameters:
        r: the smallest number of people in a cluster.
        epsilon: the share of people who may be suppressed.
        centres: ``"synthetic"`` or ``"records"``.
        norm: ``"L1"`` or ``"L2"``, how distances of columns are added up.
        weights, scales: how much each column counts, and the unit of its distances.
        places: pairs of a latitude and a longitude column.
        categories: columns whose values are equal or not.
        distances: distances of the values of a column.
        grid: the step to which published numbers are rounded.
        numbers, values, aggregate: how numbers, categories and sensitive numbers are published.
        failing: ``"merge"`` or ``"refuse"`` clusters that violate the definition.
        setup: the cost of a cluster.
        algorithm: ``"grow"`` or ``"primal-dual"``.
        diameter: the largest diameter of a cluster.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 33, 52, 58], "illness": ["flu"] * 4}, quasi=["age"], sensitive="illness")
        >>> rt.publish(table, rt.KAnonymity(2), method=rt.Cellular(r=2)).groups.sizes.tolist()
        [2, 2]
    """

    setup: Number = 0
    algorithm: Literal["grow", "primal-dual"] = "grow"
    diameter: Number | None = None

    _WHOLE: ClassVar[int] = 250
    _PART: ClassVar[int] = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        exact(self.setup, "Cellular: setup", low=0)
        one_of(self.algorithm, "Cellular: algorithm", ("grow", "primal-dual"))
        if self.diameter is not None:
            exact(self.diameter, "Cellular: diameter", above=0)
        if self.algorithm == "primal-dual" and (self.r > 1 or self._share or self.diameter is not None):
            raise PolicyError(
                "Cellular: algorithm='primal-dual' does not support a minimum size, outliers or a maximum diameter; pass r=1, or use 'grow'.",
                setting=("algorithm",),
                value=self.algorithm,
            )

    def plan(self, n: int, r: int, context: Context) -> ClusterPlan:
        """Return the clustering parameters for ``n`` units."""
        limit = None if self._largest_diameter is None else float(self._largest_diameter)
        algorithm = self.algorithm

        def solved(distances: Floats, spare: int) -> PartSolution:
            """Return the clusters of the points of a distance matrix, at most ``spare`` of them suppressed."""
            if algorithm == "primal-dual":
                clusters = primal_dual(distances, self._setup, context)
            else:
                clusters = cellular(distances, r, self._setup, spare, limit, context)
            # Candidates are records; a centre elsewhere may halve the radius.
            bound = clusters.lower_bound if self.centres == "records" else clusters.lower_bound / 2
            return PartSolution(clusters.labels, clusters.hearts, bound, clusters.factor)

        if algorithm == "primal-dual" and r > 1:
            raise PolicyError("Cellular: the definition requires a minimum cluster size; use algorithm='grow'.")
        records = self.centres == "records"
        return ClusterPlan(r, self._share, solved, self._WHOLE, max(self._PART, 4 * r), self._setup, r > 1, records)

    @property
    def _largest_diameter(self) -> Fraction | None:
        return None if self.diameter is None else exact(self.diameter, "diameter")

    @property
    def _setup(self) -> float:
        return float(exact(self.setup, "setup"))

    @property
    def _objective(self) -> str:
        return "cost"


def _plain(value: Any) -> Any:
    """Return a parameter as plain data."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int) and not isinstance(value, bool) else str(exact(value, "parameter"))


def _centres_of(units: ClusterUnits, solution: Solution, table: Table | None) -> Any:
    """Return the centres as points, or as a frame with the columns of a table."""
    arrays = solution.centres.arrays
    if table is None:
        return np.stack(arrays, axis=1) if len(solution) else np.zeros((0, len(arrays)))
    hierarchies, columns = {hierarchy.column: hierarchy for hierarchy in table.hierarchies}, {}
    for column, values in zip(units.metric.columns, arrays, strict=True):
        for index, name in enumerate(column.names):
            if values.dtype.kind != "f":
                columns[name] = hierarchies[name].leaves.gather(values)
                continue
            numbers = pl.Series(name, values[:, index] if values.ndim > 1 else values).fill_nan(None)
            columns[name] = (
                numbers.round().cast(pl.Int32).cast(pl.Date) if hierarchies[name].leaves.dtype == pl.Date else numbers
            )
    return pl.DataFrame({name: columns[name] for name in table.quasi})
