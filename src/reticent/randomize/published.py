"""What a view and perturbed records have in common: rows as keys beside a public manifest, counted and saved in one way."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from reticent.data.predicate import Condition
from reticent.errors import PolicyError
from reticent.exact import Number
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.estimating import Estimate
from reticent.randomize.manifest import Manifest

Signer = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class Published(ABC):
    """A randomized release: ``keys`` in rising order, what is claimed of them, and who signs it when it is saved as ``files``."""

    called: ClassVar[str]
    manifest: Manifest
    keys: Keys
    certificate: Mapping[str, Any]
    files: str
    signer: Signer | None

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.manifest.domain

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a table, in the order of the domain."""
        return self.domain.unpack(self.keys)

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The published tables by name."""
        return {self.manifest.table: self.frame}

    @abstractmethod
    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """How many rows of the original table meet a condition."""

    @abstractmethod
    def sum(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """What a numeric column adds up to over the rows that meet a condition."""

    @abstractmethod
    def average(self, column: str, condition: str | Condition = "true", *, error: Number | None = None) -> Estimate:
        """The average of a numeric column over the rows that meet a condition."""

    @abstractmethod
    def group_by(
        self,
        columns: str | Sequence[str],
        condition: str | Condition = "true",
        *,
        error: Number | None = None,
        queries: int = 1,
        intervals: bool = True,
    ) -> pl.DataFrame:
        """One estimate for every combination of some columns' values."""

    def count(self, condition: str, estimator: str = "uniform") -> Estimate:
        """The estimate by the name that it has on every release."""
        if estimator != "uniform":
            raise PolicyError(f"{self.called} one estimator, not {estimator!r}.")
        return self.estimate(condition)

    def save(self, path: str | Path, *, files: str | None = None, overwrite: bool = False) -> Path:
        """Write the rows and their manifest to a folder, whole or not at all; signed, where they were published with a key."""
        from reticent.randomize.storing import save_published

        return save_published(self, path, files=files or self.files, overwrite=overwrite)
