"""Publish randomized views: from a plan and a table to a release, through the common ``publish``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from reticent.base.context import Context
from reticent.base.disclosures import PriorCheck, SeriesState, alone
from reticent.base.frames import as_polars
from reticent.base.privacy_cost import DeclaredBudget
from reticent.errors import DataError
from reticent.ledger import Ledger, withdrawn_if_unsaved
from reticent.methods.randomize.perturbed_records import FrappView
from reticent.methods.randomize.plans import Plan
from reticent.methods.randomize.reader import Reader
from reticent.methods.randomize.reference_noise import NoiseSource
from reticent.methods.randomize.tuple_draft import DrawnTuples, draw
from reticent.methods.randomize.view import View
from reticent.methods.randomize.view_domain import Keys, ViewDomain
from reticent.release import FileKind, Release, open_public
from reticent.release import publish as give
from reticent.table import Table


def publish(
    frame: Any,
    plan: Plan,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    *,
    duplicates: str = "refuse",
    source: NoiseSource | Mapping[str, Any] | None = None,
    files: FileKind = "csv",
    ledger: str | Path | Ledger | None = None,
    again: bool = False,
    budget: Mapping[str, Any] | None = None,
    insecure_seed: int | None = None,
) -> View:
    """Return a view of ``frame`` by ``plan``: true tuples with probability s, every other tuple of the domain with beta.

    ``domain`` lists the values of every column, as publicly declared; ``source`` is a public distribution for
    non-uniform noise. ``dataset`` names the data: then the view is certified and recorded before this returns, and a
    second independent view of them is a :class:`LedgerError`, since two views together disclose more than each (for a
    series of views use :class:`reticent.methods.randomize.Series`). A view of unnamed data is certified when it is
    saved. ``budget`` is the total privacy cost allowed for all noisy releases of the data set (``{"epsilon": 8,
    "delta": "1e-6"}``).
    """
    sampled = draw(frame, plan, domain, duplicates=duplicates, source=source, insecure_seed=insecure_seed)
    view = View(sampled.details, sampled.keys(), secure=sampled.secure)
    if dataset is None:
        return view
    table = table_of(frame, view.domain, dataset)
    return replace(view, given=released(view, table, budget=budget, files=files, ledger=ledger, again=again))


def publish_to(
    frame: Any,
    plan: Plan,
    path: str | Path,
    domain: ViewDomain | Mapping[str, Any] | None = None,
    dataset: str | None = None,
    *,
    duplicates: str = "refuse",
    source: Any = None,
    files: FileKind = "csv",
    ledger: str | Path | Ledger | None = None,
    again: bool = False,
    overwrite: bool = False,
    budget: Mapping[str, Any] | None = None,
    insecure_seed: int | None = None,
    signing_key: Any = None,
    context: Context | None = None,
) -> int:
    """Sample a view and write it to a folder in chunks, for any size; return the number of its rows."""
    target = Path(path)
    sampled = draw(frame, plan, domain, duplicates=duplicates, source=source, insecure_seed=insecure_seed)
    release = give(
        table_of(frame, sampled.details.domain, dataset),
        sampled.details.definition,
        replace(sampled, budget=DeclaredBudget.of(budget, "publish_to")),
        ledger=ledger,
        again=again,
        files=files,
        signing_key=signing_key,
        context=replace(
            context or Context(), scratch=next(folder for folder in target.absolute().parents if folder.exists())
        ),
    )
    with withdrawn_if_unsaved(release.entry, target):
        release.save(target, overwrite=overwrite)
    return release.public.height


def table_of(frame: Any, domain: ViewDomain, dataset: str | None) -> Table:
    """Return a frame as a table with the columns of the domain, without a count column."""
    data = as_polars(frame)
    published = [name for name in domain.names if name in data.columns]
    return Table(data, quasi=published, nulls="category", dataset=dataset)


def released(
    reader: Reader,
    table: Table | None = None,
    *,
    state: SeriesState | None = None,
    beside: PriorCheck = alone,
    series: str | None = None,
    budget: Mapping[str, Any] | None = None,
    **options: Any,
) -> Release:
    """Release sampled tuples: certified, and recorded if the table's data set has a name."""
    if table is None:
        table = table_of(reader.domain.unpack(reader.keys[:1]), reader.domain, None)
    sampled = DrawnTuples(
        reader.manifest,
        iter([reader.keys]),
        reader.secure,
        len(reader),
        {"name": reader.method},
        state,
        beside,
        series,
        DeclaredBudget.of(budget, "publish"),
    )
    return give(table, reader.manifest.definition, sampled, **options)


def open_published(path: str | Path) -> View | FrappView:
    """Open a view or perturbed records from their folder, depending on the manifest."""
    reader = open_public(path).reader
    if not isinstance(reader, View | FrappView):
        raise DataError(f"{str(path)!r} is not a randomized release: its format is {open_public(path).format!r}.")
    return reader


def open_view(path: str | Path, earlier: Keys | None = None) -> View:
    """Open a view from its folder, together with the ``earlier`` views of its series."""
    reader = open_published(path)
    if not isinstance(reader, View):
        raise DataError(f"{str(path)!r} holds perturbed records, not a view.")
    return replace(reader, earlier=earlier)
