"""FRAPP, the baseline (3.9): every record is kept with one probability, and else replaced by another tuple of the domain."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from reticent.data.predicate import Condition
from reticent.data.readers import read_frame
from reticent.data.writers import write_frame
from reticent.definitions.mechanisms import Adversary, Ratios, highest_allowed
from reticent.errors import DataError, Infeasible, PolicyError
from reticent.exact import Number, exact, whole
from reticent.files import folder_aside, write_new
from reticent.randomize.bounds import bernstein_from
from reticent.randomize.counting import checked, count_exactly, tabulate
from reticent.randomize.domain import Keys, ViewDomain
from reticent.randomize.draws import Draws
from reticent.randomize.estimate import Estimate
from reticent.randomize.instance import rows_of
from reticent.randomize.keys import in_order


def kept_share(k: Number, gamma: Number) -> Fraction:
    """g_f = gamma/(gamma + k(1-gamma)): as private as alpha-beta with the same k and gamma (R-AB-27).

    Up to a factor 1 + O(k/m) in the odds; :meth:`FrappPlan.for_belief` is exact.
    """
    times, belief = exact(k, "k"), exact(gamma, "gamma")
    return belief / (belief + times * (1 - belief))


@dataclass(frozen=True)
class FrappPlan:
    """How records are perturbed: kept with probability ``kept``, else replaced by one of the m-1 other tuples, each as likely."""

    n: int
    domain: ViewDomain
    kept: Fraction

    def __post_init__(self) -> None:
        whole(self.n, "n", low=1)
        if self.domain.size < 2 or not self.replaced < self.kept <= 1:
            raise Infeasible(
                "A record must be kept with more probability than any other tuple replaces it. Ask for less."
            )

    @classmethod
    def for_belief(cls, n: int, domain: ViewDomain, d: Fraction, gamma: Fraction) -> FrappPlan:
        """The largest probability that lifts a record's prior ``d`` to at most ``gamma``, exactly."""
        odds = highest_allowed(d, gamma) / (domain.size - 1)
        return cls(n, domain, odds / (1 + odds))

    @property
    def replaced(self) -> Fraction:
        """q, the probability with which a record becomes a given other tuple."""
        return (1 - self.kept) / (self.domain.size - 1)

    def ratios(self, adversary: Adversary) -> Ratios:
        """What a perturbed record tells about the record behind it."""
        if adversary != "record":
            raise PolicyError(
                f"Frapp perturbs records one by one and hides nothing about which tuples exist: it keeps adversary='record', not {adversary!r}."
            )
        if self.kept == 1:
            raise Infeasible("Records that are always kept are not protected.")
        return Ratios(self.kept / self.replaced, None)

    def publish(self, frame: Any, *, insecure_seed: int | None = None) -> FrappView:
        """Perturb every record; rows come out sorted. A view may hold a tuple several times."""
        rows = rows_of(frame, self.domain)
        if len(rows) > self.n:
            raise PolicyError(f"The data have {len(rows):,} rows, more than the {self.n:,} that were planned for.")
        draws = Draws(insecure_seed)
        return FrappView(self, in_order(self._perturbed(rows, draws)), draws.is_secure, len(rows))

    def _perturbed(self, rows: Keys, draws: Draws) -> Keys:
        out = np.array(rows)
        missing = np.flatnonzero(~draws.coins(self.kept, len(rows)))
        while len(missing):
            words = [draws.below(radix, len(missing)) for radix in self.domain.radices]
            out[missing] = self.domain.from_words(words)
            # Another tuple is wanted: whoever drew their own draws again.
            missing = missing[out[missing] == rows[missing]]
        return out


@dataclass(frozen=True)
class FrappView:
    """Perturbed records, with estimates from them; ``rows`` is their number, which everybody sees."""

    plan: FrappPlan
    keys: Keys = field(repr=False)
    secure: bool
    rows: int
    files: str = "csv"

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The published tables by name."""
        return {"records": self.frame}

    def count(self, condition: str, estimator: str = "uniform") -> Estimate:
        """The estimate by the name that it has on every release."""
        if estimator != "uniform":
            raise PolicyError(f"Perturbed records have one estimator, not {estimator!r}.")
        return self.estimate(condition)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the records and what is needed to count on them to a folder, whole or not at all."""
        stated = {
            "format": "frapp",
            "version": 1,
            "kept": str(self.plan.kept),
            "n": self.plan.n,
            "domain": self.plan.domain.as_json(),
            "secure": self.secure,
        }
        with folder_aside(Path(path), replace=overwrite) as aside:
            public = aside / "public"
            public.mkdir(mode=0o755)
            write_frame(self.frame, public / f"records.{self.files}")
            write_new(public / "manifest.json", json.dumps(stated, indent=2, ensure_ascii=False).encode() + b"\n")
        return Path(path)

    @classmethod
    def open(cls, path: str | Path) -> FrappView:
        """Perturbed records from their folder."""
        folder = Path(path) / "public"
        try:
            stated = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{str(folder)!r} holds no perturbed records that can be read: {error}.") from None
        if stated.get("format") != "frapp" or stated.get("version") != 1:
            raise DataError(f"{str(folder)!r} holds no perturbed records of version 1.")
        files = "csv" if (folder / "records.csv").exists() else "parquet"
        made = FrappPlan(stated["n"], ViewDomain.from_json(stated["domain"]), exact(stated["kept"], "kept"))
        keys = rows_of(read_frame(folder / f"records.{files}"), made.domain)
        return cls(made, keys, bool(stated["secure"]), len(keys), files)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The records as a table."""
        return self.plan.domain.unpack(self.keys)

    def estimate(self, condition: str | Condition = "true", *, error: Number = "0.05") -> Estimate:
        """How many records meet a condition: (n_V - q n n_D)/(g_f - q), unbiased (R-AB-27)."""
        domain = self.plan.domain
        asked = checked(condition, domain)
        total = int(count_exactly(asked, domain))
        factor = tabulate(asked.node, domain)
        codes = tuple(domain.codes(self.keys, name) for name in factor.scope)
        shown = int(factor.table[codes].sum()) if factor.scope else int(factor.table) * self.rows
        q, gain = self.plan.replaced, self.plan.kept - self.plan.replaced
        value = (shown - q * self.rows * total) / gain
        present, absent = self.plan.kept + (total - 1) * q, total * q
        clipped = max(Fraction(0), min(value, Fraction(self.rows)))
        spread = clipped * present * (1 - present) + (self.rows - clipped) * absent * (1 - absent)
        largest = self.rows * max(present * (1 - present), absent * (1 - absent), Fraction(0))
        level = exact(error, "error")
        bound = bernstein_from(float(largest), float(gain), level)
        low, high = math.floor(float(value) - bound), math.ceil(float(value) + bound)
        return Estimate(
            asked.text,
            value,
            math.sqrt(max(float(spread), 0.0)) / float(gain),
            clipped,
            (max(0, min(low, self.rows)), min(self.rows, max(high, 0))),
            bound,
            level,
            Fraction(shown),
            Fraction(total),
        )


def frapp_plan(n: int, domain: ViewDomain | Mapping[str, Any], k: Number, gamma: Number) -> FrappPlan:
    """The baseline at the same privacy as ``plan(n, domain, k, gamma)``."""
    return FrappPlan(n, ViewDomain.of(domain), kept_share(k, gamma))


def error_constants(k: Number, gamma: Number, error: Number = "0.05") -> dict[str, float]:
    """The printed error constants of both methods (R-AB-27): rho1 of alpha-beta, rho2 of FRAPP, and their ratio."""
    times, belief, level = exact(k, "k"), exact(gamma, "gamma"), math.log(2 / float(exact(error, "error")))
    odds = float(times * (1 - belief) / belief)
    return {
        "rho1": 2 * math.sqrt(2 * odds * level),
        "rho2": 2 * odds * math.sqrt(level),
        "ratio": math.sqrt(2 / odds),
    }
