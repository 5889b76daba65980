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

PLANNED = {"BoundedBelief": "randomized", "ProbabilisticDP": "synthetic", "UnboundedDP": "choose"}
"""Pages under More that plan a release with a definition of how records are randomized: no table in groups satisfies one."""


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(
        PagePart("prices", "prices", JUDGED, "side", "Pricing stricter and weaker guarantees"),
        lambda view, result, query: {"changes": _changes(view, result)},
    )

    @app.get("/p/{number}/v/{version}/guarantee")
    async def guarantee(request: Request, number: str, version: int) -> Response:
        """Show the definitions, the advice for the concerns in the query string, the templates and the suppression limit."""
        view = desk.view(number, version, "guarantee")
        chosen = [concern for concern in request.query_params.getlist("concern") if concern in _concerns()]
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
        """Change, add or remove the definition with the index in the form; an index past the end adds one."""
        project = desk.projects.find(number)
        form = await request.form()
        index = int(str(form.get("place", "999")))
        view = ProjectView(project, project.head, "guarantee")
        if form.get("remove"):
            version = project.change(lambda content: edits.set_definition(content, index, None), "removed a definition")
        elif "name" in form and index >= len(edits.definitions_of(view.content)):
            settings = first_settings(str(form["name"]), view.content)
            version = project.change(
                lambda content: edits.set_definition(content, index, settings), f"added {settings['name']}"
            )
        else:
            old = edits.definitions_of(view.content)[index]
            settings = {**old, **_parameters(form, old)}
            version = project.change(
                lambda content: edits.set_definition(content, index, settings), f"changed {settings['name']}"
            )
        return desk.sent_on(request, view.url(version=version))

    @app.post("/p/{number}/suppression")
    async def suppression(request: Request, number: str) -> Response:
        """Set the maximum share of suppressed records, given as a fraction or a percentage."""
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
        column_sets = [[name.strip() for name in line.split(",") if name.strip()] for line in text.splitlines()]
        chosen = [column_set for column_set in column_sets if column_set]
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
    parameters: dict[str, Any] = {}
    for name, old in before.items():
        entered = str(form.get(f"value-{name}", "")).strip()
        if name == "name" or not entered:
            continue
        if isinstance(old, bool):
            parameters[name] = entered == "true"
        elif isinstance(old, int):
            if not entered.lstrip("-").isdigit():
                raise PolicyError(f"{name} must be a whole number, but it is {entered!r}.")
            parameters[name] = int(entered)
        else:
            parameters[name] = entered
    return parameters


def _share(text: str) -> str:
    """Convert a percentage or fraction to a share in policy notation."""
    entered = text.strip()
    try:
        share = Fraction(entered.removesuffix("%")) / 100 if entered.endswith("%") else Fraction(entered)
    except (ValueError, ZeroDivisionError):
        raise PolicyError(
            f"The limit of suppressed records must be a share such as 5% or 0.05, but it is {entered!r}."
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
    parsed_by_index: dict[int, Definition | str] = {}
    for index, definition in enumerate(edits.definitions_of(view.content)):
        try:
            parsed_by_index[index] = definition_from(
                str(definition.get("name")), {k: v for k, v in definition.items() if k != "name"}
            )
        except ReticentError as error:
            parsed_by_index[index] = str(error)
    together = beside_each_other(
        [definition for definition in parsed_by_index.values() if isinstance(definition, Definition)], scope
    )
    entries = []
    for index, definition in enumerate(edits.definitions_of(view.content)):
        parameters = {name: value for name, value in definition.items() if name != "name"}
        entry: dict[str, Any] = {
            "place": index,
            "name": definition.get("name"),
            "title": model_name(str(definition.get("name"))),
            "parameters": parameters,
            "fields": [
                {
                    "name": name,
                    "value": value,
                    "label": parameter_words(str(definition.get("name")), name),
                    "choices": _choices(name, value, roles["sensitive"]),
                }
                for name, value in parameters.items()
            ],
            "help": _help(definition.get("name")),
        }
        parsed = parsed_by_index[index]
        if isinstance(parsed, Definition):
            entry |= {"meaning": parsed.meaning(scope), "open": parsed.not_covered(together), "problem": None}
        else:
            entry |= {"meaning": "", "open": "", "problem": parsed}
        entries.append(entry)
    return entries


def _choices(name: str, value: Any, sensitive: list[str]) -> list[tuple[str, str, bool]]:
    """Return the options of a selection field as (value, label, selected)."""
    if isinstance(value, bool):
        return [(str(option).lower(), choice_words(name, option), option is value) for option in (True, False)]
    if name == "column":
        return [(option, option, option == value) for option in dict.fromkeys([*sensitive, value])]
    return []


def _help(name: Any) -> str:
    """Return the registry's description of a definition; empty if it is unknown."""
    from reticent.registry import DEFINITIONS

    return DEFINITIONS[name].help if name in DEFINITIONS else ""


def _concerns() -> dict[str, str]:
    """Return the concerns that advice can be given for, by key, each described in a few words."""
    from reticent.belief import CONCERNS

    return {str(key): words for key, words in CONCERNS.items()}


def _advice(view: ProjectView, concerns: list[str]) -> list[dict[str, Any]]:
    """Return the privacy models that cover the concerns. Of several that are one definition, only the first can be added."""
    from reticent.belief import advise

    chosen = [str(definition.get("name")) for definition in edits.definitions_of(view.content)]
    advised = advise(concerns, chosen)  # type: ignore[arg-type]  # names of concerns are checked
    first_by_definition = {advice.definition: advice for advice in reversed(advised)}
    return [
        {
            "model": advice.model,
            "definition": advice.definition,
            "planned": PLANNED.get(str(advice.definition)),
            "adversary": advice.adversary.replace("quasi values", "the columns that others may know"),
            "protects": advice.protects,
            "leaves": advice.leaves,
            "covers": list(advice.covers),
            "chosen": advice.definition in chosen,
            "simple": is_simple(advice),
            "meaning": first_meaning(str(advice.definition)) if is_simple(advice) else "",
        }
        for advice in advised
        if not is_simple(advice) or first_by_definition[advice.definition] == advice
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
    """Return the concerns that no chosen definition covers, in words."""
    from reticent.belief import CONCERNS, uncovered

    chosen = [str(definition.get("name")) for definition in edits.definitions_of(view.content)]
    return [CONCERNS[concern] for concern in uncovered(chosen)]


def _templates() -> list[dict[str, str]]:
    """Return name, title and description of every template of a proposal."""
    from reticent.propose import TEMPLATES

    return [
        {"name": name, "title": _TEMPLATE_TITLES.get(name, name), "words": template.open}
        for name, template in TEMPLATES.items()
    ]


def _changes(view: ProjectView, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return stricter and weaker variants of the guarantee, each with a label and its additional information loss.

    The first of the prices in ``result`` is that of the present guarantee.
    """
    definitions = edits.definitions_of(view.content)
    current_loss = result["prices"][0]["loss"] if result["prices"] else None
    changes = []
    for price in result["prices"][1:]:
        if price["definition"] >= len(definitions):
            continue
        old = definitions[price["definition"]]
        # As they are shown, to a tenth of a percent: figures that look different are never called the same.
        added_loss = (
            None
            if price["loss"] is None or current_loss is None
            else round(round(price["loss"], 3) - round(current_loss, 3), 3)
        )
        changes.append(
            {
                **price,
                "title": guarantee_words({**old, price["parameter"]: price["value"]}),
                "more": added_loss,
                "same": added_loss == 0,
                "stricter": is_stricter(price["parameter"], old[price["parameter"]], price["value"]),
            }
        )
    return changes


def is_stricter(parameter: str, before: Any, after: Any) -> bool:
    """True if ``after`` is stricter than ``before``: larger for counts, smaller for limits."""
    larger = float(after) > float(before)
    return larger if parameter in ("k", "l", "m", "p") else not larger
