"""Published methods kept for comparison; no other package depends on this one.

``datafly``         greedy full-domain generalization
``rtree``           boxes of an R+-tree
``incremental``     publishers for growing tables, after [Sweeney2002] and [Byun2006]
``series_models``   earlier models of continuous publication, judged on a history
``leaky_auditors``  query auditors whose refusals leak, and the attacks on them

Names are loaded when they are first used.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.errors import correct_names

if TYPE_CHECKING:
    from reticent.baselines.datafly import Datafly
    from reticent.baselines.incremental import ByunGroups, IncrementalRelease, SweeneyGroups, publish_incrementally
    from reticent.baselines.rtree import RPlusTree
    from reticent.baselines.series_models import MODELS, ModelVerdict, SeriesModel, bcf_anonymity, judge_models

_HOMES = {
    "MODELS": "series_models",
    "ByunGroups": "incremental",
    "Datafly": "datafly",
    "IncrementalRelease": "incremental",
    "ModelVerdict": "series_models",
    "RPlusTree": "rtree",
    "SeriesModel": "series_models",
    "SweeneyGroups": "incremental",
    "bcf_anonymity": "series_models",
    "judge_models": "series_models",
    "publish_incrementally": "incremental",
}

__all__ = [
    "MODELS",
    "ByunGroups",
    "Datafly",
    "IncrementalRelease",
    "ModelVerdict",
    "RPlusTree",
    "SeriesModel",
    "SweeneyGroups",
    "bcf_anonymity",
    "judge_models",
    "publish_incrementally",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _HOMES)
