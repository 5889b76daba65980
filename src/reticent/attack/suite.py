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
from reticent.attack.people import listed_people, listing, own_people
from reticent.attack.probabilistic import ProbabilisticLinkage
from reticent.attack.published import Published
from reticent.attack.randomized import Randomized, as_randomized, naively
from reticent.attack.sighting import Sighting
from reticent.attack.similarity import Similarity
from reticent.attack.singling_out import SinglingOut
from reticent.attack.skewness import Skewness
from reticent.data import Table
from reticent.errors import DataError, PolicyError, ReticentError
from reticent.randomize import FrappView

_SAMPLE = 10_000


Kinds = Mapping[str, Mapping[str, Sequence[str]]]
"""For a sensitive column which of its values are of one kind: ``{"illness": {"stomach": ["ulcer", "gastritis"]}}``."""


def opened(target: Any) -> Published | Randomized:
    """What the public holds of a table as it stands, a release or its folder, so that several adversaries need not open it again."""
    randomized = as_randomized(target)
    return Published.of(target) if randomized is None else randomized


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
) -> tuple[Adversary | Sighting, ...]:
    """The adversaries that can run on ``target``: those that need no list, and with ``people`` those that look people up.

    Everybody who is after a secret is after each of the sensitive columns in turn. ``people`` may have their real sensitive values under
    the names of the columns: then the model's guesses are scored, against ``control`` if it is given. Values that mean nearly the
    same are numbers, and those of one of the ``kinds`` (default: by the hierarchies of a table's sensitive columns). In a randomized
    release there are no groups: records are looked up.
    """
    if as_randomized(target) is not None:
        return (Sighting(people, who=who),)
    published = Published.of(target)
    return _grouped(published, people, control, who, model, kinds_of(published) if kinds is None else kinds)


def _grouped(
    published: Published, people: Any, control: Any, who: str | None, model: ModelName, alike: Kinds
) -> tuple[Adversary, ...]:
    """Those who can run on rows in groups."""
    secret = [column.name for column in published.groups.domain.columns]
    found: list[Adversary] = [each for name in secret for each in _after(published, name, alike.get(name))]
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

    Without ``people`` a table's own rows are the list (of a streamed one 10,000 rows drawn at random): somebody who knows their quasi
    columns, without a mistake. Without
    ``control``, where a table and a release of it are there, the release is made again of half of the people (:func:`hold_out`), and the
    model is tried on both halves. Where that cannot be done the model is compared with the most frequent value. Somebody who knows how
    the release was chosen is tried on small tables only; there is nothing to compare with before. Where a release was made for several
    sets of quasi columns, everybody is tried with each set (R-LD-4).
    """
    is_table = isinstance(before, Table)
    if people is None and is_table:
        people = own_people(before, _SAMPLE, seed)
    randomized = as_randomized(after)
    if randomized is not None:
        return _compared_with_noise(before, randomized, people, control, who, seed, model)
    first, second = Published.of(before), Published.of(after)
    for name in second.quasi:
        if name not in first.quasi:
            raise DataError(
                f"The table has no quasi column {name!r}, and the release has: it was made of another table."
            )
    chosen = _grouped(second, people, control, who, model, kinds_of(first))
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
    chooser = _choice_followed(before, second) if is_table else []
    return [*pairs, *((None, each) for each in chooser)]


def _compared_with_noise(
    before: Any, after: Randomized, people: Any, control: Any, who: str | None, seed: int, model: ModelName
) -> list[tuple[Findings | None, Findings]]:
    """Before and after, for a randomized release: records that are looked up, and a model that takes what is shown for true.

    The records of a view are a set. People held out of a set never share a member's record and are guessed worse than chance, so that a
    trial would call that a leak: only perturbed records are tried so.
    """
    found = Sighting(people, who=who).attack(after)
    stood = replace(found, hits=found.people, baseline=None, example="As it stood, every record is shown and true.")
    pairs: list[tuple[Findings | None, Findings]] = [(stood if people is not None else None, found)]
    if not isinstance(before, Table) or people is None:
        return pairs
    shown = [name for name in before.sensitive if name in after.domain.names]
    trial = _trial(before, after, seed) if control is None and isinstance(after, FrappView) else None
    for name in shown:
        if trial is not None:
            guesser, targets = trial.adversary(column=name, model=model), (Published.of(trial.members), trial.release)
        else:
            guesser = Inference(people, control, column=name, model=model)
            targets = Published.of(before), naively(after, before)
        one, other = (_named(guesser.attack(each), guesser, each, each.quasi) for each in targets)
        pairs.append((one, other))
    return pairs


def attack(target: Any, *adversaries: Adversary | Sighting) -> list[Findings]:
    """Run adversaries against a table as it stands, a release or its folder. Without any: all that need no list of people.

    Where a release was made for several sets of quasi columns, each of which an adversary may know, they run for each set (R-LD-4).
    """
    randomized = as_randomized(target)
    if randomized is not None:
        return [_sighted(each, randomized) for each in adversaries or (Sighting(),)]
    published = Published.of(target)
    chosen = [_grouping(each) for each in adversaries] or _grouped(
        published, None, None, None, "naive bayes", kinds_of(published)
    )
    return [
        _named(each.attack(published.known(columns)), each, published, columns)
        for columns in published.known_sets
        for each in chosen
    ]


def _grouping(adversary: Adversary | Sighting) -> Adversary:
    """An adversary who looks at groups; refused where there are none to look at."""
    if isinstance(adversary, Sighting):
        raise PolicyError("Sighting looks records up among noise, and this is no randomized release. Use Linkage.")
    return adversary


def _sighted(adversary: Adversary | Sighting, release: Randomized) -> Findings:
    """What an adversary finds in a randomized release; refused for those who look at groups."""
    return adversary.attack(release) if isinstance(adversary, Sighting) else adversary.attack(Published.of(release))


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


def _choice_followed(table: Table, published: Published) -> list[Findings]:
    """What follows from how the release was chosen; nothing where there are too many worlds, or the choice cannot be followed."""
    try:
        followers = [Minimality(table, column=name) for name in table.sensitive]
        return [_named(each.attack(published), each, published, published.quasi) for each in followers]
    except ReticentError:
        return []


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
