"""``reticent publish``: search for a release, certify it, write it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, shown
from reticent.cli.console import Details, Json, answer, working
from reticent.cli.options import DraftOptions, LedgerOption, PolicyArgument, SignOption
from reticent.cli.preview import show_preview

if TYPE_CHECKING:
    from reticent.io import Source
    from reticent.policy import Policy, Published
    from reticent.propose import LowUtility
    from reticent.release import Release


_QUICKLY_COMPARED = 100_000


def publish(
    policy: PolicyArgument,
    draft: DraftOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A new folder for the release.")] = None,
    again: Annotated[
        bool | None, typer.Option("--again", help="Allow a further release of a data set that was released before.")
    ] = None,
    sign: SignOption = None,
    report: Annotated[
        bool | None, typer.Option("--report", help="Write the steward's report to private/report.html.")
    ] = None,
    files: Annotated[
        str | None, typer.Option("--files", help="The file format of the release: csv, parquet, xlsx, sav, dta or xpt.")
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", help="Also write the tables to this database (an SQLAlchemy URL, or env:NAME)."),
    ] = None,
    to_table: Annotated[
        str | None, typer.Option("--to-table", help="The new table in the database of --to, such as reporting.visits.")
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--identity", help="Number the rows of the table of --to in an identity column of this name."),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Read the rows from here instead of the policy's source: a file, a database URL, or env:NAME.",
        ),
    ] = None,
    source_table: Annotated[
        str | None, typer.Option("--from-table", help="The table in the database of --from, such as raw.visits.")
    ] = None,
    ledger: LedgerOption = None,
    log: Annotated[Path | None, typer.Option("--log", help="Also add the certificate to this log of releases.")] = None,
    log_key: Annotated[
        Path | None, typer.Option("--log-key", help="The private key (.key) of the log (default: the key of --sign).")
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be published, as `reticent preview` does; record nothing."),
    ] = False,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Find the least distorted release that satisfies the definition, certify it and write it.

    Example: reticent publish policy.toml -o release --report
    """
    from reticent.policy import Policy, publish_policy

    loaded = Policy.read(policy)
    if dry_run:
        show_preview(loaded, draft, compare=False, attacks=False, details=details, as_json=as_json)
        return
    with working("Searching for the least distorted release ...", as_json) as context:
        published = publish_policy(
            loaded,
            output,
            again=again,
            sign=sign,
            report=report,
            ledger=ledger,
            files=files,
            to=to,
            to_table=to_table,
            identity=identity,
            source=_source(loaded, source, source_table),
            log=log,
            log_key=log_key,
            **draft.overrides(),
            context=context,
        )
    compared = published.release.private.search.get("compared")
    worth = _worth(published)
    answer(PlainResult(_figures(published, worth, compared), _card(published, worth, compared)), as_json, details)


def _source(policy: Policy, location: str | None, table_name: str | None) -> Source | None:
    """Return the source that overrides the policy's; None if none is given."""
    from reticent.errors import PolicyError
    from reticent.io import Source

    if location is None:
        if table_name is not None:
            raise PolicyError("--from-table names a table in the database of --from: pass both.")
        return None
    return Source.fitting(location, {**policy.reading, **({} if table_name is None else {"table": table_name})})


def _figures(published: Published, worth: LowUtility | None, compared: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return everything about the published release as plain data."""
    from reticent.utility import listed_utility

    release, private = published.release, published.release.private
    return {
        "headline": release.headline.as_json(),
        "path": published.path,
        "report": published.report,
        "log": published.log,
        "format": release.format,
        "tables": {name: _paths(published, table.files) for name, table in release.manifest.tables.items()},
        "floor": private.search.get("floor"),
        "levels": {column: level for column, level, _ in _levels(published)},
        "groups": _groups(release),
        "rows": release.public.height,
        "suppressed": private.suppressed,
        "waiting": private.search.get("waiting", 0),
        "worst_posterior": private.search.get("worst_posterior"),
        "proven": private.search.get("proven"),
        "bound": private.search.get("bound"),
        "methods": compared,
        "of_little_use": None if worth is None else worth.as_dict(),
        "utility": listed_utility(release.utility),
        "unpublished": list(published.table.unpublished),
        "read_as_missing": {column: dict(codes) for column, codes in published.table.codebook.missing.items()},
        "certificate": dict(release.certificate),
    }


def _card(published: Published, worth: LowUtility | None, compared: Mapping[str, Any] | None) -> Card:
    """Return the card of the published release: verdict, claims, columns, example rows and loss."""
    from reticent.cli.screens import ROWS_SHOWN, columns_table, how_many, rows_table
    from reticent.release import DeclaredColumns, covers, methods_table, promised_by
    from reticent.utility import listed_utility

    release, private = published.release, published.release.private
    groups = release.groups if private.evidence.groups else None
    waiting = private.search.get("waiting", 0)
    promised = promised_by(release.certificate, release.public.manifest)
    claims = [f"{claim.definition}: {covers(*claim)}" for claim in promised]
    declared = DeclaredColumns.stated(release.certificate).sentences()
    levels = [(column, f"{level} of {height}") for column, level, height in _levels(published)]
    return Card(
        f"Published {how_many(release.public.height, private.suppressed, groups, waiting)}.",
        tone=release.headline.tone,
        tables=[
            columns_table(private.loss_by_column, private.recoding, published.table, release.utility.get("loss")),
            rows_table(release.public.sample(ROWS_SHOWN)),
            *([] if compared is None else [methods_table(compared)]),
            CardTable(("column", "level"), levels, "Levels", detail=True),
            CardTable(
                ("measure", "value"),
                list(listed_utility(release.utility).items()),
                "Information loss (internal; do not publish)",
                detail=True,
            ),
        ],
        sentences=[
            *release.headline.lines(),
            *claims,
            *(sentence for sentence in declared if sentence not in release.headline.reasons),
        ],
        notes=[
            *(() if worth is None else worth.words),
            *_search_notes(private.search),
            *_farewell(published, groups is None),
        ],
    )


def _search_notes(search: Mapping[str, Any]) -> Iterator[str]:
    """Yield reasons why a better release may exist."""
    if "floor" in search:
        raised = ", ".join(f"{name} {level}" for name, level in search["floor"].items() if level)
        yield (
            f"The table has more distinct rows than fit in the driver's memory, so the search started at coarser levels ({raised}): a less distorted release may exist. Raise the limit with RETICENT_MEMORY."
        )
    if not search.get("proven", True):
        yield f"The time limit was reached: a better release may exist, but none with a loss below {shown(search['bound'])}."


def _farewell(published: Published, is_sampled: bool) -> Iterator[str]:
    """Yield what was not published, where the files are, and what to do next."""
    if published.table.unpublished:
        yield f"Not published, because no role is set: {', '.join(published.table.unpublished)}."
    yield from published.table.codebook.notes()
    yield f"{published.path / 'public'} may be published; keep {published.path / 'private'} to yourself."
    if published.report is not None:
        yield f"The report is {published.report}."
    if published.log is not None:
        yield f"The certificate is in the log {published.log}."
    yield f"Any recipient can verify it: reticent verify {published.path}"
    if published.report is None and not is_sampled:
        yield f"It was not attacked yet; to do that: reticent attack {published.path} --raw <the policy>"


def _worth(published: Published) -> LowUtility | None:
    """Return why the release is of little use, if it is. It is already published, so alternatives are searched only where that is fast."""
    from reticent.propose import poor_worth

    private = published.release.private
    method, loss, losses = published.release.manifest.method, private.utility.get("loss"), private.loss_by_column
    return poor_worth(published.table, published.definition, method, loss, losses, most_rows=_QUICKLY_COMPARED)


def _paths(published: Published, files: Sequence[str]) -> Path | list[Path]:
    """Return the file of a table, or its files."""
    paths = [published.path / "public" / file for file in files]
    return paths[0] if len(paths) == 1 else paths


def _groups(release: Release) -> dict[str, int] | None:
    """Return the number of groups and the size of the smallest; None if the rows are not true rows."""
    if not release.private.evidence.groups:
        return None
    return {"count": len(release.groups), "smallest": int(release.groups.people.min())}


def _levels(published: Published) -> list[tuple[str, int, int]]:
    """Return each column with its level and its maximum level; empty if the method assigns no single level per column."""
    search = published.release.private.search
    if "chosen" not in search:
        return []
    return list(zip(search["columns"], search["chosen"], search["heights"], strict=True))
