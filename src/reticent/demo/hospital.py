"""The built-in register: some thousand hospital patients who do not exist, with a joint distribution like real ones.

Patients are drawn from one joint law over (district, age, sex, month, diagnosis), so that everything hangs together:
the law is the population of each district by age and sex, times how often each diagnosis brings such a person to
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
    """The register of a year: patient number, name, age, sex, postcode, nationality, admission day, diagnosis and cost.

    The same arguments give the same register on every machine. Nobody in it exists.
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
            "diagnosis": pl.Series([each.name for each in DIAGNOSES]).gather(diagnosis),
            "cost": _draw_costs(diagnosis, random),
        }
    )


def hospital_policy() -> Policy:
    """The policy that goes with the register: roles, hierarchies with declared domains, definition and method."""
    return Policy.parse(hospital_policy_text(), "policy.toml")


def hospital_policy_text() -> str:
    """The policy as it is written: ``policy.toml`` beside this module."""
    return files("reticent.demo").joinpath("policy.toml").read_text("utf-8")


def hospital_table(frame: pl.DataFrame | None = None) -> Table:
    """The register with its roles and hierarchies: what a careful steward would declare.

    Somebody may know when a neighbour went to hospital, so the admission day is a quasi column like age, sex, postcode and
    nationality. The bill is not published at all.
    """
    return Table(hospital() if frame is None else frame, **hospital_policy().roles)


@cache
def joint_law() -> NDArray[np.float64]:
    """The chance of each (district, age, sex, month, diagnosis): an array with these axes that adds up to one."""
    curves = np.array([each.by_age() for each in DIAGNOSES])
    by_sex = np.array([[each.women, each.men] for each in DIAGNOSES])
    seasons = np.array([each.season for each in DIAGNOSES])
    places = np.array([[each.districts.get(district.name, 1.0) for district in DISTRICTS] for each in DIAGNOSES])
    law: NDArray[np.float64] = np.einsum(
        "pa,as,da,ds,dm,dp->pasmd", population(), _sex_by_age(), curves, by_sex, seasons, places, optimize=True
    )
    law /= law.sum()
    return law


@cache
def population() -> NDArray[np.float64]:
    """How many people of each age live in each district, relative to all: the axes are district and age."""
    rows = []
    for district in DISTRICTS:
        curve = along_ages(district.ages)
        rows.append(district.size * curve / curve.sum())
    people: NDArray[np.float64] = np.array(rows)
    people /= people.sum()
    return people


def draw_postcodes(district: Index, random: np.random.Generator) -> pl.Series:
    """A postcode of each person's district."""
    return _draw_by(district, [each.postcodes for each in DISTRICTS], random)


def draw_nationalities(district: Index, random: np.random.Generator) -> pl.Series:
    """A nationality as it is spread in each person's district."""
    return _draw_by(district, [each.nationalities for each in DISTRICTS], random)


def draw_names(nationality: pl.Series, sex: Index, random: np.random.Generator) -> pl.Series:
    """A given name and a surname that fit."""
    names = np.empty(len(nationality), dtype=object)
    values = nationality.to_numpy()
    for language, pool in NAMES.items():
        for number, given in enumerate((pool.female, pool.male)):
            rows = np.flatnonzero((values == language) & (sex == number))
            first = random.choice(np.array(given, dtype=object), len(rows))
            names[rows] = first + " " + random.choice(np.array(pool.surnames, dtype=object), len(rows))
    return pl.Series(names, dtype=pl.String)


def draw_cells(law: NDArray[np.float64], size: int, random: np.random.Generator) -> tuple[Index, ...]:
    """``size`` cells of an array of chances, drawn independently: one index array for each axis."""
    cumulated = np.cumsum(law.ravel())
    cells = np.searchsorted(cumulated, random.random(size) * cumulated[-1], side="right")
    return tuple(axis.astype(np.int64) for axis in np.unravel_index(cells, law.shape))


def _draw_patients(patients: int, random: np.random.Generator) -> tuple[Index, ...]:
    return draw_cells(joint_law(), patients, random)


def _sex_by_age() -> NDArray[np.float64]:
    """The share of women and men at each age: women live longer."""
    women = np.interp(AGES, [0, 60, 75, 90, 99], [0.49, 0.51, 0.55, 0.68, 0.78])
    return np.stack([women, 1 - women], axis=1)


def _draw_by(district: Index, tables: list[Mapping[str, float]], random: np.random.Generator) -> pl.Series:
    """A value for every person from the table of its district."""
    drawn = np.empty(len(district), dtype=object)
    for number, table in enumerate(tables):
        rows = np.flatnonzero(district == number)
        weights = np.array(list(table.values()), dtype=np.float64)
        drawn[rows] = random.choice(np.array(list(table), dtype=object), len(rows), p=weights / weights.sum())
    return pl.Series(drawn, dtype=pl.String)


def _draw_days(month: Index, random: np.random.Generator) -> pl.Series:
    first = np.datetime64(f"{YEAR}-01") + month.astype("timedelta64[M]")
    length = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    day = (random.random(len(month)) * length).astype(np.int64)
    return pl.Series(first.astype("datetime64[D]") + day.astype("timedelta64[D]")).cast(pl.Date)


def _draw_costs(diagnosis: Index, random: np.random.Generator) -> pl.Series:
    """Treatment plus days in hospital, in whole tens of euros."""
    median = np.array([each.days for each in DIAGNOSES])[diagnosis]
    treatment = np.array([each.treatment for each in DIAGNOSES])[diagnosis]
    days = np.maximum(1, np.rint(median * random.lognormal(0, _STAY_SPREAD, len(diagnosis))))
    bill = (treatment + days * DAILY_RATE) * random.lognormal(0, _BILL_SPREAD, len(diagnosis))
    return pl.Series((10 * np.rint(bill / 10)).astype(np.int64))


def _patient_numbers(patients: int, random: np.random.Generator) -> pl.Series:
    numbers = random.permutation(patients) + 1
    return pl.Series([f"P{number:05d}" for number in numbers])
