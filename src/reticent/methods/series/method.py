"""Republish as a method: a snapshot of a changing table becomes the next release of its series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.disclosures import PriorCheck, SeriesState, alone
from reticent.base.parameters import described, parameter
from reticent.core import BATCH, Draft, Evidence, Groups, Histograms, Kind, SensitiveDomain
from reticent.definitions import Definition, KAnonymity
from reticent.errors import DataError, Infeasible, PolicyError, did_you_mean
from reticent.methods.series._kernels import halve
from reticent.methods.series.assignment import Balance, Baseline, Choice, Placement, PublishingRules, place
from reticent.methods.series.box_scales import (
    ColumnBoxes,
    ColumnRange,
    PeopleByGroup,
    QuasiScale,
    merged_order,
    positions_of,
    scales_of,
    settled_ranges,
)
from reticent.methods.series.definitions import MInvariance, SeriesEvidence, TauSafety
from reticent.methods.series.diff import Snapshot, SnapshotDiff, bind, gone_after
from reticent.methods.series.group_formation import Shuffler
from reticent.methods.series.series import PublishedSeries, SeriesRelease
from reticent.methods.series.signatures import Ints, flat_rows
from reticent.methods.series.state import DeletedPeople, HistoryState, PersonMarks
from reticent.table import CodedRows, FrameRows, SensitiveColumn, Table, unused

FORMAT, BATCH_FORMAT = "series", "batch-series"
GROUP, COUNT = "group", "counterfeits"
PEOPLE, BATCHES = "people", "batches"
_NO_SECRET = bytes(32)


@dataclass(frozen=True)
class SeriesPosition:
    """Position of a release in a series: the ``state`` before it, the hash of its predecessor (``follows``), and the
    ``store`` for the state after it.

    People who left are forgotten after ``retention`` releases (0: never); ``shortest_retention`` is the smallest
    retention ever in force.
    """

    state: HistoryState | None
    follows: str | None
    marks: PersonMarks
    beside: PriorCheck
    retention: int = 0
    shortest_retention: int = 0
    store: StateStore | None = None


@dataclass(frozen=True)
class PublishedChange:
    """Private figures of a release: events and cost."""

    events: Mapping[str, int]
    counterfeits: int
    needed: int
    waiting: int
    fresh: int
    eligibility: int
    small_groups: int
    groups: int
    people: int
    deleted_map: int
    forgotten: int
    buckets: int

    def as_json(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {**self.__dict__, "events": dict(self.events)}


class StateStore(Protocol):
    """Storage for the states of a history's series."""

    def write(self, after: HistoryState, change: PublishedChange) -> SeriesState:
        """Write a state, and return its ledger record."""

    def remove(self, state: SeriesState) -> None:
        """Remove a state, unless the ledger refers to it."""


@dataclass
class SnapshotOutcome:
    """The state ``after`` a release, with its events. Mutable: it remembers what it stored. Without a ``store`` (previews) it stores nothing."""

    after: HistoryState
    change: PublishedChange
    store: StateStore | None
    _written: SeriesState | None = None

    def stored(self) -> SeriesState:
        """Write the state after the release, and return the ledger's record of it."""
        assert self.store is not None, "a release without a history cannot be stored in one"
        self._written = self.store.write(self.after, self.change)
        return self._written

    def discard(self) -> None:
        """Remove the state again, unless the ledger refers to it."""
        if self.store is not None and self._written is not None:
            self.store.remove(self._written)


def outcome_of(draft: Draft) -> SnapshotOutcome:
    """Return the outcome of a draft made at a position in a series."""
    assert isinstance(draft.outcome, SnapshotOutcome)
    return draft.outcome


@dataclass(frozen=True)
class Republish:
    """Publish a changing table so that its releases are safe together: groups of people with distinct sensitive values
    who keep the value set (signature) of their group from release to release.

    The definition is ``TauSafety(m)`` (for baselines, the one that they satisfy). ``domain`` declares every sensitive
    value that can ever occur, at least 3m - 1 of them: counterfeit rows are sampled from it, so it must not be derived
    from the data. ``choice="random"`` samples the members of a group, ``"near"`` keeps boxes small, ``"bang"``
    (experimental) splits by regions of a grid; ``balance="filled"`` fills vacancies with new people where possible,
    ``"blind"`` with counterfeits only. With ``"blocks"`` signatures are blocks of neighbours in the declared domain:
    nobody waits, no state about people who left is needed, and with random choice the bound holds against an adversary
    who knows the algorithm. The cost is counterfeits up to the most frequent value of each block, so declare values of
    similar frequency next to each other, from public knowledge. ``ranges`` declares lowest value, highest value and
    range width of numeric columns: ``{"age": (0, 110, 5)}``. ``baseline="tau"`` and ``"m-invariance"`` are the printed
    algorithms, for comparison.

    With ``TauSafety(m) & KAnonymity(k)`` the groups are batches: sensitive values are published by batch, and quasi
    values by buckets of at least k people, independent of batches. Buckets are formed from quasi values alone, without
    groups, sensitive values or counterfeits. So the published labels of a person follow from quasi values and group
    membership, which the adversary of ``TauSafety`` knows: they disclose nothing more.

    On its own it makes a first release that cannot be continued; :class:`reticent.methods.series.History` (``reticent
    republish``) keeps the state for the next one.

    Guarantee: the definition's. Adversary: the definition's. Cost: O(n log n), with windows of at most 128 rows per
    value for matching by distance. Source: [Anjum2013], chapter 4, with corrections.

    Example:
        >>> import reticent as rt
        >>> values = ["asthma", "cold", "flu", "gout", "ulcer"]
        >>> rows = {"person": list(range(20)), "age": list(range(30, 50)), "illness": values * 4}
        >>> table = rt.Table(rows, quasi=["age"], sensitive="illness", identifiers=["person"])
        >>> release = rt.publish(table, rt.TauSafety(2), rt.Republish(values), insecure_seed=1)
        >>> int(release.groups.sizes.min()) >= 2
        True
    """

    domain: Sequence[Any] | None = parameter(None, stated="never")
    choice: Choice = parameter("near", stated="always")
    balance: Balance = parameter("filled", stated="always")
    ranges: Mapping[str, Sequence[Any]] | None = parameter(None, stated="never")
    baseline: Baseline | None = None
    _place: SeriesPosition | None = field(default=None, repr=False, compare=False)

    keeps: ClassVar[frozenset[Kind]] = frozenset({"groups", "history"})
    streams: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, value, options in (
            ("choice", self.choice, get_args(Choice)),
            ("balance", self.balance, get_args(Balance)),
            ("baseline", self.baseline, (None, *get_args(Baseline))),
        ):
            if value not in options:
                option_list = ", ".join(repr(option) for option in options if option is not None)
                raise PolicyError(
                    f"Republish: {name} must be one of {option_list}, but it is {value!r}.",
                    setting=(name,),
                    value=value,
                )
        _check_domain(self.domain)
        if self.ranges is not None and not isinstance(self.ranges, Mapping):
            raise PolicyError(
                f"Republish: ranges must map columns to (lowest, highest, width), but it is {self.ranges!r}.",
                setting=("ranges",),
                value=self.ranges,
            )

    def refusal(self, table: Table, definition: Definition) -> str | None:
        """Return why the request is not supported: it needs one series definition, one row per person, one sensitive column and a declared domain."""
        series_parts = [part for part in definition.parts() if isinstance(part, TauSafety | MInvariance)]
        anonymity_parts = [part for part in definition.parts() if isinstance(part, KAnonymity)]
        if (
            len(series_parts) != 1
            or len(anonymity_parts) > 1
            or len(series_parts) + len(anonymity_parts) != len(definition.parts())
        ):
            return f"Republish supports one series definition, TauSafety(m), optionally with KAnonymity(k), not {definition}. Use another method for other definitions."
        if anonymity_parts and (
            self.baseline is not None or anonymity_parts[0].quasi is not None or anonymity_parts[0].k < 2
        ):
            return f"Republish supports KAnonymity(k) over all quasi columns with k of at least 2 and without a baseline, not {definition}."
        if len(table.sensitive) != 1:
            return f"Republish protects one sensitive column, but the table has {len(table.sensitive) or 'none'}. Give one column the role sensitive."
        if not table.quasi:
            return "Republish needs at least one quasi column."
        if table.several_rows:
            return "Republish needs one row per person, but several rows of this table may belong to one person. Aggregate them first."
        if table.declared or table.pseudonyms:
            return "A series publishes quasi columns and the sensitive column only: declared columns and pseudonyms would link people across releases."
        if table.quasi_sets:
            return "Republish assumes that all quasi values are known; remove quasi_sets."
        if self.domain is None:
            return "Republish needs domain: list every sensitive value that can ever occur, from public knowledge, not from the rows."
        return self.domain_refusal(series_parts[0])

    def domain_refusal(self, definition: TauSafety | MInvariance) -> str | None:
        """Return why the rules do not satisfy the definition, or why the domain is too small; otherwise None."""
        return _unkept(definition, self.baseline, len(self.domain or ()))

    def draft(self, table: Table, definition: Definition, context: Context | None = None) -> Draft:
        """Return the next release, and the state after it."""
        context = context or Context()
        reason = self.refusal(table, definition)
        if reason is not None:
            raise PolicyError(reason, setting=("method", "name"))
        part = next(part for part in definition.parts() if isinstance(part, TauSafety | MInvariance))
        k = next((part.k for part in definition.parts() if isinstance(part, KAnonymity)), 0)
        rules = PublishingRules(part.m, self.choice, self.balance, self.baseline)
        place_in = self._place or SeriesPosition(None, None, PersonMarks(_NO_SECRET), alone)
        state = place_in.state
        context.step("comparing with the release before")
        ranges = settled_ranges(table, self.ranges) if state is None else dict(state.ranges)
        scales = scales_of(table, ranges)
        snapshot = self.snapshot(table, scales)
        diff = bind(snapshot, state, place_in.marks, rules)
        shuffler = Shuffler(context.randomness)
        placement = place(diff.rows, rules, len(self.domain or ()), shuffler, first=state is None, context=context)
        context.step("generalizing groups")
        inside = np.flatnonzero(placement.group_of >= 0)
        buckets = divide_people(snapshot.points[inside], k, shuffler) if k else None
        return self._drafted(table, rules, place_in, ranges, scales, snapshot, diff, placement, k, buckets)

    def describe(self) -> dict[str, Any]:
        """The method and its public parameters."""
        return described(self)

    def snapshot(self, table: Table, scales: Sequence[QuasiScale]) -> Snapshot:
        """Return the table as columns of keys, value codes and scaled quasi values."""
        codes = self.codes(table.values(next(iter(table.sensitive))))
        columns = [scale.scaled(table.values(scale.column)) for scale in scales]
        quasi = pl.DataFrame([table.values(name) for name in table.quasi])
        keys = table.values(table.key) if table.key is not None else pl.Series("key", np.arange(table.rows))
        return Snapshot(keys, quasi, codes, np.stack(columns, axis=1))

    def codes(self, values: pl.Series) -> Ints:
        """Return sensitive values as codes of the domain; an undeclared value raises a :class:`DataError`."""
        domain = self._domain(values.name, values.dtype)
        codes = (
            pl.DataFrame({"value": values.cast(domain.dtype)})
            .join(
                pl.DataFrame({"value": domain}).with_row_index("code"), on="value", how="left", maintain_order="left"
            )["code"]
            .cast(pl.Int64)
        )
        if codes.null_count():
            value = values.filter(codes.is_null())[0]
            texts = [str(value) for value in domain.to_list()]
            raise DataError(
                f"Column {values.name!r} has the value {value!r}, which is not in the declared domain.{did_you_mean(str(value), texts)} Append it to domain if it can occur; values that "
                "were declared must stay.",
                column=values.name,
                value=value,
            )
        return codes.to_numpy()

    def _domain(self, name: str, dtype: pl.DataType) -> pl.Series:
        """Return the declared values in the type of the sensitive column."""
        dtype = pl.String() if dtype == pl.Categorical or dtype == pl.Enum else dtype
        try:
            return pl.Series(name, list(self.domain or ()), dtype=dtype, strict=True)
        except (TypeError, pl.exceptions.PolarsError):
            raise DataError(
                f"The declared domain does not have the type {dtype} of column {name!r}.",
                column=name,
                setting=("domain",),
            ) from None

    def _drafted(
        self,
        table: Table,
        rules: PublishingRules,
        series: SeriesPosition,
        ranges: dict[str, ColumnRange],
        scales: Sequence[QuasiScale],
        snapshot: Snapshot,
        diff: SnapshotDiff,
        placement: Placement,
        k: int,
        buckets: Ints | None,
    ) -> Draft:
        """Return the draft of the release that assigns people to groups by ``placement``: its boxes, the state after it, its
        private figures and its evidence. With ``k``, boxes are those of the ``buckets`` of people.
        """
        placed_rows = np.flatnonzero(placement.group_of >= 0)
        if not len(placed_rows):
            raise Infeasible(
                f"Nobody of this table can be published yet: all {len(snapshot.keys)} people are new or changed, and must wait for people with different sensitive values. "
                "Publish when there are more."
            )
        group_of, quasi = placement.group_of[placed_rows], snapshot.quasi[placed_rows]
        people = PeopleByGroup.of(group_of, len(placement.counterfeits))
        box_people = people if buckets is None else PeopleByGroup.of(buckets, int(buckets.max()) + 1)
        boxes = [scale.boxes(quasi[scale.column], box_people, not rules.hardened) for scale in scales]
        offsets, values = flat_rows(placement.signatures)
        all_gone, left = gone_after(series.state, snapshot, diff, placement, series.marks)
        number = 1 if series.state is None else series.state.release.number + 1
        gone = all_gone.remembered(number + 1 - series.retention) if series.retention else all_gone
        known_orders = {} if series.state is None else series.state.orders
        orders = {scale.column: merged_order(known_orders.get(scale.column), scale.order()) for scale in scales}
        release = SeriesRelease(
            number=number,
            people=snapshot.keys.gather(placed_rows),
            group_of=group_of,
            value_of=snapshot.value[placed_rows],
            quasi=quasi,
            events=diff.events[placed_rows],
            left=left,
            offsets=offsets,
            values=values,
            counterfeits=placement.counterfeits,
            buckets=buckets,
            **positions_of(boxes, orders),
        )
        waiting = table.held.frame()[np.flatnonzero(placement.group_of < 0)]
        after = HistoryState(
            release,
            gone,
            waiting,
            tuple(self.domain or ()),
            ranges,
            orders,
            pl.DataFrame(
                [
                    bounds
                    for box in boxes
                    for bounds in (box.low.alias(f"{box.low.name} low"), box.high.alias(f"{box.high.name} high"))
                ]
            ),
            forgotten=_forgotten(series.state, all_gone, gone),
        )
        change = PublishedChange(
            events=diff.counts(),
            counterfeits=int(placement.counterfeits.sum()),
            needed=placement.needed,
            waiting=placement.held_back + placement.unplaced,
            fresh=placement.fresh,
            eligibility=placement.eligibility,
            small_groups=int((people.sizes < rules.m).sum()),
            groups=len(people.sizes),
            people=len(placed_rows),
            deleted_map=len(gone),
            forgotten=len(all_gone) - len(gone),
            buckets=0 if buckets is None else len(box_people.sizes),
        )
        evidence = self._evidence(table, series.state, after, rules, box_people)
        return Draft(
            format=FORMAT if buckets is None else BATCH_FORMAT,
            tables=self._tables(table, release, boxes),
            evidence=evidence,
            method=self.describe(),
            details={
                "m": rules.m,
                "number": release.number,
                "follows": series.follows,
                "choice": rules.choice,
                "balance": rules.balance,
                "baseline": rules.baseline,
                **({"retention": series.shortest_retention} if series.shortest_retention else {}),
                **({} if buckets is None else {"k": k}),
            },
            meanings={box.labels.name: box.meanings for box in boxes},
            measured={"counterfeits": float(change.counterfeits)},
            search=change.as_json(),
            beside=series.beside,
            outcome=None if self._place is None else SnapshotOutcome(after, change, series.store),
        )

    def _tables(self, table: Table, release: SeriesRelease, boxes: Sequence[ColumnBoxes]) -> dict[str, FrameRows]:
        """Return the public rows, people and counterfeits alike, and the counterfeits of each group; for batches, boxes
        and values in separate tables.

        The table of boxes then lists people only: the number of people in a batch is public anyway, and a counterfeit
        has no box that could identify it.
        """
        group, count = (unused(name, table.schema) for name in (GROUP if release.buckets is None else BATCH, COUNT))
        owner = np.repeat(np.arange(len(release)), release.sizes)
        sensitive = next(iter(table.sensitive))
        domain = self._domain(sensitive, table.schema[sensitive])
        # Sorted as enums, so that rows are sorted and written without comparing text.
        coded = domain.cast(pl.Enum(domain.sort())) if domain.dtype == pl.String else domain
        values = coded.gather(release.values)
        fake_groups = np.flatnonzero(release.counterfeits)
        counterfeit_rows = FrameRows(pl.DataFrame({group: fake_groups + 1, count: release.counterfeits[fake_groups]}))
        labels = {
            box.labels.name: box.labels.gather(owner if release.buckets is None else release.buckets) for box in boxes
        }
        if release.buckets is None:
            return {
                COUNT: counterfeit_rows,
                "data": CodedRows(pl.DataFrame({group: owner + 1, **labels, values.name: values})),
            }
        return {
            BATCHES: CodedRows(pl.DataFrame({group: owner + 1, values.name: values})),
            COUNT: counterfeit_rows,
            PEOPLE: CodedRows(pl.DataFrame({group: release.group_of + 1, **labels})),
        }

    def _evidence(
        self,
        table: Table,
        before: HistoryState | None,
        after: HistoryState,
        rules: PublishingRules,
        box_people: PeopleByGroup,
    ) -> Evidence:
        """Return the groups as an adversary sees them, and the last two releases with those who left (safety over time is
        judged step by step); for batches, also the boxes.
        """
        release = after.release
        sensitive = next(iter(table.sensitive))
        column = SensitiveColumn(sensitive, self._domain(sensitive, table.schema[sensitive]))
        histograms = Histograms(
            release.offsets, release.values.astype(np.int32), np.ones(len(release.values), dtype=np.int64)
        )
        groups = Groups(release.sizes, histograms, histograms.total(column.size), SensitiveDomain.single(column))
        steps = (release,) if before is None else (before.release, release)
        series = PublishedSeries(after.domain, rules.m, column.name, after.orders, steps)
        gone = None if before is None else before.gone
        marks = self._place.marks if self._place is not None else PersonMarks(_NO_SECRET)
        history = SeriesEvidence((groups,), series, gone, marks)
        alike = None if release.buckets is None else Evidence({tuple(table.quasi): _of_people(box_people.sizes)})
        return Evidence({tuple(table.quasi): groups}, history=history, alike=alike)


def _forgotten(state: HistoryState | None, all_gone: DeletedPeople, remembered: DeletedPeople) -> pl.Series:
    """Return the hashes of all people of whom nothing else is kept: earlier ones, and those forgotten now."""
    newly_forgotten = all_gone.marks.filter(~all_gone.marks.is_in(remembered.marks.implode()))
    return newly_forgotten if state is None else pl.concat([state.forgotten, newly_forgotten])


def _of_people(sizes: Ints) -> Groups:
    """Return groups of the given sizes without information about values."""
    domain = SensitiveDomain.none()
    histograms = Histograms(np.arange(len(sizes) + 1), np.zeros(len(sizes), dtype=np.int32), sizes)
    return Groups(sizes, histograms, histograms.total(domain.size), domain)


def _unkept(definition: TauSafety | MInvariance, baseline: Baseline | None, values: int) -> str | None:
    """Return why the rules do not satisfy the definition, or why the domain is too small; otherwise None."""
    supported = {
        None: TauSafety(definition.m),
        "tau": TauSafety(definition.m, hardened=False),
        "m-invariance": MInvariance(definition.m),
    }[baseline]
    if definition != supported:
        setting = f"baseline={baseline!r}" if baseline is not None else "without a baseline"
        return f"Republish {setting} supports {supported}, not {definition}."
    minimum = 3 * definition.m - 1
    if values < minimum:
        return (
            f"The declared domain has {values} values, and m = {definition.m} needs at least {minimum}: a person whose value changes needs a signature disjoint from the old one. "
            f"Declare all values that can occur, or use m = {max((values + 1) // 3, 1)}."
        )
    return None


def _check_domain(domain: Any) -> None:
    """Refuse a domain that is not a list of distinct plain values."""
    if domain is None:
        return
    if isinstance(domain, str) or not isinstance(domain, Sequence):
        raise PolicyError(
            f"Republish: domain must be a list of values, but it is {domain!r}.", setting=("domain",), value=domain
        )
    if any(value is None or isinstance(value, list | tuple | dict) for value in domain):
        raise PolicyError(
            f"Republish: domain must list plain values without nulls, but it is {list(domain)!r}.",
            setting=("domain",),
            value=domain,
        )
    if len(set(domain)) != len(domain):
        repeated = next(value for value in domain if list(domain).count(value) > 1)
        raise PolicyError(f"Republish: domain lists {repeated!r} twice.", setting=("domain",), value=repeated)


def divide_people(points: NDArray[np.float64], k: int, shuffler: Shuffler) -> Ints:
    """Return the bucket of each person, from scaled quasi values: at least ``k`` people each, numbered at random.

    A bucket is split at the median of its widest column while both halves have ``k`` people. Only quasi values are
    used, and people with equal values are separated at random, so buckets disclose nothing about groups or sensitive
    values. :class:`Infeasible` if there are fewer than ``k`` people.
    """
    if len(points) < k:
        raise Infeasible(
            f"The release would have {len(points)} people, fewer than k = {k}. Publish when there are more, or start a series with a smaller k.",
            setting=("k",),
            value=k,
        )
    order = shuffler.order(len(points))
    first = np.zeros(len(points), dtype=np.bool_)
    halve(points, order, k, first)
    number = shuffler.order(int(first.sum()))
    buckets = np.empty(len(points), dtype=np.int64)
    buckets[order] = number[np.cumsum(first) - 1]
    return buckets
