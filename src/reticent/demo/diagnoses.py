"""The diagnoses of the fictional hospital: who gets them, when, for how long, and their cost.

Fictional, but with the patterns of real registers: births only of mothers, prostate cancer only in men, influenza in
winter, hip fractures in old age, asthma in children and in the harbour district.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

AGES = np.arange(100)
SEXES = ("female", "male")
WINTER = (1.9, 2.1, 1.5, 0.7, 0.35, 0.2, 0.15, 0.15, 0.3, 0.6, 1.1, 1.7)
SUMMER = (0.6, 0.6, 0.8, 1.0, 1.2, 1.4, 1.5, 1.4, 1.1, 0.9, 0.7, 0.6)
ICE = (1.5, 1.4, 1.1, 0.9, 0.8, 0.8, 0.8, 0.8, 0.9, 0.9, 1.1, 1.4)
LEVEL = (1.0,) * 12


@dataclass(frozen=True)
class Diagnosis:
    """The relative frequency of a diagnosis, by person and season, and its consequences.

    ``ages`` are the corners of a piecewise linear curve over age; ``women`` and ``men`` scale it by sex, ``season`` by
    month of admission, ``districts`` by residence. A stay lasts ``days`` at the median; the bill is ``treatment`` plus
    a rate per day.
    """

    name: str
    chapter: str
    ages: tuple[tuple[float, float], ...]
    days: float
    treatment: int
    women: float = 1.0
    men: float = 1.0
    season: tuple[float, ...] = LEVEL
    districts: Mapping[str, float] = field(default_factory=dict)

    def by_age(self) -> NDArray[np.float64]:
        """Return the curve over the ages 0 to 99."""
        return along_ages(self.ages)


def along_ages(corners: tuple[tuple[float, float], ...]) -> NDArray[np.float64]:
    """Return a piecewise linear curve through (age, weight) corners, zero outside, at the ages 0 to 99."""
    ages, weights = zip(*corners, strict=True)
    curve: NDArray[np.float64] = np.interp(AGES, ages, weights, left=0.0, right=0.0)
    return curve


DIAGNOSES: tuple[Diagnosis, ...] = (
    Diagnosis(
        "childbirth",
        "pregnancy",
        ((15, 0), (19, 14), (27, 95), (33, 100), (39, 38), (45, 2), (47, 0)),
        3,
        2100,
        men=0.0,
    ),
    Diagnosis("influenza", "lungs", ((0, 16), (5, 6), (15, 2), (50, 3), (70, 12), (99, 34)), 4, 900, season=WINTER),
    Diagnosis(
        "pneumonia", "lungs", ((0, 10), (5, 3), (20, 1), (50, 4), (70, 14), (99, 40)), 7, 1500, men=1.2, season=WINTER
    ),
    Diagnosis(
        "asthma",
        "lungs",
        ((1, 12), (8, 14), (16, 5), (40, 3), (99, 3)),
        3,
        700,
        men=0.9,
        districts={"harbour": 2.2},
    ),
    Diagnosis("COPD", "lungs", ((40, 0), (55, 8), (72, 22), (99, 18)), 7, 1300, men=1.3, districts={"harbour": 1.8}),
    Diagnosis(
        "lung cancer", "cancer", ((38, 0), (55, 6), (68, 13), (99, 6)), 8, 6200, men=1.4, districts={"harbour": 1.6}
    ),
    Diagnosis("breast cancer", "cancer", ((28, 0), (45, 9), (62, 15), (80, 13), (99, 9)), 5, 6800, men=0.01),
    Diagnosis("prostate cancer", "cancer", ((45, 0), (60, 12), (74, 20), (99, 14)), 5, 6100, women=0.0),
    Diagnosis("colon cancer", "cancer", ((35, 0), (55, 5), (72, 13), (99, 12)), 9, 7400, men=1.2),
    Diagnosis("leukaemia", "cancer", ((0, 3), (6, 3.5), (18, 1.4), (50, 2), (75, 5), (99, 4)), 14, 9800),
    Diagnosis("heart attack", "heart", ((30, 0), (45, 6), (60, 18), (80, 28), (99, 24)), 6, 5200, women=0.6, men=1.4),
    Diagnosis("heart failure", "heart", ((45, 0), (62, 10), (80, 38), (99, 62)), 8, 2400, season=ICE),
    Diagnosis("stroke", "nerves", ((35, 0), (55, 7), (75, 24), (99, 40)), 10, 4300),
    Diagnosis("epilepsy", "nerves", ((0, 6), (10, 4), (30, 2.5), (60, 3), (99, 6)), 3, 900),
    Diagnosis("depression", "mind", ((12, 0), (17, 9), (30, 9), (50, 11), (70, 6), (99, 4)), 21, 600, women=1.5),
    Diagnosis("schizophrenia", "mind", ((15, 0), (22, 8), (35, 6), (60, 3), (99, 1)), 28, 700, men=1.3),
    Diagnosis("alcohol withdrawal", "mind", ((16, 0), (25, 4), (45, 12), (65, 6), (85, 0)), 8, 700, women=0.5, men=1.6),
    Diagnosis(
        "HIV",
        "infections",
        ((17, 0), (25, 3), (38, 5), (55, 2.5), (80, 0)),
        6,
        3900,
        women=0.5,
        men=1.4,
        districts={"station": 2.0},
    ),
    Diagnosis(
        "gastroenteritis", "digestion", ((0, 22), (4, 12), (12, 4), (50, 4), (75, 9), (99, 14)), 3, 500, season=SUMMER
    ),
    Diagnosis("appendicitis", "digestion", ((3, 0), (10, 14), (18, 14), (35, 5), (99, 2)), 4, 2600),
    Diagnosis("gallstones", "digestion", ((18, 0), (35, 8), (60, 13), (99, 9)), 4, 2900, women=1.6, men=0.8),
    Diagnosis("diabetes", "metabolism", ((4, 2), (14, 4), (25, 2), (50, 7), (70, 13), (99, 10)), 6, 1100, men=1.15),
    Diagnosis(
        "hip fracture", "injuries", ((50, 0), (65, 6), (80, 34), (99, 90)), 11, 6900, women=1.5, men=0.8, season=ICE
    ),
    Diagnosis("broken arm", "injuries", ((1, 3), (8, 18), (15, 14), (30, 5), (65, 6), (99, 8)), 2, 1300, season=SUMMER),
    Diagnosis(
        "head injury", "injuries", ((0, 8), (6, 6), (19, 12), (40, 5), (75, 8), (99, 14)), 2, 1000, women=0.7, men=1.3
    ),
)
