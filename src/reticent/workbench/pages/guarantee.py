"""The page Guarantee: choose definitions by threat or template, with the meaning of each parameter and what is not covered."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from reticent.errors import PolicyError, ReticentError
from reticent.workbench import edits
from reticent.workbench.definition_words import choice_words, guarantee_words, model_name, parameter_words
from reticent.workbench.desk import Desk, PagePart, ProjectView
from reticent.workbench.pages.columns import TABLE
from reticent.workbench.pages.start import begin_look

if TYPE_CHECKING:
    from reticent.belief import Advice

JUDGED = (*TABLE, "definition", "method")
"""Policy sections that a search depends on."""
_TEMPLATE_TITLES = {
    "hipaa-safe-harbor": "HIPAA Safe Harbor",
    "public-use": "Public-use file",
    "ema-prci": "Clinical trials (EMA)",
    "cms-11": "Groups of 11 (CMS)",
    "research": "Research file",
}
FIRST_VALUES: dict[str, dict[str, Any]] = {
    "KAnonymity": {"k": 5},
    "DistinctLDiversity": {"l": 2},
    "ProbabilisticLDiversity": {"l": 2},
    "EntropyLDiversity": {"l": 2},
    "RecursiveLDiversity": {"c": 3, "l": 2},
    "TCloseness": {"t": "0.3"},
    "NTCloseness": {"n": 1000, "t": "0.3"},
    "BetaLikeness": {"beta": 2},
    "DeltaDisclosure": {"delta": 2},
    "AlphaKAnonymity": {"alpha": "0.8", "k": 5},
    "PSensitive": {"p": 2, "k": 5},
    "WorstCaseKnowledge": {"c": "0.9", "k": 1},
    "NegatedKnowledge": {"c": "0.9", "k": 1},
    "AverageRisk": {"limit": "0.1"},
    "MUnique": {"m": 2},
    "MEligible": {"m": 2},
}
"""Initial parameters of a newly chosen definition."""


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(
        PagePart("prices", "prices", JUDGED, "side", "Pricing stricter and weaker guarantees"),
        lambda view, found, asked: {"changes": _changes(view, found)},
    )

    @app.get("/p/{number}/v/{version}/guarantee")
    async def guarantee(request: Request, number: str, version: int) -> Response:
        view = desk.view(number, version, "guarantee")
        chosen = [each for each in request.query_params.getlist("concern") if each in _concerns()]
        return desk.page(
            "guarantee.html",
            view,
            definitions=sentences(view),
            concerns=_concerns(),
            chosen=chosen,
            advice=_advice(view, chosen or ["identity", "attribute"]),
            uncovered=_uncovered(view),
            templates=_templates(),
            template=(view.project.fact("look") or {}).get("template"),
            suppression=str(view.content.get("method", {}).get("suppression", "0")),
            takes_suppression=view.content.get("method", {}).get("name", "Lattice")
            in ("Lattice", "Mondrian", "Suppress"),
            sets=view.content.get("roles", {}).get("quasi_sets") or [],
            quasi=edits.roles_of(view.content)["quasi"],
        )

    @app.post("/p/{number}/definition")
    async def definition(request: Request, number: str) -> Response:
        """Change, add or remove a definition."""
        project = desk.projects.find(number)
        form = await request.form()
        place = int(str(form.get("place", "999")))
        view = ProjectView(project, project.head, "guarantee")
        if form.get("remove"):
            version = project.change(lambda content: edits.set_definition(content, place, None), "removed a definition")
        elif "name" in form and place >= len(edits.definitions_of(view.content)):
            settings = first_settings(str(form["name"]), view.content)
            version = project.change(
                lambda content: edits.set_definition(content, place, settings), f"added {settings['name']}"
            )
        else:
            before = edits.definitions_of(view.content)[place]
            settings = {**before, **_parameters(form, before)}
            version = project.change(
                lambda content: edits.set_definition(content, place, settings), f"changed {settings['name']}"
            )
        return desk.sent_on(request, view.url(version=version))

    @app.post("/p/{number}/suppression")
    async def suppression(request: Request, number: str) -> Response:
        project = desk.projects.find(number)
        form = await request.form()
        limit = _share(str(form.get("limit", "")))
        version = project.change(lambda content: edits.set_suppression(content, limit), f"up to {limit} suppressed")
        return desk.sent_on(request, ProjectView(project, version, str(form.get("page", "guarantee"))).url())

    @app.post("/p/{number}/sets")
    async def sets(request: Request, number: str) -> Response:
        """Set the column sets that different adversaries may know, one per line."""
        project = desk.projects.find(number)
        text = str((await request.form()).get("sets", ""))
        listed = [[name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines()]
        chosen = [each for each in listed if each]
        version = project.change(
            lambda content: edits.set_quasi_sets(content, chosen), "set which columns attackers know"
        )
        return desk.sent_on(request, ProjectView(project, version, "guarantee").url())

    @app.post("/p/{number}/template")
    async def template(request: Request, number: str) -> Response:
        """Make a new proposal from a template."""
        project = desk.projects.find(number)
        name = str((await request.form()).get("template", "")) or None
        before = project.fact("look")
        if before is None:
            raise PolicyError(
                "This project was made from a policy, which keeps its guarantee. Open the data file itself to start from a template."
            )
        begin_look(project, before["location"], before["options"], f"template {name or 'none'}", name)
        return desk.sent_on(request, ProjectView(project, project.head, "data").url())


def first_settings(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition with initial parameters; one that needs a column uses the first sensitive column."""
    from reticent.registry import DEFINITIONS, load

    if name not in DEFINITIONS:
        raise PolicyError(f"There is no definition {name!r}.")
    settings: dict[str, Any] = {"name": name, **FIRST_VALUES.get(name, {})}
    sensitive = edits.roles_of(content)["sensitive"]
    if getattr(load("definition", name), "needs_sensitive", False) and len(sensitive) != 1:
        if not sensitive:
            raise PolicyError(f"{name} protects sensitive values. Give a column the role “Sensitive” first.")
        settings["column"] = sensitive[0]
    return settings


def _parameters(form: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters from a form, converted to their previous types (integer, text or boolean)."""
    found: dict[str, Any] = {}
    for name, old in before.items():
        given = str(form.get(f"value-{name}", "")).strip()
        if name == "name" or not given:
            continue
        if isinstance(old, bool):
            found[name] = given == "true"
        elif isinstance(old, int):
            if not given.lstrip("-").isdigit():
                raise PolicyError(f"{name} must be a whole number, but it is {given!r}.")
            found[name] = int(given)
        else:
            found[name] = given
    return found


def _share(text: str) -> str:
    """Convert a percentage or fraction to a share in policy notation."""
    given = text.strip()
    try:
        share = Fraction(given.removesuffix("%")) / 100 if given.endswith("%") else Fraction(given)
    except (ValueError, ZeroDivisionError):
        raise PolicyError(
            f"The limit of suppressed records must be a share such as 5% or 0.05, but it is {given!r}."
        ) from None
    if not 0 <= share <= 1:
        raise PolicyError("The limit of suppressed records must lie between 0% and 100%.")
    return f"{float(share):.6g}"


def sentences(view: ProjectView) -> list[dict[str, Any]]:
    """Return every definition with its parameters, its meaning at these values, and what it does not cover."""
    from reticent.definitions import ClaimScope, Definition, definition_from
    from reticent.release import beside_each_other

    roles = edits.roles_of(view.content)
    sets = view.content.get("roles", {}).get("quasi_sets")
    scope = ClaimScope(
        "record",
        tuple(roles["quasi"]),
        tuple(map(tuple, sets)) if sets else None,
        tuple(roles["sensitive"]),
        tuple(roles["declared"]),
    )
    definitions: dict[int, Definition | str] = {}
    for place, each in enumerate(edits.definitions_of(view.content)):
        try:
            definitions[place] = definition_from(str(each.get("name")), {k: v for k, v in each.items() if k != "name"})
        except ReticentError as error:
            definitions[place] = str(error)
    together = beside_each_other([each for each in definitions.values() if isinstance(each, Definition)], scope)
    found = []
    for place, each in enumerate(edits.definitions_of(view.content)):
        given = {name: value for name, value in each.items() if name != "name"}
        told: dict[str, Any] = {
            "place": place,
            "name": each.get("name"),
            "title": model_name(str(each.get("name"))),
            "parameters": given,
            "fields": [
                {
                    "name": name,
                    "value": value,
                    "label": parameter_words(str(each.get("name")), name),
                    "choices": _choices(name, value, roles["sensitive"]),
                }
                for name, value in given.items()
            ],
            "help": _help(each.get("name")),
        }
        made = definitions[place]
        if isinstance(made, Definition):
            told |= {"meaning": made.meaning(scope), "open": made.not_covered(together), "problem": None}
        else:
            told |= {"meaning": "", "open": "", "problem": made}
        found.append(told)
    return found


def _choices(name: str, value: Any, sensitive: list[str]) -> list[tuple[str, str, bool]]:
    """Return the options of a selection field as (value, label, selected)."""
    if isinstance(value, bool):
        return [(str(each).lower(), choice_words(name, each), each is value) for each in (True, False)]
    if name == "column":
        return [(each, each, each == value) for each in dict.fromkeys([*sensitive, value])]
    return []


def _help(name: Any) -> str:
    from reticent.registry import DEFINITIONS

    return DEFINITIONS[name].help if name in DEFINITIONS else ""


def _concerns() -> dict[str, str]:
    from reticent.belief import CONCERNS

    return {str(key): words for key, words in CONCERNS.items()}


def _advice(view: ProjectView, concerns: list[str]) -> list[dict[str, Any]]:
    """Return the privacy models that cover the concerns. Of several that are one definition, only the first can be added."""
    from reticent.belief import advise

    chosen = [str(each.get("name")) for each in edits.definitions_of(view.content)]
    advised = advise(concerns, chosen)  # type: ignore[arg-type]  # names of concerns are checked
    first_by_definition = {each.definition: each for each in reversed(advised)}
    return [
        {
            "model": each.model,
            "definition": each.definition,
            "adversary": each.adversary.replace("quasi values", "the columns that others may know"),
            "protects": each.protects,
            "leaves": each.leaves,
            "covers": list(each.covers),
            "chosen": each.definition in chosen,
            "simple": is_simple(each),
            "meaning": first_meaning(str(each.definition)) if is_simple(each) else "",
        }
        for each in advised
        if not is_simple(each) or first_by_definition[each.definition] == each
    ]


def is_simple(advice: Advice) -> bool:
    """True if the page can add the definition with initial parameters."""
    return advice.available and advice.definition in FIRST_VALUES


@cache
def first_meaning(name: str) -> str:
    """Return what a definition with its initial parameters promises, in a short sentence that names no column."""
    from reticent.definitions import GENERAL, definition_from

    known = f" who knows {GENERAL.known()}, and that the person is in the table,"
    sentence = definition_from(name, FIRST_VALUES[name]).meaning(GENERAL).replace(known, "")
    values = ", ".join(f"{parameter} = {value}" for parameter, value in FIRST_VALUES[name].items())
    return f"With {values}: {sentence[0].lower()}{sentence[1:]}"


def _uncovered(view: ProjectView) -> list[str]:
    from reticent.belief import CONCERNS, uncovered

    chosen = [str(each.get("name")) for each in edits.definitions_of(view.content)]
    return [CONCERNS[each] for each in uncovered(chosen)]


def _templates() -> list[dict[str, str]]:
    from reticent.propose import TEMPLATES

    return [
        {"name": name, "title": _TEMPLATE_TITLES.get(name, name), "words": each.open}
        for name, each in TEMPLATES.items()
    ]


def _changes(view: ProjectView, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return stricter and weaker variants of the guarantee, each with a label and its additional information loss."""
    definitions = edits.definitions_of(view.content)
    now = found["prices"][0]["loss"] if found["prices"] else None
    told = []
    for each in found["prices"][1:]:
        if each["definition"] >= len(definitions):
            continue
        before = definitions[each["definition"]]
        # As they are shown, to a tenth of a percent: figures that look different are never called the same.
        more = None if each["loss"] is None or now is None else round(round(each["loss"], 3) - round(now, 3), 3)
        told.append(
            {
                **each,
                "title": guarantee_words({**before, each["parameter"]: each["value"]}),
                "more": more,
                "same": more == 0,
                "stricter": is_stricter(each["parameter"], before[each["parameter"]], each["value"]),
            }
        )
    return told


def is_stricter(parameter: str, before: Any, after: Any) -> bool:
    """True if ``after`` is stricter than ``before``: larger for counts, smaller for limits."""
    larger = float(after) > float(before)
    return larger if parameter in ("k", "l", "m", "p") else not larger
