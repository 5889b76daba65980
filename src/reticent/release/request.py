"""A request: a table, a definition and a method that fit together, found out before any work is done."""

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
    """What is to be published: a ``table`` under a ``definition`` that the ``method`` and its format can keep, as ``files`` of one kind."""

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
        """The request that some arguments make, by default with the default method; a :class:`PolicyError` says what does not fit. No row is looked at."""
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
            raise PolicyError(f"Pseudonyms are published in a column {PSEUDONYM!r}. Rename the column of that name.")
        return cls(table, definition, chosen, files)

    def prepared(self) -> Request:
        """The same, with sets of columns closed under what can be computed from them, promises repeated for sensitive columns that follow from others, and everything counted beside the rows that the definition needs."""
        table = with_closed_sets(self.table)
        definition = closed(with_related_secrets(self.definition, table), table)
        if all(part.kind == "groups" and not part.needs_population for part in definition.parts()):
            # Fitted before the table is copied: whoever publishes it again finds them.
            _ = table.hierarchies, table.sensitive_columns
        # Domains that come from the data come from a population too, in the draft and in the recoding of later rows.
        return replace(self, table=definition.prepare(table), definition=definition)


def unclaimed(name: Any, definition: Definition) -> str | None:
    """Why the definition cannot be claimed for a format, where a method says beforehand which one it makes."""
    refused = format_of(name).refusal(definition) if isinstance(name, str) else None
    return None if refused is None else f"{definition} cannot be claimed for a release of format {name!r}. {refused}"


def _refusal(table: Table, definition: Definition, method: Method) -> str | None:
    """Why the method, or the format that it publishes, cannot keep the definition."""
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
    """Why a random mechanism cannot take a table with weights: noise that hides one row hides nothing of a weight of 1,000, unless the method says that it counts them."""
    if table.weight is None or not is_random(method) or getattr(method, "counts_weights", False):
        return None
    return (
        f"{type(method).__name__} counts rows, each as one, and this table has a weight for each ({table.weight!r}): counting a weight would need noise for the largest one. Leave the weight "
        "out, or, where a weight says how many rows there are, repeat each row as often."
    )


def _nameless(table: Table, method: Method) -> str | None:
    """Why a random mechanism with a declared budget cannot take a table without a name."""
    if table.dataset is not None or not is_random(method) or getattr(method, "budget", None) is None:
        return None
    return "A budget is kept in the ledger for a named data set, and this table has no name. Pass dataset= to the table, or leave out the budget."


def _check_files(files: str, table: Table) -> None:
    """Refuse a kind of file that is not known, lacks its package, or cannot take this table, before anything is searched."""
    kind = table_file(files)
    kind.check()
    if table.streamed and not kind.streams:
        raise PolicyError(
            f"files = {files!r} needs all rows in memory, and this table is {table.read_how}. Choose csv or parquet, or pass engine='local' if the table fits in memory.",
            setting=("files",),
            value=files,
        )
