"""Utility measures: what a release costs its users.

``cells``         what a release reveals of a column; ``summary`` a whole release with the table that it was made from
``measures``      loss, entropy, divergence, penalties and group sizes of a summary
``measurements``  all of them by name, computed lazily
``lower_bound``   a lower bound on the loss of every release by groups; ``partition_optimum`` the minimum loss of small tables, ``dual_bound`` linear programming for some dozens of records
``flows``         sampled rows by group compared with true ones: total variation, counts, distances by group size
``record_fit``    synthetic records compared with true ones, by columns and pairs of columns
``regression``    models fitted before and after, and the conclusions that change
``workload``      the error of many counting queries

Every figure is computed from the original table and stays with the steward.
"""

from reticent.utility.cells import Cells
from reticent.utility.dual_bound import DemandedValues, DualCertificate, dual_certificate
from reticent.utility.flows import (
    CodedFlows,
    DistanceBin,
    Flows,
    GeoPoints,
    QueryErrors,
    distances_by_size,
    on_one_grid,
    query_errors,
    total_variation,
)
from reticent.utility.lower_bound import (
    QUICK,
    REPORTED,
    THOROUGH,
    BoundEffort,
    GroupDemand,
    LabelSpace,
    LowerBound,
    is_quick,
    loss_bound,
)
from reticent.utility.measurements import (
    MeasuredUtility,
    UtilityMeasures,
    bound_sentence,
    listed_utility,
    measure_all,
    utility_of,
)
from reticent.utility.measures import (
    average_group_size,
    column_losses,
    column_weights,
    cp,
    discernibility,
    height,
    kl,
    kl_mixture,
    loss,
    loss_geometric,
    ncp,
    non_uniform_entropy,
)
from reticent.utility.record_fit import RecordFit, record_fit
from reticent.utility.regression import (
    ConclusionChange,
    DesignColumn,
    ModelFit,
    Numbers,
    RegressionModel,
    changed_conclusions,
    fit_model,
    is_binary,
)
from reticent.utility.summary import ReleaseSummary
from reticent.utility.workload import Workload, WorkloadError, log_ratio, workload_error

__all__ = [
    "QUICK",
    "REPORTED",
    "THOROUGH",
    "BoundEffort",
    "Cells",
    "CodedFlows",
    "ConclusionChange",
    "DemandedValues",
    "DesignColumn",
    "DistanceBin",
    "DualCertificate",
    "Flows",
    "GeoPoints",
    "GroupDemand",
    "LabelSpace",
    "LowerBound",
    "MeasuredUtility",
    "ModelFit",
    "Numbers",
    "QueryErrors",
    "RecordFit",
    "RegressionModel",
    "ReleaseSummary",
    "UtilityMeasures",
    "Workload",
    "WorkloadError",
    "average_group_size",
    "bound_sentence",
    "changed_conclusions",
    "column_losses",
    "column_weights",
    "cp",
    "discernibility",
    "distances_by_size",
    "dual_certificate",
    "fit_model",
    "height",
    "is_binary",
    "is_quick",
    "kl",
    "kl_mixture",
    "listed_utility",
    "log_ratio",
    "loss",
    "loss_bound",
    "loss_geometric",
    "measure_all",
    "ncp",
    "non_uniform_entropy",
    "on_one_grid",
    "query_errors",
    "record_fit",
    "total_variation",
    "utility_of",
    "workload_error",
]
