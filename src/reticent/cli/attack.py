"""``reticent attack``: run the adversaries against a release."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from reticent.base.cards import PlainResult
from reticent.cli.attack_series import TrackingOptions, attack_history
from reticent.cli.console import Json, answer, working
from reticent.cli.options import (
    ControlOption,
    GuessedOption,
    OriginalOption,
    PeopleOptions,
    QuasiOption,
    table_or_path,
)
from reticent.errors import PolicyError


def attack(
    listed: PeopleOptions,
    tracking: TrackingOptions,
    target: Annotated[
        str | None,
        typer.Argument(
            help="The folder of a release; a policy (.toml), to attack its table before publication; or, with --original, a file of synthetic records."
        ),
    ] = None,
    original: OriginalOption = None,
    quasi: QuasiOption = None,
    sensitive: GuessedOption = None,
    control: ControlOption = None,
    raw: Annotated[
        Path | None,
        typer.Option("--raw", help="The policy of the original table: also attacks it, and looks up its own people."),
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
            help="Exit with 1 if an attack succeeds on more than this share of people (with --original: in excess of the control group).",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Attack a release: who is re-identified, whose sensitive value is disclosed, and what knowledge that takes. For
    the steward; do not publish the result.

    Example: reticent attack release --raw policy.toml

    Example: reticent attack synthetic.csv --original patients.csv --control others.csv

    Example: reticent attack --history history --beside separate --person p17
    """
    from reticent.attacks import attack as run_against
    from reticent.attacks import checked_model
    from reticent.io import Source
    from reticent.policy import Policy
    from reticent.release import headline_of

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
            "--control needs people in the data to compare with: add --raw, --original, or --people with their sensitive value."
        )
    if original is not None and (raw is not None or listed.people is not None):
        raise PolicyError("--original already names the people in the data: remove --raw and --people.")
    if original is None and (quasi or sensitive):
        raise PolicyError("--quasi and --sensitive are roles of the columns of synthetic records: add --original.")
    checked_model(model)
    with working("Attacking ...", as_json) as context:
        others = Source(str(control)).read() if control is not None else None
        if original is not None:
            table = table_or_path(original)
            outcome = run_against(
                target, original=table, control=others, quasi=quasi, sensitive=sensitive, context=context
            )
        else:
            original_table = Policy.read(raw).table() if raw is not None else None
            outcome = run_against(
                table_or_path(target),
                raw=original_table,
                people=listed.read(),
                control=others,
                who=listed.who,
                model=cast(Any, model),
                context=context,
            )
    # What synthetic records reveal about the whole population is not a leak: only success in excess of the control
    # counts.
    worst = max(
        (finding.share - (original is not None) * (finding.baseline or 0) for finding in outcome if finding.judged),
        default=0.0,
    )
    headline, card = None, outcome.card()
    if original is None and Path(target).is_dir():
        headline = headline_of(target).beside(outcome.reservations)
        title, *reasons = headline.lines()
        card = replace(card, title=title, tone=headline.tone, sentences=reasons)
    figures = {"worst": worst, "headline": None if headline is None else headline.as_json(), **outcome.as_dict()}
    answer(PlainResult(figures, card, limit is None or worst <= limit), as_json)
