"""Writes reports: the confidential one for the steward (optionally with attacks and risk measures), or the public one."""

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
from reticent.reports.synthetic_page import write_synthetic_page
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
    original: Any = None,
    control: Any = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    context: Context | None = None,
) -> Path:
    """Write the report on a release, a series of releases or synthetic records: one self-contained HTML page.

    Parameters:
        target: a release, its folder, or a ``History`` (measures of all its releases over time); with ``original``, synthetic records made by any tool: a file or a frame.
        path: path of the HTML file. Only its owner can read the steward's page.
        raw: the original table; if given, the page also shows risk and attacks before publication.
        people, who: with ``raw``, an external list of people for linkage attacks, and the column with their names; by
            default the people in the table are the targets.
        public: include only what follows from the published files; such a page may be published.
        regression: with ``raw``, a formula such as ``"wage ~ age + sex"`` that is fitted before and after and shown in full.
        models: with ``raw``, further formulas of which only changed conclusions are shown; by default each sensitive
            column on the quasi columns.
        coordinates: with ``raw``, locations with ``latitude`` and ``longitude``; synthetic flows are then shown on a map.
        original: the table that synthetic records were made from: a ``Table``, a frame or a data file. They are attacked and compared with it.
        control: with ``original``, people who are not in the data: what is learned about them as well is not a leak.
        quasi, sensitive: with ``original``, the columns that are known and those to guess; by default all that both files have are both.
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
    synthetic: dict[str, Any] = {"original": original, "control": control, "quasi": quasi, "sensitive": sensitive}
    if original is not None:
        inapplicable: dict[str, Any] = {"regression": regression, "models": models or None, "coordinates": coordinates}
        _refuse_beside("synthetic records", raw=raw, people=people, public=public, **inapplicable)
        return write_synthetic_page(target, path, **synthetic, context=context)
    _refuse_beside("a release or a series (synthetic records need original=)", **synthetic)
    if isinstance(getattr(target, "series", None), PublishedSeries):
        _refuse_beside("a series", raw=raw, people=people, public=public, regression=regression)
        durations = [facts.get("seconds") for facts in target.facts()]
        learned = follow(target, mode="fixpoint", context=context)
        measured = measure_series(target.series, learned, seconds=durations, context=context)
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


def _refuse_beside(report_kind: str, **arguments: Any) -> None:
    """Raise an error for arguments that do not apply to this kind of report."""
    for name, value in arguments.items():
        if value is not None and value is not False:
            raise PolicyError(f"report: {name}= cannot be combined with {report_kind}. Leave it out.", setting=(name,))


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
    """Write the steward's or the ``public`` report on a release or its folder to ``path``.

    ``table`` is the original table; with it the steward's report also shows the risk before publication. ``attacks``
    are pairs of findings (before or None, after) of :mod:`reticent.attacks`; ``risks`` and ``exposed`` are the risk measures and most exposed
    groups of the original table from :mod:`reticent.propose`, per set of quasi-identifiers that an adversary may know. Only its owner can read
    the steward's file. :func:`write_stewards_report` computes these inputs. ``context`` reports progress and can cancel before the file is written.
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
    """Run the attacks, measure the risk and write the steward's report on a release (or its folder) of ``table``.

    ``people`` is an external list for linkage attacks and ``who`` its name column; by default the people in the table are the targets.
    ``regression`` is a formula such as ``"wage ~ age + sex"``, fitted before and after (:func:`analyse`). ``coordinates`` has a location in its first column,
    ``latitude`` and ``longitude``; a synthetic release whose groups and values are locations is then compared by distance and shown on a map.
    """
    context = context or Context()
    return write_report(
        release,
        path,
        table=table,
        attacks=compare(table, release, people, who=who, context=context),
        risks=risk_views(table, context=context),
        exposed=[exposure.exposed for exposure in exposures(table, (), context=context)],
        regression=regression,
        models=models,
        coordinates=None if coordinates is None else as_polars(coordinates),
        context=context,
    )


def _sides(release: Release | str | Path, public: bool, context: Context) -> tuple[PublicSide, PrivateFacts | None]:
    """Return the public files of a release or folder, and the steward's facts about it (None for a ``public`` report)."""
    side = open_public(release, context=context) if isinstance(release, str | Path) else release.public
    if public:
        return side, None
    return side, PrivateFacts.read(Path(release)) if isinstance(release, str | Path) else PrivateFacts.of(
        release, context
    )
