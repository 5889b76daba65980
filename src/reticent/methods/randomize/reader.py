"""Readers for analysts: the tuples of a randomized release as keys, with the queries common to views and perturbed records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from reticent.base.exact import Number
from reticent.conditions import Condition
from reticent.errors import PolicyError
from reticent.methods.randomize.details import Details
from reticent.methods.randomize.estimators import Estimate
from reticent.methods.randomize.view_domain import Keys, ViewDomain

if TYPE_CHECKING:
    from reticent.release import FileKind, PublicSide, Release


class Reader(ABC):
    """Tuples (``keys``, sorted) with the ``manifest`` that explains them; ``given`` is the release, or its public side, that they come from.

    Tuples that were sampled but not released are certified and saved by :meth:`save`. ``secure``: all randomness came
    from the operating system.
    """

    called: ClassVar[str]
    method: ClassVar[str]
    manifest: Details
    keys: Keys
    secure: bool
    given: Release | PublicSide | None

    @property
    def domain(self) -> ViewDomain:
        """The public domain."""
        return self.manifest.domain

    @property
    def certificate(self) -> Mapping[str, Any]:
        """The claims and the hashes of the files; empty before publication."""
        return self.given.certificate if self.given is not None else {}

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a frame, in domain order."""
        return self.domain.unpack(self.keys)

    @abstractmethod
    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """Estimate how many rows of the original table meet a condition."""

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        """Return the estimated number of records that meet a condition: :meth:`estimate` under the name common to all releases."""
        if estimator != "uniform":
            raise PolicyError(f"{self.called} a single estimator, not {estimator!r}.")
        return self.estimate(condition)

    @cached_property
    def release(self) -> Release:
        """The release; tuples not yet released are certified here, as an unnamed data set."""
        from reticent.methods.randomize.view_publication import released
        from reticent.release import Release

        return self.given if isinstance(self.given, Release) else released(self)

    @property
    def public(self) -> PublicSide:
        """The public side."""
        from reticent.release import PublicSide

        return self.given if isinstance(self.given, PublicSide) else self.release.public

    def save(self, path: str | Path, *, files: FileKind | None = None, overwrite: bool = False) -> Path:
        """Write the release to a folder atomically. ``files`` chooses the file type if it was not published yet."""
        from reticent.methods.randomize.view_publication import released
        from reticent.release import Release

        if files is None:
            return self.release.save(path, overwrite=overwrite)
        if isinstance(self.given, Release):
            raise PolicyError("The file format is fixed at publication; pass files= to publish.")
        return released(self, files=files).save(path, overwrite=overwrite)
