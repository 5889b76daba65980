"""``reticent views``: may this view be granted while that query stays secret?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli import views_access
from reticent.cli.console import Json, answer, table, working

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.views.checking import Checker
    from reticent.views.query import Query
    from reticent.views.schema import Schema
    from reticent.views.verdict import Verdict
    from reticent.views.witness import Witness

app = typer.Typer(no_args_is_help=True, help="May this view be granted while that query stays secret?")

SchemaFile = Annotated[Path | None, typer.Option("--schema", help="DDL statements, or JSON, TOML, YAML.")]
Postgres = Annotated[str | None, typer.Option("--postgres", help="Read the catalogue of this PostgreSQL (a URL).")]
DuckDb = Annotated[Path | None, typer.Option("--duckdb", help="Read the catalogue of this DuckDB file.")]
Dialect = Annotated[str, typer.Option("--dialect", help="The SQL dialect of all texts.")]
Semantics = Annotated[str, typer.Option("--semantics", help="sql: duplicates as SQL keeps them; set; bag.")]
KeyMode = Annotated[str, typer.Option("--keys", help="exact, or conservative (the thesis's test).")]
Strict = Annotated[bool, typer.Option("--strict", help="UNKNOWN where foreign keys leave the theory.")]
Nodes = Annotated[int, typer.Option("--nodes", help="Search nodes a pair.", min=1)]
Seconds = Annotated[float, typer.Option("--seconds", help="Seconds a pair.")]
Secret = Annotated[str, typer.Option("--secret", help="The secret query: a file, or its text.")]
View = Annotated[list[str], typer.Option("--view", help="The view: a file, or its text; several are seen together.")]
OneView = Annotated[str, typer.Option("--view", help="The view: a file, or its text.")]


def register(parent: typer.Typer) -> None:
    """Add ``reticent views`` to the command line."""
    views_access.register(app)
    parent.add_typer(app, name="views")


@app.command("check")
def check_command(
    secret: Secret,
    view: View,
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    keys: KeyMode = "exact",
    strict: Strict = False,
    nodes: Nodes = 1_000_000,
    seconds: Seconds = 30.0,
    certificate: Annotated[Path | None, typer.Option("--certificate", help="Write a certificate here.")] = None,
    json_: Json = False,
) -> None:
    """Does showing the view disclose anything about the secret? Exit code 0 only when it is proved PRIVATE."""
    from reticent.views.verdict import jointly

    known = _schema(schema, postgres, duckdb, dialect)
    texts = {**_query(secret, "secret", dialect, single=True)}
    for item in view:
        texts.update(_query(item, "view" if len(view) == 1 else f"view {len(texts)}", dialect))
    checker, (hidden, *shown) = _prepared(texts, known, semantics, dialect, keys, strict, nodes, seconds)
    with working("Looking for a row that changes both answers ...", json_):
        each = tuple(checker.check(hidden, query) for query in shown)
    verdict = jointly(each)
    if certificate is not None:
        _write_certificates(certificate, each, hidden, shown, checker.schema, semantics, dialect)
    answer(verdict.to_json(), json_, lambda console: _show(console, verdict))


@app.command("matrix")
def matrix_command(
    secrets: Annotated[Path, typer.Option("--secrets", help="A file or a directory of secret queries.")],
    views: Annotated[Path, typer.Option("--views", help="A file or a directory of views.")],
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    keys: KeyMode = "exact",
    strict: Strict = False,
    nodes: Nodes = 1_000_000,
    seconds: Seconds = 30.0,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report here (.json or .md).")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Run every disclosing pair in SQLite or DuckDB.")] = False,
    json_: Json = False,
) -> None:
    """All secrets against all views, for CI: exit code 0 only when every pair is proved PRIVATE."""
    from reticent.views.matrix import Matrix
    from reticent.views.sql.files import read_queries

    known = _schema(schema, postgres, duckdb, dialect)
    hidden = {f"secret {name}": text for name, text in read_queries(secrets, dialect).items()}
    shown = {f"view {name}": text for name, text in read_queries(views, dialect).items()}
    how = "sql" if replay else "definition"
    checker, queries = _prepared({**hidden, **shown}, known, semantics, dialect, keys, strict, nodes, seconds, how)
    with working(f"{len(hidden)} secrets x {len(shown)} views ...", json_):
        found = Matrix.of(checker, queries[: len(hidden)], queries[len(hidden) :])
    if report is not None:
        text = json.dumps(found.to_json(), indent=2) if report.suffix == ".json" else found.to_markdown()
        report.write_text(text + "\n", encoding="utf-8")

    def render(console: Console) -> None:
        console.print(table("Views against secrets", ["", *found.views], found.rows()))
        denied = found.denied()
        console.print(
            table("Denied", ["view", "secret", "verdict", "why"], denied) if denied else "Every view is private."
        )

    answer(found.to_json(), json_, render)


@app.command("grant")
def grant_command(
    view: OneView,
    secret: Annotated[
        list[str], typer.Option("--secret", help="A secret query: a file, or its text; several may be given.")
    ],
    to: Annotated[str, typer.Option("--to", help="The user or role of the database who may query the view.")],
    name: Annotated[str, typer.Option("--name", help="The name of the view to create.")],
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    strict: Strict = False,
    json_: Json = False,
) -> None:
    """Write the SQL that grants a view safely, if it is PRIVATE against every secret: a security barrier, and no other rights."""
    from reticent.views.granting import grant

    known = _schema(schema, postgres, duckdb, dialect)
    texts = _query(view, "view", dialect, single=True)
    for item in secret:
        texts.update(_query(item, "secret" if len(secret) == 1 else f"secret {len(texts)}", dialect))
    checker, (shown, *hidden) = _prepared(texts, known, semantics, dialect, strict=strict)
    with working("Looking for a row that changes both answers ...", json_):
        verdicts = [checker.check(query, shown) for query in hidden]
    found = grant(shown, verdicts, to, name, dialect)

    def render(console: Console) -> None:
        console.print(found.sql, markup=False, highlight=False, soft_wrap=True)
        for line in found.warnings:
            console.print(f"- {line}", markup=False)

    answer(found.to_json(), json_, render)


@app.command("explain")
def explain_command(
    secret: Secret,
    view: OneView,
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    keys: KeyMode = "exact",
    json_: Json = False,
) -> None:
    """Why the two collide: table and pattern, the witness as small tables, and repairs that the engine proves."""
    from reticent.views.repairing import causes, repairs

    known = _schema(schema, postgres, duckdb, dialect)
    texts = {**_query(secret, "secret", dialect, single=True), **_query(view, "view", dialect, single=True)}
    checker, (hidden, shown) = _prepared(texts, known, semantics, dialect, keys)
    with working("Looking for causes and repairs ...", json_):
        verdict = checker.check(hidden, shown)
        why = () if verdict.private else causes(hidden, shown, checker.schema)
        mended = repairs(verdict, hidden, shown, checker.schema)
    payload = {
        **verdict.to_json(),
        "causes": list(why),
        "repairs": [{"what": repair.what, "text": repair.text} for repair in mended],
    }

    def render(console: Console) -> None:
        _show(console, verdict)
        for line in why:
            console.print(f"Note: {line}.", markup=False)
        if verdict.witness is not None:
            for drawn in _witness_tables(verdict.witness, checker.schema):
                console.print(drawn)
        if mended:
            rows = [[repair.what, repair.text] for repair in mended]
            console.print(table("Changes of the view that are private", ["change", "view"], rows))

    answer(payload, json_, render)


@app.command("classify")
def classify_command(
    queries: Annotated[list[str], typer.Argument(help="Queries: files, directories, or their texts.")],
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    json_: Json = False,
) -> None:
    """The class of each query, which says how cheap its check is."""
    known = _schema(schema, postgres, duckdb, dialect)
    texts: dict[str, str] = {}
    for item in queries:
        texts.update(_query(item, f"query {len(texts) + 1}", dialect))
    checker, found = _prepared(texts, known, semantics, dialect)
    classes: dict[str, dict[str, Any]] = {}
    for query in found:
        its = checker.classify(query)
        classes[query.name] = {
            "class": list(its.names()) if its else ["union or footprint"],
            "subgoals": its.subgoals if its else None,
            "rows_per_relation": its.rows_per_relation if its else None,
            "width": its.width if its else None,
            "exact": not query.inexact,
            "outside": list(query.inexact),
        }
    rows = [
        [name, ", ".join(item["class"]), "yes" if item["exact"] else "; ".join(item["outside"])]
        for name, item in classes.items()
    ]
    answer(
        {"ok": True, "queries": classes},
        json_,
        lambda console: console.print(table("Classes", ["query", "class", "exact"], rows)),
    )


@app.command("critical-rows")
def critical_rows_command(
    query: Annotated[str, typer.Argument(help="The query: a file, or its text.")],
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    row: Annotated[str | None, typer.Option("--row", help="Ask about one row: \"D(135,'flu')\".")] = None,
    json_: Json = False,
) -> None:
    """Which rows of which tables can change the query's answer; with --row, whether this very row can."""
    from reticent.views.influence import critical_rows, is_critical

    known = _schema(schema, postgres, duckdb, dialect)
    checker, (found,) = _prepared(_query(query, "query", dialect, single=True), known, semantics, dialect)
    if row is not None:
        critical = is_critical(found, row, checker.schema)
        said = "can" if critical else "cannot"
        payload: dict[str, Any] = {"ok": True, "row": row, "critical": critical}
        answer(payload, json_, lambda console: console.print(f"{row} {said} change the answer.", markup=False))
        return
    patterns = critical_rows(found, checker.schema)
    payload = {
        "ok": True,
        "patterns": [
            {"relation": p.relation, "pattern": p.text, "conditions": list(p.conditions), "exact": p.exact}
            for p in patterns
        ],
    }
    rows = [[p.relation, " and ".join(p.conditions) or "any row", "" if p.exact else "some of them"] for p in patterns]
    answer(payload, json_, lambda console: console.print(table("Critical rows", ["table", "rows with", ""], rows)))


@app.command("witness")
def witness_command(
    secret: Secret,
    view: OneView,
    sqlite: Annotated[Path, typer.Option("--sqlite", help="Write the witness databases here.")],
    schema: SchemaFile = None,
    postgres: Postgres = None,
    duckdb: DuckDb = None,
    dialect: Dialect = "postgres",
    semantics: Semantics = "sql",
    json_: Json = False,
) -> None:
    """Write the two databases that prove a disclosure, before and after the row, into a SQLite file."""
    from reticent.errors import PolicyError
    from reticent.views.replay import write_sqlite

    if sqlite.exists():
        raise PolicyError(f"{sqlite} exists already; name a new file.")
    if not sqlite.absolute().parent.is_dir():
        raise PolicyError(f"There is no folder {sqlite.parent} to write {sqlite.name} to; make it first.")
    known = _schema(schema, postgres, duckdb, dialect)
    texts = {**_query(secret, "secret", dialect, single=True), **_query(view, "view", dialect, single=True)}
    checker, (hidden, shown) = _prepared(texts, known, semantics, dialect)
    verdict = checker.check(hidden, shown)
    if verdict.witness is not None:
        write_sqlite(verdict.witness, hidden, shown, checker.schema, str(sqlite))
    payload = {**verdict.to_json(), "file": str(sqlite) if verdict.witness else None}

    def render(console: Console) -> None:
        _show(console, verdict)
        if verdict.witness:
            console.print(f"Written: {sqlite}", markup=False)

    answer(payload, json_, render)


@app.command("verify")
def verify_command(
    certificate: Annotated[Path, typer.Argument(help="A certificate that `check --certificate` wrote.")],
    json_: Json = False,
) -> None:
    """Check a certificate again, from its texts alone."""
    from reticent.views.certificate import read_certificate
    from reticent.views.texts import read_text
    from reticent.views.verifying import verify

    found = verify(read_certificate(read_text(certificate)))

    def render(console: Console) -> None:
        console.print(f"{found.status}: {'holds' if found.holds else 'does NOT hold'}. {found.how}.", markup=False)

    answer(found.to_json(), json_, render)


def _schema(schema: Path | None, postgres: str | None, duckdb: Path | None, dialect: str) -> Schema | None:
    from reticent.errors import PolicyError

    if sum(item is not None for item in (schema, postgres, duckdb)) > 1:
        raise PolicyError("Give one of --schema, --postgres and --duckdb, not several.")
    if postgres is not None:
        from reticent.views.sql.catalogue import from_postgres

        return from_postgres(postgres)
    if duckdb is not None:
        from reticent.views.sql.catalogue import from_duckdb

        return from_duckdb(duckdb)
    from reticent.views.checking import load_schema

    return load_schema(schema, dialect)


def _query(given: str, name: str, dialect: str, single: bool = False) -> dict[str, str]:
    """The queries that an option names: those of a file or directory, or the text itself."""
    from reticent.errors import PolicyError
    from reticent.views.sql.files import read_queries
    from reticent.views.texts import is_path

    if not (" " in given.strip() or "\n" in given) or is_path(given):
        found = read_queries(Path(given), dialect)
        if single and len(found) != 1:
            raise PolicyError(f"{given} holds {len(found)} queries; give a file with exactly one.")
        return {name: next(iter(found.values()))} if len(found) == 1 else found
    return {name: given}


def _prepared(
    texts: dict[str, str],
    schema: Schema | None,
    semantics: str,
    dialect: str,
    keys: str = "exact",
    strict: bool = False,
    nodes: int = 1_000_000,
    seconds: float = 30.0,
    replay: str = "sql",
) -> tuple[Checker, list[Query]]:
    from reticent.views.checking import Checker, prepare

    known, queries = prepare(list(texts.values()), schema, semantics, dialect=dialect, names=list(texts))
    return Checker(known, key_mode=keys, strict=strict, nodes=nodes, seconds=seconds, replay=replay), queries


def _write_certificates(
    path: Path,
    verdicts: Sequence[Verdict],
    secret: Query,
    views: Sequence[Query],
    schema: Schema,
    semantics: str,
    dialect: str,
) -> None:
    from reticent.errors import PolicyError
    from reticent.views.certificate import certify

    if len(views) != 1:
        raise PolicyError("A certificate is about one secret and one view; check the views one by one.")
    found = certify(verdicts[0], secret, views[0], schema, semantics=semantics, dialect=dialect)
    path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _show(console: Console, verdict: Verdict) -> None:
    console.print(f"{verdict.status}: {verdict.reason}", markup=False)
    if verdict.pattern:
        console.print(f"Rows: {verdict.pattern}", markup=False)
    if verdict.witness is not None:
        witness = verdict.witness
        shown = ", ".join(map(str, witness.row))
        console.print(
            f"Witness ({witness.engine}): adding {witness.relation}({shown}) changes both answers.", markup=False
        )
    console.print(f"Class: {', '.join(verdict.query_class[0])} / {', '.join(verdict.query_class[1])}", markup=False)
    console.print(f"Bound: {verdict.bound}", markup=False)
    for line in (*verdict.assumptions, *verdict.warnings):
        console.print(f"- {line}", markup=False)


def _witness_tables(witness: Witness, schema: Schema) -> list[Any]:
    drawn = []
    for side, row in (("secret", witness.row), ("view", witness.view_row)):
        database = witness.secret_database if side == "secret" else witness.view_database
        for name in sorted({*database, witness.relation}):
            columns = [column.name for column in schema.relation(name).columns]
            rows = [["", *map(str, item)] for item in database.get(name, ())]
            if name == witness.relation:
                rows.append(["+", *map(str, row)])
            drawn.append(table(f"{side}'s database: {name}", ["", *columns], rows))
        before = getattr(witness, f"{side}_before")
        after = getattr(witness, f"{side}_after")
        drawn.append(f"The {side}'s answer: {list(before)} becomes {list(after)}")
    return drawn
