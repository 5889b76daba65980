"""A series of releases: what is claimed about all of them together is judged on all of their folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import reticent as rt
from reticent import registry as _names
from reticent.base.context import Context
from reticent.core import Draft, Evidence, Groups, Kind, ReleaseHistory
from reticent.definitions import (
    GENERAL,
    Assessment,
    ClaimScope,
    Definition,
    GroupDefinition,
    HistoryDefinition,
    Witness,
    all_of,
)
from reticent.errors import PolicyError
from reticent.release import verify
from reticent.table import Table


@dataclass(frozen=True)
class NoShrinking(HistoryDefinition):
    """No release has fewer rows than the one before it."""

    def assess(self, history: ReleaseHistory) -> Assessment:
        sizes = [int(groups.sizes.sum()) for groups in history.releases]
        falls = [place for place in range(1, len(sizes)) if sizes[place] < sizes[place - 1]]
        witness = Witness(0, f"Release {falls[0] + 1} has {sizes[falls[0]]} rows.") if falls else None
        return Assessment(self, not falls, sizes, witness)

    def meaning(self, scope: ClaimScope = GENERAL) -> str:
        return "Nobody disappears from the series."

    def not_covered(self, scope: ClaimScope = GENERAL) -> str:
        return "Everything else."


@dataclass(frozen=True)
class Steady:
    """Lattice, beside the releases that it made before."""

    before: tuple[Groups, ...] = field(default=(), compare=False)

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        asked = all_of(tuple(part for part in definition.parts() if isinstance(part, GroupDefinition)))
        made = rt.Lattice().draft(table, asked, context)
        shown = made.evidence.published
        evidence: Evidence = replace(made.evidence, history=_Shown((*self.before, shown)))
        return replace(made, evidence=evidence, method=self.describe())

    def describe(self) -> dict[str, Any]:
        return {"name": "Steady"}


@dataclass(frozen=True)
class _Shown:
    releases: tuple[Groups, ...]


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    rt.register("definition", "NoShrinking", __name__, "no release has fewer rows than the one before")
    yield
    del _names.DEFINITIONS["NoShrinking"]


def released(rows: int, before: tuple[rt.Release, ...], folder: Path) -> rt.Release:
    frame = pl.DataFrame(
        {"q": [place % 2 for place in range(rows)], "s": ["ab"[place % 4 // 2] for place in range(rows)]}
    )
    table = rt.Table(frame, quasi=["q"], sensitive="s", dataset="growing")
    method = Steady(tuple(each.groups for each in before))
    made = rt.publish(table, rt.KAnonymity(2) & NoShrinking(), method, again=bool(before))
    made.save(folder)
    return made


@pytest.fixture
def folders(tmp_path: Path, ledger_file: Path) -> list[Path]:
    made: tuple[rt.Release, ...] = ()
    places = []
    for rows in (8, 12, 16):
        places.append(tmp_path / f"release {rows}")
        made = (*made, released(rows, made, places[-1]))
    return places


def test_a_claim_about_a_series_needs_its_folders(folders: list[Path]) -> None:
    alone = verify(folders[2])
    (claim,) = (check for check in alone.checks if "NoShrinking" in check.name)
    assert claim.status == "not re-checked"
    assert not alone.holds
    together = verify(folders)
    assert together.holds, together.failures
    assert [check.detail for check in together.checks if check.name == "series"] == [
        "Releases 1, 2, 3 of 'growing', in their order."
    ]
    (last,) = (check for check in together.checks if check.name.startswith("release 3, claim NoShrinking"))
    assert "[8, 12, 16]" in last.detail


def test_a_series_without_its_first_release_is_not_re_checked(folders: list[Path]) -> None:
    for some in (folders[1:], [folders[0], folders[2]]):
        found = verify(some)
        assert not found.holds
        claims = [check for check in found.checks if "NoShrinking" in check.name]
        assert claims[-1].status == "not re-checked"


def test_the_order_of_folders_matters(folders: list[Path]) -> None:
    assert not verify([folders[1], folders[0]]).holds
    assert verify(folders[:2]).holds
    with pytest.raises(PolicyError, match="empty list"):
        verify([])


def test_a_forged_release_of_a_series_is_named(folders: list[Path]) -> None:
    table = folders[1] / "public" / "data.csv"
    table.write_bytes(table.read_bytes()[:-4])
    found = verify(folders)
    assert [check.name for check in found.failures] == ["release 2, files"]
    assert not found.holds


def test_a_release_that_breaks_the_series_is_not_published(tmp_path: Path, ledger_file: Path) -> None:
    first = released(8, (), tmp_path / "first")
    with pytest.raises(PolicyError, match="Release 2 has 4 rows"):
        released(4, (first,), tmp_path / "second")
    assert not (tmp_path / "second").exists()
