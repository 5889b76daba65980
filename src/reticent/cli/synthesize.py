"""``reticent synthesize``: plan synthetic data from public facts, and audit a published release."""

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
        "Synthetic data: the rows of each group are replaced by as many sampled ones, with a proven bound.",
        {"plan": plan, "choose": choose, "audit": audit, "compare": compare},
    )


def plan(
    groups: Annotated[
        str,
        typer.Option(
            "--groups",
            help="The public sizes of all groups: a file with a column 'size', or comma-separated numbers (12,40,40).",
        ),
    ],
    domain: Annotated[
        str,
        typer.Option(
            "--domain",
            help="The possible values: their number, or a file with one row per value and optional columns 'weight' and 'keep'.",
        ),
    ],
    epsilon: Annotated[list[str], typer.Option("--epsilon", help="The epsilon of the guarantee; repeat to compare.")],
    delta: Annotated[
        list[str], typer.Option("--delta", help="The delta of the guarantee, 0 for pure epsilon; repeat it to compare.")
    ] = ["1e-5"],  # noqa: B006  # typer copies it
    mode: Annotated[str, typer.Option(help="tight (least noise), or thesis (the closed criterion).")] = "tight",
    delta_scope: Annotated[
        str, typer.Option(help="per_person, or whole_release: the risk that anybody at all is disclosed.")
    ] = "per_person",
    rows_per_person: Annotated[int, typer.Option(help="The maximum number of rows per person.", min=1)] = 1,
    screen: Annotated[bool, typer.Option("--screen", help="Resample groups that are not representative.")] = False,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Keep values that do not occur in a group with this public probability; 'by value': with those in the column 'keep' of the domain."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the cost of a guarantee from public facts alone: noise, share of real data, meaning in plain words. No data
    are read.

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


def choose(
    policy: Annotated[Path, typer.Argument(help="A policy whose method adds noise by a plan, such as Marginals.")],
    epsilon: Annotated[list[str], typer.Option("--epsilon", help="An epsilon to compare; repeat it.")],
    delta: Annotated[str, typer.Option(help="The delta of all of them.")] = "1e-6",
    select: Annotated[
        list[str],
        typer.Option("--select", help="aim or mst: choose marginals in this way instead of the policy's; repeat it."),
    ] = [],  # noqa: B006  # typer copies it
    measure: Annotated[
        bool, typer.Option("--measure", help="Draw each once and show its error. For the steward alone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the error to be expected of the policy's method, and of other selections of marginals, at several epsilons. Nothing is spent or published.

    Example: reticent synthesize choose policy.toml --epsilon 0.5 --epsilon 1 --select aim --select mst
    """
    from reticent.methods.synthesize import compare as beside_one_another
    from reticent.policy import Policy

    described = Policy.read(policy)
    with working("Comparing ...", as_json) as context:
        table = described.table()
        others = {each: described.method(table, described.definition, select=each) for each in select}
        methods = {"the policy": described.method(table, described.definition), **others}
        found = beside_one_another(table, epsilon, methods, delta=delta, measure=measure, context=context)
    answer(found, as_json)


def audit(
    release: Annotated[Path, typer.Argument(help="The folder of a synthetic release.")],
    policy: Annotated[Path, typer.Option("--policy", help="The policy of the confidential table.")],
    parts: Annotated[
        Path | None, typer.Option(help="The public partition used for the release (columns value, part).")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="Test this epsilon instead of the certified one.")] = None,
    as_json: Json = False,
) -> None:
    """Test the actual output against the confidential table: which groups fall into their disclosure set. Internal; do
    not publish the result.

    Audit a release only after it was recorded: choosing among samples by their audits breaks the guarantee.

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
        Path | None, typer.Option(help="A file with places, latitude and longitude, to compare distances too.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare sampled rows with the true ones: differences of shares, and errors of counting queries. Internal; do not
    publish the result.

    Compare a release only after it was recorded: choosing among samples by their quality breaks the guarantee.

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
            "The comparison needs a release with one sampled column whose values and groups match the policy's table; this release has none."
        )
    parts = {
        name: [asdict(each) for each in getattr(found, name)] for name in ("levels", "queries", "distances", "short")
    }
    figures = {"private": True, "group": found.group, "value": found.value, **parts}
    card = Card(
        "For the steward only: computed from the confidential rows. Do not publish it, and do not choose among samples by it.",
        tables=[CardTable.of(name.capitalize(), rows) for name, rows in parts.items()],
    )
    answer(PlainResult(figures, card), as_json)


def _sizes(given: str) -> list[int]:
    """Return group sizes, from comma-separated numbers or the column ``size`` of a file."""
    if all(part.strip().isdigit() for part in given.split(",")):
        return [int(part) for part in given.split(",")]
    from reticent.methods.synthesize import declared_sizes

    return declared_sizes(given)


def _domain(given: str) -> Any:
    """Return the number of possible values, or the values of a file with their weights."""
    if given.isdigit():
        return int(given)
    from reticent.methods.synthesize import declared_prior

    return declared_prior(given)


def _compared(made: list[SynthesisPlan]) -> Card:
    """Return a card that compares several guarantees."""
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
        tables=[CardTable(("epsilon", "delta", "alpha", "real share", "posterior from even odds"), rows)],
        notes=[
            f"epsilon {float(each.epsilon):g}, delta {float(each.delta):g}: {warning}"
            for each in made
            for warning in each.warnings
        ],
    )
