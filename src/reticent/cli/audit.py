"""``reticent audit``: exact answers or simulatable denials, and offline checking of a query log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, shown, tone_of
from reticent.cli.console import Json, answer, working
from reticent.cli.options import add_group

if TYPE_CHECKING:
    from reticent.audit.service import AuditService

Policy = Annotated[Path, typer.Argument(help="The audit policy (.toml).")]
User = Annotated[
    str, typer.Option("--user", help="The user who asks; must be listed in the policy (default: the steward).")
]
Noise = Annotated[
    bool, typer.Option("--allow-noise", help="Accept a noisy answer where the exact one is denied, or does not exist.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "audit",
        "Audited SQL: exact answers, or denials that reveal nothing.",
        {
            "ask": ask,
            "would-answer": would_answer,
            "serve": serve,
            "log": log,
            "check": check,
            "sync": sync,
            "token": token,
            "stories": stories,
        },
    )


def ask(
    policy: Policy,
    sql: Annotated[str, typer.Argument(help="SELECT SUM|AVG|COUNT|MAX|MIN(column) FROM table WHERE ... GROUP BY ...")],
    user: User = "steward",
    allow_noise: Noise = False,
    url: Annotated[
        str | None,
        typer.Option("--url", help="Send the query to a running service instead, such as http://localhost:8000."),
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar="RETICENT_TOKEN", help="With --url: your token.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run an audited query. The answer is exact, or denied; a denial never depends on the protected values.

    Example: reticent audit ask audit.toml "SELECT SUM(salary) FROM staff WHERE department = 'sales'"
    """
    if url is not None:
        from reticent.web import ask as ask_service

        described = ask_service(url, token, sql, allow_noise)
    else:
        with working("Deciding ...", as_json), _service(policy) as service:
            described = service.ask(sql, user, allow_noise=allow_noise).describe()
    answer(_reply_with_card(described), as_json)


def would_answer(
    policy: Policy,
    sql: Annotated[str, typer.Argument(help="A query, as for ask.")],
    as_json: Json = False,
) -> None:
    """Show how a query would be decided. It is not run and not recorded.

    Example: reticent audit would-answer audit.toml "SELECT MAX(salary) FROM staff"
    """
    with working("Deciding ...", as_json), _service(policy) as service:
        described = service.would_answer(sql).describe()
    answer(_reply_with_card(described), as_json)


def serve(
    policy: Policy,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.", min=1, max=65535)] = 8000,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Accept connections from other machines without TLS (plain text).")
    ] = False,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A host name that requests may use; repeat for several."),
    ] = None,
    request_log: Annotated[
        Path | None,
        typer.Option(
            "--request-log", help="Append one line per request to this file: time, user, path, status, decision."
        ),
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Serve request counts at /metrics in the Prometheus text format.")
    ] = False,
    json_log: Annotated[
        bool, typer.Option("--json-log", help="Write the server's own log as JSON lines, without error messages.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Serve the audited table over HTTP, with a web page for trying queries.

    Example: reticent audit serve audit.toml --port 8000
    """
    from reticent.web import check_exposure, listen
    from reticent.web import serve as run

    warning = check_exposure(host, insecure)

    with _service(policy) as service:
        denied = [reply.text for reply in service.reserved if not reply.ok]
        described = service.describe()
    with listen(host, port) as listener:
        url = f"http://{host}:{port}"
        figures = {"url": url, "table": described["table"], "reserved_denied": denied}
        figures |= {} if warning is None else {"warning": warning}
        notes = [] if warning is None else [f"Warning: {warning}"]
        notes += [f"A reserved query is denied: {text}" for text in denied]
        sentence = f"Serving table {described['table']} at {url} (queries: /v1/query, page: /)."
        answer(PlainResult.saying(sentence, figures, notes=notes), as_json)
        run(
            lambda: _service(policy),
            listener,
            hosts=[host, *(hosts or ())],
            log=request_log,
            metrics=metrics,
            json_log=json_log,
        )


def log(
    policy: Policy,
    user: Annotated[str | None, typer.Option("--user", help="Only the queries of this user.")] = None,
    limit: Annotated[int, typer.Option(help="How many of the latest queries to show.", min=1, max=1_000_000)] = 50,
    export: Annotated[
        Path | None, typer.Option("--export", help="Write all exact answers to this file, for `reticent audit check`.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the queries recorded in the ledger, who sent them and how they were decided.

    Example: reticent audit log audit.toml --export log.jsonl
    """
    from reticent.ledger import Ledger
    from reticent.policy import AuditPolicy

    settings = AuditPolicy.read(policy).settings
    with Ledger(settings.ledger) as ledger:
        questions = ledger.audits.questions(settings.dataset, user, limit=limit)
        decisions = {entry.number: entry for entry in ledger.audits.after(settings.dataset)}
    if export is not None:
        from reticent.audit.service import log_lines
        from reticent.base.files import write_whole

        write_whole(export, log_lines(decisions.values()), mode=0o600)
    listed: list[dict[str, Any]] = [
        {
            "question": question.number,
            "user": question.asker,
            "sql": question.text,
            "asked": question.made,
            "decisions": [_described(decisions[number]) for number in question.decisions],
        }
        for question in questions
    ]
    rows = [
        (
            str(question["question"]),
            question["asked"],
            question["user"],
            question["sql"],
            "\n".join(map(_decided, question["decisions"])),
        )
        for question in listed
    ]
    card = Card(f"{len(rows)} questions", tables=[CardTable(("", "asked", "user", "question", "decided"), rows)])
    answer(PlainResult({"questions": listed, "exported": export}, card), as_json)


def check(
    log_file: Annotated[
        Path, typer.Argument(metavar="LOG", help="A log of queries and answers, one JSON object per line.")
    ],
    column: Annotated[str | None, typer.Option(help="The column to check, if the log has several.")] = None,
    people: Annotated[int | None, typer.Option(help="The number of people, if the log does not state it.")] = None,
    lower: Annotated[str | None, typer.Option(help="A public lower bound of all values.")] = None,
    upper: Annotated[str | None, typer.Option(help="A public upper bound of all values.")] = None,
    boolean: Annotated[bool, typer.Option("--boolean", help="Every value is 0 or 1.")] = False,
    distinct: Annotated[bool, typer.Option("--distinct", help="No two people share a value.")] = False,
    as_json: Json = False,
) -> None:
    """Find the people whose values a log of answered queries discloses, with a proof for each. Exits with 1 if there
    are any.

    Example: reticent audit check log.jsonl --lower 0
    """
    from reticent.audit.offline import check_log, read_log

    with working("Checking the log ...", as_json) as context:
        report = check_log(
            read_log(log_file, column=column),
            people,
            values="boolean" if boolean else "real",
            lower=lower,
            upper=upper,
            duplicates=not distinct,
            context=context,
        )
    answer(report, as_json)


def sync(policy: Policy, as_json: Json = False) -> None:
    """Compare the table with its registered state: new and changed values become new variables of the auditors.

    Example: reticent audit sync audit.toml
    """
    with working("Comparing ...", as_json), _service(policy) as service:
        new = dict(service.new_values)
    answer(PlainResult.saying(f"New values: {shown(new)}.", {"new": new}), as_json)


def token(
    policy: Policy,
    user: Annotated[str, typer.Argument(help="A user of the policy.")],
    revoke: Annotated[bool, typer.Option("--revoke", help="Revoke all tokens of the user instead.")] = False,
    as_json: Json = False,
) -> None:
    """Create a token for a user of the HTTP service. It is shown once; only a keyed hash is kept.

    Example: reticent audit token audit.toml alice
    """
    from reticent.audit.service import tokens_of
    from reticent.policy import AuditPolicy

    with tokens_of(AuditPolicy.read(policy).settings) as tokens:
        outcome: dict[str, Any] = {"revoked": tokens.revoke(user)} if revoke else {"token": tokens.make(user)}
    sentence = f"{outcome['revoked']} tokens of {user} were revoked." if revoke else str(outcome["token"])
    answer(PlainResult.saying(sentence, {"user": user, **outcome}), as_json)


def stories(
    people: Annotated[
        int, typer.Option(help="The number of synthetic people in the attacks.", min=12, max=10_000)
    ] = 400,
    as_json: Json = False,
) -> None:
    """Demonstrate three attacks on denials that leak, each run against a leaky auditor and against this one.

    Example: reticent audit stories
    """
    from dataclasses import asdict

    from reticent.baselines.leaky_auditors import stories as tell

    told_stories = tell(people)
    exposed = sum(story.ours.exposed for story in told_stories)
    tables = [
        CardTable(
            ("auditor", "asked", "refused", "people exposed", "rightly"),
            [
                (auditor, outcome.asked, outcome.refused, f"{outcome.exposed} of {story.people}", outcome.right)
                for auditor, outcome in (("leaky", story.leaky), ("ours", story.ours))
            ],
            f"{story.title}\n{story.text}",
        )
        for story in told_stories
    ]
    card = Card("Denials that leak, and denials that do not", tone=tone_of(exposed == 0), tables=tables)
    answer(PlainResult({"stories": [asdict(story) for story in told_stories]}, card, exposed == 0), as_json)


def _service(policy: Path) -> AuditService:
    """Return the audit service that a policy describes."""
    from reticent.audit.service import AuditService
    from reticent.policy import AuditPolicy

    read = AuditPolicy.read(policy)
    with read.opening():
        return AuditService(read.settings)


def _described(entry: Any) -> dict[str, Any]:
    """Return a recorded decision of the audit ledger as plain data."""
    return {
        "decision": entry.number,
        "column": entry.column,
        "function": entry.function,
        "size": entry.size,
        "answered": entry.answered,
        "rule": entry.rule,
        "value": entry.answer,
    }


def _reply_with_card(reply: dict[str, Any]) -> PlainResult:
    """Return a reply with its card: one line per answer, and the reasons of denials."""
    rows = reply["rows"]
    if not rows:
        return PlainResult.saying("No row meets the condition.", reply, reply["ok"])
    groups, labels = list(rows[0]["group"]), [cell_answer["label"] for cell_answer in rows[0]["answers"]]
    cells = [
        [*map(str, row["group"].values()), *(_cell(cell_answer) for cell_answer in row["answers"])] for row in rows
    ]
    reasons = dict.fromkeys(
        cell_answer["reason"] for row in rows for cell_answer in row["answers"] if not cell_answer["answered"]
    )
    card = Card(
        "Answered" if reply["ok"] else "Some queries were denied",
        tone=tone_of(reply["ok"]),
        tables=[CardTable([*groups, *labels], cells)],
        notes=[f"Denied: {reason}" for reason in reasons],
    )
    return PlainResult(reply, card, reply["ok"])


def _cell(answer_fields: dict[str, Any]) -> str:
    """Return the text of one answer: a number, yes, or denied."""
    if not answer_fields["answered"]:
        return "denied"
    if answer_fields["decimal"] is None:
        return "yes" if answer_fields["rule"] != "empty" else "-"
    if not answer_fields["noisy"]:
        return str(answer_fields["decimal"])
    low, high = (
        (f"{float(end):.6g}" for end in answer_fields["interval"]) if answer_fields.get("interval") else ("", "")
    )
    return f"about {answer_fields['decimal']} (noisy{f'; 95 %: {low} to {high}' if low else ''})"


def _decided(decision: dict[str, Any]) -> str:
    """Return one line for a decision."""
    value_text = "noisy" if decision["value"] is None and decision["rule"] == "noisy" else shown(decision["value"])
    outcome = value_text if decision["answered"] else f"denied, {decision['rule']}"
    return f"{decision['function']} of {decision['size']:,}: {outcome}"
