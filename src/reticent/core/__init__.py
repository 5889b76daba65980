"""Data structures shared by all ways to publish.

``frequencies``     the frequency set: distinct quasi-identifier combinations with sensitive histograms
``groups``          what a definition judges: sizes, ``histograms``, ``owners``; ``evidence`` is everything a release is judged by
``group_labels``    labels of groups by column, and what can be computed from them
``recoding``        the recoding of rows, as data; ``row_recoding`` applies it; ``draft`` is a method's result; ``engine`` scans rows
``published_cells`` what groups publish of a counted table, by ``leaf_sets``: the input of utility measures
``shape``           what a cell covers over all columns; ``metric`` distances between records of mixed columns
``adversary_view``  what an adversary sees; ``covers`` and ``candidate_join`` match people against it
"""

from reticent.core.adversary_view import (
    NOT_TRUE,
    NOWHERE,
    SEVERAL,
    AdversaryColumn,
    AdversaryView,
    Channel,
    Provenance,
    WholeColumn,
)
from reticent.core.candidate_join import CandidatePairs, QueriedPeople, find_place
from reticent.core.covers import Cover, cover
from reticent.core.draft import Draft, SeriesOutcome
from reticent.core.engine import Engine, Order, Written, WrittenFile, engine_named, part_names
from reticent.core.evidence import (
    Columns,
    Comparison,
    Evidence,
    Kind,
    MechanismPlan,
    Patterns,
    ReleaseHistory,
    remainder_of,
)
from reticent.core.frequencies import POPULATION, WEIGHT, FrequencySet, NodeLevels
from reticent.core.group_labels import GroupLabels, LabelColumn, RawValues, Relation, closure
from reticent.core.groups import Groups, SensitiveDomain
from reticent.core.histograms import Histograms
from reticent.core.leaf_sets import LeafSets, leaves_in_order
from reticent.core.metric import (
    ColumnDistance,
    HierarchyDistance,
    Metric,
    MetricChoices,
    MetricRecords,
    Norm,
    NumberDistance,
    PairwiseDistances,
    PlaceDistance,
    great_circle,
    metric_over,
    round_up,
    width_of,
)
from reticent.core.owners import FittingOwners, OwnerRows, Owners, OwnerTallies
from reticent.core.published_cells import PublishedCells
from reticent.core.recoding import (
    Carried,
    Levels,
    Recoding,
    RegionColumn,
    Regions,
    Unseen,
    carried_from,
    declared_domains,
    read_recoding,
    row_numbers,
    shown_meanings,
)
from reticent.core.row_recoding import BATCH, BUCKET, COUNT, PartsToRecode, Recoded, RowsToRecode, listed_columns
from reticent.core.shape import LabelBox, PairDepth, Shape, no_shape

__all__ = [
    "BATCH",
    "BUCKET",
    "COUNT",
    "NOT_TRUE",
    "NOWHERE",
    "POPULATION",
    "SEVERAL",
    "WEIGHT",
    "AdversaryColumn",
    "AdversaryView",
    "CandidatePairs",
    "Carried",
    "Channel",
    "ColumnDistance",
    "Columns",
    "Comparison",
    "Cover",
    "Draft",
    "Engine",
    "Evidence",
    "FittingOwners",
    "FrequencySet",
    "GroupLabels",
    "Groups",
    "HierarchyDistance",
    "Histograms",
    "Kind",
    "LabelBox",
    "LabelColumn",
    "LeafSets",
    "Levels",
    "MechanismPlan",
    "Metric",
    "MetricChoices",
    "MetricRecords",
    "NodeLevels",
    "Norm",
    "NumberDistance",
    "Order",
    "OwnerRows",
    "OwnerTallies",
    "Owners",
    "PairDepth",
    "PairwiseDistances",
    "PartsToRecode",
    "Patterns",
    "PlaceDistance",
    "Provenance",
    "PublishedCells",
    "QueriedPeople",
    "RawValues",
    "Recoded",
    "Recoding",
    "RegionColumn",
    "Regions",
    "Relation",
    "ReleaseHistory",
    "RowsToRecode",
    "SensitiveDomain",
    "SeriesOutcome",
    "Shape",
    "Unseen",
    "WholeColumn",
    "Written",
    "WrittenFile",
    "carried_from",
    "closure",
    "cover",
    "declared_domains",
    "engine_named",
    "find_place",
    "great_circle",
    "leaves_in_order",
    "listed_columns",
    "metric_over",
    "no_shape",
    "part_names",
    "read_recoding",
    "remainder_of",
    "round_up",
    "row_numbers",
    "shown_meanings",
    "width_of",
]
