"""Several released cuts of one index form a series: they are judged on their common refinement, against all their claims.

Cuts for different k are nested, so an adversary who holds all of them learns no more than from the finest: of claimed
group sizes the smallest applies. Any other claim must hold on the common refinement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.base.disclosures import Judgement, PriorDisclosure, allow, alone, described, refuse
from reticent.base.packing import number, pack
from reticent.definitions import GroupDefinition, KAnonymity, all_of, definition_from, of_groups
from reticent.errors import ReticentError
from reticent.table import to_plain

if TYPE_CHECKING:
    from reticent.methods.bang.cell_space import Ids
    from reticent.methods.bang.cut import BangCut

_INDEX = "bang index"


def noted_of(cut: BangCut, definition: GroupDefinition) -> dict[str, Any]:
    """Return the ledger's record of a cut: enough to recompute it from the same index."""
    return {
        _INDEX: cut.index.fingerprint,
        "k": cut.k,
        "guarded": cut.guarded,
        "promises": [[part.name, to_plain(part.parameters())] for part in definition.parts()],
    }


def beside_cuts(cut: BangCut, definition: GroupDefinition, prior: Sequence[PriorDisclosure]) -> Judgement:
    """Return whether a cut may be released in addition to others of the same index: an adversary who holds all of them
    knows everyone's class in each, hence the common refinement.
    """
    if not prior or any(entry.details.get(_INDEX) != cut.index.fingerprint for entry in prior):
        return alone(prior)
    try:
        claims = [_promises(entry.details) for entry in prior]
        cuts = [_group(cut, entry.details, claimed) for entry, claimed in zip(prior, claims, strict=True)]
    except (ReticentError, KeyError, TypeError, ValueError):
        return alone(prior)
    groups = [cut.group, *cuts]
    ids, count = number(*pack(groups, [int(group.max()) + 1 for group in groups], len(cut.group)))
    claim = all_of(_together([part for promise in (definition, *claims) for part in promise.parts()]))
    common = cut.index.blocks.merged(ids.astype(np.int32), count)
    assessment = of_groups(claim, "Bang").assess(common)
    if not assessment.holds:
        reason = "" if assessment.witness is None else f" {assessment.witness.text}"
        return refuse(
            f"Other cuts of the same index are out about the data set {prior[-1].dataset!r} ({described(prior)}). Whoever holds them and this one knows which people are in one class in each, and these do "
            f"not satisfy what is promised together:{reason} Cut for larger classes, so that each is made of whole classes of the others, or withdraw the others."
        )
    return allow(
        f"Given out before: {described(prior)}, cuts of the same index. They and this were judged together: people who are in one class in each of them satisfy all that is promised, of group sizes the smallest."
    )


def _together(parts: Sequence[GroupDefinition]) -> tuple[GroupDefinition, ...]:
    """Return all claims together, with the smallest of the claimed group sizes."""
    sizes = [part for part in parts if isinstance(part, KAnonymity)]
    return (*(part for part in parts if part not in sizes), *sorted(sizes, key=lambda part: part.k)[:1])


def _promises(details: Mapping[str, Any]) -> GroupDefinition:
    parts = tuple(definition_from(name, dict(parameters)) for name, parameters in details["promises"])
    return of_groups(all_of(parts), "Bang")


def _group(cut: BangCut, details: Mapping[str, Any], definition: GroupDefinition) -> Ids:
    """Return the class of every block in an earlier cut of the same index."""
    k = int(details["k"])
    return (cut.index.guarded(definition, k) if details["guarded"] else cut.index.at(k)).group
