"""The page Explore: the solution space in three views, candidates before and after, attacks, and the cost of other methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from reticent.errors import PolicyError
from reticent.workbench import edits
from reticent.workbench.desk import Desk, PagePart, ProjectView
from reticent.workbench.pages.guarantee import JUDGED

MADE = (*JUDGED, "analysis")
"""Policy sections that the published rows depend on."""
_LISTED = 40
_MEASURE_WORDS = {
    "loss": "Detail lost, from 0 to 1",
    "ncp": "Normalized certainty penalty (NCP)",
    "discernibility": "Discernibility: sum of the squared sizes of the groups",
    "average_group_size": "Average size of a group",
    "kl": "Kullback–Leibler divergence from the original table",
    "standard_error": "Standard error of a count",
}
_POOR_LOSS, _LOSSY, _POOR_ERROR = 0.5, 0.2, 0.5


def add(app: FastAPI, desk: Desk) -> None:
    """Add the routes of the page."""
    desk.add_part(PagePart("solutions", "solutions", JUDGED, "search", "Searching all generalizations"), _solutions)
    desk.add_part(
        PagePart("candidate", "candidate", MADE, "search", "Drafting the candidate", translated=_asked_method),
        lambda view, result, query: {
            "fixed": "node" in view.content.get("method", {}),
            "own": not query,
            "help": method_help(result["name"]),
            "poor": poor_words(result),
            "measure_words": _MEASURE_WORDS,
        },
    )
    desk.add_part(
        PagePart("attacks", "attacks", MADE, "side", "Running adversaries before and after", translated=_asked_method)
    )
    desk.add_part(PagePart("methods", "methods", JUDGED, "side", "Trying every method"), _methods)
    desk.add_part(
        PagePart("pinned", "candidate", MADE, "side", "Drafting a pinned candidate", translated=_asked_method)
    )

    @app.get("/p/{number}/v/{version}/explore")
    async def explore(request: Request, number: str, version: int) -> Response:
        """Show the page for the candidate in the query string (a node, a method or a pin), by default the policy's own."""
        view = desk.view(number, version, "explore")
        query = {name: value for name, value in request.query_params.items() if name in ("node", "way", "pin")}
        if _ready(view) is None:
            await desk.settled_parts(view, "candidate", **query)
        return desk.page("explore.html", view, asked=query, ready=_ready(view), begun=_begun(desk, view, query))

    @app.post("/p/{number}/method")
    async def method(request: Request, number: str) -> Response:
        """Write the chosen lattice node or method into the policy."""
        project = desk.projects.find(number)
        form = await request.form()
        view = ProjectView(project, project.head, "explore")
        if form.get("free"):
            version = project.change(edits.free_node, "let the search choose the levels")
        else:
            chosen = chosen_method(view, {name: str(form[name]) for name in ("node", "way", "pin") if form.get(name)})
            version = project.change(lambda content: edits.set_method(content, chosen), f"method {chosen['name']}")
        return desk.sent_on(request, view.url(version=version))

    @app.post("/p/{number}/pin")
    async def pin(request: Request, number: str) -> Response:
        """Pin or unpin a candidate; pins are not part of the policy."""
        project = desk.projects.find(number)
        form = await request.form()
        view = ProjectView(project, project.head, "explore")
        if form.get("unpin"):
            project.unpin(int(str(form["unpin"])))
        else:
            query = {name: str(form[name]) for name in ("node", "way", "pin") if form.get(name)}
            chosen = chosen_method(view, query) if query else view.content.get("method", {})
            project.pin({"method": chosen, "name": method_words(chosen)})
        return desk.sent_on(request, view.url())


def chosen_method(view: ProjectView, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return the method named by the query string: a lattice node, a registered method, or a pinned candidate.

    A node is written as one level per quasi-identifier (``2-0-1``), a pin as its index.
    """
    current = view.content.get("method", {})
    if "node" in asked:
        levels = list(str(asked["node"]).split("-"))
        quasi = edits.roles_of(view.content)["quasi"]
        if len(levels) != len(quasi) or not all(part.isdigit() for part in levels):
            raise PolicyError(
                "This candidate is from another version: its levels do not fit the columns. Choose one of those shown."
            )
        copied = {
            name: current[name]
            for name in ("objective", "suppression", "weights")
            if name in current and current.get("name") == "Lattice"
        }
        node = {name: int(level) for name, level in zip(quasi, levels, strict=True)}
        return {"name": "Lattice", "suppression": "0.05", **copied, "node": node}
    if "way" in asked:
        from reticent.registry import METHODS

        if asked["way"] not in METHODS:
            raise PolicyError(f"There is no method {asked['way']!r}.")
        return {"name": str(asked["way"])}
    index = int(str(asked.get("pin", "0")))
    pinned = view.project.pinned
    if index >= len(pinned):
        raise PolicyError("This candidate is no longer pinned.")
    return dict(pinned[index]["method"])


def method_words(method: Mapping[str, Any]) -> str:
    """Return a short description of a method."""
    if "node" in method:
        return f"Levels {'-'.join(str(level) for level in method['node'].values())}"
    parameters = ", ".join(f"{key} {value}" for key, value in method.items() if key != "name")
    return (
        f"{method.get('name', 'Cheapest')} ({parameters})"
        if parameters
        else str(method.get("name", "the cheapest method"))
    )


def poor_words(found: Mapping[str, Any]) -> str:
    """Return why a candidate has little utility, in a few words; empty if its utility is acceptable."""
    if found.get("loss") is not None and found["loss"] > _POOR_LOSS:
        return f"{found['loss']:.0%} of the detail is lost"
    error = (found.get("query_error") or {}).get("median") or 0.0
    lossy = (found.get("loss") or 0.0) > _LOSSY
    return (
        f"counts of at least 1 % of the records are typically wrong by {error:.0%}"
        if lossy and error > _POOR_ERROR
        else ""
    )


def method_help(name: str) -> str:
    """Return the registry's description of a method."""
    from reticent.registry import METHODS

    return METHODS[name].help if name in METHODS else ""


def _asked_method(view: ProjectView, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the task parameter ``method`` if the query string names a candidate; nothing for the policy's own method."""
    chosen = {name: query[name] for name in ("node", "way", "pin") if name in query}
    return {"method": chosen_method(view, chosen)} if chosen else {}


def _ready(view: ProjectView) -> str | None:
    """Return what is missing before a search can start, or None."""
    roles = edits.roles_of(view.content)
    if not roles["quasi"]:
        return "No column is known to others yet: give one that role on the page Columns."
    if not edits.definitions_of(view.content):
        return "No guarantee is chosen yet: choose one on the page Guarantee."
    return None


def _begun(desk: Desk, view: ProjectView, query: Mapping[str, Any]) -> dict[str, bool]:
    """Return which of the parts that start on a click were already started."""
    if _ready(view) is not None:
        return {}
    return {
        "attacks": desk.peek(view, "attacks", query) is not None,
        "methods": desk.peek(view, "methods") is not None,
        "prices": desk.peek(view, "prices") is not None,
    }


def _solutions(view: ProjectView, space: Any, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return the lattice nodes with risk, key for URLs, and whether they pass; and the keys of those on the Pareto frontier."""
    rows = space["rows"]
    nodes = []
    for node in space["nodes"]:
        published_rows = rows - node["suppressed"]
        nodes.append(
            {
                **node,
                "key": "-".join(map(str, node["levels"])),
                "risk": node["groups"] / published_rows
                if published_rows > 0 and node["objective"] is not None
                else None,
                "best": node["levels"] == space["best"],
            }
        )
    passing = [node for node in nodes if node["passes"] and node["objective"] is not None]
    return {
        "nodes": nodes,
        "passing": passing,
        "listed": passing[:_LISTED],
        "frontier": frontier_of(passing),
        "failing": len([node for node in nodes if not node["passes"]]),
    }


def frontier_of(points: list[dict[str, Any]]) -> list[str]:
    """Return the keys of the Pareto-optimal points in risk and information loss."""
    lowest_risk, keys = float("inf"), []
    for point in sorted(
        (candidate for candidate in points if candidate["risk"] is not None),
        key=lambda candidate: (candidate["objective"], candidate["risk"]),
    ):
        if point["risk"] < lowest_risk:
            lowest_risk = point["risk"]
            keys.append(point["key"])
    return keys


def _methods(view: ProjectView, result: Any, query: Mapping[str, Any]) -> dict[str, Any]:
    """Return each method that could be applied as a point (information loss; risk: groups per published row), and the Pareto frontier."""
    points = []
    for method in result["methods"]:
        published_rows = result["rows"] - (method["suppressed"] or 0)
        if method["loss"] is not None and method["groups"] and published_rows > 0:
            points.append(
                {
                    **method,
                    "key": method["name"],
                    "objective": method["loss"],
                    "risk": method["groups"] / published_rows,
                }
            )
    return {"points": points, "frontier": frontier_of(points)}
