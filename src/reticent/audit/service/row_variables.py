"""The mapping from rows to the variables of an auditor.

A variable is *one value of one person*. So an inserted row adds new variables, the variables of a deleted row stay in
the answered queries, a modified value is a new variable, and a restored value is its earlier variable. Known values are
stored as keyed hashes in the ledger, never in plain text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.audit.service.database import AskedRows
from reticent.audit.service.settings import Settings
from reticent.base.arrow_streams import ArrowStream
from reticent.errors import DataError
from reticent.ledger import Audits, Secret

if TYPE_CHECKING:
    import duckdb

MISSING = -1
"""Marks a row without a value, and therefore without a variable."""


class People:
    """The rows as last read, and their variables. Mutable: the table changes."""

    def __init__(self, settings: Settings, audits: Audits, secret: Secret) -> None:
        """Start without rows; ``update`` numbers the values of each sensitive column as variables, and their people as
        owners.
        """
        self._settings, self._audits, self._secret = settings, audits, secret
        self.state: str | None = None
        self.public = pl.DataFrame()
        self.variables: Mapping[str, NDArray[np.int64]] = {}
        self.owners: Mapping[str, NDArray[np.int64]] = dict.fromkeys(settings.sensitive, np.empty(0, dtype=np.int64))
        self.registered: dict[str, int] = dict.fromkeys(settings.sensitive, 0)
        self._rows: dict[str, NDArray[np.int64]] = {}

    def update(self, rows: AskedRows) -> None:
        """Update to the current rows, and register new variables: one for each value that a person has or had in a
        sensitive column.

        ``registered`` counts them.
        """
        variables, owners = {}, {}
        for column, declared in self._settings.sensitive.items():
            if not declared.duplicates and rows.values[column].drop_nulls().is_duplicated().any():
                raise DataError(
                    f"Column {column!r} is declared duplicates = 'distinct', but people share values. Declare 'allowed'.",
                    column=column,
                )
            hashes = pair_hashes(column, rows.keys, rows.values[column], self._secret)
            stored = self._audits.hashes(self._settings.dataset, column, self._secret.fingerprint)
            known_hashes = np.frombuffer(stored, dtype=">u8").reshape(-1, 2).astype(np.uint64)
            numbers, unseen = _look_up(hashes, known_hashes)
            if unseen.size:
                first = len(known_hashes)
                fresh = hashes[unseen].astype(">u8").tobytes()
                self._audits.register(self._settings.dataset, column, self._secret.fingerprint, first, fresh)
                numbers[unseen] = np.arange(first, first + unseen.size)
            numbers[rows.values[column].is_null().to_numpy()] = MISSING
            variables[column] = numbers
            self.registered[column] += int(unseen.size)
            all_owners = np.concatenate([known_hashes[:, 0], hashes[unseen, 0]])
            owners[column] = np.unique(all_owners, return_inverse=True)[1].astype(np.int64)
        self.public, self.variables, self.owners, self.state = rows.public, variables, owners, rows.state
        self._rows = {}

    def rows_of(self, column: str, members: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Return the rows that hold these variables now, in order; None if one of the values is gone."""
        if column not in self._rows:
            row_of = np.full(len(self.owners[column]), MISSING, dtype=np.int64)
            present_rows = np.flatnonzero(self.variables[column] != MISSING)
            row_of[self.variables[column][present_rows]] = present_rows
            self._rows[column] = row_of
        row_of = self._rows[column]
        if members[-1] >= len(row_of):
            return None
        rows = row_of[members]
        if not (rows[1:] > rows[:-1]).all():
            rows = np.sort(rows)
        return None if rows[0] == MISSING else rows


def pair_hashes(column: str, keys: pl.Series, values: pl.Series, secret: Secret) -> NDArray[np.uint64]:
    """Return two numbers per row: 64 bits of the HMAC of (column, key), which identify the owner, and 64 bits of the
    HMAC of (column, key, value).

    Length prefixes separate the parts.
    """
    if not len(keys):
        return np.empty((0, 2), dtype=np.uint64)
    inner, outer = secret.pads
    digest = "left(sha256($outer::BLOB || unhex(sha256($inner::BLOB || encode({})))), 16)"
    owner = "concat('owner', $column::VARCHAR, strlen(key), ':', key)"
    owner_and_value = "concat($column::VARCHAR, strlen(key), ':', key, coalesce(value, 'missing'))"
    with _calculator(os.getpid()).cursor() as connection:
        connection.register("pairs", ArrowStream(pl.DataFrame({"key": keys, "value": values})))
        hexadecimal = connection.execute(
            f"SELECT string_agg({digest.format(owner)} || {digest.format(owner_and_value)}, '' ORDER BY place) "
            "FROM (SELECT key, value, row_number() OVER () AS place FROM pairs)",
            {"outer": outer, "inner": inner, "column": f"{len(column.encode())}:{column}"},
        ).fetchall()[0][0]
    return np.frombuffer(bytes.fromhex(hexadecimal), dtype=">u8").reshape(-1, 2).astype(np.uint64)


@cache
def _calculator(process: int) -> duckdb.DuckDBPyConnection:
    """Return an empty in-memory database of this process: opening one takes ten times as long as hashing a small table. Callers use a cursor each."""
    import duckdb

    return duckdb.connect(":memory:")


def _look_up(
    hashes: NDArray[np.uint64], known_hashes: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of each hash among the known ones, and the rows whose hash is new."""
    known_frame = pl.DataFrame(
        {"a": known_hashes[:, 0].copy(), "b": known_hashes[:, 1].copy(), "variable": np.arange(len(known_hashes))}
    )
    frame = pl.DataFrame({"a": hashes[:, 0].copy(), "b": hashes[:, 1].copy()})
    numbers = frame.join(known_frame, on=["a", "b"], how="left", maintain_order="left")["variable"]
    return numbers.fill_null(MISSING).to_numpy().copy(), np.flatnonzero(numbers.is_null().to_numpy())
