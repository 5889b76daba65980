"""The built-in register hangs together, is the same everywhere, and has roles that publish accepts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from reticent.demo import hospital, hospital_table, voter_roll
from reticent.demo.diagnoses import DIAGNOSES
from reticent.demo.hospital import joint_law
from reticent.errors import PolicyError

COLUMNS = ["patient", "name", "age", "sex", "postcode", "nationality", "admitted", "diagnosis", "cost"]


@pytest.fixture(scope="module")
def register() -> pl.DataFrame:
    return hospital(20_000, seed=5)


def test_the_register_has_the_promised_columns_and_size() -> None:
    frame = hospital(patients=1234)
    assert frame.columns == COLUMNS
    assert frame.height == 1234
    assert frame["patient"].n_unique() == 1234
    assert frame.null_count().row(0) == (0,) * len(COLUMNS)


def test_the_same_seed_gives_the_same_register_and_another_seed_another() -> None:
    assert hospital(500, seed=1).equals(hospital(500, seed=1))
    assert not hospital(500, seed=1).equals(hospital(500, seed=2))


def test_only_women_of_childbearing_age_give_birth(register: pl.DataFrame) -> None:
    births = register.filter(pl.col("diagnosis") == "childbirth")
    assert births.height > 500
    assert births["sex"].unique().to_list() == ["female"]
    assert births["age"].is_between(15, 47).all()


def test_only_men_have_prostate_cancer(register: pl.DataFrame) -> None:
    assert register.filter(pl.col("diagnosis") == "prostate cancer")["sex"].unique().to_list() == ["male"]


def test_influenza_comes_in_winter(register: pl.DataFrame) -> None:
    months = register.filter(pl.col("diagnosis") == "influenza")["admitted"].dt.month()
    winter, summer = months.is_in([1, 2, 12]).sum(), months.is_in([6, 7, 8]).sum()
    assert winter > 5 * summer > 0


def test_hips_break_in_old_age_and_appendicitis_strikes_the_young(register: pl.DataFrame) -> None:
    ages = dict(register.group_by("diagnosis").agg(pl.col("age").median()).iter_rows())
    assert ages["hip fracture"] > 75
    assert ages["appendicitis"] < 35


def test_the_bill_follows_the_diagnosis(register: pl.DataFrame) -> None:
    bills = dict(register.group_by("diagnosis").agg(pl.col("cost").median()).iter_rows())
    assert bills["schizophrenia"] > bills["heart attack"] > bills["broken arm"]
    assert (register["cost"] > 0).all()


def test_nationalities_differ_between_districts(register: pl.DataFrame) -> None:
    def share(prefix: str) -> float:
        part = register.filter(pl.col("postcode").str.starts_with(prefix))
        return (part["nationality"] == "German").mean()

    assert share("743") > 0.8 > 0.6 > share("7412")


def test_diagnoses_are_drawn_from_the_joint_law_within_five_sigma(register: pl.DataFrame) -> None:
    chances = joint_law().sum(axis=(0, 3))
    counts = dict(register.group_by("diagnosis").len().iter_rows())
    for number, diagnosis in enumerate(DIAGNOSES):
        chance = chances[:, :, number].sum()
        sigma = np.sqrt(register.height * chance * (1 - chance))
        assert abs(counts[diagnosis.name] - register.height * chance) < 5 * sigma, diagnosis.name


def test_age_and_sex_are_drawn_jointly_with_the_diagnosis_within_five_sigma(register: pl.DataFrame) -> None:
    law = joint_law().sum(axis=(0, 3))
    for number, diagnosis in enumerate(DIAGNOSES):
        young_women = law[:50, 0, number].sum()
        seen = register.filter(
            (pl.col("diagnosis") == diagnosis.name) & (pl.col("age") < 50) & (pl.col("sex") == "female")
        ).height
        sigma = np.sqrt(register.height * young_women * (1 - young_women))
        assert abs(seen - register.height * young_women) <= 5 * sigma, diagnosis.name


def test_no_patients_is_refused() -> None:
    with pytest.raises(PolicyError, match="patients must be at least 1"):
        hospital(0)


def test_the_table_declares_domains_so_that_nothing_of_them_comes_from_the_data() -> None:
    table = hospital_table(hospital(300))
    assert list(table.quasi) == ["age", "sex", "postcode", "nationality", "admitted"]
    assert not any(hierarchy.data_dependent for hierarchy in table.hierarchies)
    assert table.unpublished == ("cost",)
    assert table.identifiers == ("name",)
    assert (table.key, table.unit) == ("patient", "row")


def test_the_roll_overlaps_the_register_and_hides_who_is_in_it() -> None:
    frame = hospital(1000)
    roll = voter_roll(frame, others=300, share=0.5, truth=True)
    listed = roll.filter(pl.col("patient").is_not_null())
    assert roll.height == listed.height + 300
    assert 0.4 < listed.height / frame.filter(pl.col("age") >= 18).height < 0.6
    assert (roll["age"] >= 18).all()
    shared = ["patient", "name", "age", "sex", "postcode", "nationality"]
    assert listed.select(shared).join(frame.select(shared), on=shared, how="anti").is_empty()
    assert voter_roll(frame, others=300, share=0.5).columns == ["name", "age", "sex", "postcode", "nationality"]


def test_a_share_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(PolicyError, match="share must lie between 0 and 1, but it is 2"):
        voter_roll(hospital(10), share=2)
