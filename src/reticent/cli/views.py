"""``reticent views``: decide whether granting a view discloses anything about a secret query; decide and record who may
see which view by an access policy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, tone_of
from reticent.cli.console import Json, answer, working
from reticent.cli.options import LedgerOption, add_group
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.base.context import Context
    from reticent.views import Checker, DatabaseWitness, Query, Schema

Secret = Annotated[str, typer.Option("--secret", help="The secret query: a file, or its text.")]
View = Annotated[str, typer.Option("--view", help="The view: a file, or its text.")]
PolicyFile = Annotated[Path, typer.Option("--policy", help="The access policy (TOML).")]


@dataclass(frozen=True)
class SchemaOptions:
    """Options for the declared tables and the query semantics."""

    schema: Annotated[Path | None, typer.Option("--schema", help="DDL statements, or JSON, TOML, YAML.")] = None
    postgres: Annotated[
        str | None, typer.Option("--postgres", help="Read the catalogue of this PostgreSQL (a URL).")
    ] = None
    duckdb: Annotated[Path | None, typer.Option("--duckdb", help="Read the catalogue of this DuckDB file.")] = None
    dialect: Annotated[str, typer.Option("--dialect", help="The SQL dialect of all queries.")] = "postgres"
    semantics: Annotated[
        str, typer.Option("--semantics", help="Duplicate semantics: sql (as SQL does), set or bag.")
    ] = "sql"

    def read(self) -> Schema | None:
        """Return the declared tables; None if no option declares them."""
        if sum(item is not None for item in (self.schema, self.postgres, self.duckdb)) > 1:
            raise PolicyError("Pass only one of --schema, --postgres and --duckdb.")
        if self.postgres is not None:
            from reticent.views.sql import from_postgres

            return from_postgres(self.postgres)
        if self.duckdb is not None:
            from reticent.views.sql import from_duckdb

            return from_duckdb(self.duckdb)
        from reticent.views import load_schema

        return load_schema(self.schema, self.dialect)

    def queries(self, text_or_path: str, name: str, single: bool = False) -> dict[str, str]:
        """Return the queries named by an option: those of a file or directory, or the text itself."""
        from reticent.views import is_path
        from reticent.views.sql import read_queries

        if not (" " in text_or_path.strip() or "\n" in text_or_path) or is_path(text_or_path):
            by_name = read_queries(Path(text_or_path), self.dialect)
            if single and len(by_name) != 1:
                raise PolicyError(f"{text_or_path} holds {len(by_name)} queries. Pass a file with exactly one.")
            return {name: next(iter(by_name.values()))} if len(by_name) == 1 else by_name
        return {name: text_or_path}


@dataclass(frozen=True)
class ProofOptions:
    """Options for how a pair of queries is decided, and the limits of the search."""

    keys: Annotated[str, typer.Option("--keys", help="exact, or conservative (a sufficient test).")] = "exact"
    strict: Annotated[
        bool, typer.Option("--strict", help="Answer UNKNOWN if ignored foreign keys link the tables of a pair.")
    ] = False
    foreign_keys: Annotated[
        str,
        typer.Option(
            "--foreign-keys", help="Whether foreign keys are known to the adversary, or ignored (with a warning)."
        ),
    ] = "known"
    nodes: Annotated[int, typer.Option("--nodes", help="The largest number of search nodes per pair.", min=1)] = (
        1_000_000
    )
    seconds: Annotated[
        float, typer.Option("--seconds", help="The time limit per pair, in seconds of processor time.")
    ] = 30.0


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "views",
        "May this view be granted while that query stays secret?",
        {
            "check": check,
            "matrix": matrix,
            "grant": grant,
            "explain": explain,
            "classify": classify,
            "critical-rows": critical,
            "witness": witness,
            "verify": verify,
            "decide": decide,
            "collusion": collusion,
            "log": log,
        },
    )


def check(
    secret: Secret,
    view: Annotated[
        list[str],
        typer.Option("--view", help="The view: a file, or its text; repeat for several that are seen together."),
    ],
    setting: SchemaOptions,
    proof: ProofOptions,
    certificate: Annotated[Path | None, typer.Option("--certificate", help="Write a certificate here.")] = None,
    as_json: Json = False,
) -> None:
    """Decide whether the view discloses anything about the secret query. Exits with 0 only if it is proved PRIVATE.

    Example: reticent views check --schema schema.sql --secret secret.sql --view view.sql
    """
    from reticent.views import jointly

    texts = {**setting.queries(secret, "secret", single=True)}
    for item in view:
        texts.update(setting.queries(item, "view" if len(view) == 1 else f"view {len(texts)}"))
    with working("Searching for a row that changes both answers ...", as_json) as context:
        checker, (hidden, *shown) = _prepared(texts, setting, proof, context=context)
        verdicts = tuple(checker.check(hidden, query) for query in shown)
    verdict = jointly(verdicts)
    if certificate is not None:
        from reticent.views import certify

        if len(shown) != 1:
            raise PolicyError("A certificate covers one secret and one view. Check the views one at a time.")
        written = certify(
            verdicts[0],
            hidden,
            shown[0],
            checker.schema,
            semantics=setting.semantics,
            dialect=setting.dialect,
            foreign_keys=proof.foreign_keys,
        )
        certificate.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    answer(verdict, as_json)


def matrix(
    secrets: Annotated[Path, typer.Option("--secrets", help="A file or a directory of secret queries.")],
    views: Annotated[Path, typer.Option("--views", help="A file or a directory of views.")],
    setting: SchemaOptions,
    proof: ProofOptions,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report here (.json or .md).")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="Replay every disclosing pair in SQLite or DuckDB.")] = False,
    as_json: Json = False,
) -> None:
    """Decide all secrets against all views, for CI. Exits with 0 only if every pair is proved PRIVATE.

    Example: reticent views matrix --schema schema.sql --secrets secrets.sql --views views.sql --report report.md
    """
    from reticent.views import Matrix
    from reticent.views.sql import read_queries

    hidden = {f"secret {name}": text for name, text in read_queries(secrets, setting.dialect).items()}
    shown = {f"view {name}": text for name, text in read_queries(views, setting.dialect).items()}
    how = "sql" if replay else "definition"
    with working(f"{len(hidden)} secrets x {len(shown)} views ...", as_json) as context:
        checker, queries = _prepared({**hidden, **shown}, setting, proof, how, context)
        decided = Matrix.of(checker, queries[: len(hidden)], queries[len(hidden) :])
    if report is not None:
        text = (
            json.dumps({"ok": decided.ok, **decided.as_dict()}, indent=2)
            if report.suffix == ".json"
            else decided.to_markdown()
        )
        report.write_text(text + "\n", encoding="utf-8")
    answer(decided, as_json)


def grant(
    view: View,
    secret: Annotated[
        list[str], typer.Option("--secret", help="A secret query: a file, or its text; repeat for several.")
    ],
    to: Annotated[str, typer.Option("--to", help="The database user or role that may query the view.")],
    name: Annotated[str, typer.Option("--name", help="The name of the view to create.")],
    setting: SchemaOptions,
    proof: ProofOptions,
    as_json: Json = False,
) -> None:
    """Write the SQL that grants a view safely, if it is PRIVATE against every secret: with a security barrier and no other privileges.

    Example: reticent views grant --schema schema.sql --secret secret.sql --view view.sql --name flu --to analyst
    """
    from reticent.views import grant as make_grant

    texts = setting.queries(view, "view", single=True)
    for item in secret:
        texts.update(setting.queries(item, "secret" if len(secret) == 1 else f"secret {len(texts)}"))
    with working("Searching for a row that changes both answers ...", as_json) as context:
        checker, (shown, *hidden) = _prepared(texts, setting, proof, context=context)
        verdicts = [checker.check(query, shown) for query in hidden]
    answer(make_grant(shown, verdicts, to, name, setting.dialect), as_json)


def explain(
    secret: Secret,
    view: View,
    setting: SchemaOptions,
    proof: ProofOptions,
    as_json: Json = False,
) -> None:
    """Explain a disclosure: table and pattern, the witness as small tables, and repairs that are proved private.

    Example: reticent views explain --schema schema.sql --secret secret.sql --view view.sql
    """
    from reticent.views import causes, possible_repairs

    texts = {**setting.queries(secret, "secret", single=True), **setting.queries(view, "view", single=True)}
    with working("Searching for causes and repairs ...", as_json) as context:
        checker, (hidden, shown) = _prepared(texts, setting, proof, context=context)
        verdict = checker.check(hidden, shown)
        why = () if verdict.private else causes(hidden, shown, checker.schema, context, proof.foreign_keys)
        mended = possible_repairs(verdict, hidden, shown, checker.schema, context, proof.foreign_keys)
    changes = [{"what": repair.what, "text": repair.text} for repair in mended]
    repaired = CardTable(
        ("change", "view"), [tuple(change.values()) for change in changes], "Changed views that are private"
    )
    tables, answers = ([], []) if verdict.witness is None else _databases(verdict.witness, checker.schema)
    card = replace(verdict.card(), tables=[*tables, repaired], notes=[*(f"Note: {line}." for line in why), *answers])
    figures = {**verdict.as_dict(), "causes": list(why), "repairs": changes}
    answer(PlainResult(figures, card, verdict.ok), as_json)


def classify(
    queries: Annotated[list[str], typer.Argument(help="Queries: files, directories, or their texts.")],
    setting: SchemaOptions,
    as_json: Json = False,
) -> None:
    """Show the class of each query, which determines the cost of its check.

    Example: reticent views classify --schema schema.sql view.sql
    """
    texts: dict[str, str] = {}
    for item in queries:
        texts.update(setting.queries(item, f"query {len(texts) + 1}"))
    checker, parsed = _prepared(texts, setting)
    classes: dict[str, dict[str, Any]] = {}
    for query in parsed:
        query_class = checker.classify(query)
        classes[query.name] = {
            "class": list(query_class.names()) if query_class else ["union or footprint"],
            "subgoals": query_class.subgoals if query_class else None,
            "rows_per_relation": query_class.rows_per_relation if query_class else None,
            "width": query_class.width if query_class else None,
            "exact": not query.inexact,
            "outside": list(query.inexact),
        }
    rows = [
        [name, ", ".join(item["class"]), "yes" if item["exact"] else "; ".join(item["outside"])]
        for name, item in classes.items()
    ]
    card = Card("Classes", tables=[CardTable(("query", "class", "exact"), rows)])
    answer(PlainResult({"queries": classes}, card), as_json)


def critical(
    query: Annotated[str, typer.Argument(help="The query: a file, or its text.")],
    setting: SchemaOptions,
    row: Annotated[str | None, typer.Option("--row", help="One row to test: \"D(135,'flu')\".")] = None,
    as_json: Json = False,
) -> None:
    """Show which rows can change the query's answer (critical tuples); with --row, whether this row can.

    Example: reticent views critical-rows --schema schema.sql view.sql
    """
    from reticent.views import critical_rows, is_critical

    checker, (parsed,) = _prepared(setting.queries(query, "query", single=True), setting)
    if row is not None:
        critical = is_critical(parsed, row, checker.schema)
        sentence = f"{row} {'can' if critical else 'cannot'} change the answer."
        answer(PlainResult.saying(sentence, {"row": row, "critical": critical}), as_json)
        return
    patterns = critical_rows(parsed, checker.schema)
    listed = [
        {
            "relation": pattern.relation,
            "pattern": pattern.text,
            "conditions": list(pattern.conditions),
            "exact": pattern.exact,
        }
        for pattern in patterns
    ]
    rows = [
        [pattern.relation, " and ".join(pattern.conditions) or "any row", "" if pattern.exact else "some of them"]
        for pattern in patterns
    ]
    card = Card("Critical rows", tables=[CardTable(("table", "rows with", ""), rows)])
    answer(PlainResult({"patterns": listed}, card), as_json)


def witness(
    secret: Secret,
    view: View,
    sqlite: Annotated[Path, typer.Option("--sqlite", help="Write the witness databases here.")],
    setting: SchemaOptions,
    proof: ProofOptions,
    as_json: Json = False,
) -> None:
    """Write the two databases that prove a disclosure, without and with the critical row, to a SQLite file.

    Example: reticent views witness --schema schema.sql --secret secret.sql --view view.sql --sqlite witness.db
    """
    from reticent.views import write_sqlite

    if sqlite.exists():
        raise PolicyError(f"{sqlite} exists already; name a new file.")
    if not sqlite.absolute().parent.is_dir():
        raise PolicyError(f"The folder {sqlite.parent} for {sqlite.name} does not exist; create it first.")
    texts = {**setting.queries(secret, "secret", single=True), **setting.queries(view, "view", single=True)}
    checker, (hidden, shown) = _prepared(texts, setting, proof)
    verdict = checker.check(hidden, shown)
    if verdict.witness is not None:
        write_sqlite(verdict.witness, hidden, shown, checker.schema, str(sqlite))
    written = sqlite if verdict.witness else None
    notes = [] if written is None else [f"Written: {written}"]
    answer(PlainResult.beside(verdict, {"file": written}, notes), as_json)


def verify(
    certificate: Annotated[Path, typer.Argument(help="A certificate written by `check --certificate`.")],
    as_json: Json = False,
) -> None:
    """Verify a certificate from its own text alone.

    Example: reticent views verify certificate.json
    """
    from reticent.views import read_certificate, read_text
    from reticent.views import verify as check_again

    answer(check_again(read_certificate(read_text(certificate))), as_json)


def _prepared(
    texts: Mapping[str, str],
    setting: SchemaOptions,
    proof: ProofOptions | None = None,
    replay: str = "sql",
    context: Context | None = None,
) -> tuple[Checker, list[Query]]:
    """Return a checker for the queries' schema, and the parsed queries in order."""
    from reticent.views import Checker, prepare

    proof = proof or ProofOptions()
    schema, queries = prepare(
        list(texts.values()), setting.read(), setting.semantics, dialect=setting.dialect, names=list(texts)
    )
    checker = Checker(
        schema,
        key_mode=proof.keys,
        strict=proof.strict,
        foreign_keys=proof.foreign_keys,
        nodes=proof.nodes,
        seconds=proof.seconds,
        replay=replay,
        context=context,
    )
    return checker, queries


def _databases(witness: DatabaseWitness, schema: Schema) -> tuple[list[CardTable], list[str]]:
    """Return the two databases of a witness with the added row marked, and how both answers change."""
    tables, answers = [], []
    for side, added, row in (
        ("secret", witness.relation, witness.row),
        ("view", witness.view_relation, witness.view_row),
    ):
        database = witness.secret_database if side == "secret" else witness.view_database
        for name in sorted({*database, added}):
            columns = [column.name for column in schema.relation(name).columns]
            rows = [["", *map(str, item)] for item in database.get(name, ())]
            if name == added:
                rows.append(["+", *map(str, row)])
            tables.append(CardTable(["", *columns], rows, f"{side}'s database: {name}"))
        before, after = getattr(witness, f"{side}_before"), getattr(witness, f"{side}_after")
        answers.append(f"The {side}'s answer: {list(before)} becomes {list(after)}")
    return tables, answers


def decide(
    user: Annotated[str, typer.Option("--user", help="Who asks.")],
    policy: PolicyFile,
    view: View,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", help="An active role; repeat for several (default: all of the user's)."),
    ] = None,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Decide whether a user may see a view. Decided from the queries alone, never from data, and recorded in the ledger.

    Example: reticent views decide --policy access.toml --user ann --view view.sql
    """
    from reticent.views import open_policy

    with open_policy(policy, ledger) as control:
        decision = control.decide(user, view, role)
    answer(decision, as_json)


def collusion(
    users: Annotated[list[str], typer.Argument(help="Users who combine the views they may see.")],
    policy: PolicyFile,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Find what these users would learn together that one of them must not know.

    Example: reticent views collusion ann ben --policy access.toml
    """
    from reticent.views import open_policy

    with open_policy(policy, ledger) as control:
        leaks = control.collusion(users)
    rows = [[leak.seer, leak.view, leak.victim, leak.secret, leak.verdict.status] for leak in leaks]
    names = ["seer", "view", "victim", "secret", "status"]
    title = f"{len(leaks)} leaks" if leaks else "Together they learn nothing that any of them must not know."
    card = Card(title, tone=tone_of(not leaks), tables=[CardTable(names, rows)])
    answer(PlainResult({"leaks": [dict(zip(names, row, strict=True)) for row in rows]}, card, not leaks), as_json)


def log(
    policy: PolicyFile,
    ledger: LedgerOption = None,
    as_json: Json = False,
) -> None:
    """Show every authorization that was granted or revoked, and every decision that was returned.

    Example: reticent views log --policy access.toml
    """
    from reticent.views import open_policy

    with open_policy(policy, ledger) as control:
        events, decisions = control.history(), control.decisions()
    changes = [[event.made, event.action, event.accessor, event.subject, event.by] for event in events]
    names = ["made", "action", "accessor", "subject", "by"]
    decision_rows = [
        [item["made"], item["user"], item["view"], "allowed" if item["allowed"] else "denied"] for item in decisions
    ]
    figures = {"events": [dict(zip(names, row, strict=True)) for row in changes], "decisions": decisions}
    tables = [
        CardTable(names, changes, "Authorizations"),
        CardTable(("made", "user", "view", "decision"), decision_rows, "Decisions"),
    ]
    answer(PlainResult(figures, Card(f"Access by {policy}", tables=tables)), as_json)
