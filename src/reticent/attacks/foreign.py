"""Attack a synthetic file made by any tool, given the table that it was made from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from reticent.attacks.adversary import Findings
from reticent.attacks.artificial import ArtificialRecordsAttack, Isolation, Linkability, Membership, NearestGuess
from reticent.attacks.cohorts import Cohorts
from reticent.base.context import Context
from reticent.base.frames import as_polars
from reticent.core import AdversaryView
from reticent.errors import DataError, PolicyError
from reticent.io import Source
from reticent.release import adversary_view_of
from reticent.table import Hierarchy, Table


def synthetic(
    target: Any,
    original: Any,
    control: Any = None,
    *,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    codes: Collection[str] = (),
    sample: int = 2000,
    seed: int = 0,
    context: Context | None = None,
) -> list[Findings]:
    """Return what synthetic records disclose about the people they were made from: membership, singling out,
    linkability, inference.

    ``target`` holds the synthetic records: a frame, a data file, a release or its folder. ``original`` is the table
    that they were made from (a frame, a file, or a :class:`reticent.Table` with roles) and ``control`` people who were
    not in it, drawn from the same population; without them the original is split, and true rows of one half replace the
    synthetic ones when people of the other half are attacked. ``quasi`` are the columns that an adversary may know and
    ``sensitive`` those to guess; without them all columns that the files have in common are both. Numbers in ``codes``,
    such as postcodes, are equal or not; other numbers may be near each other. A table's hierarchies indicate which of
    its columns are codes.

    *Adversary*: four of them, see ``docs/explanations/attacks.md``; they give no bound for others. *Cost*: nearest-neighbour search
    for ``sample`` people on each side, so it grows with the rows of the files times ``sample``. Findings are for the
    steward only. *Source*: [Giomi2023].
    """
    context = context or Context()
    context.step("reading")
    view = _records(target)
    if not view.rows:
        raise DataError("There is no synthetic record to attack: the file or release has no rows.")
    rows = original.frame if isinstance(original, Table) else _frame(original)
    known, secret = _roles(view, rows, original, quasi, sensitive)
    control_rows = None if control is None else _frame(control)
    coded = {*codes, *(coded_columns(original) if isinstance(original, Table) else ())}
    cohorts = Cohorts.of(rows, control_rows, known, secret, sample, seed, context, coded)
    findings = []
    adversaries = artificial_adversaries(cohorts, view)
    for index, adversary in enumerate(adversaries):
        context.step("attacking", index, len(adversaries), adversary.name)
        findings.append(adversary.attack(view))
    return findings


def artificial_adversaries(cohorts: Cohorts, view: AdversaryView) -> list[ArtificialRecordsAttack]:
    """Return the adversaries that can run on a view of synthetic records; one guesses each secret column."""
    candidates = [
        Membership(cohorts),
        Isolation(cohorts),
        Linkability(cohorts),
        *(NearestGuess(cohorts, name) for name in cohorts.secret),
    ]
    return [adversary for adversary in candidates if adversary.needs(view) is None]


def coded_columns(table: Table) -> list[str]:
    """Return the columns of a table whose hierarchies mask digits of codes."""
    declared = [
        recipes_by_name.items()
        for recipes_by_name in (table.quasi, table.sensitive)
        if isinstance(recipes_by_name, dict)
    ]
    recipes = [
        (name, recipe)
        for recipes_by_name in declared
        for name, recipe in recipes_by_name
        if isinstance(recipe, Hierarchy)
    ]
    return [name for name, recipe in recipes if recipe.describe().get("kind") == "masking"]


def _records(target: Any) -> AdversaryView:
    """Return the view of the synthetic records: of a release by its format, of a file or a frame its distinct rows."""
    if isinstance(target, AdversaryView):
        return target
    if isinstance(target, str | Path) and not Path(target).is_dir():
        return AdversaryView.in_noise(_frame(target))
    if isinstance(target, str | Path) or hasattr(target, "public"):
        return adversary_view_of(target)
    return AdversaryView.in_noise(_frame(target))


def _frame(rows: Any) -> pl.DataFrame:
    return Source(str(rows)).read() if isinstance(rows, str | Path) else as_polars(rows)


def _roles(
    view: AdversaryView, rows: pl.DataFrame, original: Any, quasi: Sequence[str] | None, sensitive: Sequence[str] | None
) -> tuple[list[str], list[str]]:
    """Return the known and the secret columns: as given, as in the table's roles, or all common columns."""
    if isinstance(original, Table):
        quasi = list(original.quasi) if quasi is None else quasi
        sensitive = list(original.sensitive) if sensitive is None else sensitive
    shared = [name for name in view.names if name in rows.columns]
    if not shared:
        raise DataError(
            f"The synthetic records ({', '.join(view.names)}) and the original table ({', '.join(rows.columns)}) have no column in common."
        )
    named = [*(quasi or ()), *(sensitive or ())]
    for name in named:
        if name not in view.names and not isinstance(original, Table):
            raise PolicyError(f"The synthetic records have no column {name!r}; they have: {', '.join(view.names)}.")
    secret = [name for name in sensitive or () if name in shared]
    known = [name for name in shared if (name in quasi if quasi else name not in secret)]
    return known, secret
