"""The folder of a history: settings, a secret, one state folder for each release, and the public releases.

A state is written to a temporary folder, synced and renamed before the ledger is updated. The ledger names the valid
states with their file hashes, so that a missing or changed state is refused. A killed process leaves the history before
or after a release. Reading changes nothing: publishing removes what the ledger does not name, and withdraws a release
that was reserved and never written.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.base.files import folder_aside, make_folder, write_new, write_whole
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
_LEDGER = "ledger"
FileHashes = Mapping[str, str]


@dataclass(frozen=True)
class HistoryFolder:
    """The files of a history, readable by their owner only."""

    path: Path

    @property
    def own_ledger(self) -> Path:
        """The ledger inside the history's folder, if it has its own."""
        return self.path / "ledger.sqlite"

    def release(self, number: int) -> Path:
        """Return the folder of a published release."""
        return self.path / _RELEASES / f"{number:04d}"

    def read_settings(self) -> dict[str, Any] | None:
        """Return the settings, or None if there is no history."""
        return _read_json(self.path / _SETTINGS) if (self.path / _SETTINGS).exists() else None

    def bound_ledger(self) -> tuple[Path, str] | None:
        """Return the path of the history's ledger and the fingerprint of its key; None before it has one."""
        bound = (self.read_settings() or {}).get(_LEDGER)
        if bound is None:
            return None
        try:
            return Path(bound["path"]), str(bound["fingerprint"])
        except (KeyError, TypeError):
            raise DataError(
                f"The settings of the history in {str(self.path)!r} have no ledger. Restore them from a backup."
            ) from None

    def neighbours(self) -> Iterator[HistoryFolder]:
        """Yield other readable histories in the same parent folder."""
        for path in sorted(self.path.absolute().parent.iterdir()):
            other = HistoryFolder(path)
            if path.name != self.path.absolute().name and (path / _SETTINGS).is_file() and other.has_states:
                yield other

    def newest_people(self) -> pl.Series:
        """Return the keys of the people in the newest state, without the ledger; empty if unreadable."""
        newest = max(self._states(), key=lambda state: _number_of(state.name))
        try:
            return _keys(pl.read_parquet(newest / "people.parquet", columns=["key"])["key"])
        except (OSError, pl.exceptions.PolarsError):
            return pl.Series("key", [], dtype=pl.String)

    def write_settings(self, settings: Mapping[str, Any], ledger: Path, fingerprint: str) -> None:
        """Write the settings and the history's ledger atomically."""
        try:
            make_folder(self.path, mode=0o700)
            layout = _LAYOUT_OF_BUCKETS if settings.get("k") else _LAYOUT
            ledger_entry = {"path": str(ledger), "fingerprint": fingerprint}
            payload = {"layout": layout, **settings, _LEDGER: ledger_entry}
            content = json.dumps(payload, indent=2, ensure_ascii=False).encode() + b"\n"
            write_whole(self.path / _SETTINGS, content, mode=0o600)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def _unwritable(self, reason: str) -> DataError:
        return DataError(f"The history in {str(self.path)!r} could not be written: {reason}. Nothing was published.")

    def make_secret(self) -> None:
        """Create the secret for keyed hashes of people; for a history without releases."""
        try:
            if not (self.path / _SECRET).exists():
                write_whole(self.path / _SECRET, secrets.token_bytes(32), mode=0o600)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error

    def marks(self, fingerprint: str | None = None) -> PersonMarks:
        """Return the keyed hashing under the history's secret, which must match this ``fingerprint`` if one is given."""
        path = self.path / _SECRET
        try:
            marks = PersonMarks(path.read_bytes())
        except OSError:
            raise DataError(f"{str(path)!r} is missing; {_NO_RETURNS}") from None
        if len(marks.secret) != 32 or fingerprint not in (None, marks.fingerprint):
            raise DataError(f"{str(path)!r} is not the secret of this history; {_NO_RETURNS}")
        return marks

    def write_state(self, version: str, state: HistoryState, follows: str | None) -> dict[str, str]:
        """Write a state under a name that is never reused; return the hashes of its files."""
        files = state_files(state, follows)
        try:
            make_folder(self.path / _STATES, mode=0o700)
            with folder_aside(self.path / _STATES / version, mode=0o700) as aside:
                for name, content in files.items():
                    write_new(aside / name, content, mode=0o600)
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        return hashes_of(files)

    def rewrite_state(self, version: str, files: Mapping[str, bytes]) -> None:
        """Replace some files of a state, each atomically."""
        try:
            for name, content in files.items():
                write_whole(self.path / _STATES / version / name, content, mode=0o600)
        except OSError as error:
            raise DataError(
                f"The data about forgotten people could not be removed from {str(self.path)!r} yet: {error.strerror or error}. All releases are published and recorded. Free disk space; the next "
                "publication or erasure will continue."
            ) from error

    def file_hashes(self, version: str) -> dict[str, str]:
        """Return the current hashes of the files of a state."""
        folder = self.path / _STATES / version
        return {file.name: _hash(file.read_bytes()) for file in folder.iterdir() if not file.name.startswith(".")}

    def read_state(
        self,
        version: str,
        files: FileHashes,
        orders: Mapping[str, list[Any] | None] | None = None,
        formerly: FileHashes | None = None,
    ) -> HistoryState:
        """Read a state whose ``files`` must have these hashes; boxes use the scales of the given ``orders``, or its own."""
        folder = self.path / _STATES / version
        self.check_files(version, files, formerly or {})
        payload = _read_json(folder / _STATE)
        try:
            frames = {
                name: pl.read_parquet(folder / f"{name}.parquet")
                for name in ("people", "groups", "left", "gone", "waiting", "orders", "forgotten")
            }
            in_buckets = payload["layout"] == _LAYOUT_OF_BUCKETS
            ends = pl.read_parquet(folder / "buckets.parquet") if in_buckets else frames["groups"]
            order_lists = frames["orders"]
            stored_orders = {
                name: order_lists[name][0].to_list() if name in order_lists.columns else None
                for name in payload["quasi"]
            }
            people, groups = frames["people"], frames["groups"]
            quasi = people.select(pl.col(f"quasi {name}").alias(name) for name in stored_orders)
            offsets, values = from_lists(groups["signature"])
            release = SeriesRelease(
                number=int(payload["number"]),
                people=_keys(people["key"]),
                group_of=people["group"].to_numpy().astype(np.int64),
                value_of=people["value"].to_numpy().astype(np.int64),
                quasi=quasi,
                events=people["event"].to_numpy().astype(np.uint8),
                left=_keys(frames["left"]["key"]),
                offsets=offsets,
                values=values,
                counterfeits=groups["counterfeits"].to_numpy().astype(np.int64),
                low=_ends(ends, orders or stored_orders, "low"),
                high=_ends(ends, orders or stored_orders, "high"),
                buckets=people["bucket"].to_numpy().astype(np.int64) if in_buckets else None,
            )
            ranges = {name: _range(ends, quasi.schema[name]) for name, ends in payload["ranges"].items()}
            return HistoryState(
                release,
                DeletedPeople.read(frames["gone"], release.number),
                frames["waiting"],
                tuple(payload["domain"]),
                ranges,
                stored_orders,
                ends.drop("signature", "counterfeits", strict=False),
                str(payload["snapshot"]),
                payload["facts"],
                frames["forgotten"]["mark"],
            )
        except (OSError, pl.exceptions.PolarsError, KeyError, TypeError, ValueError, IndexError) as problem:
            raise DataError(
                f"The state {str(folder)!r} is damaged ({type(problem).__name__}: {str(problem).splitlines()[0]}). Restore it from a backup: the next release depends on it."
            ) from None

    def check_files(self, version: str, files: FileHashes, formerly: FileHashes) -> None:
        """Refuse a state with a file that is missing or changed since the ledger recorded it; one being rewritten may still match ``formerly``."""
        for name, expected in files.items():
            path = self.path / _STATES / version / name
            try:
                digest = _hash(path.read_bytes())
            except OSError:
                digest = ""
            if digest not in (expected, formerly.get(name, expected)):
                problem = "was changed" if digest else "is missing"
                raise DataError(
                    f"{str(path)!r} {problem}: it does not match the ledger. Restore it from a backup: the next release depends on it."
                )

    def has_state(self, version: str) -> bool:
        """True if a state's folder exists."""
        return (self.path / _STATES / version).is_dir()

    @property
    def has_states(self) -> bool:
        """True if any state was written."""
        return any(_number_of(state.name) for state in self._states())

    def least_known(self) -> int:
        """Return a lower bound of the number of releases in the true ledger, from the folder: releases, and states, which follow a recorded state."""
        folder = self.path / _RELEASES
        released = (
            [int(release_folder.name) for release_folder in folder.iterdir() if release_folder.name.isdecimal()]
            if folder.is_dir()
            else []
        )
        return max((*released, *(_number_of(state.name) - 1 for state in self._states())), default=0)

    @contextmanager
    def turn(self, patience: float) -> Iterator[bool]:
        """Hold the folder's lock while the block runs, if it becomes free within ``patience`` seconds.

        It is an exclusive lock on a small SQLite file, which the operating system releases when the process dies.
        """
        path = self.path / _TURN
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise self._unwritable(error.strerror or str(error)) from error
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None)
        try:
            try:
                connection.execute("BEGIN EXCLUSIVE")
                is_taken = True
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
                    raise self._unwritable(f"{error}; is the disk full?") from error
                is_taken = False
            yield is_taken
        finally:
            connection.close()

    def sweep(self, versions: Sequence[str], releases: int) -> None:
        """Remove invalid states: partially written ones, and those of the first ``releases`` releases that the ledger does
        not name. Requires the lock.
        """
        for folder in self._states():
            if folder.name not in versions and _number_of(folder.name) <= releases:
                shutil.rmtree(folder, ignore_errors=True)

    def remove_state(self, version: str) -> None:
        """Remove a state."""
        shutil.rmtree(self.path / _STATES / version, ignore_errors=True)

    def _states(self) -> Iterator[Path]:
        folder = self.path / _STATES
        if folder.is_dir():
            yield from (path for path in folder.iterdir() if path.is_dir())


def state_files(state: HistoryState, follows: str | None) -> dict[str, bytes]:
    """Return the files of a state by name."""
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
        "forgotten": pl.DataFrame({"mark": state.forgotten}),
    }
    layout = _LAYOUT
    if release.buckets is None:
        frames["groups"] = pl.concat([state.ends, frames["groups"]], how="horizontal")
    else:
        layout = _LAYOUT_OF_BUCKETS
        frames["people"] = frames["people"].with_columns(bucket=release.buckets.astype(np.int32))
        frames["buckets"] = state.ends
    payload = {
        "layout": layout,
        "number": release.number,
        "quasi": list(state.orders),
        "follows": follows,
        "snapshot": state.snapshot,
        "domain": list(state.domain),
        "ranges": {name: [_plain(end) for end in ends] for name, ends in state.ranges.items()},
        "facts": dict(state.facts),
    }
    order_lists = [
        pl.Series(name, [order], dtype=pl.List(release.quasi.schema[name]))
        for name, order in state.orders.items()
        if order is not None
    ]
    files = {
        f"{name}.parquet": as_parquet(frame) for name, frame in {**frames, "orders": pl.DataFrame(order_lists)}.items()
    }
    files[_STATE] = json.dumps(payload, ensure_ascii=False).encode()
    return files


def hashes_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the hashes of files by name."""
    return {name: _hash(content) for name, content in files.items()}


_NO_RETURNS = "without it, people who return cannot be recognized. Restore it from a backup."


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _number_of(version: str) -> int:
    """Return the release number of a state; 0 for an unfinished one."""
    head = version.partition("-")[0]
    return int(head) if head.isdecimal() else 0


def with_snapshot(state: HistoryState, snapshot: str, facts: Mapping[str, Any]) -> HistoryState:
    """Return a state with the hash of its table and the cost of the release."""
    return replace(state, snapshot=snapshot, facts=dict(facts))


def _keys(keys: pl.Series) -> pl.Series:
    """Read keys as they were written; integers are wide enough for the replacements of forgotten people."""
    return keys.cast(pl.Int64) if keys.dtype.is_integer() else keys


def _ends(boxes: pl.DataFrame, orders: Mapping[str, list[Any] | None], end: str) -> np.ndarray[Any, Any]:
    return np.stack([places_on(boxes[f"{name} {end}"], order) for name, order in orders.items()], axis=1)


def _range(ends: list[Any], dtype: pl.DataType) -> ColumnRange:
    """Read a stored range; dates are stored as text."""
    low, high = (pl.Series([end]).str.to_date()[0] if dtype == pl.Date else end for end in ends[:2])
    return low, high, ends[2]


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | str | bool) else str(value)


def _read_json(path: Path) -> dict[str, Any]:
    """Return the content of a file of the history. Raises if it cannot be read, or has another layout."""
    try:
        payload = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise DataError(
            f"{str(path)!r} cannot be read ({type(problem).__name__}). Restore the history from a backup."
        ) from None
    if not isinstance(payload, dict) or payload.get("layout") not in (_LAYOUT, _LAYOUT_OF_BUCKETS):
        raise DataError(
            f"{str(path)!r} was not written by this version of Reticent. Restore it from a backup, or use the version that wrote it."
        )
    return payload
