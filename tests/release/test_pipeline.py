"""The one way to publish: what is refused is refused before it costs anything, files are made once, and columns keep to their roles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import polars as pl
import pytest

import reticent as rt
from reticent.base.context import Context
from reticent.core import Draft, Kind
from reticent.definitions import Definition
from reticent.engine.local import LocalEngine
from reticent.errors import PolicyError
from reticent.ledger import Ledger
from reticent.table import FrameRows, Table

FRAME = pl.DataFrame(
    {"id": [f"p{i}" for i in range(12)], "q": [i % 3 for i in range(12)], "s": ["abc"[i // 4] for i in range(12)]}
)


def table(**more: Any) -> Table:
    return rt.Table(FRAME, quasi=["q"], sensitive="s", identifiers=["id"], **more)


@dataclass(frozen=True)
class Changed:
    """A method that hands over Lattice's draft after some change."""

    change: Any
    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups"})
    streams: ClassVar[bool] = False

    def refusal(self, table: Table, definition: Definition) -> str | None:
        return None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        return self.change(rt.Lattice().draft(table, definition, context))

    def describe(self) -> dict[str, Any]:
        return {"name": "Changed"}


@dataclass(frozen=True)
class Untouchable(Changed):
    """A method that must not be reached."""

    change: Any = None

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        raise AssertionError("a draft was made")


@pytest.mark.parametrize(
    ("definition", "more", "text"),
    [
        (rt.KAnonymity(2), {"files": "xml"}, "files must be one of csv, parquet"),
        (rt.BoundedBelief("1/10", "1/2"), {}, "BoundedBelief judges how a release is made"),
        (rt.KAnonymity(2) & rt.BoundedBelief("1/10", "1/2"), {}, "BoundedBelief judges how a release is made"),
    ],
)
def test_what_cannot_be_published_is_refused_before_a_draft_is_made_and_a_ledger_is_opened(
    definition: Definition, more: dict[str, Any], text: str, ledger_file: Path
) -> None:
    with pytest.raises(PolicyError, match=text):
        rt.publish(table(dataset="d"), definition, Untouchable(), **more)
    assert not ledger_file.exists()


def test_a_format_that_a_method_names_is_asked_before_a_draft_is_made() -> None:
    @dataclass(frozen=True)
    class Buckets(Untouchable):
        format: ClassVar[str] = "bucketize"

    with pytest.raises(PolicyError, match="cannot be claimed for a release of format 'bucketize'"):
        rt.publish(table(), rt.KAnonymity(2), Buckets())


def test_a_mechanism_is_refused_other_kinds_of_files_before_anything_is_recorded(ledger_file: Path) -> None:
    small = rt.Table(pl.DataFrame({"a": ["x", "y"]}), quasi=["a"], dataset="d")
    method = rt.AlphaBeta(domain={"a": ["x", "y", "z"]})
    with pytest.raises(PolicyError, match="files must be one of csv, parquet"):
        rt.publish(small, rt.BoundedBelief("1/10", "1/2"), method, files="xml")  # type: ignore[arg-type]
    assert not ledger_file.exists()


@pytest.mark.parametrize("column", ["id", "unasked"])
def test_a_column_without_a_role_is_never_published(column: str, ledger_file: Path) -> None:
    frame = FRAME.with_columns(unasked=pl.lit(1))
    data = rt.Table(frame, quasi=["q"], sensitive="s", identifiers=["id"], dataset="d")

    def leaking(draft: Draft) -> Draft:
        rows = draft.tables["data"]
        shown = rows if isinstance(rows, pl.DataFrame) else rows.frame()
        return replace(draft, tables={"data": FrameRows(shown.with_columns(frame[column].head(shown.height)))})

    with pytest.raises(PolicyError, match=f"drafted the column '{column}', whose role does not allow publishing it"):
        rt.publish(data, rt.KAnonymity(2), Changed(leaking))
    with Ledger(ledger_file) as ledger:
        assert not ledger.entries("d")


def test_an_identifier_named_in_a_domain_is_not_drawn() -> None:
    people = rt.Table(FRAME.select("id", "q"), quasi=["q"], identifiers=["id"])
    domain = {"id": FRAME["id"].to_list(), "q": [0, 1, 2]}
    with pytest.raises(PolicyError, match="'id'"):
        rt.publish(people, rt.BoundedBelief("1/100", "1/2"), rt.AlphaBeta(domain=domain))


def test_a_file_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []
    before = LocalEngine.write

    def counting(self: LocalEngine, rows: Any, target: Path, *more: Any, **named: Any) -> Any:
        written.append(target.name)
        return before(self, rows, target, *more, **named)

    monkeypatch.setattr(LocalEngine, "write", counting)
    release = rt.publish(table(), rt.KAnonymity(2))
    first, second = release.save(tmp_path / "first"), release.save(tmp_path / "second")
    assert written == ["data.csv"]
    for folder in (first, second):
        assert (folder / "public" / "data.csv").read_bytes() == release.frame.write_csv(
            quote_style="necessary"
        ).encode()
        assert rt.verify(folder).holds
