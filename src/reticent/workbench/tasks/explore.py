"""Tasks of the page Explore: the solution space, a candidate before and after, attacks on it, and the cost of other guarantees and methods."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice, pairwise
from typing import Any

import numpy as np
import polars as pl

import reticent as rt
from reticent.base.context import Context
from reticent.base.exact import exact
from reticent.definitions import Definition, definition_from
from reticent.errors import Cancelled, Infeasible, PolicyError
from reticent.policy import Policy
from reticent.registry import METHODS, load
from reticent.release import Cheapest, default_method, method_from
from reticent.reports import MechanismPreview, Preview, compare, preview
from reticent.table import NULL_LABEL, Table
from reticent.utility import WorkloadError, utility_of
from reticent.workbench.tasks.data import cell_text
from reticent.workbench.tasks.distributions import distributions
from reticent.workbench.tasks.opened import policy_of, table_of
from reticent.workbench.worker import Reporter

_MOST_NODES = 6_000
_QUICK_NODES = 40_000
_ROWS_SHOWN = 40
_SAMPLED = 20_000
_SLOW_ROWS = 60_000
_PATIENCE = 15.0
_FREQUENT = "0.01"
_LIMITS = ("0", "0.01", "0.02", "0.05", "0.1", "0.2")


def solutions(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Search all full-domain generalizations of the table; return which satisfy the definition, their information loss, and the best one."""
    read, table = policy_of(folder, policy), table_of(folder, policy)
    method = read.sections.method
    settings: dict[str, Any] = {"suppression": method.get("suppression", "0.05") if _is_lattice(method) else "0.05"}
    for name in ("objective", "weights", "floor"):
        if _is_lattice(method) and name in method:
            settings[name] = method[name]
    size = int(np.prod([float(each.height - each.lowest + 1) for each in table.hierarchies]))
    context = reporter.context()
    if size > _QUICK_NODES:
        first = rt.search(table, read.definition, seconds=0.7, **settings, context=context)
        reporter.early(_space(table, first, settings, size))
    found = rt.search(table, read.definition, **settings, context=reporter.context())
    if size <= _MOST_NODES:
        reporter.early(_space(table, found, settings, size))
        _ = found.passing_nodes
    return _space(table, found, settings, size)


def _is_lattice(method: Mapping[str, Any]) -> bool:
    return str(method.get("name", "Lattice")) == "Lattice"


def _space(table: Table, found: Any, settings: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return a search result as JSON-compatible data; only the best nodes if many were evaluated."""
    log = {each.levels: each for each in found.evaluator.log}
    listed = sorted(log.values(), key=lambda each: (not each.passes, each.objective is None, each.objective or 0.0))
    columns = list(found.floor)
    # Nodes are classified lazily, on first access.
    passing = found.__dict__.get("passing_nodes")
    classified = [] if passing is None else passing.ravel().tolist()
    known = {tuple(found.evaluator.space.node(place)): bool(good) for place, good in enumerate(classified)}
    return {
        "columns": columns,
        "lowest": [each.lowest for each in table.hierarchies],
        "heights": [each.height for each in table.hierarchies],
        "labels": {
            each.column: [f"{level.labels[0]}" if level.size else "" for level in each.levels]
            for each in table.hierarchies
        },
        "size": size,
        "rows": table.rows,
        "evaluated": len(log),
        "suppression": str(settings["suppression"]),
        "objective": found.objective,
        "proven": found.proven,
        "bound": found.bound,
        "best": None if found.best is None else [found.best.levels[name] for name in columns],
        "value": None if found.best is None else found.best.objective,
        "nodes": [
            {
                "levels": list(each.levels),
                "passes": bool(each.passes),
                "objective": each.objective,
                "suppressed": int(each.suppressed),
                "groups": int(each.groups),
            }
            for each in islice(listed, _MOST_NODES)
        ],
        "status": [[list(levels), good] for levels, good in known.items() if levels not in log],
    }


def candidate(
    reporter: Reporter, folder: str, policy: str, method: Mapping[str, Any] | None = None, stamp: str = ""
) -> dict[str, Any]:
    """Preview the release by the policy's method or by ``method``: measures, rows before and after, and distributions.

    For a large table with several candidate methods, the result of the first one is sent early.
    """
    read, table = policy_of(folder, policy), table_of(folder, policy)
    if method is None and table.rows > _SLOW_ROWS:
        compared = read.method(table, read.definition)
        if isinstance(compared, Cheapest):
            with suppress(Infeasible, PolicyError):
                quick = previewed(read, table, compared.candidates[0].describe(), reporter.context())
                reporter.early(_described(table, quick))
    return _described(table, previewed(read, table, method, reporter.context()))


def _described(table: Table, made: Preview | MechanismPreview) -> dict[str, Any]:
    """Return a preview as JSON-compatible data."""
    told: dict[str, Any] = {
        "method": _plain_method(made.method),
        "name": str(made.method.get("name")),
        "definition": str(made.definition),
        "verdict": made.headline.title,
        "reasons": list(made.headline.reasons),
        "sentences": list(made.sentences),
        "not_covered": list(made.not_covered),
        "rows": made.rows,
        "of": table.rows,
        "suppressed": made.suppressed,
        "loss": made.utility.get("loss"),
        "loss_by_column": {name: float(value) for name, value in made.loss_by_column.items()},
        "measures": {
            name: _figure(made.utility.get(name))
            for name in ("loss", "ncp", "discernibility", "average_group_size", "kl", "standard_error")
            if name in made.utility
        },
        "proven": made.search.get("proven"),
        "levels": made.search.get("chosen") if "columns" in made.search else None,
        "level_columns": made.search.get("columns"),
    }
    if isinstance(made, MechanismPreview):
        return {**told, "error": made.error.words, "figures": {k: _figure(v) for k, v in made.error.figures.items()}}
    groups = made.groups
    if groups is not None:
        sizes = np.asarray(groups.people)
        told |= {"groups": len(groups), "smallest": int(sizes.min()), "sizes": _sizes(sizes)}
    asked = made.query_error()
    if asked is not None:
        told["query_error"] = _query_error(asked)
    return {**told, **_before_and_after(table, made), "distributions": distributions(table, made)}


def _query_error(measured: WorkloadError) -> dict[str, Any]:
    """Return the median error of counts of at least 1 % of the records, and of all counts in records.

    A count of a few records is wrong by several times itself in every release by groups, whatever else the release is good for; random queries on skewed columns are mostly of that kind.
    """
    frequent = measured.at_least(_FREQUENT)
    return {
        "queries": len(measured.actual),
        "frequent": 0 if frequent is None else len(frequent.actual),
        "median": None if frequent is None else frequent.median,
        "off": float(np.median(np.abs(measured.estimates - measured.actual))),
    }


def previewed(
    read: Policy, table: Table, method: Mapping[str, Any] | None, context: Context
) -> Preview | MechanismPreview:
    """Preview the release by the policy's method, or by ``method``."""
    wanted = read.definition
    if method is None:
        chosen = read.method(table, wanted)
    elif "name" in method:
        chosen = method_from(str(method["name"]), {k: v for k, v in method.items() if k != "name"})
    else:
        chosen = default_method(table, wanted, dict(method))
    with read.hinting("hierarchies", "declared", "roles", "method"):
        return preview(table, wanted, chosen, models=read.sections.analysis.models, context=context)


def _plain_method(described: Mapping[str, Any]) -> dict[str, Any]:
    return {str(name): _figure(value) for name, value in described.items()}


def _figure(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _figure(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_figure(each) for each in value]
    if value is None or isinstance(value, bool | int | str):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if np.isfinite(number) else None


def _sizes(people: np.ndarray[Any, Any]) -> list[dict[str, Any]]:
    """Return the number of people by size of their group."""
    edges = [1, 2, 5, 10, 20, 50, 100, 1000, 10**12]
    return [
        {
            "label": f"{low:,}"
            if high == low + 1
            else f"{low:,} or more"
            if high > 10**9
            else f"{low:,} to {high - 1:,}",
            "people": int(people[(people >= low) & (people < high)].sum()),
        }
        for low, high in pairwise(edges)
    ]


def _before_and_after(table: Table, made: Preview) -> dict[str, Any]:
    """Return sample rows before and after publication; only published rows if there is no row-by-row recoding."""
    published = made.frame
    if made.recoding is None or table.streamed or made.recoding.rows is not None:
        return {
            "before": None,
            "after": {
                "columns": published.columns,
                "rows": [[cell_text(each) for each in row] for row in published.rows()],
            },
        }
    step = max(table.rows // _ROWS_SHOWN, 1)
    rows = table.frame.gather_every(step).head(_ROWS_SHOWN)
    columns = [name for name in (*table.quasi, *table.sensitive, *table.declared) if name in rows.columns]
    labels, kept = made.recoding.place(rows.select(columns), "suppress")
    places = np.cumsum(np.asarray(kept)) - 1
    before: list[list[str | None]] = []
    after: list[list[str | None] | None] = []
    for number, row in enumerate(rows.select(columns).iter_rows(named=True)):
        before.append([cell_text(row[name]) for name in columns])
        if not kept[number]:
            after.append(None)
            continue
        shown = {**row, **labels.row(int(places[number]), named=True)}
        after.append(
            [None if row[name] is None and shown[name] == NULL_LABEL else cell_text(shown[name]) for name in columns]
        )
    roles = [
        "quasi" if name in table.quasi else "sensitive" if name in table.sensitive else "declared" for name in columns
    ]
    return {
        "before": {"columns": columns, "rows": before, "roles": roles},
        "after": {"columns": columns, "rows": after},
    }


def attacks(
    reporter: Reporter, folder: str, policy: str, method: Mapping[str, Any] | None = None, stamp: str = ""
) -> dict[str, Any]:
    """The success of every adversary on the original table and on the candidate release, side by side."""
    context = reporter.context()
    made = previewed(policy_of(folder, policy), table_of(folder, policy), method, context)
    context.step("running adversaries before and after")
    return {
        "pairs": [
            {
                "adversary": after.adversary,
                "knows": after.knows,
                "hit": after.hit,
                "before": None if before is None else before.share,
                "after": after.share,
                "hits": after.hits,
                "people": after.people,
                "baseline": after.baseline,
                "succeeds": after.succeeds,
                "judged": after.judged,
                "example": after.example,
            }
            for before, after in made.attacks
        ],
        "random": isinstance(made, MechanismPreview),
    }


def methods(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return risk and information loss of every registered method that supports the definition and needs no further parameters."""
    read, table = policy_of(folder, policy), table_of(folder, policy)
    wanted = read.definition
    sampled = table.rows > _SLOW_ROWS and not table.streamed and not table.several_rows
    judged = table.only(_some_rows(table.rows)) if sampled else table
    own = read.method(table, wanted)
    ways: list[tuple[str, Any]] = [(f"{type(own).__name__} (this policy)", own)]
    for name in METHODS:
        made = _made(name)
        if made is not None and all(part.kind in made.keeps for part in wanted.parts()):
            ways.append((name, made))
    found: list[dict[str, Any]] = []
    context = reporter.context()
    for place, (name, way) in enumerate(ways):
        context.step(f"trying {name}", place, len(ways))
        row = _tried(judged, wanted, way, context)
        found.append(
            {
                "name": name,
                "method": _plain_method(way.describe()),
                "own": place == 0,
                "problem": row["problem"],
                **{
                    key: _figure(row[key]) for key in ("loss", "suppressed", "groups", "smallest", "highest_risk", "kl")
                },
            }
        )
        reporter.early({"methods": list(found), "sampled": sampled, "rows": judged.rows, "finished": False})
    return {"methods": found, "sampled": sampled, "rows": judged.rows, "finished": True}


def _tried(table: Table, wanted: Definition, way: Any, context: Context) -> Mapping[str, Any]:
    """Return one method as a row of the comparison, with a message if it exceeds the time limit."""
    until = time.monotonic() + _PATIENCE
    hurried = Context(stop=lambda: context.stop() or time.monotonic() > until, memo=context.memo)
    try:
        return compare(table, [wanted], [way], attacks=False, context=hurried).table.row(0, named=True)
    except Cancelled:
        if context.stop():
            raise
        nothing = dict.fromkeys(("loss", "suppressed", "groups", "smallest", "highest_risk", "kl"))
        return {
            **nothing,
            "problem": f"It takes longer than {_PATIENCE:.0f} seconds on this table and was stopped.",
        }


def _some_rows(rows: int) -> pl.Series:
    chosen = np.zeros(rows, dtype=bool)
    chosen[np.random.default_rng(0).choice(rows, _SAMPLED, replace=False)] = True
    return pl.Series(chosen)


def _made(name: str) -> Any:
    try:
        return load("method", name)()
    except (TypeError, PolicyError, ImportError):
        return None


def prices(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the information loss of the policy's method at stricter and weaker values of every parameter, and at other suppression limits."""
    read, table = policy_of(folder, policy), table_of(folder, policy)
    context = reporter.context()
    sampled = table.rows > _SLOW_ROWS and not table.streamed and not table.several_rows
    judged = table.only(_some_rows(table.rows)) if sampled else table
    chosen = read.method(table, read.definition)
    takes_limit = "suppression" in read.sections.method or _has_limit(chosen)
    own = str(read.sections.method.get("suppression", "0"))
    steps = [(None, None, None, list(read.sections.definition)), *_changes(read.sections.definition)]
    limits = sorted({*_LIMITS, own}, key=float) if takes_limit else []
    told: dict[str, Any] = {"suppression": own, "sampled": sampled, "rows": judged.rows, "method": _method_name(chosen)}
    found: list[dict[str, Any]] = []
    for place, (number, parameter, value, definitions) in enumerate(steps):
        context.step("pricing guarantees", place, len(steps) + len(limits))
        price = _price(judged, definitions, read, {}, context)
        found.append({"definition": number, "parameter": parameter, "value": value, **price})
        reporter.early({"prices": list(found), "limits": [], **told})
    priced: list[dict[str, Any]] = []
    for place, limit in enumerate(limits):
        context.step("pricing suppression", len(steps) + place, len(steps) + len(limits))
        # The loss at the policy's own limit is already known.
        price = found[0] if limit == own else _price(judged, steps[0][3], read, {"suppression": limit}, context)
        priced.append({"limit": limit, **{name: price[name] for name in ("loss", "suppressed", "problem", "stopped")}})
    return {"prices": found, "limits": [_bounded(each, priced, judged.rows) for each in priced], **told}


def _bounded(price: Mapping[str, Any], others: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """Return the price of a suppression limit; of one that was not computed to the end the least loss of the others that suppress no more than it allows."""
    allowed = [
        each
        for each in others
        if each["loss"] is not None and each["suppressed"] <= exact(price["limit"], "suppression") * rows
    ]
    if not price["stopped"] or not allowed:
        return {**price, "at_most": False}
    least = min(allowed, key=lambda each: float(each["loss"]))
    return {**price, "loss": least["loss"], "suppressed": least["suppressed"], "at_most": True}


def _has_limit(method: Any) -> bool:
    ways = method.candidates if isinstance(method, Cheapest) else (method,)
    return any("suppression" in way.describe() for way in ways)


def _method_name(method: Any) -> str:
    return "the cheapest method" if isinstance(method, Cheapest) else type(method).__name__


def _changes(definitions: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, Any, list[dict[str, Any]]]]:
    """Return every parameter that has stricter and weaker values, with the changed definitions."""
    found = []
    for number, given in enumerate(definitions):
        for parameter, value in given.items():
            for changed in next_values(parameter, value):
                others = [dict(each) for each in definitions]
                others[number] = {**given, parameter: changed}
                found.append((number, parameter, changed, others))
    return found


def next_values(parameter: str, value: Any) -> list[Any]:
    """Return the next weaker and the next stricter value of a definition's parameter, in policy notation."""
    if isinstance(value, bool):
        return []
    if parameter in ("k", "l", "m", "p") and isinstance(value, int):
        ladder = [2, 3, 4, 5, 7, 10, 12, 15, 20, 30, 50, 100]
        below, above = [each for each in ladder if each < value], [each for each in ladder if each > value]
        return [*below[-1:], *above[:1]]
    if parameter in ("t", "c", "h", "alpha", "beta", "delta", "limit"):
        try:
            number = float(value)
        except (TypeError, ValueError):
            return []
        return [f"{number * 1.5:.3g}", f"{number / 1.5:.3g}"]
    return []


def _price(
    table: Table,
    definitions: Sequence[Mapping[str, Any]],
    read: Policy,
    settings: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """Return the information loss of the policy's method with ``settings`` under these definitions."""
    until = time.monotonic() + _PATIENCE
    hurried = Context(stop=lambda: context.stop() or time.monotonic() > until)
    try:
        wanted = _together(definitions)
        made = read.method(table, wanted, **settings).draft(table, wanted, hurried)
    except Cancelled:
        if context.stop():
            raise
        return {
            "loss": None,
            "suppressed": None,
            "problem": f"takes longer than {_PATIENCE:.0f} seconds",
            "stopped": True,
        }
    except (Infeasible, PolicyError) as error:
        return {"loss": None, "suppressed": None, "problem": str(error), "stopped": False}
    loss = utility_of(made).get("loss")
    return {
        "loss": None if loss is None else float(loss),
        "suppressed": int(made.suppressed),
        "problem": None,
        "stopped": False,
    }


def _together(definitions: Sequence[Mapping[str, Any]]) -> Definition:
    parts = [definition_from(str(each["name"]), {k: v for k, v in each.items() if k != "name"}) for each in definitions]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined
