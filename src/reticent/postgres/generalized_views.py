"""A PostgreSQL view that recodes the rows of a table as a release does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reticent.base.cards import Card, ShownAsCard
from reticent.definitions import Definition, KAnonymity
from reticent.errors import PolicyError
from reticent.postgres.label_expressions import label_expression, literal, quoted, relation
from reticent.release import PublicSide, certificate_hash, open_public, read_claims
from reticent.table import ValueType

NOT_PROMISED = (
    "It changes with its table: the difference of two queries reveals rows inserted or deleted in between. A release never changes.",
    "It is not in the ledger: it is not assessed together with earlier releases, answers and grants. A release is.",
    "Its rows are not signed and cannot be verified by others. Those of a release are.",
    "Its owner, superusers and users who may change the table's definition see the rows themselves.",
)
"""Guarantees of a release that a view does not have."""


@dataclass(frozen=True, repr=False)
class GeneralizedView(ShownAsCard):
    """The statements that create a view, in one transaction, and its limits."""

    name: str
    table: str
    certificate: str
    statements: tuple[str, ...]
    checked: tuple[str, ...]
    not_promised: tuple[str, ...]

    @property
    def sql(self) -> str:
        """Return the script, with the limits of the view as its first lines."""
        notes = "\n".join(f"--   {line}" for line in self.not_promised)
        body = "\n\n".join(f"{statement};" for statement in self.statements)
        return f"-- Limits of this view compared with a release:\n{notes}\nbegin;\n\n{body}\n\ncommit;\n"

    @property
    def ok(self) -> bool:
        """Always true: the statements exist."""
        return True

    def card(self) -> Card:
        """Return the view, the conditions checked at query time, and its limits."""
        return Card(
            f"The view {self.name} of {self.table}",
            sentences=[f"Checked at every query: {'; '.join(self.checked)}."],
            notes=["Its limits compared with a release:", *(f"- {line}" for line in self.not_promised)],
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the view as plain data."""
        return {
            "view": self.name,
            "table": self.table,
            "certificate": self.certificate,
            "checked_at_every_query": list(self.checked),
            "not_promised": list(self.not_promised),
            "sql": self.sql,
        }


def generalized_view(release: str | Path, table: str, view: str, *, grant: Sequence[str] = ()) -> GeneralizedView:
    """Return a view of ``table`` with the columns and labels of a saved release; ``grant`` are the roles that may
    select from it.

    Rows without a label are not shown, nor groups that violate k-anonymity or distinct l-diversity at query time. The
    comment of the view has the certificate's hash. Created again for a later release of the same data set, it replaces
    the view.
    """
    side = open_public(release)
    _check_recoding(side)
    quasi, other = side.manifest.named("quasi"), [*side.manifest.named("sensitive"), *side.manifest.named("declared")]
    claims = [claim.definition for claim in read_claims(side.certificate) if claim.definition is not None]
    conditions = list(_conditions(claims, side))
    select_list = [f"    {_shown(side, name)} as {quoted(name)}" for name in quasi] + [
        f"    {quoted(name)}" for name in other
    ]
    listed = ",\n".join(select_list)
    names = ", ".join(quoted(name) for name in quasi)
    null_free = " and ".join(f"{quoted(name)} is not null" for name in quasi)
    columns = ", ".join(quoted(name) for name in [*quasi, *other])
    having = " and ".join(sql for _, sql in conditions)
    matched = " and ".join(f"kept.{quoted(name)} = labelled.{quoted(name)}" for name in quasi)
    body = (
        f"create or replace view {relation(view)} with (security_barrier = true) as\n"
        f"with labelled as (\n  select\n{listed}\n  from {relation(table)}\n),\n"
        f"kept as (select {names} from labelled where {null_free} group by {names} having {having})\n"
        f"select {columns} from labelled where exists (select from kept where {matched})"
    )
    ledger_entry, digest = side.certificate["ledger"], certificate_hash(side.certificate)
    numbered = (
        f", release {ledger_entry['release']} of {ledger_entry['dataset']}" if ledger_entry.get("release") else ""
    )
    comment = f"Generalized by Reticent as its release; certificate sha256 {digest}{numbered}. Not a release itself."
    statements = [
        body,
        f"comment on view {relation(view)} is {literal(comment)}",
        f"revoke all on {relation(view)} from public",
        *(f"grant select on {relation(view)} to {quoted(role)}" for role in grant),
    ]
    checked = tuple(what_is_checked for what_is_checked, _ in conditions)
    unchecked = tuple(
        f"{claim.name} is not checked at query time; it held for the release."
        for claim in claims
        if claim.name not in ("KAnonymity", "DistinctLDiversity")
    )
    return GeneralizedView(view, table, digest, tuple(statements), checked, (*NOT_PROMISED, *unchecked))


def _check_recoding(side: PublicSide) -> None:
    """Refuse a release that is not recoded globally: each value of a column must have the same label in all rows."""
    method = side.manifest.method
    if side.format != "generalize" or method.get("name") != "Lattice":
        raise PolicyError(
            f"A view needs a release in which every value of a column has one label (method Lattice, format generalize); this one was made by {method.get('name')} as {side.format}. "
            "Publish it to the database with `reticent publish --to` instead."
        )
    if side.manifest.unit != "row":
        raise PolicyError(
            "A view counts rows, and this release counts people with several rows. Publish it with --to instead."
        )


def _shown(side: PublicSide, name: str) -> str:
    column = side.manifest.column(name)
    return label_expression(name, column.labels, column.kind == ValueType.TEXT)


def _conditions(claims: Sequence[Definition], side: PublicSide) -> Iterator[tuple[str, str]]:
    """Yield the claims that are checked at query time: in words, and as the condition on a group."""
    k = max((claim.k for claim in claims if isinstance(claim, KAnonymity)), default=2)
    yield f"groups of at least {k} rows", f"count(*) >= {k}"
    for claim in claims:
        if claim.name == "DistinctLDiversity":
            column = claim.parameters().get("column") or side.manifest.named("sensitive")[0]
            values = claim.parameters()["l"]
            yield (
                f"at least {values} different values of {column}",
                f"count(distinct {quoted(str(column))}) >= {values}",
            )
