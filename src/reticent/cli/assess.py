"""``reticent assess``: the disclosure risk of the unmodified table; with ``--advise``, which definition covers which
threat and which models cover an application.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from reticent.base.cards import Card, CardTable, PlainResult, tone_of
from reticent.cli.console import Details, Json, answer, working
from reticent.cli.options import QuasiOption, ReadingOptions

if TYPE_CHECKING:
    from reticent.belief import Application
    from reticent.definitions import Assessment, Definition
    from reticent.propose import DiversityAudit, ExposedGroup, Exposure, Risk
    from reticent.table import Table

_DRIVERS_SHOWN = 3


def assess(
    policy: Annotated[str, typer.Argument(help="A policy (.toml), or a data file together with --quasi.")],
    reading: ReadingOptions,
    quasi: QuasiOption = None,
    sensitive: Annotated[
        list[str] | None, typer.Option("--sensitive", help="A sensitive column; repeat for several.")
    ] = None,
    definition: Annotated[
        str | None,
        typer.Option(
            "--definition",
            help="Such as 'KAnonymity(5) & EntropyLDiversity(l=3)'. Default for a data file: KAnonymity(2).",
        ),
    ] = None,
    nulls: Annotated[str | None, typer.Option(help="What a missing value means: refuse, drop or category.")] = None,
    groups: Annotated[int, typer.Option("--groups", min=0, help="How many of the most exposed groups to show.")] = 5,
    advise: Annotated[
        bool, typer.Option("--advise", help="Show which definition covers which threat, and what is not covered.")
    ] = False,
    protect: Annotated[
        str | None,
        typer.Option(
            "--protect", help="Judge every model for what must be protected: identity, attribute, membership or belief."
        ),
    ] = None,
    knows: Annotated[
        list[str] | None,
        typer.Option(
            "--knows",
            help="What the adversary may know: quasi, exclusions, others, distribution, population, alternatives; repeat for more.",
        ),
    ] = None,
    measure: Annotated[
        str,
        typer.Option("--measure", help="What counts as a disclosure: a belief becomes likely, excluded, or changed."),
    ] = "likely",
    near: Annotated[
        bool,
        typer.Option("--near", help="Also protect values near the true one, such as the same neighbourhood."),
    ] = False,
    failing_rows: Annotated[
        Path | None,
        typer.Option("--failing-rows", help="Write the failing rows with their row numbers to this new CSV file."),
    ] = None,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Measure the disclosure risk of a table before any change. Exits with 1 if it could not be published unchanged.

    Example: reticent assess policy.toml, or: reticent assess people.csv --quasi age --quasi zip --sensitive illness
    """
    from reticent.propose import diversity_audits, exposures, risk_views

    application = application_of(protect, knows or [], measure, near)
    with working("Counting unique rows ...", as_json) as context:
        rows, definitions = _load(policy, quasi or [], sensitive or [], definition, nulls, reading.said())
        measured = exposures(rows, definitions, groups, context=context)
        risks, audits = risk_views(rows, context=context), diversity_audits(rows, context=context)
    worst, risk = min(zip(measured, risks, strict=True), key=lambda pair: (pair[0].k, -pair[1].together.alone))
    ok = all(exposure.holds for exposure in measured)
    figures: dict[str, Any] = {
        **worst.as_dict(),
        "sets": [exposure.as_dict() for exposure in measured],
        "diversity": [audit.as_dict() for audit in audits],
        "risk": risk.as_dict(),
        "risks": [risk_of_set.as_dict() for risk_of_set in risks],
        "unpublished": list(rows.unpublished),
        "holds": ok,
    }
    notes = []
    if failing_rows is not None:
        failing_written = _write_failing(failing_rows, rows, definitions)
        figures["failing_rows"] = {"file": str(failing_rows), "rows": failing_written}
        notes.append(f"{failing_written:,} failing rows are in {failing_rows} (internal; do not publish).")
    if advise or application is not None:
        figures["advice"] = advice_on(definitions, application)
    if rows.unpublished:
        notes.append(f"Not published, because no role is set: {', '.join(rows.unpublished)}.")
    tables = [part for pair in zip(measured, risks, strict=True) for part in _tables(*pair, bool(rows.sensitive))]
    tables += advice_tables(figures["advice"]) if "advice" in figures else []
    tables += [
        _diversity_table(audits),
        *(part for risk_of_set in risks for part in _driver_tables(risk_of_set, len(risks) > 1)),
    ]
    title, *sentences = (line for exposure in measured for line in _verdicts(exposure))
    lone = [lone_value for risk in risks for lone_value in risk.lone]
    lone_values = ", ".join(f"{lone_value.column} {lone_value.value}" for lone_value in lone)
    examples = (
        [f"Examples of values that only one person has (internal; do not publish): {lone_values}."] if lone else []
    )
    card = Card(title, tone=tone_of(ok), tables=tables, sentences=sentences, notes=notes, more=examples)
    answer(PlainResult(figures, card, ok), as_json, details)


def _write_failing(target: Path, rows: Table, definitions: tuple[Definition, ...]) -> int:
    """Write the failing rows with their row numbers to ``target``, readable by the owner alone; return how many."""
    import polars as pl

    from reticent.base.files import write_new
    from reticent.definitions import all_of
    from reticent.errors import DataError
    from reticent.release import assess as judged
    from reticent.table import table_file

    numbers = pl.Series("row", judged(rows, all_of(definitions)).failing_rows(), dtype=pl.UInt32)
    columns_shown = [
        *rows.identifiers,
        *(name for name in (*rows.quasi, *rows.sensitive) if name not in rows.identifiers),
    ]
    start, parts = 0, [pl.DataFrame(schema={"row": pl.UInt32, **{name: rows.schema[name] for name in columns_shown}})]
    for chunk in rows.held.chunks(columns_shown):
        numbered = chunk.select(columns_shown).with_row_index("row", start)
        parts.append(numbered.filter(pl.col("row").is_in(numbers.implode())))
        start += chunk.height
    try:
        failing = pl.concat(parts)
        write_new(target, b"".join(table_file("csv").write(failing, failing.schema)), mode=0o600)
    except OSError as error:
        raise DataError(f"The failing rows cannot be written to {str(target)!r}: {error.strerror or error}.") from error
    return len(numbers)


def _load(
    policy: str,
    quasi: list[str],
    sensitive: list[str],
    definition: str | None,
    nulls: str | None,
    reading: Mapping[str, Any],
) -> tuple[Table, tuple[Definition, ...]]:
    """Return the rows and the definitions to check."""
    from reticent.definitions import KAnonymity
    from reticent.errors import PolicyError
    from reticent.policy import Policy, definition_from_text, read

    definitions_given = definition_from_text(definition).parts() if definition is not None else None
    if not policy.endswith(".toml"):
        if Path(policy).is_dir():
            raise PolicyError(
                f"{policy} is a folder. assess looks at a table before it is published; `reticent verify {policy}` checks a release, and "
                f"`reticent attack {policy}` attacks it."
            )
        if not quasi:
            raise PolicyError(
                f"{policy} is not a policy, so name the columns that an adversary may know: --quasi age --quasi sex. "
                f"Or let `reticent inspect {policy}` propose a policy."
            )
        rows = read(policy, quasi=quasi, sensitive=sensitive, nulls=nulls or "refuse", **reading)
        return rows, definitions_given or (KAnonymity(2),)
    loaded = Policy.read(policy)
    overrides: dict[str, Any] = dict(reading)
    if quasi:
        overrides["quasi"] = {name: loaded.hierarchies.get(name) for name in quasi}
    if sensitive:
        overrides["sensitive"] = {name: loaded.hierarchies.get(name) for name in sensitive}
    if nulls is not None:
        overrides["nulls"] = nulls
    return read(policy=loaded, **overrides), definitions_given or loaded.definition.parts()


def _verdicts(exposure: Exposure) -> Iterator[str]:
    """Yield one sentence on whether the table could be published unchanged, then the verdict on each definition."""
    verdict = "Safe to publish unchanged" if exposure.holds else "Not safe to publish unchanged"
    yield (
        f"{verdict}: an attacker who knows {', '.join(exposure.columns)} of every person sees {exposure.groups:,} groups in "
        f"{exposure.rows:,} rows."
    )
    for assessment in exposure.assessments:
        yield f"- {'True' if assessment.holds else 'False'}: {assessment.sentence}"


def _tables(exposure: Exposure, risk: Risk, sensitive: bool) -> Iterator[CardTable]:
    """Yield the tables of an assessment: figures, verdicts, identifying columns; as details the reasons and the most exposed groups."""
    facts = [
        ("smallest group (k)", f"{exposure.k:,}"),
        ("unique rows", f"{exposure.unique_rows:,} ({exposure.unique_rows / exposure.rows:.1%})"),
        ("people re-identified correctly", f"{float(exposure.success):.1%}"),
    ]
    if exposure.estimate is not None:
        facts += [
            ("population represented, by weight", f"{float(exposure.estimate.people):,.0f}"),
            ("highest chance of a match in this population", f"{float(exposure.estimate.risk.journalist.highest):.1%}"),
            ("unique rows also unique in the population", f"{float(exposure.estimate.confirmed):.1%}"),
        ]
    if sensitive:
        facts.append(("rows whose group shares one sensitive value", f"{exposure.homogeneous_rows:,}"))
    yield CardTable(("figure", "value"), facts, "The unmodified table")
    verdicts = [
        (str(assessment.definition), "holds" if assessment.holds else "does not hold", assessment.value)
        for assessment in exposure.assessments
    ]
    yield CardTable(("definition", "verdict", "achieved"), verdicts, "Definitions to satisfy")
    drivers = [
        (column.column, round(column.adds), column.drives) for column in risk.columns[:_DRIVERS_SHOWN] if column.adds
    ]
    heads = ("column", "unique through it, on average", "fewer unique without it")
    yield CardTable(heads, drivers, "Most identifying columns")
    reasons = [
        (str(assessment.definition), _why(assessment, group))
        for assessment, group in zip(exposure.assessments, exposure.worst, strict=True)
        if not assessment.holds
    ]
    yield CardTable(("definition", "why"), reasons, "Why not (internal; do not publish)", detail=True)
    exposed = [
        (group.people, _who(group), ", ".join(f"{value} {count}" for value, count in group.histogram.items()))
        for group in exposure.exposed
    ]
    heading = "Most exposed groups (internal; do not publish)"
    yield CardTable(("people", "who", "sensitive values"), exposed, heading, detail=True)


def _who(group: ExposedGroup) -> str:
    return ", ".join(f"{name} {label}" for name, label in group.quasi.items())


def _why(assessment: Assessment, worst: ExposedGroup | None) -> str:
    """Return the sentence of the witness, followed by the worst group."""
    if assessment.witness is None or worst is None:
        return ""
    return f"{assessment.witness.text} Worst: {_who(worst)}."


def _diversity_table(audits: tuple[DiversityAudit, ...]) -> CardTable:
    """Return the table of the diversity of the groups."""
    several = len({audit.columns for audit in audits}) > 1
    rows = [
        (
            f"{audit.sensitive} by {', '.join(audit.columns)}" if several else audit.sensitive,
            f"{audit.homogeneous_rows:,} in {audit.homogeneous_groups:,}",
            f"{audit.nearly_homogeneous_rows:,} in {audit.nearly_homogeneous_groups:,}",
            f"{audit.effective_l:.4g} of {audit.table_effective_l:.4g}",
            audit.worst_posterior[:2],
        )
        for audit in audits
    ]
    heads = (
        "column",
        "rows whose group has one value",
        "one value for 95 %",
        "effective l, table's own",
        "highest belief, also after one exclusion",
    )
    return CardTable(heads, rows, "Diversity of the groups (internal; do not publish)", detail=True)


def _driver_tables(risk: Risk, several: bool) -> Iterator[CardTable]:
    """Yield tables of what drives the risk: single columns, their values, and combinations of columns."""
    columns = [
        (
            column.column,
            column.values,
            column.alone,
            round(column.adds),
            column.drives,
            f"{float(column.success_without):.1%}",
        )
        for column in risk.columns
    ]
    heads = (
        "column",
        "values",
        "unique by it alone",
        "unique through it, on average",
        "fewer unique without it",
        "re-identified without it",
    )
    by_columns = f" from {', '.join(risk.together.columns)}" if several else ""
    yield CardTable(heads, columns, f"Which columns drive the risk{by_columns}", detail=True)
    values = [
        (f"{value.column} {value.value}", value.rows, f"{value.alone:,} ({float(value.share):.0%})", value.drives)
        for value in risk.values
    ]
    yield CardTable(
        ("value", "rows", "alone", "unique through it"), values, "Which values (internal; do not publish)", detail=True
    )
    sets = [
        (
            ", ".join(column_set.columns),
            f"{float(column_set.distinction):.2%}",
            f"{float(column_set.separation):.4%}",
            column_set.alone,
        )
        for column_set in risk.sets
    ]
    title = f"Which combinations of columns, up to {risk.largest_set}"
    yield CardTable(("columns", "distinction", "separation", "alone"), sets, title, detail=True)


def application_of(protect: str | None, knows: list[str], measure: str, near: bool) -> Application | None:
    """Return the application that the options describe; None without ``--protect``."""
    from reticent.belief import Application
    from reticent.errors import PolicyError

    if protect is None:
        if knows or near or measure != "likely":
            raise PolicyError("--knows, --measure and --near need --protect, such as --protect attribute.")
        return None
    return Application(cast(Any, protect), frozenset(cast(Any, knows or ["quasi"])), cast(Any, measure), near)


def advice_on(definitions: tuple[Definition, ...], application: Application | None) -> dict[str, Any]:
    """Return which of the four concerns the definitions cover, all models, and which models cover the application."""
    from dataclasses import asdict

    from reticent.belief import ADVICE, CONCERNS, judge, uncovered

    chosen = {definition.name for definition in definitions}
    covered = {
        concern: sorted(
            {model.definition for model in ADVICE if model.definition in chosen and concern in model.covers}
        )
        for concern in CONCERNS
    }
    advice = {
        "concerns": dict(CONCERNS),
        "covered": covered,
        "uncovered": list(uncovered(chosen)),
        "models": [{**asdict(model), "available": model.available} for model in ADVICE],
    }
    if application is not None:
        advice["application"] = {
            **asdict(application),
            "knows": sorted(application.knows),
            "models": [
                {
                    "model": judgement.advice.model,
                    "definition": judgement.advice.definition,
                    "available": judgement.advice.available,
                    "covers": judgement.covers,
                    "chosen": judgement.advice.definition in chosen,
                    "reasons": list(judgement.reasons),
                }
                for judgement in judge(application)
            ],
        }
    return advice


def advice_tables(advice: Mapping[str, Any]) -> list[CardTable]:
    """Return the advice as tables: what is covered, and by which models."""
    concerns = [
        (concern, meaning, ", ".join(advice["covered"][concern]) or "no requested definition")
        for concern, meaning in advice["concerns"].items()
    ]
    title = "What must not be learned, and which definition prevents it"
    covered = CardTable(("concern", "what", "covered by"), concerns, title)
    if "application" in advice:
        return [covered, _application_table(advice["application"])]
    models = [
        (
            model["model"],
            ", ".join(model["covers"]),
            model["definition"] if model["available"] else "explained only",
            model["adversary"],
            model["protects"],
            model["leaves"],
        )
        for model in advice["models"]
    ]
    heads = ("model", "covers", "definition", "against an adversary who", "and must not reach", "leaves open")
    return [covered, CardTable(heads, models, "Which definition covers which threat")]


def _application_table(application: Mapping[str, Any]) -> CardTable:
    """Return the table of the models that protect what an application names, each with the reasons against it."""
    rows = [
        (
            f"{model['model']}{' (requested)' if model['chosen'] else ''}",
            model["definition"] if model["available"] else "explained only",
            "yes" if model["covers"] else "no: " + "; ".join(model["reasons"]),
        )
        for model in application["models"]
    ]
    nearness = ", or what is near it" if application["near"] else ""
    title = f"Models that protect {application['protect']}{nearness} against an adversary who knows {', '.join(application['knows'])}"
    return CardTable(("model", "definition", "covers it"), rows, title)
