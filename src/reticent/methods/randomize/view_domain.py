"""The public domain of a randomized view: the possible values of every column, declared independently of the data.

A tuple of the domain is a *key*: its mixed-radix number. Columns are packed into words of at most 62 bits, so that
domains may exceed machine integers: with one word keys are 64-bit integers, with several they are records of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import one_of
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.table import ValueType

Keys = NDArray[Any]
Codes = NDArray[np.int64]

_WORD_LIMIT = 2**62
_WHOLE_LIMIT = 2**63
_LARGEST_COLUMN = 20_000_000
_BEYOND = "whole numbers must be between -2^63 and 2^63 - 1. Use a coarser public grid, or list them as text."


@dataclass(frozen=True)
class Attribute:
    """A column of the domain: the number of its values, and the values themselves if declared."""

    name: str
    size: int
    values: pl.Series | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise PolicyError(
                f"domain[{self.name!r}]: the number of values must be a whole number of at least 1, but it is {self.size!r}."
            )

    @classmethod
    def of(cls, name: str, declared: Any) -> Attribute:
        """Build a column from a number of values, a list of values, a range, ``{"from": 17, "to": 90, "step": 1}``, or the
        output of :meth:`ViewDomain.as_json`.
        """
        if isinstance(declared, Attribute):
            return declared
        if isinstance(declared, int) and not isinstance(declared, bool):
            return cls(name, declared)
        if isinstance(declared, Mapping) and "values" in declared:
            declared = _listed(name, declared)
        elif isinstance(declared, Mapping):
            declared = _steps(name, declared)
        if isinstance(declared, range):
            _check_ends(name, declared)
        if isinstance(declared, str) or not isinstance(declared, Sequence | pl.Series | np.ndarray):
            raise PolicyError(
                f"domain[{name!r}] must be a number of values, a list of values, a range or {{'from': .., 'to': ..}}, but it is {declared!r}."
            )
        if len(declared) > _LARGEST_COLUMN:
            raise PolicyError(
                f"domain[{name!r}] has {len(declared):,} values; at most {_LARGEST_COLUMN:,} can be listed. Use a coarser public grid."
            )
        values = _series(name, declared)
        return cls(name, len(values), values)

    @property
    def kind(self) -> ValueType:
        """The type of the values."""
        return ValueType.of(self.listed.dtype, self.name)

    @property
    def listed(self) -> pl.Series:
        """The values; a :class:`PolicyError` if only their number is known."""
        if self.values is None:
            raise PolicyError(
                f"domain[{self.name!r}] gives the number of values ({self.size}), but not the values. List them: publishing, estimating and "
                "counting need them, and they must not be derived from the data."
            )
        return self.values

    @cached_property
    def _grid(self) -> tuple[int, int] | None:
        """Return first value and step if the values are evenly spaced integers: then codes need no lookup."""
        values = self.listed
        if not values.dtype.is_integer() or values.null_count() or len(values) < 2:
            return None
        numbers = values.to_numpy()
        if int(numbers[-1]) - int(numbers[0]) >= _WHOLE_LIMIT:
            return None
        steps = np.diff(numbers)
        return (int(numbers[0]), int(steps[0])) if steps[0] > 0 and (steps == steps[0]).all() else None

    def encode(self, series: pl.Series) -> Codes:
        """Return the code of every row's value; a value outside the domain raises a :class:`DataError`.

        So does a value that matches only after truncation: 25.7 among integers, noon among dates.
        """
        converted, is_unknown = self._converted(series)
        if self._grid is not None and not converted.null_count():
            first, step = self._grid
            codes, remainder = np.divmod(converted.to_numpy() - first, step)
            is_unknown |= (remainder != 0) | (codes < 0) | (codes >= self.size)
        else:
            code_of_value = pl.DataFrame({"value": self.listed, "place": np.arange(self.size)})
            looked_up = pl.DataFrame({"value": converted}).join(
                code_of_value, on="value", how="left", nulls_equal=True, maintain_order="left"
            )["place"]
            is_unknown |= looked_up.is_null().to_numpy()
            codes = looked_up.fill_null(0).to_numpy()
        if is_unknown.any():
            row = int(np.argmax(is_unknown))
            raise DataError(
                f"Column {self.name!r}, row {row + 1}: the value {series[row]!r} is not in the declared domain of {self.size} values. Declare it "
                "only if it is public knowledge that it may occur; never add a value because it occurs in the data."
            )
        return codes.astype(np.int64)

    def _converted(self, series: pl.Series) -> tuple[pl.Series, NDArray[np.bool_]]:
        """Return values cast to the domain's type, and a mask of the rows whose value was changed by the cast."""
        is_temporal = self.kind.is_temporal
        plain = series.fill_nan(None) if series.dtype.is_float() else series
        if isinstance(plain.dtype, pl.Datetime):
            plain = plain.dt.replace_time_zone(None)
        try:
            if plain.dtype.is_nested() or (is_temporal and not (plain.dtype.is_temporal() or plain.dtype == pl.Null)):
                raise pl.exceptions.InvalidOperationError
            domain_type = self.listed.dtype
            converted = self.kind.column(plain)
            if plain.dtype.is_integer() and domain_type.is_integer():
                converted = plain.cast(domain_type, strict=False)
            # Text is parsed; numbers, dates and booleans must survive the round trip.
            is_parsed = plain.dtype in (pl.String, pl.Null, pl.Categorical, pl.Enum) or domain_type == pl.String
            round_trip = plain if is_parsed else converted.cast(plain.dtype, strict=False)
        except pl.exceptions.PolarsError:
            raise DataError(
                f"Column {self.name!r} has type {series.dtype}, but its domain has the type {self.kind.value}."
            ) from None
        return converted, round_trip.ne_missing(plain).to_numpy().copy()

    def decode(self, codes: Codes) -> pl.Series:
        """Return the values of these codes."""
        return self.listed.gather(codes)


@dataclass(frozen=True)
class ViewDomain:
    """The product of all columns' domains; ``size`` is its number of tuples, of any magnitude."""

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not self.attributes:
            raise PolicyError("domain is empty: give every column with its number of values or its values.")

    @classmethod
    def of(cls, declared: ViewDomain | Mapping[str, Any]) -> ViewDomain:
        """Build a domain from a mapping from column to values (or number of values)."""
        if isinstance(declared, ViewDomain):
            return declared
        if not isinstance(declared, Mapping):
            raise PolicyError(f"domain must map every column to its values, but it is a {type(declared).__name__}.")
        return cls(tuple(Attribute.of(str(name), values) for name, values in declared.items()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of values of every column."""
        return {attribute.name: attribute.size for attribute in self.attributes}

    @cached_property
    def size(self) -> int:
        """m, the number of tuples."""
        return math.prod(attribute.size for attribute in self.attributes)

    def __getitem__(self, name: str) -> Attribute:
        """Return a column by its name. Raises a :class:`DataError` if there is none."""
        for attribute in self.attributes:
            if attribute.name == name:
                return attribute
        raise DataError(f"The domain has no column {name!r}.{did_you_mean(name, self.names)}")

    def in_order_of(self, names: Sequence[str]) -> ViewDomain:
        """Return the domain with its columns in another order."""
        return ViewDomain(tuple(self[name] for name in names))

    @cached_property
    def _layout(self) -> tuple[dict[str, tuple[int, int]], tuple[int, ...]]:
        """Return for every column the index of its word (64-bit number that encodes several columns) and its multiplier in
        it, and for every word the number of its possible values.
        """
        words: list[list[Attribute]] = [[]]
        for attribute in self.attributes:
            if math.prod(attribute.size for attribute in words[-1]) * attribute.size > _WORD_LIMIT:
                words.append([])
            words[-1].append(attribute)
        word_and_weight: dict[str, tuple[int, int]] = {}
        for word, word_attributes in enumerate(words):
            weight = 1
            for attribute in reversed(word_attributes):
                word_and_weight[attribute.name] = (word, weight)
                weight *= attribute.size
        return word_and_weight, tuple(
            math.prod(attribute.size for attribute in word_attributes) for word_attributes in words
        )

    @property
    def radices(self) -> tuple[int, ...]:
        """The number of values of each word of a key."""
        return self._layout[1]

    @property
    def key_type(self) -> np.dtype[Any]:
        """The dtype of keys: 64-bit integers, or records of them."""
        words = len(self.radices)
        return np.dtype(np.int64) if words == 1 else np.dtype([(f"w{word}", np.int64) for word in range(words)])

    def from_words(self, words: Sequence[Codes]) -> Keys:
        """Return the keys of tuples, given their words: numbers of 64 bits that each encode some of the columns."""
        if len(words) == 1:
            return words[0]
        keys = np.empty(len(words[0]), dtype=self.key_type)
        for word, values in enumerate(words):
            keys[f"w{word}"] = values
        return keys

    def first_word(self, keys: Keys) -> Codes:
        """Return the most significant word of every key."""
        first: Codes = keys if len(self.radices) == 1 else keys["w0"]
        return first

    def pack(self, frame: pl.DataFrame) -> Keys:
        """Return the keys of a frame's rows; every value must be in the declared domain."""
        return self.from_codes(
            {attribute.name: attribute.encode(frame[attribute.name]) for attribute in self.attributes}
        )

    def from_codes(self, codes: Mapping[str, Codes]) -> Keys:
        """Return the keys of rows from their codes in every column."""
        layout, radices = self._layout
        words = [np.zeros(len(codes[self.names[0]]), dtype=np.int64) for _ in radices]
        for name, (word, weight) in layout.items():
            words[word] += codes[name] * weight
        return self.from_words(words)

    def codes(self, keys: Keys, name: str) -> Codes:
        """Return the codes of one column, decoded from ``keys``."""
        word, weight = self._layout[0][name]
        values = keys if len(self.radices) == 1 else keys[f"w{word}"]
        shifted = values // weight if weight > 1 else values
        if weight * self[name].size >= self.radices[word]:
            return shifted
        # Compute the remainder from the quotient: numpy divides many numbers by a scalar fast, but ``%`` is slow.
        multiples: Codes = shifted // self[name].size
        multiples *= self[name].size
        np.subtract(shifted, multiples, out=multiples)
        return multiples

    def unpack(self, keys: Keys, names: Sequence[str] | None = None) -> pl.DataFrame:
        """Decode keys to rows, in some columns or all."""
        chosen = self.names if names is None else names
        return pl.DataFrame([self[name].decode(self.codes(keys, name)) for name in chosen])

    def frame_columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the columns of the domain; a missing one raises a :class:`DataError`."""
        for name in self.names:
            if name not in frame.columns:
                raise DataError(
                    f"The data have no column {name!r}, which the domain declares.{did_you_mean(name, frame.columns)}"
                )
        return frame.select(self.names)

    def as_json(self) -> dict[str, Any]:
        """The domain as plain data: lists of values with their kind, steps, or numbers of values."""
        return {attribute.name: _plain(attribute) for attribute in self.attributes}

    @classmethod
    def from_json(cls, declared: Mapping[str, Any]) -> ViewDomain:
        """The domain that :meth:`as_json` wrote."""
        return cls.of(declared)


def _steps(name: str, declared: Mapping[str, Any]) -> range:
    """Return the integers of a range declared by its ends and its step."""
    unknown = sorted(set(declared) - {"from", "to", "step"})
    if unknown or "from" not in declared or "to" not in declared:
        raise PolicyError(
            f"domain[{name!r}] must be written as {{'from': .., 'to': .., 'step': ..}}, both ends included."
        )
    low, high, step = (_whole(end) for end in (declared["from"], declared["to"], declared.get("step", 1)))
    for value in (low, high, step):
        if isinstance(value, bool) or not isinstance(value, int):
            raise PolicyError(f"domain[{name!r}]: ends and step must be whole numbers, but one of them is {value!r}.")
    if step < 1 or high < low:
        raise PolicyError(f"domain[{name!r}] goes from {low} to {high} by {step}, which has no value.")
    return range(low, high + 1, step)


def _whole(value: Any) -> Any:
    """Parse an integer; those beyond 2^53 are written as text."""
    return int(value) if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 25 else value


def _check_ends(name: str, declared: range) -> None:
    """Refuse integers beyond 64 bits before counting or listing them."""
    if any(not -_WHOLE_LIMIT <= end < _WHOLE_LIMIT for end in (declared.start, declared.stop - 1)):
        raise PolicyError(f"domain[{name!r}]: {_BEYOND}")


def _series(name: str, declared: Any) -> pl.Series:
    """Return declared values as a series of one type; refused if empty, infinite or repeated."""
    try:
        if isinstance(declared, range):
            # Not np.arange(start, stop, step): it computes the distance of the ends, which may overflow 64 bits.
            series = pl.Series(name, declared.start + declared.step * np.arange(len(declared), dtype=np.int64))
        else:
            series = pl.Series(
                name, declared if isinstance(declared, pl.Series | np.ndarray) else list(declared), strict=True
            )
        if series.dtype in (pl.UInt64, pl.Int128, pl.Object) and _is_beyond(series):
            raise PolicyError(f"domain[{name!r}]: {_BEYOND}")
        series = series.cast(pl.Int64) if series.dtype == pl.UInt64 else series
        series = ValueType.of(series.dtype, name).column(series).alias(name)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        kinds = {type(value).__name__: value for value in reversed(list(declared)) if value is not None}
        examples = " and ".join(repr(value) for value in list(kinds.values())[:2])
        raise PolicyError(
            f"domain[{name!r}]: its values must be of one type (numbers, text, dates or booleans), but there are {examples}."
        ) from None
    if len(series) == 0:
        raise PolicyError(f"domain[{name!r}] has no values.")
    if series.dtype.is_float() and not series.drop_nulls().is_finite().all():
        raise PolicyError(f"domain[{name!r}] has a value that is not a finite number. Remove it, or use null.")
    if series.n_unique() < len(series):
        repeated = series.filter(series.is_duplicated())[0]
        raise PolicyError(f"domain[{name!r}] lists {repeated!r} more than once.")
    return series


def _is_beyond(series: pl.Series) -> bool:
    """True if a column holds an integer beyond 64 bits."""
    return any(isinstance(value, int) and not -_WHOLE_LIMIT <= value < _WHOLE_LIMIT for value in series.to_list())


def _plain(attribute: Attribute) -> Any:
    """Return a column of the domain as plain data: its size, steps or values."""
    if attribute.values is None:
        return attribute.size
    if attribute._grid is not None:
        first, step = attribute._grid
        return {"from": first, "to": first + step * (attribute.size - 1), "step": step}
    is_temporal = attribute.kind.is_temporal
    values = attribute.values.cast(pl.String).to_list() if is_temporal else attribute.values.to_list()
    return {"type": attribute.kind.value, "values": values}


def _listed(name: str, entry: Mapping[str, Any]) -> pl.Series:
    """Parse values of a stated type; dates and large integers are written as text."""
    from reticent.conditions import Domain

    types, kind, listed = [value_type.value for value_type in ValueType], entry.get("type", "text"), entry["values"]
    one_of(kind, f"domain[{name!r}]: type", types)
    if not isinstance(listed, list):
        raise PolicyError(f"domain[{name!r}]: values must be a list, but it is {listed!r}.")
    values = Domain.of_values(ValueType(kind), listed).leaves
    assert values is not None
    return values.alias(name)
