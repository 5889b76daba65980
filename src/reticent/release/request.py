"""A request: a table, a definition and a method, checked for compatibility before any work is done."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from reticent.definitions import Definition, Method, closed, is_random, unkept, with_closed_sets, with_related_secrets
from reticent.errors import PolicyError
from reticent.release.format import format_of
from reticent.release.method_lookup import default_method, named_method
from reticent.table import PSEUDONYM, Table, table_file

FileKind = Literal["csv", "parquet", "xlsx", "sav", "dta", "xpt"]


@dataclass(frozen=True)
class Request:
    """A ``table`` to publish under a ``definition`` that the ``method`` and its format support, as ``files`` of one type."""

    table: Table
    definition: Definition
    method: Method
    files: FileKind = "csv"

    @classmethod
    def of(
        cls,
        table: Table,
        definition: Definition,
        method: Method | str | None = None,
        files: FileKind = "csv",
        *,
        wanted_by: str = "publish",
    ) -> Request:
        """Build a request from arguments; an incompatible one raises a :class:`PolicyError`. Without a method, the default
        is used. No row is read.
        """
        if not isinstance(table, Table):
            raise PolicyError(f"{wanted_by} needs a Table (rt.Table or rt.read), but it got a {type(table).__name__}.")
        if not isinstance(definition, Definition):
            raise PolicyError(f"{wanted_by} needs a definition such as KAnonymity(5), but it got {definition!r}.")
        _check_files(files, table)
        chosen = default_method(table, definition) if method is None else named_method(method)
        if isinstance(chosen, type) or not isinstance(getattr(chosen, "keeps", None), frozenset):
            raise PolicyError(f"{wanted_by} needs a method such as Lattice(), but it got {chosen!r}.")
        reason = _refusal(table, definition, chosen)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        if table.pseudonyms and PSEUDONYM in table.schema:
            raise PolicyError(
                f"Pseudonyms are published in a column {PSEUDONYM!r}. Rename the table's column of that name."
            )
        return cls(table, definition, chosen, files)

    def prepared(self) -> Request:
        """Return the request ready for drafting: column sets closed under computable columns, claims repeated for
        sensitive columns that follow from others, and counts extended to the rows that the definition needs.
        """
        table = with_closed_sets(self.table)
        definition = closed(with_related_secrets(self.definition, table), table)
        if all(part.kind == "groups" and not part.needs_population for part in definition.parts()):
            # Fitted before the table is copied, so that a later publication of it reuses them.
            _ = table.hierarchies, table.sensitive_columns
        # Domains derived from data include the population, in the draft and in the recoding of later rows.
        return replace(self, table=definition.prepare(table), definition=definition)


def unclaimed(name: Any, definition: Definition) -> str | None:
    """Return why the definition cannot be claimed, if the method states its format in advance; otherwise None."""
    refused = format_of(name).refusal(definition) if isinstance(name, str) else None
    return None if refused is None else f"{definition} cannot be claimed for a release of format {name!r}. {refused}"


def _refusal(table: Table, definition: Definition, method: Method) -> str | None:
    """Return why the method, or the format it publishes, cannot satisfy the definition; None if it can."""
    name = type(method).__name__
    reason = unkept(name, method.keeps, definition)
    if reason is None and table.streamed and not method.streams:
        reason = f"{name} needs all rows in memory, and this table is {table.read_how}. Pass engine='local' if the table fits in memory, or use Lattice."
    return (
        reason
        or _unweighted(table, method)
        or _nameless(table, method)
        or method.refusal(table, definition)
        or unclaimed(getattr(method, "format", None), definition)
    )


def _unweighted(table: Table, method: Method) -> str | None:
    """Return why a random mechanism cannot take a weighted table: noise that hides one row does not hide a weight of
    1,000, unless the method counts weights.
    """
    if table.weight is None or not is_random(method) or getattr(method, "counts_weights", False):
        return None
    return (
        f"{type(method).__name__} counts each row as one, but this table has weights ({table.weight!r}): a weighted count would need noise for the largest weight. Drop the weight "
        "column or, if a weight is a number of rows, repeat each row that often."
    )


def _nameless(table: Table, method: Method) -> str | None:
    """Return why a random mechanism with a declared budget cannot take an unnamed table."""
    if table.dataset is not None or not is_random(method) or getattr(method, "budget", None) is None:
        return None
    return "The ledger keeps a budget per named data set, and this table has no name. Pass dataset= to the table, or drop the budget."


def _check_files(files: str, table: Table) -> None:
    """Refuse an unknown file type, one whose package is missing, or one that cannot hold this table, before the search starts."""
    kind = table_file(files)
    kind.check()
    if table.streamed and not kind.streams:
        raise PolicyError(
            f"files = {files!r} needs all rows in memory, and this table is {table.read_how}. Choose csv or parquet, or pass engine='local' if the table fits in memory.",
            setting=("files",),
            value=files,
        )
