"""Randomized releases (views and perturbed records) as adversaries meet them: rows of which most are not true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reticent.attack.published import Published
from reticent.data import Table
from reticent.errors import PolicyError
from reticent.randomize import Frapp, FrappView, View, is_view, open_published

Randomized = View | FrappView


def as_randomized(target: Any) -> Randomized | None:
    """``target`` if it is a randomized release, or the folder of one, opened; None if it is something else."""
    if isinstance(target, View | FrappView):
        return target
    if not isinstance(target, str | Path) or not is_view(target):
        return None
    found = open_published(target)
    assert isinstance(found, View | FrappView)
    return found


def naively(release: Randomized, table: Table) -> Published:
    """What somebody holds who takes the rows for true, with the roles that the columns of ``table`` have."""
    shown = release.domain.names
    return Published.from_table(
        Table(
            release.frame,
            quasi=[name for name in table.quasi if name in shown],
            sensitive=[name for name in table.sensitive if name in shown],
            nulls="category",
        )
    )


def method_again(release: Randomized) -> Frapp:
    """The method that perturbs other people's records in the same way; refused for a view, which is a set (see ``suite``)."""
    if not isinstance(release, FrappView):
        raise PolicyError(
            "The records of a view are a set, so that people who were held out of it are no control group."
        )
    return Frapp(domain={each.name: each.listed for each in release.domain.attributes})


def is_plain(release: Randomized) -> bool:
    """Whether it can be read by itself, its noise alike for all records: not so with a source, nor later in a series."""
    return isinstance(release, FrappView) or (release.plan.source is None and release.manifest.index == 1)
