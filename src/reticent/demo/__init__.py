"""Synthetic demo data, and a guided tour. The people in these tables are fictional.

``hospital``   a register of some thousand patients with a realistic joint distribution, and its roles
``voters``     a public roll with names that overlaps the register
``small``      the tables of the worked examples
``tour``       the whole workflow on the register: inspect, assess, attack, publish, attack again, verify, report

``diagnoses`` and ``region`` hold the figures behind the register, ``policy.toml`` what must stay private in it.
"""

from typing import TYPE_CHECKING

from reticent.base.lazy_names import lazy_names
from reticent.demo.hospital import hospital, hospital_policy, hospital_policy_text, hospital_table
from reticent.demo.small import (
    six_patients,
    six_patients_release,
    ten_people,
    ten_people_table,
    twelve_patients,
    twelve_patients_table,
)
from reticent.demo.voters import voter_roll
from reticent.errors import correct_names

if TYPE_CHECKING:
    from reticent.demo.tour import Step, Tour

_HOMES = {
    "Step": "tour",
    "Tour": "tour",
}

__all__ = [
    "Step",
    "Tour",
    "hospital",
    "hospital_policy",
    "hospital_policy_text",
    "hospital_table",
    "six_patients",
    "six_patients_release",
    "ten_people",
    "ten_people_table",
    "twelve_patients",
    "twelve_patients_table",
    "voter_roll",
]

correct_names(__name__)
__getattr__ = lazy_names(__name__, _HOMES)
