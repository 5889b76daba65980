"""Counting queries on a release: how many rows meet a condition, as well as the public side can tell (R-UM-4).

Only what everybody gets is used: the published tables, the meaning of their labels, and the declared domains. An answer
is two bounds that hold for certain, and an estimate that says what it assumes. How far the estimate is off depends on what the release hides, so no
margin is claimed for it: on real releases six of ten true counts lie outside of the 90 % interval that the model's own spread suggests
(``benchmarks/RESULTS.md``, "Counting queries").
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.conditions import Condition, Covers, Domain
from reticent.errors import DataError, PolicyError, did_you_mean
from reticent.release.bucket_pairs import Pairs
from reticent.release.nested_regions import NestedRegions, split_by_column
from reticent.table import NULL_LABEL, Counted, Meaning, Rows, ValueType, unused

Estimator = Literal["uniform", "intersect"]
Meanings = Mapping[str, Mapping[str, Meaning]]

_MOST_VALUES = 2_000_000
_KIND, _PLACE = "_kind", "_place"
_EVEN = "people are spread evenly over the values that a label stands for"
_MIXED = "inside a bucket, sensitive values do not depend on the other columns"
ESTIMATORS: tuple[Estimator, ...] = ("uniform", "intersect")


@dataclass(frozen=True)
class Count:
    """An answer to a counting query.

    The true number of published rows that meet the condition lies within ``bounds`` for certain. ``value`` estimates it; the estimate holds as far
    as what it ``assumes`` does (nothing, where the bounds leave no doubt). ``standard_error`` is the spread *inside* the model of the ``uniform``
    estimator and says nothing about whether the model holds; it is absent for ``intersect``. ``rows`` is the number of published rows. Suppressed rows are in
    none of these.
    """

    condition: str
    estimator: Estimator
    value: float
    bounds: tuple[int, int]
    standard_error: float | None
    rows: int
    model: str = ""

    @property
    def assumes(self) -> str | None:
        """What must hold for the estimate to be right on average; None where it assumes nothing."""
        return self.model if self.estimator == "uniform" and self.bounds[0] < self.bounds[1] else None

    def describe(self) -> dict[str, Any]:
        """The answer as plain data."""
        return {
            "condition": self.condition,
            "estimator": self.estimator,
            "value": self.value,
            "bounds": list(self.bounds),
            "assumes": self.assumes,
            "standard_error_of_model": self.standard_error,
            "rows": self.rows,
        }

    def lines(self) -> list[str]:
        """The answer for people."""
        low, high = self.bounds
        if low == high:
            return [f"Exactly {low:,} of {self.rows:,} published rows."]
        certain = f"For certain between {low:,} and {high:,} of {self.rows:,} published rows."
        value = f"{self.value:,.1f}".removesuffix(".0")
        if self.assumes is None:
            return [certain, f"{value} rows could meet it."]
        return [
            certain,
            f"Estimate: {value}, if {self.assumes}. The release does not show whether that is so, and the estimate may be far off; only the bounds are sure.",
        ]


def count_labels(
    rows: Rows,
    meanings: Meanings,
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> Count:
    """How many ``rows`` meet a condition, where their labels stand for ``meanings``.

    ``kinds`` (types as manifests name them) and ``domains`` (declared values) are of the quasi columns and sharpen the answer; without a kind,
    numbers may be fractional. ``may_miss`` says that values may be missing although no domain lists that.

    ``intersect`` counts every row whose region meets the condition and never under-counts. ``uniform`` counts every row by the share
    of its region that meets the condition.
    """
    described = domains_of(meanings, kinds, domains, may_miss)
    return _generalized(rows, meanings, _parsed(condition), _chosen(estimator), described)


def count_buckets(
    tables: Mapping[str, Rows],
    meanings: Meanings,
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    bucket: str = "bucket",
    counts: str | None = None,
    may_miss: bool = False,
) -> Count:
    """How many people meet a condition, where ``quasi`` and ``sensitive`` tables share a ``bucket``; see :func:`count_labels`.

    ``counts`` names the column of the sensitive table that counts rows, if it has one. Inside a bucket, ``uniform`` takes quasi and sensitive
    values to be independent.
    """
    described = domains_of(meanings, kinds, domains, may_miss)
    return _bucketized(tables, bucket, counts, _parsed(condition), _chosen(estimator), meanings, described)


def count_regions(
    rows: Rows,
    regions: pl.DataFrame,
    nested: NestedRegions,
    meanings: Meanings,
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> Count:
    """How many ``rows`` meet a condition, where each is in one of the blocks of its class; see :func:`count_labels`.

    ``regions`` has the class, the level and the labels of every region, and ``nested`` how they lie inside each other. A row meets the condition for certain where all blocks of its class do, and
    possibly where one of them may. ``uniform`` takes rows to be spread evenly over the blocks of their class. A condition that compares quasi columns with each other or with others is asked of regions in place
    of blocks, so that its bounds may be wider than need be.
    """
    group, level = regions.columns[:2]
    asked = _parsed(condition)
    asked.check_names([name for name in rows.schema.names() if name != group])
    quasi = [name for name in asked.scope if name in meanings]
    if not quasi:
        return count_labels(rows, meanings, asked, estimator, kinds=kinds, domains=domains, may_miss=may_miss)
    chosen, described = _chosen(estimator), domains_of(meanings, kinds, domains, may_miss)
    others = [name for name in asked.scope if name not in meanings]
    counted, times = rows.counted([group, *others])
    split = split_by_column(asked, list(meanings))
    if split is None:
        every = counted.with_columns(pl.Series(_KIND, np.arange(counted.height))).join(
            regions.select(group, level, *quasi), on=group, how="left", maintain_order="left"
        )
        pairs = _each_covered(every, meanings, asked, described)
        found = _of_regions(pairs, every[_KIND].to_numpy(), np.ldexp(1.0, -every[level].to_numpy()), len(times))
    else:
        found = _of_blocks(nested, regions, split, meanings, described, counted[group])
        if "" in split:
            kept = split[""].mask(counted).to_numpy()
            times, found = times[kept], found.at(kept)
    certain, possible = int(times[found.certain].sum()), int(times[found.possible].sum())
    if chosen == "intersect":
        return Count(asked.text, chosen, possible, (certain, possible), None, rows.height)
    value = math.fsum((times * found.share).tolist())
    return Count(asked.text, chosen, value, (certain, possible), _uniform_error(times, found), rows.height, _EVEN)


def _of_blocks(
    nested: NestedRegions,
    regions: pl.DataFrame,
    split: Mapping[str, Condition],
    meanings: Meanings,
    domains: Mapping[str, Domain],
    classes: pl.Series,
) -> Covers:
    """What conditions, each on one quasi column, cover of the classes of some rows: possible and certain exactly, block by block, and a share that agrees with both."""
    possible, certain = nested.met(split)
    everywhere = [np.ones(len(column.steps), dtype=bool) for column in nested.columns]
    may, sure = nested.blocks(possible) > 0, nested.blocks(certain) == nested.blocks(everywhere)
    share, measured = np.ones(regions.height), np.ones(regions.height, dtype=bool)
    for column, met, every in zip(nested.columns, possible, everywhere, strict=True):
        if column.name not in split:
            continue
        if column.listed:
            share = share * column.held(met) / column.held(every)
        else:
            found = _each_covered(regions, meanings, split[column.name], domains)
            share, measured = share * found.share, measured & found.measured
    distinct = nested.group.unique(maintain_order=True)
    numbers = pl.DataFrame({"group": distinct, "place": np.arange(len(distinct))})
    own = (
        nested.group.to_frame("group").join(numbers, on="group", how="left", maintain_order="left")["place"].to_numpy()
    )
    mine = classes.to_frame("group").join(numbers, on="group", how="left", maintain_order="left")["place"].to_numpy()
    many, volumes = np.bincount(own), nested.volumes()
    inside, whole = np.bincount(own, nested.volumes(share)), np.bincount(own, volumes)
    some, all_ = np.bincount(own, may) > 0, np.bincount(own, sure) == many
    # Labels may know less than blocks do, and the rest of a region is a difference of floats.
    told = np.clip(np.divide(inside, whole, out=np.zeros(len(many)), where=whole > 0), 0.0, 1.0)
    found = Covers(np.where(all_, 1.0, np.where(some, told, 0.0)), some, all_, np.bincount(own, measured) == many)
    return found.at(mine)


def _each_covered(
    rows: pl.DataFrame, meanings: Meanings, condition: Condition, domains: Mapping[str, Domain]
) -> Covers:
    """What a condition covers of every one of some rows of labels and values; rows that are alike are asked about once."""
    shown = (
        rows.select(condition.scope).with_row_index(_PLACE).group_by(condition.scope, maintain_order=True).agg(_PLACE)
    )
    found = _covers(shown.select(condition.scope), meanings, condition, domains)
    place = np.empty(rows.height, dtype=np.int64)
    place[shown[_PLACE].explode().to_numpy()] = np.repeat(np.arange(shown.height), shown[_PLACE].list.len().to_numpy())
    return found.at(place)


def _of_regions(pairs: Covers, kind: NDArray[np.int64], volume: NDArray[np.float64], count: int) -> Covers:
    """What a condition covers of kinds of rows that may lie in several regions, given what it covers of each pair of a kind and a region."""
    sure, may, measured = (np.bincount(kind, each, count) for each in (pairs.certain, pairs.possible, pairs.measured))
    many = np.bincount(kind, minlength=count)
    share = np.bincount(kind, pairs.share * volume, count) / np.bincount(kind, volume, count)
    return Covers(share, may > 0, sure == many, measured == many)


def count_batches(
    labelled: Rows,
    values: Rows,
    meanings: Meanings,
    condition: str | Condition,
    estimator: str = "uniform",
    *,
    batch: str,
    counts: str | None = None,
    made_up: Counted | None = None,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> Count:
    """How many people meet a condition, where rows show labels and the number of a ``batch``, whose sensitive values another table lists, or ``counts``.

    ``made_up`` says of some batches how many of their values are nobody's; which is not known. A condition on labels or on sensitive values alone is counted as such; see :func:`count_labels` and :func:`count_buckets`, whose assumptions are made together.
    """
    asked, chosen, described = _parsed(condition), _chosen(estimator), domains_of(meanings, kinds, domains, may_miss)
    hidden = [name for name in values.schema if name not in (batch, counts)]
    asked.check_names([*labelled.schema.names(), *hidden])
    own = [name for name in asked.scope if name not in hidden]
    other = [name for name in asked.scope if name in hidden]
    if not other:
        return _generalized(labelled, meanings, asked, chosen, described)
    secrets, times = _kinds_of_values(values, counts, [batch, *other])
    if not own and made_up is None:
        met = int(times[_mask(asked, secrets)].sum())
        return Count(asked.text, chosen, met, (met, met), 0.0 if chosen == "uniform" else None, labelled.height)
    covered: list[Covers] = []

    def possible(joined: pl.DataFrame) -> NDArray[np.bool_]:
        real = joined[somebody].to_numpy()
        covered.append(_covers(joined.filter(somebody), meanings, asked, described).among(real))
        return covered[0].possible

    listed, many = labelled.counted([batch, *(name for name in own if name != batch)])
    somebody = unused("somebody", [*listed.columns, *secrets.columns])
    people = listed.with_columns(pl.lit(value=True).alias(somebody)), many
    if made_up is not None:
        nobody = made_up[0].cast({batch: listed.schema[batch]}).with_columns(pl.lit(value=False).alias(somebody))
        people = pl.concat([people[0], nobody], how="diagonal"), np.concatenate([many, made_up[1]])
    pairs = Pairs.of(people, (secrets, times), batch, possible)
    low, high = replace(pairs, meets=covered[0].certain).bounds()[0], pairs.bounds()[1]
    if chosen == "intersect":
        return Count(asked.text, chosen, pairs.meeting(), (low, high), None, labelled.height)
    value, variance = replace(pairs, shares=covered[0].share).moments()
    model = f"{_EVEN}, and {_MIXED.replace('bucket', 'batch')}"
    return Count(asked.text, chosen, value, (low, high), math.sqrt(max(variance, 0.0)), labelled.height, model)


def _parsed(condition: str | Condition) -> Condition:
    return Condition.parse(condition) if isinstance(condition, str) else condition


def _chosen(estimator: str) -> Estimator:
    for known in ESTIMATORS:
        if estimator == known:
            return known
    raise PolicyError(
        f"There is no estimator {estimator!r}.{did_you_mean(estimator, ESTIMATORS)} Choose 'uniform' or 'intersect'."
    )


def domains_of(
    meanings: Meanings,
    kinds: Mapping[str, str] | None = None,
    domains: Mapping[str, Sequence[Any]] | None = None,
    may_miss: bool = False,
) -> dict[str, Domain]:
    """What is publicly known of the values of quasi columns."""
    known = {name: _domain(name, (kinds or {}).get(name), (domains or {}).get(name), may_miss) for name in meanings}
    return {name: domain for name, domain in known.items() if domain is not None}


def _domain(name: str, kind: str | None, declared: Sequence[Any] | None, may_miss: bool) -> Domain | None:
    if kind is None:
        return None if declared is None else Domain.of_series(pl.Series(name, list(declared)))
    if kind not in list(ValueType):
        raise DataError(f"Column {name!r} has the type {kind!r}; known are {', '.join(ValueType)}.")
    # A run of whole numbers that is too long to be listed is measured by its labels alone.
    listed = declared if declared is None or len(declared) <= _MOST_VALUES else None
    return Domain.of_values(ValueType(kind), listed, may_miss=may_miss)


def _generalized(
    published: Rows, meanings: Meanings, condition: Condition, estimator: Estimator, domains: Mapping[str, Domain]
) -> Count:
    condition.check_names(published.schema.names())
    rows = published.height
    sizes, found = _covered(published, meanings, condition, domains)
    certain, possible = int(sizes[found.certain].sum()), int(sizes[found.possible].sum())
    if estimator == "intersect":
        return Count(condition.text, estimator, possible, (certain, possible), None, rows)
    value = math.fsum((sizes * found.share).tolist())
    return Count(condition.text, estimator, value, (certain, possible), _uniform_error(sizes, found), rows, _EVEN)


def _covered(
    published: Rows, meanings: Meanings, condition: Condition, domains: Mapping[str, Domain]
) -> tuple[NDArray[np.int64], Covers]:
    """The rows that share their labels in the condition's columns, and what the condition covers of them."""
    if not condition.scope:
        return np.array([published.height]), condition.covers({}, {})
    groups, sizes = published.counted(condition.scope)
    return sizes, _covers(groups, meanings, condition, domains)


def _covers(groups: pl.DataFrame, meanings: Meanings, condition: Condition, domains: Mapping[str, Domain]) -> Covers:
    """What a condition covers of some combinations of labels and values."""
    codes: dict[str, NDArray[np.int64]] = {}
    labels: dict[str, list[Meaning]] = {}
    known: dict[str, Domain] = {name: domain for name, domain in domains.items() if name in condition.scope}
    for name in condition.scope:
        distinct = groups[name].unique(maintain_order=True)
        places = pl.Series(range(len(distinct)), dtype=pl.Int64)
        codes[name] = groups[name].replace_strict(distinct, places, return_dtype=pl.Int64).to_numpy()
        if name in meanings:
            labels[name] = [_meaning(label, meanings[name], name) for label in distinct.to_list()]
        else:
            known[name] = Domain.of_series(distinct)
    return condition.covers(codes, labels, known)


def _meaning(label: str | None, meanings: Mapping[str, Meaning], column: str) -> Meaning:
    text = NULL_LABEL if label is None else label
    if text not in meanings:
        raise DataError(f"Column {column!r} shows the label {text!r}, which the manifest does not explain.")
    return meanings[text]


def _uniform_error(sizes: NDArray[np.int64], found: Covers) -> float:
    """The spread of the uniform model: every row meets the condition by itself with the share of its region (binomial).

    Where the share is not known, 1/2 stands for a share that may be anything between 0 and 1; being wrong there is being wrong for
    all such rows alike, so their errors add up.
    """
    variance = float(sizes @ (found.share * (1 - found.share)))
    doubt = np.minimum(found.share, 1 - found.share)[~found.measured] / math.sqrt(3)
    return math.sqrt(variance + float(sizes[~found.measured] @ doubt) ** 2)


def _exact_values(series: pl.Series, meanings: Mapping[str, Meaning], domain: Domain | None) -> pl.Series:
    """A quasi column of a bucketized release as values: as it is, or its labels read as the values that they stand for."""
    if series.dtype != pl.String:
        return series
    kind = (domain or Domain.guessed(list(meanings.values()), ValueType.TEXT)).kind
    if kind is ValueType.TEXT:
        return series
    labels = series.unique().drop_nulls().to_list()
    values = [_meaning(label, meanings, series.name).listed(kind) for label in labels]
    vague = [label for label, value in zip(labels, values, strict=True) if value is None or len(value) != 1]
    if vague:
        raise DataError(f"Column {series.name!r} shows {vague[0]!r}; a bucketized release shows single values.")
    replacement = kind.series([value[0] for value in values if value is not None])
    return series.replace_strict(labels, replacement, default=None, return_dtype=replacement.dtype)


def _bucketized(
    tables: Mapping[str, Rows],
    bucket: str,
    counts: str | None,
    condition: Condition,
    estimator: Estimator,
    meanings: Meanings,
    described: Mapping[str, Domain],
) -> Count:
    """Estimate bucket by bucket, where all ways of joining people and sensitive values are equally likely."""
    quasi, sensitive = tables["quasi"], tables["sensitive"]
    condition.check_names([*quasi.schema, *(name for name in sensitive.schema if name not in (bucket, counts))])
    own = [name for name in condition.scope if name in quasi.schema]
    other = [name for name in condition.scope if name not in quasi.schema]
    people, many = quasi.counted([bucket, *(name for name in own if name != bucket)])
    people = people.with_columns(
        [_exact_values(people[name], meanings[name], described.get(name)) for name in own if name in meanings]
    )
    values, times = _kinds_of_values(sensitive, counts, [bucket, *other])
    rows = int(many.sum())
    if not other or not own:
        met = int(many[_mask(condition, people)].sum() if not other else times[_mask(condition, values)].sum())
        error = 0.0 if estimator == "uniform" else None
        return Count(condition.text, estimator, met, (met, met), error, rows)
    pairs = Pairs.of((people, many), (values, times), bucket, partial(_mask, condition))
    low, high = pairs.bounds()
    if estimator == "intersect":
        return Count(condition.text, estimator, pairs.meeting(), (low, high), None, rows)
    value, variance = pairs.moments()
    return Count(condition.text, estimator, value, (low, high), math.sqrt(max(variance, 0.0)), rows, _MIXED)


def _mask(condition: Condition, rows: pl.DataFrame) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = condition.mask(rows).to_numpy()
    return met


def _kinds_of_values(sensitive: Rows, counts: str | None, columns: Sequence[str]) -> Counted:
    """The distinct rows of some columns of the sensitive table, and how many rows each stands for."""
    if counts is None:
        return sensitive.counted(columns)
    listed, often = sensitive.counted([*columns, counts])
    times = unused("times", columns)
    weighted = listed.select(columns).with_columns((listed[counts].cast(pl.Int64) * pl.Series(often)).alias(times))
    grouped = weighted.group_by(columns).agg(pl.col(times).sum())
    return grouped.select(columns), grouped[times].to_numpy()
