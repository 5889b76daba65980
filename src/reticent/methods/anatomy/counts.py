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
    parsed, quasi, sensitive = query.condition, tables["quasi"], tables["sensitive"]
    parsed.check_names([*quasi.schema, *(name for name in sensitive.schema if name not in (bucket, counts))])
    quasi_names = [name for name in parsed.scope if name in quasi.schema]
    sensitive_names = [name for name in parsed.scope if name not in quasi.schema]
    people, people_counts = quasi.counted([bucket, *(name for name in quasi_names if name != bucket)])
    people = people.with_columns([_exact_values(query, people[name]) for name in quasi_names if name in meanings])
    values, value_counts = _distinct_values(sensitive, counts, [bucket, *sensitive_names])
    rows = int(people_counts.sum())
    if not sensitive_names or not quasi_names:
        matching = (
            people_counts[_mask(parsed, people)].sum()
            if not sensitive_names
            else value_counts[_mask(parsed, values)].sum()
        )
        return query.exactly(int(matching), rows)
    pairs = Pairs.of((people, people_counts), (values, value_counts), bucket, partial(_mask, parsed))
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
    parsed, hidden = query.condition, [name for name in values.schema if name not in (batch, counts)]
    parsed.check_names([*labelled.schema.names(), *hidden])
    label_names = [name for name in parsed.scope if name not in hidden]
    sensitive_names = [name for name in parsed.scope if name in hidden]
    if not sensitive_names:
        return query.in_labels(labelled)
    secrets, value_counts = _distinct_values(values, counts, [batch, *sensitive_names])
    if not label_names and made_up is None:
        return query.exactly(int(value_counts[_mask(parsed, secrets)].sum()), labelled.height)
    covers: list[Covers] = []

    def possible(joined: pl.DataFrame) -> NDArray[np.bool_]:
        """Mask the pairs of labels and values that may meet the condition; counterfeits never do. Keeps how they cover it."""
        is_real = joined[is_person].to_numpy()
        covers.append(query.covers(joined.filter(is_person)).among(is_real))
        return covers[0].possible

    label_rows, people_counts = labelled.counted([batch, *(name for name in label_names if name != batch)])
    is_person = unused("is person", [*label_rows.columns, *secrets.columns])
    people = label_rows.with_columns(pl.lit(value=True).alias(is_person)), people_counts
    if made_up is not None:
        made_up_rows = (
            made_up[0].cast({batch: label_rows.schema[batch]}).with_columns(pl.lit(value=False).alias(is_person))
        )
        people = pl.concat([people[0], made_up_rows], how="diagonal"), np.concatenate([people_counts, made_up[1]])
    pairs = Pairs.of(people, (secrets, value_counts), batch, possible)
    bounds = replace(pairs, meets=covers[0].certain).bounds()[0], pairs.bounds()[1]
    if query.estimator == "intersect":
        return query.at_most(pairs.meeting(), bounds, labelled.height)
    value, variance = replace(pairs, shares=covers[0].share).moments()
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
    distinct, multiplicities = sensitive.counted([*columns, counts])
    count_column = unused("times", columns)
    weighted = distinct.select(columns).with_columns(
        (distinct[counts].cast(pl.Int64) * pl.Series(multiplicities)).alias(count_column)
    )
    grouped = weighted.group_by(columns).agg(pl.col(count_column).sum())
    return grouped.select(columns), grouped[count_column].to_numpy()
