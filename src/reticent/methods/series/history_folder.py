"""The folder of a history: settings, a secret, one folder of bulk state for each release, and the public releases.

A state is written aside, synced and renamed before the ledger hears of it; which one is true is what the ledger says. A process that is killed leaves the
history before or after a release: what the ledger does not name is swept away, and a release that was reserved and never written is withdrawn.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.files import folder_aside, write_new, write_whole
from reticent.errors import DataError
from reticent.methods.series.box_scales import ColumnRange, places_on
from reticent.methods.series.series import SeriesRelease
from reticent.methods.series.state import DeletedPeople, HistoryState, PersonMarks, as_lists, from_lists
from reticent.table import as_parquet

_SETTINGS, _SECRET, _STATES, _RELEASES, _STATE, _TURN = (
    "history.json",
    "secret",
    "states",
    "releases",
    "state.json",
    "turn",
)
_LAYOUT, _LAYOUT_OF_BUCKETS = 1, 2


@dataclass(frozen=True)
class HistoryFolder:
    """The files of a history. Only their owner may read them."""

    path: Path

    @property
    def ledger(self) -> Path:
        """The ledger of a history that has one of its own."""
        return self.path / "ledger.sqlite"

    def release(self, number: int) -> Path:
        """The folder of a published release."""
        return self.path / _RELEASES / f"{number:04d}"

    def read_settings(self) -> dict[str, Any] | None:
        """The settings, or None where no history is."""
        return _read_json(self.path / _SETTINGS) if (self.path / _SETTINGS).exists() else None

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """Write the settings, whole or not at all."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            layout = _LAYOUT_OF_BUCKETS if settings.get("k") else _LAYOUT
            content = json.dumps({"layout": layout, **settings}, indent=2, ensure_ascii=False).encode() + b"\n"
            write_whole(self.path / _SETTINGS, content, mode=0o600)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def _unwritable(self, reason: str) -> DataError:
        return DataError(f"The history in {str(self.path)!r} could not be written: {reason}. Nothing was published.")

    @property
    def marks(self) -> PersonMarks:
        """Marks of people under the history's secret, which is made when it is first needed."""
        place = self.path / _SECRET
        try:
            if not place.exists():
                write_whole(place, secrets.token_bytes(32), mode=0o600)
            secret = place.read_bytes()
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        if len(secret) != 32:
            raise DataError(
                f"{str(place)!r} is not the secret of a history; without it, people who return cannot be recognized. Restore it from a backup."
            )
        return PersonMarks(secret)

    def write_state(self, version: str, state: HistoryState, follows: str | None) -> None:
        """Write a state aside, under a name that is never used again."""
        release = state.release
        offsets = as_lists(release.offsets, release.values)
        frames = {
            "people": release.quasi.select(pl.all().name.prefix("quasi ")).with_columns(
                key=release.people,
                group=release.group_of.astype(np.int32),
                value=release.value_of.astype(np.int32),
                event=release.events,
            ),
            "groups": pl.DataFrame({"signature": offsets, "counterfeits": release.counterfeits.astype(np.int32)}),
            "left": pl.DataFrame({"key": release.left}),
            "gone": state.gone.frame(),
            "waiting": state.waiting,
        }
        layout = _LAYOUT
        if release.buckets is None:
            frames["groups"] = pl.concat([state.ends, frames["groups"]], how="horizontal")
        else:
            layout = _LAYOUT_OF_BUCKETS
            frames["people"] = frames["people"].with_columns(bucket=release.buckets.astype(np.int32))
            frames["buckets"] = state.ends
        told = {
            "layout": layout,
            "number": release.number,
            "quasi": list(state.orders),
            "follows": follows,
            "snapshot": state.snapshot,
            "domain": list(state.domain),
            "ranges": {name: [_plain(end) for end in ends] for name, ends in state.ranges.items()},
            "facts": dict(state.facts),
        }
        listed = [
            pl.Series(name, [order], dtype=pl.List(release.quasi.schema[name]))
            for name, order in state.orders.items()
            if order is not None
        ]
        try:
            (self.path / _STATES).mkdir(exist_ok=True, mode=0o700)
            with folder_aside(self.path / _STATES / version) as aside:
                os.chmod(aside, 0o700)
                for name, frame in {**frames, "orders": pl.DataFrame(listed)}.items():
                    write_new(aside / f"{name}.parquet", as_parquet(frame), mode=0o600)
                write_new(aside / _STATE, json.dumps(told, ensure_ascii=False).encode(), mode=0o600)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def read_state(self, version: str, orders: Mapping[str, list[Any] | None] | None = None) -> HistoryState:
        """A state from its folder; boxes lie on the scales of the given ``orders``, or its own."""
        folder = self.path / _STATES / version
        told = _read_json(folder / _STATE)
        try:
            frames = {
                name: pl.read_parquet(folder / f"{name}.parquet")
                for name in ("people", "groups", "left", "gone", "waiting", "orders")
            }
            in_buckets = told["layout"] == _LAYOUT_OF_BUCKETS
            ends = pl.read_parquet(folder / "buckets.parquet") if in_buckets else frames["groups"]
            listed = frames["orders"]
            kept = {name: listed[name][0].to_list() if name in listed.columns else None for name in told["quasi"]}
            people, groups = frames["people"], frames["groups"]
            quasi = people.select(pl.col(f"quasi {name}").alias(name) for name in kept)
            offsets, values = from_lists(groups["signature"])
            release = SeriesRelease(
                number=int(told["number"]),
                people=people["key"],
                group_of=people["group"].to_numpy().astype(np.int64),
                value_of=people["value"].to_numpy().astype(np.int64),
                quasi=quasi,
                events=people["event"].to_numpy().astype(np.uint8),
                left=frames["left"]["key"],
                offsets=offsets,
                values=values,
                counterfeits=groups["counterfeits"].to_numpy().astype(np.int64),
                low=_ends(ends, orders or kept, "low"),
                high=_ends(ends, orders or kept, "high"),
                buckets=people["bucket"].to_numpy().astype(np.int64) if in_buckets else None,
            )
            ranges = {name: _range(ends, quasi.schema[name]) for name, ends in told["ranges"].items()}
            return HistoryState(
                release,
                DeletedPeople.read(frames["gone"], release.number),
                frames["waiting"],
                tuple(told["domain"]),
                ranges,
                kept,
                ends.drop("signature", "counterfeits", strict=False),
                str(told["snapshot"]),
                told["facts"],
            )
        except (OSError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, IndexError) as problem:
            raise DataError(
                f"The state {str(folder)!r} is damaged ({type(problem).__name__}: {str(problem).splitlines()[0]}). Restore it from a backup: the next release must know this one."
            ) from None

    def chain(self, version: str | None) -> list[str]:
        """The versions of all states up to one, first to last."""
        found: list[str] = []
        while version is not None:
            if version in found:
                raise DataError(
                    f"The states below {str(self.path)!r} go round in a circle at {version!r}. Restore them from a backup."
                )
            found.append(version)
            version = _read_json(self.path / _STATES / version / _STATE).get("follows")
        return found[::-1]

    @contextmanager
    def turn(self, patience: float) -> Iterator[bool]:
        """Have the folder to oneself while the block runs, if nobody else has it within ``patience`` seconds; a killed process loses its turn.

        It is an exclusive lock on a small SQLite file, which the operating system lets go of when a process dies.
        """
        place = self.path / _TURN
        try:
            os.close(os.open(place, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        connection = sqlite3.connect(place, timeout=patience, isolation_level=None)
        try:
            try:
                connection.execute("BEGIN EXCLUSIVE")
                taken = True
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise self._unwritable(f"{error}; is the disk full?") from error
                taken = False
            yield taken
        finally:
            connection.close()

    def sweep(self, chain: list[str]) -> None:
        """Remove states that the ledger does not name: half written, never recorded, or withdrawn. For whoever has the turn."""
        for folder in self._states():
            if folder.name not in chain:
                shutil.rmtree(folder, ignore_errors=True)

    def _states(self) -> Iterator[Path]:
        place = self.path / _STATES
        if place.is_dir():
            yield from (each for each in place.iterdir() if each.is_dir())


def with_snapshot(state: HistoryState, snapshot: str, facts: Mapping[str, Any]) -> HistoryState:
    """A state that remembers the table it was made from, and what it cost."""
    return replace(state, snapshot=snapshot, facts=dict(facts))


def _ends(boxes: pl.DataFrame, orders: Mapping[str, list[Any] | None], which: str) -> np.ndarray[Any, Any]:
    return np.stack([places_on(boxes[f"{name} {which}"], order) for name, order in orders.items()], axis=1)


def _range(ends: list[Any], dtype: pl.DataType) -> ColumnRange:
    """A range as it was settled; days are written as text."""
    low, high = (pl.Series([end]).str.to_date()[0] if dtype == pl.Date else end for end in ends[:2])
    return low, high, ends[2]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool) else str(value)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise DataError(
            f"{str(path)!r} cannot be read ({type(problem).__name__}). Restore the history from a backup."
        ) from None
    if not isinstance(found, dict) or found.get("layout") not in (_LAYOUT, _LAYOUT_OF_BUCKETS):
        raise DataError(
            f"{str(path)!r} is not written by this version of Reticent. Restore it from a backup, or use the version that wrote it."
        )
    return found
