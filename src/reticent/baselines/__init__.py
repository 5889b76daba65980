"""What the literature did before, kept to compare with; no other package depends on it.

``datafly``         greedy full-domain generalization
``rtree``           boxes of an R+-tree
``series_models``   earlier models of continuous publication, judged on a history
``leaky_auditors``  auditors whose refusals leak, and the attacks on them

Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reticent.baselines.datafly import Datafly
    from reticent.baselines.rtree import RPlusTree
    from reticent.baselines.series_models import MODELS, ModelVerdict, SeriesModel, bcf_anonymity, judge_models

_HOMES = {
    "MODELS": "series_models",
    "Datafly": "datafly",
    "ModelVerdict": "series_models",
    "RPlusTree": "rtree",
    "SeriesModel": "series_models",
    "bcf_anonymity": "series_models",
    "judge_models": "series_models",
}

__all__ = ["MODELS", "Datafly", "ModelVerdict", "RPlusTree", "SeriesModel", "bcf_anonymity", "judge_models"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
