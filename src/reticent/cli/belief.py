"""``reticent belief``: the posterior of a Bayesian adversary who sees a release and knows a stated population."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.base.cards import Card, CardTable, PlainResult, shown, tone_of
from reticent.cli.console import Json, answer, working
from reticent.cli.options import SensitiveOption, TargetArgument, table_or_path
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from reticent.belief import Person, Tests

LIMITS = "The release is assumed to be a simple random sample of the given population, and the adversary to know the joint counts of that population exactly. Other populations give other beliefs, and a coarser release may disclose what a finer one did not."
NOT_COUNTED = "Beliefs marked with ~ are not computed by counting possible worlds, because several published groups cover the person or the bucket is large."


def belief(
    target: TargetArgument,
    population: Annotated[
        str,
        typer.Option(
            "--population",
            help="The population: quasi-identifiers and the sensitive column, one row per person; a file, or a policy (.toml).",
        ),
    ],
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Only people with this quasi-identifier value, such as age=31; repeat for more."),
    ] = None,
    sensitive: SensitiveOption = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Report beliefs above 1 - delta.")] = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Report beliefs below epsilon.")] = None,
    rho: Annotated[
        str | None,
        typer.Option(
            "--rho", help="Report beliefs that rise from below rho1 to above rho2, or fall correspondingly: 0.3,0.6."
        ),
    ] = None,
    raw: Annotated[
        str | None,
        typer.Option("--raw", help="The policy of the original table: report only disclosures about people in it."),
    ] = None,
    shown: Annotated[int, typer.Option("--show", min=0, help="How many of the strongest beliefs to show.")] = 10,
    as_json: Json = False,
) -> None:
    """Compute the beliefs of an adversary who knows the population. Exits with 1 if a requested test finds a
    disclosure.

    Example: reticent belief release --population people.csv --where age=31 --delta 0.1
    """
    from reticent.belief import Tests, beliefs_of, people_asked
    from reticent.io import people_of
    from reticent.policy import Policy

    with working("Computing posterior beliefs ...", as_json) as context:
        tests = Tests(delta, epsilon, _rho(rho))
        table_itself = Policy.read(raw).table() if raw is not None else None
        wanted_values = _where(where or [])
        side, population_frame = _target(target), people_of(table_or_path(population))
        posteriors = beliefs_of(side, population_frame, sensitive, wanted_values, table_itself, context)
        rows = _rows(posteriors, tests)
    people = sum(person.people for person in posteriors)
    disclosures = sorted((row for row in rows if row["tests"]), key=lambda row: not row["news"])
    surest = sorted(rows, key=lambda row: -row["posterior"])[:shown]
    figures: dict[str, Any] = {
        "people": people,
        "left_out": people_asked(population_frame, wanted_values) - people,
        "disclosures": len(disclosures),
        "news": sum(row["news"] for row in disclosures),
        "people_disclosed": sum(row["people"] for row in _once(disclosures)),
        "beliefs": disclosures[:shown] if disclosures else surest,
        "limits": LIMITS if all(person.exact for person in posteriors) else f"{LIMITS} {NOT_COUNTED}",
    }
    answer(PlainResult(figures, _card(figures), not disclosures), as_json)


def _target(target: str) -> Any:
    """Return the source of the beliefs: the folder of a release, or the table of a policy."""
    if Path(target).is_file() and not target.endswith(".toml"):
        raise PolicyError(
            f"{target} is neither the folder of a release nor a policy. Let `reticent inspect {target}` write a policy, and give that."
        )
    return table_or_path(target)


def _where(conditions: list[str]) -> dict[str, str]:
    """Return the value for each column from texts such as age=31."""
    values: dict[str, str] = {}
    for text in conditions:
        name, equals, value = text.partition("=")
        if not equals:
            raise PolicyError(f"--where needs a column and a value, such as age=31, but it is {text!r}.")
        if name.strip() in values:
            raise PolicyError(f"--where names the column {name.strip()!r} twice. Give each column once.")
        values[name.strip()] = value.strip()
    return values


def _rho(text: str | None) -> tuple[str, str] | None:
    """Return the two numbers of --rho."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise PolicyError(f"--rho needs two numbers, such as 0.3,0.6, but it is {text!r}.")
    return parts[0], parts[1]


def _rows(posteriors: tuple[Person, ...], tests: Tests) -> list[dict[str, Any]]:
    """Return one row per belief, with the tests that it fails."""
    return [
        {
            "quasi": dict(person.quasi),
            "people": person.people,
            "value": belief.value,
            "prior": belief.prior,
            "posterior": belief.posterior,
            "exact": person.exact,
            "tests": list(tests.failing(belief, person.rows)),
            "news": tests.is_news(belief, person.rows),
        }
        for person in posteriors
        for belief in person.beliefs
    ]


def _once(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for each kind of person."""
    return list({tuple(row["quasi"].items()): row for row in rows}.values())


def _card(figures: dict[str, Any]) -> Card:
    """Return the card: the disclosures, or the strongest beliefs."""
    rows = [
        (
            ", ".join(f"{name} {value}" for name, value in row["quasi"].items()),
            str(row["value"]),
            shown(row["prior"]),
            f"{'' if row['exact'] else '~'}{shown(row['posterior'])}",
            ", ".join(row["tests"]),
        )
        for row in figures["beliefs"]
    ]
    left_out_note = f"{figures['left_out']} more people of the population match no published group, or have a value that their group does not publish."
    return Card(
        f"{figures['disclosures']} disclosures about {figures['people_disclosed']} of {figures['people']} people; "
        f"{figures['news']} of them are new knowledge.",
        tone=tone_of(not figures["disclosures"]),
        tables=[
            CardTable(("who", "value", "before", "after", "disclosure"), rows, "Beliefs (internal; do not publish)")
        ],
        notes=[*([left_out_note] if figures["left_out"] else []), figures["limits"]],
    )
