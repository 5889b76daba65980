"""``reticent synthesize``: plan synthetic data from public facts, and audit a release that was given out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from reticent.base.cards import Card, CardTable, PlainResult
from reticent.cli.console import Json, answer, working
from reticent.cli.options import add_group

if TYPE_CHECKING:
    from reticent.methods.synthesize import SynthesisPlan


def register(app: typer.Typer) -> None:
    """Add the commands."""
    add_group(
        app,
        "synthesize",
        "Synthetic data: every group's rows replaced by as many drawn ones, with a proven bound.",
        {"plan": plan, "audit": audit, "compare": compare},
    )


def plan(
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            help="The public sizes of all groups: a file with a column 'size', or numbers with commas (12,40,40).",
        ),
    ],
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            help="The values that are possible: how many, or a file with one row for each, and perhaps columns 'weight' and 'keep'.",
        ),
    ],
    epsilon: Annotated[
        list[str], typer.Option("--epsilon", help="The epsilon that is promised; repeat it to compare.")
    ],
    delta: Annotated[
        list[str], typer.Option("--delta", help="The delta that is promised; repeat it to compare. 0: none.")
    ] = ["1e-5"],  # noqa: B006  # typer copies it
    mode: Annotated[str, typer.Option(help="tight (least noise), or thesis (the closed criterion).")] = "tight",
    delta_scope: Annotated[
        str, typer.Option(help="per_person, or whole_release: the risk that anybody at all is disclosed.")
    ] = "per_person",
    rows_per_person: Annotated[int, typer.Option(help="How many rows a person has at most.", min=1)] = 1,
    screen: Annotated[bool, typer.Option("--screen", help="Draw again what is not representative.")] = False,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Keep values that nobody of a group has with this public probability only; 'by value': with those in the column 'keep' of the domain."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a promise costs, from public facts alone: noise, share of real data, plain meaning. No data are read.

    Example: reticent synthesize plan --groups sizes.csv --domain 25181 --epsilon 1 --epsilon 4.6 --delta 1e-5
    """
    from reticent.methods.synthesize import plan as make

    sizes, values = _sizes(groups), _domain(domain)
    made: list[SynthesisPlan] = []
    with working("Planning ...", as_json) as context:
        for each in epsilon:
            for risk in delta:
                context.step("planning", len(made), len(epsilon) * len(delta))
                options = {"rows_per_person": rows_per_person, "screen": screen, "keep": keep}
                made.append(
                    make(sizes, values, each, risk, cast(Any, mode), cast(Any, delta_scope), **cast(Any, options))
                )
    plans = {"plans": [each.describe() for each in made]}
    answer(PlainResult(plans, made[0].card() if len(made) == 1 else _compared(made)), as_json)


def audit(
    release: Annotated[Path, typer.Argument(help="The folder of a synthetic release.")],
    policy: Annotated[Path, typer.Option("--policy", help="The policy of the confidential table.")],
    parts: Annotated[
        Path | None, typer.Option(help="The public partition that the release was made with (value, part).")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Test for this epsilon instead of the promised one.")] = None,
    as_json: Json = False,
) -> None:
    """Test the actual output against the confidential table: which groups lie in their disclosure set. Private: do not publish the answer.

    A release is audited after it was recorded; choosing among draws by their audits breaks the promise.

    Example: reticent synthesize audit release --policy policy.toml
    """
    from reticent.methods.synthesize import audit_release
    from reticent.policy import Policy
    from reticent.release import open_public

    with working("Auditing ...", as_json) as context:
        found = audit_release(open_public(release), Policy.read(policy).table(), epsilon, parts=parts, context=context)
    answer(found, as_json)


def compare(
    release: Annotated[Path, typer.Argument(help="The folder of a synthetic release.")],
    policy: Annotated[Path, typer.Option("--policy", help="The policy of the confidential table.")],
    coordinates: Annotated[
        Path | None, typer.Option(help="A file with places, their latitude and longitude: distances are compared too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare drawn rows with the true ones: how far shares are apart, and how well counting queries are answered. Private: do not publish it.

    A release is compared after it was recorded; choosing among draws by how good they look breaks the promise.

    Example: reticent synthesize compare release --policy policy.toml
    """
    from dataclasses import asdict

    from reticent.errors import PolicyError
    from reticent.io import read_frame
    from reticent.policy import Policy
    from reticent.release import open_public
    from reticent.reports import flow_facts

    with working("Comparing ...", as_json) as context:
        places = None if coordinates is None else read_frame(coordinates)
        found = flow_facts(Policy.read(policy).table(), open_public(release), places, context)
    if found is None:
        raise PolicyError(
            "Drawn rows are compared with true ones where a release shows one drawn value beside the groups of the policy's table, in values of that table; this one does not."
        )
    parts = {
        name: [asdict(each) for each in getattr(found, name)] for name in ("levels", "queries", "distances", "short")
    }
    figures = {"private": True, "group": found.group, "value": found.value, **parts}
    card = Card(
        "For the steward only: this was computed from the confidential rows. Do not publish it, and do not choose among draws by it.",
        tables=[CardTable.of(name.capitalize(), rows) for name, rows in parts.items()],
    )
    answer(PlainResult(figures, card), as_json)


def _sizes(given: str) -> list[int]:
    """Sizes of groups: numbers with commas, or the column ``size`` of a file."""
    if all(part.strip().isdigit() for part in given.split(",")):
        return [int(part) for part in given.split(",")]
    from reticent.methods.synthesize import declared_sizes

    return declared_sizes(given)


def _domain(given: str) -> Any:
    """A number of values, or the values of a file with their weights."""
    if given.isdigit():
        return int(given)
    from reticent.methods.synthesize import declared_prior

    return declared_prior(given)


def _compared(made: list[SynthesisPlan]) -> Card:
    """Several promises beside each other."""
    first = made[0]
    rows = [
        (
            f"{float(each.epsilon):g}",
            f"{float(each.delta):g}",
            f"{float(min(each.alpha.values())):.4g} to {float(max(each.alpha.values())):.4g}",
            f"{each.real_share:.1%}",
            each.describe()["certainty"],
        )
        for each in made
    ]
    return Card(
        f"{first.groups:,} groups, {first.rows:,} rows, {first.prior.size:,} values",
        tables=[CardTable(("epsilon", "delta", "alpha", "real share", "certainty from even odds"), rows)],
        notes=[
            f"epsilon {float(each.epsilon):g}, delta {float(each.delta):g}: {warning}"
            for each in made
            for warning in each.warnings
        ],
    )
