"""The published alpha-beta experiment on Adult (spec 003, section 6): all 304,364 counting queries on one to three columns.

Privacy (10 n/m, 0.2) for both methods; the mean absolute error over queries with at least x true records, for each preset and FRAPP, once with
records treated one by one, as the source must have done, and once on the distinct tuples. Beside what the seeds gave stands what any number of
seeds must come to: the mean distance of every count from its truth follows from its standard deviation. At the end the worked example, 20,000 times.

Run: python -m benchmarks.reproduce_alpha_beta [seeds]
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from benchmarks.adult import SHARED
from reticent.methods.randomize import (
    FrappPlan,
    Plan,
    View,
    ViewDomain,
    ViewManifest,
    count_domain,
    frapp_plan,
    marginals,
    perturb,
    plan,
)
from reticent.methods.randomize.draws import Draws
from reticent.methods.randomize.error_bounds import MEAN_DISTANCE
from reticent.methods.randomize.sampler import ListedKeys, sample
from reticent.methods.randomize.tuple_sets import distinct, in_order
from reticent.methods.randomize.view_domain import Keys

COLUMNS = (
    *("age", "workclass", "education", "marital-status", "occupation"),
    *("race", "sex", "native-country", "salary-class"),
)
THRESHOLDS = (0, 1, 100, 500, 1000, 5000)
PRESETS = ("paper", "tight", "max-utility")
GATE = (4.2, 4.8)
# What the spec measured over five seeds of its own at 500 true records.
SPEC = {
    "records": {"paper": 168.1, "tight": 112.6, "max-utility": 74.2, "FRAPP": 508.6},
    "distinct": {"paper": 175.7, "tight": 113.8, "max-utility": 77.1, "FRAPP": 526.7},
}

Answers = NDArray[np.floating]


@dataclass(frozen=True)
class Found:
    """The errors of one method: measured a seed and a threshold, and expected a threshold; and the largest single error a seed."""

    measured: NDArray[np.floating]
    expected: NDArray[np.floating]
    largest: NDArray[np.floating]

    @property
    def means(self) -> NDArray[np.floating]:
        """The measured errors, averaged over seeds."""
        means: NDArray[np.floating] = self.measured.mean(axis=0)
        return means


@dataclass(frozen=True)
class Truth:
    """The true answers of all queries: rows, distinct tuples, and how many tuples of the domain meet each."""

    rows: NDArray[np.int64]
    tuples: NDArray[np.int64]
    cells: NDArray[np.floating]

    def by_threshold(self, errors: Answers) -> list[float]:
        """The mean over the queries with at least so many true rows, for every threshold."""
        return [float(errors[self.rows >= least].mean()) for least in THRESHOLDS]


def adult() -> pl.DataFrame:
    """The 30,162 complete records of the training file, in the nine columns of the experiment."""
    return pl.read_csv(SHARED / "adult" / "adult.csv.gz", separator=";").select(COLUMNS)


def adult_domain(frame: pl.DataFrame) -> ViewDomain:
    """The domain of the experiment, 648,023,040 tuples. It is read off the data here because the source did; publishers must not."""
    return ViewDomain.of({name: frame[name].unique().sort() for name in COLUMNS})


def one_by_one(made: Plan, rows: Keys, seed: int) -> View:
    """A view in which every record is kept or not by itself, and noise is drawn outside the table."""
    draws = Draws(seed)
    noise = np.concatenate(list(sample(made.domain, [ListedKeys(distinct(rows), made.beta * 0)], made.beta, draws)))
    kept = rows[draws.coins(made.s, len(rows))]
    return View(ViewManifest(made), in_order(np.concatenate([kept, noise])))


def main(seeds: int = 5) -> dict[str, dict[str, Found]]:
    frame = adult()
    domain = adult_domain(frame)
    rows = in_order(domain.pack(frame))
    found = {"records": compare(domain, rows, seeds), "distinct": compare(domain, distinct(rows), seeds)}
    repeat_example()
    return found


def compare(domain: ViewDomain, rows: Keys, seeds: int) -> dict[str, Found]:
    """Both methods on some rows, with the gates of the spec."""
    n = len(rows)
    base = plan(n=n, domain=domain, k=10, gamma="1/5")
    truth = _truth(base, rows)
    name = "distinct" if len(distinct(rows)) == n else "records"
    positive = int((truth.rows > 0).sum())
    print(f"\n## {name}: n = {n:,}, m = {domain.size:,}, {len(truth.rows):,} queries, {positive:,} with a true count")
    assert (n, domain.size, len(truth.rows), positive) == (
        30162 if name == "records" else 19502, 648023040, 304364, 74434,
    )  # fmt: skip
    results = {}
    for preset in PRESETS:
        made = plan(n=n, domain=domain, k=10, gamma="1/5", preset=preset)
        results[preset] = _alpha_beta(made, rows, truth, seeds)
    results["FRAPP"] = _frapp(frapp_plan(n, domain, 10, "1/5"), rows, truth, seeds)
    _print(results, SPEC[name], truth)
    _check(results, name)
    return results


def _truth(base: Plan, rows: Keys) -> Truth:
    found, once = _shown(View(ViewManifest(base), rows)), _shown(View(ViewManifest(base), distinct(rows)))
    cells = [np.full(table.size, base.domain.size / table.size) for table in found]
    return Truth(_flat(found), _flat(once), np.concatenate(cells))


def _shown(view: View) -> list[NDArray[np.int64]]:
    return [each.shown for each in marginals(view)]


def _flat(tables: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([table.ravel() for table in tables])


def _alpha_beta(made: Plan, rows: Keys, truth: Truth, seeds: int) -> Found:
    s, beta, alpha = float(made.s), float(made.beta), float(made.alpha)
    sizes, negative = [], []

    def answers(seed: int) -> Answers:
        view = one_by_one(made, rows, seed)
        values = np.concatenate([each.values.ravel() for each in marginals(view)])
        sizes.append(len(view))
        negative.append(float((values < 0).mean()))
        return values

    spread = truth.rows * s * (1 - s) + (truth.cells - truth.tuples) * beta * (1 - beta)
    found = _measured(answers, np.sqrt(spread) / alpha, truth, seeds)
    limit = made.rho * math.sqrt(made.n)
    print(
        f"{made.preset}: {np.mean(sizes):,.0f} rows, {np.mean(negative):.0%} negative; largest error {found.largest.max():,.0f} "
        f"(a seed's largest: {found.largest.mean():,.0f}, between {found.largest.min():,.0f} and {found.largest.max():,.0f}; rho sqrt(n) = {limit:,.0f})"
    )
    assert found.largest.max() < limit
    return found


def _frapp(made: FrappPlan, rows: Keys, truth: Truth, seeds: int) -> Found:
    kept, other = float(made.kept), float(made.replaced)
    base = plan(n=made.n, domain=made.domain, k=10, gamma="1/5")
    frame = made.domain.unpack(rows)

    def answers(seed: int) -> Answers:
        shown = _flat(_shown(View(ViewManifest(base), perturb(frame, made, insecure_seed=seed).keys)))
        return (shown - other * made.n * truth.cells) / (kept - other)

    present, absent = kept + (truth.cells - 1) * other, truth.cells * other
    spread = truth.rows * present * (1 - present) + (made.n - truth.rows) * absent * (1 - absent)
    return _measured(answers, np.sqrt(spread) / (kept - other), truth, seeds)


def _measured(answers: Callable[[int], Answers], deviations: Answers, truth: Truth, seeds: int) -> Found:
    errors = [np.abs(answers(seed) - truth.rows) for seed in range(seeds)]
    return Found(
        np.array([truth.by_threshold(each) for each in errors]),
        MEAN_DISTANCE * np.array(truth.by_threshold(deviations)),
        np.array([each.max() for each in errors]),
    )


def _print(results: Mapping[str, Found], spec: Mapping[str, float], truth: Truth) -> None:
    print(
        "Mean absolute error: measured (expected). The spec's at 500: " + ", ".join(f"{n} {v}" for n, v in spec.items())
    )
    print("| Q(I) >= | queries | " + " | ".join(results) + " | FRAPP/tight |\n|---|---|" + "---|" * (len(results) + 1))
    for place, least in enumerate(THRESHOLDS):
        cells = [f"{each.means[place]:.1f} ({each.expected[place]:.1f})" for each in results.values()]
        frapp, tight = results["FRAPP"], results["tight"]
        ratios = f"{frapp.means[place] / tight.means[place]:.2f} ({frapp.expected[place] / tight.expected[place]:.2f})"
        print(f"| {least} | {int((truth.rows >= least).sum()):,} | " + " | ".join(cells) + f" | {ratios} |")


def _check(results: Mapping[str, Found], name: str) -> None:
    """The gate of the spec, on the seeds and on what they must come to; and every mean within five standard errors of what it must come to."""
    frapp, tight = results["FRAPP"], results["tight"]
    for what, ratio in (
        ("expected", frapp.expected[3] / tight.expected[3]),
        ("measured", frapp.means[3] / tight.means[3]),
    ):
        assert GATE[0] <= ratio <= GATE[1], f"{name}: FRAPP/tight at 500 is {ratio:.2f} ({what}), outside {GATE}"
    # A seed's mean error at 500 varies by about 5.5 % (30 seeds): all queries share one view.
    for method, found in results.items():
        off = abs(found.means[3] / found.expected[3] - 1)
        assert off <= 5 * 0.055 / math.sqrt(len(found.measured)), f"{name}, {method}: off by {off:.1%}"
    print(f"Gate: FRAPP/tight at 500 is {frapp.means[3] / tight.means[3]:.2f}, inside {GATE}.")


def repeat_example(runs: int = 20_000) -> tuple[float, float, float]:
    """G1, score < 3*age, so many times: mean, standard deviation and share of negative estimates, beside what they must come to."""
    domain = ViewDomain.of(
        {"age": range(20, 40), "nationality": ["British", "Indian", "American"], "score": range(81, 101)}
    )
    people = [(25, "British", 99), (27, "British", 97), (21, "Indian", 82), (32, "Indian", 90), (33, "American", 94)]
    frame = pl.DataFrame([*people, (36, "American", 94)], schema=["age", "nationality", "score"], orient="row")
    true = distinct(domain.pack(frame))
    made = plan(n=6, domain=domain, k=1, gamma="101/300", alpha=Fraction(2, 3), beta=Fraction(1, 150))
    ages, scores = (domain[name].decode(domain.codes(np.arange(domain.size), name)) for name in ("age", "score"))
    met = (scores < 3 * ages).to_numpy()
    total = count_domain("score < 3*age", domain)
    assert total == met.sum() == 549
    # Tuples are drawn independently, so that all runs are one view of a domain in which the run is a column more.
    every = ViewDomain.of({"run": runs, **{name: domain[name] for name in domain.names}})
    repeated = (np.arange(runs)[:, None] * domain.size + true).ravel()
    keys = np.concatenate(list(sample(every, [ListedKeys(repeated, made.s)], made.beta, Draws(1))))
    shown = np.bincount(keys[met[keys % domain.size]] // domain.size, minlength=runs)
    values = (shown - float(made.beta) * total) / float(made.alpha)
    found = float(values.mean()), float(values.std()), float((values < 0).mean())
    print(f"\nG1, {runs:,} runs: mean {found[0]:.3f}, standard deviation {found[1]:.3f}, {found[2]:.1%} negative")
    print("The spec's 20,000 runs: 3.009, 3.105, 14.4 %; exactly: 3, 3.1016, 14.3 %")
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
