"""The formats ``view`` and ``records``: sampled tuples, sorted in domain order, and judged by the plan of the mechanism."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.exact import exact
from reticent.conditions import Condition
from reticent.core import AdversaryView, Channel, Draft, MechanismPlan
from reticent.definitions import BoundedBelief, Definition
from reticent.errors import DataError
from reticent.methods.randomize.details import Details, FrappManifest, ViewManifest
from reticent.methods.randomize.estimators import Estimate
from reticent.methods.randomize.linear_queries import ROWS_AT_ONCE
from reticent.methods.randomize.perturbed_records import FrappView
from reticent.methods.randomize.reader import Reader
from reticent.methods.randomize.tuple_sets import among, in_order, is_rising
from reticent.methods.randomize.view import View
from reticent.methods.randomize.view_domain import Keys
from reticent.release import ManifestColumn
from reticent.release.format import MechanismFormat, Words, read_details
from reticent.table import Rows, Table, ValueType

if TYPE_CHECKING:
    from reticent.release import PublicSide

ROLE = "drawn"
_UNEVEN = (
    "Sighting applies to a single view with uniform noise: with a source every record has its own noise rate, and later views of a series need the "
    "earlier ones (reticent randomize)."
)


class DrawnFormat(MechanismFormat):
    """One table of tuples of a public domain. No single row is true by itself, so its columns have the role ``drawn``."""

    roles: ClassVar[tuple[str, ...]] = (ROLE,)
    streams: ClassVar[bool] = True
    details: ClassVar[type[Details]]

    def refusal(self, definition: Definition) -> str | None:
        if isinstance(definition, BoundedBelief):
            return None
        return f"{definition} is not a bound on beliefs, the only kind of claim that randomized rows support."

    def columns(self, draft: Draft, table: Table, tables: Any) -> tuple[ManifestColumn, ...]:
        schema = draft.tables[self.name].schema
        return tuple(ManifestColumn(name, ROLE, ValueType.published(dtype)) for name, dtype in schema.items())

    def read(self, public: PublicSide) -> Details:
        """Return the details of a release."""
        return self.parsed(public.manifest.details, public.manifest.tables[self.name].columns)

    def parsed(self, payload: Mapping[str, Any], described: Sequence[str]) -> Details:
        """Parse the details over the ``described`` columns; the plan is judged, so that one with too little noise is refused."""
        parse: Callable[[Mapping[str, Any]], Details] = self.details.from_json
        details = read_details(parse, payload)
        if set(described) != set(details.domain.names):
            raise DataError(
                f"manifest.json describes the columns {', '.join(described)}, but its domain has {', '.join(details.domain.names)}."
            )
        return details.in_order_of(described)

    def check(self, public: PublicSide) -> None:
        """Check that all rows are in the domain, in domain order, and distinct if the release is a set."""
        details, columns = self.read(public), public.manifest.columns
        for column in columns:
            if column.role != ROLE or column.kind != details.domain[column.name].kind:
                raise DataError(
                    f"manifest.json: column {column.name!r} must have the role {ROLE!r} and the type of its domain."
                )
        last_key = np.empty(0, details.domain.key_type)
        for keys in self._packed(public, details):
            joined = np.concatenate([last_key, keys])
            is_ordered = is_rising(joined) if details.is_set else np.array_equal(joined, in_order(joined))
            if not is_ordered:
                expectation = "a set in the order of its domain" if details.is_set else "in the order of its domain"
                raise DataError(f"{self.name} is not {expectation}; it was changed after it was published.")
            last_key = keys[-1:]

    def seen(
        self, rows: Mapping[str, Rows], columns: Sequence[ManifestColumn], details: Mapping[str, Any]
    ) -> AdversaryView:
        """Return the adversary view: published tuples that may be noise, and the channel that made them."""
        frame = rows[self.name].frame()
        details_read = self.parsed(details, frame.columns)
        keys = details_read.domain.pack(frame)

        def shows(people: pl.DataFrame) -> NDArray[np.bool_]:
            return among(details_read.domain.pack(details_read.domain.frame_columns(people)), keys)

        return replace(AdversaryView.in_noise(frame), channel=self.channel(details_read, frame.height, shows))

    @abstractmethod
    def channel(self, details: Any, rows: int, shows: Callable[[pl.DataFrame], NDArray[np.bool_]]) -> Channel:
        """Return the inclusion probabilities of a record, if it is true and if it is not."""

    def _packed(self, public: PublicSide, details: Details) -> Iterator[Keys]:
        for chunk in public.rows[self.name].chunks():
            for part in chunk.iter_slices(ROWS_AT_ONCE):
                yield details.domain.pack(details.domain.frame_columns(part))

    def plan(self, public: PublicSide) -> MechanismPlan:
        return self.read(public).plan

    def words(self, public: PublicSide) -> Words:
        """Return what was published, what noise hides, and the residual risks."""
        return Words(
            self.read(public).words(public.height),
            (
                "A reader who takes a row for true is wrong most of the time. Count with `reticent query`, which knows the noise.",
            ),
        )

    def count(self, public: PublicSide, condition: str | Condition, estimator: str = "uniform") -> Estimate:
        return self.reader(public).count(condition, estimator)

    def reader(self, public: PublicSide) -> Reader:
        """Return the published tuples with their plan, ready for queries."""
        details = self.read(public)
        chunks = list(self._packed(public, details))
        keys = np.concatenate(chunks) if chunks else np.empty(0, details.domain.key_type)
        return self.made(details, keys, public)

    @abstractmethod
    def made(self, details: Any, keys: Keys, public: PublicSide) -> Reader:
        """Return the reader of some tuples."""


def _secure(public: PublicSide) -> bool:
    return public.certificate["randomness"]["releasable"] is True


class ViewFormat(DrawnFormat):
    """A randomized view (alpha-beta publishing): a set of tuples, most of which are not in the original table."""

    name: ClassVar[str] = "view"
    tables: ClassVar[tuple[str, ...]] = ("view",)
    details: ClassVar[type[Details]] = ViewManifest

    def made(self, details: Any, keys: Keys, public: PublicSide) -> View:
        return View(details, keys, secure=_secure(public), given=public)

    def channel(self, details: Any, rows: int, shows: Callable[[pl.DataFrame], NDArray[np.bool_]]) -> Channel:
        """Return the chances with which true and other tuples are published, as an adversary knows them."""
        plan = details.plan
        return Channel(
            plan.s,
            plan.beta,
            plan.beta,
            plan.d,
            plan.gamma,
            shows,
            is_set=True,
            refusal=None if plan.source is None and details.index == 1 else _UNEVEN,
        )


class RecordsFormat(DrawnFormat):
    """Perturbed records (FRAPP): as many rows as the original table, each kept with the same probability."""

    name: ClassVar[str] = "records"
    tables: ClassVar[tuple[str, ...]] = ("records",)
    details: ClassVar[type[Details]] = FrappManifest

    def made(self, details: Any, keys: Keys, public: PublicSide) -> FrappView:
        return FrappView(details, keys, secure=_secure(public), given=public)

    def channel(self, details: Any, rows: int, shows: Callable[[pl.DataFrame], NDArray[np.bool_]]) -> Channel:
        kept, replaced, promise = details.plan.kept, details.plan.replaced, details.definition
        d, gamma = exact(promise.d, "d"), exact(promise.gamma, "gamma")
        return Channel(kept, replaced, 1 - (1 - float(replaced)) ** rows, d, gamma, shows)


VIEW, RECORDS = ViewFormat(), RecordsFormat()
