"""The private instance: the distinct tuples of the data, checked against the public declarations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from reticent.base.exact import one_of
from reticent.base.frames import as_polars
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.methods.randomize.plans import COUNT, Plan
from reticent.methods.randomize.tuple_sets import distinct, in_order
from reticent.methods.randomize.view_domain import Keys, ViewDomain

Duplicates = Literal["refuse", "dedupe", "count"]
DUPLICATES: tuple[str, ...] = get_args(Duplicates)


def full_domain(plan: Plan, declared: ViewDomain | Mapping[str, Any] | None) -> ViewDomain:
    """Return the plan's domain with the values given now; their numbers must match the plan."""
    if declared is None:
        full = plan.domain
    else:
        full = ViewDomain.of(declared)
        if COUNT in plan.domain.names and COUNT not in full.names:
            full = ViewDomain((*full.attributes, plan.domain[COUNT]))
        for name, size in plan.domain.sizes.items():
            if name not in full.names:
                raise PolicyError(f"domain lacks the column {name!r} of the plan.{did_you_mean(name, full.names)}")
            if full[name].size != size:
                raise PolicyError(
                    f"domain[{name!r}] has {full[name].size} values, but the plan was made for {size}. Plan again, or declare the planned values."
                )
        for name in full.names:
            if name not in plan.domain.names:
                raise PolicyError(f"domain has the column {name!r}, which the plan does not have.")
        full = full.in_order_of(plan.domain.names)
    for attribute in full.attributes:
        # Raises, naming the column, if only the number of values is known.
        _ = attribute.listed
    return full


def instance_of(frame: Any, plan: Plan, domain: ViewDomain, duplicates: str) -> Keys:
    """Return the distinct tuples of the data as keys; more than the plan's n are refused, and so are repeated rows unless ``duplicates`` is set."""
    one_of(duplicates, "duplicates", DUPLICATES)
    data = as_polars(frame)
    if data.height == 0:
        raise DataError("The table has no rows. There is nothing to publish; check the source.")
    keys = _counted(data, domain, plan) if duplicates == "count" else domain.pack(domain.frame_columns(data))
    tuples = distinct(keys)
    if duplicates == "refuse" and len(tuples) < len(keys):
        raise DataError(
            f"{len(keys) - len(tuples):,} of {len(keys):,} rows repeat another in all columns. A view is a set: publishing a tuple twice would prove that "
            "it is true. Pass duplicates='dedupe' to publish distinct tuples, or plan with count= and pass duplicates='count'."
        )
    if len(tuples) > plan.n:
        raise DataError(
            f"The data have {len(tuples):,} distinct tuples, more than the {plan.n:,} that the plan was made for. Plan again with that number, or a "
            "rounded upper bound (n_public)."
        )
    return tuples


def _counted(data: pl.DataFrame, domain: ViewDomain, plan: Plan) -> Keys:
    """Return one tuple for each distinct row with its multiplicity, capped at the largest declared count."""
    if COUNT not in domain.names or plan.adversary == "independent":
        raise PolicyError("duplicates='count' needs a plan with count=, made for adversary='exclusive' or 'both'.")
    base = ViewDomain(tuple(attribute for attribute in domain.attributes if attribute.name != COUNT))
    columns = base.frame_columns(data)
    counts = domain[COUNT].listed
    grouped = columns.group_by(base.names).agg(pl.len().cast(counts.dtype).alias(COUNT))
    cap = int(counts.to_numpy().max())
    return domain.pack(grouped.with_columns(pl.col(COUNT).clip(upper_bound=cap)).select(domain.names))


def rows_of(frame: Any, domain: ViewDomain) -> Keys:
    """Return every row as a key, duplicates included, sorted; for methods that perturb row by row."""
    return in_order(np.asarray(domain.pack(domain.frame_columns(as_polars(frame)))))
