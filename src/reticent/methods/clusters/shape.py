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
        """Return a function of pairs (indexes of points and of balls): 0 where the point is in the ball, -1 elsewhere."""
        names = dict.fromkeys(names for ball in shapes for names in ball.coordinates)
        columns = [_Apart.of(shapes, points, name) for name in names]
        radii = np.array([ball.radius for ball in shapes], dtype=np.float64) * (1 + _RIM) + _SLACK
        is_sum = np.array([ball.norm == "L1" for ball in shapes], dtype=bool)

        def inside_ball(point: Numbers, ball: Numbers) -> Numbers:
            """Return 0 for each pair of a point and a ball if the point is in the ball, otherwise -1."""
            total, added = np.zeros(len(point)), is_sum[ball]
            for column in columns:
                away = column.between(point, ball)
                total += np.where(added, away, away * away)
            return np.where(np.where(added, total, np.sqrt(total)) <= radii[ball], 0, -1)

        return inside_ball

    def known(self, columns: Sequence[str]) -> Shape:
        """Return the ball in fewer columns; a place with one known coordinate is unrestricted."""
        places = tuple(pair for pair in self.places if set(pair) <= set(columns))
        half_known = {name for pair in self.places if pair not in places for name in pair}
        names = [name for name in self.centre if name in columns and name not in half_known]
        centre, scales = ({name: values[name] for name in names} for values in (self.centre, self.scales))
        return Ball(centre, self.radius, scales, self.norm, places)

    def as_json(self) -> dict[str, Any]:
        payload = {"centre": dict(self.centre), "radius": self.radius, "scales": dict(self.scales)}
        norm = {} if self.norm == "L2" else {"norm": self.norm}
        return {**payload, **norm, **({"places": [list(pair) for pair in self.places]} if self.places else {})}

    @classmethod
    def from_json(cls, payload: Mapping[str, Any], where: str) -> Ball:
        """Return the ball that a manifest describes. Raises for anything else, with its position."""
        if not {"centre", "radius", "scales"} <= set(payload) <= {"centre", "radius", "scales", "norm", "places"}:
            raise no_shape(payload, where)
        centre, scales = payload["centre"], payload["scales"]
        numbers = [
            payload["radius"],
            *(value for value in _values_in(centre) if not isinstance(value, str | bool)),
            *_values_in(scales),
        ]
        if not all(type(number) in (int, float) and isfinite(number) for number in numbers):
            raise no_shape(payload, where)
        return cls(centre, payload["radius"], scales, payload.get("norm", "L2"), _pairs_in(payload.get("places", [])))


def balls_around(
    centres: Mapping[str, Sequence[Any]],
    radii: Sequence[float],
    scales: Mapping[str, float],
    norm: Norm,
    places: Sequence[tuple[str, str]],
) -> tuple[Ball, ...]:
    """Return balls around centres given column by column. A missing coordinate (None) is unrestricted, and so is a place with one coordinate."""
    balls = []
    for index, radius in enumerate(radii):
        centre = {name: values[index] for name, values in centres.items() if values[index] is not None}
        known_places = tuple(pair for pair in places if set(pair) <= set(centre))
        half_known = {name for pair in places if pair not in known_places for name in pair}
        centre = {name: coordinate for name, coordinate in centre.items() if name not in half_known}
        balls.append(Ball(centre, radius, {name: scales[name] for name in centre}, norm, known_places))
    return tuple(balls)


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
        """Return the coordinates of points and of the centres of balls in one column, or in a latitude and a longitude column (``names``)."""
        coordinates = [
            [ball.centre[name] for name in names] if names in ball.coordinates else [None] * len(names)
            for ball in balls
        ]
        words = [_text(coordinate[0]) for coordinate in coordinates]
        centres = np.array([[_number(value) for value in coordinate] for coordinate in coordinates], dtype=np.float64)
        texts = {text: code for code, text in enumerate(dict.fromkeys(word for word in words if word is not None))}
        point_texts = points[names[0]].cast(pl.String).to_list() if texts else [None] * points.height
        return cls(
            _numbers(points.select(names))
            if not np.isnan(centres).all()
            else np.full((points.height, len(names)), np.nan),
            centres,
            np.array(
                [-2 if point_text is None else texts.get(point_text, -1) for point_text in point_texts], dtype=np.int64
            ),
            np.array([-1 if word is None else texts[word] for word in words], dtype=np.int64),
            np.array([ball.scales.get(names[0], 1.0) for ball in balls], dtype=np.float64),
        )

    def between(self, point: Numbers, ball: Numbers) -> NDArray[np.float64]:
        """Return the distance of each point from the centre of its ball, in units of the scale."""
        coordinates, centre = self.numbers[point], self.centres[ball]
        gaps = (
            np.abs(coordinates[:, 0] - centre[:, 0]) if coordinates.shape[1] == 1 else great_circle(coordinates, centre)
        )
        text, centre_text = self.texts[point], self.centre_texts[ball]
        differs = (centre_text >= 0) & (text > -2) & (text != centre_text)
        distances: NDArray[np.float64] = (
            np.where(centre_text >= 0, differs, np.nan_to_num(gaps, nan=0.0)) / self.scales[ball]
        )
        return distances


def _text(centre: Any) -> str | None:
    """Return a coordinate that is compared as text."""
    if isinstance(centre, bool):
        return str(centre).lower()
    return centre if isinstance(centre, str) else None


def _number(centre: Any) -> float:
    return float("nan") if centre is None or isinstance(centre, str | bool) else float(centre)


def _numbers(values: pl.DataFrame) -> NDArray[np.float64]:
    """Return values as numbers, dates as days; NaN for other types."""
    columns = [value.to_physical() if value.dtype == pl.Date else value for value in values]
    return np.stack([column.cast(pl.Float64, strict=False).to_numpy() for column in columns], axis=1)


def _values_in(mapping: Any) -> list[Any]:
    return list(mapping.values()) if isinstance(mapping, Mapping) else [None]


def _pairs_in(pairs: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise DataError(f"{pairs!r} are not pairs of columns.")
    return tuple((str(first), str(second)) for first, second in pairs)
