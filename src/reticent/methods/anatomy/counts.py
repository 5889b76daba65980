"""Counting queries on buckets and batches: people and sensitive values are joined in all ways possible within a bucket."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition, Covers, Domain
from reticent.errors import DataError
from reticent.methods.anatomy.bucket_pairs import Pairs
from reticent.release import EVENLY_SPREAD, Count, CountQuery
from reticent.table import Counted, Meaning, Rows, ValueType, unused

_INDEPENDENT = "inside a bucket, sensitive values do not depend on the other columns"


def count_buckets(
    tables: Mapping[str, Rows],
    meanings: Mapping[str, Mapping[str, Meaning]],
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    bucket: str = "bucket",
    counts: str | None = None,
    **known: Any,
) -> Count:
    """Count the people who meet a condition if ``quasi`` and ``sensitive`` tables share a ``bucket``; ``known`` as in :meth:`CountQuery.of`.

    ``counts`` names the column of the sensitive table that counts rows, if it has one. Within a bucket, ``uniform``
    assumes that quasi and sensitive values are independent: all joins are equally likely.
    """
    query = CountQuery.of(meanings, condition, estimator, **known)
    asked, quasi, sensitive = query.condition, tables["quasi"], tables["sensitive"]
    asked.check_names([*quasi.schema, *(name for name in sensitive.schema if name not in (bucket, counts))])
    own = [name for name in asked.scope if name in quasi.schema]
    other = [name for name in asked.scope if name not in quasi.schema]
    people, many = quasi.counted([bucket, *(name for name in own if name != bucket)])
    people = people.with_columns([_exact_values(query, people[name]) for name in own if name in meanings])
    values, times = _distinct_values(sensitive, counts, [bucket, *other])
    rows = int(many.sum())
    if not other or not own:
        met = many[_mask(asked, people)].sum() if not other else times[_mask(asked, values)].sum()
        return query.exactly(int(met), rows)
    pairs = Pairs.of((people, many), (values, times), bucket, partial(_mask, asked))
    if query.estimator == "intersect":
        return query.at_most(pairs.meeting(), pairs.bounds(), rows)
    value, variance = pairs.moments()
    return query.estimated(value, math.sqrt(max(variance, 0.0)), pairs.bounds(), rows, _INDEPENDENT)


def count_batches(
    labelled: Rows,
    values: Rows,
    meanings: Mapping[str, Mapping[str, Meaning]],
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    batch: str,
    counts: str | None = None,
    made_up: Counted | None = None,
    **known: Any,
) -> Count:
    """Count the people who meet a condition if rows show labels and the number of a ``batch``, whose sensitive values
    another table lists, or ``counts``.

    ``made_up`` has the number of counterfeit values of some batches; which values these are is not public. A condition on labels or on sensitive
    values alone is counted as such; see :func:`count_labels` and :func:`count_buckets`, whose assumptions are made together.
    """
    query = CountQuery.of(meanings, condition, estimator, **known)
    asked, hidden = query.condition, [name for name in values.schema if name not in (batch, counts)]
    asked.check_names([*labelled.schema.names(), *hidden])
    own = [name for name in asked.scope if name not in hidden]
    other = [name for name in asked.scope if name in hidden]
    if not other:
        return query.in_labels(labelled)
    secrets, times = _distinct_values(values, counts, [batch, *other])
    if not own and made_up is None:
        return query.exactly(int(times[_mask(asked, secrets)].sum()), labelled.height)
    covered: list[Covers] = []

    def possible(joined: pl.DataFrame) -> NDArray[np.bool_]:
        real = joined[is_person].to_numpy()
        covered.append(query.covers(joined.filter(is_person)).among(real))
        return covered[0].possible

    listed, many = labelled.counted([batch, *(name for name in own if name != batch)])
    is_person = unused("is person", [*listed.columns, *secrets.columns])
    people = listed.with_columns(pl.lit(value=True).alias(is_person)), many
    if made_up is not None:
        nobody = made_up[0].cast({batch: listed.schema[batch]}).with_columns(pl.lit(value=False).alias(is_person))
        people = pl.concat([people[0], nobody], how="diagonal"), np.concatenate([many, made_up[1]])
    pairs = Pairs.of(people, (secrets, times), batch, possible)
    bounds = replace(pairs, meets=covered[0].certain).bounds()[0], pairs.bounds()[1]
    if query.estimator == "intersect":
        return query.at_most(pairs.meeting(), bounds, labelled.height)
    value, variance = replace(pairs, shares=covered[0].share).moments()
    model = f"{EVENLY_SPREAD}, and {_INDEPENDENT.replace('bucket', 'batch')}"
    return query.estimated(value, math.sqrt(max(variance, 0.0)), bounds, labelled.height, model)


def _exact_values(query: CountQuery, series: pl.Series) -> pl.Series:
    """Return a quasi column of a bucketized release as values: unchanged, or its labels parsed as values."""
    if series.dtype != pl.String:
        return series
    domain = query.domains.get(series.name)
    kind = (domain or Domain.guessed(list(query.meanings[series.name].values()), ValueType.TEXT)).kind
    if kind is ValueType.TEXT:
        return series
    labels = series.unique().drop_nulls().to_list()
    values = [query.meaning(series.name, label).listed(kind) for label in labels]
    vague = [label for label, value in zip(labels, values, strict=True) if value is None or len(value) != 1]
    if vague:
        raise DataError(f"Column {series.name!r} shows {vague[0]!r}; a bucketized release must have single values.")
    replacement = kind.series([value[0] for value in values if value is not None])
    return series.replace_strict(labels, replacement, default=None, return_dtype=replacement.dtype)


def _mask(condition: Condition, rows: pl.DataFrame) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = condition.mask(rows).to_numpy()
    return met


def _distinct_values(sensitive: Rows, counts: str | None, columns: Sequence[str]) -> Counted:
    """Return the distinct rows of some columns of the sensitive table with their multiplicities."""
    if counts is None:
        return sensitive.counted(columns)
    listed, often = sensitive.counted([*columns, counts])
    times = unused("times", columns)
    weighted = listed.select(columns).with_columns((listed[counts].cast(pl.Int64) * pl.Series(often)).alias(times))
    grouped = weighted.group_by(columns).agg(pl.col(times).sum())
    return grouped.select(columns), grouped[times].to_numpy()
