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
    parsed, table = policy_of(folder, policy), table_of(folder, policy)
    method = parsed.sections.method
    settings: dict[str, Any] = {"suppression": method.get("suppression", "0.05") if _is_lattice(method) else "0.05"}
    for name in ("objective", "weights", "floor"):
        if _is_lattice(method) and name in method:
            settings[name] = method[name]
    size = int(np.prod([float(hierarchy.height - hierarchy.lowest + 1) for hierarchy in table.hierarchies]))
    context = reporter.context()
    if size > _QUICK_NODES:
        first = rt.search(table, parsed.definition, seconds=0.7, **settings, context=context)
        reporter.early(_space(table, first, settings, size))
    result = rt.search(table, parsed.definition, **settings, context=reporter.context())
    if size <= _MOST_NODES:
        reporter.early(_space(table, result, settings, size))
        _ = result.passing_nodes
    return _space(table, result, settings, size)


def _is_lattice(method: Mapping[str, Any]) -> bool:
    return str(method.get("name", "Lattice")) == "Lattice"


def _space(table: Table, result: Any, settings: Mapping[str, Any], size: int) -> dict[str, Any]:
    """Return a search result as JSON-compatible data: the lattice of ``size`` nodes, the evaluated nodes (only the best if there are many), and the best node."""
    log = {node.levels: node for node in result.evaluator.log}
    listed = sorted(log.values(), key=lambda node: (not node.passes, node.objective is None, node.objective or 0.0))
    columns = list(result.floor)
    # Nodes are classified lazily, on first access.
    passing = result.__dict__.get("passing_nodes")
    classified = [] if passing is None else passing.ravel().tolist()
    passes_by_node = {
        tuple(result.evaluator.space.node(index)): bool(passes) for index, passes in enumerate(classified)
    }
    return {
        "columns": columns,
        "lowest": [hierarchy.lowest for hierarchy in table.hierarchies],
        "heights": [hierarchy.height for hierarchy in table.hierarchies],
        "labels": {
            hierarchy.column: [f"{level.labels[0]}" if level.size else "" for level in hierarchy.levels]
            for hierarchy in table.hierarchies
        },
        "size": size,
        "rows": table.rows,
        "evaluated": len(log),
        "suppression": str(settings["suppression"]),
        "objective": result.objective,
        "proven": result.proven,
        "bound": result.bound,
        "best": None if result.best is None else [result.best.levels[name] for name in columns],
        "value": None if result.best is None else result.best.objective,
        "nodes": [
            {
                "levels": list(node.levels),
                "passes": bool(node.passes),
                "objective": node.objective,
                "suppressed": int(node.suppressed),
                "groups": int(node.groups),
            }
            for node in islice(listed, _MOST_NODES)
        ],
        "status": [[list(levels), passes] for levels, passes in passes_by_node.items() if levels not in log],
    }


def candidate(
    reporter: Reporter, folder: str, policy: str, method: Mapping[str, Any] | None = None, stamp: str = ""
) -> dict[str, Any]:
    """Preview the release by the policy's method or by ``method``: measures, rows before and after, and distributions.

    For a large table with several candidate methods, the result of the first one is sent early.
    """
    parsed, table = policy_of(folder, policy), table_of(folder, policy)
    if method is None and table.rows > _SLOW_ROWS:
        policy_method = parsed.method(table, parsed.definition)
        if isinstance(policy_method, Cheapest):
            with suppress(Infeasible, PolicyError):
                quick = previewed(parsed, table, policy_method.candidates[0].describe(), reporter.context())
                reporter.early(_described(table, quick))
    return _described(table, previewed(parsed, table, method, reporter.context()))


def _described(table: Table, draft: Preview | MechanismPreview) -> dict[str, Any]:
    """Return the preview of a release as JSON-compatible data: verdict, measures, levels, group sizes, sample rows and distributions.

    A preview of a randomized mechanism has its expected error instead of groups and rows.
    """
    described: dict[str, Any] = {
        "method": _plain_method(draft.method),
        "name": str(draft.method.get("name")),
        "definition": str(draft.definition),
        "verdict": draft.headline.title,
        "reasons": list(draft.headline.reasons),
        "sentences": list(draft.sentences),
        "not_covered": list(draft.not_covered),
        "rows": draft.rows,
        "of": table.rows,
        "suppressed": draft.suppressed,
        "loss": draft.utility.get("loss"),
        "loss_by_column": {name: float(value) for name, value in draft.loss_by_column.items()},
        "measures": {
            name: _figure(draft.utility.get(name))
            for name in ("loss", "ncp", "discernibility", "average_group_size", "kl", "standard_error")
            if name in draft.utility
        },
        "proven": draft.search.get("proven"),
        "levels": draft.search.get("chosen") if "columns" in draft.search else None,
        "level_columns": draft.search.get("columns"),
    }
    if isinstance(draft, MechanismPreview):
        return {
            **described,
            "error": draft.error.words,
            "figures": {k: _figure(v) for k, v in draft.error.figures.items()},
        }
    groups = draft.groups
    if groups is not None:
        sizes = np.asarray(groups.people)
        described |= {"groups": len(groups), "smallest": int(sizes.min()), "sizes": _sizes(sizes)}
    measured = draft.query_error()
    if measured is not None:
        described["query_error"] = _query_error(measured)
    return {**described, **_before_and_after(table, draft), "distributions": distributions(table, draft)}


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
    definition = read.definition
    if method is None:
        chosen = read.method(table, definition)
    elif "name" in method:
        chosen = method_from(str(method["name"]), {k: v for k, v in method.items() if k != "name"})
    else:
        chosen = default_method(table, definition, dict(method))
    with read.hinting("hierarchies", "declared", "roles", "method"):
        return preview(table, definition, chosen, models=read.sections.analysis.models, context=context)


def _plain_method(method: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's description as JSON-compatible data."""
    return {str(name): _figure(value) for name, value in method.items()}


def _figure(value: Any) -> Any:
    """Return a value as JSON-compatible data: exact numbers become floats, infinities and NaN become None, other objects text."""
    if isinstance(value, Mapping):
        return {str(name): _figure(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_figure(item) for item in value]
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


def _before_and_after(table: Table, draft: Preview) -> dict[str, Any]:
    """Return sample rows before and after publication; only published rows if there is no row-by-row recoding."""
    published = draft.frame
    if draft.recoding is None or table.streamed or draft.recoding.rows is not None:
        return {
            "before": None,
            "after": {
                "columns": published.columns,
                "rows": [[cell_text(value) for value in row] for row in published.rows()],
            },
        }
    step = max(table.rows // _ROWS_SHOWN, 1)
    rows = table.frame.gather_every(step).head(_ROWS_SHOWN)
    columns = [name for name in (*table.quasi, *table.sensitive, *table.declared) if name in rows.columns]
    labels, is_kept = draft.recoding.place(rows.select(columns), "suppress")
    published_index = np.cumsum(np.asarray(is_kept)) - 1
    before: list[list[str | None]] = []
    after: list[list[str | None] | None] = []
    for row_index, row in enumerate(rows.select(columns).iter_rows(named=True)):
        before.append([cell_text(row[name]) for name in columns])
        if not is_kept[row_index]:
            after.append(None)
            continue
        shown = {**row, **labels.row(int(published_index[row_index]), named=True)}
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
    """Return the success of every adversary on the original table and on the candidate release, side by side."""
    context = reporter.context()
    draft = previewed(policy_of(folder, policy), table_of(folder, policy), method, context)
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
            for before, after in draft.attacks
        ],
        "random": isinstance(draft, MechanismPreview),
    }


def methods(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return risk and information loss of every registered method that supports the definition and needs no further parameters."""
    read, table = policy_of(folder, policy), table_of(folder, policy)
    definition = read.definition
    sampled = table.rows > _SLOW_ROWS and not table.streamed and not table.several_rows
    judged_table = table.only(_some_rows(table.rows)) if sampled else table
    policy_method = read.method(table, definition)
    candidates: list[tuple[str, Any]] = [(f"{type(policy_method).__name__} (this policy)", policy_method)]
    for name in METHODS:
        instance = _made(name)
        if instance is not None and all(part.kind in instance.keeps for part in definition.parts()):
            candidates.append((name, instance))
    compared: list[dict[str, Any]] = []
    context = reporter.context()
    for index, (name, candidate_method) in enumerate(candidates):
        context.step(f"trying {name}", index, len(candidates))
        row = _tried(judged_table, definition, candidate_method, context)
        compared.append(
            {
                "name": name,
                "method": _plain_method(candidate_method.describe()),
                "own": index == 0,
                "problem": row["problem"],
                **{
                    key: _figure(row[key]) for key in ("loss", "suppressed", "groups", "smallest", "highest_risk", "kl")
                },
            }
        )
        reporter.early({"methods": list(compared), "sampled": sampled, "rows": judged_table.rows, "finished": False})
    return {"methods": compared, "sampled": sampled, "rows": judged_table.rows, "finished": True}


def _tried(table: Table, definition: Definition, method: Any, context: Context) -> Mapping[str, Any]:
    """Return one method as a row of the comparison, with a message if it exceeds the time limit."""
    deadline = time.monotonic() + _PATIENCE
    limited = Context(stop=lambda: context.stop() or time.monotonic() > deadline, memo=context.memo)
    try:
        return compare(table, [definition], [method], attacks=False, context=limited).table.row(0, named=True)
    except Cancelled:
        if context.stop():
            raise
        no_figures = dict.fromkeys(("loss", "suppressed", "groups", "smallest", "highest_risk", "kl"))
        return {
            **no_figures,
            "problem": f"It takes longer than {_PATIENCE:.0f} seconds on this table and was stopped.",
        }


def _some_rows(rows: int) -> pl.Series:
    """Return a Boolean mask that samples a fixed number of the rows; always the same rows."""
    is_chosen = np.zeros(rows, dtype=bool)
    is_chosen[np.random.default_rng(0).choice(rows, _SAMPLED, replace=False)] = True
    return pl.Series(is_chosen)


def _made(name: str) -> Any:
    """Return a registered method with its default parameters; None if it has required ones or a package is missing."""
    try:
        return load("method", name)()
    except (TypeError, PolicyError, ImportError):
        return None


def prices(reporter: Reporter, folder: str, policy: str, stamp: str = "") -> dict[str, Any]:
    """Return the information loss of the policy's method at stricter and weaker values of every parameter, and at other suppression limits."""
    parsed, table = policy_of(folder, policy), table_of(folder, policy)
    context = reporter.context()
    sampled = table.rows > _SLOW_ROWS and not table.streamed and not table.several_rows
    judged_table = table.only(_some_rows(table.rows)) if sampled else table
    chosen = parsed.method(table, parsed.definition)
    takes_limit = "suppression" in parsed.sections.method or _has_limit(chosen)
    policy_limit = str(parsed.sections.method.get("suppression", "0"))
    steps = [(None, None, None, list(parsed.sections.definition)), *_changes(parsed.sections.definition)]
    limits = sorted({*_LIMITS, policy_limit}, key=float) if takes_limit else []
    common: dict[str, Any] = {
        "suppression": policy_limit,
        "sampled": sampled,
        "rows": judged_table.rows,
        "method": _method_name(chosen),
    }
    priced_changes: list[dict[str, Any]] = []
    for index, (number, parameter, value, definitions) in enumerate(steps):
        context.step("pricing guarantees", index, len(steps) + len(limits))
        price = _price(judged_table, definitions, parsed, {}, context)
        priced_changes.append({"definition": number, "parameter": parameter, "value": value, **price})
        reporter.early({"prices": list(priced_changes), "limits": [], **common})
    priced_limits: list[dict[str, Any]] = []
    for index, limit in enumerate(limits):
        context.step("pricing suppression", len(steps) + index, len(steps) + len(limits))
        # The loss at the policy's own limit is already known.
        price = (
            priced_changes[0]
            if limit == policy_limit
            else _price(judged_table, steps[0][3], parsed, {"suppression": limit}, context)
        )
        priced_limits.append(
            {"limit": limit, **{name: price[name] for name in ("loss", "suppressed", "problem", "stopped")}}
        )
    return {
        "prices": priced_changes,
        "limits": [_bounded(limit_price, priced_limits, judged_table.rows) for limit_price in priced_limits],
        **common,
    }


def _bounded(price: Mapping[str, Any], others: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """Return the price of a suppression limit.

    If its computation was stopped, the least loss of the ``others`` that suppress no more than it allows stands for it, as an upper bound (``at_most``).
    """
    allowed = [
        other
        for other in others
        if other["loss"] is not None and other["suppressed"] <= exact(price["limit"], "suppression") * rows
    ]
    if not price["stopped"] or not allowed:
        return {**price, "at_most": False}
    least = min(allowed, key=lambda other: float(other["loss"]))
    return {**price, "loss": least["loss"], "suppressed": least["suppressed"], "at_most": True}


def _has_limit(method: Any) -> bool:
    """True if the method, or one of those that it chooses from, has a suppression limit."""
    candidates = method.candidates if isinstance(method, Cheapest) else (method,)
    return any("suppression" in candidate.describe() for candidate in candidates)


def _method_name(method: Any) -> str:
    return "the cheapest method" if isinstance(method, Cheapest) else type(method).__name__


def _changes(definitions: Sequence[Mapping[str, Any]]) -> list[tuple[int, str, Any, list[dict[str, Any]]]]:
    """Return (index of the definition, parameter, new value, all definitions with it) for each stricter or weaker value."""
    changes = []
    for number, definition in enumerate(definitions):
        for parameter, value in definition.items():
            for changed_value in next_values(parameter, value):
                changed_definitions = [dict(unchanged) for unchanged in definitions]
                changed_definitions[number] = {**definition, parameter: changed_value}
                changes.append((number, parameter, changed_value, changed_definitions))
    return changes


def next_values(parameter: str, value: Any) -> list[Any]:
    """Return the next weaker and the next stricter value of a definition's parameter, in policy notation."""
    if isinstance(value, bool):
        return []
    if parameter in ("k", "l", "m", "p") and isinstance(value, int):
        steps = [2, 3, 4, 5, 7, 10, 12, 15, 20, 30, 50, 100]
        below, above = [step for step in steps if step < value], [step for step in steps if step > value]
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
    parsed: Policy,
    settings: Mapping[str, Any],
    context: Context,
) -> dict[str, Any]:
    """Return the information loss of the policy's method with ``settings`` under these definitions, with a message if it fails or exceeds the time limit."""
    deadline = time.monotonic() + _PATIENCE
    limited = Context(stop=lambda: context.stop() or time.monotonic() > deadline)
    try:
        definition = _together(definitions)
        draft = parsed.method(table, definition, **settings).draft(table, definition, limited)
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
    loss = utility_of(draft).get("loss")
    return {
        "loss": None if loss is None else float(loss),
        "suppressed": int(draft.suppressed),
        "problem": None,
        "stopped": False,
    }


def _together(definitions: Sequence[Mapping[str, Any]]) -> Definition:
    """Return the conjunction of all definitions of a policy."""
    parts = [
        definition_from(str(settings["name"]), {k: v for k, v in settings.items() if k != "name"})
        for settings in definitions
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined & part
    return joined
