"""The voter roll: a public list with names that overlaps the hospital's register, for the linkage attack."""

from __future__ import annotations

import numpy as np
import polars as pl

from reticent.base.exact import whole
from reticent.demo.diagnoses import SEXES
from reticent.demo.hospital import (
    SEED,
    draw_cells,
    draw_names,
    draw_nationalities,
    draw_postcodes,
    hospital,
    population,
)
from reticent.errors import PolicyError

VOTING_AGE = 18
_COLUMNS = ("name", "age", "sex", "postcode", "nationality")


def voter_roll(
    register: pl.DataFrame | None = None,
    others: int = 2000,
    share: float = 0.8,
    seed: int = SEED,
    truth: bool = False,
) -> pl.DataFrame:
    """Return adults of the region with name, age, sex, postcode and nationality: a ``share`` of the adult patients, and
    ``others``.

    ``truth=True`` adds the patient number of those who are in the register (null for the others). It is used to score
    an attack; no adversary gets it.
    """
    whole(others, "others", low=0)
    if not 0 <= share <= 1:
        raise PolicyError(f"share must lie between 0 and 1, but it is {share!r}.")
    random = np.random.default_rng([seed, 1])
    register = hospital() if register is None else register
    adults = register.filter(pl.col("age") >= VOTING_AGE).select("patient", *_COLUMNS)
    listed = adults.filter(pl.Series(random.random(adults.height) < share, dtype=pl.Boolean))
    roll = pl.concat([listed, _strangers(others, random).select(listed.columns)])
    shuffled = roll[random.permutation(roll.height)]
    return shuffled if truth else shuffled.drop("patient")


def _strangers(size: int, random: np.random.Generator) -> pl.DataFrame:
    """Return people of the region who were not in hospital."""
    law = population().copy()
    law[:, :VOTING_AGE] = 0
    district, age = draw_cells(law, size, random)
    sex = random.integers(0, len(SEXES), size)
    nationality = draw_nationalities(district, random)
    return pl.DataFrame(
        {
            "patient": pl.Series([None] * size, dtype=pl.String),
            "name": draw_names(nationality, sex, random),
            "age": age,
            "sex": pl.Series(SEXES).gather(sex),
            "postcode": draw_postcodes(district, random),
            "nationality": nationality,
        }
    )
