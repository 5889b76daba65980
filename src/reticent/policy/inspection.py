"""``rt.inspect``: profile a table and propose a first policy."""

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
    "identifier": "not published, because it identifies people",
    "quasi": "generalized, because others may know it",
    "sensitive": "published, but protected from being linked to a person",
    "weight": "survey weight, not published",
    None: "not published",
}


@dataclass(frozen=True, repr=False)
class Inspection(ShownAsCard):
    """A proposal for one source of rows: roles, hierarchies and a definition, also as policy text.

    ``source`` is the file, address or frame that was inspected; ``text`` is the policy text, ``folder`` the base of
    relative paths in it, ``priced`` the costs of guarantees and methods.
    """

    source: Any
    proposal: Proposal
    text: str
    folder: Path
    priced: Tradeoff

    def card(self) -> Card:
        """Return a card: the columns of each role and their treatment; as details every column, the reason, and the costs of guarantees."""
        proposal, priced = self.proposal, self.priced
        promise = _definition_words(proposal.definition)
        roles = [
            (words, ", ".join(column.name for column in proposal.columns if column.role == role))
            for role, words in _ROLES.items()
            if any(column.role == role for column in proposal.columns)
        ]
        profiles = [
            (
                column.name,
                column.profile.type,
                column.profile.distinct,
                column.profile.nulls or "",
                f"{float(column.profile.uniqueness):.0%}",
                ", ".join(map(str, column.profile.examples[:3])),
            )
            for column in proposal.columns
        ]
        reasons = [(column.name, column.role or "not published", column.reason) for column in proposal.columns]
        costs = [(price.definition + (" (proposed)" if price.chosen else ""), price.words) for price in priced.prices]
        notes = [f"Note: {note}" for note in proposal.notes]
        return Card(
            f"{proposal.rows:,} rows, {len(proposal.columns)} columns",
            {"definition": promise or "none"},
            "bad" if proposal.headline or not promise else "plain",
            [
                CardTable(("what happens", "columns"), roles, "Proposed roles"),
                CardTable(
                    ("column", "type", "values", "missing", "alone", "examples"), profiles, "Columns", detail=True
                ),
                CardTable(("column", "role", "why"), reasons, "Why", detail=True),
                CardTable(("definition", "price"), costs, "Information loss of guarantees", detail=True),
                *([] if priced.compared is None else [priced.compared.table()]),
            ],
            [f"Read first: {warning}" for warning in proposal.headline],
            notes[:_NOTES_SHOWN],
            notes[_NOTES_SHOWN:],
        )

    @property
    def ok(self) -> bool:
        """True if there is a proposal, even if it proposes to publish nothing."""
        return True

    def as_dict(self) -> dict[str, Any]:
        """Return the proposal as plain data, with the policy text."""
        proposal, priced = self.proposal, self.priced
        return {
            "rows": proposal.rows,
            "columns": [column.as_dict() for column in proposal.columns],
            "definition": list(proposal.definition),
            "headline": list(proposal.headline),
            "notes": list(proposal.notes),
            "left_out": [{"column": dropped.column, "price": dropped.price} for dropped in priced.left_out],
            "prices": [price.as_dict() for price in priced.prices],
            "methods": None if priced.compared is None else priced.compared.as_dict(),
            "text": self.text,
        }

    @property
    def policy(self) -> str:
        """The policy text. Raises :class:`Infeasible` if there are too few people for any protection; the reason is also in ``notes``."""
        if self.proposal.refusal is not None:
            raise Infeasible(self.proposal.refusal)
        return self.text

    @property
    def roles(self) -> dict[str, str | None]:
        """The proposed role of every column; None for a column that is not published."""
        return {column.name: column.role for column in self.proposal.columns}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the steward should know before accepting the proposal, besides the headline."""
        return self.proposal.notes

    @property
    def headline(self) -> tuple[str, ...]:
        """What must not be overlooked: a question, a release of little use, a dropped column that studies need. May be empty."""
        return self.proposal.headline

    def table(self) -> Table:
        """Return the rows with the proposed roles."""
        return read(None if isinstance(self.source, str | Path) else self.source, policy=self.parsed())

    def parsed(self) -> Policy:
        """Return the proposed policy, validated."""
        return Policy.parse(self.policy, "the proposed policy", self.folder)

    def save(self, path: str | Path) -> Path:
        """Write the policy; ``path`` must be in ``folder``, so that relative paths stay valid."""
        target = Path(path)
        self.parsed()
        write_whole(target, self.policy.encode())
        return target


def _definition_words(definition: Sequence[Mapping[str, Any]]) -> str:
    """Return the definitions by name, each once, with the columns that they concern."""
    columns: dict[str, list[str]] = {}
    for part in definition:
        columns.setdefault(str(part["name"]), []).extend([str(part["column"])] if part.get("column") else [])
    return " & ".join(f"{name} ({', '.join(names)})" if names else name for name, names in columns.items())


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
    number_names: bool | None = None,
    template: str | None = None,
    prices: bool = True,
    context: Context | None = None,
) -> Inspection:
    """Profile a file, a database table or a frame; propose roles, hierarchies, a definition and a method, as ``reticent
    inspect`` does.

    Parameters:
        source: a file, a database address, or a frame.
        output: where the policy will be written, because paths in it are relative to its folder. Nothing is written here.
        table, query: for databases.
        delimiter, encoding: for CSV files.
        sheet: for spreadsheets.
        labels: ``"text"`` or ``"codes"``, for files of SPSS, Stata and SAS.
        header, skip_rows: whether a text file or sheet has column names, and how many lines precede the table; detected by default, with a note.
        number_names: number repeated column names of a text file or sheet (``date``, ``date_2``); they are refused otherwise.
        template: a purpose that the proposal follows, such as ``"hipaa-safe-harbor"``, ``"public-use"``, ``"research"`` or ``"ema-prci"``; its first note says what that does not cover. prices: measure the information loss of guarantees and methods, which may take longer than everything else. Without, no column is dropped for its cost, guarantees about values are minimal, and publishing chooses the method.
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
        "number_names": number_names,
    }
    output_path = Path(output)
    # A stream can be read only once, so it is profiled and later read as a frame.
    location = Source(source, **options).location
    priced, text = propose_policy(location, output_path, options, context, template, prices=prices)
    return Inspection(location, priced.proposal, text, output_path.parent, priced)
