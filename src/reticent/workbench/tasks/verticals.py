"""Tasks of the pages under More: each makes one call to another part of the library and returns the result as a card."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import reticent as rt
from reticent.base.cards import Card, CardTable, Tone
from reticent.definitions import Method, is_random
from reticent.errors import DataError, PolicyError
from reticent.io import Source
from reticent.policy import Policy, inspect
from reticent.workbench.tasks.data import cell_text
from reticent.workbench.tasks.explore import previewed
from reticent.workbench.tasks.opened import policy_of, table_of
from reticent.workbench.worker import Reporter

_MOST_ROWS = 200
_LONGEST = 1_000
"""Characters of a cell: reasons of refusals are sentences."""
_RANDOMIZED = "This method is randomized: background facts can be evaluated for a release in groups only."


def plain_card(card: Card) -> dict[str, Any]:
    """Return a card as JSON-compatible data."""
    return {
        "title": card.title,
        "tone": card.tone,
        "sentences": list(card.sentences),
        "facts": {name: _short(value) for name, value in card.facts.items()},
        "tables": [
            {
                "title": table.title,
                "heads": list(table.heads),
                "rows": [[_short(cell) for cell in row] for row in list(table.rows)[:_MOST_ROWS]],
            }
            for table in card.tables
        ],
        "notes": [*card.notes, *card.more],
    }


def _short(value: Any) -> str:
    """Return a value of a card as text: booleans as yes or no, fractions as a decimal with the exact value."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Fraction):
        return f"{float(value):.4g} ({value})" if value.denominator != 1 else str(value)
    return cell_text(value, _LONGEST) or ""


def views_check(reporter: Reporter, secret: str, view: str, schema: str) -> dict[str, Any]:
    """Decide whether a view discloses anything about a secret query; a disclosure comes with example databases."""
    from reticent.views import Schema, check, load_schema

    verdict = check(secret, view, schema or None, context=reporter.context())
    cards = [plain_card(verdict.card())]
    witness = verdict.witness
    if witness is not None:
        declared = load_schema(schema or None) or Schema()
        for title, database, row in (
            ("A database in which the secret's answer changes", witness.secret_database, witness.row),
            ("A database in which the view's answer changes", witness.view_database, witness.view_row),
        ):
            tables = [
                CardTable(_column_names(declared.find(name), len(rows[0])), rows, name)
                for name, rows in _relations(database)
            ]
            tables.append(
                CardTable(
                    _column_names(declared.find(witness.relation), len(row)),
                    [tuple(map(str, row))],
                    f"The row that is added to {witness.relation}",
                )
            )
            added = f"Adding {witness.relation}({', '.join(map(str, row))}) changes the answer."
            cards.append(plain_card(Card(title, tables=tables, sentences=[added])))
    return {"cards": cards}


def _column_names(relation: Any, width: int) -> list[str]:
    """Return the declared names of a relation's columns, or their numbers if it was not declared."""
    if relation is None:
        return [str(number) for number in range(1, width + 1)]
    return [column.name for column in relation.columns]


def _relations(database: Any) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return the nonempty relations of a database with their rows."""
    rows_by_relation: dict[str, list[tuple[str, ...]]] = {}
    pairs = database.items() if hasattr(database, "items") else database
    for name, rows in pairs:
        listed = [rows] if rows and not isinstance(next(iter(rows)), tuple | list) else rows
        rows_by_relation.setdefault(str(name), []).extend(tuple(map(str, row)) for row in listed)
    return [(name, rows) for name, rows in rows_by_relation.items() if rows]


def synthetic_plan(reporter: Reporter, sizes: str, values: int, epsilon: str, delta: str) -> dict[str, Any]:
    """Return guarantee and error of synthetic rows for groups of public sizes; no data are read."""
    counts = [int(part) for part in sizes.replace(";", ",").split(",") if part.strip().isdigit()]
    if not counts:
        raise PolicyError("Name the sizes of the groups, such as 120, 80, 45.")
    return {"cards": [plain_card(rt.synthesize.plan(counts, values, epsilon, delta).card())]}


def randomized_plan(reporter: Reporter, n: int, domain: str, k: str, gamma: str) -> dict[str, Any]:
    """Return guarantee and error of a randomized view, from public parameters only."""
    columns = [part.partition("=") for part in domain.split(",") if "=" in part]
    if not columns:
        raise PolicyError("Name every column with its number of values, such as age=100, sex=2.")
    wrong = [name.strip() for name, _, count in columns if not count.strip().isdigit()]
    if wrong:
        raise PolicyError(f"Give {', '.join(wrong)} a whole number of values, such as {wrong[0]}=100.")
    sizes = {name.strip(): int(count) for name, _, count in columns}
    return {"cards": [plain_card(rt.randomize.plan(n, sizes, k, gamma).card())]}


def noise_plan(reporter: Reporter, epsilon: str, delta: str, parties: int, faults: int, query: str) -> dict[str, Any]:
    """Return the error of noisy counts, by a trusted curator or by parties who do not trust each other."""
    from reticent.noise import plan

    return {"cards": [plain_card(plan(epsilon, delta, parties, faults, query).card())]}


def dp_comparison(
    reporter: Reporter,
    folder: str,
    policy: str,
    epsilons: str,
    delta: str,
    domain: str,
    marginals: str,
    really: str = "",
    moment: str = "",
    stamp: str = "",
) -> dict[str, Any]:
    """Compare methods with differential privacy by the error to be expected of them and, with ``really``, by that of one sample each."""
    parsed, table = policy_of(folder, policy), table_of(folder, policy)
    policy_method = parsed.method(table, parsed.definition)
    declared = _declared(domain) or (policy_method.domain if isinstance(policy_method, rt.Marginals) else None)
    listed = [[name.strip() for name in line.split(" x ")] for line in marginals.splitlines() if line.strip()]
    methods: dict[str, Method] = {"AIM": rt.Marginals("aim", declared), "MST": rt.Marginals("mst", declared)}
    if listed:
        methods["the listed marginals"] = rt.Marginals(listed, declared)
    if is_random(policy_method):
        methods[f"{type(policy_method).__name__} (this policy)"] = policy_method
    comparison = rt.synthesize.compare(
        table, _names(epsilons), methods, delta=delta, measure=really == "yes", context=reporter.context()
    )
    return {"cards": [plain_card(comparison.card())]}


def _declared(text: str) -> dict[str, Any]:
    """Parse public values of columns, written as lines of TOML."""
    try:
        declared = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(
            f'Public values of the columns: {error}. Write one column on a line, such as sex = ["f", "m"].'
        ) from None
    empty = [name for name, values in declared.items() if values == []]
    if empty:
        raise PolicyError(
            f'List the public values of {", ".join(empty)}, such as {empty[0]} = ["a", "b"]. They come from public knowledge and not from the rows, so the page cannot fill them in.'
        )
    return declared


def knowledge_curve(
    reporter: Reporter, folder: str, policy: str, column: str, most: int, stamp: str = ""
) -> dict[str, Any]:
    """Return the maximum certainty of an adversary who sees the candidate release and knows 0, 1, 2 ... facts about people."""
    from reticent.knowledge import Subject
    from reticent.reports import Preview
    from reticent.worst_case import certainty_point, curve, negation_curve

    parsed, table = policy_of(folder, policy), table_of(folder, policy)
    draft = previewed(parsed, table, None, reporter.context())
    if not isinstance(draft, Preview):
        raise PolicyError(_RANDOMIZED)
    subject = Subject.of(draft.side, column=column or None)
    by_any_facts, by_negated_values = curve(subject.buckets, most), negation_curve(subject.buckets, most)
    rows = [
        (k, f"{float(any_chance):.1%}", f"{float(negated_chance):.1%}")
        for k, (any_chance, negated_chance) in enumerate(zip(by_any_facts, by_negated_values, strict=False))
    ]
    certain = certainty_point(subject.buckets)
    facts = {"sensitive column": subject.sensitive, "certain after": f"{certain} {'fact' if certain == 1 else 'facts'}"}
    listed = CardTable(
        ("facts", "any facts", "facts of the kind 'she has no flu'"), rows, "The largest chance of any value"
    )
    return {
        "cards": [plain_card(Card("How sure an attacker who sees the candidate becomes", facts, tables=[listed]))],
        "curve": [float(x) for x in by_any_facts],
    }


def what_if(
    reporter: Reporter, folder: str, policy: str, know: str, ask: str, column: str, stamp: str = ""
) -> dict[str, Any]:
    """Return the posterior belief of an adversary who knows exactly these facts, the candidate release, and everybody's quasi-identifiers."""
    from reticent import knowledge
    from reticent.reports import Preview

    facts = [line.strip() for line in know.splitlines() if line.strip()]
    table, context = table_of(folder, policy), reporter.context()
    key = table.key or next(iter(table.identifiers), None)
    if key is None:
        raise PolicyError(
            "Facts name people. Mark the column that identifies them as the key: on the page Columns, under More."
        )
    draft = previewed(policy_of(folder, policy), table, None, context)
    if not isinstance(draft, Preview):
        raise PolicyError(_RANDOMIZED)
    people = table.frame.select(key, *table.quasi)
    belief = knowledge.what_if(draft.side, facts, ask, people, key=key, column=column or None, context=context)
    return {"cards": [plain_card(Card(belief.sentence()))]}


def audited_question(reporter: Reporter, path: str, sql: str, really: str, moment: str = "") -> dict[str, Any]:
    """Submit a query to an audited table, or preview the decision on it. An answer is logged; earlier decisions are returned too."""
    from reticent.audit.service import AuditService
    from reticent.policy import AuditPolicy

    audit_policy = AuditPolicy.read(Path(path))
    with audit_policy.opening():
        service = AuditService(audit_policy.settings)
    with service:
        reply = (service.ask(sql) if really == "yes" else service.would_answer(sql)).describe()
        decided, questions = service.decisions(), service.history(limit=_MOST_ROWS)
    rows = [
        (
            *row["group"].values(),
            answer["label"],
            answer.get("value") if answer["answered"] else "refused",
            answer["reason"],
        )
        for row in reply["rows"]
        for answer in row["answers"]
    ]
    heads = (*(reply["rows"][0]["group"] if reply["rows"] else ()), "asked", "answer", "reason")
    outcome = "Answered" if any(answer["answered"] for row in reply["rows"] for answer in row["answers"]) else "Refused"
    title = f"{outcome}, and on record" if really == "yes" else "What would be decided"
    decisions = CardTable(
        ("number", "column", "function", "records", "decision", "rule", "reason"),
        [
            (
                decision.number,
                decision.column,
                decision.function,
                decision.size,
                _decision(decision.answered),
                decision.rule,
                decision.reason,
            )
            for decision in reversed(decided)
        ],
        "Decisions, the latest first",
    )
    log = CardTable(
        ("when", "who", "question", "decisions"),
        [
            (question.made, question.asker, question.text, ", ".join(map(str, question.decisions)) or "none")
            for question in questions
        ],
        "Questions on record, the latest first",
    )
    return {
        "cards": [
            plain_card(Card(title, tone="good" if reply["ok"] else "bad", tables=[CardTable(heads, rows)])),
            plain_card(Card("The log of this table", {"decisions": len(decided)}, tables=[decisions, log])),
        ]
    }


def _decision(answered: bool) -> str:
    return "answered" if answered else "refused"


def log_check(reporter: Reporter, path: str, lower: str, upper: str) -> dict[str, Any]:
    """Return the people whose values a log of answered queries discloses."""
    from reticent.audit.offline import check_log, read_log

    report = check_log(read_log(Path(path)), None, lower=lower or None, upper=upper or None, context=reporter.context())
    return {"cards": [plain_card(report.card())]}


def file_attack(reporter: Reporter, path: str, original: str, quasi: str = "", sensitive: str = "") -> dict[str, Any]:
    """Run attacks on a release, on synthetic rows with a known original, or on an unprotected file.

    Columns of a plain file without a given role get the proposed one.
    """
    from reticent.attacks import attack

    context = reporter.context()
    known_columns, secret_columns = _names(quasi), _names(sensitive)
    if original:
        rows = Source(original).read()
        result = attack(
            path, original=rows, quasi=known_columns or None, sensitive=secret_columns or None, context=context
        )
    elif Path(path).is_dir() or path.endswith(".toml"):
        result = attack(path if Path(path).is_dir() else Policy.read(Path(path)).table(), context=context)
    elif known_columns:
        result = attack(rt.Table(Source(path).read(), quasi=known_columns, sensitive=secret_columns), context=context)
    else:
        proposed = inspect(path, prices=False, context=context)
        if proposed.proposal.refusal is not None:
            raise PolicyError(f"{proposed.proposal.refusal} Name the columns that an attacker may know.")
        result = attack(proposed.table(), context=context)
    return {"cards": [plain_card(result.card())]}


def _names(text: str) -> list[str]:
    """Split a comma-separated list of names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def series_plan(
    reporter: Reporter,
    folder: str,
    policy: str,
    m: int,
    releases: int,
    leave: str,
    arrive: str,
    change: str,
    domain: str,
    column: str = "",
    stamp: str = "",
) -> dict[str, Any]:
    """Simulate a series of releases of the table with one sensitive ``column`` and return its cost; nothing is published. Without a ``domain``, the values that occur stand for those that can."""
    table = table_of(folder, policy)
    if column:
        table = table.with_roles_for(table.quasi, [column])
    values = _names(domain)
    if not values and column and not table.streamed:
        values = table.frame[column].drop_nulls().unique().sort().to_list()
    rates = rt.republish.UpdateRates(float(leave), float(arrive), float(change), 0.0)
    cost = rt.republish.plan(
        table,
        rt.TauSafety(m),
        rt.Republish(domain=values),
        rates,
        releases,
        2,
        context=reporter.context(),
    )
    return {"cards": [plain_card(cost.card())]}


def series_next(reporter: Reporter, history: str, data: str, really: str, moment: str = "") -> dict[str, Any]:
    """Preview the next release of a history (changes since the last one, and their cost), or publish it."""
    if not Path(history).is_dir():
        raise DataError(
            f"There is no folder {history!r}. A history begins with 'reticent republish POLICY --history FOLDER'."
        )
    opened = rt.republish.History.open(Path(history))
    rows, context = Source(data).read(), reporter.context()
    if really != "yes":
        next_figures = opened.preview(frame=rows, context=context)
        return {"cards": [plain_card(_figures_card("The next release, not published yet", next_figures))]}
    published = opened.publish(frame=rows, context=context)
    title = "Published" if published.new else "These rows were published already; nothing was written"
    figures = {"number": published.number, "folder": published.folder, **published.change}
    return {"cards": [plain_card(_figures_card(title, figures, "good"))]}


def _figures_card(title: str, figures: Mapping[str, Any], tone: Tone = "plain") -> Card:
    """Return a card of named numbers, with a table for each nested group of numbers."""
    facts = {
        name.replace("_", " "): value
        for name, value in figures.items()
        if not isinstance(value, Mapping | list | tuple)
    }
    tables = [
        CardTable(("", ""), [(key.replace("_", " "), figure) for key, figure in value.items()], name.replace("_", " "))
        for name, value in figures.items()
        if isinstance(value, Mapping) and value
    ]
    return Card(title, facts, tone, tables=tables)
