"""Core of the publisher: assign everyone in the next release to groups whose signatures are safe given all earlier releases.

Rows are columns, each with its constraint: a group that continues unchanged, a signature to keep, a signature to avoid,
or none. Rows with one signature are a *bucket*. The result is a :class:`Placement`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from reticent.base.context import Context
from reticent.base.packing import sort_equal
from reticent.base.ragged import ranks_among_equal, starts_of
from reticent.errors import Infeasible
from reticent.methods.series._kernels import fill_vacancies, join_changed, match_near, sign_by_supply, split_regions
from reticent.methods.series.group_formation import Shuffler, assign_steps, is_eligible, missing_for_eligibility
from reticent.methods.series.hilbert import curve_order, grid_bits
from reticent.methods.series.signatures import SignatureBook

Ints = NDArray[np.int64]
Choice = Literal["near", "random", "bang"]
Balance = Literal["filled", "blind", "blocks"]
Baseline = Literal["tau", "m-invariance"]

_WINDOW = 128
_EXACT = 64
_TRIES = 64
_FRESH_AT_ONCE = 1 << 22
_MOST_KNOWN = 10_000


@dataclass(frozen=True)
class PublishingRules:
    """The publishing rules of a series, fixed for all of its releases.

    With ``balance="blocks"`` a person's signature is the block of the declared domain that contains the value
    (:func:`domain_blocks`), independent of the rows. Without a ``baseline`` the publisher is hardened. ``"tau"`` and
    ``"m-invariance"`` are the printed algorithms, for comparison: changed people count as new, groups are formed anew
    each time, and rows that are not eligible get counterfeits (tau) or block the release (m-invariance).
    """

    m: int
    choice: Choice = "near"
    balance: Balance = "filled"
    baseline: Baseline | None = None

    @property
    def hardened(self) -> bool:
        """True if signatures across a change are equal or disjoint, and groups stay together."""
        return self.baseline is None

    @property
    def near(self) -> bool:
        """True if group members are chosen by proximity; m-invariance as printed chooses at random."""
        return self.choice != "random" and self.baseline != "m-invariance"


@dataclass(frozen=True)
class BoundRows:
    """The rows of a snapshot: their ``value`` and ``points`` (scaled quasi values), and their constraints.

    ``stays`` is the group of the previous release that continues unchanged, ``bound`` a signature of the ``book`` to
    keep, ``avoid`` one that the new signature must be disjoint from; each is -1 if absent. Rows with none of them are
    arrivals. ``kept`` is the signature of each group of the previous release.
    """

    value: Ints
    points: NDArray[np.float64]
    stays: Ints
    bound: Ints
    avoid: Ints
    book: SignatureBook
    kept: Ints


@dataclass(frozen=True)
class Placement:
    """The assignment: the group of each row (-1: waiting), the signature of each group as padded rows, and its counterfeits.

    ``held_back`` arrivals wait because arrivals as a whole were not m-eligible; ``unplaced`` changed rows wait because
    no disjoint signature exists. ``fresh`` changed rows got a new signature, and ``needed`` is the lower bound of the
    counterfeits required for balance. ``eligibility`` counterfeits exist because new rows must be m-eligible: the
    printed algorithm adds them to the rows, otherwise they fill vacancies that arrivals left to accompany the most
    frequent value. Unless balance is blind, the number of counterfeits is ``needed + eligibility``, and no choice of
    arrivals for the vacancies needs fewer.
    """

    group_of: Ints
    signatures: Ints
    counterfeits: Ints
    held_back: int = 0
    unplaced: int = 0
    fresh: int = 0
    eligibility: int = 0
    needed: int = 0


def place(
    rows: BoundRows, rules: PublishingRules, domain: int, shuffler: Shuffler, *, first: bool, context: Context
) -> Placement:
    """Assign every row. In the first release of a series nobody can wait: it is :class:`Infeasible` if its rows are not m-eligible.

    Guarantee: every group has at least m distinct values, each once; ``bound`` rows keep their signature, and changed
    rows avoid their old one. Adversary: that of :class:`reticent.methods.series.TauSafety`. Cost: O(n log n); matching
    by distance uses windows of at most 128 rows per value. Source: [Anjum2013], chapter 4, with corrections.
    """
    work = _Placing(rows, rules, domain, shuffler)
    if rules.balance == "blocks":
        context.step("placing people in blocks of values")
        work.place_in_blocks()
        return work.grouped()
    if rules.hardened:
        context.step("placing changed people")
        work.place_changed()
    context.step("placing arrivals")
    work.place_arrivals(first)
    context.step("making groups")
    return work.grouped()


class _Placing:
    """State of one assignment: the signature of each row so far. Mutable: each step assigns further rows."""

    def __init__(self, rows: BoundRows, rules: PublishingRules, domain: int, shuffler: Shuffler) -> None:
        """Start with the rows whose signature is bound; the counters say why the others wait, or need counterfeits."""
        self.rules, self.domain, self.shuffler = rules, domain, shuffler
        self.value, self.points, self.stays = rows.value, rows.points, rows.stays
        self.avoid, self.book, self.kept = rows.avoid, rows.book, rows.kept
        self.signature = rows.bound.copy()
        self.added = np.zeros(domain, dtype=np.int64)
        self.fakes: list[tuple[int, int, int]] = []
        self.held_back = self.unplaced = self.fresh = self.eligibility = self.needed = 0

    @cached_property
    def _curve_rows(self) -> Ints:
        """All rows to assign in the order of the Hilbert curve, ties at random; computed on first use."""
        rows = np.flatnonzero(self.stays < 0)
        rows_on_curve: Ints = rows[curve_order(self.points[rows], self.shuffler.order(len(rows)))]
        return rows_on_curve

    def _arranged(self, rows: Ints) -> Ints:
        """Return rows in the order in which they are chosen: along the curve, or at random."""
        if not self.rules.near:
            return rows[self.shuffler.order(len(rows))]
        is_chosen = np.zeros(len(self.value), dtype=bool)
        is_chosen[rows] = True
        return self._curve_rows[is_chosen[self._curve_rows]]

    def place_in_blocks(self) -> None:
        """Assign everyone whose group does not continue to the block of their value, one of the fixed disjoint sets of values
        into which the domain is divided; counterfeits fill every block up to its most frequent value.

        Across any change or return, the old and the new block are equal or disjoint. So no state is needed, nobody
        waits, and only the counts depend on values.
        """
        rows = np.flatnonzero(self.stays < 0)
        blocks = domain_blocks(self.domain, self.rules.m)
        width = max(map(len, blocks))
        padded = np.array([[*block, *[-1] * (width - len(block))] for block in blocks], dtype=np.int64)
        block_of = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
        self.signature[:] = -1
        self._sign(rows, padded, block_of[self.value[rows]])
        self.needed = int(self._vacancies()[2].sum())

    def place_changed(self) -> None:
        """Assign people whose new value is outside their old signature: to vacancies, to common groups, or to a new signature.

        With blind balance no person's value affects another's assignment: everyone gets a new signature, sampled
        uniformly among the possible ones.
        """
        rows = np.flatnonzero(self.avoid >= 0)
        if not len(rows):
            return
        rows = rows[self.shuffler.order(len(rows))]
        if self.rules.balance == "filled":
            rows = self._into_vacancies(rows)
            rows = self._together(rows)
            rows = self._with_arrivals(rows)
        self._afresh(rows)

    def _into_vacancies(self, rows: Ints) -> Ints:
        """Assign rows to vacancies of their value in signatures disjoint from the avoided one; return the rows without one."""
        signature, value_index, vacant = self._vacancies()
        if not len(vacant):
            return rows
        value = self.book.rows[signature, value_index]
        order = np.lexsort((self.shuffler.order(len(value)), -vacant, value))
        starts = np.searchsorted(value[order], np.arange(self.domain + 1))
        signature_of = np.full(len(self.value), -1, dtype=np.int64)
        fill_vacancies(
            rows, self.value, self.avoid, self.book.rows, starts, signature[order], vacant[order], signature_of
        )
        self.signature[rows] = signature_of[rows]
        return rows[signature_of[rows] < 0]

    def _together(self, rows: Ints) -> Ints:
        """Form new groups of m rows with distinct values and signatures that no member avoids; return the rows without one."""
        if len(rows) < self.rules.m:
            return rows
        stack = rows[np.argsort(self.value[rows], kind="stable")]
        starts = np.searchsorted(self.value[stack], np.arange(self.domain + 1))
        group = np.full(len(self.value), -1, dtype=np.int64)
        rank, known_signatures = self.shuffler.order(self.domain), self._known_signatures()
        groups = join_changed(
            stack, starts, rank, self.avoid, self.book.rows, known_signatures, self.rules.m, _TRIES, group
        )
        members = rows[group[rows] >= 0]
        members = members[np.lexsort((self.value[members], group[members]))]
        self._sign(
            members, self.value[members].reshape(groups, self.rules.m), np.repeat(np.arange(groups), self.rules.m)
        )
        return rows[group[rows] < 0]

    def _with_arrivals(self, rows: Ints) -> Ints:
        """Assign rows to signatures of their value and values of arrivals, who fill the vacancies later (ASSIGN, restricted to
        signatures disjoint from the avoided ones); return the rows without one.
        """
        if not len(rows):
            return rows
        signed = np.empty((len(rows), self.rules.m), dtype=np.int64)
        supply, rank, known_signatures = (
            self._counted(self._arrivals),
            self.shuffler.order(self.domain),
            self._known_signatures(),
        )
        is_signed: NDArray[np.bool_] = sign_by_supply(
            rows, self.value, self.avoid, self.book.rows, known_signatures, supply, rank, self.rules.m, signed
        )
        if is_signed.any():
            self._sign(rows[is_signed], np.sort(signed[is_signed], axis=1), np.arange(int(is_signed.sum())))
        unsigned: Ints = rows[~is_signed]
        return unsigned

    def _known_signatures(self) -> Ints:
        """Return signatures of m values that changed people may join: most frequent first, ties at random, limited in number."""
        candidates = np.flatnonzero(self.book.sizes == self.rules.m)
        is_assigned = self.signature >= 0
        people = np.bincount(self.signature[is_assigned], minlength=len(self.book))
        people += np.bincount(self.kept[self.stays[self.stays >= 0]], minlength=len(self.book))
        order: Ints = candidates[np.lexsort((self.shuffler.order(len(candidates)), -people[candidates]))]
        return order[:_MOST_KNOWN]

    @property
    def _arrivals(self) -> Ints:
        return np.flatnonzero((self.signature < 0) & (self.avoid < 0) & (self.stays < 0))

    def _afresh(self, rows: Ints) -> None:
        """Assign each row to a new signature, sampled uniformly from the sets of m values that contain its value and no value
        of its old signature; rows without such a set wait.
        """
        others_needed = self.rules.m - 1
        available = self.domain - 1 - self.book.sizes[self.avoid[rows]]
        self.unplaced += int((available < others_needed).sum())
        rows = rows[available >= others_needed]
        self.fresh += len(rows)
        signatures = np.empty((len(rows), self.rules.m), dtype=np.int64)
        step = max(1, _FRESH_AT_ONCE // self.domain)
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            keys = self.shuffler.numbers(len(part) * self.domain).reshape(len(part), self.domain)
            avoided = self.book.rows[self.avoid[part]]
            row_index, position = np.nonzero(avoided >= 0)
            keys[row_index, avoided[row_index, position]] = np.iinfo(np.int64).max
            keys[np.arange(len(part)), self.value[part]] = -1
            sampled = (
                np.argpartition(keys, others_needed, axis=1)[:, : self.rules.m]
                if others_needed
                else self.value[part][:, None]
            )
            signatures[begin : begin + step] = np.sort(sampled, axis=1)
        if len(rows):
            self._sign(rows, signatures, np.arange(len(rows)))

    def place_arrivals(self, first: bool) -> None:
        """Assign new people: to vacancies if balance is filled, the rest to new groups; all of them wait if the rest is not eligible."""
        m = self.rules.m
        arrivals = self._arrivals
        signature, value_index, vacant = self._vacancies()
        self.needed = _lower_bound(self.book.rows[signature, value_index], vacant, self.value[arrivals], self.domain)
        supply = self._counted(arrivals)
        used, signatures = self._balanced(arrivals, signature, value_index, vacant)
        remaining = supply - self._counted(used)
        if self.rules.baseline == "tau":
            self._fake_for_eligibility(remaining)
        elif not is_eligible(remaining, m):
            staying = self._given_back(used, remaining)
            if staying is None:
                self._wait(arrivals, supply, first)
                return
            self.eligibility = len(used) - len(staying)
            used, signatures = used[staying], signatures[staying]
        self.signature[used] = signatures
        self._assign(np.setdiff1d(arrivals, used, assume_unique=True))

    def _counted(self, rows: Ints) -> Ints:
        return np.bincount(self.value[rows], minlength=self.domain).astype(np.int64)

    def _wait(self, arrivals: Ints, supply: Ints, first: bool) -> None:
        """Let all arrivals wait: which of them wait must not depend on their values."""
        worst, total = int(supply.max()), int(supply.sum())
        if first or self.rules.baseline is not None:
            raise Infeasible(
                f"{'The first release' if first else 'The new rows'} cannot be partitioned into groups of {self.rules.m} different sensitive values: the most frequent "
                f"value has {worst} of {total} rows, but at most 1/{self.rules.m} may have the same value. Use a smaller m, merge frequent values, or wait for more rows.",
                setting=("m",),
                value=self.rules.m,
            )
        self.held_back = len(arrivals)

    def _balanced(self, arrivals: Ints, signature: Ints, position: Ints, vacant: Ints) -> tuple[Ints, Ints]:
        """Return the arrivals that fill vacancies of their value, and the signature of each; none if balance is blind.

        A vacancy is given by its signature, the index of its value in it (``position``) and the number of missing rows (``vacant``).
        """
        if self.rules.balance == "blind" or not len(vacant) or not len(arrivals):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        vacancies = np.repeat(signature, vacant)
        value = np.repeat(self.book.rows[signature, position], vacant)
        shuffled, candidates = self.shuffler.order(len(vacancies)), self._arranged(arrivals)
        vacancies, value = vacancies[shuffled], value[shuffled]
        order, row_order = (sort_equal(value_code, self.domain)[0] for value_code in (value, self.value[candidates]))
        vacancies, candidates = vacancies[order], candidates[row_order]
        vacancy_starts, row_starts = (
            np.searchsorted(sorted_values, np.arange(self.domain + 1))
            for sorted_values in (value[order], self.value[candidates])
        )
        centres = self._centres() if self.rules.near else None
        used, signatures = [], []
        for value_code in range(self.domain):
            signatures_of_value, rows = (
                vacancies[vacancy_starts[value_code] : vacancy_starts[value_code + 1]],
                candidates[row_starts[value_code] : row_starts[value_code + 1]],
            )
            count = min(len(signatures_of_value), len(rows))
            if not count:
                continue
            if centres is not None:
                rows, signatures_of_value = self._nearest(rows, signatures_of_value, centres)
            used.append(rows[:count])
            signatures.append(signatures_of_value[:count])
        if not used:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        return np.concatenate(used), np.concatenate(signatures)

    def _centres(self) -> NDArray[np.float64]:
        """Return the mean of the rows of each bucket."""
        rows = np.flatnonzero(self.signature >= 0)
        signatures = self.signature[rows]
        counts = np.maximum(np.bincount(signatures, minlength=len(self.book)), 1)
        sums = [
            np.bincount(signatures, self.points[rows, column], len(self.book)) for column in range(self.points.shape[1])
        ]
        centres: NDArray[np.float64] = np.array(sums).T.reshape(len(self.book), -1) / counts[:, None]
        return centres

    def _nearest(self, rows: Ints, vacancies: Ints, centres: NDArray[np.float64]) -> tuple[Ints, Ints]:
        """Return rows and vacancies (signatures) in an order in which the i-th row takes the i-th vacancy: matched at minimal
        distance from the signatures' ``centres`` in windows of the curve, then the remaining ones in the curve's order.
        """
        from scipy.optimize import linear_sum_assignment

        vacancies = vacancies[curve_order(centres[vacancies], np.arange(len(vacancies)))]
        windows = -(-max(len(rows), len(vacancies)) // _EXACT)
        matched_rows, matched_cells = [], []
        free_rows, free_cells = np.ones(len(rows), dtype=bool), np.ones(len(vacancies), dtype=bool)
        for number in range(windows):
            low, high = (len(rows) * window // windows for window in (number, number + 1))
            begin, end = (len(vacancies) * window // windows for window in (number, number + 1))
            gaps = self.points[rows[low:high], None, :] - centres[vacancies[begin:end]][None, :, :]
            row_match, cell_match = linear_sum_assignment((gaps**2).sum(axis=2))
            matched_rows.append(rows[low + row_match])
            matched_cells.append(vacancies[begin + cell_match])
            free_rows[low + row_match] = free_cells[begin + cell_match] = False
        return np.concatenate([*matched_rows, rows[free_rows]]), np.concatenate([*matched_cells, vacancies[free_cells]])

    def _given_back(self, used: Ints, remaining: Ints) -> Ints | None:
        """Return which of the ``used`` arrivals may stay in vacancies so that the others are eligible; None if impossible.

        As many return as are missing, and none above the count c of the most frequent value. If these are too few, no
        choice works: with counts up to L there are at most sum(min(supply, L)) rows, of which m * L are needed, and
        that difference, concave and 0 at L = 0, stays negative above c.
        """
        spare = np.maximum(int(remaining.max()) - remaining, 0)
        return_count = missing_for_eligibility(remaining, self.rules.m)
        order = self.shuffler.order(len(used))
        returnable = order[ranks_among_equal(self.value[used[order]]) < spare[self.value[used[order]]]]
        if len(returnable) < return_count:
            return None
        is_staying = np.ones(len(used), dtype=bool)
        is_staying[returnable[:return_count]] = False
        return np.flatnonzero(is_staying)

    def _fake_for_eligibility(self, value_counts: Ints) -> None:
        """Add counterfeits as the printed algorithm does: of values other than the most frequent, least represented first."""
        missing = missing_for_eligibility(value_counts, self.rules.m)
        self.eligibility, top = missing, int(np.argmax(value_counts))
        for _ in range(missing):
            counts = np.where(np.arange(len(value_counts)) == top, np.iinfo(np.int64).max, value_counts + self.added)
            self.added[np.lexsort((self.shuffler.order(len(value_counts)), counts))[0]] += 1

    def _assign(self, rows: Ints) -> None:
        """Assign rows to new groups step by step; missing values are filled by counterfeits."""
        counts = self._counted(rows) + self.added
        rows = self._arranged(rows)
        order = sort_equal(self.value[rows], self.domain)[0]
        starts = np.searchsorted(self.value[rows[order]], np.arange(self.domain + 1))
        rows_by_value = [order[starts[value] : starts[value + 1]] for value in range(self.domain)]
        members, signatures, number = [], [], []
        for step, signature in enumerate(assign_steps(counts, self.rules.m, self.shuffler.order)):
            signatures.append(sorted(signature.values))
            scarcest = min(signature.values, key=lambda value: len(rows_by_value[value]) or np.inf)
            seed = (
                rows_by_value[scarcest][int(self.shuffler.numbers(1)[0]) % len(rows_by_value[scarcest])]
                if len(rows_by_value[scarcest])
                else -1
            )
            for value in signature.values:
                count = min(signature.alpha, len(rows_by_value[value]))
                members_of_value, rows_by_value[value] = self._taken(rows_by_value[value], count, int(seed))
                members.append(members_of_value)
                number.append(np.full(len(members_of_value), step, dtype=np.int64))
                if count < signature.alpha:
                    self.fakes.append((step, value, signature.alpha - count))
        if not signatures:
            return
        width = max(map(len, signatures))
        padded_signatures = np.array(
            [signature + [-1] * (width - len(signature)) for signature in signatures], dtype=np.int64
        )
        numbers = self._sign(rows[np.concatenate(members)], padded_signatures, np.concatenate(number))
        self.fakes = [(int(numbers[step]), value, count) for step, value, count in self.fakes]

    def _taken(self, indices: Ints, count: int, seed: int) -> tuple[Ints, Ints]:
        """Return ``count`` of some increasing row positions, and the others: those nearest to the ``seed`` on the curve or, if
        rows are in random order, the first.
        """
        begin = 0
        if self.rules.near and seed >= 0 and count < len(indices):
            rank = int(np.searchsorted(indices, seed))
            begin = min(max(rank - count // 2, 0), len(indices) - count)
        return indices[begin : begin + count], np.concatenate([indices[:begin], indices[begin + count :]])

    def _sign(self, rows: Ints, signatures: Ints, number: Ints) -> Ints:
        """Assign row ``i`` to the padded signature ``signatures[number[i]]``; return the indexes of ``signatures`` in the book, to which new ones are added."""
        self.book, added = self.book.with_more(signatures)
        self.signature[rows] = added[number]
        return added

    def _cells(self, rows: Ints) -> Ints:
        """Return the cell of each row: its bucket, and the index of its value there."""
        signatures = self.signature[rows]
        return signatures * self.book.width + self.book.places(signatures, self.value[rows])

    def _vacancies(self) -> tuple[Ints, Ints, Ints]:
        """Return the vacancies of every bucket, which become counterfeits if unfilled: signature, value index and number."""
        rows = np.flatnonzero(self.signature >= 0)
        counts = np.bincount(self._cells(rows), minlength=len(self.book) * self.book.width).reshape(
            self.book.rows.shape
        )
        vacant = np.where(self.book.rows >= 0, counts.max(axis=1, initial=0)[:, None] - counts, 0)
        signature, value_index = np.nonzero(vacant)
        return signature.astype(np.int64), value_index.astype(np.int64), vacant[signature, value_index].astype(np.int64)

    def grouped(self) -> Placement:
        """Return the final assignment: the rows of every signature are partitioned into groups of one row per value, in addition to
        the groups that continue; groups are numbered at random.
        """
        rows = self._arranged(np.flatnonzero(self.signature >= 0))
        cells, width = self._cells(rows), self.book.width
        order = sort_equal(cells, len(self.book) * width)[0]
        rows, cells = rows[order], cells[order]
        counts = np.bincount(cells, minlength=len(self.book) * width).reshape(len(self.book), width)
        filled = counts.copy()
        for signature, value, count in self.fakes:
            filled[signature, np.flatnonzero(self.book.rows[signature] == value)[0]] += count
        totals = filled.max(axis=1, initial=0).astype(np.int64)
        first = starts_of(totals)
        group_of = self.stays.copy()
        group_of[rows] = len(self.kept) + first[self.signature[rows]] + self._slots(rows, cells, counts, totals, first)
        is_placed = group_of >= 0
        people = np.bincount(group_of[is_placed], minlength=len(self.kept) + int(first[-1]))
        # Drop groups that ended, and groups of counterfeits only, which the printed algorithm's eligibility step may
        # create.
        occupied = np.flatnonzero(people)
        number = np.empty(len(people), dtype=np.int64)
        number[occupied] = shuffled = self.shuffler.order(len(occupied))
        group_of[is_placed] = number[group_of[is_placed]]
        signature_of_group = np.concatenate([self.kept, np.repeat(np.arange(len(self.book)), totals)])[occupied]
        signatures, fakes = np.empty((len(occupied), width), dtype=np.int64), np.empty(len(occupied), dtype=np.int64)
        signatures[shuffled] = self.book.rows[signature_of_group]
        fakes[shuffled] = self.book.sizes[signature_of_group] - people[occupied]
        return Placement(
            group_of, signatures, fakes, self.held_back, self.unplaced, self.fresh, self.eligibility, self.needed
        )

    def _slots(self, rows: Ints, cells: Ints, counts: Ints, totals: Ints, first: Ints) -> Ints:
        """Return each row's group within its bucket; rows are sorted by cell, in the order of choice."""
        starts = starts_of(counts.reshape(-1))
        if not self.rules.near:
            if self.rules.balance == "blocks":
                # Vacancies of a cell are assigned to random groups, so that no group is known to hold only the most
                # frequent value.
                random_groups = [
                    self.shuffler.order(int(totals[cell // self.book.width]))[:count]
                    for cell, count in enumerate(counts.reshape(-1).tolist())
                    if count
                ]
                return np.concatenate([*random_groups, np.empty(0, dtype=np.int64)])
            return np.arange(len(rows)) - starts[cells]
        slot = np.empty(len(self.value), dtype=np.int64)
        if self.rules.choice == "bang":
            value_index = np.empty(len(self.value), dtype=np.int64)
            value_index[rows] = cells % self.book.width
            bits = grid_bits(self.points.shape[1])
            split_regions(self.points, rows, starts, self.book.width, totals, value_index, bits, slot)
            return slot[rows]
        draws = self.shuffler.numbers(int(totals.sum()))
        match_near(self.points, rows, starts, self.book.width, totals, first, draws, _WINDOW, slot)
        return slot[rows]


def domain_blocks(values: int, m: int) -> list[list[int]]:
    """Return the codes of a declared domain in blocks of neighbours, at least ``m`` each and nearly equal in size; public, like the domain."""
    return [block.tolist() for block in np.array_split(np.arange(values), max(values // m, 1))]


def _lower_bound(value: Ints, vacant: Ints, arriving: Ints, domain: int) -> int:
    """Return a lower bound of the counterfeits needed for balance: for each value, the vacancies that arrivals cannot fill."""
    need = np.bincount(value, vacant, domain)
    supply = np.bincount(arriving, minlength=domain)
    return int(np.maximum(need - supply, 0).sum())
