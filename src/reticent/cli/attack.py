"""``reticent attack``: run the adversaries against a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.console import Json, answer, table, working

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.attack import Findings
    from reticent.data import Context


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("attack")(attack)


def attack(
    target: Annotated[
        str, typer.Argument(help="The folder of a release, or a policy (.toml): its table as it stands.")
    ],
    people: Annotated[
        Path | None, typer.Option("--people", help="A list of people to look up: CSV, Parquet, Arrow or DuckDB.")
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            "--control", help="People who are not in the data, with their sensitive value: what a model knows anyway."
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option(
            "--raw", help="The policy of the table: also attacks it as it stood, and looks its own people up."
        ),
    ] = None,
    who: Annotated[
        str | None, typer.Option("--who", help="The column of --people to call people by in examples.")
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help="What guesses sensitive values: 'naive bayes', or forest (needs scikit-learn)."),
    ] = "naive bayes",
    limit: Annotated[
        float | None,
        typer.Option("--limit", min=0, max=1, help="Exit with 1 if an adversary hits more than this share of people."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Let adversaries try: who is found, whose value is given away, and what that takes. For the steward's eyes.

    Example: reticent attack release --raw policy.toml
    """
    from reticent.attack.models import checked_model
    from reticent.data import Source
    from reticent.errors import PolicyError

    if who is not None and people is None:
        raise PolicyError("--who names a column of a list of people: add --people.")
    if control is not None and people is None and raw is None:
        raise PolicyError(
            "--control is compared with people in the data: add --raw, or --people with their sensitive value."
        )
    checked_model(model)
    with working("Attacking ...", as_json) as context:
        listed, others = (Source(str(path)).read() if path is not None else None for path in (people, control))
        pairs = _run(target, raw, listed, others, who, model, context)
    worst = max((after.share for _, after in pairs), default=0.0)
    payload: dict[str, Any] = {
        "ok": limit is None or worst <= limit,
        "worst": worst,
        "attacks": [{**after.as_dict(), "before": before.as_dict() if before else None} for before, after in pairs],
    }
    answer(payload, as_json, lambda console: _render(console, pairs))


def _run(
    target: str, raw: Path | None, people: Any, control: Any, who: str | None, model: Any, context: Context
) -> list[tuple[Findings | None, Findings]]:
    from reticent.attack import adversaries_for, compare
    from reticent.attack import attack as run_against
    from reticent.policy import Policy
    from reticent.release import seen_of

    before = Policy.read(raw).table() if raw is not None else None
    after: Any = Policy.read(target).table() if target.endswith(".toml") else target
    if before is not None:
        return list(compare(before, after, people, control, who, model=model, context=context))
    held = seen_of(after)
    chosen = adversaries_for(held, people, control, who, model)
    return [(None, found) for found in run_against(held, *chosen, context=context)]


def _render(console: Console, pairs: list[tuple[Findings | None, Findings]]) -> None:
    from reticent.report import percent

    compared = any(before is not None for before, _ in pairs)
    rows = []
    for before, after in pairs:
        low, high = after.interval or (0.0, 0.0)
        was = [percent(before.share, 1) if before is not None else ""] if compared else []
        base = "" if after.baseline is None else percent(after.baseline, 1)
        rows.append(
            (
                after.adversary,
                *was,
                percent(after.share, 1),
                f"{percent(low, 1)} to {percent(high, 1)}",
                base,
                "yes" if after.succeeds else "no",
            )
        )
    stood = ["as it stood"] if compared else []
    heads = ("adversary", *stood, "published", "95 % sure", "anyway", "succeeds")
    console.print(table("What adversaries achieve (for your eyes only)", heads, rows))
    for before, after in pairs:
        console.print(f"\n{after.adversary.capitalize()} knows {after.knows}.", markup=False)
        console.print(f"  It hits {after.hits:,} of {after.people:,} people. They {after.hit}.", markup=False)
        if before is not None:
            console.print(f"  As it stood: {before.example}", markup=False)
        console.print(f"  {'Published: ' if compared else ''}{after.example}", markup=False)
        if after.baseline is not None:
            least, most = (100 * end for end in after.excess)
            console.print(
                f"  Beyond what is reached anyway: {least:+.1f} to {most:+.1f} points (95 % sure).", markup=False
            )
