"""Commuting flows of Rhode Island as synthetic data (spec 000b, B9 and section E): what experiment E5 found, and what other programs make of the same task.

The file is itself a protected product (LODES): it is taken as if it were confidential. Groups are places of work, whose sizes count as public; the value that is drawn is
the home. Distances are kilometres between block centroids. Baselines protect the same one row, but their neighbours differ: ours replace one row within its
group, with group sizes public; theirs protect the place of work too.

Run: python -m benchmarks.reproduce_onthemap [blocks|tracts|baselines]
With other programs: python -m benchmarks.reproduce_onthemap peers PYTHON, where PYTHON is an interpreter that has dpmm (pip install dpmm); then perhaps models, epsilons (with commas)
and seconds.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import reticent as rt
from benchmarks.adult import SHARED
from reticent.base.randomness import Randomness
from reticent.methods.synthesize.domain_reduction import draw_dropped
from reticent.methods.synthesize.urn import Pools, draw_urns
from reticent.utility.flows import DistanceBin, Flows, GeoPoints, distances_by_size, total_variation

FOLDER = SHARED / "od"
DELTA = "1e-5"
EPSILONS = ("1", "4.6", "8.6")
PEERS = ("MSTGM", "PrivBayesGM", "AIMGM")
SHORT = 6.23 * 1.609344
"""The thesis calls commutes below 6.23 miles short."""
LEAST_KEPT = 0.0378
KEPT = ("0.144", "0.4")
SEED = 20260917
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Commuters:
    """The jobs of the file as flows from a block of work to a block of home, over all blocks of the state."""

    flows: Flows
    blocks: pl.DataFrame
    work: Ints

    @classmethod
    def read(cls) -> Commuters:
        """From the LODES files: every block of the crosswalk is a possible home."""
        jobs = pl.read_csv(
            FOLDER / "ri_od_main_JT00_2019.csv.gz",
            columns=["w_geocode", "h_geocode", "S000"],
            schema_overrides={"w_geocode": pl.String, "h_geocode": pl.String},
        )
        blocks = pl.read_csv(
            FOLDER / "ri_xwalk.csv.gz",
            columns=["tabblk2010", "blklatdd", "blklondd"],
            schema_overrides={"tabblk2010": pl.String},
        ).sort("tabblk2010")
        work = jobs["w_geocode"].unique().sort()
        places = [_codes(jobs["w_geocode"], work), _codes(jobs["h_geocode"], blocks["tabblk2010"])]
        flows = Flows(*places, jobs["S000"].to_numpy().astype(np.int64), len(work), blocks.height).merged(None, None)
        return cls(flows, blocks, _codes(work, blocks["tabblk2010"]))

    @cached_property
    def points(self) -> GeoPoints:
        """Where blocks lie."""
        every = self.blocks.select("blklatdd", "blklondd").to_numpy().astype(np.float64)
        return GeoPoints(every[self.work], every)

    @property
    def tract_of(self) -> Ints:
        """The tract of every block: its first eleven characters, a public coarsening."""
        return self.blocks["tabblk2010"].str.head(11).rank("dense").to_numpy().astype(np.int64) - 1

    def in_tracts(self, flows: Flows) -> Flows:
        """Flows between tracts."""
        _, at_work = np.unique(self.tract_of[self.work], return_inverse=True)
        return flows.merged(at_work.astype(np.int64), self.tract_of)


def _codes(series: pl.Series, listed: pl.Series) -> Ints:
    places = pl.DataFrame({"code": listed, "place": np.arange(len(listed))})
    found = series.alias("code").to_frame().join(places, on="code", how="left", maintain_order="left")["place"]
    return found.to_numpy().astype(np.int64)


@dataclass(frozen=True)
class Summarizer:
    """Synthetic flows, with the share of rows that repeat real ones, and the seconds of plan and draw."""

    flows: Flows
    share: float
    plan_seconds: float
    draw_seconds: float


def synthesize(flows: Flows, epsilon: str, mode: str, keep: str | None = None, insecure_seed: int = SEED) -> Summarizer:
    """One draw of the synthesizer: groups by their sizes, uniform noise over all values; with ``keep`` values of nobody stay with this probability."""
    sizes = np.bincount(flows.group, weights=flows.times, minlength=flows.groups).astype(np.int64)
    begun = time.perf_counter()
    plan = rt.synthesize.plan(sizes.tolist(), flows.values, epsilon, DELTA, mode, keep=keep)
    planned = time.perf_counter()
    order = np.argsort(flows.group, kind="stable")
    pools = Pools(np.repeat(flows.value[order], flows.times[order]), sizes)
    alphas = [plan.alpha[size] for size in sizes.tolist()]
    words = Randomness(insecure_seed).words()
    if keep is None:
        codes = draw_urns(pools, alphas, sizes, [plan.prior.total] * len(alphas), words)
    else:
        codes = draw_dropped(pools, alphas, sizes, plan.prior, words)
    drawn = time.perf_counter()
    return Summarizer(_flows(flows, sizes, codes), plan.real_share, planned - begun, drawn - planned)


def _flows(like: Flows, sizes: Ints, codes: Ints) -> Flows:
    groups, ones = np.repeat(np.arange(like.groups), sizes), np.ones(len(codes), dtype=np.int64)
    return Flows(groups, codes, ones, like.groups, like.values).merged(None, None)


def safely_shrunk(jobs: Commuters, epsilon: float, seed: int = SEED) -> tuple[Summarizer, float, float]:
    """Domain dropping in its safe variant, with keep-probabilities that fall with distance; also the final epsilon and the mean keep-probability.

    The keep-probability of a block is public: a log-normal law of distances fitted to published quantiles, floored at 0.0378 as in the thesis. Draws are made in
    floats: they are measured here and never released.
    """
    flows, random = jobs.flows, np.random.default_rng(seed)
    sizes = np.bincount(flows.group, weights=flows.times, minlength=flows.groups).astype(np.int64)
    pool_ends = np.cumsum(sizes)
    order = np.argsort(flows.group, kind="stable")
    pool = np.repeat(flows.value[order], flows.times[order])
    begun, planned, real = time.perf_counter(), 0.0, 0.0
    codes, kept_share, charge = [], 0.0, 0.0
    alphas: dict[tuple[int, int], float] = {}
    for group in range(flows.groups):
        keep = _keep_probabilities(jobs, group)
        n, least = int(sizes[group]), _least_kept(keep, float(DELTA) / 10)
        started = time.perf_counter()
        # Rounded down to two digits, so that few plans are needed and each is on the safe side.
        digits = 10 ** max(len(str(least)) - 2, 0)
        key = (n, least // digits * digits)
        if key not in alphas:
            alphas[key] = _safe_alpha(n, key[1], float(keep.sum()), epsilon)
        alpha = alphas[key]
        planned += time.perf_counter() - started
        people = pool[pool_ends[group] - n : pool_ends[group]]
        kept = random.random(flows.values) < keep
        kept[people] = True
        domain = np.flatnonzero(kept)
        noise = alpha * len(domain)
        made: list[int] = []
        for turn in range(n):
            ball = random.random() * (n + noise + turn)
            if ball < noise:
                made.append(int(domain[int(ball / alpha)]))
            else:
                place = int(ball - noise)
                made.append(int(people[place]) if place < n else made[place - n])
        codes += made
        kept_share += float(keep.mean()) / flows.groups
        real += n * n / (n + noise)
        charge = max(charge, math.log(1 / keep.min()) + math.ceil(alpha) * math.log(2))
    drawing = Summarizer(
        _flows(flows, sizes, np.array(codes)), real / flows.rows, planned, time.perf_counter() - begun - planned
    )
    return drawing, epsilon + charge, kept_share


def _keep_probabilities(jobs: Commuters, group: int) -> NDArray[np.float64]:
    here = np.full(jobs.flows.values, group)
    ones = np.ones(jobs.flows.values, dtype=np.int64)
    pairs = Flows(here, np.arange(jobs.flows.values), ones, jobs.flows.groups, jobs.flows.values)
    miles = np.maximum(jobs.points.kilometres(pairs) / 1.609344, 0.1)
    # Quantiles of commuting distances that the thesis took from CTPP: half below 6.23 miles, nine in ten below 21.54.
    spread = (math.log(21.54) - math.log(6.23)) / 1.2816
    density = np.exp(-(((np.log(miles) - math.log(6.23)) / spread) ** 2) / 2)
    return np.clip(density / density.max(), LEAST_KEPT, 1.0)


def _least_kept(keep: NDArray[np.float64], chance: float) -> int:
    """So many blocks stay at least, but for a small chance: Bernstein's bound of the lower tail."""
    mean, variance, log = float(keep.sum()), float((keep * (1 - keep)).sum()), math.log(1 / chance)
    return max(1, math.floor(mean - (log / 3 + math.sqrt(log * log / 9 + 2 * variance * log))))


def _safe_alpha(n: int, least: int, expected: float, epsilon: float) -> float:
    """The least noise r/c for which n max t(x) + expected t(0) stays within nine tenths of delta, with as little noise elsewhere as ``least`` blocks give."""
    c, delta = math.exp(epsilon) - 1, float(DELTA) * 0.9
    for r in range(1, n + 1):
        alpha = r / c * (1 + 1e-12)
        tails = [_tail(n, x, alpha, (least - 1) * alpha, c) for x in range(n + 1)]
        if (n * max(tails[1:], default=0.0) + expected * tails[0]) * (1 + 1e-6) <= delta:
            return alpha
    return n / c


def _tail(n: int, x: int, alpha: float, other: float, c: float) -> float:
    """P(BetaBin(n; x + alpha, n - x + other) > c (alpha + [x - 1]+))."""
    first = math.floor(c * (alpha + max(x - 1, 0))) + 1
    if first > n:
        return 0.0
    m = np.arange(first, n + 1)
    a, b = x + alpha, n - x + other
    terms = gammaln(n + 1) - gammaln(m + 1) - gammaln(n - m + 1)
    terms += gammaln(m + a) + gammaln(n - m + b) - gammaln(n + a + b) + gammaln(a + b) - gammaln(a) - gammaln(b)
    return float(np.exp(logsumexp(terms)))


def geometric(flows: Flows, epsilon: float, cells_changed: int, sampled: bool, seed: int = SEED) -> Flows:
    """Plain noise on every cell: two-sided geometric, for one row added or taken away (one cell changes) or replaced (two do); cut at zero.

    ``sampled`` draws as many rows as there were from the noisy shares; otherwise noisy counts are taken as they are.
    """
    random, ratio = np.random.default_rng(seed), math.exp(-epsilon / cells_changed)
    counts = np.zeros(flows.groups * flows.values, dtype=np.int64)
    counts[flows.group * flows.values + flows.value] = flows.times
    noise = random.geometric(1 - ratio, len(counts)) - random.geometric(1 - ratio, len(counts))
    noisy = np.maximum(counts + noise, 0)
    if sampled:
        noisy = random.multinomial(flows.rows, noisy / noisy.sum())
    cells = np.flatnonzero(noisy)
    return Flows(cells // flows.values, cells % flows.values, noisy[cells], flows.groups, flows.values)


def resampled(flows: Flows, seed: int = SEED) -> Flows:
    """As many rows drawn from the true shares: the floor that no synthesizer of independent rows goes below."""
    times = np.random.default_rng(seed).multinomial(flows.rows, flows.times / flows.rows)
    cells = np.flatnonzero(times)
    return Flows(flows.group[cells], flows.value[cells], times[cells], flows.groups, flows.values)


def _table(head: str, rows: Iterator[str]) -> None:
    print(f"\n| {head} |\n|{'---|' * (head.count('|') + 1)}")
    for row in rows:
        print(f"| {row} |", flush=True)


def _distance_rows(name: str, truth: Flows, drawn: Flows, points: GeoPoints) -> Iterator[str]:
    for words, below in (("all", None), ("short", SHORT)):
        for each in distances_by_size(truth, drawn, points, below):
            yield f"{name} | {words} | {_bin(each)}"


def _bin(each: DistanceBin) -> str:
    return f"{each.name} | {each.groups:,} | {each.true_mean:.1f} | {each.drawn_mean:.1f} | {each.mean_error:.2f} | {each.bias:+.2f}"


def at_blocks() -> None:
    """Experiment E5 at the level of blocks, and what is left of it after coarsening the output to tracts."""
    jobs = Commuters.read()
    true_tracts = jobs.in_tracts(jobs.flows)
    made: list[tuple[str, Summarizer]] = []
    for epsilon in EPSILONS:
        made += [
            (f"{mode}, epsilon {epsilon}", synthesize(jobs.flows, epsilon, mode))
            for mode in ("tight", "thesis")
            if mode == "tight" or math.exp(float(epsilon)) > 3
        ]
    made += [
        (f"one keep probability {keep}, epsilon 8.57", synthesize(jobs.flows, "8.57", "tight", keep)) for keep in KEPT
    ]
    shrunk, total, kept = safely_shrunk(jobs, 4.6)
    made.append((f"safe shrink, 4.6 -> {total:.2f} (keeps {kept:.1%} of blocks)", shrunk))
    _table(
        "draw | rows that repeat real ones | total variation, blocks | after coarsening to tracts | plan, s | draw, s",
        (
            f"{name} | {each.share:.2%} | {total_variation(jobs.flows, each.flows):.3f} | "
            f"{total_variation(true_tracts, jobs.in_tracts(each.flows)):.3f} | {each.plan_seconds:.2f} | {each.draw_seconds:.2f}"
            for name, each in made
        ),
    )
    _table(
        "draw | commutes | workers | groups | true km | drawn km | mean error | bias",
        (row for name, each in made for row in _distance_rows(name, jobs.flows, each.flows, jobs.points)),
    )


def at_tracts() -> None:
    """The same with public coarsening first: groups and values are tracts."""
    jobs = Commuters.read()
    truth = jobs.in_tracts(jobs.flows)
    rows = []
    for epsilon in EPSILONS:
        for mode in ("tight", "thesis") if math.exp(float(epsilon)) > 3 else ("tight",):
            each = synthesize(truth, epsilon, mode)
            rows.append(
                f"ours, {mode}, epsilon {epsilon} | {each.share:.1%} | {total_variation(truth, each.flows):.3f} | "
                f"{each.plan_seconds:.2f} | {each.draw_seconds:.2f}"
            )
    _table("tracts | rows that repeat real ones | total variation | plan, s | draw, s", iter(rows))


def baselines() -> None:
    """What resampling and plain noise on every cell reach on tracts."""
    jobs = Commuters.read()
    truth = jobs.in_tracts(jobs.flows)
    rows = [f"resampled, no privacy (floor) | | {total_variation(truth, resampled(truth)):.3f} |"]
    for epsilon in EPSILONS:
        for sampled in (False, True):
            found = [total_variation(truth, geometric(truth, float(epsilon), cells, sampled)) for cells in (2, 1)]
            rows.append(
                f"geometric noise{', sampled' if sampled else ''} | {epsilon} | {found[0]:.3f} | {found[1]:.3f}"
            )
    _table("baseline | epsilon | total variation, one row replaced | one row added or taken away", iter(rows))


def peers(python: str, models: str = ",".join(PEERS), epsilons: str = ",".join(EPSILONS), seconds: str = "900") -> None:
    """The synthesizers of dpmm on the tracts, run by an interpreter that has it, each for so many seconds at most."""
    jobs = Commuters.read()
    truth = jobs.in_tracts(jobs.flows)
    folder = Path("peers")
    folder.mkdir(exist_ok=True)
    rows = np.repeat(np.stack([truth.group, truth.value], axis=1), truth.times, axis=0)
    pl.DataFrame({"work": rows[:, 0], "home": rows[:, 1]}).write_csv(folder / "tracts.csv")
    for model in models.split(","):
        for epsilon in epsilons.split(","):
            made = folder / f"{model}-{epsilon}.csv"
            call = [python, "-c", _PEER, model, epsilon, str(folder / "tracts.csv"), str(made), str(truth.values)]
            begun = time.perf_counter()
            try:
                done = subprocess.run(call, capture_output=True, text=True, timeout=int(seconds), check=False)
            except subprocess.TimeoutExpired:
                print(f"| dpmm {model}, epsilon {epsilon} | not done after {seconds} s |", flush=True)
                continue
            took = time.perf_counter() - begun
            if done.returncode:
                print(f"| dpmm {model}, epsilon {epsilon} | failed: {done.stderr.strip().splitlines()[-1]} |")
                continue
            drawn = pl.read_csv(made)
            ones = np.ones(drawn.height, dtype=np.int64)
            codes = [drawn[name].to_numpy().astype(np.int64) for name in ("work", "home")]
            flows = Flows(*codes, ones, truth.groups, truth.values).merged(None, None)
            print(
                f"| dpmm {model}, epsilon {epsilon} | {total_variation(truth, flows):.3f} | {took:.0f} s |",
                flush=True,
            )


_PEER = """
import sys
import pandas
from dpmm import models
name, epsilon, source, target, size = sys.argv[1:]
rows = pandas.read_csv(source)
# AIM leaves out pairs of columns with more cells than max_cells, 10,000 if nothing is said: here that is the only pair, and it fails with a KeyError.
more = {"max_cells": int(size) ** 2, "n_jobs": 1} if name == "AIMGM" else {}
model = getattr(models, name)(epsilon=float(epsilon), delta=1e-5, **more)
model.set_domain({"work": int(size), "home": int(size)})
model.fit(rows)
model.generate(n_records=len(rows)).to_csv(target, index=False)
"""


def main(part: str = "", python: str = sys.executable, *more: str) -> None:
    """Run one part, or all that need no other program."""
    parts = {"blocks": at_blocks, "tracts": at_tracts, "baselines": baselines}
    if part == "peers":
        peers(python, *more)
        return
    for name, run in parts.items():
        if part in ("", name):
            run()


if __name__ == "__main__":
    main(*sys.argv[1:])
