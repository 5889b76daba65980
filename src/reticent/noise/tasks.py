"""The public parameters of a run, and the encoding of a party's rows as shared values.

A count or a histogram is shared cell by cell: for N rows every cell has enough bits for N, N is public, and the parties
check that the cells add up to N. A count is a histogram of zeros and ones of which only the ones are opened. A sum
shares every bit of every row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reticent.base.exact import whole
from reticent.errors import DataError, PolicyError
from reticent.noise import field as gf
from reticent.noise.circuits import products_of_comparison
from reticent.noise.coins import elements_for
from reticent.noise.field import Elements
from reticent.noise.multiplication import triples_for
from reticent.noise.proofs import BatchLayout, BatchSection

if TYPE_CHECKING:
    from reticent.noise.cost_plan import NoisePlan

MOST_CELLS = 100_000
# Maximum number of values that one dealer may share in a run, to bound memory and time.
MOST_SHARINGS = 8_000_000
# Default maximum number of rows a party may declare. More rows cost a sum many sharings, a count or a histogram few.
MOST_ROWS = {"count": 10_000_000, "histogram": 10_000_000, "sum": 100_000}
_SPARE_RANDOMS = 4


@dataclass(frozen=True)
class JointTask:
    """The public parameters of one run, the same for every party.

    ``threshold`` is the degree of the sharing: that many parties together learn nothing. It is at least 1, so that no
    single party learns anything. ``most_rows`` is the maximum number of rows a party may declare, so that a faulty
    party cannot cost the others more time than agreed.
    """

    session: str
    parties: int
    threshold: int
    level: str
    query: str
    cells: int
    bits: int
    law: str
    quota: int
    precision: int
    thresholds: tuple[int, ...]
    epsilon: str
    delta: str
    clients: int = 0
    most_rows: int = MOST_ROWS["histogram"]

    @staticmethod
    def of(
        plan: NoisePlan, session: str, cells: int | None, clients: int = 0, most_rows: int | None = None
    ) -> JointTask:
        """Build the task of a plan; checks what the plan does not cover."""
        if (plan.query == "histogram") != (cells is not None):
            need = "needs cells, the number of its cells" if cells is None else "has no cells"
            raise PolicyError(f"A {plan.query} {need}.", setting=("cells",), value=cells)
        if cells is not None and not (type(cells) is int and 1 <= cells <= MOST_CELLS):
            raise PolicyError(
                f"cells must be a whole number from 1 to {MOST_CELLS:,}, but it is {cells!r}.",
                setting=("cells",),
                value=cells,
            )
        threshold = max(plan.faults, 1)
        exponential = plan.law == "exponential"
        task = JointTask(
            session,
            plan.parties,
            threshold,
            level=plan.level,
            query=plan.query,
            cells=cells or (2 if plan.query == "count" else 1),
            bits=plan.bits,
            law=plan.law,
            quota=0 if exponential else plan.quota,
            precision=plan.precision,
            thresholds=plan.thresholds,
            epsilon=str(plan.epsilon),
            delta=str(plan.delta),
            clients=clients,
            most_rows=MOST_ROWS[plan.query]
            if most_rows is None
            else whole(most_rows, "most_rows", low=1, high=gf.PRIME),
        )
        size = task.layout(0, dealer=0).size
        if size > MOST_SHARINGS:
            raise PolicyError(
                f"Noise for {task.outputs:,} numbers needs {size:,} sharings from each party; the limit is {MOST_SHARINGS:,}. Use fewer cells, a larger epsilon"
                + (", or law='binomial'." if exponential else "."),
                setting=("cells",),
                value=cells,
            )
        return task

    @staticmethod
    def from_json(raw: dict[str, Any]) -> JointTask:
        """What :meth:`to_json` wrote."""
        return JointTask(**{**raw, "thresholds": tuple(raw["thresholds"])})

    def to_json(self) -> dict[str, Any]:
        """The task as plain data."""
        return {**asdict(self), "thresholds": list(self.thresholds)}

    @property
    def digest(self) -> str:
        """A hash of the whole task, by which parties detect a different setup."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @property
    def outputs(self) -> int:
        """Number of noisy numbers in the answer."""
        return self.cells if self.query == "histogram" else 1

    @property
    def coins(self) -> int:
        """Number of coins that all parties deal together."""
        return self.parties * self.quota * self.outputs

    @property
    def hidden_bits(self) -> int:
        """Number of hidden bits for exponential noise."""
        return 2 * self.outputs * len(self.thresholds) * self.precision

    @property
    def randoms(self) -> int:
        """Number of random elements for hidden bits: slightly more, since one in two billion is unusable."""
        return self.hidden_bits + _SPARE_RANDOMS if self.hidden_bits else 0

    @property
    def products(self) -> int:
        """Number of multiplications for exponential noise."""
        return self.randoms + 2 * self.outputs * len(self.thresholds) * products_of_comparison(self.precision)

    def layout(self, rows: int, dealer: int) -> BatchLayout:
        """Return what a dealer with this many rows shares: its rows and, unless it is a client, coins, and random numbers
        for public coins, hidden bits and products.
        """
        width = self.cells * rows.bit_length() if self.query != "sum" else rows * self.bits
        sections = [BatchSection("bits", width)]
        if dealer < self.parties and self.level == "byzantine":
            honest_dealers = self.parties - self.threshold
            sections += [
                BatchSection("bits", self.quota * self.outputs),
                BatchSection("plain", -(-elements_for(self.coins) // honest_dealers)),
                BatchSection("plain", -(-self.randoms // honest_dealers)),
                BatchSection("products", triples_for(self.products, self.parties, self.threshold)),
            ]
        return BatchLayout(tuple(sections), self.threshold)

    def check_rows(self, rows: Sequence[int], owner: str) -> None:
        """Refuse rows that do not fit the query."""
        bound = {"count": 2, "histogram": self.cells, "sum": 1 << self.bits}[self.query]
        for index, value in enumerate(rows):
            if isinstance(value, bool | np.bool_) or not isinstance(value, int | np.integer) or not 0 <= value < bound:
                expected_values = {
                    "count": "0 or 1",
                    "histogram": f"a cell from 0 to {bound - 1}",
                    "sum": f"a whole number from 0 to {bound - 1}",
                }
                raise DataError(
                    f"{owner}, row {index + 1}: {value!r} is not {expected_values[self.query]}.",
                    setting=("values",),
                    value=value,
                )
        if len(rows) > self.most_rows:
            raise DataError(
                f"{owner} has {len(rows):,} rows, but the parties agreed on at most {self.most_rows:,} each. Agree on a larger most_rows, or use fewer rows.",
                setting=("most_rows",),
                value=len(rows),
            )
        if len(rows) > self.room:
            raise DataError(
                f"{owner} has {len(rows):,} rows; at most {self.room:,} of each party fit in the field and in one batch. Use fewer rows, bits or cells.",
                setting=("values",),
                value=len(rows),
            )

    def input_bits(self, rows: Sequence[int]) -> Elements:
        """Return a party's rows as the bits that it shares: lowest bit first, cell after cell or row after row."""
        if self.query == "sum":
            numbers, width = np.array(rows, dtype=np.int64), self.bits
        else:
            numbers, width = np.bincount(np.array(rows, dtype=np.int64), minlength=self.cells), len(rows).bit_length()
        return ((numbers[:, None] >> np.arange(width)) & 1).reshape(-1)

    def counted(self, bits: Elements, rows: int) -> Elements:
        """Return shares of a dealer's cell counts, or of its sum, from shares of its bits."""
        width = self.bits if self.query == "sum" else rows.bit_length()
        weights = np.array([1 << bit_index for bit_index in range(width)], dtype=np.int64)
        numbers: Elements = (
            (bits.reshape(-1, width) * weights % gf.PRIME).sum(axis=-1) % gf.PRIME
            if bits.size
            else np.zeros(self.cells, dtype=np.int64)
        )
        return numbers if self.query != "sum" else numbers.sum(keepdims=True) % gf.PRIME

    def released(self, counts: Elements) -> Elements:
        """Return the numbers to open: all cells, or the cell of ones."""
        return counts[1:2] if self.query == "count" else counts

    @property
    def row_limit(self) -> int:
        """Return the maximum number of rows one owner may declare: the agreed limit, and the capacity."""
        return min(self.most_rows, self.room)

    @property
    def room(self) -> int:
        """Return how many rows one owner may have: all rows and their noise fit in half of the field, and a dealer's
        bits in its batch.

        Cells are checked to add up to the declared rows, in the field: c cells of w bits add up to at most c (2^w - 1),
        which must be below the field size, otherwise wrapped cells would pass.
        """
        noise = self.parties * self.quota + (2 << len(self.thresholds))
        rows_in_field = (gf.PRIME // 2 - noise) // ((self.clients or self.parties) * ((1 << self.bits) - 1))
        free_sharings = MOST_SHARINGS - self.layout(0, 0).size
        if self.query == "sum":
            return max(0, min(rows_in_field, free_sharings // (self.bits * (self.threshold + 1))))
        exact_bits = ((gf.PRIME - 1) // self.cells + 1).bit_length() - 1
        cell_bits = min(exact_bits, max(0, free_sharings) // (self.cells * (self.threshold + 1)))
        return max(0, min(rows_in_field, (1 << cell_bits) - 1))
