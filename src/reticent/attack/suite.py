"""All adversaries that apply: to a release with what the steward can hand them, before publishing and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from reticent.attack.base import Adversary, Findings
from reticent.attack.control import Trial, hold_out
from reticent.attack.exclusion import Exclusion
from reticent.attack.homogeneity import Homogeneity
from reticent.attack.inference import Inference
from reticent.attack.linkage import Linkage
from reticent.attack.minimality import Minimality
from reticent.attack.models import ModelName
from reticent.attack.people import listed_people, listing
from reticent.attack.probabilistic import ProbabilisticLinkage
from reticent.attack.published import Published
from reticent.attack.similarity import Similarity
from reticent.attack.singling_out import SinglingOut
from reticent.attack.skewness import Skewness
from reticent.data import Table
from reticent.errors import ReticentError

_SAMPLE = 10_000


Kinds = Mapping[str, Mapping[str, Sequence[str]]]
"""For a sensitive column which of its values are of one kind: ``{"illness": {"stomach": ["ulcer", "gastritis"]}}``."""


def kinds_of(published: Published) -> Kinds:
    """Which sensitive values are of one kind: those that the first level of a declared hierarchy puts together."""
    found = {}
    for column in published.groups.domain.columns:
        if column.hierarchy is not None and column.hierarchy.height > 1:
            level = column.hierarchy.levels[1]
            texts = pl.Series(column.texts)
            found[column.name] = {
                label: texts.filter(pl.Series(level.parts == part)).to_list() for part, label in enumerate(level.labels)
            }
    return found


def adversaries_for(
    target: Any,
    people: Any = None,
    control: Any = None,
    who: str | None = None,
    model: ModelName = "naive bayes",
    kinds: Kinds | None = None,
) -> tuple[Adversary, ...]:
    """The adversaries that can run on ``target``: those that need no list, and with ``people`` those that look people up.

    Everybody who is after a secret is after each of the sensitive columns in turn. ``people`` may have their real sensitive values under
    the names of the columns: then the model's guesses are scored, against ``control`` if it is given. Values that mean nearly the
    same are numbers, and those of one of the ``kinds`` (default: by the hierarchies of a table's sensitive columns).
    """
    published = Published.of(target)
    alike = kinds_of(published) if kinds is None else kinds
    secret = [column.name for column in published.groups.domain.columns]
    found = [each for name in secret for each in _after(published, name, alike.get(name))]
    found.append(SinglingOut())
    if people is None:
        return tuple(found)
    frame = listed_people(people, [who])
    told = [name for name in secret if name in frame.columns]
    truth = secret[0] if secret and secret[0] in told else None
    found[:0] = [
        Linkage(frame, who=who, truth=truth),
        ProbabilisticLinkage(frame, who=who, truth=truth, sample=_SAMPLE),
    ]
    for name in told:
        known = frame.filter(pl.col(name).is_not_null())
        if known.height:
            found.append(Inference(known, control, column=name, model=model))
    return tuple(found)


def _after(published: Published, secret: str, kinds: Mapping[str, Sequence[str]] | None) -> list[Adversary]:
    """Those who are after one sensitive column and need no list of people."""
    found: list[Adversary] = [Homogeneity(column=secret), Exclusion(column=secret), Skewness(column=secret)]
    if kinds is not None:
        found.append(Similarity(categories=kinds, column=secret))
    elif published.groups.domain.columns[published.groups.domain.index(secret)].numbers() is not None:
        found.append(Similarity(column=secret))
    return found


def compare(
    before: Any,
    after: Any,
    people: Any = None,
    control: Any = None,
    who: str | None = None,
    seed: int = 0,
    model: ModelName = "naive bayes",
) -> list[tuple[Findings | None, Findings]]:
    """The same adversaries on what stood before (a table) and on what was published.

    Without ``people`` a table's own rows are the list (not those of a streamed one, which are not in memory): somebody who knows the quasi
    columns of everybody, without a mistake. Without
    ``control``, where a table and a release of it are there, the release is made again of half of the people (:func:`hold_out`), and the
    model is tried on both halves. Where that cannot be done the model is compared with the most frequent value. Somebody who knows how
    the release was chosen is tried on small tables only; there is nothing to compare with before. Where a release was made for several
    sets of quasi columns, everybody is tried with each set (R-LD-4).
    """
    first, second = Published.of(before), Published.of(after)
    is_table = isinstance(before, Table)
    if people is None and is_table and not before.streamed:
        people = before.frame.select([*before.quasi, *before.sensitive])
    chosen = adversaries_for(second, people, control, who, model, kinds_of(first))
    trial = _trial(before, after, seed) if is_table and control is None else None
    tried = (Published.of(trial.members), trial.release) if trial is not None else ()
    pairs: list[tuple[Findings | None, Findings]] = []
    for columns in second.known_sets:
        stood, shown = first.known(columns), second.known(columns)
        for each in chosen:
            if _applies(each, columns, trial):
                one, other = _pair(each, stood, shown)
                pairs.append((_named(one, each, second, columns), _named(other, each, second, columns)))
        for guesser in trial.adversaries(model=model) if trial is not None else ():
            one, other = (_named(guesser.attack(each.known(columns)), guesser, second, columns) for each in tried)
            pairs.append((one, other))
    chooser = _choice_followed(before, second) if is_table else None
    return pairs if chooser is None else [*pairs, (None, chooser)]


def attack(target: Any, *adversaries: Adversary) -> list[Findings]:
    """Run adversaries against a table as it stands, a release or its folder. Without any: all that need no list of people.

    Where a release was made for several sets of quasi columns, each of which an adversary may know, they run for each set (R-LD-4).
    """
    published = Published.of(target)
    chosen = adversaries or adversaries_for(published)
    return [
        _named(each.attack(published.known(columns)), each, published, columns)
        for columns in published.known_sets
        for each in chosen
    ]


def _named(found: Findings, adversary: Adversary, published: Published, columns: tuple[str, ...]) -> Findings:
    """Findings that say which column the adversary is after and which ones were known, where that is a question."""
    secret = getattr(adversary, "column", None)
    name = found.adversary
    if secret is not None and len(published.groups.domain.columns) > 1:
        name = f"{name} of {secret}"
    if len(published.known_sets) > 1:
        name = f"{name} by {listing(columns)}"
    return found if name == found.adversary else replace(found, adversary=name)


def _applies(adversary: Adversary, columns: tuple[str, ...], trial: Trial | None) -> bool:
    """Whether an adversary runs on some columns: not with a list that has none of them, nor as a model that a trial tries better."""
    if isinstance(adversary, Inference) and trial is not None:
        return False
    people = getattr(adversary, "people", None)
    return people is None or bool(set(people.columns) & set(columns))


def _choice_followed(table: Table, published: Published) -> Findings | None:
    """What follows from how the release was chosen; None where there are too many worlds, or the choice cannot be followed."""
    try:
        return Minimality(table).attack(published)
    except ReticentError:
        return None


def _pair(adversary: Adversary, first: Published, second: Published) -> tuple[Findings, Findings]:
    """Before and after. Whoever is the example before, is looked up again after: that is whom the release should hide."""
    before = adversary.attack(first)
    if isinstance(adversary, Linkage):
        adversary = replace(adversary, about=before.details["person"])
    return before, adversary.attack(second)


def _trial(table: Table, release: Any, seed: int) -> Trial | None:
    """A trial of the release on half of the table; None where there is no release, no secret, or it cannot be repeated."""
    if not table.sensitive or isinstance(release, Table | Published):
        return None
    try:
        return hold_out(table, release, seed)
    except ReticentError:
        return None
