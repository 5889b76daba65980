"""``reticent attack``: run the adversaries against a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reticent.cli.attack_series import TrackingOptions, attack_history
from reticent.cli.console import Json, answer, table, working
from reticent.cli.options import PeopleOptions, QuasiOption, table_or_path
from reticent.errors import PolicyError

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.attacks import Findings
    from reticent.base.context import Context
    from reticent.release import Headline


def attack(
    listed: PeopleOptions,
    tracking: TrackingOptions,
    target: Annotated[
        str | None,
        typer.Argument(
            help="The folder of a release; a policy (.toml): its table before publication; or with --original a file of synthetic records."
        ),
    ] = None,
    original: Annotated[
        str | None,
        typer.Option(
            "--original",
            help="The table that synthetic records were made from, whoever made them: a data file, or its policy (.toml) for the roles of columns.",
        ),
    ] = None,
    quasi: QuasiOption = None,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(
            "--sensitive", help="With --original: a column to guess; repeat for several (default: every one)."
        ),
    ] = None,
    control: Annotated[
        Path | None,
        typer.Option(
            "--control",
            help="People who are not in the data, with all columns: what is found out about them too does not count as a leak.",
        ),
    ] = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", help="The policy of the original table: attacks it too, and looks up its own people."),
    ] = None,
    model: Annotated[
        str,
        typer.Option(
            "--model", help="The model that guesses sensitive values: 'naive bayes', or forest (needs scikit-learn)."
        ),
    ] = "naive bayes",
    limit: Annotated[
        float | None,
        typer.Option(
            "--limit",
            min=0,
            max=1,
            help="Exit with 1 if an adversary hits more than this share of people (with --original: beyond the comparison).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Let adversaries try: who is found, whose value is given away, and what that takes. For the steward's eyes.

    Example: reticent attack release --raw policy.toml

    Example: reticent attack synthetic.csv --original patients.csv --control others.csv

    Example: reticent attack --history history --beside separate --person p17
    """
    from reticent.attacks.guess_models import checked_model
    from reticent.io import Source

    others_given = {
        "--original": original,
        "--quasi": quasi,
        "--sensitive": sensitive,
        "--control": control,
        "--raw": raw,
        "--people": listed.people,
        "--limit": limit,
    }
    tracking.check(target, others_given)
    if target is None:
        attack_history(tracking, as_json)
        return
    if control is not None and listed.people is None and raw is None and original is None:
        raise PolicyError(
            "--control is compared with people in the data: add --raw, --original, or --people with their sensitive value."
        )
    if original is not None and (raw is not None or listed.people is not None):
        raise PolicyError("--original says who is in the data: leave out --raw and --people.")
    if original is None and (quasi or sensitive):
        raise PolicyError("--quasi and --sensitive are roles of the columns of synthetic records: add --original.")
    checked_model(model)
    with working("Attacking ...", as_json) as context:
        others = Source(str(control)).read() if control is not None else None
        if original is not None:
            pairs = _run_on_synthetic(target, original, others, quasi, sensitive, context)
        else:
            pairs = _run(target, raw, listed.read(), others, listed.who, model, context)
    headline = _headline(target, original, pairs)
    # What synthetic records tell about everybody does not count as a leak, so only what goes beyond the comparison counts.
    judged = [after for _, after in pairs if after.judged]
    worst = max((after.share - (original is not None) * (after.baseline or 0) for after in judged), default=0.0)
    payload: dict[str, Any] = {
        "ok": limit is None or worst <= limit,
        "worst": worst,
        "headline": None if headline is None else headline.as_json(),
        "attacks": [{**after.as_dict(), "before": before.as_dict() if before else None} for before, after in pairs],
    }
    answer(payload, as_json, lambda console: _render(console, pairs, headline))


def _run_on_synthetic(
    target: str, original: str, control: Any, quasi: list[str] | None, sensitive: list[str] | None, context: Context
) -> list[tuple[Findings | None, Findings]]:
    from reticent.attacks import attack as run_against

    return run_against(
        target, original=table_or_path(original), control=control, quasi=quasi, sensitive=sensitive, context=context
    ).pairs


def _run(
    target: str, raw: Path | None, people: Any, control: Any, who: str | None, model: Any, context: Context
) -> list[tuple[Findings | None, Findings]]:
    from reticent.attacks import attack as run_against
    from reticent.policy import Policy

    before = Policy.read(raw).table() if raw is not None else None
    return run_against(
        table_or_path(target), raw=before, people=people, control=control, who=who, model=model, context=context
    ).pairs


def _headline(target: str, original: str | None, pairs: list[tuple[Findings | None, Findings]]) -> Headline | None:
    """The verdict on the claims of a release, with the attacks that succeed; None for a table and for records that make no claims."""
    from reticent.release import headline_of

    if original is not None or not Path(target).is_dir():
        return None
    return headline_of(target).beside(after.reservation for _, after in pairs if after.succeeds)


def _render(console: Console, pairs: list[tuple[Findings | None, Findings]], headline: Headline | None) -> None:
    from reticent.base.cards import percent, sentence_case
    from reticent.cli.screens import show_headline

    if headline is not None:
        show_headline(console, headline)
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
        console.print(f"\n{sentence_case(after.adversary)} knows {after.knows}.")
        console.print(f"  It hits {after.hits:,} of {after.people:,} {after.unit}. They {after.hit}.")
        if before is not None:
            console.print(f"  As it stood: {before.example}")
        console.print(f"  {'Published: ' if compared else ''}{after.example}")
        if after.baseline is not None:
            console.print(f"  Beyond what is reached anyway: {after.points} points (95 % sure).")
            if after.baseline_interval is not None:
                console.print(f"  {_plainly(after)}")


def _plainly(found: Findings) -> str:
    """What an adversary reached beyond those it was compared with, out of 1,000."""
    if not found.succeeds:
        return "That is no more than the comparison shows: this adversary learns nothing about single people."
    least, most = (1000 * end for end in found.excess)
    return f"So of every 1,000 {found.unit}, {least:,.0f} to {most:,.0f} are hit because of what was published."
