"""``rt.inspect``: what is in a table, and a policy to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent.base.cards import Card, ShownAsCard
from reticent.base.context import Context
from reticent.base.files import write_whole
from reticent.errors import Infeasible
from reticent.io import Source
from reticent.policy.policy import Policy
from reticent.policy.table_reader import read
from reticent.propose import Proposal, Tradeoff, propose_policy
from reticent.table import Table


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
        """The proposed role of every column and why."""
        rows = [(each.name, each.role or "not published", each.reason) for each in self.proposal.columns]
        promise = " & ".join(str(part["name"]) for part in self.proposal.definition)
        facts = {"rows": self.proposal.rows, "columns": len(rows), "definition": promise, "notes": len(self.notes)}
        if self.proposal.headline:
            facts["read first"] = " ".join(self.proposal.headline)
        good = False if self.proposal.headline or not promise else None
        return Card("Inspection", facts, good, ("column", "role", "why"), rows)

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
        prices: try what guarantees and methods cost, which may take longer than everything else. Without, no column is left out for its price, and the
            method is a first guess.
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
