"""Executable adversaries: each gets the public view plus stated background knowledge, and reports its findings.

``adversary``      ``Adversary``, ``Findings``, confidence intervals
``linkage``        record linkage of an external list (``candidate_rows`` matches its people, ``target_list`` is the list)
``probabilistic``  probabilistic record linkage: errors in the list, and people who are not in the data
``homogeneity``    groups that share a sensitive value; ``exclusion`` after ruling out some values
``skewness``       groups with another distribution than the whole; ``similarity`` groups with semantically close values
``remainder``      what a published histogram discloses about suppressed records
``singling_out``   predicates that isolate one row
``register``       people counted in a release that counted records as people
``known_columns``  records that are unique in a number of known columns
``column_in_turn`` what the other quasi-identifiers disclose about one of them
``record_lookup``  record lookup in a randomized release
``inference``      a trained model (``guess_models``) against a control group; ``control`` makes one by holding people out
``artificial``     membership, singling out, linkability and inference by synthetic records, against a control group (``cohorts``, ``numeric_records``, ``foreign``)
``minimality``     an adversary who knows the method excludes possible worlds (``release_worlds`` enumerates, ``method_inversion`` excludes)
``suite``          all of them, before and after; ``results`` holds their findings, ``targets`` is the one call for any target
``tracking``       an adversary who tracks people through the releases of a series
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
