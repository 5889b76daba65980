"""``reticent assess --advise``: which definition covers which threat, and which models cover an application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from reticent.cli.console import table

if TYPE_CHECKING:
    from rich.console import Console

    from reticent.belief.application import Application
    from reticent.definitions import Definition


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
