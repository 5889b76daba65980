"""``reticent knowledge``: what facts about people can disclose, which facts, and what-if."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working
from reticent.cli.knowledge_source import (
    arrivals,
    levels_of,
    most_facts,
    private_lists,
    subject_of,
    table_or_release,
    threshold_of,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from rich.console import Console

    from reticent.data import Table
    from reticent.knowledge.subject import Explanation, Subject
    from reticent.release import PublicSide

knowledge = typer.Typer(
    no_args_is_help=True,
    help="Worst-case background knowledge: how sure can somebody become who knows k facts about people?",
)

Source = Annotated[
    str, typer.Argument(help="A policy (.toml), the folder of a release, or a data file with --quasi and --sensitive.")
]
Quasi = Annotated[list[str] | None, typer.Option("--quasi", help="A quasi column; repeat for several.")]
Sensitive = Annotated[str | None, typer.Option("--sensitive", help="The sensitive column.")]
Level = Annotated[
    list[str] | None, typer.Option("--level", help="Measure a quasi column at a level of its hierarchy: age=3.")
]
Threshold = Annotated[
    str | None, typer.Option("--c", help="The certainty that must not be reached, such as 0.6 or 2/3.")
]
Facts = Annotated[str, typer.Option("--k", help="How many facts, such as 3; for a curve also 0..10.")]

LIMITS = (
    "One sensitive column; certain facts only, no probabilities; each release is judged alone; every assignment of a "
    "group's values to its people counts as equally likely."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(knowledge, name="knowledge")


@knowledge.command("curve")
def curve(
    source: Source,
    k: Facts = "0..12",
    c: Threshold = None,
    chart: Annotated[
        Path | None, typer.Option("--chart", help="Draw both curves: .svg, .png, .json, or .html with a slider.")
    ] = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    level: Level = None,
    as_json: Json = False,
) -> None:
    """How sure can somebody become who knows 0, 1, 2 ... facts? With --c, exits with 1 when that is reached.

    Example: reticent knowledge curve release/ --k 0..10 --c 0.6 --chart curve.svg
    """
    from reticent.knowledge import certainty_point, negation_curve
    from reticent.knowledge import curve as measured
    from reticent.knowledge.chart import save_chart

    with working("Measuring the worst that facts can do ...", as_json):
        subject, given = subject_of(source, quasi, sensitive, level)
        most, threshold = most_facts(k), threshold_of(c, source)
        known, negated = measured(subject.buckets, most), negation_curve(subject.buckets, most)
        payload: dict[str, Any] = {
            "ok": threshold is None or known[-1] < threshold,
            "k": most,
            "curve": known,
            "negation_curve": negated,
            "disclosure": known[-1],
            "certainty_point": certainty_point(subject.buckets),
            **_against(threshold, known, subject),
            **_about(subject, given),
        }
        if chart is not None:
            payload["chart"] = save_chart(chart, known, negated, threshold, f"{subject.sensitive}: {Path(source).name}")
    answer(payload, as_json, lambda console: _render_curve(console, payload))


@knowledge.command("explain")
def explain(
    source: Source,
    k: Facts = "1",
    c: Threshold = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    level: Level = None,
    as_json: Json = False,
) -> None:
    """The worst k facts in words, the groups they attack, the number they yield, and the l-diversity counterpart.

    Example: reticent knowledge explain release/ --k 2
    """
    with working("Looking for the worst facts ...", as_json):
        subject, given = subject_of(source, quasi, sensitive, level)
        threshold = threshold_of(c, source)
        found = subject.explain(most_facts(k))
        payload = {
            "ok": threshold is None or found.disclosure < threshold,
            "k": found.k,
            "c": threshold,
            "disclosure": found.disclosure,
            "facts": found.facts(),
            "conclusion": found.conclusion(),
            "groups_attacked": [
                {"group": group, "description": text, "histogram": histogram}
                for group, text, histogram in found.attacked()
            ],
            "replayed": found.replayed(),
            "negations": {
                "disclosure": found.negations.disclosure,
                "facts": found.facts(negations=True),
                "conclusion": found.conclusion(negations=True),
            },
            **_about(subject, given),
        }
    answer(payload, as_json, lambda console: _render_explanation(console, found))


@knowledge.command("whatif")
def whatif(
    source: Source,
    know: Annotated[
        list[str] | None,
        typer.Option("--know", help="A fact: 'Ed=flu', '!Ed=flu', 'Hannah=flu -> Charlie=flu', 'Ed in {flu, gout}'."),
    ] = None,
    ask: Annotated[
        str | None, typer.Option("--ask", help="What is asked: 'Charlie=flu'. Without it: the surest statement.")
    ] = None,
    people: Annotated[
        str | None, typer.Option("--people", help="For a release: a file with names and the quasi columns.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="The column of names.")] = None,
    budget: Annotated[int | None, typer.Option("--budget", min=1, help="Work allowed for an exact answer.")] = None,
    seed: Annotated[int, typer.Option("--seed", help="For the estimate beyond the budget.")] = 0,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    level: Level = None,
    as_json: Json = False,
) -> None:
    """What does somebody believe who knows exactly these facts? Exits with 1 when they contradict the release.

    Example: reticent knowledge whatif policy.toml --know "Hannah=flu -> Charlie=flu" --ask Charlie=flu
    """
    from reticent.data import Source as DataSource
    from reticent.knowledge import what_if
    from reticent.worst_case import BUDGET

    with working("Going through the possible worlds ...", as_json):
        given = table_or_release(source, quasi, sensitive, key)
        candidates = DataSource(people).read(None) if people is not None else None
        found = what_if(
            given,
            know or [],
            ask,
            candidates,
            key=key,
            column=sensitive,
            levels=levels_of(level),
            private=private_lists(source),
            budget=budget if budget is not None else BUDGET,
            seed=seed,
        )
    payload = {
        "ok": found.posterior is not None,
        "asked": found.asked,
        "posterior": found.posterior,
        "prior": found.prior,
        "cost": found.cost,
        "costs": [{"fact": fact, "cost": cost} for fact, cost in found.costs],
        "contradiction": found.contradiction,
        "exact": found.exact,
        "interval": found.interval,
        "confidence": found.confidence,
    }
    answer(payload, as_json, lambda console: console.print(found.sentence(), markup=False))


@knowledge.command("breaking-point")
def breaking_point(
    source: Source,
    c: Threshold = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    level: Level = None,
    as_json: Json = False,
) -> None:
    """How many facts does it take to become that sure, and how many to be certain?

    Example: reticent knowledge breaking-point release/ --c 0.6
    """
    from reticent.errors import PolicyError
    from reticent.knowledge import breaking_point as broken_at
    from reticent.knowledge import certainty_point

    with working("Counting the facts that it takes ...", as_json):
        subject, given = subject_of(source, quasi, sensitive, level)
        threshold = threshold_of(c, source)
        if threshold is None:
            raise PolicyError("Say which certainty must not be reached: --c 0.6.")
        payload = {
            "ok": True,
            "c": threshold,
            "breaking_point": broken_at(subject.buckets, threshold),
            "certainty_point": certainty_point(subject.buckets),
            **_about(subject, given),
        }
    answer(payload, as_json, lambda console: console.print(_points(payload), markup=False))


@knowledge.command("monitor")
def monitor(
    source: Source,
    add: Annotated[str | None, typer.Option("--add", help="A file with the rows that would arrive.")] = None,
    k: Facts = "1",
    c: Threshold = None,
    quasi: Quasi = None,
    sensitive: Sensitive = None,
    level: Level = None,
    as_json: Json = False,
) -> None:
    """Would the table still be safe with new rows? Warns at the first that makes it unsafe, and then exits with 1.

    Example: reticent knowledge monitor policy.toml --level age=3 --add new.csv --k 2 --c 0.6
    """
    from reticent.errors import PolicyError
    from reticent.knowledge.growth import watch

    with working("Following the table as it grows ...", as_json):
        given = table_or_release(source, quasi, sensitive, None)
        threshold = threshold_of(c, source)
        if threshold is None:
            raise PolicyError("Say which certainty must not be reached: --c 0.6.")
        arriving, outside = arrivals(add, source)
        found = watch(given, arriving, threshold, most_facts(k), levels=levels_of(level))
    payload = {
        "ok": found.after.holds,
        "k": len(found.after.curve) - 1,
        "c": threshold,
        "before": {"holds": found.before.holds, "disclosure": found.before.disclosure},
        "after": {"holds": found.after.holds, "disclosure": found.after.disclosure, "margin": found.after.margin},
        "rows_added": found.rows,
        "rows_outside": outside,
        "first_unsafe_row": found.first_unsafe_row,
    }
    answer(payload, as_json, lambda console: console.print(found.sentence(), markup=False))


def _about(subject: Subject, given: Table | PublicSide) -> dict[str, Any]:
    from reticent.data import Table

    notes = [LIMITS]
    if isinstance(given, Table) and given.key is None:
        notes.append("No key was declared: one row is taken for one person.")
    return {
        "sensitive": subject.sensitive,
        "groups": len(subject.groups),
        "rows": int(subject.groups.sizes.sum()),
        "notes": notes,
    }


def _against(threshold: Fraction | None, known: list[Fraction], subject: Subject) -> dict[str, Any]:
    from reticent.knowledge import breaking_point as broken_at

    if threshold is None:
        return {"c": None}
    return {
        "c": threshold,
        "holds": known[-1] < threshold,
        "margin": threshold - known[-1],
        "breaking_point": broken_at(subject.buckets, threshold),
    }


def _render_curve(console: Console, payload: dict[str, Any]) -> None:
    from reticent.cli.wording import shown

    rows = [
        (facts, shown(known), shown(negated))
        for facts, (known, negated) in enumerate(zip(payload["curve"], payload["negation_curve"], strict=True))
    ]
    title = f"How sure of somebody's {payload['sensitive']} ({payload['groups']:,} groups, {payload['rows']:,} people)"
    console.print(table(title, ("facts known", "any facts", "'does not have' facts only"), rows))
    if payload["c"] is not None:
        verdict = "holds" if payload["holds"] else "does NOT hold"
        console.print(
            f"Below {shown(payload['c'])} with {payload['k']} facts: {verdict} (margin {shown(payload['margin'])}). "
            + _points(payload),
            markup=False,
        )
    else:
        console.print(f"{_facts(payload['certainty_point'], 'makes', 'make')} somebody certain.", markup=False)
    for note in payload["notes"]:
        console.print(note, style="dim", markup=False)


def _render_explanation(console: Console, found: Explanation) -> None:
    facts = found.facts()
    console.print(
        (f"The worst {found.k} facts:" if found.k > 1 else "The worst fact:") if facts else "Without any facts:",
        markup=False,
    )
    for fact in facts:
        console.print(f"  - {fact}", markup=False)
    console.print(f"Then {found.conclusion()}.", markup=False)
    rows = [
        (group, text, ", ".join(f"{value} {count}" for value, count in histogram.items()))
        for group, text, histogram in found.attacked()
    ]
    console.print(table("The groups that they are about (for your eyes only)", ("group", "who", "values"), rows))
    console.print(
        f"Replayed in the exact solver: {found.replayed()}. Whoever only rules values out reaches {found.negations.disclosure}: "
        f"{'; '.join(found.facts(negations=True)) or 'without any facts'}.",
        markup=False,
    )


def _points(payload: dict[str, Any]) -> str:
    from reticent.cli.wording import shown

    broken = payload["breaking_point"]
    certain = payload["certainty_point"]
    reached = "more facts than were tried are needed to reach" if broken is None else _facts(broken, "reaches", "reach")
    return f"{reached} {shown(payload['c'])}; {_facts(certain, 'makes', 'make')} somebody certain."


def _facts(number: int, one: str, many: str) -> str:
    return f"1 fact {one}" if number == 1 else f"{number} facts {many}"
