"""A second release made from half of the people, so that the other half is a control group for a model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from reticent.attacks.inference import Inference
from reticent.base.context import Context
from reticent.base.randomness import Randomness
from reticent.core import AdversaryView, Provenance
from reticent.definitions import Definition, all_of
from reticent.errors import PolicyError, ReticentError
from reticent.registry import load
from reticent.release import adversary_view_of, publish, read_claims
from reticent.table import Table

_OUTSIDERS = "people who were held out of a release made in the same way"


@dataclass(frozen=True)
class HoldOut:
    """A release of some of the people, by the method and the definition of another release, and the people who were
    held out.

    A model trained on it is tested on both: its excess accuracy for ``members`` over ``held_out`` people from the same
    population is due to such a release, and nothing else is. ``members`` are all people whose rows the method received,
    including suppressed ones.
    """

    members: Table = field(repr=False)
    held_out: pl.DataFrame = field(repr=False)
    release: AdversaryView = field(repr=False)

    def adversary(self, **options: Any) -> Inference:
        """Return an adversary who trains on the trial release, to be run on it (or on the members' own rows)."""
        names = [*self.members.quasi, *self.members.sensitive]
        return Inference(self.members.frame.select(names), self.held_out.select(names), outsiders=_OUTSIDERS, **options)

    def adversaries(self, **options: Any) -> list[Inference]:
        """Return one adversary per sensitive column."""
        return [self.adversary(column=name, **options) for name in self.members.sensitive]


def hold_out(table: Table, release: Any, seed: int = 0) -> HoldOut:
    """Make ``release`` (or what its folder claims) again from a random half of the ``table``, and hold out the other
    half.

    Nothing of it is recorded or published: the second release exists only to be attacked. People with several rows are
    held out with all of them. If it cannot be made again (an unknown method or definition, or too few people), an error
    explains why.
    """
    view = adversary_view_of(release)
    if view.made is None:
        raise PolicyError("A raw table was not made by a method, so it cannot be made again.")
    if view.channel is not None and view.channel.is_set:
        raise PolicyError("The records of a view form a set, so people held out of it cannot serve as a control group.")
    definition, method = definition_of(view.made), method_of(view.made)
    is_member = _half(table, seed)
    members, held_out = _restricted(table, is_member), table.frame.filter(~pl.Series(is_member))
    # The trial's randomness need not be secret: nothing of it is published.
    half_view = adversary_view_of(publish(members, definition, method, context=Context(Randomness(seed))))
    return HoldOut(members, held_out, half_view if half_view.groups is not None else naively(half_view, members))


def naively(view: AdversaryView, table: Table) -> AdversaryView:
    """Return the view of an adversary who takes all rows for true, with the column roles of ``table``."""
    quasi, sensitive = ([name for name in names if name in view.names] for names in (table.quasi, table.sensitive))
    return view.naive(quasi, sensitive)


def definition_of(made: Provenance) -> Definition:
    """Return the definition that a release claims; refused if it needs a population or is unknown."""
    claims = read_claims({"claims": list(made.claims)})
    unknown = [claim.text for claim in claims if claim.definition is None or claim.definition.needs_population]
    if unknown:
        raise PolicyError(f"The release would have to be made again, but {unknown[0]} cannot be repeated.")
    parts = tuple(claim.definition for claim in claims if claim.definition is not None)
    return parts[0] if len(parts) == 1 else all_of(parts)


def method_of(made: Provenance) -> Any:
    """Return the method that made a release, with its parameters; refused if it is unknown."""
    described = dict(made.method)
    name = str(described.pop("name", "unknown"))
    try:
        return load("method", name)(**described)
    except (TypeError, ReticentError):
        raise PolicyError(f"The release would have to be made again, but {name} cannot be repeated.") from None


def _half(table: Table, seed: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the mask of members' rows: half of the people, sampled at random."""
    if table.several_rows:
        person_of_row = table.frame[str(table.household or table.key)].rank("dense").to_numpy().astype(np.int64) - 1
    else:
        person_of_row = np.arange(table.rows)
    people_count = int(person_of_row.max(initial=-1)) + 1
    if people_count < 2:
        raise PolicyError("A control group needs at least two people: one in the release and one held out.")
    is_member = np.zeros(people_count, dtype=bool)
    is_member[np.random.default_rng(seed).permutation(people_count)[: people_count // 2]] = True
    is_row_of_member: np.ndarray[Any, np.dtype[np.bool_]] = is_member[person_of_row]
    return is_row_of_member


def _restricted(table: Table, rows: np.ndarray[Any, np.dtype[np.bool_]]) -> Table:
    """Return the table with some of its rows, without a name (so that the ledger does not record it) and without unused columns."""
    return Table(
        table.frame.filter(pl.Series(rows)),
        quasi=table.quasi,
        sensitive=table.sensitive,
        key=table.key,
        unit=table.unit,
        household=table.household,
        nulls=table.nulls,
        quasi_sets=table.quasi_sets,
    )
