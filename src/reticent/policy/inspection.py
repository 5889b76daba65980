"""``rt.inspect``: what is in a table, and a policy to begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent.base.cards import Card, CardTable, ShownAsCard
from reticent.base.context import Context
from reticent.base.files import write_whole
from reticent.errors import Infeasible
from reticent.io import Source
from reticent.policy.policy import Policy
from reticent.policy.table_reader import read
from reticent.propose import Proposal, Tradeoff, propose_policy
from reticent.table import Table

_NOTES_SHOWN = 4
_ROLES = {
    "identifier": "dropped: names people",
    "quasi": "generalized: others may know it",
    "sensitive": "published, kept uncertain: nobody may learn it",
    "weight": "survey weight, not published",
    None: "not published",
}


@dataclass(frozen=True, repr=False)
class Inspection(ShownAsCard):
    """A proposal for one source of rows: roles, hierarchies, a definition, and all of it as the text of a policy.

    ``source`` is the file, address or frame that was inspected; ``text`` is the policy as it is written, ``folder`` is what relative paths in it
    start from, ``priced`` what promises and methods cost.
    """

    source: Any
    proposal: Proposal
    text: str
    folder: Path
    priced: Tradeoff

    def card(self) -> Card:
        """The columns of each role and what becomes of them; as details every column, why, and what promises cost."""
        found, priced = self.proposal, self.priced
        promise = _named(found.definition)
        roles = [
            (words, ", ".join(column.name for column in found.columns if column.role == role))
            for role, words in _ROLES.items()
            if any(column.role == role for column in found.columns)
        ]
        looks = [
            (
                column.name,
                column.profile.type,
                column.profile.distinct,
                column.profile.nulls or "",
                f"{float(column.profile.uniqueness):.0%}",
                ", ".join(map(str, column.profile.examples[:3])),
            )
            for column in found.columns
        ]
        reasons = [(column.name, column.role or "not published", column.reason) for column in found.columns]
        costs = [(price.definition + (" (proposed)" if price.chosen else ""), price.words) for price in priced.prices]
        notes = [f"Note: {note}" for note in found.notes]
        return Card(
            f"{found.rows:,} rows, {len(found.columns)} columns",
            {"definition": promise or "none"},
            "bad" if found.headline or not promise else "plain",
            [
                CardTable(("what happens", "columns"), roles, "Proposed roles"),
                CardTable(("column", "type", "values", "missing", "alone", "examples"), looks, "Columns", detail=True),
                CardTable(("column", "role", "why"), reasons, "Why", detail=True),
                CardTable(("definition", "price"), costs, "What promises cost", detail=True),
                *([] if priced.compared is None else [priced.compared.table()]),
            ],
            [f"Read first: {warning}" for warning in found.headline],
            notes[:_NOTES_SHOWN],
            notes[_NOTES_SHOWN:],
        )

    @property
    def ok(self) -> bool:
        """A proposal is there, even where it proposes to publish nothing."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """The proposal as plain data, with the text of the policy."""
        found, priced = self.proposal, self.priced
        return {
            "rows": found.rows,
            "columns": [column.as_dict() for column in found.columns],
            "definition": list(found.definition),
            "headline": list(found.headline),
            "notes": list(found.notes),
            "left_out": [{"column": each.column, "price": each.price} for each in priced.left_out],
            "prices": [price.as_dict() for price in priced.prices],
            "methods": None if priced.compared is None else priced.compared.as_dict(),
            "text": self.text,
        }

    @property
    def policy(self) -> str:
        """The text of the policy. Too few people for any protection: :class:`Infeasible`, and the reason is in ``notes`` too."""
        if self.proposal.refusal is not None:
            raise Infeasible(self.proposal.refusal)
        return self.text

    @property
    def roles(self) -> dict[str, str | None]:
        """The proposed role of every column; None for a column that is not published."""
        return {column.name: column.role for column in self.proposal.columns}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the steward should know before accepting the proposal, beside the headline."""
        return self.proposal.notes

    @property
    def headline(self) -> tuple[str, ...]:
        """What must not be overlooked: a question, a release of little use, a studied column that is left out. Empty where there is nothing of the kind."""
        return self.proposal.headline

    def table(self) -> Table:
        """The rows with the proposed roles."""
        return read(None if isinstance(self.source, str | Path) else self.source, policy=self.parsed())

    def parsed(self) -> Policy:
        """The proposed policy, checked."""
        return Policy.parse(self.policy, "the proposed policy", self.folder)

    def save(self, path: str | Path) -> Path:
        """Write the policy; ``path`` must lie in ``folder``, so that relative paths in it stay true."""
        target = Path(path)
        self.parsed()
        write_whole(target, self.policy.encode())
        return target


def _named(definition: Sequence[Mapping[str, Any]]) -> str:
    """The definitions by name, each once, with the columns that they are about."""
    columns: dict[str, list[str]] = {}
    for part in definition:
        columns.setdefault(str(part["name"]), []).extend([str(part["column"])] if part.get("column") else [])
    return " & ".join(f"{name} ({', '.join(named)})" if named else name for name, named in columns.items())


def inspect(
    source: Any,
    *,
    output: str | Path = "policy.toml",
    table: str | None = None,
    query: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    labels: str | None = None,
    header: bool | None = None,
    skip_rows: int | None = None,
    template: str | None = None,
    prices: bool = True,
    context: Context | None = None,
) -> Inspection:
    """Profile a file, a database table or a frame; propose roles, hierarchies, a definition and a method, as ``reticent inspect`` writes them.

    Parameters:
        source: a file, a database address, or a frame.
        output: where the policy will be written, because paths in it are relative to its folder. Nothing is written here.
        table, query: for databases.
        delimiter, encoding: for CSV files.
        sheet: for spreadsheets.
        labels: ``"text"`` or ``"codes"``, for files of SPSS, Stata and SAS.
        header, skip_rows: whether a text file or sheet has column names, and how many lines stand above the table; by default detected, with a note.
        template: a purpose that the proposal follows, such as ``"hipaa-safe-harbor"``, ``"public-use"``, ``"research"`` or ``"ema-prci"``; its first note
            says what that does not settle.
        prices: try what guarantees and methods cost, which may take longer than everything else. Without, no column is left out for its price,
            guarantees about values are the least ones, and publishing chooses the method.
        context: reports progress and can stop the run.

    Returns:
        An inspection: ``roles``, ``policy`` (the text of a policy file), ``table()``, ``notes``.

    Example:
        >>> import reticent as rt
        >>> rows = {"age": [20 + n % 50 for n in range(200)], "diagnosis": ["flu", "cold", "asthma", "gout"] * 50}
        >>> rt.inspect(rows).roles
        {'age': 'quasi', 'diagnosis': 'sensitive'}
    """
    options: dict[str, Any] = {
        "table": table,
        "query": query,
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
        "labels": labels,
        "header": header,
        "skip_rows": skip_rows,
    }
    place = Path(output)
    # A stream can be read once only, so what is profiled here is read as a frame later.
    location = Source(source, **options).location
    priced, text = propose_policy(location, place, options, context, template, prices=prices)
    return Inspection(location, priced.proposal, text, place.parent, priced)
