"""What analysts work with: the tuples of a randomized release as keys, and what can be asked of them. Views and perturbed records share this."""

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
    """Tuples (``keys``, in rising order) with the ``manifest`` that explains them; ``given`` is the release, or its public side, that they come from.

    Tuples that were drawn and not given out yet are certified and saved by :meth:`save`. ``secure`` says that every draw came from the
    operating system.
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
        """What is claimed, and the fingerprints of the files; nothing before it was published."""
        return self.given.certificate if self.given is not None else {}

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The rows as a table, in the order of the domain."""
        return self.domain.unpack(self.keys)

    @abstractmethod
    def estimate(
        self, condition: str | Condition = "true", *, error: Number | None = None, queries: int = 1
    ) -> Estimate:
        """How many rows of the original table meet a condition."""

    def count(self, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        """The estimate by the name that it has on every release."""
        if estimator != "uniform":
            raise PolicyError(f"{self.called} one estimator, not {estimator!r}.")
        return self.estimate(condition)

    @cached_property
    def release(self) -> Release:
        """The release that was given out; tuples that were not given out yet are certified here, without a name of their data set."""
        from reticent.methods.randomize.view_publication import released
        from reticent.release import Release

        return self.given if isinstance(self.given, Release) else released(self)

    @property
    def public(self) -> PublicSide:
        """What everybody may see."""
        from reticent.release import PublicSide

        return self.given if isinstance(self.given, PublicSide) else self.release.public

    def save(self, path: str | Path, *, files: FileKind | None = None, overwrite: bool = False) -> Path:
        """Write the release to a folder, whole or not at all. ``files`` says of which kind, where it was not given out yet."""
        from reticent.methods.randomize.view_publication import released
        from reticent.release import Release

        if files is None:
            return self.release.save(path, overwrite=overwrite)
        if isinstance(self.given, Release):
            raise PolicyError("The file format is fixed at publication; pass files= to publish.")
        return released(self, files=files).save(path, overwrite=overwrite)
