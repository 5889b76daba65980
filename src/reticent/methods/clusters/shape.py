"""The shape of a cluster: all points within a radius of its centre."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.core import Norm, PairDepth, Shape, great_circle, no_shape
from reticent.errors import DataError

Numbers = NDArray[np.int64]
# Relative tolerance: points on the rim are inside, despite rounding.
_RIM = 1e-9
_SLACK = 1e-12


@dataclass(frozen=True)
class Ball(Shape):
    """All points within ``radius`` of the ``centre``: differences in units of each column's ``scales``, by the ``L1`` or ``L2`` norm.

    Numbers differ by their difference (dates in days), text and booleans by 0 or 1. ``places`` are pairs of a latitude
    and a longitude column, whose distance is in kilometres, in units of the first one's scale.
    """

    centre: Mapping[str, Any]
    radius: float
    scales: Mapping[str, float]
    norm: Norm = "L2"
    places: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if set(self.centre) != set(self.scales) or not all(scale > 0 for scale in self.scales.values()):
            raise DataError("Ball: every column of the centre needs a scale above 0.")
        if self.radius < 0:
            raise DataError(f"Ball: radius must be at least 0, but it is {self.radius}.")
        if self.norm not in ("L1", "L2") or not all(name in self.centre for pair in self.places for name in pair):
            raise DataError("Ball: the norm must be L1 or L2, and both columns of a place must be in the centre.")

    @property
    def coordinates(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each summand of the distance: one, or two that form a place."""
        second = {name for pair in self.places for name in pair}
        return (*self.places, *((name,) for name in self.centre if name not in second))

    @classmethod
    def test(cls, shapes: Sequence[Ball], points: pl.DataFrame) -> PairDepth:
        """Return the distances, summed column by column for all pairs at once."""
        names = dict.fromkeys(names for ball in shapes for names in ball.coordinates)
        columns = [_Apart.of(shapes, points, each) for each in names]
        radii = np.array([ball.radius for ball in shapes], dtype=np.float64) * (1 + _RIM) + _SLACK
        is_sum = np.array([ball.norm == "L1" for ball in shapes], dtype=bool)

        def inside_ball(point: Numbers, ball: Numbers) -> Numbers:
            total, added = np.zeros(len(point)), is_sum[ball]
            for column in columns:
                away = column.between(point, ball)
                total += np.where(added, away, away * away)
            return np.where(np.where(added, total, np.sqrt(total)) <= radii[ball], 0, -1)

        return inside_ball

    def known(self, columns: Sequence[str]) -> Shape:
        """Return the ball in fewer columns; a place with one known coordinate is unrestricted."""
        places = tuple(pair for pair in self.places if set(pair) <= set(columns))
        half = {name for pair in self.places if pair not in places for name in pair}
        kept = [name for name in self.centre if name in columns and name not in half]
        centre, scales = ({name: each[name] for name in kept} for each in (self.centre, self.scales))
        return Ball(centre, self.radius, scales, self.norm, places)

    def as_json(self) -> dict[str, Any]:
        found = {"centre": dict(self.centre), "radius": self.radius, "scales": dict(self.scales)}
        norm = {} if self.norm == "L2" else {"norm": self.norm}
        return {**found, **norm, **({"places": [list(pair) for pair in self.places]} if self.places else {})}

    @classmethod
    def from_json(cls, given: Mapping[str, Any], where: str) -> Ball:
        if not {"centre", "radius", "scales"} <= set(given) <= {"centre", "radius", "scales", "norm", "places"}:
            raise no_shape(given, where)
        centre, scales = given["centre"], given["scales"]
        numbers = [
            given["radius"],
            *(each for each in _values_in(centre) if not isinstance(each, str | bool)),
            *_values_in(scales),
        ]
        if not all(type(each) in (int, float) and isfinite(each) for each in numbers):
            raise no_shape(given, where)
        return cls(centre, given["radius"], scales, given.get("norm", "L2"), _pairs_in(given.get("places", [])))


def balls_around(
    centres: Mapping[str, Sequence[Any]],
    radii: Sequence[float],
    scales: Mapping[str, float],
    norm: Norm,
    places: Sequence[tuple[str, str]],
) -> tuple[Ball, ...]:
    """Return balls around centres given column by column. A missing coordinate (None) is unrestricted, and so is a place with one coordinate."""
    found = []
    for at, radius in enumerate(radii):
        centre = {name: each[at] for name, each in centres.items() if each[at] is not None}
        mine = tuple(pair for pair in places if set(pair) <= set(centre))
        half = {name for pair in places if pair not in mine for name in pair}
        centre = {name: each for name, each in centre.items() if name not in half}
        found.append(Ball(centre, radius, {name: scales[name] for name in centre}, norm, mine))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Apart:
    """One column of points and of centres, or two that form a place: numbers (NaN: missing), and text as codes among those of the centres.

    A text that no centre has is -1 and a missing one -2; centres without a text have -1. What is missing on either side
    adds no distance.
    """

    numbers: NDArray[np.float64]
    centres: NDArray[np.float64]
    texts: Numbers
    centre_texts: Numbers
    scales: NDArray[np.float64]

    @classmethod
    def of(cls, balls: Sequence[Ball], points: pl.DataFrame, names: tuple[str, ...]) -> _Apart:
        given = [
            [ball.centre[name] for name in names] if names in ball.coordinates else [None] * len(names)
            for ball in balls
        ]
        words = [_text(each[0]) for each in given]
        centres = np.array([[_number(value) for value in each] for each in given], dtype=np.float64)
        texts = {text: at for at, text in enumerate(dict.fromkeys(each for each in words if each is not None))}
        own = points[names[0]].cast(pl.String).to_list() if texts else [None] * points.height
        return cls(
            _numbers(points.select(names))
            if not np.isnan(centres).all()
            else np.full((points.height, len(names)), np.nan),
            centres,
            np.array([-2 if each is None else texts.get(each, -1) for each in own], dtype=np.int64),
            np.array([-1 if each is None else texts[each] for each in words], dtype=np.int64),
            np.array([ball.scales.get(names[0], 1.0) for ball in balls], dtype=np.float64),
        )

    def between(self, point: Numbers, ball: Numbers) -> NDArray[np.float64]:
        """Return the distance of each point from the centre of its ball, in units of the scale."""
        here, centre = self.numbers[point], self.centres[ball]
        away = np.abs(here[:, 0] - centre[:, 0]) if here.shape[1] == 1 else great_circle(here, centre)
        text, other = self.texts[point], self.centre_texts[ball]
        differs = (other >= 0) & (text > -2) & (text != other)
        found: NDArray[np.float64] = np.where(other >= 0, differs, np.nan_to_num(away, nan=0.0)) / self.scales[ball]
        return found


def _text(centre: Any) -> str | None:
    """Return a coordinate that is compared as text."""
    if isinstance(centre, bool):
        return str(centre).lower()
    return centre if isinstance(centre, str) else None


def _number(centre: Any) -> float:
    return float("nan") if centre is None or isinstance(centre, str | bool) else float(centre)


def _numbers(values: pl.DataFrame) -> NDArray[np.float64]:
    """Return values as numbers, dates as days; NaN for other types."""
    columns = [each.to_physical() if each.dtype == pl.Date else each for each in values]
    return np.stack([each.cast(pl.Float64, strict=False).to_numpy() for each in columns], axis=1)


def _values_in(given: Any) -> list[Any]:
    return list(given.values()) if isinstance(given, Mapping) else [None]


def _pairs_in(given: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(given, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise DataError(f"{given!r} are not pairs of columns.")
    return tuple((str(one), str(other)) for one, other in given)
