"""``reticent assess``: the risk as it stands; with ``--advise``, which definition covers which threat, and which models cover an application."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from reticent.cli.console import Details, Json, answer, table, working
from reticent.cli.options import QuasiOption, ReadingOptions

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.belief.application import Application
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
            help="Such as 'KAnonymity(5) & EntropyLDiversity(l=3)'; a data file without one is held to KAnonymity(2).",
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
            help="What somebody may know: quasi, exclusions, others, distribution, population, alternatives; repeat for more.",
        ),
    ] = None,
    measure: Annotated[
        str,
        typer.Option(
            "--measure", help="What counts as a disclosure: that something becomes likely, excluded, or changed."
        ),
    ] = "likely",
    near: Annotated[
        bool,
        typer.Option("--near", help="Also protect values near the true one, such as the neighbourhood."),
    ] = False,
    failing_rows: Annotated[
        Path | None,
        typer.Option(
            "--failing-rows", help="Write the rows that do not pass, with their numbers, to this new CSV file."
        ),
    ] = None,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """How exposed are the people in a table as it stands? Exits with 1 when it could not go out as it is.

    Example: reticent assess policy.toml, or: reticent assess people.csv --quasi age --quasi zip --sensitive illness
    """
    from reticent.propose import diversity_audits, exposures, risk_views

    application = application_of(protect, knows or [], measure, near)
    with working("Counting who stands alone ...", as_json) as context:
        rows, definitions = _load(policy, quasi or [], sensitive or [], definition, nulls, reading.said())
        found = exposures(rows, definitions, groups, context=context)
        risks, audits = risk_views(rows, context=context), diversity_audits(rows, context=context)
    worst, risk = min(zip(found, risks, strict=True), key=lambda pair: (pair[0].k, -pair[1].together.alone))
    payload: dict[str, Any] = {
        "ok": all(exposure.holds for exposure in found),
        **worst.as_dict(),
        "sets": [exposure.as_dict() for exposure in found],
        "diversity": [each.as_dict() for each in audits],
        "risk": risk.as_dict(),
        "risks": [each.as_dict() for each in risks],
        "unpublished": list(rows.unpublished),
    }
    payload["holds"] = payload["ok"]
    if failing_rows is not None:
        payload["failing_rows"] = {"file": str(failing_rows), "rows": _write_failing(failing_rows, rows, definitions)}
    if advise or application is not None:
        payload["advice"] = advice_on(definitions, application)
    told = payload.get("advice"), payload.get("failing_rows")
    answer(payload, as_json, lambda console: _render(console, found, rows, risks, audits, *told, details))


def _write_failing(target: Path, rows: Table, definitions: tuple[Definition, ...]) -> int:
    """Write the rows that do not pass, numbered as they stand in the table; only their owner may read the file."""
    import polars as pl

    from reticent.base.files import write_new
    from reticent.definitions import all_of
    from reticent.errors import DataError
    from reticent.release.assessment import assess as judged
    from reticent.table import table_file

    numbers = pl.Series("row", judged(rows, all_of(definitions)).failing_rows(), dtype=pl.UInt32)
    shown = [*rows.identifiers, *(name for name in (*rows.quasi, *rows.sensitive) if name not in rows.identifiers)]
    start, parts = 0, [pl.DataFrame(schema={"row": pl.UInt32, **{name: rows.schema[name] for name in shown}})]
    for chunk in rows.held.chunks(shown):
        numbered = chunk.select(shown).with_row_index("row", start)
        parts.append(numbered.filter(pl.col("row").is_in(numbers.implode())))
        start += chunk.height
    try:
        found = pl.concat(parts)
        write_new(target, b"".join(table_file("csv").write(found, found.schema)), mode=0o600)
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
    """The rows, and the definitions that they are held to."""
    from reticent.definitions import KAnonymity
    from reticent.errors import PolicyError
    from reticent.policy import Policy, definition_from_text, read

    said = definition_from_text(definition).parts() if definition is not None else None
    if not policy.endswith(".toml"):
        if Path(policy).is_dir():
            raise PolicyError(
                f"{policy} is a folder. assess looks at a table before it is published; `reticent verify {policy}` checks a release, and "
                f"`reticent attack {policy}` attacks it."
            )
        if not quasi:
            raise PolicyError(
                f"{policy} is not a policy, so name the columns that others may know: --quasi age --quasi sex. "
                f"Or let `reticent inspect {policy}` propose a policy."
            )
        rows = read(policy, quasi=quasi, sensitive=sensitive, nulls=nulls or "refuse", **reading)
        return rows, said or (KAnonymity(2),)
    loaded = Policy.read(policy)
    overrides: dict[str, Any] = dict(reading)
    if quasi:
        overrides["quasi"] = {name: loaded.hierarchies.get(name) for name in quasi}
    if sensitive:
        overrides["sensitive"] = {name: loaded.hierarchies.get(name) for name in sensitive}
    if nulls is not None:
        overrides["nulls"] = nulls
    return read(policy=loaded, **overrides), said or loaded.definition.parts()


def _render(
    console: Console,
    found: tuple[Exposure, ...],
    rows: Table,
    risks: tuple[Risk, ...],
    audits: tuple[DiversityAudit, ...],
    advice: Mapping[str, Any] | None,
    written: Mapping[str, Any] | None,
    details: bool,
) -> None:

    for exposure, risk in zip(found, risks, strict=True):
        _render_verdict(console, exposure, bool(rows.sensitive))
        if details:
            _render_exposed(console, exposure)
        else:
            drivers = [
                (each.column, f"{round(each.adds):,}", f"{each.drives:,}")
                for each in risk.columns[:_DRIVERS_SHOWN]
                if each.adds
            ]
            if drivers:
                heads = ("column", "alone by it, on average", "fewer alone without it")
                console.print(table("What sets people apart most", heads, drivers))
    if advice is not None:
        render_advice(console, advice)
    if details:
        _render_diversity(console, audits)
        for risk in risks:
            if len(risks) > 1:
                console.print(f"What drives the risk from {', '.join(risk.together.columns)}:")
            _render_risk(console, risk)
    console.print()
    if written is not None:
        console.print(f"{written['rows']:,} rows that do not pass are in {written['file']} (for your eyes only).")
    if rows.unpublished:
        console.print(f"Without a role, so not published: {', '.join(rows.unpublished)}.")


def _render_verdict(console: Console, exposure: Exposure, sensitive: bool) -> None:
    """Whether it could go out as it is, in a sentence, the figures behind it, and every definition's verdict."""
    from reticent.cli.text import shown

    said = "Safe as it stands" if exposure.holds else "Not safe as it stands"
    console.print(
        f"{said}: an attacker who knows {', '.join(exposure.columns)} of everybody sees {exposure.groups:,} groups in "
        f"{exposure.rows:,} rows.",
    )
    for each in exposure.assessments:
        console.print(f"- {'True' if each.holds else 'Not true'}: {each.sentence}")
    facts = [
        ("smallest group (k)", f"{exposure.k:,}"),
        ("rows that stand alone", f"{exposure.unique_rows:,} ({exposure.unique_rows / exposure.rows:.1%})"),
        ("people picked out correctly", f"{float(exposure.success):.1%}"),
    ]
    if exposure.estimate is not None:
        facts += [
            ("people that the rows stand for, by weight", f"{float(exposure.estimate.people):,.0f}"),
            ("largest chance of a match among these", f"{float(exposure.estimate.risk.journalist.highest):.1%}"),
            ("alone among these, of rows that stand alone", f"{float(exposure.estimate.confirmed):.1%}"),
        ]
    if sensitive:
        facts.append(("rows whose group shares one sensitive value", f"{exposure.homogeneous_rows:,}"))
    console.print(table("As it stands", ("figure", "value"), facts))
    verdicts = [
        (str(each.definition), "holds" if each.holds else "does not hold", shown(each.value))
        for each in exposure.assessments
    ]
    console.print(table("What was asked for", ("definition", "verdict", "achieved"), verdicts))


def _render_exposed(console: Console, exposure: Exposure) -> None:
    """Why definitions do not hold, and the groups of the fewest people."""
    reasons = [
        (str(each.definition), _why(each, group))
        for each, group in zip(exposure.assessments, exposure.worst, strict=True)
        if not each.holds
    ]
    if reasons:
        console.print(table("Why not (for your eyes only)", ("definition", "why"), reasons))
    exposed = [
        (group.people, _who(group), ", ".join(f"{value} {count}" for value, count in group.histogram.items()))
        for group in exposure.exposed
    ]
    if exposed:
        console.print(table("The most exposed (for your eyes only)", ("people", "who", "sensitive values"), exposed))


def _who(group: ExposedGroup) -> str:
    return ", ".join(f"{name} {label}" for name, label in group.quasi.items())


def _why(assessment: Assessment, worst: ExposedGroup | None) -> str:
    """The sentence of the witness, and the group that it is about."""
    if assessment.witness is None or worst is None:
        return ""
    return f"{assessment.witness.text} Worst: {_who(worst)}."


def _render_diversity(console: Console, audits: tuple[DiversityAudit, ...]) -> None:
    from reticent.cli.text import shown

    several = len({each.columns for each in audits}) > 1
    rows = [
        (
            f"{each.sensitive} by {', '.join(each.columns)}" if several else each.sensitive,
            f"{each.homogeneous_rows:,} in {each.homogeneous_groups:,}",
            f"{each.nearly_homogeneous_rows:,} in {each.nearly_homogeneous_groups:,}",
            f"{each.effective_l:.4g} of {each.table_effective_l:.4g}",
            ", ".join(shown(chance) for chance in each.worst_posterior[:2]),
        )
        for each in audits
    ]
    heads = ("column", "rows that share a value", "by 95 %", "effective l, of at most", "surest, and ruling one out")
    if rows:
        console.print(table("How diverse the groups are (for your eyes only)", heads, rows))


def _render_risk(console: Console, risk: Risk) -> None:
    columns = [
        (
            each.column,
            f"{each.values:,}",
            f"{each.alone:,}",
            f"{round(each.adds):,}",
            f"{each.drives:,}",
            f"{float(each.success_without):.1%}",
        )
        for each in risk.columns
    ]
    heads = (
        "column",
        "values",
        "alone by it alone",
        "by it, on average",
        "fewer alone without it",
        "picked out without it",
    )
    console.print(table("Which columns drive the risk", heads, columns))
    values = [
        (
            f"{each.column} {each.value}",
            f"{each.rows:,}",
            f"{each.alone:,} ({float(each.share):.0%})",
            f"{each.drives:,}",
        )
        for each in risk.values
    ]
    if values:
        console.print(table("Which values (for your eyes only)", ("value", "rows", "alone", "alone by it"), values))
    if risk.lone:
        lone = ", ".join(f"{each.column} {each.value}" for each in risk.lone)
        console.print(f"Values that one person alone has, the first of them (for your eyes only): {lone}.")
    sets = [
        (", ".join(each.columns), f"{float(each.distinction):.2%}", f"{float(each.separation):.4%}", f"{each.alone:,}")
        for each in risk.sets
    ]
    title = f"Which columns together, up to {risk.largest_set}"
    console.print(table(title, ("columns", "distinction", "separation", "alone"), sets))


def application_of(protect: str | None, knows: list[str], measure: str, near: bool) -> Application | None:
    """The form that was filled in; None where nothing is said about what to protect."""
    from reticent.belief.application import Application
    from reticent.errors import PolicyError

    if protect is None:
        if knows or near or measure != "likely":
            raise PolicyError(
                "--knows, --measure and --near say how something is protected: add --protect, such as attribute."
            )
        return None
    return Application(cast(Any, protect), frozenset(cast(Any, knows or ["quasi"])), cast(Any, measure), near)


def advice_on(definitions: tuple[Definition, ...], application: Application | None) -> dict[str, Any]:
    """What the definitions cover of the four concerns, all models, and which of them cover the application."""
    from dataclasses import asdict

    from reticent.belief.advisor import ADVICE, CONCERNS, uncovered
    from reticent.belief.application import judge

    chosen = {each.name for each in definitions}
    covered = {
        concern: sorted({each.definition for each in ADVICE if each.definition in chosen and concern in each.covers})
        for concern in CONCERNS
    }
    found = {
        "concerns": dict(CONCERNS),
        "covered": covered,
        "uncovered": list(uncovered(chosen)),
        "models": [{**asdict(each), "available": each.available} for each in ADVICE],
    }
    if application is not None:
        found["application"] = {
            **asdict(application),
            "knows": sorted(application.knows),
            "models": [
                {
                    "model": each.advice.model,
                    "definition": each.advice.definition,
                    "available": each.advice.available,
                    "covers": each.covers,
                    "chosen": each.advice.definition in chosen,
                    "reasons": list(each.reasons),
                }
                for each in judge(application)
            ],
        }
    return found


def render_advice(console: Console, advice: Mapping[str, Any]) -> None:
    """The advice as tables."""
    concerns = [
        (concern, what, ", ".join(advice["covered"][concern]) or "nothing that was asked for")
        for concern, what in advice["concerns"].items()
    ]
    console.print(
        table("What must not be learned, and what stands against it", ("concern", "what", "covered by"), concerns)
    )
    if "application" in advice:
        _render_application(console, advice["application"])
        return
    models = [
        (
            each["model"],
            ", ".join(each["covers"]),
            each["definition"] if each["available"] else "explained only",
            each["adversary"],
            each["protects"],
            each["leaves"],
        )
        for each in advice["models"]
    ]
    columns = ("model", "covers", "definition", "against somebody who", "who must not reach", "leaves open")
    console.print(table("Which definition covers which threat", columns, models))


def _render_application(console: Console, application: Mapping[str, Any]) -> None:
    rows = [
        (
            f"{each['model']}{' (asked for)' if each['chosen'] else ''}",
            each["definition"] if each["available"] else "explained only",
            "yes" if each["covers"] else "no: " + "; ".join(each["reasons"]),
        )
        for each in application["models"]
    ]
    nearness = ", or what is near it" if application["near"] else ""
    title = (
        f"Who protects {application['protect']}{nearness} against somebody who knows {', '.join(application['knows'])}"
    )
    console.print(table(title, ("model", "definition", "covers it"), rows))
