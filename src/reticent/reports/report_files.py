"""Writing the report: the steward's, with adversaries run and risk measured on request, or the public one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reticent.attacks import compare
from reticent.attacks import series as follow
from reticent.base.context import Context
from reticent.base.files import write_whole
from reticent.base.frames import as_polars
from reticent.errors import PolicyError
from reticent.methods.series import PublishedSeries
from reticent.propose import ExposedGroup, Risk, exposures, risk_views
from reticent.release import PublicSide, Release, open_public, verify
from reticent.reports.facts import Comparison, PrivateFacts, gather
from reticent.reports.page import render
from reticent.reports.series_measures import measure_series
from reticent.reports.series_page import write_series_page
from reticent.table import Table

_OWNER_ONLY, _EVERYBODY = 0o600, 0o644


def report(
    target: Any,
    path: str | Path,
    *,
    raw: Table | None = None,
    people: Any = None,
    who: str | None = None,
    public: bool = False,
    regression: str | None = None,
    models: Sequence[str] = (),
    coordinates: Any = None,
    context: Context | None = None,
) -> Path:
    """Write the report on a release or on a series of releases: one self-contained HTML page.

    Parameters:
        target: a release, the folder of one, or a ``History`` (figures of all its releases over time).
        path: where the page goes. The steward's page is readable by its owner only.
        raw: the table that was published: the page then also shows the risk and the attacks before publication.
        people, who: with ``raw``, a list that adversaries look up, and the column to call people by; by default the
            table's own people.
        public: only what follows from the published files; such a page may be shown to everybody.
        regression: with ``raw``, a formula such as ``"wage ~ age + sex"`` that is fitted before and after and shown in full.
        models: with ``raw``, further formulas of which only changed conclusions are shown; by default each sensitive
            column on the quasi columns.
        coordinates: with ``raw``, places with ``latitude`` and ``longitude``: synthetic flows are drawn on a map.
        context: reports progress and can stop the run before the file is written.

    Returns:
        The path of the page.

    Example:
        >>> import reticent as rt, tempfile
        >>> table = rt.Table({"age": [31, 32, 58, 59]}, quasi=["age"])
        >>> rt.report(rt.publish(table, rt.KAnonymity(2)), tempfile.mkdtemp() + "/page.html").name
        'page.html'
    """
    context = context or Context()
    if isinstance(getattr(target, "series", None), PublishedSeries):
        _refuse_beside("a series", raw=raw, people=people, public=public, regression=regression)
        taken = [each.get("seconds") for each in target.facts()]
        learned = follow(target, mode="fixpoint", context=context)
        measured = measure_series(target.series, learned, seconds=taken, context=context)
        name = target.path.resolve().name
        return write_series_page({"this series": measured}, path, name, verdict=target.check())
    if raw is None or public:
        _refuse_beside(
            "a public report" if public else "a report without raw=",
            raw=raw,
            people=people,
            regression=regression,
            models=models or None,
            coordinates=coordinates,
        )
        return write_report(target, path, public=public, context=context)
    return write_stewards_report(
        target,
        path,
        raw,
        people=people,
        who=who,
        regression=regression,
        models=models,
        coordinates=coordinates,
        context=context,
    )


def _refuse_beside(what: str, **given: Any) -> None:
    """Refuse arguments that mean nothing for a kind of report."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise PolicyError(f"report: {name}= cannot be combined with {what}. Leave it out.", setting=(name,))


def write_report(
    release: Release | str | Path,
    path: str | Path,
    *,
    table: Table | None = None,
    attacks: Sequence[Comparison] = (),
    risks: Sequence[Risk] = (),
    exposed: Sequence[Sequence[ExposedGroup]] = (),
    public: bool = False,
    regression: str | None = None,
    models: Sequence[str] = (),
    coordinates: pl.DataFrame | None = None,
    context: Context | None = None,
) -> Path:
    """Write the report on a release, or on the folder of a saved one, to ``path``: the steward's, or the ``public`` one.

    ``table`` is the table that was published; with it the steward's report also tells how exposed people were before. ``attacks``
    are pairs of findings (before or None, after) of :mod:`reticent.attacks`; ``risks`` and ``exposed`` are what :mod:`reticent.propose`
    says about the table before, for each set of quasi columns that an adversary may know. The steward's file is readable by its owner
    only. :func:`write_stewards_report` gathers all of that. The ``context`` reports progress and can stop the run before the file is written.
    """
    target, context = Path(path), context or Context()
    side, private = _sides(release, public, context)
    verified = verify(release, context=context) if isinstance(release, str | Path) else None
    facts = gather(side, private, table, attacks, risks, exposed, regression, models, coordinates, context, verified)
    context.step("drawing")
    content = render(facts)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_whole(target, content.encode(), _EVERYBODY if public else _OWNER_ONLY)
    return target


def write_stewards_report(
    release: Any,
    path: str | Path,
    table: Table,
    *,
    people: Any = None,
    who: str | None = None,
    regression: str | None = None,
    models: Sequence[str] = (),
    coordinates: Any = None,
    context: Context | None = None,
) -> Path:
    """Write the steward's report on a release (or its folder) of ``table``: its adversaries run, its risk looked at.

    ``people`` is a list that adversaries look up, ``who`` the column to call them by; without one the table's own people are looked up.
    ``regression`` is a formula such as ``"wage ~ age + sex"``, run before and after (:func:`analyse`). ``coordinates`` is a table with a place in its first column,
    ``latitude`` and ``longitude``: a synthetic release whose groups and values are places is then compared by distances and drawn on a map.
    """
    context = context or Context()
    return write_report(
        release,
        path,
        table=table,
        attacks=compare(table, release, people, who=who, context=context),
        risks=risk_views(table, context=context),
        exposed=[each.exposed for each in exposures(table, (), context=context)],
        regression=regression,
        models=models,
        coordinates=None if coordinates is None else as_polars(coordinates),
        context=context,
    )


def _sides(release: Release | str | Path, public: bool, context: Context) -> tuple[PublicSide, PrivateFacts | None]:
    side = open_public(release, context=context) if isinstance(release, str | Path) else release.public
    if public:
        return side, None
    return side, PrivateFacts.read(Path(release)) if isinstance(release, str | Path) else PrivateFacts.of(release)
