"""The fictional region around the hospital: districts, postcodes, population, and names.

Places and people are fictional: postcodes begin with 74, names are sampled from short lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class District:
    """A district: its postcodes (with their share of its people), its size, its age structure, its nationalities."""

    name: str
    postcodes: Mapping[str, float]
    size: float
    ages: tuple[tuple[float, float], ...]
    nationalities: Mapping[str, float]


# Ages are corners of a piecewise linear curve: the relative number of people of an age.
DISTRICTS: tuple[District, ...] = (
    District(
        "old town",
        {"74101": 5, "74102": 4, "74103": 3, "74105": 3, "74108": 2},
        1.0,
        ((0, 6), (18, 7), (28, 13), (45, 11), (65, 9), (85, 4), (99, 0.4)),
        {"German": 70, "Italian": 6, "Polish": 5, "Turkish": 3, "French": 6, "American": 4, "Indian": 3, "Japanese": 3},
    ),
    District(
        "station",
        {"74121": 6, "74122": 5, "74124": 3, "74127": 2},
        1.1,
        ((0, 10), (15, 8), (24, 17), (38, 14), (60, 7), (85, 2), (99, 0.2)),
        {
            "German": 42,
            "Turkish": 18,
            "Polish": 9,
            "Syrian": 9,
            "Italian": 6,
            "Indian": 6,
            "Nigerian": 6,
            "Ukrainian": 4,
        },
    ),
    District(
        "harbour",
        {"74141": 6, "74143": 4, "74144": 4, "74149": 1},
        1.2,
        ((0, 11), (12, 11), (25, 10), (45, 13), (65, 8), (85, 3), (99, 0.2)),
        {"German": 55, "Turkish": 14, "Polish": 11, "Ukrainian": 7, "Syrian": 6, "Nigerian": 4, "Italian": 3},
    ),
    District(
        "university",
        {"74161": 5, "74163": 5, "74165": 2},
        0.8,
        ((0, 4), (16, 5), (20, 30), (27, 24), (36, 9), (65, 5), (99, 0.3)),
        {
            "German": 60,
            "Indian": 12,
            "French": 6,
            "American": 6,
            "Japanese": 4,
            "Italian": 5,
            "Nigerian": 4,
            "Syrian": 3,
        },
    ),
    District(
        "garden hills",
        {"74201": 5, "74203": 4, "74206": 3, "74209": 2},
        1.0,
        ((0, 9), (16, 10), (26, 5), (42, 12), (60, 13), (80, 10), (99, 1)),
        {"German": 88, "French": 4, "Italian": 3, "American": 3, "Japanese": 2},
    ),
    District(
        "villages",
        {"74311": 3, "74315": 3, "74318": 2, "74324": 2, "74327": 2, "74333": 1, "74339": 1},
        1.3,
        ((0, 8), (17, 9), (24, 4), (45, 11), (62, 14), (80, 9), (99, 0.8)),
        {"German": 90, "Polish": 6, "Italian": 2, "Ukrainian": 2},
    ),
)


@dataclass(frozen=True)
class Names:
    """Given names by sex, and surnames, for people of one nationality."""

    female: tuple[str, ...]
    male: tuple[str, ...]
    surnames: tuple[str, ...]


def _names(female: str, male: str, surnames: str) -> Names:
    return Names(tuple(female.split()), tuple(male.split()), tuple(surnames.split()))


NAMES: Mapping[str, Names] = {
    "German": _names(
        "Anneke Birte Clara Dörte Edda Frieda Greta Hedda Ilse Jule Karla Lotte Marthe Nele Ottilie Paula Ronja Silke Thea Ute Wiebke",
        "Arne Bernd Carsten Detlef Eike Florian Gerrit Hauke Ingo Jonas Kai Lennart Malte Nils Ole Peer Ruben Sönke Till Uwe Volker",
        "Abendroth Birkenfeld Cordsen Dornbusch Eichhorn Falkner Grünwald Haselbach Immenhof Jansen Kornblum Lindqvist Moorkamp "
        "Nordhoff Osterloh Petersen Quast Rabenau Sandvoss Tiedjen Uhlenbrock Vossberg Westerholt Zeisig",
    ),
    "French": _names(
        "Aurélie Céline Élodie Manon Solène",
        "Bastien Guillaume Loïc Rémi Théo",
        "Aubertin Chastain Delorme Fontenay Marchais",
    ),
    "Italian": _names(
        "Arianna Chiara Fiorella Ginevra Serena",
        "Dario Enzo Fabrizio Luca Saverio",
        "Belmonte Carossi Ferrante Lombardini Valsecchi",
    ),
    "Polish": _names(
        "Agnieszka Bożena Ewa Kinga Zofia",
        "Bartosz Jacek Kamil Mateusz Zbigniew",
        "Brzoza Dąbek Jaworek Kalina Wierzba",
    ),
    "Ukrainian": _names(
        "Daryna Iryna Oksana Solomia Yulia",
        "Bohdan Danylo Ihor Ostap Taras",
        "Bondarets Horobets Kovalyk Lysenchuk Verbenko",
    ),
    "Turkish": _names(
        "Ayla Defne Elif Gülay Selin", "Bora Emre Kaan Mert Tolga", "Akarsu Çınarlı Demirkol Karaca Yıldızlı"
    ),
    "Syrian": _names(
        "Amal Hala Lina Nour Rima", "Anas Basel Karim Omar Yazan", "Barakat Haddadin Khoury Nasri Sabbagh"
    ),
    "Indian": _names(
        "Ananya Divya Kavita Meera Priya", "Arjun Dev Kiran Rohan Vikram", "Bhandari Chauhan Deshmukh Iyer Menon"
    ),
    "Japanese": _names(
        "Akiko Haruka Keiko Umeko Yui", "Daichi Haruto Kenji Ren Sota", "Aokawa Hoshino Morita Nakajima Shimada"
    ),
    "Nigerian": _names(
        "Adaeze Chioma Folake Ngozi Zainab", "Chidi Emeka Femi Musa Tunde", "Adewale Balogun Eze Nwosu Okafor"
    ),
    "American": _names(
        "Abigail Brooke Dana Kelsey Morgan",
        "Austin Bruce Dale Logan Wyatt",
        "Ashcroft Calloway Hollis Merriweather Tate",
    ),
}
