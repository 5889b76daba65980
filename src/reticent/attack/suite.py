"""All adversaries that apply: to a release with what the steward can hand them, before publishing and after."""

from __future__ import annotations

from typing import Any

import polars as pl

from reticent.attack.base import Adversary, Findings
from reticent.attack.exclusion import Exclusion
from reticent.attack.homogeneity import Homogeneity
from reticent.attack.inference import Inference
from reticent.attack.linkage import Linkage
from reticent.attack.people import listed_people
from reticent.attack.probabilistic import ProbabilisticLinkage
from reticent.attack.published import Published
from reticent.attack.similarity import Similarity
from reticent.attack.singling_out import SinglingOut
from reticent.attack.skewness import Skewness
from reticent.data import Table

_SAMPLE = 10_000


def adversaries_for(
    target: Any, people: Any = None, control: Any = None, who: str | None = None
) -> tuple[Adversary, ...]:
    """The adversaries that can run on ``target``: those that need no list, and with ``people`` those that look people up.

    ``people`` may have their real sensitive value under its own name: then the model's guesses are scored, against ``control`` if it is given.
    """
    published = Published.of(target)
    found: list[Adversary] = []
    sensitive = published.sensitive(None)
    if sensitive is not None:
        found += [Homogeneity(), Exclusion(), Skewness()]
        if published.groups.marginal(sensitive).domain.columns[0].numbers() is not None:
            found.append(Similarity())
    found.append(SinglingOut())
    if people is None:
        return tuple(found)
    frame = listed_people(people, [who])
    knows_truth = sensitive is not None and sensitive in frame.columns
    truth = sensitive if knows_truth else None
    found[:0] = [
        Linkage(frame, who=who, truth=truth),
        ProbabilisticLinkage(frame, who=who, truth=truth, sample=_SAMPLE),
    ]
    if knows_truth:
        found.append(Inference(frame.filter(pl.col(str(sensitive)).is_not_null()), control))
    return tuple(found)


def compare(
    before: Any, after: Any, people: Any = None, control: Any = None, who: str | None = None
) -> list[tuple[Findings, Findings]]:
    """The same adversaries on what stood before (a table) and on what was published.

    Without ``people`` a table's own rows are the list: somebody who knows the quasi columns of everybody, without a mistake.
    """
    first, second = Published.of(before), Published.of(after)
    if people is None and isinstance(before, Table):
        people = before.frame.select([*before.quasi, *before.sensitive])
    chosen = adversaries_for(second, people, control, who)
    return [(adversary.attack(first), adversary.attack(second)) for adversary in chosen]
