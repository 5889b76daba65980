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
    plans_made: list[SynthesisPlan] = []
    with working("Planning ...", as_json) as context:
        for epsilon_text in epsilon:
            for risk in delta:
                context.step("planning", len(plans_made), len(epsilon) * len(delta))
                options = {"rows_per_person": rows_per_person, "screen": screen, "keep": keep}
                plans_made.append(
                    make(
                        sizes, values, epsilon_text, risk, cast(Any, mode), cast(Any, delta_scope), **cast(Any, options)
                    )
                )
    plans = {"plans": [planned.describe() for planned in plans_made]}
    answer(PlainResult(plans, plans_made[0].card() if len(plans_made) == 1 else _compared(plans_made)), as_json)


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

    loaded = Policy.read(policy)
    with working("Comparing ...", as_json) as context:
        table = loaded.table()
        by_selection = {selection: loaded.method(table, loaded.definition, select=selection) for selection in select}
        methods = {"the policy": loaded.method(table, loaded.definition), **by_selection}
        comparison = beside_one_another(table, epsilon, methods, delta=delta, measure=measure, context=context)
    answer(comparison, as_json)


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
        audited = audit_release(
            open_public(release), Policy.read(policy).table(), epsilon, parts=parts, context=context
        )
    answer(audited, as_json)


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
        place_table = None if coordinates is None else read_frame(coordinates)
        flows = flow_facts(Policy.read(policy).table(), open_public(release), place_table, context)
    if flows is None:
        raise PolicyError(
            "The comparison needs a release with one sampled column whose values and groups match the policy's table; this release has none."
        )
    parts = {
        name: [asdict(row) for row in getattr(flows, name)] for name in ("levels", "queries", "distances", "short")
    }
    figures = {"private": True, "group": flows.group, "value": flows.value, **parts}
    card = Card(
        "For the steward only: computed from the confidential rows. Do not publish it, and do not choose among samples by it.",
        tables=[CardTable.of(name.capitalize(), rows) for name, rows in parts.items()],
    )
    answer(PlainResult(figures, card), as_json)


def _sizes(sizes_or_file: str) -> list[int]:
    """Return group sizes, from comma-separated numbers or the column ``size`` of a file."""
    if all(part.strip().isdigit() for part in sizes_or_file.split(",")):
        return [int(part) for part in sizes_or_file.split(",")]
    from reticent.methods.synthesize import declared_sizes

    return declared_sizes(sizes_or_file)


def _domain(size_or_file: str) -> Any:
    """Return the number of possible values, or the values of a file with their weights."""
    if size_or_file.isdigit():
        return int(size_or_file)
    from reticent.methods.synthesize import declared_prior

    return declared_prior(size_or_file)


def _compared(plans: list[SynthesisPlan]) -> Card:
    """Return a card that compares several guarantees."""
    first = plans[0]
    rows = [
        (
            f"{float(planned.epsilon):g}",
            f"{float(planned.delta):g}",
            f"{float(min(planned.alpha.values())):.4g} to {float(max(planned.alpha.values())):.4g}",
            f"{planned.real_share:.1%}",
            planned.describe()["certainty"],
        )
        for planned in plans
    ]
    return Card(
        f"{first.groups:,} groups, {first.rows:,} rows, {first.prior.size:,} values",
        tables=[CardTable(("epsilon", "delta", "alpha", "real share", "posterior from even odds"), rows)],
        notes=[
            f"epsilon {float(planned.epsilon):g}, delta {float(planned.delta):g}: {warning}"
            for planned in plans
            for warning in planned.warnings
        ],
    )
