"""The shapes that every way to publish passes through.

``frequencies``     the frequency set: distinct quasi points with sensitive histograms
``groups``          what a definition judges: sizes, ``histograms``, ``owners``; ``evidence`` all that a release is judged by
``group_labels``    what groups show column by column, and what can be computed from it
``recoding``        what happens to a row, as data; ``draft`` what a method returns; ``engine`` what scans rows
``shape``           what a cell stands for over all columns; ``metric`` distances between records of mixed columns
``adversary_view``  what an adversary sees; ``covers`` and ``candidate_join`` find people in it
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
from reticent.core.draft import Draft
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
from reticent.core.metric import (
    ColumnDistance,
    HierarchyDistance,
    Metric,
    MetricChoices,
    MetricRecords,
    NumberDistance,
    PairwiseDistances,
    PlaceDistance,
    metric_over,
    round_up,
    width_of,
)
from reticent.core.owners import FittingOwners, OwnerRows, Owners, OwnerTallies
from reticent.core.recoding import (
    BATCH,
    BUCKET,
    COUNT,
    DRAWN,
    Allocation,
    Coupled,
    Deal,
    Levels,
    Recoded,
    Recoding,
    RegionColumn,
    Regions,
    Unseen,
    declared_domains,
    read_recoding,
    shown_meanings,
)
from reticent.core.shape import Ball, Compacted, Nested, Patched, Shape, balls_around

__all__ = [
    "BATCH",
    "BUCKET",
    "COUNT",
    "DRAWN",
    "NOT_TRUE",
    "NOWHERE",
    "POPULATION",
    "SEVERAL",
    "WEIGHT",
    "AdversaryColumn",
    "AdversaryView",
    "Allocation",
    "Ball",
    "CandidatePairs",
    "Channel",
    "ColumnDistance",
    "Columns",
    "Compacted",
    "Comparison",
    "Coupled",
    "Cover",
    "Deal",
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
    "LabelColumn",
    "Levels",
    "MechanismPlan",
    "Metric",
    "MetricChoices",
    "MetricRecords",
    "Nested",
    "NodeLevels",
    "NumberDistance",
    "Order",
    "OwnerRows",
    "OwnerTallies",
    "Owners",
    "PairwiseDistances",
    "Patched",
    "Patterns",
    "PlaceDistance",
    "Provenance",
    "QueriedPeople",
    "RawValues",
    "Recoded",
    "Recoding",
    "RegionColumn",
    "Regions",
    "Relation",
    "ReleaseHistory",
    "SensitiveDomain",
    "Shape",
    "Unseen",
    "WholeColumn",
    "Written",
    "WrittenFile",
    "balls_around",
    "closure",
    "cover",
    "declared_domains",
    "engine_named",
    "find_place",
    "metric_over",
    "part_names",
    "read_recoding",
    "remainder_of",
    "round_up",
    "shown_meanings",
    "width_of",
]
