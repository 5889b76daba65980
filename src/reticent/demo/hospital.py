"""The demo register: some thousand fictional hospital patients, with a realistic joint distribution.

Patients are sampled from one joint distribution over (district, age, sex, month, diagnosis), so that all columns are
consistent: the population of each district by age and sex, times how often each diagnosis brings such a person to
hospital in such a month. Postcode, nationality, name, day, length of stay and bill follow from these.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import whole
from reticent.demo.diagnoses import AGES, DIAGNOSES, SEXES, along_ages
from reticent.demo.region import DISTRICTS, NAMES
from reticent.policy import Policy
from reticent.table import Table

SEED = 2025
YEAR = 2025
DAILY_RATE = 480
_STAY_SPREAD = 0.55
_BILL_SPREAD = 0.18

Index = NDArray[np.int64]


def hospital(patients: int = 4000, seed: int = SEED) -> pl.DataFrame:
    """Return the register of a year: patient number, name, age, sex, postcode, nationality, admission day, diagnosis
    and cost.

    The same arguments give the same register on every machine. Its people are fictional.
    """
    whole(patients, "patients", low=1)
    random = np.random.default_rng(seed)
    district, age, sex, month, diagnosis = _draw_patients(patients, random)
    postcode = draw_postcodes(district, random)
    nationality = draw_nationalities(district, random)
    admitted = _draw_days(month, random)
    return pl.DataFrame(
        {
            "patient": _patient_numbers(patients, random),
            "name": draw_names(nationality, sex, random),
            "age": age,
            "sex": pl.Series(SEXES).gather(sex),
            "postcode": postcode,
            "nationality": nationality,
            "admitted": admitted,
            "diagnosis": pl.Series([diagnosis_entry.name for diagnosis_entry in DIAGNOSES]).gather(diagnosis),
            "cost": _draw_costs(diagnosis, random),
        }
    )


def hospital_policy() -> Policy:
    """Return the policy of the register: roles, hierarchies with declared domains, definition and method."""
    return Policy.parse(hospital_policy_text(), "policy.toml")


def hospital_policy_text() -> str:
    """Return the policy text: ``policy.toml`` next to this module."""
    return files("reticent.demo").joinpath("policy.toml").read_text("utf-8")


def hospital_table(frame: pl.DataFrame | None = None) -> Table:
    """Return the register with its roles and hierarchies, as a careful steward would declare them.

    An adversary may know when a neighbour went to hospital, so the admission day is a quasi-identifier like age, sex,
    postcode and nationality. The bill is not published at all.
    """
    return Table(hospital() if frame is None else frame, **hospital_policy().roles)


@cache
def joint_law() -> NDArray[np.float64]:
    """Return the probability of each (district, age, sex, month, diagnosis), as an array with these axes."""
    curves = np.array([diagnosis.by_age() for diagnosis in DIAGNOSES])
    by_sex = np.array([[diagnosis.women, diagnosis.men] for diagnosis in DIAGNOSES])
    seasons = np.array([diagnosis.season for diagnosis in DIAGNOSES])
    by_district = np.array(
        [[diagnosis.districts.get(district.name, 1.0) for district in DISTRICTS] for diagnosis in DIAGNOSES]
    )
    probabilities: NDArray[np.float64] = np.einsum(
        "pa,as,da,ds,dm,dp->pasmd", population(), _sex_by_age(), curves, by_sex, seasons, by_district, optimize=True
    )
    probabilities /= probabilities.sum()
    return probabilities


@cache
def population() -> NDArray[np.float64]:
    """Return the relative number of people of each age in each district: the axes are district and age."""
    rows = []
    for district in DISTRICTS:
        curve = along_ages(district.ages)
        rows.append(district.size * curve / curve.sum())
    people: NDArray[np.float64] = np.array(rows)
    people /= people.sum()
    return people


def draw_postcodes(district: Index, random: np.random.Generator) -> pl.Series:
    """Sample a postcode of each person's district."""
    return _draw_by(district, [district_entry.postcodes for district_entry in DISTRICTS], random)


def draw_nationalities(district: Index, random: np.random.Generator) -> pl.Series:
    """Sample a nationality by the distribution in each person's district."""
    return _draw_by(district, [district_entry.nationalities for district_entry in DISTRICTS], random)


def draw_names(nationality: pl.Series, sex: Index, random: np.random.Generator) -> pl.Series:
    """Sample a matching given name and surname."""
    names = np.empty(len(nationality), dtype=object)
    values = nationality.to_numpy()
    for language, pool in NAMES.items():
        for number, given_names in enumerate((pool.female, pool.male)):
            rows = np.flatnonzero((values == language) & (sex == number))
            first = random.choice(np.array(given_names, dtype=object), len(rows))
            names[rows] = first + " " + random.choice(np.array(pool.surnames, dtype=object), len(rows))
    return pl.Series(names, dtype=pl.String)


def draw_cells(law: NDArray[np.float64], size: int, random: np.random.Generator) -> tuple[Index, ...]:
    """Sample ``size`` independent cells of an array of probabilities: one index array per axis."""
    cumulated = np.cumsum(law.ravel())
    cells = np.searchsorted(cumulated, random.random(size) * cumulated[-1], side="right")
    return tuple(axis.astype(np.int64) for axis in np.unravel_index(cells, law.shape))


def _draw_patients(patients: int, random: np.random.Generator) -> tuple[Index, ...]:
    return draw_cells(joint_law(), patients, random)


def _sex_by_age() -> NDArray[np.float64]:
    """Return the share of women and men at each age: women live longer."""
    women = np.interp(AGES, [0, 60, 75, 90, 99], [0.49, 0.51, 0.55, 0.68, 0.78])
    return np.stack([women, 1 - women], axis=1)


def _draw_by(district: Index, tables: list[Mapping[str, float]], random: np.random.Generator) -> pl.Series:
    """Sample a value for every person from the table of its district."""
    drawn = np.empty(len(district), dtype=object)
    for number, table in enumerate(tables):
        rows = np.flatnonzero(district == number)
        weights = np.array(list(table.values()), dtype=np.float64)
        drawn[rows] = random.choice(np.array(list(table), dtype=object), len(rows), p=weights / weights.sum())
    return pl.Series(drawn, dtype=pl.String)


def _draw_days(month: Index, random: np.random.Generator) -> pl.Series:
    """Return a random day of each month of the register's year."""
    first = np.datetime64(f"{YEAR}-01") + month.astype("timedelta64[M]")
    length = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    day = (random.random(len(month)) * length).astype(np.int64)
    return pl.Series(first.astype("datetime64[D]") + day.astype("timedelta64[D]")).cast(pl.Date)


def _draw_costs(diagnosis: Index, random: np.random.Generator) -> pl.Series:
    """Return the bill of each stay in whole tens of euros: treatment plus days in hospital, both with random variation."""
    median = np.array([entry.days for entry in DIAGNOSES])[diagnosis]
    treatment = np.array([entry.treatment for entry in DIAGNOSES])[diagnosis]
    days = np.maximum(1, np.rint(median * random.lognormal(0, _STAY_SPREAD, len(diagnosis))))
    bill = (treatment + days * DAILY_RATE) * random.lognormal(0, _BILL_SPREAD, len(diagnosis))
    return pl.Series((10 * np.rint(bill / 10)).astype(np.int64))


def _patient_numbers(patients: int, random: np.random.Generator) -> pl.Series:
    numbers = random.permutation(patients) + 1
    return pl.Series([f"P{number:05d}" for number in numbers])
