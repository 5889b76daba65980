"""All applicable adversaries: against a release with what the steward provides, before and after publication."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from reticent.attacks.adversary import Adversary, Findings
from reticent.attacks.cohorts import Cohorts
from reticent.attacks.column_in_turn import ColumnInTurn
from reticent.attacks.control import HoldOut, hold_out, naively
from reticent.attacks.exclusion import Exclusion
from reticent.attacks.foreign import artificial_adversaries, coded_columns
from reticent.attacks.guess_models import ModelName
from reticent.attacks.homogeneity import Homogeneity
from reticent.attacks.inference import Inference
from reticent.attacks.known_columns import known_column_adversaries
from reticent.attacks.linkage import Linkage
from reticent.attacks.minimality import Minimality
from reticent.attacks.probabilistic import ProbabilisticLinkage
from reticent.attacks.record_lookup import Sighting
from reticent.attacks.register import Register
from reticent.attacks.remainder import Remainder
from reticent.attacks.similarity import Similarity
from reticent.attacks.singling_out import SinglingOut
from reticent.attacks.skewness import Skewness
from reticent.attacks.target_list import listed_people, listing, own_people
from reticent.base.context import Context
from reticent.core import AdversaryView
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.release import adversary_view_of
from reticent.table import Table

_SAMPLE, _MOST_ROWS = 10_000, 200_000


Kinds = Mapping[str, Mapping[str, Sequence[str]]]
"""For each sensitive column, which of its values are of one kind: ``{"illness": {"stomach": ["ulcer", "gastritis"]}}``."""


def kinds_of(view: AdversaryView) -> Kinds:
    """Return which sensitive values are of one kind: those merged by the first level of a declared hierarchy."""
    kinds = {}
    for column in () if view.groups is None else view.groups.domain.columns:
        if column.hierarchy is not None and column.hierarchy.height > 1:
            level = column.hierarchy.levels[1]
            texts = pl.Series(column.texts)
            kinds[column.name] = {
                label: texts.filter(pl.Series(level.parts == part)).to_list() for part, label in enumerate(level.labels)
            }
    return kinds


def adversaries_for(
    target: Any,
    people: Any = None,
    control: Any = None,
    who: str | None = None,
    model: ModelName = "naive bayes",
    kinds: Kinds | None = None,
) -> tuple[Adversary, ...]:
    """Return the adversaries that can run on ``target``: those that need no list, and with ``people`` those that look
    people up.

    Adversaries with a target column get one instance per sensitive column. ``people`` may have their true sensitive
    values under the column names: then the model's guesses are scored, against ``control`` if given. Similar values are
    near numbers, and those of one of the ``kinds`` (default: by the hierarchies of a table's sensitive columns). A
    randomized release has no groups: records are looked up. For synthetic records, ``people`` are those they were made
    from.
    """
    view = adversary_view_of(target)
    candidates = _candidates(view, people, control, who, model, kinds_of(view) if kinds is None else kinds)
    return tuple(adversary for adversary in candidates if adversary.needs(view) is None)


def _candidates(
    view: AdversaryView,
    people: Any,
    control: Any,
    who: str | None,
    model: ModelName,
    kinds: Kinds,
    *,
    own_rows: bool = False,
) -> Iterator[Adversary]:
    """Yield all adversaries for a view, whether they can run on it or not. ``own_rows``: people are the table's own rows, so
    that missing values are known to be missing.
    """
    frame = None if people is None else listed_people(people, [who])
    if view.is_artificial and frame is not None:
        shared = [name for name in view.names if name in frame.columns]
        if shared:
            yield from artificial_adversaries(Cohorts.of(frame, control, shared), view)
        return
    disclosed_columns = [] if frame is None else [name for name in view.sensitive if name in frame.columns]
    if frame is not None:
        truth_column = (
            view.sensitive[0] if disclosed_columns[:1] == list(view.sensitive[:1]) and disclosed_columns else None
        )
        yield Linkage(frame, who=who, truth=truth_column, null_is_unknown=not own_rows)
        declared = tuple(name for name in view.declared if name in frame.columns and name not in view.computable)
        if declared:
            yield Linkage(frame, who=who, truth=truth_column, null_is_unknown=not own_rows, declared=declared)
        yield ProbabilisticLinkage(frame, who=who, truth=truth_column, sample=_SAMPLE, null_is_unknown=not own_rows)
    for name in view.sensitive:
        yield from _without_list(view, name, kinds.get(name))
    yield SinglingOut()
    yield from known_column_adversaries(view)
    yield Sighting(frame, who=who)
    for name in disclosed_columns:
        people_with_value = pl.DataFrame() if frame is None else frame.filter(pl.col(name).is_not_null())
        if people_with_value.height:
            yield Inference(people_with_value, control, column=name, model=model)
    yield ColumnInTurn(people=frame if own_rows else None)


def _without_list(view: AdversaryView, secret: str, kinds: Mapping[str, Sequence[str]] | None) -> list[Adversary]:
    """Return the adversaries that target one sensitive column and need no list of people."""
    adversaries: list[Adversary] = [Homogeneity(column=secret), Exclusion(column=secret), Skewness(column=secret)]
    adversaries.append(Remainder(column=secret))
    domain = view.true_groups.domain
    if kinds is not None:
        adversaries.append(Similarity(categories=kinds, column=secret))
    elif domain.columns[domain.index(secret)].numbers() is not None:
        adversaries.append(Similarity(column=secret))
    return adversaries


def compare(
    before: Any,
    after: Any,
    people: Any = None,
    control: Any = None,
    who: str | None = None,
    seed: int = 0,
    model: ModelName = "naive bayes",
    context: Context | None = None,
) -> list[tuple[Findings | None, Findings]]:
    """Run the same adversaries on the original table and on the release.

    Without ``people`` the table's own rows are the list (of a streamed one 10,000 random rows): an adversary who knows
    their quasi-identifiers without error, and which values are missing. Without ``control``, but with a table and a
    release of it, the release is made again from half of the people (:func:`hold_out`), and the model is tested on both
    halves. If that is impossible the model is compared with the most frequent value. An adversary who knows how the
    release was chosen runs on small tables only, and its first findings are None. So are those of :class:`Register`,
    which counts the people of a table that declares each row a person although an identifier repeats. If a release was made
    for several sets of quasi-identifiers, adversaries run with each set. Artificial records are attacked with the
    table's own people against ``control`` (:mod:`reticent.attacks.artificial`).
    """
    context = context or Context()
    context.step("reading what was published")
    table = before if isinstance(before, Table) else None
    own_rows = people is None and table is not None
    if people is None and table is not None:
        people = own_people(table, _SAMPLE, seed)
    view_after = adversary_view_of(after)
    if view_after.is_artificial:
        return _compared_with_artificial(table, view_after, control, seed, context)
    view_before = adversary_view_of(before)
    # An adversary with the table finds relations that the release does not name.
    view_after = replace(view_after, computable=tuple(dict.fromkeys((*view_after.computable, *view_before.computable))))
    hold_out_trial = None
    if table is not None and control is None:
        context.step("making a control group")
        hold_out_trial = _trial(table, view_after, seed)
    if view_after.groups is None:
        return _compared_with_noise(table, view_before, view_after, people, control, who, hold_out_trial, model)
    for name in view_after.names:
        if name not in view_before.names:
            raise DataError(
                f"The release has the quasi column {name!r} and the table does not: the release was made from another table."
            )
    candidates = _candidates(view_after, people, control, who, model, kinds_of(view_before), own_rows=own_rows)
    chosen = [candidate for candidate in candidates if candidate.needs(view_after) is None]
    guessers = hold_out_trial.adversaries(model=model) if hold_out_trial is not None else []
    both_halves = (
        (adversary_view_of(hold_out_trial.members), hold_out_trial.release) if hold_out_trial is not None else ()
    )
    runs = len(view_after.sets) * (len(chosen) + len(guessers))
    pairs: list[tuple[Findings | None, Findings]] = []
    for columns in view_after.sets:
        original, published = view_before.known(columns), view_after.known(columns)
        for adversary in chosen:
            if _applies(adversary, columns, hold_out_trial):
                context.step("attacking", len(pairs), runs, adversary.name)
                before_findings, after_findings = _pair(adversary, original, published)
                pairs.append(
                    (
                        _named(before_findings, adversary, view_after, columns),
                        _named(after_findings, adversary, view_after, columns),
                    )
                )
        for guesser in guessers:
            context.step("attacking", len(pairs), runs, guesser.name)
            before_findings, after_findings = (
                _named(guesser.attack(adversary.known(columns)), guesser, view_after, columns)
                for adversary in both_halves
            )
            pairs.append((before_findings, after_findings))
    choice_findings = _choice_followed(table, view_after) if table is not None else []
    all_pairs = [*pairs, *((None, choice_finding) for choice_finding in choice_findings)]
    register = None if table is None else Register.of(table)
    if register is not None:
        counted = [(before_findings, _of_records(after_findings)) for before_findings, after_findings in all_pairs]
        return [*counted, (None, register.attack(view_after))] if register.needs(view_after) is None else counted
    if (table is not None and table.several_rows) or view_after.counted == "records":
        return [(before_findings, _of_records(after_findings)) for before_findings, after_findings in all_pairs]
    return all_pairs


def _compared_with_artificial(
    table: Table | None, after: AdversaryView, control: Any, seed: int, context: Context
) -> list[tuple[Findings | None, Findings]]:
    """Return findings before and after for synthetic records: before, the table's own rows replace them. Empty without
    the table, or if no record is published, as in statistics.
    """
    if table is None:
        return []
    rows = _rows_of_people(table, seed)
    known, secret = ([name for name in names if name in after.names] for names in (table.quasi, table.sensitive))
    if not known and not secret:
        return []
    cohorts = Cohorts.of(rows, control, known, secret, seed=seed, context=context, codes=coded_columns(table))
    before = AdversaryView.in_noise(rows.select(cohorts.columns))
    chosen = artificial_adversaries(cohorts, after)
    pairs: list[tuple[Findings | None, Findings]] = []
    for adversary in chosen:
        context.step("attacking", len(pairs), len(chosen), adversary.name)
        pairs.append((adversary.attack(before), adversary.attack(after)))
    return pairs


def _rows_of_people(table: Table, seed: int) -> pl.DataFrame:
    """Return the rows of a table, each repeated by its weight if that is an integer."""
    if table.weight is None or table.streamed:
        return own_people(table, _MOST_ROWS, seed)
    frame = table.frame.select([*table.quasi, *table.sensitive, table.weight])
    weights = frame[table.weight].cast(pl.Int64, strict=False).fill_null(1)
    return frame[np.repeat(np.arange(frame.height), weights.clip(0).to_numpy())].drop(table.weight)


def _compared_with_noise(
    table: Table | None,
    before: AdversaryView,
    after: AdversaryView,
    people: Any,
    control: Any,
    who: str | None,
    trial: HoldOut | None,
    model: ModelName,
) -> list[tuple[Findings | None, Findings]]:
    """Return findings before and after for a release whose rows are not true: record lookup, and a model that takes the rows for true."""
    pairs: list[tuple[Findings | None, Findings]] = []
    sighting = Sighting(people, who=who)
    if sighting.needs(after) is None:
        findings = sighting.attack(after)
        original_findings = replace(
            findings,
            hits=findings.people,
            baseline=None,
            example="In the original table every record is shown and true.",
        )
        pairs.append((original_findings if people is not None else None, findings))
    # A model needs predictors: a release of sensitive columns alone has none.
    if table is None or people is None or not set(after.names) & set(table.quasi):
        return pairs
    for name in [name for name in table.sensitive if name in after.names]:
        if trial is not None:
            guesser, targets = (
                trial.adversary(column=name, model=model),
                (adversary_view_of(trial.members), trial.release),
            )
        else:
            guesser = Inference(people, control, column=name, model=model)
            targets = before, naively(after, table)
        before_findings, after_findings = (
            _named(guesser.attack(target), guesser, target, target.names) for target in targets
        )
        pairs.append((before_findings, after_findings))
    return pairs


def run_adversaries(target: Any, *adversaries: Adversary, context: Context | None = None) -> list[Findings]:
    """Run adversaries against an unmodified table, a draft, a release or its folder. Default: all that need no list of
    people.

    Where a release was made for several sets of quasi columns, each of which an adversary may know, they run for each
    set. An adversary that cannot run raises a :class:`PolicyError` with the reason. The ``context`` reports progress
    and can stop the run.
    """
    context = context or Context()
    context.step("reading what was published")
    view = adversary_view_of(target)
    for adversary in adversaries:
        reason = adversary.needs(view)
        if reason is not None:
            raise PolicyError(reason)
    chosen = adversaries or adversaries_for(view)
    all_findings: list[Findings] = []
    for columns in view.sets:
        for adversary in chosen:
            context.step("attacking", len(all_findings), len(view.sets) * len(chosen), adversary.name)
            findings = _named(adversary.attack(view.known(columns)), adversary, view, columns)
            # An adversary who looks up a list counts the people on it.
            listed = getattr(adversary, "people", None) is not None
            all_findings.append(_of_records(findings) if view.counted == "records" and not listed else findings)
    return all_findings


def _named(findings: Findings, adversary: Adversary, view: AdversaryView, columns: tuple[str, ...]) -> Findings:
    """Return findings that name the target column and the known columns, if there are several."""
    secret = getattr(adversary, "column", None)
    name = findings.adversary
    if secret is not None and len(view.sensitive) > 1:
        name = f"{name} of {secret}"
    if len(view.sets) > 1:
        name = f"{name} by {listing(columns)}"
    return findings if name == findings.adversary else replace(findings, adversary=name)


def _of_records(findings: Findings) -> Findings:
    """Return findings counted in records, for a release with several records per person without an identifier."""
    return replace(findings, unit="records") if findings.unit == "people" else findings


def _applies(adversary: Adversary, columns: tuple[str, ...], trial: HoldOut | None) -> bool:
    """True if an adversary applies to some columns: not with a list that has none of them, nor as a model that a trial tests better."""
    if isinstance(adversary, Inference) and trial is not None:
        return False
    if isinstance(adversary, ColumnInTurn):
        return len(columns) > 1
    people = getattr(adversary, "people", None)
    return people is None or bool(set(people.columns) & set(columns))


def _choice_followed(table: Table, view: AdversaryView) -> list[Findings]:
    """Return what follows from how the release was chosen; empty if there are too many worlds, or the choice cannot be reproduced."""
    try:
        followers = [Minimality(table, column=name) for name in table.sensitive]
        return [_named(adversary.attack(view), adversary, view, view.names) for adversary in followers]
    except ReticentError:
        return []


def _pair(adversary: Adversary, first: AdversaryView, second: AdversaryView) -> tuple[Findings, Findings]:
    """Return findings before and after. The example person before is looked up again after: that person should be hidden."""
    before = adversary.attack(first)
    if isinstance(adversary, Linkage):
        adversary = replace(adversary, about=before.details["person"])
    return before, adversary.attack(second)


def _trial(table: Table, view: AdversaryView, seed: int) -> HoldOut | None:
    """Return a trial of the release on half of the table; None if there is no secret, or the release cannot be made again."""
    if not table.sensitive:
        return None
    try:
        return hold_out(table, view, seed)
    except ReticentError:
        return None
