"""Memoized samples by person and value, in a private file, so that later releases publish the same sample again."""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from reticent.base.files import write_whole
from reticent.errors import DataError, PolicyError
from reticent.methods.randomize.view_domain import Codes

_SCHEMA = pl.Schema({"person": pl.String, "value": pl.Int64, "shown": pl.Int64, "plan": pl.String, "name": pl.String})
_NAME_BYTES = 8


@dataclass(frozen=True)
class DrawnValues:
    """The file of samples of one plan. It contains people's true values, so it is readable by its owner only."""

    path: Path
    plan: str

    def recalled(self, people: pl.Series, values: Codes, draw: Callable[[Codes], Codes]) -> tuple[Codes, str]:
        """Return the published value for each person's value, stored earlier or sampled now by ``draw``, and the public name of this memory.

        New samples are written to disk before anything is published, and a lock admits one process at a time.
        """
        requested = pl.DataFrame({"person": people, "value": values})
        with self._alone():
            stored = self._read()
            name = stored["name"][0] if stored.height else secrets.token_hex(_NAME_BYTES)
            matched = requested.join(stored, on=["person", "value"], how="left", maintain_order="left")
            new = np.flatnonzero(matched["shown"].is_null().to_numpy())
            published = matched["shown"].fill_null(-1).to_numpy().copy()
            if len(new):
                published[new] = draw(values[new])
                new_rows = requested[new].with_columns(
                    pl.Series("shown", published[new]), pl.lit(self.plan).alias("plan"), pl.lit(name).alias("name")
                )
                self._write(pl.concat([stored, new_rows]))
        return published.astype(np.int64), str(name)

    def _read(self) -> pl.DataFrame:
        """Read the stored samples; an unreadable or damaged file, or one of another plan, is refused."""
        if not self.path.exists():
            return pl.DataFrame(schema=_SCHEMA)
        try:
            stored = pl.read_parquet(self.path)
        except (pl.exceptions.PolarsError, OSError) as problem:
            raise DataError(
                f"The memory file {str(self.path)!r} cannot be read ({problem}). Restore it from a backup: sampling again would disclose more."
            ) from None
        is_malformed = (
            stored.schema != _SCHEMA or not stored.height or any(stored[name].null_count() for name in stored.columns)
        )
        if is_malformed or stored.select("person", "value").is_duplicated().any():
            raise DataError(
                f"The memory file {str(self.path)!r} is damaged. Restore it from a backup: sampling again would disclose more."
            )
        if (stored["plan"] != self.plan).any():
            raise PolicyError(
                f"The memory file {str(self.path)!r} was made with another probability or other values. Publish with the same ones: a second sample would add its epsilon.",
                setting=("memory",),
            )
        return stored

    def _write(self, draws: pl.DataFrame) -> None:
        """Replace the file of samples atomically."""
        written = io.BytesIO()
        # Sorted, so that the order does not reveal when a person was added.
        draws.sort("person", "value").write_parquet(written)
        write_whole(self.path, written.getvalue(), mode=0o600)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock of this memory."""
        try:
            handle = os.open(self.path.with_name(f".{self.path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise DataError(f"The memory file {str(self.path)!r} cannot be opened: {problem.strerror}.") from None
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)
