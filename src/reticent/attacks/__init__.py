"""Adversaries that run: each gets what the public gets plus knowledge that it states, and says what it found.

``adversary``      ``Adversary``, ``Findings``, confidence intervals
``linkage``        look people of another list up (``candidate_rows`` places them, ``target_list`` is the list)
``probabilistic``  the same with mistakes in the list, and people who are not in the data
``homogeneity``    groups that share a sensitive value; ``exclusion`` after ruling some values out
``skewness``       groups unlike the whole; ``similarity`` groups whose values mean nearly the same
``remainder``      what a declared histogram tells about those left out
``singling_out``   descriptions that one row fits
``register``       people counted where a release counted records as people
``known_columns``  records that are unique to an adversary who knows so many of the columns
``column_in_turn`` what the other quasi columns tell about one of them
``record_lookup``  records looked up in a randomized release, where most are not true
``inference``      a trained model (``guess_models``) against a control group; ``control`` makes one by holding people out
``artificial``     membership, singling out, linkability and inference by synthetic records, against a control group (``cohorts``, ``numeric_records``, ``foreign``)
``minimality``     who knows how the release was chosen rules out worlds (``release_worlds`` lists them, ``method_inversion`` rules out)
``suite``          all of them, before and after; ``results`` holds their findings, ``targets`` is the one call for any target
``tracking``       who follows people through the releases of a series
"""

from __future__ import annotations

from reticent.attacks.adversary import Adversary, Findings, wilson
from reticent.attacks.artificial import Isolation, Linkability, Membership, NearestGuess
from reticent.attacks.cohorts import Cohorts
from reticent.attacks.column_in_turn import ColumnInTurn
from reticent.attacks.control import HoldOut, hold_out
from reticent.attacks.exclusion import Exclusion
from reticent.attacks.foreign import synthetic
from reticent.attacks.guess_models import checked_model
from reticent.attacks.homogeneity import Homogeneity
from reticent.attacks.inference import Inference
from reticent.attacks.known_columns import KnownColumns
from reticent.attacks.linkage import Linkage
from reticent.attacks.minimality import Minimality
from reticent.attacks.probabilistic import ProbabilisticLinkage
from reticent.attacks.record_lookup import Sighting
from reticent.attacks.register import Register
from reticent.attacks.remainder import Remainder
from reticent.attacks.results import AttackResults
from reticent.attacks.similarity import Similarity
from reticent.attacks.singling_out import SinglingOut
from reticent.attacks.skewness import Skewness
from reticent.attacks.suite import adversaries_for, compare, run_adversaries
from reticent.attacks.targets import attack
from reticent.attacks.tracking import (
    Learned,
    WaitingFindings,
    bcf_of_releases,
    explain,
    hd_composition,
    m_distinct,
    series,
    waiting,
)
from reticent.errors import correct_names

__all__ = [
    "Adversary",
    "AttackResults",
    "Cohorts",
    "ColumnInTurn",
    "Exclusion",
    "Findings",
    "HoldOut",
    "Homogeneity",
    "Inference",
    "Isolation",
    "KnownColumns",
    "Learned",
    "Linkability",
    "Linkage",
    "Membership",
    "Minimality",
    "NearestGuess",
    "ProbabilisticLinkage",
    "Register",
    "Remainder",
    "Sighting",
    "Similarity",
    "SinglingOut",
    "Skewness",
    "WaitingFindings",
    "adversaries_for",
    "attack",
    "bcf_of_releases",
    "checked_model",
    "compare",
    "explain",
    "hd_composition",
    "hold_out",
    "m_distinct",
    "run_adversaries",
    "series",
    "synthetic",
    "waiting",
    "wilson",
]

correct_names(__name__)
