"""One call for every kind of target: a release or its folder, a table, a series of releases, synthetic records from other tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, overload

from reticent.attacks.adversary import Adversary
from reticent.attacks.foreign import synthetic
from reticent.attacks.guess_models import ModelName, checked_model
from reticent.attacks.results import AttackResults
from reticent.attacks.suite import adversaries_for, compare, run_adversaries
from reticent.attacks.tracking import Learned, series, waiting
from reticent.base.context import Context
from reticent.base.frames import as_polars
from reticent.errors import PolicyError
from reticent.io import Source
from reticent.methods.series import HasSeries, History, PublishedSeries
from reticent.release import adversary_view_of
from reticent.table import Table

Mode = Literal["exact", "fixpoint", "join"]


@overload
def attack(
    target: HasSeries | PublishedSeries,
    *,
    mode: Mode | None = None,
    knows_change: bool = True,
    returns: Literal["unknown", "unchanged"] = "unknown",
    context: Context | None = None,
) -> Learned: ...
@overload
def attack(
    target: Any,
    *adversaries: Adversary,
    raw: Any = None,
    people: Any = None,
    who: str | None = None,
    control: Any = None,
    model: ModelName = "naive bayes",
    original: Any = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    context: Context | None = None,
) -> AttackResults: ...
def attack(
    target: Any,
    *adversaries: Adversary,
    raw: Any = None,
    people: Any = None,
    who: str | None = None,
    control: Any = None,
    model: ModelName = "naive bayes",
    original: Any = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    mode: Mode | None = None,
    knows_change: bool = True,
    returns: Literal["unknown", "unchanged"] = "unknown",
    context: Context | None = None,
) -> AttackResults | Learned:
    """Run adversaries against a target and return what they learned. The results are for the steward: do not publish
    them.

    Parameters:
        target: a release, its folder, or an unmodified table; a ``History`` (its people are tracked through all releases); with ``original``, synthetic records made by any tool: a file or a frame.
        adversaries: those to run (default: all that apply).
        raw: the original table (a ``Table``, a frame or a data file): it is also attacked, and its people are looked up.
        people: a list of people that adversaries look up, with quasi-identifiers and, if known, their sensitive values. who: the column of ``people`` with their names. control: people who are not in the data: what is learned about them as well is not a leak.
        model: the model that guesses sensitive values, ``"naive bayes"`` or ``"forest"``.
        original: the table that synthetic records were made from.
        quasi, sensitive: with ``original``, the columns that are known and those to guess.
        mode: for a history, ``"exact"``, ``"fixpoint"`` or ``"join"``; by default ``"exact"``.
        knows_change, returns: for a history, what is known about updates and about people who return.
        context: reports progress and can stop the run.

    Returns:
        For releases, tables and synthetic records :class:`AttackResults`: a sequence of findings with ``.table``, a frame with one row per adversary. For a history ``{person: {release: {value: chance}}}``, and ``.waiting``, what an adversary learns in addition who knows which people waited for a later release.

    Example:
        >>> import reticent as rt
        >>> table = rt.Table({"age": [31, 32, 58, 59], "ill": ["flu", "flu", "flu", "gout"]}, quasi=["age"], sensitive="ill")
        >>> rt.attack(table).table.select("adversary", "hits").row(0)
        ('homogeneity', 4)
    """
    if isinstance(target, PublishedSeries) or isinstance(getattr(target, "series", None), PublishedSeries):
        _refuse("a series", adversaries=adversaries, raw=raw, people=people, control=control, original=original)
        learned = series(target, mode or "exact", knows_change, returns=returns, context=context)
        return replace(learned, waiting=waiting(target, context=context)) if isinstance(target, History) else learned
    if mode is not None:
        raise PolicyError(f"mode= applies to a series of releases, and the target is a {type(target).__name__}.")
    if original is not None:
        _refuse("synthetic records", adversaries=adversaries, raw=raw, people=people)
        findings = synthetic(target, original, control, quasi=quasi, sensitive=sensitive, context=context)
        return AttackResults.of_pairs((None, findings_of) for findings_of in findings)
    _refuse("a release (original= is missing)", quasi=quasi, sensitive=sensitive)
    checked_model(model)
    if raw is not None:
        _refuse("a release and its raw table, for which all adversaries run", adversaries=adversaries)
        before = _table(raw, target)
        return AttackResults.of_pairs(compare(before, target, people, control, who, model=model, context=context))
    view = adversary_view_of(target)
    chosen = adversaries or adversaries_for(view, people, control, who, model)
    return AttackResults.of_pairs((None, findings) for findings in run_adversaries(view, *chosen, context=context))


def _refuse(target: str, **arguments: Any) -> None:
    """Refuse arguments that do not apply to a kind of target."""
    for name, value in arguments.items():
        if value is not None and (name != "adversaries" or value):
            raise PolicyError(f"attack: {name} cannot be combined with {target}. Remove it.", setting=(name,))


def _table(raw: Any, target: Any) -> Table:
    """Return the original table; a frame or a file gets the column roles of the release."""
    if isinstance(raw, Table):
        return raw
    if isinstance(raw, str | Path) and str(raw).endswith(".toml"):
        raise PolicyError("raw= takes a table, a frame or a data file. Pass rt.read(policy=...) for that of a policy.")
    frame = Source(str(raw)).read() if isinstance(raw, str | Path) else as_polars(raw)
    view = adversary_view_of(target)
    return Table(frame, quasi=list(view.names), sensitive=list(view.sensitive), nulls="category")
